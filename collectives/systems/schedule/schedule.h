/* schedule.h: pipeline schedules that compute, and serial references for other training schedules.
 *
 * A schedule says for every rank, cell by cell, what it does: forward and backward passes of its
 * stages on microbatches, and the messages between stages. It is made from a named kind or read
 * from PyTorch's schedule CSV, and runs any chain of stages; `simrun check FILE.csv` judges the
 * same file without running it.
 *
 * Rules:
 *  - A stage lives on one rank. Stages form `chains` of equal length: stage s passes its output to
 *    s + 1 unless s is the last of its chain.
 *  - One action alone in its cell that is a message blocks. A cell of several actions posts its
 *    messages as one batch, computes, then waits for all of them.
 *  - Functions that can fail return NULL or false and write one sentence to `why`. A schedule that
 *    asks for a value which has not come ends the rank with G005, naming the cell.
 *
 * Room: sees recorder, traces. Seen by cli. */
#ifndef COLLECTIVES_SYSTEMS_SCHEDULE_SCHEDULE_H
#define COLLECTIVES_SYSTEMS_SCHEDULE_SCHEDULE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum schedule_kind {
    SCHEDULE_F, /* forward */
    SCHEDULE_I, /* backward for the input */
    SCHEDULE_W, /* backward for the weights */
    SCHEDULE_B, /* both */
    SCHEDULE_UNSHARD,
    SCHEDULE_RESHARD,
    SCHEDULE_REDUCE_GRAD,
    SCHEDULE_SEND_F,
    SCHEDULE_RECV_F,
    SCHEDULE_SEND_B,
    SCHEDULE_RECV_B
};

struct schedule_action {
    enum schedule_kind kind;
    int stage, microbatch;
};

struct schedule_cell {
    size_t first, end; /* its actions in the row */
};

/* What one rank does. */
struct schedule_row {
    struct schedule_cell *cells;
    size_t cell_count, cell_room;
    struct schedule_action *actions;
    size_t action_count, action_room;
};

struct schedule {
    int ranks, stages, chains, microbatches;
    struct schedule_row *rows;
    int *rank_of; /* stage -> rank */
};

/* How to make one. Kinds: gpipe, 1f1b, interleaved, zero-bubble (1f1b with the weights' half of the
 * backward pass put off), v (two stages a rank, there and back, as in DualPipeV), bidirectional
 * (two chains in opposite directions over copies of the weights, as in DualPipe),
 * bidirectional-own-first (the same with the copies reduced in an order of each rank's own: wrong).
 * Messages:
 * separate (each blocks where its value is made or needed), batched (a send and a receive that meet
 * are one exchange), ordered (both ends of all messages stand in one common order). */
struct schedule_plan {
    const char *kind, *messages;
    int ranks, microbatches;
    int chunks; /* interleaved: stages per rank; others ignore it */
};
struct schedule *schedule_new(const struct schedule_plan *plan, char *why, size_t room);
/* Every stage is of one chain. */
struct schedule *schedule_read(const char *path, char *why, size_t room);
/* Its cells as they stand in the file, to be looked at and not to be run: a table of computations
 * gets no messages. */
struct schedule *schedule_read_cells(const char *path, char *why, size_t room);
/* PyTorch's CSV; nothing is left behind when it fails. */
bool schedule_write(const struct schedule *schedule, const char *path, char *why, size_t room);
void schedule_free(struct schedule *schedule);
/* Tells every action that asks for a value which is not there yet, or makes one twice: the same
 * that ends a rank which runs the schedule. */
typedef void schedule_fault(void *context, int rank, const char *text);
void schedule_check_data(const struct schedule *schedule, schedule_fault *report, void *context);

/* The stages that a schedule runs: `width` values go from one to the next for every microbatch. */
struct schedule_stages {
    size_t width;
    /* The first of a chain gets NULL for `in`. */
    void (*forward)(void *context, int stage, int microbatch, const double *in, double *out);
    /* The loss of one microbatch at the end of a chain, and its derivative. */
    double (*loss)(void *context, int microbatch, const double *out, double *out_grad);
    /* `in_grad` is NULL at the first of a chain. What `backward_weights` needs is saved. */
    void (*backward_input)(void *context, int stage, int microbatch, const double *out_grad,
                           double *in_grad);
    void (*backward_weights)(void *context, int stage, int microbatch);
    /* REDUCE_GRAD of a stage; NULL where no schedule asks for it. */
    void (*reduce)(void *context, int stage);
    void *context;
};
/* Runs the calling rank's row; collective in the sense of the schedule. The losses of this rank. */
double schedule_run(const struct schedule *schedule, const struct schedule_stages *stages,
                    MPI_Comm comm);

/* ---- a small model: a chain of layers tanh(W h + b), one per stage, and squared losses ---- */

enum { CHAIN_WIDTH = 3, CHAIN_WEIGHTS = CHAIN_WIDTH * (CHAIN_WIDTH + 1) };

struct chain;
/* A copy of a layer's weights is told from the rank of the first chain's; collective over `comm`.
 * The weights of the first chain are marked as inputs of the gradient check. */
struct chain *chain_new(const struct schedule *schedule, MPI_Comm comm);
void chain_free(struct chain *chain);
/* Runs the schedule, marks objective and gradients. */
double chain_train(struct chain *chain);
/* Rank 0 computes loss and gradients of all layers serially, microbatch by microbatch, from the
 * weights the ranks used, and returns the largest relative difference; 0 on the other ranks.
 * Collective. */
double chain_compare(struct chain *chain, double loss);

/* ---- serial references: what a parallel computation must agree with ---- */

/* 0.5 |tanh(x a) b - target|^2 over matrices by rows: x [rows, in], a [in, hidden], b [hidden,
 * out]. Adds the gradients; NULL where none is asked for. */
struct perceptron {
    int rows, in, hidden, out;
    const double *x, *a, *b, *target;
    double *x_grad, *a_grad, *b_grad;
};
double perceptron_serial(const struct perceptron *model);

/* 0.5 |softmax(q k^T / sqrt(width)) v - target|^2 over matrices [rows, width]; adds the gradients.
 */
struct attention {
    int rows, width;
    const double *q, *k, *v, *target;
    double *q_grad, *k_grad, *v_grad;
};
double attention_serial(const struct attention *model);

/* The largest difference of two arrays, relative to the larger of |expected| and 0.001; NaN if
 * there is one. */
double serial_distance(const double *got, const double *expected, size_t count);

#ifdef __cplusplus
}
#endif
#endif
