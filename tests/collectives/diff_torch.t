#!/usr/bin/perl
# Gradients against torch.distributed over gloo, where its rules are ours; skipped where python3-torch is not installed.
use strict;
use warnings;
use Test::More;

my $simrun = $ENV{SIMRUN} || 'build/simrun';
my $python = '/usr/bin/python3';
plan skip_all => 'python3-torch is not installed (./setup --ci)' if system("$python -c 'import torch.distributed' 2>/dev/null");

sub values_of { # "case rank index" -> gradient
    my %values;
    for (split /\n/, shift) {
        my ($case, $rank, $index, $value) = /^(\w+) (\d+) (\d+) (\S+)$/ or next;
        $values{$case}{"$rank $index"} = $value;
    }
    return %values;
}
my %theirs = values_of(scalar `timeout 300 $python tests/torch/cases.py`);
my %ours   = values_of(scalar `timeout 300 '$simrun' --no-gradients --db none -n 3 tests/torch/cases.c 2>&1`);

cmp_ok(scalar keys %theirs, '>=', 21, 'torch ran ' . keys(%theirs) . ' cases');
for my $case (sort keys %theirs) {
    my ($places, $worst) = (0, 0);
    for my $place (keys %{$theirs{$case}}) {
        my ($a, $b) = ($theirs{$case}{$place}, $ours{$case}{$place} // 'nan');
        my $error = abs($a - $b) / (abs($a) > 1 ? abs($a) : 1);
        $places += $error <= 1e-12;
        $worst = $error unless $error <= $worst;
    }
    is($places, 12, sprintf '%s: all gradients on 3 ranks agree (largest difference %.1e)', $case, $worst);
}
done_testing();
