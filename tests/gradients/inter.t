#!/usr/bin/env perl
# Programs whose two groups talk over an intercommunicator, and persistent collectives that are
# started in another order on other ranks: their gradients are right, and with a wrong adjoint they
# are not, which is named.
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
my @failed = grep { ran("-n $_ tests/gradients/starts.c") !~ /^PASS[^\n]*\s(\d+)\s+of\s+\1\s+gradients\s+right/ } 1 .. 5;
is("@failed", '', 'persistent collectives in a loop: right on 1 to 5 ranks, whatever the order of the starts');
like(ran("-n 4 --send all tests/gradients/starts.c"), qr/^PASS/, 'and with every model of sends');
for my $mutant (qw(identity avg-factor op-dropped)) {
    my $name = $mutant eq 'op-dropped' ? 'Scan_init' : 'Allreduce_init';
    like(ran("-n 4 --mutant $mutant tests/gradients/starts.c"), qr/^FAIL.*G001.*$name/s, "$mutant of starts: wrong, and $name is named");
}
done_testing();
