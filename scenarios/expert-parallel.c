/* about: tokens travel to the experts their gate chose and back, with exchanged counts, and gradients the same way
 * ranks: 1,2,4
 * arguments: exchanged
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: idle; arguments: idle; ranks: 2,4; expect: eager=OK rendezvous=OK batch=OK
 * variant: guessed; arguments: guessed; ranks: 2,4; expect: M005
 * variant: idle-returns; arguments: idle-returns; ranks: 2,4; expect: eager=D001 rendezvous=D001 batch=D001
 *
 * Rank e keeps expert e, y = tanh(w_e x). A token goes to the expert that its position chooses; every rank has another
 * number for every expert. The counts are exchanged before the tokens. Guessing that what I send is what I get is
 * wrong as soon as gates differ. An expert without tokens (the last one, idle) must take part all the same: if it
 * returns, the others wait for it. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <mpix.h>
#include <stdio.h>
#include <words.h>

enum { RANKS_MAX = 8, WIDTH = 2, TOKENS_MAX = 8, VALUES_MAX = RANKS_MAX * TOKENS_MAX * WIDTH };

static const char *form;
static int rank, size;

/* How many tokens of rank r choose expert e. */
static int chosen(int r, int e)
{
    return !strncmp(form, "idle", 4) && e == size - 1 ? 0 : (2 * r + 3 * e) % 3 + (r == e);
}

static int displace(const int *counts, int *displacements)
{
    int total = 0;
    for (int i = 0; i < size; i++) {
        displacements[i] = total;
        total += counts[i];
    }
    return total;
}

static double target(int r, int i)
{
    return 0.4 * cos(1.0 + r + 0.8 * i);
}

/* Expert by expert and token by token, on rank 0; tokens of a rank are sorted by expert. */
static int differs(int count, const double *x, const double *x_grad, const double *w,
                   const double *w_grad)
{
    double all[2][RANKS_MAX][TOKENS_MAX * RANKS_MAX * WIDTH] = {{{0}}},
                                                      weights[2][RANKS_MAX * WIDTH * WIDTH],
                                                      mine[2][sizeof all[0][0] / sizeof(double)] = {
                                                          {0}};
    enum { ROOM = TOKENS_MAX * RANKS_MAX * WIDTH };
    memcpy(mine[0], x, (size_t)count * sizeof *x);
    memcpy(mine[1], x_grad, (size_t)count * sizeof *x_grad);
    MPI_Gather(mine[0], ROOM, MPI_DOUBLE, all[0], ROOM, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(mine[1], ROOM, MPI_DOUBLE, all[1], ROOM, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(w, WIDTH * WIDTH, MPI_DOUBLE, weights[0], WIDTH * WIDTH, MPI_DOUBLE, 0,
               MPI_COMM_WORLD);
    MPI_Gather(w_grad, WIDTH * WIDTH, MPI_DOUBLE, weights[1], WIDTH * WIDTH, MPI_DOUBLE, 0,
               MPI_COMM_WORLD);
    if (rank)
        return 0;
    double worst = 0, expected_w[RANKS_MAX * WIDTH * WIDTH] = {0};
    for (int r = 0; r < size; r++)
        for (int e = 0, token = 0; e < size; e++)
            for (int t = 0; t < chosen(r, e); t++, token++) {
                const double *in = &all[0][r][token * WIDTH],
                             *expert = &weights[0][e * WIDTH * WIDTH];
                double slope[WIDTH], expected[WIDTH] = {0};
                for (int i = 0; i < WIDTH; i++) {
                    double y = tanh(in[0] * expert[i] + in[1] * expert[WIDTH + i]);
                    slope[i] = (y - target(r, token * WIDTH + i)) * (1 - y * y);
                    for (int j = 0; j < WIDTH; j++) {
                        expected[j] += slope[i] * expert[j * WIDTH + i];
                        expected_w[e * WIDTH * WIDTH + j * WIDTH + i] += slope[i] * in[j];
                    }
                }
                for (int j = 0; j < WIDTH; j++)
                    worst = fmax(worst, fabs(expected[j] - all[1][r][token * WIDTH + j]));
            }
    for (int i = 0; i < size * WIDTH * WIDTH; i++)
        worst = fmax(worst, fabs(expected_w[i] - weights[1][i]));
    if (!(worst <= 1e-12))
        fprintf(stderr, "expert-parallel: %.2g away from the serial computation\n", worst);
    return !(worst <= 1e-12);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    form = word_alone(argc, argv, "form", "exchanged", "exchanged idle guessed idle-returns");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    int out[RANKS_MAX], in[RANKS_MAX], out_at[RANKS_MAX], in_at[RANKS_MAX];
    double values[VALUES_MAX], targets[VALUES_MAX], weights[WIDTH * WIDTH];
    for (int e = 0; e < size; e++)
        out[e] = in[e] = WIDTH * chosen(rank, e);
    if (strcmp(form, "guessed"))
        MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    int count = displace(out, out_at), arriving = displace(in, in_at);
    for (int i = 0; i < count; i++) {
        values[i] = sin(0.3 + 1.1 * rank + 0.7 * i);
        targets[i] = target(rank, i);
    }
    for (int i = 0; i < WIDTH * WIDTH; i++)
        weights[i] = 0.9 * cos(0.2 + rank + 1.3 * i);

    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x =
        diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){(size_t)count}, values);
    struct diff_tensor *w =
        diff_input(tape, "w", DIFF_DOUBLE, 2, (size_t[]){WIDTH, WIDTH}, weights);
    if (!strcmp(form, "idle-returns") && arriving == 0) {
        diff_backward_none(tape);
        diff_tape_free(tape);
        MPI_Finalize();
        return 0;
    }
    struct diff_tensor *tokens = diff_alltoallv(x, out, out_at, NULL, in, in_at, MPI_COMM_WORLD);
    struct diff_tensor *matrix =
        diff_reshape(tokens, 2, (size_t[]){(size_t)arriving / WIDTH, WIDTH});
    struct diff_tensor *done = diff_tanh(diff_matmul(matrix, w));
    struct diff_tensor *back = diff_alltoallv(diff_reshape(done, 1, (size_t[]){(size_t)arriving}),
                                              in, in_at, NULL, out, out_at, MPI_COMM_WORLD);
    struct diff_tensor *difference =
        diff_sub(back, diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){(size_t)count}, targets));
    diff_backward(diff_scale(diff_dot(difference, difference), 0.5));
    int wrong = differs(count, diff_values(x), diff_gradient(x), diff_values(w), diff_gradient(w));
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
