/* Gradient checks of whole programs: the program is run in fresh worlds, once as it is and then
 * with perturbed inputs; what its backward pass computed is compared with what its losses do.
 *
 * J is the sum over ranks of the losses of an epoch (see experiment/probe.h). Every comparison is
 * written `error <= tolerance`, so that NaN fails.
 *
 * Room: sees collectives/experiment, collectives/tape; recorder, traces. Seen by cli. */
#ifndef COLLECTIVES_GRADCHECK_GRADCHECK_H
#define COLLECTIVES_GRADCHECK_GRADCHECK_H

#include "collectives/experiment/probe.h"
#include "traces/trace/trace.h"

#include <stdint.h>

/* How to run the program once in a fresh world of `ranks` ranks with this probe in every rank's
 * MPIX_SLOT_PROBE. Returns 0 when all ranks finished; DIFF_RUN_AGAIN where they did not with the
 * answers of probe->like, and may do without them if asked once more. Called from an OpenMP team:
 * `worker` numbers the caller, from 0 to workers - 1, each on one world at a time. */
enum { DIFF_RUN_AGAIN = 2 };
struct diff_runner {
    int (*run)(void *context, struct diff_probe *probe, int worker);
    void *context;
    int ranks;
    int workers;
};

struct gradcheck_options {
    size_t elements_max; /* per input and rank; of more some are sampled; 0: so many that there are
                            about GRADCHECK_ELEMENTS in all, fewer above 16 ranks and above 16384
                            values */
    uint64_t seed;       /* of samples and random directions */
    int directions;      /* random ones besides the elements */
    bool bisect;         /* on failure look for the first wrong adjoint */
    bool heat_map;       /* P more base runs: errors by (loss of rank, input of rank) */
    bool taylor;
    int points; /* where gradients are compared, the program's own one first; 0: three where worlds
                   cost little */
    int repeat; /* so many more base worlds, whose gradients must be the same up to rounding */
    bool sweep; /* of the worst element, see struct gradcheck_sweep */
    double tolerance_factor; /* multiplies every tolerance, normally 1 */
    int order;               /* -1, or an enum diff_order for all worlds */
    const char *mutant;      /* NULL, or a mutant for all worlds */
    uint32_t flip;           /* see struct diff_probe, and the next five */
    const char *flip_name;
    size_t flip_part;
    double flip_factor;
    int flip_rank;
    double *flipped;
};

/* Elements that are looked at, and how many values the worlds for each of them may have in all. */
enum { GRADCHECK_MAP_RANKS = 32, GRADCHECK_ELEMENTS = 1024, GRADCHECK_VALUES = 1 << 24 };

struct gradcheck_row {
    struct trace_gradient check; /* `variable` is unused: see name */
    char name[64];
    double order; /* observed, 0 unknown */
    int evaluations;
    uint32_t epoch;
    uint64_t seed; /* of a direction */
    bool constant; /* it is the same on all ranks */
    bool bends;    /* wrong by differences, and J bends at the point, if not by as much */
};

/* The first wrong adjoint in the order of the backward pass. */
struct gradcheck_culprit {
    bool found;
    int rank;
    uint32_t sequence, record; /* node on that rank's tape, and the recorder's number of it */
    const void *site;
    char name[64];
    char label[32];    /* what the program calls it, "" nothing */
    char before[64];   /* of marks: the gradient that was right before it; "": it is the first */
    uint32_t position; /* 0, or the recorder's: of marks when the gradient was marked; of a call
                          outside of the tape */
    bool marked;       /* a hand-written adjoint: the first wrong one of the marked gradients */
    double defect,
        scale;    /* of the identity <y_bar, y_dot> = <x_bar, x_dot> summed over the participants */
    bool missing; /* an input never had a gradient: the place is the input's */
    bool outside; /* what is wrong happened outside of the tape */
    bool never_ran; /* its adjoint did not run at all */
    char text[400]; /* what there is to say instead of "the first wrong adjoint is that of NAME";
                       also where no operation is to blame and nothing was found */
};

/* The error of one element's central difference over its step, for a plot: it falls with the step's
 * square, until rounding makes it rise again. */
enum { GRADCHECK_POINTS = 40 };
struct gradcheck_sweep {
    size_t count; /* 0: none */
    char name[64];
    int rank;
    int64_t index;
    double step[GRADCHECK_POINTS], error[GRADCHECK_POINTS];
    double chosen; /* the step the verdict came from */
};

/* Taylor's remainders along a random direction over the step: |J(x + h v) - J(x) - h <g, v>|, which
 * falls as h^2, and |J(x + h v) - J(x - h v) - 2 h <g, v>|, as h^3. */
struct gradcheck_taylor {
    size_t count;
    double step[GRADCHECK_POINTS], first[GRADCHECK_POINTS], second[GRADCHECK_POINTS];
    double orders[2]; /* observed; 0: no remainder stands clear of rounding, or not run */
};

struct gradcheck_result {
    struct gradcheck_row *rows;
    size_t row_count, row_room;
    size_t failed;        /* rows that are wrong */
    int points;           /* where gradients were compared */
    int points_outside;   /* and where they could not be */
    int ranks_together;   /* ranks whose inputs were moved together with those of all others only */
    bool delivery_missed; /* nor where messages come late: that run did not finish */
    bool memory_missed;   /* nor where freed memory is overwritten, likewise */
    bool unsteady;        /* runs of the same inputs do not compute the same */
    bool step_refuted;    /* differences contradict the complex step: it was not used */
    double objective;
    int worlds;        /* run in all */
    int broken_worlds; /* perturbed worlds that did not finish */
    bool base_failed;  /* the base world did not finish: nothing was checked */
    char stuck[64];    /* then: the operation in whose adjoint ranks were, the one nearest to the
                          loss; "" where none was */
    bool non_finite;
    int ranks;
    double *heat_map; /* ranks x ranks: error of d l_row / d x_column along a random direction, over
                         its tolerance: right up to 1; NULL if none */
    struct gradcheck_culprit culprit;
    struct gradcheck_taylor taylor;
    struct gradcheck_repeat {
        int worlds;    /* repeated */
        double spread; /* largest difference of a gradient's value by the input's largest one, in
                          units of the precision; infinite when a world did not finish */
        double bound;  /* what another order of the same sums explains */
        int rank;      /* of that value */
        char name[64]; /* its input */
        int64_t index;
    } repeat;
    struct gradcheck_sweep sweep; /* of the worst element */
};

struct gradcheck_options gradcheck_options_default(void);
/* 0 when the check could be done (see failed for its verdict), 5 without memory. */
int gradcheck_run(const struct diff_runner *runner, const struct gradcheck_options *options,
                  struct gradcheck_result *result);
void gradcheck_release(struct gradcheck_result *result);
/* Hands every row to the recorder of the calling rank. */
void gradcheck_record(const struct gradcheck_result *result);
/* Hands the curves and the map to the recorder as metrics: over their step "gradient_error",
 * "taylor_first" and "taylor_second"; "gradient_step" (unit: the element), "taylor_order first" and
 * "second", "jacobian_error ROW COLUMN" (unit: tolerances). */
void gradcheck_record_curves(const struct gradcheck_result *result);
/* The worst row of each input by error over tolerance, one line each: "x: ok, worst element ..." */
int gradcheck_print(const struct gradcheck_result *result, char *text, size_t size);

#endif
