/* The search for the first wrong adjoint, between its files; nobody else includes this. */
#ifndef COLLECTIVES_GRADCHECK_BISECT_H
#define COLLECTIVES_GRADCHECK_BISECT_H

#include "collectives/gradcheck/internal.h"

/* A node of a rank in the flat numbering over all ranks. */
struct entry {
    const struct probe_node *node;
    const struct probe_node *above, *below; /* the same node in the moved worlds */
    int rank;
    size_t parent; /* of the group */
    double **bars; /* per output: sum of the consumers' contributions and the seed */
    bool never_ran;
    bool leaves; /* of the group: a member uses what was computed outside of the tape */
    /* of the group, at its parent */
    double defect, scale;
    double spread;  /* half of what lies between the slopes to both sides: at kinks the defect may
                       be as large */
    double out, in; /* sums of <y_bar, y_dot> and of <x_bar, x_dot> */
    /* the same of the rank that is being added, and their bounds over the ranks added before */
    int adding, members;
    double rank_out, rank_in, out_low, out_high, in_low, in_high;
    bool collective, replicates; /* members of one collective; f, see operations/replicate.c */
};

struct bisect {
    struct gradcheck *check;
    struct diff_probe traced, above, below;
    struct gradcheck_direction direction;
    double step;
    struct entry *entries;
    size_t *begin; /* first entry of a rank */
    size_t count;
    uint32_t epoch;
    bool replicated;             /* J is one value, of which every rank has a copy */
    const struct entry *outside; /* the newest that uses a constant which moves */
    bool outside_number;         /* a factor of its own */
};

size_t bisect_group(struct bisect *bisect, size_t at);
bool bisect_is_defective(const struct bisect *bisect, const struct entry *group);
double bisect_tangent(const struct bisect *bisect, const struct entry *entry, uint32_t output,
                      size_t part);
/* Points the culprit at an operation. */
void bisect_report(struct bisect *bisect, const struct entry *told);

/* Whether each operation's adjoint lies between the slopes to both sides along the direction, and
 * some of these differ. Runs the worlds, for this one question. */
bool bisect_kinks_explain(struct bisect *bisect);

/* What is special about a defective group is said in the culprit's text. */
void bisect_explain_group(struct bisect *bisect, const struct entry *group);
/* Looks for what leaves the tape, and, where all adjoints are right, for what is missing. */
bool bisect_explain_outside(struct bisect *bisect);
void bisect_explain_nothing(struct bisect *bisect);

#endif
