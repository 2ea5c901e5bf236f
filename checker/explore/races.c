#include "checker/explore/races.h"

#include "checker/explore/guided_run.h"
#include "checker/memory.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

struct analysis {
    const struct sim_choice_log *log;
    struct explore_races *races;
    uint32_t *entry;                 /* per move: its entry of the log */
    uint32_t *message;               /* per move: event of the message taken, UINT32_MAX */
    uint64_t *past;                  /* per move a row: the moves it depends on */
    bool *stopped;                   /* per rank: no later message of this sender can be taken */
    const struct number_set *matter; /* see explore_races_find */
    uint32_t ranks;
    bool locks;       /* there are some */
    uint32_t *before; /* see find_locks_before */
};

static bool fits(int32_t wanted, int32_t tag)
{
    return wanted == MPI_ANY_TAG || wanted == tag;
}

static bool has(const uint64_t *row, uint32_t bit)
{
    return row[bit / 64] >> bit % 64 & 1;
}

static uint64_t *past_of(const struct analysis *analysis, uint32_t move)
{
    return analysis->past + move * analysis->races->words;
}

static const struct sim_event *taker_of(const struct analysis *analysis, uint32_t move)
{
    uint32_t taker = analysis->log->choices[analysis->entry[move]].taker;
    return taker == UINT32_MAX ? NULL : &analysis->log->events[taker];
}

static bool takes_message(const struct explore_choice *choice)
{
    return choice->kind == SIM_TAKER_RECEIVE || choice->kind == SIM_TAKER_PROBE;
}

/* ---- moves ---- */

static const struct sim_alternative *named(const struct sim_choice_log *log,
                                           const struct sim_choice *choice)
{
    return choice->first_alternative == SIZE_MAX ? NULL
                                                 : &log->alternatives[choice->first_alternative];
}

static uint32_t message_event(const struct analysis *analysis, const struct explore_choice *choice,
                              const struct sim_event *taker)
{
    const struct sim_choice_log *log = analysis->log;
    for (uint32_t i = 0; taker && i < log->event_count; i++) {
        const struct sim_event *event = &log->events[i];
        if (event->kind == SIM_EVENT_MESSAGE && event->rank == choice->source &&
            event->number == choice->number && event->box == taker->box &&
            event->owner == taker->owner)
            return i;
    }
    return UINT32_MAX;
}

static void count_local(uint32_t **counters, uint32_t *count, uint32_t rank)
{
    if (rank < *count)
        return;
    *counters = realloc(*counters, (rank + 1) * sizeof **counters);
    if (!*counters)
        abort();
    while (*count <= rank)
        (*counters)[(*count)++] = 0;
}

static void gather_moves(struct analysis *analysis, unsigned kinds)
{
    const struct sim_choice_log *log = analysis->log;
    struct explore_races *races = analysis->races;
    uint32_t *locals = NULL, local_count = 0;
    races->moves = check_new(log->count, sizeof *races->moves);
    analysis->entry = check_new(log->count, sizeof *analysis->entry);
    analysis->message = check_new(log->count, sizeof *analysis->message);
    for (uint32_t i = 0; i < log->count; i++) {
        const struct sim_choice *choice = &log->choices[i];
        const struct sim_alternative *alternatives = named(log, choice);
        if (!(kinds >> choice->kind & 1) ||
            explore_harmless_pick(choice->n, alternatives) < choice->n)
            continue;
        bool local = explore_is_local(alternatives);
        if (local && choice->n < 2)
            continue;
        uint32_t move = (uint32_t)races->move_count++;
        analysis->entry[move] = i;
        if (local) {
            count_local(&locals, &local_count, choice->rank);
            races->moves[move] = (struct explore_choice){.kind = EXPLORE_LOCAL,
                                                         .rank = choice->rank,
                                                         .object = locals[choice->rank]++,
                                                         .source = choice->picked};
        } else {
            races->moves[move] = explore_choice_of(&alternatives[choice->picked]);
        }
        analysis->locks = analysis->locks || races->moves[move].kind == SIM_TAKER_LOCK;
        analysis->message[move] =
            takes_message(&races->moves[move])
                ? message_event(analysis, &races->moves[move], taker_of(analysis, move))
                : UINT32_MAX;
    }
    free(locals);
}

/* ---- what depends on what ---- */

static bool comes_from(const struct sim_event *taker, const struct sim_event *message)
{
    return taker->source == SIM_NOTHING || taker->source == message->rank;
}

/* Of two receives in one box the one posted first has the first claim, and of one sender's messages
 * the one sent first goes first. */
static bool must_come_first(const struct analysis *analysis, uint32_t first, uint32_t then)
{
    const struct sim_event *one = taker_of(analysis, first), *other = taker_of(analysis, then);
    if (!one || !other || one->box != other->box || one->owner != other->owner ||
        analysis->races->moves[first].kind != SIM_TAKER_RECEIVE ||
        analysis->message[then] == UINT32_MAX)
        return false;
    const struct sim_event *later = &analysis->log->events[analysis->message[then]];
    if (one->order < other->order && fits(one->tag, later->tag) && comes_from(one, later))
        return true;
    if (analysis->message[first] == UINT32_MAX)
        return false; /* it was cancelled */
    const struct sim_event *message = &analysis->log->events[analysis->message[first]];
    return message->rank == later->rank && message->number < later->number &&
           fits(other->tag, message->tag);
}

static void depend(const struct analysis *analysis, uint32_t move, uint32_t on)
{
    uint64_t *row = past_of(analysis, move), *other = past_of(analysis, on);
    row[on / 64] |= UINT64_C(1) << on % 64;
    for (size_t w = 0; w < analysis->races->words; w++)
        row[w] |= other[w];
}

static bool is_same_lock(const struct sim_event *a, const struct sim_event *b)
{
    return a->kind == SIM_EVENT_LOCK && b->kind == SIM_EVENT_LOCK && a->box == b->box &&
           a->owner == b->owner;
}

/* Of what was not used at all there are no addresses. */
static bool meet(const struct sim_event *a, const struct sim_event *b)
{
    return a->low < b->high && b->low < a->high;
}

static bool leave_the_same(const struct sim_event *a, const struct sim_event *b)
{
    return !meet(a, b) || (a->how == b->how && a->how != SIM_LOCK_WRITTEN);
}

/* Whether it is the same which of the two has the lock first: both only share it; or neither waits
 * for anything while having it, and what they do to the window is the same in either order. */
static bool commute(const struct sim_event *a, const struct sim_event *b)
{
    if (!a->all && !b->all)
        return true;
    return a->plain && b->plain && leave_the_same(a, b);
}

static uint64_t lock_name(const struct sim_event *lock)
{
    return (uint64_t)lock->box << 32 | (uint32_t)(lock->owner + 1);
}

static bool pair_matters(const struct sim_event *a, const struct sim_event *b)
{
    return a->rank != b->rank && is_same_lock(a, b) && !commute(a, b);
}

/* By event: the choice by which it was decided; UINT32_MAX: by none. */
static uint32_t *choices_of_events(const struct sim_choice_log *log)
{
    uint32_t *choices = check_new(log->event_count, sizeof *choices);
    memset(choices, 0xff, log->event_count * sizeof *choices);
    for (uint32_t i = 0; i < log->count; i++)
        if (log->choices[i].taker != UINT32_MAX)
            choices[log->choices[i].taker] = i;
    return choices;
}

/* A lock that is asked for because another was had never comes before it. */
bool explore_locks_note(struct number_set *matter, const struct sim_choice_log *log)
{
    uint32_t *choices = choices_of_events(log);
    bool more = false;
    for (size_t i = 0; i < log->event_count; i++) {
        const struct sim_event *lock = &log->events[i];
        if (lock->kind != SIM_EVENT_LOCK || number_set_has(matter, lock_name(lock)))
            continue;
        for (size_t j = 0; j < i; j++)
            if (pair_matters(&log->events[j], lock) &&
                !sim_dependences_have(&lock->causes, choices[j])) {
                more = number_set_add(matter, lock_name(lock)) || more;
                break;
            }
    }
    free(choices);
    return more;
}

/* MPI_Win_lock need not wait for the lock: what it holds up to its first flush may be done after what
 * another did under a lock that it asked for because of a message from within. */
bool explore_locks_lazy(const struct sim_choice_log *log)
{
    uint32_t *choices = choices_of_events(log);
    bool lazy = false;
    for (size_t j = 0; j < log->event_count && !lazy; j++) {
        const struct sim_event *late = &log->events[j];
        for (size_t i = j + 1; late->lazy && i < log->event_count && !lazy; i++) {
            const struct sim_event *lock = &log->events[i];
            lazy = late->rank != lock->rank && is_same_lock(late, lock) &&
                   (late->all || lock->all) && !(lock->plain && leave_the_same(late, lock)) &&
                   sim_dependences_have(&lock->causes, choices[j]);
        }
    }
    free(choices);
    return lazy;
}

static bool matters(const struct analysis *analysis, const struct sim_event *lock)
{
    return number_set_has(analysis->matter, lock_name(lock));
}

/* A lock is had after those before it, unless both only share it. */
static void depend_on_locks(const struct analysis *analysis, uint32_t move)
{
    const struct explore_races *races = analysis->races;
    const struct sim_event *lock = taker_of(analysis, move);
    if (!matters(analysis, lock))
        return;
    for (uint32_t before = move; before-- > 0;) {
        const struct sim_event *earlier =
            races->moves[before].kind == SIM_TAKER_LOCK ? taker_of(analysis, before) : NULL;
        if (earlier && !has(past_of(analysis, move), before) && is_same_lock(earlier, lock) &&
            (earlier->all || lock->all))
            depend(analysis, move, before);
    }
}

static void find_pasts(struct analysis *analysis)
{
    const struct explore_races *races = analysis->races;
    analysis->past = check_new(races->move_count * races->words, sizeof *analysis->past);
    for (uint32_t move = 0; move < races->move_count; move++) {
        const struct sim_dependences *causes = &analysis->log->choices[analysis->entry[move]].past;
        for (uint32_t before = move; before-- > 0;)
            if (!has(past_of(analysis, move), before) &&
                (sim_dependences_have(causes, analysis->entry[before]) ||
                 must_come_first(analysis, before, move)))
                depend(analysis, move, before);
        if (races->moves[move].kind == SIM_TAKER_LOCK)
            depend_on_locks(analysis, move);
    }
}

/* Whether something with these causes came about because of the move. */
static bool is_after(const struct analysis *analysis, const struct sim_dependences *causes,
                     uint32_t move)
{
    if (sim_dependences_have(causes, analysis->entry[move]))
        return true;
    for (uint32_t later = move + 1;
         later < analysis->races->move_count && analysis->entry[later] < SIM_CAUSES_MAX; later++)
        if (sim_dependences_have(causes, analysis->entry[later]) &&
            has(past_of(analysis, later), move))
            return true;
    return false;
}

/* ---- races ---- */

static bool takes_same(const struct explore_choice *a, const struct explore_choice *b)
{
    if (explore_same_lock(a, b))
        return true;
    return a->kind == SIM_TAKER_RECEIVE && b->kind == SIM_TAKER_RECEIVE &&
           a->source != SIM_NOTHING && a->rank == b->rank && a->source == b->source &&
           a->number == b->number && a->box == b->box;
}

/* By move: the one that had a lock right before it; UINT32_MAX: there is none. */
static void find_locks_before(struct analysis *analysis)
{
    const struct explore_races *races = analysis->races;
    analysis->before = check_new(races->move_count, sizeof *analysis->before);
    for (uint32_t move = 0; move < races->move_count; move++) {
        const struct explore_choice *lock = &races->moves[move];
        analysis->before[move] = UINT32_MAX;
        for (uint32_t m = move; lock->kind == SIM_TAKER_LOCK && m-- > 0;) {
            const struct explore_choice *before = &races->moves[m];
            if (before->kind == SIM_TAKER_LOCK && before->box == lock->box &&
                before->rank == lock->source && before->object == lock->number) {
                analysis->before[move] = m;
                break;
            }
        }
    }
}

/* Whether a move of the past is not kept. */
static bool lost(const struct analysis *analysis, const uint64_t *past, const uint64_t *kept)
{
    for (size_t w = 0; analysis->locks && w < analysis->races->words; w++)
        if (past[w] & ~kept[w])
            return true;
    return false;
}

static void add_race(struct analysis *analysis, uint32_t move, struct explore_choice instead)
{
    struct explore_races *races = analysis->races;
    races->races =
        check_grow(races->races, &races->race_room, races->race_count + 1, sizeof *races->races);
    races->kept = check_grow(races->kept, &races->kept_room, races->race_count + 1,
                             races->words * sizeof *races->kept);
    uint64_t *row = races->kept + races->race_count * races->words;
    memset(row, 0, races->words * sizeof *row);
    uint32_t other = UINT32_MAX; /* who took in this run what is taken instead */
    for (uint32_t m = 0; m < races->move_count; m++)
        if (takes_same(&races->moves[m], &instead))
            other = m;
    for (uint32_t m = 0; m < races->move_count; m++) {
        const uint64_t *past = past_of(analysis, m);
        uint32_t before = analysis->before[m];
        bool goes = m == move || m == other || has(past, move) ||
                    (other != UINT32_MAX && has(past, other)) ||
                    (before != UINT32_MAX && !has(row, before)) || lost(analysis, past, row);
        if (!goes)
            row[m / 64] |= UINT64_C(1) << m % 64;
    }
    races->races[races->race_count++] = (struct explore_race){.move = move, .instead = instead};
}

static void race_local(struct analysis *analysis, uint32_t move)
{
    struct explore_choice instead = analysis->races->moves[move];
    uint32_t n = analysis->log->choices[analysis->entry[move]].n, picked = instead.source;
    for (instead.source = 0; instead.source < n; instead.source++)
        if (instead.source != picked)
            add_race(analysis, move, instead);
}

/* Whether the taker was offered to go without anything: that what it wants was late. */
static bool may_be_late(const struct analysis *analysis, uint32_t move)
{
    const struct sim_choice_log *log = analysis->log;
    const struct sim_choice *entry = &log->choices[analysis->entry[move]];
    const struct explore_choice *choice = &analysis->races->moves[move];
    const struct sim_alternative *alternatives = named(log, entry);
    for (uint32_t i = 0; alternatives && i < entry->n; i++)
        if (alternatives[i].source == SIM_NOTHING && alternatives[i].taker == choice->kind &&
            alternatives[i].rank == choice->rank && alternatives[i].object == choice->object)
            return true;
    for (size_t i = 0; i < log->event_count; i++)
        if (log->events[i].kind == SIM_EVENT_CANCEL && log->events[i].next == entry->taker &&
            !is_after(analysis, &log->events[i].causes, move))
            return true;
    return false;
}

static void race_nothing(struct analysis *analysis, uint32_t move)
{
    struct explore_choice instead = analysis->races->moves[move];
    if (instead.kind == EXPLORE_LOCAL || instead.source == SIM_NOTHING ||
        !may_be_late(analysis, move))
        return;
    instead.source = SIM_NOTHING;
    instead.number = 0;
    add_race(analysis, move, instead);
}

static void race_items(struct analysis *analysis, uint32_t move)
{
    const struct sim_choice_log *log = analysis->log;
    struct explore_choice choice = analysis->races->moves[move], instead = choice;
    bool all = false, possible = true;
    for (size_t i = 0; i < log->event_count; i++) {
        const struct sim_event *item = &log->events[i];
        if (item->kind != SIM_EVENT_ITEM || item->rank != choice.rank ||
            item->object != choice.object)
            continue;
        bool could = item->complete && !is_after(analysis, &item->causes, move);
        all = item->all;
        possible = possible && could;
        instead.source = item->number;
        if (!all && could && item->number != choice.source)
            add_race(analysis, move, instead);
    }
    instead.source = 0;
    if (all && possible && choice.source == SIM_NOTHING)
        add_race(analysis, move, instead);
}

/* The first message of each sender that fits and is not gone, if it could have been there. */
static void race_messages(struct analysis *analysis, uint32_t move)
{
    const struct sim_choice_log *log = analysis->log;
    const struct sim_event *taker = taker_of(analysis, move);
    struct explore_choice instead = analysis->races->moves[move];
    if (!taker)
        return;
    memset(analysis->stopped, 0, analysis->ranks * sizeof *analysis->stopped);
    for (uint32_t i = 0; i < log->event_count; i++) {
        const struct sim_event *message = &log->events[i];
        if (message->kind != SIM_EVENT_MESSAGE || message->box != taker->box ||
            message->owner != taker->owner || !fits(taker->tag, message->tag) ||
            !comes_from(taker, message) || analysis->stopped[message->rank] ||
            (message->complete && message->order < taker->order))
            continue;
        analysis->stopped[message->rank] = true;
        if (i == analysis->message[move] || is_after(analysis, &message->causes, move))
            continue;
        instead.source = message->rank;
        instead.number = message->number;
        add_race(analysis, move, instead);
    }
}

/* A lock that was had, or is still waited for when the run has ended, may be had before any that was
 * had earlier, unless it was asked for because of that one. */
static void race_lock(struct analysis *analysis, const struct sim_event *lock, uint32_t end)
{
    const struct explore_races *races = analysis->races;
    for (uint32_t m = end; matters(analysis, lock) && m-- > 0;) {
        struct explore_choice instead = races->moves[m];
        if (instead.kind != SIM_TAKER_LOCK || !is_same_lock(taker_of(analysis, m), lock) ||
            instead.rank == lock->rank || is_after(analysis, &lock->causes, m))
            continue;
        instead.rank = lock->rank;
        instead.object = lock->object;
        add_race(analysis, m, instead);
    }
}

static void race_waiting_locks(struct analysis *analysis)
{
    const struct sim_choice_log *log = analysis->log;
    for (size_t i = 0; i < log->event_count; i++)
        if (log->events[i].kind == SIM_EVENT_LOCK && !log->events[i].complete)
            race_lock(analysis, &log->events[i], (uint32_t)analysis->races->move_count);
}

void explore_races_find(struct explore_races *races, const struct sim_choice_log *log,
                        unsigned kinds, const struct number_set *matter)
{
    struct analysis analysis = {.log = log, .races = races, .matter = matter, .ranks = 1};
    *races = (struct explore_races){.width = 1};
    gather_moves(&analysis, kinds);
    races->words = (races->move_count + 63) / 64 + (races->move_count == 0);
    find_pasts(&analysis);
    find_locks_before(&analysis);
    for (size_t i = 0; i < log->event_count; i++)
        if (log->events[i].rank >= analysis.ranks)
            analysis.ranks = log->events[i].rank + 1;
    analysis.stopped = check_new(analysis.ranks, sizeof *analysis.stopped);
    for (uint32_t move = 0; move < races->move_count; move++) {
        size_t before = races->race_count;
        if (races->moves[move].kind == EXPLORE_LOCAL)
            race_local(&analysis, move);
        else if (races->moves[move].kind == SIM_TAKER_WAITANY)
            race_items(&analysis, move);
        else if (races->moves[move].kind == SIM_TAKER_LOCK)
            race_lock(&analysis, taker_of(&analysis, move), move);
        else
            race_messages(&analysis, move);
        if (races->moves[move].kind != SIM_TAKER_LOCK)
            race_nothing(&analysis, move);
        races->width *= (double)(1 + races->race_count - before);
    }
    race_waiting_locks(&analysis);
    free(analysis.entry);
    free(analysis.before);
    free(analysis.message);
    free(analysis.past);
    free(analysis.stopped);
}

void explore_races_release(struct explore_races *races)
{
    free(races->moves);
    free(races->races);
    free(races->kept);
    *races = (struct explore_races){0};
}
