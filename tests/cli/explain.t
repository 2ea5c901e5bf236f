#!/usr/bin/perl
# Every code is explained, with a scenario of the catalogue that shows it where there is one.
use strict;
use warnings;
use Cwd qw(abs_path);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
# Codes no scenario shows, each with the reason.
my %without = (
    L001 => 'said by X006 where the program finalizes',
    L009 => 'a note: the catalogue compares warnings and errors',
    N001 => 'a note: the catalogue compares warnings and errors',
    N002 => 'no finding, but what stands behind the verdict: tests/cli/coverage.t',
    U001 => 'no scenario calls what is not there: tests/mpi/cases.t',
    U002 => 'no scenario is compiled by others: tests/projects/mistakes.t',
    X003 => 'takes as long as its time limit',
    X010 => 'shown by tests/faults/injected.t',
    X011 => 'shown by tests/hostile/sandbox.t',
    X009 => 'shown by tests/hostile/hostile.t',
    G007 => 'needs a program that differs from run to run',
    G005 => 'shown by tests/systems/schedules.t',
    G008 => 'unit-tested', L008 => 'unit-tested', M010 => 'said by D001 where the run hangs',
);
my @codes = map { /^([A-Z]\d{3}) / ? $1 : () } `'$simrun' explain`;
cmp_ok(scalar(@codes), '>', 60, 'there are codes');
my $broken = 0;
for my $code (@codes) {
    my $text = `'$simrun' explain $code`;
    for my $section (qw(cause example remedy)) {
        next if $text =~ /^$section\n  \S/m;
        diag("$code: no $section");
        $broken++;
    }
    my @long = grep { length > 100 } split /\n/, $text;
    if (@long) { diag("$code: a line of ", length $long[0]); $broken++ }
    my ($command) = $text =~ /^see it\n  simrun (.*)$/m;
    if (!$command) {
        ok($without{$code}, "$code: " . ($without{$code} || 'no scenario shows it'));
        next;
    }
    my $out = `timeout 300 '$simrun' --db none $command 2>/dev/null`;
  SKIP: {
        skip "$code: what its scenario requires is not here", 1 if $? >> 8 == 77;
        like($out, qr/^$code /m, "$code: simrun $command");
    }
}
is($broken, 0, 'each says cause, example and remedy');
done_testing;
