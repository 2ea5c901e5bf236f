#include "checker/explore/guided_run.h"

#include "checker/memory.h"

#include <mpix.h>
#include <stdlib.h>
#include <string.h>

bool explore_choice_same(const struct explore_choice *a, const struct explore_choice *b)
{
    return a->kind == b->kind && a->rank == b->rank && a->object == b->object &&
           a->source == b->source && a->number == b->number && a->box == b->box;
}

bool explore_same_lock(const struct explore_choice *a, const struct explore_choice *b)
{
    return a->kind == SIM_TAKER_LOCK && b->kind == SIM_TAKER_LOCK && a->source == b->source &&
           a->number == b->number && a->box == b->box;
}

struct explore_choice explore_choice_of(const struct sim_alternative *alternative)
{
    return (struct explore_choice){alternative->taker,  alternative->rank,   alternative->object,
                                   alternative->source, alternative->number, alternative->box};
}

bool explore_is_local(const struct sim_alternative *alternatives)
{
    return !alternatives || alternatives->taker == SIM_TAKER_NAMED;
}

uint32_t explore_harmless_pick(uint32_t n, const struct sim_alternative *alternatives)
{
    for (uint32_t i = 0; alternatives && i < n; i++)
        if (alternatives[i].taker == SIM_TAKER_NAMED && alternatives[i].object == 0)
            return i;
    return n;
}

static bool is_excluded(const struct explore_steer *steer, const struct explore_choice *choice)
{
    for (size_t i = 0; i < steer->excluded_count; i++)
        if (explore_choice_same(&steer->excluded[i], choice))
            return true;
    return false;
}

/* A forced choice still to come wants the same taker, or the same message for another receive. */
static bool is_in_the_way(const struct explore_steer *steer, const struct explore_choice *choice)
{
    for (size_t i = 0; i < steer->forced_count; i++) {
        const struct explore_choice *forced = &steer->forced[i];
        if (!steer->done[i] && explore_same_lock(forced, choice))
            return true;
        if (steer->done[i] || forced->kind != choice->kind || forced->rank != choice->rank)
            continue;
        bool same_taker = forced->object == choice->object;
        bool same_message = forced->kind == SIM_TAKER_RECEIVE && forced->source != SIM_NOTHING &&
                            forced->source == choice->source && forced->number == choice->number &&
                            forced->box == choice->box;
        if (same_taker || same_message)
            return true;
    }
    return false;
}

static bool is_forced(struct explore_steer *steer, const struct explore_choice *choice)
{
    for (size_t i = 0; i < steer->forced_count; i++)
        if (!steer->done[i] && explore_choice_same(&steer->forced[i], choice)) {
            steer->done[i] = true;
            return true;
        }
    return false;
}

/* A rank's own choice: a forced pick, else the first that is not excluded. */
static uint32_t pick_local(struct explore_steer *steer, uint32_t rank, uint32_t n)
{
    if (rank >= steer->rank_count) {
        steer->locals = realloc(steer->locals, (rank + 1) * sizeof *steer->locals);
        if (!steer->locals)
            abort();
        while (steer->rank_count <= rank)
            steer->locals[steer->rank_count++] = 0;
    }
    struct explore_choice choice = {
        .kind = EXPLORE_LOCAL, .rank = rank, .object = steer->locals[rank]++};
    for (choice.source = 0; choice.source < n; choice.source++)
        if (is_forced(steer, &choice))
            return choice.source;
    for (choice.source = 0; choice.source < n; choice.source++)
        if (!is_excluded(steer, &choice))
            return choice.source;
    steer->blocked = true;
    return SIM_GUIDE_STOP;
}

/* Without a seed the first is kept; else each of those that might be has the same chance. */
static bool takes_over(struct explore_steer *steer, uint32_t *rivals)
{
    (*rivals)++;
    return *rivals == 1 || (steer->seed && sim_random(steer->seed, steer->tosses++) % *rivals == 0);
}

static uint32_t pick_taken(struct explore_steer *steer, uint32_t n,
                           const struct sim_alternative *alternatives)
{
    uint32_t picked = n, rivals = 0;
    bool delayed = false;
    for (uint32_t i = 0; i < n; i++) {
        struct explore_choice choice = explore_choice_of(&alternatives[i]);
        if (is_forced(steer, &choice))
            return i;
        if (is_excluded(steer, &choice))
            continue;
        bool later = is_in_the_way(steer, &choice);
        if (picked < n && later && !delayed)
            continue;
        if (delayed && !later)
            rivals = 0;
        if (takes_over(steer, &rivals))
            picked = i;
        delayed = later;
    }
    if (picked < n)
        return picked;
    steer->blocked = true;
    return SIM_GUIDE_STOP;
}

static uint32_t guide(void *context, uint32_t kind, uint32_t rank, uint32_t n,
                      const struct sim_alternative *alternatives)
{
    struct explore_steer *steer = context;
    uint32_t harmless = explore_harmless_pick(n, alternatives);
    if (harmless < n)
        return harmless;
    if (!(steer->kinds >> kind & 1))
        return 0;
    if (!explore_is_local(alternatives))
        return pick_taken(steer, n, alternatives);
    return n > 1 ? pick_local(steer, rank, n) : 0;
}

void explore_steer_world(struct explore_steer *steer, struct sim_world_options *options)
{
    steer->done = realloc(steer->done, steer->forced_count + 1);
    if (!steer->done)
        abort();
    memset(steer->done, 0, steer->forced_count + 1);
    if (steer->rank_count)
        memset(steer->locals, 0, steer->rank_count * sizeof *steer->locals);
    steer->blocked = false;
    steer->tosses = 0;
    options->driver = SIM_CHOOSE_GUIDED;
    options->delay_wildcards = options->log_choices = true;
    options->guide = guide;
    options->guide_context = steer;
    options->late = steer->late;
    options->late_count = steer->late_count;
}

void explore_steer_force(struct explore_steer *steer, const struct explore_choice *choice)
{
    steer->forced = check_grow(steer->forced, &steer->forced_room, steer->forced_count + 1,
                               sizeof *steer->forced);
    steer->forced[steer->forced_count++] = *choice;
}

void explore_steer_exclude(struct explore_steer *steer, const struct explore_choice *choice)
{
    steer->excluded = check_grow(steer->excluded, &steer->excluded_room, steer->excluded_count + 1,
                                 sizeof *steer->excluded);
    steer->excluded[steer->excluded_count++] = *choice;
}

void explore_steer_delay(struct explore_steer *steer, uint32_t rank, uint32_t receive)
{
    steer->late =
        check_grow(steer->late, &steer->late_room, steer->late_count + 1, sizeof *steer->late);
    steer->late[steer->late_count++] = (struct sim_late){.rank = rank, .receive = receive};
}

void explore_steer_release(struct explore_steer *steer)
{
    free(steer->forced);
    free(steer->excluded);
    free(steer->done);
    free(steer->locals);
    free(steer->late);
    *steer = (struct explore_steer){0};
}

struct explore_steer *explore_steer_new(const struct explore_choice *choices, size_t count)
{
    struct explore_steer *steer = check_new(1, sizeof *steer);
    steer->kinds = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        explore_steer_force(steer, &choices[i]);
        if (choices[i].kind == SIM_TAKER_RECEIVE)
            explore_steer_delay(steer, choices[i].rank, choices[i].object);
    }
    return steer;
}

void explore_steer_free(struct explore_steer *steer)
{
    if (!steer)
        return;
    explore_steer_release(steer);
    free(steer);
}

size_t explore_steer_done(const struct explore_steer *steer)
{
    size_t done = 0;
    for (size_t i = 0; i < steer->forced_count; i++)
        done += steer->done[i];
    return done;
}
