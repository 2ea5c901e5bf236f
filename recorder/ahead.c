/* What a rank's records say too early: see rank.h.
 *
 * A rank may come back from a wait ahead of its turn, and its operations are marked complete then. They
 * are that when its turn has come. Should the world end before, that has not happened, and they are as
 * they were. One that begins ahead of its first turn comes back from MPI_Init, which is recorded when
 * that turn has come, as if it were called then. */
#include "recorder/rank.h"

#include <stdlib.h>
#include <string.h>

enum before { BEFORE_OP, BEFORE_WAITS, BEFORE_INIT };

struct recorder_before {
    struct recorder_before *next;
    void *place;
    size_t size;
    enum before kind;
    _Alignas(8) char was[];
};

struct init {
    uint64_t site, now; /* when it was called, in wall time */
    int error;
};

/* False: there is no memory. */
static bool note(struct recorder_rank *me, void *place, size_t size, enum before kind)
{
    for (const struct recorder_before *at = me->before; at; at = at->next)
        if (at->place == place)
            return true;
    struct recorder_before *before = malloc(sizeof *before + size);
    if (!before)
        return false; /* of an operation it matters only should the world end now */
    *before =
        (struct recorder_before){.next = me->before, .place = place, .size = size, .kind = kind};
    memcpy(before->was, place, size);
    me->before = before;
    return true;
}

void recorder_ahead_note(struct recorder_rank *me, struct record_op *op, struct record_waits *waits)
{
    if (!me->before && !MPIX_Ahead()) /* its turn may come while it marks what one call completed */
        return;
    if (op)
        note(me, op, sizeof *op, BEFORE_OP);
    if (waits)
        note(me, waits, waits->head.size, BEFORE_WAITS);
}

bool recorder_ahead_init(struct recorder_rank *me, const void *site, int error)
{
    if (me->before || !MPIX_Ahead())
        return false;
    struct init init = {recorder_site(me, site), recorder_now(), error};
    return note(me, &init, sizeof init, BEFORE_INIT);
}

static void record_init(struct recorder_rank *me, const struct init *init)
{
    struct record_op *op = recorder_op(me, OP_INIT, STATE_BLOCKED, NULL);
    if (!op)
        return;
    recorder_op_end(me, op, init->error);
    op->site = init->site;
    op->begin = *me->pace.turned;
    op->end = op->end ? op->begin + 1 : 0;
    if (me->level == RECORD_LEVEL_EVENTS) {
        struct record_op_timed *timed = (struct record_op_timed *)op;
        timed->begin_ns = timed->end_ns = init->now;
    }
}

static void now_over(struct recorder_rank *me, const struct recorder_before *before)
{
    struct record_op *op = before->place;
    if (before->kind == BEFORE_OP && op->end)
        op->end = *me->pace.turned + 1;
    if (before->kind == BEFORE_INIT)
        record_init(me, (const struct init *)before->was);
}

/* Of a receive that was started, what it has is known as it would be without that. */
static void restore(const struct recorder_before *before)
{
    bool is_op = before->kind == BEFORE_OP;
    struct record_op now;
    if (before->kind == BEFORE_INIT)
        return;
    if (is_op)
        memcpy(&now, before->place, sizeof now);
    memcpy(before->place, before->was, before->size);
    struct record_op *op = before->place;
    if (is_op && op->state == STATE_POSTED) {
        op->peer_matched = now.peer_matched;
        op->tag_matched = now.tag_matched;
    }
}

static struct recorder_before *take(struct recorder_rank *me)
{
    struct recorder_before *before = me->before;
    if (before)
        me->before = before->next;
    return before;
}

void recorder_ahead_over(struct recorder_rank *me)
{
    for (struct recorder_before *before; (before = take(me)); free(before))
        now_over(me, before);
}

void recorder_ahead_undo(struct recorder_rank *me)
{
    for (const struct recorder_before *before = me->before; before; before = before->next)
        restore(before);
    for (struct recorder_before *before; (before = take(me)); free(before))
        if (before->kind == BEFORE_OP)
            now_over(me, before);
}

void recorder_ahead_forget(struct recorder_rank *me)
{
    for (struct recorder_before *before; (before = take(me)); free(before))
        ;
}
