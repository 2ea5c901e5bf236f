/* about: heat on a rod, borders put into the neighbours' windows, differentiated in every kind of epoch
 * ranks: 1,2,3,5,16
 * arguments: fence
 * expect: ok
 * variant: start; arguments: start; expect: ok
 * variant: lock; arguments: lock; expect: ok
 * variant: all; arguments: all; expect: ok
 * variant: put-keeps; options: --mutant put-keeps; ranks: 2,5; expect: G001
 * variant: start-keeps; arguments: start; options: --mutant put-keeps; ranks: 2,5; expect: G001
 * variant: crossed; arguments: crossed; ranks: 3,5; expect: D001
 * variant: same; arguments: same; ranks: 3; expect: B003
 *
 * Every rank has three cells and a window for the two beside them. In a step it puts its outer cells
 * there and diffuses. Backward a put is a get: the border's cotangent goes home and leaves nothing
 * behind. The wrong forms: the overwritten border keeps its cotangent, and is counted again; every
 * rank takes its left neighbour's lock before the right one's, round the rod; both neighbours put
 * into one cell of an epoch. */
#include "op.h"
#include <words.h>

enum { CELLS = 3, STEPS = 3 };

static int left, right;

static void put_borders(struct diff_window *window, struct diff_tensor *cells, int place)
{
    diff_win_put(window, diff_slice(cells, 0, 1), left, 1);
    diff_win_put(window, diff_slice(cells, CELLS - 1, 1), right, (size_t)place);
}

static void by_groups(struct diff_window *window, struct diff_tensor *cells)
{
    MPI_Group all, both;
    int two[2] = {left, right};
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, left == right ? 1 : 2, two, &both);
    diff_win_post(window, both);
    diff_win_start(window, both);
    put_borders(window, cells, 0);
    diff_win_complete(window);
    diff_win_wait(window);
    MPI_Group_free(&both);
    MPI_Group_free(&all);
}

static void by_locks(struct diff_window *window, struct diff_tensor *cells, int all, int first)
{
    diff_win_passive_begin(window);
    if (all)
        diff_win_lock_all(window);
    else
        diff_win_lock(window, MPI_LOCK_EXCLUSIVE, first);
    if (!all && left != right)
        diff_win_lock(window, MPI_LOCK_EXCLUSIVE, first == left ? right : left);
    put_borders(window, cells, 0);
    if (all)
        diff_win_unlock_all(window);
    else
        diff_win_unlock(window, left);
    if (!all && left != right)
        diff_win_unlock(window, right);
    diff_win_passive_end(window);
}

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "fence", "fence start lock all crossed same");
    struct diff_tensor *cells = op_input(&op, CELLS), *borders = diff_zeros(op.tape, DIFF_DOUBLE, 1, (size_t[]){2});
    struct diff_window *window = diff_win_create(borders, MPI_COMM_WORLD);
    left = (op.rank + op.size - 1) % op.size;
    right = (op.rank + 1) % op.size;
    for (int step = 0; step < STEPS; step++) {
        if (!strcmp(form, "start"))
            by_groups(window, cells);
        else if (!strcmp(form, "lock") || !strcmp(form, "all"))
            by_locks(window, cells, !strcmp(form, "all"), left < right ? left : right);
        else if (!strcmp(form, "crossed"))
            by_locks(window, cells, 0, left);
        else {
            diff_win_fence(window);
            put_borders(window, cells, !strcmp(form, "same"));
            diff_win_fence(window);
        }
        borders = diff_win_memory(window);
        struct diff_tensor *lower[] = {diff_slice(borders, 0, 1), diff_slice(cells, 0, CELLS - 1)};
        struct diff_tensor *upper[] = {diff_slice(cells, 1, CELLS - 1), diff_slice(borders, 1, 1)};
        struct diff_tensor *around = diff_add(diff_concat(2, lower), diff_concat(2, upper));
        cells = diff_add(diff_scale(cells, 0.5), diff_scale(diff_sin(around), 0.25));
    }
    return op_end(&op, cells);
}
