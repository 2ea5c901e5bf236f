/* Windows of the tape as an MPI program, which `make peers` builds for Open MPI and MPICH. Borders of
 * a rod go by windows, in each kind of epoch, and by messages: the gradients must be equal. Then
 * every rank changes one value under its lock: the gradient must be that of the order in which the
 * locks were had, which the values tell. Prints one TAP line per question on rank 0. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 3, STEPS = 4, ROUNDS = 3, MOST = 64 };

static int rank, size, left, right;

static bool told(const char *name, bool right_here)
{
    static int number;
    int good = right_here, all = 0;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %d - %s\n", all ? "ok" : "not ok", ++number, name);
    return all;
}

/* ---- borders ---- */

struct rod {
    struct diff_tape *tape;
    struct diff_window *window; /* NULL: by messages */
    struct diff_tensor *cells;
};

static struct diff_tensor *by_messages(struct rod *rod)
{
    struct diff_tensor *first = diff_slice(rod->cells, 0, 1),
                       *last = diff_slice(rod->cells, CELLS - 1, 1);
    struct diff_tensor *room = diff_zeros(rod->tape, DIFF_DOUBLE, 1, (size_t[]){1});
    struct diff_tensor *ends[] = {diff_sendrecv(last, right, 0, room, left, 0, MPI_COMM_WORLD),
                                  diff_sendrecv(first, left, 1, room, right, 1, MPI_COMM_WORLD)};
    return diff_concat(2, ends);
}

static void put_borders(struct rod *rod)
{
    diff_win_put(rod->window, diff_slice(rod->cells, 0, 1), left, 1);
    diff_win_put(rod->window, diff_slice(rod->cells, CELLS - 1, 1), right, 0);
}

static void between_fences(struct rod *rod)
{
    diff_win_fence(rod->window);
    put_borders(rod);
    diff_win_fence(rod->window);
}

static void between_posts(struct rod *rod)
{
    MPI_Group all, both;
    int two[2] = {left, right};
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, left == right ? 1 : 2, two, &both);
    diff_win_post(rod->window, both);
    diff_win_start(rod->window, both);
    put_borders(rod);
    diff_win_complete(rod->window);
    diff_win_wait(rod->window);
    MPI_Group_free(&both);
    MPI_Group_free(&all);
}

static void under_locks(struct rod *rod)
{
    int first = left < right ? left : right, second = left + right - first;
    diff_win_passive_begin(rod->window);
    diff_win_lock(rod->window, MPI_LOCK_EXCLUSIVE, first);
    if (first != second)
        diff_win_lock(rod->window, MPI_LOCK_EXCLUSIVE, second);
    put_borders(rod);
    diff_win_unlock(rod->window, first);
    if (first != second)
        diff_win_unlock(rod->window, second);
    diff_win_passive_end(rod->window);
}

static void under_lock_all(struct rod *rod)
{
    diff_win_passive_begin(rod->window);
    diff_win_lock_all(rod->window);
    put_borders(rod);
    diff_win_unlock_all(rod->window);
    diff_win_passive_end(rod->window);
}

/* The gradient of half the squares of the last cells. */
static void heat(void (*exchange)(struct rod *rod), double *gradient)
{
    struct rod rod = {.tape = diff_tape_new(MPI_COMM_WORLD)};
    double start[CELLS];
    for (int i = 0; i < CELLS; i++)
        start[i] = sin(1.0 + rank * CELLS + i);
    struct diff_tensor *x = diff_input(rod.tape, "x", DIFF_DOUBLE, 1, (size_t[]){CELLS}, start);
    rod.cells = x;
    if (exchange)
        rod.window =
            diff_win_create(diff_zeros(rod.tape, DIFF_DOUBLE, 1, (size_t[]){2}), MPI_COMM_WORLD);
    for (int step = 0; step < STEPS; step++) {
        if (exchange)
            exchange(&rod);
        struct diff_tensor *borders = exchange ? diff_win_memory(rod.window) : by_messages(&rod);
        struct diff_tensor *lower[] = {diff_slice(borders, 0, 1),
                                       diff_slice(rod.cells, 0, CELLS - 1)};
        struct diff_tensor *upper[] = {diff_slice(rod.cells, 1, CELLS - 1),
                                       diff_slice(borders, 1, 1)};
        struct diff_tensor *around = diff_add(diff_concat(2, lower), diff_concat(2, upper));
        rod.cells = diff_add(diff_scale(rod.cells, 0.5), diff_scale(diff_sin(around), 0.25));
    }
    diff_backward(diff_scale(diff_dot(rod.cells, rod.cells), 0.5));
    memcpy(gradient, diff_gradient(x), CELLS * sizeof *gradient);
    diff_tape_free(rod.tape);
}

static bool heat_is_right(void (*exchange)(struct rod *rod))
{
    double by_window[CELLS], by_message[CELLS];
    bool good = true;
    heat(exchange, by_window);
    heat(NULL, by_message);
    for (int i = 0; i < CELLS; i++)
        good = good && by_message[i] != 0 && fabs(by_window[i] - by_message[i]) <= 1e-14;
    return good;
}

/* ---- one value, many locks ---- */

struct visit {
    double before, factor, term;
    int rank, round;
};

/* The visits one after the other, in the order that their values tell: the last value, and what a
 * rank's factor and term are to it. False where no order fits. */
static bool chain(const struct visit *visits, int count, double *value, double *by)
{
    int follows[MOST * ROUNDS];
    double after = 1;
    for (int k = 0; k < count; k++) {
        follows[k] = -1;
        for (int i = 0; i < count && follows[k] < 0; i++)
            if (visits[i].before == *value)
                follows[k] = i;
        if (follows[k] < 0)
            return false;
        *value = *value * visits[follows[k]].factor + visits[follows[k]].term;
    }
    for (int k = count - 1; k >= 0; k--) {
        const struct visit *visit = &visits[follows[k]];
        by[0] += visit->rank == rank ? after * visit->before : 0;
        by[1] += visit->rank == rank ? after * (visit->round + 1) : 0;
        after *= visit->factor;
    }
    return true;
}

static bool locks_are_reversed(void)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double own[2] = {1.1 + 0.01 * rank, 0.3 - 0.02 * rank}, value = 0.7, by[2] = {0, 0};
    struct visit visits[ROUNDS], all[MOST * ROUNDS];
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, own);
    size_t here = rank == 0;
    struct diff_window *window =
        diff_win_create(diff_constant(tape, DIFF_DOUBLE, 1, &here, &value), MPI_COMM_WORLD);
    diff_win_passive_begin(window);
    for (int round = 0; round < ROUNDS; round++) {
        struct diff_tensor *term = diff_scale(diff_slice(x, 1, 1), round + 1);
        diff_win_lock(window, MPI_LOCK_EXCLUSIVE, 0);
        struct diff_tensor *got = diff_win_get(window, 1, 0, 0);
        diff_win_flush(window, 0);
        diff_win_put(window, diff_add(diff_mul(got, diff_slice(x, 0, 1)), term), 0, 0);
        diff_win_unlock(window, 0);
        visits[round] = (struct visit){diff_scalar(got), own[0], own[1] * (round + 1), rank, round};
    }
    diff_win_passive_end(window);
    MPI_Allgather(visits, sizeof visits, MPI_BYTE, all, sizeof visits, MPI_BYTE, MPI_COMM_WORLD);
    struct diff_tensor *last = diff_win_memory(window);
    bool good = chain(all, size * ROUNDS, &value, by) && (rank > 0 || diff_scalar(last) == value);
    diff_backward(diff_sum(last));
    const double *gradient = diff_gradient(x);
    for (int i = 0; i < 2; i++)
        good = good && fabs(gradient[i] - by[i]) <= 1e-12 * fabs(by[i]);
    diff_tape_free(tape);
    return good;
}

int main(int argc, char **argv)
{
    bool good = true;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    good &= told("borders between fences", heat_is_right(between_fences));
    good &= told("borders between post and wait", heat_is_right(between_posts));
    good &= told("borders under locks", heat_is_right(under_locks));
    good &= told("borders under a lock of all", heat_is_right(under_lock_all));
    good &= told("one value changed under its lock", size <= MOST && locks_are_reversed());
    MPI_Finalize();
    return !good;
}
