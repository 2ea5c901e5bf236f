#!/usr/bin/perl
# Whatever ends a run that stores: the database opens, is sound, what was there before is whole, and the run is marked.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $shim_source = abs_path('tests/shims/nth.c');
my $folder = scratch_folder();
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";
my $OPERATIONS = 400;

my ($out, $err);
sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub run {
    my $status = system('sh', '-c', 'exec timeout 300 "$0" "$@" >out 2>err', $simrun, @_);
    ($out, $err) = (slurp('out'), slurp('err'));
    return $status >> 8;
}
sub number {
    my ($database, $sql) = @_;
    return run('query', '--csv', '--db', $database, $sql) ? 'not readable' : ($out =~ /\n(.*)\n\z/)[0];
}
my $state = 20240229;
sub below { # the same numbers on every machine
    $state = ($state * 1103515245 + 12345) % 2**31;
    return int(($state >> 8) % shift);
}

open my $file, '>', 'pairs.c' or die;
print $file <<"END";
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, at = argc > 1 ? atoi(argv[1]) : -1;
    double x = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < $OPERATIONS; i++) {
        if (rank == 0 && i == at)
            kill(getpid(), SIGKILL);
        if (rank == 0)
            MPI_Ssend(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
END
close $file;

# What a run has stored, and what it has counted of loops instead.
my $counted = 'coalesce((select sum(body * times) from folds f where f.run_id = r.run_id), 0)';
is(run(qw(-n 2 --db child.db ./pairs.c)), 0, 'a run');
my $whole = number('child.db', "select op_count + $counted from runs r");
is($whole, 2 * $OPERATIONS + 4, 'is stored with all its operations');

# The process of the ranks alone, at 50 instants: what was written until then is kept.
my ($marked, $kept, $said) = (0, 0, 0);
for my $kill (1 .. 50) {
    my $instant = below($OPERATIONS);
    my $status = run(qw(-n 2 --db child.db ./pairs.c), $instant);
    $said += $status == 1 && $out =~ /^FAIL .*^X007 killed/ms;
    my $row = number('child.db', "select outcome || ' ' || (op_count + $counted) from runs r order by run_id desc limit 1");
    $marked += $row =~ /^"?fail /;
    my ($operations) = $row =~ /(\d+)/;
    # Both called Init; rank 1 received what was sent, and may stand in the receive that follows.
    $kept++ if abs($operations - (2 + 2 * $instant)) <= 1;
}
is($said, 50, 'kill -9 of the process of the ranks is said');
is($marked, 50, 'the run is marked as failed');
is($kept, 50, 'with everything recorded up to then');
is(run(qw(db info --db child.db)), 0, 'the database is sound');
is(number('child.db', "select count(*) from runs r where outcome='pass' and (select count(*) from ops o where o.run_id=r.run_id)+$counted=$whole"),
    1, 'the earlier run is whole');

SKIP: {
    skip 'no C compiler for the shim', 1 if system("cc -shared -fPIC -O1 -o nth.so '$shim_source' -ldl 2>shim.err");
    skip 'the shim is for glibc', 1 if system("LD_PRELOAD=./nth.so true");
    skip 'a sanitizer has its own malloc', 1 if `ldd '$simrun'` =~ /lib(asan|tsan|ubsan)/;
    sub with { # runs simrun with something at the n-th call
        my ($call, $at, $act, @words) = @_;
        unlink 'mark', 'count';
        local @ENV{qw(LD_PRELOAD NTH_CALL NTH_AT NTH_DO NTH_MARK NTH_COUNT)} =
            ("$folder/nth.so", $call, $at, $act, "$folder/mark", "$folder/count");
        my $status = system('sh', '-c', 'exec "$0" "$@" >out 2>err', $simrun, @words);
        ($out, $err) = (slurp('out'), slurp('err'));
        return $status;
    }

    # simrun itself, at 50 of its calls that change files or take memory.
    for my $call (qw(file allocation)) {
        my $database = "parent-$call.db";
        run(qw(-n 2 --db), $database, './pairs.c');
        is(with($call, 0, 'kill', qw(-n 2 --db), $database, './pairs.c'), 0, "$call: a run");
        my $calls = slurp('count') + 0;
        cmp_ok($calls, '>', 10, "$call: makes calls");
        my ($sound, $killed) = (0, 0);
        for my $kill (1 .. 25) {
            my $status = with($call, 1 + below($calls), 'kill', qw(-n 2 --db), $database, './pairs.c');
            $killed += ($status & 127) == 9;
            $sound += run(qw(db info --db), $database) == 0;
        }
        is($killed, 25, "$call: simrun is killed 25 times");
        is($sound, 25, "$call: the database opens and is sound each time");
        is(run(qw(-n 2 --db), $database, './pairs.c'), 0, "$call: and written to again");
        is(number($database, 'select count(*) from runs where outcome is null'), 0, "$call: no run is left that seems to go on");
        is(number($database, "select count(*) from runs r where outcome='pass' and (select count(*) from ops o where o.run_id=r.run_id)+$counted<>$whole"),
            0, "$call: those that passed are whole");
        isnt(number($database, "select count(*) from runs where outcome='interrupted'"), 0, "$call: the others are marked interrupted");
    }

    # Every allocation and every call to the file fails once, while a trace is read, judged and stored.
    is(run(qw(-n 2 --db source.db two-allreduce)), 1, 'a run with a finding');
    run(qw(export --db source.db -o trace.jsonl));
    for my $call (qw(allocation file)) {
        my $database = "faults-$call.db";
        run(qw(import --db), $database, 'trace.jsonl');
        my $good = number($database, 'select op_count from runs');
        my ($rounds, $passed, $died, $silent, $unsound, $lost, $unnamed) = (0) x 7;
        my @wrong;
        for (my $n = 1;; $n += 1 + int($n / 16)) {
            my $status = with($call, $n, 'fail', qw(import --db), $database, 'trace.jsonl');
            last if !-e 'mark';
            $rounds++;
            my $bad = $status & 127 || ($status >> 8) !~ /^[035]$/;
            push @wrong, "$n: status $status $err" if $bad;
            $died += $bad ? 1 : 0;
            $passed += $status == 0;
            $silent += $status != 0 && $err !~ /\S/;
            $unnamed += $call eq 'file' && $status != 0 && $err !~ /\Q$database\E|trace\.jsonl/;
            $unsound += run(qw(db info --db), $database) != 0;
            $lost += number($database, "select count(*) from runs where outcome='fail' and op_count=$good") < 1 + $passed; # a trace is kept before it is judged
        }
        diag($_) for @wrong[0 .. ($#wrong < 4 ? $#wrong : 4)];
        cmp_ok($rounds, '>', 15, "$call: fails often enough while a file is imported");
        is($died, 0, "$call: each failure ends with a status of the table");
        is($silent, 0, "$call: and with a sentence");
        is($unnamed, 0, "$call: that names the file");
        is($unsound, 0, "$call: the database is sound after each");
        is($lost, 0, "$call: every run reported as stored is there");
    }
}

# Eight jobs at once on one file.
my @children = map { fork() // die or do { open STDOUT, '>', '/dev/null'; exec $simrun, qw(-n 4 --db many.db), $_ % 2 ? 'ring' : 'two-comms' } } 1 .. 8;
my %status;
for (@children) { waitpid $_, 0; $status{$? >> 8}++ }
is_deeply(\%status, {0 => 4, 1 => 4}, 'eight jobs on one file end as each does alone');
is(number('many.db', q(select count(*) from runs where outcome in ('pass','fail'))), 8, 'all are kept');
is(run(qw(db info --db many.db)), 0, 'in a sound database');

# A disk that is full and a folder that is read-only, where the system lets us have them.
my $private = q(unshare -rm sh -c 'mount -t tmpfs -o size=1m none disk || exit 99;);
mkdir 'disk';
SKIP: {
    skip 'no mounts of our own here', 9 if system("$private true' 2>/dev/null");
    run(qw(-n 1024 --no-gradients --db large.db ring));
    run(qw(export --db large.db -o large.jsonl));
    my $script = qq($private "$simrun" -n 2 --db disk/r.db ring >/dev/null; echo \$? >first;)
        . qq( timeout 300 "$simrun" import --db disk/r.db large.jsonl >out 2>err; echo \$? >second;)
        . qq( timeout 300 "$simrun" -n 1024 --no-gradients --db disk/r.db ring >out3 2>err3; echo \$? >third;)
        . qq( "$simrun" db info --db disk/r.db >info; cp disk/r.db kept.db; mount -o remount,bind,ro disk;)
        . qq( "$simrun" -n 2 --db disk/new.db ring >out4 2>err4; echo \$? >fourth; "$simrun" show 1 --db disk/r.db >shown; echo \$? >fifth');
    system($script);
    is(slurp('first'), "0\n", 'on a small disk: a run');
    is(slurp('second'), "5\n", 'no room for another: 5');
    like(slurp('err'), qr{disk/r\.db.*full}, 'with path and reason');
    is(slurp('third'), "5\n", 'neither for a run');
    like(slurp('info'), qr/^integrity  ok$/m, 'the database is sound');
    is(number('kept.db', q(select count(*) from runs where outcome='pass' and op_count=(select count(*) from ops where ops.run_id=runs.run_id))),
        1, 'the earlier run is whole');
    is(slurp('fourth'), "5\n", 'on a read-only disk: 5');
    like(slurp('err4'), qr{disk/new\.db}, 'with the path');
    is(slurp('fifth'), "0\n", 'what is there can be read');
}
done_testing();
