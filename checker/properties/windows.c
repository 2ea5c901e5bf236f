/* B003: accesses to the same memory of a window that nothing orders.
 *
 * Method: what each rank knows of the others when an access begins (window_walk.h). Locks order
 * nothing, as they may be taken in any order; but an exclusive lock keeps others out, which is
 * enough.
 *
 * So what is found is true of every order the synchronisation allows, however far apart the two
 * accesses were in this run. What no trace has of files and databases is a gap. */
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/properties/window_walk.h"

#include <stdlib.h>
#include <string.h>

/* Overlapping pairs that are looked at; findings. */
static const size_t pairs_max = (size_t)1 << 24;
enum { FINDINGS_MAX = 64 };

struct windows {
    const struct trace *trace;
    struct findings *findings;
    struct judged *judged;
    uint32_t places[FINDINGS_MAX][2]; /* by finding */
    size_t pairs;
    uint64_t untold; /* racing pairs beyond FINDINGS_MAX */
    bool unseen;     /* pairs beyond pairs_max */
    /* atomic accesses whose order decides what they fetch, and nothing else does */
    uint64_t chances;
};

/* Of two that meet, MPI_NO_OP may be one, unless the window's info gave that up. */
static bool same_operation(const struct trace_access *a, const struct trace_access *b)
{
    if (a->reduction == b->reduction || !a->reduction || !b->reduction)
        return true;
    bool looks = a->reduction == ACCESS_NO_REDUCTION || b->reduction == ACCESS_NO_REDUCTION;
    return looks && !a->same_op && !b->same_op;
}

/* Accumulates of one origin and one basic type are carried out in its order, whatever they compute,
 * unless the window's info gave that up. */
static bool in_program_order(const struct trace_access *a, const struct trace_access *b)
{
    return a->rank == b->rank && !a->unordered && !b->unordered;
}

/* Elements of one type lie on each other in part. Those of pairs with padding are recorded in
 * pieces, of which this cannot be told. */
static bool in_part(const struct trace_access *a, const struct trace_access *b)
{
    size_t size = trace_type_size(a->type);
    uint64_t apart = a->begin > b->begin ? a->begin - b->begin : b->begin - a->begin;
    return size == trace_type_extent(a->type) && apart % size;
}

static bool conflict(const struct trace_access *a, const struct trace_access *b)
{
    if ((window_access_reads(a) && window_access_reads(b)) ||
        (window_access_is_local(a) && window_access_is_local(b) && a->rank == b->rank))
        return false;
    if (a->kind != ACCESS_ACCUMULATE || b->kind != ACCESS_ACCUMULATE)
        return true;
    if (a->type != b->type)
        return true;
    return !in_program_order(a, b) && (!same_operation(a, b) || in_part(a, b));
}

static const char *operation_of(const struct trace_access *access)
{
    return access->reduction == ACCESS_NO_REDUCTION ? "no_op"
                                                    : trace_reduce_name(access->reduction);
}

/* Why two accumulates race, of which most may meet. */
static void tell_reason(struct finding *finding, const struct trace_access *a,
                        const struct trace_access *b)
{
    const char *type = trace_type_name(a->type);
    if (a->kind != ACCESS_ACCUMULATE || b->kind != ACCESS_ACCUMULATE)
        return;
    if (a->type != b->type)
        finding_sentence(
            finding,
            "One is of %s, the other of %s: accumulates of different types may not meet.\n", type,
            trace_type_name(b->type));
    else if (!same_operation(a, b))
        finding_sentence(finding,
                         "One is %s, the other %s: accumulates of different operations may not "
                         "meet%s.\n",
                         operation_of(a), operation_of(b),
                         a->reduction == ACCESS_NO_REDUCTION || b->reduction == ACCESS_NO_REDUCTION
                             ? " where the window's info says accumulate_ops=same_op"
                             : "");
    else
        finding_sentence(finding,
                         "Elements (%s) lie on each other in part: an accumulate is atomic for "
                         "whole elements.\n",
                         type);
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
    uint32_t number = access->op - (window_access_is_instant(access) && access->op ? 1 : 0);
    size_t op = windows->trace->rank_begin[access->rank] + number;
    size_t end = windows->trace->rank_begin[access->rank + 1];
    return (uint32_t)(op < end ? op : end - 1);
}

static const char *text_of(const struct windows *windows, const struct trace_access *access,
                           char *text, size_t size)
{
    char place[PLACE_TEXT];
    if (access->site != TRACE_NO)
        snprintf(text, size, "a %s by rank %u%s", access->kind == ACCESS_LOAD ? "load" : "store",
                 access->rank, trace_at_text(windows->trace, access->site, place, sizeof place));
    else
        check_short_place(windows->trace, op_of(windows, access), text, size);
    return text;
}

/* A load or a store is no operation: the one that stands before it only says where that is. */
static const char *role_of(const struct trace_access *access)
{
    if (access->site == TRACE_NO)
        return "culprit";
    return access->kind == ACCESS_LOAD ? "before the load" : "before the store";
}

static uint32_t site_of(const struct windows *windows, const struct trace_access *access)
{
    return access->site != TRACE_NO ? access->site
                                    : windows->trace->ops[op_of(windows, access)].form->site;
}

/* No race, but what is fetched depends on who is first. */
static bool decides(const struct windows *windows, const struct trace_access *a,
                    const struct trace_access *b)
{
    bool both_look = a->reduction == ACCESS_NO_REDUCTION && b->reduction == ACCESS_NO_REDUCTION;
    return a->kind == ACCESS_ACCUMULATE && b->kind == ACCESS_ACCUMULATE && a->rank != b->rank &&
           !both_look &&
           (window_fetches(windows->trace->ops[op_of(windows, a)].kind) ||
            window_fetches(windows->trace->ops[op_of(windows, b)].kind));
}

static void report(struct windows *windows, const struct trace_access *a,
                   const struct trace_access *b, size_t first)
{
    char one[PLACE_TEXT + 64], other[PLACE_TEXT + 64];
    uint32_t site = site_of(windows, b), with = site_of(windows, a);
    struct finding *finding = NULL;
    for (size_t i = 0; i < windows->findings->count - first && !finding; i++) {
        const uint32_t *known = windows->places[i];
        if ((known[0] == site && known[1] == with) || (known[0] == with && known[1] == site))
            finding = &windows->findings->items[first + i];
    }
    if (!finding) {
        if (windows->findings->count - first == FINDINGS_MAX) {
            windows->untold++;
            return;
        }
        windows->places[windows->findings->count - first][0] = site;
        windows->places[windows->findings->count - first][1] = with;
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
    tell_reason(finding, a, b);
    finding_op_add(finding, op_of(windows, b), role_of(b));
    finding_op_add(finding, op_of(windows, a), role_of(a));
}

static int by_address(const void *a, const void *b)
{
    const struct trace_access *x = ((const struct judged *)a)->access;
    const struct trace_access *y = ((const struct judged *)b)->access;
    return x->begin != y->begin ? check_order_of(x->begin, y->begin)
                                : check_order_of((uintptr_t)x, (uintptr_t)y);
}

static void judge(struct windows *windows)
{
    size_t count = windows->trace->access_count, first = windows->findings->count;
    qsort(windows->judged, count, sizeof *windows->judged, by_address);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            const struct judged *a = &windows->judged[i], *b = &windows->judged[j];
            if (b->access->begin >= a->access->end)
                break;
            windows->unseen = windows->pairs == pairs_max;
            if (windows->unseen)
                return;
            windows->pairs++;
            if (!a->start || !b->start || keep_apart(a->access, b->access) || before(a, b) ||
                before(b, a))
                continue;
            if (conflict(a->access, b->access))
                report(windows, a->access, b->access, first);
            else
                windows->chances += decides(windows, a->access, b->access);
        }
}

void check_windows(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    if (!trace->access_count)
        return;
    size_t first = findings->count;
    struct window_walk walk;
    bool walked = window_walk_run(&walk, context);
    struct windows windows = {
        .trace = trace, .findings = findings, .judged = walk.judged, .chances = walk.chances};
    if (walked && !walk.disordered)
        judge(&windows);
    else
        trace_gap(trace, "windows", trace->access_count,
                  walked ? "accesses to windows, of whose operations no order could be found (B003)"
                         : "accesses to windows, whose clocks do not fit (B003)");
    trace_gap(trace, "windows", windows.chances,
              "another order of atomic accesses to a window, on which it depends what they fetch");
    for (size_t i = first; i < findings->count; i++)
        finding_seal(&findings->items[i], trace);
    trace_gap(trace, "windows", windows.untold, "more pairs of accesses that race (B003)");
    if (windows.unseen)
        trace_gap(trace, "windows", 1, "pairs of accesses to windows beyond %zu (B003)", pairs_max);
    window_walk_release(&walk);
}
