/* about: attention over a sequence that no rank holds: keys and values go round a ring, their gradients go back
 * ranks: 1,2,3,4
 * arguments: exchange
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: overlapped; arguments: overlapped; ranks: 1,2,3,4; expect: eager=OK rendezvous=OK batch=OK
 * variant: send-first; arguments: send-first; ranks: 2,4; expect: eager=D003 rendezvous=D001 batch=D001
 *
 * Every rank keeps some rows of the queries, and in turn sees each rank's keys and values: it adds up exp(q k) v and
 * exp(q k), and divides in the end. The backward pass has two rings more, which carry the gradients of keys and values
 * the other way. If all ranks send before they receive, that needs buffers. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <schedule.h>
#include <stdio.h>
#include <words.h>

enum { RANKS_MAX = 8, ROWS = 2, WIDTH = 2, VALUES = ROWS * WIDTH, ALL = RANKS_MAX * VALUES };

static const char *form;
static int rank, size;

static struct diff_tensor *matrix(struct diff_tensor *x, size_t rows, size_t columns)
{
    return diff_reshape(x, 2, (size_t[]){rows, columns});
}

/* Passes both on to the right and returns what comes from the left. */
static void rotate(struct diff_tape *tape, struct diff_tensor **keys, struct diff_tensor **values)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    struct diff_tensor *room = diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){VALUES});
    struct diff_tensor **moved[] = {keys, values};
    if (!strcmp(form, "overlapped")) {
        struct diff_tensor *handles[4], *results[4];
        for (int i = 0; i < 2; i++) {
            handles[2 * i] = diff_isend(diff_reshape(*moved[i], 1, (size_t[]){VALUES}), right, i,
                                        MPI_COMM_WORLD);
            handles[2 * i + 1] = diff_irecv(room, left, i, MPI_COMM_WORLD);
        }
        diff_waitall(4, handles, results);
        for (int i = 0; i < 2; i++)
            *moved[i] = matrix(results[2 * i + 1], ROWS, WIDTH);
        return;
    }
    for (int i = 0; i < 2; i++) {
        struct diff_tensor *flat = diff_reshape(*moved[i], 1, (size_t[]){VALUES}), *came;
        if (!strcmp(form, "send-first")) {
            diff_send(flat, right, i, MPI_COMM_WORLD);
            came = diff_recv(room, left, i, MPI_COMM_WORLD);
        } else {
            came = diff_sendrecv(flat, right, i, room, left, i, MPI_COMM_WORLD);
        }
        *moved[i] = matrix(came, ROWS, WIDTH);
    }
}

static int differs(struct diff_tensor *const *inputs, const double *targets)
{
    double all[3][ALL], grads[3][ALL], serial[3][ALL] = {{0}}, target[ALL];
    for (int i = 0; i < 3; i++) {
        MPI_Gather(diff_values(inputs[i]), VALUES, MPI_DOUBLE, all[i], VALUES, MPI_DOUBLE, 0,
                   MPI_COMM_WORLD);
        MPI_Gather(diff_gradient(inputs[i]), VALUES, MPI_DOUBLE, grads[i], VALUES, MPI_DOUBLE, 0,
                   MPI_COMM_WORLD);
    }
    MPI_Gather(targets, VALUES, MPI_DOUBLE, target, VALUES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank)
        return 0;
    struct attention model = {size * ROWS, WIDTH,     all[0],    all[1],   all[2],
                              target,      serial[0], serial[1], serial[2]};
    attention_serial(&model);
    double worst = 0;
    for (int i = 0; i < 3; i++)
        worst = fmax(worst, serial_distance(grads[i], serial[i], (size_t)(size * VALUES)));
    if (!(worst <= 1e-11))
        fprintf(stderr, "ring-attention: %.2g away from the serial computation\n", worst);
    return !(worst <= 1e-11);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"queries", "keys", "values"};
    MPI_Init(&argc, &argv);
    form = word_alone(argc, argv, "form", "exchange", "exchange overlapped send-first");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    double first[VALUES], targets[VALUES];
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *inputs[3];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < VALUES; i++)
            first[i] = 0.8 * sin(1.0 + 2 * k + rank + 1.7 * i);
        inputs[k] = diff_input(tape, names[k], DIFF_DOUBLE, 2, (size_t[]){ROWS, WIDTH}, first);
    }
    for (int i = 0; i < VALUES; i++)
        targets[i] = 0.5 * cos(rank - 0.6 * i);
    struct diff_tensor *target =
        diff_constant(tape, DIFF_DOUBLE, 2, (size_t[]){ROWS, WIDTH}, targets);
    struct diff_tensor *ones =
        diff_constant(tape, DIFF_DOUBLE, 2, (size_t[]){ROWS, WIDTH}, (double[]){1, 1, 1, 1});

    struct diff_tensor *keys = inputs[1], *values = inputs[2], *above = NULL, *below = NULL;
    for (int step = 0; step < size; step++) {
        if (step > 0)
            rotate(tape, &keys, &values);
        struct diff_tensor *scores =
            diff_scale(diff_matmul(inputs[0], diff_transpose(keys)), 1 / sqrt(WIDTH));
        struct diff_tensor *weights = diff_exp(scores), *sums = diff_matmul(weights, ones);
        struct diff_tensor *part = diff_matmul(weights, values);
        above = above ? diff_add(above, part) : part;
        below = below ? diff_add(below, sums) : sums;
    }
    struct diff_tensor *difference = diff_sub(diff_div(above, below), target);
    diff_backward(diff_scale(diff_dot(difference, difference), 0.5));
    int wrong = differs(inputs, targets);
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
