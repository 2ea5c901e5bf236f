/* Epochs of windows. All accesses of an epoch are one operation, that of the fence which ends it:
 * a linear map of the members' memories and the origins' values to the memories afterwards and what
 * was got. Its transpose is again an epoch, of the transposed accesses, and its tangent is the same
 * epoch of the tangents. */
#ifndef COLLECTIVES_WINDOWS_EPOCH_H
#define COLLECTIVES_WINDOWS_EPOCH_H

#include "collectives/windows/window.h"

struct epoch {
    struct diff_window *window;
    size_t count;
    struct window_access *accesses;
    bool checked; /* accesses are the program's: they may overlap where they must not */
};

/* Whether it takes values of the origin, and whether it brings some back. */
bool move_gives(enum window_move kind);
bool move_fetches(enum window_move kind);
/* The memory after these accesses, which it takes as they are; results that they bring get their
 * values, the others are made. Collective. */
struct diff_tensor *epoch_run(const struct epoch *what, struct diff_channel *channel,
                              struct diff_tensor *memory);
/* Ends the rank if accesses to its memory overlap that have no order. Collective. */
void overlaps_check(const struct diff_node *node, const struct epoch *epoch);

#endif
