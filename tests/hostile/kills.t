#!/usr/bin/perl
# simrun and the process of its ranks are killed at random moments: the database of earlier runs stays whole, the next run finds
# nothing in its way, no process is left behind, and a killed run is X007. A sample; KILLS=500 (make kills).
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $kills = $ENV{KILLS} // 12;
my $folder = scratch_folder();
$ENV{SIMRUN_CACHE} = "$folder/cache";
chdir $folder or die;
plan skip_all => 'no /proc/PID/task/PID/children' if !-r "/proc/$$/task/$$/children";
open my $c, '>', 'steps.c' or die;
print $c <<'C';
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, value = 0, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < 400; step++) {
        for (int i = 0; i < 20; i++) {
            MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE);
            MPI_Allreduce(&step, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
        if (rank == 0) {
            printf("step %d\n", step);
            fflush(stdout);
        }
    }
    MPI_Finalize();
}
C
close $c;

is(system("'$simrun' --db runs.db -q -n 2 ./steps.c >/dev/null 2>&1"), 0, 'an undisturbed run passes');
my $first = `'$simrun' show --db runs.db 1 2>&1; '$simrun' export --db runs.db 1 --format jsonl 2>&1 | cksum`;
my $sqlite = grep { -x "$_/sqlite3" } split /:/, $ENV{PATH};
like($first, qr/\d+ operations.*^\d+ \d{4,}$/ms, 'and is kept with its operations');
srand($ENV{SIMRUN_SEED} // 1);
my %count = (parent => 0, child => 0, late => 0);
my ($lost, $unnamed, $left, $broken) = (0, 0, 0, 0);
for my $kill (1 .. $kills) {
    my $whom = rand() < 0.5 ? 'parent' : 'child';
    my $after = int rand 420; # lines; more than there are: while it judges and stores
    my $executor = rand() < 0.3 ? '--os-threads' : '';
    my $pid = open my $out, '-|', "exec '$simrun' --db runs.db --no-gradients -n 4 $executor ./steps.c 2>&1" or die;
    my ($lines, $text) = (0, '');
    while ($lines < $after and defined(my $line = <$out>)) {
        $lines++ if $line =~ /^step/;
        $text .= $line if $line !~ /^step/;
        last if $lines >= 400;
    }
    my ($child) = do { open my $f, '<', "/proc/$pid/task/$pid/children"; $f ? split(' ', <$f> // '') : () };
    my $victim = $whom eq 'child' && $child ? $child : $pid;
    my $struck = kill 'KILL', $victim;
    $text .= do { local $/; <$out> // '' };
    close $out;
    my $status = $?;
    $count{$lines >= 400 ? 'late' : $victim == $pid ? 'parent' : 'child'}++;
    # The child's end is told; that of simrun itself cannot be. Who is through already is not hurt.
    my $told = $victim == $pid || $lines >= 400 || ($status >> 8 == 1 && $text =~ /^X007 /m) ||
        ($status == 0 && $text =~ /finished, no findings/); # its lines come later than it
    $unnamed++, diag("kill $kill after $lines lines: status $status\n$text") if $struck && !$told;
    $left++ if $child && $victim == $pid && kill(0, $child) && is_running($child);
    next if $kill % 4 && $kill < $kills;
    my $kept = `'$simrun' show --db runs.db 1 2>&1; '$simrun' export --db runs.db 1 --format jsonl 2>&1 | cksum`;
    my $whole = $sqlite ? `sqlite3 runs.db "PRAGMA integrity_check" 2>&1` : 'ok';
    $broken++, diag($whole) if $whole !~ /^ok$/;
    $lost++, diag($kept) if $kept ne $first;
}

# One that has been told to end may still be on its way: the kernel ends it with its parent.
sub is_running {
    my ($pid) = @_;
    for (1 .. 200000) {
        open my $f, '<', "/proc/$pid/stat" or return 0;
        return 0 if (<$f> // '') =~ /\) [ZX]/;
    }
    return 1;
}

is($broken, 0, "$kills kills ($count{parent} of simrun, $count{child} of the ranks, $count{late} late): the database is whole");
is($lost, 0, 'the first run says the same after each of them, to the last operation');
is($unnamed, 0, 'a killed process of the ranks is named X007');
is($left, 0, 'no process is left behind');
is(system("'$simrun' --db runs.db -q -n 2 ./steps.c >/dev/null 2>&1"), 0, 'and the next run passes');
done_testing();
