/* about: remote tensors of every type: copies, operations, functions, an all-reduce among the workers, gradients
 * ranks: 3,2,5
 * arguments: double
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: float; arguments: float; expect: eager=OK rendezvous=OK batch=OK
 * variant: complex-float; arguments: complex-float; expect: eager=OK rendezvous=OK batch=OK
 * variant: complex; arguments: complex; expect: eager=OK rendezvous=OK batch=OK
 * variant: mixed; arguments: mixed; expect: M009
 *
 * J = Re sum of conj(c) (k + 1) x w_k over all workers k, with x on the master and w_k there: the gradient of w_k is
 * c conj((k + 1) x). Types do not mix: a float and a double on one worker are an error that names the worker. */
#include <complex.h>
#include <diff.h>
#include <master_worker.h>
#include <mpi.h>
#include <words.h>

enum { VALUES = 3, WORKERS_MAX = 15, BYTES = VALUES * sizeof(double complex) };

static enum diff_type type;

/* The values in the type of this run; real types have the real parts. */
static const void *typed(const double complex *values, void *room)
{
    for (int i = 0; i < VALUES; i++)
        switch (type) {
        case DIFF_FLOAT:
            ((float *)room)[i] = (float)creal(values[i]);
            break;
        case DIFF_DOUBLE:
            ((double *)room)[i] = creal(values[i]);
            break;
        case DIFF_COMPLEX_FLOAT:
            ((float complex *)room)[i] = (float complex)values[i];
            break;
        default:
            ((double complex *)room)[i] = values[i];
        }
    return room;
}

static double complex value_at(const void *values, int i)
{
    switch (type) {
    case DIFF_FLOAT:
        return ((const float *)values)[i];
    case DIFF_DOUBLE:
        return ((const double *)values)[i];
    case DIFF_COMPLEX_FLOAT:
        return ((const float complex *)values)[i];
    default:
        return ((const double complex *)values)[i];
    }
}

/* On the worker. */
static struct diff_tensor *product(struct diff_tape *tape, size_t count, struct diff_tensor *const *arguments)
{
    (void)tape, (void)count;
    return diff_mul(arguments[0], arguments[1]);
}

static const struct master_function functions[] = {{"product", product, NULL}};

static int drive(struct diff_tape *tape, struct master *master)
{
    static const double complex x_values[VALUES] = {0.5 + 0.25 * I, -1.5 + I, 2 - 0.75 * I};
    static const double complex c_values[VALUES] = {1 - 2 * I, 0.5 + 0.5 * I, -0.25 + I};
    int workers = master_workers(master), first = master_first_worker(master), wrong = 0;
    enum data_type moved = DATA_FLOAT + (type - DIFF_FLOAT);
    struct remote w[WORKERS_MAX], terms[WORKERS_MAX], sums[WORKERS_MAX];
    double complex room[2 * VALUES];
    size_t shape[] = {VALUES};
    struct diff_tensor *x = diff_input(tape, "x", type, 1, shape, typed(x_values, room));
    for (int k = 0; k < workers; k++) {
        double complex own[VALUES] = {1 + k + 0.5 * I, 0.25 - k * I, -0.75 * k};
        w[k] = master_input_of(master, first + k, "w", type, VALUES, typed(own, room));
        struct remote there = master_copy_to(master, first + k, x);
        terms[k] = master_call(master, first + k, "product", 2, (struct remote[]){master_scale(master, there, 1 + k), w[k]});
    }
    master_all_reduce_of(master, moved, VALUES, terms, PROCESS_SUM, sums);
    struct remote back = master_copy_between(master, sums[workers - 1], first);
    struct diff_tensor *all = master_copy_from(master, back);
    wrong += all == NULL || diff_type_of(all) != type;
    struct diff_tensor *c = diff_constant(tape, type, 1, shape, typed(c_values, room));
    master_backward(master, diff_dot(all, c), 0, NULL);
    double precision = type == DIFF_FLOAT || type == DIFF_COMPLEX_FLOAT ? 1e-5 : 1e-12;
    double real = type == DIFF_FLOAT || type == DIFF_DOUBLE;
    wrong += !master_fetch(master, back, moved, VALUES, room);
    for (int i = 0; i < VALUES; i++)
        wrong += value_at(room, i) != value_at(diff_values(all), i);
    for (int k = 0; k < workers; k++) {
        wrong += !master_gradient_of(master, w[k], type, VALUES, room);
        for (int i = 0; i < VALUES; i++) {
            double complex expected = real ? creal(c_values[i]) * (1 + k) * creal(x_values[i])
                                           : c_values[i] * conj((1 + k) * x_values[i]);
            wrong += !(cabs(value_at(room, i) - expected) <= precision * (1 + cabs(expected)));
        }
    }
    return wrong;
}

static int mix(struct master *master)
{
    int worker = master_first_worker(master);
    struct remote one = master_constant_of(master, worker, DIFF_FLOAT, 1, (float[]){1});
    struct remote other = master_constant(master, worker, 1, (double[]){1});
    master_apply_two(master, REMOTE_ADD, one, other);
    return !master_sync(master, worker);
}

int main(int argc, char **argv)
{
    int wrong = 0;
    MPI_Init(&argc, &argv);
    const char *name = word_alone(argc, argv, "type", "double", "double float complex-float complex mixed");
    type = !strcmp(name, "float")           ? DIFF_FLOAT
           : !strcmp(name, "complex-float") ? DIFF_COMPLEX_FLOAT
           : !strcmp(name, "complex")       ? DIFF_COMPLEX_DOUBLE
                                            : DIFF_DOUBLE;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, WORKERS_MAX + 1);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel);
    struct master *master = master_start(world, 1, functions, 1);
    if (master) {
        wrong = !strcmp(name, "mixed") ? mix(master) : drive(tape, master);
        master_stop(master);
    }
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
