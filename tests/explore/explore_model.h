/* Small random programs, and every way in which each can end, from a naive model of MPI.
 *
 * A program is a list of operations per rank: sends, receives by name and from anybody, nonblocking
 * receives with Wait, Waitany, Waitsome, Waitall, Test, Testany, Testsome and Testall, receives that
 * are cancelled, probes and Iprobes of anybody or by name, probes that give up when nothing else can
 * happen, barriers. The data of a message may come later than the message itself; who waits with a
 * limit is the exception: in his programs nobody looks at that (vary). The model takes every order of steps and deliveries and collects the endings:
 * what every receive got, every Waitany reported and every probe saw, and who stands where. It
 * shares nothing with the machine. */
#ifndef TESTS_CHECKER_EXPLORE_MODEL_H
#define TESTS_CHECKER_EXPLORE_MODEL_H

#include "checker/memory.h"
#include "tests/explore/explore_program.h"

/* ---- what a run shows: equal for equal endings ---- */

struct ending {
    int16_t got[RANKS_MAX][SLOTS_MAX]; /* value received into each slot, -1 */
    int16_t picks[RANKS_MAX][OPS_MAX]; /* what the Waitany, probe or test at each step reported, -1
                                        */
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

/* COMING: it has its message, whose data are still under way. */
enum slot_state { CLOSED, OPEN, COMING, FULL, BACK };

struct state {
    struct ending ending;
    struct box flying[RANKS_MAX][RANKS_MAX], waiting[RANKS_MAX];
    uint8_t slots[RANKS_MAX][SLOTS_MAX];                           /* enum slot_state */
    uint8_t posted[RANKS_MAX][SLOTS_MAX], posted_count[RANKS_MAX]; /* open slots, as posted */
    int8_t wants[RANKS_MAX][SLOTS_MAX][2];
    uint8_t entered;                      /* bit per rank: stands in the barrier */
    uint8_t begun[RANKS_MAX];             /* a RECEIVE or PROBE has posted its receive */
    uint8_t marked[RANKS_MAX][SLOTS_MAX]; /* to be cancelled */
    uint8_t clock, limits[RANKS_MAX];     /* of the PATIENT a rank stands in, 0: of none */
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

/* That data come later than their message shows only to who tests, or takes some. */
static bool looks_at_data(const struct program *program, uint32_t rank)
{
    for (uint32_t i = 0; i < program->length[rank]; i++) {
        uint8_t verb = program->steps[rank][i].verb;
        if (verb == TEST || verb == TESTALL || verb >= WAITSOME)
            return true;
    }
    return false;
}

static void fill(const struct program *program, struct state *state, uint32_t rank, uint32_t slot,
                 struct mail mail)
{
    state->slots[rank][slot] = looks_at_data(program, rank) ? COMING : FULL;
    state->ending.got[rank][slot] = mail.value;
}

static void visit(struct model *model, const struct state *state);

static void go_on(struct model *model, struct state *next, uint32_t rank)
{
    next->ending.at[rank]++;
    next->begun[rank] = next->limits[rank] = 0;
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
        fill(model->program, &next, rank, slot, box->items[i]);
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
static void deliver(const struct program *program, struct state *state, uint32_t from, uint32_t to)
{
    struct mail mail = state->flying[from][to].items[0];
    box_remove(&state->flying[from][to], 0);
    for (uint32_t i = 0; i < state->posted_count[to]; i++) {
        uint32_t slot = state->posted[to][i];
        if (!fits(state->wants[to][slot], &mail))
            continue;
        fill(program, state, to, slot, mail);
        state->posted_count[to]--;
        for (; i < state->posted_count[to]; i++)
            state->posted[to][i] = state->posted[to][i + 1];
        state->posted[to][i] = 0;
        return;
    }
    state->waiting[to].items[state->waiting[to].count++] = mail;
}

static bool is_awaited(uint8_t slot)
{
    return slot == OPEN || slot == COMING;
}

static bool all_full(const struct state *state, uint32_t rank)
{
    for (uint32_t i = 0; i < SLOTS_MAX; i++)
        if (is_awaited(state->slots[rank][i]))
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

/* Waitsome, Testany and Testsome: one of the full slots, or all of them; else a test says so. */
static bool step_some(struct model *model, const struct state *state, uint32_t rank, uint8_t verb)
{
    struct state next = *state;
    int16_t *pick = &next.ending.picks[rank][state->ending.at[rank]];
    bool any = false, full = false;
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        any = any || state->slots[rank][i] != CLOSED;
        full = full || state->slots[rank][i] == FULL;
    }
    if (verb == TESTANY && full)
        return step_waitany(model, state, rank);
    if (any && !full && verb == WAITSOME)
        return false;
    *pick = any ? full ? SOME : NOT_YET : -1;
    for (uint32_t i = 0; i < SLOTS_MAX && full; i++)
        if (state->slots[rank][i] == FULL) {
            next.slots[rank][i] = CLOSED;
            *pick = (int16_t)(*pick + (1 << i));
        }
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
    const int8_t wants[2] = {step->verb == PROBE ? step->peer : (int8_t)-1, step->tag};
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

/* An Iprobe sees any sender's first message that has arrived and fits, or nothing if there is none.
 */
static void step_iprobe(struct model *model, const struct state *state, uint32_t rank,
                        const struct step *step)
{
    const int8_t wants[2] = {step->peer, step->tag};
    const struct box *box = &state->waiting[rank];
    bool tried[RANKS_MAX] = {false}, found = false;
    for (uint32_t i = 0; i < box->count; i++) {
        struct state next = *state;
        if (tried[box->items[i].source] || !fits(wants, &box->items[i]))
            continue;
        tried[box->items[i].source] = found = true;
        next.ending.picks[rank][state->ending.at[rank]] = box->items[i].source;
        go_on(model, &next, rank);
    }
    if (found)
        return;
    struct state next = *state;
    next.ending.picks[rank][state->ending.at[rank]] = NOT_YET;
    go_on(model, &next, rank);
}

/* Tests of one slot or of all: what is not started counts as complete. */
static void step_test(struct model *model, const struct state *state, uint32_t rank, uint32_t from,
                      uint32_t to)
{
    struct state next = *state;
    bool complete = true;
    for (uint32_t i = from; i < to; i++)
        complete = complete && !is_awaited(state->slots[rank][i]);
    for (uint32_t i = from; i < to && complete; i++)
        next.slots[rank][i] = CLOSED;
    next.ending.picks[rank][state->ending.at[rank]] = complete ? SEEN : NOT_YET;
    go_on(model, &next, rank);
}

/* What is marked may be taken back at any time until it has what it wants. */
static bool take_back(struct model *model, const struct state *state, uint32_t rank)
{
    bool moved = false;
    for (uint32_t slot = 0; slot < SLOTS_MAX; slot++) {
        struct state next = *state;
        if (!state->marked[rank][slot] || state->slots[rank][slot] != OPEN)
            continue;
        uint32_t at = 0;
        while (next.posted[rank][at] != slot)
            at++;
        next.posted_count[rank]--;
        for (; at < next.posted_count[rank]; at++)
            next.posted[rank][at] = next.posted[rank][at + 1];
        next.posted[rank][at] = 0;
        next.slots[rank][slot] = BACK;
        visit(model, &next);
        moved = true;
    }
    return moved;
}

/* The data of a message may come at any time. */
static bool land(struct model *model, const struct state *state, uint32_t rank)
{
    bool moved = false;
    for (uint32_t slot = 0; slot < SLOTS_MAX; slot++) {
        struct state next = *state;
        if (state->slots[rank][slot] != COMING)
            continue;
        next.slots[rank][slot] = FULL;
        visit(model, &next);
        moved = true;
    }
    return moved;
}

/* The same until its limit; what is left when nothing else moves is visit's affair. */
static bool step_patient(struct model *model, const struct state *state, uint32_t rank,
                         const struct step *step)
{
    if (state->begun[rank] || state->limits[rank])
        return step_probe(model, state, rank, step);
    struct state next = *state;
    next.limits[rank] = (uint8_t)(state->clock + step->ticks);
    visit(model, &next);
    return true;
}

/* Nothing else can happen: the earliest limit passes, of equal ones the lowest rank's. */
static bool limit_pass(struct model *model, const struct state *state)
{
    uint32_t first = RANKS_MAX;
    for (uint32_t rank = RANKS_MAX; rank-- > 0;)
        if (state->limits[rank] && !state->begun[rank] &&
            (first == RANKS_MAX || state->limits[rank] <= state->limits[first]))
            first = rank;
    if (first == RANKS_MAX)
        return false;
    struct state next = *state;
    next.clock = state->limits[first];
    next.ending.picks[first][state->ending.at[first]] = GAVE_UP;
    go_on(model, &next, first);
    return true;
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
        if (is_awaited(state->slots[rank][step->slot]))
            return false;
        if (state->slots[rank][step->slot] == BACK)
            next.ending.got[rank][step->slot] = TAKEN_BACK;
        next.slots[rank][step->slot] = CLOSED;
        go_on(model, &next, rank);
        return true;
    case IPROBE:
        step_iprobe(model, state, rank, step);
        return true;
    case TEST:
        step_test(model, state, rank, step->slot, step->slot + 1u);
        return true;
    case TESTALL:
        step_test(model, state, rank, 0, SLOTS_MAX);
        return true;
    case CANCEL:
        next.marked[rank][step->slot] = state->slots[rank][step->slot] == OPEN;
        go_on(model, &next, rank);
        return true;
    case WAITANY:
        return step_waitany(model, state, rank);
    case WAITSOME:
    case TESTANY:
    case TESTSOME:
        return step_some(model, state, rank, step->verb);
    case WAITALL:
        if (!all_full(state, rank))
            return false;
        memset(next.slots[rank], CLOSED, sizeof next.slots[rank]);
        go_on(model, &next, rank);
        return true;
    case PROBE:
        return step_probe(model, state, rank, step);
    case PATIENT:
        return step_patient(model, state, rank, step);
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
        moved = step_rank(model, state, rank) + take_back(model, state, rank) +
                        land(model, state, rank) >
                    0 ||
                moved;
    for (uint32_t from = 0; from < model->program->ranks; from++)
        for (uint32_t to = 0; to < model->program->ranks; to++)
            if (state->flying[from][to].count) {
                struct state next = *state;
                deliver(model->program, &next, from, to);
                visit(model, &next);
                moved = true;
            }
    if (!moved && !limit_pass(model, state))
        put(&model->endings, &model->ending_count, &model->ending_room,
            hash_bytes(&state->ending, sizeof state->ending));
}

#endif
