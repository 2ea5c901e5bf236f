/* What the recorder keeps per rank while it runs, and the steps the wrappers are made of. Private
 * to this room and recorder/wrappers.
 *
 * Rules:
 *  1. A rank's recorder is touched by that rank only, by one of its threads at a time: between
 *     recorder_enter and recorder_leave, within which nothing blocks and nothing is asked of MPI
 *     that may fail. Operations stand in the trace in the order in which their threads entered.
 *  2. Nothing here calls MPI_X, only PMPI_X, so that nothing records itself.
 *  3. When there is no memory, recording stops for that rank (the buffers count what is lost);
 *     the program goes on. */
#ifndef RECORDER_RANK_H
#define RECORDER_RANK_H

#include "recorder/buffers.h"
#include "recorder/memory.h"
#include "recorder/recording.h"
#include "recorder/watch.h"
#include "traces/trace/handle_map.h"
#include "traces/trace/kinds.h"

#include <mpi.h>
#include <mpix.h>
#include <pthread.h>
#include <stdatomic.h>

/* A handle of any MPI as a number: pointers in the standard ABI and Open MPI, integers in MPICH. */
#define HANDLE_KEY(handle) ((uint64_t)(uintptr_t)(handle))

/* Only inside the recorder: MPI_Cancel was called on it. Cleared when a trace is made. */
enum { OP_CANCEL_ASKED = 1 << 15 };

struct recorder_type {
    uint32_t basic, unit, signature; /* ABI number (0: mixed), bytes of one, hash (0: unknown) */
    /* The shortest word of basic types of whose repetitions the type consists; NULL: unknown. */
    uint16_t *word;
    uint32_t word_length, word_bytes;
    int64_t elements;            /* basic elements in one item; bytes when mixed */
    int64_t size, extent, lower; /* bytes of one item; span; first byte */
};

struct recorder_comm {
    uint64_t id;
    uint32_t number, parent, size; /* size: all members, local then remote */
    uint32_t local_size;           /* equal to size unless it is an intercommunicator */
    int32_t start, stride;         /* members when `members` is NULL */
    int32_t *members;
    int32_t rank;                      /* the caller's */
    uint8_t special;                   /* RECORD_COMM_WORLD or _SELF */
    uint32_t collectives, persistents; /* issued; made */
    struct recorder_comm *next;
};

/* What a nonblocking duplication will make: its identity is that of the moment of the call, however
 * late and in which order the program first uses what it got. */
struct recorder_promise {
    MPI_Comm *made; /* valid until the request is complete */
    uint64_t id;
    uint32_t parent;
};

/* Of a partitioned request. */
struct recorder_parts {
    uint32_t count, missing; /* that the program marks; and has not yet marked since Start */
    bool open;               /* started, not complete */
    bool ready[];
};

struct recorder_request {
    struct record_op *op;
    struct record_op *second; /* an Isendrecv's receive, the operation after `op`; NULL */
    uint32_t index;
    uint32_t checksum; /* of a pending send's buffer, 0: not taken */
    const struct recorder_comm *comm;
    struct record_op *pattern;        /* persistent: what Start issues; owned */
    struct recorder_parts *parts;     /* NULL: not partitioned; owned */
    void *call;                       /* of a persistent collective that is watched; owned */
    struct recorder_promise *promise; /* of a nonblocking duplication; owned */
    bool active;
    bool taken;     /* a call that may complete it is under way */
    uint8_t thread; /* that started it */
    struct recorder_request *next_free;
};

/* Started and not complete; `active`: its operation is recorded, too. */
static inline bool recorder_request_is_open(const struct recorder_request *request)
{
    return request->active || (request->parts && request->parts->open);
}

enum { RECORDER_DEPTH = 64, RECORDER_CACHE = 16, RECORDER_THREADS = 64 };
enum { RECORDER_LOOK = 64 }; /* a rank with fewer operations is not looked at for loops */

/* A test under way. Those that find nothing leave no operation; one in which the rank ends does. */
struct recorder_rank;
struct recorder_test {
    const void *site;
    void (*begin)(struct recorder_rank *me, const void *call);
    const void *call;
};

/* What is one thread's own. */
struct recorder_thread {
    const void *mark;          /* tells threads apart */
    uint8_t number;            /* as they came; the first began the rank */
    uint32_t op;               /* number of its last operation */
    struct record_op *current; /* the one in progress or issued last */
    struct recorder_test test; /* site NULL: none */
    uint32_t node_depth, site_depth, pass_depth;
    uint32_t nodes[RECORDER_DEPTH], passes[RECORDER_DEPTH];
    const void *sites[RECORDER_DEPTH];
    uint32_t batch, identity;
    MPI_Status *statuses; /* scratch */
    struct recorder_request **pending;
    uint64_t *keys;
    size_t scratch;
};

struct recorder_repeats;

struct recorder_rank {
    struct recording *recording;
    struct record_watch *watch; /* NULL: nobody watches */
    struct buffers *buffers;
    struct buffers_writer writer;
    enum record_level level;
    uint32_t rank, ranks;
    uint32_t ops; /* issued so far: the number of the next one */
    struct record_rank *info;
    struct mpix_pace pace; /* where logical time stands, if `paced`; else MPIX_Steps tells */
    bool paced;
    struct recorder_before *before;   /* operations that it marked complete ahead of its turn */
    struct recorder_repeats *repeats; /* NULL: loops are not looked for, or not yet */
    uint32_t look_at;             /* how many operations there are when they are looked at next */
    struct recorder_thread *self; /* the calling one, while it is in the recorder */
    struct recorder_thread first, *threads[RECORDER_THREADS]; /* by number */
    uint32_t thread_count, tasks;
    _Atomic bool shared; /* by several threads: entered through the lock */
    pthread_mutex_t lock;
    const void *_Atomic owner; /* its mark, while the lock is held */
    int depth;                 /* how often it has entered */
    uint32_t node_count, pass_count, batch_count, string_count;
    struct handle_map requests, comms, comms_made, types, windows, strings, node_records,
        pass_records;
    struct handle_map promised; /* handles of kept promises that the program has not yet used */
    struct recorder_request *free_requests;
    void *request_blocks;
    struct recorder_comm *comm_list;
    uint32_t comm_count;
    uint64_t comm_key; /* the one used last */
    struct recorder_comm *comm_last;
    struct {
        uint64_t key;
        const struct recorder_type *type;
    } type_cache[RECORDER_CACHE];
};

/* Whether any rank of this process has been recorded yet; until then nobody need look further. */
extern __attribute__((visibility("hidden"))) atomic_bool recorder_used;

static inline bool recorder_maybe(void)
{
    return __builtin_expect(atomic_load_explicit(&recorder_used, memory_order_relaxed), 0);
}

extern __attribute__((visibility("hidden"))) _Thread_local char recorder_thread_mark;
extern __attribute__((visibility("hidden"))) _Thread_local uint8_t recorder_task;
/* Of the task that the calling thread is in: its first operation gives it one. */
uint8_t recorder_task_number(struct recorder_rank *me);

void recorder_threads_init(struct recorder_rank *me);
void recorder_threads_release(struct recorder_rank *me);
void recorder_lock(struct recorder_rank *me);
void recorder_unlock(struct recorder_rank *me);

/* The caller's recorder, NULL when it is not being recorded. */
static inline struct recorder_rank *recorder_me(void)
{
    if (!recorder_maybe())
        return NULL;
    void **slots = MPIX_Rank_slots();
    return slots ? slots[MPIX_SLOT_RECORDER] : NULL;
}

/* Back in the recorder after a call of MPI. A rank of one thread takes no lock. */
static inline void recorder_reenter(struct recorder_rank *me)
{
    if (atomic_load_explicit(&me->shared, memory_order_relaxed) ||
        me->first.mark != &recorder_thread_mark)
        recorder_lock(me);
}

void recorder_ahead_note(struct recorder_rank *me, struct record_op *op,
                         struct record_waits *waits);
/* Its turn has come; or does not come any more. */
void recorder_ahead_over(struct recorder_rank *me);
void recorder_ahead_undo(struct recorder_rank *me);
void recorder_ahead_forget(struct recorder_rank *me);
/* MPI_Init, which came back ahead of the rank's first turn; false: it did not. */
bool recorder_ahead_init(struct recorder_rank *me, const void *site, int error);

/* The caller's recorder, for it alone until recorder_leave; NULL when it is not being recorded. */
static inline struct recorder_rank *recorder_enter(void)
{
    struct recorder_rank *me = recorder_me();
    if (me && me->paced && *me->pace.wide)
        MPIX_Turn();
    if (me && __builtin_expect(me->before != NULL, 0))
        recorder_ahead_over(me);
    if (me)
        recorder_reenter(me);
    return me;
}

/* The same for what is not of the record, but of the rank or its thread alone: it need not wait for the
 * rank's turn. */
static inline struct recorder_rank *recorder_enter_own(void)
{
    struct recorder_rank *me = recorder_me();
    if (me)
        recorder_reenter(me);
    return me;
}

/* Before a call of MPI, and at the end. NULL is fine. */
static inline void recorder_leave(struct recorder_rank *me)
{
    if (me && atomic_load_explicit(&me->shared, memory_order_relaxed))
        recorder_unlock(me);
}

/* The layer above that set a site knows better. */
static inline uint64_t recorder_site(const struct recorder_rank *me, const void *site)
{
    const struct recorder_thread *self = me->self;
    return (uint64_t)(uintptr_t)(self->site_depth ? self->sites[self->site_depth - 1] : site);
}

/* A zeroed record of `size` bytes (a multiple of 8), not visible until recorder_commit; NULL when
 * there is no room. */
static inline void *recorder_record(struct recorder_rank *me, size_t size)
{
    if ((size_t)(me->writer.end - me->writer.next) < size &&
        !buffers_more(me->buffers, &me->writer, size))
        return NULL;
    return me->writer.next;
}

static inline void recorder_commit(struct recorder_rank *me, void *record, enum record_type type,
                                   uint8_t small, size_t size)
{
    struct record_head *head = record;
    head->type = (uint8_t)type;
    head->small = small;
    __atomic_store_n(&head->size, (uint16_t)size, __ATOMIC_RELEASE);
    me->writer.next += size;
}

uint64_t recorder_now(void); /* wall time, nanoseconds */

/* Logical time of the caller. */
static inline uint64_t recorder_steps(const struct recorder_rank *me)
{
    return me->paced ? *me->pace.steps : MPIX_Steps();
}

/* Iterations of loops whose records are alike are kept once: see repeats.c. Called before an
 * operation is appended, when the one before it has all it will have before it is completed. */
void recorder_repeats_look(struct recorder_rank *me);
void recorder_repeats_free(struct recorder_rank *me);

/* Appends an operation of the caller; NULL when there is no room. `site` is used unless a layer
 * above set another. */
struct record_op *recorder_op(struct recorder_rank *me, enum op_kind kind, enum op_state state,
                              const void *site);
/* Its call returned: complete, or failed with the class of `error`. */
void recorder_op_end(struct recorder_rank *me, struct record_op *op, int error);
void recorder_op_failed(struct recorder_rank *me, struct record_op *op, int error);
/* Marks an operation complete now, without an error. */
void recorder_op_complete(struct recorder_rank *me, struct record_op *op);
/* At level events: wall time of its beginning or end. */
void recorder_op_time(struct record_op *op, bool begins);

/* The same for what is called most often. */
static inline __attribute__((always_inline)) struct record_op *
recorder_op_inline(struct recorder_rank *me, enum op_kind kind, enum op_state state,
                   const void *site)
{
    bool timed = me->level == RECORD_LEVEL_EVENTS;
    if (me->ops >= me->look_at)
        recorder_repeats_look(me);
    size_t size = timed ? sizeof(struct record_op_timed) : sizeof(struct record_op);
    struct record_op *op = (struct record_op *)recorder_record(me, size);
    if (!op)
        return NULL;
    struct recorder_thread *self = me->self;
    uint32_t pass = self->pass_depth ? self->passes[self->pass_depth - 1] : 0;
    uint32_t node = self->node_depth ? self->nodes[self->node_depth - 1] : 0;
    op->state = (uint8_t)state; /* what is not set here is zero */
    op->thread = recorder_task ? recorder_task_number(me) : self->number;
    op->flags = pass && node ? OP_ADJOINT : 0;
    op->pass = pass;
    op->node = node;
    op->site = recorder_site(me, site);
    op->peer = op->tag = op->peer_matched = op->tag_matched = RECORD_NONE;
    op->count_matched = -1;
    op->request = UINT32_MAX;
    op->batch = self->batch;
    op->identity = self->identity;
    op->begin = recorder_steps(me);
    if (self->identity) /* read as it was written: see same_op in repeats.c */
        self->identity = 0;
    if (timed)
        recorder_op_time(op, true);
    recorder_commit(me, op, RECORD_OP, (uint8_t)kind, size);
    self->op = me->ops;
    __atomic_store_n(&me->ops, self->op + 1, __ATOMIC_RELAXED); /* record_count */
    self->current = op;
    return op;
}

/* Before what the return of a call changes in an operation: see ahead.c. */
static inline void recorder_ahead(struct recorder_rank *me, struct record_op *op)
{
    if (me->paced && *me->pace.wide)
        recorder_ahead_note(me, op, NULL);
}

static inline void recorder_op_stop(struct recorder_rank *me, struct record_op *op)
{
    op->end = recorder_steps(me) + 1; /* 0 means: not complete */
    if (me->level == RECORD_LEVEL_EVENTS)
        recorder_op_time(op, false);
}

static inline void recorder_op_complete_inline(struct recorder_rank *me, struct record_op *op)
{
    recorder_ahead(me, op);
    op->state = STATE_COMPLETE;
    recorder_op_stop(me, op);
    enum op_class class = op_kind_class(op->head.small);
    /* Of a compound call the wait tells. */
    if ((class == CLASS_RECEIVE && !(op->flags & OP_COMPOUND)) || class == CLASS_COLLECTIVE ||
        class == CLASS_WAIT)
        recorder_memory->heard();
    if (me->watch)
        me->watch->done(me->watch, op);
}

static inline void recorder_op_end_inline(struct recorder_rank *me, struct record_op *op, int error)
{
    if (error == MPI_SUCCESS)
        recorder_op_complete_inline(me, op);
    else
        recorder_op_failed(me, op, error);
}

/* For whom watches (see watch.h): a message of the caller's last operation; pieces of any. */
void recorder_watched_point(struct recorder_rank *me, const struct record_op *op,
                            const struct recorder_comm *comm, const void *buffer);
static inline void recorder_watch_point(struct recorder_rank *me, const struct record_op *op,
                                        const struct recorder_comm *comm, const void *buffer)
{
    if (me->watch)
        recorder_watched_point(me, op, comm, buffer);
}
void recorder_watch_block(struct recorder_rank *me, const struct record_op *op, bool receives,
                          const void *buffer, int64_t count, MPI_Datatype handle);

/* The communicator, made known if it is not; NULL for a null handle or without memory. */
struct recorder_comm *recorder_comm_find(struct recorder_rank *me, MPI_Comm comm);
static inline struct recorder_comm *recorder_comm(struct recorder_rank *me, MPI_Comm comm)
{
    return HANDLE_KEY(comm) == me->comm_key ? me->comm_last : recorder_comm_find(me, comm);
}
/* Makes a new one known; `label` distinguishes ways of creation, `parent` may be NULL. */
/* The identity of what a nonblocking duplication of `parent` will put into *made; NULL: out of
 * memory. When its request is complete it is kept: the next comm found under that handle is it. */
struct recorder_promise *recorder_promise(struct recorder_rank *me, MPI_Comm *made,
                                          const struct recorder_comm *parent);
void recorder_promise_keep(struct recorder_rank *me, struct recorder_promise *promise);
struct recorder_comm *recorder_comm_new(struct recorder_rank *me, MPI_Comm comm,
                                        struct recorder_comm *parent, uint32_t label);
/* The program named it. */
void recorder_comm_named(struct recorder_rank *me, const struct recorder_comm *comm,
                         const char *name);
/* Neighbours of the caller in a communicator's topology that it receives from or sends to; 0
 * without a topology. */
uint32_t recorder_neighbours(struct recorder_rank *me, MPI_Comm comm, bool receive);
void recorder_comm_forget(struct recorder_rank *me, MPI_Comm handle,
                          const struct recorder_comm *comm);
static inline int32_t recorder_member(const struct recorder_comm *comm, uint32_t index)
{
    return comm->members ? comm->members[index] : comm->start + (int32_t)index * comm->stride;
}
/* World rank of a rank given in `comm` (in its remote group for an intercommunicator); wildcards as
 * the trace has them. */
static inline int32_t recorder_world_rank(const struct recorder_comm *comm, int rank)
{
    if (rank == MPI_ANY_SOURCE)
        return TRACE_ANY;
    if (rank == MPI_PROC_NULL)
        return TRACE_NONE;
    if (!comm)
        return rank;
    uint32_t first = comm->local_size == comm->size ? 0 : comm->local_size;
    if (rank < 0 || (uint32_t)rank >= comm->size - first)
        return rank; /* what the program gave; its call will fail */
    return recorder_member(comm, first + (uint32_t)rank);
}

/* What the type is made of; never NULL (an unknown type is a byte). */
const struct recorder_type *recorder_type_find(struct recorder_rank *me, MPI_Datatype type);
static inline size_t recorder_type_slot(uint64_t key)
{
    return (size_t)(key ^ key >> 4 ^ key >> 8) % RECORDER_CACHE;
}
static inline const struct recorder_type *recorder_type(struct recorder_rank *me, MPI_Datatype type)
{
    uint64_t key = HANDLE_KEY(type);
    size_t slot = recorder_type_slot(key);
    return key && me->type_cache[slot].key == key ? me->type_cache[slot].type
                                                  : recorder_type_find(me, type);
}
void recorder_type_forget(struct recorder_rank *me, MPI_Datatype type);
void recorder_type_free(struct recorder_type *type); /* NULL is fine */
/* The ABI's number for a predefined type or op, 0 (type) or 1 (op) for others. */
uint32_t recorder_type_number(MPI_Datatype type);
uint32_t recorder_reduction_number(MPI_Op op);

/* Requests: what was started and not completed. */
struct recorder_request *recorder_request_add(struct recorder_rank *me, MPI_Request request,
                                              struct record_op *op,
                                              const struct recorder_comm *comm);
/* Of several under one handle the caller's own, else the first; none that another call has taken.
 */
struct recorder_request *recorder_request_find(const struct recorder_rank *me, MPI_Request request);
/* The matched probe that a message handle stands for; NULL when it is not known. */
struct recorder_request *recorder_message_find(const struct recorder_rank *me, MPI_Message message);
void recorder_request_remove(struct recorder_rank *me, uint64_t key,
                             struct recorder_request *request);
/* A checksum of a send's whole buffer, 0 when it is not taken: it has gaps, or is watched otherwise. */
uint32_t recorder_checksum(const struct record_op *op);
/* Room for `count` statuses, pending requests and keys in the thread's scratch memory. */
bool recorder_scratch(struct recorder_rank *me, size_t count);

/* Ends a started operation: state, matched peer, tag and count from `status` (of the completed
 * request). `wait` is the number of the operation that completed it. */
void recorder_request_complete(struct recorder_rank *me, uint64_t key,
                               struct recorder_request *request, const MPI_Status *status,
                               uint32_t wait);
/* Matched peer, tag and count of a receive or probe. */
void recorder_matched(const struct recorder_comm *comm, struct record_op *op,
                      const MPI_Status *status);

/* A wait on two operations, one behind the other. */
void recorder_waits(struct recorder_rank *me, uint32_t op, uint32_t first);
/* Persistent collectives match in the order of their _init calls, whatever the order of their
 * starts: each has a series of its own, which a trace shows as a communicator of the same members,
 * made by that call. NULL: out of memory. */
struct recorder_comm *recorder_comm_series(struct recorder_rank *me, struct recorder_comm *comm);
/* The communicator on which the partitioned messages of `of` are recorded that were the n-th to be
 * made between two ranks with one tag; they only meet each other. `way`: whether the caller sends,
 * to or from whom, and the tag. */
struct recorder_comm *recorder_comm_lane(struct recorder_rank *me, const struct recorder_comm *of,
                                         uint64_t way);
/* The members of a group that meet to make a communicator: in a trace a communicator of their own, one
 * for each group and tag; of no other where `comm` is MPI_COMM_NULL. NULL: the caller is none of them, or
 * out of memory. */
struct recorder_comm *recorder_comm_gathering(struct recorder_rank *me, MPI_Comm comm,
                                              MPI_Group group, int tag);
/* The same of those who meet by a word, without a communicator. */
struct recorder_comm *recorder_comm_gathering_by(struct recorder_rank *me, MPI_Group group,
                                                 const char *word);
/* The number of the next collective on the communicator with this number. */
uint32_t recorder_collective_number(struct recorder_rank *me, uint32_t comm);
uint32_t recorder_string(struct recorder_rank *me, const char *text);
void recorder_counts(struct recorder_rank *me, uint32_t op, bool receive, uint32_t n,
                     const int64_t *values);
void recorder_rank_free(struct recorder_rank *me);

#endif
