/* What one rank's part of the library knows: hangs on the rank's slot, so that any number of worlds
 * and ranks live in one process. */
#ifndef COLLECTIVES_STATE_H
#define COLLECTIVES_STATE_H

#include <diff.h>
#include <stdint.h>

struct diff_probe;
struct diff_probe_rank;

/* A reduction of the user's with its partial derivatives (see diff_op_register). */
struct diff_user_op {
    struct diff_user_op *next;
    MPI_Op op;
    struct diff_op_rules rules;
};

struct diff_state {
    struct diff_probe *probe; /* NULL: nobody looks */
    struct diff_probe_rank *row;
    struct diff_tape *tapes;
    struct diff_user_op *user_ops;
    const void *site; /* where the user called us */
    int depth;        /* of public calls */
    int no_grad;
    int mutant;         /* an enum diff_mutant, 0 for none */
    int order_override; /* -1, or an enum diff_order */
    uint32_t epochs;
    uint32_t channels; /* made by this rank, for their identities */
};

/* The caller's state, made at its first call. */
struct diff_state *state_get(void);
/* Brackets of a public call: the outermost one's return address is the site of all that happens
 * within. */
void state_enter(struct diff_state *state, const void *site);
void state_leave(struct diff_state *state);
/* Ends the rank with a finding at the current site. */
_Noreturn void state_fail(struct diff_state *state, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define ENTER(state) state_enter(state, __builtin_return_address(0))

#endif
