/* Who is accused where a hand-written adjoint of a reduction is wrong: the call alone that is no transpose of the forward
 * one. Every reduction of MPI, as a sum and as a product, each with its adjoint by the book:
 *
 *   of a sum      the cotangents go back as they are, by the transposed call: a sum of all to all by another one, a sum at
 *                 a root by a broadcast, a sum over the ranks so far by one over those that follow, a sum of which everybody
 *                 gets a block by a gathering of the blocks
 *   of a product  y = a_0 a_1 ...: dy/da_r = y / a_r. The same call takes the cotangents times y; what it brings is divided by a_r.
 *
 * The call of a product's adjoint is no transpose of the product, whoever wrote it, so that nothing is known of it.
 *
 * And two messages of one tag, which are told apart by their order.
 *
 * An adjoint that did not keep the result reduces once more, by the same call or by one that does the same: that answers nothing. */
#include "tests/diff_world.h"

#include <math.h>
#include <string.h>

enum call { ALLREDUCE, REDUCE, SCAN, EXSCAN, BLOCKS, PARTS, MESSAGES, CALLS };
static const char *const call_names[CALLS] = {
    "Allreduce", "Reduce", "Scan", "Exscan", "Reduce_scatter_block", "Reduce_scatter", "message"};

enum defect { RIGHT, AFTER, BEFORE, TURNED, DEFECTS };
static const char *const defect_names[DEFECTS] = {"right", "wrong after the call",
                                                  "wrong before it", "another call"};

enum { RANKS = 3, EACH = 2, N = RANKS * EACH };
static const double near_one = 1 + 1e-3;

static struct {
    enum call call;
    bool product;
    enum defect defect;
    int at, root; /* the rank that is wrong before the call; where the sum goes */
    bool again;
    enum call by; /* the result comes once more */
} plan;

/* Two messages of one tag to the next rank, or to the one before. */
static void sent_round(const double *from, double *to, int way, bool exchanged)
{
    int rank, half = N / 2, first = exchanged ? half : 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int target = (rank + way + RANKS) % RANKS, source = (rank - way + RANKS) % RANKS;
    MPI_Request sent[2];
    MPI_Isend(from + first, half, MPI_DOUBLE, target, 4, MPI_COMM_WORLD, &sent[0]);
    MPI_Isend(from + half - first, half, MPI_DOUBLE, target, 4, MPI_COMM_WORLD, &sent[1]);
    for (int i = 0; i < 2; i++)
        MPI_Recv(to + i * half, half, MPI_DOUBLE, source, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
}

static void reduced(enum call call, double *a, double *b)
{
    static const int parts[RANKS] = {EACH, EACH, EACH};
    MPI_Op op = plan.product ? MPI_PROD : MPI_SUM;
    MPI_Comm world = MPI_COMM_WORLD;
    switch (call) {
    case ALLREDUCE:
        MPI_Allreduce(a, b, N, MPI_DOUBLE, op, world);
        break;
    case REDUCE:
        MPI_Reduce(a, b, N, MPI_DOUBLE, op, plan.root, world);
        break;
    case SCAN:
        MPI_Scan(a, b, N, MPI_DOUBLE, op, world);
        break;
    case EXSCAN:
        MPI_Exscan(a, b, N, MPI_DOUBLE, op, world);
        break;
    case MESSAGES:
        sent_round(a, b, 1, false);
        break;
    case BLOCKS:
        MPI_Reduce_scatter_block(a, b, EACH, MPI_DOUBLE, op, world);
        break;
    default:
        MPI_Reduce_scatter(a, b, parts, MPI_DOUBLE, op, world);
    }
}

/* What of the result is this rank's. */
static int got_of(int rank)
{
    return plan.call == BLOCKS || plan.call == PARTS                                          ? EACH
           : (plan.call == REDUCE && rank != plan.root) || (plan.call == EXSCAN && rank == 0) ? 0
                                                                                              : N;
}

static void transposed(double *bar, double *back, int rank)
{
    bool turned = plan.defect == TURNED;
    MPI_Comm world = MPI_COMM_WORLD, other;
    MPI_Comm_split(world, 0, -rank, &other);
    switch (plan.call) {
    case ALLREDUCE:
        MPI_Allreduce(bar, back, N, MPI_DOUBLE, turned ? MPI_MAX : MPI_SUM, world);
        break;
    case REDUCE:
        memcpy(back, bar, N * sizeof *back);
        MPI_Bcast(back, N, MPI_DOUBLE, turned ? (plan.root + 1) % RANKS : plan.root, world);
        break;
    case SCAN:
        MPI_Scan(bar, back, N, MPI_DOUBLE, MPI_SUM, turned ? world : other);
        break;
    case EXSCAN:
        MPI_Exscan(bar, back, N, MPI_DOUBLE, MPI_SUM, turned ? world : other);
        break;
    case MESSAGES:
        sent_round(bar, back, -1, turned);
        break;
    default:
        MPI_Allgather(bar, EACH, MPI_DOUBLE, back, EACH, MPI_DOUBLE, turned ? other : world);
    }
    MPI_Comm_free(&other);
}

static void program(void)
{
    int rank;
    double x[N], a[N], b[N] = {0}, bar[N] = {0}, back[N] = {0}, loss = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N; i++)
        x[i] = 0.8 + 0.1 * sin(1.3 * i + 2.1 * rank + 0.4);
    diff_mark_input("x", x, N);
    for (int i = 0; i < N; i++)
        a[i] = 0.5 + sin(x[i]);
    reduced(plan.call, a, b);
    for (int i = 0; i < got_of(rank); i++)
        loss += (1 + rank + 0.1 * i) * b[i] * b[i];
    diff_mark_objective(loss);
    if (plan.again) {
        memset(b, 0, sizeof b);
        reduced(plan.by, a, b);
    }
    for (int i = 0; i < got_of(rank); i++) {
        bar[i] = 2 * (1 + rank + 0.1 * i) * b[i] * (plan.product ? b[i] : 1);
        bar[i] *= plan.defect == BEFORE && rank == plan.at && i == 0 ? near_one : 1;
    }
    transposed(bar, back, rank);
    for (int i = 0; i < N; i++)
        back[i] *= cos(x[i]) / (plan.product ? a[i] : 1) * (plan.defect == AFTER ? near_one : 1);
    diff_mark_gradient("x", back, N);
}

/* A sum over the ranks before has an adjoint with other ranks that get nothing: none is asked for. */
static void words_due(char *text, size_t size)
{
    bool followed = !plan.product && plan.call != EXSCAN;
    int at = plan.call == REDUCE ? plan.root : plan.at;
    bool two = plan.call ==
               MESSAGES; /* of each rank, exchanged only as far as it looks for what they bring */
    if (followed && (plan.defect == AFTER || (two && plan.defect == TURNED)))
        snprintf(text, size, "all calls of the adjoint (%d) are given the right numbers",
                 two ? 2 * RANKS : 1);
    else if (plan.defect == BEFORE && followed)
        snprintf(text, size, "is given by rank %d is not the cotangent of what the forward %s gave",
                 at, call_names[plan.call]);
    else if (plan.defect == TURNED && followed)
        snprintf(text, size, "the forward %s ", call_names[plan.call]);
    else
        text[0] = '\0';
}

static void check_case(void)
{
    char due[200];
    struct gradcheck_options options = gradcheck_options_default();
    options.elements_max = 1;
    options.points = 1;
    struct gradcheck_result result = diff_world_check(program, RANKS, &options);
    const struct gradcheck_culprit *culprit = &result.culprit;
    words_due(due, sizeof due);
    bool wrong = plan.defect != RIGHT,
         accused = plan.defect == TURNED && due[0] && plan.call != MESSAGES;
    bool well = !result.base_failed && (result.failed > 0) == wrong &&
                culprit->outside == accused && strstr(culprit->text, due) != NULL &&
                (due[0] || !culprit->text[0]);
    tap_test_str(well ? due : culprit->text, due, TAP_HERE, "%s of a %s, %s (%d)%s%s",
                 call_names[plan.call], plan.product ? "product" : "sum", defect_names[plan.defect],
                 plan.defect == BEFORE ? plan.at : plan.root, plan.again ? ", again by " : "",
                 plan.again ? call_names[plan.by] : "");
    gradcheck_release(&result);
}

static bool does_the_same(enum call one, enum call other)
{
    return one == other || (one == BLOCKS && other == PARTS) || (one == PARTS && other == BLOCKS);
}

int main(void)
{
    unsigned long long number = 0;
    for (plan.call = 0; plan.call < CALLS; plan.call++)
        for (int product = 0; product < 2; product++)
            for (plan.defect = 0; plan.defect < DEFECTS; plan.defect++)
                for (plan.at = 0; plan.at < RANKS; plan.at++) {
                    plan.product = product;
                    if (product && plan.call == MESSAGES)
                        continue;
                    plan.root = plan.at;
                    if (plan.defect != BEFORE && plan.call != REDUCE && plan.at > 0)
                        continue;
                    if (plan.call == EXSCAN && plan.defect == BEFORE && plan.at == 0)
                        continue; /* it has none */
                    if (plan.at > 1 && (product || plan.call == MESSAGES))
                        continue;
                    if (dice_takes(number++))
                        check_case();
                }
    plan.product = false;
    plan.again = true;
    plan.at = plan.root = 1;
    for (plan.call = 0; plan.call < CALLS; plan.call++)
        for (plan.by = 0; plan.by < CALLS; plan.by++)
            for (plan.defect = 0; plan.defect < DEFECTS; plan.defect++)
                if (does_the_same(plan.by, plan.call) && dice_takes(number++))
                    check_case();
    return tap_done();
}
