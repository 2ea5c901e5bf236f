#!/usr/bin/perl
# Every call that takes a buffer looks at what lies there: numbers of another type are M011 and one element too many is B006, be
# it one element (which some calls carry by a shorter way) or many; right beside wrong. b is the buffer in question, n its count.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc'; # clang leaves out elements of arrays on the stack
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
my @calls = map { [split /\s*\|\s*/, $_, 2] } grep { /\S/ } split /\n/, <<'TABLE';
Send | (MPI_Irecv(o, n, T, 0, 0, MPI_COMM_SELF, &q), MPI_Send(b, n, T, 0, 0, MPI_COMM_SELF), MPI_Wait(&q, S))
Recv | (MPI_Isend(o, n, T, 0, 0, MPI_COMM_SELF, &q), MPI_Recv(b, n, T, 0, 0, MPI_COMM_SELF, S), MPI_Wait(&q, S))
Isend | (MPI_Isend(b, n, T, 0, 0, MPI_COMM_SELF, &q), MPI_Recv(o, n, T, 0, 0, MPI_COMM_SELF, S), MPI_Wait(&q, S))
Irecv | (MPI_Irecv(b, n, T, 0, 0, MPI_COMM_SELF, &q), MPI_Send(o, n, T, 0, 0, MPI_COMM_SELF), MPI_Wait(&q, S))
Sendrecv's first | MPI_Sendrecv(b, n, T, to, 0, o, n, T, to, 0, MPI_COMM_WORLD, S)
Sendrecv's second | MPI_Sendrecv(o, n, T, to, 0, b, n, T, to, 0, MPI_COMM_WORLD, S)
Sendrecv_replace | MPI_Sendrecv_replace(b, n, T, to, 0, to, 0, MPI_COMM_WORLD, S)
Isendrecv_replace | (MPI_Isendrecv_replace(b, n, T, to, 0, to, 0, MPI_COMM_WORLD, &q), MPI_Wait(&q, S))
Send_init | (MPI_Irecv(o, n, T, 0, 0, MPI_COMM_SELF, &p), MPI_Send_init(b, n, T, 0, 0, MPI_COMM_SELF, &q), MPI_Start(&q), MPI_Wait(&q, S), MPI_Request_free(&q), MPI_Wait(&p, S))
Bcast_init | (MPI_Bcast_init(b, n, T, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &q), MPI_Start(&q), MPI_Wait(&q, S), MPI_Request_free(&q))
Bcast | MPI_Bcast(b, n, T, 0, MPI_COMM_WORLD)
Ibcast | (MPI_Ibcast(b, n, T, 0, MPI_COMM_WORLD, &q), MPI_Wait(&q, S))
Reduce | MPI_Reduce(b, o, n, T, MPI_SUM, 0, MPI_COMM_WORLD)
Allreduce | MPI_Allreduce(b, o, n, T, MPI_SUM, MPI_COMM_WORLD)
Allreduce's result | MPI_Allreduce(o, b, n, T, MPI_SUM, MPI_COMM_WORLD)
Allreduce in place | MPI_Allreduce(MPI_IN_PLACE, b, n, T, MPI_SUM, MPI_COMM_WORLD)
Iallreduce | (MPI_Iallreduce(b, o, n, T, MPI_SUM, MPI_COMM_WORLD, &q), MPI_Wait(&q, S))
Scan | MPI_Scan(b, o, n, T, MPI_SUM, MPI_COMM_WORLD)
Exscan | MPI_Exscan(b, o, n, T, MPI_SUM, MPI_COMM_WORLD)
Gather | MPI_Gather(b, n, T, o, n, T, 0, MPI_COMM_WORLD)
Allgather | MPI_Allgather(b, n, T, o, n, T, MPI_COMM_WORLD)
Allgather's result | MPI_Allgather(o, n, T, b, n, T, MPI_COMM_SELF)
Scatter's result | MPI_Scatter(o, n, T, b, n, T, 0, MPI_COMM_WORLD)
Alltoall | MPI_Alltoall(b, n, T, o, n, T, MPI_COMM_SELF)
Reduce_scatter_block | MPI_Reduce_scatter_block(b, o, n, T, MPI_SUM, MPI_COMM_SELF)
Put | (MPI_Win_fence(0, w), MPI_Put(b, n, T, to, 0, n, T, w), MPI_Win_fence(0, w))
Get | (MPI_Win_fence(0, w), MPI_Get(b, n, T, to, 0, n, T, w), MPI_Win_fence(0, w))
Accumulate | (MPI_Win_fence(0, w), MPI_Accumulate(b, n, T, to, 0, n, T, MPI_SUM, w), MPI_Win_fence(0, w))
Get_accumulate's result | (MPI_Win_fence(0, w), MPI_Get_accumulate(o, n, T, b, n, T, to, 0, n, T, MPI_SUM, w), MPI_Win_fence(0, w))
Pack | MPI_Pack(b, n, T, bytes, sizeof bytes, &at, MPI_COMM_SELF)
Unpack | MPI_Unpack(bytes, sizeof bytes, &at, b, n, T, MPI_COMM_SELF)
Pack_external | MPI_Pack_external("external32", b, n, T, bytes, sizeof bytes, &where)
Unpack_external | MPI_Unpack_external("external32", bytes, sizeof bytes, &where, b, n, T)
Reduce_local | MPI_Reduce_local(b, o, n, T, MPI_SUM)
Reduce_local's result | MPI_Reduce_local(o, b, n, T, MPI_SUM)
TABLE
my @single = (["Fetch_and_op", '(MPI_Win_fence(0, w), MPI_Fetch_and_op(b, o, T, to, 0, MPI_SUM, w), MPI_Win_fence(0, w))'],
    ["Fetch_and_op's result", '(MPI_Win_fence(0, w), MPI_Fetch_and_op(o, b, T, to, 0, MPI_SUM, w), MPI_Win_fence(0, w))'],
    ["Compare_and_swap", '(MPI_Win_fence(0, w), MPI_Compare_and_swap(b, o, o + 1, T, to, 0, w), MPI_Win_fence(0, w))'],
    ["Compare_and_swap's comparison", '(MPI_Win_fence(0, w), MPI_Compare_and_swap(o, b, o + 1, T, to, 0, w), MPI_Win_fence(0, w))'],
    ["Compare_and_swap's result", '(MPI_Win_fence(0, w), MPI_Compare_and_swap(o, o + 1, b, T, to, 0, w), MPI_Win_fence(0, w))']);
my $cases = join '', map { "        case $_: " . [@calls, @single]->[$_][1] . ";\n            break;\n" } 0 .. $#calls + @single;
open my $file, '>', "$folder/calls.c" or die;
print $file <<"C";
#include <mpi.h>
#include <stdlib.h>
#define T MPI_INT
#define S MPI_STATUS_IGNORE
static int right[400], o[400];
static float wrong[400];
int main(int argc, char **argv)
{
    int rank, to, at = 0, n = atoi(argv[3]), window[400] = {0};
    char bytes[4000] = {0};
    MPI_Aint where = 0;
    MPI_Request q, p;
    MPI_Win w;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    to = 1 - rank;
    MPI_Win_create(window, sizeof window, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    void *b = argv[2][0] == 'w' ? (void *)wrong : argv[2][0] == 'e' ? (void *)(right + 400 - n + 1) : (void *)right;
    (void)bytes, (void)where, (void)at, (void)q, (void)p;
    switch (atoi(argv[1])) {
$cases    }
    MPI_Win_free(&w);
    MPI_Finalize();
    return 0;
}
C
close $file;
chdir $folder or die;
sub said {
    my ($words) = @_;
    my $said = `timeout 60 '$simrun' --db none -n 2 --memory calls.c $words 2>&1`;
    my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
    return join(' ', sort keys %codes) || ($said =~ /^PASS/ ? 'right' : $said);
}
my $all = $ENV{ALL};
for my $case (0 .. $#calls + @single) {
    my $name = [@calls, @single]->[$case][0];
    for my $n ($case > $#calls ? (1) : $all ? (1, 2, 100) : (1 + $case % 2)) {
        is(said("$case wrong $n"), 'M011', "$name of $n, float as int: M011");
        is(said("$case right $n"), 'right', "$name of $n: right") if $all || $case % 4 == 0;
        is(said("$case end $n"), 'B006', "$name of $n, one too many: B006") if $n > 1 && ($all || $case % 4 == 1);
    }
}
done_testing;
