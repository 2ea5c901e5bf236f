/* A scene: the marks, links and lanes of one picture, before anybody knows in which format it will
 * be written.
 *
 * Made in this order, each step by one file:
 *   collect.c  marks and links from the trace, without texts
 *   blame.c    what the findings say: tones, taint, missing order, repairs
 *   waits.c    where the run stood still: the blocked frontier, wait-for links, the table
 *   alike.c    ranks that are alike, drawn in one lane
 *   repeats.c  iterations that are alike, drawn once
 *   reduce.c   what fits: the neighbourhood of the findings, equal runs collapsed
 *   label.c    texts and sizes of the marks that are left; ranks.c, title.c
 *   layout.c   columns, rows, coordinates, routes
 *   dot.c, draw.c  write it
 *
 * Rules: 1. marks are grouped by rank, in the order of the trace within a rank. 2. link ends are
 * mark indices. 3. y grows downwards, the unit is the point. 4. every string is in the scene's
 * arena. */
#ifndef VIZ_LANES_SCENE_H
#define VIZ_LANES_SCENE_H

#include "traces/base/failure.h"
#include "traces/trace/finding.h"
#include "traces/trace/trace.h"
#include "viz/lanes/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mark_shape {
    MARK_COMPUTE,
    MARK_SEND,
    MARK_RECEIVE,
    MARK_COLLECTIVE,
    MARK_WAIT,
    MARK_SEED,
    MARK_LEAF,
    MARK_RUN, /* several equal marks, collapsed */
    MARK_END  /* a rank that finished while others wait for it */
};

enum mark_tone {
    TONE_PLAIN,
    TONE_QUIET,   /* away from what the picture is about */
    TONE_NEVER,   /* never reached */
    TONE_TAINTED, /* computed from something wrong */
    TONE_WAITS,   /* blocked, outside the core */
    TONE_FAULT    /* what the finding is about */
};

enum link_kind {
    LINK_DATA,
    LINK_ORDER,    /* order only: joins, chains, program order between communications */
    LINK_SEQUENCE, /* program order of a trace without a DAG */
    LINK_MESSAGE,
    LINK_COULD,   /* a message that could have matched */
    LINK_ADJOINT, /* forward operation to its adjoint */
    LINK_WAIT_CORE,
    LINK_WAIT_OUTSIDE,
    LINK_MISSING, /* the order that is missing */
    LINK_REPAIR,  /* the order to add */
    LINK_HIDDEN,  /* a send and the wait that completes its receive: moves columns, is not drawn */
    LINK_ABREAST, /* two marks for one column, not drawn */
    LINK_KINDS
};

struct leaf { /* the gradients that come out at one leaf */
    const struct trace_gradient *worst;
    size_t checked, failed;
};

/* How the peers of a mark are to be read that stands for several ranks: a bit per peer. */
enum peer_bits { PEER_RELATIVE = 1, PEER_AROUND = 4 };

struct mark {
    uint32_t rank, node, op; /* node and op: indices or TRACE_NO */
    uint32_t pass;
    uint32_t group;  /* marks of one collective share it; TRACE_NO */
    uint32_t before; /* the mark of the same group in the lane above, TRACE_NO; set by layout */
    uint32_t repeat; /* how many equal marks stand here */
    uint32_t alike;  /* of how many ranks, all alike, it is; 1: of its own */
    uint64_t among;  /* messages among those ranks that both start and end here */
    uint64_t times;  /* of a loop: in how many iterations, with those that were not recorded; 0 */
    uint8_t shape, tone;
    uint8_t peers; /* enum peer_bits << peer */
    bool blocked, never;
    bool named;        /* by a finding, and not as a consequence */
    bool spoiled;      /* its values are wrong, and what they reach */
    bool wrong;        /* a leaf whose gradient differs from the reference */
    const char *badge; /* "G001 first wrong adjoint", NULL */
    struct leaf leaf;
    const char *spread; /* its peers, where it stands for several with others; NULL */
    const char *name, *note, *place, *tip;
    uint32_t column;
    double row; /* in rows from the middle of the lane */
    double x, y, width, height;
};

struct route_point {
    double x, y;
};

/* Cubic Bezier: first point, then three per segment; no points: a straight line between the marks.
 * The last point is the tip of the arrow. */
struct route {
    uint32_t count;
    struct route_point points[10];
    double label_x, label_y;
};

struct link {
    uint32_t from, to;
    uint32_t op;      /* the send of a message, TRACE_NO */
    uint64_t repeat;  /* how many equal ones it is */
    uint32_t ends[2]; /* the ranks it goes from and to, where ranks are drawn in one lane */
    uint8_t kind;
    bool quiet, never;
    const char *label, *tip;
    struct route
        *route; /* NULL before layout, and for straight lines without a label; in the arena */
};

struct lane {
    uint32_t rank;
    uint32_t first, end; /* its marks */
    double top, middle, height;
    uint32_t alike;         /* how many ranks it is the lane of */
    uint32_t hidden_before; /* ranks left out between the lane above and this one */
    const char *name, *tip; /* "rank 3", "ranks 4, 6-9" */
};

struct unmatched {        /* a row of the table beside a deadlock */
    uint32_t rank, alike; /* alike: of how many ranks it is, in one lane */
    int32_t peer;         /* the rank that `needs` ends in, TRACE_NONE */
    uint8_t same;         /* set by scene_table */
    const char *ranks, *operation, *needs;
};

struct arena_block;

struct scene {
    const struct trace *trace;
    const struct findings *findings; /* never NULL */
    const struct viz_options *options;
    enum viz_view view;

    struct mark *marks;
    size_t mark_count, mark_room;
    struct link *links;
    size_t link_count, link_room;
    uint32_t *mark_of_node, *mark_of_op; /* TRACE_NO: not in the picture */

    uint32_t *leader; /* by rank: the first of those in whose lane it is; NULL: each has its own */
    uint32_t *next_alike; /* by rank: the next one in its lane, TRACE_NO */
    struct lane *lanes;
    size_t lane_count;
    struct unmatched *table;
    size_t table_count, table_room, table_more;
    double table_x, table_y, table_width, table_columns[2]; /* where they begin */

    const char *verdict; /* "DEADLOCK D001", "2 findings"; NULL: nothing is wrong */
    const char *title, *remark;
    const char *subtitles[5]; /* NULL after the last */
    bool good;                /* a gradient check passed */
    size_t shown, total;      /* operations in the picture and in the run */
    size_t ranks_hidden;
    double label_width;   /* of the lanes' names */
    double width, height; /* of the lanes together */
    bool frontier;        /* blocked marks stand in one column */
    size_t brackets;      /* wait-for links that go round on the right; set by layout */
    bool standstill; /* the picture is about a hang, real or possible: everything else steps back */

    struct arena_block *arena;
    bool exhausted; /* an allocation failed: the scene is not to be used */
};

void scene_init(struct scene *scene, const struct trace *trace, const struct findings *findings,
                const struct viz_options *options);
void scene_release(struct scene *scene);

/* Both return the index, TRACE_NO when memory ran out (scene->exhausted is then set). */
uint32_t scene_add_mark(struct scene *scene, const struct mark *mark);
uint32_t scene_add_link(struct scene *scene, uint32_t from, uint32_t to, enum link_kind kind);
void scene_add_row(struct scene *scene, uint32_t rank, const char *operation, const char *needs,
                   int32_t peer);

/* A formatted string in the arena; "" when memory ran out. */
const char *scene_text(struct scene *scene, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Zeroed memory in the arena, NULL when it ran out. */
void *scene_arena(struct scene *scene, size_t size);

/* calloc that marks the scene as exhausted. */
void *scene_allocate(struct scene *scene, size_t count, size_t size);

/* Runs every step up to layout. False: out of memory or a bad finding index, said in `failure`. */
bool scene_build(struct scene *scene, struct failure *failure);

/* The steps (see above). */
void scene_collect(struct scene *scene);
void scene_blame(struct scene *scene);
void scene_waits(struct scene *scene); /* part of blame: who waits for whom at the end of the run */
void scene_reduce(struct scene *scene);
void scene_label(struct scene *scene);
void scene_layout(struct scene *scene);

static inline bool link_label_is_blue(const struct link *link)
{
    return link->kind == LINK_COULD || link->kind == LINK_MESSAGE;
}

/* Whether a finding is about wrong numbers, which spread to what they reach. */
bool finding_spoils_values(const struct finding *finding);

/* Whether what a finding names at this index is to be seen: where a wrong value has a node, the
 * operation that its rank was in when somebody noticed is not. */
bool finding_counts(const struct finding *finding, size_t index);

/* Whether it names this as more than a consequence: where a rank only waits is one. */
bool finding_names(const struct trace *trace, const struct finding *finding, size_t index);

/* Adds another leaf's gradients. */
void leaf_take(struct leaf *leaf, const struct leaf *other);

/* One link for several equal ones. */
void scene_merge_links(struct scene *scene);

/* keys.c: what marks that are alike have in common, without their peers; its peers, TRACE_NONE for
 * none (of a Sendrecv those of both directions, of a blocked wait that of the first request that is
 * open; else as posted and as matched); that request, TRACE_NO. */
uint64_t scene_mixed(uint64_t key, uint64_t value);
uint64_t scene_key(const struct scene *scene, const struct mark *mark);
void scene_peers(const struct scene *scene, const struct mark *mark, int32_t peers[2]);
uint32_t scene_open_request(const struct scene *scene, uint32_t op);

/* ranks.c: the words for ranks that are drawn in one lane. Ascending ranks as
 * "4, 6-9". A peer of a mark: "3", "rank + 1". How
 * many messages one link is; of a wait of some of the ranks, who. */
const char *scene_ranks(struct scene *scene, const uint32_t *ranks, size_t count,
                        size_t characters);
const char *scene_alike_ranks(struct scene *scene, uint32_t leader, size_t characters);
void scene_table(struct scene *scene); /* alike rows once, no more than fit */
const char *scene_peer(struct scene *scene, const struct mark *mark, unsigned peer,
                       const char *before);
const char *scene_count_words(struct scene *scene, const struct link *link);

/* Parts of labelling. */
const char *scene_cut(struct scene *scene, const char *text); /* to the length of a label */
void scene_title(struct scene *scene);

/* Parts of reducing: ranks that are alike, iterations that are alike, and keeping the marks with keep[i], whose links then
 * start at head[i] (NULL: at themselves). */
void scene_alike(struct scene *scene);
void scene_repeats(struct scene *scene);
void scene_keep(struct scene *scene, const bool *keep, const uint32_t *head);

/* Parts of collecting. */
void scene_ends(struct scene *scene);
void scene_sequence(struct scene *scene);
bool mark_communicates(const struct mark *mark);
/* Whether a rank's pass kept program order: what a trace says nothing about did. */
enum pass_mode scene_mode_of(const struct trace *trace, uint32_t rank, uint32_t pass);

#endif
