/* Programs nobody wrote: random graphs of operations, whose values are used again and again, in
 * another order than they were made in. Every gradient, and every tangent, is checked; a second
 * pass must add the same again. */
#include "tests/diff_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, STEPS = 14, POOL = STEPS + 2, PROGRAMS = 120 };

static uint64_t program; /* the seed of the one that runs */

struct maker {
    uint64_t state;
    struct diff_tape *tape;
    int rank, size;
    struct diff_tensor *pool[POOL];
    int count;
};

/* The same on every rank, so that all make the same program. */
static unsigned below(struct maker *maker, unsigned n)
{
    maker->state += 0x9e3779b97f4a7c15u;
    uint64_t z = maker->state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ z >> 31) >> 33) % n;
}

static struct diff_tensor *any(struct maker *maker)
{
    return maker->pool[below(maker, (unsigned)maker->count)];
}

static struct diff_tensor *local(struct maker *maker)
{
    struct diff_tensor *a = any(maker), *b = any(maker);
    static const size_t square[] = {2, 2}, flat[] = {N}, rows[] = {2, 0, 3, 2};
    switch (below(maker, 12)) {
    case 0:
    case 1:
    case 2:
        return diff_add(a, b);
    case 3:
        return diff_sub(a, b);
    case 4:
        return diff_mul(diff_tanh(a), b);
    case 5:
        return diff_scale(a, -0.75);
    case 6:
        return diff_gather_rows(a, N, rows);
    case 7:
        return diff_concat(2, (struct diff_tensor *[]){diff_slice(a, 1, 2), diff_slice(b, 0, 2)});
    case 8:
        return diff_reshape(diff_transpose(diff_reshape(a, 2, square)), 1, flat);
    case 9:
        return diff_tanh(diff_reshape(
            diff_matmul(diff_reshape(a, 2, square), diff_reshape(b, 2, square)), 1, flat));
    case 10:
        return diff_scale_by(diff_tanh(a), diff_mean(b));
    default:
        return diff_join(a, 1, &b);
    }
}

static struct diff_tensor *ring(struct maker *maker, struct diff_tensor *x,
                                struct diff_tensor *buffer)
{
    int right = (maker->rank + 1) % maker->size,
        left = (maker->rank + maker->size - 1) % maker->size;
    struct diff_tensor *in = diff_irecv(buffer, left, 3, MPI_COMM_WORLD);
    struct diff_tensor *out = diff_isend(x, right, 3, MPI_COMM_WORLD);
    struct diff_tensor *y = diff_wait(in);
    diff_wait(out);
    return y;
}

static struct diff_tensor *communicated(struct maker *maker)
{
    struct diff_tensor *a = any(maker), *b = any(maker);
    int root = (int)below(maker, (unsigned)maker->size);
    int right = (maker->rank + 1) % maker->size,
        left = (maker->rank + maker->size - 1) % maker->size;
    switch (below(maker, 10)) {
    case 0:
        return diff_allreduce(a, DIFF_AVG, MPI_COMM_WORLD);
    case 1:
        return diff_bcast(a, root, MPI_COMM_WORLD);
    case 2:
        return diff_scan(diff_scale(a, 0.5), MPI_SUM, MPI_COMM_WORLD);
    case 3:
        return diff_exscan(diff_scale(a, 0.5), MPI_SUM, MPI_COMM_WORLD);
    case 4:
        return diff_sendrecv(a, right, 1, b, left, 1, MPI_COMM_WORLD);
    case 5:
        return diff_sendrecv(diff_slice(a, 0, 2), right, 1, b, left, 1, MPI_COMM_WORLD);
    case 6:
        return ring(maker, a, b);
    case 7:
        return ring(maker, diff_slice(a, 1, 3), b);
    case 8:
        return diff_wait(diff_iallreduce(diff_tanh(a), MPI_PROD, MPI_COMM_WORLD));
    default:
        return diff_slice(diff_allgather(a, MPI_COMM_WORLD), (size_t)root, N);
    }
}

static void random_program(void)
{
    struct maker maker = {.state = program};
    double values[2][N], weights[N];
    size_t shape[] = {N};
    MPI_Comm_rank(MPI_COMM_WORLD, &maker.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &maker.size);
    maker.tape = diff_tape_new(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        values[0][i] = 0.9 - 0.31 * i + 0.17 * maker.rank;
        values[1][i] = -0.4 + 0.23 * i - 0.11 * maker.rank;
        weights[i] = 1.2 - 0.37 * i + 0.29 * maker.rank;
    }
    struct diff_tensor *x = diff_input(maker.tape, "x", DIFF_DOUBLE, 1, shape, values[0]);
    maker.pool[0] = x;
    maker.pool[1] = diff_input(maker.tape, "z", DIFF_DOUBLE, 1, shape, values[1]);
    maker.count = 2;
    for (int i = 0; i < STEPS; i++) {
        struct diff_tensor *y = below(&maker, 3) ? local(&maker) : communicated(&maker);
        maker.pool[maker.count++] = y;
    }
    struct diff_tensor *w = diff_constant(maker.tape, DIFF_DOUBLE, 1, shape, weights);
    struct diff_tensor *loss = diff_dot(diff_tanh(any(&maker)), w);
    for (int i = 0; i < 4; i++) /* read from the middle, too */
        loss = diff_add(loss, diff_dot(any(&maker), w));
    diff_backward_from(maker.tape, 1, &loss, NULL, DIFF_RETAIN);
    diff_backward(loss);
    diff_tape_free(maker.tape);
}

int main(void)
{
    tap_plan(2);
    for (int ranks = 1; ranks <= 3; ranks += 2) {
        char text[2000] = "", name[40] = "";
        const int sizes[] = {ranks, 0};
        int right = 0, asked = 0;
        for (int i = 0; i < PROGRAMS; i++) {
            program = (uint64_t)i * 7919 + (uint64_t)ranks;
            if (!checked_takes())
                continue;
            asked++;
            if (diff_world_right(random_program, sizes, text, sizeof text))
                right++;
            else if (!name[0])
                snprintf(name, sizeof name, "program %d: ", i);
        }
        tap_test_ok(right == asked, TAP_HERE, text,
                    "%sgradients and tangents of %d of %d random programs are right on %d ranks",
                    name, right, asked, ranks);
    }
    return tap_done();
}
