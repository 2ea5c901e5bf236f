/* about: training with the weights in a window: who has the lock reads them, steps and writes them
 * ranks: 1,2,3,5,16
 * arguments: lock
 * expect: ok
 * variant: fetch; arguments: fetch; expect: ok
 * variant: lock-order; options: --mutant lock-order; ranks: 3,5; expect: G001
 * variant: shared; arguments: shared; ranks: 3; expect: M009
 *
 * Every rank has a row of data and its own learning rate, which the training is differentiated by.
 * The ranks take the lock of rank 0's weights in whatever order it is had; each step starts from
 * what the one before left. Backward the locks are taken in the reverse of that order, and the
 * differences are measured in the same. The wrong forms: the backward pass takes them as they come;
 * a sum is fetched under a shared lock, whose order nobody knows. */
#include "op.h"
#include <words.h>

enum { WEIGHTS = 3, VISITS = 2 };

/* Of half the squared error of one row. */
static struct diff_tensor *step_of(struct diff_tensor *weights, struct diff_tensor *row, struct diff_tensor *rate)
{
    struct diff_tensor *error = diff_shift(diff_dot(row, weights), -1);
    return diff_scale_by(diff_scale_by(row, error), diff_neg(rate));
}

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "lock", "lock fetch shared");
    struct diff_tensor *given = op_input(&op, WEIGHTS + 1), *row = diff_slice(given, 0, WEIGHTS);
    struct diff_tensor *rate = diff_scale(diff_slice(given, WEIGHTS, 1), 0.1);
    size_t own = op.rank == 0 ? WEIGHTS : 0;
    double first[WEIGHTS] = {0.5, -0.25, 0.125};
    struct diff_window *window = diff_win_create(diff_constant(op.tape, DIFF_DOUBLE, 1, &own, first), MPI_COMM_WORLD);
    struct diff_tensor *seen = row;
    diff_win_passive_begin(window);
    for (int visit = 0; visit < VISITS; visit++) {
        diff_win_lock(window, strcmp(form, "shared") ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0);
        struct diff_tensor *weights = diff_win_get(window, WEIGHTS, 0, 0);
        diff_win_flush(window, 0);
        struct diff_tensor *step = step_of(weights, row, rate);
        if (strcmp(form, "lock"))
            weights = diff_win_get_accumulate(window, step, 0, 0, MPI_SUM);
        else
            diff_win_put(window, diff_add(weights, step), 0, 0);
        diff_win_unlock(window, 0);
        seen = diff_mul(seen, weights);
    }
    diff_win_passive_end(window);
    return op_end(&op, diff_concat(2, (struct diff_tensor *[]){seen, diff_win_memory(window)}));
}
