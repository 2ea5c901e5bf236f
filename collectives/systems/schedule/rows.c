/* A schedule's rows. See rows.h. */
#include "collectives/systems/schedule/rows.h"

#include <stdlib.h>
#include <string.h>

static void *grown(void *table, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return table;
    *room = *room ? 2 * *room : 16;
    table = realloc(table, *room * size);
    if (!table)
        abort();
    return table;
}

static void *zeroed(size_t count, size_t size)
{
    void *table = calloc(count, size);
    if (!table)
        abort();
    return table;
}

struct schedule *rows_new(int ranks, int stages, int chains, int microbatches)
{
    struct schedule *schedule = zeroed(1, sizeof *schedule);
    schedule->ranks = ranks;
    schedule->stages = stages;
    schedule->chains = chains;
    schedule->microbatches = microbatches;
    schedule->rows = zeroed((size_t)ranks, sizeof *schedule->rows);
    schedule->rank_of = zeroed((size_t)stages, sizeof *schedule->rank_of);
    for (int s = 0; s < stages; s++)
        schedule->rank_of[s] = -1;
    return schedule;
}

void schedule_free(struct schedule *schedule)
{
    if (!schedule)
        return;
    for (int r = 0; r < schedule->ranks; r++) {
        free(schedule->rows[r].cells);
        free(schedule->rows[r].actions);
    }
    free(schedule->rows);
    free(schedule->rank_of);
    free(schedule);
}

void rows_join(struct schedule *schedule, int rank, struct schedule_action action)
{
    struct schedule_row *row = &schedule->rows[rank];
    row->actions = grown(row->actions, row->action_count, &row->action_room, sizeof *row->actions);
    row->actions[row->action_count++] = action;
    row->cells[row->cell_count - 1].end = row->action_count;
    if (!kind_is_message(action.kind))
        schedule->rank_of[action.stage] = rank;
}

void rows_add(struct schedule *schedule, int rank, struct schedule_action action)
{
    struct schedule_row *row = &schedule->rows[rank];
    row->cells = grown(row->cells, row->cell_count, &row->cell_room, sizeof *row->cells);
    row->cells[row->cell_count++] = (struct schedule_cell){row->action_count, row->action_count};
    rows_join(schedule, rank, action);
}

static int chain_length(const struct schedule *schedule)
{
    return schedule->stages / schedule->chains;
}

bool stage_is_first(const struct schedule *schedule, int stage)
{
    return stage % chain_length(schedule) == 0;
}

bool stage_is_last(const struct schedule *schedule, int stage)
{
    return (stage + 1) % chain_length(schedule) == 0;
}

bool kind_is_message(enum schedule_kind kind)
{
    return kind >= SCHEDULE_SEND_F;
}

bool kind_is_send(enum schedule_kind kind)
{
    return kind == SCHEDULE_SEND_F || kind == SCHEDULE_SEND_B;
}

bool kind_is_backward(enum schedule_kind kind)
{
    return kind == SCHEDULE_I || kind == SCHEDULE_B;
}

int message_partner(const struct schedule_action *message)
{
    bool up = message->kind == SCHEDULE_SEND_F || message->kind == SCHEDULE_RECV_B;
    return up ? message->stage + 1 : message->stage - 1;
}

struct schedule *schedule_new(const struct schedule_plan *plan, char *why, size_t room)
{
    struct schedule *computations = kinds_make(plan, why, room);
    if (!computations)
        return NULL;
    struct schedule *schedule = messages_add(computations, plan->messages, why, room);
    schedule_free(computations);
    return schedule;
}
