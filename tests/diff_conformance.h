/* The conformance suite of the differentiable collectives: one body for all of them, on any MPI.
 *
 * A case is a collective with an op, a type, a root, a communicator, counts, displacements, a form
 * (blocking, nonblocking, in place) and values (random, zeros, ties). Everything about every rank
 * is a function of the case, so each rank computes all ranks' inputs and the naive reference by
 * itself and checks its own part:
 *
 *   forward   the result is the reference, bit for bit where the reduction order is the reference's
 *   fd        the gradient is that of finite differences of the reference
 *   dot       <w, J v> = <J^T w, v> over all ranks
 *   dense     the whole Jacobian, a backward pass for every result, on up to 4 ranks
 *   second    differentiating the backward pass: by the cotangent gives J v, by x the Hessian
 * product repeat    the same bits again
 *
 * Cases are enumerated, not sampled; `conformance_wants` thins them for quick runs. */
#ifndef TESTS_DIFF_CONFORMANCE_H
#define TESTS_DIFF_CONFORMANCE_H

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
enum conf_comm { CONF_WORLD, CONF_REVERSED, CONF_HALVES, CONF_GRAPH, CONF_COMMS };
enum conf_counts { CONF_TWO, CONF_ZERO, CONF_UNEQUAL, CONF_GAPS, CONF_COUNTS };
enum conf_values {
    CONF_RANDOM,
    CONF_ONE_ZERO,
    CONF_TWO_ZEROS,
    CONF_TIES_2,
    CONF_TIES_3,
    CONF_TIES_ALL,
    CONF_VALUES
};

struct conf_case {
    enum diff_collective kind;
    enum conf_op op;
    enum diff_type type;
    enum conf_comm comm;
    enum conf_counts counts;
    enum conf_values values;
    int root; /* 0, 1: the last rank, 2: the middle one */
    bool nonblocking, in_place;
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

struct conf_options {
    unsigned thin;      /* take every thin-th case, 1: all */
    bool exact_forward; /* the machine combines in rank order */
};

/* Runs all cases on the calling rank; collective over MPI_COMM_WORLD. */
void conformance_run(const struct conf_options *options, struct conf_result *result);
int conformance_text(const struct conf_case *at, char *text, size_t size);

#endif
