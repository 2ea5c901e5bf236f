/* The hunt for false findings in programs that poll.
 *
 * What a rank does after MPI_Test or MPI_Iprobe may depend on the answer, and under another
 * progress model the answer may be another. A random program of 2-3 ranks runs once with eager
 * sends; where a poll says no, the two steps after it change places. A hang that the checker
 * foretells for rendezvous sends must then happen in some run with them, under random turns of the
 * ranks. SIMRUN_SOAK=N programs from SIMRUN_SEED on. */
#include "checker/check.h"
#include "recorder/recording.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 3, OPS_MAX = 24, SLOTS_MAX = 12, RUNS_MAX = 3000 };

/* ---- programs ---- */

enum verb { SEND, SSEND, ISEND, RECV, IRECV, WAIT, TEST, TESTANY, PROBE };

struct step {
    uint8_t verb, slot;
    int8_t peer, tag;
    bool turns_on; /* a poll: the answer with which the two steps after it change places */
};

struct program {
    uint32_t ranks, length[RANKS_MAX], slots[RANKS_MAX];
    struct step steps[RANKS_MAX][OPS_MAX];
    uint32_t polls;
};

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

static void add(struct program *program, uint32_t rank, struct step step)
{
    program->steps[rank][program->length[rank]++] = step;
}

/* A poll for what is there: a request of the rank, or a message of this peer. */
static void add_poll(struct program *program, uint32_t rank, int8_t peer)
{
    struct step poll = {.verb = PROBE, .peer = peer, .tag = (int8_t)below(2)};
    if (program->slots[rank] && below(3))
        poll = (struct step){.verb = below(2) ? TEST : TESTANY,
                             .slot = (uint8_t)below(program->slots[rank])};
    poll.turns_on = below(2);
    program->polls++;
    add(program, rank, poll);
}

/* Sends come before their receives in the order of all, so that eager sends always end. */
static void add_message(struct program *program)
{
    static const uint8_t sends[] = {SEND, SEND, SSEND, ISEND};
    uint32_t from = below(program->ranks);
    uint32_t to = (from + 1 + below(program->ranks - 1)) % program->ranks;
    int8_t tag = (int8_t)below(2);
    struct step send = {.verb = sends[below(4)], .peer = (int8_t)to, .tag = tag};
    struct step receive = {.verb = below(3) ? RECV : IRECV, .peer = (int8_t)from, .tag = tag};
    if (below(2))
        add_poll(program, from, (int8_t)to);
    send.slot = (uint8_t)program->slots[from];
    program->slots[from] += send.verb == ISEND;
    add(program, from, send);
    if (below(2))
        add_poll(program, to, (int8_t)from);
    receive.slot = (uint8_t)program->slots[to];
    program->slots[to] += receive.verb == IRECV;
    add(program, to, receive);
}

/* A standard send may move before a receive: that is where rendezvous sends can hang. */
static void hurry_sends(struct program *program, uint32_t rank)
{
    for (uint32_t at = 0; at + 1 < program->length[rank]; at++) {
        struct step *step = &program->steps[rank][at], kept = *step;
        if (step->verb == RECV && step[1].verb == SEND && below(3)) {
            *step = step[1];
            step[1] = kept;
        }
    }
}

static struct program program_new(void)
{
    struct program program = {.ranks = 2 + below(2)};
    for (uint32_t messages = 2 + below(3); messages-- > 0;)
        add_message(&program);
    for (uint32_t rank = 0; rank < program.ranks; rank++)
        hurry_sends(&program, rank);
    for (uint32_t rank = 0; rank < program.ranks; rank++)
        for (uint8_t slot = 0; slot < program.slots[rank]; slot++)
            add(&program, rank, (struct step){.verb = WAIT, .slot = slot});
    return program;
}

/* ---- one run ---- */

struct scene {
    const struct program *program;
    struct recording *recording; /* NULL: nothing is recorded */
    bool heeded_no;              /* in the recorded run a rank acted on a poll that said no */
    uint64_t turns; /* dice: where a rank lets others go first, which polls in vain do */
};

static void let_others_go(struct scene *scene)
{
    int flag;
    for (uint32_t polls = scene->recording ? 0 : dice_below(&scene->turns, 3); polls-- > 0;)
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* What a poll said, else true. */
static bool run_step(struct scene *scene, const struct step *step, MPI_Request *requests)
{
    static const int out = 1;
    int in, index, flag = 1;
    let_others_go(scene);
    switch ((enum verb)step->verb) {
    case SEND:
        MPI_Send(&out, 1, MPI_INT, step->peer, step->tag, MPI_COMM_WORLD);
        break;
    case SSEND:
        MPI_Ssend(&out, 1, MPI_INT, step->peer, step->tag, MPI_COMM_WORLD);
        break;
    case ISEND:
        MPI_Isend(&out, 1, MPI_INT, step->peer, step->tag, MPI_COMM_WORLD, &requests[step->slot]);
        break;
    case RECV:
        MPI_Recv(&in, 1, MPI_INT, step->peer, step->tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case IRECV: {
        static _Thread_local int ins[SLOTS_MAX];
        MPI_Irecv(&ins[step->slot], 1, MPI_INT, step->peer, step->tag, MPI_COMM_WORLD,
                  &requests[step->slot]);
        break;
    }
    case WAIT:
        MPI_Wait(&requests[step->slot], MPI_STATUS_IGNORE);
        break;
    case TEST:
        MPI_Test(&requests[step->slot], &flag, MPI_STATUS_IGNORE);
        break;
    case TESTANY:
        MPI_Testany(step->slot + 1, requests, &index, &flag, MPI_STATUS_IGNORE);
        break;
    case PROBE:
        MPI_Iprobe(step->peer, step->tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        break;
    }
    return flag;
}

/* A poll after which the next two steps, both messages, may change places. */
static bool may_turn(const struct program *program, int rank, uint32_t at)
{
    const struct step *steps = program->steps[rank];
    return steps[at].verb > WAIT && at + 2 < program->length[rank] && steps[at + 1].verb < WAIT &&
           steps[at + 2].verb < WAIT;
}

static int run_rank(void *context, int rank)
{
    struct scene *scene = context;
    const struct program *program = scene->program;
    const struct step *steps = program->steps[rank];
    MPI_Request requests[SLOTS_MAX];
    for (int i = 0; i < SLOTS_MAX; i++)
        requests[i] = MPI_REQUEST_NULL;
    if (scene->recording)
        recording_rank_begin(scene->recording);
    MPI_Init(NULL, NULL);
    for (uint32_t at = 0; at < program->length[rank]; at++) {
        bool yes = run_step(scene, &steps[at], requests);
        if (!may_turn(program, rank, at))
            continue;
        scene->heeded_no = scene->heeded_no || !yes;
        if (yes != steps[at].turns_on)
            continue;
        run_step(scene, &steps[at + 2], requests);
        run_step(scene, &steps[at + 1], requests);
        at += 2;
    }
    MPI_Finalize();
    return 0;
}

static enum trace_outcome run_world(struct scene *scene, const struct sim_world_options *options)
{
    struct failure failure;
    struct sim_world *world = sim_world_new(options, &failure);
    if (!world)
        return OUTCOME_ABORTED;
    enum trace_outcome outcome = sim_world_run(world, run_rank, scene);
    for (int r = 0; scene->recording && r < options->ranks; r++)
        recording_rank_end(scene->recording, (uint32_t)r, sim_world_rank_state(world, r), 0, NULL);
    sim_world_free(world);
    return outcome;
}

static struct sim_world_options world_options(const struct program *program, uint64_t seed)
{
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = (int)program->ranks;
    options.driver = SIM_CHOOSE_SEED;
    options.seed = seed;
    return options;
}

/* ---- the hunt ---- */

struct tally {
    unsigned ended, foretold, happened;        /* the record shows what the ranks acted on */
    unsigned unseen_foretold, unseen_happened; /* it does not */
};

static bool says_hang(const struct trace *trace)
{
    struct check_options checks;
    struct findings findings;
    bool says = false;
    check_options_init(&checks);
    findings_init(&findings);
    check_trace(trace, &checks, &findings);
    for (size_t i = 0; i < findings.count; i++)
        says = says || (findings.items[i].code[0] == 'D' &&
                        strstr(findings.items[i].models, check_model_name(CHECK_RENDEZVOUS)));
    findings_release(&findings);
    return says;
}

/* One recorded run with eager sends: whether it ended, and whether a hang is foretold. */
static bool judge(struct scene *scene, uint64_t seed, bool *says)
{
    struct failure failure = {0};
    struct sim_world_options options = world_options(scene->program, seed);
    scene->recording = recording_new(scene->program->ranks, RECORD_LEVEL_OPS, &failure);
    enum trace_outcome outcome = run_world(scene, &options);
    struct trace *trace = recording_load(
        scene->recording,
        &(struct recording_result){.outcome = outcome, .program = "polls", .model = "eager"},
        &failure);
    recording_ranks_release(scene->recording);
    recording_free(scene->recording);
    scene->recording = NULL;
    bool ended = trace && outcome == OUTCOME_FINISHED;
    *says = ended && says_hang(trace);
    trace_free(trace);
    return ended;
}

static bool can_hang(struct scene *scene, uint64_t seed)
{
    struct sim_world_options options = world_options(scene->program, seed);
    options.send_model = SIM_SEND_RENDEZVOUS;
    scene->turns = seed;
    for (uint32_t run = 0; run < RUNS_MAX; run++, options.seed++)
        if (run_world(scene, &options) != OUTCOME_FINISHED)
            return true;
    return false;
}

static void show(const struct program *program)
{
    static const char *const verbs[] = {"send", "ssend", "isend",   "recv", "irecv",
                                        "wait", "test",  "testany", "probe"};
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        char line[800] = "";
        for (uint32_t i = 0; i < program->length[rank]; i++) {
            const struct step *step = &program->steps[rank][i];
            size_t used = strlen(line);
            snprintf(line + used, sizeof line - used, " %s(%d,%d,%u)", verbs[step->verb],
                     step->peer, step->tag, step->slot);
        }
        tap_note("  rank %u:%s", rank, line);
    }
}

static void hunt(unsigned long long seed, struct tally *tally)
{
    bool says;
    dice = seed;
    struct program program = program_new();
    struct scene scene = {.program = &program};
    if (!program.polls || !judge(&scene, seed, &says))
        return;
    bool unseen = scene.heeded_no, happens = says && can_hang(&scene, seed * RUNS_MAX);
    tally->ended++;
    *(unseen ? &tally->unseen_foretold : &tally->foretold) += says;
    *(unseen ? &tally->unseen_happened : &tally->happened) += happens;
    if (!says || happens || unseen)
        return;
    tap_note("SIMRUN_SEED=%llu: a hang is foretold and never happens", seed);
    show(&program);
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(3000);
    unsigned long long seed = seeds.first, programs = seeds.count;
    struct tally tally = {0};
    for (unsigned long long i = 0; i < programs; i++)
        hunt(seed + i, &tally);
    tap_note("seeds %llu to %llu: %u programs poll and end, %u hangs foretold; where a no left no "
             "trace, %u of %u foretold hangs happen",
             seed, seed + programs - 1, tally.ended, tally.foretold, tally.unseen_happened,
             tally.unseen_foretold);
    tap_is_int(tally.foretold - tally.happened, 0, "every hang that is foretold can happen");
    tap_ok(tally.ended * 2 > programs, "most programs poll and end");
    tap_ok(tally.foretold * 100 > tally.ended, "some hangs are foretold");
    return tap_done();
}
