/* Who waits for what under one plan and model, in both directions.
 *
 * A key is something to be posted (plan.h): an op, a slot, a bundle. An op that blocks needs keys;
 * a key has members, the ops that must all be posted; an op is a member of up to three keys. */
#ifndef CHECKER_REPLAY_PREREQUISITES_H
#define CHECKER_REPLAY_PREREQUISITES_H

#include "checker/replay/plan.h"

struct check_needs {
    const struct check_plan *plan;
    enum check_model model;
    size_t key_count;
    uint32_t *need_begin, *needs;     /* per op: the keys it waits for while it blocks its rank */
    uint32_t *waiter_begin, *waiters; /* per key: the ops that block for it */
    uint32_t *member_begin, *members; /* per slot and bundle key, minus the number of ops */
};

void check_needs_init(struct check_needs *needs, const struct check_plan *plan,
                      enum check_model model);
void check_needs_release(struct check_needs *needs);

enum { NEED_KEYS_MAX = 3 };
/* The keys that posting the op serves and somebody waits for. */
size_t check_needs_served(const struct check_needs *needs, uint32_t op,
                          uint32_t keys[NEED_KEYS_MAX]);
/* The members of a key; `single` holds the op when the key is one. */
const uint32_t *check_needs_members(const struct check_needs *needs, uint32_t key, uint32_t *single,
                                    size_t *count);

#endif
