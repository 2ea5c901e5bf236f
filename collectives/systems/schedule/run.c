/* Runs one rank's row of a schedule. See schedule.h.
 *
 * Rules:
 *  1. A value is used only after it was computed here or came from its stage's neighbour; anything
 *     else is the schedule's fault and ends the rank with G005.
 *  2. A message is tagged as the CSV checker tags it: by the stage whose result it is, the
 *     microbatch and the direction. It carries the name of its value, so that a crossing shows. */
#include "collectives/systems/schedule/rows.h"
#include "recorder/recorder.h"

#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELL_TEXT = 1024 };

/* What is known of one stage on one microbatch. */
struct value {
    double *in, *out, *out_grad, *in_grad; /* into one allocation */
    bool has_in, has_out, has_out_grad, has_in_grad, has_weights;
};

struct run {
    const struct schedule *schedule;
    const struct schedule_stages *stages;
    MPI_Comm comm;
    int rank;
    size_t column;        /* of the cell, from 1 */
    const void *site;     /* where the caller runs it */
    uint32_t node;        /* the last cell's in the trace */
    struct value *values; /* [stage][microbatch] */
    double *storage;
    MPI_Request *requests;
    double loss;
};

static struct value *value_of(struct run *run, int stage, int microbatch)
{
    return &run->values[stage * run->schedule->microbatches + microbatch];
}

static void check(const struct run *run, bool right, const struct schedule_action *action,
                  const char *what)
{
    char text[160];
    if (right)
        return;
    snprintf(text, sizeof text, "row %d, column %zu: stage %d, microbatch %d: %s", run->rank + 1,
             run->column, action->stage, action->microbatch, what);
    MPIX_Fail("G005", text);
}

/* A value made for a stage that lives here too needs no message. */
static void transfer_match(struct run *run, const struct schedule_action *action, int to,
                           bool backward)
{
    if (run->schedule->rank_of[to] != run->rank)
        return;
    struct value *from = value_of(run, action->stage, action->microbatch);
    struct value *into = value_of(run, to, action->microbatch);
    for (size_t i = 0; i < run->stages->width; i++)
        if (backward)
            into->out_grad[i] = from->in_grad[i];
        else
            into->in[i] = from->out[i];
    into->has_in = into->has_in || !backward;
    into->has_out_grad = into->has_out_grad || backward;
}

static void forward(struct run *run, const struct schedule_action *action)
{
    struct value *value = value_of(run, action->stage, action->microbatch);
    bool first = stage_is_first(run->schedule, action->stage);
    check(run, first || value->has_in, action, "F before its input has come");
    check(run, !value->has_out, action, "F a second time");
    run->stages->forward(run->stages->context, action->stage, action->microbatch,
                         first ? NULL : value->in, value->out);
    value->has_out = true;
    if (!stage_is_last(run->schedule, action->stage)) {
        transfer_match(run, action, action->stage + 1, false);
        return;
    }
    run->loss +=
        run->stages->loss(run->stages->context, action->microbatch, value->out, value->out_grad);
    value->has_out_grad = true;
}

static void backward_input(struct run *run, const struct schedule_action *action)
{
    struct value *value = value_of(run, action->stage, action->microbatch);
    bool first = stage_is_first(run->schedule, action->stage);
    check(run, value->has_out, action, "backward before forward");
    check(run, value->has_out_grad, action, "backward before its gradient has come");
    check(run, !value->has_in_grad, action, "backward a second time");
    run->stages->backward_input(run->stages->context, action->stage, action->microbatch,
                                value->out_grad, first ? NULL : value->in_grad);
    value->has_in_grad = true;
    if (!first)
        transfer_match(run, action, action->stage - 1, true);
}

static void backward_weights(struct run *run, const struct schedule_action *action)
{
    struct value *value = value_of(run, action->stage, action->microbatch);
    check(run, value->has_in_grad, action, "W before I");
    check(run, !value->has_weights, action, "W a second time");
    run->stages->backward_weights(run->stages->context, action->stage, action->microbatch);
    value->has_weights = true;
}

/* For the chart: which block begins when. */
static void tell(const struct schedule_action *action)
{
    static const char letters[] = {
        [SCHEDULE_F] = 'F', [SCHEDULE_I] = 'I', [SCHEDULE_W] = 'W', [SCHEDULE_B] = 'B'};
    if ((size_t)action->kind >= sizeof letters)
        return;
    char name[32];
    snprintf(name, sizeof name, "block %d%c", action->stage, letters[action->kind]);
    SIM_Metric(name, (double)MPIX_Steps(), action->microbatch);
}

static void compute(struct run *run, const struct schedule_action *action)
{
    tell(action);
    switch (action->kind) {
    case SCHEDULE_F:
        forward(run, action);
        return;
    case SCHEDULE_I:
        backward_input(run, action);
        return;
    case SCHEDULE_W:
        backward_weights(run, action);
        return;
    case SCHEDULE_B:
        backward_input(run, action);
        backward_weights(run, action);
        return;
    case SCHEDULE_REDUCE_GRAD:
        if (run->stages->reduce)
            run->stages->reduce(run->stages->context, action->stage);
        return;
    default: /* UNSHARD, RESHARD: of another dimension */
        return;
    }
}

struct message {
    double *values;
    bool *has;
    int peer, tag;
    char name[32];
};

static struct message message_of(struct run *run, const struct schedule_action *action)
{
    struct value *value = value_of(run, action->stage, action->microbatch);
    bool backward = action->kind == SCHEDULE_SEND_B || action->kind == SCHEDULE_RECV_B;
    struct message message;
    int partner = message_partner(action);
    int maker = kind_is_send(action->kind) ? action->stage : partner;
    switch (action->kind) {
    case SCHEDULE_SEND_F:
        message.values = value->out;
        message.has = &value->has_out;
        break;
    case SCHEDULE_SEND_B:
        message.values = value->in_grad;
        message.has = &value->has_in_grad;
        break;
    case SCHEDULE_RECV_F:
        message.values = value->in;
        message.has = &value->has_in;
        break;
    default:
        message.values = value->out_grad;
        message.has = &value->has_out_grad;
    }
    message.peer = run->schedule->rank_of[partner];
    message.tag = (maker * run->schedule->microbatches + action->microbatch) * 2 + backward;
    snprintf(message.name, sizeof message.name, "%d%c%d", maker, backward ? 'B' : 'F',
             action->microbatch);
    check(run, !kind_is_send(action->kind) || *message.has, action,
          "a send before its value is computed");
    return message;
}

static void exchange(struct run *run, const struct schedule_action *action, MPI_Request *request)
{
    struct message message = message_of(run, action);
    int count = (int)run->stages->width;
    SIM_Tensor_name(message.name);
    if (kind_is_send(action->kind)) {
        if (request)
            MPI_Isend(message.values, count, MPI_DOUBLE, message.peer, message.tag, run->comm,
                      request);
        else
            MPI_Send(message.values, count, MPI_DOUBLE, message.peer, message.tag, run->comm);
    } else if (request) {
        MPI_Irecv(message.values, count, MPI_DOUBLE, message.peer, message.tag, run->comm, request);
    } else {
        MPI_Recv(message.values, count, MPI_DOUBLE, message.peer, message.tag, run->comm,
                 MPI_STATUS_IGNORE);
    }
    *message.has = true;
}

static void do_cell(struct run *run, const struct schedule_row *row,
                    const struct schedule_cell *cell)
{
    const struct schedule_action *actions = row->actions;
    if (cell->end - cell->first == 1 && kind_is_message(actions[cell->first].kind)) {
        exchange(run, &actions[cell->first], NULL);
        return;
    }
    int posted = 0;
    SIM_Batch_begin();
    for (size_t a = cell->first; a < cell->end; a++)
        if (kind_is_message(actions[a].kind))
            exchange(run, &actions[a], &run->requests[posted++]);
    SIM_Batch_end();
    for (size_t a = cell->first; a < cell->end; a++)
        if (!kind_is_message(actions[a].kind))
            compute(run, &actions[a]);
    if (posted)
        MPI_Waitall(posted, run->requests, MPI_STATUSES_IGNORE);
}

/* The cell is a node of the trace, by its text: pictures show it, and the run can be exported as
 * the schedule it followed. */
static void run_cell(struct run *run, const struct schedule_row *row,
                     const struct schedule_cell *cell)
{
    char text[CELL_TEXT];
    bool named = record_active() && rows_cell_text(row, cell, text, sizeof text);
    uint32_t node = named ? record_node(text, OP_COMPUTE, 0, 0, run->site) : 0;
    if (node && run->node)
        record_edge(run->node, node, EDGE_ORDER);
    run->node = node ? node : run->node;
    if (node)
        record_node_enter(node);
    do_cell(run, row, cell);
    if (node)
        record_node_leave(node);
}

static void allocate(struct run *run)
{
    const struct schedule *schedule = run->schedule;
    size_t entries = (size_t)schedule->stages * (size_t)schedule->microbatches;
    size_t width = run->stages->width;
    run->values = calloc(entries, sizeof *run->values);
    run->storage = calloc(4 * entries * width, sizeof *run->storage);
    run->requests = calloc(schedule->rows[run->rank].action_count + 1, sizeof(MPI_Request));
    if (!run->values || !run->storage || !run->requests)
        abort();
    for (size_t i = 0; i < entries; i++) {
        double *values = run->storage + 4 * width * i;
        run->values[i].in = values;
        run->values[i].out = values + width;
        run->values[i].out_grad = values + 2 * width;
        run->values[i].in_grad = values + 3 * width;
    }
}

double schedule_run(const struct schedule *schedule, const struct schedule_stages *stages,
                    MPI_Comm comm)
{
    struct run run = {.schedule = schedule, .stages = stages, .comm = comm};
    run.site = __builtin_return_address(0);
    int size;
    MPI_Comm_rank(comm, &run.rank);
    MPI_Comm_size(comm, &size);
    if (size != schedule->ranks) {
        char text[120];
        snprintf(text, sizeof text, "the schedule is for %d ranks, the communicator has %d",
                 schedule->ranks, size);
        MPIX_Fail("G005", text);
    }
    allocate(&run);
    const struct schedule_row *row = &schedule->rows[run.rank];
    for (run.column = 1; run.column <= row->cell_count; run.column++)
        run_cell(&run, row, &row->cells[run.column - 1]);
    SIM_Tensor_name(NULL);
    free(run.values);
    free(run.storage);
    free(run.requests);
    return run.loss;
}
