#!/usr/bin/perl
# Who may touch the buffers of an operation that is under way: every nonblocking and persistent operation, each way of reading or
# writing (in functions, loops, libc, threads, OpenMP, other operations of MPI), memory of each kind; right beside wrong. A sample of
# them; tests/memory/local.t all (make local) runs the several hundred.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Copy qw(copy);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc'; # clang leaves out elements of arrays on the stack
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
copy(dirname(abs_path($0)) . '/local.c', "$folder/local.c") or die;
chdir $folder or die;

my @both = qw(iallreduce ireduce iscan igather igatherv iscatter iscatterv iallgather iallgatherv ialltoall ialltoallv ialltoallw
    ireduce_scatter ireduce_scatter_block allreduce_init reduce_init gather_init scatter_init allgather_init alltoall_init
    alltoallv_init isendrecv);
my @sending = (qw(isend issend send_init), @both);
my @receiving = (qw(irecv recv_init ibcast bcast_init isendrecv_replace), @both);
my @writes = qw(write add function loop memset memcpy struct thread omp task);
my @reads = qw(read functionread loopread memcpyread threadread ompread printf sendread);
my @memory = qw(stack heap global);

my (@cases, $turn);
sub add { my ($op, $how, $buffer, $when, $expected) = @_; push @cases, ["$op $how $buffer $when $memory[$turn++ % 3]", $expected] }
for my $op (@sending) {
    add($op, $_, 'send', 'pending', 'B001') for @writes;
    add($op, $_, 'send', 'pending', 'PROVEN') for @reads;
    add($op, $_, 'send', 'after', 'PROVEN') for $writes[$turn % 10], 'thread';
}
for my $op (@receiving) {
    my $sends = $op =~ /bcast/; # rank 0 is who touches, and the root
    add($op, $_, 'recv', 'pending', 'B001') for @writes;
    add($op, $_, 'recv', 'pending', $sends ? 'PROVEN' : $_ eq 'sendread' ? 'B002' : 'B001') for @reads;
    add($op, $_, 'recv', 'after', 'PROVEN') for $reads[$turn % 8], $writes[$turn % 10];
    add($op, $_, 'x', 'pending', 'PROVEN') for $writes[$turn % 10];
}
# What was once missed, and every seventeenth.
my %once = map { $_ => 1 } 'isend memset send pending', 'isend thread send pending', 'irecv threadread recv pending',
    'isendrecv add send pending', 'isendrecv loopread recv pending', 'isendrecv_replace struct recv pending';
my $all = @ARGV && $ARGV[0] eq 'all';
for my $i (0 .. $#cases) {
    my ($words, $expected) = @{ $cases[$i] };
    my ($start) = $words =~ /^(.*) \w+$/;
    next unless $all || $once{$start} || $i % 17 == 0;
    my $said = `timeout 120 '$simrun' prove -n 2 local.c $words 2>&1`;
    my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
    is(join(' ', sort keys %codes) || ($said =~ /^([A-Z]+) /m)[0], $expected, "$words: $expected");
}
done_testing;
