/* about: experiments with AsySG: convergence over K, equal work for M workers, error over the staleness T
 * ranks: 5
 * arguments: slope
 * options: --seed 1 --check -race
 * expect: OK
 * variant: slope-inconsistent; arguments: slope-inconsistent; expect: OK
 * variant: workers; arguments: workers; ranks: 9; expect: OK
 * variant: staleness; arguments: staleness; expect: OK
 * variant: non-coercive; arguments: non-coercive; expect: OK
 *
 * The loss is a robust regression (not convex), the gradients are those of one row each, drawn by a seed; who is how fast is
 * drawn by the seed of the run. Each experiment asserts what arXiv 1506.08272 says about it, by 95 % confidence intervals over
 * seeds; with "full" as the last argument it does so at the sizes of docs/parameter-server.md.
 *  slope         the mean squared gradient norm falls as 1/sqrt(K) when the step is c/sqrt(K): slope -0.6 .. -0.4
 *  workers       K gradients give the same error, whether 1 or 16 workers make them
 *  staleness     a little staleness costs nothing; beyond a bound the error grows
 *  non-coercive  without the quadratic term a run that diverges has a gradient near zero: its loss and |x| tell */
#include <math.h>
#include <mpi.h>
#include <mpix.h>
#include <server.h>
#include <stdint.h>
#include <stdio.h>
#include <words.h>

enum { FEATURES = 6, ROWS = 40, SEEDS_MAX = 24, POINTS_MAX = 8 };

/* ---- the problem ---- */

struct problem {
    double rows[ROWS][FEATURES], targets[ROWS];
    double quadratic; /* weight of |x|^2 / 2: 0 makes the loss non-coercive */
};

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double uniform(uint64_t *state)
{
    return (double)(next(state) >> 11) * 0x1p-52 - 1; /* -1 .. 1 */
}

static void problem_make(struct problem *problem, double quadratic)
{
    uint64_t state = 2015;
    problem->quadratic = quadratic;
    for (int i = 0; i < ROWS; i++) {
        problem->targets[i] = uniform(&state);
        for (int k = 0; k < FEATURES; k++) {
            problem->rows[i][k] = uniform(&state);
            problem->targets[i] += (1 + k % 3) * problem->rows[i][k];
        }
    }
}

/* r^2 / (1 + r^2) for one row; adds its gradient. */
static double row_loss(const struct problem *problem, int row, const double *x, double scale, double *gradient)
{
    double residual = -problem->targets[row];
    for (int k = 0; k < FEATURES; k++)
        residual += problem->rows[row][k] * x[k];
    double slope = 2 * residual / ((1 + residual * residual) * (1 + residual * residual));
    for (int k = 0; k < FEATURES; k++)
        gradient[k] += scale * slope * problem->rows[row][k];
    return scale * residual * residual / (1 + residual * residual);
}

static double quadratic_loss(const struct problem *problem, const double *x, double *gradient)
{
    double loss = 0;
    for (int k = 0; k < FEATURES; k++) {
        gradient[k] = problem->quadratic * x[k];
        loss += problem->quadratic * x[k] * x[k] / 2;
    }
    return loss;
}

static double whole_loss(const struct problem *problem, const double *x, double *gradient)
{
    double loss = quadratic_loss(problem, x, gradient);
    for (int i = 0; i < ROWS; i++)
        loss += row_loss(problem, i, x, 1.0 / ROWS, gradient);
    return loss;
}

static double squared(const double *x)
{
    double sum = 0;
    for (int k = 0; k < FEATURES; k++)
        sum += x[k] * x[k];
    return sum;
}

/* ---- one run ---- */

struct setting {
    int updates, workers; /* one gradient makes an update */
    int window;           /* gradients that a worker makes of one version */
    double rate, quadratic;
    enum server_read read;
    uint64_t seed;
};

struct outcome {
    double squared_gradient; /* mean over all versions */
    double loss, size;       /* at the end; |x| */
    double staleness, staleness_max;
};

struct watch {
    const struct problem *problem;
    const double *x;
    double sum;
};

static void stepped(struct server *server, uint64_t version, void *context)
{
    struct watch *watch = context;
    double gradient[FEATURES];
    (void)server, (void)version;
    whole_loss(watch->problem, watch->x, gradient);
    watch->sum += squared(gradient);
}

static void work(struct server *server, const struct setting *setting, const struct problem *problem, double *x, int rank)
{
    uint64_t state = setting->seed * 1000 + (uint64_t)rank;
    double gradient[FEATURES];
    const double *gradients[] = {gradient};
    int share = setting->updates / setting->workers + (rank <= setting->updates % setting->workers);
    for (int i = 0; i < share; i++) {
        if (i % setting->window == 0)
            server_pull(server);
        quadratic_loss(problem, x, gradient);
        row_loss(problem, (int)(next(&state) % ROWS), x, 1, gradient);
        for (int turns = MPIX_Choose(MPIX_CHOOSE_OTHER, 4); turns > 0; turns--)
            MPIX_Yield();
        server_push(server, gradients);
    }
    server_done(server);
}

/* Collective over the first `workers` + 1 ranks; everybody gets the outcome. */
static struct outcome run(const struct setting *setting)
{
    int rank;
    MPI_Comm comm;
    struct outcome outcome = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank <= setting->workers ? 0 : MPI_UNDEFINED, 0, &comm);
    if (comm != MPI_COMM_NULL) {
        struct problem problem;
        double x[FEATURES], gradient[FEATURES];
        for (int k = 0; k < FEATURES; k++)
            x[k] = 2;
        struct watch watch = {&problem, x, 0};
        struct server_options options;
        problem_make(&problem, setting->quadratic);
        server_options_init(&options);
        options.optimizer = server_sgd(setting->rate);
        options.gradients = 1;
        options.window = (size_t)setting->window;
        options.read = setting->read;
        options.quiet = true;
        options.stepped = stepped;
        options.context = &watch;
        struct server *server = server_new(comm, &options);
        server_parameter(server, "x", x, FEATURES);
        if (rank == 0) {
            struct server_tally tally = server_serve(server);
            outcome.squared_gradient = watch.sum / setting->updates;
            outcome.loss = whole_loss(&problem, x, gradient);
            outcome.size = sqrt(squared(x));
            outcome.staleness = tally.staleness_mean;
            outcome.staleness_max = (double)tally.staleness_max;
        } else {
            work(server, setting, &problem, x, rank);
        }
        server_free(server);
        MPI_Comm_free(&comm);
    }
    MPI_Bcast(&outcome, sizeof outcome / sizeof(double), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return outcome;
}

/* ---- statistics over seeds ---- */

struct interval {
    double mean, low, high;
};

/* 95 % by Student's t. */
static struct interval interval_of(const double *values, int count)
{
    static const double t[] = {0,     0,     12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201,
                               2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069};
    double mean = 0, square = 0;
    for (int i = 0; i < count; i++)
        mean += values[i] / count;
    for (int i = 0; i < count; i++)
        square += (values[i] - mean) * (values[i] - mean);
    double half = t[count] * sqrt(square / (count - 1) / count);
    return (struct interval){mean, mean - half, mean + half};
}

static double slope_of(const double *x, const double *y, int count)
{
    double mean_x = 0, mean_y = 0, above = 0, below = 0;
    for (int i = 0; i < count; i++) {
        mean_x += x[i] / count;
        mean_y += y[i] / count;
    }
    for (int i = 0; i < count; i++) {
        above += (x[i] - mean_x) * (y[i] - mean_y);
        below += (x[i] - mean_x) * (x[i] - mean_x);
    }
    return above / below;
}

static void say(int rank, const char *what, struct interval interval)
{
    if (rank == 0)
        printf("%s: %.4f, 95 %% within %.4f .. %.4f\n", what, interval.mean, interval.low, interval.high);
}

static void keep(int rank, const char *plot, double x, struct interval interval)
{
    const char *const names[] = {"mean", "low (95 %)", "high (95 %)"};
    const double values[] = {interval.mean, interval.low, interval.high};
    for (int i = 0; i < 3 && rank == 0; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s %s", plot, names[i]);
        SIM_Metric(name, x, values[i]);
    }
}

/* ---- the experiments ---- */

static int slope(int rank, int workers, enum server_read read, int full)
{
    int seeds = full ? 12 : 7, points = full ? 6 : 3, factor = full ? 2 : 4, updates[POINTS_MAX];
    const char *name = read == SERVER_CONSISTENT ? "squared_gradient_over_K consistent" : "squared_gradient_over_K inconsistent";
    double slopes[SEEDS_MAX], logs[POINTS_MAX], values[POINTS_MAX], means[POINTS_MAX] = {0};
    for (int seed = 0; seed < seeds; seed++) {
        for (int i = 0; i < points; i++) {
            updates[i] = i ? factor * updates[i - 1] : full ? 256 : 64;
            struct setting setting = {updates[i], workers, 1, 4 / sqrt(updates[i]), 0.1, read, (uint64_t)seed + 1};
            double value = run(&setting).squared_gradient;
            logs[i] = log(updates[i]);
            values[i] = log(value);
            means[i] += value / seeds;
        }
        slopes[seed] = slope_of(logs, values, points);
    }
    struct interval interval = interval_of(slopes, seeds);
    say(rank, "slope of the mean squared gradient norm over K", interval);
    for (int i = 0; i < points && rank == 0; i++)
        SIM_Metric(name, updates[i], means[i]);
    return interval.low >= -0.6 && interval.high <= -0.4;
}

static int workers(int rank, int most, int full)
{
    int seeds = full ? 12 : 4, updates = full ? 4096 : 256, right = 1;
    double reference = 0;
    for (int count = 1; count <= most; count *= 2) {
        double values[SEEDS_MAX], staleness = 0;
        for (int seed = 0; seed < seeds; seed++) {
            struct setting setting = {updates, count, 1, 4 / sqrt(updates), 0.1, SERVER_CONSISTENT, (uint64_t)seed + 1};
            struct outcome outcome = run(&setting);
            values[seed] = outcome.squared_gradient;
            staleness += outcome.staleness / seeds;
        }
        struct interval interval = interval_of(values, seeds);
        char text[80];
        snprintf(text, sizeof text, "%d workers, staleness %.1f: mean squared gradient norm", count, staleness);
        say(rank, text, interval);
        reference = count == 1 ? interval.mean : reference;
        right = right && fabs(interval.mean / reference - 1) <= (full ? 0.05 : 0.15);
        keep(rank, "squared_gradient_over_workers", count, interval);
    }
    return right;
}

static struct interval antilog(struct interval interval)
{
    return (struct interval){exp(interval.mean), exp(interval.low), exp(interval.high)};
}

/* Workers that make `window` gradients of one version are stale by up to about workers * window. */
static int staleness(int rank, int workers, int full)
{
    int seeds = full ? 12 : 3, updates = full ? 4096 : 768, factor = full ? 2 : 4, windows = full ? 32 : 64;
    struct interval first = {0}, interval = {0};
    int right = 1;
    for (int window = 1; window <= windows; window *= factor) {
        double values[SEEDS_MAX], bound = 0;
        for (int seed = 0; seed < seeds; seed++) {
            struct setting setting = {updates, workers, window, 0.2, 0.1, SERVER_CONSISTENT, (uint64_t)seed + 1};
            struct outcome outcome = run(&setting);
            values[seed] = log(outcome.squared_gradient);
            bound = fmax(bound, outcome.staleness_max);
        }
        interval = antilog(interval_of(values, seeds));
        char text[80];
        snprintf(text, sizeof text, "staleness up to %g: mean squared gradient norm", bound);
        say(rank, text, interval);
        first = window == 1 ? interval : first;
        if (window == factor)
            right = fabs(interval.mean / first.mean - 1) < (full ? 0.1 : 0.2);
        keep(rank, "squared_gradient_over_T", bound, interval);
    }
    return right && interval.low > 2 * first.high;
}

static int non_coercive(int rank, int workers)
{
    struct setting setting = {512, workers, 1, 0.1, 0, SERVER_CONSISTENT, 1};
    struct outcome good = run(&setting);
    setting.rate = 1000;
    struct outcome diverged = run(&setting);
    if (rank == 0)
        printf("rate 0.1:  |gradient|^2 %.2e, loss %.3f, |x| %.3g\nrate 1000: |gradient|^2 %.2e, loss %.3f, |x| %.3g\n",
               good.squared_gradient, good.loss, good.size, diverged.squared_gradient, diverged.loss, diverged.size);
    return diverged.squared_gradient < good.squared_gradient && diverged.loss > 2 * good.loss && diverged.size > 10 * good.size;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_of(argc, argv, 1, "experiment", "slope",
                               "slope slope-inconsistent slope-both workers staleness non-coercive");
    int rank, size, full = switch_of(argc, argv, 2, "length", "short", "full"), right;
    words_end(argc, argv, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(form, "workers"))
        right = workers(rank, size - 1, full);
    else if (!strcmp(form, "staleness"))
        right = staleness(rank, size - 1, full);
    else if (!strcmp(form, "non-coercive"))
        right = non_coercive(rank, size - 1);
    else
        right = (!strcmp(form, "slope-inconsistent") || slope(rank, size - 1, SERVER_CONSISTENT, full)) &&
                (!strcmp(form, "slope") || slope(rank, size - 1, SERVER_INCONSISTENT, full));
    MPI_Finalize();
    return !right;
}
