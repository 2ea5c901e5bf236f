#!/usr/bin/perl
# Adjoints that are no transposition call by call (strangers.c), of training (models.c) and of solvers (fields.c) as people write them:
# right ones pass, wrong ones are found, and no innocent call is accused. Those with a star; with SIMRUN_SOAK all,
# and right ones on more ranks.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
my %source = map { $_ => abs_path(dirname($0) . "/$_.c") } qw(strangers models fields);
chdir scratch_folder() or die;

sub said {
    my ($ranks, @words) = @_;
    my $source = ref $words[0] ? ${shift @words} : 'strangers';
    my $out = `timeout 300 '$simrun' --db none -n $ranks '$source{$source}' @words 2>&1`;
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

# What is said of the wrong ones; a call that is named with its line is accused, the others are not.
my %kind = (
    given => qr/what this (\w+), call (\d+) of the adjoint, is given(?: by rank \d)? is not the cotangent/,
    without => qr/no call after the objective is the adjoint of this (\w+)/,
    after   => qr/all calls of the adjoint \((\d+)\) are given the right numbers(?:, but for a factor \([\d.]+\) that all of them have)?,/,
    marks   => qr/is wrong, and it is the first that was marked/,
    between => qr/the gradient of (\w+) is the first wrong one/,
    loop    => qr/the adjoint makes the calls of a loop of the forward pass, but fewer of them/,
);
my %wrong = (
    models => {
        pipeline  => ['given 3*', 'after 6', 'given 5'],
        tensor    => ['given 1*', 'between x', 'between x'],
        sequence  => ['without Allgather*', 'between gain'],
        sharded   => ['after 1*', 'after 1'],
        experts   => ['between w', 'after 2*', 'between x'],
        table     => ['marks*', 'marks'],
        norm      => ['without Allreduce', 'marks*'],
        scaling   => ['given 1', 'between w', 'after 2*', 'given 1'],
        tied      => ['without message*', 'after 2'],
        attention => ['marks*', 'between k', 'between v'],
    },
    fields => {
        halo     => ['given 5*', 'given 5', 'given 5'],
        implicit => ['marks', 'loop*'],
        fourier  => ['given 1', 'without Alltoall*', 'after 1'],
        torus    => ['after 1*', 'after 1'],
        groups   => ['marks', 'given 1*'],
        started  => ['given 3*', 'after 3*'],
        parts    => ['given 1*', 'after 3'],
        tree     => ['given 1', 'after 2'],
        before   => ['marks', 'marks*'],
        window   => ['marks', 'marks*', 'marks'],
    },
);
for my $source (sort keys %wrong) {
    for my $program (sort keys %{ $wrong{$source} }) {
        for my $ranks ($ENV{SIMRUN_SOAK} ? (2 .. 8) : 3) {
            like(said($ranks, \$source, $program, 0), qr/^PASS .*: finished, (\d+) of \1 gradients right/, "$program on $ranks ranks: right");
        }
        my @due = @{ $wrong{$source}{$program} };
        for my $defect (1 .. @due) {
            next unless $due[$defect - 1] =~ s/\*$// || $ENV{SIMRUN_SOAK};
            my ($kind, $what) = split / /, $due[$defect - 1];
            my $out = said(3, \$source, $program, $defect);
            my ($finding) = $out =~ /^FAIL .*(G001 gradient-mismatch: .*)/;
            my @seen = ($finding // '') =~ $kind{$kind};
            ok(@seen && (!$what || grep { $_ eq $what } @seen), "$program, defect $defect: $due[$defect - 1]") or diag $out;
            unlike($out, qr/\(culprit\)/, "$program, defect $defect: no call is accused") if $kind ne 'without';
        }
    }
}
done_testing();
