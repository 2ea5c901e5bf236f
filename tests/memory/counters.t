#!/usr/bin/perl
# What other orders of a right program may bring: who counts first under a lock is told, and is no error; nor is a thread that
# calls MPI in another run than the first.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc';
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
chdir scratch_folder() or die;

sub proved {
    my ($name, $text, $ranks) = (@_, 2);
    open my $out, '>', "$name.c" or die;
    print $out $text;
    close $out;
    my $said = `timeout 120 '$simrun' prove -n $ranks $name.c 2>&1`;
    return ($? >> 8, $said);
}

sub counter {
    my ($name, $told, $lock) = @_;
    return proved($name, <<"C");
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, count = 0, *base;
    MPI_Win win;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    *base = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_$lock, 0, 0, win);
    MPI_Get(&count, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    count++;
    MPI_Put(&count, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if ($told)
        printf("%d\\n", count);
    MPI_Win_free(&win);
    MPI_Finalize();
}
C
}

my ($status, $said) = counter('told', 1, 'EXCLUSIVE');
is($status, 0, 'a counter under a lock that is printed is no error') or diag($said);
like($said, qr/^R003 .*who has a lock of a window\s+first/ms, 'but told');
($status, $said) = counter('kept', 0, 'EXCLUSIVE');
is($status, 0, 'one that nobody prints') or diag($said);
unlike($said, qr/^R003/m, 'is not even told');
($status, $said) = counter('shared', 1, 'SHARED');
is($status, 1, 'under a shared lock it is an error');
like($said, qr/^B003/m, 'a race on the window');

# A rank that only passes messages on, in a loop of many rounds, orders the accesses of the others.
for my $flushed (1, 0) {
    my ($flush, $late) = $flushed ? ('MPI_Win_flush(0, win);', '') : ('', 'MPI_Win_flush(0, win);');
    ($status, $said) = proved("rounds$flushed", <<"C", 3);
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, x = 1, *base;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 200; i++) {
        if (rank == 2) {
            MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            $flush
        }
        if (rank < 2)
            MPI_Recv(&x, 0, MPI_INT, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank)
            MPI_Send(&x, 0, MPI_INT, rank - 1, 0, MPI_COMM_WORLD);
        if (rank == 0)
            x = *base;
        MPI_Barrier(MPI_COMM_WORLD);
        $late
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
}
C
    like($said, $flushed ? qr/^PROVEN/ : qr/^B003/m, $flushed ? '200 rounds in order' : '200 without a flush') or diag($said);
}

($status, $said) = proved('later', <<'C');
#include <mpi.h>
#include <omp.h>
int main(int argc, char **argv)
{
    int level, rank, x = 1, done = 0;
    MPI_Request q;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Isend(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &q);
        MPI_Test(&q, &done, MPI_STATUS_IGNORE);
        if (!done) {
#pragma omp parallel num_threads(2)
            if (omp_get_thread_num() == omp_get_num_threads() - 1)
                MPI_Wait(&q, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 1)
        MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
C
is($status, 0, 'a thread calls MPI only where a send has to wait') or diag($said);
unlike($said, qr/^M009/m, 'which is no invalid argument');
done_testing;
