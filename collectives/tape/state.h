/* What one rank's part of the library knows: hangs on the rank's slot, so that any number of worlds
 * and ranks live in one process. */
#ifndef COLLECTIVES_TAPE_STATE_H
#define COLLECTIVES_TAPE_STATE_H

#include <diff.h>
#include <stdbool.h>
#include <stdint.h>

struct diff_probe;
struct diff_probe_rank;

/* A reduction of the user's with its partial derivatives (see diff_op_register). */
struct diff_user_op {
    struct diff_user_op *next;
    MPI_Op op;
    struct diff_op_rules rules;
};

/* What a system (a folder below this one) keeps for a rank. */
struct diff_system {
    struct diff_system *next;
    const char *name;
    void *state;
    void (*release)(void *state);
};

struct diff_state {
    struct diff_probe *probe; /* NULL: nobody looks */
    struct diff_probe_rank *row;
    struct diff_tape *tapes;
    struct diff_user_op *user_ops;
    struct diff_system *systems;
    const void *site;     /* where the user called us */
    const char *function; /* and which public function, NULL where it did not say */
    int depth;            /* of public calls */
    int no_grad;
    int mutant;         /* an enum diff_mutant, 0 for none */
    int order_override; /* -1, or an enum diff_order */
    bool recorded;    /* somebody listens to the recorder's calls: from the rank's first call on */
    uint32_t entered; /* then: the recorder's position when the public call began */
    bool off_tape;    /* an operation that is on no tape communicated in it */
    uint32_t epochs;
    uint32_t channels; /* made by this rank, for their identities */
};

/* The caller's state, made at its first call. */
struct diff_state *state_get(void);
/* The calling rank's state of the system of this name: `size` bytes, zero at the first call.
 * `release` (may be NULL) is called with it before the rank's state is freed, after the rank has
 * ended: it must not communicate. */
void *state_system(const char *name, size_t size, void (*release)(void *state));
/* NULL: it has none yet. */
void *state_system_find(const char *name);
/* Frees what the library kept for a rank of a world that is over: the value of its MPIX_SLOT_DIFF,
 * NULL is fine. */
void diff_state_release(void *slot);
/* Frees a tape's memory and nothing else: for ranks that have ended. */
void state_tape_release(struct diff_tape *tape);
/* Brackets of a public call: the outermost one's return address is the site of all that happens
 * within. */
void state_enter(struct diff_state *state, const void *site);
void state_enter_function(struct diff_state *state, const void *site, const char *function);
void state_leave(struct diff_state *state);
/* Ends the rank with a finding at the current site. */
_Noreturn void state_fail(struct diff_state *state, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define ENTER(state) state_enter_function(state, __builtin_return_address(0), __func__)

#endif
