/* Whose lock of a target, and whose atomic operation there, comes first: noted in one run and kept in
 * further ones (sim/base/answers.h). Not of windows whose owner keeps the order himself. */
#ifndef SIM_WINDOWS_TURNS_H
#define SIM_WINDOWS_TURNS_H

#include "sim/windows/window.h"

/* Where another run is followed: whether others are still to come before the caller. */
struct sim_turn {
    int *of, number;
};

struct sim_turn sim_turn_of_lock(struct sim_win *win, int target);
struct sim_turn sim_turn_of_atomic(struct sim_win *win, int target);
static inline bool sim_turn_is_early(const struct sim_turn *turn)
{
    return turn->of && *turn->of < turn->number;
}
/* It has come. */
void sim_turn_take(struct sim_win *win, const struct sim_turn *turn);

#endif
