#!/usr/bin/perl
# Programs with one error each and their right twins, by fragments (tests/wrong/pairs): a sample; all of them with ALL=1 (make wrong).
use strict;
use warnings;
exec $^X, 'tests/wrong/pairs/run.pl', $ENV{ALL} ? () : ('--every', 149) or die "tests/wrong/pairs/run.pl: $!";
