/* The communications of a program with marks, forward ones and those of its adjoint; between the
 * files that look for the wrong one. */
#ifndef COLLECTIVES_GRADCHECK_CALLS_H
#define COLLECTIVES_GRADCHECK_CALLS_H

#include "collectives/gradcheck/call_log.h"
#include "collectives/gradcheck/internal.h"
#include "traces/trace/kinds.h"

/* A call that takes part: `sends` and `gets` as far as the communication goes. */
struct call_member {
    int rank;
    size_t entry;
    bool sends, gets;
};

struct call_group {
    size_t first, count; /* members */
    size_t order;        /* of groups: the latest place among its rank's calls */
    int kind;            /* enum op_kind */
    bool message;
    int32_t source, target;
    bool back;           /* after the objective */
    bool moves;          /* what it gives depends on the inputs */
    bool taken;          /* a call of the adjoint answers it */
    bool asked, matters; /* whether J depends on what it gives is known, and true */
};

struct calls {
    struct gradcheck *check;
    struct call_log here, above, below;
    int ranks;
    double step, slack;
    struct call_member *members;
    struct call_group *groups;
    size_t group_count, strangers, answered; /* calls of the adjoint: unknown ones; right ones */
    const struct call_group *narrowed;       /* the first that takes in float what was a double */
    bool opaque;                             /* not all numbers are seen */
    double factor; /* of what a call of the adjoint was given, other than 1; 0: of none */
};

static inline const struct call_entry *calls_entry(const struct calls *calls,
                                                   const struct call_member *member)
{
    return &calls->here.ranks[member->rank].entries[member->entry];
}

/* The tangent of what the group gave to a rank, or of what that rank sent; the caller frees it, NULL
 * when there is none. */
double *calls_tangent(const struct calls *calls, const struct call_group *group, int rank,
                      bool got);
/* The return address of the call; of a group that of its first member. */
uint64_t calls_site(const struct calls *calls, const struct call_group *group);
/* Whether some of the numbers that a call gives do not move: counts beside sums. An adjoint may leave
 * them out, and is of another size then. */
bool calls_move_in_part(const struct calls *calls, const struct call_group *group);
/* <numbers, tangent>, and the sum of the terms' absolute values. */
double calls_product(const struct call_numbers *a, const double *b);
double calls_product_size(const struct call_numbers *a, const double *b);
/* Whether J depends on what a forward call gave: what is printed, or belongs to an adjoint that runs
 * beside the forward pass, does not matter to it. */
bool calls_matter(struct calls *calls, struct call_group *group);
/* Whether what `back` sends is what J asks of `forward`; of one rank alone, -1: of all. */
bool calls_sent_right(struct calls *calls, const struct call_group *forward,
                      const struct call_group *back, int only);
/* The one factor that all ranks of `back` have put before what they should send; 0: there is none. */
double calls_factor_of(struct calls *calls, const struct call_group *forward,
                       const struct call_group *back);
/* Whether the adjoint makes calls of the forward pass once more, from the same lines, in the same
 * order, sums among them: it solves an equation of its own, as that of an implicit derivative, and
 * its calls need not answer forward ones one by one. */
bool calls_solve_again(const struct calls *calls);
/* Says in the culprit which call is wrong, where one is. */
void calls_blame(struct calls *calls, const char *variable);

#endif
