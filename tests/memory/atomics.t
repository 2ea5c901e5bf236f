#!/usr/bin/env perl
# The program's own atomic operations on memory of windows: what they change races with what others put there; what they order is not known,
# and said so.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
$ENV{CC} = 'gcc';
chdir scratch_folder() or die;

my $fence = 'MPI_Win_fence(0, win);';
my $put = 'MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, win);';
my $shared = 'MPI_Win_allocate_shared(rank == 0 ? 8 : 0, 4, MPI_INFO_NULL, W, &base, &win); MPI_Win_shared_query(win, 0, &bytes, &unit, &base);';
my $own = 'MPI_Win_allocate(8, 4, MPI_INFO_NULL, W, &base, &win);';
my $flag = '(_Atomic int *)(base + 1)';
# Name; the window; what all, rank 0, rank 1 and all do; the code of the finding; whether it says that atomic operations were not followed.
my @cases = (
    ['a put, nothing else', $own, $fence, $put, '', $fence, '', 0],
    ['an atomic sum beside a put', $own, $fence, $put, 'atomic_fetch_add((_Atomic int *)base, 1);', $fence, 'B003', 1],
    ['an atomic store beside a put', $own, $fence, $put, 'atomic_store((_Atomic int *)base, 1);', $fence, 'B003', 1],
    ['an atomic sum elsewhere', $own, $fence, $put, "atomic_fetch_add($flag, 1);", $fence, '', 1],
    ['an atomic sum behind the fence', $own, "$fence if (rank == 0) $put $fence", '', 'atomic_fetch_add((_Atomic int *)base, 1);', $fence, '', 1],
    ['a flag in a shared window', $shared, 'MPI_Win_lock_all(0, win);', "base[0] = 42; atomic_store($flag, 1);",
        "while (!atomic_load($flag)) MPI_Win_sync(win); seen = base[0];", 'MPI_Win_unlock_all(win);', '', 1],
    ['no flag in a shared window', $shared, 'MPI_Win_lock_all(0, win);', 'base[0] = 42;', 'seen = base[0];', 'MPI_Win_unlock_all(win);', 'B003', 0],
    ['a race behind the first atomic is not looked for', $shared, 'MPI_Win_lock_all(0, win); base[0] = rank;', "atomic_store($flag, 1);", "seen = atomic_load($flag);",
        'MPI_Win_unlock_all(win);', '', 1],
);
my $number = 0;
for my $case (@cases) {
    my ($name, $window, $before, $zero, $first, $behind, $code, $told) = @$case;
    my $file = 'case' . $number++ . '.c';
    open my $out, '>', $file or die;
    print $out <<"END";
#include <mpi.h>
#include <stdatomic.h>
#define W MPI_COMM_WORLD
static volatile int seen;
int main(int argc, char **argv)
{
    int rank, one = 1, *base, unit;
    MPI_Aint bytes;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    (void)one, (void)unit, (void)bytes, (void)seen;
    $window
    $before
    if (rank == 0) {
        $zero
    } else {
        $first
    }
    $behind
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
END
    close $out;
    my $said = join ' ', split ' ', qx{SIMRUN_COLOR=never "$simrun" prove -n 2 --db none $file 2>&1};
    my %codes = map { $_ => 1 } $said =~ / ([A-Z]\d{3}) [a-z]/g;
    is join(' ', keys %codes), $code, $name or diag $said;
    my $says = $said =~ /not covered: atomic operations of the program itself/;
    ok !($says xor $told), "$name: " . ($told ? 'told' : 'nothing to tell') or diag $said;
    like $said, qr/^PROVEN/, "$name: proven" if !$code && !$told;
}
done_testing();
