/* The operations of a pipeline schedule. See docs/formats.md.
 *
 * Explicit messages: stage s sends its output (F) to the rank of stage s + 1 and its input's
 * gradient (B) to the rank of stage s - 1; receives mirror that. One message alone in its cell
 * blocks; several in one cell are one batch. A message carries direction, stage and microbatch as
 * its tag.
 *
 * Derived messages, for schedules of computations alone: the table is run, one cell of every rank
 * that can go at a time. When a cell has run, the sends of its results follow it and the receives
 * of the neighbours are placed at that moment behind what they have run so far. Both ends of all
 * messages so stand in one common order. Cells that can never go get their receives just before
 * them and their sends just behind: whoever checks the trace then sees the cycle. */
#include "traces/base/identity.h"
#include "traces/formats/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct planner {
    struct csv_table *table;
    struct trace *trace;
    uint32_t comm;
    uint32_t *batches; /* per rank: number of the last one */
    /* for derived messages */
    uint32_t *next, *end; /* per rank: its next cell and past its last */
    uint32_t *ready;      /* per rank: actions of its next cell known to be ready */
    bool *awake;
    uint32_t *turn, *turn_next; /* ranks that go in this round and the next */
    size_t turn_count, turn_next_count;
    struct format_index computed; /* direction, stage, microbatch -> action */
    bool *done;                   /* action */
};

static bool memory(struct planner *planner)
{
    return format_no_memory(planner->table->input);
}

/* ---- operations ---- */

/* "column 3: 0SEND_F1": what stands in the cell; derived messages add what they are. A text that goes on ends in "...": no writer takes
 * it for the cell. */
static uint32_t site_of(struct planner *planner, const struct csv_cell *cell,
                        const struct csv_action *derived)
{
    enum { SHOWN = 1000 };
    char text[SHOWN + 100];
    const char *data = (const char *)planner->table->input->data + cell->offset;
    bool whole = cell->length <= SHOWN;
    int used = snprintf(text, sizeof text, "column %u: %.*s%s", cell->column + 1,
                        whole ? (int)cell->length : SHOWN, data, whole ? "" : "...");
    if (derived)
        snprintf(text + used, sizeof text - (size_t)used, " derives %u%s%u", derived->stage,
                 csv_kind_name(derived->kind), derived->microbatch);
    return trace_add_site(planner->trace, planner->table->input->name, (int)cell->rank + 1, text);
}

static int64_t partner_stage(const struct csv_action *action)
{
    bool forward = action->kind == CSV_SEND_F || action->kind == CSV_RECV_F;
    bool sends = action->kind == CSV_SEND_F || action->kind == CSV_SEND_B;
    return forward == sends ? (int64_t)action->stage + 1 : (int64_t)action->stage - 1;
}

/* The stage whose result it is names the message. */
static bool tag_of(struct planner *planner, const struct csv_action *action, int32_t *tag)
{
    bool sends = action->kind == CSV_SEND_F || action->kind == CSV_SEND_B;
    bool backward = action->kind == CSV_SEND_B || action->kind == CSV_RECV_B;
    uint64_t stage = sends ? action->stage : (uint64_t)partner_stage(action);
    uint64_t number =
        (stage * ((uint64_t)planner->table->microbatch_last + 1) + action->microbatch) * 2 +
        backward;
    *tag = (int32_t)number;
    return number <= INT32_MAX ||
           format_refuse(planner->table->input, action->offset,
                         "too many stages times microbatches to number the messages");
}

static bool partner_of(struct planner *planner, const struct csv_action *action, int32_t *peer)
{
    int64_t stage = partner_stage(action);
    uint32_t rank = csv_rank_of(planner->table, stage);
    *peer = (int32_t)rank;
    if (rank != TRACE_NO)
        return true;
    return format_refuse(planner->table->input, action->offset,
                         "stage %u has no neighbour for %s: no row has stage %lld", action->stage,
                         csv_kind_name(action->kind), (long long)stage);
}

static uint32_t identity_of(const struct csv_action *action)
{
    char text[48];
    bool sends = action->kind == CSV_SEND_F || action->kind == CSV_SEND_B;
    bool backward = action->kind == CSV_SEND_B || action->kind == CSV_RECV_B;
    long long stage = sends ? (long long)action->stage : (long long)partner_stage(action);
    int length =
        snprintf(text, sizeof text, "%lld%c%u", stage, backward ? 'B' : 'F', action->microbatch);
    return trace_identity(text, (size_t)length);
}

/* `derived`: a message that does not stand in the cell. */
static bool message_add(struct planner *planner, const struct csv_cell *cell,
                        const struct csv_action *action, uint32_t rank, bool blocking, bool derived)
{
    bool sends = action->kind == CSV_SEND_F || action->kind == CSV_SEND_B;
    struct trace_plain_op op = trace_op_none(rank, sends ? (blocking ? OP_SEND : OP_ISEND)
                                                         : (blocking ? OP_RECV : OP_IRECV));
    op.comm = planner->comm;
    op.count = 1;
    op.batch = blocking ? 0 : planner->batches[rank];
    op.site = site_of(planner, cell, derived ? action : NULL);
    if (!partner_of(planner, action, &op.peer) || !tag_of(planner, action, &op.tag))
        return false;
    op.identity = identity_of(action);
    return trace_add_op(planner->trace, &op) != TRACE_NO || memory(planner);
}

static bool compute_add(struct planner *planner, const struct csv_cell *cell)
{
    struct trace_plain_op op = trace_op_none(cell->rank, OP_COMPUTE);
    op.site = site_of(planner, cell, NULL);
    return trace_add_op(planner->trace, &op) != TRACE_NO || memory(planner);
}

static bool waitall_add(struct planner *planner, const struct csv_cell *cell, uint32_t first)
{
    struct trace_plain_op op = trace_op_none(cell->rank, OP_WAITALL);
    uint32_t end = (uint32_t)planner->trace->op_count;
    op.site = site_of(planner, cell, NULL);
    if (trace_add_op(planner->trace, &op) == TRACE_NO)
        return memory(planner);
    for (uint32_t i = first; i < end; i++)
        if (planner->trace->ops[i].kind != OP_COMPUTE &&
            trace_add_wait(planner->trace, end, i, true) == TRACE_NO)
            return memory(planner);
    return true;
}

/* A cell as it stands: its messages posted, its computations, its messages awaited. */
static bool cell_add(struct planner *planner, const struct csv_cell *cell)
{
    const struct csv_action *actions = planner->table->actions;
    uint32_t messages = 0, first = (uint32_t)planner->trace->op_count;
    for (uint32_t a = cell->first; a < cell->end; a++)
        messages += csv_communicates(actions[a].kind);
    bool alone = messages == 1 && cell->end - cell->first == 1;
    if (messages && !alone)
        planner->batches[cell->rank]++;
    for (uint32_t a = cell->first; a < cell->end && messages; a++)
        if (csv_communicates(actions[a].kind) &&
            !message_add(planner, cell, &actions[a], cell->rank, alone, false))
            return false;
    for (uint32_t a = cell->first; a < cell->end; a++)
        if (!csv_communicates(actions[a].kind) && !compute_add(planner, cell))
            return false;
    return alone || messages == 0 || waitall_add(planner, cell, first);
}

/* ---- derived messages ---- */

static bool is_backward(enum csv_kind kind)
{
    return kind == CSV_B || kind == CSV_I;
}

static uint64_t key_of(bool backward, uint32_t stage, uint32_t microbatch)
{
    return (uint64_t)backward << 63 | (uint64_t)stage << 32 | microbatch;
}

/* What must have run elsewhere or before: false when nothing. */
static bool needs(const struct csv_table *table, const struct csv_action *action, uint64_t *key)
{
    if (action->kind == CSV_F && action->stage > 0)
        *key = key_of(false, action->stage - 1, action->microbatch);
    else if (is_backward(action->kind) && action->stage < table->stage_last)
        *key = key_of(true, action->stage + 1, action->microbatch);
    else
        return false;
    return true;
}

static bool arrived(const struct planner *planner, const struct csv_action *action)
{
    uint64_t key;
    if (!needs(planner->table, action, &key))
        return true;
    const struct format_index_row *row = format_index_find(&planner->computed, key);
    return row && planner->done[row->value];
}

/* The next cell of a rank can go; what was found ready is not asked again. */
static bool cell_ready(struct planner *planner, uint32_t rank)
{
    const struct csv_cell *cell = &planner->table->cells[planner->next[rank]];
    while (planner->ready[rank] < cell->end - cell->first) {
        if (!arrived(planner, &planner->table->actions[cell->first + planner->ready[rank]]))
            return false;
        planner->ready[rank]++;
    }
    return true;
}

static void wake(struct planner *planner, uint32_t rank)
{
    if (rank == TRACE_NO || planner->awake[rank] || planner->next[rank] == planner->end[rank])
        return;
    planner->awake[rank] = true;
    planner->turn_next[planner->turn_next_count++] = rank;
}

/* The message that carries a result, seen from its sender; false when the result stays where it is.
 */
static bool result_of(const struct csv_table *table, const struct csv_action *action,
                      struct csv_action *send)
{
    *send = *action;
    if (action->kind == CSV_F && action->stage < table->stage_last)
        send->kind = CSV_SEND_F;
    else if (is_backward(action->kind) && action->stage > 0)
        send->kind = CSV_SEND_B;
    else
        return false;
    return csv_rank_of(table, partner_stage(send)) != csv_rank_of(table, action->stage);
}

/* The cell that computes with what a receive brings; the sender's where none does. */
static const struct csv_cell *consumer_of(const struct planner *planner,
                                          const struct csv_action *receive,
                                          const struct csv_cell *sender)
{
    uint64_t key = key_of(receive->kind == CSV_RECV_B, receive->stage, receive->microbatch);
    const struct format_index_row *row = format_index_find(&planner->computed, key);
    return row ? &planner->table->cells[planner->table->cell_of[row->value]] : sender;
}

static bool result_add(struct planner *planner, const struct csv_cell *cell,
                       const struct csv_action *action, bool both_ends)
{
    struct csv_action send, receive;
    if (!result_of(planner->table, action, &send))
        return true;
    if (!message_add(planner, cell, &send, cell->rank, true, true))
        return false;
    if (!both_ends)
        return true;
    receive = send;
    receive.kind = send.kind == CSV_SEND_F ? CSV_RECV_F : CSV_RECV_B;
    receive.stage = (uint32_t)partner_stage(&send);
    uint32_t rank = csv_rank_of(planner->table, receive.stage);
    return message_add(planner, consumer_of(planner, &receive, cell), &receive, rank, true, true);
}

static bool cell_run(struct planner *planner, uint32_t rank)
{
    const struct csv_table *table = planner->table;
    const struct csv_cell *cell = &table->cells[planner->next[rank]];
    if (!cell_add(planner, cell))
        return false;
    planner->next[rank]++; /* before anybody is woken: a neighbour may live here */
    planner->ready[rank] = 0;
    for (uint32_t a = cell->first; a < cell->end; a++) {
        const struct csv_action *action = &table->actions[a];
        planner->done[a] = true;
        if (!result_add(planner, cell, action, true))
            return false;
        if (action->kind == CSV_F)
            wake(planner, csv_rank_of(table, (int64_t)action->stage + 1));
        else if (is_backward(action->kind))
            wake(planner, csv_rank_of(table, (int64_t)action->stage - 1));
    }
    return true;
}

static bool round_run(struct planner *planner)
{
    for (size_t i = 0; i < planner->turn_count; i++) {
        uint32_t rank = planner->turn[i];
        planner->awake[rank] = false;
        if (!cell_ready(planner, rank))
            continue; /* woken by what it waits for */
        if (!cell_run(planner, rank))
            return false;
        wake(planner, rank);
    }
    uint32_t *turn = planner->turn;
    planner->turn = planner->turn_next;
    planner->turn_next = turn;
    planner->turn_count = planner->turn_next_count;
    planner->turn_next_count = 0;
    return true;
}

/* A cell nobody could run: receives what has not come, computes, sends. */
static bool cell_force(struct planner *planner, const struct csv_cell *cell)
{
    const struct csv_table *table = planner->table;
    for (uint32_t a = cell->first; a < cell->end; a++) {
        struct csv_action receive = table->actions[a];
        if (arrived(planner, &table->actions[a]))
            continue;
        receive.kind = receive.kind == CSV_F ? CSV_RECV_F : CSV_RECV_B;
        uint32_t partner = csv_rank_of(table, partner_stage(&receive));
        if (partner == cell->rank)
            continue;
        if (!message_add(planner, cell, &receive, cell->rank, true, true))
            return false;
    }
    if (!cell_add(planner, cell))
        return false;
    for (uint32_t a = cell->first; a < cell->end; a++)
        if (!result_add(planner, cell, &table->actions[a], false))
            return false;
    return true;
}

static bool derive_prepare(struct planner *planner)
{
    const struct csv_table *table = planner->table;
    for (uint32_t a = 0; a < table->action_count; a++) {
        const struct csv_action *action = &table->actions[a];
        if ((action->kind == CSV_F || is_backward(action->kind)) &&
            !format_index_add(table->input, &planner->computed,
                              key_of(action->kind != CSV_F, action->stage, action->microbatch), a))
            return false;
    }
    format_index_sort(&planner->computed);
    for (uint32_t c = 0; c < table->cell_count; c++) {
        uint32_t rank = table->cells[c].rank;
        if (planner->end[rank] == 0)
            planner->next[rank] = c;
        planner->end[rank] = c + 1;
    }
    for (uint32_t rank = 0; rank < table->ranks; rank++)
        wake(planner, rank);
    planner->turn_count = 0;
    return true;
}

static bool derive(struct planner *planner)
{
    const struct csv_table *table = planner->table;
    if (!derive_prepare(planner))
        return false;
    do {
        if (!round_run(planner))
            return false;
    } while (planner->turn_count > 0);
    for (uint32_t rank = 0; rank < table->ranks; rank++)
        for (; planner->next[rank] < planner->end[rank]; planner->next[rank]++)
            if (!cell_force(planner, &table->cells[planner->next[rank]]))
                return false;
    return true;
}

static bool planner_init(struct planner *planner)
{
    size_t ranks = planner->table->ranks;
    planner->batches = calloc(ranks, sizeof *planner->batches);
    planner->next = calloc(ranks, sizeof *planner->next);
    planner->end = calloc(ranks, sizeof *planner->end);
    planner->ready = calloc(ranks, sizeof *planner->ready);
    planner->awake = calloc(ranks, sizeof *planner->awake);
    planner->turn = calloc(ranks, sizeof *planner->turn);
    planner->turn_next = calloc(ranks, sizeof *planner->turn_next);
    planner->done = calloc(planner->table->action_count + 1, sizeof *planner->done);
    bool all = planner->batches && planner->next && planner->end && planner->ready &&
               planner->awake && planner->turn && planner->turn_next && planner->done;
    if (!all)
        return memory(planner);
    planner->comm = format_world_add(planner->table->input, planner->trace, "pipeline");
    return planner->comm != TRACE_NO;
}

bool csv_plan(struct csv_table *table, struct trace *trace)
{
    struct planner planner = {.table = table, .trace = trace};
    bool done = planner_init(&planner);
    if (done && !table->communicates)
        done = derive(&planner);
    else
        for (size_t c = 0; c < table->cell_count && done; c++)
            done = cell_add(&planner, &table->cells[c]);
    free(planner.batches);
    free(planner.next);
    free(planner.end);
    free(planner.ready);
    free(planner.awake);
    free(planner.turn);
    free(planner.turn_next);
    free(planner.done);
    format_index_release(&planner.computed);
    return done;
}
