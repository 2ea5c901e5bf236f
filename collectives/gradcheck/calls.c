/* The communications of a program with marks: see calls.h. */
#include "collectives/gradcheck/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS_MOST = 4096 };

/* ---- worlds ---- */

static bool world_watch(struct calls *calls, struct gradcheck_direction *direction, double step,
                        struct call_log *log, uint32_t *objectives)
{
    struct gradcheck *check = calls->check;
    struct diff_probe probe;
    if (!call_log_init(log, calls->ranks) || !gradcheck_probe_moved(check, &probe))
        return false;
    probe.watch = &log->watch;
    probe.pushes = direction->pushes;
    probe.push_count = step != 0 ? direction->count : 0;
    for (size_t i = 0; i < direction->count; i++)
        direction->pushes[i].step = step;
    bool well = gradcheck_world(check, &probe, 0) && !log->failed;
    for (int r = 0; r < calls->ranks && objectives; r++)
        objectives[r] = probe.rows[r].objective_position;
    diff_probe_release(&probe);
    return well;
}

static bool same_calls(const struct call_log *a, const struct call_log *b)
{
    for (int r = 0; r < a->rank_count; r++) {
        if (a->ranks[r].count != b->ranks[r].count || a->ranks[r].count > CALLS_MOST)
            return false;
        for (size_t i = 0; i < a->ranks[r].count; i++) {
            const struct call_entry *one = &a->ranks[r].entries[i], *two = &b->ranks[r].entries[i];
            if (one->kind != two->kind || one->peer != two->peer || one->tag != two->tag ||
                one->sent.count != two->sent.count || one->got.count != two->got.count)
                return false;
        }
    }
    return true;
}

double *calls_tangent(const struct calls *calls, const struct call_group *group, int rank, bool got)
{
    for (size_t m = 0; m < group->count; m++) {
        const struct call_member *member = &calls->members[group->first + m];
        if (member->rank != rank || !(got ? member->gets : member->sends))
            continue;
        const struct call_entry *up = &calls->above.ranks[rank].entries[member->entry];
        const struct call_entry *down = &calls->below.ranks[rank].entries[member->entry];
        const struct call_numbers *high = got ? &up->got : &up->sent;
        const struct call_numbers *low = got ? &down->got : &down->sent;
        double *dot = malloc((high->count + 1) * sizeof *dot);
        for (size_t i = 0; dot && i < high->count; i++)
            dot[i] = (high->values[i] - low->values[i]) / (2 * calls->step);
        return dot;
    }
    return NULL;
}

/* ---- groups ---- */

struct call_key {
    uint64_t comm;
    bool message, back;
    int32_t source, target, tag;
    uint32_t ordinal;
    struct call_member member;
    size_t place;
};

static int key_compare(const void *a, const void *b)
{
    const struct call_key *l = a, *r = b;
#define BY(field)                                                                                  \
    if (l->field != r->field)                                                                      \
    return l->field < r->field ? -1 : 1
    BY(message);
    BY(comm);
    BY(source);
    BY(target);
    BY(tag);
    BY(ordinal);
    BY(member.rank);
    BY(place);
#undef BY
    return 0;
}

static bool same_communication(const struct call_key *a, const struct call_key *b)
{
    return a->message == b->message && a->comm == b->comm && a->source == b->source &&
           a->target == b->target && a->tag == b->tag && a->ordinal == b->ordinal;
}

/* How many earlier messages of this rank have the same ends, tag and direction. */
static uint32_t ordinal_of(const struct call_rank *rank, size_t at, bool sends)
{
    const struct call_entry *entry = &rank->entries[at];
    uint32_t ordinal = 0;
    for (size_t i = 0; i < at; i++) {
        const struct call_entry *other = &rank->entries[i];
        bool likewise = (op_kind_class(other->kind) == CLASS_SEND) == sends &&
                        op_kind_class(other->kind) != CLASS_COLLECTIVE;
        ordinal += likewise && other->comm == entry->comm && other->peer == entry->peer &&
                   other->tag == entry->tag;
    }
    return ordinal;
}

static struct call_key key_of(const struct call_log *log, int r, size_t at, uint32_t objective)
{
    const struct call_entry *entry = &log->ranks[r].entries[at];
    enum op_class class = op_kind_class(entry->kind);
    struct call_key key = {.comm = entry->comm,
                           .back = entry->number >= objective,
                           .source = -1,
                           .target = -1,
                           .ordinal = entry->sequence,
                           .member = {r, at, entry->sent.count > 0, entry->got.count > 0},
                           .place = at};
    if (class == CLASS_COLLECTIVE)
        return key;
    bool sends = class == CLASS_SEND;
    key.message = true;
    key.source = sends ? r : entry->peer;
    key.target = sends ? entry->peer : r;
    key.tag = entry->tag;
    key.ordinal = ordinal_of(&log->ranks[r], at, sends);
    return key;
}

static bool group_moves(const struct calls *calls, const struct call_group *group)
{
    bool moves = false;
    for (size_t m = 0; m < group->count && !moves; m++) {
        const struct call_member *member = &calls->members[group->first + m];
        double *dot = member->gets ? calls_tangent(calls, group, member->rank, true) : NULL;
        for (size_t i = 0; dot && i < calls_entry(calls, member)->got.count; i++)
            moves = moves || dot[i] != 0;
        free(dot);
    }
    return moves;
}

static int order_compare(const void *a, const void *b)
{
    const struct call_group *l = a, *r = b;
    return (l->order > r->order) - (l->order < r->order);
}

static bool reduces_otherwise(const struct call_entry *entry)
{
    bool reduces = entry->kind == OP_REDUCE || entry->kind == OP_ALLREDUCE ||
                   entry->kind == OP_REDUCE_SCATTER || entry->kind == OP_REDUCE_SCATTER_BLOCK ||
                   entry->kind == OP_SCAN || entry->kind == OP_EXSCAN;
    return reduces && entry->reduction != (uint32_t)(uintptr_t)MPI_SUM;
}

static void group_add(struct calls *calls, const struct call_key *keys, size_t count, size_t first)
{
    struct call_group group = {.first = first,
                               .count = count,
                               .message = keys[0].message,
                               .source = keys[0].source,
                               .target = keys[0].target,
                               .back = keys[0].back};
    bool numbers = false, mixed = false;
    for (size_t i = 0; i < count; i++) {
        calls->members[first + i] = keys[i].member;
        numbers = numbers || keys[i].member.sends || keys[i].member.gets;
        mixed = mixed || keys[i].back != keys[0].back;
        group.order = keys[i].place > group.order ? keys[i].place : group.order;
    }
    group.kind = calls_entry(calls, &calls->members[first])->kind;
    calls->opaque = calls->opaque || (mixed && numbers);
    if (!numbers || mixed)
        return;
    group.moves = group.back || group_moves(calls, &group);
    if (group.moves && !group.back &&
        reduces_otherwise(calls_entry(calls, &calls->members[first]))) {
        calls->opaque = true; /* its adjoint is no communication alone */
        return;
    }
    calls->groups[calls->group_count++] = group;
}

static bool groups_make(struct calls *calls, const uint32_t *objectives)
{
    size_t count = 0, total = 0;
    for (int r = 0; r < calls->ranks; r++)
        total += calls->here.ranks[r].count;
    struct call_key *keys = calloc(total + 1, sizeof *keys);
    calls->members = calloc(total + 1, sizeof *calls->members);
    calls->groups = calloc(total + 1, sizeof *calls->groups);
    bool well = keys && calls->members && calls->groups;
    for (int r = 0; r < calls->ranks && well; r++)
        for (size_t i = 0; i < calls->here.ranks[r].count; i++) {
            keys[count++] = key_of(&calls->here, r, i, objectives[r]);
            calls->opaque |= calls->here.ranks[r].entries[i].opaque;
        }
    if (well)
        qsort(keys, count, sizeof *keys, key_compare);
    for (size_t i = 0, next; i < count && well; i = next) {
        for (next = i + 1; next < count && same_communication(&keys[i], &keys[next]);)
            next++;
        group_add(calls, keys + i, next - i, i);
    }
    if (well)
        qsort(calls->groups, calls->group_count, sizeof *calls->groups, order_compare);
    free(keys);
    return well;
}

/* ---- what the adjoint communicates once more ---- */

static bool same_numbers(const struct call_numbers *a, const struct call_numbers *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->values, b->values, a->count * sizeof *a->values) == 0);
}

/* The same members move the same numbers, in the moved world as well. */
static bool is_repeated_by(const struct calls *calls, const struct call_group *forward,
                           const struct call_group *back)
{
    if (forward->count != back->count)
        return false;
    for (size_t m = 0; m < forward->count; m++) {
        const struct call_member *one = &calls->members[forward->first + m];
        const struct call_member *two = &calls->members[back->first + m];
        if (one->rank != two->rank)
            return false;
        for (int moved = 0; moved < 2; moved++) {
            const struct call_log *log = moved ? &calls->above : &calls->here;
            const struct call_entry *entries = log->ranks[one->rank].entries;
            const struct call_entry *before = &entries[one->entry], *again = &entries[two->entry];
            if (!same_numbers(&before->sent, &again->sent) ||
                !same_numbers(&before->got, &again->got))
                return false;
        }
    }
    return true;
}

/* What came in the forward pass comes once more where it was not kept, as in recomputation, or where
 * weights are gathered for each use: that answers nothing, and is left out. */
static void repeated_drop(struct calls *calls)
{
    size_t kept = 0;
    for (size_t i = 0; i < calls->group_count; i++) {
        bool repeats = false;
        for (size_t k = 0; k < calls->group_count && calls->groups[i].back && !repeats; k++)
            repeats = !calls->groups[k].back && calls->groups[k].moves &&
                      is_repeated_by(calls, &calls->groups[k], &calls->groups[i]);
        if (!repeats)
            calls->groups[kept++] = calls->groups[i];
    }
    calls->group_count = kept;
}

bool calls_move_in_part(const struct calls *calls, const struct call_group *group)
{
    bool part = false;
    for (size_t m = 0; m < group->count && !part; m++) {
        const struct call_member *member = &calls->members[group->first + m];
        double *dot = member->gets ? calls_tangent(calls, group, member->rank, true) : NULL;
        for (size_t i = 0; dot && i < calls_entry(calls, member)->got.count; i++)
            part = part || dot[i] == 0;
        free(dot);
    }
    return part;
}

uint64_t calls_site(const struct calls *calls, const struct call_group *group)
{
    return calls_entry(calls, &calls->members[group->first])->site;
}

/* The next forward call, or one of the adjoint, from `at` on. */
static const struct call_group *next_call(const struct calls *calls, size_t *at, bool back)
{
    while (*at < calls->group_count && calls->groups[*at].back != back)
        ++*at;
    return *at < calls->group_count ? &calls->groups[(*at)++] : NULL;
}

bool calls_solve_again(const struct calls *calls)
{
    enum { LEAST = 4 };
    size_t at = 0, there = 0, same = 0, sums = 0, lines = 1;
    const struct call_group *back = next_call(calls, &at, true), *last = back;
    const struct call_group *forward = next_call(calls, &there, false);
    while (back && forward && calls_site(calls, forward) != calls_site(calls, back))
        forward = next_call(calls, &there, false);
    while (back && forward && same < LEAST &&
           calls_site(calls, forward) == calls_site(calls, back)) {
        sums += !back->message && back->kind == OP_ALLREDUCE;
        lines += calls_site(calls, back) != calls_site(calls, last);
        same++;
        last = back;
        back = next_call(calls, &at, true);
        forward = next_call(calls, &there, false);
    }
    return same == LEAST && sums > 0 && lines > 1;
}

void gradcheck_bisect_calls(struct gradcheck *check)
{
    const char *variable = check->result->culprit.name;
    char name[sizeof check->result->culprit.name];
    struct calls calls = {.check = check, .ranks = check->base.ranks};
    struct gradcheck_direction direction =
        gradcheck_direction_new(&check->base, 0, check->options->seed + 99, SPREAD_RANDOM);
    uint32_t *objectives = calloc((size_t)calls.ranks, sizeof *objectives);
    bool single = check->epsilon > 1e-10;
    snprintf(name, sizeof name, "%s", variable);
    calls.step = single ? 0x1p-9 : 0x1p-20;
    calls.slack = single ? 2e-2 : 1e-7;
    if (direction.pushes && objectives &&
        world_watch(&calls, &direction, 0, &calls.here, objectives) &&
        world_watch(&calls, &direction, calls.step, &calls.above, NULL) &&
        world_watch(&calls, &direction, -calls.step, &calls.below, NULL) &&
        same_calls(&calls.here, &calls.above) && same_calls(&calls.here, &calls.below) &&
        groups_make(&calls, objectives)) {
        repeated_drop(&calls);
        calls_blame(&calls, name);
    }
    call_log_release(&calls.here);
    call_log_release(&calls.above);
    call_log_release(&calls.below);
    free(calls.members);
    free(calls.groups);
    free(objectives);
    gradcheck_direction_release(&direction);
}
