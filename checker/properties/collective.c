/* M001..M006 and M010: ranks that disagree about one collective call, or do not take part in it.
 * R002 and R005 where they agree in everything MPI can see and still mean different things.
 *
 * Each call is judged by its first difference only: what follows from a wrong root is not also a
 * wrong count. */
#include "checker/places.h"
#include "checker/properties.h"
#include "traces/trace/requests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What of a call all its ranks must agree on. */
enum agreement { AGREE_KIND = 0, AGREE_ROOT = 1, AGREE_OP = 2, AGREE_DATA = 4 };

static unsigned agreement_of(int kind)
{
    switch (kind) {
    case OP_BCAST:
    case OP_GATHER:
    case OP_SCATTER:
        return AGREE_ROOT | AGREE_DATA;
    case OP_REDUCE:
        return AGREE_ROOT | AGREE_OP | AGREE_DATA;
    case OP_GATHERV:
    case OP_SCATTERV:
        return AGREE_ROOT;
    case OP_ALLREDUCE:
    case OP_SCAN:
    case OP_EXSCAN:
    case OP_REDUCE_SCATTER_BLOCK:
        return AGREE_OP | AGREE_DATA;
    case OP_REDUCE_SCATTER:
        return AGREE_OP;
    case OP_ALLGATHER:
    case OP_ALLTOALL:
        return AGREE_DATA;
    default:
        return AGREE_KIND;
    }
}

struct difference {
    const char *code, *what;
    char mine[64], theirs[64];
};

static bool differ_in_kind(const struct trace_op *a, const struct trace_op *b,
                           struct difference *difference)
{
    unsigned form = (a->flags ^ b->flags) & OP_NONBLOCKING;
    if (a->kind == b->kind && !form)
        return false;
    difference->code = "M001";
    difference->what = a->kind != b->kind ? "different collectives meet"
                                          : "a blocking and a nonblocking form meet";
    snprintf(difference->mine, sizeof difference->mine, "%s", op_kind_name(a->kind));
    snprintf(difference->theirs, sizeof difference->theirs, "%s", op_kind_name(b->kind));
    return true;
}

static bool differ_in_root(const struct trace_op *a, const struct trace_op *b,
                           struct difference *difference)
{
    if (a->peer == b->peer || a->peer < 0 || b->peer < 0)
        return false;
    difference->code = "M002";
    difference->what = "the roots differ";
    snprintf(difference->mine, sizeof difference->mine, "root %d", a->peer);
    snprintf(difference->theirs, sizeof difference->theirs, "root %d", b->peer);
    return true;
}

static bool differ_in_op(const struct trace_op *a, const struct trace_op *b,
                         struct difference *difference)
{
    if (a->form->reduce_op == b->form->reduce_op)
        return false;
    difference->code = "M003";
    difference->what = "the reduction operations differ";
    snprintf(difference->mine, sizeof difference->mine, "%s",
             trace_reduce_name(a->form->reduce_op));
    snprintf(difference->theirs, sizeof difference->theirs, "%s",
             trace_reduce_name(b->form->reduce_op));
    return true;
}

/* Sizes are compared first where the types are one: a count is what people get wrong. */
static bool differ_in_data(const struct trace_op *a, const struct trace_op *b,
                           struct difference *difference)
{
    if (a->count > 0 && b->count > 0 && check_signatures_differ(a, b)) {
        difference->code = "M004";
        difference->what = "the data types differ";
        snprintf(difference->mine, sizeof difference->mine, "%s", trace_type_name(a->form->type));
        snprintf(difference->theirs, sizeof difference->theirs, "%s",
                 trace_type_name(b->form->type));
        return true;
    }
    if (a->count == b->count)
        return false;
    difference->code = "M005";
    difference->what = "the counts differ";
    snprintf(difference->mine, sizeof difference->mine, "%lld", (long long)a->count);
    snprintf(difference->theirs, sizeof difference->theirs, "%lld", (long long)b->count);
    return true;
}

static uint32_t index_in_comm(const struct trace *trace, uint32_t comm, uint32_t rank)
{
    uint32_t size = check_comm_size(trace, comm);
    for (uint32_t i = 0; i < size; i++)
        if (check_comm_member(trace, comm, i) == rank)
            return i;
    return TRACE_NO;
}

/* Counts that every rank gives for all ranks must be the same everywhere. */
static bool differ_in_receive_counts(const struct trace_counts *a, const struct trace_counts *b,
                                     struct difference *difference)
{
    if (!a || !b || !a->receive || !b->receive)
        return false;
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        if (a->receive[i] == b->receive[i])
            continue;
        difference->code = "M005";
        difference->what = "the counts for one rank differ";
        snprintf(difference->mine, sizeof difference->mine, "%lld for rank %u of the communicator",
                 (long long)a->receive[i], i);
        snprintf(difference->theirs, sizeof difference->theirs, "%lld", (long long)b->receive[i]);
        return true;
    }
    return false;
}

/* What a sends to b must be what b receives from a; `i` and `j` are their ranks in the
 * communicator. */
static bool differ_in_split(const struct trace_counts *a, uint32_t i, const struct trace_counts *b,
                            uint32_t j, struct difference *difference)
{
    if (!a || !b || !a->send || !b->receive || j >= a->n || i >= b->n ||
        a->send[j] == b->receive[i])
        return false;
    difference->code = "M005";
    difference->what = "the splits disagree";
    snprintf(difference->mine, sizeof difference->mine, "sends %lld", (long long)a->send[j]);
    snprintf(difference->theirs, sizeof difference->theirs, "expects %lld",
             (long long)b->receive[i]);
    return true;
}

/* What a member gives to the root's Gatherv, or takes from its Scatterv, must be what the root
 * says. */
static bool differ_from_root(const struct trace *trace, uint32_t root, uint32_t member,
                             struct difference *difference)
{
    const struct trace_op *at_root = &trace->ops[root], *theirs = &trace->ops[member];
    const struct trace_counts *counts = trace_op_counts(trace, root);
    bool gathers = at_root->kind == OP_GATHERV;
    const int64_t *values = !counts ? NULL : gathers ? counts->receive : counts->send;
    uint32_t index = index_in_comm(trace, theirs->form->comm, theirs->rank);
    if (at_root->peer != (int32_t)at_root->rank || root == member || !values ||
        counts->n != check_comm_size(trace, theirs->form->comm) || index >= counts->n ||
        values[index] == theirs->count)
        return false;
    difference->code = "M005";
    difference->what = "a member's count is not the root's";
    snprintf(difference->mine, sizeof difference->mine, "%s %lld", gathers ? "expects" : "sends it",
             (long long)values[index]);
    snprintf(difference->theirs, sizeof difference->theirs, "%s %lld",
             gathers ? "sends" : "expects", (long long)theirs->count);
    return true;
}

/* In what one gives and the other takes. */
static bool differ_in_counts(const struct trace *trace, uint32_t a, uint32_t b,
                             struct difference *difference)
{
    const struct trace_op *mine = &trace->ops[a], *theirs = &trace->ops[b];
    const struct trace_counts *my_counts = trace_op_counts(trace, a),
                              *their_counts = trace_op_counts(trace, b);
    if (mine->kind == OP_GATHERV || mine->kind == OP_SCATTERV)
        return differ_from_root(trace, a, b, difference);
    if (mine->kind != OP_ALLTOALLV && mine->kind != OP_ALLTOALLW)
        return false;
    uint32_t i = index_in_comm(trace, mine->form->comm, mine->rank),
             j = index_in_comm(trace, theirs->form->comm, theirs->rank);
    return differ_in_split(my_counts, i, their_counts, j, difference) ||
           (differ_in_split(their_counts, j, my_counts, i, difference));
}

/* In what every member gives alike. */
static bool differ_for_all(const struct trace *trace, uint32_t a, uint32_t b,
                           struct difference *difference)
{
    const struct trace_op *mine = &trace->ops[a], *theirs = &trace->ops[b];
    bool across = mine->flags & OP_INTERCOMM; /* a side agrees with the other's opposite numbers */
    unsigned agreement =
        agreement_of(mine->kind) & (across ? (unsigned)AGREE_OP | AGREE_ROOT : ~0u);
    return differ_in_kind(mine, theirs, difference) ||
           ((agreement & AGREE_ROOT) && differ_in_root(mine, theirs, difference)) ||
           ((agreement & AGREE_OP) && differ_in_op(mine, theirs, difference)) ||
           ((agreement & AGREE_DATA) && differ_in_data(mine, theirs, difference)) ||
           (!across && (mine->kind == OP_ALLGATHERV || mine->kind == OP_REDUCE_SCATTER) &&
            differ_in_receive_counts(trace_op_counts(trace, a), trace_op_counts(trace, b),
                                     difference));
}

static bool differ(const struct trace *trace, uint32_t a, uint32_t b, struct difference *difference)
{
    return differ_for_all(trace, a, b, difference) ||
           (!(trace->ops[a].flags & OP_INTERCOMM) && differ_in_counts(trace, a, b, difference));
}

/* It stands where b does. */
static void finish_pair(struct finding *finding, const struct trace *trace, uint32_t a, uint32_t b)
{
    finding->confirmation = CONFIRM_HAPPENED;
    finding_op_add(finding, b, "culprit");
    finding_op_add(finding, a, "partner");
    finding_seal(finding, trace);
}

/* Two collectives that were called in another order differ twice: what met here is what met in the
 * collective before, the other way round. NULL: it is not so. */
static struct finding *crossed_before(const struct trace *trace, uint32_t a, uint32_t b,
                                      struct findings *findings)
{
    const struct trace_op *mine = &trace->ops[a], *theirs = &trace->ops[b];
    uint64_t number = trace_collective_number(trace, a);
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        if (strcmp(finding->code, "M001") != 0 || finding->op_count < 2)
            continue;
        const struct trace_op *one = NULL, *other = NULL;
        for (size_t k = 0; k < finding->op_count; k++) {
            uint32_t op = finding->ops[k].op;
            if (op == TRACE_NO || trace->ops[op].form->comm != mine->form->comm ||
                trace_collective_number(trace, op) + 1 != number)
                continue;
            one = trace->ops[op].rank == mine->rank ? &trace->ops[op] : one;
            other = trace->ops[op].rank == theirs->rank ? &trace->ops[op] : other;
        }
        if (one && other && one->kind == theirs->kind && other->kind == mine->kind &&
            one->flags == theirs->flags && other->flags == mine->flags)
            return finding;
    }
    return NULL;
}

static void report_difference(const struct check_context *context, uint32_t a, uint32_t b,
                              const struct difference *difference, struct findings *findings)
{
    const struct trace *trace = context->trace;
    char one[PLACE_TEXT], other[PLACE_TEXT], comm[80];
    const struct trace_op *op = &trace->ops[a];
    struct finding *finding = check_at_place(findings, 0, difference->code, trace, b);
    if (!finding)
        finding = crossed_before(trace, a, b, findings);
    if (finding) {
        finding_op_add(finding, b, "culprit");
        return;
    }
    finding = findings_add(findings, difference->code, "%s: %s, %s", difference->what,
                           check_short_place(trace, a, one, sizeof one),
                           check_short_place(trace, b, other, sizeof other));
    finding_detail(finding, "Collective number %" PRIu64 " on %s: %s (%s) against %s (%s).\n",
                   trace_collective_number(trace, a) + 1,
                   check_comm_text(trace, op->form->comm, comm, sizeof comm),
                   check_place(trace, a, one, sizeof one), difference->mine,
                   check_place(trace, b, other, sizeof other), difference->theirs);
    finish_pair(finding, trace, a, b);
}

static void report_crossing(const struct check_context *context, const char *code, uint32_t a,
                            uint32_t b, const char *why, struct findings *findings)
{
    const struct trace *trace = context->trace;
    char one[PLACE_TEXT], other[PLACE_TEXT];
    struct finding *finding = check_at_place(findings, 0, code, trace, b);
    if (finding) {
        finding_op_add(finding, b, "culprit");
        return;
    }
    finding = findings_add(findings, code, "%s: %s, %s", why,
                           check_short_place(trace, a, one, sizeof one),
                           check_short_place(trace, b, other, sizeof other));
    finding_detail(finding, "These met in one collective: %s; %s.\n",
                   check_place(trace, a, one, sizeof one),
                   check_place(trace, b, other, sizeof other));
    finish_pair(finding, trace, a, b);
}

/* The forward calls whose adjoints met are not one call. */
static bool adjoints_cross(const struct check_context *context, uint32_t a, uint32_t b)
{
    const struct trace *trace = context->trace;
    uint32_t forward_a = trace_op_adjoint_of(trace, &trace->ops[a]),
             forward_b = trace_op_adjoint_of(trace, &trace->ops[b]);
    if (forward_a == TRACE_NO || forward_b == TRACE_NO)
        return false;
    uint32_t group_a = check_group_of(context, forward_a),
             group_b = check_group_of(context, forward_b);
    return group_a != group_b && group_a != TRACE_NO && group_b != TRACE_NO;
}

static const char *meanings_differ(const struct check_context *context, uint32_t a, uint32_t b,
                                   const char **why)
{
    const struct trace_op *mine = &context->trace->ops[a], *theirs = &context->trace->ops[b];
    if ((mine->flags ^ theirs->flags) & OP_ADJOINT)
        return *why = "adjoint and forward traffic met", "R005";
    if (adjoints_cross(context, a, b))
        return *why = "adjoints of different collectives met", "R002";
    if (mine->form->identity && theirs->form->identity &&
        mine->form->identity != theirs->form->identity)
        return *why = "different tensors met", "R002";
    return NULL;
}

/* Enough to see that nothing is wrong, without formatting anything: the path of nearly every call.
 */
static bool plainly_agree(const struct trace *trace, const struct trace_op *a,
                          const struct trace_op *b)
{
    return check_same_signature(a, b) && a->peer == b->peer && a->flags == b->flags &&
           a->form->identity == b->form->identity && trace_op_adjoint_of(trace, a) == TRACE_NO &&
           agreement_of(a->kind) & AGREE_DATA;
}

/* Whom all others are compared with: the root where its counts are for everybody, or where only
 * it and the other group name it; else the first. */
static uint32_t reference_of(const struct trace *trace, const uint32_t *ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_op *op = &trace->ops[ops[i]];
        bool of_root =
            op->kind == OP_GATHERV || op->kind == OP_SCATTERV || op->flags & OP_INTERCOMM;
        if (of_root && op->peer == (int32_t)op->rank)
            return i;
    }
    return 0;
}

static bool mean_the_same(const struct check_context *context, uint32_t a, uint32_t b)
{
    const char *why;
    return !meanings_differ(context, a, b, &why);
}

/* What was refused disagrees with nobody, and the refusal is reported; one that is refused because
 * it differs has no note. */
static bool say_the_same(const struct check_context *context, uint32_t a, uint32_t b)
{
    struct difference difference;
    return !check_is_refused(context, a) && !check_is_refused(context, b) &&
           !differ_for_all(context->trace, a, b, &difference);
}

/* A pair that differs, told so that the second is the odd one out: where more than half of a group
 * are alike, of those that were not refused, the first of these is the partner of the one that is
 * not. */
static void find_odd(const struct check_context *context, const uint32_t *ops, uint32_t count,
                     bool (*alike)(const struct check_context *, uint32_t, uint32_t), uint32_t *a,
                     uint32_t *b)
{
    uint32_t candidate = TRACE_NO, votes = 0, same = 0, said = 0, first = TRACE_NO;
    for (uint32_t i = 0; i < count; i++) {
        if (!alike(context, ops[i], ops[i])) /* refused: it says nothing */
            continue;
        if (votes == 0)
            candidate = ops[i];
        votes += alike(context, candidate, ops[i]) ? 1u : ~0u;
        said++;
    }
    for (uint32_t i = count; i-- > 0;)
        if (alike(context, candidate, ops[i])) {
            first = ops[i];
            same++;
        }
    if (same <= said / 2 || context->trace->ops[candidate].flags & OP_INTERCOMM)
        return;
    bool a_belongs = alike(context, candidate, *a);
    uint32_t odd = alike(context, candidate, *b) ? *a : *b;
    if (a_belongs && odd == *a)
        return; /* what nobody says agrees with everybody */
    if (!a_belongs)
        *a = alike(context, first, odd) ? candidate : first;
    *b = odd;
}

static void judge_meaning(const struct check_context *context, const struct check_group *group,
                          uint32_t a, uint32_t b, struct findings *findings)
{
    const char *why, *code;
    find_odd(context, context->group_ops + group->first, group->count, mean_the_same, &a, &b);
    if ((code = meanings_differ(context, a, b, &why)))
        report_crossing(context, code, a, b, why, findings);
}

static void judge_difference(const struct check_context *context, const struct check_group *group,
                             uint32_t a, uint32_t b, struct findings *findings)
{
    struct difference difference;
    if (!say_the_same(context, a, b)) /* else one gives what the other does not take */
        find_odd(context, context->group_ops + group->first, group->count, say_the_same, &a, &b);
    if (differ(context->trace, a, b, &difference))
        report_difference(context, a, b, &difference, findings);
}

static void judge_group(const struct check_context *context, const struct check_group *group,
                        struct findings *findings)
{
    const struct trace *trace = context->trace;
    const uint32_t *ops = context->group_ops + group->first;
    bool meaning_reported = false;
    bool each_with_each = group->count && (trace->ops[ops[0]].kind == OP_ALLTOALLV ||
                                           trace->ops[ops[0]].kind == OP_ALLTOALLW);
    uint32_t reference = reference_of(trace, ops, group->count);
    for (uint32_t i = 0; i < group->count; i++) {
        struct difference difference;
        if (plainly_agree(trace, &trace->ops[ops[reference]], &trace->ops[ops[i]]))
            continue;
        if (!meaning_reported && !mean_the_same(context, ops[reference], ops[i])) {
            judge_meaning(context, group, ops[reference], ops[i], findings);
            meaning_reported = true;
        }
        for (uint32_t j = each_with_each ? 0 : reference; j < (each_with_each ? i : reference + 1);
             j++)
            if (!check_is_refused(context, ops[i]) && !check_is_refused(context, ops[j]) &&
                differ(trace, ops[j], ops[i], &difference)) {
                judge_difference(context, group, ops[j], ops[i], findings);
                return;
            }
    }
}

static bool needs_everybody(int kind)
{
    return kind != OP_WIN_FREE;
}

/* The run ended well and yet somebody never came: only because this collective did not wait for it.
 */
static void judge_presence(const struct check_context *context, const struct check_group *group,
                           struct findings *findings)
{
    const struct trace *trace = context->trace;
    uint32_t size = check_comm_size(trace, group->comm);
    if (!group->count || group->count >= size || trace->comms[group->comm].size == 0)
        return;
    uint32_t op = context->group_ops[group->first];
    if (!needs_everybody(trace->ops[op].kind))
        return;
    char place[PLACE_TEXT];
    if (check_at_place(findings, 0, "M010", trace, op))
        return;
    struct finding *finding = findings_add(findings, "M010", "a participant is missing: %s",
                                           check_short_place(trace, op, place, sizeof place));
    finding->confirmation = CONFIRM_HAPPENED;
    finding_detail(finding, "%u of %u ranks took part; first: %s.\n", group->count, size,
                   check_place(trace, op, place, sizeof place));
    for (uint32_t i = 0; i < group->count && i < PLACES_LISTED_MAX; i++)
        finding_op_add(finding, context->group_ops[group->first + i], "partner");
    unsigned listed = 0;
    for (uint32_t i = 0, at = 0; i < size && listed < PLACES_LISTED_MAX; i++) {
        uint32_t member = check_comm_member(trace, group->comm, i);
        bool present = false;
        for (at = 0; at < group->count && !present; at++)
            present = trace->ops[context->group_ops[group->first + at]].rank == member;
        if (present)
            continue;
        listed++;
        finding_detail(finding, "Rank %u never called it.\n", member);
    }
    finding_seal(finding, trace);
}

/* The collective in which a rank stands at the end: its operation, or one that it waits for. */
static uint32_t stands_in(const struct check_context *context, uint32_t rank)
{
    const struct trace *trace = context->trace;
    uint32_t start, op = context->blocked[rank];
    if (op == TRACE_NO || check_group_of(context, op) != TRACE_NO)
        return op;
    for (size_t i = 0; (start = trace_op_request(trace, op, i)) != TRACE_NO; i++)
        if (check_group_of(context, start) != TRACE_NO && trace->ops[start].state == STATE_POSTED)
            return start;
    return op;
}

/* Whether a rank takes part in this collective. */
static bool takes_part(const struct check_context *context, const struct check_group *group,
                       uint32_t rank)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (context->trace->ops[context->group_ops[group->first + i]].rank == rank)
            return true;
    return false;
}

/* What the others give is one of the counts that the root gives. */
static bool counts_are_the_roots(int kind)
{
    return kind == OP_GATHERV || kind == OP_SCATTERV;
}

/* The call on another communicator that one of those made for whom this one waits, and who waits for
 * the caller of this one in turn: of one kind, at one place or with the same arguments. */
static uint32_t made_elsewhere(const struct check_context *context, uint32_t op)
{
    const struct trace *trace = context->trace;
    const struct trace_op *mine = &trace->ops[op];
    const struct check_group *here = &context->groups[check_group_of(context, op)];
    for (size_t g = 0; g < context->group_count; g++) {
        const struct check_group *there = &context->groups[g];
        if (!there->count || there->comm == here->comm ||
            there->count >= check_comm_size(trace, there->comm) ||
            trace->ops[context->group_ops[there->first]].kind != mine->kind ||
            !check_comm_has(trace, there->comm, mine->rank) ||
            takes_part(context, there, mine->rank))
            continue;
        for (uint32_t i = 0; i < there->count; i++) {
            uint32_t other = context->group_ops[there->first + i];
            const struct trace_op *theirs = &trace->ops[other];
            bool alike = mine->form->site == theirs->form->site ||
                         (mine->peer == theirs->peer &&
                          (counts_are_the_roots(mine->kind) || check_same_signature(mine, theirs)));
            if (alike && theirs->form->site != TRACE_NO &&
                check_comm_has(trace, here->comm, theirs->rank) &&
                !takes_part(context, here, theirs->rank))
                return other;
        }
    }
    return TRACE_NO;
}

/* A persistent collective is recorded as a communicator of its own, made from the one it is on. */
static bool is_persistent_on(const struct trace *trace, uint32_t persistent, uint32_t comm)
{
    return trace->comms[persistent].parent == comm &&
           strncmp(trace->comms[persistent].name, "persistent collective", 21) == 0;
}

static const char *title_of_different(const struct trace *trace, uint32_t one, uint32_t other,
                                      const char **code)
{
    bool persistent = is_persistent_on(trace, one, other) || is_persistent_on(trace, other, one);
    *code = persistent ? "M001" : "M006";
    return persistent ? "a persistent call meets one that is not"
                      : "one call on different communicators";
}

/* M006: two calls of one kind on different communicators of the same ranks, each lacking who is in
 * the other; M001 where it is one communicator, and one of the calls is persistent. */
static void judge_communicators(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        uint32_t a = stands_in(context, rank);
        if (a == TRACE_NO || check_group_of(context, a) == TRACE_NO)
            continue;
        uint32_t b = made_elsewhere(context, a);
        if (b == TRACE_NO || check_is_refused(context, a) || check_is_refused(context, b))
            continue;
        const struct trace_op *mine = &trace->ops[a], *theirs = &trace->ops[b];
        char one[PLACE_TEXT], other[PLACE_TEXT], comm[80], their_comm[80];
        const char *code,
            *title = title_of_different(trace, mine->form->comm, theirs->form->comm, &code);
        bool one_place = mine->form->site == theirs->form->site;
        struct finding *finding =
            findings_add(findings, code, "%s: %s%s%s", title,
                         check_short_place(trace, a, one, sizeof one), one_place ? "" : ", ",
                         one_place ? "" : check_short_place(trace, b, other, sizeof other));
        finding_detail(finding, "%s is on %s; %s is on %s; both ranks belong to both.\n",
                       check_place(trace, a, one, sizeof one),
                       check_comm_text(trace, mine->form->comm, comm, sizeof comm),
                       check_place(trace, b, other, sizeof other),
                       check_comm_text(trace, theirs->form->comm, their_comm, sizeof their_comm));
        finish_pair(finding, trace, a, b);
        return;
    }
}

void check_collective(const struct check_context *context, struct findings *findings)
{
    for (size_t g = 0; g < context->group_count; g++)
        judge_group(context, &context->groups[g], findings);
    if (!context->cut_short)
        for (size_t g = 0; g < context->group_count; g++)
            judge_presence(context, &context->groups[g], findings);
    if (context->hung)
        judge_communicators(context, findings);
    check_mismatches(context, findings);
}
