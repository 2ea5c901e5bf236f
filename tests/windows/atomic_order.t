#!/usr/bin/perl
# What atomic accesses fetch depends on the order in which they come, and a run has one: that is said, and only where something is fetched.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc'; # clang leaves out elements of arrays on the stack
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
chdir scratch_folder() or die;
open my $file, '>', 'ticket.c' or die;
print $file <<'END';
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int *counter, one = 1, got = 0, zero = 0, rank, way = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &win);
    *counter = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    if (way == 1 || (way == 2 && !rank))
        MPI_Fetch_and_op(&one, &got, MPI_INT, 0, 0, MPI_SUM, win);
    else if (way == 3)
        MPI_Compare_and_swap(&one, &zero, &got, MPI_INT, 0, 0, win);
    else if (way == 4)
        MPI_Get_accumulate(NULL, 0, MPI_INT, &got, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win);
    else if (way != 2)
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return got < 0;
}
END
close $file;
my %ways = (0 => 'sums', 1 => 'tickets', 2 => 'one ticket', 3 => 'swaps', 4 => 'looks only');
for my $way (sort keys %ways) {
    my $said = `SIMRUN_COLOR=never '$simrun' prove -n 2 --db none ticket.c $way 2>&1` =~ s/\s+/ /gr;
    my $depends = $way == 1 || $way == 3;
    my $told = $said =~ /another order of atomic accesses to a window, on which it depends what they fetch/ ? 1 : 0;
    is $told, $depends ? 1 : 0, "$ways{$way}: the order " . ($depends ? 'is not covered' : 'does not matter') or diag $said;
    like $said, $depends ? qr/^PASS / : qr/^PROVEN /, 'and the verdict says so';
}
done_testing();
