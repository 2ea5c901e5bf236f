#!/usr/bin/perl
# The complex step: a wrong adjoint that differences cannot tell from noise is found where the program computes with complex numbers
# (complex_step.c), a right one stays right, and what is not analytic is told and does no harm.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $program = dirname(abs_path($0)) . '/complex_step.c';
my $folder = scratch_folder();
chdir $folder or die;
open my $plain, '>', 'plain.c' or die;
print $plain "#define PLAIN\n#include \"$program\"\n";
close $plain;

sub said { my ($file, $ranks, @arguments) = @_; return `'$simrun' run --db none -n $ranks '$file' @arguments 2>&1` }

for my $ranks (1, 2, 5) {
    my $right = said($program, $ranks, 0);
    like($right, qr/^PASS /m, "$ranks ranks: a right adjoint is right");
    like($right, qr/^  ok complex step: 1 of 1 right/m, '... by the complex step');
    unlike($right, qr/not covered/, '... with nothing left out');
    like(said('plain.c', $ranks, 0), qr/^PASS /m, '... and by differences');
    for my $error ('1e-8', '1e-9', '-3e-9') {
        my $wrong = said($program, $ranks, $error);
        like($wrong, qr/^FAIL .*^  WRONG x: 0 of .*complex step; tolerance:\s+rounding.*^G001 gradient-mismatch/ms, "$error: found");
        like(said('plain.c', $ranks, $error), qr/^PASS /m, '... which differences of the same program cannot see');
    }
}
my $gap = qr/not covered: the complex step: differences contradict it/;
my $right = said($program, 3, 0, 'abs');
like($right, qr/^PASS /m, 'what is not analytic leaves a right adjoint right');
like($right, $gap, '... and is told');
my $wrong = said($program, 3, '1e-3', 'abs');
like($wrong, qr/^FAIL .*^G001 /ms, '... and a wrong one wrong');
like($wrong, $gap, '... by differences');

my $adverse = `'$simrun' prove --db none -n 2..3 '$program' 0 2>&1`;
like($adverse, qr/^(PROVEN|PASS) /m, 'prove says the same');
like(`'$simrun' prove --db none -n 2..3 '$program' 1e-9 2>&1`, qr/^FAIL .*^G001 /ms, '... of the wrong one');
done_testing;
