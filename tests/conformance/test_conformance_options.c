/* What worlds are asked for beside their ranks, and what they say when they have ended: a rank that is
 * late, patience, choices by name, the least convenient delivery, who left how. Each is compared with
 * what is counted here. */
#include "tests/world_harness.h"

#include "tests/dice.h"

#include <signal.h>

/* ---- a late rank ---- */

static int sent, sent_before;

static void hear_early_or_late(int rank, int size)
{
    int value;
    for (int i = 0; i < 10 * rank; i++)
        MPIX_Yield();
    if (rank == 0) {
        MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sent_before = sent;
        for (int r = 2; r < size; r++)
            MPI_Recv(&value, 1, MPI_INT, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        sent++;
    }
}

static void a_rank_may_be_late(void)
{
    for (int late = 0; late <= 2; late++) {
        struct sim_world_options options = world_options(5);
        options.late_rank = late;
        sent = sent_before = 0;
        struct world_result result = world_try(options, hear_early_or_late);
        tap_ok(result.outcome == OUTCOME_FINISHED && (sent_before == 4) == (late == 1) &&
                   sent_before >= 1,
               "%s: %d of 4 had sent",
               late == 1 ? "a late rank hears when all others have spoken"
                         : "one that is not late hears before",
               sent_before);
    }
}

/* ---- patience ---- */

enum { IMPATIENT = 12, LOOKS = 4 };

static uint64_t patience_of[IMPATIENT][LOOKS];
static struct {
    int count, ranks[IMPATIENT * LOOKS];
} gave_up;

static void be_patient(int rank, int size)
{
    int flag = -1;
    MPI_Status status;
    (void)size;
    for (int i = 0; i < LOOKS; i++) {
        MPIX_Probe_patient(i, MPI_COMM_WORLD, patience_of[rank][i], &flag, &status);
        expect(!flag, "a message nobody has sent");
        gave_up.ranks[gave_up.count++] = rank;
    }
}

/* The clock moves to the least limit; of equal ones the lower rank is first. */
static void limits_pass_in_order(void)
{
    uint64_t state = 5;
    int wrong = 0;
    for (int round = 0; round < 10; round++) {
        int wanted[IMPATIENT * LOOKS], next[IMPATIENT] = {0};
        uint64_t limits[IMPATIENT], now = 0;
        for (int r = 0; r < IMPATIENT; r++)
            for (int i = 0; i < LOOKS; i++) {
                uint32_t ticks = dice_below(&state, 6);
                patience_of[r][i] =
                    i == LOOKS - 1 && r == 3 ? UINT64_MAX - (uint64_t)(round % 2) : ticks;
            }
        for (int r = 0; r < IMPATIENT; r++)
            limits[r] = patience_of[r][0];
        for (int i = 0; i < IMPATIENT * LOOKS; i++) {
            int least = -1;
            for (int r = 0; r < IMPATIENT; r++)
                if (next[r] < LOOKS && (least < 0 || limits[r] < limits[least]))
                    least = r;
            wanted[i] = least;
            now = limits[least];
            uint64_t more = ++next[least] < LOOKS ? patience_of[least][next[least]] : 0;
            limits[least] = more < UINT64_MAX - now ? now + more : UINT64_MAX;
        }
        gave_up.count = 0;
        struct world_result result = world_try(world_options(IMPATIENT), be_patient);
        wrong += result.outcome != OUTCOME_FINISHED || result.failed ||
                 gave_up.count != IMPATIENT * LOOKS ||
                 memcmp(wanted, gave_up.ranks, sizeof wanted) != 0;
    }
    tap_is_int(wrong, 0, "who waits with patience gives up in the order of the limits");
}

/* ---- choices ---- */

enum { NAMES = 20 };

static void choose_among(int rank, int size)
{
    unsigned names[NAMES];
    (void)size;
    for (unsigned i = 0; i < NAMES; i++)
        names[i] = 100 * (unsigned)rank + i;
    for (int n = -1; n < NAMES; n++) {
        int pick = MPIX_Choose_named(MPIX_CHOOSE_RUN + 1, n, names);
        expect(pick >= 0 && (pick < n || pick == 0), "%d of %d", pick, n);
    }
    expect(MPIX_Choose(MPIX_CHOOSE_RUN + 1, 7) < 7, "too many");
}

static void look_at_choices(struct sim_world *world, void *context)
{
    int *wrong = context;
    const struct sim_choice_log *log = sim_world_choices(world);
    *wrong = log->count != 2 * (NAMES - 2 + 1);
    for (size_t i = 0, named = 0; i < log->count && !*wrong; i++) {
        const struct sim_choice *choice = &log->choices[i];
        bool last = i % (NAMES - 1) == NAMES - 2;
        uint32_t n = last ? 7 : (uint32_t)(i % (NAMES - 1)) + 2;
        *wrong = choice->n != n || choice->picked >= n || choice->kind != MPIX_CHOOSE_RUN + 1 ||
                 choice->rank != i / (NAMES - 1) ||
                 (choice->first_alternative == SIZE_MAX) != last ||
                 (!last && choice->first_alternative != named);
        for (uint32_t k = 0; k < n && !last && !*wrong; k++, named++) {
            const struct sim_alternative *at = &log->alternatives[choice->first_alternative + k];
            *wrong = at->object != 100 * choice->rank + k || at->rank != choice->rank ||
                     at->taker != SIM_TAKER_NAMED;
        }
    }
}

static void choices_have_names(void)
{
    int wrong = -1;
    struct sim_world_options options = world_options(2);
    options.driver = SIM_CHOOSE_ENUMERATE;
    options.log_choices = true;
    struct world_result result = world_try_look(options, choose_among, look_at_choices, &wrong);
    tap_ok(result.outcome == OUTCOME_FINISHED && !result.failed && !wrong,
           "choices of two or more are logged with the names of what there is: %s", result.text);
}

static void the_least_convenient_delivery(void)
{
    struct sim_world_options options = world_options(3);
    uint64_t cost = 77, counted = 0;
    int wrong = 0;
    sim_world_options_adverse(&options, &cost);
    wrong += cost != 0 || !options.delay_wildcards || !options.delay_receives ||
             !options.late_receives || options.driver != SIM_CHOOSE_GUIDED ||
             options.guide_context != &cost || options.livelock_rounds != 200;
    for (uint32_t n = 1; n < 3000; n++) {
        uint32_t kind = n % 3 ? MPIX_CHOOSE_WILDCARD : MPIX_CHOOSE_WAITANY;
        uint32_t pick = options.guide(options.guide_context, kind, 0, n, NULL);
        counted += n;
        uint32_t wanted = kind == MPIX_CHOOSE_WILDCARD ? n - 1 : 0;
        wrong += pick != (counted > 1 << 22 ? SIM_GUIDE_STOP : wanted) || cost != counted;
    }
    cost = (1 << 22) - 5;
    wrong += options.guide(&cost, MPIX_CHOOSE_WILDCARD, 0, 5, NULL) != 4;
    wrong += options.guide(&cost, MPIX_CHOOSE_WILDCARD, 0, 1, NULL) != SIM_GUIDE_STOP;
    tap_is_int(wrong, 0, "the least convenient delivery takes the last message, and has its price");
}

/* ---- ends ---- */

static int end_somehow(void *context, int rank)
{
    int provided;
    (void)context;
    MPI_Session session;
    if (rank == 0)
        return 0; /* never in MPI */
    if (rank == 5) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        MPI_Session_finalize(&session);
        return 0;
    }
    MPI_Init_thread(NULL, NULL, rank == 4 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (rank == 1)
        return 3; /* leaves without a word */
    if (rank == 2)
        sim_rank_end(0);
    MPI_Finalize();
    return 0;
}

static void ranks_are_asked_how_they_were(void)
{
    static const struct {
        bool left, finalized, initialized;
        int code;
    } wanted[] = {{false, false, false, 0}, {true, false, true, 3}, {true, false, true, 0},
                  {false, true, true, 0},   {false, true, true, 0}, {false, false, true, 0}};
    struct failure failure = {0};
    struct sim_first_failure first = {.rank = -1};
    struct sim_world_options options = world_options(6);
    options.first_failure = &first;
    struct sim_world *world = sim_world_new(&options, &failure);
    sim_world_run(world, end_somehow, NULL);
    for (int r = 0; r < 6; r++)
        tap_ok(sim_world_rank_left(world, r) == wanted[r].left &&
                   sim_world_rank_finalized(world, r) == wanted[r].finalized &&
                   sim_world_rank_initialized(world, r) == wanted[r].initialized &&
                   sim_world_exit_code(world, r) == wanted[r].code,
               "rank %d is known by how it was: left %d, finalized %d, initialized %d", r,
               sim_world_rank_left(world, r), sim_world_rank_finalized(world, r),
               sim_world_rank_initialized(world, r));
    tap_is_int(first.threads_denied, 1, "one asked for more threads than it was given");
    sim_world_free(world);
    tap_ok(first.rank == 1 && first.exit_code == 3 && !first.crashed && !first.aborted,
           "the first that failed is known: rank %d by %d", (int)first.rank, first.exit_code);
}

static int fail_by;

static int fail_after_others(void *context, int rank)
{
    (void)context;
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 10 * (3 - rank); i++)
        MPIX_Yield();
    if (rank == 0 && fail_by == 0)
        MPI_Abort(MPI_COMM_WORLD, 9);
    if (rank == 0)
        sim_rank_crash(SIGSEGV);
    if (rank == 2 && fail_by == 2)
        return 5; /* before rank 0 */
    MPI_Finalize();
    return 0;
}

static void the_first_failure_is_told(void)
{
    for (fail_by = 0; fail_by < 3; fail_by++) {
        struct failure failure = {0};
        struct sim_first_failure first = {.rank = -1};
        struct sim_world_options options = world_options(3);
        options.first_failure = &first;
        struct sim_world *world = sim_world_new(&options, &failure);
        enum trace_outcome outcome = sim_world_run(world, fail_after_others, NULL);
        sim_world_free(world);
        static const int codes[] = {9, SIGSEGV, 5};
        tap_ok(first.rank == (fail_by == 2 ? 2 : 0) && first.exit_code == codes[fail_by] &&
                   first.crashed == (fail_by == 1) && first.aborted == (fail_by == 0) &&
                   outcome == (fail_by ? OUTCOME_CRASHED : OUTCOME_ABORTED),
               "rank %d was the first to fail: code %d, crashed %d, aborted %d (%s)",
               (int)first.rank, first.exit_code, first.crashed, first.aborted,
               world_outcomes[outcome]);
    }
}

static void worlds_have_ranks(void)
{
    for (int ranks = -1; ranks < 2; ranks++) {
        struct failure failure = {0};
        struct sim_world_options options = world_options(ranks);
        struct sim_world *world = sim_world_new(&options, &failure);
        char wanted[60];
        snprintf(wanted, sizeof wanted, "a world needs at least one rank, not %d", ranks);
        tap_ok((world != NULL) == (ranks == 1) &&
                   (world || (failure.code == FAILURE_USAGE && !strcmp(failure.text, wanted))),
               "a world of %d: %s", ranks, failure.text);
        sim_world_free(world);
    }
}

int main(void)
{
    a_rank_may_be_late();
    limits_pass_in_order();
    choices_have_names();
    the_least_convenient_delivery();
    ranks_are_asked_how_they_were();
    the_first_failure_is_told();
    worlds_have_ranks();
    return tap_done();
}
