#!/usr/bin/perl
# A program that joins backward passes by itself, as checkpointing by hand does: it goes forward without a tape, runs each segment again,
# and hands the gradient of its leaf on as the cotangent of the one before. Right where the whole is; wrong, and blamed, where what is
# handed on or an operation is wrong.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
chdir scratch_folder() or die;

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
        like(said(3, $kind, $way, 'operation'), qr/^FAIL .*G001 gradient-mismatch: the first wrong adjoint is that of custom "wrong" where rank \d: custom segments\.c:31 \(culprit\)/,
            "$kind, $way: a wrong adjoint within a segment is blamed at its line");
    }
    like(said(3, $kind, 'from', 'right'), $kind eq 'input' ? qr/the loss was computed before this input was made/ : qr/^PASS/,
        "$kind: an input that stands behind the loss is told from a leaf");
}
# Training and solvers on a tape: wrong ones are blamed where they are wrong, though other ranks have values that nothing uses, and calls
# come next that are innocent.
open $c, '>', 'layers.c' or die;
print $c <<'END_C';
/* Training and solvers on a tape, as people write them; `layers PROGRAM DEFECT`, 0 is right. */
#include <diff.h>
#include <mpi.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, STEPS = 3 };
static int rank, ranks, defect;
static struct diff_tape *tape;
static const size_t n = N, square[] = {2, 2};

static struct diff_tensor *numbers(const char *name, int what, bool own)
{
    double v[N];
    for (int i = 0; i < N; i++) v[i] = 0.6 * sin(1.3 * i + 0.8 * what + (own ? 2.1 * rank : 0) + 0.4);
    return name ? own ? diff_input(tape, name, DIFF_DOUBLE, 1, &n, v) : diff_input_replicated(tape, name, DIFF_DOUBLE, 1, &n, v)
                : diff_constant(tape, DIFF_DOUBLE, 1, &n, v);
}

/* f, column, row, g under a replicated loss */
static void tensor(void)
{
    struct diff_tensor *x = numbers("x", 1, false), *a = numbers("a", 2, true), *b = numbers("b", 3, true);
    struct diff_tensor *f = defect == 1 ? x : diff_replicate(x, MPI_COMM_WORLD);
    struct diff_tensor *h = diff_tanh(diff_mul(a, f)), *y = diff_mul(b, h);
    y = defect == 2 ? diff_allreduce(y, MPI_SUM, MPI_COMM_WORLD) : diff_reduce_invariant(y, MPI_COMM_WORLD);
    diff_backward_replicated(diff_dot(y, y));
}

/* persistent requests reused over the steps; what leaves the tape between two of them */
static void halo(void)
{
    struct diff_tensor *u = numbers("u", 1, true);
    int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
    struct diff_persistent *send = diff_send_init(tape, DIFF_DOUBLE, N, next, 1, MPI_COMM_WORLD);
    struct diff_persistent *receive = diff_recv_init(tape, DIFF_DOUBLE, N, last, 1, MPI_COMM_WORLD);
    for (int k = 0; k < STEPS; k++) {
        struct diff_tensor *handles[2] = {diff_start(receive, diff_zeros(tape, DIFF_DOUBLE, 1, &n)), diff_start(send, u)}, *got[2];
        diff_waitall(2, handles, got);
        if (defect == 1 && k == 1) got[0] = diff_constant(tape, DIFF_DOUBLE, 1, &n, diff_values(got[0]));
        if (defect == 2 && k == 1) got[0] = diff_detach(got[0]);
        if (defect == 3 && k == 1) got[0] = diff_scale(got[0], *(const double *)diff_values(got[0]));
        u = diff_tanh(diff_add(u, diff_scale(got[0], 0.3)));
    }
    diff_backward(diff_dot(u, u));
    diff_persistent_free(send);
    diff_persistent_free(receive);
}

/* syncbn: mean and variance over all ranks */
static void norm(void)
{
    struct diff_tensor *x = numbers("x", 1, true);
    struct diff_tensor *s = diff_allreduce(diff_sum(x), MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *mean = diff_scale(s, 1.0 / (N * ranks));
    if (defect == 1) mean = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){1}, diff_values(mean));
    struct diff_tensor *off = diff_sub(x, diff_broadcast(diff_reshape(mean, 1, (size_t[]){1}), 1, &n));
    struct diff_tensor *var = diff_scale(diff_allreduce(diff_dot(off, off), MPI_SUM, MPI_COMM_WORLD), 1.0 / (N * ranks));
    double size = sqrt(diff_scalar(var) + 1e-3);
    struct diff_tensor *z = defect == 2 ? diff_scale(off, 1 / size) : diff_scale_by(off, diff_power(diff_shift(var, 1e-3), -0.5));
    diff_backward(diff_dot(diff_sin(z), numbers(NULL, 4, true)));
}

/* weights used twice, on the first and on the last rank, by messages */
static void tied(void)
{
    struct diff_tensor *w = numbers("w", 1, true), *y = diff_sin(w), *loss = diff_sum(diff_zeros(tape, DIFF_DOUBLE, 1, &n));
    if (rank == 0) { diff_send(w, ranks - 1, 1, MPI_COMM_WORLD); diff_send(y, ranks - 1, 2, MPI_COMM_WORLD); }
    if (rank == ranks - 1) {
        struct diff_tensor *zero = diff_zeros(tape, DIFF_DOUBLE, 1, &n), *v;
        v = diff_recv(zero, 0, 1, MPI_COMM_WORLD);
        if (defect == 1) v = diff_detach(v);
        y = diff_recv(zero, 0, 2, MPI_COMM_WORLD);
        loss = diff_dot(diff_mul(v, y), y);
    }
    diff_backward(loss);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*body)(void); } programs[] = {{"tensor", tensor}, {"halo", halo}, {"norm", norm}, {"tied", tied}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    defect = atoi(argv[2]);
    tape = diff_tape_new(MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(argv[1], programs[i].name)) programs[i].body();
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
END_C
close $c;
my $off = qr/was taken off the tape \(detached, or by diff_values\)/;
for my $case (
    ['tensor', qr/diff_replicate is missing between the replicated input x and mul/, qr/the adjoint of Allreduce adds up 3 equal cotangents/],
    ['halo', qr/the value of Wait $off: an operand of add .* where rank 0: Wait /, qr/the value of Wait $off/, qr/the factor or shift of scale on rank 0 moves/],
    ['norm', qr/the value of scale $off: an operand of sub .* where rank 0: scale /, qr/the value of scale $off: the factor or shift of scale/],
    ['tied', qr/the value of Recv $off: an operand of mul on rank 2 .* where rank 2: Recv /],
  ) {
    my ($program, @wrong) = @$case;
    for my $defect (0 .. @wrong) {
        my $due = $defect ? $wrong[$defect - 1] : '';
        my $out = `timeout 300 '$simrun' --db none -n 3 layers.c $program $defect 2>&1`;
        $out =~ s/\s+/ /g;
        like($out, $defect ? qr/^FAIL .*G001 gradient-mismatch: $due/ : qr/^PASS .*finished, (\d+) of \1 gradients right/,
            "$program, defect $defect: so told");
    }
}
done_testing();
