/* Passive phases: between their collective begin and end, memories are accessed under locks.
 *
 * Rules:
 *  1. What an access under a lock finds depends on who had the lock before. Every lock of one
 *     target takes a turn, a number counted at the target while the lock is held; the backward pass
 *     takes the same locks in the reverse order of their turns, and forward mode in the same order.
 *     Any forward order is one that the ranks could follow, so its reverse can be followed
 *     backward.
 *  2. At the end of a phase every rank learns who had the lock of its target before and after its
 *     turn. A pass waits for a message of the one whose turn it follows, and sends one to the next.
 *  3. A lock of all targets is shared and takes no turn: its accesses are ordered by what the
 *     program does besides (flushes, barriers, messages), and so are their adjoints. A phase has
 *     either locks of single targets or of all. */
#ifndef COLLECTIVES_WINDOWS_PHASE_H
#define COLLECTIVES_WINDOWS_PHASE_H

#include "collectives/windows/epoch.h"

enum direction { DIRECTION_FIRST, DIRECTION_UP, DIRECTION_DOWN };

struct turn {
    int target, before, after; /* ranks, -1 for none */
    uint64_t number;
    size_t kept;       /* its number in the probe */
    struct turn *next; /* of the phase */
};

struct phase {
    struct diff_window *window;
    struct turn *turns, *last;
    bool all;          /* this rank took a lock of all targets */
    MPI_Request *told; /* messages to the next, of the running pass */
    size_t told_count, told_room;
    struct held *held;      /* locks that the program holds */
    enum direction forward; /* up where the check's first run tells the turns: see turn_take */
};

/* A lock as the program holds it; `turn` is NULL for one of all targets. */
struct held {
    struct phase *phase;
    struct turn *turn;
    int target, type; /* ALL_TARGETS; of lock */
    struct held *next;
};

struct diff_tensor *phase_begin(struct phase *phase, enum direction direction,
                                struct diff_channel *channel, struct diff_tensor *memory);
struct diff_tensor *phase_end(struct phase *phase, enum direction direction,
                              struct diff_channel *channel, struct diff_tensor *handle);
void lock_take(const struct held *held, enum direction direction, struct diff_channel *channel);
void lock_give(const struct held *held, enum direction direction, struct diff_channel *channel);
/* The windows that count turns; collective. */
void turns_prepare(struct diff_window *window);
/* The turn of a forward lock: a new one, or in a run of a gradient check that measures the one that
 * its first run had, whose gradient is checked. */
bool turns_are_known(const struct diff_state *state);
struct turn *turn_take(struct phase *phase, int target);
/* A forward lock with a new turn was taken: its number. */
void turn_count(struct turn *turn, const struct diff_window *window);
/* Every rank learns the neighbours of its turns. Collective. */
void turns_settle(const struct diff_node *node, struct phase *phase);
void turn_await(const struct turn *turn, const struct phase *phase, enum direction direction);
void turn_pass(const struct turn *turn, struct phase *phase, enum direction direction);

#endif
