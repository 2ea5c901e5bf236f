/* Random programs of one-sided communication.
 *
 * A program of 2-4 ranks is a list of calls per rank. It is made phase by phase, so that it never
 * hangs: all calls of a phase that wait for each other are added to all ranks together. What
 * belongs together has the same number: a message's send, probe and receive; the members' calls of
 * one collective; the four calls of an exposure. */
#ifndef TESTS_WINDOWS_WINDOW_PROGRAM_H
#define TESTS_WINDOWS_WINDOW_PROGRAM_H

#include "tests/dice.h"
#include "tests/tap.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { RANKS_MAX = 4, CALLS_MAX = 28, PLACES = 16 };

enum verb {
    PUT,
    GET,
    SUM,
    PRODUCT,
    REPLACE,
    SUM_OF_FLOATS,
    FETCH_SUM, /* Get_accumulate */
    FETCH,     /* the same with MPI_NO_OP */
    FETCH_AND_ADD,
    SWAP,
    RPUT, /* and completed by WAIT_ALL here */
    RGET,
    RSUM,
    LOAD,
    STORE,
    SEND_FROM, /* a message out of, or into, the caller's part of the window */
    RECEIVE_INTO,
    IRECEIVE_INTO,
    SEND,
    SSEND,
    ISSEND,
    PROBE,
    RECEIVE,
    WAIT_ALL, /* of all requests that were started */
    FENCE,
    BARRIER,
    IBARRIER,
    BROADCAST,
    SCATTER,
    SCATTERV,
    REDUCE,
    GATHER,
    GATHERV,
    ALLREDUCE,
    SCAN,
    EXSCAN,
    POST,
    START,
    COMPLETE,
    WAIT_EXPOSED,
    LOCK_EXCLUSIVE,
    LOCK_SHARED,
    UNLOCK,
    LOCK_ALL,
    UNLOCK_ALL,
    FLUSH,
    FLUSH_ALL,
    FLUSH_LOCAL,
    FLUSH_LOCAL_ALL,
    SYNC
};

enum shape { ONE, TWO, GAP }; /* an int, two neighbours, two with an int between them */

struct call {
    uint8_t verb, shape, place, number;
    uint8_t peer;  /* target, partner, root */
    uint8_t group; /* of POST and START: a bit per rank */
    uint8_t lane;  /* of messages: bit 0 is the tag, bit 1 the communicator */
};

struct program {
    uint32_t ranks;
    struct call calls[RANKS_MAX][CALLS_MAX];
    uint32_t length[RANKS_MAX];
    bool shared;    /* everybody's memory can be loaded and stored */
    bool unordered; /* the window's info gives up the order of accumulates */
    bool same_op;   /* ... and says that all that meet are of one operation */
    bool full;      /* a rank had no room for a call */
};

static inline bool is_remote(uint8_t verb)
{
    return verb <= RSUM;
}

static inline bool is_access(uint8_t verb)
{
    return verb <= IRECEIVE_INTO;
}

/* Bit i: the int at place i is touched. */
static inline uint32_t places_of(const struct call *call)
{
    return (call->shape == ONE ? 1u : call->shape == TWO ? 3u : 5u) << call->place;
}

static inline struct call *say(struct program *program, uint32_t rank, uint8_t verb, uint32_t peer)
{
    static struct call none;
    if (program->length[rank] == CALLS_MAX) {
        program->full = true;
        return &none;
    }
    struct call *call = &program->calls[rank][program->length[rank]++];
    *call = (struct call){.verb = verb, .peer = (uint8_t)peer};
    return call;
}

struct writer {
    struct program *program;
    uint64_t *dice;
    uint8_t numbers, hot; /* `hot`: around where accesses are */
    bool fetches;         /* atomic operations that return something are among the accesses */
};

static inline uint32_t roll(struct writer *writer, uint32_t sides)
{
    return dice_below(writer->dice, sides);
}

static inline uint32_t any_rank(struct writer *writer)
{
    return roll(writer, writer->program->ranks);
}

static inline void all_say(struct writer *writer, uint8_t verb, uint32_t root)
{
    writer->numbers++;
    for (uint32_t rank = 0; rank < writer->program->ranks; rank++)
        say(writer->program, rank, verb, root)->number = writer->numbers;
}

static inline void where(struct writer *writer, struct call *call)
{
    call->place = (uint8_t)(writer->hot + (roll(writer, 3) ? 0 : roll(writer, 4)));
    call->shape = (uint8_t)(roll(writer, 2) ? ONE : 1 + roll(writer, 2));
    if (call->verb == FETCH_AND_ADD || call->verb == SWAP)
        call->shape = ONE;
}

static inline void access_remotely(struct writer *writer, uint32_t rank, uint32_t target,
                                   bool requests)
{
    static const uint8_t plain[] = {PUT, GET, SUM, SUM, PRODUCT, REPLACE, SUM_OF_FLOATS},
                         fetching[] = {FETCH_SUM, FETCH, FETCH_AND_ADD, SWAP},
                         requested[] = {RPUT, RGET, RSUM};
    uint8_t verb = plain[roll(writer, sizeof plain)];
    if (writer->fetches && roll(writer, 2))
        verb = fetching[roll(writer, sizeof fetching)];
    else if (requests && roll(writer, 3) == 0)
        verb = requested[roll(writer, sizeof requested)];
    where(writer, say(writer->program, rank, verb, target));
}

static inline void access_locally(struct writer *writer, uint32_t rank)
{
    uint32_t whose = writer->program->shared && roll(writer, 2) ? any_rank(writer) : rank;
    where(writer, say(writer->program, rank, roll(writer, 2) ? LOAD : STORE, whose));
}

/* A message, in one of the ways one can be sent and received. What was probed may be received behind
 * another message that has another tag or communicator. */
static inline void send_message(struct writer *writer, uint32_t from, uint32_t to, int lane)
{
    static const uint8_t sends[] = {SEND, SEND, SSEND, ISSEND, SEND_FROM},
                         receives[] = {RECEIVE, RECEIVE, RECEIVE_INTO, IRECEIVE_INTO};
    uint8_t number = ++writer->numbers, verb = sends[roll(writer, sizeof sends)];
    struct call *send = say(writer->program, from, verb, to);
    where(writer, send);
    send->number = number;
    send->lane = (uint8_t)(lane < 0 ? (int)roll(writer, 4) : lane);
    if (roll(writer, 4) == 0) {
        struct call *probe = say(writer->program, to, PROBE, from);
        probe->number = number;
        probe->lane = send->lane;
        uint32_t other = any_rank(writer);
        if (lane < 0 && verb != SSEND && other != to)
            send_message(writer, other, to, send->lane ^ (int)(1 + roll(writer, 3)));
    }
    struct call *receive = say(writer->program, to, receives[roll(writer, sizeof receives)], from);
    where(writer, receive);
    receive->number = number;
    receive->lane = send->lane;
    receive->shape = send->shape;
    if (receive->verb == IRECEIVE_INTO && roll(writer, 2))
        say(writer->program, to, WAIT_ALL, 0);
    if (send->verb == ISSEND && roll(writer, 2))
        say(writer->program, from, WAIT_ALL, 0);
}

/* What may order something, or not. */
static inline void synchronise(struct writer *writer)
{
    static const uint8_t kinds[] = {BARRIER, IBARRIER,  BROADCAST, SCATTER, REDUCE,
                                    GATHER,  ALLREDUCE, SCAN,      EXSCAN};
    uint32_t from = any_rank(writer), to = any_rank(writer);
    switch (roll(writer, 4)) {
    case 0:
        all_say(writer, kinds[roll(writer, sizeof kinds)], to);
        break;
    case 1:
        break;
    default:
        if (from != to)
            send_message(writer, from, to, -1);
    }
    if (roll(writer, 6) == 0)
        say(writer->program, any_rank(writer), WAIT_ALL, 0);
}

static inline void write_fences(struct writer *writer)
{
    all_say(writer, FENCE, 0);
    for (uint32_t phase = 0, phases = 1 + roll(writer, 3); phase < phases; phase++) {
        for (uint32_t i = roll(writer, 3); i > 0; i--) {
            uint32_t rank = any_rank(writer);
            if (roll(writer, 3))
                access_remotely(writer, rank, roll(writer, 2), false);
            else
                access_locally(writer, rank);
            if (roll(writer, 3) == 0)
                synchronise(writer);
        }
        all_say(writer, FENCE, 0);
    }
}

/* With waits for requests only where nobody can be kept from going on. */
static inline void complete_some(struct writer *writer, uint32_t rank, uint32_t target, bool waits)
{
    static const uint8_t kinds[] = {FLUSH, FLUSH_ALL, FLUSH_LOCAL, FLUSH_LOCAL_ALL, SYNC, WAIT_ALL};
    if (roll(writer, 3))
        say(writer->program, rank, kinds[roll(writer, sizeof kinds - !waits)], target);
}

static inline void write_lock_all(struct writer *writer)
{
    all_say(writer, LOCK_ALL, 0);
    for (uint32_t i = 2 + roll(writer, 3); i > 0; i--) {
        uint32_t rank = any_rank(writer);
        if (roll(writer, 3)) {
            access_remotely(writer, rank, roll(writer, 2), true);
            complete_some(writer, rank, roll(writer, 2), true);
        } else {
            access_locally(writer, rank);
        }
        if (roll(writer, 2))
            synchronise(writer);
    }
    all_say(writer, UNLOCK_ALL, 0);
}

/* Nobody waits for others while it has a lock. */
static inline void write_locks(struct writer *writer)
{
    for (uint32_t i = 2 + roll(writer, 2); i > 0; i--) {
        uint32_t rank = any_rank(writer), target = roll(writer, 2);
        bool local = roll(writer, 3) == 0;
        uint8_t lock = (uint8_t[]){LOCK_EXCLUSIVE, LOCK_SHARED, LOCK_ALL}[roll(writer, 3)];
        if (local && roll(writer, 2)) {
            access_locally(writer, rank);
            synchronise(writer);
            continue;
        }
        say(writer->program, rank, lock, target);
        for (uint32_t k = roll(writer, 2) + 1; k > 0; k--) {
            if (local) {
                access_locally(writer, rank);
                continue;
            }
            access_remotely(writer, rank, target, true);
            complete_some(writer, rank, lock == LOCK_ALL ? roll(writer, 2) : target, false);
        }
        say(writer->program, rank, lock == LOCK_ALL ? UNLOCK_ALL : UNLOCK, target);
        synchronise(writer);
    }
}

/* Exposures of rank 0 or 1 to some of the others. */
static inline void write_exposures(struct writer *writer)
{
    struct program *program = writer->program;
    for (uint32_t i = 1 + roll(writer, 2); i > 0; i--) {
        uint32_t target = roll(writer, 2), number = ++writer->numbers;
        uint8_t group = (uint8_t)(roll(writer, 1u << program->ranks) & ~(1u << target));
        if (roll(writer, 3) == 0)
            access_locally(writer, target);
        struct call *post = say(program, target, POST, target);
        post->group = group;
        post->number = (uint8_t)number;
        if (roll(writer, 3) == 0)
            access_locally(writer, target);
        for (uint32_t rank = 0; rank < program->ranks; rank++) {
            if (!(group >> rank & 1))
                continue;
            struct call *start = say(program, rank, START, target);
            start->group = (uint8_t)(1u << target);
            start->number = (uint8_t)number;
            for (uint32_t k = roll(writer, 3); k > 0; k--)
                access_remotely(writer, rank, target, false);
            say(program, rank, COMPLETE, target)->number = (uint8_t)number;
            if (roll(writer, 3) == 0)
                synchronise(writer);
        }
        if (roll(writer, 3) == 0)
            access_locally(writer, target);
        say(program, target, WAIT_EXPOSED, target)->number = (uint8_t)number;
        if (roll(writer, 2))
            access_locally(writer, any_rank(writer));
        synchronise(writer);
    }
}

static inline void write_program(struct program *program, uint64_t seed)
{
    uint64_t dice = seed;
    do {
        memset(program, 0, sizeof *program);
        program->ranks = 2 + (dice_below(&dice, 3) ? dice_below(&dice, 2) : dice_below(&dice, 3));
        program->shared = dice_below(&dice, 4) == 0;
        program->unordered = dice_below(&dice, 4) == 0;
        struct writer writer = {.program = program,
                                .dice = &dice,
                                .hot = (uint8_t)(1 + dice_below(&dice, PLACES - 8)),
                                .fetches = dice_below(&dice, 4) == 0};
        void (*const writers[])(struct writer *) = {write_fences, write_lock_all, write_locks,
                                                    write_exposures};
        writers[dice_below(&dice, 4)](&writer);
        program->same_op = dice_below(&dice, 3) == 0;
        for (uint32_t rank = 0; rank < program->ranks; rank++)
            say(program, rank, WAIT_ALL, 0);
    } while (program->full);
}

#endif
