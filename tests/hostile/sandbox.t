#!/usr/bin/perl
# --sandbox: a program that tries what is not allowed is refused, with a finding that names what, where and who; what is outside the scratch
# folder stays as it was, and nothing is left behind. Beside each wrong way a right one.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $program = dirname(abs_path($0)) . '/trespass.c';
my $folder = scratch_folder();
chdir $folder or die;
mkdir 'temporary';
@ENV{qw(SIMRUN_CACHE HOME TMPDIR)} = ("$folder/cache", $folder, "$folder/temporary");

sub run {
    my $status = system('sh', '-c', 'exec timeout 60 "$0" "$@" >out 2>err </dev/null', $simrun, @_);
    open my $file, '<', 'out' or die;
    local $/;
    my $out = <$file>;
    open $file, '<', 'err' or die;
    return ($status >> 8, $out // '', scalar(<$file>) // '');
}
my ($there, undef, $why) = run('--db', 'none', '--sandbox', '-n', 2, $program);
like($why, qr/this kernel has no|Landlock|filter/, 'without such a kernel it says so') if $there == 77;
plan skip_all => "no sandbox here: $why" if $there == 77;

# way => what is said; '' is allowed, '-' refused without a word.
my %ways = (connect => 'network', datagram => 'network', local => '-', create => 'open\s+a\s+file', append => 'open\s+a\s+file',
    truncate => 'truncate', remove => 'remove\s+a\s+file', rename => 'rename', folder => 'make\s+a\s+folder', link => 'symbolic\s+link',
    permissions => 'permissions', times => 'times', raw => 'open\s+a\s+file', parent => 'signal', everybody => 'signal', queue => 'signal',
    trace => 'trace', 'memory-of' => 'memory', fork => 'start\s+a\s+process', bomb => 'start\s+a\s+process', spawn => 'starting\s+a\s+process',
    shell => 'starting\s+a\s+process', clock => 'clock', memory => '-', files => '64\s+new\s+files', scratch => '', read => '',
    'own-signal' => '');
delete $ways{memory} if $ENV{ASAN_OPTIONS} || $simrun =~ /address/;
open my $file, '>', 'file' or die;
print $file "old\n";
close $file;
my @before = (stat 'file')[2, 7, 9];
for my $way (sort keys %ways) {
    for my $executor ([], ['--os-threads']) {
        my ($status, $out, $said) = run('--db', 'runs.db', '--sandbox', '-n', 2, @$executor, $program, $way, "$folder/file");
        my $words = $ways{$way};
        my $found = $words =~ /^-?$/ ? $status == 0 && $out =~ /^PASS/m
                                     : $status == 1 && $out =~ /^X011 .*?$words.*?trespass\.c.*?rank\s+1/msi;
        my $died = $words =~ /starting/; # where all signals are blocked the process ends
        my $printed = $said =~ /^done$/m ? 'done' : $said =~ /^refused$/m ? 'refused' : '';
        ok($found && $printed eq ($words eq '' ? 'done' : $died ? '' : 'refused'), "$way@$executor") or diag("status $status\n$out$said");
    }
}
my $whole = do { open my $f, '<', 'file'; local $/; <$f> };
is_deeply([$whole, (stat 'file')[2, 7, 9]], ["old\n", @before], 'the file outside is as it was');
ok(!(grep { -e || -l } glob('temporary/*'), qw(folder link elsewhere)), 'nothing is left behind, nor made beside the program');

# Without --sandbox the same calls do what they say.
my ($status, $out) = run('--db', 'none', '-n', 2, $program, 'create', "$folder/new");
is_deeply([$status, -e 'new'], [0, 1], 'without --sandbox the file is made');
($status, $out) = run('replay', '--db', 'runs.db', 1);
my ($first) = sort keys %ways; # the run that is replayed
like($out, qr/X011 .*?$ways{$first}/s, 'a replay is in a sandbox, too') or diag($out);
($status, $out) = run('prove', '--sandbox', '--db', 'none', '-n', 2, '--no-gradients', $program, 'fork');
ok($status == 1 && $out =~ /X011/, 'and so is a proof') or diag($out);
($status, $out) = run('explore', '--sandbox', '-n', 2, $program, 'create', "$folder/explored");
ok(!-e 'explored', 'and an exploration') or diag($out);
($status, $out) = run('explore', '-n', 2, $program, 'create', "$folder/explored");
ok(-e 'explored', 'which makes the file without') or diag($out);
done_testing();
