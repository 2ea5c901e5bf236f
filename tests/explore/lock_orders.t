#!/usr/bin/env perl
# The order in which locks of windows are had: prove tries all of them, and says what it does not try.
use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc'; # PROVEN needs its plugin
my $simrun = $ENV{SIMRUN} || "$Bin/../../build/simrun";
my $dir = scratch_folder();

sub program {
    my ($name, $body) = @_;
    open my $file, '>', "$dir/$name.c" or die;
    print $file <<"END";
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, size, *base, value = 0, one = 1;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    *base = 0;
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
$body
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
END
    return "$dir/$name.c";
}

sub prove {
    my ($ranks, $file, @more) = @_;
    my $said = qx{SIMRUN_COLOR=never "$simrun" prove -n $ranks --db none @more "$file" 2>&1};
    return ($said, $? >> 8);
}

sub word { return (split ' ', $_[0])[0] }

my $nested = <<'END';
    int left = rank, right = (rank + 1) % size;
    if (ORDERED && left > right) {
        left = right;
        right = rank;
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, left, 0, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(right, win);
    MPI_Win_unlock(left, win);
END
for my $ranks (2 .. 4) {
    my $crossed = program("crossed$ranks", "#define ORDERED 0\n$nested");
    my ($said, $status) = prove($ranks, $crossed);
    like $said, qr/^D00[12] .*cycle of $ranks blocked ranks/m, "locks taken in a ring of $ranks: a cycle";
    is $status, 1, 'and it fails';
    my $cycle = () = $said =~ s/\s+/ /gr =~ /In the cycle: rank \d, Win_lock at .*?, waits for rank \d/g;
    is $cycle, $ranks, 'whose ranks each wait for the lock of the next';
    if ($said =~ /--schedule\s+(\S+)/) {
        my $again = qx{"$simrun" -n $ranks --db none --schedule $1 "$crossed" 2>&1};
        like $again, qr/^D001 .*cycle of $ranks/m, 'a schedule repeats it';
    } else {
        like $said, qr/^D001/m, 'the plain run has it';
    }
    ($said, $status) = prove($ranks, program("ordered$ranks", "#define ORDERED 1\n$nested"));
    is word($said), 'PROVEN', "taken in the order of the ranks they are proven on $ranks";
}

my $last = <<'END';
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    if (value == LAST)
        MPI_Abort(MPI_COMM_WORLD, 3);
END
for my $who (0 .. 2) {
    my ($said, $status) = prove(3, program("last$who", "#define LAST $who\n$last"));
    like $said, qr/^X002 .*code 3/m, "rank $who may be the last to write";
    is $status, 1, 'which fails';
}
my ($said, $status) = prove(3, program('last9', "#define LAST 9\n$last"));
is word($said), 'PROVEN', 'where nothing depends on the last it is proven';
like $said, qr/\b(\d\d+)\s+runs\s+under\s+eager\s+sends,\s+all\s+there\s+are/, 'in more than ten runs';

# Shared locks.
my $reader = <<'END';
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_unlock(1, win);
    } else {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_unlock(1, win);
        if (value == READ)
            MPI_Abort(MPI_COMM_WORLD, 4);
    }
END
for my $read (0, 1) {
    ($said, $status) = prove(3, program("read$read", "#define READ $read\n$reader"));
    like $said, qr/^X002 .*code 4/m, "a reader may see $read";
}
($said, $status) = prove(4, program('read2', "#define READ 2\n$reader"));
is word($said), 'PROVEN', 'but nothing else';

my $meeting = <<'END';
    if (rank == 0)
        MPI_Win_lock(KIND, 1, 0, win);
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Win_unlock(1, win);
    if (rank)
        MPI_Barrier(MPI_COMM_WORLD);
END
($said, $status) = prove(2, program('meeting', "#define KIND MPI_LOCK_EXCLUSIVE\n$meeting"));
like $said, qr/^D00[12] .*cycle of 2 blocked ranks/m, 'a barrier within an exclusive lock hangs if it comes first';
($said, $status) = prove(2, program('shared', "#define KIND MPI_LOCK_SHARED\n$meeting"));
is word($said), 'PROVEN', 'within a shared one it does not';

# So has the last who replaces.
my $replaced = $last =~ s/MPI_Put\((.*?), win\)/MPI_Accumulate($1, MPI_REPLACE, win)/r;
for my $who (0 .. 2) {
    ($said, $status) = prove(3, program("replaced$who", "#define LAST $who\n$replaced"));
    like $said, qr/^X002 .*code 3/m, "rank $who may be the last to replace";
}

# MPI may give a lock later than it is asked for, but for one's own memory, up to the first flush: after one that was asked for because of
# a message from within. Beside it: nothing is said within, nothing that the other sees is done, a flush comes before, it is one's own.
my $lazy = <<'END';
    int before = 0, after = 0;
    if (rank == OWNER) {
        LOCK;
        BEFORE;
        MPI_Accumulate(&one, 1, MPI_INT, 2, 0, 1, MPI_INT, MPI_SUM, win);
        UNLOCK;
        AFTER;
    } else if (rank == 1) {
        OTHER;
        MPI_Win_lock(KIND, 2, 0, win);
        THEIRS;
        MPI_Win_unlock(2, win);
    } else {
        THIRD;
    }
    MPI_Barrier(MPI_COMM_WORLD);
END
my %lazy = (OWNER => 0, LOCK => 'MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win)', UNLOCK => 'MPI_Win_unlock(2, win)', KIND => 'MPI_LOCK_EXCLUSIVE', THIRD => '(void)0', BEFORE => '(void)0', AFTER => '(void)0',
    OTHER => 'MPI_Recv(&after, 1, MPI_INT, OWNER, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)',
    THEIRS => 'MPI_Get(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, win)');
my $send = 'MPI_Send(&before, 1, MPI_INT, 1, 0, MPI_COMM_WORLD)';
my $answer = 'MPI_Recv(&before, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)';
my $barrier = 'MPI_Barrier(MPI_COMM_WORLD)';
my @all = (LOCK => 'MPI_Win_lock_all(0, win)', UNLOCK => 'MPI_Win_unlock_all(win)');
my @lazy = (
    [1, 'sent within a lock of all', @all, BEFORE => $send],
    [1, 'sent within a lock of all, after a flush of another target', @all, BEFORE => "MPI_Win_flush(1, win); $send"],
    [0, 'sent behind a lock of all', @all, AFTER => $send],
    [0, 'flushed in a lock of all before it is sent', @all, BEFORE => "MPI_Win_flush(2, win); $send"],
    [0, 'all flushed in a lock of all before it is sent', @all, BEFORE => "MPI_Win_flush_all(win); $send"],
    [0, 'sent within a lock of all, and the other adds as well', @all, BEFORE => $send,
        THEIRS => 'MPI_Accumulate(&one, 1, MPI_INT, 2, 0, 1, MPI_INT, MPI_SUM, win)'],
    [0, 'sent within a lock of all by the owner', @all, BEFORE => $send, OWNER => 2],
    [1, 'sent within', BEFORE => $send],
    [1, 'sent within, after a flush of another target', BEFORE => "MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);"
            . " MPI_Win_flush(1, win); $send; MPI_Win_unlock(1, win)"],
    [1, 'sent within, after a local flush', BEFORE => "MPI_Win_flush_local(2, win); $send"],
    [1, 'received within', BEFORE => $answer, OTHER => 'MPI_Ssend(&after, 1, MPI_INT, OWNER, 0, MPI_COMM_WORLD)'],
    [1, 'a barrier within', BEFORE => $barrier, OTHER => $barrier, THIRD => $barrier],
    [1, 'sent within, and the other shares', BEFORE => $send, KIND => 'MPI_LOCK_SHARED'],
    [0, 'sent behind', AFTER => $send],
    [0, 'flushed before it is sent', BEFORE => "MPI_Win_flush(2, win); $send"],
    [0, 'all flushed before it is sent', BEFORE => "MPI_Win_flush_all(win); $send"],
    [0, 'sent within, and the other adds as well', BEFORE => $send,
        THEIRS => 'MPI_Accumulate(&one, 1, MPI_INT, 2, 0, 1, MPI_INT, MPI_SUM, win)'],
    [0, 'sent within the lock of its own memory', BEFORE => $send, OWNER => 2],
);
for my $row (@lazy) {
    my ($wanted, $what, %more) = @$row;
    my %words = (%lazy, %more);
    ($said, $status) = prove(3, program('lazy' . $what =~ s/\W//gr, join('', map { "#define $_ $words{$_}\n" } sort keys %words) . $lazy));
    is word($said), $wanted ? 'PASS' : 'PROVEN', $what;
    is $said =~ /before its\s+first\s+flush/ ? 1 : 0, $wanted, "$what: the gap";
}

# What is not tried is told.
my $ticket = <<'END';
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&one, &value, MPI_INT, 0, 0, WHAT, win);
    MPI_Win_unlock_all(win);
END
($said, $status) = prove(2, program('ticket', "#define WHAT MPI_SUM\n$ticket"));
is word($said), 'PASS', 'tickets that are drawn without a lock are not proven';
like $said, qr/another order of\s+atomic accesses/, 'and prove says why';
($said, $status) = prove(2, program('look', "#define WHAT MPI_NO_OP\n$ticket"));
is word($said), 'PROVEN', 'looks alone are';
$said = qx{"$simrun" explore -n 2 --db "$dir/runs.db" "$dir/ticket.c" 2>&1};
like $said, qr/one rank fetched\s+atomically/, 'explore says so, too';

# The program's own loads and stores under a lock are seen: they matter where others look.
my $own = <<'END';
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        *base STORES;
        MPI_Win_unlock(0, win);
    } else {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        if (value == READ)
            MPI_Abort(MPI_COMM_WORLD, 5);
    }
END
for my $read (0, 1) {
    ($said, $status) = prove(3, program("own$read", "#define STORES = 1\n#define READ $read\n$own"));
    like $said, qr/^X002 .*code 5/m, "what is stored under one's own lock: others may read $read";
}
($said, $status) = prove(3, program('own2', "#define STORES = 1\n#define READ 2\n$own"));
is word($said), 'PROVEN', 'but nothing else';
like $said, qr/\b(?:[3-9]|\d\d)\s+runs\s+under\s+eager\s+sends,\s+all\s+there\s+are/, 'in some orders';
my $sums = <<'END';
    for (int i = 0; i < 10; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, i % 2, 0, win);
        MPI_Accumulate(&one, 1, MPI_INT, i % 2, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_unlock(i % 2, win);
    }
END
($said, $status) = prove(4, program('sums', $sums));
is word($said), 'PROVEN', 'sums under 40 locks are proven';
like $said, qr/\b1\s+run\s+under\s+eager\s+sends,\s+all\s+there\s+are/, 'in one run: any order is as good';

my $spin = <<'END';
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    while (rank == 0 && !value) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
END
($said, $status) = prove(2, program('spin', $spin), '--budget', '2');
is word($said), 'PASS', 'a rank that takes a lock until it sees something comes to its end';
is $status, 0, 'without a finding';

done_testing();
