#!/usr/bin/perl
# The line that a finding gives for its replay, typed as it stands, shows the finding again: in this run, in a run with other matches, under another
# progress model; with a database and without.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
chdir scratch_folder() or die;
open my $file, '>', 'wrong.c' or die;
print $file <<'C';
#include <mpi.h>
#include <string.h>
int main(int argc, char **argv)
{
    int rank, size, v = 0, got = 0;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(w, &rank);
    MPI_Comm_size(w, &size);
    if (!strcmp(argv[1], "now") && rank < 2)
        MPI_Recv(&v, 1, MPI_INT, 1 - rank, 0, w, MPI_STATUS_IGNORE);
    if (!strcmp(argv[1], "model") && rank < 2) {
        MPI_Send(&v, 1, MPI_INT, 1 - rank, 0, w);
        MPI_Recv(&got, 1, MPI_INT, 1 - rank, 0, w, MPI_STATUS_IGNORE);
    }
    /* Rank 3 hears of the messages before it sends: that its own come among the first four is seen by running with other matches. */
    if (!strcmp(argv[1], "match") && rank == 0) {
        for (int i = 0; i < 6; i++)
            MPI_Recv(&v, 1, MPI_INT, i < 4 ? MPI_ANY_SOURCE : 3, 0, w, MPI_STATUS_IGNORE);
    } else if (!strcmp(argv[1], "match") && rank < 3) {
        for (int i = 0; i < 3; i++)
            MPI_Send(&v, 1, MPI_INT, i < 2 ? 0 : 3, 0, w);
    } else if (!strcmp(argv[1], "match")) {
        for (int from = 1; from < 3; from++) {
            MPI_Recv(&v, 1, MPI_INT, from, 0, w, MPI_STATUS_IGNORE);
            MPI_Send(&v, 1, MPI_INT, 0, 0, w);
        }
    }
    MPI_Finalize();
    return 0;
}
C
close $file;

# The finding that the program is for, and what its replay, a run of its own, calls it.
my %cases = (now => ['D001', 'D001'], model => ['D003', 'D001'], match => ['D002', 'D001']);
for my $case (sort keys %cases) {
    my ($code, $again) = @{ $cases{$case} };
    for my $database ('none', 'runs.db') {
        unlink 'runs.db';
        my $said = `'$simrun' prove --db $database --html page.html -n 4 wrong.c $case 2>&1`;
        my ($finding) = $said =~ /^($code .*?)(?=^[A-Z]\d{3} |\z)/ms;
        my ($replay) = ($finding // '') =~ /^  replay  (simrun .*)$/m;
        ok($replay, "$case, database $database: $code has a line for its replay") or diag($said);
        my $page = do { local (@ARGV, $/) = ('page.html'); <> };
        like($page, qr{<dt>replay</dt>\s*<dd><code>\Q$replay\E</code>}, "$case, database $database: and so has the report") if $replay;
        my $repeated = ($replay // 'false') =~ s/^simrun/'$simrun'/r;
        my $shown = `$repeated 2>&1`;
        like($shown, qr/^($code|$again) /m, "$case, database $database: which shows it: " . ($replay // ''));
    }
}
done_testing;
