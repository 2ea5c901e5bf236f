#include "checker/explore/rerun.h"

#include "checker/memory.h"
#include "checker/places.h"

#include <math.h>
#include <mpix.h>
#include <stdlib.h>
#include <string.h>

/* A receive, by its number among those that the rank posted, left out iterations of loops included. */
struct rerun_receive {
    uint64_t number;
    int32_t source;   /* world rank wanted; negative: any */
    bool chosen;      /* the witness says so, not only the recorded run */
    uint32_t repeats; /* so many receives, this the last of them, are as those left out behind it */
};

/* What one rank is to do, by the names the machine uses. */
struct rerun_rank {
    uint32_t *position; /* per node number of the recorder: its place in the order, TRACE_NO */
    uint32_t node_count;
    struct rerun_receive *receives; /* in the order of posting */
    uint32_t receive_count;
};

/* ---- what the witness wants ---- */

static bool posts_receive(const struct trace_op *op)
{
    return check_class(op) == CLASS_RECEIVE && op->kind != OP_MRECV && op->kind != OP_IMRECV;
}

static int32_t wanted_source(const struct trace *trace, const struct check_witness *witness,
                             uint32_t receive, bool *chosen)
{
    for (size_t i = 0; i < witness->choice_count; i++)
        if (witness->choices[i].receive == receive) {
            *chosen = true;
            return (int32_t)witness->choices[i].source;
        }
    const struct trace_op *op = &trace->ops[receive];
    return op->peer == TRACE_ANY ? trace_op_peer_matched(op) : -1;
}

/* Receives of one iteration of a loop. */
static uint32_t receives_in(const struct trace *trace, const struct trace_fold *fold)
{
    uint32_t count = 0;
    for (uint32_t op = fold->op + 1 - fold->body; op <= fold->op; op++)
        count += posts_receive(&trace->ops[op]);
    return count;
}

/* Per operation of the trace, the iterations left out behind it; NULL: there are none. */
static const struct trace_fold **folds_by_op(const struct trace *trace)
{
    const struct trace_fold **folds = NULL;
    if (trace->fold_count)
        folds = check_new(trace->op_count, sizeof *folds);
    for (size_t i = 0; i < trace->fold_count; i++)
        folds[trace->folds[i].op] = &trace->folds[i];
    return folds;
}

static void plan_rank(const struct check_rerun *rerun, const struct check_witness *witness,
                      const struct trace_fold *const *folds, uint32_t rank)
{
    const struct trace *trace = rerun->trace;
    struct rerun_rank *plan = &rerun->ranks[rank];
    size_t begin = trace->rank_begin[rank], end = trace->rank_begin[rank + 1];
    uint32_t next = 0;
    for (size_t n = trace->node_begin[rank]; n < trace->node_begin[rank + 1]; n++)
        if (trace->nodes[n].id >= plan->node_count)
            plan->node_count = trace->nodes[n].id + 1;
    plan->position = check_new(plan->node_count, sizeof *plan->position);
    memset(plan->position, 0xff, plan->node_count * sizeof *plan->position);
    plan->receives = check_new(end - begin, sizeof *plan->receives);
    uint64_t number = 0;
    for (size_t i = begin; i < end; i++) {
        uint32_t index = witness->order ? witness->order[i] : (uint32_t)i;
        const struct trace_op *op = &trace->ops[index];
        if (op->node != TRACE_NO && plan->position[trace->nodes[op->node].id] == TRACE_NO)
            plan->position[trace->nodes[op->node].id] = next++;
        if (posts_receive(op)) {
            struct rerun_receive *receive = &plan->receives[plan->receive_count++];
            receive->number = number++;
            receive->source = wanted_source(trace, witness, index, &receive->chosen);
        }
        if (folds && folds[index]) {
            uint32_t repeats = receives_in(trace, folds[index]);
            number += repeats * folds[index]->times;
            if (repeats && plan->receive_count >= repeats)
                plan->receives[plan->receive_count - 1].repeats = repeats;
        }
    }
}

/* What the witness wants of the receive with this number; one that was left out is as the one of the
 * iteration before. */
static struct rerun_receive receive_of(const struct rerun_rank *plan, uint64_t number)
{
    uint32_t low = 0, high = plan->receive_count;
    while (low < high) { /* the first behind it */
        uint32_t middle = low + (high - low) / 2;
        if (plan->receives[middle].number <= number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && plan->receives[low - 1].number == number)
        return plan->receives[low - 1];
    struct rerun_receive left_out = {.number = number, .source = -1};
    if (low > 0 && plan->receives[low - 1].repeats) {
        const struct rerun_receive *last = &plan->receives[low - 1];
        left_out.source =
            last[1 + (int64_t)((number - last->number - 1) % last->repeats) - last->repeats].source;
    }
    return left_out;
}

void check_rerun_init(struct check_rerun *rerun, const struct trace *trace,
                      const struct check_witness *witness)
{
    *rerun = (struct check_rerun){.trace = trace};
    rerun->ranks = check_new(trace->ranks, sizeof *rerun->ranks);
    const struct trace_fold **folds = folds_by_op(trace);
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        plan_rank(rerun, witness, folds, rank);
    free(folds);
}

void check_rerun_release(struct check_rerun *rerun)
{
    for (uint32_t rank = 0; rerun->ranks && rank < rerun->trace->ranks; rank++) {
        free(rerun->ranks[rank].position);
        free(rerun->ranks[rank].receives);
    }
    free(rerun->ranks);
    *rerun = (struct check_rerun){0};
}

/* ---- steering ---- */

/* What matters to nobody else goes first, then the node that comes first in the witness. */
static uint32_t pick_node(const struct rerun_rank *plan, uint32_t n,
                          const struct sim_alternative *alternatives)
{
    uint32_t best = 0, place = TRACE_NO;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = alternatives[i].object;
        if (node == 0)
            return i;
        if (node < plan->node_count && plan->position[node] < place) {
            place = plan->position[node];
            best = i;
        }
    }
    return best;
}

/* First what the witness says, then what the recorded run did, then anything nobody else wants. */
static uint32_t pick_message(const struct check_rerun *rerun, uint32_t n,
                             const struct sim_alternative *alternatives)
{
    uint32_t best = 0;
    int best_rank = -1;
    for (uint32_t i = 0; i < n; i++) {
        const struct sim_alternative *one = &alternatives[i];
        int rank = 1;
        if (one->taker == SIM_TAKER_RECEIVE) {
            struct rerun_receive wanted = receive_of(&rerun->ranks[one->rank], one->object);
            rank = wanted.source < 0                       ? 1
                   : wanted.source != (int32_t)one->source ? 0
                   : wanted.chosen                         ? 3
                                                           : 2;
        }
        if (rank > best_rank) {
            best_rank = rank;
            best = i;
        }
    }
    return best;
}

static uint32_t guide(void *context, uint32_t kind, uint32_t rank, uint32_t n,
                      const struct sim_alternative *alternatives)
{
    const struct check_rerun *rerun = context;
    if (!alternatives)
        return 0;
    if (kind == MPIX_CHOOSE_READY)
        return pick_node(&rerun->ranks[rank], n, alternatives);
    return kind == MPIX_CHOOSE_WILDCARD ? pick_message(rerun, n, alternatives) : 0;
}

static bool has_wildcards(const struct trace *trace)
{
    for (size_t i = 0; i < trace->op_count; i++)
        if (trace->ops[i].peer == TRACE_ANY && posts_receive(&trace->ops[i]))
            return true;
    return false;
}

void check_rerun_world(struct check_rerun *rerun, const struct check_witness *witness,
                       struct sim_world_options *options)
{
    options->driver = SIM_CHOOSE_GUIDED;
    options->guide = guide;
    options->guide_context = rerun;
    options->choose_run = false;
    options->delay_wildcards = has_wildcards(rerun->trace);
    options->strict_collectives = true;
    options->eager_limit = SIZE_MAX;
    options->send_model = witness->model == CHECK_EAGER        ? SIM_SEND_EAGER
                          : witness->model == CHECK_RENDEZVOUS ? SIM_SEND_RENDEZVOUS
                                                               : SIM_SEND_BATCH;
}

/* ---- what came of it ---- */

/* The op of the other run with the same rank, node and place in the node. */
static uint32_t same_op(const struct trace *trace, uint32_t op, const struct trace *again)
{
    const struct trace_op *one = &trace->ops[op];
    uint32_t place = 0, seen = 0;
    if (one->rank >= again->ranks)
        return TRACE_NO;
    uint32_t id = one->node == TRACE_NO ? 0 : trace->nodes[one->node].id;
    for (size_t i = trace->rank_begin[one->rank]; i < op; i++)
        place += trace->ops[i].node == one->node;
    for (size_t i = again->rank_begin[one->rank]; i < again->rank_begin[one->rank + 1]; i++) {
        uint32_t node = again->ops[i].node;
        if ((node == TRACE_NO ? 0 : again->nodes[node].id) == id && seen++ == place)
            return again->ops[i].kind == one->kind ? (uint32_t)i : TRACE_NO;
    }
    return TRACE_NO;
}

/* An op that `op` of this run meets, whom it did not meet in the recorded one; TRACE_NO for none.
 */
static uint32_t stranger_of(const struct trace *trace, const struct trace *again, uint32_t op,
                            uint32_t recorded)
{
    const struct trace_op *one = &again->ops[op], *was = &trace->ops[recorded];
    if (op_kind_class(one->kind) != CLASS_COLLECTIVE) {
        uint32_t met = one->match == TRACE_NO ? TRACE_NO : same_op(again, one->match, trace);
        return met != TRACE_NO && met != was->match ? one->match : TRACE_NO;
    }
    for (uint32_t i = 0; i < again->op_count; i++) {
        const struct trace_op *other = &again->ops[i];
        if (other->form->comm != one->form->comm || other->comm_seq != one->comm_seq ||
            op_kind_class(other->kind) != CLASS_COLLECTIVE)
            continue;
        uint32_t met = same_op(again, i, trace);
        if (met != TRACE_NO && trace->ops[met].comm_seq != was->comm_seq)
            return i;
    }
    return TRACE_NO;
}

/* One of the pair meets somebody it did not meet in the recorded run. */
static bool shows_crossing(const struct trace *trace, const struct finding *finding,
                           const struct trace *again, char **text)
{
    for (size_t i = 0; i < finding->op_count; i++) {
        uint32_t op = finding->ops[i].op;
        if (strcmp(finding->ops[i].role, "culprit") != 0 || op == TRACE_NO)
            continue;
        uint32_t mine = same_op(trace, op, again);
        uint32_t met = mine == TRACE_NO ? TRACE_NO : stranger_of(trace, again, mine, op);
        if (met == TRACE_NO)
            continue;
        char one[PLACE_TEXT], other[PLACE_TEXT];
        *text = check_text("%s met %s", check_place(again, mine, one, sizeof one),
                           check_place(again, met, other, sizeof other));
        return true;
    }
    return false;
}

/* Every rank of the core stands, at least one of them where the finding says. */
static bool shows_hang(const struct trace *trace, const struct finding *finding,
                       const struct trace *again, char **text)
{
    uint32_t at_place = TRACE_NO;
    if (again->outcome != OUTCOME_DEADLOCK && again->outcome != OUTCOME_LIVELOCK)
        return false;
    for (size_t i = 0; i < finding->op_count; i++) {
        uint32_t op = finding->ops[i].op;
        if (strcmp(finding->ops[i].role, "core") != 0 || op == TRACE_NO)
            continue;
        uint32_t rank = trace->ops[op].rank, stands = TRACE_NO;
        char wanted[PLACE_TEXT], found[PLACE_TEXT];
        for (size_t k = again->rank_begin[rank]; k < again->rank_begin[rank + 1]; k++)
            stands = again->ops[k].state == STATE_BLOCKED ? (uint32_t)k : stands;
        if (stands == TRACE_NO)
            return false;
        check_short_place(trace, op, wanted, sizeof wanted);
        if (strcmp(wanted, check_short_place(again, stands, found, sizeof found)) == 0)
            at_place = stands;
    }
    char place[PLACE_TEXT];
    if (at_place == TRACE_NO)
        return false;
    *text = check_text("it hung, %s standing", check_place(again, at_place, place, sizeof place));
    return true;
}

static bool same_result(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The chosen receive took the other sender's message. Reports whether that made a difference. */
static bool shows_race(const struct trace *trace, const struct check_witness *witness,
                       const struct trace *again, char **text)
{
    if (!witness->choice_count)
        return false;
    uint32_t receive = witness->choices[0].receive;
    uint32_t at =
        trace_op_by_number(again, trace->ops[receive].rank, trace_op_number(trace, receive));
    if (at == TRACE_NO || again->ops[at].peer != TRACE_ANY ||
        trace_op_peer_matched(&again->ops[at]) != (int32_t)witness->choices[0].source)
        return false;
    if (again->outcome == OUTCOME_DEADLOCK || again->outcome == OUTCOME_LIVELOCK)
        *text = check_text("with the other message first it hangs");
    else if (again->outcome != OUTCOME_FINISHED)
        *text = check_text("with the other message first it does not finish");
    else if (!same_result(trace->objective, again->objective))
        *text = check_text("with the other message first the objective is %.12g instead of %.12g",
                           again->objective, trace->objective);
    else
        *text =
            check_text("with the other message first %s; that is one other order, "
                       "'simrun explore' judges all of them",
                       isnan(trace->objective) ? "it finishes, too" : "the objective is the same");
    return true;
}

bool check_rerun_shows(const struct trace *trace, const struct finding *finding,
                       const struct check_witness *witness, const struct trace *again, char **text)
{
    *text = NULL;
    bool hangs = again->outcome == OUTCOME_DEADLOCK || again->outcome == OUTCOME_LIVELOCK;
    if (strcmp(witness->code, "R003") == 0) /* also of a hang that another message first leads to */
        return (finding->code[0] != 'D' || hangs) && shows_race(trace, witness, again, text);
    return finding->code[0] == 'R' ? shows_crossing(trace, finding, again, text)
                                   : shows_hang(trace, finding, again, text);
}
