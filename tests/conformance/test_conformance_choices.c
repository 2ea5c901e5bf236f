/* The four drivers of choices: the same seed chooses the same, a recording is replayed, and an
 * enumeration reaches every matching of wildcards. */
#include "tests/world_harness.h"

enum { RANKS = 4, EACH = 2 };

/* Where rank 0 says in which order the senders' messages came; of the world that runs. */
static int order[16], order_length;

static void take_any(int rank, int size)
{
    if (rank) {
        for (int i = 0; i < EACH; i++)
            MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD); /* all messages are there: every order is possible */
    order_length = 0;
    for (int i = 0; i < EACH * (size - 1); i++) {
        int got = -1;
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        expect(got == status.MPI_TAG, "got %d", got);
        order[order_length++] = status.MPI_SOURCE;
    }
}

/* The order as one number, to compare and to collect. */
static long order_number(void)
{
    long number = 0;
    for (int i = 0; i < order_length; i++)
        number = number * 10 + order[i];
    return number;
}

struct recording {
    uint32_t picks[64], alternatives[64];
    size_t count;
    bool diverged;
};

static void keep_choices(struct sim_world *world, void *context)
{
    struct recording *recording = context;
    const struct sim_choice_log *log = sim_world_choices(world);
    recording->count = 0;
    for (size_t i = 0; i < log->count && i < 64; i++) {
        recording->picks[recording->count] = log->choices[i].picked;
        recording->alternatives[recording->count++] = log->choices[i].n;
    }
    recording->diverged = sim_world_diverged(world);
}

static bool failed;

/* Runs one world with the given driver; what was chosen goes to `recording`. */
static long run_with(struct sim_world_options options, world_body *body,
                     struct recording *recording)
{
    options.log_choices = true;
    struct world_result result = world_try_look(options, body, keep_choices, recording);
    if (result.failed)
        tap_note("%s", result.text);
    failed |= result.outcome != OUTCOME_FINISHED || result.failed;
    return order_number();
}

static struct sim_world_options seeded(uint64_t seed)
{
    struct sim_world_options options = world_options(RANKS);
    options.driver = SIM_CHOOSE_SEED;
    options.seed = seed;
    return options;
}

static struct sim_world_options forced(enum sim_choose_driver driver, const uint32_t *picks,
                                       size_t count)
{
    struct sim_world_options options = world_options(RANKS);
    options.driver = driver;
    options.forced = picks;
    options.forced_count = count;
    return options;
}

static void seeds_decide(void)
{
    struct recording first, again;
    long seen[20];
    int distinct = 0;
    bool same = true;
    for (uint64_t seed = 0; seed < 20; seed++) {
        long once = run_with(seeded(seed), take_any, &first);
        long twice = run_with(seeded(seed), take_any, &again);
        same &= once == twice && first.count == again.count;
        same &= !memcmp(first.picks, again.picks, first.count * sizeof *first.picks);
        int i = 0;
        while (i < distinct && seen[i] != once)
            i++;
        if (i == distinct)
            seen[distinct++] = once;
    }
    tap_ok(same && !failed, "the same seed chooses the same");
    tap_ok(distinct > 10, "different seeds choose differently");
}

static void the_default_is_the_order_of_arrival(void)
{
    struct recording recording;
    long once = run_with(world_options(RANKS), take_any, &recording);
    long again = run_with(world_options(RANKS), take_any, &recording);
    bool zeros = recording.count > 0;
    for (size_t i = 0; i < recording.count; i++)
        zeros &= recording.picks[i] == 0;
    tap_ok(once == again && !failed, "without a driver a world always chooses the same");
    tap_ok(zeros, "namely the first of several");
}

static void recordings_are_replayed(void)
{
    bool same = true, diverged = false;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct recording recording, replayed;
        long once = run_with(seeded(seed), take_any, &recording);
        struct sim_world_options options =
            forced(SIM_CHOOSE_RECORDED, recording.picks, recording.count);
        options.choose_run = true; /* as with the seed */
        long again = run_with(options, take_any, &replayed);
        same &= recording.count == replayed.count;
        same &= once == again;
        diverged |= replayed.diverged;
    }
    tap_ok(same && !diverged && !failed, "a recording leads to the same matching");
    uint32_t wrong[] = {0, 7};
    struct recording recording;
    run_with(forced(SIM_CHOOSE_RECORDED, wrong, 2), take_any, &recording);
    tap_ok(recording.diverged && !failed, "a pick that does not fit is told, and the run goes on");
}

/* Depth-first through all choices: the last pick that can be raised is raised. */
static size_t next_prefix(uint32_t *prefix, const struct recording *recording)
{
    size_t length = recording->count;
    while (length && recording->picks[length - 1] + 1 >= recording->alternatives[length - 1])
        length--;
    memcpy(prefix, recording->picks, length * sizeof *prefix);
    if (length)
        prefix[length - 1]++;
    return length;
}

static int enumerate(world_body *body, bool delay, long *seen, int room, int *runs)
{
    uint32_t prefix[64];
    size_t length = 0;
    int distinct = 0;
    *runs = 0;
    do {
        struct recording recording;
        struct sim_world_options options = forced(SIM_CHOOSE_ENUMERATE, prefix, length);
        options.delay_wildcards = delay;
        long number = run_with(options, body, &recording);
        failed |= recording.diverged || recording.count >= 64;
        int i = 0;
        while (i < distinct && seen[i] != number)
            i++;
        if (i == distinct && distinct < room)
            seen[distinct++] = number;
        length = next_prefix(prefix, &recording);
    } while (length && ++*runs < 2000 && !failed);
    return distinct;
}

/* Without a barrier: whether a message is there when the receive is posted depends on who runs
 * first, so only delayed wildcards reach every matching. */
static void take_as_they_come(int rank, int size)
{
    if (rank) {
        for (int i = 0; i < EACH; i++)
            MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        return;
    }
    order_length = 0;
    for (int i = 0; i < EACH * (size - 1); i++) {
        int got = -1;
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        expect(got == status.MPI_TAG, "got %d", got);
        order[order_length++] = status.MPI_SOURCE;
    }
}

/* The second message of rank 1 is caused by what rank 0 answers to its first receive. */
static void answers_make_messages(int rank, int size)
{
    int value = rank;
    if (rank == 0) {
        order_length = 0;
        for (int i = 0; i < size; i++) {
            MPI_Status status;
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            order[order_length++] = status.MPI_SOURCE;
            if (i == 0)
                MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        }
        return;
    }
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

static void enumerations_reach_all(void)
{
    long seen[200];
    int runs = 0;
    /* Two messages each of three senders: 6! / (2! 2! 2!) orders. */
    int distinct = enumerate(take_any, false, seen, 200, &runs);
    tap_is_int(distinct, 90, "an enumeration reaches every order of waiting messages");
    tap_ok(!failed && runs + 1 == 90, "and none twice");
    distinct = enumerate(take_as_they_come, true, seen, 200, &runs);
    tap_is_int(distinct, 90,
               "with delayed wildcards it reaches those that depend on who runs first");
    /* Messages a, A (after the first receive), b, c; A after a: 4!/2 orders, where A is not first
     * anyway. */
    distinct = enumerate(answers_make_messages, true, seen, 200, &runs);
    tap_is_int(distinct, 12, "and those with messages that an earlier matching makes");
    tap_ok(!failed, "no forced pick was out of place");
}

static void wait_for_any_of_many(int rank, int size)
{
    int value = rank, got[8], index;
    MPI_Request requests[8];
    if (rank) {
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    for (int i = 1; i < size; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, i, 0, MPI_COMM_WORLD, &requests[i - 1]);
    MPI_Barrier(MPI_COMM_WORLD);
    order_length = 0;
    for (int i = 1; i < size; i++) {
        MPI_Waitany(size - 1, requests, &index, MPI_STATUS_IGNORE);
        expect(index >= 0, "index %d", index);
        order[order_length++] = index + 1;
    }
}

static void test_for_any_of_many(int rank, int size)
{
    int value = rank, got[8], index, flag;
    MPI_Request requests[8];
    if (rank) {
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    for (int i = 1; i < size; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, i, 0, MPI_COMM_WORLD, &requests[i - 1]);
    MPI_Barrier(MPI_COMM_WORLD);
    order_length = 0;
    for (int i = 1; i < size; i++) {
        MPI_Testany(size - 1, requests, &index, &flag, MPI_STATUS_IGNORE);
        expect(flag && index >= 0, "index %d", index);
        order[order_length++] = index + 1;
    }
}

static void probe_for_any(int rank, int size)
{
    int value = rank;
    if (rank) {
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    order_length = 0;
    for (int i = 1; i < size; i++) {
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        expect(value == status.MPI_SOURCE, "got %d", value);
        order[order_length++] = value;
    }
}

static void any_completion_may_be_reported(void)
{
    long seen[200];
    int runs;
    tap_is_int(enumerate(wait_for_any_of_many, false, seen, 200, &runs), 6,
               "Waitany may report completed requests in every order");
    tap_is_int(enumerate(test_for_any_of_many, false, seen, 200, &runs), 6, "so may Testany");
    tap_is_int(enumerate(probe_for_any, false, seen, 200, &runs), 6,
               "a probe may see waiting messages in every order");
    tap_ok(!failed, "all those worlds finished");
}

/* ---- alternatives ---- */

struct alternatives {
    bool sound;
    int wildcards;
};

static void look_at_alternatives(struct sim_world *world, void *context)
{
    struct alternatives *found = context;
    const struct sim_choice_log *log = sim_world_choices(world);
    found->sound = true;
    for (size_t i = 0; i < log->count; i++) {
        const struct sim_choice *choice = &log->choices[i];
        if (choice->kind != MPIX_CHOOSE_WILDCARD)
            continue;
        found->wildcards++;
        bool used[RANKS] = {false};
        for (uint32_t a = 0; a < choice->n; a++) {
            const struct sim_alternative *one = &log->alternatives[choice->first_alternative + a];
            found->sound &= one->rank == 0 && one->source > 0 && one->source < RANKS;
            found->sound &= one->number < EACH && !used[one->source];
            used[one->source] = true;
        }
    }
}

static void alternatives_name_senders(void)
{
    struct alternatives found = {0};
    struct sim_world_options options = seeded(5);
    options.log_choices = true;
    world_try_look(options, take_any, look_at_alternatives, &found);
    tap_ok(found.sound && found.wildcards >= EACH,
           "each alternative of a wildcard is the next message of another sender");
}

int main(void)
{
    tap_plan(16);
    the_default_is_the_order_of_arrival();
    seeds_decide();
    recordings_are_replayed();
    enumerations_reach_all();
    any_completion_may_be_reported();
    alternatives_name_senders();
    return tap_done();
}
