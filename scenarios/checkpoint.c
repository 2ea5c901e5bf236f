/* about: a time loop whose steps are run again in the backward pass, so that little of it is kept
 * ranks: 1..8
 * arguments: 60
 * expect: ok
 * variant: plain; arguments: 60 plain; expect: ok
 * variant: little; arguments: 60 little; ranks: 2,4; expect: ok
 *
 * A nonlinear wave on a ring of ranks: every step exchanges both halos. diff_checkpoint keeps a few states of the loop instead of
 * all that its steps compute; values and gradients are those of the plain loop, bit by bit. The speed of the wave is a parameter,
 * and so part of the state. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

enum { CELLS = 4, STATE = 2 };

struct ring {
    int left, right;
};

static void step(struct diff_tape *tape, size_t number, size_t count, struct diff_tensor **state,
                 void *context)
{
    const struct ring *ring = context;
    struct diff_tensor *u = state[0], *speed = state[1];
    struct diff_tensor *room = diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){1});
    struct diff_tensor *last = diff_slice(u, CELLS - 1, 1), *first = diff_slice(u, 0, 1);
    struct diff_tensor *from_left =
        diff_sendrecv(last, ring->right, 1, room, ring->left, 1, MPI_COMM_WORLD);
    struct diff_tensor *from_right =
        diff_sendrecv(first, ring->left, 2, room, ring->right, 2, MPI_COMM_WORLD);
    struct diff_tensor *before =
        diff_concat(2, (struct diff_tensor *[]){from_left, diff_slice(u, 0, CELLS - 1)});
    struct diff_tensor *after =
        diff_concat(2, (struct diff_tensor *[]){diff_slice(u, 1, CELLS - 1), from_right});
    struct diff_tensor *slope = diff_scale(diff_sub(after, before), 0.5);
    (void)number, (void)count;
    state[0] = diff_tanh(diff_sub(u, diff_mul(speed, diff_mul(u, slope))));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    size_t steps = (size_t)number_of(argc, argv, 1, "steps", 60, 1, 1000000);
    const char *form = word_of(argc, argv, 2, "form", "kept", "kept plain little");
    words_end(argc, argv, 2);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct ring ring = {(rank + size - 1) % size, (rank + 1) % size};
    double start[CELLS], speeds[CELLS], weights[CELLS];
    for (int i = 0; i < CELLS; i++) {
        start[i] = 0.4 + 0.1 * i - 0.05 * rank;
        speeds[i] = 0.2 + 0.01 * rank;
        weights[i] = 1 + rank - 0.3 * i;
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *u = diff_input(tape, "u", DIFF_DOUBLE, 1, (size_t[]){CELLS}, start);
    struct diff_tensor *speed =
        diff_input(tape, "speed", DIFF_DOUBLE, 1, (size_t[]){CELLS}, speeds);
    struct diff_tensor *state[STATE] = {u, speed};
    if (strcmp(form, "plain") == 0)
        for (size_t number = 0; number < steps; number++)
            step(tape, number, STATE, state, &ring);
    else
        diff_checkpoint(tape, steps, strcmp(form, "little") == 0 ? 256 : 0, step, STATE, state,
                        &ring);
    diff_backward(
        diff_dot(state[0], diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){CELLS}, weights)));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
