#!/usr/bin/perl
# A long loop with checkpoints needs no more memory than a short one; its wrong adjoint is blamed at the line of the step.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
my $plain_build = ($ENV{BUILD} // 'build') eq 'build';
chdir scratch_folder() or die;

open my $c, '>', 'loop.c' or die;
print $c <<'END';
#include <diff.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void same(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = ((const double *)x)[i];
}

static void wrong(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    (void)x;
    same(count, y_bar, x_bar, context);
    ((double *)x_bar)[1] *= 1.001;
}

static const struct diff_custom_rules rules = {"wrong", NULL, same, wrong, NULL};
static int is_wrong;

static void step(struct diff_tape *tape, size_t number, size_t count, struct diff_tensor **state, void *context)
{
    const int *ring = context;
    struct diff_tensor *got = diff_sendrecv(state[0], ring[0], 0, state[0], ring[1], 0, MPI_COMM_WORLD);
    (void)tape, (void)count;
    if (is_wrong && number == 3)
        got = diff_custom(got, &rules, NULL);
    state[0] = diff_tanh(diff_add(diff_scale(state[0], 0.7), diff_mul(got, state[1])));
}

int main(int argc, char **argv)
{
    int rank, size;
    size_t shape = 3;
    char line[200];
    is_wrong = argc > 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int ring[2] = {(rank + 1) % size, (rank + size - 1) % size};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, &shape, (double[]){0.3, 0.2 + rank, -0.1});
    struct diff_tensor *w = diff_input(tape, "w", DIFF_DOUBLE, 1, &shape, (double[]){0.6, 0.7, 0.8 + 0.1 * rank});
    struct diff_tensor *state[2] = {x, w};
    diff_checkpoint(tape, strtoul(argv[1], NULL, 10), 0, step, 2, state, ring);
    diff_backward(diff_sum(diff_mul(state[0], state[0])));
    diff_tape_free(tape);
    MPI_Barrier(MPI_COMM_WORLD);
    FILE *status = fopen("/proc/self/status", "r");
    while (rank == 0 && status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %zu", &shape) == 1)
            printf("peak %zu\n", shape);
    fclose(status);
    MPI_Finalize();
    return 0;
}
END
close $c;

sub peak {
    my ($steps) = @_;
    my $out = `timeout 300 '$simrun' --db none --record none --no-gradients -n 4 loop.c $steps 2>&1`;
    return $out =~ /^peak (\d+)/m ? $1 : die $out;
}
my ($short, $long) = (peak(1000), peak(100000));
cmp_ok($long - $short, '<', 8192, "100,000 steps on 4 ranks take no more memory than 1,000: $short and $long KiB");
SKIP: {
    skip 'a sanitizer has memory of its own', 1 unless $plain_build;
    cmp_ok($long, '<', 65536, 'less than 64 MiB in all');
}

(my $out = `timeout 300 '$simrun' --db none -n 4 loop.c 40 2>&1`) =~ s/\s+/ /g;
like($out, qr/^peak \d+ PASS .* 26 of 26 gradients right/, 'its gradients are right');
($out = `timeout 300 '$simrun' --db none -n 4 loop.c 5 wrong 2>&1`) =~ s/\s+/ /g;
like($out, qr/G001 gradient-mismatch: the first wrong adjoint is that of custom "wrong" at loop\.c:29 /, 'a wrong adjoint in a step is blamed at its line');
done_testing();
