/* What an explorer needs to know of a run besides its choices: which choices led to what.
 *
 * Causes are a set of choices by their number in the log. A rank collects them as it completes
 * operations; messages and requests carry them on. Only what certainly depends on a choice is
 * marked: too little costs an explorer a run for nothing, too much would hide one from it. Choices
 * beyond SIM_CAUSES_MAX are not followed. Kept only in worlds that delay wildcards and log. */
#ifndef SIM_BASE_DEPENDENCE_SETS_H
#define SIM_BASE_DEPENDENCE_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_CAUSE_WORDS = 4, SIM_CAUSES_MAX = 64 * SIM_CAUSE_WORDS };

struct sim_dependences {
    uint64_t bits[SIM_CAUSE_WORDS];
};

static inline void sim_dependences_join(struct sim_dependences *into,
                                        const struct sim_dependences *from)
{
    for (int i = 0; i < SIM_CAUSE_WORDS; i++)
        into->bits[i] |= from->bits[i];
}

static inline void sim_dependences_add(struct sim_dependences *causes, size_t choice)
{
    if (choice < SIM_CAUSES_MAX)
        causes->bits[choice / 64] |= UINT64_C(1) << choice % 64;
}

/* Whether all of the other one's are among them. */
static inline bool sim_dependences_hold(const struct sim_dependences *causes,
                                        const struct sim_dependences *others)
{
    uint64_t rest = 0;
    for (int i = 0; i < SIM_CAUSE_WORDS; i++)
        rest |= others->bits[i] & ~causes->bits[i];
    return !rest;
}

static inline bool sim_dependences_have(const struct sim_dependences *causes, size_t choice)
{
    return choice < SIM_CAUSES_MAX && causes->bits[choice / 64] >> choice % 64 & 1;
}

enum sim_event_kind {
    SIM_EVENT_MESSAGE, /* sent by `rank` as `number`, taken by a receive posted as `order` */
    SIM_EVENT_TAKER,   /* wildcard receive or probe `object` of `rank`, posted as `order` */
    SIM_EVENT_ITEM,    /* request `number` of the Waitany `object` of `rank`; complete or not */
    SIM_EVENT_LOCK,  /* call `object` of `rank` for the lock of part `owner` of window `box`; `all`:
                          for it alone; complete: had */
    SIM_EVENT_CANCEL /* of receive `object` of `rank`, when it had what it wanted: `next` is the
                          taker's event, UINT32_MAX if it was not delayed */
};

/* What was not explored although it may happen: bits of a log's `gaps`. */
enum sim_gap {
    SIM_GAP_POLLS = 1,    /* a poll may be answered "not yet" more often than it was */
    SIM_GAP_CANCEL = 2,   /* a cancelled operation that was matched may also not be */
    SIM_GAP_THREADS = 4,  /* threads of one rank were run in one order */
    SIM_GAP_PRINTED = 8,  /* what a rank prints is never the same, so it was not compared */
    SIM_GAP_LOCKS = 16,   /* a lock was given while its rival still polled a window */
    SIM_GAP_ATOMICS = 32, /* one rank fetched atomically where another made atomic changes */
    SIM_GAP_WAITING = 64, /* a rank waited for others although MPI may let it go on */
    SIM_GAP_LAZY = 128    /* a lock was had when asked for, though MPI may give it later */
};

/* What a lock's holder did with what it locks. */
enum sim_lock_use { SIM_LOCK_UNUSED, SIM_LOCK_READ, SIM_LOCK_WRITTEN };

struct sim_event {
    uint8_t kind;
    bool complete; /* an item's request is; a message is taken */
    bool all;      /* an item: all of its call must be complete (Testall); a lock: exclusive */
    uint32_t rank, object, number;
    uint32_t source; /* taker: takes from this world rank, SIM_NOTHING: from anybody */
    uint32_t box;    /* context, and whose mailbox in it */
    int32_t owner;
    int32_t tag;
    uint64_t order;
    bool plain;   /* a lock: nothing was called under it but accesses and flushes, to these
                           addresses of the window */
    bool lazy;    /* a lock: before the first flush its holder let others go on by messages */
    uint32_t how; /* and how: enum sim_lock_use, or an operation's handle that all of them had */
    uint64_t low, high;
    uint32_t next; /* item: the event of the same request in an earlier Waitany, UINT32_MAX */
    struct sim_dependences causes;
};

#endif
