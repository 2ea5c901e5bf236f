#!/usr/bin/perl
# Programs that misbehave in every way we know cannot hurt their judge: each run ends, with the finding that names the way and the
# rank, keeps what was recorded, leaves the runs before it whole, and nothing behind. A sample; HOSTILE=all runs the whole table
# (make hostile), HOSTILE_WRITES=n so many runs of random bytes written over everything the program can reach.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $program = dirname(abs_path($0)) . '/misbehave.c';
my $all = ($ENV{HOSTILE} // '') eq 'all';
my $writes = $ENV{HOSTILE_WRITES} // 20;
my $folder = tempdir(CLEANUP => 1);
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";

# way => what is found when one rank does it between two collectives; a list where that depends on what the wild access meets.
my %crash = map { $_ => 'X001' } qw(abort read write high text call divide trap assert term user pipe blocked unmap);
my %middle = (%crash, stack => 'X004', smash => 'X001', free => 'X001', exit => 'X008', leave => 'X008', quick => 'X008',
    group => 'X008', exec => 'X008', 'pthread-exit' => 'X008', exit3 => 'X002', leave3 => 'X002', group3 => 'X002',
    'mpi-abort' => 'X002', kill => 'X007', stop => 'X007', barrier => 'D001|M001', forever => 'X003', polls => 'X003',
    flood => 'X003', fill => 'X009', clear => 'X009', random => 'X009', jump => '', descriptors => '', close => '', child => '',
    'alarm-call' => 'M009', 'alarm-exchange' => 'M009', 'alarm-mark' => '', 'alarm-jump' => '');
my %pending = map { $_ => $middle{$_} } grep { !/^(jump|barrier|descriptors|close|child|alarm-jump)$/ } keys %middle;
# After MPI_Finalize an end without a word is a good one.
my %last = map { $_ => $middle{$_} =~ /X008/ ? '' : $middle{$_} } grep { !/^(barrier|polls|flood|alarm-.*)$/ } keys %middle;
my %op = (%crash, stack => 'X004', exit => 'X008', leave => 'X008', quick => 'X008', exit3 => 'X002', leave3 => 'X002',
    'mpi-abort' => 'X002', kill => 'X007', jump => 'M009', barrier => 'M009', forever => 'X003');
delete @op{qw(unmap assert)};
# A thread of a rank's own takes the whole process along, or only its rank.
my %thread = ((map { $_ => 'X001' } qw(abort read write divide trap)), kill => 'X007', group3 => 'X002', forever => 'X003');
my %moments = (middle => \%middle, pending => \%pending, op => \%op, last => \%last, thread => \%thread);
my @sample = map { [split /:/] } qw(middle:write middle:group middle:exec middle:kill middle:blocked middle:unmap middle:random
    middle:descriptors middle:exit middle:child middle:alarm-call middle:alarm-mark middle:alarm-jump pending:alarm-exchange op:abort op:exit op:jump op:barrier op:write thread:write last:group pending:write);
my @cases = $all ? map { my $m = $_; map { [$m, $_] } sort keys %{$moments{$m}} } sort keys %moments : @sample;

sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
# Status, and what was printed.
sub run {
    my $status = system('sh', '-c', 'exec timeout 60 "$0" "$@" >out 2>err </dev/null', $simrun, @_);
    return ($status >> 8 || ($status & 127 ? 128 + ($status & 127) : 0), slurp('out'));
}

sub judge {
    my ($moment, $way, $executor) = @_;
    my $code = $moments{$moment}{$way};
    my $limit = $code eq 'X003' ? 1 : 20;
    my ($status, $out) = run('--db', 'runs.db', '--timeout', $limit, '-n', 4, @$executor, $program, $way, $moment, 1);
    my $wanted = $code eq '' ? 0 : $code eq 'X003' ? 124 : 1;
    my $found = $code eq '' ? $out !~ /^[A-Z]\d{3} /m : $out =~ /^(?:$code) /m;
    # Reductions run on whichever rank comes last; where bytes were written over, nobody knows who did it.
    # Without memory no handler runs: of ranks side by side nobody can say then which of them did it.
    my $named = $code eq '' || $code eq 'X009' || $moment eq 'op' || ($way eq 'unmap' && @$executor) || $out =~ /rank 1\b/i;
    my $name = "$moment: $way" . (@$executor ? ' (OS threads)' : '');
    ok($status == $wanted && $found && $named, "$name ends, " . ($code ? "as $code" : 'and is nothing wrong'))
        or diag("status $status, not $wanted\n$out");
}

my ($first) = run('--db', 'runs.db', '-q', '-n', 2, $program, 'nothing', 'never', 0);
is($first, 0, 'a program that behaves passes');
my $runs = 1;
for my $case (@cases) {
    for my $executor ([], ['--os-threads']) {
        judge(@$case, $executor);
        $runs++;
    }
}
my $kept = `'$simrun' query --db runs.db "SELECT count(*) FROM runs" 2>&1`;
like($kept, qr/\b$runs\b/, "all $runs runs are in the database");
is(system("'$simrun' show --db runs.db 1 >out 2>&1"), 0, 'the first of them can be shown');
my $outcome = `'$simrun' query --db runs.db "SELECT group_concat(DISTINCT outcome) FROM runs WHERE run = 1" 2>&1`;
my $left = `ps -eo ppid,args 2>/dev/null` =~ /^\s*1 .*misbehave/m;
ok(!$left, 'no process is left behind');

my %seen;
for my $seed (1 .. $writes) {
    my ($status, $out) = run('--db', 'none', '--timeout', 10, '-n', 4, $seed % 2 ? '--os-threads' : (), $program,
        $seed % 4 < 2 ? 'sprinkle' : 'random', 'middle', 1, $seed);
    my $good = $status == 1 || ($status == 0 && $seed % 4 < 2) || $status == 124;
    diag("seed $seed: status $status\n$out") if !$good;
    $seen{$good ? 'survived' : 'lost'}++;
    $seen{told}++ if $out =~ /^X009 /m;
}
is($seen{lost} // 0, 0, "random bytes written over everything in reach: the parent survived $writes times");
ok(($seen{told} // 0) >= 0.9 * $writes, 'and said so') or diag("$seen{told} of $writes");
done_testing();
