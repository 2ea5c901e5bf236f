/* master_worker.h: one rank runs the program, the others obey.
 *
 *   struct master *master = master_start(world, 1, functions, count);
 *   if (master) {
 *       struct remote x = master_copy_to(master, 1, tensor);
 *       struct remote y = master_apply(master, REMOTE_TANH, x);
 *       struct diff_tensor *loss = diff_sum(master_copy_from(master, y));
 *       master_backward(master, loss, 0, NULL);
 *       master_stop(master);
 *   }
 *
 * The tensors live where the commands made them, under ids that the master gives; the backward pass
 * goes through them as if they were its own.
 *
 * Rules:
 *  - Commands only start something; they are kept until the worker next answers. Each worker obeys
 *    in the order in which they were given; between workers there is no order but that of the
 *    copies.
 *  - A command and the values that belong to it are one piece for its worker.
 *  - What goes wrong on a worker is reported at the next command to that worker, or where the
 *    master next waits for it, in one sentence that names worker and command. Until then it does
 *    nothing more. After master_tells the sentence is kept for master_error; otherwise it ends the
 *    rank.
 *  - With several masters (ranks 0 to n - 1) every one of them gives commands. Without the lock of
 *    a worker nobody knows in which order it obeys two masters.
 *
 * Room: sees collectives/systems/data_channel, collectives/systems/process_group. Seen by
 * programs. */
#ifndef COLLECTIVES_SYSTEMS_MASTER_WORKER_MASTER_WORKER_H
#define COLLECTIVES_SYSTEMS_MASTER_WORKER_MASTER_WORKER_H

#include <diff.h>
#include <process_group.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct master;

/* A tensor on a worker, or data: a name for it, which is copied like a number. */
struct remote {
    int worker;
    uint64_t id;
};

/* Values on a worker as its functions see them: of a tensor, or data, which are not differentiated
 * and may be integers or bytes. */
struct remote_values {
    struct diff_tensor *tensor; /* NULL: data */
    enum data_type type;
    size_t count;
    const void *values;
};

/* What workers can be told to do beside the built-in operations; every rank gives the same table.
 * Runs on the worker; arguments and result belong to `tape`. NULL: no result. */
struct master_function {
    const char *name;
    struct diff_tensor *(*run)(struct diff_tape *tape, size_t count,
                               struct diff_tensor *const *arguments);
    /* Where `run` is NULL: the same for arguments of which some may be data. Of a result without a
     * tensor the values are copied; with neither there is none. */
    struct remote_values (*run_any)(struct diff_tape *tape, size_t count,
                                    const struct remote_values *arguments);
};

/* ---- the session ---- */

/* Collective over the group. Ranks below `masters` (at least 1, fewer than all) get a session; the
 * others obey until all masters have stopped, and get NULL then. The table must live as long. */
struct master *master_start(struct process_group *world, int masters,
                            const struct master_function *functions, size_t function_count);
/* Lets the workers go; every master calls it. */
void master_stop(struct master *master);
int master_workers(const struct master *master);
/* The rank of the first worker; the others follow. */
int master_first_worker(const struct master *master);
/* From now on errors of workers are kept instead of ending the rank. */
void master_tells(struct master *master);
/* The first error that has come, "" when none has. */
const char *master_error(const struct master *master);
/* Forgets all tensors, on this tape and on the workers'; for loops, with one master. */
void master_clear(struct master *master);

/* ---- several masters ---- */

/* The lock of a worker goes round among the masters: each takes it in turn, rank 0 first, and all
 * of them equally often. Unlocking waits until the worker has obeyed. */
void master_lock(struct master *master, int worker);
void master_unlock(struct master *master, int worker);

/* ---- commands: they do not wait ---- */

/* A variable on the worker, as by diff_input; the name is unique on that worker. */
struct remote master_input(struct master *master, int worker, const char *name, size_t count,
                           const double *values);
struct remote master_constant(struct master *master, int worker, size_t count,
                              const double *values);
/* The same in another type. */
struct remote master_input_of(struct master *master, int worker, const char *name,
                              enum diff_type type, size_t count, const void *values);
struct remote master_constant_of(struct master *master, int worker, enum diff_type type,
                                 size_t count, const void *values);
/* Data of any type: functions of the table take and make them, copies carry them, master_fetch gets
 * them; the operations below are for tensors. */
struct remote master_data(struct master *master, int worker, enum data_type type, size_t count,
                          const void *values);
enum remote_operation {
    REMOTE_NEG,
    REMOTE_TANH,
    REMOTE_EXP,
    REMOTE_SUM,
    REMOTE_ADD,
    REMOTE_SUB,
    REMOTE_MUL,
    REMOTE_DOT,
    REMOTE_OPERATIONS
};
struct remote master_apply(struct master *master, enum remote_operation operation, struct remote a);
/* Both tensors live on one worker and have one type. */
struct remote master_apply_two(struct master *master, enum remote_operation operation,
                               struct remote a, struct remote b);
struct remote master_scale(struct master *master, struct remote a, double factor);
/* Calls a function of the table by name. */
struct remote master_call(struct master *master, int worker, const char *function, size_t count,
                          const struct remote *arguments);
/* One tensor of `count` values of every worker, in their order: the combination on each. One master
 * only. */
void master_all_reduce(struct master *master, size_t count, const struct remote *x,
                       struct process_op op, struct remote *results);
/* The same in another type; data where that is an integer. */
void master_all_reduce_of(struct master *master, enum data_type type, size_t count,
                          const struct remote *x, struct process_op op, struct remote *results);
/* The id is not used again; using it is an error of the worker. */
void master_free(struct master *master, struct remote x);

/* ---- copies: here the master and a worker, or two workers, wait for each other ---- */

struct remote master_copy_to(struct master *master, int worker, struct diff_tensor *x);
/* NULL when the worker has failed and the program asked for errors. */
struct diff_tensor *master_copy_from(struct master *master, struct remote x);
/* The values of a tensor or of data, without history: `count` of this type. False when the worker
 * has failed. */
bool master_fetch(struct master *master, struct remote x, enum data_type type, size_t count,
                  void *values);
/* The master does not wait. */
struct remote master_copy_between(struct master *master, struct remote x, int worker);
/* Waits until the worker has obeyed; false when it has failed. */
bool master_sync(struct master *master, int worker);

/* ---- backward ---- */

/* Gradients of J = the sum of all losses: the caller's (NULL: none) and at most one per worker.
 * Every master calls it; only rank 0 names remote losses. */
void master_backward(struct master *master, struct diff_tensor *loss, size_t count,
                     const struct remote *losses);
/* The gradient of a remote variable: `count` values. False when the worker has failed. */
bool master_gradient(struct master *master, struct remote x, size_t count, double *values);
bool master_gradient_of(struct master *master, struct remote x, enum diff_type type, size_t count,
                        void *values);

#ifdef __cplusplus
}
#endif
#endif
