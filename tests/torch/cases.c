/* The cases of cases.py with diff.h: prints "case rank index gradient". */
#include <diff.h>
#include <mpi.h>
#include <stdio.h>

enum { RANKS = 3, N = 4 };

struct here {
    struct diff_tape *tape;
    int rank;
    struct diff_tensor *x, *w;
};

#define WORLD MPI_COMM_WORLD

static struct diff_tensor *square(const struct here *here)
{
    return diff_mul(here->x, here->x);
}

static struct diff_tensor *matrix(struct diff_tensor *x)
{
    return diff_reshape(x, 2, (size_t[]){2, 2});
}

/* Blocks of N values weighed 1, 2, 3... times w; nothing where there is none. */
static struct diff_tensor *blocks(const struct here *here, struct diff_tensor *y)
{
    struct diff_tensor *loss = diff_scale(diff_sum(here->x), 0);
    for (size_t k = 0; k < diff_count(y) / N; k++)
        loss =
            diff_add(loss, diff_scale(diff_dot(diff_slice(y, k * N, N), here->w), 1.0 + (double)k));
    return loss;
}

static struct diff_tensor *weighed(const struct here *here, struct diff_tensor *y)
{
    return diff_dot(y, here->w);
}

/* A matrix: its sums, its maxima, and itself times the sums of its rows. */
static struct diff_tensor *axes(struct diff_tensor *m)
{
    struct diff_tensor *sums = diff_reshape(diff_sum_axis(m, 1), 2, (size_t[]){2, 1});
    return diff_add(diff_dot(diff_sum_axis(m, 0), diff_max_axis(m, 1)),
                    diff_dot(m, diff_broadcast(sums, 2, (size_t[]){2, 2})));
}

static struct diff_tensor *local_loss_of(const struct here *here, int number)
{
    static const bool condition[N] = {true, false, false, true};
    struct diff_tensor *x = here->x, *y, *parts[2];
    switch (number) {
    case 0:
        y = diff_add(diff_mul(diff_sin(x), diff_cos(x)), diff_sqrt(x));
        break;
    case 1:
        y = diff_power(x, 2.5);
        break;
    case 2:
        y = diff_maximum(x, diff_scale(diff_mul(here->w, x), 0.9));
        y = diff_where(condition, y, diff_abs(diff_shift(x, -0.8)));
        break;
    case 3:
        return axes(matrix(diff_allreduce(x, MPI_SUM, WORLD)));
    case 4:
        y = diff_layer_norm(matrix(diff_allreduce(square(here), MPI_SUM, WORLD)), 0.01);
        y = diff_reshape(y, 1, (size_t[]){N});
        break;
    case 5:
        y = diff_reshape(diff_allreduce(square(here), MPI_SUM, WORLD), 3, (size_t[]){2, 2, 1});
        y = diff_matmul_batched(diff_reshape(x, 3, (size_t[]){2, 1, 2}), y);
        return diff_sum(diff_mul(y, y));
    case 6:
        y = diff_put(square(here), (size_t[]){4, 0, 4, 2}, 5);
        y = diff_take(y, N, (size_t[]){4, 4, 1, 0});
        break;
    default:
        diff_split(diff_stack(2, (struct diff_tensor *[]){x, square(here)}), 2, (size_t[]){1, 1},
                   parts);
        y = diff_reshape(diff_mul(parts[0], parts[1]), 1, (size_t[]){N});
    }
    return weighed(here, diff_allreduce(y, MPI_SUM, WORLD));
}

static struct diff_tensor *loss_of(const struct here *here, int number)
{
    struct diff_tensor *x = here->x, *y;
    struct diff_tensor *parts[RANKS];
    switch (number) {
    case 0:
        return weighed(here, diff_allreduce(square(here), MPI_SUM, WORLD));
    case 1:
        return weighed(here, diff_bcast(square(here), 1, WORLD));
    case 2:
        return blocks(here, diff_reduce(square(here), MPI_SUM, 2, WORLD));
    case 3:
        return blocks(here, diff_gather(square(here), 0, WORLD));
    case 4:
        for (int k = 0; k < RANKS; k++)
            parts[k] = diff_scale(square(here), 1 + k);
        return weighed(here, diff_scatter(diff_concat(RANKS, parts), N, 1, WORLD));
    case 5:
        return blocks(here, diff_allgather(square(here), WORLD));
    case 6:
        y = diff_tanh(diff_scale(diff_allreduce(x, MPI_SUM, WORLD), 0.2));
        return weighed(here, diff_allreduce(y, MPI_SUM, WORLD));
    case 7:
        y = diff_allreduce(diff_div(diff_sigmoid(x), diff_shift(diff_log(x), 3)), MPI_SUM, WORLD);
        return weighed(here, diff_mul(y, diff_exp(diff_scale(x, 0.1))));
    case 8:
        y = diff_matmul(matrix(diff_allreduce(x, MPI_SUM, WORLD)), matrix(x));
        return diff_cross_entropy(y, (int[]){here->rank % 2, 1});
    case 9:
        y = diff_reshape(diff_softmax(matrix(x)), 1, (size_t[]){N});
        return weighed(here, diff_allreduce(y, MPI_SUM, WORLD));
    case 10:
        y = diff_concat(2, (struct diff_tensor *[]){diff_slice(x, 1, 2), x});
        y = diff_gather_rows(y, 4, (size_t[]){0, 5, 0, 2});
        return weighed(here, diff_allreduce(diff_mul(y, y), MPI_SUM, WORLD));
    case 11:
        y = diff_relu(diff_shift(diff_allreduce(diff_mul(x, here->w), MPI_SUM, WORLD), -1));
        return weighed(here, diff_bcast(y, 2, WORLD));
    case 12:
        y = diff_allreduce(diff_mul(square(here), x), MPI_SUM, WORLD);
        y = weighed(here, y);
        diff_backward_from(here->tape, 1, &y, NULL, DIFF_GRAPH);
        y = diff_gradient_tensor(x);
        diff_gradient_clear(x);
        return diff_dot(y, y);
    default:
        return local_loss_of(here, number - 13);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
        "allreduce", "broadcast",  "reduce",  "gather", "scatter", "allgather", "tanh",
        "sigmoid",   "classifier", "softmax", "rows",   "relu",    "second",    "waves",
        "power",     "choice",     "axes",    "norm",   "batch",   "places",    "stack"};
    MPI_Init(&argc, &argv);
    struct here here;
    MPI_Comm_rank(WORLD, &here.rank);
    here.tape = diff_tape_new(WORLD);
    for (size_t number = 0; number < sizeof names / sizeof *names; number++) {
        double values[N], weights[N];
        for (int i = 0; i < N; i++) {
            values[i] = 0.6 + 0.17 * i - 0.11 * here.rank;
            weights[i] = 1 + 0.5 * here.rank - 0.3 * i;
        }
        here.x = diff_input(here.tape, names[number], DIFF_DOUBLE, 1, (size_t[]){N}, values);
        here.w = diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){N}, weights);
        diff_backward(loss_of(&here, (int)number));
        for (int k = 0; k < N; k++)
            printf("%s %d %d %.17g\n", names[number], here.rank, k,
                   ((const double *)diff_gradient(here.x))[k]);
        diff_tape_clear(here.tape);
    }
    diff_tape_free(here.tape);
    MPI_Finalize();
    return 0;
}
