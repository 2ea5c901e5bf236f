#!/usr/bin/perl
# An adjoint that reads a buffer before its wait is found by the run with late messages, on one core and on two; with OS threads, whose
# messages come as they come, the coverage says that nobody tried.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
chdir scratch_folder() or die;

open my $c, '>', 'early.c' or die;
print $c <<'END';
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size;
    (void)argv;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double x = 0.4 + 0.3 * rank, y, b, g = 0, early;
    MPI_Request receive;
    diff_mark_input("x", &x, 1);
    MPI_Sendrecv(&x, 1, MPI_DOUBLE, right, 0, &y, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    diff_mark_objective((1 + rank) * y * y);
    b = 2 * (1 + rank) * y;
    MPI_Irecv(&g, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &receive);
    MPI_Send(&b, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    early = g;
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    diff_mark_gradient("x", argc > 1 ? &early : &g, 1);
    MPI_Finalize();
    return 0;
}
END
close $c;

# The same with a nonblocking collective.
(my $collective = do { local (@ARGV, $/) = 'early.c'; <> }) =~ s/MPI_Sendrecv\(.*?\);/MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);/;
$collective =~ s/MPI_Irecv\(.*?\);/MPI_Iallreduce(&b, &g, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &receive);/;
$collective =~ s/MPI_Send\(.*?\);/(void)left, (void)right;/;
open $c, '>', 'collective.c' or die;
print $c $collective;
close $c;

sub said {
    my $out = `timeout 300 '$simrun' --db none -n 3 @_ 2>&1`;
    $out =~ s/\s+/ /g;
    return $out;
}
for my $cores ('', '--cores 2') {
    like(said($cores, 'early.c early'), qr/^FAIL .*G001 .*only as messages happened to arrive/, "found ($cores)");
    my $right = said($cores, 'early.c');
    like($right, qr/^PASS .*4 of 4 gradients right/, "its right twin passes ($cores)");
    unlike($right, qr/deliveries of messages/, "and nothing was left out ($cores)");
}
like(said('', 'collective.c early'), qr/^FAIL .*G001 .*only as messages happened to arrive/, 'found with a nonblocking collective');
like(said('', 'collective.c'), qr/^PASS .*4 of 4 gradients right/, 'and its right twin passes');
like(said('--os-threads', 'early.c'), qr/not covered:.* deliveries of messages besides this one: not tried with OS threads/,
    'with OS threads the coverage says that it was not tried');

# Memory that was freed keeps its numbers for a while, and what malloc gives is often zero: an adjoint that reads it is right by chance.
open $c, '>', 'memory.c' or die;
print $c <<'END';
#include <diff.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64, ROOM = 400, PLACE = 300 };

/* right, freed: the values that are kept; unwritten, grown: what is added to; idle: what nothing depends on */
int main(int argc, char **argv)
{
    double x[N], y[N], bar[N], out[N], loss = 0;
    const char *what = argv[argc - 1];
    double *kept = malloc(ROOM * sizeof *kept);
    unsigned char *idle = malloc(1); /* whatever it holds is a number */
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N; i++)
        x[i] = 0.1 * i + rank;
    diff_mark_input("x", x, N);
    for (int i = 0; i < N; i++)
        kept[PLACE + i] = x[i] * x[i];
    MPI_Allreduce(kept + PLACE, y, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        loss += y[i] * y[i], bar[i] = 2 * y[i] + (strcmp(what, "idle") ? 0 : 0. * *idle);
    diff_mark_objective(loss);
    MPI_Allreduce(bar, out, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    int fresh = !strcmp(what, "unwritten") || !strcmp(what, "grown"); /* from the system */
    double *sum = !fresh ? calloc(ROOM, sizeof *sum) : strcmp(what, "grown") ? malloc(1 << 18) : realloc(malloc(8), 1 << 18);
    if (!strcmp(what, "freed"))
        free(kept);
    for (int i = 0; i < N; i++)
        sum[PLACE + i] += out[i] * 2 * x[i] * (kept[PLACE + i] / (x[i] * x[i] + (x[i] == 0)) + (x[i] == 0));
    diff_mark_gradient("x", sum + PLACE, N);
    if (strcmp(what, "freed"))
        free(kept);
    if (!fresh) /* else the next one might get it */
        free(sum);
    free(idle);
    MPI_Finalize();
    return 0;
}
END
close $c;
my $sanitized = `ldd '$simrun'` =~ /lib[at]san/; # whose memory is never zero, as the pattern in it is a number
for my $what ('freed', 'unwritten', 'grown') {
    my $why = $sanitized && $what ne 'freed' ? 'wrong' : 'right only as long as memory keeps what it held';
    like(said('', "memory.c $what"), qr/^FAIL .*G001 .*the gradient of x is $why/, "memory that is $what: found");
}
like(said('--os-threads', 'memory.c freed'), qr/^FAIL .*G001 .*as long as memory keeps/, 'with OS threads, too');
for my $what ('right', 'idle') {
    my $right = said('', "memory.c $what");
    like($right, qr/^PASS .*193 of 193 gradients right/, "$what: right");
    unlike($right, qr/is overwritten did not finish/, "$what: and nothing was left out");
}

done_testing();
