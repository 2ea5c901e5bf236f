/* The words for ranks that are drawn in one lane: who they are, with whom they communicate, how
 * many messages one arrow is. Part of labelling and layout: see scene.h. */
#include "viz/lanes/scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list { /* ranks as text, cut before it is longer than it may be */
    char text[1800];
    size_t length, limit;
    bool cut;
};

static void put_part(struct list *list, const char *part)
{
    size_t length = strlen(part);
    if (list->cut || list->length + 2 + length > list->limit) {
        list->cut = true;
        return;
    }
    list->length += (size_t)snprintf(list->text + list->length, sizeof list->text - list->length,
                                     "%s%s", list->length ? ", " : "", part);
}

/* "4", "4, 5", "4-9"; with a step of more than one "4, 6, ... 12". */
static void put_run(struct list *list, uint32_t first, uint32_t last, uint32_t step)
{
    char part[64];
    uint32_t count = step ? (last - first) / step + 1 : 1;
    if (count == 1)
        snprintf(part, sizeof part, "%" PRIu32, first);
    else if (count == 2)
        snprintf(part, sizeof part, "%" PRIu32 ", %" PRIu32, first, last);
    else if (step == 1)
        snprintf(part, sizeof part, "%" PRIu32 "-%" PRIu32, first, last);
    else
        snprintf(part, sizeof part, "%" PRIu32 ", %" PRIu32 ", ... %" PRIu32, first, first + step,
                 last);
    put_part(list, part);
}

const char *scene_ranks(struct scene *scene, const uint32_t *ranks, size_t count, size_t characters)
{
    enum { STEPS_MIN = 4 }; /* so many at equal steps are one part */
    struct list list = {.limit = characters < sizeof list.text ? characters : sizeof list.text - 1};
    for (size_t first = 0; first < count;) {
        size_t end = first + 1;
        uint32_t step = end < count ? ranks[end] - ranks[first] : 0;
        while (end < count && ranks[end] - ranks[end - 1] == step)
            end++;
        if (step > 1 && end - first < STEPS_MIN) /* the first alone: a run may begin behind it */
            end = first + 1;
        put_run(&list, ranks[first], ranks[end - 1], end - first > 1 ? step : 0);
        first = end;
    }
    return scene_text(scene, "%s%s", list.text, list.cut ? ", ..." : "");
}

const char *scene_alike_ranks(struct scene *scene, uint32_t leader, size_t characters)
{
    uint32_t *ranks = scene_allocate(scene, scene->trace->ranks, sizeof *ranks);
    size_t count = 0;
    for (uint32_t rank = leader; ranks && rank != TRACE_NO;
         rank = scene->leader ? scene->next_alike[rank] : TRACE_NO)
        ranks[count++] = rank;
    const char *text = scene_ranks(scene, ranks, count, characters);
    free(ranks);
    return text;
}

/* "rank + 1": where others are that are as far away from theirs. */
static const char *offset_words(struct scene *scene, uint32_t rank, int32_t peer, bool around)
{
    int32_t ranks = (int32_t)scene->trace->ranks;
    int32_t offset = (peer - (int32_t)rank + ranks) % ranks;
    bool down = offset > ranks / 2;
    return scene_text(scene, "rank %c %" PRId32 "%s", down ? '-' : '+',
                      down ? ranks - offset : offset,
                      around ? scene_text(scene, " mod %" PRId32, ranks) : "");
}

const char *scene_peer(struct scene *scene, const struct mark *mark, unsigned peer,
                       const char *before)
{
    int32_t peers[2];
    if (mark->spread)
        return mark->spread;
    scene_peers(scene, mark, peers);
    if (peers[peer] == TRACE_NONE && !*before)
        return "nobody";
    if (!(mark->peers & PEER_RELATIVE << peer))
        return scene_text(scene, "%s%" PRId32, before, peers[peer]);
    return offset_words(scene, mark->rank, peers[peer], mark->peers & PEER_AROUND << peer);
}

const char *scene_count_words(struct scene *scene, const struct link *link)
{
    uint32_t from = scene->marks[link->from].alike, to = scene->marks[link->to].alike;
    bool message = link->kind == LINK_MESSAGE;
    bool wait = link->kind == LINK_WAIT_CORE || link->kind == LINK_WAIT_OUTSIDE;
    bool all = link->repeat == (uint64_t)from * to; /* each waits, for each: that is seen */
    if ((!message && !wait) || (wait && all))
        return "";
    if (link->repeat > 1)
        return scene_text(scene, "%" PRIu64 " %s", link->repeat, message ? "messages" : "waits");
    if (from == 1 && to == 1)
        return "";
    if (from > 1 && to > 1)
        return scene_text(scene, "%" PRIu32 " to %" PRIu32, link->ends[0], link->ends[1]);
    return scene_text(scene, "rank %" PRIu32, link->ends[from == 1]);
}

/* Whether a row of the table says what that of its leader says: of the same peer, or of one as far
 * away, counted round or not. */
enum same { SAME_NOT, SAME_PEER, SAME_OFFSET, SAME_AROUND };

static enum same same_row(const struct scene *scene, const struct unmatched *a,
                          const struct unmatched *b)
{
    int64_t ranks = scene->trace->ranks, apart = ((int64_t)b->peer - a->peer) - b->rank + a->rank;
    if (strcmp(a->operation, b->operation) != 0 || strcmp(a->needs, b->needs) != 0)
        return SAME_NOT;
    if (a->peer == b->peer)
        return SAME_PEER;
    if (a->peer < 0 || b->peer < 0 || apart % ranks != 0)
        return SAME_NOT;
    return apart == 0 ? SAME_OFFSET : SAME_AROUND;
}

/* Counts at each row of a leader those of its ranks that say the same; returns by row that of its
 * leader, itself for none. Rows stand rank by rank. */
static uint32_t *lead_rows(struct scene *scene)
{
    uint32_t *begin = scene_allocate(scene, scene->trace->ranks, sizeof *begin);
    uint32_t *lead = scene_allocate(scene, scene->table_count, sizeof *lead);
    for (uint32_t i = 0; begin && lead && i < scene->table_count; i++) {
        struct unmatched *row = &scene->table[i];
        uint32_t leader = scene->leader ? scene->leader[row->rank] : row->rank;
        lead[i] = i;
        row->alike = 1;
        if (i == 0 || row->rank != row[-1].rank)
            begin[row->rank] = i;
        uint32_t at = begin[leader] + (i - begin[row->rank]);
        if (leader == row->rank || at >= i || scene->table[at].rank != leader)
            continue;
        struct unmatched *first = &scene->table[at];
        enum same same = same_row(scene, first, row);
        bool joins = same != SAME_NOT &&
                     (first->same == SAME_NOT || (first->same == SAME_PEER) == (same == SAME_PEER));
        if (!joins)
            continue;
        lead[i] = at;
        first->alike++;
        first->same = (uint8_t)(same > first->same ? same : first->same);
    }
    free(begin);
    return lead;
}

void scene_table(struct scene *scene)
{
    enum { ROWS = 12, CHARACTERS = 24 };
    uint32_t *lead = lead_rows(scene);
    size_t rows = 0, count = scene->table_count;
    for (size_t i = 0; lead && i < count; i++) {
        struct unmatched *row = &scene->table[i];
        if (lead[i] != i)
            continue;
        if (rows == ROWS) {
            scene->table_more++;
            continue;
        }
        row->ranks = row->alike > 1 ? scene_alike_ranks(scene, row->rank, CHARACTERS)
                                    : scene_text(scene, "%" PRIu32, row->rank);
        if (row->peer >= 0 && row->same > SAME_PEER)
            row->needs =
                scene_text(scene, "%s %s", row->needs,
                           offset_words(scene, row->rank, row->peer, row->same == SAME_AROUND));
        else if (row->peer >= 0)
            row->needs = scene_text(scene, "%s %" PRId32, row->needs, row->peer);
        scene->table[rows++] = *row;
    }
    scene->table_count = rows;
    free(lead);
}
