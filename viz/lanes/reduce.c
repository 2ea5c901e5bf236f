/* What fits into a picture: ranks that are alike are drawn in one lane (alike.c), iterations that
 * are alike once (repeats.c), chains of local operations collapsed, then the neighbourhood of the
 * findings is cut out.
 *
 * A picture within the limit is left alone. Otherwise chains of compute marks become one mark each
 * ("mul* x 37", or "37 local operations"); if that is not enough, marks are taken breadth first
 * from what the findings name (or from the first operations of the first ranks when there are none)
 * until the limit. */
#include "viz/lanes/scene.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT_WHOLE = 400, LIMIT_ALL = 20000, NO_FINDING_RANKS = 8 };

struct chains {
    uint32_t *in, *out; /* links into and out of each mark */
    uint32_t *next;     /* the mark at the end of the last link out */
    uint32_t *head;     /* the mark this one is collapsed into, itself if none */
};

static bool collapsible(const struct mark *mark)
{
    return mark->shape == MARK_COMPUTE && (mark->tone == TONE_PLAIN || mark->tone == TONE_QUIET) &&
           !mark->badge;
}

/* What tells equal marks from others: the name of their node, or the place of their operation. */
static uint64_t name_of(const struct scene *scene, uint32_t mark)
{
    const struct mark *row = &scene->marks[mark];
    if (row->node != TRACE_NO)
        return scene->trace->nodes[row->node].name;
    return row->op != TRACE_NO ? (uint64_t)1 << 32 | scene->trace->ops[row->op].form->site
                               : (uint64_t)2 << 32;
}

static void collapse_chain(struct scene *scene, struct chains *chains, uint32_t head)
{
    struct mark *mark = &scene->marks[head];
    bool equal = true;
    for (uint32_t at = head; chains->out[at] == 1;) {
        uint32_t next = chains->next[at];
        bool joins = chains->in[next] == 1 && chains->head[next] == next && next != head &&
                     collapsible(&scene->marks[next]) && scene->marks[next].rank == mark->rank &&
                     scene->marks[next].pass == mark->pass && scene->marks[next].tone == mark->tone;
        if (!joins)
            break;
        equal = equal && name_of(scene, next) == name_of(scene, head);
        chains->head[next] = head;
        mark->repeat++;
        at = next;
    }
    if (mark->repeat > 1) {
        mark->shape = MARK_RUN;
        mark->name = equal ? NULL : "local";
    }
}

/* Starts at marks that do not continue a chain, so that every chain is found from its head. */
static void collapse_all(struct scene *scene, struct chains *chains)
{
    bool *continues = scene_allocate(scene, scene->mark_count, sizeof *continues);
    for (uint32_t i = 0; continues && i < scene->mark_count; i++)
        if (chains->out[i] == 1 && collapsible(&scene->marks[i]))
            continues[chains->next[i]] = chains->in[chains->next[i]] == 1;
    for (uint32_t i = 0; continues && i < scene->mark_count; i++)
        if (!continues[i] && chains->head[i] == i && collapsible(&scene->marks[i]))
            collapse_chain(scene, chains, i);
    free(continues);
}

static void chains_init(struct scene *scene, struct chains *chains)
{
    size_t n = scene->mark_count;
    chains->in = scene_allocate(scene, n, sizeof(uint32_t));
    chains->out = scene_allocate(scene, n, sizeof(uint32_t));
    chains->next = scene_allocate(scene, n, sizeof(uint32_t));
    chains->head = scene_allocate(scene, n, sizeof(uint32_t));
    for (uint32_t i = 0; !scene->exhausted && i < n; i++)
        chains->head[i] = i;
    for (size_t i = 0; !scene->exhausted && i < scene->link_count; i++) {
        const struct link *link = &scene->links[i];
        chains->out[link->from]++;
        chains->in[link->to]++;
        chains->next[link->from] = link->to;
    }
}

static void chains_release(struct chains *chains)
{
    free(chains->in);
    free(chains->out);
    free(chains->next);
    free(chains->head);
}

/* A group is known by its first mark, so one that lost it gets the first that is left. */
static void renumber_groups(struct scene *scene, uint32_t *first, size_t old_count)
{
    memset(first, 0xFF, old_count * sizeof *first);
    for (uint32_t i = 0; i < scene->mark_count; i++) {
        struct mark *mark = &scene->marks[i];
        if (mark->group == TRACE_NO)
            continue;
        if (first[mark->group] == TRACE_NO)
            first[mark->group] = i;
        mark->group = first[mark->group];
    }
}

void scene_keep(struct scene *scene, const bool *keep, const uint32_t *head)
{
    size_t old_count = scene->mark_count;
    uint32_t *number = scene_allocate(scene, old_count, sizeof *number);
    if (!number)
        return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < old_count; i++) {
        number[i] = keep[i] ? kept : TRACE_NO;
        if (keep[i])
            scene->marks[kept++] = scene->marks[i];
    }
    scene->mark_count = kept;
    size_t links = 0;
    for (size_t i = 0; i < scene->link_count; i++) {
        struct link link = scene->links[i];
        link.from = number[head ? head[link.from] : link.from];
        link.to = number[head ? head[link.to] : link.to];
        if (link.from != TRACE_NO && link.to != TRACE_NO && link.from != link.to)
            scene->links[links++] = link;
    }
    scene->link_count = links;
    renumber_groups(scene, number, old_count);
    free(number);
}

static void collapse(struct scene *scene)
{
    struct chains chains;
    chains_init(scene, &chains);
    if (!scene->exhausted)
        collapse_all(scene, &chains);
    bool *keep = scene_allocate(scene, scene->mark_count, sizeof *keep);
    for (uint32_t i = 0; !scene->exhausted && i < scene->mark_count; i++)
        keep[i] = chains.head[i] == i;
    if (!scene->exhausted)
        scene_keep(scene, keep, chains.head);
    free(keep);
    chains_release(&chains);
}

struct search { /* breadth first */
    uint32_t *queue;
    size_t head, tail, limit;
    bool *seen;
    size_t *begin; /* neighbours of mark i: neighbour[begin[i] .. begin[i + 1]) */
    uint32_t *neighbour;
};

static void visit(struct search *search, uint32_t mark)
{
    if (search->seen[mark] || search->tail == search->limit)
        return;
    search->seen[mark] = true;
    search->queue[search->tail++] = mark;
}

/* Links in both directions, and the next participant of a collective in both directions. */
static void search_neighbours(struct scene *scene, struct search *search)
{
    size_t n = scene->mark_count;
    uint32_t *last = scene_allocate(scene, n, sizeof *last);
    uint32_t *previous = scene_allocate(scene, n, sizeof *previous);
    size_t *fill = scene_allocate(scene, n + 1, sizeof *fill);
    for (uint32_t i = 0; !scene->exhausted && i < n; i++) {
        uint32_t group = scene->marks[i].group;
        previous[i] = group != TRACE_NO && group != i ? last[group] : TRACE_NO;
        if (group != TRACE_NO)
            last[group] = i;
    }
    for (int round = 0; round < 2 && !scene->exhausted; round++) {
        for (size_t i = 0; i < scene->link_count + n; i++) {
            bool is_link = i < scene->link_count;
            uint32_t a = is_link ? scene->links[i].from : (uint32_t)(i - scene->link_count);
            uint32_t b = is_link ? scene->links[i].to : previous[a];
            if (b == TRACE_NO)
                continue;
            if (round == 0) {
                search->begin[a + 1]++;
                search->begin[b + 1]++;
            } else {
                search->neighbour[fill[a]++] = b;
                search->neighbour[fill[b]++] = a;
            }
        }
        for (size_t i = 0; round == 0 && i < n; i++)
            search->begin[i + 1] += search->begin[i];
        if (round == 0) {
            memcpy(fill, search->begin, (n + 1) * sizeof *fill);
            search->neighbour = scene_allocate(scene, search->begin[n], sizeof *search->neighbour);
        }
    }
    free(last);
    free(previous);
    free(fill);
}

static void search_seeds(struct scene *scene, struct search *search)
{
    for (int tone = TONE_FAULT; tone >= TONE_WAITS; tone--)
        for (uint32_t i = 0; i < scene->mark_count; i++)
            if (scene->marks[i].tone == tone)
                visit(search, i);
    for (uint32_t i = 0; i < scene->mark_count && search->tail * 4 < search->limit; i++)
        if (scene->marks[i].wrong)
            visit(search, i);
    for (uint32_t i = 0, ranks = 0; search->tail == 0 && i < scene->mark_count; i++) {
        bool first = i == 0 || scene->marks[i].rank != scene->marks[i - 1].rank;
        if (first && ranks++ < NO_FINDING_RANKS)
            search->queue[search->tail++] = i;
    }
    for (size_t i = 0; i < search->tail; i++)
        search->seen[search->queue[i]] = true;
}

static void cut_to_neighbourhood(struct scene *scene, size_t limit)
{
    struct search search = {.limit = limit};
    search.queue = scene_allocate(scene, scene->mark_count, sizeof *search.queue);
    search.seen = scene_allocate(scene, scene->mark_count, sizeof *search.seen);
    search.begin = scene_allocate(scene, scene->mark_count + 1, sizeof *search.begin);
    if (!scene->exhausted)
        search_neighbours(scene, &search);
    if (!scene->exhausted) {
        search_seeds(scene, &search);
        while (search.head < search.tail) {
            uint32_t at = search.queue[search.head++];
            for (size_t k = search.begin[at]; k < search.begin[at + 1]; k++)
                visit(&search, search.neighbour[k]);
        }
        scene_keep(scene, search.seen, NULL);
    }
    free(search.queue);
    free(search.seen);
    free(search.begin);
    free(search.neighbour);
}

static bool is_alone(const struct scene *scene, size_t at)
{
    uint32_t rank = scene->marks[at].rank;
    return scene->trace->ranks <= 64 && (at == 0 || scene->marks[at - 1].rank != rank) &&
           (at + 1 == scene->mark_count || scene->marks[at + 1].rank != rank);
}

/* Ends of ranks for which nobody waits and which did something else to be seen. */
static void drop_ends(struct scene *scene)
{
    bool *keep = scene_allocate(scene, scene->mark_count, sizeof *keep);
    if (!keep)
        return;
    size_t ends = 0;
    for (size_t i = 0; i < scene->mark_count; i++)
        keep[i] = scene->marks[i].shape != MARK_END || is_alone(scene, i);
    for (size_t i = 0; i < scene->link_count; i++)
        keep[scene->links[i].to] = true;
    for (size_t i = 0; i < scene->mark_count; i++)
        ends += !keep[i];
    scene->total -= scene->total < ends ? scene->total : ends;
    if (ends)
        scene_keep(scene, keep, NULL);
    free(keep);
}

void scene_reduce(struct scene *scene)
{
    size_t limit = scene->options->all     ? LIMIT_ALL
                   : scene->options->limit ? scene->options->limit
                                           : LIMIT_WHOLE;
    drop_ends(scene);
    if (!scene->exhausted && !scene->options->all)
        scene_alike(scene);
    if (!scene->exhausted && !scene->options->all)
        scene_repeats(scene);
    if (!scene->exhausted && scene->mark_count > limit)
        collapse(scene);
    if (!scene->exhausted && scene->mark_count > limit)
        cut_to_neighbourhood(scene, scene->options->limit ? (limit + 2) / 3 : limit);
    for (size_t i = 0; i < scene->mark_count; i++)
        scene->shown += (size_t)scene->marks[i].repeat * scene->marks[i].alike;
}
