/* Worlds that are long: elements are looked at on some ranks one by one, on the others along
 * directions only, and the result counts those. A wrong gradient of any rank is wrong all the same. */
#include "tests/diff_world.h"

enum { RANKS = 12 };

static int wrong_rank;

/* J is the sum over ranks of half of the square of the sum of all x. */
static void squares(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double x = 0.5 + rank, sum;
    diff_mark_input("x", &x, 1);
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    diff_mark_objective(0.5 * sum * sum);
    double gradient = size * sum * (rank == wrong_rank ? 1.25 : 1);
    diff_mark_gradient("x", &gradient, 1);
}

struct long_world {
    struct diff_world world;
    uint64_t steps; /* what it claims to take */
};

static int run(void *context, struct diff_probe *probe, int worker)
{
    struct long_world *claimed = context;
    int status = diff_world_run(&claimed->world, probe, worker);
    probe->steps = claimed->steps;
    return status;
}

static void check(uint64_t steps, int wrong, size_t elements, int together)
{
    struct long_world claimed = {{RANKS, squares, SIM_SEND_RENDEZVOUS, 0}, steps};
    struct diff_runner runner = {run, &claimed, RANKS, 1};
    struct gradcheck_options options = gradcheck_options_default();
    struct gradcheck_result result;
    options.elements_max = elements;
    wrong_rank = wrong;
    gradcheck_run(&runner, &options, &result);
    bool seen[RANKS] = {false};
    int ranks = 0;
    for (size_t i = 0; i < result.row_count; i++) {
        uint32_t rank = result.rows[i].check.rank;
        bool element = result.rows[i].check.index == 0;
        if (element && rank < RANKS && !seen[rank])
            seen[rank] = true, ranks++;
    }
    tap_ok(result.ranks_together == together,
           "%llu steps, %zu asked for: %d ranks moved together only", (unsigned long long)steps,
           elements, result.ranks_together);
    tap_ok(seen[0] && ranks + together == RANKS, "... and all others one by one: %d", ranks);
    tap_ok((result.failed > 0) == (wrong >= 0),
           "... a wrong gradient on rank %d: %zu rows are wrong", wrong, result.failed);
    gradcheck_release(&result);
}

int main(void)
{
    check(0, -1, 0, 0);
    check(100, 11, 0, 0);
    check((1 << 22) / 6, -1, 0, 6); /* six worlds: every second rank */
    check((1 << 22) / 6, 7, 0, 6);
    check((uint64_t)1 << 40, -1, 0, RANKS - 1);
    check((uint64_t)1 << 40, 0, 0, RANKS - 1);
    check((uint64_t)1 << 40, 11, 0, RANKS - 1);
    check((uint64_t)1 << 40, 11, 1, 0);
    return tap_done();
}
