/* about: AsySG: rank 0 applies gradients as they come, workers read whatever version there is
 * ranks: 4,2,3,6
 * arguments: consistent
 * options: --seed 3 --check -race
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: inconsistent; arguments: inconsistent; expect: eager=OK rendezvous=OK batch=OK
 * variant: races; arguments: consistent; options: --seed 3; ranks: 4; expect: R003
 * variant: stale; arguments: consistent 1; ranks: 4,6; expect: S001
 * variant: stale-inconsistent; arguments: inconsistent 1; ranks: 4,6; expect: S001
 * variant: stale-dropped; arguments: consistent 1 drop; ranks: 4,6; expect: OK
 * variant: within-bound; arguments: consistent 30; ranks: 4,6; expect: OK
 *
 * Whose gradient comes first is open by design: the check for message races says so and is off elsewhere. Workers take a
 * random number of turns for a gradient, drawn by the run's seed, and may have two gradients under way. A declared bound on
 * the staleness is broken (S001) unless the server drops what is older. At the end every gradient that was sent is applied
 * or dropped, and everybody has the same values. */
#include <math.h>
#include <mpi.h>
#include <mpix.h>
#include <server.h>
#include <words.h>

enum { COUNT = 8, BATCHES = 40 };

static double distance(const double *x, int rank, double *gradient)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        gradient[i] = x[i] - sin(1 + i) - 0.1 * cos(i + rank);
        sum += gradient[i] * gradient[i];
    }
    return sqrt(sum);
}

static void work(struct server *server, double *x, int rank)
{
    double gradient[COUNT];
    const double *gradients[] = {gradient};
    for (int batch = 0; batch < BATCHES; batch++) {
        server_pull(server);
        distance(x, rank, gradient);
        for (int turns = MPIX_Choose(MPIX_CHOOSE_OTHER, 4); turns > 0; turns--)
            MPIX_Yield();
        server_push(server, gradients);
    }
    server_done(server);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double x[COUNT] = {0}, gradient[COUNT];
    struct server_options options;
    server_options_init(&options);
    options.optimizer = server_sgd(0.05);
    options.gradients = 1;
    options.window = 2;
    bool inconsistent = switch_of(argc, argv, 1, "read", "consistent", "inconsistent");
    options.read = inconsistent ? SERVER_INCONSISTENT : SERVER_CONSISTENT;
    options.bound = argc > 2 ? (uint64_t)number_of(argc, argv, 2, "bound of staleness", 0, 0, 1000) : SERVER_UNBOUNDED;
    bool drops = switch_of(argc, argv, 3, "treatment of what is stale", "apply", "drop");
    options.stale = drops ? SERVER_STALE_DROP : SERVER_STALE_APPLY;
    words_end(argc, argv, 3);
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "x", x, COUNT);
    int right = 1;
    if (rank == 0) {
        struct server_tally tally = server_serve(server);
        right = tally.received == (uint64_t)(size - 1) * BATCHES && tally.applied + tally.dropped == tally.received &&
                (tally.dropped == 0 || options.stale == SERVER_STALE_DROP);
    } else {
        work(server, x, rank);
    }
    right = right && distance(x, 0, gradient) < 1 && server_replicas_equal(server);
    server_free(server);
    MPI_Finalize();
    return !right;
}
