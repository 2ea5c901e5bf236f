/* A wrong gradient never passes: for every operation, one term of its adjoint after the other gets
 * its sign turned round, and the gradient check must notice each of them. */
#include "tests/diff_world.h"

#include <math.h>

enum { N = 4, RANKS = 3 };

struct here {
    struct diff_tape *tape;
    int rank, size;
    struct diff_tensor *x, *w;
};

/* The node whose adjoint is spoiled is the one the body makes next after begin: number 1. */
static struct here begin(size_t count)
{
    struct here here;
    double values[32], weights[32];
    MPI_Comm_rank(MPI_COMM_WORLD, &here.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &here.size);
    for (size_t i = 0; i < 32; i++) {
        values[i] = 0.7 + 0.13 * (double)i - 0.21 * here.rank;
        weights[i] = 1.1 + 0.3 * here.rank - 0.17 * (double)i;
    }
    here.tape = diff_tape_new(MPI_COMM_WORLD);
    here.x = diff_input(here.tape, "x", DIFF_DOUBLE, 1, &count, values);
    here.w = diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){32}, weights);
    return here;
}

static void end(struct here *here, struct diff_tensor *y)
{
    size_t count = diff_count(y);
    struct diff_tensor *flat = diff_reshape(y, 1, &count);
    diff_backward(diff_dot(flat, diff_slice(here->w, 0, count)));
    diff_tape_free(here->tape);
}

#define BODY(name, count, ...)                                                                     \
    static void name(void)                                                                         \
    {                                                                                              \
        struct here here = begin(count);                                                           \
        struct diff_tensor *x = here.x;                                                            \
        int rank = here.rank, size = here.size;                                                    \
        (void)rank, (void)size;                                                                    \
        end(&here, __VA_ARGS__);                                                                   \
    }
#define RIGHT ((rank + 1) % size)
#define LEFT  ((rank + size - 1) % size)
#define WORLD MPI_COMM_WORLD

BODY(add, N, diff_add(x, x))
BODY(sub, N, diff_sub(x, diff_slice(here.w, 0, N)))
BODY(mul, N,
     diff_mul(x, diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){N}, (double[]){1, 2, 3, 4})))
BODY(div_, N,
     diff_div(x, diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){N}, (double[]){1, 2, 3, 4})))
BODY(neg, N, diff_neg(x))
BODY(scale, N, diff_scale(x, 3))
BODY(shift, N, diff_shift(x, 3))
BODY(sum, N, diff_sum(x))
BODY(mean, N, diff_mean(x))
BODY(dot, N,
     diff_dot(x, diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){N}, (double[]){1, 2, 3, 4})))
BODY(exp_, N, diff_exp(x))
BODY(log_, N, diff_log(x))
BODY(tanh_, N, diff_tanh(x))
BODY(sigmoid, N, diff_sigmoid(x))
BODY(relu, N, diff_relu(x))
BODY(reshape, N, diff_reshape(x, 2, (size_t[]){2, 2}))
BODY(slice, N, diff_slice(x, 1, 2))
BODY(gather_rows, N, diff_gather_rows(x, 3, (size_t[]){1, 3, 1}))
BODY(bcast, N, diff_bcast(x, 1, WORLD))
BODY(reduce, N, diff_reduce(x, MPI_SUM, 1, WORLD))
BODY(allreduce_sum, N, diff_allreduce(x, MPI_SUM, WORLD))
BODY(allreduce_avg, N, diff_allreduce(x, DIFF_AVG, WORLD))
BODY(allreduce_prod, N, diff_allreduce(x, MPI_PROD, WORLD))
BODY(allreduce_max, N, diff_allreduce(x, MPI_MAX, WORLD))
BODY(allreduce_min, N, diff_allreduce(x, MPI_MIN, WORLD))
BODY(gather, N, diff_gather(x, 2, WORLD))
BODY(scatter, N *RANKS, diff_scatter(x, N, 1, WORLD))
BODY(allgather, N, diff_allgather(x, WORLD))
BODY(reduce_scatter, 6, diff_reduce_scatter(x, (int[]){1, 3, 2}, MPI_SUM, WORLD))
BODY(reduce_scatter_block, 6, diff_reduce_scatter_block(x, MPI_SUM, WORLD))
BODY(alltoall, 6, diff_alltoall(x, WORLD))
BODY(scan_sum, N, diff_scan(x, MPI_SUM, WORLD))
BODY(scan_prod, N, diff_scan(x, MPI_PROD, WORLD))
BODY(scan_max, N, diff_scan(x, MPI_MAX, WORLD))
BODY(exscan_sum, N, diff_exscan(x, MPI_SUM, WORLD))
BODY(exscan_prod, N, diff_exscan(x, MPI_PROD, WORLD))
BODY(gatherv, 2, diff_gatherv(x, NULL, (int[]){2, 2, 2}, (int[]){0, 3, 6}, 0, WORLD))
BODY(scatterv, 7, diff_scatterv(x, (int[]){2, 2, 2}, (int[]){0, 1, 4}, 2, 1, WORLD))
BODY(allgatherv, 2, diff_allgatherv(x, NULL, (int[]){2, 2, 2}, NULL, WORLD))
BODY(alltoallv, 6,
     diff_alltoallv(x, (int[]){2, 2, 2}, (int[]){0, 1, 4}, NULL, (int[]){2, 2, 2}, (int[]){0, 2, 4},
                    WORLD))
BODY(sendrecv, N,
     diff_sendrecv(x, RIGHT, 1, diff_zeros(here.tape, DIFF_DOUBLE, 1, (size_t[]){N}), LEFT, 1,
                   WORLD))
BODY(sendrecv_replace, N, diff_sendrecv_replace(x, RIGHT, 1, LEFT, 1, WORLD))
BODY(iallreduce, N, diff_wait(diff_iallreduce(x, MPI_SUM, WORLD)))

static const struct operation {
    const char *name;
    void (*body)(void);
    size_t count; /* terms of the adjoint on every rank */
} operations[] = {
#define ROW(name, count)                                                                           \
    {                                                                                              \
#name, name, count                                                                         \
    }
    ROW(add, N),
    ROW(sub, N),
    ROW(mul, N),
    ROW(div_, N),
    ROW(neg, N),
    ROW(scale, N),
    ROW(shift, N),
    ROW(sum, N),
    ROW(mean, N),
    ROW(dot, N),
    ROW(exp_, N),
    ROW(log_, N),
    ROW(tanh_, N),
    ROW(sigmoid, N),
    ROW(relu, N),
    ROW(reshape, N),
    ROW(slice, N),
    ROW(gather_rows, N),
    ROW(bcast, N),
    ROW(reduce, N),
    ROW(allreduce_sum, N),
    ROW(allreduce_avg, N),
    ROW(allreduce_prod, N),
    ROW(allreduce_max, N),
    ROW(allreduce_min, N),
    ROW(gather, N),
    ROW(scatter, N *RANKS),
    ROW(allgather, N),
    ROW(reduce_scatter, 6),
    ROW(reduce_scatter_block, 6),
    ROW(alltoall, 6),
    ROW(scan_sum, N),
    ROW(scan_prod, N),
    ROW(scan_max, N),
    ROW(exscan_sum, N),
    ROW(exscan_prod, N),
    ROW(gatherv, 2),
    ROW(scatterv, 7),
    ROW(allgatherv, 2),
    ROW(alltoallv, 6),
    ROW(sendrecv, N),
    ROW(sendrecv_replace, N),
    ROW(iallreduce, N),
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* A term that is zero on every rank stays right whatever its sign is: no finding is expected. */
static bool is_zero(const double *terms, int ranks)
{
    for (int r = 0; r < ranks; r++)
        if (terms[r] != 0)
            return false;
    return true;
}

/* What the flip is told to turn: term `part` (from 1) of node 1 on every rank. */
static void flips(const struct operation *operation, int *tried, int *noticed, int *told)
{
    for (size_t part = 1; part <= operation->count; part++) {
        struct gradcheck_options options = gradcheck_options_default();
        double terms[RANKS] = {0};
        options.flip = 1;
        options.flip_part = part;
        options.flipped = terms;
        struct gradcheck_result result = diff_world_check(operation->body, RANKS, &options);
        bool wrong = !result.base_failed && result.row_count > 0 && result.failed > 0;
        if (is_zero(terms, RANKS)) {
            tap_ok(!wrong, "%s: turning a term that is zero on all ranks changes nothing",
                   operation->name);
        } else {
            ++*tried;
            *noticed += wrong;
            *told += result.culprit.found && result.culprit.sequence <= 2;
        }
        gradcheck_release(&result);
    }
}

int main(void)
{
    int all = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        int tried = 0, noticed = 0, told = 0;
        flips(&operations[i], &tried, &noticed, &told);
        tap_ok(tried > 0 && noticed == tried, "%s: %d of %d wrong terms are noticed",
               operations[i].name, noticed, tried);
        tap_ok(told == tried, "%s: and told as the first wrong adjoint", operations[i].name);
        all += tried;
    }
    tap_note("%d operations, %d terms", (int)OPERATIONS, all);
    return tap_done();
}
