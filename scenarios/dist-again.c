/* about: remote calls begun anew, and among some of the ranks: nothing is numbered twice
 * ranks: 4
 * expect: OK
 * variant: halves; arguments: halves; expect: OK
 * variant: broken; arguments: world root-early; expect: A006
 *
 * What a long training does: rpc_shutdown frees what has piled up, rpc_init begins again, three times. All ranks are
 * workers, or each half of the ranks is a world of workers of its own at the same time, numbered from behind. Ids of contexts,
 * messages and passes go on over all of it, so that every invariant is checked as in one life (a root that returns early
 * is seen in the last one). */
#include <mpi.h>
#include <rpc.h>
#include <words.h>

enum { LIVES = 3 };

static struct diff_tensor *weight;
static const char *rule;

static void weigh(struct rpc_call *call)
{
    struct diff_tensor *y = diff_mul(rpc_argument(call, 0), weight);
    int next = rpc_worker() + 1;
    if (next < rpc_workers())
        y = diff_add(y, rpc_result(rpc_sync(next, "weigh", 1, &y), 0));
    rpc_reply(call, 1, &y);
}

static int drive(int life)
{
    struct diff_tensor *x = diff_input(rpc_tape(), "x", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){0.5, -1.5});
    uint64_t context = dist_context_new(DIST_FAST);
    struct diff_tensor *y = rpc_result(rpc_sync(1, "weigh", 1, &x), 0), *loss = diff_sum(diff_mul(y, y));
    if (life == LIVES - 1)
        rpc_break(rule);
    int wrong = !dist_backward(context, 1, &loss, 0);
    dist_context_leave();
    return wrong + !dist_context_release(context);
}

static int live(MPI_Comm comm, int life)
{
    rpc_init(comm);
    rpc_register("weigh", weigh);
    weight = diff_input(rpc_tape(), "weight", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){2, 0.75});
    int wrong = rpc_worker() == 0 ? drive(life) : 0;
    rpc_shutdown();
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    bool halves = switch_of(argc, argv, 1, "workers", "world", "halves");
    rule = word_of(argc, argv, 2, "rule to break", "none", "none root-early");
    words_end(argc, argv, 2);
    int rank, wrong = 0;
    MPI_Comm workers;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, halves ? rank % 2 : 0, halves ? -rank : rank, &workers);
    for (int life = 0; life < LIVES; life++)
        wrong += live(workers, life);
    MPI_Comm_free(&workers);
    MPI_Finalize();
    return wrong;
}
