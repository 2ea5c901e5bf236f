#!/usr/bin/perl
# make mutate finds its way through every source, and its list of equivalents names mutants that exist.
use strict;
use warnings;

print "TAP version 13\n1..3\n";
if (system("command -v python3 >/dev/null && git rev-parse HEAD >/dev/null 2>&1")) {
    print "ok $_ # SKIP needs python3 and a git checkout\n" for 1 .. 3;
    exit 0;
}
my $said = `python3 tests/mutate/run.py --count 2>&1`;
my $status = $? >> 8;
print map { "# $_\n" } split /\n/, $said;
my ($mutants, $files) = $said =~ /^(\d+) mutants in (\d+) files/m;
print $status == 0 ? '' : 'not ', "ok 1 - every source is cut, no equivalent is stale\n";
print +($mutants // 0) >= 20_000 ? '' : 'not ', "ok 2 - there are mutants\n";
my $sources = () = `git ls-files sim checker traces recorder verdict collectives/gradcheck 2>/dev/null` =~ /\.c$/mg;
print +($files // 0) > 0.7 * $sources ? '' : 'not ', "ok 3 - of most sources\n";
