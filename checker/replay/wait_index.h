/* What the questions to a wait graph that is complete need (waits.h): its edges by where they end, the ranks of each component, and room that
 * is made once, so that a question takes the time of what it is about. */
#ifndef CHECKER_REPLAY_WAIT_INDEX_H
#define CHECKER_REPLAY_WAIT_INDEX_H

#include "checker/replay/waits.h"

struct round;

void wait_graph_index(struct wait_graph *graph);
void wait_graph_index_release(struct wait_graph *graph);
/* Room for looking for cycles. */
struct round *round_new(const struct wait_graph *graph);
void round_free(struct round *round);

#endif
