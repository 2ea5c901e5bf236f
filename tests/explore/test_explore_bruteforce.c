/* Exploration of small random programs against every interleaving of a naive model of MPI that
 * shares nothing with the machine (explore_model.h). An exploration must make exactly as many runs
 * as the model has endings, each with an ending of the model. Every program runs twice: plainly, and
 * by other calls: persistent and matched ones, Waitsome and Testsome, on several communicators and
 * on intercommunicators. SIMRUN_SOAK=N tries N programs, from SIMRUN_SEED on.
 */
#include "checker/explore/explore.h"
#include "tests/dice.h"
#include "tests/explore/explore_model.h"
#include "tests/tap.h"

#include <mpi.h>
#include <mpix.h>
#include <stdlib.h>
#include <string.h>

enum { REDUNDANT = 25 }; /* runs begun for nothing, of the usual programs */

/* ---- the same program on the machine ---- */

struct scene {
    const struct program *program;
    const struct model *model;
    uint64_t strange; /* runs whose ending the model does not know */
};

struct seen {
    const struct program *program;
    struct ending ending;
    int values[RANKS_MAX][SLOTS_MAX];
};

static int any_or(int8_t value, int any)
{
    return value < 0 ? any : value;
}

/* What one rank calls with. */
struct caller {
    struct seen *seen;
    int rank;
    bool between;
    MPI_Comm comms[2]; /* by tag, where tags are communicators */
    MPI_Request requests[SLOTS_MAX];
};

static int peer_of(const struct caller *me, int8_t peer)
{
    return peer < 0 ? MPI_ANY_SOURCE : me->between ? peer / 2 : peer;
}

static int16_t source_of(const struct caller *me, const MPI_Status *status)
{
    int source = status->MPI_SOURCE;
    return (int16_t)(me->between ? 2 * source + 1 - me->rank % 2 : source);
}

static int tag_of(const struct step *step)
{
    return step->any_tag ? MPI_ANY_TAG : any_or(step->tag, MPI_ANY_TAG);
}

static MPI_Comm comm_of(const struct caller *me, const struct step *step)
{
    return me->comms[me->seen->program->split && step->tag == 1];
}

static void send(const struct caller *me, const struct step *step, int value)
{
    MPI_Request request;
    int peer = peer_of(me, step->peer), tag = tag_of(step);
    MPI_Comm comm = comm_of(me, step);
    if (step->form == 0) {
        MPI_Send(&value, 1, MPI_INT, peer, tag, comm);
        return;
    }
    if (step->form == 1)
        MPI_Isend(&value, 1, MPI_INT, peer, tag, comm, &request);
    else
        MPI_Send_init(&value, 1, MPI_INT, peer, tag, comm, &request);
    if (step->form == 2)
        MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void start(struct caller *me, const struct step *step, int *slot)
{
    int peer = peer_of(me, step->peer), tag = tag_of(step);
    MPI_Comm comm = comm_of(me, step);
    MPI_Request *request = &me->requests[step->slot];
    if (step->form == 0) {
        MPI_Irecv(slot, 1, MPI_INT, peer, tag, comm, request);
        return;
    }
    MPI_Recv_init(slot, 1, MPI_INT, peer, tag, comm, request);
    MPI_Start(request);
}

/* A probe, and the receive of what it saw. */
static int16_t probe(const struct caller *me, const struct step *step, int *slot)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int flag = 1, peer = peer_of(me, step->peer), tag = tag_of(step);
    MPI_Comm comm = comm_of(me, step);
    bool matched = step->verb == PROBE && step->form;
    if (matched)
        MPI_Mprobe(peer, tag, comm, &message, &status);
    else if (step->verb == PROBE)
        MPI_Probe(peer, tag, comm, &status);
    else
        MPIX_Probe_patient(tag, comm, step->ticks, &flag, &status);
    if (!flag)
        return GAVE_UP;
    int16_t source = source_of(me, &status);
    if (!matched) {
        MPI_Recv(slot, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
    } else if (step->form == 1) {
        MPI_Mrecv(slot, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else {
        MPI_Imrecv(slot, 1, MPI_INT, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return source;
}

/* Waitany and its like; what was reported. */
static int16_t complete(struct caller *me, uint8_t verb)
{
    int index = 0, flag = 1, count = 1, indices[SLOTS_MAX], mask = SOME;
    if (verb == WAITANY)
        MPI_Waitany(SLOTS_MAX, me->requests, &index, MPI_STATUS_IGNORE);
    else if (verb == TESTANY)
        MPI_Testany(SLOTS_MAX, me->requests, &index, &flag, MPI_STATUS_IGNORE);
    else if (verb == WAITSOME)
        MPI_Waitsome(SLOTS_MAX, me->requests, &count, indices, MPI_STATUSES_IGNORE);
    else
        MPI_Testsome(SLOTS_MAX, me->requests, &count, indices, MPI_STATUSES_IGNORE);
    if (!flag || !count)
        return NOT_YET;
    if (index == MPI_UNDEFINED || count == MPI_UNDEFINED)
        return -1;
    if (verb == WAITANY || verb == TESTANY)
        return (int16_t)index;
    for (int i = 0; i < count; i++)
        mask += 1 << indices[i];
    return (int16_t)mask;
}

static void run_step(struct caller *me, uint32_t at)
{
    struct seen *seen = me->seen;
    const struct step *step = &seen->program->steps[me->rank][at];
    int *slot = &seen->values[me->rank][step->slot], flag = 1;
    int16_t *pick = &seen->ending.picks[me->rank][at];
    MPI_Request *request = &me->requests[step->slot];
    MPI_Status status;
    switch ((enum verb)step->verb) {
    case SEND:
        send(me, step, value_of((uint32_t)me->rank, at));
        break;
    case RECEIVE:
        MPI_Recv(slot, 1, MPI_INT, peer_of(me, step->peer), tag_of(step), comm_of(me, step),
                 MPI_STATUS_IGNORE);
        break;
    case START:
        start(me, step, slot);
        break;
    case WAIT:
        MPI_Wait(request, &status);
        MPI_Test_cancelled(&status, &flag);
        *slot = flag ? TAKEN_BACK : *slot;
        break;
    case IPROBE:
        MPI_Iprobe(peer_of(me, step->peer), tag_of(step), comm_of(me, step), &flag, &status);
        *pick = flag ? source_of(me, &status) : NOT_YET;
        break;
    case TEST:
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        *pick = flag ? SEEN : NOT_YET;
        break;
    case TESTALL:
        MPI_Testall(SLOTS_MAX, me->requests, &flag, MPI_STATUSES_IGNORE);
        *pick = flag ? SEEN : NOT_YET;
        break;
    case CANCEL:
        if (*request != MPI_REQUEST_NULL)
            MPI_Cancel(request);
        break;
    case WAITANY:
    case WAITSOME:
    case TESTANY:
    case TESTSOME:
        *pick = complete(me, step->verb);
        break;
    case WAITALL:
        MPI_Waitall(SLOTS_MAX, me->requests, MPI_STATUSES_IGNORE);
        break;
    case PROBE:
    case PATIENT:
        *pick = probe(me, step, slot);
        break;
    case BARRIER:
        if (step->form)
            MPI_Ibarrier(MPI_COMM_WORLD, request);
        if (step->form)
            MPI_Wait(request, MPI_STATUS_IGNORE);
        else
            MPI_Barrier(MPI_COMM_WORLD);
        break;
    }
}

static void make_comms(struct caller *me)
{
    MPI_Comm side;
    me->comms[0] = me->comms[1] = MPI_COMM_WORLD;
    me->between = me->seen->program->between;
    if (me->between) {
        MPI_Comm_split(MPI_COMM_WORLD, me->rank % 2, me->rank, &side);
        MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - me->rank % 2, 9, &me->comms[0]);
        me->comms[1] = me->comms[0];
    }
    if (me->seen->program->split)
        MPI_Comm_dup(me->comms[0], &me->comms[1]);
}

static int run_rank(void *context, int rank)
{
    struct caller me = {.seen = context, .rank = rank};
    for (int i = 0; i < SLOTS_MAX; i++)
        me.requests[i] = MPI_REQUEST_NULL;
    MPI_Init(NULL, NULL);
    make_comms(&me);
    for (uint32_t at = 0; at < me.seen->program->length[rank]; at++) {
        run_step(&me, at);
        me.seen->ending.at[rank]++;
    }
    return 0; /* without Finalize, which would hang where a rank hangs */
}

static bool run_world(void *context, unsigned worker, struct explore_steer *steer,
                      struct explore_run *run)
{
    struct scene *scene = context;
    struct seen seen = {.program = scene->program};
    struct sim_world_options options;
    struct failure failure;
    (void)worker;
    sim_world_options_init(&options);
    options.ranks = (int)scene->program->ranks;
    options.not_yet_max = OPS_MAX;
    explore_steer_world(steer, &options);
    ending_init(&seen.ending);
    memset(seen.values, 0xff, sizeof seen.values);
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world)
        return false;
    run->outcome = sim_world_run(world, run_rank, &seen);
    for (int r = 0; r < RANKS_MAX; r++)
        for (int i = 0; i < SLOTS_MAX; i++)
            seen.ending.got[r][i] = (int16_t)seen.values[r][i];
    run->fingerprint = hash_bytes(&seen.ending, sizeof seen.ending);
    explore_run_take(run, sim_world_choices(world));
    sim_world_free(world);
    return true;
}

/* ---- the comparison ---- */

struct tally {
    unsigned programs, between, wrong, strange, diverged;
    unsigned long long endings, runs, redundant, most;
};

static void show(const struct program *program)
{
    static const char *const verbs[] = {
        "send",    "recv",   "start", "wait",    "any",    "waitall", "probe",   "patient",
        "barrier", "iprobe", "test",  "testall", "cancel", "some",    "testany", "testsome"};
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        char line[400] = "";
        for (uint32_t i = 0; i < program->length[rank]; i++) {
            const struct step *step = &program->steps[rank][i];
            size_t used = strlen(line);
            snprintf(line + used, sizeof line - used, " %s%u(peer %d tag %d slot %u)",
                     verbs[step->verb], step->form, step->peer, step->tag, step->slot);
        }
        tap_note("  rank %u:%s", rank, line);
    }
}

/* Different endings of the runs: finished ones and failures together. */
static void compare(unsigned long long seed, bool posted, bool varied, struct tally *tally)
{
    random_state = seed;
    struct program program = posted ? program_posted() : program_new();
    if (varied)
        vary(&program);
    tally->between += program.between;
    struct model model = {.program = &program};
    struct state first;
    memset(&first, 0, sizeof first);
    ending_init(&first.ending);
    visit(&model, &first);
    if (!model.too_large) {
        struct explore_options options;
        struct explore_report report;
        struct scene scene = {.program = &program, .model = &model};
        explore_options_init(&options);
        options.failures_max = 1000000;
        options.workers = 1;
        explore(&options, run_world, &scene, &report);
        tally->programs++;
        tally->endings += model.ending_count;
        tally->runs += report.runs;
        tally->redundant += report.redundant;
        tally->most = report.runs > tally->most ? report.runs : tally->most;
        unsigned strange = tally->strange;
        bool right = report.runs == model.ending_count && report.complete &&
                     report.results + report.failure_count == model.ending_count;
        tally->wrong += !right;
        tally->diverged += report.diverged;
        for (size_t i = 0; i < report.failure_count; i++)
            tally->strange +=
                !has(model.endings, model.ending_room, report.failures[i].fingerprint);
        for (size_t i = 0; i < report.fingerprints.room; i++)
            tally->strange += report.fingerprints.slots[i] &&
                              !has(model.endings, model.ending_room, report.fingerprints.slots[i]);
        right = right && tally->strange == strange;
        if (!right)
            tap_note("seed %llu%s%s%s: %zu endings, %llu runs, %llu results, %zu failures%s%s",
                     seed, posted ? ", posted at once" : "", varied ? ", other calls" : "",
                     program.between ? " on an intercommunicator" : "", model.ending_count,
                     (unsigned long long)report.runs, (unsigned long long)report.results,
                     report.failure_count, report.complete ? "" : ", not complete",
                     report.diverged ? ", diverged" : "");
        if (!right)
            show(&program);
        explore_report_release(&report);
    }
    free(model.seen);
    free(model.endings);
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(250);
    unsigned long long seed = seeds.first, programs = seeds.count;
    struct tally tally = {0};
    for (unsigned long long i = 0; i < 2 * programs; i++)
        compare(seed + i / 2, false, i % 2, &tally);
    for (unsigned long long i = 0; i < programs / 2; i++)
        compare(seed + i, true, i % 2, &tally);
    tap_note("seeds %llu to %llu: %u programs (%u on an intercommunicator), %llu endings, %llu "
             "runs and %llu redundant ones, at most %llu of one program",
             seed, seed + programs - 1, tally.programs, tally.between, tally.endings, tally.runs,
             tally.redundant, tally.most);
    tap_is_int(tally.wrong, 0, "there are as many runs as ways a program can end");
    tap_is_int(tally.strange, 0, "and every run ends in one of those ways");
    tap_is_int(tally.diverged, 0, "every run does what it is forced to");
    tap_ok(tally.redundant * 25 < tally.runs, "hardly any run is begun for nothing");
    bool usual = dice_usual() && dice_part().of == 1;
    tap_ok(!usual || tally.redundant <= REDUNDANT, "of these programs no more than were");
    tap_ok(tally.programs > 2 * programs && tally.between && 2 * tally.endings > 3 * tally.programs,
           "most programs are small enough, and have freedom");
    return tap_done();
}
