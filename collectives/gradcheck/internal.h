/* What the parts of the gradient check share; nobody outside of gradcheck*.c includes this. */
#ifndef COLLECTIVES_GRADCHECK_INTERNAL_H
#define COLLECTIVES_GRADCHECK_INTERNAL_H

#include "collectives/gradcheck/difference.h"
#include "collectives/gradcheck/gradcheck.h"

/* Every input of an epoch pushed along a random direction. */
struct gradcheck_direction {
    struct probe_push *pushes;
    double *values;
    size_t count, parts; /* pushes, and values pushed */
};

/* The losses of a world one by one, each with its share in J. */
struct gradcheck_terms {
    double *values, *weights;
    uint64_t *passes; /* the backward call of each */
    size_t count;
    bool well; /* the world finished */
};

/* Points so close to the one in question that a gradient is the same but for rounding: NEXT is a
 * few units of precision away, NEAR so far that everything is rounded anew; where values do not move
 * with the point, as on stairs, a factor of the cotangents and tangents sees to it. */
enum gradcheck_near { GRADCHECK_NEXT, GRADCHECK_NEAR };
enum { GRADCHECK_NEIGHBOURS = 3 };
struct gradcheck_neighbour {
    struct gradcheck_direction way;
    struct diff_probe probe; /* a base world there */
    double factor;           /* of its seeds, by which its gradients are divided again */
    bool well;
};

struct gradcheck {
    const struct diff_runner *runner;
    const struct gradcheck_options *options;
    struct gradcheck_result *result;
    struct diff_probe base;
    const struct diff_probe *recorded; /* the base world that was recorded; NULL: this one */
    bool adverse;                      /* every world delivers messages so, see struct diff_probe */
    bool stale_memory;                 /* so does this */
    struct gradcheck_direction shift;  /* from the program's own point to the one in question */
    double epsilon; /* of the least precise input, or of losses that are floats */
    bool *trusted;  /* per epoch: its tangents are exact, and differences confirm them */
    bool stairs;    /* values of some epoch are too coarse for differences */
    bool stairs_asked;
    size_t element_rows, centers_max;
    struct gradcheck_neighbour near[2][GRADCHECK_NEIGHBOURS];
    bool near_made[2];
    double *noise;                /* of J, per epoch */
    struct gradcheck_terms *here; /* per epoch: the losses of a world that nothing pushes at */
    size_t epoch_count;
    struct arena_block **blocks; /* of every worker's ranks, from one world to the next */
};

/* How a random direction is spread over the ranks. */
enum gradcheck_spread { SPREAD_RANDOM, SPREAD_CONSTANT, SPREAD_POINT /* of all epochs */ };

struct gradcheck_along {
    struct gradcheck *check;
    struct gradcheck_direction *direction;
    uint32_t epoch;
    int worker;
    uint64_t first_pass;
};

bool gradcheck_world(struct gradcheck *check, struct diff_probe *probe, int worker);
/* For a world in which something is moved from the point in question; to be released. */
bool gradcheck_probe_moved(const struct gradcheck *check, struct diff_probe *probe);
/* J, or the share of one rank. */
double gradcheck_objective(const struct diff_probe *probe, uint32_t epoch, int rank);
double gradcheck_evaluate(struct gradcheck *check, const struct probe_push *pushes, size_t count,
                          uint32_t epoch, int worker, double *losses);
/* A world to run. */
struct gradcheck_place {
    const struct probe_push *pushes;
    size_t count;
    uint32_t epoch;
    int worker;
    uint64_t first_pass; /* of the losses whose tangent is asked for */
};

struct gradcheck_terms gradcheck_terms_at(struct gradcheck *check,
                                          const struct gradcheck_place *place);
void gradcheck_terms_release(struct gradcheck_terms *terms);
/* J of one less J of the other: loss by loss, and then added; J is the losses from a backward call
 * on. NaN where one did not finish. */
double gradcheck_terms_difference(const struct gradcheck_terms *up,
                                  const struct gradcheck_terms *down, uint64_t first_pass);
/* Of the inputs that directions move. */
uint64_t gradcheck_first_pass(const struct diff_probe *base, uint32_t epoch);
/* Whether the rank's input of that number is a copy of this replicated one. */
bool gradcheck_is_copy(const struct diff_probe *base, int rank, const struct probe_input *input,
                       size_t number);
double gradcheck_input_scale(const struct probe_input *input);
double gradcheck_part_scale(const struct probe_input *input, size_t part, double input_scale);
double gradcheck_gaussian(uint64_t *state);
double gradcheck_epsilon(const struct diff_probe *base);
double gradcheck_noise(struct gradcheck *check, uint32_t epoch);
/* What the argument's precision makes of value + offset. */
double gradcheck_offset(const struct probe_input *input, size_t part, double offset);
double gradcheck_step(const struct gradcheck *check, const struct probe_input *input, size_t part);
/* The neighbours, made when they are asked for; and freed. */
const struct gradcheck_neighbour *gradcheck_nearby(struct gradcheck *check,
                                                   enum gradcheck_near near, int worker);
void gradcheck_nearby_release(struct gradcheck *check);
struct gradcheck_direction gradcheck_direction_new(const struct diff_probe *base, uint32_t epoch,
                                                   uint64_t seed, enum gradcheck_spread spread);
void gradcheck_direction_release(struct gradcheck_direction *direction);
/* A row under judgement: the function along its element or direction. */
struct judged {
    difference_function *function;
    void *context;
    double analytic, step, noise, slack, factor;
    double scale; /* what the gradient's values are in size, where this one is zero */
    double (*spread)(void *context); /* of `analytic`, by rounding; NULL: unknown */
    bool quick;                      /* the first step decides: it did for what this is part of */
    size_t centers_max;              /* sizes of steps to try where the first one does not decide */
    int ties_max;                    /* ranks that may share a gradient where they are tied */
    bool stairs_asked; /* before it is called wrong: it costs as much as a hundred steps */
};

/* The most ranks whose shares of a tie are told from other numbers. */
int gradcheck_ties_most(const struct gradcheck *check);
/* The row's answer from what was measured; `doubt` is why it decides nothing, NULL: it does. */
void gradcheck_verdict(struct gradcheck_row *row, const struct judged *judged,
                       struct difference numeric, const char *doubt);
void gradcheck_judge(struct judged *judged, struct gradcheck_row *row);
/* Sum of the absolute values of an epoch's losses. */
double gradcheck_magnitude(const struct diff_probe *probe, uint32_t epoch);
/* Whether some rank has a loss in the epoch; its value may be zero. */
bool gradcheck_has_loss(const struct diff_probe *probe, uint32_t epoch);
/* Whether passes of the epoch were joined by the program itself, see struct probe_objective. */
bool gradcheck_is_cut(const struct diff_probe *base, uint32_t epoch);
/* A row for every element to look at, false without memory; then the verdict over each. */
bool gradcheck_elements_plan(struct gradcheck *check);
void gradcheck_elements(struct gradcheck *check);
void gradcheck_directions(struct gradcheck *check, uint32_t epoch);

/* J along a direction: a difference_function over a struct gradcheck_along. */
double gradcheck_along(void *context, double *up, double *down);
/* <gradient, direction>; `size` gains the sum of the terms' absolute values. */
double gradcheck_product(const struct diff_probe *base, const struct gradcheck_direction *direction,
                         double *size);
/* A new row, all zero; NULL without memory. */
struct gradcheck_row *gradcheck_row_add(struct gradcheck_result *result);

/* The tangent of J along a direction, at the point or at a neighbour; false where the program
 * cannot carry one. */
bool gradcheck_tangent_along(struct gradcheck *check, const struct gradcheck_place *place,
                             const struct gradcheck_neighbour *near, double *tangent);
/* The row's answer from <gradient, direction> and the tangent; false as above. `scale`: the size
 * that a zero must be small against. */
bool gradcheck_tangent_judge(struct gradcheck *check, const struct gradcheck_place *place,
                             const struct gradcheck_direction *direction, double scale,
                             struct gradcheck_row *row);
/* Adds a row for the whole gradient. Whether tangents may judge single elements. */
bool gradcheck_tangent(struct gradcheck *check, uint32_t epoch);
/* Further oracles, each in rows or fields of the result: the orders of Taylor's remainders, errors
 * by pairs of ranks, of the first epoch that has a loss. */
void gradcheck_repeat(struct gradcheck *check);
void gradcheck_sweep(struct gradcheck *check);
void gradcheck_taylor(struct gradcheck *check, uint32_t epoch);
void gradcheck_heat_map(struct gradcheck *check, uint32_t epoch);
/* Noise, losses and trust of every epoch of the base world; and freed. */
bool gradcheck_epochs_prepare(struct gradcheck *check);
void gradcheck_epochs_release(struct gradcheck *check);
void gradcheck_failures_count(struct gradcheck_result *result);
/* Where some are wrong, or noise hides them: whether the program computes the same every time. */
void gradcheck_steady(struct gradcheck *check);
/* Where all is right: at other points, too? And where messages come in another order, and late? */
void gradcheck_points(struct gradcheck *check);
void gradcheck_delivery(struct gradcheck *check);
/* Judges the program there, whose base world has run; wrong rows go to the result, and `where` is
 * added to their names. Whether the inputs are the same is the caller's question. */
void gradcheck_elsewhere(struct gradcheck *check, struct gradcheck *there, const char *where);
bool gradcheck_same_inputs(const struct diff_probe *one, const struct diff_probe *two);
/* Whether differences along this direction fail for the coarseness of some values, and each
 * operation's adjoint is right as far as these can tell. */
bool gradcheck_on_stairs(struct gradcheck *check, uint32_t epoch,
                         const struct gradcheck_direction *direction);
/* Wrong rows at kinks are right where every single operation is. */
void gradcheck_kinks(struct gradcheck *check);
/* Whether an input never had a gradient, or the marks no objective: then that is what is wrong. */
bool gradcheck_explain_missing(struct gradcheck *check);
/* Of hand-written adjoints: the first wrong one among the marked gradients, in the order in which
 * they were marked. What the program did between it and the one before is wrong. */
void gradcheck_bisect_marks(struct gradcheck *check);
/* Where it is the first gradient that was marked: which call of the adjoint is wrong. */
void gradcheck_bisect_calls(struct gradcheck *check);
/* Looks for the first wrong adjoint of an epoch and notes it in the result. */
void gradcheck_bisect(struct gradcheck *check, uint32_t epoch);

#endif
