#!/usr/bin/perl
# The short way of puts, gets, accumulates and flushes (sim/windows/fastpath.c), which only what nobody records takes: calls that are
# drawn, right and wrong, say, change and take as many steps as on the long way. 8 draws; ALL=1: 200.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $simcc = dirname($simrun) . '/simcc';
my $folder = scratch_folder();
my $source = dirname(abs_path($0)) . '/short_windows.c';
system($simcc, '-o', "$folder/short", $source) == 0 or BAIL_OUT('short_windows.c does not compile');

sub printed {
    my (@words) = @_;
    return join '', `timeout 60 '$simrun' --db none --check=-race -n 3 @words 2>&1` =~ /^\d: .*\n/mg;
}

# Ranks that are threads have other steps.
sub timeless {
    my $text = join '', sort map { s/ \d+ polls \d+$| \d+$//r . "\n" } split /\n/, shift =~ s/^(\d: sum.*)/$1 0/mgr;
    return $text;
}

my ($done, $refused) = (0, 0);
for my $seed (1 .. ($ENV{ALL} ? 200 : 8)) {
    my $short = printed('--record none', "$folder/short $seed");
    is($short, printed("$folder/short $seed"), "draw $seed: what is not recorded is as what is");
    is(timeless($short), timeless(printed('--record none --os-threads', "$folder/short $seed")), '... and as ranks that are threads');
    $done += () = $short =~ /^\d: 0 \d+$/mg;
    $refused += () = $short =~ /^\d: [1-9]\d* \d+$/mg;
}
cmp_ok($done, '>', 100, 'calls that succeed were among them');
cmp_ok($refused, '>', 100, '... and calls that are refused');
done_testing;
