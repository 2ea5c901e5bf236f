/* The data order of a schedule without running it: what schedule_run (run.c) would end a rank for.
 *
 * Each row is gone through once: a value is there when the row has computed it, or has received it.
 * A table of computations alone leaves the messages open: there what another rank makes is taken to
 * come in time. */
#include "collectives/systems/schedule/rows.h"

#include <stdio.h>
#include <stdlib.h>

/* What is known of one stage on one microbatch. */
struct known {
    bool in, out, out_grad, in_grad, weights;
};

struct walk {
    const struct schedule *schedule;
    struct known *values; /* [stage][microbatch] */
    bool has_messages;
    int rank;
    size_t column;
    schedule_fault *report;
    void *context;
};

static struct known *known_of(const struct walk *walk, int stage, int microbatch)
{
    return &walk->values[stage * walk->schedule->microbatches + microbatch];
}

static void expect(const struct walk *walk, bool right, const struct schedule_action *action,
                   const char *what)
{
    char text[160];
    if (right)
        return;
    snprintf(text, sizeof text, "row %d, column %zu: stage %d, microbatch %d: %s", walk->rank + 1,
             walk->column, action->stage, action->microbatch, what);
    walk->report(walk->context, walk->rank, text);
}

/* What comes of another rank, and nobody says how. */
static bool comes_by_itself(const struct walk *walk, int stage)
{
    return !walk->has_messages && walk->schedule->rank_of[stage] != walk->rank;
}

static bool lives_here(const struct walk *walk, int stage)
{
    return walk->schedule->rank_of[stage] == walk->rank;
}

static void forward(const struct walk *walk, const struct schedule_action *action)
{
    struct known *value = known_of(walk, action->stage, action->microbatch);
    bool first = stage_is_first(walk->schedule, action->stage);
    expect(walk, first || value->in || comes_by_itself(walk, action->stage - 1), action,
           "F before its input has come");
    expect(walk, !value->out, action, "F a second time");
    value->out = true;
    if (stage_is_last(walk->schedule, action->stage))
        value->out_grad = true;
    else if (lives_here(walk, action->stage + 1))
        known_of(walk, action->stage + 1, action->microbatch)->in = true;
}

static void backward_input(const struct walk *walk, const struct schedule_action *action)
{
    struct known *value = known_of(walk, action->stage, action->microbatch);
    bool last = stage_is_last(walk->schedule, action->stage);
    expect(walk, value->out, action, "backward before forward");
    expect(walk,
           !value->out || value->out_grad || (!last && comes_by_itself(walk, action->stage + 1)),
           action, "backward before its gradient has come");
    expect(walk, !value->in_grad, action, "backward a second time");
    value->in_grad = true;
    if (!stage_is_first(walk->schedule, action->stage) && lives_here(walk, action->stage - 1))
        known_of(walk, action->stage - 1, action->microbatch)->out_grad = true;
}

static void backward_weights(const struct walk *walk, const struct schedule_action *action)
{
    struct known *value = known_of(walk, action->stage, action->microbatch);
    expect(walk, value->in_grad, action, "W before I");
    expect(walk, !value->weights, action, "W a second time");
    value->weights = true;
}

static void take_action(const struct walk *walk, const struct schedule_action *action)
{
    struct known *value = known_of(walk, action->stage, action->microbatch);
    switch (action->kind) {
    case SCHEDULE_F:
        forward(walk, action);
        break;
    case SCHEDULE_B:
        backward_input(walk, action);
        backward_weights(walk, action);
        break;
    case SCHEDULE_I:
        backward_input(walk, action);
        break;
    case SCHEDULE_W:
        backward_weights(walk, action);
        break;
    case SCHEDULE_SEND_F:
        expect(walk, value->out, action, "a send before its value is computed");
        break;
    case SCHEDULE_SEND_B:
        expect(walk, value->in_grad, action, "a send before its value is computed");
        break;
    case SCHEDULE_RECV_F:
        value->in = true;
        break;
    case SCHEDULE_RECV_B:
        value->out_grad = true;
        break;
    default: /* UNSHARD, RESHARD, REDUCE_GRAD: of another dimension */
        break;
    }
}

static bool has_messages(const struct schedule *schedule)
{
    for (int rank = 0; rank < schedule->ranks; rank++)
        for (size_t a = 0; a < schedule->rows[rank].action_count; a++)
            if (kind_is_message(schedule->rows[rank].actions[a].kind))
                return true;
    return false;
}

/* The messages of a cell are posted before it computes. */
static void walk_row(struct walk *walk, const struct schedule_row *row)
{
    for (walk->column = 1; walk->column <= row->cell_count; walk->column++) {
        const struct schedule_cell *cell = &row->cells[walk->column - 1];
        for (int messages = 1; messages >= 0; messages--)
            for (size_t a = cell->first; a < cell->end; a++)
                if (kind_is_message(row->actions[a].kind) == messages)
                    take_action(walk, &row->actions[a]);
    }
}

void schedule_check_data(const struct schedule *schedule, schedule_fault *report, void *context)
{
    struct walk walk = {.schedule = schedule,
                        .has_messages = has_messages(schedule),
                        .report = report,
                        .context = context};
    for (walk.rank = 0; walk.rank < schedule->ranks; walk.rank++) {
        walk.values =
            calloc((size_t)schedule->stages * (size_t)schedule->microbatches, sizeof *walk.values);
        if (!walk.values)
            abort();
        walk_row(&walk, &schedule->rows[walk.rank]);
        free(walk.values);
    }
}
