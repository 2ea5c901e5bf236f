#!/usr/bin/perl
# Going on after a failure (ULFM): what every rule gives, on fibers, OS threads and cores; the runs pass, with the death as a note,
# and where errors are fatal nothing has changed.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $program = dirname(abs_path($0)) . '/ulfm.c';
my $folder = scratch_folder();
$ENV{SIMRUN_CACHE} ||= "$folder/cache";
chdir $folder or die;

sub run { my $out = `timeout 60 '$simrun' --db none -n 4 @_ 2>&1 </dev/null`; return ($? >> 8, $out) }
# What each rank printed, in its order, ranks one after the other.
sub printed { my ($out) = @_; my @of; push @{ $of[$1] }, $2 while $out =~ /^rank (\d) (.*)$/mg; return join '; ', map { "$_: " . join ', ', @{ $of[$_] // [] } } grep { $of[$_] } 0 .. 3 }
# The same of several ranks.
sub each_of { my ($what, @ranks) = @_; return join '; ', map { "$_: $what" } @ranks }

my $point = 'receives: failed, sends: failed, synchronous: failed, starts: success, waits: failed, probes: failed, exchanges: failed';
my $tail = 'allgather: failed, ibarrier: failed, dup: failed';
my $head = 'barrier: failed, allreduce: failed, reduce';
my $revoked = 'waits: revoked, revoked: 1, sends: revoked, receives: revoked, barrier: revoked, agrees: success, elsewhere: success, '
    . 'revoked elsewhere: 0';
my @rules = (
    ['point', 'sends to a failed rank and receives from it return PROC_FAILED; starting one does not', each_of($point, 0, 2, 3)],
    ['before', 'what a rank sent before it failed is received, and messages among the living go on',
        '0: has what was sent: success, and no more: failed; 2: sends to the living: success; 3: hears the living: success'],
    ['wildcard', 'a receive from any source is PENDING until the failure is acknowledged, and can still be matched',
        '0: blocks: failed, waits: pending, tests: pending, waits for any: pending, waits for all: in-status, of which: pending, '
        . 'probes: pending, acknowledges: success, waits again: success, has 42 of 2, handle gone'],
    ['collectives', 'a collective fails just where a member waits for the failed one',
        "0: $head: failed, bcast: success, bcast of the dead: failed, scan: success, $tail; "
        . each_of("$head: success, bcast: success, bcast of the dead: failed, scan: failed, $tail", 2, 3)],
    ['handlers', 'each communicator has its own error handler', each_of('returns: failed, handled 0, handles: failed, handled 11', 0, 2, 3)],
    ['revoke', 'a revoked communicator ends what waits and refuses what comes, but for agreement; others are as they were',
        join '; ', map { "$_: " . ($_ == 2 ? 'revokes: success, ' : '') . $revoked } 0 .. 3],
    ['shrink', 'shrink gives a communicator of the living', join '; ', map { my $r = $_; "$r: shrinks: success, sums: success, is "
        . ($r ? $r - 1 : 0) . ' of 3, sum 5' } 0, 2, 3],
    ['later', 'ishrink and iagree complete when waited for', each_of('shrinks: success, agrees: success, of 3, sum 5, flag 6', 0, 2, 3)],
    ['agree', 'agree gives every member the same flag, and PROC_FAILED to all while one has not acknowledged a failure',
        each_of('agrees: failed, flag 5, agrees again: success, flag 9, 1 acknowledged, 1 of them, at 0', 0, 2, 3)],
    ['apart', 'communicators without the failed rank go on', each_of('without it: success, sum 3', 0, 2, 3)],
    ['across', 'the same holds between the groups of an intercommunicator', join '; ', map { "$_: " . ($_ ? 'receives across: failed, ' : '')
        . 'barrier across: failed, shrinks across: success, of ' . ($_ ? '2 with 1' : '1 with 2') . ', barrier again: success' } 0, 2, 3],
);
my $living = 'success, unlocks: success';
my @of_windows = (
    ['fence', 'a fence fails at every member, and who is left frees the window', '0: fence: success, fence: failed, gone; 1: fence: success; '
        . each_of('fence: success, fence: failed, gone', 2, 3)],
    ['access', 'a lock of a failed member cannot be had; locks and accesses of the living are as they were',
        each_of("lock_all: failed, lock: failed, locks another: success, adds: success, flushes: $living, puts nowhere: success, "
            . "gets: success, waits: $living, gone", 0, 2, 3)],
    ['held', 'an access to a failed member fails, and the end of the epoch says so', "0: lock_all: success, HELD; 1: lock_all: success; "
        . each_of('lock_all: success, HELD', 2, 3)],
    ['holder', 'a lock that a failed member holds is waited for no longer',
        '0: waits for the lock: failed, has another: success, unlocks it: success, gone; 2: gone; 3: gone'],
    ['exposed', 'who starts at a failed member, or waits for its end of an epoch, is told', '0: starts: failed, gone; 2: waits: failed, gone; '
        . '3: tests: failed, gone'],
    ['group', 'a communicator of a group with a failed member is not made, one without it is',
        each_of('makes one with it: failed, makes one without it: success, sums: success, sum 3', 0, 2, 3)],
    ['leaders', 'a side whose partner has failed makes no intercommunicator, and all of it are told', each_of('meets the dead: failed', 2, 3)],
    ['called-off', 'revoking the common communicator ends the wait for the leader across', each_of('is told: revoked', 2, 3)],
);
my $held = 'puts: failed, gets: failed, adds: failed, puts to the living: success, flushes the living: success, flushes the dead: failed, '
    . 'unlocks all: failed, gone';
$_->[2] =~ s/HELD/$held/g, $_->[3] = $program =~ s/ulfm\.c$/ulfm_windows.c/r for @of_windows;
for my $rule (@rules, @of_windows) {
    my ($word, $says, $wanted, $source) = @$rule;
    for my $executor ('', '--os-threads', '--cores 2') {
        my ($status, $out) = run("$executor '" . ($source // $program) . "' $word");
        is(printed($out), $wanted, $says . ($executor && " ($executor)")) or diag($out);
        my $note = $word =~ /^revoke$|^called-off$/ ? $out !~ /X010/ : $out =~ /^X010 /m;
        ok($status == 0 && $note && $out =~ /^PASS /m, "$word $executor: passes, and the death is a note") or diag("$status\n$out");
    }
}

my ($status, $out) = run("'$program' shrink fatal");
ok($status == 1 && $out =~ /^X007 /m && printed($out) eq '', 'where errors are fatal a rank that kills itself ends the run as before') or diag($out);
for my $executor ('', '--os-threads') {
    ($status, $out) = run("$executor --fault crash:3\@4 '$program' shrink");
    is(printed($out), '0: shrinks: success, sums: success, is 0 of 2, sum 2; 2: shrinks: success, sums: success, is 1 of 2, sum 2',
        "a rank that crashes in a shrink $executor is left out of it");
    ok($status == 0 && $out =~ /injected fault: crash/, 'and that run passes') or diag($out);
}
# Nobody is told of the failure before the communicator is shrunk.
open my $left, '>', 'left.c' or die;
print $left <<'C';
#include <mpi.h>
#include <mpi-ext.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Comm living;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 2)
        exit(1);
    MPIX_Comm_shrink(MPI_COMM_WORLD, &living);
    MPI_Barrier(living);
    MPI_Comm_free(&living);
    MPI_Finalize();
}
C
close $left;
($status, $out) = run('left.c');
is(join(' ', $out =~ /^([A-Z]\d{3}) /mg), 'X002', 'who leaves with a status is told; that the others shrink without it is no deadlock') or diag($out);
my ($first, $second) = map { printed((run("'$program' agree"))[1]) } 1, 2;
is($first, $second, 'the same run gives the same');
done_testing();
