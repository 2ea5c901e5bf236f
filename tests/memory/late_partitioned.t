#!/usr/bin/perl
# Late delivery of partitioned messages: a partition is filled when the receiver is told of it, by MPI_Parrived, a wait or a test, and
# not before. Every way of being told x how the receive is cut x types: a right program prints what it should under early and late
# delivery; its wrong twin, which looks before, prints nonsense under late delivery, though nobody sees its loads, and `prove` says so.
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
system($simcc, '-o', "$folder/late", dirname(abs_path($0)) . '/late_partitioned.c') == 0 or BAIL_OUT('late_partitioned.c does not compile');

sub printed {
    my (@words) = @_;
    my $text = `timeout 60 '$simrun' --db none --check=-race -n 2 @words 2>&1`;
    return join "\n", $text =~ /^((?:before|other|after|end|between) .*)/mg;
}

# What a partition holds when it is there.
sub part { my ($cut, $part) = @_; my $n = 24 / $cut; return join ' ', "part $part:", $part * $n + 1 .. ($part + 1) * $n }

sub right {
    my ($cut, $when) = @_;
    return join "\n", map { my $looked = $_; ($when ? "$when " . part($cut, $looked) : (), map { 'end ' . part($cut, $_) } 0 .. $cut - 1) } $cut - 1, 0;
}

for my $type ('ints', 'gaps') {
    for my $cut (1, 2, 3, 4, 6) {
        for my $how ($type eq 'ints' || $cut == 3 ? qw(parrived wait waitall test) : 'parrived') {
            my $program = "$folder/late $type $cut $how";
            is(printed("--delivery $_ $program after"), right($cut, 'after'), "$type cut in $cut, told by $how, $_: as it was sent") for qw(early late);
            my $late = printed("--delivery late $program before");
            is($late =~ s/^before .*\n//mgr, right($cut, ''), '... its wrong twin has it in the end');
            unlike($late, qr/^before part \d: (?:.* )?(?:-1|\d{1,2})(?: .*)?$/m, '... but nothing that was sent or was there, before');
        }
    }
}
# What is told of one partition says nothing about another.
for my $cut (2, 4) {
    my $late = printed("--delivery late $folder/late ints $cut parrived other");
    unlike($late, qr/^other part \d: (?:.* )?(?:-1|\d{1,2})(?: .*)?$/m, "another of $cut partitions is read: it is not there");
    is($late =~ s/^other .*\n//mgr, right($cut, ''), '... until the wait');
}
for my $when (qw(before after)) {
    my $said = `timeout 60 '$simrun' prove --db none -n 2 $folder/late ints 4 wait $when 2>&1`;
    like($said, $when eq 'before' ? qr/^B001 .*read before the operation is\s+complete/m : qr/\A(?:.*\n)*(?:PASS|PROVEN) .*no findings(?:.*\n)*.*1 run with late delivery/,
        "prove: a partition is looked at $when its wait");
}
done_testing();
