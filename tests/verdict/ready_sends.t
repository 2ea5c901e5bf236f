#!/usr/bin/perl
# A ready send is right only where its receive is posted before it in any case: by a message, by a collective that waits for the receiver. That
# the receiver happened to be quick proves nothing.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc';
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
chdir scratch_folder() or die;

my $token = 'MPI_Send(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);';
my $await = 'MPI_Recv(&go, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);';
my $post = 'MPI_Irecv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &q);';
my $wait = 'MPI_Wait(&q, MPI_STATUS_IGNORE);';
my $blocking = 'MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);';
my $any = 'MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &q);';
my $start = 'MPI_Recv_init(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &q); MPI_Start(&q);';
my $done = "$wait MPI_Request_free(&q);";
my $ready = 'MPI_Rsend(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);';
my $iready = "MPI_Irsend(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &q); $wait";
my $kept = "MPI_Rsend_init(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &q); MPI_Start(&q); $done";
my $barrier = 'MPI_Barrier(MPI_COMM_WORLD);';
my $bcast = 'MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);';
my $from_one = 'MPI_Bcast(&go, 1, MPI_INT, 1, MPI_COMM_WORLD);';
my $reduce = 'MPI_Reduce(&go, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);';
# What the sender does, what the receiver does; whether it is right.
my %cases = (
    barrier => ["$barrier $ready", "$post $barrier $wait", 1],
    barrier_first => ["$barrier $ready", "$barrier $post $wait", 0],
    barrier_blocking => ["$barrier $ready", "$barrier $blocking", 0],
    nothing => [$ready, $blocking, 0],
    token => ["$await $ready", "$post $token $wait", 1],
    token_first => ["$await $ready", "$token $post $wait", 0],
    token_any => ["$await $ready", "$any $token $wait", 1],
    token_first_any => ["$await $ready", "$token $any $wait", 0],
    started => ["$await $ready", "$start $token $done", 1],
    started_late => ["$await $ready", "$token $start $done", 0],
    immediate => ["$await $iready", "$post $token $wait", 1],
    immediate_late => ["$await $iready", "$token $blocking", 0],
    persistent => ["$await $kept", "$post $token $wait", 1],
    persistent_late => ["$await $kept", "$token $blocking", 0],
    persistent_after_barrier => ["$barrier $kept", "$barrier $blocking", 0],
    reduce => ["$reduce $ready", "$post $reduce $wait", 1],
    root_waits_for_nobody => ["$bcast $ready", "$post $bcast $wait", 0],
    root_is_waited_for => ["$from_one $ready", "$post $from_one $wait", 1],
);
for my $name (sort keys %cases) {
    my ($sender, $receiver, $right) = @{ $cases{$name} };
    open my $out, '>', "$name.c" or die;
    print $out <<"END";
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, x = 0, go = 0, sum = 0;
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)sum, (void)q;
    if (rank == 0) { $sender }
    else { $receiver }
    MPI_Finalize();
    return 0;
}
END
    close $out;
    my $said = `timeout 100 '$simrun' prove -n 2 --db none ./$name.c 2>&1`;
    my ($word) = $said =~ /^(PROVEN|PASS|FAIL)/m;
    my ($code) = $said =~ /^([A-Z]\d{3}) /m;
    is(($word // '') . ' ' . ($code // ''), $right ? 'PROVEN ' : 'FAIL M009', $name) or diag($said);
    next if $right;
    my ($again) = $said =~ /repeated by: (simrun -n 2 --memory --delivery\s+rank:1\s+\S+)/;
    next unless $again;
    $again =~ s/\s+/ /g;
    $again =~ s/^simrun/'$simrun' --db none/;
    `$again 2>&1`;
    is($? >> 8, 1, 'and the command that it names shows it again');
}
done_testing();
