#!/usr/bin/perl
# A sample of the wrong programs and their right twins; all of them with ALL=1 (make wrong).
use strict;
use warnings;
exec $^X, 'tests/wrong/messages.pl' or die "tests/wrong/messages.pl: $!";
