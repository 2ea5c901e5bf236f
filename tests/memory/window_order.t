#!/usr/bin/perl
# What post and start, complete and wait of a window order is no race of messages (R003); a lock orders by chance, and a post before
# the receive orders nothing. `orders` says of every program, by a walk over its own order, what must be said.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder or die;

# The parts of rank 0, which receives twice from anybody, and of rank 2, which sends when it is told.
my %text = (
    post => 'MPI_Win_post(two, 0, win);', wait => 'MPI_Win_wait(win);', start => 'MPI_Win_start(zero, 0, win);',
    complete => 'MPI_Win_complete(win);', recv => 'MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);',
    send => 'MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);',
    test => 'for (int done = 0; !done; MPI_Win_test(win, &done)) { }',
    lock => 'MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win); MPI_Win_unlock(0, win);',
);
sub program {
    my ($name, @of) = @_;
    my @ranks = map { join "\n        ", map { $text{$_} } split ' ', $_ } @of;
    open my $file, '>', "$name.c" or die;
    print $file <<"C";
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, x = 0, zero_is = 0, two_is = 2;
    int *base;
    MPI_Win win;
    MPI_Group all, zero, two;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &zero_is, &zero);
    MPI_Group_incl(all, 1, &two_is, &two);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    if (rank == 0) {
        $ranks[0]
    } else if (rank == 1) {
        $ranks[1]
    } else if (rank == 2) {
        $ranks[2]
    }
    MPI_Group_free(&all);
    MPI_Group_free(&zero);
    MPI_Group_free(&two);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
C
    close $file;
    return "$name.c";
}

# Whether rank 2's send can come before the first receive of rank 0 is over: every order of the three, tried out.
sub can_overtake {
    my @of = map { [split ' ', $_] } @_;
    my (%been, $found);
    my $walk;
    $walk = sub {
        my ($at, $posts, $completes, $sent, $received) = @_;
        return if $found || $been{join ' ', @$at, $posts, $completes, sort(@$sent), $received}++;
        $found = 1 if !$received && grep { $_ == 2 } @$sent;
        for my $rank (0 .. 2) {
            my $do = $of[$rank][$at->[$rank]] // next;
            my @at = @$at;
            $at[$rank]++;
            my ($p, $c, @s, $r) = ($posts, $completes);
            @s = @$sent;
            $r = $received;
            if ($do eq 'post') { $p++ }
            elsif ($do eq 'start') { next if !$p; $p-- }
            elsif ($do eq 'complete') { $c++ }
            elsif ($do =~ /^(wait|test)$/) { next if !$c; $c-- }
            elsif ($do eq 'send') { push @s, $rank }
            elsif ($do eq 'recv') { next if !@s; shift @s; $r++ }
            $walk->(\@at, $p, $c, \@s, $r);
        }
    };
    $walk->([0, 0, 0], 0, 0, [], 0);
    return $found;
}

my %programs = (
    post_behind => ['recv post wait recv', 'send', 'start complete send'],
    post_before => ['post recv wait recv', 'send', 'start complete send'],
    sent_before => ['recv post wait recv', 'send', 'send start complete'],
    sent_within => ['recv post recv wait', 'send', 'start send complete'],
    within_early => ['post recv recv wait', 'send', 'start send complete'],
    tested => ['recv post test recv', 'send', 'start complete send'],
    twice => ['recv post wait post wait recv', 'send', 'start complete start complete send'],
    second_only => ['post wait recv post wait recv', 'send', 'start complete start complete send'],
    first_only => ['post wait recv post wait recv', 'send', 'start complete send start complete'],
    locks => ['lock recv lock recv', 'send', 'lock send'],
);
for my $name (sort keys %programs) {
    my $can = can_overtake(@{$programs{$name}});
    my $file = program($name, @{$programs{$name}});
    my $said = `'$simrun' run --db none -n 3 $file 2>&1`;
    if ($can) {
        like($said, qr/^R003 /m, "$name: either can come first") or diag $said;
    } else {
        unlike($said, qr/^R003 /m, "$name: the window orders them") or diag $said;
    }
}
# The walk tells both.
is(join(' ', grep { !can_overtake(@{$programs{$_}}) } sort keys %programs), 'post_behind second_only sent_within tested twice',
   'and those alone are ordered');
done_testing;
