/* Which call of a hand-written adjoint is wrong, where marks do not tell.
 *
 * Every call of MPI before the objective was marked is a forward one, every later one belongs to the
 * adjoint. The numbers that calls move are kept in a world, and in two that are moved a little along
 * a random direction, which gives the tangents of all that is sent and got. A communication and its
 * adjoint then satisfy <sent back, got_dot> = <got back, sent_dot>, summed over who took part,
 * whatever is sent back. What should be sent back is measured: numbers that a forward call gave are
 * changed behind its back, and J answers. So of every call of the adjoint it is known whether it is
 * given the right numbers, and whether it takes them to the right places; the first one in the
 * order of the adjoint that fails is told, and otherwise nobody. */
#include "collectives/gradcheck/calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where it is taken ---- */

/* A broadcast is answered by a sum that all ranks get, too: what the others do with it is theirs. */
static bool is_for_root_alone(const struct call_group *forward, const struct call_group *back)
{
    return forward->kind == OP_BCAST && back->kind == OP_ALLREDUCE;
}

static bool is_root(const struct calls *calls, const struct call_group *forward, int rank)
{
    for (size_t m = 0; m < forward->count; m++) {
        const struct call_member *member = &calls->members[forward->first + m];
        if (member->rank == rank && member->sends)
            return true;
    }
    return false;
}

/* How much the group's next member moves, added to `sent` and `got` where it is of that rank. */
static bool next_of_rank(const struct calls *calls, const struct call_group *group, size_t *at,
                         int rank, size_t *sent, size_t *got)
{
    const struct call_member *member = &calls->members[group->first + *at];
    if (*at == group->count || member->rank != rank)
        return false;
    *sent += member->sends ? calls_entry(calls, member)->sent.count : 0;
    *got += member->gets ? calls_entry(calls, member)->got.count : 0;
    ++*at;
    return true;
}

/* The same ranks, each sending as much as it was given in the other one, and the other way round.
 * Members are in the order of their ranks. */
static bool is_mirrored(const struct calls *calls, const struct call_group *forward,
                        const struct call_group *back)
{
    size_t at = 0, there = 0;
    for (int r = 0; r < calls->ranks; r++) {
        size_t sent = 0, got = 0, sent_back = 0, got_back = 0;
        while (next_of_rank(calls, forward, &at, r, &sent, &got))
            ;
        while (next_of_rank(calls, back, &there, r, &sent_back, &got_back))
            ;
        if (is_for_root_alone(forward, back) && !is_root(calls, forward, r))
            got_back = 0;
        if (sent != got_back || got != sent_back)
            return false;
    }
    return true;
}

/* The two sides of <sent back, got_dot> = <got back, sent_dot>. */
static bool is_taken_right(const struct calls *calls, const struct call_group *forward,
                           const struct call_group *back)
{
    double out = 0, in = 0, size = 0;
    for (size_t m = 0; m < back->count; m++) {
        const struct call_member *member = &calls->members[back->first + m];
        const struct call_entry *entry = calls_entry(calls, member);
        double *dot;
        if (member->sends && (dot = calls_tangent(calls, forward, member->rank, true))) {
            out += calls_product(&entry->sent, dot);
            size += calls_product_size(&entry->sent, dot);
            free(dot);
        }
        if (member->gets && (dot = calls_tangent(calls, forward, member->rank, false))) {
            in += calls_product(&entry->got, dot);
            size += calls_product_size(&entry->got, dot);
            free(dot);
        }
    }
    return fabs(out - in) <= calls->slack * size;
}

/* ---- which call is blamed ---- */

static bool is_mirror_kind(const struct call_group *forward, const struct call_group *back)
{
    static const int pairs[][2] = {{OP_BCAST, OP_REDUCE},
                                   {OP_BCAST, OP_ALLREDUCE},
                                   {OP_ALLREDUCE, OP_ALLREDUCE},
                                   {OP_GATHER, OP_SCATTER},
                                   {OP_GATHERV, OP_SCATTERV},
                                   {OP_ALLGATHER, OP_REDUCE_SCATTER},
                                   {OP_ALLGATHER, OP_REDUCE_SCATTER_BLOCK},
                                   {OP_ALLGATHERV, OP_REDUCE_SCATTER},
                                   {OP_ALLTOALL, OP_ALLTOALL},
                                   {OP_ALLTOALLV, OP_ALLTOALLV},
                                   {OP_SCAN, OP_SCAN},
                                   {OP_NEIGHBOR_ALLTOALL, OP_NEIGHBOR_ALLTOALL},
                                   {OP_NEIGHBOR_ALLTOALLV, OP_NEIGHBOR_ALLTOALLV}};
    if (forward->message || back->message)
        return forward->message && back->message && forward->source == back->target &&
               forward->target == back->source;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if ((forward->kind == pairs[i][0] && back->kind == pairs[i][1]) ||
            (forward->kind == pairs[i][1] && back->kind == pairs[i][0]))
            return true;
    return false;
}

/* The forward call that `back` answers: one of which it is given the right cotangent, the latest;
 * else the latest of its kind and size; else the latest of its kind. */
static struct call_group *forward_of(struct calls *calls, const struct call_group *back,
                                     bool *sent_right)
{
    struct call_group *latest = NULL, *alike = NULL;
    *sent_right = false;
    for (size_t i = calls->group_count; i-- > 0;) {
        struct call_group *group = &calls->groups[i];
        if (group->back || group->taken || !group->moves || !is_mirror_kind(group, back) ||
            !calls_matter(calls, group))
            continue;
        bool mirrored = is_mirrored(calls, group, back);
        if (mirrored && calls_sent_right(calls, group, back, -1)) {
            *sent_right = true;
            return group;
        }
        alike = alike || !mirrored ? alike : group;
        latest = latest ? latest : group;
    }
    return alike ? alike : latest;
}

#define SAY(calls, ...)                                                                            \
    snprintf((calls)->check->result->culprit.text, sizeof(calls)->check->result->culprit.text,     \
             __VA_ARGS__)

static const char *name_of(const struct call_group *group)
{
    return group->message ? "message" : op_kind_name(group->kind);
}

/* At the call: it is the culprit; `accused` false: only the place to look before. */
static void place_tell_of(struct calls *calls, const struct call_group *group,
                          const struct call_member *member, bool accused)
{
    struct gradcheck_culprit *culprit = &calls->check->result->culprit;
    const struct call_entry *entry = calls_entry(calls, member);
    culprit->found = true;
    culprit->marked = culprit->missing = false;
    culprit->outside = accused;
    culprit->rank = member->rank;
    culprit->position = accused ? entry->number + 1 : 0;
    culprit->record = 0;
    culprit->site = (const void *)(uintptr_t)entry->site;
    snprintf(culprit->name, sizeof culprit->name, "%s", name_of(group));
}

/* A factor of all that the calls are given may be taken out again behind them, as that of a scaled
 * loss, or may be put in there, as that of a step: no call is wrong for it. One near 1 is an error. */
static bool is_scaled(struct calls *calls, const struct call_group *forward,
                      const struct call_group *back)
{
    double factor =
        calls->answered && calls->factor == 0 ? 0 : calls_factor_of(calls, forward, back);
    if (fabs(factor - 1) < 0.1 || factor == 0)
        return false;
    if (calls->factor == 0)
        calls->factor = factor;
    return fabs(factor - calls->factor) <= 1e-3 * fabs(factor);
}

static void place_tell(struct calls *calls, const struct call_group *group, bool accused)
{
    place_tell_of(calls, group, &calls->members[group->first], accused);
}

/* A cotangent that nobody takes: the adjoint of the receive sends it, that of the send is missing. */
static bool is_not_taken(struct calls *calls, const struct call_group *forward,
                         const struct call_group *back, const char *variable)
{
    const struct call_member *sender = NULL;
    if (!forward->message || !back->message || back->count != 1 ||
        !calls->members[back->first].sends)
        return false;
    for (size_t m = 0; m < forward->count; m++)
        if (calls->members[forward->first + m].sends)
            sender = &calls->members[forward->first + m];
    if (!sender)
        return false;
    place_tell_of(calls, forward, sender, true);
    SAY(calls,
        "the gradient of %s is wrong: no call after the objective takes the cotangent of this "
        "message, which rank %d sends back",
        variable, back->source);
    return true;
}

static void sent_wrong_tell(struct calls *calls, const struct call_group *forward,
                            const struct call_group *back, const char *variable)
{
    char who[40] = "";
    for (size_t m = 0; m < back->count && !who[0] && is_mirrored(calls, forward, back); m++) {
        const struct call_member *member = &calls->members[back->first + m];
        if (member->sends && !calls_sent_right(calls, forward, back, member->rank))
            snprintf(who, sizeof who, " by rank %d", member->rank);
    }
    place_tell(calls, back, false);
    SAY(calls,
        "the gradient of %s is wrong: what this %s, call %zu of the adjoint, is given%s is not the "
        "cotangent of what the forward %s gave; %s, so that the computation before it, or where it "
        "takes its numbers from, is wrong",
        variable, name_of(back), calls->answered + 1, who, name_of(forward),
        calls->answered ? "the calls before it are right" : "it is the first call");
}

static bool back_judge(struct calls *calls, struct call_group *back, const char *variable)
{
    bool sent_right;
    struct call_group *forward = forward_of(calls, back, &sent_right);
    if (!forward || (!is_mirrored(calls, forward, back) && calls_move_in_part(calls, forward))) {
        calls->strangers++;
        return false;
    }
    forward->taken = true;
    if (calls_entry(calls, &calls->members[back->first])->single &&
        !calls_entry(calls, &calls->members[forward->first])->single && !calls->narrowed)
        calls->narrowed = back;
    if (!is_mirrored(calls, forward, back) && is_not_taken(calls, forward, back, variable))
        return true;
    if (!is_mirrored(calls, forward, back)) {
        place_tell(calls, back, true);
        SAY(calls,
            "the gradient of %s is wrong: this %s is not the adjoint of the forward %s that it "
            "answers: roots, ranks or counts are not those of that call turned round",
            variable, name_of(back), name_of(forward));
        return true;
    }
    if (!is_taken_right(calls, forward, back)) {
        place_tell(calls, back, true);
        SAY(calls,
            "the gradient of %s is wrong: this %s does not bring back what it is given to where "
            "the "
            "forward %s took it from: <sent back, got> and <got back, sent> differ",
            variable, name_of(back), name_of(forward));
        return true;
    }
    sent_right = sent_right || is_scaled(calls, forward, back);
    if (!sent_right)
        sent_wrong_tell(calls, forward, back, variable);
    calls->answered += sent_right;
    return !sent_right;
}

static size_t numbers_given(const struct calls *calls, const struct call_group *group)
{
    size_t most = 0;
    for (size_t m = 0; m < group->count; m++) {
        const struct call_entry *entry = calls_entry(calls, &calls->members[group->first + m]);
        most = entry->got.count > most ? entry->got.count : most;
    }
    return most;
}

/* Whether the line of a call that J does not depend on makes another call of the forward pass that J
 * does depend on: then it is the forward pass's, as the last round of a loop whose sum nobody needs. */
static bool is_of_forward_line(struct calls *calls, const struct call_group *idle)
{
    for (size_t i = 0; i < calls->group_count; i++) {
        struct call_group *group = &calls->groups[i];
        if (group != idle && !group->back && group->moves &&
            calls_site(calls, group) == calls_site(calls, idle) && calls_matter(calls, group))
            return true;
    }
    return false;
}

/* Whether calls before the objective, on which this does not depend, may answer that one: an adjoint
 * may run beside the forward pass, or before the objective is marked. A single number is what programs
 * print. */
static bool is_answered_early(struct calls *calls, const struct call_group *forward)
{
    for (size_t i = 0; i < calls->group_count; i++) {
        struct call_group *group = &calls->groups[i];
        bool enough = numbers_given(calls, group) > 1 || numbers_given(calls, forward) == 1;
        if (!group->back && group != forward && group->moves && enough &&
            !calls_matter(calls, group) && !is_of_forward_line(calls, group))
            return true;
    }
    return false;
}

static const struct call_group *unanswered(struct calls *calls)
{
    for (size_t i = calls->group_count; i-- > 0;) {
        struct call_group *group = &calls->groups[i];
        if (!group->back && !group->taken && group->moves && calls_matter(calls, group))
            return is_answered_early(calls, group) ? NULL : group;
    }
    return NULL;
}

static bool is_like(const struct calls *calls, const struct call_group *a,
                    const struct call_group *b)
{
    const struct call_entry *one = calls_entry(calls, &calls->members[a->first]);
    const struct call_entry *two = calls_entry(calls, &calls->members[b->first]);
    return a->message && b->message && a->source == b->source && a->target == b->target &&
           one->tag == two->tag && one->comm == two->comm;
}

/* Whether the adjoint makes the calls of a loop of the forward pass, too, as an iteration does that
 * solves again: how often is its own affair. */
static bool is_of_adjoint(const struct calls *calls, const struct call_group *forward)
{
    enum { LEAST = 4 };
    size_t rounds = 0;
    bool back = false;
    for (size_t i = 0; i < calls->group_count; i++) {
        const struct call_group *group = &calls->groups[i];
        bool line = calls_site(calls, group) == calls_site(calls, forward);
        rounds += !group->back && (line || is_like(calls, group, forward));
        back = back || (group->back && (line || is_like(calls, group, forward)));
    }
    return back && rounds >= LEAST;
}

/* The rest of the adjoint's calls find what they answer. */
static void rest_pair(struct calls *calls, size_t from)
{
    for (size_t i = from; i < calls->group_count; i++) {
        bool sent_right;
        struct call_group *forward =
            calls->groups[i].back ? forward_of(calls, &calls->groups[i], &sent_right) : NULL;
        calls->strangers += calls->groups[i].back && !forward;
        if (forward)
            forward->taken = true;
    }
}

/* Whether messages go so often from one rank to another that they may have gone round a ring: that
 * is a way back, too. */
static bool goes_round(const struct calls *calls, const struct call_group *one)
{
    int count = 0;
    for (size_t i = 0; i < calls->group_count; i++)
        count += calls->groups[i].back && calls->groups[i].message &&
                 calls->groups[i].source == one->source && calls->groups[i].target == one->target;
    return count > 1 && count >= calls->ranks - 1;
}

/* An adjoint whose messages all go the way of the forward ones, and none back. */
static void forwards_tell(struct calls *calls, const char *variable)
{
    const struct call_group *first = NULL;
    for (size_t i = 0; i < calls->group_count; i++) {
        const struct call_group *back = &calls->groups[i];
        bool along = false;
        for (size_t k = 0; k < calls->group_count && back->back; k++) {
            const struct call_group *forward = &calls->groups[k];
            along = along || (!forward->back && forward->message && back->message &&
                              forward->source == back->source && forward->target == back->target);
        }
        if (back->back && !along)
            return;
        first = first || !back->back ? first : back;
    }
    if (!first || goes_round(calls, first))
        return;
    place_tell(calls, first, true);
    SAY(calls,
        "the gradient of %s is wrong: this message goes the way of the forward one, from rank %d "
        "to "
        "rank %d, where its adjoint goes back",
        variable, first->source, first->target);
}

/* How many numbers with many digits the group's ranks give; -1: one of them is no float. */
static long floats_given(const struct calls *calls, const struct call_group *group)
{
    long count = 0;
    for (size_t m = 0; m < group->count; m++) {
        const struct call_member *member = &calls->members[group->first + m];
        const struct call_entry *entry = calls_entry(calls, member);
        for (size_t i = 0; member->sends && i < entry->sent.count; i++) {
            int exponent; /* of zero and of no number, too */
            double value = entry->sent.values[i], digits = ldexp(frexp(value, &exponent), 17);
            if ((double)(float)value != value)
                return -1;
            count += digits != nearbyint(digits);
        }
    }
    return count;
}

/* The first call of the adjoint that is given floats as doubles, where the forward calls are not. */
static const struct call_group *rounded(const struct calls *calls)
{
    enum { LEAST = 4 }; /* of so many numbers it is no chance */
    const struct call_group *first = NULL;
    bool wide = false;
    for (size_t i = 0; i < calls->group_count; i++) {
        const struct call_group *group = &calls->groups[i];
        long floats = floats_given(calls, group);
        wide = wide || (!group->back && floats < 0);
        if (group->back && !first && floats >= LEAST)
            first = group;
    }
    return wide ? first : NULL;
}

void calls_blame(struct calls *calls, const char *variable)
{
    struct gradcheck_culprit *culprit = &calls->check->result->culprit, before = *culprit;
    bool told = false;
    size_t at = 0;
    if (calls_solve_again(calls)) {
        SAY(calls,
            "the gradient of %s is wrong; the adjoint makes calls of the forward pass once more, "
            "from "
            "the same lines, as a solver does: they answer no calls one by one, and none is "
            "accused; "
            "mark what comes between (right side, solution, gradients)",
            variable);
        return;
    }
    for (; at < calls->group_count && !told; at++)
        told = calls->groups[at].back && back_judge(calls, &calls->groups[at], variable);
    rest_pair(calls, at);
    if (calls->strangers || calls->opaque) { /* it may be written in another way */
        if (told)
            *culprit = before;
        if (!calls->opaque && !told && !calls->answered)
            forwards_tell(calls, variable);
        return;
    }
    const struct call_group *missing = unanswered(calls);
    if (missing && (!told || !culprit->outside) && is_of_adjoint(calls, missing)) {
        *culprit = before;
        SAY(calls,
            "the gradient of %s is wrong; the adjoint makes the calls of a loop of the forward "
            "pass, "
            "but fewer of them: an iteration that solves an equation may end too early, or calls "
            "are "
            "missing; none is accused; mark what comes between",
            variable);
    } else if (missing && (!told || !culprit->outside)) {
        place_tell(calls, missing, true);
        SAY(calls,
            "the gradient of %s is wrong: no call after the objective is the adjoint of this %s, "
            "on whose result the objective depends",
            variable, name_of(missing));
    } else if (!told && calls->narrowed) {
        place_tell(calls, calls->narrowed, true);
        SAY(calls,
            "the gradient of %s is wrong: this %s takes cotangents in float, of numbers that the "
            "forward %s took in double",
            variable, name_of(calls->narrowed), name_of(calls->narrowed));
    } else if (!told && rounded(calls)) {
        const struct call_group *group = rounded(calls);
        place_tell(calls, group, false);
        SAY(calls,
            "the gradient of %s is wrong: this %s is given cotangents that are rounded to float, "
            "where the forward calls took doubles",
            variable, name_of(group));
    } else if (!told && calls->answered) {
        char times[80] = "";
        if (calls->factor != 0)
            snprintf(times, sizeof times, ", but for a factor (%.6g) that all of them have",
                     calls->factor);
        SAY(calls,
            "the gradient of %s is wrong, though all calls of the adjoint (%zu) are given the "
            "right numbers%s, as far as differences see, and bring the right ones back: the "
            "computation between them and this mark is wrong, or where it looks for what they "
            "brought",
            variable, calls->answered, times);
    }
}
