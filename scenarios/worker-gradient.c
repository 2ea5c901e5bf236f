/* about: a loss through tensors on workers that the master names: copies, remote operations, an all-reduce among the workers
 * ranks: 3,2,5
 * expect: eager=OK rendezvous=OK batch=OK
 *
 * The master's x travels to every worker, meets the worker's own variable there, passes a function that the worker calls by
 * name, is added up among the workers, goes from the last worker to the first, and comes back. */
#include <diff.h>
#include <master_worker.h>
#include <mpi.h>
#include <words.h>

enum { VALUES = 3, WORKERS_MAX = 15 };

/* On the worker: the first tensor's squares, and the second one. */
static struct diff_tensor *squares_plus(struct diff_tape *tape, size_t count, struct diff_tensor *const *arguments)
{
    (void)tape, (void)count;
    return diff_add(diff_mul(arguments[0], arguments[0]), arguments[1]);
}

static const struct master_function functions[] = {{"squares_plus", squares_plus, NULL}};

static int is_near(double a, double b)
{
    return a - b <= 1e-9 && b - a <= 1e-9;
}

/* With w[i] of worker k: J = sum of c (k + 1) x w^2, so dJ/dw = 2 c (k + 1) x w. */
static int drive(struct diff_tape *tape, struct master *master)
{
    static const double values[VALUES] = {0.5, -1.5, 2};
    int workers = master_workers(master), first = master_first_worker(master), wrong = 0;
    struct remote w[WORKERS_MAX], terms[WORKERS_MAX], sums[WORKERS_MAX];
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){VALUES}, values);
    for (int k = 0; k < workers; k++) {
        double own[VALUES] = {1 + k, 0.25, -0.75 * k};
        w[k] = master_input(master, first + k, "w", VALUES, own);
        struct remote there = master_copy_to(master, first + k, diff_scale(x, 1 + k));
        struct remote zero = master_scale(master, w[k], 0);
        struct remote square = master_call(master, first + k, "squares_plus", 2, (struct remote[]){w[k], zero});
        terms[k] = master_apply_two(master, REMOTE_MUL, there, square);
    }
    master_all_reduce(master, VALUES, terms, PROCESS_SUM, sums);
    struct remote moved = master_copy_between(master, sums[workers - 1], first);
    struct diff_tensor *all = master_copy_from(master, moved);
    struct remote loss_there = master_apply(master, REMOTE_SUM, sums[workers - 1]);
    master_backward(master, diff_sum(diff_scale(all, 2)), 1, &loss_there);
    for (int k = 0; k < workers; k++) {
        double own[VALUES] = {1 + k, 0.25, -0.75 * k}, gradient[VALUES];
        wrong |= !master_gradient(master, w[k], VALUES, gradient);
        for (int i = 0; i < VALUES; i++)
            wrong |= !is_near(gradient[i], 2 * 3.0 * (1 + k) * values[i] * own[i]);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    MPI_Init(&argc, &argv);
    words_end(argc, argv, 0);
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, WORKERS_MAX + 1);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel);
    struct master *master = master_start(world, 1, functions, 1);
    if (master) {
        wrong = drive(tape, master);
        master_stop(master);
    }
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
