#!/usr/bin/env perl
# Programs whose two groups talk over an intercommunicator: their gradients are right, and with a
# wrong adjoint they are not, which is named.
use strict;
use warnings;
use Test::More;

my $simrun = $ENV{SIMRUN} // 'build/simrun';
my @calls = qw(bcast reduce gather scatter allreduce prod allgather alltoall reduce_scatter_block);

sub ran { my ($arguments) = @_; return scalar `'$simrun' --db none $arguments 2>&1` }

for my $form ('', ' started') {
    for my $call (@calls) {
        my @failed = grep { ran("-n $_ tests/gradients/inter.c $call$form") !~ /^PASS[^\n]*\s(\d+)\s+of\s+\1\s+gradients\s+right/ } 2, 3, 5;
        is("@failed", '', "$call$form: right on 2, 3 and 5 ranks");
    }
}
my @mutants = (['identity', 'allreduce', 'Allreduce'], ['mean', 'allreduce', 'Allreduce'], ['op-dropped', 'prod', 'Allreduce']);
for (@mutants) {
    my ($mutant, $call, $name) = @$_;
    my $said = ran("-n 5 --mutant $mutant tests/gradients/inter.c $call");
    like($said, qr/^FAIL.*G001.*$name/s, "$mutant of $call: wrong, and the $name is named");
}
done_testing();
