/* What the parts of the gradient check share; nobody outside of gradcheck*.c includes this. */
#ifndef COLLECTIVES_GRADCHECK_PARTS_H
#define COLLECTIVES_GRADCHECK_PARTS_H

#include "collectives/difference.h"
#include "collectives/gradcheck.h"

struct gradcheck {
    const struct diff_runner *runner;
    const struct gradcheck_options *options;
    struct gradcheck_result *result;
    struct diff_probe base;
    double epsilon; /* of the least precise input */
    double *noise;  /* of J, per epoch */
    size_t epoch_count;
};

/* Every input of an epoch pushed along a random direction. */
struct gradcheck_direction {
    struct probe_push *pushes;
    double *values;
    size_t count;
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
double gradcheck_step(const struct probe_input *input, size_t part, double epsilon);
struct gradcheck_direction gradcheck_direction_new(const struct diff_probe *base, uint32_t epoch,
                                                   uint64_t seed, int only_rank);
void gradcheck_direction_release(struct gradcheck_direction *direction);
void gradcheck_verdict(struct gradcheck_row *row, double analytic, struct difference numeric,
                       double factor);

/* Looks for the first wrong adjoint of an epoch and notes it in the result. */
void gradcheck_bisect(struct gradcheck *check, uint32_t epoch);

#endif
