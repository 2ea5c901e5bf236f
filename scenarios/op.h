/* The frame of the op-*.c scenarios, so that each of them shows only its operation:
 *
 *     struct op op = op_begin(&argc, &argv);
 *     struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);
 *     ... the operation makes y of them ...
 *     return op_end(&op, y);
 *
 * Every rank's x has values of its own, its square makes the local Jacobian depend on them, and
 * weights that differ by rank and place let no two entries of y stand for each other. */
#ifndef SCENARIOS_OP_H
#define SCENARIOS_OP_H

#include <diff.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct op {
    int rank, size;
    struct diff_tape *tape;
};

static inline struct op op_begin(int *argc, char ***argv)
{
    struct op op;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &op.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &op.size);
    op.tape = diff_tape_new(MPI_COMM_WORLD);
    return op;
}

/* For tables with a place for every rank; more ranks than that end the program with a sentence. */
enum { OP_RANKS = 64 };
static inline void op_ranks_check(const struct op *op)
{
    if (op->size > OP_RANKS) {
        fprintf(stderr, "this program is made for up to %d ranks\n", OP_RANKS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* `count` values first, first + step, first + 2 step... for the caller to free. */
static inline double *op_values(size_t count, double first, double step)
{
    double *values = malloc((count + 1) * sizeof *values);
    if (!values) {
        fprintf(stderr, "no memory for %zu values\n", count);
        abort();
    }
    for (size_t i = 0; i < count; i++)
        values[i] = first + step * (double)i;
    return values;
}

/* A variable with the values first, first + step, first + 2 step... */
static inline struct diff_tensor *op_variable(const struct op *op, const char *name, int count,
                                              double first, double step)
{
    size_t length = (size_t)count;
    double *values = op_values(length, first, step);
    struct diff_tensor *variable = diff_input(op->tape, name, DIFF_DOUBLE, 1, &length, values);
    free(values);
    return variable;
}

/* The variable x, with `count` values that differ by rank and place. */
static inline struct diff_tensor *op_input(const struct op *op, int count)
{
    return op_variable(op, "x", count, 0.6 - 0.11 * op->rank, 0.17);
}

/* MPI_SUM, or the operation that the program's first argument names. */
static inline MPI_Op op_named(int argc, char **argv)
{
    const struct {
        const char *name;
        MPI_Op op;
    } known[] = {{"sum", MPI_SUM},
                 {"avg", DIFF_AVG},
                 {"prod", MPI_PROD},
                 {"max", MPI_MAX},
                 {"min", MPI_MIN}};
    for (size_t i = 0; argc > 1 && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, argv[1]) == 0)
            return known[i].op;
    return argc > 1 ? MPI_OP_NULL : MPI_SUM;
}

/* The rank `steps` before this one, or after it, round the ring of all. */
static inline int op_before(const struct op *op, int steps)
{
    return (op->rank + steps * (op->size - 1)) % op->size;
}
static inline int op_after(const struct op *op, int steps)
{
    return (op->rank + steps) % op->size;
}

/* A directed graph in which rank r's values go to r + 1 and r + 2. */
static inline MPI_Comm op_graph(const struct op *op)
{
    int to[2] = {op_after(op, 1), op_after(op, 2)}, from[2] = {op_before(op, 1), op_before(op, 2)};
    int even[2] = {1, 1};
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, even, 2, to, even, MPI_INFO_NULL, 0,
                                   &graph);
    return graph;
}

/* The backward pass from a weighted sum of y; J is the sum over ranks. */
static inline void op_backward(struct op *op, struct diff_tensor *y)
{
    size_t count = diff_count(y);
    double *values = op_values(count, 1 + 0.5 * op->rank, -0.3);
    struct diff_tensor *weights = diff_constant(op->tape, DIFF_DOUBLE, 1, &count, values);
    free(values);
    diff_backward(diff_dot(y, weights));
    diff_tape_free(op->tape);
}

/* What main returns. Where the program has something to release in between: op_backward, that,
 * MPI_Finalize. */
static inline int op_end(struct op *op, struct diff_tensor *y)
{
    op_backward(op, y);
    MPI_Finalize();
    return 0;
}

#endif
