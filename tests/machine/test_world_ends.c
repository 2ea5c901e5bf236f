/* How worlds end, and what is said of their ranks: random casts of ranks that finish, leave, abort, crash, block or poll, against the rules
 * one after the other. Then waits with a limit against a list of events in the order of their time. And a caller that is no rank. */
#include "sim/worlds/fault.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/wide.h"
#include "tests/dice.h"
#include "tests/world_harness.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum role { FINISHES, LEAVES, BARE, ABORTS, CRASHES, BLOCKS, POLLS, ROLES };

enum { RANKS_MAX = 7 };

struct cast {
    int ranks;
    enum role roles[RANKS_MAX];
    int codes[RANKS_MAX];
};

static int play(void *context, int rank)
{
    const struct cast *cast = context;
    int code = cast->codes[rank], flag = 0;
    if (cast->roles[rank] == BARE)
        return code;
    MPI_Init(NULL, NULL);
    switch (cast->roles[rank]) {
    case ABORTS:
        MPI_Abort(MPI_COMM_SELF, code);
        break;
    case CRASHES:
        sim_rank_crash(code);
    case BLOCKS:
        MPI_Recv(&flag, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        break;
    case POLLS:
        while (!flag)
            MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        break;
    case LEAVES:
        return code;
    default:
        break;
    }
    MPI_Finalize();
    return code;
}

/* An abort ends the run for those behind it; a crash is why others are stuck; who polls is alive. */
static enum trace_outcome outcome_of(const struct cast *cast, int *aborter)
{
    int how_many[ROLES] = {0};
    *aborter = cast->ranks;
    for (int r = cast->ranks; r-- > 0;) {
        how_many[cast->roles[r]]++;
        if (cast->roles[r] == ABORTS)
            *aborter = r;
    }
    return how_many[ABORTS]    ? OUTCOME_ABORTED
           : how_many[CRASHES] ? OUTCOME_CRASHED
           : how_many[POLLS]   ? OUTCOME_LIVELOCK
           : how_many[BLOCKS]  ? OUTCOME_DEADLOCK
                               : OUTCOME_FINISHED;
}

static enum rank_state state_of(enum role role, bool began, enum trace_outcome outcome)
{
    if (!began)
        return RANK_RUNNING;
    switch (role) {
    case ABORTS:
        return RANK_ABORTED;
    case CRASHES:
        return RANK_CRASHED;
    case BLOCKS:
        return RANK_BLOCKED;
    case POLLS:
        return outcome == OUTCOME_LIVELOCK ? RANK_POLLING : RANK_RUNNING;
    default:
        return RANK_FINISHED;
    }
}

/* What is wrong; "": nothing. */
static const char *play_cast(const struct cast *given, enum sim_executor_kind executor)
{
    static char text[200];
    struct cast cast = *given;
    struct sim_first_failure first = {.rank = -1};
    struct sim_world_options options = world_options(cast.ranks);
    struct failure failure;
    options.livelock_rounds = 20;
    options.first_failure = &first;
    options.executor = executor;
    struct sim_world *world = sim_world_new(&options, &failure);
    int aborter, failed = -1;
    enum trace_outcome expected = outcome_of(&cast, &aborter),
                       got = sim_world_run(world, play, &cast);
    *text = '\0';
    if (got != expected)
        snprintf(text, sizeof text, "%s, not %s", world_outcomes[got], world_outcomes[expected]);
    bool stuck = false, one_after_the_other = executor == SIM_FIBERS;
    for (int r = 0; r < cast.ranks; r++) {
        enum role role = cast.roles[r];
        bool began = r <= aborter, ends = role != BLOCKS && role != POLLS;
        stuck |= !ends;
        if (failed < 0 && began && ends && (role == CRASHES || role == ABORTS || cast.codes[r]))
            failed = r;
        bool right = (int)sim_world_rank_state(world, r) == (int)state_of(role, began, expected) &&
                     sim_world_exit_code(world, r) == (began && ends ? cast.codes[r] : 0) &&
                     sim_world_rank_left(world, r) == (began && role == LEAVES) &&
                     sim_world_rank_finalized(world, r) == (began && role == FINISHES) &&
                     sim_world_rank_initialized(world, r) == (began && role != BARE);
        if ((one_after_the_other || aborter == cast.ranks) && !right && !*text)
            snprintf(text, sizeof text, "rank %d, role %d: state %d, code %d", r, role,
                     sim_world_rank_state(world, r), sim_world_exit_code(world, r));
    }
    bool told = first.rank == failed && !first.threads_denied;
    if (failed >= 0)
        told &= first.exit_code == cast.codes[failed] &&
                first.crashed == (cast.roles[failed] == CRASHES) &&
                first.aborted == (cast.roles[failed] == ABORTS);
    if (one_after_the_other && !told && !*text)
        snprintf(text, sizeof text, "rank %d failed first, not %d", first.rank, failed);
    if ((sim_world_stopped_ns(world) != 0) != (stuck || aborter < cast.ranks) && !*text)
        snprintf(text, sizeof text, "when it stopped");
    if ((sim_world_steps(world) == 0 || sim_world_current_rank() != -1) && !*text)
        snprintf(text, sizeof text, "its steps, or who is current");
    sim_world_free(world);
    return text;
}

static void test_casts(void)
{
    const char *text = "";
    struct dice_seeds seeds = dice_seeds(600);
    for (unsigned long long i = 0; i < seeds.count && !*text; i++) {
        uint64_t state = seeds.first + i;
        struct cast cast = {.ranks = 1 + (int)dice_below(&state, RANKS_MAX)};
        /* Of some kinds only, so that few abort; a crash is not told from a poll that waits for who crashed. */
        unsigned kinds = (unsigned)dice_next(&state) | 1u << dice_below(&state, ABORTS);
        kinds &= dice_below(&state, 3) ? ~(1u << ABORTS) : ~0u;
        kinds &= dice_below(&state, 2) ? ~(1u << POLLS) : ~(1u << CRASHES);
        for (int r = 0; r < cast.ranks; r++) {
            do
                cast.roles[r] = (enum role)dice_below(&state, ROLES);
            while (!(kinds >> cast.roles[r] & 1));
            cast.codes[r] = cast.roles[r] == CRASHES ? SIGSEGV
                            : cast.roles[r] == ABORTS || !dice_below(&state, 3)
                                ? 1 + (int)dice_below(&state, 9)
                                : 0;
        }
        text = play_cast(&cast, i % 8 ? SIM_FIBERS : i % 16 ? SIM_THREADS : SIM_TURNS);
        if (*text) {
            tap_note("seed %llu", seeds.first + i);
            for (int r = 0; r < cast.ranks; r++)
                tap_note("rank %d: role %d, code %d", r, cast.roles[r], cast.codes[r]);
        }
    }
    tap_is_str(text, "", "a world ends as its ranks do, and says of each what it did");
}

/* ---- waits with a limit ---- */

enum { WAITS = 5, ITEMS_MAX = RANKS_MAX * WAITS };

struct wait {
    uint64_t ticks;
    int to, tag; /* sends afterwards; to < 0: nothing */
};

struct told {
    int rank, item, source; /* -1: the limit has passed */
};

static struct {
    int ranks, told_count;
    struct wait waits[RANKS_MAX][WAITS];
    struct told told[ITEMS_MAX];
} plan;

/* Waits for the message of its tag: the number of the wait. */
static void wait_in_a_row(int rank, int size)
{
    (void)size;
    for (int i = 0; i < WAITS; i++) {
        const struct wait *wait = &plan.waits[rank][i];
        MPI_Status status = {.MPI_SOURCE = -1};
        int flag = -1;
        MPIX_Probe_patient(i, MPI_COMM_WORLD, wait->ticks, &flag, &status);
        plan.told[plan.told_count++] = (struct told){rank, i, flag ? status.MPI_SOURCE : -1};
        if (flag) {
            expect(status.MPI_TAG == i, "tag %d at %d", status.MPI_TAG, i);
            MPI_Recv(NULL, 0, MPI_INT, status.MPI_SOURCE, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (wait->to >= 0)
            MPI_Send(NULL, 0, MPI_INT, wait->to, wait->tag, MPI_COMM_WORLD);
    }
    expect(true, "it came to its end");
}

/* The same as a list of events: `limit` of each rank's wait, messages that wait for theirs, and who goes on next. */
struct events {
    double limit[RANKS_MAX]; /* exact: ticks are few, or more than all others together */
    int at[RANKS_MAX];
    int arrived[RANKS_MAX][WAITS][ITEMS_MAX], count[RANKS_MAX][WAITS];
    int ready[ITEMS_MAX * 2], first, last;
    bool woken[RANKS_MAX];
    double now;
    struct told told[ITEMS_MAX];
    int told_count;
};

/* Goes on until it has to wait. */
static void go_on(struct events *events, int rank, bool passed)
{
    for (; events->at[rank] < WAITS; passed = false) {
        int item = events->at[rank], source = -1, *count = &events->count[rank][item];
        if (*count) {
            source = events->arrived[rank][item][0];
            memmove(events->arrived[rank][item], events->arrived[rank][item] + 1,
                    (size_t)-- * count * sizeof(int));
        } else if (!passed) {
            return;
        }
        const struct wait *wait = &plan.waits[rank][item];
        events->told[events->told_count++] = (struct told){rank, item, source};
        if (++events->at[rank] < WAITS)
            events->limit[rank] = events->now + (double)plan.waits[rank][events->at[rank]].ticks;
        if (wait->to < 0)
            continue;
        events->arrived[wait->to][wait->tag][events->count[wait->to][wait->tag]++] = rank;
        if (wait->to != rank && events->at[wait->to] == wait->tag && !events->woken[wait->to]) {
            events->woken[wait->to] = true;
            events->ready[events->last++] = wait->to;
        }
    }
}

static void expect_events(struct events *events)
{
    memset(events, 0, sizeof *events);
    for (int r = 0; r < plan.ranks; r++)
        events->limit[r] = (double)plan.waits[r][0].ticks;
    for (;;) {
        int next = -1;
        while (events->first < events->last) {
            int rank = events->ready[events->first++];
            events->woken[rank] = false;
            go_on(events, rank, false);
        }
        for (int r = plan.ranks; r-- > 0;)
            if (events->at[r] < WAITS && (next < 0 || events->limit[r] <= events->limit[next]))
                next = r;
        if (next < 0)
            return;
        events->now = events->limit[next];
        go_on(events, next, true);
    }
}

static void test_waits(void)
{
    static struct events events;
    char text[300] = "";
    struct dice_seeds seeds = dice_seeds(300);
    int messages = 0, limits = 0;
    for (unsigned long long i = 0; i < seeds.count && !*text; i++) {
        uint64_t state = seeds.first + i;
        plan.ranks = 1 + (int)dice_below(&state, RANKS_MAX);
        plan.told_count = 0;
        int endless = dice_below(&state, 3) ? -1 : (int)dice_below(&state, (uint32_t)plan.ranks);
        for (int r = 0; r < plan.ranks; r++)
            for (int k = 0; k < WAITS; k++) {
                int to = (int)dice_below(&state, (uint32_t)plan.ranks);
                plan.waits[r][k] =
                    (struct wait){dice_below(&state, 6), dice_below(&state, 2) ? to : -1,
                                  (int)dice_below(&state, WAITS)};
                if (r == endless && k == WAITS - 1)
                    plan.waits[r][k].ticks = UINT64_MAX;
            }
        expect_events(&events);
        struct world_result result = world_try(world_options(plan.ranks), wait_in_a_row);
        bool right = result.outcome == OUTCOME_FINISHED && !result.failed &&
                     plan.told_count == events.told_count &&
                     !memcmp(plan.told, events.told, (size_t)plan.told_count * sizeof *plan.told);
        if (!right)
            snprintf(text, sizeof text, "seed %llu: %s, %d waits told, %d expected",
                     seeds.first + i, world_outcomes[result.outcome], plan.told_count,
                     events.told_count);
        for (int k = 0; k < plan.told_count && !right; k++)
            tap_note("rank %d, wait %d: %d; expected rank %d, wait %d: %d", plan.told[k].rank,
                     plan.told[k].item, plan.told[k].source, events.told[k].rank,
                     events.told[k].item, events.told[k].source);
        for (int k = 0; k < plan.told_count; k++)
            *(plan.told[k].source < 0 ? &limits : &messages) += 1;
    }
    tap_ok(messages > 100 && limits > 100, "waits end by messages and by limits");
    tap_is_str(text, "",
               "the least patient gives up first, and nobody while a message is on its way");
}

/* ---- nobody ---- */

static void test_nobody(void)
{
    struct mpix_pace pace;
    struct failure failure = {0};
    tap_ok(!MPIX_Rank_slots() && MPIX_World_rank() == -1 && MPIX_World_size() == 0 &&
               MPIX_Steps() == 0,
           "who is no rank has no slots, no number, no world and no time");
    tap_ok(!MPIX_Pace(&pace) && !MPIX_Alone() && !MPIX_Ahead() &&
               MPIX_Choose(MPIX_CHOOSE_OTHER, 5) == 0,
           "nor has it turns or choices");
    tap_ok(!sim_wide_is_ahead(), "... and is not ahead of anybody");
    sim_wide_await_dying();
    struct sim_world_options wide = world_options(3);
    wide.wide = SIM_WIDE_AT_ONCE;
    struct sim_world *world = sim_world_new(&wide, &failure);
    sim_world_widen(world);
    tap_is_int(sim_world_widened(world), 0, "nor does it make a world wide");
    sim_world_free(world);
    MPIX_Turn();
    MPIX_Yield();
    SIM_Batch_begin();
    SIM_Batch_end();
    SIM_Tensor_name("nobody's");
    SIM_Metric("nobody's", 0, 1);
    for (int ranks = -2; ranks <= 0; ranks++) {
        struct sim_world_options options = world_options(ranks);
        char expected[80];
        snprintf(expected, sizeof expected, "a world needs at least one rank, not %d", ranks);
        tap_ok(!sim_world_new(&options, &failure) && !strcmp(failure.text, expected) &&
                   failure.code == FAILURE_USAGE,
               "a world of %d ranks is refused", ranks);
    }
}

/* ---- a rank ---- */

static void look_around(int rank, int size)
{
    struct mpix_pace pace = {NULL, NULL, NULL};
    uint64_t before = MPIX_Steps();
    expect(MPIX_World_rank() == rank && MPIX_World_size() == size, "its number");
    expect(sim_world_current_rank() == rank, "who is current");
    MPI_Barrier(MPI_COMM_WORLD);
    expect(MPIX_Steps() > before, "time passes with a call");
    if (MPIX_Pace(&pace))
        expect(*pace.steps >= before && *pace.turned <= *pace.steps, "its turn came at %llu",
               (unsigned long long)*pace.turned);
    for (int n = -1; n < 2; n++)
        expect(MPIX_Choose(MPIX_CHOOSE_OTHER, n) == 0, "one of %d", n);
}

enum { CHOICES = 40 };

static uint32_t picks[CHOICES];
static unsigned names_seen[64];

static uint32_t guide(void *context, uint32_t kind, uint32_t rank, uint32_t n,
                      const struct sim_alternative *alternatives)
{
    int *number = context;
    (void)rank;
    for (uint32_t i = 0; alternatives && i < n; i++)
        names_seen[i] = alternatives[i].taker == SIM_TAKER_NAMED ? alternatives[i].object : 0;
    return kind == MPIX_CHOOSE_OTHER ? picks[(*number)++ % CHOICES] % n : 0;
}

static void choose_named(int rank, int size)
{
    static unsigned names[64];
    (void)rank;
    (void)size;
    for (int i = 0; i < CHOICES; i++) {
        int n = 2 + i;
        for (int k = 0; k < n; k++)
            names[k] = (unsigned)(1000 * i + k + 1);
        memset(names_seen, 0, sizeof names_seen);
        int got = MPIX_Choose_named(MPIX_CHOOSE_OTHER, n, i % 3 ? names : NULL);
        expect(got == (int)(picks[i] % (unsigned)n), "choice %d", i);
        for (int k = 0; k < n; k++)
            expect(names_seen[k] == (i % 3 ? names[k] : 0), "name %d of choice %d", k, i);
        expect(names_seen[n] == 0, "as many names as things");
    }
}

static void test_choices(void)
{
    int number = 0;
    uint64_t state = 5;
    struct sim_world_options options = world_options(1);
    for (int i = 0; i < CHOICES; i++)
        picks[i] = (uint32_t)dice_next(&state);
    options.driver = SIM_CHOOSE_GUIDED;
    options.guide = guide;
    options.guide_context = &number;
    struct world_result result = world_try(options, choose_named);
    tap_is_str(result.failed ? result.text : "", "",
               "a guide sees the names of what a program chooses from, however many");
    tap_is_int(number, CHOICES, "... and is asked once for each choice");
}

/* ---- killed ---- */

static void handle(MPI_Comm *comm, int *class, ...)
{
    (void)comm, (void)class;
}

enum { BEFORE_INIT, FATAL, ABORTING, RETURNING, OWN, AFTER_FINALIZE, KILLS };

static int die(void *context, int rank)
{
    int how = *(int *)context;
    MPI_Errhandler own;
    if (how == BEFORE_INIT)
        sim_fault_killed(sim_current_rank, SIGKILL);
    MPI_Init(NULL, NULL);
    MPI_Comm_create_errhandler(handle, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, how == FATAL      ? MPI_ERRORS_ARE_FATAL
                                            : how == ABORTING ? MPI_ERRORS_ABORT
                                            : how == OWN      ? own
                                                              : MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&own);
    if (how != AFTER_FINALIZE)
        sim_fault_killed(sim_current_rank, SIGKILL);
    MPI_Finalize();
    sim_fault_killed(sim_current_rank, SIGKILL);
    return rank;
}

/* A rank that kills itself is a crash, unless its error handler says that the others go on without it. */
static void test_kills(void)
{
    int wrong = 0;
    for (int how = BEFORE_INIT; how < KILLS; how++) {
        struct sim_world_options options = world_options(1);
        struct sim_world *world = sim_world_new(&options, NULL);
        enum trace_outcome outcome = sim_world_run(world, die, &how);
        bool goes_on = how == RETURNING || how == OWN;
        if (outcome != (goes_on ? OUTCOME_FINISHED : OUTCOME_CRASHED) ||
            sim_world_rank_state(world, 0) != RANK_CRASHED ||
            sim_world_exit_code(world, 0) != SIGKILL) {
            tap_note("way %d: %s", how, world_outcomes[outcome]);
            wrong++;
        }
        sim_world_free(world);
    }
    tap_is_int(wrong, 0,
               "who kills itself has crashed, but where its error handler lets the others go on");
}

/* ---- worlds that cannot be, and what is asked of outside ---- */

static void never(int rank, int size)
{
    expect(false, "rank %d of %d runs", rank, size);
}

static void test_unable(void)
{
    struct failure why = {0};
    struct sim_world_options options = world_options(3);
    options.stack_size = (size_t)1 << 50; /* more than there are addresses */
    options.unable = &why;
    struct world_result result = world_try(options, never);
    tap_ok(result.outcome == OUTCOME_ABORTED && !result.looked_at,
           "a world without memory for its stacks runs nobody");
    tap_ok(why.code == FAILURE_INTERNAL && *why.text, "... and says why: %s", why.text);
}

static void test_enter_from_outside(void)
{
    const struct sim_fault faults[] = {{.kind = SIM_FAULT_HANG, .rank = 0, .op = 0}};
    for (int executor = SIM_FIBERS; executor <= SIM_TURNS; executor++) {
        struct sim_world_options options = world_options(1);
        options.executor = (enum sim_executor_kind)executor;
        options.faults = faults;
        options.fault_count = 1;
        struct sim_world *world = sim_world_new(&options, NULL);
        for (int i = 0; i < 2; i++) {
            sim_world_enter(world);
            sim_world_leave(world);
        }
        tap_ok(sim_world_rank_state(world, 0) == RANK_RUNNING,
               "executor %d: faults are the ranks' own, and nobody's who enters from outside",
               executor);
        sim_world_free(world);
    }
}

static bool paced;

static void look_at_pace(int rank, int size)
{
    struct mpix_pace pace = {NULL, NULL, NULL};
    (void)rank, (void)size;
    expect(MPIX_Pace(&pace) == paced, "a pace");
    expect(!paced || (pace.steps && pace.turned && pace.wide && !*pace.wide &&
                      *pace.steps == MPIX_Steps()),
           "where it stands");
}

static void test_paces(void)
{
    for (int executor = SIM_FIBERS; executor <= SIM_TURNS; executor++) {
        struct sim_world_options options = world_options(2);
        options.executor = (enum sim_executor_kind)executor;
        paced = executor == SIM_FIBERS;
        struct world_result result = world_try(options, look_at_pace);
        tap_is_str(result.text, "", "executor %d tells its pace where ranks are fibers", executor);
    }
}

/* ---- wide worlds ---- */

static enum wide_change { AS_IT_IS, NARROWED, WIDENED_AGAIN, APART } change;

static void change_world(int rank, int round)
{
    struct sim_world *world = sim_current_rank->world;
    if (change == AS_IT_IS)
        return;
    if (rank == 1 && round == 2 && change == APART) {
        sim_wide_never(world);
        expect(!sim_wide_possible(world) && !sim_wide_is_ahead(), "it is narrow for ever");
    } else if (rank == 1 && round == 2) {
        sim_wide_narrow(world);
    } else if (rank == 0 && round == 4 && change >= WIDENED_AGAIN) {
        sim_world_widen(world);
    }
}

static void meet_and_compute(int rank, int size)
{
    int sum = 0;
    MPI_Status status;
    for (int i = 0; i < 6; i++) {
        change_world(rank, i);
        errno = 1000 + 10 * rank + i; /* which belongs to the rank, whoever runs meanwhile */
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &sum, 1, MPI_INT,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, &status);
        MPI_Barrier(MPI_COMM_WORLD);
        if (i % 2)
            MPIX_Yield();
        int now = errno;
        expect(now == 1000 + 10 * rank + i, "errno is %d in round %d", now, i);
    }
    expect(sum == (rank + size - 1) % size, "from its neighbour");
}

struct counts {
    uint32_t widened;
    uint64_t switches, steps;
};

static void count(struct sim_world *world, void *context)
{
    *(struct counts *)context = (struct counts){sim_world_widened(world), sim_world_switches(world),
                                                sim_world_steps(world)};
}

/* One rank has nothing that others could carry; and time is the same, whoever carries the ranks, and however
 * often that changes. */
static void test_wide(void)
{
    int wrong = 0, apart = 0;
    for (int ranks = 1; ranks <= 5; ranks++) {
        struct counts narrow = {0};
        for (int way = -1; way <= APART; way++) {
            struct sim_world_options options = world_options(ranks);
            struct counts counts;
            change = way < 0 ? AS_IT_IS : (enum wide_change)way;
            options.wide = way < 0 ? SIM_WIDE_NEVER : SIM_WIDE_AT_ONCE;
            options.cores = 2;
            struct world_result result = world_try_look(options, meet_and_compute, count, &counts);
            narrow = way < 0 ? counts : narrow;
            bool right = result.outcome == OUTCOME_FINISHED && !result.failed &&
                         counts.steps == narrow.steps && counts.switches == narrow.switches &&
                         !((way < 0 || ranks == 1) && counts.widened);
            if (!right && wrong++ < 5)
                tap_note("%d ranks, way %d: %llu and %llu switches, wide %u; %s", ranks, way,
                         (unsigned long long)narrow.switches, (unsigned long long)counts.switches,
                         counts.widened, result.text);
            apart += way == APART && counts.widened > 1;
        }
    }
    tap_is_int(wrong, 0,
               "a world of one rank does not become wide, and wide worlds count the same steps and "
               "switches");
    tap_is_int(apart, 0, "one that is apart does not become wide again");
    change = AS_IT_IS;
}

/* ---- signals for ranks that are threads, and threads that are gone ---- */

static struct sim_world *asked; /* the world that is */
static atomic_int may_ask, answered, taken_by;

static void take(int number)
{
    (void)number;
    taken_by = sim_world_current_rank();
}

/* All ranks end at once but the last one, which waits for a signal that another thread passes on. */
static int wait_for_signal(void *context, int rank)
{
    int ranks = *(int *)context;
    if (rank < ranks - 1)
        return 0;
    for (int r = 0; r < rank; r++)
        while (sim_world_rank_state(asked, r) != RANK_FINISHED)
            sched_yield();
    if (sim_world_pass_on(asked, SIGUSR1)) /* who runs takes it itself */
        taken_by = 99;
    if (sim_world_vanished(asked) >= 0)
        taken_by = 98;
    may_ask = 1;
    while (!answered)
        sched_yield();
    while (answered == 2 && taken_by < 0)
        sched_yield();
    return 0;
}

static void *pass_on(void *none)
{
    while (!may_ask)
        sched_yield();
    bool given = sim_world_pass_on(asked, SIGUSR1), gone = sim_world_vanished(asked) >= 0;
    answered = gone ? 3 : given ? 2 : 1;
    return none;
}

static void test_signals(void)
{
    signal(SIGUSR1, take);
    for (int executor = SIM_FIBERS; executor <= SIM_TURNS; executor++)
        for (int ranks = 1; ranks <= 3; ranks++) {
            struct sim_world_options options = world_options(ranks);
            pthread_t other;
            options.executor = (enum sim_executor_kind)executor;
            may_ask = answered = 0;
            taken_by = -1;
            asked = sim_world_new(&options, NULL);
            bool before = sim_world_pass_on(asked, SIGUSR1) || sim_world_vanished(asked) >= 0;
            pthread_create(&other, NULL, pass_on, NULL);
            enum trace_outcome outcome = sim_world_run(asked, wait_for_signal, &ranks);
            pthread_join(other, NULL);
            bool behind = sim_world_pass_on(asked, SIGUSR1) || sim_world_vanished(asked) >= 0;
            bool threads = executor != SIM_FIBERS;
            tap_ok(outcome == OUTCOME_FINISHED && !before && !behind &&
                       answered == (threads ? 2 : 1) && taken_by == (threads ? ranks - 1 : -1),
                   "executor %d, %d ranks: a signal goes to who runs (%d, taken by %d)", executor,
                   ranks, (int)answered, (int)taken_by);
            sim_world_free(asked);
        }
}

/* The thread of one rank ends without a word. */
static int go_or_look(void *context, int rank)
{
    int gone = *(int *)context;
    if (rank == gone) {
        if (sim_world_vanished(asked) >= 0)
            _exit(3);
        may_ask = 1;
        syscall(SYS_exit, 0);
    }
    while (rank == (gone ? 0 : 1)) {
        bool was = may_ask;
        int found = sim_world_vanished(asked);
        if (found == gone)
            _exit(was ? 0 : 4);
        if (found >= 0)
            _exit(2);
        sched_yield();
    }
    for (;;)
        pause();
}

static void test_vanished(void)
{
    for (int gone = 1; gone < 3; gone++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            struct sim_world_options options = world_options(3);
            options.executor = SIM_THREADS;
            may_ask = 0;
            asked = sim_world_new(&options, NULL);
            sim_world_run(asked, go_or_look, &gone);
            _exit(5);
        }
        int status = 0;
        waitpid(child, &status, 0);
        tap_is_int(WIFEXITED(status) ? WEXITSTATUS(status) : 100, 0,
                   "a rank whose thread is gone is found: %d", gone);
    }
}

int main(void)
{
    if (!SANITIZED_THREAD) /* which wants a lock where a moment ago will do */
        test_vanished();   /* first: a team of OpenMP does not live on in a child */
    test_casts();
    test_waits();
    test_nobody();
    test_choices();
    test_kills();
    test_unable();
    test_enter_from_outside();
    test_paces();
    test_wide();
    if (!SANITIZED_THREAD)
        test_signals();
    world_test("a rank knows its number, its world and its time", look_around, WORLD_ANY);
    return tap_done();
}
