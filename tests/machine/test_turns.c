/* Ranks that take turns: of those that are not blocked the one with the fewest turns goes first, and who is woken is not behind who woke it.
 * So two ranks that send as often as they can take turns from then on, however much one of them did before the other was woken;
 * and who has waited from the beginning, woken by nobody, is as far as it was. */
#include "tests/world_harness.h"

enum { SENDS = 12, LATE_MOST = 80 };

static int late; /* calls of rank 0 before it wakes rank 1 */
static bool wakes;
static int from[2 * SENDS];

static void play(int rank, int size)
{
    MPI_Status status;
    int flag;
    (void)size;
    if (rank == 0) {
        for (int i = 0; i < late; i++)
            MPI_Request_get_status(MPI_REQUEST_NULL, &flag, MPI_STATUS_IGNORE), MPIX_Yield();
        if (wakes)
            MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
    }
    if (rank == 1 && wakes)
        MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank < 2)
        for (int i = 0; i < SENDS; i++) {
            MPI_Send(NULL, 0, MPI_INT, 2, 2, MPI_COMM_WORLD);
            MPIX_Yield();
        }
    else
        for (int i = 0; i < 2 * SENDS; i++) {
            MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
            from[i] = status.MPI_SOURCE;
        }
    expect(true, "it came to its end");
}

/* The most by which one rank was ahead of the other while both had something to send. */
static int most_ahead(void)
{
    int count[2] = {0, 0}, most = 0;
    for (int i = 0; i < 2 * SENDS && count[0] < SENDS && count[1] < SENDS; i++) {
        count[from[i]]++;
        int ahead = abs(count[0] - count[1]);
        most = ahead > most ? ahead : most;
    }
    return most;
}

static void test(const char *name, bool woken)
{
    int most = 0, least = 2 * SENDS;
    const char *text = "finished";
    wakes = woken;
    for (late = 0; late <= LATE_MOST; late += 20) {
        struct sim_world_options options = world_options(3);
        options.executor = SIM_TURNS;
        struct world_result result = world_try(options, play);
        text = result.outcome == OUTCOME_FINISHED ? text : world_outcomes[result.outcome];
        int ahead = most_ahead();
        most = ahead > most ? ahead : most;
        least = late && ahead < least ? ahead : least;
        tap_note("%d calls before: %d ahead", late, ahead);
    }
    tap_is_str(text, "finished", "%s: all come to their end", name);
    tap_ok(woken ? most <= 3 : least == SENDS, "%s", name);
}

int main(void)
{
    tap_plan(4);
    test("who is woken is as far as who woke it: they take turns", true);
    test("who was never woken has its turns first", false);
    return tap_done();
}
