/* The abstract machine of replay.h, from within: where each rank stands, what it waits for, how it goes on. What may
 * happen when nobody can move is in standstill.h. */
#ifndef CHECKER_REPLAY_MACHINE_H
#define CHECKER_REPLAY_MACHINE_H

#include "checker/replay/watch.h"

#define KEY_DONE (UINT32_MAX - 1) /* in `waiting`: the op is posted, the slot or bundle full */

struct replay_waiter;

struct replay_queue { /* of ops */
    uint32_t *ops;
    size_t first, end, room;
};

struct replay_machine {
    const struct check_plan *plan;
    const struct trace *trace;
    enum check_model model;
    const struct replay_watch *watch;
    size_t *next;    /* per rank: position of the op it stands before or in */
    bool *posted;    /* per rank: that op is posted */
    bool *astray;    /* per rank: it is off the record, and may post anything */
    size_t *strayed; /* per rank that is: where it stood when it left */
    bool *ready;     /* per rank: on the stack */
    uint32_t *stack;
    size_t top;
    uint32_t *waiting; /* per key: ops, then slots, then bundles: list of waiters, or KEY_DONE */
    uint32_t *posts;   /* per slot, then per bundle */
    struct replay_waiter *waiters;
    size_t waiter_count, waiter_room;
    uint32_t free_waiter;
    size_t slots, bundles; /* first key of each */
    /* A lane is a thread of a rank, which alone issues in order: mostly there is one per rank. What
     * is called rank below is a lane. */
    uint32_t lanes;
    const size_t *lane_begin;
    size_t *own_begin;  /* of several threads; else NULL, and lanes are ranks */
    uint32_t *sequence; /* then: op at each position, lane by lane */
    uint32_t *lane_of;  /* then: per op */
    uint32_t *first;    /* then: per rank, its first lane; and the end */
    bool *held;         /* per lane, where threads wait as they did: it does; else NULL */
    uint32_t *position; /* per op, in another order than recorded; NULL: not yet asked for */
    uint32_t *learning; /* per lane, where ranks learn: whom it waits for to learn; else NULL */
    bool *loose; /* per op: a send that is buffered, or a collective that waits for its data alone,
                    although others wait; NULL: none */
    uint32_t first_loose;
    struct replay_queue *messages, *wildcards; /* per receiver, as posted; NULL: nobody has one */
};

/* `watch` may be NULL. Nobody is ready. */
void replay_machine_init(struct replay_machine *machine, const struct check_plan *plan,
                         enum check_model model, const struct replay_watch *watch);
void replay_machine_release(struct replay_machine *machine);

void replay_wake(struct replay_machine *machine, uint32_t rank);
/* Until nobody can move. */
void replay_run_ready(struct replay_machine *machine);
/* From here on the rank may do anything: what the record still has of it waits for nobody. */
void replay_go_astray(struct replay_machine *machine, uint32_t rank);

/* When nobody can move: what was learnt, or seen of threads, was not in an order that the replay can have. False: nobody
 * waits for that. */
bool replay_let_all_learn(struct replay_machine *machine);
bool replay_let_all_threads_go(struct replay_machine *machine);

/* The key that op (a start or a blocking one) still lacks. */
int64_t replay_need(const struct replay_machine *machine, uint32_t op);
/* The key that a collective which waits for its data alone lacks, or has lacked. */
int64_t replay_data_need(const struct replay_machine *machine, uint32_t op);
/* The op that the rank, which stands in `op`, waits for; TRACE_NO: nobody has it. */
uint32_t replay_lacking_op(struct replay_machine *machine, uint32_t rank, uint32_t op);
/* Where the op stands in the order of its rank. */
size_t replay_position_of(struct replay_machine *machine, uint32_t op);

static inline bool replay_is_posted(const struct replay_machine *machine, uint32_t op)
{
    return machine->waiting[op] == KEY_DONE;
}

static inline bool replay_is_loose(const struct replay_machine *machine, uint32_t op)
{
    return machine->loose && machine->loose[op];
}

static inline uint32_t replay_op_at(const struct replay_machine *machine, size_t position)
{
    if (machine->sequence)
        return machine->sequence[position];
    return machine->plan->order ? machine->plan->order[position] : (uint32_t)position;
}

static inline uint32_t replay_lane_of(const struct replay_machine *machine, uint32_t op)
{
    return machine->lane_of ? machine->lane_of[op] : machine->trace->ops[op].rank;
}

#endif
