/* Which locks' order matters (explore_locks_note), of random logs of locks: those of which two ranks' holders, none of which asked because of
 * the other, leave something else behind when the other comes first. What they leave is found by doing it, in both orders, to a small memory. */
#include "checker/explore/races.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

enum { CELLS = 6, LOCKS = 4, EVENTS = 7, LOGS = 6000, SUM = 10, PRODUCT = 11 };

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

/* ---- what holders leave ---- */

struct left {
    long memory[CELLS], read[2][CELLS]; /* what each of two saw */
};

static void hold(struct left *left, const struct sim_event *lock, int which)
{
    for (uint64_t at = lock->low; at < lock->high; at++)
        switch (lock->how) {
        case SIM_LOCK_READ:
            left->read[which][at] = left->memory[at];
            break;
        case SIM_LOCK_WRITTEN:
            left->memory[at] = 100 + which;
            break;
        case SUM:
            left->memory[at] += 3;
            break;
        case PRODUCT:
            left->memory[at] *= 2;
            break;
        default:
            break;
        }
}

/* Sharers take no turns. Of what else is called under a lock nothing is known. */
static bool order_shows(const struct sim_event *a, const struct sim_event *b)
{
    struct left one = {{1, 2, 3, 4, 5, 6}, {{0}}}, other = one;
    if (!a->all && !b->all)
        return false;
    hold(&one, a, 0);
    hold(&one, b, 1);
    hold(&other, b, 1);
    hold(&other, a, 0);
    return !a->plain || !b->plain || memcmp(&one, &other, sizeof one) != 0;
}

/* ---- logs ---- */

struct log {
    struct sim_choice_log log;
    struct sim_event events[EVENTS];
    struct sim_choice choices[EVENTS];
    uint32_t decided[EVENTS]; /* by event: its choice; EVENTS: none */
};

static struct sim_event draw(void)
{
    static const uint32_t uses[] = {SIM_LOCK_UNUSED, SIM_LOCK_READ, SIM_LOCK_WRITTEN, SUM, PRODUCT};
    uint32_t low = below(CELLS), high = low + 1 + below(CELLS - low);
    struct sim_event lock = {.kind = below(8) ? SIM_EVENT_LOCK : SIM_EVENT_TAKER,
                             .all = below(3) != 0,
                             .rank = below(3),
                             .box = below(2),
                             .owner = 1 + (int32_t)below(2),
                             .plain = below(8) != 0,
                             .lazy = below(3) == 0,
                             .how = uses[below(5)],
                             .low = low,
                             .high = high};
    if (lock.how == SIM_LOCK_UNUSED)
        lock.low = lock.high = 0;
    return lock;
}

/* Some locks are had by a choice, in some order; what is asked for later may come from that. */
static void log_draw(struct log *log)
{
    *log = (struct log){.log.event_count = 2 + below(EVENTS - 1)};
    for (uint32_t i = 0; i < log->log.event_count; i++) {
        log->events[i] = draw();
        log->decided[i] = EVENTS;
    }
    for (uint32_t i = 0; i < log->log.event_count; i++) {
        uint32_t event = below((uint32_t)log->log.event_count);
        bool known = below(3) && log->decided[event] == EVENTS;
        log->choices[log->log.count].taker = known ? event : UINT32_MAX;
        if (known)
            log->decided[event] = (uint32_t)log->log.count;
        log->log.count++;
    }
    for (uint32_t i = 0; i < log->log.event_count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (log->decided[j] != EVENTS && below(3) == 0)
                sim_dependences_add(&log->events[i].causes, log->decided[j]);
    log->log.events = log->events;
    log->log.choices = log->choices;
}

static bool is_because(const struct log *log, uint32_t later, uint32_t earlier)
{
    uint32_t choice = log->decided[earlier];
    return choice != EVENTS && log->events[later].causes.bits[choice / 64] >> choice % 64 & 1;
}

/* How many of the locks matter. */
static size_t mattering(const struct log *log)
{
    size_t count = 0;
    for (uint32_t lock = 0; lock < LOCKS; lock++) {
        uint32_t box = lock / 2;
        int32_t owner = 1 + (int32_t)lock % 2;
        bool found = false;
        for (uint32_t i = 0; i < log->log.event_count; i++)
            for (uint32_t j = 0; j < i; j++) {
                const struct sim_event *a = &log->events[j], *b = &log->events[i];
                bool both = a->kind == SIM_EVENT_LOCK && b->kind == SIM_EVENT_LOCK;
                bool its = a->box == box && b->box == box && a->owner == owner && b->owner == owner;
                found = found || (both && its && a->rank != b->rank && !is_because(log, i, j) &&
                                  order_shows(a, b));
            }
        count += found;
    }
    return count;
}

/* What two holders leave, the first of which is done at once, however late. */
static bool delay_shows(const struct sim_event *late, const struct sim_event *other)
{
    struct sim_event at_once = *late;
    at_once.plain = true;
    return order_shows(&at_once, other);
}

static bool may_be_late(const struct log *log)
{
    for (uint32_t i = 0; i < log->log.event_count; i++)
        for (uint32_t j = 0; j < i; j++) {
            const struct sim_event *a = &log->events[j], *b = &log->events[i];
            bool locks = a->kind == SIM_EVENT_LOCK && b->kind == SIM_EVENT_LOCK;
            if (locks && a->lazy && a->box == b->box && a->owner == b->owner &&
                a->rank != b->rank && is_because(log, i, j) && delay_shows(a, b))
                return true;
        }
    return false;
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(LOGS);
    unsigned long long wrong = 0, again = 0, some = 0, late = 0, misjudged = 0;
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct log log;
        struct number_set matter = {0};
        dice = seed * 77;
        log_draw(&log);
        size_t expected = mattering(&log);
        bool more = explore_locks_note(&matter, &log.log);
        if ((matter.count != expected || more != (expected > 0)) && !wrong++)
            tap_note("seed %llu: %zu of the locks matter, not %zu", seed, expected, matter.count);
        again += explore_locks_note(&matter, &log.log) || matter.count != expected;
        some += expected != 0;
        bool lazy = may_be_late(&log);
        late += lazy;
        misjudged += explore_locks_lazy(&log.log) != lazy;
        number_set_release(&matter);
    }
    tap_ok(some * 5 > seeds.count && some * 5 < 4 * seeds.count, "of %llu logs in %llu some matter",
           seeds.count, some);
    tap_is_int(wrong, 0, "the order of a lock matters where another one leaves something else");
    tap_is_int(again, 0, "a second time nothing is new");
    tap_ok(late * 100 > seeds.count && late * 2 < seeds.count, "in %llu a lock may be late", late);
    tap_is_int(misjudged, 0, "it may where another one, asked for because of it, shows that");
    return tap_done();
}
