#!/usr/bin/perl
# Programs that misbehave cannot hurt their judge (ways.tsv): each run ends, with the finding that names the way, the rank and, where it is
# known, the line; the runs before stay whole, and nothing is left behind. A sample; make hostile runs all and prints the table.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;
use lib dirname(abs_path($0));
use ways;

my $sources = dirname(abs_path($0));
my $folder = scratch_folder();
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";
ok(ways::begin(), 'a program that behaves passes');
my @rows = ways::rows(0);
# What the address sanitizer does at each call copies backwards, too, and finds its own tables in ruins.
@rows = grep { $_->{way} ne 'backwards' } @rows if ($ENV{SIMRUN} // '') =~ /-address/;
for my $row (@rows) {
    for my $executor (@ways::executors[0, 1]) {
        my ($good, $cell, $why) = ways::judge($row, $executor, 4);
        ok($good, "$row->{source} $row->{way} $row->{moment}, $executor->[0]: $row->{code}") or diag("$cell\n$why");
        next if $row->{source} ne 'reach.c';
        is((ways::simrun('--db', 'none', '-n', 2, "$sources/reach.c"))[0], 0, 'and the program is what it was for the next run');
    }
}
ok(@rows > 60, 'the sample is one');
ok(ways::whole(), 'the first run can be shown');
is(scalar(ways::left_behind()), 0, 'no process is left behind');

# A run that forks and a run that is explored leave nothing, either.
my ($status, $out) = ways::simrun('explore', '-n', 2, "$sources/abuse.c", 'session', 1);
is(scalar(ways::left_behind()), 0, 'nor by an exploration') or diag($status, $out);
done_testing();
