/* B003: accesses to the same memory of a window that nothing orders.
 *
 * Method: vector clocks. An operation adds one to its rank's component when it begins and one when
 * it has ended; receives, collectives and the calls that synchronise windows join what others had
 * when they began. An access is over when the call that completes it begins; another is ordered
 * behind it if its start knows of that. Locks order nothing, as they may be taken in any order; but
 * an exclusive lock keeps others out, which is enough.
 *
 * So what is found is true of every order the synchronisation allows, however far apart the two
 * accesses were in this run. What no trace has of files and databases is a gap. */
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"

#include <stdlib.h>
#include <string.h>

/* Words of all clocks that are kept; overlapping pairs that are looked at; findings. */
static const size_t words_max = (size_t)1 << 26, pairs_max = (size_t)1 << 24;
enum { FINDINGS_MAX = 64 };

struct event {
    uint64_t time;
    uint32_t op;
    bool begins;
};

struct judged {
    const struct trace_access *access;
    uint32_t *start; /* the clock when it began */
    uint32_t at;     /* a rank, and its component when the access is over */
    uint32_t done;
};

struct windows {
    const struct check_context *context;
    const struct trace *trace;
    struct findings *findings;
    uint32_t *clocks;    /* ranks rows */
    uint32_t **begun;    /* by operation: the clock when it began, where somebody asks for it */
    uint32_t **gathered; /* by collective: what its members had when they began */
    struct judged *judged;
    uint32_t *next_access, *next_sync; /* by rank: the first of its rows not yet reached */
    struct trace_sync *syncs;
    size_t pairs, words;
    uint64_t
        chances; /* atomic accesses whose order decides what they fetch, and nothing else does */
    bool disordered; /* an operation ended before one that it waits for began: times tell nothing */
};

static uint32_t *clock_of(struct windows *windows, uint32_t rank)
{
    return windows->clocks + (size_t)rank * windows->trace->ranks;
}

static void join(const struct windows *windows, uint32_t *to, const uint32_t *from)
{
    for (uint32_t i = 0; i < windows->trace->ranks; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

static uint32_t *copy_of(struct windows *windows, const uint32_t *clock)
{
    uint32_t *copy = check_new(windows->trace->ranks, sizeof *copy);
    windows->words += windows->trace->ranks;
    memcpy(copy, clock, windows->trace->ranks * sizeof *copy);
    return copy;
}

static uint32_t number_of(const struct windows *windows, uint32_t op)
{
    return op - (uint32_t)windows->trace->rank_begin[windows->trace->ops[op].rank];
}

/* A load or store of the program; else an operation's, which takes until its completion. */
static bool is_instant(const struct trace_access *access)
{
    return access->done == UINT32_MAX;
}

static bool is_local(const struct trace_access *access)
{
    return access->kind == ACCESS_LOAD || access->kind == ACCESS_STORE;
}

static bool reads(const struct trace_access *access)
{
    return access->kind == ACCESS_LOAD || access->kind == ACCESS_GET ||
           (access->kind == ACCESS_ACCUMULATE && access->reduction == ACCESS_NO_REDUCTION);
}

/* Accesses sorted by rank and operation, so that each rank's are met in its order. */
static int by_rank_and_op(const void *a, const void *b)
{
    const struct trace_access *x = ((const struct judged *)a)->access;
    const struct trace_access *y = ((const struct judged *)b)->access;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (is_instant(x) != is_instant(y))
        return is_instant(x) ? -1 : 1;
    return (x < y) ? -1 : x > y;
}

static int syncs_by_rank_and_op(const void *a, const void *b)
{
    const struct trace_sync *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

/* MPI_Win_complete ends an access that changes the target at the origin only: at the target it is
 * over when the MPI_Win_wait there is. */
static void over_at_target(const struct windows *windows, struct judged *judged)
{
    const struct trace *trace = windows->trace;
    const struct trace_access *access = judged->access;
    judged->at = access->target;
    judged->done = UINT32_MAX;
    for (uint32_t i = windows->next_sync[access->target];
         i < trace->sync_count && windows->syncs[i].rank == access->target; i++)
        if (windows->syncs[i].peer == access->rank && windows->syncs[i].peer_op == access->done)
            judged->done = 2 * windows->syncs[i].op;
}

static void over(const struct windows *windows, struct judged *judged)
{
    const struct trace *trace = windows->trace;
    const struct trace_access *access = judged->access;
    size_t done = trace->rank_begin[access->rank] + access->done;
    judged->at = access->rank;
    if (is_instant(access))
        judged->done = 2 * access->op + 1;
    else if (is_local(access))
        judged->done = 2 * access->done + 2;
    else if (!reads(access) && done < trace->op_count && trace->ops[done].kind == OP_WIN_COMPLETE)
        over_at_target(windows, judged);
    else
        judged->done = 2 * access->done + 1;
}

static bool fetches(uint8_t kind)
{
    return kind == OP_GET_ACCUMULATE || kind == OP_FETCH_AND_OP || kind == OP_COMPARE_AND_SWAP;
}

static bool is_atomic(uint8_t kind)
{
    return fetches(kind) || kind == OP_ACCUMULATE;
}

/* Before operation `number` of the rank begins: what it learns, and the loads and stores before. */
static void reach(struct windows *windows, uint32_t rank, uint32_t number)
{
    const struct trace *trace = windows->trace;
    uint32_t *clock = clock_of(windows, rank);
    uint32_t *at = &windows->next_sync[rank];
    for (; *at < trace->sync_count && windows->syncs[*at].rank == rank &&
           windows->syncs[*at].op <= number;
         ++*at) {
        size_t peer = trace->rank_begin[windows->syncs[*at].peer] + windows->syncs[*at].peer_op;
        if (peer >= trace->op_count || !windows->begun[peer]) {
            windows->disordered = true;
            continue;
        }
        const struct trace_sync *sync = &windows->syncs[*at];
        windows->chances +=
            is_atomic(trace->ops[peer].kind) && clock[sync->peer] < 2 * sync->peer_op + 1;
        join(windows, clock, windows->begun[peer]);
    }
    at = &windows->next_access[rank];
    for (; *at < trace->access_count; ++*at) {
        struct judged *judged = &windows->judged[*at];
        const struct trace_access *access = judged->access;
        if (access->rank != rank || access->op > number ||
            (access->op == number && !is_instant(access)))
            break;
        judged->start = copy_of(windows, clock);
    }
}

/* The accesses of one-sided operation `number`, which has begun. */
static void issue(struct windows *windows, uint32_t rank, uint32_t number)
{
    const struct trace *trace = windows->trace;
    uint32_t *at = &windows->next_access[rank];
    for (; *at < trace->access_count; ++*at) {
        struct judged *judged = &windows->judged[*at];
        if (judged->access->rank != rank || judged->access->op != number ||
            is_instant(judged->access))
            break;
        judged->start = copy_of(windows, clock_of(windows, rank));
    }
}

static bool is_prefix(uint8_t kind)
{
    return kind == OP_SCAN || kind == OP_EXSCAN;
}

static bool from_root(uint8_t kind)
{
    return kind == OP_BCAST || kind == OP_SCATTER || kind == OP_SCATTERV;
}

static bool to_root(uint8_t kind)
{
    return kind == OP_REDUCE || kind == OP_GATHER || kind == OP_GATHERV;
}

/* Whose beginnings others ask for: trace_sync and prefix reductions. */
static bool orders_later(uint8_t kind)
{
    return kind == OP_WIN_POST || kind == OP_WIN_COMPLETE || kind == OP_ACCUMULATE ||
           kind == OP_GET_ACCUMULATE || kind == OP_FETCH_AND_OP || kind == OP_COMPARE_AND_SWAP ||
           is_prefix(kind);
}

/* A prefix reduction needs those before its rank only. */
static void join_prefix(struct windows *windows, uint32_t op, uint32_t *clock)
{
    const struct check_context *context = windows->context;
    const struct check_group *group = &context->groups[context->group_of[op]];
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t other = context->group_ops[group->first + i];
        if (other == op)
            return;
        if (windows->begun[other])
            join(windows, clock, windows->begun[other]);
    }
}

static void op_begins(struct windows *windows, uint32_t op)
{
    const struct trace_op *at = &windows->trace->ops[op];
    uint32_t *clock = clock_of(windows, at->rank), number = number_of(windows, op);
    uint32_t group = windows->context->group_of[op];
    reach(windows, at->rank, number);
    clock[at->rank] = 2 * number + 1 > clock[at->rank] ? 2 * number + 1 : clock[at->rank];
    issue(windows, at->rank, number);
    if (check_class(at) == CLASS_SEND || orders_later(at->kind))
        windows->begun[op] = copy_of(windows, clock);
    if (group == TRACE_NO || (from_root(at->kind) && at->peer != (int32_t)at->rank))
        return;
    if (!windows->gathered[group])
        windows->gathered[group] = copy_of(windows, clock);
    else
        join(windows, windows->gathered[group], clock);
}

static void op_ends(struct windows *windows, uint32_t op)
{
    const struct trace_op *at = &windows->trace->ops[op];
    uint32_t *clock = clock_of(windows, at->rank), number = number_of(windows, op);
    uint32_t group = windows->context->group_of[op];
    bool receives = check_class(at) == CLASS_RECEIVE && at->match != TRACE_NO;
    if (receives && windows->begun[at->match])
        join(windows, clock, windows->begun[at->match]);
    else if (receives)
        windows->disordered = true;
    if (group != TRACE_NO && is_prefix(at->kind))
        join_prefix(windows, op, clock);
    else if (group != TRACE_NO && windows->gathered[group] &&
             !(to_root(at->kind) && at->peer != (int32_t)at->rank))
        join(windows, clock, windows->gathered[group]);
    if (!check_is_start(at) && 2 * number + 2 > clock[at->rank])
        clock[at->rank] = 2 * number + 2;
}

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->begins != y->begins)
        return x->begins ? 1 : -1;
    return x->op < y->op ? -1 : x->op > y->op;
}

/* Events of every rank in its own order; `next`: the first not yet walked. */
struct steps {
    struct event *events;
    size_t *next, *end; /* by rank */
    bool *begun;        /* by operation */
};

static struct steps steps_of(const struct trace *trace)
{
    struct steps steps = {.events = check_new(2 * trace->op_count + 1, sizeof *steps.events),
                          .next = check_new(trace->ranks, sizeof *steps.next),
                          .end = check_new(trace->ranks, sizeof *steps.end),
                          .begun = check_new(trace->op_count + 1, sizeof *steps.begun)};
    size_t count = 0;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        steps.next[rank] = count;
        for (size_t op = trace->rank_begin[rank]; op < trace->rank_begin[rank + 1]; op++) {
            steps.events[count++] = (struct event){trace->ops[op].begin, (uint32_t)op, true};
            if (trace->ops[op].end)
                steps.events[count++] = (struct event){trace->ops[op].end - 1, (uint32_t)op, false};
        }
        steps.end[rank] = count;
        qsort(steps.events + steps.next[rank], count - steps.next[rank], sizeof *steps.events,
              by_time);
    }
    return steps;
}

static bool group_has_begun(const struct windows *windows, const struct steps *steps, uint32_t op)
{
    const struct trace_op *at = &windows->trace->ops[op];
    const struct check_group *group = &windows->context->groups[windows->context->group_of[op]];
    if (to_root(at->kind) && at->peer != (int32_t)at->rank)
        return true;
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t other = windows->context->group_ops[group->first + i];
        const struct trace_op *call = &windows->trace->ops[other];
        if (is_prefix(at->kind) && other == op)
            return true;
        if ((!from_root(at->kind) || at->peer == (int32_t)call->rank) && !steps->begun[other])
            return false;
    }
    return true;
}

/* Whether all that the rank's next event waits for has been walked. */
static bool is_ready(const struct windows *windows, const struct steps *steps, uint32_t rank)
{
    const struct trace *trace = windows->trace;
    const struct event *event = &steps->events[steps->next[rank]];
    const struct trace_op *at = &trace->ops[event->op];
    if (event->begins) {
        for (size_t i = windows->next_sync[rank];
             i < trace->sync_count && windows->syncs[i].rank == rank &&
             windows->syncs[i].op <= number_of(windows, event->op);
             i++) {
            size_t peer = trace->rank_begin[windows->syncs[i].peer] + windows->syncs[i].peer_op;
            if (peer < trace->op_count && !steps->begun[peer])
                return false;
        }
        return true;
    }
    if (check_class(at) == CLASS_RECEIVE && at->match != TRACE_NO)
        return steps->begun[at->match];
    return windows->context->group_of[event->op] == TRACE_NO ||
           group_has_begun(windows, steps, event->op);
}

static void step(struct windows *windows, struct steps *steps, uint32_t rank)
{
    const struct event *event = &steps->events[steps->next[rank]++];
    if (event->begins)
        op_begins(windows, event->op);
    else
        op_ends(windows, event->op);
    steps->begun[event->op] = true;
}

/* The rank whose next event has the earliest time; `ranks` where all are through. */
static uint32_t earliest(const struct steps *steps, uint32_t ranks)
{
    uint32_t found = ranks;
    for (uint32_t rank = 0; rank < ranks; rank++)
        if (steps->next[rank] < steps->end[rank] &&
            (found == ranks ||
             by_time(&steps->events[steps->next[rank]], &steps->events[steps->next[found]]) < 0))
            found = rank;
    return found;
}

/* Walks the run, each rank as far as what it waits for has been walked; by time where nobody can go,
 * which times of ranks that are threads may tell wrong. False where it takes too much memory. */
static bool walk(struct windows *windows)
{
    const struct trace *trace = windows->trace;
    struct steps steps = steps_of(trace);
    for (bool more = true; more && windows->words <= words_max;) {
        more = false;
        for (uint32_t rank = 0; rank < trace->ranks; rank++)
            for (; steps.next[rank] < steps.end[rank] && is_ready(windows, &steps, rank) &&
                   windows->words <= words_max;
                 more = true)
                step(windows, &steps, rank);
        uint32_t rank = more ? trace->ranks : earliest(&steps, trace->ranks);
        if (rank < trace->ranks) {
            step(windows, &steps, rank);
            more = true;
        }
    }
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        reach(windows, rank, UINT32_MAX);
    free(steps.events);
    free(steps.next);
    free(steps.end);
    free(steps.begun);
    return windows->words <= words_max;
}

/* ---- pairs ---- */

static bool same_operation(uint32_t a, uint32_t b)
{
    return a == b || !a || !b || a == ACCESS_NO_REDUCTION || b == ACCESS_NO_REDUCTION;
}

/* Accumulates of one origin and one basic type are carried out in its order, whatever they compute,
 * unless the window's info gave that up. */
static bool in_program_order(const struct trace_access *a, const struct trace_access *b)
{
    return a->rank == b->rank && !a->unordered && !b->unordered;
}

static bool conflict(const struct trace_access *a, const struct trace_access *b)
{
    if ((reads(a) && reads(b)) || (is_local(a) && is_local(b) && a->rank == b->rank))
        return false;
    if (a->kind != ACCESS_ACCUMULATE || b->kind != ACCESS_ACCUMULATE)
        return true;
    return a->type != b->type ||
           !(in_program_order(a, b) || same_operation(a->reduction, b->reduction));
}

static bool keep_apart(const struct trace_access *a, const struct trace_access *b)
{
    return a->rank != b->rank && a->lock && b->lock &&
           (a->lock == ACCESS_EXCLUSIVE || b->lock == ACCESS_EXCLUSIVE);
}

static bool before(const struct judged *a, const struct judged *b)
{
    return b->start[a->at] >= a->done;
}

static uint32_t op_of(const struct windows *windows, const struct trace_access *access)
{
    uint32_t number = access->op - (is_instant(access) && access->op ? 1 : 0);
    size_t op = windows->trace->rank_begin[access->rank] + number;
    size_t end = windows->trace->rank_begin[access->rank + 1];
    return (uint32_t)(op < end ? op : end - 1);
}

static const char *text_of(const struct windows *windows, const struct trace_access *access,
                           char *text, size_t size)
{
    char place[PLACE_TEXT];
    if (is_instant(access) && access->site != TRACE_NO)
        snprintf(text, size, "a %s by rank %u%s", access->kind == ACCESS_LOAD ? "load" : "store",
                 access->rank, trace_at_text(windows->trace, access->site, place, sizeof place));
    else
        check_short_place(windows->trace, op_of(windows, access), text, size);
    return text;
}

/* A load or a store is no operation: the one that stands before it only says where that is. */
static const char *role_of(const struct trace_access *access)
{
    if (!is_instant(access) || access->site == TRACE_NO)
        return "culprit";
    return access->kind == ACCESS_LOAD ? "before the load" : "before the store";
}

static uint32_t site_of(const struct windows *windows, const struct trace_access *access)
{
    return access->site != TRACE_NO ? access->site
                                    : windows->trace->ops[op_of(windows, access)].site;
}

/* No race, but what is fetched depends on who is first. */
static bool decides(const struct windows *windows, const struct trace_access *a,
                    const struct trace_access *b)
{
    uint8_t one = windows->trace->ops[op_of(windows, a)].kind;
    uint8_t other = windows->trace->ops[op_of(windows, b)].kind;
    bool both_look = a->reduction == ACCESS_NO_REDUCTION && b->reduction == ACCESS_NO_REDUCTION;
    return a->rank != b->rank && is_atomic(one) && is_atomic(other) && !both_look &&
           (fetches(one) || fetches(other));
}

static void report(struct windows *windows, const struct trace_access *a,
                   const struct trace_access *b, size_t first)
{
    char one[PLACE_TEXT + 64], other[PLACE_TEXT + 64];
    uint32_t site = site_of(windows, b), with = site_of(windows, a);
    struct finding *finding = NULL;
    for (size_t i = first; i < windows->findings->count && !finding; i++) {
        struct finding *known = &windows->findings->items[i];
        uint32_t known_with =
            known->op_count > 1 ? windows->trace->ops[known->ops[1].op].site : TRACE_NO;
        if (known->site == site &&
            (known_with == with || known_with == windows->trace->ops[op_of(windows, a)].site))
            finding = known;
    }
    if (!finding) {
        if (windows->findings->count - first >= FINDINGS_MAX)
            return;
        finding = findings_add(windows->findings, "B003",
                               "nothing orders %s and %s, which touch the same memory of a window",
                               text_of(windows, a, one, sizeof one),
                               text_of(windows, b, other, sizeof other));
        finding->site = site;
        finding->confirmation = CONFIRM_HAPPENED;
    } else if (finding->op_count >= 2 * PLACES_LISTED_MAX) {
        return;
    }
    uint64_t begin = a->begin > b->begin ? a->begin : b->begin;
    uint64_t end = a->end < b->end ? a->end : b->end;
    finding_sentence(finding, "%s and %s share %llu bytes of the window of rank %u.\n",
                     text_of(windows, a, one, sizeof one), text_of(windows, b, other, sizeof other),
                     (unsigned long long)(end - begin), b->target);
    finding_op_add(finding, op_of(windows, b), role_of(b));
    finding_op_add(finding, op_of(windows, a), role_of(a));
}

static int by_address(const void *a, const void *b)
{
    const struct judged *x = a, *y = b;
    if (x->access->begin != y->access->begin)
        return x->access->begin < y->access->begin ? -1 : 1;
    return x->access < y->access ? -1 : x->access > y->access;
}

static void judge(struct windows *windows)
{
    size_t count = windows->trace->access_count, first = windows->findings->count;
    qsort(windows->judged, count, sizeof *windows->judged, by_address);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count && windows->pairs < pairs_max; j++) {
            const struct judged *a = &windows->judged[i], *b = &windows->judged[j];
            if (b->access->begin >= a->access->end)
                break;
            windows->pairs++;
            if (!a->start || !b->start || keep_apart(a->access, b->access) || before(a, b) ||
                before(b, a))
                continue;
            if (conflict(a->access, b->access))
                report(windows, a->access, b->access, first);
            else
                windows->chances += decides(windows, a->access, b->access);
        }
    for (size_t i = first; i < windows->findings->count; i++)
        finding_seal(&windows->findings->items[i], windows->trace);
}

static void index_rows(struct windows *windows)
{
    const struct trace *trace = windows->trace;
    for (size_t i = 0; i < trace->access_count; i++)
        windows->judged[i].access = &trace->accesses[i];
    qsort(windows->judged, trace->access_count, sizeof *windows->judged, by_rank_and_op);
    if (trace->sync_count)
        memcpy(windows->syncs, trace->syncs, trace->sync_count * sizeof *windows->syncs);
    qsort(windows->syncs, trace->sync_count, sizeof *windows->syncs, syncs_by_rank_and_op);
    for (size_t i = trace->access_count; i-- > 0;)
        windows->next_access[windows->judged[i].access->rank] = (uint32_t)i;
    for (size_t i = trace->sync_count; i-- > 0;)
        windows->next_sync[windows->syncs[i].rank] = (uint32_t)i;
    for (size_t i = 0; i < trace->access_count; i++)
        over(windows, &windows->judged[i]);
}

static void free_all(uint32_t **clocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(clocks[i]);
    free(clocks);
}

void check_windows(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    if (!trace->access_count)
        return;
    struct windows windows = {
        .context = context,
        .trace = trace,
        .findings = findings,
        .clocks = check_new((size_t)trace->ranks * trace->ranks, sizeof *windows.clocks),
        .begun = check_new(trace->op_count + 1, sizeof *windows.begun),
        .gathered = check_new(context->group_count + 1, sizeof *windows.gathered),
        .judged = check_new(trace->access_count, sizeof *windows.judged),
        .next_access = check_new(trace->ranks, sizeof *windows.next_access),
        .next_sync = check_new(trace->ranks, sizeof *windows.next_sync),
        .syncs = check_new(trace->sync_count + 1, sizeof *windows.syncs)};
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        windows.next_access[rank] = (uint32_t)trace->access_count;
        windows.next_sync[rank] = (uint32_t)trace->sync_count;
    }
    index_rows(&windows);
    bool walked = walk(&windows);
    if (walked && !windows.disordered)
        judge(&windows);
    else
        trace_gap(trace, "windows", trace->access_count,
                  walked
                      ? "accesses to windows of ranks that are threads, whose times are their own "
                        "(B003)"
                      : "accesses to windows, whose clocks do not fit (B003)");
    if (windows.chances)
        trace_gap(
            trace, "windows", windows.chances,
            "another order of atomic accesses to a window, on which it depends what they fetch");
    if (windows.pairs >= pairs_max)
        trace_gap(trace, "windows", 1, "pairs of accesses to windows beyond %zu (B003)", pairs_max);
    for (size_t i = 0; i < trace->access_count; i++)
        free(windows.judged[i].start);
    free_all(windows.begun, trace->op_count);
    free_all(windows.gathered, context->group_count);
    free(windows.clocks);
    free(windows.judged);
    free(windows.next_access);
    free(windows.next_sync);
    free(windows.syncs);
}
