/* What a probe holds: the rows of the ranks, what they collect, what is pushed. See probe.h. */
#ifndef COLLECTIVES_EXPERIMENT_ROWS_H
#define COLLECTIVES_EXPERIMENT_ROWS_H

#include <diff.h>
#include <stdint.h>

struct arena_block;
struct record_watch;
struct diff_node;
struct diff_state;

enum probe_mode { PROBE_BASE, PROBE_PERTURBED };

/* Who holds the copies of a replicated value: the ranks of its tape's communicator. */
struct probe_team {
    int first; /* in the world */
    int size;  /* 0: it is not replicated */
};

struct probe_input {
    char *name;
    const void *site;
    enum diff_type type;
    size_t count; /* values; a complex one has two parts */
    uint32_t epoch;
    struct probe_team team;
    bool marked;
    bool steps;                 /* a marked one whose imaginary part carries a tangent */
    bool late;                  /* met after a backward pass of its epoch */
    double *values;             /* parts, as doubles */
    double *gradient;           /* parts; NULL when the program never had one */
    double gradient_largest;    /* absolute value of all parts; the gradient check's */
    uint64_t first_pass;        /* the gradient is that of the losses from this pass on */
    uint32_t position;          /* the recorder's, when it was met */
    const void *gradient_site;  /* of a marked one */
    uint32_t gradient_order;    /* when it was marked: 1, 2... */
    uint32_t gradient_position; /* the recorder's, then */
};

struct probe_objective {
    double value;       /* sum of this rank's losses in the epoch */
    double magnitude;   /* sum of absolute values */
    struct probe_term { /* the losses one by one, in order: differences are taken before sums */
        double value, tangent;
        uint64_t pass;     /* the backward call it was given to, 0 for marks */
        uint32_t position; /* the recorder's, when it was given */
    } * terms;
    size_t term_count, term_room;
    struct probe_team team; /* J has the value of their losses once, not their sum */
    bool present;
    bool given; /* passes began with cotangents of the program's own */
    bool cut; /* the base world's: what one pass gave went into the next, by hands of the program's
                   that no other oracle than differences of the whole follows */
};

/* One node's values, kept when the probe traces: for finding the first wrong adjoint. */
struct probe_node {
    char name[32];
    char label[32];       /* what the program calls it, "" nothing */
    const char *function; /* the public one that made it, NULL: not known */
    const void *site;
    uint32_t sequence, record, epoch;
    struct probe_place {        /* what it communicated with: equal places belong together */
        uint64_t channel;       /* 0: unused */
        int32_t source, target; /* messages: world ranks; collectives -1 */
        int32_t tag;
        uint32_t ordinal;
    } places[2];
    bool ran;          /* its adjoint ran */
    bool carried;      /* its outputs' tangents are known */
    bool inactive;     /* it communicates, but no backward pass in data order reaches it */
    double numbers[2]; /* a factor and the like, which the program computed by itself */
    uint32_t input_count, output_count;
    /* per input: parts of the cotangent this node contributed, and where the input came from */
    struct probe_value {
        uint32_t node, output; /* index of the producing node + 1, 0 for an input or constant */
        uint32_t input;        /* index of the probe input + 1, 0 for none */
        size_t parts;
        double *cotangent; /* inputs: what this node contributed; outputs: a seed; NULL: zero */
        double *values;    /* of all but inputs that have a node */
        double *tangent;   /* outputs of a world that carries tangents; NULL: zero */
        bool handle;
        bool untracked; /* an input that needs no gradient: whatever it was due is dropped */
    } * inputs, *outputs;
};

/* A lock of a window, and who had it before and after: ranks of the window's, -1 for none. */
struct probe_turn {
    int target, before, after;
};

struct diff_probe_rank {
    struct probe_input *inputs;
    size_t input_count, input_room;
    struct probe_objective *objectives;
    size_t epoch_count;
    struct probe_node *nodes;
    size_t node_count, node_room;
    struct probe_record { /* the recorder's numbers of this world's nodes, and how many operations
                             had begun when a node was done */
        uint32_t epoch, sequence, record, position;
    } * records;
    size_t record_count, record_room;
    /* Stretches of the rank's calls that are those of operations on a tape, or of passes: from number
     * `from` + 1 to `to`, by their ends. */
    struct probe_calls {
        uint32_t from, to;
    } * calls;
    size_t calls_count, calls_room;
    uint32_t gradients_marked;
    uint32_t objective_position;     /* the recorder's, when the objective was marked last */
    size_t inputs_seen;              /* how many this world's rank has met */
    const struct diff_node *adjoint; /* runs on this rank; what a rank that never ended hangs in */
    double kink_distance; /* smallest relative distance to a point without derivative met so far */
    struct diff_state *state;
    struct arena_block *blocks; /* of tapes that are gone, for those of the next world */
    bool carrying;              /* a tangent is measured: what runs for that is not traced */
    bool non_finite;
    bool graphs;      /* base world: passes with DIFF_GRAPH, so that perturbed worlds need tapes */
    bool checkpoints; /* steps that are run again: a traced world has nodes for them */
    bool loss_untracked;  /* traced: a loss was a constant to the tape */
    bool tangent_missing; /* an operation has none: forward mode is no oracle for this program */
    double *residuals; /* of lossy coders: kept from the base world, so that they stay constant */
    size_t residual_count, residual_room, residuals_seen;
    struct probe_turn *turns; /* in the order in which this rank took the locks */
    size_t turn_count, turn_room, turns_taken;
};

struct probe_push {
    int rank;     /* -1: the copy on every rank of `team` */
    int team;     /* its first rank */
    size_t input; /* index on that rank */
    size_t part;  /* SIZE_MAX: the whole input along `direction` */
    double step;  /* what is added to the part, or times the direction */
    const double *direction;
};

struct diff_probe {
    enum probe_mode mode;
    int ranks;
    struct diff_probe_rank *rows;
    const struct probe_push *pushes;
    size_t push_count;
    const struct probe_push *shifts; /* whole inputs only: moves the point itself, in base and
                                        perturbed worlds alike */
    size_t shift_count;
    const struct diff_probe *base; /* of a perturbed world: what the base world saw */
    const struct diff_probe *like; /* if not NULL: whoever runs the world lets receives from any
                                      source get what they got in that probe's world; itself: that
                                      is noted */
    bool again;                    /* the program has been run before */
    bool trace;                    /* keep every node's values */
    uint64_t steps;                /* that the world took, 0: nobody counted */
    int seed_rank;                 /* -1, or: only this rank's loss is differentiated */
    int order;                     /* -1, or an enum diff_order that overrides the program's */
    const char *mutant;            /* NULL, or a name of diff_mutants[] */
    bool tangent;  /* base world: the pushes are tangents of the inputs, carried to the losses */
    double factor; /* 0, or: losses' seeds and tangents of inputs are multiplied by it, so that all
                      that comes of them is rounded anew */
    uint32_t flip; /* 0, or: the adjoint of the node with this number gets one sign wrong */
    const char *flip_name; /* NULL, or instead: of the nodes of this operation */
    size_t flip_part;      /* which term of it, from 1; 0: the largest */
    double flip_factor;    /* what the term is multiplied by instead of -1; 0: the sign, as said */
    int flip_rank;   /* 0: on every rank that has the node, or only on the rank before this one */
    double *flipped; /* per rank: the term before; NULL: nobody wants to know */
    struct record_watch *watch; /* NULL, or who sees the numbers of every call: whoever runs the
                                   world records its ranks for that, and says when it is over */
    /* whoever runs the world delivers messages as late, and in as strange an order, as MPI allows */
    bool adverse;
    bool stale_memory; /* whoever runs the world overwrites what the program frees, and what malloc
                          gives it */
    int repeat;        /* 0, or: the how many-th repetition this is; whoever runs the world varies
                   what a result should not depend on */
};

#endif
