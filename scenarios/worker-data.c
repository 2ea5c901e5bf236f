/* about: integers on workers: rows of a table are looked up by numbers that the master sends, and counted
 * ranks: 3,2,5
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: as-tensor; arguments: as-tensor; expect: M009
 * variant: wrong-type; arguments: wrong-type; expect: M009
 *
 * Each worker has a table of rows. It gets numbers of rows (data: integers have no gradient), looks the rows up, and adds
 * them; the table's gradient counts how often each row was asked for. A function on the worker counts the same in
 * integers; they are added up among all workers and travel from one to another. Arithmetic on data, or taking them for another type, is an
 * error that names the worker. */
#include <diff.h>
#include <master_worker.h>
#include <mpi.h>
#include <words.h>

enum { ROWS = 4, WIDTH = 2, ASKED = 5, WORKERS_MAX = 15 };

/* On the worker: the sum of the rows. */
static struct remote_values look_up(struct diff_tape *tape, size_t count, const struct remote_values *arguments)
{
    const int *rows = arguments[1].values;
    struct diff_tensor *sum = diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){WIDTH});
    (void)count;
    for (size_t i = 0; i < arguments[1].count; i++)
        sum = diff_add(sum, diff_slice(arguments[0].tensor, (size_t)rows[i] * WIDTH, WIDTH));
    return (struct remote_values){.tensor = sum};
}

/* How often each row was asked for. */
static struct remote_values tally(struct diff_tape *tape, size_t count, const struct remote_values *arguments)
{
    const int *rows = arguments[0].values;
    static int counts[ROWS]; /* copied when this has returned */
    (void)tape, (void)count;
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < arguments[0].count; i++)
        counts[rows[i]]++;
    return (struct remote_values){.type = DATA_INT, .count = ROWS, .values = counts};
}

static const struct master_function functions[] = {{"look_up", NULL, look_up}, {"tally", NULL, tally}};

static int row_asked(int worker, int i)
{
    return (worker * i + i / 2) % ROWS;
}

static int drive(struct master *master)
{
    int workers = master_workers(master), first = master_first_worker(master), wrong = 0, expected[ROWS] = {0};
    struct remote tables[WORKERS_MAX], counts[WORKERS_MAX], sums[WORKERS_MAX], losses[WORKERS_MAX];
    for (int k = 0; k < workers; k++) {
        double table[ROWS * WIDTH];
        int asked[ASKED], worker = first + k;
        for (int i = 0; i < ROWS * WIDTH; i++)
            table[i] = 0.5 * k - 0.25 * i;
        for (int i = 0; i < ASKED; i++)
            expected[asked[i] = row_asked(worker, i)]++;
        tables[k] = master_input(master, worker, "table", ROWS * WIDTH, table);
        struct remote rows = master_data(master, worker, DATA_INT, ASKED, asked);
        struct remote found = master_call(master, worker, "look_up", 2, (struct remote[]){tables[k], rows});
        losses[k] = master_apply(master, REMOTE_SUM, found);
        counts[k] = master_call(master, worker, "tally", 1, &rows);
    }
    master_all_reduce_of(master, DATA_INT, ROWS, counts, PROCESS_SUM, sums);
    struct remote moved = master_copy_between(master, sums[0], first + workers - 1);
    master_backward(master, NULL, (size_t)workers, losses);
    int total[ROWS];
    wrong += !master_fetch(master, moved, DATA_INT, ROWS, total) || memcmp(total, expected, sizeof total);
    for (int k = 0; k < workers; k++) {
        double gradient[ROWS * WIDTH];
        int own[ROWS];
        wrong += !master_fetch(master, counts[k], DATA_INT, ROWS, own);
        wrong += !master_gradient(master, tables[k], ROWS * WIDTH, gradient);
        for (int i = 0; i < ROWS * WIDTH; i++)
            wrong += gradient[i] != own[i / WIDTH];
    }
    return wrong;
}

static int spoil(struct master *master, bool as_tensor)
{
    int worker = master_first_worker(master), number = 1;
    struct remote data = master_data(master, worker, DATA_INT, 1, &number);
    if (as_tensor)
        master_apply(master, REMOTE_NEG, data);
    else
        master_fetch(master, data, DATA_LONG, 1, &(long long){0});
    return !master_sync(master, worker);
}

int main(int argc, char **argv)
{
    int wrong = 0;
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "right", "right as-tensor wrong-type");
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, WORKERS_MAX + 1);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel);
    struct master *master = master_start(world, 1, functions, 2);
    if (master) {
        wrong = !strcmp(form, "right") ? drive(master) : spoil(master, !strcmp(form, "as-tensor"));
        master_stop(master);
    }
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
