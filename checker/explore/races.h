/* The races of one explored run: what its takers could have taken instead. See explore.h. */
#ifndef CHECKER_EXPLORE_RACES_H
#define CHECKER_EXPLORE_RACES_H

#include "checker/explore/choice.h"
#include "checker/number_set.h"
#include "sim/worlds/world.h"

struct explore_race {
    uint32_t move;                 /* reversed */
    struct explore_choice instead; /* what its taker takes */
};

struct explore_races {
    struct explore_choice *moves; /* the choices the run made, in order */
    size_t move_count;
    struct explore_race *races;
    size_t race_count, race_room;
    size_t words;     /* of a row */
    uint64_t *kept;   /* per race a row: bit m: move m does not depend on what is reversed */
    size_t kept_room; /* rows */
    double width;     /* product over the moves of the things each could have taken */
};

/* Adds the locks of which two ranks' holders are not the same in either order; true: there are more
 * than before. */
bool explore_locks_note(struct number_set *matter, const struct sim_choice_log *log);
/* Whether MPI may give a lock later than the run did, after another's with which it is not the same. */
bool explore_locks_lazy(const struct sim_choice_log *log);
/* `kinds` as in explore_options; `matter`: the locks whose order matters in any run so far. */
void explore_races_find(struct explore_races *races, const struct sim_choice_log *log,
                        unsigned kinds, const struct number_set *matter);
void explore_races_release(struct explore_races *races);

#endif
