/* The order of a lock's holders as a choice: in an exploration a lock is given at quiescence, to any
 * of those that wait for one, and is named by the holder whom it follows. */
#ifndef SIM_WINDOWS_LOCK_ORDER_H
#define SIM_WINDOWS_LOCK_ORDER_H

#include "sim/windows/window.h"

/* Who had the lock of a part. */
struct sim_lock_order {
    uint32_t rank, number; /* the last holder's call; SIM_NOBODY */
};

/* Blocks the member until its turn has come: the lock's event of the log. In the monitor. */
uint32_t sim_lock_order_await(struct sim_win *win, int target, bool exclusive);
/* It gives the lock back. `lock`: NULL for one of all targets where nothing is explored. */
void sim_lock_order_pass(struct sim_win *win, int target, struct sim_epoch_lock *lock);
/* The locks of this target (-1: of all) are had by now, whenever MPI gave them. */
void sim_lock_order_flush(struct sim_win *win, int target);
/* It has the lock of one target since now. */
void sim_lock_order_begin(const struct sim_win *win, struct sim_epoch_lock *lock, uint32_t event);
/* MPI_Win_lock_all has that of this target, and MPI_Win_unlock_all has given all of them back. */
void sim_lock_order_begin_all(struct sim_win *win, int target, uint32_t event);
void sim_lock_order_end_all(struct sim_win *win);
/* The lock of the target in such an epoch; NULL where nothing is explored. */
struct sim_epoch_lock *sim_lock_order_of_all(const struct sim_win *win, int target);
/* An access of it, to these addresses; `how` as in a sim_event. */
void sim_lock_order_use(struct sim_win *win, int target, uint32_t how, uint64_t low, uint64_t high);
/* The program's own load or store there. */
void sim_lock_order_touch(const struct sim_win *win, int target, uint32_t how, uint64_t low,
                          uint64_t high);
/* An atomic access by a member that has no exclusive lock: its place among those of others is as it
 * came. */
void sim_lock_order_atomic(struct sim_win *win, int target, bool fetches, bool changes);

#endif
