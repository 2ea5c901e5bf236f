/* The messages of a schedule, put between its computations.
 *
 * Separate: a receive stands right before the computation that needs it, a send right behind the
 * one that made its value. Batched: the same, and where a send is followed by a receive from the
 * same rank, the two are one cell. Ordered: the table is run, a cell of every rank that can go at a
 * time, and when a value is made both ends of its message take their places at once, so that all
 * rows keep one common order. */
#include "collectives/systems/schedule/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The message that brings what a computation needs; false when nothing comes from elsewhere. */
static bool need_of(const struct schedule *table, const struct schedule_action *action,
                    struct schedule_action *receive)
{
    *receive = *action;
    if (action->kind == SCHEDULE_F && !stage_is_first(table, action->stage))
        receive->kind = SCHEDULE_RECV_F;
    else if (kind_is_backward(action->kind) && !stage_is_last(table, action->stage))
        receive->kind = SCHEDULE_RECV_B;
    else
        return false;
    return table->rank_of[message_partner(receive)] != table->rank_of[action->stage];
}

/* The message that carries what a computation made. */
static bool result_of(const struct schedule *table, const struct schedule_action *action,
                      struct schedule_action *send)
{
    *send = *action;
    if (action->kind == SCHEDULE_F && !stage_is_last(table, action->stage))
        send->kind = SCHEDULE_SEND_F;
    else if (kind_is_backward(action->kind) && !stage_is_first(table, action->stage))
        send->kind = SCHEDULE_SEND_B;
    else
        return false;
    return table->rank_of[message_partner(send)] != table->rank_of[action->stage];
}

static int peer_of(const struct schedule *table, const struct schedule_action *message)
{
    return table->rank_of[message_partner(message)];
}

/* A receive joins the send before it when both meet the same rank. */
static bool meets_last(const struct schedule *table, const struct schedule *made, int rank,
                       const struct schedule_action *receive)
{
    const struct schedule_row *row = &made->rows[rank];
    if (row->cell_count == 0)
        return false;
    const struct schedule_cell *cell = &row->cells[row->cell_count - 1];
    const struct schedule_action *last = &row->actions[cell->first];
    return cell->end - cell->first == 1 && kind_is_send(last->kind) &&
           peer_of(table, last) == peer_of(table, receive);
}

static void add_separate(const struct schedule *table, struct schedule *made, int rank,
                         bool batched)
{
    const struct schedule_row *row = &table->rows[rank];
    for (size_t a = 0; a < row->action_count; a++) {
        struct schedule_action message;
        if (need_of(table, &row->actions[a], &message)) {
            if (batched && meets_last(table, made, rank, &message))
                rows_join(made, rank, message);
            else
                rows_add(made, rank, message);
        }
        rows_add(made, rank, row->actions[a]);
        if (result_of(table, &row->actions[a], &message))
            rows_add(made, rank, message);
    }
}

struct ordering {
    const struct schedule *table;
    struct schedule *made;
    bool *forward, *backward; /* [stage][microbatch] is computed */
    size_t *next;             /* per rank */
};

static size_t place(const struct ordering *ordering, int stage, int microbatch)
{
    return (size_t)stage * (size_t)ordering->table->microbatches + (size_t)microbatch;
}

static bool can_go(const struct ordering *ordering, const struct schedule_action *action)
{
    const struct schedule *table = ordering->table;
    size_t own = place(ordering, action->stage, action->microbatch);
    if (action->kind == SCHEDULE_F)
        return stage_is_first(table, action->stage) ||
               ordering->forward[place(ordering, action->stage - 1, action->microbatch)];
    if (action->kind == SCHEDULE_W)
        return ordering->backward[own];
    if (!kind_is_backward(action->kind))
        return true;
    return ordering->forward[own] &&
           (stage_is_last(table, action->stage) ||
            ordering->backward[place(ordering, action->stage + 1, action->microbatch)]);
}

static void go(struct ordering *ordering, int rank, const struct schedule_action *action)
{
    struct schedule_action send, receive;
    size_t own = place(ordering, action->stage, action->microbatch);
    rows_add(ordering->made, rank, *action);
    ordering->forward[own] = ordering->forward[own] || action->kind == SCHEDULE_F;
    ordering->backward[own] = ordering->backward[own] || kind_is_backward(action->kind);
    if (!result_of(ordering->table, action, &send))
        return;
    receive = send;
    receive.kind = send.kind == SCHEDULE_SEND_F ? SCHEDULE_RECV_F : SCHEDULE_RECV_B;
    receive.stage = message_partner(&send);
    rows_add(ordering->made, rank, send);
    rows_add(ordering->made, ordering->table->rank_of[receive.stage], receive);
}

/* False when the computations wait for each other. */
static bool add_ordered(struct ordering *ordering)
{
    const struct schedule *table = ordering->table;
    size_t left = 0;
    for (int r = 0; r < table->ranks; r++)
        left += table->rows[r].action_count;
    for (bool moved = true; left > 0 && moved;) {
        moved = false;
        for (int r = 0; r < table->ranks; r++) {
            const struct schedule_row *row = &table->rows[r];
            size_t next = ordering->next[r];
            if (next == row->action_count || !can_go(ordering, &row->actions[next]))
                continue;
            ordering->next[r]++;
            go(ordering, r, &row->actions[next]);
            moved = true;
            left--;
        }
    }
    return left == 0;
}

static bool order(const struct schedule *table, struct schedule *made)
{
    size_t entries = (size_t)table->stages * (size_t)table->microbatches;
    struct ordering ordering = {table, made, calloc(entries, sizeof(bool)),
                                calloc(entries, sizeof(bool)),
                                calloc((size_t)table->ranks, sizeof(size_t))};
    if (!ordering.forward || !ordering.backward || !ordering.next)
        abort();
    bool done = add_ordered(&ordering);
    free(ordering.forward);
    free(ordering.backward);
    free(ordering.next);
    return done;
}

struct schedule *messages_add(const struct schedule *table, const char *form, char *why,
                              size_t room)
{
    bool batched = !strcmp(form, "batched");
    struct schedule *made =
        rows_new(table->ranks, table->stages, table->chains, table->microbatches);
    if (batched || !strcmp(form, "separate")) {
        for (int r = 0; r < table->ranks; r++)
            add_separate(table, made, r, batched);
        return made;
    }
    if (strcmp(form, "ordered"))
        snprintf(why, room, "messages can be separate, batched or ordered, not \"%s\"", form);
    else if (order(table, made))
        return made;
    else
        snprintf(why, room, "the computations of this schedule wait for each other");
    schedule_free(made);
    return NULL;
}
