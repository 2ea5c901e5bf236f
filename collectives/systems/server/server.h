/* server.h: training with a parameter server, or without one, over MPI.
 *
 * Three ways to keep the parameters of a model together:
 *  - synchronous: every rank has a replica; gradients are coded, exchanged, decoded and summed, and
 *    every rank takes the same step (server_ready, server_step);
 *  - central: rank 0 gathers gradients from any source until n have come, steps and broadcasts
 *    (server_serve and server_round);
 *  - asynchronous: rank 0 applies gradients as they come, the others never wait for each other
 *    (AsySG-con and AsySG-incon, arXiv 1506.08272: server_serve, server_pull, server_push).
 *
 * Rules that hold for every function:
 *  - Values belong to the caller and are changed in place by steps and pulls; they must stay where
 *    they are until server_free.
 *  - Parameters are registered in the same order, with the same counts, on every rank.
 *  - Wrong use ends the rank with a finding that names argument and remedy; nothing returns an
 *    error code.
 *  - What the checks S001, S002 and S003 need is written into the trace. Programs with a server of
 *    their own write the same with the server_note functions at the end.
 *
 * Room: sees collectives/arithmetic, collectives/tape; recorder. Seen by programs. */
#ifndef COLLECTIVES_SYSTEMS_SERVER_SERVER_H
#define COLLECTIVES_SYSTEMS_SERVER_SERVER_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- coders: how a gradient becomes bytes ---- */

/* `setting` and `context` are the coder's own. All three functions depend on their arguments alone.
 */
struct server_coder {
    const char *name;
    bool exact; /* decoding gives back every bit */
    double setting;
    void *context;
    /* The most bytes that encode writes for `count` values. */
    size_t (*room)(const struct server_coder *coder, size_t count);
    /* Writes the bytes and returns how many. What it draws depends on `seed` alone. */
    size_t (*encode)(const struct server_coder *coder, const double *values, size_t count,
                     uint64_t seed, void *bytes);
    /* False when these are not bytes that encode wrote for `count` values. */
    bool (*decode)(const struct server_coder *coder, const void *bytes, size_t size, double *values,
                   size_t count);
};

/* The values as they are. */
struct server_coder server_coder_none(void);
/* IEEE half precision, rounded to nearest even; beyond 65504 infinite. */
struct server_coder server_coder_float16(void);
/* The upper half of a float, rounded to nearest even. */
struct server_coder server_coder_bfloat16(void);
/* The largest `fraction` (0..1] of the values by magnitude, at least one; the others are zero. */
struct server_coder server_coder_top_k(double fraction);
/* QSGD: the Euclidean norm, signs, and levels 0..levels (1..127) drawn so that the expectation is
 * the value. */
struct server_coder server_coder_quantised(int levels);
/* The values compressed without loss by zstd at this level (1..19). */
struct server_coder server_coder_zstd(int level);
/* "none", "float16", "bfloat16", "top-k:0.1", "quantised:8", "zstd:3"; false for anything else. */
bool server_coder_parse(const char *text, struct server_coder *coder);

/* ---- optimizers ---- */

enum server_rule { SERVER_SGD, SERVER_ADAM };
/* As torch.optim.SGD and torch.optim.Adam compute them. */
struct server_optimizer {
    enum server_rule rule;
    double learning_rate, weight_decay;
    double momentum, dampening;   /* SGD */
    bool nesterov;                /* SGD; wants momentum and no dampening */
    double beta1, beta2, epsilon; /* Adam */
};
struct server_optimizer server_sgd(double learning_rate);
/* beta1 0.9, beta2 0.999, epsilon 1e-8. */
struct server_optimizer server_adam(double learning_rate);

/* What an optimizer remembers of one parameter; starts as zeros. */
struct server_moments {
    double *first, *second;
    uint64_t steps;
};
/* One step on `count` values, which changes values and moments. */
void server_optimizer_apply(const struct server_optimizer *optimizer,
                            struct server_moments *moments, double *values, const double *gradient,
                            size_t count);
void server_moments_release(struct server_moments *moments);

/* ---- servers ---- */

struct server;

/* How coded gradients of unknown size travel. Two phases: the sizes, then the bytes. Padded: slots
 * of one size with the length in front; a gradient that does not fit is announced, and all go
 * again with a larger slot. Sentinel: slots in which a mark ends the bytes, as pytorch_ps_mpi had
 * it, without any check: for showing what goes wrong. */
enum server_framing { SERVER_TWO_PHASE, SERVER_PADDED, SERVER_SENTINEL };
/* When the exchange of a gradient starts: in server_step in the order of registration, whatever
 * was ready first; or in server_ready at once, which overlaps it with the backward pass and is
 * right only if every rank's gradients become ready in the same order, each once. */
enum server_launch { SERVER_AT_STEP, SERVER_AT_READY };

/* What an asynchronous worker reads: whole versions, or blocks of different versions. */
enum server_read { SERVER_CONSISTENT, SERVER_INCONSISTENT };
enum server_stale { SERVER_STALE_APPLY, SERVER_STALE_DROP };
#define SERVER_UNBOUNDED UINT64_MAX

struct server_options {
    const char *name; /* without blanks; one of its own for each server of a program */
    struct server_coder coder;
    /* What the coder loses of a gradient is kept by its rank and added to the next one (error
     * feedback): what was sent and what is kept are together all gradients. */
    bool feedback;
    struct server_optimizer optimizer;
    bool average;  /* the mean of the gradients of a step instead of their sum */
    uint64_t seed; /* of coders that draw */
    bool quiet;    /* write nothing into the trace: for long experiments */

    /* synchronous */
    enum server_framing framing;
    enum server_launch launch;
    size_t slot; /* bytes of a padded slot at the start; 0: what the coder may need */

    /* rank 0 as the server */
    size_t gradients;        /* that make one step; 0: as many as there are workers */
    uint64_t bound;          /* T: the staleness that is allowed */
    enum server_stale stale; /* what to do beyond T */
    enum server_read read;   /* asynchronous */
    size_t blocks;           /* inconsistent: into how many blocks the values are cut */
    size_t window;           /* asynchronous: gradients of a worker that may be under way */
    /* Called at rank 0 after every step; may be NULL. */
    void (*stepped)(struct server *server, uint64_t version, void *context);
    void *context;
};
/* No coder, SGD with learning rate 0.1, the sum; two phases, at the step; unbounded staleness,
 * consistent reads, 4 blocks, a window of 1. */
void server_options_init(struct server_options *options);

/* Collective over `comm`, which is duplicated. Options are copied. */
struct server *server_new(MPI_Comm comm, const struct server_options *options);
/* Registers values and returns the parameter's number, from 0. */
size_t server_parameter(struct server *server, const char *name, double *values, size_t count);
/* Gives every rank the values of rank 0; collective. */
void server_broadcast(struct server *server);
/* Steps taken so far: the version of the parameters. */
uint64_t server_version(const struct server *server);
/* The sum (or mean) that the last step used; the server's. */
const double *server_gradient(const struct server *server, size_t parameter);
/* What this rank has lost of its gradients so far and will send later; zeros without feedback; the
 * server's. */
const double *server_residual(const struct server *server, size_t parameter);
/* Collective. */
void server_free(struct server *server);

/* ---- synchronous ---- */

/* The local gradient of a parameter is ready: a hook of the backward pass. The values are copied.
 * Called again before the step it adds (at step), or starts a second exchange (at ready). */
void server_ready(struct server *server, size_t parameter, const double *gradient);
/* Exchanges, decodes, sums in the order of the ranks, and steps; collective. A parameter that was
 * not ready counts as zero (at step). */
void server_step(struct server *server);
/* Whether all replicas are the same, bit for bit; collective. Under simrun the check S003 says the
 * same after every step, without any message. */
bool server_replicas_equal(struct server *server);

/* ---- rank 0 as the server; all others are workers ---- */

/* What became of the gradients that rank 0 received: received = applied + dropped. */
struct server_tally {
    uint64_t received, applied, dropped;
    uint64_t staleness_max;
    double staleness_mean;
};

/* Rank 0 of a central server. A round is: gradients from any source until `gradients` have come,
 * or all that can come; a step; a broadcast of the values. Returns when all workers are done. */
struct server_tally server_serve_central(struct server *server);
/* A worker's part of a round: sends its gradients (one array per parameter; NULL: it has no more)
 * and takes over the new values. False once nobody has more: leave the loop then. */
bool server_round(struct server *server, const double *const *gradients);

/* Rank 0 of an asynchronous server: applies what comes from anybody until all workers are done. */
struct server_tally server_serve(struct server *server);
/* A worker: takes over the values that have arrived, waiting only while its window is full.
 * Returns the version read, that of the oldest block. */
uint64_t server_pull(struct server *server);
/* A worker: sends gradients of the values last pulled. */
void server_push(struct server *server, const double *const *gradients);
/* A worker: it sends no more; waits for the final values. */
void server_done(struct server *server);

/* ---- notes: for programs with a server of their own ---- */

/* The staleness that `server` allows. */
void server_note_bound(const char *server, uint64_t versions);
/* The next operation of the caller sends its update number `sequence` (from 1), made from
 * `version`. */
void server_note_sent(const char *server, uint64_t sequence, uint64_t version);
/* The update of that world rank was added to the parameters, which were at `version` before. */
void server_note_applied(const char *server, int worker, uint64_t sequence, uint64_t version);
/* It replaced the parameters: updates since the version it was made from are lost. */
void server_note_written(const char *server, int worker, uint64_t sequence, uint64_t version);
/* It was left out on purpose. */
void server_note_dropped(const char *server, int worker, uint64_t sequence);
/* No more will be applied. */
void server_note_closed(const char *server);
/* After a step that leaves all replicas equal: the caller's replica. */
void server_note_replica(const char *server, const char *parameter, const double *values,
                         size_t count);

#ifdef __cplusplus
}
#endif
#endif
