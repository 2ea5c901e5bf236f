/* about: rank 0 gathers gradients from anybody until n have come, steps, and broadcasts the parameters
 * ranks: 4,2,3,6
 * arguments: all even
 * options: --check -race
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: first-two; arguments: two even; ranks: 4,6; expect: eager=OK rendezvous=OK batch=OK
 * variant: uneven; arguments: all uneven; expect: eager=OK rendezvous=OK batch=OK
 * variant: fresh-only; arguments: fresh even; ranks: 4,6; expect: eager=OK rendezvous=OK batch=OK
 * variant: races; arguments: all even; ranks: 3,4; options: --check all; expect: R003
 * variant: leftover; arguments: by-hand two; ranks: 4; expect: D001
 * variant: leftover-counted; arguments: by-hand counted; ranks: 4; expect: OK
 *
 * Whose gradient comes first is open by design: the check for message races says so and is off elsewhere. A server that
 * always waits for n gradients hangs when fewer are left at the end, as three workers with one batch each leave one to a
 * step of two. The library goes on when nobody can send another; by hand, the workers' numbers of batches must be known.
 * "fresh" applies only gradients of the present version and drops those that came too late for their step. */
#include <math.h>
#include <mpi.h>
#include <mpix.h>
#include <server.h>
#include <words.h>

enum { COUNT = 8, ROUNDS = 30 };

/* Half the squared distance to a target of this rank: the mean of the targets is the solution. */
static double loss_of(const double *x, int rank, double *gradient)
{
    double loss = 0;
    for (int i = 0; i < COUNT; i++) {
        double distance = x[i] - sin(1 + i + rank);
        loss += distance * distance / 2;
        gradient[i] = distance;
    }
    return loss;
}

static int train(const char *form, int uneven, int rank, int size)
{
    double x[COUNT] = {0}, gradient[COUNT];
    const double *gradients[] = {gradient};
    struct server_options options;
    server_options_init(&options);
    options.average = true;
    options.optimizer = server_sgd(strcmp(form, "two") ? 0.2 : 0.02); /* what waits in the queue is stale */
    options.gradients = strcmp(form, "all") ? 2 : 0;
    if (!strcmp(form, "fresh")) {
        options.bound = 0;
        options.stale = SERVER_STALE_DROP;
    }
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "x", x, COUNT);
    struct server_tally tally = {0};
    if (rank == 0)
        tally = server_serve_central(server);
    int batches = uneven ? ROUNDS + rank : ROUNDS, more = rank > 0;
    for (int batch = 0; more; batch++) {
        loss_of(x, rank, gradient);
        more = server_round(server, batch < batches ? gradients : NULL);
    }
    int right = server_replicas_equal(server);
    if (rank == 0) {
        unsigned long long sent = 0;
        for (int r = 1; r < size; r++)
            sent += (unsigned long long)(uneven ? ROUNDS + r : ROUNDS);
        right = right && tally.received == sent && tally.applied + tally.dropped == sent &&
                (tally.dropped == 0 || !strcmp(form, "fresh")) && loss_of(x, 1, gradient) < COUNT;
    }
    server_free(server);
    return right;
}

/* The server without the library: one batch of every worker, two gradients make a step. */
static void by_hand(int counted, int rank, int size)
{
    double x[COUNT] = {0}, gradient[COUNT], sum[COUNT] = {0};
    int left = size - 1;
    if (rank > 0) {
        loss_of(x, rank, gradient);
        MPI_Send(gradient, COUNT, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        return;
    }
    while (left > 0) {
        int wanted = counted && left < 2 ? left : 2;
        for (int i = 0; i < wanted; i++, left--) {
            MPI_Recv(gradient, COUNT, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int k = 0; k < COUNT; k++)
                sum[k] += gradient[k];
        }
        for (int k = 0; k < COUNT; k++)
            x[k] -= 0.2 * sum[k] / wanted;
        memset(sum, 0, sizeof sum);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, right = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *form = word_of(argc, argv, 1, "form", "all", "all two fresh by-hand");
    bool by_self = !strcmp(form, "by-hand");
    const char *detail = by_self ? word_of(argc, argv, 2, "end", "two", "two counted")
                                 : word_of(argc, argv, 2, "number of batches", "even", "even uneven");
    words_end(argc, argv, 2);
    if (by_self)
        by_hand(!strcmp(detail, "counted"), rank, size);
    else
        right = train(form, !strcmp(detail, "uneven"), rank, size);
    MPI_Finalize();
    return !right;
}
