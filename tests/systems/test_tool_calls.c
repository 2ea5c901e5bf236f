/* Calls of MPI for tools with tapes of their own (diff_tool.h): all of them are linear, so that the test knows every matrix: what a call gives is
 * A x, and its adjoint A^T y_bar, as often as it is asked for; more calls than there is room for at first, and once
 * more after the tool was cleared. */
#include "tests/world_harness.h"

#include <diff_tool.h>

#include <math.h>

enum { N = 2, ROUNDS = 7, SIZES_MOST = 5 };
enum kind { SUM, GATHERED, EXCHANGED, ROOT_GIVES, ROOT_GETS, RING, PAIRS, KINDS };
static const char *const names[KINDS] = {"Allreduce", "Allgather", "Alltoall", "Bcast",
                                         "Reduce",    "a ring",    "pairs"};

/* What a rank gives in a round, and the cotangents of what it gets. */
static double given(int rank, int round, size_t i)
{
    return 1 + rank + 0.25 * round + 0.0625 * (double)i;
}

static double cotangent(int rank, int round, size_t i)
{
    return 2 - rank + 0.5 * round - 0.125 * (double)i;
}

struct here {
    int rank, size, next, previous;
};

static size_t taken_by(enum kind kind, const struct here *at)
{
    if (kind == ROOT_GETS)
        return at->rank ? 0 : N;
    if (kind == PAIRS) /* even ranks give to the next */
        return at->rank % 2 ? N : 0;
    return kind == GATHERED || kind == EXCHANGED ? (size_t)(at->size * N) : N;
}

static size_t given_by(enum kind kind, const struct here *at)
{
    return kind == EXCHANGED ? (size_t)(at->size * N) : N;
}

/* How much of what rank `from` gives as its value k is value i of what rank `to` gets. */
static double share(enum kind kind, const struct here *at, int to, size_t i, int from, size_t k)
{
    switch (kind) {
    case SUM:
        return i == k;
    case GATHERED:
        return i == (size_t)from * N + k;
    case EXCHANGED:
        return k / N == (size_t)to && i == (size_t)from * N + k % N;
    case ROOT_GIVES:
        return from == 0 && i == k;
    case ROOT_GETS:
        return to == 0 && i == k;
    case RING:
        return to == (from + 1) % at->size && i == k;
    default:
        return from % 2 == 0 && to == from + 1 && i == k;
    }
}

static size_t call(struct diff_tool *tool, enum kind kind, const struct here *at,
                   const struct diff_tool_data *data)
{
    static const enum diff_collective kinds[] = {DIFF_ALLREDUCE, DIFF_ALLGATHER, DIFF_ALLTOALL,
                                                 DIFF_BCAST, DIFF_REDUCE};
    if (kind == RING)
        return diff_tool_message(tool, data, at->next, 3, at->previous, 3, MPI_COMM_WORLD);
    if (kind == PAIRS) {
        bool gives = at->rank % 2 == 0 && at->rank + 1 < at->size;
        return diff_tool_message(tool, data, gives ? at->rank + 1 : MPI_PROC_NULL, 4,
                                 at->rank % 2 ? at->rank - 1 : MPI_PROC_NULL, 4, MPI_COMM_WORLD);
    }
    struct diff_call collective = {.kind = kinds[kind], .comm = MPI_COMM_WORLD, .op = MPI_SUM};
    return diff_tool_collective(tool, &collective, data);
}

/* The last rank of an odd number has nobody. */
static bool takes_part(enum kind kind, const struct here *at)
{
    return kind != PAIRS || at->rank % 2 || at->rank + 1 < at->size;
}

static void values_are_right(enum kind kind, const struct here *at, int round, const double *y)
{
    struct here from = *at;
    for (size_t i = 0; i < taken_by(kind, at); i++) {
        double sum = 0;
        for (from.rank = 0; from.rank < at->size; from.rank++)
            for (size_t k = 0; k < given_by(kind, &from); k++)
                sum += share(kind, at, at->rank, i, from.rank, k) * given(from.rank, round, k);
        expect(fabs(y[i] - sum) < 1e-12, "%s: value %zu is %g, not %g", names[kind], i, y[i], sum);
    }
}

static void adjoint_is_right(struct diff_tool *tool, size_t number, enum kind kind,
                             const struct here *at, int round)
{
    double y_bar[SIZES_MOST * N], x_bar[SIZES_MOST * N] = {0};
    struct here to = *at;
    for (size_t i = 0; i < SIZES_MOST * N; i++)
        y_bar[i] = cotangent(at->rank, round, i);
    diff_tool_reverse(tool, number, y_bar, x_bar);
    for (size_t k = 0; k < given_by(kind, at); k++) {
        double sum = 0;
        for (to.rank = 0; to.rank < at->size; to.rank++)
            for (size_t i = 0; i < taken_by(kind, &to); i++)
                sum += share(kind, at, to.rank, i, at->rank, k) * cotangent(to.rank, round, i);
        expect(fabs(x_bar[k] - sum) < 1e-12, "%s: its adjoint's value %zu is %g, not %g",
               names[kind], k, x_bar[k], sum);
    }
}

static void calls_and_their_adjoints(int rank, int size)
{
    struct here at = {rank, size, (rank + 1) % size, (rank + size - 1) % size};
    struct diff_tool *tool = diff_tool_new(MPI_COMM_WORLD);
    double x[ROUNDS * KINDS][SIZES_MOST * N], y[SIZES_MOST * N];
    for (int evaluation = 0; evaluation < 2; evaluation++) {
        for (int n = 0; n < ROUNDS * KINDS; n++) {
            enum kind kind = (enum kind)(n % KINDS);
            for (size_t i = 0; i < SIZES_MOST * N; i++) {
                x[n][i] = given(rank, n, i);
                y[i] = -7;
            }
            struct diff_tool_data data = {x[n], given_by(kind, &at), y, taken_by(kind, &at), NULL};
            if (!takes_part(kind, &at))
                data.x_count = data.y_count = 0;
            size_t number = call(tool, kind, &at, &data);
            expect(number == (size_t)n, "call %d has number %zu", n, number);
            values_are_right(kind, &at, n, y);
            for (size_t i = data.y_count; i < SIZES_MOST * N; i++)
                expect(y[i] == -7, "%s: what is behind its values is %g", names[kind], y[i]);
        }
        for (int n = ROUNDS * KINDS; n-- > 0;)
            for (int again = 0; again < 2 && takes_part((enum kind)(n % KINDS), &at); again++)
                adjoint_is_right(tool, (size_t)n, (enum kind)(n % KINDS), &at, n);
        diff_tool_clear(tool);
    }
    diff_tool_free(tool);
    diff_tool_free(NULL);
}

int main(void)
{
    world_test_sizes("what calls of a tool give, and their adjoints", calls_and_their_adjoints,
                     WORLD_FIBERS | WORLD_DEFAULT | WORLD_BUFFERS, WORLD_SIZES(1, 2, 3, 5));
    return tap_done();
}
