/* A replicated input and a replicated loss of ranks in teams, or of some ranks while others take no part: see teams.t. */
#include <diff.h>
#include <mpi.h>
#include <string.h>
#define W MPI_COMM_WORLD
enum { N = 2 };

/* A square: with a tangent, or without, so that differences are the only oracle. */
static void forward(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = ((const double *)x)[i] * ((const double *)x)[i];
}

static void vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)x_bar)[i] = 2 * ((const double *)x)[i] * ((const double *)y_bar)[i];
}

static const struct diff_custom_rules rules = {.name = "square", .forward = forward, .vjp = vjp};

/* What a rank that is in no team does. */
static void apart(int alone)
{
    double values[N] = {3, 4};
    if (!alone)
        return;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_SELF);
    struct diff_tensor *x = diff_input(tape, "own", DIFF_DOUBLE, 1, (size_t[]){N}, values);
    diff_backward(diff_dot(x, x));
    diff_tape_free(tape);
}

int main(int argc, char **argv)
{
    int rank, size, color = 0;
    MPI_Comm team;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank), MPI_Comm_size(W, &size);
    const char *who = argv[1], *mistake = argv[2], *oracle = argv[3];
    int one = strcmp(who, "all") != 0 && strcmp(who, "teams") != 0; /* is in no team */
    if (!strcmp(who, "teams"))
        color = rank % 2;
    else if (one && rank == (!strcmp(who, "without-first") ? 0 : size - 1))
        color = MPI_UNDEFINED;
    MPI_Comm_split(W, color, rank, &team);
    if (team == MPI_COMM_NULL) {
        apart(!strcmp(who, "with-another"));
        MPI_Finalize();
        return 0;
    }
    double values[N] = {1 + color, 2}, weights[N] = {0.5 + rank, 1 - 0.2 * rank};
    struct diff_tape *tape = diff_tape_new(team);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){N}, weights);
    struct diff_tensor *x = diff_input_replicated(tape, "x", DIFF_DOUBLE, 1, (size_t[]){N}, values);
    struct diff_tensor *used = strcmp(mistake, "replicate") ? diff_replicate(x, team) : x;
    struct diff_tensor *squares =
        strcmp(oracle, "exact") ? diff_custom(used, &rules, NULL) : diff_mul(used, used);
    struct diff_tensor *own = diff_dot(squares, w);
    if (!strcmp(mistake, "own-losses"))
        diff_backward(own);
    else
        diff_backward_replicated(strcmp(mistake, "sum") ? diff_reduce_invariant(own, team)
                                                        : diff_allreduce(own, MPI_SUM, team));
    diff_tape_free(tape);
    MPI_Comm_free(&team);
    MPI_Finalize();
    return 0;
}
