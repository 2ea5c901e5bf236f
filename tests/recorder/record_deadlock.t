#!/usr/bin/perl
# A job that hangs on a real MPI and is killed: its rank files survive, and simrun names the deadlock. Needs `make peers`.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Copy qw(copy);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my %peers = (
    openmpi => ['mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 -x SIMRUN_TRACE_DIR -x LD_PRELOAD=LIBRARY'],
    mpich => ['mpirun.mpich -n 4 -genv LD_PRELOAD LIBRARY'],
);
$_->[1] = abs_path("build/peers/$_->[2]/libsimrecord.so") for map { $peers{$_}[2] = $_; $peers{$_} } keys %peers;
my $folder = scratch_folder();
chdir $folder or die;
open my $file, '>', 'hangs.c' or die;
print $file <<'END';
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, mine, theirs = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mine = rank;
    MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 1, &theirs, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Ssend(&mine, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD); /* line 12: nobody receives */
    MPI_Recv(&theirs, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
END
close $file;

for my $peer (sort keys %peers) {
    my ($launch, $library) = @{$peers{$peer}};
  SKIP: {
        skip "$peer or its recorder is absent (make peers)", 7
            if !$library || !-r $library || system("command -v mpirun.$peer mpicc.$peer >/dev/null 2>&1");
        copy($library, "$folder/$peer.so") or die "$library: $!"; # LD_PRELOAD ends names at blanks
        $launch =~ s/LIBRARY/$folder\/$peer.so/;
        mkdir "$peer.trace";
        $ENV{SIMRUN_TRACE_DIR} = "$folder/$peer.trace";
        is(system("mpicc.$peer -g -o hangs.$peer hangs.c 2>/dev/null"), 0, "$peer: compiles");
        # It hangs until it is killed: with time enough all ranks stand in line 12.
        my ($killed, @files, $status, $finding, $places);
        for my $limit (6, 30, 120) {
            unlink glob "$peer.trace/*.simrec";
            $killed = system("timeout -k 2 $limit $launch ./hangs.$peer >/dev/null 2>&1");
            @files = glob "$peer.trace/*.simrec";
            my $said = `'$simrun' check --json '$peer.trace' 2>err`;
            $status = $? >> 8;
            ($finding) = grep { $_->{code} eq 'D001' } @{(eval { decode_json($said) } || {})->{findings} || []};
            my %places = map { ("$_->{rank} $_->{line}" => 1) } grep { defined $_->{line} } @{$finding->{places} || []};
            $places = join ' ', sort keys %places;
            last if $places eq '0 12 1 12 2 12 3 12';
        }
        isnt($killed, 0, "$peer: the job hangs and is killed");
        is(scalar @files, 4, "$peer: every rank has left its file");
        is($status, 1, "$peer: check finds something") or diag `cat err`;
        ok($finding, "$peer: the deadlock");
        is($places, '0 12 1 12 2 12 3 12', "$peer: of all four ranks, at their line");
        like(scalar `'$simrun' import --db $peer.db '$peer.trace' 2>&1`, qr/^run 1: .* 4 ranks, \d+ operations, [1-9]\d* findings$/m,
            "$peer: import keeps it");
    }
}
done_testing();
