/* Pending regions: the memory that operations under way on a rank own.
 *
 * A region is added when its operation starts and removed when the program learns that it is
 * complete. While it is pending,
 *  - the program must not write what the operation reads, and must neither read nor write what the
 *    operation writes: B001, seen by the callbacks of instrumented code (accesses.c);
 *  - no other operation may do so either: B002, by exact intersection of the type maps.
 * The buffer of an active send that was freed stays pending until the rank has received something:
 * before that it cannot know that the send is complete.
 *
 * Invariants:
 *  1. Entries are sorted by the low end of their hulls; no hull is longer than `longest`.
 *  2. No entry has a byte within the rank's safe stretch.
 *  3. Only threads of the rank touch its entries, one at a time. */
#ifndef SIM_MEMORY_PENDING_H
#define SIM_MEMORY_PENDING_H

#include "sim/memory/region.h"

struct sim_pending_entry {
    struct sim_hull hull;
    struct sim_region region;
    const void *owner;  /* the request, or what else ends it */
    const char *name;   /* of the operation: "Irecv" */
    uint32_t operation; /* the recorder's number, 0: not recorded */
    uint32_t group;     /* equal: of one call */
    bool orphan;        /* a freed send */
    bool read_told, write_told;
    uint64_t checksum; /* of an orphan that nobody else watches; 0: not taken */
};

struct sim_pending {
    struct sim_pending_entry *entries;
    _Atomic size_t count; /* looked at without the lock where nothing is pending */
    size_t room;
    uintptr_t longest;
    uint32_t groups, orphans;
    bool instrumented; /* the program's accesses are seen */
    uint64_t unseen_large,
        unseen_collectives; /* started without anybody looking at their buffers */
    atomic_flag busy;
};

/* The rank's operations are watched from now on (recorded runs). */
void sim_pending_watch(struct sim_rank *rank);
void sim_pending_release(struct sim_rank *rank);
/* The rank finalizes: what was not looked at becomes gaps of the coverage. */
void sim_pending_finish(struct sim_rank *rank);

/* A point-to-point request starts, called `name` in what is reported: compares its region with
 * those pending; kept until it ends. All do nothing for a rank that is not watched. */
void sim_pending_point(struct sim_request *request, const char *name);
/* The same for the regions of a collective, also with each other; `owner` is its request, NULL for
 * a blocking call, whose regions are not kept. */
void sim_pending_call(struct sim_rank *rank, const struct sim_collective_call *call,
                      const void *owner);
/* The same for regions of any other operation. */
void sim_pending_add(struct sim_rank *rank, const struct sim_region *regions, size_t count,
                     const char *name, const void *owner);
/* True: an access to one of its regions was reported. */
bool sim_pending_end(struct sim_rank *rank, const void *owner);
/* An active request was freed. */
void sim_pending_freed(struct sim_rank *rank, const void *owner);
/* The rank has received something. */
void sim_pending_heard(struct sim_rank *rank);

/* An access of the program that the safe stretch does not answer. */
void sim_pending_access(struct sim_rank *rank, uintptr_t address, size_t size, bool write,
                        const void *site);

#endif
