#!/usr/bin/perl
# Pairs of accesses to windows against brute force over all interleavings, and programs with windows whose codes are
# known: a sample of `make windows`.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More tests => 3;

my $said = `perl '@{[dirname(abs_path($0))]}/pairs.pl' 62 2>&1`;
is($?, 0, 'verdicts are those of the brute force') or diag($said);
like($said, qr/^62 cases, 0 differ$/m, 'every case was judged');

my $programs = `perl '@{[dirname(abs_path($0))]}/one_sided.pl' 'polling|assert|free_|null|request_|accumulates_|finalize_|detach' 2>&1`;
is($?, 0, 'programs with windows get their codes') or diag($programs);
