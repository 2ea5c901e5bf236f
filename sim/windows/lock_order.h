/* The order of a lock's holders as a choice: in an exploration a lock is given at quiescence, to any
 * of those that wait for one, and is named by the holder whom it follows. */
#ifndef SIM_WINDOWS_LOCK_ORDER_H
#define SIM_WINDOWS_LOCK_ORDER_H

#include "sim/windows/window.h"

/* Who had the lock of a part. */
struct sim_lock_order {
    uint32_t rank, number;              /* the last holder's call; SIM_NOBODY */
    struct sim_dependences alone, ever; /* what led to the release of the last who had it alone, and
                                           to those of all */
};

/* Blocks the member until its turn has come. In the monitor. */
void sim_lock_order_await(struct sim_win *win, int target, bool exclusive);
/* It gives the lock back. */
void sim_lock_order_pass(struct sim_win *win, int target, bool exclusive);
/* An atomic access by a member that has no exclusive lock: its place among those of others is as it
 * came. */
void sim_lock_order_atomic(struct sim_win *win, int target, bool fetches, bool changes);

#endif
