#!/usr/bin/perl
# A bug is told once: ranks that wait from any source for one another and for ranks that are over, and who waits for such a rank only. Two
# bugs that are alike are told twice, also where one has no more places than its own: their fingerprints were equal.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Copy qw(copy);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

$ENV{CC} = 'gcc'; # clang makes one call of two that differ in a value
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
copy(dirname(abs_path($0)) . '/once.c', "$folder/once.c") or die;
chdir $folder or die;

my @cases = (
    [mutual       => 'D001', 1],
    [probe        => 'D001', 1],
    ['only-waits' => 'D001', 1],
    ['two-named'  => 'D001', 2],
    ['two-teams'  => 'D001', 2],
    [pending      => 'X006', 2],
    [longer       => 'M007', 2],
    [changed      => 'B001', 2],
    [lost         => 'D003', 1], # where sends wait, the rank does not come to the second one
);
for my $case (@cases) {
    my ($word, $code, $count) = @$case;
    for my $ranks (4, 9, 16) {
        my ($line) = grep { /^\{/ } `timeout 60 '$simrun' --db none --json -n $ranks once.c $word 2>&1`;
        my @found = grep { $_->{code} eq $code } @{ decode_json($line)->{findings} };
        my %prints = map { $_->{fingerprint} => 1 } @found;
        is(@found . ' ' . keys %prints, "$count $count", "$word on $ranks ranks: $code " . ($count == 1 ? 'once' : 'twice'));
    }
}
my ($line) = grep { /^\{/ } `'$simrun' --db none --json -n 2 once.c pending 2>&1`;
my ($print) = map { $_->{fingerprint} } grep { $_->{code} eq 'X006' } @{ decode_json($line)->{findings} };
is(system("'$simrun' --db none -q -n 2 --allow $print once.c pending >out 2>&1") >> 8, 1, 'what is allowed at one place is an error at another');
done_testing;
