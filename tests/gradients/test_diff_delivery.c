/* Adjoints that are right only as messages happen to arrive: found, and blamed on that; their right
 * twins, and programs in which messages decide which rank does what, pass. */
#include "tests/diff_world.h"

#include <string.h>

enum { RANKS = 4, ROOT = 0 };

static bool wrong; /* the twin that runs */

struct here {
    int rank, right, left;
};

static struct here begin(double *x)
{
    struct here at;
    MPI_Comm_rank(MPI_COMM_WORLD, &at.rank);
    at.right = (at.rank + 1) % RANKS;
    at.left = (at.rank + RANKS - 1) % RANKS;
    *x = 0.4 + 0.3 * at.rank;
    diff_mark_input("x", x, 1);
    return at;
}

static void end(double loss, double gradient)
{
    diff_mark_objective(loss);
    diff_mark_gradient("x", &gradient, 1);
}

/* The cotangent of a ring goes back; how it is received is the case. */
static double ring(const struct here *at, double x, MPI_Request *receive, double *g)
{
    double y, b;
    MPI_Sendrecv(&x, 1, MPI_DOUBLE, at->right, 0, &y, 1, MPI_DOUBLE, at->left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    b = 2 * (1 + at->rank) * y;
    if (*receive == MPI_REQUEST_NULL)
        MPI_Irecv(g, 1, MPI_DOUBLE, at->right, 1, MPI_COMM_WORLD, receive);
    else
        MPI_Start(receive);
    MPI_Send(&b, 1, MPI_DOUBLE, at->left, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return (1 + at->rank) * y * y;
}

static void read_before_wait(void)
{
    double x, g = 0, early, loss;
    MPI_Request receive = MPI_REQUEST_NULL;
    struct here at = begin(&x);
    loss = ring(&at, x, &receive, &g);
    early = g;
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    end(loss, wrong ? early : g);
}

static void read_after_a_test(void)
{
    double x, g = 0, early, loss;
    int done;
    MPI_Request receive = MPI_REQUEST_NULL;
    struct here at = begin(&x);
    loss = ring(&at, x, &receive, &g);
    MPI_Test(&receive, &done, MPI_STATUS_IGNORE); /* whatever it said */
    early = g;
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    end(loss, wrong ? early : g);
}

static void persistent_before_wait(void)
{
    double x, g = 0, early, loss;
    MPI_Request receive;
    struct here at = begin(&x);
    MPI_Recv_init(&g, 1, MPI_DOUBLE, at.right, 1, MPI_COMM_WORLD, &receive);
    loss = ring(&at, x, &receive, &g);
    early = g;
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Request_free(&receive);
    end(loss, wrong ? early : g);
}

/* A message of each other rank as they come, whose it was, and what they are worth. */
static double take_from_all(double *y, int *from)
{
    double loss = 0;
    for (int k = 1; k < RANKS; k++) {
        MPI_Status status;
        MPI_Recv(&y[k], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        from[k] = status.MPI_SOURCE;
        loss += (1 + from[k]) * y[k] * y[k];
    }
    return loss;
}

/* The answer to the k-th message goes to rank k instead of to who sent it. */
static void posted_order(void)
{
    double x, y[RANKS], g = 0, loss = 0;
    int from[RANKS];
    struct here at = begin(&x);
    if (at.rank == ROOT)
        loss = take_from_all(y, from);
    for (int k = 1; at.rank == ROOT && k < RANKS; k++) {
        double b = 2 * (1 + from[k]) * y[k];
        MPI_Send(&b, 1, MPI_DOUBLE, wrong ? k : from[k], 1, MPI_COMM_WORLD);
    }
    if (at.rank != ROOT) {
        MPI_Send(&x, 1, MPI_DOUBLE, ROOT, 0, MPI_COMM_WORLD);
        MPI_Recv(&g, 1, MPI_DOUBLE, ROOT, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    end(loss, g);
}

/* The same, and who was served first has an input of its own: in another delivery another rank has
 * it. */
static void posted_order_and_inputs(void)
{
    double x, z = 0.7, y[RANKS], g = 0, loss = 0, told[2] = {0};
    int from[RANKS];
    struct here at = begin(&x);
    if (at.rank == ROOT)
        loss = take_from_all(y, from);
    for (int k = 1; at.rank == ROOT && k < RANKS; k++) {
        double b[2] = {2 * (1 + from[k]) * y[k], from[1]};
        MPI_Send(b, 2, MPI_DOUBLE, wrong ? k : from[k], 1, MPI_COMM_WORLD);
    }
    if (at.rank != ROOT) {
        MPI_Send(&x, 1, MPI_DOUBLE, ROOT, 0, MPI_COMM_WORLD);
        MPI_Recv(told, 2, MPI_DOUBLE, ROOT, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        g = told[0];
    }
    if (told[1] == at.rank && at.rank != ROOT) {
        diff_mark_input("z", &z, 1);
        double z_grad = 2 * z;
        loss += z * z;
        end(loss, g);
        diff_mark_gradient("z", &z_grad, 1);
    } else
        end(loss, g);
}

/* A master gives the items to those who ask, in that order: which rank's copy of x has which
 * gradient is decided by messages, and right every time. */
static void given_to_who_asks(void)
{
    double x, item = 0;
    struct here at = begin(&x);
    for (int k = 1; at.rank == ROOT && k < RANKS; k++) {
        MPI_Status status;
        double next = 10 * k;
        MPI_Recv(NULL, 0, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        MPI_Send(&next, 1, MPI_DOUBLE, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    if (at.rank != ROOT) {
        MPI_Send(NULL, 0, MPI_DOUBLE, ROOT, 0, MPI_COMM_WORLD);
        MPI_Recv(&item, 1, MPI_DOUBLE, ROOT, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    end(item * x * x, 2 * item * x + (wrong ? 0.1 : 0));
}

/* Messages of one sender with several tags, received in another order than they were sent, some of
 * them by a receive for any tag, while earlier ones are pending. */
static void tags_in_another_order(void)
{
    double x, y[3], g = 0, b[3], c[3], loss = 0;
    MPI_Request requests[3];
    struct here at = begin(&x);
    for (int k = 0; k < 3; k++) {
        double send = (k + 1) * x;
        MPI_Send(&send, 1, MPI_DOUBLE, at.right, k, MPI_COMM_WORLD);
    }
    MPI_Irecv(&y[1], 1, MPI_DOUBLE, at.left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&y[0], 1, MPI_DOUBLE, at.left, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv(&y[2], 1, MPI_DOUBLE, at.left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 3; k++) {
        loss += y[k] * y[k] * (1 + k * k);
        b[k] = 2 * y[k] * (1 + k * k);
    }
    MPI_Sendrecv(b, 3, MPI_DOUBLE, at.left, 3, c, 3, MPI_DOUBLE, at.right, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int k = 0; k < 3; k++)
        g += (k + 1) * c[wrong ? 2 - k : k];
    end(loss, g);
}

int main(void)
{
    (void)checked_open("diff_delivery");
    static const struct {
        const char *name;
        void (*body)(void);
        bool late; /* its wrong twin is wrong only where messages come late */
    } cases[] = {
        {"a buffer that is read before its wait", read_before_wait, true},
        {"a buffer that is read after a test", read_after_a_test, true},
        {"a persistent receive's buffer, read before its wait", persistent_before_wait, true},
        {"answers in the order of posting", posted_order, true},
        {"answers in the order of posting, and inputs of whom it served first",
         posted_order_and_inputs, true},
        {"items given to who asks", given_to_who_asks, false},
        {"tags in another order", tags_in_another_order, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int bad = 0; bad < 2; bad++) {
            char text[2000];
            wrong = bad;
            struct diff_world world = {RANKS, cases[i].body, SIM_SEND_EAGER, 0};
            struct diff_runner runner = {diff_world_run, &world, RANKS, 1};
            struct gradcheck_options options = gradcheck_options_default();
            struct gradcheck_result result;
            gradcheck_run(&runner, &options, &result);
            checked_hold(&result);
            gradcheck_print(&result, text, sizeof text);
            bool late = strstr(result.culprit.text, "as messages happened to arrive") != NULL;
            tap_ok(!result.base_failed && !result.delivery_missed && (result.failed > 0) == wrong &&
                       late == (wrong && cases[i].late),
                   "%s: %s", cases[i].name, wrong ? "the wrong one is found" : "right") ||
                (tap_note("%s", text), 0);
            gradcheck_release(&result);
        }
    }
    checked_close();
    return tap_done();
}
