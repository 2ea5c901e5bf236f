#!/usr/bin/perl
# Which communication is differentiated here, each run and checked on 4 ranks, and by whom else, of the packages that are
# installed. `make gradients` prints it.
use strict;
use warnings;

my $simrun = $ENV{SIMRUN} // 'build/simrun';
my $python = '/usr/bin/python3';

# What torch.distributed.nn.functional calls it.
my %torch_name = (
    'op-allgather' => 'all_gather', 'op-allreduce' => 'all_reduce', 'op-alltoall' => 'all_to_all', 'op-alltoallv' => 'all_to_all_single',
    'op-bcast' => 'broadcast', 'op-gather' => 'gather', 'op-reduce' => 'reduce', 'op-reduce-scatter' => 'reduce_scatter', 'op-scatter' => 'scatter',
);
my %between = map { ("op-$_" => $_) } qw(allgather allreduce alltoall bcast gather reduce scatter);
$between{'op-reduce-scatter-block'} = 'reduce_scatter_block';

sub python { my ($code) = @_; my $said = `$python -c '$code' 2>/dev/null`; return $? ? undef : $said }

# The first line of a check: "22 of 22", or what it says else.
sub checked {
    my ($program) = @_;
    my $said = `timeout 120 '$simrun' --db none -n 4 $program 2>&1`;
    return $said =~ /^PASS[^\n]*\s(\d+)\s+of\s+\1\s+gradients\s+right/ ? "$1 of $1" : $said =~ /^PASS/ ? 'no gradients' : 'WRONG';
}

my $torch = python('import torch, torch.distributed.nn.functional as f; print(torch.__version__, *dir(f))');
my %has = map { $_ => 1 } split ' ', $torch // '';
my ($version) = split ' ', $torch // '';
printf "%-26s %-14s %-12s %s\n", 'operation', 'here, right', 'two groups', defined $torch ? "torch $version" : 'torch';
my ($ours, $theirs) = (0, 0);
for my $operation (`'$simrun' list op-` =~ /^(op-\S+)/mg) {
    my $name = $torch_name{$operation};
    my $here = checked($operation);
    my $two = $between{$operation} ? checked("tests/gradients/inter.c $between{$operation}") : '-';
    my $there = !defined $torch ? '?' : $name && $has{$name} ? $name : '-';
    $ours += $here =~ /of/;
    $theirs += $there =~ /\w/;
    printf "%-26s %-14s %-12s %s\n", $operation, $here, $two, $there;
}
printf "%-26s %-14s %-12s %s\n", 'persistent collectives', checked('tests/gradients/starts.c'), '-', '-';
printf "%d operations here, %s with derivatives in torch\n", $ours, defined $torch ? $theirs : 'none compared';
for my $package (['torch', 'python3-torch'], ['mpi4torch', 'mpi4torch'], ['mpi4py', 'python3-mpi4py'], ['mpi4jax', 'mpi4jax']) {
    print "$package->[0]: not installed here ($package->[1]), not compared\n" unless defined python("import $package->[0]");
}
