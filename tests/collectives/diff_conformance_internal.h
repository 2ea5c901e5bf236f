/* What the files of the conformance suite share; nobody else includes this. */
#ifndef TESTS_COLLECTIVES_DIFF_CONFORMANCE_INTERNAL_H
#define TESTS_COLLECTIVES_DIFF_CONFORMANCE_INTERNAL_H

#include "collectives/operations/reference.h"
#include "tests/collectives/diff_conformance.h"

/* One side of a collective on one rank: the tensor, and which of its elements travel in what order.
 */
struct conf_side {
    size_t full, dense;
    size_t *index;        /* dense -> full */
    int *counts, *begins; /* per peer; begins in elements, or bytes for w */
    int peers;
    size_t elements; /* of the datatype that it is packed or unpacked with; 0: none */
};

struct conf_world {
    const struct conf_case *at;
    int size, rank; /* of the communicator */
    size_t parts;
    struct conf_side *send, *receive; /* [size] */
    double **x, **into, **w, **v;     /* [size], full, as parts */
    bool one_buffer;                  /* into is x */
    struct reference_case reference;
    struct reference_values *rx, *ry; /* dense */
    int *send_matrix, *receive_matrix;
    int **sources, **destinations, **edge_counts, *source_counts, *destination_counts;
};

struct conf_shared {
    MPI_Comm comms[CONF_COMMS];
    MPI_Op user;
    int steps[3]; /* of the graph's edges */
};

struct conf_run {
    struct diff_tape *tape;
    struct diff_tensor *x, *into, *y;
    size_t x_parts, y_parts;
    /* where x's elements are in the tensor: IN_PLACE the own block's in the buffer */
    size_t *place;
    bool buffered; /* IN_PLACE: what is not the own block's is as `into` */
    int *indices;
    MPI_Datatype types[16];
    int type_count, w_counts[2][16], w_begins[2][16];
    MPI_Datatype w_types[2][16];
};

struct conf_checker {
    const struct conf_options *options;
    struct conf_result *result;
    const struct conf_case *at;
    int rank;
};

struct conf_kind {
    bool rooted, reduces, v;
};
extern const struct conf_kind conf_kinds[CONF_KINDS];
/* The part of the tensor that is part i of x. */
size_t conf_part_at(const struct conf_world *world, const struct conf_run *run, size_t i);

/* ---- layout: who sends how many values to whom ---- */

bool conf_is_neighbor(int kind);
bool conf_is_w(int kind);
bool conf_is_alltoall(int kind);
/* All of `count` elements in order. */
struct conf_side conf_side_dense(size_t count);
/* Blocks for or from the peers, as the case has gaps between them. */
struct conf_side conf_side_blocks(const struct conf_case *at, int peers, const int *counts,
                                  bool receives);
/* Where element `i` of a typed side stands: sent ones overlap, received ones have gaps. */
size_t conf_typed_place(size_t i, bool receives);
int conf_root(const struct conf_world *world);
/* Values of rank i's block for rank j. */
int conf_block(const struct conf_case *at, int i, int j);
uint64_t conf_mixed(uint64_t a, uint64_t b, uint64_t c);
/* Between 0.5 and 1.5 in absolute value, and exactly a float. */
double conf_number(uint64_t a, uint64_t b, uint64_t c);
/* Zeroed; ends the program without it. */
void *conf_memory(size_t count, size_t size);
void conf_graph_make(struct conf_world *world, const int *steps);
void conf_sides_fill(struct conf_world *world);

/* ---- two groups and an intercommunicator ---- */

bool conf_inter_fits(const struct conf_case *at);
/* MPI_COMM_NULL on a single rank. */
MPI_Comm conf_inter_make(void);
/* The first rank of this one's group. */
int conf_inter_base(int size, int rank);
void conf_inter_sides(struct conf_world *world);
void conf_inter_reference(const struct conf_world *world);
/* What the call is told: the root, what comes from each, and a rank's part of a Reduce_scatter. */
int conf_inter_root(const struct conf_world *world);
size_t conf_inter_count(const struct conf_world *world);
int conf_inter_part(const struct conf_world *world, int rank);
/* Whom a rank exchanges messages with; -1: nobody. */
int conf_inter_partner(const struct conf_world *world, int rank);

/* ---- world: all ranks' values and the reference as a function of them ---- */

extern const struct diff_op_rules conf_user_rules;
void conf_user_mpi(void *in, void *inout, int *length, MPI_Datatype *datatype);
MPI_Op conf_mpi_op(const struct conf_shared *shared, enum conf_op op);
void conf_world_make(struct conf_world *world, const struct conf_case *at,
                     const struct conf_shared *shared, MPI_Comm comm);
void conf_world_free(struct conf_world *world);
/* Fills the dense results of all ranks; `biased` decides ties for the lowest rank. */
void conf_reference_run(struct conf_world *world, double *const *x, enum diff_type type,
                        bool biased);
/* Rank r's whole result: what was received over what was there. */
void conf_result_of(const struct conf_world *world, int r, double *const *into, double *y);
/* sum over ranks of <w_r, y_r> */
double conf_objective(struct conf_world *world, double *const *x, double *const *into);

/* ---- run: the differentiable one ---- */

struct diff_tensor *conf_tensor(struct diff_tape *tape, enum diff_type type, const double *parts,
                                size_t count, const char *name);
void conf_run_make(const struct conf_world *world, const struct conf_shared *shared, MPI_Comm comm,
                   struct diff_tape *tape, struct conf_run *run);
void conf_run_free(struct conf_run *run);
/* The tensor, or what the side's datatype takes of it. */
struct diff_tensor *conf_packed(struct conf_run *run, struct diff_tensor *x,
                                const struct conf_side *side, bool receives);
/* The received values, or these in their places in `into`. */
struct diff_tensor *conf_unpacked(struct conf_run *run, struct diff_tensor *dense,
                                  const struct conf_side *side);
double conf_gradient_part(struct diff_tensor *x, size_t i);
/* The own direction as a tensor of x's shape. */
struct diff_tensor *conf_own_v(const struct conf_world *world, struct conf_run *run);

/* ---- messages ---- */

bool conf_is_message(int kind);
/* Who sends to this rank; -1: nobody. */
int conf_message_from(const struct conf_world *world, int rank);
void conf_message_sides(struct conf_world *world);
void conf_message_reference(const struct reference_case *all, const struct conf_world *world);
struct diff_tensor *conf_message_run(const struct conf_world *world, struct conf_run *run,
                                     MPI_Comm comm);

/* ---- checks ---- */

void conf_check(struct conf_checker *checker, const char *what, double got, double expected,
                double tolerance);
double conf_epsilon(const struct conf_case *at);
/* Growth of rounding with the number of ranks: sums of P terms, products of up to 1.5^P. */
double conf_growth(const struct conf_world *world);
/* Finite differences cost a reference run each: of many elements some are looked at, which ones
 * depends on the rank; the dot products see all of them. */
bool conf_looked_at(const struct conf_world *world, size_t i, size_t parts);
void conf_check_forward(struct conf_checker *checker, struct conf_world *world,
                        const struct conf_run *run);
void conf_check_gradient(struct conf_checker *checker, struct conf_world *world,
                         const struct conf_run *run);
void conf_check_dense(struct conf_checker *checker, struct conf_world *world, struct conf_run *run);
void conf_check_dot(struct conf_checker *checker, struct conf_world *world, struct conf_run *run,
                    MPI_Comm comm);
void conf_check_second(struct conf_checker *checker, struct conf_world *world,
                       const struct conf_shared *shared, MPI_Comm comm, struct diff_tape *tape);

/* ---- kept values ---- */

void conf_keep_case(struct conf_kept *kept, const struct conf_case *at);
/* Keeps a value of the case, if values are kept; elements from 0 on, one kind after the other. */
void conf_keep(struct conf_checker *checker, const struct conf_world *world, enum conf_what what,
               size_t element, double value);

/* ---- cases ---- */

/* Calls `visit` for every case of the matrix; one loop, nothing sampled. */
void conf_cases(void (*visit)(const struct conf_case *at, void *context), void *context);

#endif
