#!/usr/bin/perl
# Checkpoint and restart: whichever rank crashes in whichever operation, the group that is started again ends with the gradient, or
# the solution, of the undisturbed run, bit for bit. Where a rank takes what it has kept without asking the others, it does not.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Path qw(make_path remove_tree);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $program = dirname(abs_path($0)) . '/checkpoint.c';
my $folder = scratch_folder();
$ENV{SIMRUN_CACHE} ||= "$folder/cache";
chdir $folder or die;
system("cp", $program, ".") == 0 or die; # its folder may have blanks in its name
$program = 'checkpoint.c';

# Status, what the last attempt says, whether a fault struck.
sub run {
    my ($options, @words) = @_;
    remove_tree('kept');
    make_path('kept');
    my ($what, @more) = @words;
    my $out = `timeout 60 '$simrun' --db none --no-gradients -n 3 $options $program $what $folder/kept @more 2>&1 </dev/null`;
    my %said = map { /^(\w+ on rank \d+): (.*)$/ ? ($1 => $2) : () } split /\n/, $out;
    return ($? >> 8, join("\n", map { "$_: $said{$_}" } sort keys %said), $out =~ /X010|finished\s+after\s+1\s+restart/ ? 1 : 0, $out);
}

for my $what (qw(training solver)) {
    my ($status, $usual) = run('', $what);
    is($status, 0, "$what: the undisturbed run passes");
    is(scalar(() = $usual =~ /^/mg), 3, 'and every rank tells what it got');
    for my $executor ('', '--os-threads') {
        my ($runs, $struck, $wrong) = (0, 0, 0);
        for my $rank (0 .. 2) {
            for my $op (map { 3 * $_ + 1 } 0 .. ($what eq 'solver' ? 9 : 2)) {
                my ($now, $said, $hit, $out) = run("--max-restarts 1 --fault crash:$rank\@$op $executor", $what);
                $runs++;
                $struck += $hit;
                next if $said eq $usual && $now == 0;
                $wrong++;
                diag("crash:$rank\@$op: status $now\n$out");
            }
        }
        is($wrong, 0, "$what $executor: recovered from $struck crashes in $runs runs, every result that of the undisturbed run");
        cmp_ok($struck, '>=', $runs - 3, 'and most of them struck');
    }
}
my $torn = 0;
for my $rank (0 .. 2) {
    for my $op (map { 3 * $_ + 1 } 1 .. 9) {
        my ($status, $said) = run("--max-restarts 1 --fault crash:$rank\@$op", 'solver', 'torn');
        $torn += $said ne (our $solution //= (run('', 'solver'))[1]) || $status != 0;
    }
}
cmp_ok($torn, '>', 0, "a checkpoint that is not agreed upon gives another result, or hangs ($torn of 27)");
done_testing();
