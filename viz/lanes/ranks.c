/* The words for ranks that are drawn in one lane: who they are, with whom they communicate, how
 * many messages one arrow is. Part of labelling and layout: see scene.h. */
#include "viz/lanes/scene.h"

#include <inttypes.h>
#include <stdio.h>
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

/* The next rank of a lane at or after this one, the number of ranks past the last. */
static uint32_t next_of(const struct scene *scene, uint32_t leader, uint32_t rank)
{
    while (rank < scene->trace->ranks && scene->leader[rank] != leader)
        rank++;
    return rank;
}

const char *scene_lane_name(struct scene *scene, uint32_t leader, size_t characters)
{
    enum { STEPS_MIN = 4 }; /* so many at equal steps are one part */
    struct list list = {.limit = characters < sizeof list.text ? characters : sizeof list.text - 1};
    uint32_t ranks = scene->trace->ranks;
    if (!scene->leader || next_of(scene, leader, leader + 1) == ranks)
        return scene_text(scene, "rank %" PRIu32, leader);
    for (uint32_t first = leader; first < ranks;) {
        uint32_t last = next_of(scene, leader, first + 1), step = last - first, count = 2, next;
        if (last == ranks) {
            put_run(&list, first, first, 0);
            break;
        }
        for (; (next = next_of(scene, leader, last + 1)) < ranks && next - last == step; count++)
            last = next;
        if (step > 1 && count < STEPS_MIN) { /* the first alone: a run may begin behind it */
            put_run(&list, first, first, 0);
            first += step;
        } else {
            put_run(&list, first, last, step);
            first = next;
        }
    }
    return scene_text(scene, "ranks %s%s", list.text, list.cut ? ", ..." : "");
}

const char *scene_peer(struct scene *scene, const struct mark *mark, unsigned peer,
                       const char *before)
{
    int32_t peers[2], ranks = (int32_t)scene->trace->ranks;
    scene_peers(scene, mark, peers);
    if (peers[peer] == TRACE_NONE && !*before)
        return "nobody";
    if (!(mark->peers & PEER_RELATIVE << peer))
        return scene_text(scene, "%s%" PRId32, before, peers[peer]);
    int32_t offset = (peers[peer] - (int32_t)mark->rank + ranks) % ranks;
    bool down = offset > ranks / 2;
    bool around = mark->peers & PEER_AROUND << peer;
    return scene_text(scene, "rank %c %" PRId32 "%s", down ? '-' : '+',
                      down ? ranks - offset : offset,
                      around ? scene_text(scene, " mod %" PRId32, ranks) : "");
}

const char *scene_count_words(struct scene *scene, const struct link *link)
{
    uint32_t from = scene->marks[link->from].alike, to = scene->marks[link->to].alike;
    bool message = link->kind == LINK_MESSAGE;
    bool wait = link->kind == LINK_WAIT_CORE || link->kind == LINK_WAIT_OUTSIDE;
    bool all = link->repeat == (uint64_t)from * to; /* each waits, for each: that is seen */
    if ((from == 1 && to == 1) || (!message && !wait) || (wait && all))
        return "";
    if (link->repeat > 1)
        return scene_text(scene, "%" PRIu32 " %s", link->repeat, message ? "messages" : "waits");
    if (from > 1 && to > 1)
        return scene_text(scene, "%" PRIu32 " to %" PRIu32, link->ends[0], link->ends[1]);
    return scene_text(scene, "rank %" PRIu32, link->ends[from == 1]);
}
