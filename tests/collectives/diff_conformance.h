/* The conformance suite of differentiable communication: one body for all of it, on any MPI.
 *
 * A case is a collective or a message with an op, a type, a root, a communicator, counts,
 * displacements, derived datatypes, a form (blocking, nonblocking, in place) and values (random,
 * zeros, ties). Everything about every rank is a function of the case, so each rank computes all
 * ranks' inputs and the naive reference by itself and checks its own part:
 *
 *   forward   the result is the reference, bit for bit where the reduction order is the reference's
 *   fd        the gradient is that of finite differences of the reference
 *   dot       <w, J v> = <J^T w, v> over all ranks
 *   dense     the whole Jacobian, a backward pass for every result, on up to 4 ranks
 *   second    differentiating the backward pass: by the cotangent gives J v, by x the Hessian
 * product repeat    the same bits again
 *
 * Values of a run can be kept and compared with another MPI's (diff_conformance_kept.c has the
 * rule). Cases are enumerated, not sampled; `conformance_wants` thins them for quick runs. */
#ifndef TESTS_COLLECTIVES_DIFF_CONFORMANCE_H
#define TESTS_COLLECTIVES_DIFF_CONFORMANCE_H

#include <diff.h>
#include <stdint.h>
#include <stdio.h>

enum conf_op {
    CONF_SUM,
    CONF_AVG,
    CONF_PROD,
    CONF_MAX,
    CONF_MIN,
    CONF_MINLOC,
    CONF_MAXLOC,
    CONF_USER,
    CONF_OPS
};
/* INTER: two groups and an intercommunicator (diff_conformance_inter.c). */
enum conf_comm { CONF_WORLD, CONF_REVERSED, CONF_HALVES, CONF_GRAPH, CONF_INTER, CONF_COMMS };
/* TYPED: two values per block, packed by a datatype with overlaps and received through one with
 * gaps. */
enum conf_counts { CONF_TWO, CONF_ZERO, CONF_UNEQUAL, CONF_GAPS, CONF_TYPED, CONF_COUNTS };
enum conf_values {
    CONF_RANDOM,
    CONF_ONE_ZERO,
    CONF_TWO_ZEROS,
    CONF_TIES_2,
    CONF_TIES_3,
    CONF_TIES_ALL,
    CONF_VALUES
};

/* Kinds of cases: the collectives by their number, then the ways to send a message. */
enum conf_message {
    CONF_SEND = DIFF_COLLECTIVES,
    CONF_SSEND,
    CONF_BSEND,
    CONF_RSEND,
    CONF_ISEND,
    CONF_ISSEND,
    CONF_IBSEND,
    CONF_IRSEND,
    CONF_SENDRECV,
    CONF_SENDRECV_REPLACE,
    CONF_PERSISTENT,
    CONF_PROBE,
    CONF_KINDS
};

struct conf_case {
    int kind;
    enum conf_op op;
    enum diff_type type;
    enum conf_comm comm;
    enum conf_counts counts;
    enum conf_values values;
    int root; /* 0, 1: the last rank, 2: the middle one; of messages: how much is a wildcard */
    bool nonblocking, in_place, persistent;
};

struct conf_failure {
    struct conf_case at;
    char what[16]; /* "forward", "fd", ... */
    int rank;
    double got, expected, tolerance;
};

struct conf_result {
    long cases, checks, failed;
    struct conf_failure first;
    uint64_t hash; /* over all values and gradients of this rank */
};

struct conf_kept;

struct conf_options {
    unsigned thin;          /* take one case of so many, 1: all */
    unsigned part;          /* which: 0 .. thin - 1 */
    bool exact_forward;     /* the machine combines in rank order */
    struct conf_kept *kept; /* gets the values of the run; NULL: nobody wants them */
};

/* Runs all cases on the calling rank; collective over MPI_COMM_WORLD. */
void conformance_run(const struct conf_options *options, struct conf_result *result);
int conformance_text(const struct conf_case *at, char *text, size_t size);

/* ---- the values of a run, for comparing MPIs ---- */

enum conf_what {
    CONF_RESULT,
    CONF_INDEX, /* of MINLOC and MAXLOC */
    CONF_GRADIENT,
    CONF_GRADIENT_INTO, /* of what the receive buffer held */
    CONF_TANGENT,
    CONF_SECOND_W, /* of <gradient, v>, by the cotangents and by x */
    CONF_SECOND_X,
};

struct conf_value {
    uint32_t number, element; /* the case, and where in the tensor */
    enum conf_what what;
    double value, bound; /* by how much another MPI's may differ; 0: not in a bit */
};

/* One rank's. Zero to begin with. */
struct conf_kept {
    struct conf_case *cases;
    struct conf_value *values;
    size_t case_count, case_room, count, room;
    enum conf_what last_what;
    double last_bound;
};

struct conf_comparison {
    size_t exact, bounded;  /* values that must have the same bits, and that need not */
    size_t same, different; /* that have them, and that differ by more than they may */
    size_t at;              /* the first of those, and what it is there */
    double theirs;
    double worst; /* largest difference in units of its bound */
};

void conf_kept_release(struct conf_kept *kept);
/* False when the file cannot be written. */
bool conf_kept_write(const struct conf_kept *kept, const char *path);
/* The values of a file that fits `ours`; NULL with a sentence in `error`. The caller frees them. */
double *conf_kept_read(const struct conf_kept *ours, const char *path, char *error, size_t size);
/* Adds to the comparison. */
void conf_kept_compare(const struct conf_kept *ours, const double *theirs,
                       struct conf_comparison *comparison);
/* The first difference in words. */
int conf_kept_text(const struct conf_kept *ours, const struct conf_comparison *comparison, int rank,
                   char *text, size_t size);

#endif
