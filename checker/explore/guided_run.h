/* Steering one world of an exploration: see explore.h. */
#ifndef CHECKER_EXPLORE_GUIDED_RUN_H
#define CHECKER_EXPLORE_GUIDED_RUN_H

#include "checker/explore/choice.h"
#include "sim/worlds/world.h"

/* What a run must do (in any order, as soon as possible) and what it must not do. */
struct explore_steer {
    struct explore_choice *forced, *excluded;
    size_t forced_count, forced_room, excluded_count, excluded_room;
    unsigned kinds;        /* only these kinds branch: others take what comes */
    bool *done;            /* per forced choice */
    uint32_t *locals;      /* per rank: own choices made so far */
    uint32_t rank_count;   /* of `locals` */
    uint64_t seed, tosses; /* 0: what is left open takes the first there is; else any, by chance */
    bool blocked;          /* only excluded choices were left */
    struct sim_late *late; /* receives to be delayed. Owned */
    size_t late_count, late_room;
};

/* Makes a world with these options do so; the steer must outlive it. */
void explore_steer_world(struct explore_steer *steer, struct sim_world_options *options);
/* A steer that only forces; for one world at a time. The choices are copied. */
struct explore_steer *explore_steer_new(const struct explore_choice *choices, size_t count);
void explore_steer_free(struct explore_steer *steer);
/* How many of the forced choices the last world made. */
size_t explore_steer_done(const struct explore_steer *steer);

bool explore_choice_same(const struct explore_choice *a, const struct explore_choice *b);
/* Locks that are had right after the same one: no run has both. */
bool explore_same_lock(const struct explore_choice *a, const struct explore_choice *b);
struct explore_choice explore_choice_of(const struct sim_alternative *alternative);
/* The pick that matters to nobody else (MPIX_Choose_named's 0), n for none. */
uint32_t explore_harmless_pick(uint32_t n, const struct sim_alternative *alternatives);
/* Whether a choice of this kind by a rank itself, with these alternatives, has none by name. */
bool explore_is_local(const struct sim_alternative *alternatives);
void explore_steer_force(struct explore_steer *steer, const struct explore_choice *choice);
void explore_steer_exclude(struct explore_steer *steer, const struct explore_choice *choice);
void explore_steer_delay(struct explore_steer *steer, uint32_t rank, uint32_t receive);
void explore_steer_release(struct explore_steer *steer);

#endif
