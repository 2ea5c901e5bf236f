/* What the parts of the gradient check share; nobody outside of gradcheck*.c includes this. */
#ifndef COLLECTIVES_GRADCHECK_INTERNAL_H
#define COLLECTIVES_GRADCHECK_INTERNAL_H

#include "collectives/gradcheck/difference.h"
#include "collectives/gradcheck/gradcheck.h"

struct gradcheck {
    const struct diff_runner *runner;
    const struct gradcheck_options *options;
    struct gradcheck_result *result;
    struct diff_probe base;
    double epsilon; /* of the least precise input */
    double *noise;  /* of J, per epoch */
    size_t epoch_count;
    struct arena_block **blocks; /* of every worker's ranks, from one world to the next */
};

/* How a random direction is spread over the ranks. */
enum gradcheck_spread { SPREAD_RANDOM, SPREAD_CONSTANT };

/* Every input of an epoch pushed along a random direction. */
struct gradcheck_direction {
    struct probe_push *pushes;
    double *values;
    size_t count, parts; /* pushes, and values pushed */
};

struct gradcheck_along {
    struct gradcheck *check;
    struct gradcheck_direction *direction;
    uint32_t epoch;
    int worker;
};

bool gradcheck_world(struct gradcheck *check, struct diff_probe *probe, int worker);
/* J, or the share of one rank. */
double gradcheck_objective(const struct diff_probe *probe, uint32_t epoch, int rank);
double gradcheck_evaluate(struct gradcheck *check, const struct probe_push *pushes, size_t count,
                          uint32_t epoch, int worker, double *losses);
double gradcheck_gaussian(uint64_t *state);
double gradcheck_epsilon(const struct diff_probe *base);
double gradcheck_noise(struct gradcheck *check, uint32_t epoch);
/* What the argument's precision makes of value + offset. */
double gradcheck_offset(const struct probe_input *input, size_t part, double offset);
double gradcheck_step(const struct probe_input *input, size_t part, double epsilon);
struct gradcheck_direction gradcheck_direction_new(const struct diff_probe *base, uint32_t epoch,
                                                   uint64_t seed, enum gradcheck_spread spread);
void gradcheck_direction_release(struct gradcheck_direction *direction);
void gradcheck_verdict(struct gradcheck_row *row, double analytic, struct difference numeric,
                       double factor);

/* A row under judgement: the function along its element or direction. */
struct judged {
    difference_function *function;
    void *context;
    double analytic, step, noise, slack, factor;
};

void gradcheck_judge(const struct judged *judged, struct gradcheck_row *row);
/* Sum of the absolute values of an epoch's losses. */
double gradcheck_magnitude(const struct diff_probe *probe, uint32_t epoch);
/* Whether some rank has a loss in the epoch; its value may be zero. */
bool gradcheck_has_loss(const struct diff_probe *probe, uint32_t epoch);
/* A row for every element to look at, false without memory; then the verdict over each. */
bool gradcheck_elements_plan(struct gradcheck *check);
void gradcheck_elements(struct gradcheck *check);
void gradcheck_directions(struct gradcheck *check, uint32_t epoch);

/* J along a direction: a difference_function over a struct gradcheck_along. */
double gradcheck_along_objective(void *context, double *offset);
/* <gradient, direction>; `size` gains the sum of the terms' absolute values. */
double gradcheck_product(const struct diff_probe *base, const struct gradcheck_direction *direction,
                         double *size);
/* A new row, all zero; NULL without memory. */
struct gradcheck_row *gradcheck_row_add(struct gradcheck_result *result);

/* Further oracles, each in rows or fields of the result: forward mode against the gradient, the
 * orders of Taylor's remainders, errors by pairs of ranks; the last two of the first epoch that has
 * a loss. */
void gradcheck_tangent(struct gradcheck *check, uint32_t epoch);
void gradcheck_repeat(struct gradcheck *check);
void gradcheck_sweep(struct gradcheck *check);
void gradcheck_taylor(struct gradcheck *check, uint32_t epoch);
void gradcheck_heat_map(struct gradcheck *check, uint32_t epoch);
/* Wrong rows at kinks are right where every single operation is. */
void gradcheck_kinks(struct gradcheck *check);
/* Of hand-written adjoints: the first wrong one among the marked gradients, in the order in which
 * they were marked. What the program did between it and the one before is wrong. */
void gradcheck_bisect_marks(struct gradcheck *check);
/* Looks for the first wrong adjoint of an epoch and notes it in the result. */
void gradcheck_bisect(struct gradcheck *check, uint32_t epoch);

#endif
