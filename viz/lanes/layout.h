/* Parts of the layout that its files share: see layout.c. Not for others. */
#ifndef VIZ_LANES_LAYOUT_H
#define VIZ_LANES_LAYOUT_H

#include "viz/lanes/scene.h"

enum {
    LAYOUT_BRACKET_STEP = 12,
    LAYOUT_BRACKETS = 8
}; /* points between wait-for links side by side; how many */

/* The marks of a lane by column, then by the row they would like. */
struct place {
    uint32_t column, mark;
    double wish;
};

struct grid { /* all lanes' places, lane by lane in the order of the marks; links by their end */
    struct place *places;
    size_t *begin;
    uint32_t *source;
};

/* Order on a rank: what moves a mark to the right of another for certain. */
bool layout_is_order(const struct link *link);

/* columns.c: sets every mark's column. */
void layout_columns(struct scene *scene);

/* routes.c. A wait-for link that has to go round on the right, since other lanes lie between. */
bool layout_goes_round(const struct scene *scene, const struct link *link, const uint32_t *lane_of);
/* The route of a link within a lane, if it needs one; relative to the middle of the lane. `level`
 * counts the lane's arcs. */
void layout_route_in_lane(struct scene *scene, const struct grid *grid, const struct lane *lane,
                          struct link *link, uint32_t *level);
/* How far up and down a link within a lane reaches: widens *top and *bottom. */
void layout_route_span(const struct link *link, double *top, double *bottom);
/* Wait-for links between lanes, and places for labels that have none yet; when all marks stand. */
void layout_routes_between(struct scene *scene, const uint32_t *lane_of);

#endif
