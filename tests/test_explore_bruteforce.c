/* Exploration of small random programs against every interleaving of a naive model of MPI that
 * shares nothing with the machine.
 *
 * A program is a list of operations per rank: sends, receives by name and from anybody, nonblocking
 * receives with Wait, Waitany and Waitall, probes, barriers. The model takes every order of steps
 * and deliveries and collects the ways a program can end: what every receive got, every Waitany
 * reported and every probe saw, and who stands where. An exploration must make exactly as many
 * runs, each with an ending of the model. SIMRUN_SOAK=N tries N programs, from SIMRUN_SEED on. */
#include "checker/explore.h"
#include "checker/memory.h"
#include "tests/tap.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 4, OPS_MAX = 12, SLOTS_MAX = 10, MAIL_MAX = 16, STATES_MAX = 60000 };

/* ---- random numbers ---- */

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
    random_state += 0x9e3779b97f4a7c15u;
    uint64_t z = random_state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % n);
}

/* ---- programs ---- */

enum verb { SEND, RECEIVE, START, WAIT, WAITANY, WAITALL, PROBE, BARRIER };

struct step {
    uint8_t verb;
    int8_t peer, tag; /* -1: any */
    uint8_t slot;     /* of START and RECEIVE; of WAIT */
};

struct program {
    uint32_t ranks, length[RANKS_MAX], slots[RANKS_MAX];
    struct step steps[RANKS_MAX][OPS_MAX];
};

static bool add(struct program *program, uint32_t rank, struct step step)
{
    if (program->length[rank] == OPS_MAX)
        return false;
    program->steps[rank][program->length[rank]++] = step;
    return true;
}

/* In place of the last step where there is no room. */
static void force(struct program *program, uint32_t rank, struct step step)
{
    if (!add(program, rank, step))
        program->steps[rank][OPS_MAX - 1] = step;
}

static void add_receives(struct program *program, uint32_t rank, const int8_t *from,
                         const int8_t *tags, uint32_t count)
{
    uint32_t slot = program->slots[rank], open = 0;
    for (uint32_t i = 0; i < count && slot < SLOTS_MAX; i++) {
        int8_t source = below(4) ? -1 : from[i];
        int8_t tag = below(3) ? -1 : tags[i];
        switch (below(4)) {
        case 0:
            add(program, rank,
                (struct step){
                    .verb = RECEIVE, .peer = source, .tag = tag, .slot = (uint8_t)slot++});
            break;
        case 1:
            add(program, rank,
                (struct step){.verb = PROBE, .peer = -1, .tag = tag, .slot = (uint8_t)slot++});
            break;
        default:
            add(program, rank,
                (struct step){.verb = START, .peer = source, .tag = tag, .slot = (uint8_t)slot++});
            open++;
            if (below(3) == 0)
                add(program, rank, (struct step){.verb = WAIT, .slot = (uint8_t)(slot - 1)});
            else if (below(3) == 0)
                add(program, rank, (struct step){.verb = WAITANY});
        }
        if (below(6) == 0)
            add(program, rank,
                (struct step){.verb = SEND,
                              .peer =
                                  (int8_t)((rank + 1 + below(program->ranks - 1)) % program->ranks),
                              .tag = (int8_t)below(2)});
    }
    program->slots[rank] = slot;
    if (open && below(2))
        add(program, rank, (struct step){.verb = WAITANY});
    if (open) /* whatever is started is waited for */
        force(program, rank, (struct step){.verb = WAITALL});
}

static struct program program_new(void)
{
    struct program program = {.ranks = 2 + below(3)};
    int8_t from[RANKS_MAX][8], tags[RANKS_MAX][8];
    uint32_t due[RANKS_MAX] = {0};
    for (uint32_t i = 2 + below(4); i-- > 0;) {
        uint32_t sender = below(program.ranks),
                 to = (sender + 1 + below(program.ranks - 1)) % program.ranks;
        int8_t tag = (int8_t)below(2);
        add(&program, sender, (struct step){.verb = SEND, .peer = (int8_t)to, .tag = tag});
        from[to][due[to]] = (int8_t)sender;
        tags[to][due[to]++] = tag;
        if (below(3) == 0) { /* who has something to receive does so before it sends more */
            add_receives(&program, to, from[to], tags[to], due[to]);
            due[to] = 0;
        }
    }
    bool barrier = below(4) == 0;
    for (uint32_t rank = 0; rank < program.ranks; rank++) {
        bool early = below(2);
        if (barrier && early)
            add(&program, rank, (struct step){.verb = BARRIER});
        add_receives(&program, rank, from[rank], tags[rank], due[rank]);
        if (barrier && !early)
            add(&program, rank, (struct step){.verb = BARRIER});
    }
    return program;
}

/* ---- what a run shows: equal for equal endings ---- */

struct ending {
    int16_t got[RANKS_MAX][SLOTS_MAX]; /* value received into each slot, -1 */
    int8_t picks[RANKS_MAX][OPS_MAX];  /* what the Waitany or probe at each step reported, -1 */
    uint8_t at[RANKS_MAX];             /* the step each rank stands in */
};

static uint64_t hash_bytes(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static void ending_init(struct ending *ending)
{
    memset(ending, 0, sizeof *ending);
    memset(ending->got, 0xff, sizeof ending->got);
    memset(ending->picks, 0xff, sizeof ending->picks);
}

static int16_t value_of(uint32_t rank, uint32_t step)
{
    return (int16_t)(rank * 100 + step);
}

/* ---- the model ---- */

struct mail {
    int8_t source, tag;
    int16_t value;
};

struct box {
    struct mail items[MAIL_MAX];
    uint8_t count;
};

enum slot_state { CLOSED, OPEN, FULL };

struct state {
    struct ending ending;
    struct box flying[RANKS_MAX][RANKS_MAX], waiting[RANKS_MAX];
    uint8_t slots[RANKS_MAX][SLOTS_MAX];                           /* enum slot_state */
    uint8_t posted[RANKS_MAX][SLOTS_MAX], posted_count[RANKS_MAX]; /* open slots, as posted */
    int8_t wants[RANKS_MAX][SLOTS_MAX][2];
    uint8_t entered;          /* bit per rank: stands in the barrier */
    uint8_t begun[RANKS_MAX]; /* a RECEIVE or PROBE has posted its receive */
};

struct model {
    const struct program *program;
    uint64_t *seen, *endings;
    size_t seen_count, seen_room, ending_count, ending_room;
    bool too_large;
};

static bool put(uint64_t **set, size_t *count, size_t *room, uint64_t hash)
{
    hash += hash == 0;
    if (2 * (*count + 1) > *room) {
        size_t bigger = *room ? *room * 2 : 1024, old_room = *room;
        uint64_t *old = *set, *slots = check_new(bigger, sizeof *slots);
        for (size_t i = 0; i < old_room; i++)
            if (old[i]) {
                size_t at = old[i] & (bigger - 1);
                while (slots[at])
                    at = (at + 1) & (bigger - 1);
                slots[at] = old[i];
            }
        free(old);
        *set = slots;
        *room = bigger;
    }
    size_t at = hash & (*room - 1);
    while ((*set)[at] && (*set)[at] != hash)
        at = (at + 1) & (*room - 1);
    if ((*set)[at])
        return false;
    (*set)[at] = hash;
    (*count)++;
    return true;
}

static bool has(const uint64_t *set, size_t room, uint64_t hash)
{
    hash += hash == 0;
    for (size_t at = hash & (room - 1); room && set[at]; at = (at + 1) & (room - 1))
        if (set[at] == hash)
            return true;
    return false;
}

static bool fits(const int8_t *wants, const struct mail *mail)
{
    return (wants[0] < 0 || wants[0] == mail->source) && (wants[1] < 0 || wants[1] == mail->tag);
}

static void box_remove(struct box *box, uint32_t at)
{
    box->count--;
    for (; at < box->count; at++)
        box->items[at] = box->items[at + 1];
    box->items[box->count] = (struct mail){0};
}

static void fill(struct state *state, uint32_t rank, uint32_t slot, struct mail mail)
{
    state->slots[rank][slot] = FULL;
    state->ending.got[rank][slot] = mail.value;
}

static void visit(struct model *model, const struct state *state);

static void go_on(struct model *model, struct state *next, uint32_t rank)
{
    next->ending.at[rank]++;
    next->begun[rank] = 0;
    visit(model, next);
}

/* A receive is posted (from `state`, which stays): whatever has arrived and is the first of its
 * sender that fits may be what it takes. `stays`: the rank waits for it in this step. */
static void post(struct model *model, const struct state *state, uint32_t rank, uint32_t slot,
                 int8_t source, int8_t tag, bool stays)
{
    const struct box *box = &state->waiting[rank];
    const int8_t wants[2] = {source, tag};
    bool tried[RANKS_MAX] = {false}, found = false;
    for (uint32_t i = 0; i < box->count; i++) {
        struct state next = *state;
        if (tried[box->items[i].source] || !fits(wants, &box->items[i]))
            continue;
        tried[box->items[i].source] = found = true;
        fill(&next, rank, slot, box->items[i]);
        box_remove(&next.waiting[rank], i);
        next.begun[rank] = stays;
        next.ending.at[rank] = (uint8_t)(next.ending.at[rank] + !stays);
        visit(model, &next);
    }
    if (found)
        return;
    struct state next = *state;
    memcpy(next.wants[rank][slot], wants, sizeof wants);
    next.slots[rank][slot] = OPEN;
    next.posted[rank][next.posted_count[rank]++] = (uint8_t)slot;
    next.begun[rank] = stays;
    next.ending.at[rank] = (uint8_t)(next.ending.at[rank] + !stays);
    visit(model, &next);
}

/* The oldest message on its way arrives: the first receive posted that fits takes it. */
static void deliver(struct state *state, uint32_t from, uint32_t to)
{
    struct mail mail = state->flying[from][to].items[0];
    box_remove(&state->flying[from][to], 0);
    for (uint32_t i = 0; i < state->posted_count[to]; i++) {
        uint32_t slot = state->posted[to][i];
        if (!fits(state->wants[to][slot], &mail))
            continue;
        fill(state, to, slot, mail);
        state->posted_count[to]--;
        for (; i < state->posted_count[to]; i++)
            state->posted[to][i] = state->posted[to][i + 1];
        state->posted[to][i] = 0;
        return;
    }
    state->waiting[to].items[state->waiting[to].count++] = mail;
}

static bool all_full(const struct state *state, uint32_t rank)
{
    for (uint32_t i = 0; i < SLOTS_MAX; i++)
        if (state->slots[rank][i] == OPEN)
            return false;
    return true;
}

/* Waitany: every full slot may be the one; where none was started it passes. */
static bool step_waitany(struct model *model, const struct state *state, uint32_t rank)
{
    bool moved = false, any = false;
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        any = any || state->slots[rank][i] != CLOSED;
        if (state->slots[rank][i] != FULL)
            continue;
        struct state next = *state;
        next.slots[rank][i] = CLOSED;
        next.ending.picks[rank][state->ending.at[rank]] = (int8_t)i;
        go_on(model, &next, rank);
        moved = true;
    }
    if (any)
        return moved;
    struct state next = *state;
    go_on(model, &next, rank);
    return true;
}

static bool step_receive(struct model *model, const struct state *state, uint32_t rank,
                         const struct step *step)
{
    struct state next = *state;
    if (!state->begun[rank]) {
        post(model, state, rank, step->slot, step->peer, step->tag, true);
        return true;
    }
    if (state->slots[rank][step->slot] != FULL)
        return false;
    next.slots[rank][step->slot] = CLOSED;
    go_on(model, &next, rank);
    return true;
}

/* A probe sees any sender's first message that has arrived and fits; then that one is received. */
static bool step_probe(struct model *model, const struct state *state, uint32_t rank,
                       const struct step *step)
{
    const int8_t wants[2] = {-1, step->tag};
    const struct box *box = &state->waiting[rank];
    if (state->begun[rank]) {
        struct state next = *state;
        if (state->slots[rank][step->slot] != FULL)
            return false;
        next.slots[rank][step->slot] = CLOSED;
        go_on(model, &next, rank);
        return true;
    }
    bool tried[RANKS_MAX] = {false}, found = false;
    for (uint32_t i = 0; i < box->count; i++) {
        const struct mail *mail = &box->items[i];
        struct state next = *state;
        if (tried[mail->source] || !fits(wants, mail))
            continue;
        tried[mail->source] = found = true;
        next.ending.picks[rank][state->ending.at[rank]] = mail->source;
        post(model, &next, rank, step->slot, mail->source, mail->tag, true);
    }
    return found;
}

static bool step_barrier(struct model *model, const struct state *state, uint32_t rank)
{
    struct state next = *state;
    if (state->entered >> rank & 1) /* until the last has come */
        return false;
    next.entered |= (uint8_t)(1u << rank);
    if (next.entered == (1u << model->program->ranks) - 1)
        for (uint32_t r = 0; r < model->program->ranks; r++)
            next.ending.at[r]++;
    visit(model, &next);
    return true;
}

static bool step_rank(struct model *model, const struct state *state, uint32_t rank)
{
    uint32_t at = state->ending.at[rank];
    if (at >= model->program->length[rank])
        return false;
    const struct step *step = &model->program->steps[rank][at];
    struct state next = *state;
    switch ((enum verb)step->verb) {
    case SEND: {
        struct box *box = &next.flying[rank][step->peer];
        box->items[box->count++] =
            (struct mail){.source = (int8_t)rank, .tag = step->tag, .value = value_of(rank, at)};
        go_on(model, &next, rank);
        return true;
    }
    case START:
        post(model, state, rank, step->slot, step->peer, step->tag, false);
        return true;
    case RECEIVE:
        return step_receive(model, state, rank, step);
    case WAIT:
        if (state->slots[rank][step->slot] == OPEN)
            return false;
        next.slots[rank][step->slot] = CLOSED;
        go_on(model, &next, rank);
        return true;
    case WAITANY:
        return step_waitany(model, state, rank);
    case WAITALL:
        if (!all_full(state, rank))
            return false;
        memset(next.slots[rank], CLOSED, sizeof next.slots[rank]);
        go_on(model, &next, rank);
        return true;
    case PROBE:
        return step_probe(model, state, rank, step);
    case BARRIER:
        return step_barrier(model, state, rank);
    }
    return false;
}

static void visit(struct model *model, const struct state *state)
{
    bool moved = false;
    if (model->too_large ||
        !put(&model->seen, &model->seen_count, &model->seen_room, hash_bytes(state, sizeof *state)))
        return;
    model->too_large = model->seen_count > STATES_MAX;
    for (uint32_t rank = 0; rank < model->program->ranks; rank++)
        moved = step_rank(model, state, rank) || moved;
    for (uint32_t from = 0; from < model->program->ranks; from++)
        for (uint32_t to = 0; to < model->program->ranks; to++)
            if (state->flying[from][to].count) {
                struct state next = *state;
                deliver(&next, from, to);
                visit(model, &next);
                moved = true;
            }
    if (!moved)
        put(&model->endings, &model->ending_count, &model->ending_room,
            hash_bytes(&state->ending, sizeof state->ending));
}

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

static void run_step(struct seen *seen, int rank, uint32_t at, MPI_Request *requests)
{
    const struct step *step = &seen->program->steps[rank][at];
    int value = value_of((uint32_t)rank, at), index;
    int *slot = &seen->values[rank][step->slot];
    MPI_Status status;
    switch ((enum verb)step->verb) {
    case SEND:
        MPI_Send(&value, 1, MPI_INT, step->peer, step->tag, MPI_COMM_WORLD);
        break;
    case RECEIVE:
        MPI_Recv(slot, 1, MPI_INT, any_or(step->peer, MPI_ANY_SOURCE),
                 any_or(step->tag, MPI_ANY_TAG), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case START:
        MPI_Irecv(slot, 1, MPI_INT, any_or(step->peer, MPI_ANY_SOURCE),
                  any_or(step->tag, MPI_ANY_TAG), MPI_COMM_WORLD, &requests[step->slot]);
        break;
    case WAIT:
        MPI_Wait(&requests[step->slot], MPI_STATUS_IGNORE);
        break;
    case WAITANY:
        MPI_Waitany(SLOTS_MAX, requests, &index, MPI_STATUS_IGNORE);
        seen->ending.picks[rank][at] = (int8_t)(index == MPI_UNDEFINED ? -1 : index);
        break;
    case WAITALL:
        MPI_Waitall(SLOTS_MAX, requests, MPI_STATUSES_IGNORE);
        break;
    case PROBE:
        MPI_Probe(MPI_ANY_SOURCE, any_or(step->tag, MPI_ANY_TAG), MPI_COMM_WORLD, &status);
        seen->ending.picks[rank][at] = (int8_t)status.MPI_SOURCE;
        MPI_Recv(slot, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        break;
    case BARRIER:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    }
}

static int run_rank(void *context, int rank)
{
    struct seen *seen = context;
    MPI_Request requests[SLOTS_MAX];
    for (int i = 0; i < SLOTS_MAX; i++)
        requests[i] = MPI_REQUEST_NULL;
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (uint32_t at = 0; at < seen->program->length[rank]; at++) {
        run_step(seen, rank, at, requests);
        seen->ending.at[rank]++;
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
    unsigned programs, wrong, strange, diverged;
    unsigned long long endings, runs, redundant, most;
};

static void show(const struct program *program)
{
    static const char *const verbs[] = {"send", "recv",    "start", "wait",
                                        "any",  "waitall", "probe", "barrier"};
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        char line[400] = "";
        for (uint32_t i = 0; i < program->length[rank]; i++) {
            const struct step *step = &program->steps[rank][i];
            size_t used = strlen(line);
            snprintf(line + used, sizeof line - used, " %s(peer %d tag %d slot %u)",
                     verbs[step->verb], step->peer, step->tag, step->slot);
        }
        tap_note("  rank %u:%s", rank, line);
    }
}

/* Different endings of the runs: finished ones and failures together. */
static void compare(unsigned long long seed, struct tally *tally)
{
    random_state = seed;
    struct program program = program_new();
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
        for (size_t i = 0; i < report.fingerprint_room; i++)
            tally->strange += report.fingerprints[i] &&
                              !has(model.endings, model.ending_room, report.fingerprints[i]);
        right = right && tally->strange == strange;
        if (!right)
            tap_note("seed %llu: %zu endings, %llu runs, %llu results, %zu failures%s%s", seed,
                     model.ending_count, (unsigned long long)report.runs,
                     (unsigned long long)report.results, report.failure_count,
                     report.complete ? "" : ", not complete", report.diverged ? ", diverged" : "");
        if (!right)
            show(&program);
        explore_report_release(&report);
    }
    free(model.seen);
    free(model.endings);
}

int main(void)
{
    const char *soak = getenv("SIMRUN_SOAK"), *first = getenv("SIMRUN_SEED");
    unsigned long long seed = first ? strtoull(first, NULL, 10) : 1,
                       programs = soak ? strtoull(soak, NULL, 10) : 400;
    struct tally tally = {0};
    for (unsigned long long i = 0; i < programs; i++)
        compare(seed + i, &tally);
    tap_note("seeds %llu to %llu: %u programs, %llu endings, %llu runs and %llu redundant ones, at "
             "most %llu of one program",
             seed, seed + programs - 1, tally.programs, tally.endings, tally.runs, tally.redundant,
             tally.most);
    tap_is_int(tally.wrong, 0, "there are as many runs as ways a program can end");
    tap_is_int(tally.strange, 0, "and every run ends in one of those ways");
    tap_is_int(tally.diverged, 0, "every run does what it is forced to");
    tap_ok(tally.redundant * 2 < tally.runs, "few runs are begun for nothing");
    tap_ok(tally.programs > programs / 2 && 2 * tally.endings > 3 * tally.programs,
           "most programs are small enough, and have freedom");
    return tap_done();
}
