#!/usr/bin/perl
# Each way to complete an operation, Wait to Testall, meets each mistake once: one finding, whichever call the rank ended in. Tests that
# ended a rank left no operation, so that what they said was a finding of its own. A buffer that is written while an Isendrecv is under
# way is found as an Irecv's is. With the word all: every pair; else a sample.
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
copy(dirname(abs_path($0)) . '/ends.c', "$folder/ends.c") or die;
chdir $folder or die;

my @ways = qw(Wait Waitany Waitsome Waitall Test Testany Testsome Testall);
my %message = (right => 'PASS', count => 'M007', type => 'M008', written => 'B001', changed => 'B001', tag => 'D001');
my %collective = (right => 'PASS', count => 'M005', type => 'M004', root => 'M002', kind => 'M001', op => 'M003');
my @cases;
for my $kind ('Irecv', 'Recv_init', 'Isendrecv', 'Isendrecv_c', 'Isendrecv gaps', 'Isendrecv_replace') {
    push @cases, [$kind, $_, $message{$_}] for grep { $_ ne 'type' || $kind !~ /gaps|replace/ } sort keys %message;
}
for my $kind (qw(Ibcast Bcast_init Iallreduce Igather Ialltoall)) {
    push @cases, [$kind, $_, $collective{$_}]
        for grep { $_ ne 'op' ? $_ ne 'root' || $kind =~ /bcast|gather/i : $kind eq 'Iallreduce' }
        grep { $_ ne 'kind' || $kind !~ /_init/ } sort keys %collective;
}
my $all = @ARGV && $ARGV[0] eq 'all';
my $number = 0;
for my $case (@cases) {
    my ($kind, $mistake, $code) = @$case;
    $number++;
    for my $i (0 .. $#ways) {
        next unless $all || $i == $number % 4 || $i == 4 + ($number + 1) % 4;
        my $ranks = 2 + ($number + $i) % 2;
        my $expected = $code eq 'D001' && $ways[$i] =~ /^Test/ ? 'D005' : $code;
        my $said = `timeout 120 '$simrun' --db none -n $ranks ends.c '$kind' $mistake $ways[$i] 2>&1`;
        my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
        is(join(' ', sort keys %codes) || ($said =~ /^(\w+)/)[0], $expected, "$kind, $ways[$i] on $ranks ranks, $mistake: $expected");
    }
}
done_testing;
