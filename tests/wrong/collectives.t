#!/usr/bin/perl
# Wrong collectives, communicators and handles, each told by its code and its line: a sample of what tests/wrong/collectives.pl writes (ALL=1: all).
use strict;
use warnings;
exec $^X, 'tests/wrong/collectives.pl' or die "perl: $!";
