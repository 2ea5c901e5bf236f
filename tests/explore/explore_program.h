/* Small random programs: a list of operations per rank, in plain calls or by others that mean the
 * same. See explore_model.h for what they may do and for every way in which each can end. */
#ifndef TESTS_CHECKER_EXPLORE_PROGRAM_H
#define TESTS_CHECKER_EXPLORE_PROGRAM_H

#include "tests/dice.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 4, OPS_MAX = 12, SLOTS_MAX = 10, MAIL_MAX = 16, STATES_MAX = 60000 };

/* ---- random numbers ---- */

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
    return dice_below(&random_state, n);
}

/* ---- programs ---- */

enum verb {
    SEND,
    RECEIVE,
    START,
    WAIT,
    WAITANY,
    WAITALL,
    PROBE,
    PATIENT,
    BARRIER,
    IPROBE,
    TEST,
    TESTALL,
    CANCEL,
    WAITSOME,
    TESTANY,
    TESTSOME
};
enum {
    GAVE_UP = RANKS_MAX, /* what such a probe picked when it did */
    NOT_YET = 100,       /* what a poll picked that saw nothing */
    SEEN = 101,          /* and what a test did that saw something */
    SOME = 200,          /* plus a bit per request that Waitsome or Testsome reported */
    TAKEN_BACK = -2      /* value of a receive that was cancelled in time */
};

struct step {
    uint8_t verb;
    int8_t peer, tag; /* -1: any */
    uint8_t slot;     /* of START and RECEIVE; of WAIT */
    uint8_t ticks;    /* of PATIENT */
    uint8_t form;     /* by which calls the machine does it; 0 the plain one */
    bool any_tag;     /* the machine asks for any, on a communicator that has one tag */
};

struct program {
    uint32_t ranks, length[RANKS_MAX], slots[RANKS_MAX];
    bool polls;   /* looks without blocking, and does not wait for a while instead */
    bool split;   /* tags are communicators */
    bool between; /* all messages travel on an intercommunicator of even and odd ranks */
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

/* Something that looks without blocking, at the receive started last or at what is there. */
static void add_poll(struct program *program, uint32_t rank, uint32_t slot, int8_t source,
                     int8_t tag)
{
    switch (below(4)) {
    case 0:
        add(program, rank, (struct step){.verb = TEST, .slot = (uint8_t)slot});
        break;
    case 1:
        add(program, rank, (struct step){.verb = TESTALL});
        break;
    case 2:
        add(program, rank, (struct step){.verb = IPROBE, .peer = source, .tag = tag});
        break;
    default:
        if (add(program, rank, (struct step){.verb = CANCEL, .slot = (uint8_t)slot}))
            force(program, rank, (struct step){.verb = WAIT, .slot = (uint8_t)slot});
    }
}

static void add_receives(struct program *program, uint32_t rank, const int8_t *from,
                         const int8_t *tags, uint32_t count)
{
    uint32_t slot = program->slots[rank], open = 0;
    for (uint32_t i = 0; i < count && slot < SLOTS_MAX; i++) {
        int8_t source = below(4) ? -1 : from[i];
        int8_t tag = below(3) ? -1 : tags[i];
        bool named = below(3) == 0;
        switch (below(4)) {
        case 0:
            add(program, rank,
                (struct step){
                    .verb = RECEIVE, .peer = source, .tag = tag, .slot = (uint8_t)slot++});
            break;
        case 1:
            add(program, rank,
                (struct step){.verb = below(2) || program->polls ? PROBE : PATIENT,
                              .peer = named ? from[i] : -1,
                              .tag = tag,
                              .slot = (uint8_t)slot++,
                              .ticks = (uint8_t)(1 + below(4))});
            break;
        default:
            add(program, rank,
                (struct step){.verb = START, .peer = source, .tag = tag, .slot = (uint8_t)slot++});
            open++;
            if (program->polls && below(2))
                add_poll(program, rank, slot - 1, source, tag);
            else if (below(3) == 0)
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

/* Waits a while for whatever may come, before it goes on. */
static void add_patience(struct program *program, uint32_t rank)
{
    if (program->slots[rank] < SLOTS_MAX)
        add(program, rank,
            (struct step){.verb = PATIENT,
                          .peer = -1,
                          .tag = (int8_t)(below(2) ? -1 : (int)below(2)),
                          .slot = (uint8_t)program->slots[rank]++,
                          .ticks = (uint8_t)(1 + below(4))});
}

static struct program program_new(void)
{
    struct program program = {.ranks = 2 + below(3)};
    int8_t from[RANKS_MAX][8], tags[RANKS_MAX][8];
    uint32_t due[RANKS_MAX] = {0};
    bool patient = below(2);
    program.polls = !patient && below(2);
    for (uint32_t i = 2 + below(4); i-- > 0;) {
        uint32_t sender = below(program.ranks),
                 to = (sender + 1 + below(program.ranks - 1)) % program.ranks;
        int8_t tag = (int8_t)below(2);
        if (patient && below(3) == 0)
            add_patience(&program, sender);
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

/* One rank posts all its receives at once, from anybody and by name, of any tag and of one; what
 * the others sent is decided among receives that stand. */
static struct program program_posted(void)
{
    struct program program = {.ranks = 3};
    uint32_t count = 4 + below(2);
    for (uint32_t i = 0; i < count; i++)
        add(&program, 1 + i % 2, (struct step){.verb = SEND, .peer = 0, .tag = (int8_t)below(2)});
    for (uint32_t i = 0; i < count; i++) {
        bool named = i >= 2 && below(3);
        int8_t tag = (int8_t)(below(3) ? (int)below(2) : -1);
        add(&program, 0,
            (struct step){.verb = START,
                          .peer = (int8_t)(named ? 1 + (int)below(2) : -1),
                          .tag = named && below(2) ? -1 : tag,
                          .slot = (uint8_t)i});
    }
    program.slots[0] = count;
    add(&program, 0, (struct step){.verb = WAITALL});
    return program;
}

/* ---- the same by other calls ---- */

static bool is_cancelled(const struct program *program, uint32_t rank, uint32_t slot)
{
    for (uint32_t i = 0; i < program->length[rank]; i++)
        if (program->steps[rank][i].verb == CANCEL && program->steps[rank][i].slot == slot)
            return true;
    return false;
}

/* A step done otherwise: by calls that mean the same, or by others of the kind. */
static void vary_step(struct program *program, uint32_t rank, struct step *step, bool patient)
{
    bool cancelled = step->verb == START && is_cancelled(program, rank, step->slot);
    step->form = (uint8_t)(cancelled ? 0 : below(3));
    if (step->verb == WAITANY && !patient && below(2))
        step->verb = WAITSOME;
    else if (step->verb == TESTALL && below(3))
        step->verb = below(2) ? TESTANY : TESTSOME;
    if (program->split && step->tag < 0) {
        step->any_tag = true;
        step->tag = 0;
    }
}

static bool is_patient(const struct program *program)
{
    for (uint32_t rank = 0; rank < program->ranks; rank++)
        for (uint32_t i = 0; i < program->length[rank]; i++)
            if (program->steps[rank][i].verb == PATIENT)
                return true;
    return false;
}

static void vary(struct program *program)
{
    bool patient = is_patient(program);
    program->split = below(2);
    program->between = true;
    for (uint32_t rank = 0; rank < program->ranks; rank++)
        for (uint32_t i = 0; i < program->length[rank]; i++) {
            const struct step *step = &program->steps[rank][i];
            if ((step->verb == SEND || step->verb == START) && step->peer >= 0 &&
                (uint32_t)step->peer % 2 == rank % 2)
                program->between = false;
            vary_step(program, rank, &program->steps[rank][i], patient);
        }
}

#endif
