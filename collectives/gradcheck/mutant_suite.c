/* The mutants' suite: see mutant_suite.h. */
#include "collectives/gradcheck/mutant_suite.h"

#include "collectives/gradcheck/gradcheck.h"
#include "traces/trace/trace.h"

#include <diff.h>
#include <stdio.h>
#include <string.h>

/* ---- the programs ---- */

enum { N = 3 };

struct here {
    struct diff_tape *tape;
    int rank, size;
    struct diff_tensor *x, *weights;
    double values[N]; /* what x is made from */
};

/* Of an input and weights: they differ everywhere. */
static void numbers_fill(int rank, double values[N], double weights[N])
{
    for (int i = 0; i < N; i++) {
        values[i] = 0.7 + 0.31 * i - 0.23 * rank + 0.05 * i * rank;
        weights[i] = 1.0 + 0.5 * rank - 0.75 * i * (rank + 1);
    }
}

static struct here begin(const char *name)
{
    struct here here;
    MPI_Comm_rank(MPI_COMM_WORLD, &here.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &here.size);
    here.tape = diff_tape_new(MPI_COMM_WORLD);
    double weights[N];
    numbers_fill(here.rank, here.values, weights);
    here.x = diff_input(here.tape, name, DIFF_DOUBLE, 1, (size_t[]){N}, here.values);
    here.weights = diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){N}, weights);
    return here;
}

/* The loss weighs the first values of y; a rank whose y is empty has loss zero. */
static void end(const struct here *here, struct diff_tensor *y)
{
    size_t count = diff_count(y);
    struct diff_tensor *loss = NULL;
    for (size_t at = 0; at < count; at += N) {
        size_t part = count - at < N ? count - at : N;
        struct diff_tensor *piece =
            diff_dot(diff_slice(y, at, part), diff_slice(here->weights, 0, part));
        piece = diff_scale(piece, 1 + (double)at);
        loss = loss ? diff_add(loss, piece) : piece;
    }
    if (!loss)
        loss = diff_scale(diff_sum(here->x), 0);
    diff_backward(loss);
    diff_tape_free(here->tape);
}

static void program_allreduce(void *op)
{
    static MPI_Op const ops[] = {MPI_SUM, DIFF_AVG, MPI_PROD, MPI_MAX};
    struct here here = begin("x");
    end(&here, diff_allreduce(here.x, ops[*(const int *)op], MPI_COMM_WORLD));
}

/* A product in which one rank holds a zero. */
static void program_product_zero(void *context)
{
    (void)context;
    struct here here = begin("x");
    struct diff_tensor *own = diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){N}, here.values);
    struct diff_tensor *x = here.rank == 0 ? diff_sub(here.x, own) : here.x;
    end(&here, diff_allreduce(x, MPI_PROD, MPI_COMM_WORLD));
}

/* A maximum that rank 0 holds twice: two of its own copies reach it, so that it moves with both. */
static void program_maximum_tied(void *context)
{
    (void)context;
    struct here here = begin("x");
    struct diff_tensor *same = diff_bcast(here.x, 0, MPI_COMM_WORLD);
    end(&here, diff_allreduce(same, MPI_MAX, MPI_COMM_WORLD));
}

static void program_allgather(void *context)
{
    (void)context;
    struct here here = begin("x");
    end(&here, diff_allgather(here.x, MPI_COMM_WORLD));
}

static void program_sendrecv(void *context)
{
    (void)context;
    struct here here = begin("x");
    int right = (here.rank + 1) % here.size, left = (here.rank + here.size - 1) % here.size;
    struct diff_tensor *room = diff_zeros(here.tape, DIFF_DOUBLE, 1, (size_t[]){N});
    end(&here, diff_sendrecv(here.x, right, here.rank, room, left, left, MPI_COMM_WORLD));
}

/* A reduction on half of the ranks, numbered from the other end. */
static void program_half(void *context)
{
    (void)context;
    struct here here = begin("x");
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, here.rank % 2, -here.rank, &half);
    struct diff_tensor *sum = diff_allreduce(here.x, MPI_SUM, half);
    struct diff_tensor *root = diff_bcast(diff_mul(sum, here.x), 0, half);
    end(&here, root);
    MPI_Comm_free(&half);
}

static void program_gather(void *context)
{
    (void)context;
    struct here here = begin("x");
    end(&here, diff_gather(here.x, here.size - 1, MPI_COMM_WORLD));
}

/* Two sums under way at once, of which odd ranks wait for the second one first. */
static void program_waits(void *context)
{
    (void)context;
    struct here here = begin("x");
    struct diff_tensor *a = diff_iallreduce(here.x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *b = diff_iallreduce(diff_mul(here.x, here.x), MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *first, *second;
    if (here.rank % 2 == 0) {
        first = diff_wait(a);
        second = diff_wait(b);
    } else {
        second = diff_wait(b);
        first = diff_wait(a);
    }
    end(&here, diff_mul(diff_scale(first, 3), second));
}

/* Wildcard receive: a posted tag is no tag. */
static void program_wildcard(void *context)
{
    (void)context;
    struct here here = begin("x");
    struct diff_tensor *y = here.x;
    if (here.rank == 0 && here.size > 1)
        diff_send(here.x, 1, 4, MPI_COMM_WORLD);
    if (here.rank == 1)
        y = diff_recv(here.x, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD);
    end(&here, y);
}

/* In data order nothing but the handle's edge makes a message's adjoint wait for its start. */
static void program_handles(void *context)
{
    (void)context;
    struct here here = begin("x");
    int right = (here.rank + 1) % here.size, left = (here.rank + here.size - 1) % here.size;
    diff_tape_order(here.tape, DIFF_ORDER_DATA);
    struct diff_tensor *sending = diff_isend(here.x, right, 1, MPI_COMM_WORLD);
    struct diff_tensor *room = diff_join(diff_scale(here.x, 0), 1, &sending);
    struct diff_tensor *receiving = diff_irecv(room, left, 1, MPI_COMM_WORLD);
    struct diff_tensor *waits = diff_join_handle(sending, 1, &receiving);
    struct diff_tensor *sent = diff_wait(waits);
    struct diff_tensor *received = diff_wait(diff_join_handle(receiving, 1, &sent));
    end(&here, diff_mul(received, diff_exp(here.x)));
}

/* Only the last rank's loss depends on what everybody broadcast. */
static void program_zeros(void *context)
{
    (void)context;
    struct here here = begin("x");
    struct diff_tensor *sum = diff_allreduce(here.x, MPI_SUM, MPI_COMM_WORLD);
    end(&here, here.rank == here.size - 1 ? sum : diff_scale(here.x, 2));
}

/* A ring of windows: every rank puts into its right neighbour's, then gets a part of it that was
 * put and one that was not. */
static void program_window(void *context)
{
    (void)context;
    struct here here = begin("x");
    int right = (here.rank + 1) % here.size;
    struct diff_tensor *memory[] = {here.x, diff_exp(here.x)};
    struct diff_window *window = diff_win_create(diff_concat(2, memory), MPI_COMM_WORLD);
    diff_win_fence(window);
    diff_win_put(window, diff_sin(here.x), right, 2);
    diff_win_fence(window);
    struct diff_tensor *got = diff_win_get(window, N, right, 1);
    diff_win_fence(window);
    struct diff_tensor *rest = diff_slice(diff_win_memory(window), N, N);
    end(&here, diff_add(diff_mul(got, here.x), rest));
}

/* Every rank changes the first one's value under its lock, after the ranks before it. */
static void program_locks(void *context)
{
    (void)context;
    struct here here = begin("x");
    struct diff_window *window = diff_win_create(diff_exp(here.x), MPI_COMM_WORLD);
    diff_win_passive_begin(window);
    diff_win_lock(window, MPI_LOCK_EXCLUSIVE, 0);
    struct diff_tensor *got = diff_win_get(window, N, 0, 0);
    diff_win_flush(window, 0);
    diff_win_put(window, diff_mul(got, diff_sin(here.x)), 0, 0);
    diff_win_unlock(window, 0);
    diff_win_passive_end(window);
    end(&here, diff_win_memory(window));
}

/* Tensor parallel: a replicated input, sharded weights, one loss. */
static void program_replicated(void *context)
{
    (void)context;
    struct here here = begin("weight");
    double values[N] = {0.4, -0.9, 1.3};
    struct diff_tensor *theta =
        diff_input_replicated(here.tape, "theta", DIFF_DOUBLE, 1, (size_t[]){N}, values);
    struct diff_tensor *local = diff_mul(diff_replicate(theta, MPI_COMM_WORLD), here.x);
    struct diff_tensor *y = diff_reduce_invariant(local, MPI_COMM_WORLD);
    diff_backward_replicated(diff_sum(diff_mul(y, diff_tanh(y))));
    diff_tape_free(here.tape);
}

static const int op_numbers[] = {0, 1, 2, 3};

static const struct program {
    const char *name;
    void (*body)(void *context);
    const int *argument;
} programs[] = {
    {"allreduce sum", program_allreduce, &op_numbers[0]},
    {"allreduce avg", program_allreduce, &op_numbers[1]},
    {"allreduce prod", program_allreduce, &op_numbers[2]},
    {"allreduce max", program_allreduce, &op_numbers[3]},
    {"product with a zero", program_product_zero, NULL},
    {"maximum, tied", program_maximum_tied, NULL},
    {"allgather", program_allgather, NULL},
    {"sendrecv ring", program_sendrecv, NULL},
    {"halves", program_half, NULL},
    {"gather", program_gather, NULL},
    {"waits crossed", program_waits, NULL},
    {"wildcard", program_wildcard, NULL},
    {"handles", program_handles, NULL},
    {"zero cotangents", program_zeros, NULL},
    {"replicated", program_replicated, NULL},
    {"window", program_window, NULL},
    {"locks", program_locks, NULL},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* ---- judging ---- */

struct trial {
    const struct mutant_world *world;
    const struct program *program;
    int ranks;
    uint64_t seed;
    int worlds, first_end; /* run so far, and how the first of them ended */
};

static int run_trial(void *context, struct diff_probe *probe, int worker)
{
    struct trial *trial = context;
    int end = trial->world->run(trial->world->context, trial->ranks, trial->seed, probe,
                                trial->program->body, (void *)(uintptr_t)trial->program->argument,
                                worker);
    if (trial->worlds++ == 0)
        trial->first_end = end;
    return end;
}

/* Every oracle that objected, joined by "+". */
static void oracles_name(const struct gradcheck_result *result, const struct trial *trial,
                         char *text, size_t size)
{
    static const struct {
        const char *method, *oracle;
    } oracles[] = {{"central", "central"},
                   {"one-sided", "one-sided"},
                   {"dot", "identity"},
                   {"tangent", "forward"}};
    size_t used = 0;
    if (result->base_failed) {
        snprintf(text, size, trial->first_end == OUTCOME_DEADLOCK ? "deadlock" : "ended itself");
        return;
    }
    snprintf(text, size, "not finite");
    for (size_t k = 0; k < sizeof oracles / sizeof *oracles; k++)
        for (size_t i = 0; i < result->row_count; i++) {
            const struct trace_gradient *check = &result->rows[i].check;
            if (!trace_gradient_wrong(check) || strcmp(check->method, oracles[k].method) != 0)
                continue;
            int n = snprintf(text + used, size - used, "%s%s", used ? "+" : "", oracles[k].oracle);
            used += n > 0 && (size_t)n < size - used ? (size_t)n : 0;
            break;
        }
}

static bool notices(struct trial *trial, int mutant, struct mutant_verdict *verdict)
{
    struct diff_runner runner = {run_trial, trial, trial->ranks, trial->world->workers};
    struct gradcheck_options options = gradcheck_options_default();
    struct gradcheck_result result;
    options.mutant = mutant == MUTANT_NONE ? NULL : diff_mutants[mutant].name;
    if (gradcheck_run(&runner, &options, &result) != 0)
        return false;
    bool noticed = result.base_failed || result.failed > 0 || result.non_finite;
    if (noticed) {
        verdict->killed = true;
        verdict->ranks = trial->ranks;
        snprintf(verdict->program, sizeof verdict->program, "%s", trial->program->name);
        oracles_name(&result, trial, verdict->oracle, sizeof verdict->oracle);
        if (result.culprit.outside)
            snprintf(verdict->blamed, sizeof verdict->blamed, "untaped");
        else if (result.base_failed)
            snprintf(verdict->blamed, sizeof verdict->blamed, "%s", result.stuck);
        else if (result.culprit.found)
            snprintf(verdict->blamed, sizeof verdict->blamed, "%s", result.culprit.name);
    }
    gradcheck_release(&result);
    return noticed;
}

void mutant_judge(const struct mutant_world *world, int mutant, struct mutant_verdict *verdict)
{
    static const int sizes[] = {2, 3, 4};
    static const uint64_t seeds[] = {0, 3};
    *verdict = (struct mutant_verdict){.mutant = mutant};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t p = 0; p < PROGRAMS; p++)
            for (size_t c = 0; c < sizeof seeds / sizeof *seeds; c++) {
                struct trial trial = {
                    .world = world, .program = &programs[p], .ranks = sizes[s], .seed = seeds[c]};
                verdict->trials++;
                if (notices(&trial, mutant, verdict))
                    return;
            }
}

void mutants_judge(const struct mutant_world *world,
                   struct mutant_verdict verdicts[DIFF_MUTANT_COUNT])
{
    for (int mutant = 0; mutant < DIFF_MUTANT_COUNT; mutant++)
        mutant_judge(world, mutant, &verdicts[mutant]);
}

static void line_print(const struct mutant_verdict *verdict, char *text, size_t size)
{
    const struct diff_mutant_row *row = &diff_mutants[verdict->mutant];
    bool control = verdict->mutant == MUTANT_NONE;
    if (!verdict->killed)
        snprintf(text, size, "%-14s %s\n", row->name,
                 control ? "passes every program" : "SURVIVED every program");
    else
        snprintf(text, size, "%-14s %5d %-19s %-11s %s\n", row->name, verdict->ranks,
                 verdict->program, verdict->blamed[0] ? verdict->blamed : "-", verdict->oracle);
}

int mutants_print(const struct mutant_verdict verdicts[DIFF_MUTANT_COUNT], char *text, size_t size)
{
    int survived = 0, killed = 0;
    int used = snprintf(text, size, "%-14s %5s %-19s %-11s %s\n", "mutant", "ranks", "program",
                        "first wrong", "killed by");
    for (int m = 0; m < DIFF_MUTANT_COUNT; m++) {
        bool control = m == MUTANT_NONE;
        killed += !control && verdicts[m].killed;
        survived += control ? verdicts[m].killed : !verdicts[m].killed;
        if ((size_t)used >= size)
            continue;
        line_print(&verdicts[m], text + used, size - (size_t)used);
        used += (int)strlen(text + used);
    }
    if ((size_t)used < size)
        snprintf(text + used, size - (size_t)used, "killed %d of %d; the right adjoints %s\n",
                 killed, DIFF_MUTANT_COUNT - 1,
                 verdicts[MUTANT_NONE].killed ? "FAIL" : "pass every program");
    return survived;
}
