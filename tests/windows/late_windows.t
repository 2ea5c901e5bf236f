#!/usr/bin/perl
# Late delivery of one-sided operations: their data move at the call that completes them, and not before. Every operation in every
# kind of epoch: what a right program prints is as ever, and as MPI says (`after`, below, shares nothing with the machine); one that looks
# before the completion prints something else, though nobody sees its loads (simcc, without --memory), and `prove` says so. A third of
# the epochs; ALL=1: all.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $simcc = dirname($simrun) . '/simcc';
my $folder = scratch_folder();
my $source = dirname(abs_path($0)) . '/late_windows.c';
system($simcc, '-o', "$folder/late", $source) == 0 or BAIL_OUT('late_windows.c does not compile');

# Window and result afterwards.
my %after = (
    put => ['5 11 6', '-1 -1'], get => ['10 11 12', '10 12'], sum => ['15 11 18', '-1 -1'], replace => ['5 11 6', '-1 -1'],
    getsum => ['15 11 18', '10 12'], fetch => ['15 11 12', '10 -1'], swap => ['5 11 12', '10 -1'], rput => ['5 11 6', '-1 -1'],
    rsum => ['15 11 18', '-1 -1'], rget => ['10 11 12', '10 12'], sums => ['10 11 12', '5 -1']);

sub printed {
    my (@words) = @_;
    my $text = `timeout 60 '$simrun' --db none --check=-race -n 2 @words 2>&1`;
    return join "\n", sort $text =~ /^((?:before|waited|local|after): .*)/mg;
}

my $turn = 0;
for my $operation (sort keys %after) {
    my @epochs = ($operation =~ /^r(?!eplace)/ ? () : qw(fence complete), qw(unlock unlock_all flush flush_all flush_local));
    for my $epoch (@epochs) {
        next if !$ENV{ALL} && $turn++ % 3;
        my ($window, $result) = @{$after{$operation}};
        my $early = printed("$folder/late $operation $epoch after");
        my $right = join "\n", sort "after: window $window", "after: result $result",
            $operation =~ /^r(?!eplace)/ ? "waited: result $result" : (), $epoch eq 'flush_local' ? "local: result $result" : ();
        is($early, $right, "$operation, $epoch: early is as MPI says");
        is(printed("--delivery late $folder/late $operation $epoch after"), $right, "... and so is late");
        next if $operation eq 'rget'; # its request may be waited for at once: it is never late
        my ($soon, $late) = map { printed("--delivery $_ $folder/late $operation $epoch before") } qw(early late);
        like($late, qr/^before: window 10 11 12$/m, '... late leaves the window as it is till then');
        like($late, qr/^before: result -1 -1$/m, '... and the result');
        isnt($soon, $late, '... which is not what early prints');
    }
}
for my $operation (qw(put get)) {
    my $said = `timeout 60 '$simrun' prove --db none -n 2 $folder/late $operation flush before 2>&1`;
    like($said, qr/^B001 .*read before the operation is\s+complete/m, "prove: $operation is looked at before its flush");
    $said = `timeout 60 '$simrun' prove --db none -n 2 $folder/late $operation flush after 2>&1`;
    like($said, qr/\A(?:.*\n)*PASS .*no findings(?:.*\n)*.*1 run with late delivery/, '... and its right twin');
}
# Many local completions, of one target and of all: the origin is written over at once, and what arrives is what was put.
open my $many, ">", "$folder/many.c" or die;
print $many <<'END';
#include <mpi.h>
#include <stdio.h>
enum { N = 20000 };
int main(int argc, char **argv)
{
    int rank, size, *memory, origin[2], got[2], sum = 0;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(2 * N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 2 * N; i++)
        memory[i] = i;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; rank == 0 && i < N; i++) {
        int target = 1 + i % (size - 1);
        origin[0] = 3 * i;
        MPI_Put(&origin[0], 1, MPI_INT, target, i, 1, MPI_INT, win);
        if (i % 7 == 0)
            MPI_Get(&got[0], 1, MPI_INT, target, N + i, 1, MPI_INT, win);
        if (i % 5)
            MPI_Win_flush_local(target, win);
        else
            MPI_Win_flush_local_all(win);
        sum = (sum * 31 + (i % 7 ? 0 : got[0])) % 1000003;
        origin[0] = -1;
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank && i < N; i++)
        sum += memory[i] != (i % (size - 1) == rank - 1 ? 3 * i : i);
    printf("after: %d sum %d\n", rank, sum);
    MPI_Win_free(&win);
    MPI_Finalize();
}
END
close $many;
my ($early, $late) = map { join ",", sort `timeout 120 "$simrun" --db none --record none --delivery $_ -n 4 "$folder/many.c" 2>&1` =~ /^(after: .*)/mg } qw(early late);
is($late, $early, "many local completions: late as early");
like($late, qr/^after: 0 sum \d+,after: 1 sum 0,after: 2 sum 0,after: 3 sum 0$/, "... and what was put is there");
# Beside an accumulate only receives are late.
open my $both, ">", "$folder/both.c" or die;
print $both <<'END';
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, *memory, value = 7, got = -1, one = 1;
    MPI_Win win;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Isend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Irecv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    if (argc > 1)
        printf("rank %d: %d\n", rank, got);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_free(&win);
    MPI_Finalize();
}
END
close $both;
system($simcc, "-o", "$folder/both", "$folder/both.c") == 0 or BAIL_OUT("both.c does not compile");
like(`timeout 60 "$simrun" prove --db none -n 2 $folder/both wrong 2>&1`, qr/^B001 .*read before the operation is\s+complete/m, "prove: a receive is looked at, beside an accumulate");
like(`timeout 60 "$simrun" prove --db none -n 2 $folder/both 2>&1`, qr/^PASS .*no findings(?:.*\n)*.*1 run with late delivery/m, "... and its right twin");
done_testing;
