/* Worlds that follow another one: in random programs, whose ranks receive from any source, wait for any of several requests and poll, each
 * rank learns what it learned there, call by call, though the worlds run their ranks in different orders. Without following they differ. And
 * the list of answers against one that keeps each by itself. */
#include "tests/dice.h"
#include "tests/world_harness.h"

enum { RANKS = 4, PROGRAMS = 150, PHASES = 5, MESSAGES = 3, LOG = 4000, CASES = 2000 };
enum form {
    RECV,
    IRECV,
    PROBE,
    MPROBE,
    WAITANY,
    WAITSOME,
    TESTANY,
    TESTSOME,
    TEST,
    TESTALL,
    LOOK,
    IPROBE,
    IMPROBE,
    FORMS
};

static uint64_t program;
static int told[RANKS][LOG], tellings[RANKS];

static void tell(int rank, int what)
{
    if (tellings[rank] < LOG)
        told[rank][tellings[rank]++] = what;
}

static bool polls(enum form form)
{
    return form >= TESTANY;
}

/* The messages of a phase that come, by requests. */
static void complete(int rank, enum form form, int tag)
{
    MPI_Request requests[RANKS * MESSAGES];
    int values[RANKS * MESSAGES], places[RANKS * MESSAGES], count = RANKS * MESSAGES, left = count;
    MPI_Status status, statuses[RANKS * MESSAGES];
    for (int i = 0; i < count; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, i % RANKS, tag, MPI_COMM_WORLD, &requests[i]);
    while (left > 0) {
        int some = 0, flag = 0;
        if (form == WAITANY || form == TESTANY) {
            flag = form == WAITANY;
            if (flag)
                expect_ok(MPI_Waitany(count, requests, places, &status));
            else
                expect_ok(MPI_Testany(count, requests, places, &flag, &status));
            some = flag;
            expect(!flag || status.MPI_SOURCE == places[0] % RANKS, "another source");
        } else if (form == WAITSOME) {
            expect_ok(MPI_Waitsome(count, requests, &some, places, statuses));
        } else if (form == TESTSOME) {
            expect_ok(MPI_Testsome(count, requests, &some, places, statuses));
        } else if (form == TESTALL) {
            expect_ok(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
            some = flag ? count : 0;
        }
        for (int i = 0; i < count && (form == TEST || form == LOOK) && !some; i++) {
            if (requests[i] == MPI_REQUEST_NULL)
                continue;
            if (form == TEST)
                expect_ok(MPI_Test(&requests[i], &some, &status));
            else
                expect_ok(MPI_Request_get_status(requests[i], &some, &status));
            if (some && form == LOOK)
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            places[0] = i;
        }
        tell(rank, 1000 * some);
        for (int i = 0; i < some && form != TESTALL; i++) {
            tell(rank, places[i]);
            expect(requests[places[i]] == MPI_REQUEST_NULL, "done, and still there");
            expect(values[places[i]] % RANKS == places[i] % RANKS, "another's value");
        }
        left -= some;
    }
}

/* And one by one, from whoever sends. */
static void collect(int rank, enum form form, int tag)
{
    int values[RANKS * MESSAGES];
    MPI_Request requests[RANKS * MESSAGES];
    for (int i = 0; i < RANKS * MESSAGES; i++) {
        MPI_Status status = {.MPI_SOURCE = -7};
        MPI_Message message;
        int seen = !polls(form);
        if (form == RECV)
            MPI_Recv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
        else if (form == IRECV)
            MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &requests[i]);
        else if (form == PROBE)
            MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
        else if (form == MPROBE)
            MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status);
        while (!seen) {
            if (form == IPROBE)
                MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &seen, &status);
            else
                MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &seen, &message, &status);
            tell(rank, seen);
        }
        if (form == PROBE || form == IPROBE)
            MPI_Recv(&values[i], 1, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        else if (form == MPROBE || form == IMPROBE)
            MPI_Mrecv(&values[i], 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        if (form != IRECV)
            expect(values[i] % RANKS == status.MPI_SOURCE, "another's value");
    }
    if (form == IRECV)
        MPI_Waitall(RANKS * MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < RANKS * MESSAGES; i++)
        tell(rank, values[i]);
}

/* In each phase all send to two ranks, which take what comes in a way of the phase's. */
static void body(int rank, int size)
{
    (void)size;
    for (int phase = 0; phase < PHASES; phase++) {
        uint64_t dice = program * 100 + (uint64_t)phase;
        enum form form = dice_below(&dice, FORMS);
        int first = (int)dice_below(&dice, RANKS), second = (first + 1) % RANKS;
        MPI_Request sends[2 * MESSAGES];
        int values[MESSAGES], count = 0;
        for (int i = 0; i < MESSAGES; i++) {
            int late = (int)dice_below(&dice, 3), seen;
            for (int k = 0; k < late * rank; k++)
                MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &seen, MPI_STATUS_IGNORE);
            values[i] = i * RANKS + rank;
            MPI_Isend(&values[i], 1, MPI_INT, first, phase, MPI_COMM_WORLD, &sends[count++]);
            MPI_Isend(&values[i], 1, MPI_INT, second, phase, MPI_COMM_WORLD, &sends[count++]);
        }
        bool collects = form <= MPROBE || form >= IPROBE;
        if (rank == first || rank == second)
            (collects ? collect : complete)(rank, form, phase);
        MPI_Waitall(count, sends, MPI_STATUSES_IGNORE);
    }
}

struct run {
    int told[RANKS][LOG], tellings[RANKS];
    bool well;
};

static struct run run(uint64_t seed, struct sim_answers *noted, const struct sim_answers *followed)
{
    static struct run run;
    struct sim_world_options options = world_options(RANKS);
    options.driver = SIM_CHOOSE_SEED;
    options.seed = seed;
    options.answers_noted = noted;
    options.answers_followed = followed;
    memset(tellings, 0, sizeof tellings);
    struct world_result result = world_try(options, body);
    run.well = result.outcome == OUTCOME_FINISHED && !result.failed;
    memcpy(run.told, told, sizeof told);
    memcpy(run.tellings, tellings, sizeof tellings);
    return run;
}

static bool same(const struct run *a, const struct run *b)
{
    for (int r = 0; r < RANKS; r++)
        if (a->tellings[r] != b->tellings[r] ||
            memcmp(a->told[r], b->told[r], (size_t)a->tellings[r] * sizeof(int)) != 0)
            return false;
    return true;
}

static void test_worlds(void)
{
    int ill = 0, others = 0, alone = 0;
    struct dice_part part = dice_part();
    for (program = 1 + part.number; program <= PROGRAMS; program += part.of) {
        static struct run first, again, free_one;
        struct sim_answers answers[RANKS] = {0};
        first = run(program, answers, NULL);
        again = run(program + 1000, NULL, answers);
        free_one = run(program + 1000, NULL, NULL);
        ill += !first.well + !again.well + !free_one.well;
        others += !same(&first, &again);
        alone += !same(&first, &free_one);
        for (int r = 0; r < RANKS; r++) {
            ill += answers[r].unsure || answers[r].missed;
            free(answers[r].of);
        }
    }
    tap_is_int(ill, 0, "all worlds end, and note all that their ranks learn");
    tap_is_int(others, 0,
               "in a world that follows another one each rank learns the same, call by call");
    tap_ok(alone > (int)(PROGRAMS / part.of / 2),
           "which it does not in one that does not follow (%d of %d)", alone, PROGRAMS);
}

/* One that polls while another works is told "not yet" as often where nobody works: so long that it would be a livelock. */
enum { WORK = 30000 };
static int worked, polled;

static void waits_for_work(int rank, int size)
{
    int value = 0, flag = 0;
    MPI_Request request;
    (void)size;
    for (int i = 0; rank == 1 && i < worked; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, 0, 1, &value, 1, MPI_INT, 0, 1, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    if (rank == 1) {
        MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        return;
    }
    MPI_Irecv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
    for (polled = 0; !flag; polled++)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void test_patience(void)
{
    struct sim_answers answers[2] = {0};
    struct sim_world_options options = world_options(2);
    options.answers_noted = answers;
    worked = WORK;
    world_try(options, waits_for_work);
    int before = polled;
    worked = 0;
    options.answers_noted = NULL;
    options.answers_followed = answers;
    tap_is_int(world_try(options, waits_for_work).outcome, OUTCOME_FINISHED,
               "who is told that nothing has come does not make a livelock");
    tap_ok(before > 10000 && polled == before, "and polls as often (%d, %d times)", polled, before);
    free(answers[0].of);
    free(answers[1].of);
}

/* What cannot be followed is said. */
static void cancels(int rank, int size)
{
    MPI_Request request;
    int value, seen;
    (void)rank, (void)size;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &seen, MPI_STATUS_IGNORE);
}

static void test_missed(void)
{
    struct sim_answers answers[2] = {0};
    struct sim_world_options options = world_options(2);
    options.answers_noted = answers;
    world_try(options, cancels);
    tap_is_int((int)answers[1].count, 1, "behind a cancelled receive nothing is noted");
    tap_is_int((int)answers[1].missed, 4, "and what is not noted is counted");
    free(answers[0].of);
    free(answers[1].of);
}

static void test_list(void)
{
    int wrong = 0;
    uint64_t dice = 5;
    for (int i = 0; i < CASES; i++) {
        struct sim_answers answers = {0};
        struct sim_answers_place place = {0};
        enum { MOST = 60 };
        int asked[MOST], values[MOST], count = (int)dice_below(&dice, MOST), value = 0;
        size_t numbers[MOST];
        for (int k = 0; k < count; k++) {
            bool repeat = k > 0 && dice_below(&dice, 3) > 0;
            asked[k] = repeat ? asked[k - 1] : (int)dice_below(&dice, SIM_ASKED_POLL + 1);
            values[k] = repeat ? values[k - 1] : (int)dice_below(&dice, 4) - 1;
            numbers[k] = sim_answers_note(&answers, (enum sim_asked)asked[k], values[k]);
            wrong += !numbers[k];
        }
        for (int k = 0; k < count; k++)
            if (asked[k] == SIM_ASKED_SENDER) {
                values[k] = (int)dice_below(&dice, 4) - 1;
                sim_answers_know(&answers, numbers[k], values[k]);
            }
        int other = (int)dice_below(&dice, 2 * MOST); /* there the rank asks something else */
        bool lost = false;
        for (int k = 0; k < count + 2; k++) {
            lost = lost || k >= count || k == other;
            int ask = k >= count   ? 0
                      : k == other ? (asked[k] + 1) % (SIM_ASKED_POLL + 1)
                                   : asked[k];
            bool got = sim_answers_next(&answers, &place, (enum sim_asked)ask, &value);
            wrong += got == lost || (got && value != values[k]);
        }
        free(answers.of);
    }
    tap_is_int(wrong, 0,
               "a list gives back each answer in its turn, and none once something else was asked");
}

/* No more is kept than was said, and what is not is counted. */
static void test_most(void)
{
    struct sim_answers answers = {.most = 40};
    for (int i = 0; i < 100; i++)
        sim_answers_note(&answers, SIM_ASKED_WHICH, i);
    for (int i = 0; i < 100; i++)
        sim_answers_note(&answers, SIM_ASKED_POLL, -1);
    tap_ok(answers.count >= 20 && answers.count <= 40 && answers.missed == 200 - answers.count,
           "a full list says how many it has not (%d kept)", (int)answers.count);
    free(answers.of);
}

int main(void)
{
    test_most();
    test_worlds();
    test_patience();
    test_missed();
    test_list();
    return tap_done();
}
