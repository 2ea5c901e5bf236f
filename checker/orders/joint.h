/* All orders and all matches of an imported plan together: what no search of orders alone or of
 * matches alone sees.
 *
 * The plan's ranks run on an abstract machine in every way that matters: which of its ready items a
 * rank takes next, and which message a wildcard takes. Ranks run as far as they can before a
 * wildcard decides, one after another: what they do commutes with what others do, and a wildcard
 * that waits only gets more to choose from. States that were seen are not visited again.
 *
 * Rules:
 *  1. Of one source's messages a receive takes the first that fits, of several receives the one
 *     posted first takes it (non-overtaking). A receive by name has no choice.
 *  2. A branch in which calls of one communicator meet other calls than in the plan is left: that
 *     is R001 or R002, reported elsewhere.
 *  3. Exact up to a number of states; beyond, nothing is said but that it was left. */
#ifndef CHECKER_ORDERS_JOINT_H
#define CHECKER_ORDERS_JOINT_H

#include "checker/orders/partial_order.h"
#include "checker/replay/plan.h"

enum { JOINT_OPS_MAX = 256, JOINT_STATES_MAX = 60000 };

enum joint_answer { JOINT_SAFE, JOINT_HANGS, JOINT_BOUNDED };

/* A way to hang, and what was seen on the way. */
struct joint_hang {
    uint32_t *stands; /* the ops in which ranks stand for ever */
    size_t stand_count;
    uint32_t *order; /* op at each position: a legal order of every rank that leads there */
    struct plan_choice *choices; /* and what wildcards take */
    size_t choice_count;
    uint32_t *takes;   /* per op, of a receive: a send that it can take, TRACE_NO */
    uint32_t *or_else; /* and another one, of another rank where it is a wildcard */
};

/* Whether the search can be made at all: not for plans with probes, batches, several threads of a
 * rank, or too many operations. */
bool check_joint_fits(const struct check_plan *plan);
/* Under a model; `minimal`: collectives wait only for the data they need. `hang` is filled when it
 * hangs; release it in any case. */
enum joint_answer check_joint_search(const struct check_plan *plan,
                                     const struct check_partial_order *reach,
                                     enum check_model model, bool minimal, struct joint_hang *hang);
void check_joint_release(struct joint_hang *hang);

#endif
