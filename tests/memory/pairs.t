#!/usr/bin/perl
# Pairs of accesses to windows against brute force over all interleavings: a sample of `make windows`.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More tests => 2;

my $said = `perl @{[dirname(abs_path($0))]}/pairs.pl 124 2>&1`;
is($?, 0, 'verdicts are those of the brute force') or diag($said);
like($said, qr/^124 cases, 0 differ$/m, 'every case was judged');
