#!/usr/bin/perl
# Late delivery of one-sided operations: their data move at the call that completes them, and not before. Every operation in every
# kind of epoch: what a right program prints is as ever, and as MPI says (`after`, below, shares nothing with the machine); one that looks
# before the completion prints something else, though nobody sees its loads (simcc, without --memory), and `prove` says so. A third of
# the epochs; ALL=1: all.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $simcc = dirname($simrun) . '/simcc';
my $folder = tempdir(CLEANUP => 1);
my $source = dirname(abs_path($0)) . '/late_windows.c';
system($simcc, '-o', "$folder/late", $source) == 0 or BAIL_OUT('late_windows.c does not compile');

# Window and result afterwards.
my %after = (
    put => ['5 11 6', '-1 -1'], get => ['10 11 12', '10 12'], sum => ['15 11 18', '-1 -1'], replace => ['5 11 6', '-1 -1'],
    getsum => ['15 11 18', '10 12'], fetch => ['15 11 12', '10 -1'], swap => ['5 11 12', '10 -1'], rput => ['5 11 6', '-1 -1'],
    rsum => ['15 11 18', '-1 -1'], rget => ['10 11 12', '10 12'], sums => ['10 11 12', '5 -1']);

sub printed {
    my (@words) = @_;
    my $text = `timeout 60 '$simrun' --db none --check=-race -n 2 @words 2>&1`;
    return join "\n", sort $text =~ /^((?:before|waited|local|after): .*)/mg;
}

my $turn = 0;
for my $operation (sort keys %after) {
    my @epochs = ($operation =~ /^r(?!eplace)/ ? () : qw(fence complete), qw(unlock unlock_all flush flush_all flush_local));
    for my $epoch (@epochs) {
        next if !$ENV{ALL} && $turn++ % 3;
        my ($window, $result) = @{$after{$operation}};
        my $early = printed("$folder/late $operation $epoch after");
        my $right = join "\n", sort "after: window $window", "after: result $result",
            $operation =~ /^r(?!eplace)/ ? "waited: result $result" : (), $epoch eq 'flush_local' ? "local: result $result" : ();
        is($early, $right, "$operation, $epoch: early is as MPI says");
        is(printed("--delivery late $folder/late $operation $epoch after"), $right, "... and so is late");
        next if $operation eq 'rget'; # its request may be waited for at once: it is never late
        my ($soon, $late) = map { printed("--delivery $_ $folder/late $operation $epoch before") } qw(early late);
        like($late, qr/^before: window 10 11 12$/m, '... late leaves the window as it is till then');
        like($late, qr/^before: result -1 -1$/m, '... and the result');
        isnt($soon, $late, '... which is not what early prints');
    }
}
for my $operation (qw(put get)) {
    my $said = `timeout 60 '$simrun' prove --db none -n 2 $folder/late $operation flush before 2>&1`;
    like($said, qr/^B001 .*read before the operation is\s+complete/m, "prove: $operation is looked at before its flush");
    $said = `timeout 60 '$simrun' prove --db none -n 2 $folder/late $operation flush after 2>&1`;
    like($said, qr/\A(?:.*\n)*PASS .*no findings(?:.*\n)*.*1 run with late delivery/, '... and its right twin');
}
done_testing;
