#!/usr/bin/perl
# Random programs (forms.c), most with a mistake, in other forms that mean the same: the same codes are found. MPI defines a blocking call
# as its nonblocking form and a wait, so no verdict may hang on which was written; nor on the numbers of ranks, on a type that is one
# element of another, or on a wildcard where only one message can come. A sample; SEEDS=1000 FIRST=1, and ALL=1 for all forms of each.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use lib "$FindBin::Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = $ENV{SIMRUN} // 'build/simrun';
my %forms = (
    mixed => 'mixed plain named world shared', started => 'plain started named world shared', large => 'plain big named world shared',
    persistent => 'plain persistent named world shared', vector => 'plain vector named world shared', struct => 'plain plain struct world shared',
    rotate => 'plain plain named rotate shared', mirror => 'mixed started contiguous mirror shared', idle => 'plain plain dup idle shared',
    both => 'plain plain named both shared', any => 'plain plain named world any', free => 'mixed persistent dup world any',
);

my $folder = scratch_folder();

sub codes {
    my ($ranks, $words, $program) = (@_, 'tests/wrong/forms.c');
    my $out = `'$simrun' --db none --json -n $ranks '$program' $words 2>/dev/null`;
    my ($line) = grep { /^\{"scenario"/ } split /\n/, $out;
    my $verdict = $line ? decode_json($line) : return 'no verdict';
    my %codes = map { $_->{code} => 1 } grep { $_->{severity} ne 'note' } @{ $verdict->{findings} };
    return join ' ', $verdict->{verdict}, sort keys %codes;
}

# A blocking rooted collective hangs where a nonblocking one is left alone.
sub alike { my ($codes) = @_; return $codes =~ s/^FAIL D002$/FAIL M010/r }

my @seeds = ($ENV{SEEDS} || $ENV{FIRST}) ? (($ENV{FIRST} // 1) .. ($ENV{FIRST} // 1) + ($ENV{SEEDS} // 100) - 1) : (1063, 1070, 1100, 1320, 2001 .. 2010);
my $wrong = 0;
for my $seed (@seeds) {
    my $ranks = 2 + $seed % 3;
    my %plain = map { $_ => codes($ranks, "$seed plain plain named world $_") } 'shared', 'unique';
    my (@differ, $number);
    $number = 0;
    for my $form (sort keys %forms) {
        next if !$ENV{ALL} && ($seed + $number++) % 3;
        my $before = $plain{ $forms{$form} =~ /any$/ ? 'unique' : 'shared' };
        my $after = codes($ranks + ($form eq 'idle' ? 1 : 0) + ($form eq 'both' ? $ranks : 0), "$seed $forms{$form}");
        # Where messages race, another one may come first.
        push @differ, "$form: $before, here $after" if alike($before) ne alike($after) && "$before $after" !~ /R003/;
    }
    is "@differ", '', "seed $seed on $ranks ranks: $plain{shared}";
    $wrong++ if $plain{shared} =~ /^FAIL/;
}
cmp_ok $wrong, '>=', @seeds / 4, 'many hold a mistake';

# An Isendrecv is one request: who waits for any request waits for both its halves. The message that comes back leaves the other half open
# where sends wait for their receives.
open my $file, '>', "$folder/halves.c" or die "$folder/halves.c: $!";
print $file <<'C';
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, one = 1, two = 0, three = 0, index, some, indices[2];
    const char *how = argv[1], *peer = argv[2];
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        if (!strncmp(how, "two-", 4))
            MPI_Irecv(&three, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &requests[1]);
        MPI_Isendrecv(&one, 1, MPI_INT, 1, 0, &two, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
        if (!strcmp(how, "Wait"))
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        else if (strstr(how, "Waitany"))
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        else
            MPI_Waitsome(2, requests, &some, indices, MPI_STATUSES_IGNORE);
        MPI_Send(&one, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (strcmp(peer, "absent")) {
        MPI_Send(&one, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        if (!strcmp(peer, "right"))
            MPI_Recv(&two, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&three, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (strcmp(peer, "right"))
            MPI_Recv(&two, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!strncmp(how, "two-", 4))
            MPI_Send(&one, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
C
close $file or die;
for my $how (qw(Wait Waitany Waitsome two-Waitany two-Waitsome)) {
    is codes(2, "$how right", "$folder/halves.c"), 'PASS', "$how: received in the order of the sends";
    is codes(2, "$how late", "$folder/halves.c"), 'FAIL D003', "$how: received too late";
    is codes(2, "$how absent", "$folder/halves.c"), 'FAIL D001', "$how: never received";
}
done_testing;
