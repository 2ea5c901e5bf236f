/* Injected faults against what fault.h says of each kind. Rank 0 sends numbered messages to ranks 1 and 2
 * in turns; a fault strikes the first that it sends from a given operation on, or the rank itself. What
 * the others receive, in which order, and how the world ends follows from the number of that operation:
 * it is counted here, for every operation, kind of fault and executor. */
#include "tests/world_harness.h"

#include "recorder/recorder.h"
#include "recorder/recording.h"
#include "sim/worlds/fault.h"

enum { RANKS = 3, EACH = 4, SENDS = 2 * EACH, ROOM = 64 };

static struct recording *recording;
static enum sim_fault_kind kind;
static int sent_at[SENDS]; /* operations of rank 0 */
static int synchronous;

/* What a rank received until the last message, which comes on another communicator. */
static struct seen {
    int count, values[ROOM][2], sources[ROOM];
} seen[RANKS];

/* Each message says its number twice. */
static void sender(MPI_Comm other)
{
    for (int i = 0; i < SENDS; i++) {
        int value[2] = {i, i};
        (synchronous ? MPI_Ssend : MPI_Send)(value, 2, MPI_INT, 1 + i % 2, 7, MPI_COMM_WORLD);
        sent_at[i] = (int)record_position();
    }
    MPI_Send(NULL, 0, MPI_INT, 2, 8, other);
}

/* That rank 0 has sent all: rank 1 hears it of rank 2, as it may be cut off. */
static void hear(int rank, MPI_Comm other)
{
    MPI_Recv(NULL, 0, MPI_INT, rank == 1 ? 2 : 0, 8, other, MPI_STATUS_IGNORE);
    if (rank == 2)
        MPI_Send(NULL, 0, MPI_INT, 1, 8, other);
}

/* Until nothing can come any more: rank 0 has said so, and nobody moves. */
static void receiver(int rank, MPI_Comm other)
{
    struct seen *mine = &seen[rank];
    int flag = 1;
    MPI_Status status;
    if (!synchronous)
        hear(rank, other);
    while (flag) {
        MPIX_Probe_patient(7, MPI_COMM_WORLD, 5, &flag, &status);
        if (!flag || mine->count == ROOM)
            break;
        int *into = mine->values[mine->count];
        MPI_Recv(into, 2, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
        mine->sources[mine->count++] = status.MPI_SOURCE;
    }
    if (synchronous)
        hear(rank, other);
}

static int enter(void *context, int rank)
{
    MPI_Comm other;
    (void)context;
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (rank == 0)
        sender(other);
    else
        receiver(rank, other);
    MPI_Comm_free(&other);
    MPI_Finalize();
    return 0;
}

static enum trace_outcome run(const struct sim_fault *fault, enum sim_executor_kind executor,
                              bool *struck, enum rank_state *state)
{
    struct failure failure = {0};
    struct sim_world_options options = world_options(RANKS);
    memset(seen, 0, sizeof seen);
    recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure);
    options.executor = executor;
    options.faults = fault;
    options.fault_count = fault != NULL;
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!recording || !world)
        exit(1);
    enum trace_outcome outcome = sim_world_run(world, enter, NULL);
    *struck = fault && sim_fault_struck(world, 0);
    *state = sim_world_rank_state(world, 0);
    sim_world_free(world);
    recording_ranks_release(recording);
    recording_free(recording);
    return outcome;
}

static int bits(unsigned value)
{
    int count = 0;
    for (; value; value &= value - 1)
        count++;
    return count;
}

/* What rank `r` must have received where message `struck` was struck (SENDS: none was). */
static const char *wrong_with(int r, int struck)
{
    const struct seen *got = &seen[r];
    int at = 0, flipped = 0;
    bool cuts = kind == SIM_FAULT_CUT || kind == SIM_FAULT_CRASH || kind == SIM_FAULT_HANG;
    for (int i = r - 1; i < SENDS; i += 2) {
        bool mine = i == struck;
        int times = 1;
        if ((mine && kind == SIM_FAULT_DROP) ||
            (cuts && i >= struck && (kind != SIM_FAULT_CUT || r == 1)))
            times = 0;
        if (mine && kind == SIM_FAULT_DUPLICATE)
            times = 2;
        for (int k = 0; k < times; k++, at++) {
            if (at >= got->count)
                return "a message is missing";
            int changed =
                bits((unsigned)(got->values[at][0] ^ i)) + bits((unsigned)(got->values[at][1] ^ i));
            flipped += changed;
            if (changed && !(mine && kind == SIM_FAULT_CORRUPT))
                return "another message, or another order";
            if (got->sources[at] != 0)
                return "it is of another rank";
        }
        if (mine && kind == SIM_FAULT_CORRUPT && flipped != 1)
            return "not one bit was flipped";
    }
    return at == got->count ? NULL : "there is one message too many";
}

/* The first message of rank 0 to its peers in operation `op` or later. */
static int struck_by(unsigned op)
{
    int first = 0;
    while (first < SENDS && sent_at[first] < (int)op)
        first++;
    return first;
}

static void kinds(void)
{
    bool struck;
    enum rank_state state;
    char got[200] = "as it should";
    kind = SIM_FAULT_KINDS;
    enum trace_outcome outcome = run(NULL, SIM_FIBERS, &struck, &state);
    tap_ok(outcome == OUTCOME_FINISHED && !wrong_with(1, SENDS) && !wrong_with(2, SENDS) &&
               !struck && sent_at[0] > 0 && sent_at[SENDS - 1] == sent_at[0] + SENDS - 1,
           "without a fault all arrive, in operations %d to %d", sent_at[0], sent_at[SENDS - 1]);
    int first_send = sent_at[0], last_send = sent_at[SENDS - 1];
    static const enum sim_fault_kind asked[] = {
        SIM_FAULT_DROP, SIM_FAULT_DELAY, SIM_FAULT_DUPLICATE, SIM_FAULT_CORRUPT,
        SIM_FAULT_CUT,  SIM_FAULT_CRASH, SIM_FAULT_HANG,      SIM_FAULT_SLOW};
    for (size_t k = 0; k < sizeof asked / sizeof asked[0]; k++) {
        strcpy(got, "as it should");
        kind = asked[k];
        for (int op = first_send - 1; op <= last_send + 1; op++) {
            struct sim_fault fault = {kind, 0, 1, (uint32_t)op};
            enum sim_executor_kind executor = (enum sim_executor_kind)((op + (int)k) % 3);
            outcome = run(&fault, executor, &struck, &state);
            for (int i = 0; i < SENDS; i++)
                sent_at[i] = first_send + i;
            int at = struck_by((uint32_t)op);
            bool lost = at == SENDS && kind == SIM_FAULT_DROP; /* the word that all is sent */
            bool stops = kind == SIM_FAULT_CRASH || kind == SIM_FAULT_HANG;
            const char *wrong = stops || lost ? NULL : wrong_with(1, at);
            if (!wrong && !stops && !lost)
                wrong = wrong_with(2, at);
            if (!wrong && !struck)
                wrong = "it did not strike";
            if (!wrong && !stops && (outcome == OUTCOME_FINISHED) == lost)
                wrong = "the world does not end";
            if (!wrong && stops &&
                (outcome == OUTCOME_FINISHED ||
                 (kind == SIM_FAULT_CRASH) != (state == RANK_CRASHED)))
                wrong = "the rank goes on";
            if (wrong && !strcmp(got, "as it should"))
                snprintf(got, sizeof got, "operation %d, executor %d: %s; %s", op, (int)executor,
                         world_outcomes[outcome], wrong);
        }
        tap_is_str(got, "as it should", "%s does what it says, whichever operation it strikes",
                   sim_fault_name(kind));
    }
}

static void names(void)
{
    int wrong = 0;
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        const char *name = sim_fault_name((enum sim_fault_kind)i);
        char longer[32];
        snprintf(longer, sizeof longer, "%sx", name);
        wrong += sim_fault_kind(name, strlen(name)) != i ||
                 sim_fault_kind(longer, strlen(name)) != i ||
                 sim_fault_kind(longer, strlen(longer)) != -1 ||
                 sim_fault_kind(name, strlen(name) - 1) != -1;
    }
    tap_is_int(wrong, 0, "every kind is found by its name, and by nothing else");
    static const char *const said[] = {"crash", "hang",      "slow",    "oom", "drop",
                                       "delay", "duplicate", "corrupt", "cut"};
    for (int i = 0; i < SIM_FAULT_KINDS; i++)
        wrong += strcmp(sim_fault_name((enum sim_fault_kind)i), said[i]) != 0;
    tap_is_int(wrong, 0, "the names are those of the manual");
}

/* Who sends synchronously what is lost waits for ever; what is copied aside is received all the same. */
static void synchronous_ones(void)
{
    static const struct {
        enum sim_fault_kind kind;
        bool ends;
    } rows[] = {{SIM_FAULT_DROP, false},
                {SIM_FAULT_CUT, false},
                {SIM_FAULT_DELAY, true},
                {SIM_FAULT_DUPLICATE, true},
                {SIM_FAULT_CORRUPT, true}};
    int first_send = sent_at[0];
    bool struck;
    enum rank_state state;
    synchronous = 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kind = rows[i].kind;
        struct sim_fault fault = {kind, 0, 1, (uint32_t)first_send + 2};
        enum trace_outcome outcome = run(&fault, SIM_FIBERS, &struck, &state);
        const char *wrong = rows[i].ends ? wrong_with(1, 2) : NULL;
        tap_ok(struck && !wrong && (outcome == OUTCOME_FINISHED) == rows[i].ends,
               "a synchronous send that %s strikes %s (%s, %s)", sim_fault_name(kind),
               rows[i].ends ? "ends" : "does not end", world_outcomes[outcome],
               wrong ? wrong : "as it should");
    }
    synchronous = 0;
}

int main(void)
{
    names();
    kinds();
    synchronous_ones();
    return tap_done();
}
