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
#include "sim/memory/scope.h"

struct sim_used;

struct sim_pending_entry {
    struct sim_hull hull;
    struct sim_region region;
    const void *owner;  /* the request, or what else ends it */
    const void *also;   /* that ends it, too; NULL: nothing */
    const char *name;   /* of the operation: "Irecv" */
    uint32_t operation; /* the recorder's number, 0: not recorded */
    uint32_t group;     /* equal: of one call */
    bool orphan;        /* a freed send */
    bool read_told, write_told;
    struct sim_scope scope; /* that its variable lives in */
    /* where nobody else watches: an orphan, memory of an access to a window; 0: not taken */
    uint64_t checksum;
};

/* What a thread that the rank has started did to a region: it has no recorder, so the rank tells. */
enum { SIM_PENDING_STRAYS = 8 };
struct sim_pending_stray {
    uint32_t operation;
    const void *site;
    char text[416];
};

struct sim_pending {
    struct sim_pending_entry *entries;
    _Atomic size_t count; /* looked at without the lock where nothing is pending */
    size_t room;
    size_t writes; /* of them, regions that are written */
    uintptr_t longest;
    uint32_t groups, orphans;
    bool instrumented; /* the program's accesses are seen */
    bool window_lost;  /* the memory of one with a function's return: reported */
    uint64_t kept;     /* operations that owned memory beyond their call */
    uint64_t unseen_large,
        unseen_collectives;   /* started without anybody looking at their buffers */
    _Atomic uint64_t misfits; /* buffers of which something was said; read without the lock */
    uintptr_t anchor;   /* the buffer that the regions now visited are displaced from; 0: none */
    uint64_t untyped;   /* buffers of which no debug information tells, */
    uint64_t untold;    /* though the program has it */
    uint64_t unbounded; /* buffers of which nothing says where they end */
    struct sim_pending_stray *strays; /* NULL: none yet; room for SIM_PENDING_STRAYS */
    uint32_t stray_count;
    atomic_flag busy;
    void *held; /* the recorder, while busy: see record_hold */
};

/* The rank's operations are watched from now on (recorded runs). */
void sim_pending_watch(struct sim_rank *rank);
void sim_pending_release(struct sim_rank *rank);
/* The calling rank starts threads: its recorder, which comes before the lock of its regions, must be
 * locked from now on, not only once one of them is seen there. */
void sim_pending_threads(void);
/* Whether anything of the rank's is pending. */
bool sim_pending_any(const struct sim_rank *rank);
/* The rank finalizes: what was not looked at becomes gaps of the coverage. */
void sim_pending_finish(struct sim_rank *rank);

/* The regions of an operation that starts, called `name` in what is reported: compared with those
 * that are pending, and with each other; kept until `owner` ends, not at all where that is NULL.
 * `source` visits them. All do nothing for a rank that is not watched. */
typedef void sim_region_source(const void *operation, sim_region_visit *visit, void *context);
void sim_pending_begin(struct sim_rank *rank, const char *name, const void *owner,
                       sim_region_source *source, const void *operation);
/* The same for regions in an array. */
void sim_pending_add(struct sim_rank *rank, const struct sim_region *regions, size_t count,
                     const char *name, const void *owner);
/* The same for the buffers of a call of the calling rank's that returns to `site` and that the
 * recorder does not know: it touches them like the program itself. */
void sim_pending_used(const char *name, const struct sim_used *sides, size_t count,
                      const void *site);
/* What the rank's last operation brought under `owner` ends with `request`, too. */
void sim_pending_also(struct sim_rank *rank, const void *owner, const void *request);
/* What is in a region that the last operation under `owner` brought stays there until the operation
 * is complete: compared when `owner` ends, and before, by whoever ends it only after others may go on:
 * of all owners from `first` to `last`. */
void sim_pending_guard(struct sim_rank *rank, const struct sim_region *region, const void *owner);
void sim_pending_look(struct sim_rank *rank, const void *first, const void *last);
/* All that is under `owner` belongs to this operation of the recorder's; 0: to none so far. */
void sim_pending_operation(struct sim_rank *rank, const void *owner, uint32_t operation);
/* True: an access to one of its regions was reported. */
bool sim_pending_end(struct sim_rank *rank, const void *owner);
/* An active request was freed. */
void sim_pending_freed(struct sim_rank *rank, const void *owner);
/* The rank has received something. */
void sim_pending_heard(struct sim_rank *rank);

/* Whether the program may read the bytes of [low, high), or write them, and nobody wants to know. */
bool sim_pending_allows(struct sim_rank *rank, uintptr_t low, uintptr_t high, bool write);

/* How the program gives up memory of its own. True: it is a fault, which was reported; what is under
 * way, and other ranks, still write there. */
enum sim_lost { SIM_LOST_FREE, SIM_LOST_RETURN };
bool sim_pending_lose(struct sim_rank *rank, uintptr_t address, size_t size, enum sim_lost how,
                      const void *site);
/* The rank calls MPI about its window, whose memory begins on a stack: it may be gone. */
void sim_pending_window_used(struct sim_rank *rank, uintptr_t base);
/* Whether something that nobody has reported begins within [low, high), or some window lies there. */
bool sim_pending_within(struct sim_rank *rank, uintptr_t low, uintptr_t high);

/* An access of the program that the safe stretch does not answer. */
void sim_pending_access(struct sim_rank *rank, uintptr_t address, size_t size, bool write,
                        const void *site);
/* The same where windows do not mind. */
void sim_pending_atomic(struct sim_rank *rank, uintptr_t address, size_t size, bool write,
                        const void *site);

#endif
