/* The hunt for unsound verdicts: what the checker calls impossible must not happen in any run.
 *
 * A random program of 2-4 ranks (messages of every kind, wildcards, batches, collectives, blocking
 * or not) runs once and is recorded; the checker judges the trace. Then the machine runs it again
 * and again, every choice and every turn of the ranks random, under a random progress model, with
 * and without synchronising collectives. A hang under a model that no finding names, or another
 * result where no race was found, fails. SIMRUN_SOAK=N programs from SIMRUN_SEED on; each is run
 * RUNS times. */
#include "checker/check.h"
#include "recorder/recording.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <mpi.h>
#include <mpix.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 4, OPS_MAX = 40, SLOTS_MAX = 16, RUNS = 60 };

/* ---- random numbers ---- */

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
    return dice_below(&random_state, n);
}

/* ---- programs ---- */

enum verb {
    SEND,
    SSEND,
    ISEND,
    RECV,
    IRECV,
    WAIT,
    WAITALL,
    ALLREDUCE,
    IALLREDUCE,
    BCAST,
    BARRIER,
    BATCH,
    END_BATCH
};

struct step {
    uint8_t verb, slot, pair; /* pair: on the communicator of pairs */
    int8_t peer, tag;
};

struct program {
    uint32_t ranks, length[RANKS_MAX], slots[RANKS_MAX];
    struct step steps[RANKS_MAX][OPS_MAX];
    struct step late[RANKS_MAX][SLOTS_MAX]; /* waits for the end */
    uint32_t late_count[RANKS_MAX];
    bool wildcards;
};

static uint8_t add(struct program *program, uint32_t rank, struct step step)
{
    if (step.verb == ISEND || step.verb == IRECV || step.verb == IALLREDUCE)
        step.slot = (uint8_t)program->slots[rank]++;
    program->steps[rank][program->length[rank]++] = step;
    return step.slot;
}

static void add_wait(struct program *program, uint32_t rank, uint8_t slot)
{
    struct step wait = {.verb = WAIT, .slot = slot};
    if (below(2))
        add(program, rank, wait);
    else
        program->late[rank][program->late_count[rank]++] = wait;
}

static void add_message(struct program *program)
{
    uint32_t from = below(program->ranks),
             to = (from + 1 + below(program->ranks - 1)) % program->ranks;
    int8_t tag = (int8_t)below(2);
    static const uint8_t sends[] = {SEND, SEND, SSEND, ISEND};
    struct step send = {.verb = sends[below(4)], .peer = (int8_t)to, .tag = tag};
    uint8_t slot = add(program, from, send);
    if (send.verb == ISEND)
        add_wait(program, from, slot);
    struct step receive = {.verb = below(3) ? RECV : IRECV, .peer = (int8_t)from, .tag = tag};
    if (below(4) == 0)
        receive.peer = -1;
    if (below(6) == 0)
        receive.tag = -1;
    slot = add(program, to, receive);
    if (receive.verb == IRECV)
        add_wait(program, to, slot);
}

static void add_exchange(struct program *program)
{
    uint32_t ranks[2] = {below(program->ranks)};
    ranks[1] = (ranks[0] + 1 + below(program->ranks - 1)) % program->ranks;
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t rank = ranks[side];
        int8_t peer = (int8_t)ranks[1 - side];
        if (side && below(3) == 0) {
            bool receives_first = below(2);
            add(program, rank,
                (struct step){.verb = receives_first ? RECV : SEND, .peer = peer, .tag = 2});
            add(program, rank,
                (struct step){.verb = receives_first ? SEND : RECV, .peer = peer, .tag = 2});
            continue;
        }
        add(program, rank, (struct step){.verb = BATCH});
        uint8_t one = add(program, rank, (struct step){.verb = ISEND, .peer = peer, .tag = 2});
        uint8_t other = add(program, rank, (struct step){.verb = IRECV, .peer = peer, .tag = 2});
        add(program, rank, (struct step){.verb = END_BATCH});
        add(program, rank, (struct step){.verb = WAIT, .slot = one});
        add(program, rank, (struct step){.verb = WAIT, .slot = other});
    }
}

static void add_collective(struct program *program)
{
    static const uint8_t verbs[] = {ALLREDUCE, ALLREDUCE, IALLREDUCE, BCAST, BARRIER};
    uint8_t verb = verbs[below(5)];
    bool pair = below(3) == 0;
    uint32_t first = pair ? below((program->ranks + 1) / 2) * 2 : 0,
             end = pair && first + 2 < program->ranks ? first + 2 : program->ranks;
    for (uint32_t rank = first; rank < end; rank++) {
        uint8_t slot = add(program, rank, (struct step){.verb = verb, .pair = pair});
        if (verb == IALLREDUCE)
            add_wait(program, rank, slot);
    }
}

/* Two neighbours that may change places without ending up before what they need. */
static bool may_swap(const struct step *a, const struct step *b)
{
    bool shape = a->verb == WAIT || b->verb == WAIT || a->verb == BATCH || b->verb == BATCH ||
                 a->verb == END_BATCH || b->verb == END_BATCH;
    bool collective = a->verb >= ALLREDUCE && b->verb >= ALLREDUCE && a->pair == b->pair;
    return !shape && !collective;
}

static struct program program_new(void)
{
    struct program program = {.ranks = 2 + below(3)};
    for (uint32_t things = 2 + below(4); things-- > 0;) {
        uint32_t which = below(8);
        if (which < 5)
            add_message(&program);
        else if (which < 6)
            add_exchange(&program);
        else
            add_collective(&program);
    }
    for (uint32_t rank = 0; rank < program.ranks; rank++) {
        for (uint32_t i = 0; i + 1 < program.length[rank]; i++) {
            struct step *a = &program.steps[rank][i], kept = *a;
            if (below(6) == 0 && may_swap(a, a + 1)) {
                *a = a[1];
                a[1] = kept;
            }
        }
        for (uint32_t i = 0; i < program.late_count[rank]; i++)
            add(&program, rank, program.late[rank][i]);
    }
    for (uint32_t rank = 0; rank < program.ranks; rank++)
        for (uint32_t i = 0; i < program.length[rank]; i++)
            program.wildcards |= program.steps[rank][i].peer < 0;
    return program;
}

/* ---- one run ---- */

struct scene {
    const struct program *program;
    struct recording *recording; /* NULL: nothing is recorded */
    int values[RANKS_MAX][OPS_MAX], sent[RANKS_MAX][OPS_MAX];
};

static void run_step(struct scene *scene, int rank, uint32_t at, MPI_Request *requests,
                     MPI_Comm pairs)
{
    const struct step *step = &scene->program->steps[rank][at];
    int *value = &scene->values[rank][at], *out = &scene->sent[rank][at];
    int peer = step->peer < 0 ? MPI_ANY_SOURCE : step->peer,
        tag = step->tag < 0 ? MPI_ANY_TAG : step->tag;
    MPI_Comm comm = step->pair ? pairs : MPI_COMM_WORLD;
    *out = rank * 100 + (int)at;
    switch ((enum verb)step->verb) {
    case SEND:
        MPI_Send(out, 1, MPI_INT, peer, tag, MPI_COMM_WORLD);
        break;
    case SSEND:
        MPI_Ssend(out, 1, MPI_INT, peer, tag, MPI_COMM_WORLD);
        break;
    case ISEND:
        MPI_Isend(out, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[step->slot]);
        break;
    case RECV:
        MPI_Recv(value, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case IRECV:
        MPI_Irecv(value, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[step->slot]);
        break;
    case WAIT:
        MPI_Wait(&requests[step->slot], MPI_STATUS_IGNORE);
        break;
    case WAITALL:
        MPI_Waitall(SLOTS_MAX, requests, MPI_STATUSES_IGNORE);
        break;
    case ALLREDUCE:
        MPI_Allreduce(out, value, 1, MPI_INT, MPI_SUM, comm);
        break;
    case IALLREDUCE:
        MPI_Iallreduce(out, value, 1, MPI_INT, MPI_SUM, comm, &requests[step->slot]);
        break;
    case BCAST:
        *value = *out;
        MPI_Bcast(value, 1, MPI_INT, 0, comm);
        break;
    case BARRIER:
        MPI_Barrier(comm);
        break;
    case BATCH:
        SIM_Batch_begin();
        break;
    case END_BATCH:
        SIM_Batch_end();
        break;
    }
}

static int run_rank(void *context, int rank)
{
    struct scene *scene = context;
    MPI_Request requests[SLOTS_MAX];
    MPI_Comm pairs;
    for (int i = 0; i < SLOTS_MAX; i++)
        requests[i] = MPI_REQUEST_NULL;
    if (scene->recording)
        recording_rank_begin(scene->recording);
    MPI_Init(NULL, NULL);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pairs);
    for (uint32_t at = 0; at < scene->program->length[rank]; at++)
        run_step(scene, rank, at, requests, pairs);
    MPI_Comm_free(&pairs);
    MPI_Finalize();
    return 0;
}

static enum trace_outcome run_world(struct scene *scene, const struct sim_world_options *options)
{
    struct failure failure;
    memset(scene->values, 0, sizeof scene->values);
    struct sim_world *world = sim_world_new(options, &failure);
    if (!world)
        return OUTCOME_ABORTED;
    enum trace_outcome outcome = sim_world_run(world, run_rank, scene);
    for (int r = 0; scene->recording && r < options->ranks; r++)
        recording_rank_end(scene->recording, (uint32_t)r, sim_world_rank_state(world, r), 0, NULL);
    sim_world_free(world);
    return outcome;
}

static struct sim_world_options world_options(const struct program *program)
{
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = (int)program->ranks;
    return options;
}

/* ---- what the checker says ---- */

struct verdict {
    unsigned hangs; /* enum check_model: where some finding says that it may hang */
    bool races;     /* or that messages or calls may cross */
};

static struct verdict verdict_of(const struct findings *findings, bool has_batches)
{
    struct verdict verdict = {0};
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->code[0] == 'R')
            verdict.races = true;
        if (finding->code[0] != 'D')
            continue;
        for (unsigned model = CHECK_EAGER; model <= CHECK_BATCH; model <<= 1)
            if (strstr(finding->models, check_model_name((enum check_model)model)))
                verdict.hangs |= model;
    }
    if (!has_batches && verdict.hangs & CHECK_RENDEZVOUS)
        verdict.hangs |= CHECK_BATCH; /* without batches the two are one */
    return verdict;
}

static bool has_batches(const struct program *program)
{
    for (uint32_t rank = 0; rank < program->ranks; rank++)
        for (uint32_t i = 0; i < program->length[rank]; i++)
            if (program->steps[rank][i].verb == BATCH)
                return true;
    return false;
}

/* False: the first run itself did not end, which is D001's business. */
static bool judge(struct scene *scene, struct verdict *verdict)
{
    struct failure failure = {0};
    struct sim_world_options options = world_options(scene->program);
    scene->recording = recording_new(scene->program->ranks, RECORD_LEVEL_OPS, &failure);
    enum trace_outcome outcome = run_world(scene, &options);
    struct trace *trace = recording_load(
        scene->recording,
        &(struct recording_result){.outcome = outcome, .program = "soundness", .model = "eager"},
        &failure);
    recording_ranks_release(scene->recording);
    recording_free(scene->recording);
    scene->recording = NULL;
    if (trace && outcome == OUTCOME_FINISHED) {
        struct check_options checks;
        struct findings findings;
        check_options_init(&checks);
        findings_init(&findings);
        check_trace(trace, &checks, &findings);
        *verdict = verdict_of(&findings, has_batches(scene->program));
        findings_release(&findings);
    }
    if (!trace)
        tap_note("not recorded: %s", failure.text);
    trace_free(trace);
    return trace && outcome == OUTCOME_FINISHED;
}

/* ---- the hunt ---- */

struct tally {
    unsigned long long programs, runs, hangs, foretold, unsound, differ;
    unsigned safe, racing, wildcard_safe;
};

static void show(const struct program *program)
{
    static const char *const verbs[] = {"send",    "ssend",   "isend",     "recv",       "irecv",
                                        "wait",    "waitall", "allreduce", "iallreduce", "bcast",
                                        "barrier", "batch",   "end"};
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        char line[1200] = "";
        for (uint32_t i = 0; i < program->length[rank]; i++) {
            const struct step *step = &program->steps[rank][i];
            size_t used = strlen(line);
            snprintf(line + used, sizeof line - used, " %s%s(%d,%d,%u)", verbs[step->verb],
                     step->pair ? "/pair" : "", step->peer, step->tag, step->slot);
        }
        tap_note("  rank %u:%s", rank, line);
    }
}

static void hunt(unsigned long long seed, struct tally *tally)
{
    static struct scene scene;
    int expected[RANKS_MAX][OPS_MAX];
    struct verdict verdict;
    random_state = seed;
    struct program program = program_new();
    scene.program = &program;
    if (!judge(&scene, &verdict))
        return;
    memcpy(expected, scene.values, sizeof expected);
    tally->programs++;
    tally->safe += !verdict.hangs && !verdict.races;
    tally->racing += verdict.races;
    tally->wildcard_safe += program.wildcards && !verdict.hangs && !verdict.races;
    bool wrong = false;
    for (uint32_t run = 0; run < RUNS; run++) {
        struct sim_world_options options = world_options(&program);
        unsigned model = below(3);
        options.driver = SIM_CHOOSE_SEED;
        options.seed = seed * RUNS + run + 1;
        options.send_model = (enum sim_send_model)model;
        options.strict_collectives = below(2);
        enum trace_outcome outcome = run_world(&scene, &options);
        bool hung = outcome != OUTCOME_FINISHED, may = verdict.races || verdict.hangs >> model & 1,
             differs = !hung && !verdict.races && memcmp(expected, scene.values, sizeof expected);
        tally->runs++;
        tally->hangs += hung;
        tally->foretold += hung && may;
        tally->unsound += hung && !may;
        tally->differ += differs;
        if (!wrong && ((hung && !may) || differs)) {
            wrong = true;
            tap_note("SIMRUN_SEED=%llu, run seed %llu, %s%s: %s", seed,
                     (unsigned long long)options.seed,
                     check_model_name((enum check_model)(1u << model)),
                     options.strict_collectives ? ", synchronising" : "",
                     hung ? "hangs" : "another result");
            show(&program);
        }
    }
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(2000);
    unsigned long long seed = seeds.first, programs = seeds.count;
    struct tally tally = {0};
    for (unsigned long long i = 0; i < programs; i++)
        hunt(seed + i, &tally);
    tap_note("seeds %llu to %llu: %llu programs (%u called safe, %u of them with wildcards; %u "
             "race), %llu runs, %llu hangs, %llu of them foretold",
             seed, seed + programs - 1, tally.programs, tally.safe, tally.wildcard_safe,
             tally.racing, tally.runs, tally.hangs, tally.foretold);
    tap_is_int(tally.unsound, 0, "no run hangs that the checker called safe");
    tap_is_int(tally.differ, 0, "no run ends differently where the checker found no race");
    tap_ok(tally.programs * 10 > programs * 6, "most programs end");
    tap_ok(tally.safe * 10 > tally.programs && tally.safe < tally.programs && tally.hangs > 100,
           "some are safe, some are not");
    return tap_done();
}
