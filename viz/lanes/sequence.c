/* Program order between the communications of a rank, drawn only where no path of data says it
 * already. Part of collecting a scene: see scene.h. */
#include "viz/lanes/scene.h"

#include <stdlib.h>

bool mark_communicates(const struct mark *mark)
{
    return mark->shape == MARK_SEND || mark->shape == MARK_RECEIVE ||
           mark->shape == MARK_COLLECTIVE || mark->shape == MARK_WAIT;
}

/* When an operation, or the one that stands for a node, was issued: its place in the rank's program
 * order. */
static uint32_t issued(const struct scene *scene, uint32_t mark)
{
    uint32_t op = scene->marks[mark].op;
    return op == TRACE_NO ? TRACE_NO : trace_op_seq(scene->trace, &scene->trace->ops[op]);
}

struct turn { /* a communication of a rank, for sorting into program order */
    uint32_t rank, pass, sequence, mark;
};

static int compare_turns(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->pass != y->pass)
        return x->pass < y->pass ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return x->mark < y->mark ? -1 : x->mark > y->mark;
}

static size_t collect_turns(struct scene *scene, struct turn *turns)
{
    size_t count = 0;
    for (uint32_t i = 0; i < scene->mark_count; i++) {
        const struct mark *mark = &scene->marks[i];
        bool program = mark->node == TRACE_NO ||
                       scene_mode_of(scene->trace, mark->rank, mark->pass) == PASS_PROGRAM;
        if ((mark_communicates(mark) || mark->node == TRACE_NO) && mark->op != TRACE_NO && program)
            turns[count++] = (struct turn){mark->rank, mark->pass, issued(scene, i), i};
    }
    if (count)
        qsort(turns, count, sizeof *turns, compare_turns);
    return count;
}

/* For every mark the latest communication before it that a path of data leads from: its turn plus
 * one, 0 for none. Marks are visited in topological order of the links there are; on a cycle the
 * answer stays too small. */
static void reach_turns(struct scene *scene, const uint32_t *turn_of, uint32_t *latest)
{
    size_t n = scene->mark_count, head = 0, tail = 0;
    size_t *begin = scene_allocate(scene, n + 2, sizeof *begin);
    uint32_t *target = scene_allocate(scene, scene->link_count, sizeof *target);
    uint32_t *waiting = scene_allocate(scene, n, sizeof *waiting);
    uint32_t *queue = scene_allocate(scene, n, sizeof *queue);
    for (size_t i = 0; !scene->exhausted && i < scene->link_count; i++) {
        begin[scene->links[i].from + 2]++;
        waiting[scene->links[i].to]++;
    }
    for (size_t i = 0; !scene->exhausted && i < n; i++) {
        begin[i + 2] += begin[i + 1];
        if (waiting[i] == 0)
            queue[tail++] = (uint32_t)i;
    }
    for (size_t i = 0; !scene->exhausted && i < scene->link_count; i++)
        target[begin[scene->links[i].from + 1]++] = scene->links[i].to;
    while (head < tail) {
        uint32_t at = queue[head++];
        uint32_t here = turn_of[at] > latest[at] ? turn_of[at] : latest[at];
        for (size_t k = begin[at]; k < begin[at + 1]; k++) {
            if (here > latest[target[k]])
                latest[target[k]] = here;
            if (--waiting[target[k]] == 0)
                queue[tail++] = target[k];
        }
    }
    free(begin);
    free(target);
    free(waiting);
    free(queue);
}

/* Program order between the communications of a rank, where no path of data says it already. */
void scene_sequence(struct scene *scene)
{
    struct turn *turns = scene_allocate(scene, scene->mark_count, sizeof *turns);
    uint32_t *turn_of = scene_allocate(scene, scene->mark_count, sizeof *turn_of);
    uint32_t *latest = scene_allocate(scene, scene->mark_count, sizeof *latest);
    size_t count = scene->exhausted ? 0 : collect_turns(scene, turns);
    for (size_t i = 0; i < count; i++)
        turn_of[turns[i].mark] = (uint32_t)i + 1;
    if (count)
        reach_turns(scene, turn_of, latest);
    for (size_t i = 1; i < count && !scene->exhausted; i++) {
        const struct turn *a = &turns[i - 1], *b = &turns[i];
        bool implied = latest[b->mark] == i; /* a path from the turn before */
        if (a->rank == b->rank && a->pass == b->pass && !implied)
            scene_add_link(scene, a->mark, b->mark,
                           scene->marks[b->mark].node == TRACE_NO ? LINK_SEQUENCE : LINK_ORDER);
    }
    free(turns);
    free(turn_of);
    free(latest);
}
