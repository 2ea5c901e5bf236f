#!/usr/bin/env perl
# Whom a rank waits for in MPI_Win_start, MPI_Win_wait and MPI_Win_lock: what is missing is named, with the rank that would do it, and the
# right twin of each program is proven.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
$ENV{CC} = 'gcc'; # clang leaves out elements of arrays on the stack, and nothing is proven
chdir scratch_folder() or die;

# `to` is the group of the right neighbour, `from` that of the left.
my $put = 'MPI_Put(&one, 1, MPI_INT, right, 0, 1, MPI_INT, win);';
my %calls = (post => 'MPI_Win_post(from, 0, win);', start => "MPI_Win_start(to, 0, win); $put", complete => 'MPI_Win_complete(win);',
    wait => 'MPI_Win_wait(win);', end => 'MPI_Finalize(); return 0;', receive => 'MPI_Recv(&got, 1, MPI_INT, left, 0, W, DONE);',
    send => 'MPI_Send(&one, 1, MPI_INT, right, 0, W);', reply => 'MPI_Send(&one, 1, MPI_INT, left, 0, W);',
    hear => 'MPI_Recv(&got, 1, MPI_INT, right, 0, W, DONE);', own => 'MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);',
    next => 'MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);', leave => 'MPI_Win_unlock(right, win); MPI_Win_unlock(rank, win);',
    barrier => 'MPI_Barrier(W);');

# Name; ranks; what the last rank does, what the others do; the word; what is said.
my $right = 'post start complete wait';
my @cases = (
    (map { my $n = $_; (
        ["a ring of $n", $n, $right, $right, 'PROVEN', qr/no findings/],
        ["a ring of $n, each starts before it posts", $n, ('start complete post wait') x 2, 'FAIL', qr/D001 deadlock: cycle of $n blocked ranks: Win_start/],
        ["a ring of $n, each waits before it completes", $n, ('post start wait complete') x 2, 'FAIL', qr/D001 deadlock: cycle of $n blocked ranks: Win_wait/],
        ["a ring of $n, all but one", $n, 'start post complete wait', $right, 'PROVEN', qr/no findings/],
        ["a ring of $n, a post is missing", $n, 'start complete', $right, 'FAIL', qr/D001.*Win_start/],
        ["locks in a ring of $n", $n, ('own barrier next leave') x 2, 'FAIL', qr/D001 deadlock: cycle of $n blocked ranks: Win_lock/],
    ) } 2, 3, 5),
    ['the first has ended without a post', 2, 'start complete end', 'end', 'FAIL', qr/Rank 0 has finished without a MPI_Win_post/],
    ['the first has ended without completing', 2, 'end', 'post wait end', 'FAIL', qr/Rank 1 has finished without the MPI_Win_complete/],
    ['a message that is sent behind the wait', 2, 'start hear complete', 'post wait reply', 'FAIL', qr/D001 deadlock: cycle of 2 blocked ranks: Win_wait.*Recv/],
    ['one that is sent before it', 2, 'start hear complete', 'post reply wait', 'PROVEN', qr/no findings/],
);
my $number = 0;
for my $case (@cases) {
    my ($name, $ranks, $last, $others, $word, $says) = @$case;
    my $file = 'case' . ++$number . '.c';
    my ($of_last, $of_others) = map { join "\n        ", map { $calls{$_} // die } split } $last, $others;
    open my $out, '>', $file or die;
    print $out <<"END";
#include <mpi.h>
#define W MPI_COMM_WORLD
#define DONE MPI_STATUS_IGNORE
int main(int argc, char **argv)
{
    int rank, size, one = 1, got = 0, *base;
    MPI_Win win;
    MPI_Group all, to, from;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    (void)one, (void)got;
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, W, &base, &win);
    MPI_Comm_group(W, &all);
    MPI_Group_incl(all, 1, &right, &to);
    MPI_Group_incl(all, 1, &left, &from);
    if (rank == size - 1) {
        $of_last
    } else {
        $of_others
    }
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
END
    close $out;
    my $said = qx{SIMRUN_COLOR=never "$simrun" prove -n $ranks --db none $file 2>&1};
    my ($first) = $said =~ /^([A-Z]{4,}) /m;
    my $line = join ' ', split ' ', $said;
    ok $first eq $word && $line =~ $says, $name or diag $said;
    my $findings = () = $said =~ /^D00\d /mg;
    is $findings, ($word eq 'FAIL' ? 1 : 0), "$name: the deadlock is told once" or diag $said;
}

# A message that only a post holds back does not race with the one that was received before the post; without the post it does.
for my $ordered (1, 0) {
    open my $out, '>', "order$ordered.c" or die;
    print $out <<"END";
#include <mpi.h>
#define W MPI_COMM_WORLD
#define DONE MPI_STATUS_IGNORE
int main(int argc, char **argv)
{
    int rank, x = 0, *base;
    MPI_Win win;
    MPI_Group all, other;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, W, &base, &win);
    MPI_Comm_group(W, &all);
    MPI_Group_incl(all, 1, &(int){rank == 0}, &other);
    if (rank == 0) {
        MPI_Send(&x, 1, MPI_INT, 2, 0, W);
        MPI_Recv(&x, 1, MPI_INT, 2, 1, W, DONE);
        MPI_Win_post(other, 0, win);
        MPI_Win_wait(win);
    } else if (rank == 1) {
        if ($ordered)
            MPI_Win_start(other, 0, win);
        MPI_Send(&x, 1, MPI_INT, 2, 0, W);
        if (!$ordered)
            MPI_Win_start(other, 0, win);
        MPI_Win_complete(win);
    } else {
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, DONE);
        MPI_Send(&x, 1, MPI_INT, 0, 1, W);
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, DONE);
    }
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
END
    close $out;
    my $said = qx{SIMRUN_COLOR=never "$simrun" prove -n 3 --db none order$ordered.c 2>&1};
    my $races = () = $said =~ /^R003 /mg;
    is $races, 1 - $ordered, $ordered ? 'a post orders messages' : 'without it they race' or diag $said;
    # MPI may let MPI_Win_start go on: then the messages race, which is named where it was not looked at.
    like join(' ', split ' ', $said), $ordered ? qr/^PASS.*not covered: a rank waited .* MPI_Win_start/ : qr/ D002 may-deadlock/,
        $ordered ? 'where MPI_Win_start waits for it, as is said' : 'and may hang, as it finds' or diag $said;
}

# The picture has an arrow for each, and says what each needs.
my %needs = ('a ring of 3, each starts before it posts' => 'Win_post on', 'a ring of 3, each waits before it completes' => 'Win_complete on',
    'locks in a ring of 3' => 'an unlock on');
for my $i (0 .. $#cases) {
    my $needed = delete $needs{$cases[$i][0]} or next;
    my $file = 'case' . ($i + 1);
    qx{"$simrun" -n 3 --db none --dot $file.dot $file.c 2>&1};
    open my $in, '<', "$file.dot" or die;
    my $picture = do { local $/; <$in> };
    my $rows = () = $picture =~ /$needed \d/g;
    my $arrows = () = $picture =~ /^  m\d+ -> m\d+ \[color="#D55E00", penwidth=3/mg;
    is "$rows $arrows", '3 3', "$cases[$i][0]: three arrows in the picture, three rows in its table";
}

done_testing();
