#!/usr/bin/perl
# A program that joins backward passes by itself, as checkpointing by hand does: it goes forward without a tape, runs each segment again,
# and hands the gradient of its leaf on as the cotangent of the one before. Right where the whole is; wrong, and blamed, where what is
# handed on or an operation is wrong.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
chdir tempdir(CLEANUP => 1) or die;

open my $c, '>', 'segments.c' or die;
print $c <<'END_C';
#include <diff.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { N = 3, SEGMENTS = 3, STEPS = 4 };
static const size_t n = N;
static int rank, ranks, wrong_operation;

static void same(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    memcpy(y, x, count * sizeof(double));
}

static void wrong(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    (void)x;
    same(count, y_bar, x_bar, context);
    ((double *)x_bar)[1] *= 1.001;
}

static const struct diff_custom_rules rules = {"wrong", NULL, same, wrong, NULL};

static struct diff_tensor *segment(struct diff_tensor *u, int number)
{
    for (int i = 0; i < STEPS; i++) {
        struct diff_tensor *got =
            diff_sendrecv(u, (rank + 1) % ranks, 0, u, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD);
        if (wrong_operation && number == 1 && i == 2)
            got = diff_custom(got, &rules, NULL);
        u = diff_tanh(diff_add(diff_scale(u, .8), diff_scale(diff_mul(got, got), .3)));
    }
    return u;
}

/* leaf|input, from|product, right|factor|stale|operation|nothing */
int main(int argc, char **argv)
{
    double at[SEGMENTS][N], bar[N] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    wrong_operation = !strcmp(argv[3], "operation");
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *u = diff_input(tape, "u", DIFF_DOUBLE, 1, &n, (double[]){.4 - rank, .3, .2 * rank - .7});
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &n, (double[]){1 + rank, -.5, .25});
    diff_no_grad_begin(tape);
    struct diff_tensor *x = diff_detach(u);
    for (int k = 0; k < SEGMENTS; k++) {
        memcpy(at[k], diff_values(x), sizeof at[k]);
        x = segment(x, k);
    }
    diff_no_grad_end(tape);
    if (!strcmp(argv[3], "stale"))
        memcpy(at[1], at[0], sizeof at[1]);
    for (int k = SEGMENTS - 1; k >= 0; k--) {
        char name[16];
        snprintf(name, sizeof name, "segment %d", k);
        struct diff_tensor *leaf = k == 0                  ? u
                                   : !strcmp(argv[1], "leaf") ? diff_leaf(tape, DIFF_DOUBLE, 1, &n, at[k])
                                                           : diff_input(tape, name, DIFF_DOUBLE, 1, &n, at[k]);
        struct diff_tensor *y = segment(leaf, k);
        struct diff_tensor *handed = diff_constant(tape, DIFF_DOUBLE, 1, &n, bar);
        if (k == SEGMENTS - 1)
            diff_backward(diff_dot(y, weights));
        else if (!strcmp(argv[2], "from"))
            diff_backward_from(tape, 1, &y, &handed, 0);
        else
            diff_backward(diff_dot(y, handed));
        memcpy(bar, diff_gradient(leaf), sizeof bar);
        if (!strcmp(argv[3], "factor") && k == 1 && rank == ranks - 1)
            bar[0] *= 1 + 1e-6;
    }
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
END_C
close $c;

sub said {
    my ($ranks, @words) = @_;
    my $out = `timeout 300 '$simrun' --db none -n $ranks segments.c @words 2>&1`;
    $out =~ s/\s+/ /g;
    return $out;
}

for my $kind ('leaf', 'input') {
    for my $way ('from', 'product') {
        for my $ranks (1, 3) {
            my $out = said($ranks, $kind, $way, 'right');
            like($out, qr/^PASS .*gradients right/, "$kind, $way, $ranks ranks: the right one passes");
            like($out, qr/ok u: (\d+) of \1 right/, "$kind, $way, $ranks ranks: the gradient of the whole is decided");
        }
        for my $what ('factor', 'stale') {
            my $out = said(3, $kind, $way, $what);
            like($out, qr/^FAIL .*WRONG u: .*G001 gradient-mismatch: between the passes: the adjoints of all \d+ operations are right/,
                "$kind, $way: what is handed on is wrong by a $what, and no operation is blamed");
        }
        like(said(3, $kind, $way, 'operation'), qr/^FAIL .*G001 gradient-mismatch: the first wrong adjoint is that of custom where rank \d: custom segments\.c:31 \(culprit\)/,
            "$kind, $way: a wrong adjoint within a segment is blamed at its line");
    }
    like(said(3, $kind, 'from', 'right'), $kind eq 'input' ? qr/the loss was computed before this input was made/ : qr/^PASS/,
        "$kind: an input that stands behind the loss is told from a leaf");
}
done_testing();
