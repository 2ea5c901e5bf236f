#!/usr/bin/perl
# Wrong adjoints beside right ones (adjoints.c): each is found, and the call that is wrong is named, with its line, or the
# computation that is; no other call is accused.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $table = ($ARGV[0] // '') eq '--table';
my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
my $source = abs_path(dirname($0) . '/adjoints.c');
chdir scratch_folder() or die;

# What is said: the CALL after the objective; a forward call WITHOUT answer; what a call is GIVEN; the computation AFTER the calls.
my %said = (
    turned  => qr/this (\w+) is not the adjoint of the forward \w+ that it answers/,
    taken   => qr/this (\w+) does not bring back what it is given/,
    float   => qr/this (\w+) takes cotangents in float/,
    rounded => qr/this (\w+) is given cotangents that are rounded to float/,
    without => qr/no call after the objective is the adjoint of this (\w+)/,
    way     => qr/this message goes the way of the forward one/,
    given   => qr/what this (\w+), call \d+ of the adjoint, is given by rank \d+ is not the cotangent/,
    after   => qr/all calls of the adjoint \(\d+\) are given the right numbers/,
    nobody  => qr/mark what comes between it and the loss/,
);
my @cases = (
    # operation, defect, what it is, what is said, the call that is named
    ['allreduce', 1, 'no sum over the copies', 'without', 'Allreduce'],
    ['allreduce', 2, 'a factor on one rank', 'given', 'Allreduce'],
    ['allreduce', 3, 'zero from the fifth rank on', 'given', 'Allreduce'],
    ['allreduce', 4, 'cotangents in float', 'float', 'Allreduce'],
    ['allreduce', 5, 'MAX again, instead of the sum', 'taken', 'Allreduce'],
    ['allreduce', 6, 'the mean instead of the sum', 'after'],
    ['allreduce', 7, 'one element off by 1e-7', 'after'],
    ['bcast', 1, 'its own cotangent only', 'without', 'Bcast'],
    ['bcast', 2, 'MAX instead of the sum', 'taken', 'Reduce'],
    ['bcast', 3, 'to the wrong root', 'turned', 'Reduce'],
    ['bcast', 4, 'the root counts twice', 'after'],
    ['reduce', 1, 'no broadcast', 'without', 'Reduce'],
    ['reduce', 2, 'from the wrong root', 'turned', 'Bcast'],
    ['reduce', 3, 'the root alone gets it', 'after'],
    ['reduce', 4, 'times the number of ranks', 'after'],
    ['gather', 1, 'displaced by one element', 'given', 'Scatter'],
    ['gather', 2, 'from the wrong root', 'turned', 'Scatter'],
    ['gather', 3, 'the root forgets its own', 'after'],
    ['scatter', 1, 'to the wrong root', 'turned', 'Gather'],
    ['scatter', 2, 'a sign', 'after'],
    ['gatherv', 1, 'one displacement off by one', 'given', 'Scatterv'],
    ['gatherv', 2, 'from the wrong root', 'turned', 'Scatterv'],
    ['gatherv', 3, 'other counts, of the same sums', 'turned', 'Scatterv'],
    ['allgather', 1, 'its own slice, without the sum', 'without', 'Allgather'],
    ['allgather', 2, 'the slice of rank 0 on all', 'nobody'],
    ['allgather', 3, 'two slices in each other\'s place', 'given', 'Reduce_scatter_block'],
    ['allgather', 4, 'MIN instead of the sum', 'taken', 'Reduce_scatter_block'],
    ['alltoall', 1, 'no exchange', 'without', 'Alltoall'],
    ['alltoall', 2, 'a value used twice', 'after'],
    ['alltoallv', 1, 'received at a wrong place', 'after'],
    ['alltoallv', 2, 'sent from a wrong place', 'given', 'Alltoallv'],
    ['ring', 1, 'forwards instead of back', 'way', 'Sendrecv'],
    ['ring', 2, 'no message', 'without', 'Sendrecv'],
    ['ring', 3, 'one element twice', 'after'],
    ['room', 1, 'forwards instead of back', 'way', 'Send'],
    ['room', 2, 'no message', 'without', 'message'],
    ['room', 3, 'one element twice', 'after'],
    ['halo', 1, 'right and left in each other\'s place', 'given', 'message'],
    ['halo', 2, 'one side dropped', 'after'],
    ['halo', 3, 'its own used twice', 'after'],
    ['scan', 1, 'over the ranks before, again', 'taken', 'Scan'],
    ['scan', 91, 'the weights of the next element', 'given'],
    ['turn', 1, 'no conjugate', 'after'],
    ['turn', 2, 'forwards instead of back', 'way', 'Sendrecv'],
    ['turn', 3, 'cotangents in single precision', 'given'],
    ['turn', 91, 'the weights of the next element', 'given'],
);
for my $operation (qw(allreduce bcast reduce gather scatter gatherv allgather alltoall alltoallv ring room halo)) {
    push @cases, map { [$operation, @$_] }
      [90, 'a factor from five ranks on', 'after'], [91, 'the weights of the next element', 'given'], [92, 'stale numbers after', 'after'],
      [93, 'the last rank dropped', 'after'], [94, 'cotangents rounded to float', 'given|rounded'], [95, 'a cotangent used twice', 'given'],
      [96, 'a factor where P is no power of two', 'given'], [97, 'an element used twice', 'after'],
      [98, 'stale numbers before', 'given'], [99, 'the derivative at the wrong place', 'after'];
}

sub told {
    my ($operation, $defect) = @_;
    my $out = `timeout 300 '$simrun' --db none -n 5 '$source' $operation $defect 2>&1`;
    $out =~ s/\s+/ /g;
    return $out;
}

my (%right, %count);
printf "%-10s %-38s %-8s %-22s %s\n", 'adjoint of', 'what is wrong', 'said', 'call that is named', 'place' if $table;
for my $case (@cases) {
    my ($operation, $defect, $what, $kind, $call) = @$case;
    $right{$operation} //= told($operation, 0) =~ /^PASS .*: finished, (\d+) of \1 gradients right/;
    my $out = told($operation, $defect);
    my ($finding) = $out =~ /(G001 gradient-mismatch: .*?) cause /;
    $finding //= $out;
    my $accused = $finding =~ /where rank \d+: (\w+)/ ? $1 : '';
    my $well = $out =~ /^FAIL/ && $right{$operation} && grep { $finding =~ $said{$_} } split /\|/, $kind;
    $well &&= !$call || $finding =~ /this $call\b/ || $accused eq $call;
    $well &&= $kind =~ /given|after|nobody|rounded/ ? !$accused : $accused ne '';
    if ($table) {
        my ($place) = $finding =~ /(adjoints\.c:\d+)/;
        my $answer = $out =~ /^FAIL/ ? 'wrong' : $out =~ /^PASS .*? (\d+) of \1 gradients right/ ? 'right' : 'undecided';
        $count{$_}++ for $answer, $well ? 'well' : ();
        printf "%-10s %-38s %-8s %-22s %s\n", $operation, $what, $well ? $kind : 'NOT AS', $accused || '-', $place // '';
    } else {
        ok($well, "$operation: $what: the right one passes, of the wrong one is said: $kind") or diag $finding;
    }
}
if ($table) {
    printf "of %d wrong adjoints: %d found wrong, %d undecided, %d called right; %d with the blame that is due; %d of %d right twins are right\n\n",
      scalar @cases, map({ $count{$_} // 0 } qw(wrong undecided right well)), scalar grep({ $_ } values %right), scalar keys %right;
}
done_testing() unless $table;
