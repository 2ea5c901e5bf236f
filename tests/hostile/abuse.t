#!/usr/bin/perl
# Handlers, children, limits and handles of programs that abuse them: each run ends, with the finding that names the way, the rank and,
# where it is known, the line; the runs before stay whole, and no process is left. A sample; HOSTILE=all runs the whole table
# (make hostile).
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $program = dirname(abs_path($0)) . '/abuse.c';
my $folder = tempdir(CLEANUP => 1);
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";

# way => code, and whether the line is known; '' ends well.
my %ways = ((map { $_ => 'X001 line' } qw(at-exit-abort at-exit-crash no-text profile-timer thread-signal no-handler-stack handler-crashes
    kill-crashes bad-request delete-crashes)), (map { $_ => 'X001' } qw(detached raw-default)),
    (map { $_ => 'X002 line' } qw(at-exit-mpi-abort mpi-abort-zero handler-aborts)), 'alarm-aborts' => 'X002', 'alarm-exits' => 'X002',
    (map { $_ => 'X007' } qw(own-kill stopped group-kill)), 'file-limit' => 'X007 line',
    (map { $_ => 'X008' } qw(exec-nothing daemon handler-leaves exit-256)), (map { $_ => 'X003' } qw(handler-returns blocked-spin traced)),
    (map { $_ => 'M009' } qw(init-twice finalize-twice after-finalize bad-comm bad-type error-loop)), 'bad-buffer' => 'D001 line',
    (map { $_ => '' } qw(fork-wait fork-mpi fork-crash fork-many session no-output no-descriptors handler-jumps parent-kill
    elsewhere no-environment)));
my @sample = qw(at-exit-abort kill-crashes detached raw-default alarm-exits own-kill daemon fork-crash fork-many exit-256 finalize-twice
    handler-jumps delete-crashes bad-comm traced);
@sample = sort keys %ways if ($ENV{HOSTILE} // '') eq 'all';

sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
my $runs = 0;
for my $way (@sample) {
    for my $executor ([], ['--os-threads']) {
        my ($code, $line) = split ' ', $ways{$way};
        my $limit = ($code // '') eq 'X003' ? 1 : 20;
        my $status = system('sh', '-c', 'exec timeout 60 "$0" "$@" >out 2>err </dev/null', $simrun, '--db', 'runs.db', '--timeout', $limit,
            '-n', 4, @$executor, $program, $way, 1) >> 8;
        my $out = slurp('out');
        $runs++;
        my $good = !$code ? $status == 0 && $out =~ /^PASS/m
            : $status == ($code eq 'X003' ? 124 : 1) && $out =~ /^$code /m && $out =~ /rank\s+1\b/i
            && (!$line || $out =~ /^$code .*?abuse\.c:\d+/ms);
        ok($good, "$way@$executor" . ($code ? ": $code" : ' ends well')) or diag("status $status\n$out", slurp('err'));
    }
}
like(`'$simrun' query --db runs.db "SELECT count(*) FROM runs" 2>&1`, qr/\b$runs\b/, 'all runs are in the database');
ok(`ps -eo ppid,args 2>/dev/null` !~ m{^\s*1 \S*\Q$folder\E|^\s*1 .*abuse\.c}m, 'no process is left behind');
done_testing();
