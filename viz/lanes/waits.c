/* Where a run stood still: the blocked frontier, who waits for whom, and the table of what is
 * unmatched.
 *
 * A rank stands in at most one operation. A send or receive waits for its peer, a wait for the
 * peers of the requests that are not complete, a collective for every member that has not come, a
 * lock for who has it. An
 * arrow goes to where that rank stands, or to its end. Whether a blocked mark is in the core is the
 * checker's word (its tone); without a finding every blocked mark counts as waiting. */
#include "viz/lanes/scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct standing { /* by rank: the mark to which an arrow to this rank goes, TRACE_NO for none */
    uint32_t *mark;
};

/* In a hang that did not happen, an operation still waits although it was matched in this run. */
static bool is_open(const struct scene *scene, uint32_t mark, uint32_t match)
{
    return match == TRACE_NO || !scene->marks[mark].blocked;
}

static void link_wait(struct scene *scene, const struct standing *standing, uint32_t from,
                      int32_t rank)
{
    if (rank < 0 || (uint32_t)rank >= scene->trace->ranks || standing->mark[rank] == TRACE_NO ||
        standing->mark[rank] == from)
        return;
    uint32_t to = standing->mark[rank];
    bool core = scene->marks[from].tone == TONE_FAULT &&
                (scene->marks[to].tone == TONE_FAULT || scene->marks[to].shape == MARK_END);
    scene_add_link(scene, from, to, core ? LINK_WAIT_CORE : LINK_WAIT_OUTSIDE);
}

static const char *operation_name(struct scene *scene, uint32_t op)
{
    const struct trace_op *row = &scene->trace->ops[op];
    return scene_text(scene, "%s #%" PRIu64, op_kind_name(row->kind),
                      trace_op_number(scene->trace, op));
}

static const char *counterpart(const struct trace_op *op)
{
    return op_kind_class(op->kind) == CLASS_SEND ? "a receive" : "a send";
}

static void wait_for_peer(struct scene *scene, const struct standing *standing, uint32_t mark,
                          uint32_t op)
{
    const struct trace_op *row = &scene->trace->ops[op];
    if (row->peer == TRACE_ANY) {
        scene_add_row(scene, row->rank, operation_name(scene, op), "a send on any rank",
                      TRACE_NONE);
        return;
    }
    link_wait(scene, standing, mark, row->peer);
    scene_add_row(scene, row->rank, operation_name(scene, op),
                  is_open(scene, mark, row->match)
                      ? scene_text(scene, "%s on", counterpart(row))
                      : "the rest of a batch on", /* it is matched, and does not move */
                  row->peer);
}

static void wait_for_requests(struct scene *scene, const struct standing *standing, uint32_t mark,
                              uint32_t op)
{
    enum { LIMIT = 64 };
    uint32_t starts[LIMIT];
    size_t count = trace_op_requests(scene->trace, op, starts, LIMIT);
    for (size_t i = 0; i < count && i < LIMIT; i++) {
        const struct trace_op *start = &scene->trace->ops[starts[i]];
        enum op_class class = op_kind_class(start->kind);
        if (is_open(scene, mark, start->match) && start->peer != TRACE_NONE &&
            (class == CLASS_SEND || class == CLASS_RECEIVE))
            wait_for_peer(scene, standing, mark, starts[i]);
    }
}

/* Whether a rank has entered this collective. Freeing its communicator instead is not entering it.
 */
static bool has_come(const struct trace *trace, uint32_t rank, const struct trace_op *meeting)
{
    for (size_t i = trace->rank_begin[rank + 1]; i > trace->rank_begin[rank]; i--) {
        const struct trace_op *op = &trace->ops[i - 1];
        bool gives_up = op->kind == OP_COMM_FREE && meeting->kind != OP_COMM_FREE;
        if (op->form->comm == meeting->form->comm && op_kind_class(op->kind) == CLASS_COLLECTIVE &&
            !gives_up)
            return op->comm_seq >= meeting->comm_seq && op->state != STATE_NEVER;
    }
    return false;
}

/* Whether a rank of a hang that did not happen is in the same collective. */
static bool stands_with(const struct scene *scene, const struct standing *standing, uint32_t mark,
                        int32_t rank)
{
    uint32_t other = standing->mark[rank];
    return other == TRACE_NO || other == mark || scene->marks[other].op == TRACE_NO ||
           (scene->marks[other].group != TRACE_NO &&
            scene->marks[other].group == scene->marks[mark].group);
}

static int compare_ranks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void wait_for_members(struct scene *scene, const struct standing *standing, uint32_t mark,
                             uint32_t op)
{
    enum { CHARACTERS = 20 };
    const struct trace *trace = scene->trace;
    const struct trace_op *row = &trace->ops[op];
    const struct trace_comm *comm =
        row->form->comm < trace->comm_count ? &trace->comms[row->form->comm] : NULL;
    size_t count = 0;
    uint32_t size = comm && comm->members                ? comm->size
                    : comm && comm->size == trace->ranks ? trace->ranks
                                                         : 0;
    uint32_t *missing = scene_allocate(scene, size, sizeof *missing);
    for (uint32_t i = 0; missing && i < size; i++) {
        int32_t rank = comm->members ? comm->members[i] : (int32_t)i;
        if (rank < 0 || (uint32_t)rank >= trace->ranks ||
            (scene->marks[mark].blocked && has_come(trace, (uint32_t)rank, row)) ||
            (!scene->marks[mark].blocked && stands_with(scene, standing, mark, rank)))
            continue;
        link_wait(scene, standing, mark, rank);
        missing[count++] = (uint32_t)rank;
    }
    if (count) {
        qsort(missing, count, sizeof *missing, compare_ranks);
        scene_add_row(scene, row->rank, operation_name(scene, op),
                      scene_text(scene, "rank%s %s to join", count > 1 ? "s" : "",
                                 scene_ranks(scene, missing, count, CHARACTERS)),
                      TRACE_NONE);
    } else if (row->kind == OP_INTERCOMM_CREATE &&
               row->peer >= 0) { /* all of its group are there */
        link_wait(scene, standing, mark, row->peer);
        scene_add_row(scene, row->rank, operation_name(scene, op), "the other group's leader,",
                      row->peer);
    }
    free(missing);
}

/* A lock, a start, a wait of a window. */
static void wait_in_window(struct scene *scene, const struct standing *standing, uint32_t mark,
                           uint32_t op)
{
    const struct trace *trace = scene->trace;
    const struct trace_op *row = &trace->ops[op];
    bool lock = row->kind == OP_WIN_LOCK || row->kind == OP_WIN_LOCK_ALL;
    for (uint32_t rank = 0; rank < trace->ranks && lock; rank++)
        if (rank != row->rank && trace_has_lock(trace, rank, row)) {
            link_wait(scene, standing, mark, (int32_t)rank);
            scene_add_row(scene, row->rank, operation_name(scene, op), "an unlock on",
                          (int32_t)rank);
        }
    if ((row->kind == OP_WIN_START || row->kind == OP_WIN_WAIT) && row->peer >= 0) {
        link_wait(scene, standing, mark, row->peer);
        scene_add_row(scene, row->rank, operation_name(scene, op),
                      row->kind == OP_WIN_START ? "Win_post on" : "Win_complete on", row->peer);
    }
}

static void wait_of(struct scene *scene, const struct standing *standing, uint32_t at)
{
    uint32_t op = scene->marks[at].op;
    if (op == TRACE_NO)
        return;
    switch (op_kind_class(scene->trace->ops[op].kind)) {
    case CLASS_SEND:
    case CLASS_RECEIVE:
    case CLASS_PROBE:
        wait_for_peer(scene, standing, at, op);
        break;
    case CLASS_WAIT:
        wait_for_requests(scene, standing, at, op);
        break;
    case CLASS_COLLECTIVE:
        wait_for_members(scene, standing, at, op);
        break;
    case CLASS_CONTROL:
        wait_in_window(scene, standing, at, op);
        break;
    default:
        break;
    }
}

/* The rest of the picture steps back where the run stands still. */
static void quieten(struct scene *scene)
{
    for (size_t i = 0; i < scene->mark_count; i++) {
        struct mark *mark = &scene->marks[i];
        if (mark->never)
            mark->tone = TONE_NEVER;
        else if (mark->blocked && mark->tone < TONE_WAITS)
            mark->tone = TONE_WAITS;
        else if ((scene->frontier || scene->standstill) && mark->tone == TONE_PLAIN &&
                 mark->shape != MARK_END)
            mark->tone = TONE_QUIET;
    }
    for (size_t i = 0; i < scene->link_count; i++) {
        struct link *link = &scene->links[i];
        const struct mark *from = &scene->marks[link->from], *to = &scene->marks[link->to];
        link->never = to->tone == TONE_NEVER;
        link->quiet =
            from->tone == TONE_QUIET && to->tone == TONE_QUIET && link->kind != LINK_REPAIR;
    }
}

/* Where each rank stands at the end of the run; its end where it is over. */
static void find_frontier(struct scene *scene, struct standing *standing)
{
    for (uint32_t i = 0; i < scene->mark_count; i++) {
        struct mark *mark = &scene->marks[i];
        if (mark->blocked || (mark->shape == MARK_END && standing->mark[mark->rank] == TRACE_NO))
            standing->mark[mark->rank] = i;
        scene->frontier = scene->frontier || mark->blocked;
    }
}

/* Where each rank would stand in the hang that a finding says is possible. */
static void find_possible(struct scene *scene, struct standing *standing)
{
    for (size_t i = 0; i < scene->findings->count; i++) {
        const struct finding *finding = &scene->findings->items[i];
        bool drawn = scene->options->finding < 0 || (size_t)scene->options->finding == i;
        for (size_t k = 0; drawn && finding->code[0] == 'D' && k < finding->op_count; k++) {
            uint32_t op = finding->ops[k].op;
            uint32_t mark = op < scene->trace->op_count ? scene->mark_of_op[op] : TRACE_NO;
            if (mark != TRACE_NO && strcmp(finding->ops[k].role, "core") == 0 &&
                standing->mark[scene->marks[mark].rank] == TRACE_NO)
                standing->mark[scene->marks[mark].rank] = mark;
        }
    }
}

/* Messages that were sent for nobody to receive: what somebody else waits for may be among them. */
static void list_unreceived(struct scene *scene)
{
    for (uint32_t op = 0; op < scene->trace->op_count && !scene->exhausted; op++) {
        const struct trace_op *row = &scene->trace->ops[op];
        if (op_kind_class(row->kind) == CLASS_SEND && row->match == TRACE_NO && row->peer >= 0 &&
            row->state == STATE_COMPLETE)
            scene_add_row(scene, row->rank, operation_name(scene, op), "a receive on", row->peer);
    }
}

void scene_waits(struct scene *scene)
{
    struct standing standing = {scene_allocate(scene, scene->trace->ranks, sizeof *standing.mark)};
    if (!standing.mark)
        return;
    for (uint32_t rank = 0; rank < scene->trace->ranks; rank++)
        standing.mark[rank] = TRACE_NO;
    find_frontier(scene, &standing);
    if (!scene->frontier)
        find_possible(scene, &standing);
    quieten(scene);
    for (uint32_t rank = 0; rank < scene->trace->ranks && !scene->exhausted; rank++)
        if (standing.mark[rank] != TRACE_NO && scene->marks[standing.mark[rank]].shape != MARK_END)
            wait_of(scene, &standing, standing.mark[rank]);
    if (scene->frontier)
        list_unreceived(scene);
    else
        scene->table_count = 0; /* nothing is unmatched in a run that ended */
    free(standing.mark);
}
