#!/usr/bin/perl
# A replicated input, and a replicated loss, are those of the tape's communicator: of all ranks, of each of two teams, or of some ranks
# while another takes no part (the first or the last, with a tape of its own or none). Right, without diff_replicate, and with a sum for the
# loss, with forward mode and with differences as the oracle. The check crashed where a rank had no copy, and moved the copies of both teams.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Copy qw(copy);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
copy(dirname(abs_path($0)) . '/teams.c', "$folder/teams.c") or die;
chdir $folder or die;

my %mistakes = (
    none         => qr/^PASS /,
    'own-losses' => qr/^PASS /,
    replicate    => qr/diff_replicate is missing between the replicated input x/,
    sum          => qr/adds up \d equal cotangents/,
);
for my $ranks (4, 5) {
    for my $who (qw(all teams without-first without-last with-another)) {
        for my $mistake (sort keys %mistakes) {
            for my $oracle (qw(exact differences)) {
                my $said = `COLUMNS=400 timeout 60 '$simrun' --db none -n $ranks teams.c $who $mistake $oracle 2>&1`;
                like($said, $mistakes{$mistake}, "$who of $ranks ranks, mistake: $mistake, oracle: $oracle");
            }
        }
    }
}
done_testing;
