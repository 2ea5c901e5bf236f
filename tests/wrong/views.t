#!/usr/bin/perl
# Programs with one error and their right twins (tests/wrong/pairs), each in a world that is another one and means the same: the verdicts
# are the same. A sample; with ALL=1 all of them through every view.
use strict;
use warnings;
use Test::More;

my @views = qw(dup mirror behind half);
for my $number (0 .. $#views) {
    my $sample = $ENV{ALL} ? '' : '--part ' . (97 * $number + 13) . '/590';
    my $said = qx{$^X tests/wrong/pairs/run.pl $sample --view $views[$number] 2>&1};
    is $?, 0, "$views[$number]: no verdict differs" or diag $said;
    cmp_ok scalar(() = $said =~ /^ok/mg), '>=', 8, 'on some programs';
}
like qx{$^X tests/wrong/pairs/run.pl --view nowhere 2>&1}, qr/there are behind, dup, half, mirror/, 'a view that there is not is refused';
done_testing;
