/* A chain of layers tanh(W h + b), one per stage, under squared losses: small enough to be computed
 * serially beside every schedule, and no two layers or microbatches alike. See schedule.h. */
#include "collectives/systems/schedule/rows.h"

#include <diff.h>
#include <math.h>
#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = CHAIN_WIDTH, WEIGHTS = CHAIN_WEIGHTS };

struct layer {
    double weights[WEIGHTS], grad[WEIGHTS]; /* row by row, the bias last in its row */
    bool reduced;
};

struct chain {
    const struct schedule *schedule;
    MPI_Comm comm, pair; /* pair: the two ranks that hold the same layers, for two chains */
    int rank, layers;
    struct layer *stages;               /* [stage]; filled in for those of this rank */
    double (*in)[WIDTH], (*out)[WIDTH]; /* [stage][microbatch]: saved by forward */
    double (*inner)[WIDTH];             /* saved by backward_input */
};

static double first_weight(int layer, int i)
{
    return 0.6 * sin(1.0 + 2.7 * layer + 1.3 * i);
}

static double input_value(int microbatch, int i)
{
    return 0.8 * cos(0.4 + 1.9 * microbatch + 0.7 * i);
}

static double target_value(int microbatch, int i)
{
    return 0.3 * sin(2.0 + 0.9 * microbatch - 1.1 * i);
}

static size_t place(const struct chain *chain, int stage, int microbatch)
{
    return (size_t)stage * (size_t)chain->schedule->microbatches + (size_t)microbatch;
}

/* ---- one layer ---- */

static void layer_forward(const double *weights, const double *in, double *out)
{
    for (int i = 0; i < WIDTH; i++) {
        double sum = weights[i * (WIDTH + 1) + WIDTH];
        for (int j = 0; j < WIDTH; j++)
            sum += weights[i * (WIDTH + 1) + j] * in[j];
        out[i] = tanh(sum);
    }
}

static void forward(void *context, int stage, int microbatch, const double *in, double *out)
{
    struct chain *chain = context;
    double *kept = chain->in[place(chain, stage, microbatch)];
    for (int i = 0; i < WIDTH; i++)
        kept[i] = in ? in[i] : input_value(microbatch, i);
    layer_forward(chain->stages[stage].weights, kept, out);
    memcpy(chain->out[place(chain, stage, microbatch)], out, WIDTH * sizeof *out);
}

static double loss(void *context, int microbatch, const double *out, double *out_grad)
{
    (void)context;
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) {
        out_grad[i] = out[i] - target_value(microbatch, i);
        sum += 0.5 * out_grad[i] * out_grad[i];
    }
    return sum;
}

static void backward_input(void *context, int stage, int microbatch, const double *out_grad,
                           double *in_grad)
{
    struct chain *chain = context;
    const double *out = chain->out[place(chain, stage, microbatch)];
    double *inner = chain->inner[place(chain, stage, microbatch)];
    for (int i = 0; i < WIDTH; i++)
        inner[i] = out_grad[i] * (1 - out[i] * out[i]);
    for (int j = 0; j < WIDTH && in_grad; j++) {
        in_grad[j] = 0;
        for (int i = 0; i < WIDTH; i++)
            in_grad[j] += chain->stages[stage].weights[i * (WIDTH + 1) + j] * inner[i];
    }
}

static void backward_weights(void *context, int stage, int microbatch)
{
    struct chain *chain = context;
    const double *inner = chain->inner[place(chain, stage, microbatch)];
    const double *in = chain->in[place(chain, stage, microbatch)];
    double *grad = chain->stages[stage].grad;
    for (int i = 0; i < WIDTH; i++) {
        for (int j = 0; j < WIDTH; j++)
            grad[i * (WIDTH + 1) + j] += inner[i] * in[j];
        grad[i * (WIDTH + 1) + WIDTH] += inner[i];
    }
}

/* ---- copies of a layer ---- */

static bool is_here(const struct chain *chain, int stage)
{
    return chain->schedule->rank_of[stage] == chain->rank;
}

/* The sum over the layer's copies, in every copy. Where both are on one rank, the second call finds
 * it done. */
static void reduce(void *context, int stage)
{
    struct chain *chain = context;
    int layer = stage % chain->layers;
    double sum[WEIGHTS] = {0}, total[WEIGHTS];
    char name[32];
    if (chain->stages[stage].reduced || chain->pair == MPI_COMM_NULL) /* one copy is the sum */
        return;
    for (int s = layer; s < chain->schedule->stages; s += chain->layers)
        for (int i = 0; i < WEIGHTS && is_here(chain, s); i++)
            sum[i] += chain->stages[s].grad[i];
    snprintf(name, sizeof name, "gradient of layer %d", layer);
    SIM_Tensor_name(name);
    MPI_Allreduce(sum, total, WEIGHTS, MPI_DOUBLE, MPI_SUM, chain->pair);
    for (int s = layer; s < chain->schedule->stages; s += chain->layers)
        if (is_here(chain, s)) {
            memcpy(chain->stages[s].grad, total, sizeof total);
            chain->stages[s].reduced = true;
        }
}

/* Copies start from the first chain's weights; both ranks of a pair take the layers in one order.
 */
static void copy_weights(struct chain *chain)
{
    int ranks = chain->schedule->ranks, other = ranks - 1 - chain->rank;
    int low = chain->rank < other ? chain->rank : other, high = ranks - 1 - low;
    MPI_Comm_split(chain->comm, low, chain->rank, &chain->pair);
    for (int i = 0; i < (low == high ? 1 : 2); i++) {
        int layer = i ? high : low;
        double *own = chain->stages[layer].weights;
        double *copy = chain->stages[chain->layers + layer].weights;
        MPI_Bcast(chain->rank == layer ? own : copy, WEIGHTS, MPI_DOUBLE, i, chain->pair);
        if (low == high)
            memcpy(copy, own, WEIGHTS * sizeof *own);
    }
}

/* ---- all of it ---- */

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        abort();
    return memory;
}

struct chain *chain_new(const struct schedule *schedule, MPI_Comm comm)
{
    struct chain *chain = zeroed(1, sizeof *chain);
    size_t entries = (size_t)schedule->stages * (size_t)schedule->microbatches;
    chain->schedule = schedule;
    chain->comm = comm;
    chain->pair = MPI_COMM_NULL;
    chain->layers = schedule->stages / schedule->chains;
    MPI_Comm_rank(comm, &chain->rank);
    chain->stages = zeroed((size_t)schedule->stages, sizeof *chain->stages);
    chain->in = zeroed(entries, sizeof *chain->in);
    chain->out = zeroed(entries, sizeof *chain->out);
    chain->inner = zeroed(entries, sizeof *chain->inner);
    for (int s = 0; s < chain->layers; s++) {
        char name[32];
        if (!is_here(chain, s))
            continue;
        for (int i = 0; i < WEIGHTS; i++)
            chain->stages[s].weights[i] = first_weight(s, i);
        snprintf(name, sizeof name, "layer %d", s);
        diff_mark_input(name, chain->stages[s].weights, WEIGHTS);
    }
    if (schedule->chains == 2)
        copy_weights(chain);
    return chain;
}

void chain_free(struct chain *chain)
{
    if (!chain)
        return;
    if (chain->pair != MPI_COMM_NULL)
        MPI_Comm_free(&chain->pair);
    free(chain->stages);
    free(chain->in);
    free(chain->out);
    free(chain->inner);
    free(chain);
}

double chain_train(struct chain *chain)
{
    struct schedule_stages stages = {WIDTH,  forward, loss, backward_input, backward_weights,
                                     reduce, chain};
    double own = schedule_run(chain->schedule, &stages, chain->comm);
    diff_mark_objective(own);
    for (int s = 0; s < chain->layers; s++) {
        char name[32];
        snprintf(name, sizeof name, "layer %d", s);
        if (is_here(chain, s))
            diff_mark_gradient(name, chain->stages[s].grad, WEIGHTS);
    }
    return own;
}

/* ---- the same, serially ---- */

struct serial {
    int layers, microbatches;
    const double *weights; /* [layer][WEIGHTS] */
    double *grad, loss;
};

static void serial_microbatch(struct serial *serial, int microbatch, double (*h)[WIDTH])
{
    double bar[WIDTH], next[WIDTH];
    for (int i = 0; i < WIDTH; i++)
        h[0][i] = input_value(microbatch, i);
    for (int l = 0; l < serial->layers; l++)
        layer_forward(serial->weights + l * WEIGHTS, h[l], h[l + 1]);
    for (int i = 0; i < WIDTH; i++) {
        bar[i] = h[serial->layers][i] - target_value(microbatch, i);
        serial->loss += 0.5 * bar[i] * bar[i];
    }
    for (int l = serial->layers - 1; l >= 0; l--) {
        memset(next, 0, sizeof next);
        for (int i = 0; i < WIDTH; i++) {
            double slope = bar[i] * (1 - h[l + 1][i] * h[l + 1][i]);
            double *row = serial->grad + l * WEIGHTS + i * (WIDTH + 1);
            const double *weights = serial->weights + l * WEIGHTS + i * (WIDTH + 1);
            for (int j = 0; j < WIDTH; j++) {
                row[j] += slope * h[l][j];
                next[j] += slope * weights[j];
            }
            row[WIDTH] += slope;
        }
        memcpy(bar, next, sizeof bar);
    }
}

/* all: weights, then gradients of all layers; last the loss. */
static double serial_difference(const struct chain *chain, const double *all)
{
    int count = chain->layers * WEIGHTS;
    struct serial serial = {chain->layers, chain->schedule->microbatches, all,
                            zeroed((size_t)count, sizeof(double)), 0};
    double(*h)[WIDTH] = zeroed((size_t)chain->layers + 1, sizeof *h);
    for (int m = 0; m < serial.microbatches; m++)
        serial_microbatch(&serial, m, h);
    double of_loss = serial_distance(&all[2 * count], &serial.loss, 1);
    double worst = serial_distance(all + count, serial.grad, (size_t)count);
    if (!(of_loss <= worst))
        worst = of_loss;
    free(serial.grad);
    free(h);
    return worst;
}

double chain_compare(struct chain *chain, double own)
{
    int count = chain->layers * WEIGHTS;
    double *all = zeroed(4 * (size_t)count + 2, sizeof *all), *mine = all + 2 * count + 1;
    for (int s = 0; s < chain->layers; s++)
        for (int i = 0; i < WEIGHTS && is_here(chain, s); i++) {
            mine[s * WEIGHTS + i] = chain->stages[s].weights[i];
            mine[count + s * WEIGHTS + i] = chain->stages[s].grad[i];
        }
    mine[2 * count] = own;
    MPI_Reduce(mine, all, 2 * count + 1, MPI_DOUBLE, MPI_SUM, 0, chain->comm);
    double worst = chain->rank == 0 ? serial_difference(chain, all) : 0;
    free(all);
    return worst;
}
