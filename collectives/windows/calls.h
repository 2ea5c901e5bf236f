/* What the public calls on windows share. */
#ifndef COLLECTIVES_WINDOWS_CALLS_H
#define COLLECTIVES_WINDOWS_CALLS_H

#include "collectives/tape/tape.h"
#include "collectives/windows/epoch.h"

/* A call that is wrong here and now. */
#define REFUSE(window, ...) state_fail((window)->tape->state, "M009", __VA_ARGS__)

/* The window's memory, for the public function of this name; ends the rank if there is none now. */
struct diff_tensor *window_memory(const struct diff_window *window, const char *function);
/* One more access that waits for the end of its epoch. */
void window_access_append(struct diff_window *window, struct window_access *access);
/* The accesses to `target` (or ALL_TARGETS) that were called and not done: they leave the window. */
struct epoch epoch_collect(struct diff_window *window, enum epoch_kind kind, int target);

#endif
