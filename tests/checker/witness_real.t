#!/usr/bin/perl
# Witnesses are confirmed by running the program under them, and a schedule that shows nothing confirms nothing.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
chdir scratch_folder() or die;

my ($out, $err);
sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub spew { open my $f, '>', shift or die; print $f @_; close $f }
sub run {
    my $status = system('sh', '-c', 'exec timeout 300 "$0" "$@" >out 2>err', $simrun, @_);
    ($out, $err) = (slurp('out'), slurp('err'));
    return $status >> 8;
}
sub flat { my $text = $out; $text =~ s/\s+/ /g; return $text }

for my $case (['D002 another order of two communicators', '-n', 2, 'two-comms'],
              ['D002 a cycle of four ranks',              '-n', 4, 'grid'],
              ['R001 unequal allreduces',                 '-n', 2, 'two-allreduce', 'unequal'],
              ['R002 equal allreduces',                   '-n', 2, 'two-allreduce', 'equal'],
              ['D003 sends that are not buffered',        '-n', 4, 'buffered-ring'],
              ['R003 another sender first',               '-n', 4, 'wildcard-recompute', 'wildcard']) {
    my ($name, @words) = @$case;
    my ($code) = split ' ', $name;
    run('--db', 'none', '--json', @words);
    my @found = grep { $_->{code} eq $code } @{decode_json($out)->{findings}};
    ok(@found > 0, "$name: found");
    is(scalar(grep { $_->{confirmation} ne 'real' } @found), 0, '  and confirmed by a real run');
}

is(run(qw(-n 2 two-allreduce equal)), 1, 'a run is kept');
like($out, qr/^  shown   confirmed by a real run of the witness$/m, 'and says how it was shown');
is(run(qw(replay --witness 1 -v)), 1, 'replay of its witness');
like(flat(), qr/a real run of the witness: .* met .*: the verdict was reached/, 'reaches the verdict by a run');
my ($witness) = $out =~ /^(simrun-witness 1\n.*^end\n)/ms;
spew('right', $witness);
is(run(qw(replay --witness right)), 1, 'the same witness from a file');
like(flat(), qr/the verdict was reached/, 'does so as well');
(my $wrong = $witness) =~ s/^(?:rank \d+|nodes).*\n//mg;
spew('wrong', $wrong);
is(run(qw(replay --witness wrong)), 0, 'the recorded order instead');
like(flat(), qr/did not reach the verdict/, 'does not');
is(run(qw(replay --witness nothing)), 3, 'a file that is not there is refused');
like($err, qr/neither the number of a finding nor a file/, 'with a sentence');
spew('bad', "simrun-witness 1\ncode R002\nmodel eager\nranks 2\nrank 0: 0-900\nend\n");
is(run(qw(replay --witness bad)), 3, 'a witness that does not fit is refused');
like($err, qr/line 5/, 'with its line');

# Another message first, behind a loop of which few iterations are recorded.
spew('race.c', <<'END');
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, x = 0, y;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < atoi(argv[1]); i++)
        MPI_Sendrecv(&x, 1, MPI_INT, rank, 0, &y, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank)
        MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    for (int k = 1; !rank && k < 3; k++)
        MPI_Recv(&x, 1, MPI_INT, k == 1 ? MPI_ANY_SOURCE : 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
END
for my $rounds (3, 3000) {
    unlink 'race.db';
    is(run(qw(-n 3 --db race.db race.c), $rounds), 1, "another message first hangs, behind $rounds rounds");
    is(join(' ', sort $out =~ /^([A-Z]\d{3}) /mg), 'D002 R003', 'two findings say so');
    for my $finding (1, 2) {
        is(run(qw(replay --db race.db --witness), $finding), 1, "replay of finding $finding");
        like(flat(), qr/with the other message first it hangs: the verdict was reached/, 'reaches the verdict by a run');
    }
}

is(run('check', '--db', 'none', '--catalogue', 'two-roots'), 2, 'options of files are not those of the catalogue');
is(run(qw(check --catalogue two-roots)), 0, 'check --catalogue');
like($out, qr/^two-roots\s+2 eager\s+R001\s+R001\s+equal$/m, 'compares what is expected with what is found');
done_testing;
