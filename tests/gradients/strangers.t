#!/usr/bin/perl
# Adjoints that are no transposition call by call (strangers.c): right ones pass, wrong ones are found, and no innocent call is accused.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
my $source = abs_path(dirname($0) . '/strangers.c');
chdir tempdir(CLEANUP => 1) or die;

sub said {
    my ($ranks, @words) = @_;
    my $out = `timeout 300 '$simrun' --db none -n $ranks '$source' @words 2>&1`;
    $out =~ s/\s+/ /g;
    return $out;
}

for my $case (
    # program, its right form, ranks, all of it is decided
    ['solver', 0, 3, 1], ['bodies', 0, 2, 1], ['bodies', 0, 5, 1], ['train', 0, 3, 1], ['means', 0, 3, 0], ['means', 10, 3, 1],
  ) {
    my ($program, $form, $ranks, $decided) = @$case;
    my $out = said($ranks, $program, $form);
    like($out, $decided ? qr/^PASS .*: finished, (\d+) of \1 gradients right/ : qr/^PASS /, "$program $form on $ranks ranks: right");
}

my $solver = qr/the gradient of \w+ is wrong; the adjoint makes calls of the forward pass once more, from the same lines, as a solver does/;
my $marks = qr/is wrong, and it is the first that was marked/;
for my $case (
    ['solver', 1, 3, 'one number given is off by 1e-6', $solver],
    ['solver', 2, 3, 'the adjoint is not converged', $solver],
    ['solver', 3, 3, 'a factor behind the solver', $solver],
    ['bodies', 1, 3, 'an axis in the other\'s place', $marks],
    ['bodies', 2, 5, 'one message missing from five ranks on', $marks],
    ['bodies', 3, 2, 'off by 1e-7', $marks],
    ['train', 1, 3, 'one rank is off by 1e-6', qr/what this Reduce, call 1 of the adjoint, is given by rank 1 is not the cotangent of what the forward Bcast gave/],
    ['train', 2, 3, 'the last number left out', qr/the gradient of second is the first wrong one/],
    ['means', 11, 3, 'no sum over the ranks', $marks],
    ['means', 12, 3, 'the rank\'s own counts', $marks],
  ) {
    my ($program, $form, $ranks, $what, $text) = @$case;
    my $out = said($ranks, $program, $form);
    like($out, qr/^FAIL .*G001 gradient-mismatch: .*$text/, "$program on $ranks ranks: $what: found, and so told");
    unlike($out, qr/\(culprit\)/, "$program: $what: no call is accused");
}
done_testing();
