#!/usr/bin/perl
# Memory of the origin of a one-sided operation is changed before the operation is complete there: B001, though nobody sees the program's
# stores (simcc, without --memory). Every side of every operation in every kind of epoch. Right: after the completion, an origin that is
# not looked at, memory of a window that others change in the next epoch. A fifth of the wrong ones; ALL=1: all.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $simcc = dirname($simrun) . '/simcc';
my $folder = scratch_folder();
my $source = dirname(abs_path($0)) . '/touched_origins.c';
system($simcc, '-o', "$folder/touched", $source) == 0 or BAIL_OUT('touched_origins.c does not compile');

sub said_of {
    my @words = map { /^(-.*)?$/ ? $_ : "'$_'" } @_;
    my $said = `timeout 60 '$simrun' --db none -n 2 @words 2>&1`;
    return ($said, $? >> 8);
}

# Whom the standard gives back what, and when: the sides of each operation, the word for each side.
my %sides = (Put => ['origin'], Get => ['result'], Accumulate => ['origin'], Get_accumulate => ['origin', 'result'],
    Fetch_and_op => ['origin', 'result'], fetch => ['result'], Compare_and_swap => ['origin', 'compared', 'result'],
    Rput => ['origin'], Rget => ['result'], Raccumulate => ['origin'], Rget_accumulate => ['origin', 'result']);
my %words = (origin => 'origin', compared => 'compare', result => 'result');
my @active = qw(fence start);
my @passive = qw(lock lock_all flush flush_all flush_local flush_local_all);

my $number = 0;
for my $operation (sort keys %sides) {
    my @epochs = $operation =~ /^R/ ? (@passive, 'request') : (@active, @passive);
    for my $epoch (@epochs) {
        for my $side (@{$sides{$operation}}) {
            next if $number++ % 5 && !$ENV{ALL};
            my ($said, $status) = said_of("$folder/touched", $epoch, $operation, $side, 'early');
            my $name = $operation eq 'fetch' ? 'Fetch_and_op' : $operation;
            my $word = $operation =~ /^R?[Gg]et$/ ? 'origin' : $words{$side};
            ok($status == 1 && $said =~ /^B001/m && $said =~ s/\s+/ /gr =~ /the $word buffer of a pending $name was changed before it completed/
                    && (() = $said =~ /^[A-Z]\d{3} /mg) == 1,
                "$epoch, $operation: the $side is changed too early") or diag($said);
        }
    }
}
for my $way ('', '--os-threads', '--delivery late', '--os-threads --delivery late') {
    my @wrong;
    for my $epoch (@active, @passive, 'request') {
        my ($said, $status) = said_of($way, "$folder/touched", $epoch, 'all', 'none', 'late');
        push @wrong, "$epoch: $said" if $status || $said =~ /^[A-Z]\d{3} /m;
    }
    for my $what ('puts', 'gets') {
        my ($said, $status) = said_of($way, "$folder/touched", $what, 'in_turn');
        push @wrong, "$what in turn: $said" if $status || $said =~ /^[A-Z]\d{3} /m;
        ($said, $status) = said_of($way, "$folder/touched", $what, 'at_once');
        push @wrong, "$what at once: $said" if $status != 1 || join(' ', $said =~ /^([A-Z]\d{3}) /mg) ne 'B003';
    }
    my ($said, $status) = said_of($way, "$folder/touched", 'lock', 'fetch', 'origin', 'early');
    push @wrong, "an origin that is not looked at: $said" if $status || $said =~ /^[A-Z]\d{3} /m;
    is("@wrong", '', "nothing is said of right programs $way");
}
my ($said) = said_of("$folder/touched", 'lock', 'Get', 'result', 'late');
unlike($said, qr/loads and stores of pending buffers/, 'what prove adds is not promised of an object');
($said) = said_of($source, 'lock', 'Get', 'result', 'late');
like($said =~ s/\s+/ /gr, qr/prove adds: .*loads and stores of pending buffers/, '... but of a source');
done_testing;
