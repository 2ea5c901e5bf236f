/* choose(): see choose.h. */
#include "sim/worlds/choose.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint64_t sim_random(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t sim_chooser_random(struct sim_chooser *chooser)
{
    uint64_t value = sim_random(chooser->state, 0);
    chooser->state += 0x9e3779b97f4a7c15u;
    return value;
}

void sim_chooser_init(struct sim_chooser *chooser, enum sim_choose_driver driver, uint64_t seed)
{
    *chooser = (struct sim_chooser){.driver = driver, .state = sim_random(seed, 0x5eed)};
}

void sim_chooser_release(struct sim_chooser *chooser)
{
    free(chooser->log.choices);
    free(chooser->log.alternatives);
    free(chooser->log.events);
    chooser->log = (struct sim_choice_log){0};
}

static void *grow(void *array, size_t *room, size_t needed, size_t size)
{
    if (needed <= *room)
        return array;
    size_t more = *room ? *room * 2 : 64;
    while (more < needed)
        more *= 2;
    void *bigger = realloc(array, more * size);
    assert(bigger && "out of memory for the log of choices");
    *room = more;
    return bigger;
}

static void log_choice(struct sim_choice_log *log, struct sim_choice choice,
                       const struct sim_alternative *alternatives)
{
    log->choices = grow(log->choices, &log->room, log->count + 1, sizeof *log->choices);
    if (alternatives) {
        log->alternatives = grow(log->alternatives, &log->alternative_room,
                                 log->alternative_count + choice.n, sizeof *log->alternatives);
        memcpy(log->alternatives + log->alternative_count, alternatives,
               choice.n * sizeof *alternatives);
        choice.first_alternative = log->alternative_count;
        log->alternative_count += choice.n;
    }
    log->choices[log->count++] = choice;
}

struct sim_event *sim_log_event(struct sim_chooser *chooser, uint32_t *at)
{
    struct sim_choice_log *log = &chooser->log;
    log->events = grow(log->events, &log->event_room, log->event_count + 1, sizeof *log->events);
    *at = (uint32_t)log->event_count++;
    struct sim_event *event = &log->events[*at];
    *event = (struct sim_event){.next = UINT32_MAX, .source = SIM_NOTHING};
    return event;
}

static uint32_t guided_pick(struct sim_chooser *chooser, uint32_t kind, uint32_t rank, uint32_t n,
                            const struct sim_alternative *alternatives)
{
    uint32_t pick = chooser->guide(chooser->guide_context, kind, rank, n, alternatives);
    chooser->stopped = chooser->stopped || pick == SIM_GUIDE_STOP;
    return pick < n ? pick : 0;
}

static uint32_t forced_pick(struct sim_chooser *chooser, uint32_t n)
{
    if (chooser->diverged || chooser->position >= chooser->forced_count)
        return 0;
    uint32_t pick = chooser->forced[chooser->position];
    if (pick < n)
        return pick;
    chooser->diverged = true;
    return 0;
}

uint32_t sim_choose(struct sim_chooser *chooser, uint32_t kind, uint32_t rank, uint32_t n,
                    const struct sim_alternative *alternatives)
{
    assert(n >= 1);
    struct sim_choice choice = {
        .kind = kind, .rank = rank, .n = n, .first_alternative = SIZE_MAX, .taker = UINT32_MAX};
    if (n == 1) {
        /* No choice and no position of the forced picks, but an explorer must see who moved. */
        bool enumerates =
            chooser->driver == SIM_CHOOSE_ENUMERATE || chooser->driver == SIM_CHOOSE_GUIDED;
        if (chooser->driver == SIM_CHOOSE_GUIDED && alternatives)
            guided_pick(chooser, kind, rank, n, alternatives);
        if (enumerates && chooser->logging && alternatives)
            log_choice(&chooser->log, choice, alternatives);
        return 0;
    }
    uint32_t pick = 0;
    switch (chooser->driver) {
    case SIM_CHOOSE_DEFAULT:
        break;
    case SIM_CHOOSE_SEED:
        pick = (uint32_t)(sim_chooser_random(chooser) % n);
        break;
    case SIM_CHOOSE_RECORDED:
    case SIM_CHOOSE_ENUMERATE:
        pick = forced_pick(chooser, n);
        break;
    case SIM_CHOOSE_GUIDED:
        pick = guided_pick(chooser, kind, rank, n, alternatives);
        break;
    }
    chooser->position++;
    choice.picked = pick;
    if (chooser->logging)
        log_choice(&chooser->log, choice, alternatives);
    return pick;
}
