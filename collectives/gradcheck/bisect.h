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
    double coarse;  /* the part of it that the values' own rounding makes */
    double out, in; /* sums of <y_bar, y_dot> and of <x_bar, x_dot> */
    /* the same of the rank that is being added, and their bounds over the ranks added before */
    int adding, members;
    double rank_out, rank_in, out_low, out_high, in_low, in_high;
    bool collective, replicates;  /* members of one collective; f, see operations/replicate.c */
    double weight_out, weight_in; /* of the two sums in the defect */
    struct bisect_exact {         /* the same with exact tangents */
        const struct probe_node *node;
        double defect, scale;
        bool unknown; /* a member has none */
    } exact;
};

struct bisect {
    struct gradcheck *check;
    struct diff_probe traced, above, below;
    struct diff_probe carried; /* where tangents are carried; only where they are asked for */
    struct gradcheck_direction direction;
    double step;
    struct entry *entries;
    size_t *begin; /* first entry of a rank */
    size_t count;
    uint32_t epoch;
    bool cut;                    /* see struct probe_objective */
    bool replicated;             /* J is one value, of which every rank has a copy */
    const struct entry *outside; /* the newest that uses a constant which moves */
    bool outside_number;         /* a factor of its own */
};

/* One more traced world: `step` along the direction, or one that carries it as a tangent; and
 * whether two have the same nodes, of the same lengths. */
bool bisect_world(struct bisect *bisect, struct diff_probe *probe, double step, bool carries);
bool bisect_same_nodes(const struct diff_probe *a, const struct diff_probe *b);
/* The entry of a node by its sequence number; NULL: it has none. */
struct entry *bisect_entry(const struct bisect *bisect, int rank, uint32_t epoch,
                           uint32_t sequence);
/* The newest member of a group on any rank: it stands for the group. */
const struct entry *bisect_member(struct bisect *bisect, size_t group);
size_t bisect_group(struct bisect *bisect, size_t at);
bool bisect_is_defective(const struct bisect *bisect, const struct entry *group);
double bisect_tangent(const struct bisect *bisect, const struct entry *entry, uint32_t output,
                      size_t part);
/* What the recorder noted of a node; NULL: it is not known. */
const struct probe_record *bisect_recorded(const struct bisect *bisect, const struct entry *entry);
/* Points the culprit at an operation. */
void bisect_report(struct bisect *bisect, const struct entry *told);

/* Why differences of J may contradict a gradient that no operation's adjoint makes wrong: each lies
 * between the slopes to both sides along the direction, and some of these differ; or values are
 * rounded so coarsely that the step changes them by chance. Runs the worlds, for this one question. */
enum bisect_reason { BISECT_NO_REASON, BISECT_KINKS, BISECT_STAIRS };
enum bisect_reason bisect_reason(struct bisect *bisect);

/* What is special about a defective group is said in the culprit's text. */
void bisect_explain_group(struct bisect *bisect, const struct entry *group);
/* Where differences see nothing: the newest group in whose adjoint and tangent are not each other's
 * transpose, to rounding; NULL where that is not known, or there is none. */
const struct entry *bisect_exact_find(struct bisect *bisect);
/* What is said of it besides its name. */
void bisect_explain_exact(struct bisect *bisect, const struct entry *group);
/* Looks for what leaves the tape, and, where all adjoints are right, for what is missing. */
bool bisect_explain_outside(struct bisect *bisect);
void bisect_explain_nothing(struct bisect *bisect);

#endif
