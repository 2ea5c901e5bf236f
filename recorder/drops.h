/* The oldest records of a run that fills the memory allowed for them are let go, while it runs; and
 * those that are complete are packed before that (see packing.h), so that it comes to it late.
 *
 * Rules:
 *  1. Only the process that will load the recording does this; the ranks' processes may be killed
 *     at any time, and what is known of the dropped records stays exact.
 *  2. A chunk is dropped as a whole, when its rank has two newer ones, and all in it are complete
 *     operations that need nothing but their partners: messages, waits, probes, collectives. A
 *     chunk with anything else (communicators, notes, windows, operations under way) is kept; its
 *     complete operations are marked RECORD_OP_CUT and count as gone, so that what is kept and
 *     judged begins at one place in each channel.
 *  3. A chunk is packed when all in it was seen to be complete and its rank has begun to write another one since, or waits to: what a call
 *     has still to write of an operation that it completed, it has written then, and no operation is complete ahead of its rank's turn.
 *  4. Ranks wait for the packing, too, where much is not yet packed.
 *  5. Who has room again is told by buffers_header.freed; ranks that are too fast wait for it. */
#ifndef RECORDER_DROPS_H
#define RECORDER_DROPS_H

#include "recorder/balances.h"
#include "recorder/buffers.h"
#include "recorder/packing.h"
#include "traces/trace/handle_map.h"

/* Operations of a rank, by number, that are not kept. */
struct drops_gap {
    uint64_t first, count, before; /* before: in earlier gaps */
};

struct drops_rank {
    uint64_t ops; /* in the chunks that were looked at */
    uint64_t chunks;
    uint64_t *comms; /* by number: what balances know it by */
    uint32_t comm_room;
    struct drops_gap *gaps;
    size_t gap_count, gap_room;
};

/* A chunk that is kept and may be dropped. Its rank and units are what it said when it was found:
 * the program under test can write over its head while ranks run. */
struct drops_place {
    const struct chunk *chunk;
    uint32_t rank, units;
    uint64_t ordinal, first, count; /* which of its rank's; its operations */
    bool known, tried;              /* tried: to pack it */
    bool complete, counted; /* all in it was seen to be; and so many chunks there were then */
    uint64_t chunks_then;
    struct packed *packed; /* NULL: the chunk is where it was */
    uint32_t counts_for;   /* units in use, if it is packed */
};

struct drops {
    struct buffers *buffers;
    uint32_t ranks;
    struct drops_rank *of; /* NULL: no memory, or nothing is dropped */
    const struct chunk *last;
    struct drops_place *places;
    size_t place_count, place_room;
    size_t *untried; /* places that may be packed once they are old and final */
    size_t untried_count, untried_room;
    struct balances channels;
    uint16_t *blocks;              /* units dropped of each large page */
    struct handle_map collectives; /* comm -> how many of its collectives are gone somewhere */
    uint64_t ops;                  /* dropped */
    unsigned in_vain;
    bool failed;
    bool damaged; /* a chunk's head was no recorder's */
};

void drops_init(struct drops *drops, struct buffers *buffers, uint32_t ranks);
void drops_release(struct drops *drops);
/* Drops what is oldest where the memory is nearly used up; called again and again, by one thread.
 * True: it was. */
bool drops_relieve(struct drops *drops);

/* No more is dropped; to be called before the rest is loaded. */
void drops_settle(struct drops *drops);
/* The head of a chunk that is kept is not what it was: the program under test wrote over it. */
bool drops_damaged(const struct drops *drops);
/* What balances know a communicator by. */
uint64_t drops_comm_key(const struct record_comm *record);
/* The channel of a message; false for an operation that belongs to none. `comm` is the caller's. */
bool drops_channel(uint32_t rank, const struct record_op *op, struct balance *channel);
/* How many of the rank's operations before this number are not kept; UINT64_MAX: nor is it. */
uint64_t drops_before(const struct drops *drops, uint32_t rank, uint64_t number);
/* This number, or that of the first that is kept behind a gap that begins with it. */
uint64_t drops_skip(const struct drops *drops, uint32_t rank, uint64_t number);

#endif
