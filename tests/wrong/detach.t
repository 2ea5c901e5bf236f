#!/usr/bin/perl
# A rank that waits for ever until its attached buffer is empty (MPI-4.0 3.6: until all messages in it have been transmitted): the finding
# names that call and the message that stays, not one that has left the buffer; whose messages are all received is right.
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
copy(dirname(abs_path($0)) . '/detach.c', "$folder/detach.c") or die;
chdir $folder or die;

my %names = (detach => 'Buffer_detach', detach_c => 'Buffer_detach', flush => 'Buffer_flush');
my @ways = ('', '--os-threads', '--send rendezvous');
my $number = 0;
for my $call (sort keys %names) {
    for my $how (qw(Bsend Ibsend Bsend_init)) {
        for my $mistake (qw(right answer never late tag)) {
            my $way = $ways[$number++ % @ways];
            my $said = `timeout 60 '$simrun' $way --db none -n 2 detach.c $call $how $mistake 2>&1`;
            my $name = join ' ', grep { $_ } $call, $how, $mistake, $way;
            if ($mistake =~ /right|answer/) {
                like($said, qr/^PASS/, "$name: right") or diag($said);
                next;
            }
            (my $flat = $said) =~ s/\n\s+/ /g;
            my @codes = $said =~ /^([A-Z]\d{3}) /mg;
            is("@codes", 'D001', "$name: one finding");
            my $kind = $how eq 'Bsend' ? 'Bsend' : 'Ibsend';
            ok($flat =~ /^D001 [^\n]*$names{$call} at/m && $said =~ /rank 0: $names{$call} / && $said =~ /rank 0: \S*\Q$kind\E to 1 tag 5/
                    && $said !~ /to 1 tag 4/, "$name: the call is named, and the message") or diag($said);
        }
    }
}
done_testing;
