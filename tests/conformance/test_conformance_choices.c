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

/* ---- many messages ahead ---- */

enum { CROWD = 13, STEPS = 150, TAGS = 3 };

/* The box of rank 0 as it must be, and the choices among what is in it. */
static struct backlog {
    uint64_t dice;
    int senders, ahead; /* how many are sent before the first receive */
    struct {
        int source, tag, number;
        bool taken;
    } messages[STEPS];
    int count, numbers[CROWD];
    struct {
        int n, sources[CROWD], numbers[CROWD];
    } choices[STEPS];
    int choice_count;
} backlog;

/* The first fitting message of each sender, in the order in which they came. */
static int could_be_taken(int tag, int found[CROWD])
{
    int n = 0;
    for (int i = 0; i < backlog.count; i++) {
        bool fits =
            !backlog.messages[i].taken && (tag == MPI_ANY_TAG || tag == backlog.messages[i].tag);
        for (int k = 0; fits && k < n; k++)
            fits = backlog.messages[found[k]].source != backlog.messages[i].source;
        if (fits)
            found[n++] = i;
    }
    return n;
}

static void take_one(int tag, bool looks_first)
{
    int found[CROWD], n = could_be_taken(tag, found), got = -1, picked = -1;
    MPI_Status status;
    if (n > 1) {
        backlog.choices[backlog.choice_count].n = n;
        for (int i = 0; i < n; i++) {
            backlog.choices[backlog.choice_count].sources[i] = backlog.messages[found[i]].source;
            backlog.choices[backlog.choice_count].numbers[i] = backlog.messages[found[i]].number;
        }
        backlog.choice_count++;
    }
    if (!n)
        return;
    if (looks_first) {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    }
    for (int i = 0; i < n; i++)
        if (backlog.messages[found[i]].source == status.MPI_SOURCE)
            picked = found[i];
    if (!expect(picked >= 0, "from %d, who had sent nothing of tag %d", status.MPI_SOURCE, tag))
        return;
    expect(got == backlog.messages[picked].number && status.MPI_TAG == backlog.messages[picked].tag,
           "message %d of %d, not %d", got, status.MPI_SOURCE, backlog.messages[picked].number);
    backlog.messages[picked].taken = true;
}

/* One message a step, and a barrier: all have come in this order. */
static void run_ahead(int rank, int size)
{
    uint64_t dice = backlog.dice;
    (void)size;
    for (int step = 0; step < STEPS; step++) {
        int sender = 1 + (int)dice_below(&dice, (uint32_t)backlog.senders);
        int tag = (int)dice_below(&dice, TAGS), wanted = (int)dice_below(&dice, TAGS + 1);
        bool takes = dice_below(&dice, 4) && step >= backlog.ahead,
             looks = dice_below(&dice, 3) == 0;
        int number = rank == sender ? backlog.numbers[sender]++ : 0;
        if (rank == sender) {
            backlog.messages[backlog.count].source = sender;
            backlog.messages[backlog.count].tag = tag;
            backlog.messages[backlog.count++].number = number;
            MPI_Send(&number, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0 && takes)
            take_one(wanted < TAGS ? wanted : MPI_ANY_TAG, looks);
        if (takes) /* nobody goes on before */
            MPI_Barrier(MPI_COMM_WORLD);
    }
    while (rank == 0 && could_be_taken(MPI_ANY_TAG, (int[CROWD]){0}))
        take_one(MPI_ANY_TAG, false);
}

static void look_at_backlog(struct sim_world *world, void *context)
{
    const struct sim_choice_log *log = sim_world_choices(world);
    bool *sound = context;
    int at = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct sim_choice *choice = &log->choices[i];
        if (choice->kind != MPIX_CHOOSE_WILDCARD || choice->n < 2)
            continue;
        bool same = at < backlog.choice_count && backlog.choices[at].n == (int)choice->n;
        for (uint32_t a = 0; same && a < choice->n; a++) {
            const struct sim_alternative *one = &log->alternatives[choice->first_alternative + a];
            same = one->source == (uint32_t)backlog.choices[at].sources[a] &&
                   one->number == (uint32_t)backlog.choices[at].numbers[a];
        }
        *sound &= same;
        at++;
    }
    *sound &= at == backlog.choice_count;
}

static void backlogs_are_chosen_from(void)
{
    static const int senders[] = {1, 2, 3, 5, CROWD - 1};
    struct dice_seeds seeds = dice_seeds(20);
    int wrong = 0, choices = 0;
    for (unsigned long long i = 0; i < seeds.count; i++) {
        unsigned long long seed = seeds.first + i;
        struct sim_world_options options = seeded(seed);
        bool sound = true;
        options.ranks = CROWD;
        options.log_choices = true;
        options.delay_wildcards = seed % 4 == 3;
        options.delay_receives = false;
        memset(&backlog, 0, sizeof backlog);
        backlog.dice = seed;
        backlog.senders = senders[seed % 5];
        backlog.ahead = seed % 3 ? STEPS * 2 / 3 : 0;
        struct world_result got = world_try_look(options, run_ahead, look_at_backlog, &sound);
        choices += backlog.choice_count;
        if (got.outcome == OUTCOME_FINISHED && !got.failed && sound)
            continue;
        if (wrong++ < 5)
            tap_note("seed %llu: outcome %d, choices %s, %s", seed, (int)got.outcome,
                     sound ? "sound" : "unsound", got.text);
    }
    tap_ok(!wrong && choices >= (int)seeds.count * 40,
           "of many messages ahead a wildcard may take each sender's first, in the order in which "
           "they came: %d choices",
           choices);
}

/* ---- a receive from anybody that is cancelled ---- */

static int cancelled_in_time;

/* Two messages are there, and behind the receive from anybody stand others: it takes one, or it is cancelled and all is theirs. */
static void cancel_before_others(int rank, int size)
{
    int first = -1, got[2] = {-1, -1}, gone = 0;
    (void)size;
    if (rank == 1)
        for (int i = 0; i < 2; i++)
            MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    MPI_Request claims, behind[2];
    if (rank == 0) {
        MPI_Irecv(&first, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &claims);
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&got[i], 1, MPI_INT, 1, i ? MPI_ANY_TAG : 5, MPI_COMM_WORLD, &behind[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank)
        return;
    MPI_Status status;
    MPI_Cancel(&claims);
    expect_ok(MPI_Wait(&claims, &status));
    MPI_Test_cancelled(&status, &gone);
    expect_ok(MPI_Wait(&behind[0], MPI_STATUS_IGNORE));
    expect(gone ? first == -1 && got[0] == 0 : first == 0 && got[0] == 1, "%s: %d %d",
           gone ? "cancelled" : "too late", first, got[0]);
    if (gone)
        expect_ok(MPI_Wait(&behind[1], MPI_STATUS_IGNORE));
    else
        MPI_Cancel(&behind[1]);
    if (!gone)
        expect_ok(MPI_Wait(&behind[1], MPI_STATUS_IGNORE));
    expect(got[1] == (gone ? 1 : -1), "the last has %d", got[1]);
    cancelled_in_time += gone;
}

static void what_stands_behind_goes_on(void)
{
    int wrong = 0;
    cancelled_in_time = 0;
    for (int i = 0; i < 16; i++) {
        struct sim_world_options options = seeded((uint64_t)i);
        options.ranks = 2;
        options.delay_wildcards = true;
        options.log_choices = i % 2; /* it explores */
        struct world_result got = world_try(options, cancel_before_others);
        if ((got.outcome != OUTCOME_FINISHED || got.failed || !got.looked_at) && !wrong++)
            tap_note("seed %d: outcome %d, %s", i, (int)got.outcome, got.text);
    }
    tap_ok(!wrong && cancelled_in_time,
           "what a cancelled receive stood before has its messages: %d", cancelled_in_time);
}

int main(void)
{
    tap_plan(18);
    the_default_is_the_order_of_arrival();
    seeds_decide();
    recordings_are_replayed();
    enumerations_reach_all();
    any_completion_may_be_reported();
    alternatives_name_senders();
    backlogs_are_chosen_from();
    what_stands_behind_goes_on();
    return tap_done();
}
