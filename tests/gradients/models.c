/* Training as people write it, with adjoints by hand: `models PROGRAM DEFECT`, 0 is right.
 *
 * Pipelines with recomputation, layers cut by columns and rows, sequences cut into pieces, sharded weights, experts, tables of
 * rows, norms over all ranks, scaled losses, micro-batches, tied weights, attention in a ring. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define W MPI_COMM_WORLD
#define D MPI_DOUBLE
enum { N = 3, MOST = 8, MICRO = 3 };

static int rank, ranks, defect;

static double shared(int what, int i)
{
    return 0.7 * sin(1.7 * i + 0.9 * what + 0.3) + 0.05 * what;
}

static double number(int what, int i)
{
    return shared(what, i + 7 * rank);
}

static void fill(double *x, int count, int what)
{
    for (int i = 0; i < count; i++)
        x[i] = number(what, i);
}

static void sum_over(double *x, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, x, count, D, MPI_SUM, W);
}

/* y = A x, or with A's transpose; the cotangent of A. */
static void apply(const double *a, const double *x, double *y, int rows, int columns, int turned)
{
    memset(y, 0, (size_t)(turned ? columns : rows) * sizeof *y);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            y[turned ? c : r] += a[r * columns + c] * x[turned ? r : c];
}

static void outer(double *a_bar, const double *y_bar, const double *x, int rows, int columns)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            a_bar[r * columns + c] += y_bar[r] * x[c];
}

/* ---- a pipeline: each rank a stage, tanh(w x); stages keep what came in and compute the rest again ---- */

static void pipeline(void)
{
    double w[N * N], w_bar[N * N] = {0}, x[MICRO][N], kept[MICRO][N], y[N], loss = 0;
    double out_bar[MICRO][N] = {{0}}, y_bar[N], x_bar[N];
    int next = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, last = rank ? rank - 1 : MPI_PROC_NULL;
    fill(w, N * N, 1);
    diff_mark_input("w", w, N * N);
    for (int m = 0; m < MICRO; m++) {
        for (int i = 0; i < N; i++)
            x[m][i] = shared(2 + m, i);
        MPI_Recv(x[m], N, D, last, m, W, MPI_STATUS_IGNORE);
        memcpy(kept[m], x[m], sizeof kept[m]);
        apply(w, x[m], y, N, N, 0);
        for (int i = 0; i < N; i++) {
            y[i] = tanh(y[i]);
            loss += rank == ranks - 1 ? y[i] * y[i] * (1 + m) : 0;
            out_bar[m][i] = rank == ranks - 1 ? 2 * y[i] * (1 + m) : 0;
        }
        MPI_Send(y, N, D, next, m, W);
    }
    diff_mark_objective(loss);
    for (int m = MICRO - 1; m >= 0; m--) {
        const double *in = kept[defect == 1 ? MICRO - 1 : m]; /* 1: of another micro-batch */
        MPI_Recv(out_bar[m], N, D, next, m, W, MPI_STATUS_IGNORE);
        apply(w, in, y, N, N, 0);
        for (int i = 0; i < N; i++)
            y_bar[i] = out_bar[m][i] * (1 - tanh(y[i]) * tanh(y[i]));
        if (defect == 2) /* the newest instead of all */
            memset(w_bar, 0, sizeof w_bar);
        outer(w_bar, y_bar, in, N, N);
        apply(w, defect == 3 && m == 0 ? out_bar[m] : y_bar, x_bar, N, N, 1); /* 3: without tanh */
        MPI_Send(x_bar, N, D, last, m, W);
    }
    diff_mark_gradient("w", w_bar, N * N);
}

/* ---- a layer cut by columns, the next by rows: f before, g behind ---- */

static void tensor(void)
{
    double a[2 * N], b[2 * N], a_bar[2 * N] = {0}, b_bar[2 * N] = {0}, x[N], x_bar[N], h[2], y[N];
    double y_bar[N], h_bar[2], loss = 0;
    fill(a, 2 * N, 1), fill(b, 2 * N, 2);
    for (int i = 0; i < N; i++)
        x[i] = shared(3, i);
    diff_mark_input("a", a, 2 * N);
    diff_mark_input("b", b, 2 * N);
    diff_mark_input("x", x, N);
    MPI_Bcast(x, N, D, 0, W);
    apply(a, x, h, 2, N, 0);
    for (int i = 0; i < 2; i++)
        h[i] = tanh(h[i]);
    apply(b, h, y, N, 2, 0);
    sum_over(y, N);
    for (int i = 0; i < N; i++)
        loss += y[i] * y[i], y_bar[i] = 2 * y[i];
    diff_mark_objective(rank == 0 ? loss : 0); /* all have it */
    if (defect == 1)
        sum_over(y_bar, N); /* g's adjoint is the identity */
    outer(b_bar, y_bar, h, N, 2);
    apply(b, y_bar, h_bar, N, 2, 1);
    for (int i = 0; i < 2; i++)
        h_bar[i] *= 1 - h[i] * h[i];
    outer(a_bar, h_bar, x, 2, N);
    apply(a, h_bar, x_bar, 2, N, 1);
    if (defect != 2)
        sum_over(x_bar, N);
    for (int i = 0; i < N; i++)
        x_bar[i] *= rank == 0 || defect == 3; /* 3: every copy has the whole */
    diff_mark_gradient("a", a_bar, 2 * N);
    diff_mark_gradient("b", b_bar, 2 * N);
    diff_mark_gradient("x", x_bar, N);
}

/* ---- a sequence cut into pieces: gathered before the layer, reduced and scattered behind it ---- */

static void sequence(void)
{
    double x[N], all[N * MOST], w, y[N * MOST], z[N], gain, loss = 0, all_bar[N * MOST], x_bar[N];
    double z_bar[N], w_bar = 0, gain_bar = 0;
    fill(x, N, 1), w = number(2, 0), gain = shared(3, 0);
    diff_mark_input("x", x, N);
    diff_mark_input("w", &w, 1);
    diff_mark_input("gain", &gain, 1);
    MPI_Bcast(&gain, 1, D, 0, W);
    MPI_Allgather(x, N, D, all, N, D, W);
    for (int i = 0; i < N * ranks; i++)
        y[i] = sin(w * all[i]);
    MPI_Reduce_scatter_block(y, z, N, D, MPI_SUM, W);
    for (int i = 0; i < N; i++)
        loss += gain * z[i] * z[i], z_bar[i] = 2 * gain * z[i], gain_bar += z[i] * z[i];
    diff_mark_objective(loss);
    MPI_Allgather(z_bar, N, D, all_bar, N, D, W);
    for (int i = 0; i < N * ranks; i++) {
        w_bar += all_bar[i] * cos(w * all[i]) * all[i];
        all_bar[i] *= w * cos(w * all[i]);
    }
    if (defect == 1) /* the own piece of what one rank knows */
        memcpy(x_bar, all_bar + N * rank, sizeof x_bar);
    else
        MPI_Reduce_scatter_block(all_bar, x_bar, N, D, MPI_SUM, W);
    double gain_all = gain_bar;
    if (defect != 2)
        MPI_Reduce(&gain_bar, &gain_all, 1, D, MPI_SUM, 0, W);
    gain_all *= rank == 0;
    diff_mark_gradient("x", x_bar, N);
    diff_mark_gradient("w", &w_bar, 1);
    diff_mark_gradient("gain", &gain_all, 1);
}

/* ---- weights in shards, gathered for each use: their gradients are reduced and scattered ---- */

static void sharded(void)
{
    double shard[N], w[N * MOST], w_bar[N * MOST] = {0}, shard_bar[N], loss = 0;
    fill(shard, N, 1);
    diff_mark_input("shard", shard, N);
    MPI_Allgather(shard, N, D, w, N, D, W);
    for (int i = 0; i < N * ranks; i++)
        loss += tanh(w[i] * number(2, i));
    diff_mark_objective(loss);
    MPI_Allgather(shard, N, D, w, N, D, W); /* once more, as they had been given back */
    for (int i = 0; i < N * ranks; i++) {
        double t = tanh(w[i] * number(2, i));
        w_bar[i] = (1 - t * t) * number(2, i);
    }
    MPI_Reduce_scatter_block(w_bar, shard_bar, N, D, MPI_SUM, W);
    for (int i = 0; i < N; i++)
        shard_bar[i] *= defect == 1 ? 1.0 / ranks : defect == 2 && rank == 1 ? 1 + 1e-7 : 1;
    diff_mark_gradient("shard", shard_bar, N);
}

/* ---- experts: each token goes to one, weighed by its gate, and comes back ---- */

enum { TOKENS = 5 };

static void experts(void)
{
    double x[TOKENS], gate[TOKENS], sent[TOKENS], got[TOKENS * MOST], back[TOKENS], w, loss = 0;
    double x_bar[TOKENS], gate_bar[TOKENS], y_bar[TOKENS], got_bar[TOKENS * MOST], w_bar = 0;
    int send[MOST] = {0}, receive[MOST], from[MOST], to[MOST], slot[TOKENS], total = 0, at = 0;
    fill(x, TOKENS, 1), fill(gate, TOKENS, 2), w = number(3, 0) + 1;
    diff_mark_input("x", x, TOKENS);
    diff_mark_input("gate", gate, TOKENS);
    diff_mark_input("w", &w, 1);
    for (int i = 0; i < TOKENS; i++)
        send[(2 * i * i + rank) % ranks]++;
    MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, W);
    for (int r = 0; r < ranks; r++) {
        from[r] = at, to[r] = total;
        for (int i = 0; i < TOKENS; i++)
            if ((2 * i * i + rank) % ranks == r)
                sent[slot[i] = at++] = x[i];
        total += receive[r];
    }
    MPI_Alltoallv(sent, send, from, D, got, receive, to, D, W);
    for (int i = 0; i < total; i++)
        got_bar[i] = tanh(w * got[i]);
    MPI_Alltoallv(got_bar, receive, to, D, back, send, from, D, W);
    for (int i = 0; i < TOKENS; i++) {
        double y = gate[i] * back[slot[i]];
        loss += y * y * (1 + i);
        y_bar[slot[i]] = 2 * y * (1 + i) * (defect == 1 ? 1 : gate[i]);  /* 1: no gate */
        gate_bar[i] = 2 * y * (1 + i) * back[defect == 2 ? i : slot[i]]; /* 2: not sorted */
    }
    diff_mark_objective(loss);
    MPI_Alltoallv(y_bar, send, from, D, got_bar, receive, to, D, W);
    for (int i = 0; i < total; i++) {
        double t = tanh(w * got[i]), bar = got_bar[i] * (1 - t * t);
        w_bar += bar * got[i];
        got_bar[i] = bar * w;
    }
    if (defect == 3 && total > 1) { /* two tokens in each other's place */
        double first = got_bar[0];
        got_bar[0] = got_bar[1], got_bar[1] = first;
    }
    MPI_Alltoallv(got_bar, receive, to, D, sent, send, from, D, W);
    for (int i = 0; i < TOKENS; i++)
        x_bar[i] = sent[slot[i]];
    diff_mark_gradient("gate", gate_bar, TOKENS);
    diff_mark_gradient("w", &w_bar, 1);
    diff_mark_gradient("x", x_bar, TOKENS);
}

/* ---- a table of rows: what is looked up on all ranks comes together as pairs of row and cotangent ---- */

enum { ROWS = 4, WIDE = 2, LOOKS = 3 };

static void table(void)
{
    double rows[ROWS * WIDE], bars[LOOKS * WIDE], all[LOOKS * WIDE * MOST],
        table_bar[ROWS * WIDE] = {0};
    int looked[LOOKS], every[LOOKS * MOST];
    double loss = 0;
    for (int i = 0; i < ROWS * WIDE; i++)
        rows[i] = shared(1, i);
    diff_mark_input("table", rows, ROWS * WIDE);
    MPI_Bcast(rows, ROWS * WIDE, D, 0, W);
    for (int k = 0; k < LOOKS; k++) {
        looked[k] = k == 2 ? 1 : (rank + 2 * k) % ROWS; /* some twice */
        for (int i = 0; i < WIDE; i++) {
            double value = rows[looked[k] * WIDE + i], weight = number(2, k * WIDE + i);
            loss += weight * value * value;
            bars[k * WIDE + i] = 2 * weight * value;
        }
    }
    diff_mark_objective(loss);
    MPI_Gather(looked, LOOKS, MPI_INT, every, LOOKS, MPI_INT, 0, W);
    MPI_Gather(bars, LOOKS * WIDE, D, all, LOOKS * WIDE, D, 0, W);
    for (int k = 0; rank == 0 && k < LOOKS * ranks; k++)
        for (int i = 0; i < WIDE; i++) {
            double *bar = &table_bar[every[k] * WIDE + i];
            *bar = (defect == 1 ? 0 : *bar) + all[k * WIDE + i]; /* 1: the last of equal rows */
            *bar *= defect == 2 && every[k] == 0 ? 0 : 1;        /* 2: row 0 is padding */
        }
    diff_mark_gradient("table", table_bar, ROWS * WIDE);
}

/* ---- a norm over the batches of all ranks ---- */

static void norm(void)
{
    double x[N], sums[3] = {0, 0, 0}, bars[2] = {0, 0}, x_bar[N], z[N], z_bar[N], loss = 0;
    int count = rank % 2 ? N : N - 1;
    fill(x, N, 1);
    diff_mark_input("x", x, (size_t)count);
    for (int i = 0; i < count; i++)
        sums[0] += x[i], sums[1] += x[i] * x[i], sums[2] += 1;
    sum_over(sums, 3);
    double mean = sums[0] / sums[2], spread = sqrt(sums[1] / sums[2] - mean * mean + 1e-3);
    for (int i = 0; i < count; i++) {
        z[i] = (x[i] - mean) / spread;
        loss += sin(z[i] * (1 + i));
        z_bar[i] = (1 + i) * cos(z[i] * (1 + i));
        bars[0] += z_bar[i], bars[1] += z_bar[i] * z[i];
    }
    diff_mark_objective(loss);
    if (defect != 1)
        sum_over(bars, 2);
    for (int i = 0; i < count; i++)
        x_bar[i] =
            (z_bar[i] - (bars[0] + bars[1] * z[i]) / (defect == 2 ? count : sums[2])) / spread;
    diff_mark_gradient("x", x_bar, (size_t)count);
}

/* ---- data parallel: a scaled loss, micro-batches of unequal size, weights of rank 0 ---- */

static void scaling(void)
{
    double w[N], v[N], w_bar[N] = {0}, v_bar[N] = {0}, sum[N], other[N], loss = 0;
    const double scale = 1024, unscale = 1 / scale;
    int samples = 0, all;
    for (int i = 0; i < N; i++)
        w[i] = shared(1, i), v[i] = shared(2, i);
    diff_mark_input("w", w, N);
    diff_mark_input("v", v, N);
    MPI_Bcast(w, N, D, 0, W);
    MPI_Bcast(v, N, D, 0, W);
    for (int m = 0; m < MICRO; m++)
        samples += 1 + (m + rank) % 2;
    MPI_Allreduce(&samples, &all, 1, MPI_INT, MPI_SUM, W);
    for (int m = 0; m < MICRO; m++) {
        for (int s = 0; s < 1 + (m + rank) % 2; s++) {
            double out = 0, hidden[N], share = defect == 4 ? 1.0 / (samples * ranks) : 1.0 / all;
            for (int i = 0; i < N; i++)
                out += v[i] * (hidden[i] = tanh(w[i] * number(3 + 2 * m + s, i)));
            loss += out * out / all;
            for (int i = 0; i < N; i++) {
                double bar = 2 * out * scale * share;
                v_bar[i] += bar * hidden[i];
                w_bar[i] += bar * v[i] * (1 - hidden[i] * hidden[i]) * number(3 + 2 * m + s, i);
            }
        }
        if (defect == 1 && m < MICRO - 1) /* what was accumulated is summed, and summed again */
            sum_over(v_bar, N);
    }
    diff_mark_objective(loss);
    MPI_Reduce(v_bar, other, N, D, MPI_SUM, 0, W);
    MPI_Reduce(w_bar, sum, N, D, MPI_SUM, 0, W);
    for (int i = 0; i < N; i++) {
        sum[i] = rank ? 0 : sum[i] * (defect == 2 ? 1 : unscale);
        other[i] = rank ? 0 : other[i] * unscale * (defect == 3 ? unscale : 1);
    }
    diff_mark_gradient("v", other, N);
    diff_mark_gradient("w", sum, N);
}

/* ---- the first and the last stage have the same weights ---- */

static void tied(void)
{
    double w[N], x[N], y[N], out[N], w_bar[N] = {0}, other[N] = {0}, y_bar[N] = {0}, loss = 0;
    int last = ranks - 1, first = 0;
    for (int i = 0; i < N; i++)
        w[i] = shared(1, i), x[i] = shared(2, i);
    diff_mark_input("w", w, N);
    if (rank == first)
        MPI_Send(w, N, D, last, 5, W);
    if (rank == last)
        MPI_Recv(w, N, D, first, 5, W, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++)
        y[i] = sin(w[i] * x[i]);
    if (rank == first)
        MPI_Send(y, N, D, last, 6, W);
    if (rank == last) {
        MPI_Recv(y, N, D, first, 6, W, MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i++) {
            out[i] = w[i] * y[i];
            loss += out[i] * out[i];
            y_bar[i] = 2 * out[i] * w[i], other[i] = 2 * out[i] * y[i];
        }
    }
    diff_mark_objective(loss);
    if (rank == last) {
        MPI_Send(y_bar, N, D, first, 7, W);
        if (defect != 1)
            MPI_Send(other, N, D, first, 8, W);
    }
    if (rank == first) {
        MPI_Recv(y_bar, N, D, last, 7, W, MPI_STATUS_IGNORE);
        if (defect != 1)
            MPI_Recv(other, N, D, last, 8, W, MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i++)
            w_bar[i] = y_bar[i] * x[i] * cos(w[i] * x[i]) + other[i] * (defect == 2 ? 2 : 1);
    }
    diff_mark_gradient("w", w_bar, N);
}

/* ---- attention: keys and values go round; the adjoint's go round with them ---- */

static void attention(void)
{
    double q, k, v, kv[2], top = 0, below = 0, q_bar = 0, own[2] = {0}, kv_bar[2] = {0};
    int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
    q = number(1, 0), k = number(2, 0), v = number(3, 0);
    diff_mark_input("q", &q, 1);
    diff_mark_input("k", &k, 1);
    diff_mark_input("v", &v, 1);
    kv[0] = k, kv[1] = v;
    for (int step = 0; step < ranks; step++) {
        double share = exp(q * kv[0]);
        top += share * kv[1], below += share;
        MPI_Sendrecv_replace(kv, 2, D, next, 0, last, 0, W, MPI_STATUS_IGNORE);
    }
    double y = top / below, bar = 2 * y;
    diff_mark_objective(y * y);
    for (int step = 0; step < ranks; step++) {
        double share = exp(q * kv[0]) / below;
        double score = bar * share * (kv[1] - (defect == 1 ? 0 : y)); /* 1: no norm */
        q_bar += score * kv[0];
        kv_bar[0] += score * q, kv_bar[1] += bar * share;
        MPI_Sendrecv_replace(kv, 2, D, next, 1, last, 1, W, MPI_STATUS_IGNORE);
        if (!(defect == 2 && step == ranks - 1)) /* 2: one place too few */
            MPI_Sendrecv_replace(kv_bar, 2, D, next, 2, last, 2, W, MPI_STATUS_IGNORE);
    }
    memcpy(own, kv_bar, sizeof own);
    own[1] *= defect == 3 ? 1 + 1e-8 : 1;
    diff_mark_gradient("q", &q_bar, 1);
    diff_mark_gradient("k", &own[0], 1);
    diff_mark_gradient("v", &own[1], 1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*body)(void);
    } programs[] = {{"pipeline", pipeline},  {"tensor", tensor},   {"sequence", sequence},
                    {"sharded", sharded},    {"experts", experts}, {"table", table},
                    {"norm", norm},          {"scaling", scaling}, {"tied", tied},
                    {"attention", attention}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &ranks);
    defect = argc > 2 ? atoi(argv[2]) : 0;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (argc > 1 && strcmp(argv[1], programs[i].name) == 0)
            programs[i].body();
    MPI_Finalize();
    return 0;
}
