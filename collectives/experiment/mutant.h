/* Mutants: known wrong adjoints, switched on by name to see that the checks notice them. */
#ifndef COLLECTIVES_EXPERIMENT_MUTANT_H
#define COLLECTIVES_EXPERIMENT_MUTANT_H

#include <stdbool.h>
#include <stddef.h>

#define DIFF_MUTANTS(X)                                                                            \
    X(NONE, "none", "the right adjoints")                                                          \
    X(ALLGATHER_ROOT, "allgather-root", "Allgather's adjoint reduces to rank 0 only")              \
    X(SENDRECV_TAGS, "sendrecv-tags", "Sendrecv's adjoint swaps the ranks but not the tags")       \
    X(WORLD, "world", "adjoints run on the tape's communicator, not on the operation's")           \
    X(PROD_DIVISION, "prod-division", "PROD's adjoint divides the product by the own factor")      \
    X(MAX_AGAIN, "max-again", "Allreduce MAX's adjoint applies MAX to the cotangents")             \
    X(OP_DROPPED, "op-dropped", "Allreduce's adjoint treats every op as SUM")                      \
    X(AVG_FACTOR, "avg-factor", "AVG's adjoint forgets to divide by P")                            \
    X(OWN_SLICE, "own-slice", "Allgather's adjoint takes the own slice without reducing")          \
    X(SLICE_FIRST, "slice-first", "Allgather's adjoint takes slice 0 of the reduced cotangent")    \
    X(MEAN, "mean",                                                                                \
      "Allreduce SUM's adjoint sums where the forward pass took the mean, and "                    \
      "the reverse")                                                                               \
    X(IDENTITY, "identity", "Allreduce SUM's adjoint is the identity")                             \
    X(ALL_TIES, "all-ties", "MAX's adjoint gives the full cotangent to every tied rank")           \
    X(WAIT_ORDER, "wait-order", "adjoints of requests start at the wait, in the order of waits")   \
    X(TAG_OFFSET, "tag-offset",                                                                    \
      "adjoint messages use the posted tag + 10 on the forward "                                   \
      "communicator")                                                                              \
    X(DUMMY_EDGE, "dummy-edge", "the edge from a wait to its start is not ordered")                \
    X(GATHER_UNTAPED, "gather-untaped", "Gather is not recorded on the tape")                      \
    X(ZERO_SHORTCUT, "zero-shortcut", "a rank whose cotangent is zero skips the collective")       \
    X(ROOT_WORLD, "root-world", "the root is compared with the rank in the tape's communicator")   \
    X(DOUBLE_COUNT, "double-count", "a replicated gradient is summed although it is one already")  \
    X(PUT_KEEPS, "put-keeps", "Put's adjoint leaves the overwritten values their cotangent")       \
    X(GET_REPLACES, "get-replaces", "Get's adjoint puts its cotangent over the target's")          \
    X(WINDOW_START, "window-start", "adjoints of accesses forget the displacement")                \
    X(LOCK_ORDER, "lock-order", "locks are taken backward in whatever order they come")

enum diff_mutant {
#define X(enumerator, name, text) MUTANT_##enumerator,
    DIFF_MUTANTS(X)
#undef X
        DIFF_MUTANT_COUNT
};

struct diff_mutant_row {
    const char *name, *text;
};
/* All of them, [0] is "none". */
extern const struct diff_mutant_row diff_mutants[DIFF_MUTANT_COUNT];

/* 0 for NULL, -1 for an unknown name. */
int diff_mutant_number(const char *name);

#endif
