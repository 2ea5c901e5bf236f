/* What a rank's records say too early: see rank.h.
 *
 * A rank may come back from a wait ahead of its turn, and its operations are marked complete then. They
 * are that when its turn has come. Should the world end before, that has not happened, and they are as
 * they were. */
#include "recorder/rank.h"

#include <stdlib.h>
#include <string.h>

struct recorder_before {
    struct recorder_before *next;
    void *place;
    size_t size;
    bool is_op;
    _Alignas(8) char was[];
};

static void note(struct recorder_rank *me, void *place, size_t size, bool is_op)
{
    for (const struct recorder_before *at = me->before; at; at = at->next)
        if (at->place == place)
            return;
    struct recorder_before *before = malloc(sizeof *before + size);
    if (!before)
        return; /* it matters only should the world end now */
    *before =
        (struct recorder_before){.next = me->before, .place = place, .size = size, .is_op = is_op};
    memcpy(before->was, place, size);
    me->before = before;
}

void recorder_ahead_note(struct recorder_rank *me, struct record_op *op, struct record_waits *waits)
{
    if (!me->before && !MPIX_Ahead()) /* its turn may come while it marks what one call completed */
        return;
    if (op)
        note(me, op, sizeof *op, true);
    if (waits)
        note(me, waits, waits->head.size, false);
}

void recorder_ahead_over(struct recorder_rank *me)
{
    while (me->before) {
        struct recorder_before *before = me->before;
        struct record_op *op = before->place;
        me->before = before->next;
        if (before->is_op && op->end)
            op->end = *me->pace.turned + 1;
        free(before);
    }
}

/* Of a receive that was started, what it has is known as it would be without that. */
static void restore(const struct recorder_before *before)
{
    struct record_op now;
    if (before->is_op)
        memcpy(&now, before->place, sizeof now);
    memcpy(before->place, before->was, before->size);
    struct record_op *op = before->place;
    if (before->is_op && op->state == STATE_POSTED) {
        op->peer_matched = now.peer_matched;
        op->tag_matched = now.tag_matched;
    }
}

void recorder_ahead_undo(struct recorder_rank *me)
{
    for (const struct recorder_before *before = me->before; before; before = before->next)
        restore(before);
    recorder_ahead_over(me);
}
