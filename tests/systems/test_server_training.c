/* Parameter servers in worlds: replicas and serial training, conservation, reads, staleness. */
#include "tests/world_harness.h"

#include <math.h>
#include <server.h>
#include <stdatomic.h>
#include <string.h>

enum { WIDE = 7, STEPS = 5, BATCHES = 20 };

/* ---- synchronous ---- */

static void local_gradient(const double *x, size_t count, int rank, double *gradient)
{
    for (size_t i = 0; i < count; i++)
        gradient[i] = (1 + 0.1 * rank) * x[i] + sin(1 + (double)i + 3 * rank);
}

/* What one process computes: the gradients summed in the order of the ranks, one step. */
static void train_alone(const struct server_options *options, double *x, size_t count, int size)
{
    struct server_moments moments = {0};
    for (int step = 0; step < STEPS; step++) {
        double sum[WIDE] = {0}, gradient[WIDE];
        for (int r = 0; r < size; r++) {
            local_gradient(x, count, r, gradient);
            for (size_t i = 0; i < count; i++)
                sum[i] += gradient[i];
        }
        for (size_t i = 0; i < count && options->average; i++)
            sum[i] /= size;
        server_optimizer_apply(&options->optimizer, &moments, x, sum, count);
    }
    server_moments_release(&moments);
}

static void train_together(const struct server_options *options, int rank, int size)
{
    double wide[WIDE] = {1, 2, 3, -4, 5, -6, 7}, one[1] = {rank == 0 ? 0.5 : 99}, gradient[WIDE];
    double wide_alone[WIDE] = {1, 2, 3, -4, 5, -6, 7}, one_alone[1] = {0.5};
    struct server *server = server_new(MPI_COMM_WORLD, options);
    server_parameter(server, "wide", wide, WIDE);
    server_parameter(server, "one", one, 1);
    server_broadcast(server);
    for (int step = 0; step < STEPS; step++) {
        local_gradient(one, 1, rank, gradient);
        server_ready(server, 1, gradient);
        local_gradient(wide, WIDE, rank, gradient);
        server_ready(server, 0, gradient);
        server_step(server);
    }
    train_alone(options, wide_alone, WIDE, size);
    train_alone(options, one_alone, 1, size);
    expect(memcmp(wide, wide_alone, sizeof wide) == 0 && one[0] == one_alone[0],
           "%.17g is not %.17g", wide[0], wide_alone[0]);
    expect(server_version(server) == STEPS, "version %d", (int)server_version(server));
    expect(server_replicas_equal(server), "replicas differ");
    one[0] += rank == size - 1;
    expect(server_replicas_equal(server) == (size == 1), "a changed replica was not seen");
    server_free(server);
}

static struct server_options options_of(const char *coder, enum server_framing framing)
{
    struct server_options options;
    server_options_init(&options);
    server_coder_parse(coder, &options.coder);
    options.framing = framing;
    options.optimizer.momentum = 0.9;
    return options;
}

static void two_phase(int rank, int size)
{
    struct server_options options = options_of("zstd", SERVER_TWO_PHASE);
    train_together(&options, rank, size);
}

static void padded(int rank, int size)
{
    struct server_options options = options_of("zstd", SERVER_PADDED);
    train_together(&options, rank, size);
}

static void padded_overflow(int rank, int size)
{
    struct server_options options = options_of("none", SERVER_PADDED);
    options.slot = 9; /* one byte beside the length */
    train_together(&options, rank, size);
}

static void at_ready(int rank, int size)
{
    struct server_options options = options_of("none", SERVER_TWO_PHASE);
    options.launch = SERVER_AT_READY;
    options.average = true;
    train_together(&options, rank, size);
}

static void adam(int rank, int size)
{
    struct server_options options = options_of("none", SERVER_TWO_PHASE);
    options.optimizer = server_adam(0.1);
    train_together(&options, rank, size);
}

static void lossy(int rank, int size)
{
    static const char *const coders[] = {"float16", "top-k:0.3", "quantised:4"};
    for (size_t i = 0; i < sizeof coders / sizeof *coders; i++) {
        struct server_options options = options_of(coders[i], SERVER_TWO_PHASE);
        double x[WIDE] = {1, 2, 3, 4, 5, 6, 7}, gradient[WIDE];
        struct server *server = server_new(MPI_COMM_WORLD, &options);
        server_parameter(server, "x", x, WIDE);
        for (int step = 0; step < STEPS; step++) {
            local_gradient(x, WIDE, rank, gradient);
            server_ready(server, 0, gradient);
            server_step(server);
        }
        expect(server_replicas_equal(server) && x[6] != 7, "%s", coders[i]);
        (void)size;
        server_free(server);
    }
}

/* A rank without a gradient, and one with two halves of it. */
static void skipped_and_shared(int rank, int size)
{
    struct server_options options = options_of("none", SERVER_PADDED);
    double x[2] = {0, 0};
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "x", x, 2);
    if (rank > 0 || size == 1)
        server_ready(server, 0, (double[]){1, rank});
    if (rank == 1)
        server_ready(server, 0, (double[]){10, 0});
    server_step(server);
    double expected = size == 1 ? 1 : size - 1 + 10;
    expect(server_gradient(server, 0)[0] == expected, "%g", server_gradient(server, 0)[0]);
    server_free(server);
}

static void nothing(int rank, int size)
{
    static const char *const coders[] = {"none", "float16", "top-k", "quantised", "zstd"};
    for (size_t i = 0; i < sizeof coders / sizeof *coders; i++)
        for (int framing = SERVER_TWO_PHASE; framing <= SERVER_PADDED; framing++) {
            struct server_options options = options_of(coders[i], (enum server_framing)framing);
            double none[1] = {4}, one[1] = {0};
            struct server *server = server_new(MPI_COMM_WORLD, &options);
            server_step(server); /* no parameters at all */
            server_parameter(server, "none", none, 0);
            server_parameter(server, "one", one, 1);
            server_ready(server, 0, none);
            server_ready(server, 1, (double[]){rank == 0 ? 1 : 0});
            server_step(server);
            expect(none[0] == 4 && one[0] == -0.1 && server_replicas_equal(server), "%s: %g, %g",
                   coders[i], none[0], one[0]);
            (void)size;
            server_free(server);
        }
}

/* ---- rank 0 as the server ---- */

/* Gradients that do not depend on the values: whatever the order, the sum of all that were applied
 * is what the values moved by. */
static double constant_gradient(int rank, int batch, int element)
{
    return (double)((rank * 31 + batch * 7 + element * 3) % 17 - 8); /* whole: sums are exact */
}

static double sum_of_all(int size, int batches, int element)
{
    double sum = 0;
    for (int r = 1; r < size; r++)
        for (int b = 0; b < batches; b++)
            sum += constant_gradient(r, b, element);
    return sum;
}

static void expect_all_applied(struct server *server, const double *x, int size, int batches)
{
    for (int i = 0; i < WIDE; i++)
        expect(x[i] == -sum_of_all(size, batches, i), "value %d is %g, not %g", i, x[i],
               -sum_of_all(size, batches, i));
    expect(server_replicas_equal(server), "replicas differ");
}

static void central_with(size_t gradients, int rank, int size)
{
    struct server_options options;
    double x[WIDE] = {0}, gradient[WIDE];
    const double *all[] = {gradient, gradient + 3};
    server_options_init(&options);
    options.optimizer = server_sgd(1);
    options.gradients = gradients;
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "first", x, 3);
    server_parameter(server, "rest", x + 3, WIDE - 3);
    if (rank == 0) {
        struct server_tally tally = server_serve_central(server);
        uint64_t sent = (uint64_t)(size - 1) * BATCHES;
        expect(tally.received == sent && tally.applied == sent && tally.dropped == 0, "received %d",
               (int)tally.received);
    }
    bool more = rank > 0;
    for (int batch = 0; more; batch++) {
        for (int i = 0; i < WIDE; i++)
            gradient[i] = constant_gradient(rank, batch, i);
        more = server_round(server, batch < BATCHES ? all : NULL);
    }
    expect_all_applied(server, x, size, BATCHES);
    server_free(server);
}

static void central_all(int rank, int size)
{
    central_with(0, rank, size);
}

static void central_two(int rank, int size)
{
    central_with(2, rank, size);
}

struct asynchronous {
    enum server_read read;
    size_t gradients, window;
};

static void asynchronous_with(const struct asynchronous *how, int rank, int size)
{
    struct server_options options;
    double x[WIDE] = {0}, gradient[WIDE];
    const double *all[] = {gradient, gradient + 3};
    server_options_init(&options);
    options.optimizer = server_sgd(1);
    options.gradients = how->gradients;
    options.window = how->window;
    options.read = how->read;
    options.blocks = 3;
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "first", x, 3);
    server_parameter(server, "rest", x + 3, WIDE - 3);
    if (rank == 0) {
        struct server_tally tally = server_serve(server);
        uint64_t sent = (uint64_t)(size - 1) * BATCHES;
        expect(tally.received == sent && tally.applied == sent && tally.dropped == 0, "received %d",
               (int)tally.received);
        expect(tally.staleness_mean <= (double)tally.staleness_max && tally.staleness_max < sent,
               "staleness %g", tally.staleness_mean);
    }
    for (int batch = 0; rank > 0 && batch < BATCHES; batch++) {
        uint64_t before = server_version(server), version = server_pull(server);
        expect(version >= before, "version %d after %d", (int)version, (int)before);
        for (int i = 0; i < WIDE; i++)
            gradient[i] = constant_gradient(rank, batch, i);
        for (int turns = MPIX_Choose(MPIX_CHOOSE_OTHER, 3); turns > 0; turns--)
            MPIX_Yield();
        server_push(server, all);
    }
    if (rank > 0)
        server_done(server);
    expect_all_applied(server, x, size, BATCHES);
    server_free(server);
}

static void consistent(int rank, int size)
{
    asynchronous_with(&(struct asynchronous){SERVER_CONSISTENT, 1, 1}, rank, size);
}

static void inconsistent(int rank, int size)
{
    asynchronous_with(&(struct asynchronous){SERVER_INCONSISTENT, 1, 2}, rank, size);
}

static void several(int rank, int size)
{
    asynchronous_with(&(struct asynchronous){SERVER_CONSISTENT, 4, 3}, rank, size);
}

static void more_than_can_come(int rank, int size)
{
    asynchronous_with(&(struct asynchronous){SERVER_INCONSISTENT, 1000, 1}, rank, size);
}

/* ---- what is read ---- */

static atomic_int mixed; /* reads in which values of different versions met, in all worlds */

/* Every version's values are all equal: gradients are ones. */
static void read_with(enum server_read read, int rank)
{
    struct server_options options;
    double x[WIDE] = {0}, ones[WIDE] = {1, 1, 1, 1, 1, 1, 1};
    const double *all[] = {ones};
    server_options_init(&options);
    options.optimizer = server_sgd(1);
    options.gradients = 1;
    options.read = read;
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "x", x, WIDE);
    if (rank == 0)
        server_serve(server);
    for (int batch = 0; rank > 0 && batch < BATCHES; batch++) {
        double version = (double)server_pull(server);
        bool equal = true, oldest = false;
        for (int i = 0; i < WIDE; i++) {
            equal = equal && x[i] == x[0];
            oldest = oldest || x[i] == -version;
            expect(-x[i] >= version, "a value is older than the version that was read");
        }
        mixed += !equal;
        expect(oldest && (equal || read == SERVER_INCONSISTENT), "a version was not whole");
        server_push(server, all);
    }
    if (rank > 0)
        server_done(server);
    server_free(server);
}

static void whole_versions(int rank, int size)
{
    (void)size;
    read_with(SERVER_CONSISTENT, rank);
}

static void blocks_of_versions(int rank, int size)
{
    (void)size;
    read_with(SERVER_INCONSISTENT, rank);
}

/* ---- dropping, and the same run again ---- */

static double last_value, last_dropped;

static void dropping(int rank, int size)
{
    struct server_options options;
    double x[1] = {0}, one[1] = {1};
    const double *all[] = {one};
    server_options_init(&options);
    options.optimizer = server_sgd(1);
    options.gradients = 1;
    options.window = 2;
    options.bound = 1;
    options.stale = SERVER_STALE_DROP;
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "x", x, 1);
    if (rank == 0) {
        struct server_tally tally = server_serve(server);
        expect(tally.received == (uint64_t)(size - 1) * BATCHES &&
                   tally.applied + tally.dropped == tally.received,
               "applied %d, dropped %d", (int)tally.applied, (int)tally.dropped);
        expect(tally.staleness_max <= 1, "staleness %d", (int)tally.staleness_max);
        expect(x[0] == -(double)tally.applied, "%g", x[0]);
        last_value = x[0];
        last_dropped = (double)tally.dropped;
    }
    for (int batch = 0; rank > 0 && batch < BATCHES; batch++) {
        server_pull(server);
        for (int turns = MPIX_Choose(MPIX_CHOOSE_OTHER, 3); turns > 0; turns--)
            MPIX_Yield();
        server_push(server, all);
    }
    if (rank > 0)
        server_done(server);
    server_free(server);
}

static double dropped_with(uint64_t seed)
{
    struct sim_world_options options = world_options(6);
    options.driver = SIM_CHOOSE_SEED;
    options.seed = seed;
    struct world_result result = world_try(options, dropping);
    return result.outcome == OUTCOME_FINISHED && !result.failed ? last_dropped : NAN;
}

static void seeds(void)
{
    double least = INFINITY, most = 0;
    bool again = true;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        double dropped = dropped_with(seed);
        again = again && dropped_with(seed) == dropped;
        least = fmin(least, dropped);
        most = fmax(most, dropped);
    }
    tap_ok(again, "the same seed drops the same gradients");
    tap_ok(most > 0 && least < most, "other seeds drop others (%g to %g)", least, most);
}

/* ---- wrong use ends the rank ---- */

static void wrong_name(int rank, int size)
{
    struct server_options options = options_of("none", SERVER_TWO_PHASE);
    (void)rank, (void)size;
    options.name = "two words";
    server_new(MPI_COMM_WORLD, &options);
}

static void wrong_window(int rank, int size)
{
    struct server_options options = options_of("none", SERVER_TWO_PHASE);
    (void)rank, (void)size;
    options.window = 0;
    server_new(MPI_COMM_WORLD, &options);
}

static struct server *plain_server(double *x)
{
    struct server_options options = options_of("none", SERVER_TWO_PHASE);
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "x", x, 1);
    return server;
}

static void wrong_parameter(int rank, int size)
{
    double x = 0;
    (void)rank, (void)size;
    server_ready(plain_server(&x), 1, &x);
}

static void wrong_server(int rank, int size)
{
    double x = 0;
    (void)size;
    struct server *server = plain_server(&x);
    if (rank == 0)
        server_push(server, (const double *[]){&x});
    else
        server_serve(server);
}

static void wrong_nesterov(int rank, int size)
{
    double x = 0;
    struct server_options options = options_of("none", SERVER_TWO_PHASE);
    (void)rank, (void)size;
    options.optimizer.momentum = 0;
    options.optimizer.nesterov = true;
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "x", &x, 1);
    server_ready(server, 0, &x);
    server_step(server);
}

/* A coder whose decoder believes nothing. */
static bool refuse(const struct server_coder *coder, const void *bytes, size_t size, double *values,
                   size_t count)
{
    (void)coder, (void)bytes, (void)size, (void)values, (void)count;
    return false;
}

static void damaged(int rank, int size)
{
    double x = 0;
    struct server_options options = options_of("none", SERVER_TWO_PHASE);
    (void)rank, (void)size;
    options.coder.decode = refuse;
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "x", &x, 1);
    server_ready(server, 0, &x);
    server_step(server);
}

static struct server_optimizer adam_with(double beta2)
{
    struct server_optimizer optimizer = server_adam(0.1);
    optimizer.beta2 = beta2;
    return optimizer;
}

static const char *const wrong_settings[] = {
    "a rate below zero",    "a rate that is no number", "a beta of one",   "no levels",
    "levels beyond a byte", "a fraction of nothing",    "an unknown level"};
static size_t wrong_setting;

static void setting_used(int rank, int size)
{
    struct server_options options;
    (void)rank, (void)size;
    server_options_init(&options);
    if (wrong_setting < 3)
        options.optimizer =
            wrong_setting == 2 ? adam_with(1) : server_sgd(wrong_setting ? NAN : -0.1);
    else
        options.coder = wrong_setting == 5   ? server_coder_top_k(0)
                        : wrong_setting == 6 ? server_coder_zstd(20)
                                             : server_coder_quantised(wrong_setting == 3 ? 0 : 128);
    server_free(server_new(MPI_COMM_WORLD, &options));
}

static void wrong_uses(void)
{
    struct sim_world_options two = world_options(2);
    for (wrong_setting = 0; wrong_setting < sizeof wrong_settings / sizeof *wrong_settings;
         wrong_setting++)
        world_outcome_is(wrong_settings[wrong_setting], two, setting_used, OUTCOME_ABORTED);
    world_outcome_is("a name of two words ends the rank", two, wrong_name, OUTCOME_ABORTED);
    world_outcome_is("a window of 0 ends the rank", two, wrong_window, OUTCOME_ABORTED);
    world_outcome_is("a parameter that was not registered ends the rank", two, wrong_parameter,
                     OUTCOME_ABORTED);
    world_outcome_is("workers' and servers' calls are not each other's", two, wrong_server,
                     OUTCOME_ABORTED);
    world_outcome_is("Nesterov without momentum ends the rank", two, wrong_nesterov,
                     OUTCOME_ABORTED);
    world_outcome_is("bytes that cannot be decoded end the rank", two, damaged, OUTCOME_ABORTED);
}

int main(void)
{
    world_test("two phases train as one process does, bit for bit", two_phase, 0);
    world_test("padded slots train as one process does", padded, 0);
    world_test("slots that are too small grow, and nothing is lost", padded_overflow, 0);
    world_test("exchanges from the hooks train as one process does", at_ready, 0);
    world_test("Adam trains as one process does", adam, 0);
    world_test("coders that lose bits lose the same on every replica", lossy, 0);
    world_test("no gradient counts as zero, two are added", skipped_and_shared, 0);
    world_test("parameters without values, and servers without parameters, are fine", nothing, 0);
    world_test_pairs("a central server applies every gradient once", central_all, 0);
    world_test_pairs("a central server with steps of two applies every gradient once", central_two,
                     0);
    world_test_pairs("AsySG-con applies every gradient once", consistent, 0);
    world_test_pairs("AsySG-incon applies every gradient once", inconsistent, 0);
    world_test_pairs("steps of four gradients lose none", several, 0);
    world_test_pairs("a step that waits for more than can come is made with fewer",
                     more_than_can_come, 0);
    mixed = 0;
    world_test_pairs("a consistent read is one whole version", whole_versions, 0);
    tap_is_int(mixed, 0, "consistent reads never mix versions");
    world_test_pairs("an inconsistent read is no older than it says", blocks_of_versions, 0);
    tap_ok(mixed > 0, "inconsistent reads do mix versions (%d times)", mixed);
    world_test_pairs("stale gradients are dropped and counted", dropping, 0);
    seeds();
    wrong_uses();
    return tap_done();
}
