/* Naive references: each collective computed serially from all ranks' inputs, by the standard's
 * words.
 *
 * Written without looking at how the adjoints or the machine do it; the conformance suite compares
 * both. Values are parts as doubles: for a complex type two per value. */
#ifndef COLLECTIVES_OPERATIONS_REFERENCE_H
#define COLLECTIVES_OPERATIONS_REFERENCE_H

#include <diff.h>

struct reference_values {
    double *values;
    size_t count; /* in values, not parts */
};

struct reference_case {
    int ranks, root;
    size_t parts; /* per value: 1 or 2 */
    enum diff_type type;
    MPI_Op op;
    const struct diff_op_rules *rules; /* of a user op */
    struct reference_values *x;        /* [ranks] */
    struct reference_values *y;        /* [ranks], filled in; count is set by the caller */
    /* v-forms: [ranks * ranks], row: this rank, column: its peer; rooted forms use the root's row
     */
    const int *send_counts, *receive_counts;
    /* neighborhoods: for every rank its neighbors in order */
    const int *const *sources, *const *destinations;
    const int *source_counts, *destination_counts;
    const int *const *edge_counts; /* values along each outgoing edge; NULL: all alike */
};

/* Folds `count` values from `begin` of the contributions of ranks 0 .. last. */
void reference_fold(const struct reference_case *all, const struct reference_values *x,
                    size_t begin, size_t count, int last, double *y);
/* Copies `count` values. */
void reference_copy(const struct reference_case *all, double *to, size_t to_begin,
                    const double *from, size_t from_begin, size_t count);
/* The reference of the collective called like the operation ("Allreduce"); NULL if there is none.
 */
typedef void reference_function(const struct reference_case *all);
reference_function *reference_find(const char *name);

#endif
