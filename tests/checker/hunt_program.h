/* Random MPI programs of every kind of call; hunt_run.h runs them.
 *
 * A program of 2-4 ranks is a list of steps per rank. Its messages travel on four communicators
 * (the world, a copy, halves of it, an intercommunicator between even and odd ranks), are sent in
 * every mode, buffered, started and persistent, and are received by name or from anybody, after
 * probes and matched probes, in loops of Test, by Waitany, Waitsome and their like, or cancelled.
 * Some programs look once and do something else when they saw nothing, or take another way by what
 * Waitany picked. What each receive got and what each call reported is the result of a run. */
#ifndef TESTS_CHECKER_HUNT_PROGRAM_H
#define TESTS_CHECKER_HUNT_PROGRAM_H

#include "tests/dice.h"
#include "tests/tap.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 4, OPS_MAX = 48, SLOTS_MAX = 16 };

#define VERBS(X)                                                                                   \
    X(SEND)                                                                                        \
    X(SSEND)                                                                                       \
    X(BSEND)                                                                                       \
    X(ISEND)                                                                                       \
    X(ISSEND)                                                                                      \
    X(IBSEND)                                                                                      \
    X(SEND_INIT)                                                                                   \
    X(RECV)                                                                                        \
    X(PROBE_RECV)                                                                                  \
    X(IPROBE_RECV)                                                                                 \
    X(MRECV)                                                                                       \
    X(IMPROBE_MRECV)                                                                               \
    X(IRECV)                                                                                       \
    X(RECV_INIT)                                                                                   \
    X(IMRECV)                                                                                      \
    X(SENDRECV)                                                                                    \
    X(WAIT)                                                                                        \
    X(TEST_UNTIL)                                                                                  \
    X(CANCEL)                                                                                      \
    X(WAITALL)                                                                                     \
    X(WAITANY_ALL)                                                                                 \
    X(WAITSOME_ALL)                                                                                \
    X(TESTANY_ALL)                                                                                 \
    X(TESTSOME_ALL)                                                                                \
    X(TESTALL_UNTIL)                                                                               \
    X(WAITANY)                                                                                     \
    X(TEST)                                                                                        \
    X(IPROBE)                                                                                      \
    X(TESTANY)                                                                                     \
    X(SKIP_UNLESS)                                                                                 \
    X(BATCH)                                                                                       \
    X(END_BATCH)                                                                                   \
    X(ALLREDUCE)                                                                                   \
    X(IALLREDUCE)                                                                                  \
    X(BCAST)                                                                                       \
    X(REDUCE)                                                                                      \
    X(BARRIER)                                                                                     \
    X(IBARRIER)                                                                                    \
    X(ALLREDUCE_INIT)
#define VERB(name) name,
enum verb { VERBS(VERB) };
#undef VERB

enum which { WORLD, COPY, HALF, BETWEEN, COMMS };

struct step {
    uint8_t verb, slot, comm;
    int8_t peer, tag; /* -1: any; the peer is a rank of the world */
};

struct program {
    uint32_t ranks, length[RANKS_MAX], slots[RANKS_MAX];
    struct step steps[RANKS_MAX][OPS_MAX];
    bool batches;
    bool polls; /* waits in loops that look */
    bool looks; /* what it does, or shows, may depend on what was there */
};

/* ---- making one ---- */

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
    return dice_below(&random_state, n);
}

static bool is_started(uint8_t verb)
{
    return (verb >= ISEND && verb <= SEND_INIT) || (verb >= IRECV && verb <= IMRECV) ||
           verb == IALLREDUCE || verb == IBARRIER || verb == ALLREDUCE_INIT;
}

static void add(struct program *program, uint32_t rank, struct step step)
{
    if (program->length[rank] < OPS_MAX - 4) /* those forced at the end fit always */
        program->steps[rank][program->length[rank]++] = step;
}

/* Something started ends somewhere: at once, or at the end. */
static void add_start(struct program *program, uint32_t rank, struct step step)
{
    static const uint8_t ends[] = {WAIT, WAIT, TEST_UNTIL};
    static const uint8_t looks[] = {TEST, TESTANY, WAITANY};
    if (program->slots[rank] == SLOTS_MAX || program->length[rank] + 6 > OPS_MAX - 4)
        return;
    step.slot = (uint8_t)program->slots[rank]++;
    add(program, rank, step);
    if (program->looks && below(3) == 0)
        add(program, rank, (struct step){.verb = looks[below(3)], .slot = step.slot});
    if (program->looks && step.verb == IRECV && below(4) == 0)
        add(program, rank, (struct step){.verb = CANCEL, .slot = step.slot});
    if (below(2))
        add(program, rank,
            (struct step){.verb = ends[below(program->polls ? 3 : 2)], .slot = step.slot});
}

static void add_any(struct program *program, uint32_t rank, struct step step)
{
    if (is_started(step.verb))
        add_start(program, rank, step);
    else
        add(program, rank, step);
}

static bool share(uint8_t comm, uint32_t a, uint32_t b)
{
    return comm == HALF ? a / 2 == b / 2 : comm == BETWEEN ? a % 2 != b % 2 : true;
}

static uint8_t comm_of(uint32_t a, uint32_t b)
{
    uint8_t comm = below(2) ? WORLD : (uint8_t)below(COMMS);
    return share(comm, a, b) ? comm : WORLD;
}

static void add_message(struct program *program)
{
    static const uint8_t sends[] = {SEND,  SEND,   SEND,   SSEND,    BSEND,
                                    ISEND, ISSEND, IBSEND, SEND_INIT};
    static const uint8_t receives[] = {RECV,  RECV,      RECV,   PROBE_RECV,  MRECV,        IRECV,
                                       IRECV, RECV_INIT, IMRECV, IPROBE_RECV, IMPROBE_MRECV};
    uint32_t from = below(program->ranks),
             to = (from + 1 + below(program->ranks - 1)) % program->ranks;
    struct step send = {.verb = sends[below(sizeof sends)],
                        .peer = (int8_t)to,
                        .comm = comm_of(from, to),
                        .tag = (int8_t)below(2)},
                receive = send;
    receive.verb = receives[below(sizeof receives - (program->polls ? 0 : 2))];
    receive.peer = below(4) ? (int8_t)from : -1;
    receive.tag = below(6) ? send.tag : -1;
    bool first = below(2);
    if (first)
        add_any(program, from, send);
    if (program->looks && below(4) == 0)
        add(program, to,
            (struct step){
                .verb = IPROBE, .peer = receive.peer, .tag = receive.tag, .comm = receive.comm});
    add_any(program, to, receive);
    if (!first)
        add_any(program, from, send);
}

/* Both ways at once. */
static void add_exchange(struct program *program)
{
    uint32_t ranks[2] = {below(program->ranks)};
    ranks[1] = (ranks[0] + 1 + below(program->ranks - 1)) % program->ranks;
    bool batch = below(2);
    program->batches |= batch;
    for (uint32_t side = 0; side < 2; side++) {
        struct step there = {.verb = SEND, .peer = (int8_t)ranks[1 - side], .tag = 2}, back = there;
        back.verb = RECV;
        uint32_t rank = ranks[side];
        if (!batch && below(2)) {
            there.verb = SENDRECV;
            add(program, rank, there);
        } else if (!batch || (side && below(3) == 0)) {
            bool receives_first = below(2);
            add(program, rank, receives_first ? back : there);
            add(program, rank, receives_first ? there : back);
        } else if (program->slots[rank] + 2 <= SLOTS_MAX &&
                   program->length[rank] + 6 < OPS_MAX - 4) {
            there.verb = ISEND;
            back.verb = IRECV;
            there.slot = (uint8_t)program->slots[rank]++;
            back.slot = (uint8_t)program->slots[rank]++;
            add(program, rank, (struct step){.verb = BATCH});
            add(program, rank, there);
            add(program, rank, back);
            add(program, rank, (struct step){.verb = END_BATCH});
            add(program, rank, (struct step){.verb = WAIT, .slot = there.slot});
            add(program, rank, (struct step){.verb = WAIT, .slot = back.slot});
        }
    }
}

static void add_collective(struct program *program)
{
    static const uint8_t verbs[] = {ALLREDUCE, IALLREDUCE, BCAST,         REDUCE,
                                    BARRIER,   IBARRIER,   ALLREDUCE_INIT};
    struct step step = {.verb = verbs[below(sizeof verbs)], .comm = (uint8_t)below(COMMS)};
    uint32_t first = step.comm == HALF ? below((program->ranks + 1) / 2) * 2 : 0,
             end = step.comm == HALF && first + 2 < program->ranks ? first + 2 : program->ranks;
    if (step.comm == BETWEEN)
        step.verb = below(2) ? BARRIER : ALLREDUCE;
    for (uint32_t rank = first; rank < end; rank++)
        add_any(program, rank, step);
}

/* A step that is all there is to a message may be left out where nothing was seen: what comes of
 * that is for the checks to find. */
static void add_way(struct program *program, uint32_t rank)
{
    for (uint32_t i = 0; i + 1 < program->length[rank]; i++) {
        struct step *step = &program->steps[rank][i];
        bool looked = step->verb == TEST || step->verb == TESTANY || step->verb == WAITANY ||
                      step->verb == IPROBE;
        bool whole = step[1].verb == SEND || step[1].verb == RECV;
        if (!looked || !whole || program->length[rank] >= OPS_MAX - 4 || below(2))
            continue;
        memmove(step + 2, step + 1, (program->length[rank]++ - i - 1) * sizeof *step);
        step[1] = (struct step){.verb = SKIP_UNLESS};
        i++;
    }
}

/* Two neighbours that may change places without ending up before what they need. */
static bool may_swap(const struct step *a, const struct step *b)
{
    bool whole = a->verb <= SENDRECV && b->verb <= SENDRECV;
    bool one = a->verb <= SENDRECV || b->verb <= SENDRECV;
    bool collective = a->verb >= ALLREDUCE || b->verb >= ALLREDUCE;
    return whole || (one && collective);
}

static void shuffle(struct program *program, uint32_t rank)
{
    bool inside = false;
    for (uint32_t i = 0; i + 1 < program->length[rank]; i++) {
        struct step *a = &program->steps[rank][i], kept = *a;
        inside = (inside || a->verb == BATCH) && a->verb != END_BATCH;
        if (below(6) == 0 && !inside && may_swap(a, a + 1)) {
            *a = a[1];
            a[1] = kept;
        }
    }
}

static struct program program_new(uint64_t seed)
{
    static const uint8_t ends[] = {WAITALL,     WAITALL,      WAITANY_ALL,  WAITSOME_ALL,
                                   TESTANY_ALL, TESTSOME_ALL, TESTALL_UNTIL};
    enum { BLOCKING = 4 };
    random_state = seed;
    struct program program = {.ranks = 2 + below(3)};
    program.looks = below(4) == 0;
    program.polls = below(4) == 0;
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
        shuffle(&program, rank);
        if (program.looks)
            add_way(&program, rank);
        add(&program, rank,
            (struct step){.verb = ends[below(program.polls ? sizeof ends : BLOCKING)]});
        program.steps[rank][program.length[rank]++] = (struct step){.verb = WAITALL};
    }
    return program;
}

static inline void program_show(const struct program *program)
{
#define VERB(name) #name,
    static const char *const verbs[] = {VERBS(VERB)};
#undef VERB
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        char line[2000] = "";
        for (uint32_t i = 0; i < program->length[rank]; i++) {
            const struct step *step = &program->steps[rank][i];
            size_t used = strlen(line);
            snprintf(line + used, sizeof line - used, " %s(%d,%d,c%u,%u)", verbs[step->verb],
                     step->peer, step->tag, step->comm, step->slot);
        }
        tap_note("  rank %u:%s", rank, line);
    }
}

#endif
