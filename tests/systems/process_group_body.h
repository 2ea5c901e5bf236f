/* process_group_body.h: a loss through every operation of process groups, on groups of all sorts.
 *
 * The same body runs under the machine, by MPI's operations and by those of other channels, and
 * between processes over TCP. All ranks' values differ, so that an extremum has no tie. */
#ifndef TESTS_SYSTEMS_PROCESS_GROUP_BODY_H
#define TESTS_SYSTEMS_PROCESS_GROUP_BODY_H

#include <diff.h>
#include <process_group.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_VALUES = 12, BODY_RANKS_MAX = 8 };

struct body {
    struct diff_tape *tape;
    struct process_group *world;
    int rank, size;
    struct diff_tensor *x, *loss;
    int losses;
    const char *trouble; /* what was not as it should be, beside the gradient */
};

static inline double body_value(int rank, int i)
{
    return 0.4 + 0.13 * i + (i % 2 ? -0.37 : 0.29) * rank + 0.01 * rank * i;
}

/* Adds a weighted sum of y to the loss; weights differ on every rank and in every place. */
static void body_count(struct body *b, struct diff_tensor *y)
{
    size_t count = diff_count(y);
    double *weights = malloc((count + 1) * sizeof *weights);
    for (size_t i = 0; weights && i < count; i++)
        weights[i] = 0.5 + 0.21 * (double)i - 0.17 * b->rank + 0.05 * (b->losses % 7);
    struct diff_tensor *w = diff_constant(b->tape, DIFF_DOUBLE, 1, &count, weights);
    struct diff_tensor *term = diff_dot(diff_reshape(y, 1, &count), w);
    b->loss = b->loss ? diff_add(b->loss, term) : term;
    b->losses++;
    free(weights);
}

static struct diff_tensor *body_part(const struct body *b, size_t begin, size_t count)
{
    return diff_slice(b->x, begin, count);
}

static void body_trouble(struct body *b, bool right, const char *what)
{
    if (!right && !b->trouble)
        b->trouble = what;
}

static void body_reductions(struct body *b, struct process_group *g, int root)
{
    struct diff_tensor *factor = body_part(b, 11, 1);
    struct process_op ops[] = {PROCESS_SUM,
                               PROCESS_AVG,
                               PROCESS_PRODUCT,
                               PROCESS_MIN,
                               PROCESS_MAX,
                               PROCESS_PREMUL(0.5 + b->rank),
                               PROCESS_PREMUL_TENSOR(factor)};
    size_t size = (size_t)process_group_size(g), counts[BODY_RANKS_MAX], total = 0;
    for (size_t i = 0; i < size; i++)
        total += counts[i] = i % 3;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        body_count(b, process_group_all_reduce(g, body_part(b, 0, 3), ops[i]));
        body_count(b, process_group_reduce(g, body_part(b, 2, 3), ops[i], root));
        body_count(b, process_group_reduce_scatter(g, body_part(b, 3, total), counts, ops[i]));
        body_count(b, process_group_reduce_scatter(g, body_part(b, 1, size), NULL, ops[i]));
    }
}

static void body_moves(struct body *b, struct process_group *g, int root)
{
    size_t size = (size_t)process_group_size(g), rank = (size_t)process_group_rank(g);
    size_t out[BODY_RANKS_MAX], in[BODY_RANKS_MAX], seen[BODY_RANKS_MAX] = {0}, total = 0;
    for (size_t i = 0; i < size; i++) {
        total += out[i] = (rank + 2 * i) % 3;
        in[i] = (i + 2 * rank) % 3;
    }
    body_count(b, process_group_broadcast(g, body_part(b, 0, 2), root));
    body_count(b, process_group_all_gather(g, body_part(b, 1, 2)));
    body_count(b, process_group_gather(g, body_part(b, 2, 2), root));
    body_count(b, process_group_scatter(g, body_part(b, 0, size), 1, root));
    body_count(b, process_group_all_to_all(g, body_part(b, 0, size), NULL, NULL));
    body_count(b, process_group_all_to_all(g, body_part(b, 0, total), out, in));
    /* sizes that only their owners know */
    body_count(b, process_group_broadcast_sized(g, body_part(b, 0, 2 + rank), root));
    body_count(b, process_group_all_gather_sized(g, body_part(b, 0, rank), seen));
    for (size_t i = 0; i < size; i++)
        body_trouble(b, seen[i] == i, "all_gather_sized tells wrong sizes");
    body_count(b, process_group_gather_sized(g, body_part(b, 3, rank + 1), NULL, root));
    body_count(b, process_group_scatter_sized(g, body_part(b, 0, total), out, root));
    memset(seen, 0, sizeof seen);
    body_count(b, process_group_all_to_all_sized(g, body_part(b, 0, total), out, seen));
    body_trouble(b, memcmp(seen, in, size * sizeof *in) == 0, "all_to_all_sized tells wrong sizes");
}

static void body_messages(struct body *b, struct process_group *g)
{
    int size = process_group_size(g), rank = process_group_rank(g);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    struct diff_tensor *buffer = body_part(b, 5, 4), *results[2];
    struct diff_tensor *out = process_group_isend(g, body_part(b, 0, 2), right, 1);
    struct diff_tensor *second = process_group_isend(g, body_part(b, 2, 3), right, 1);
    struct diff_tensor *in = process_group_irecv(g, buffer, left, 1);
    body_count(b, process_group_wait(g, in));
    body_count(b, process_group_receive(g, body_part(b, 8, 3), left, 1));
    process_group_wait(g, second);
    process_group_wait(g, out);
    process_group_batch(g, 2,
                        (struct process_message[]){{true, body_part(b, 0, 3), right, 2},
                                                   {false, body_part(b, 6, 3), left, 2}},
                        results);
    body_count(b, results[0]);
    /* any source, and a size that is not known */
    if (rank > 0) {
        process_group_send(g, body_part(b, 4, 2), 0, 3);
        process_group_send_sized(g, body_part(b, 1, (size_t)rank), 0, 4);
    }
    struct diff_tensor *of[BODY_RANKS_MAX] = {NULL};
    for (int i = 1; rank == 0 && i < size; i++) {
        struct diff_tensor *got = process_group_receive(g, body_part(b, 0, 2), PROCESS_ANY, 3);
        int source = process_group_source(got);
        bool known = source > 0 && source < size && !of[source];
        body_trouble(b, known, "a message of nobody, or two of one");
        if (known)
            of[source] = got;
    }
    for (int from = 1; rank == 0 && from < size; from++) {
        struct diff_tensor *got = process_group_receive_sized(g, b->x, from, 4);
        body_trouble(b, diff_count(got) == (size_t)from, "receive_sized gets another size");
        body_count(b, got);
        if (of[from])
            body_count(b, of[from]);
    }
}

static void body_coalesced(struct body *b, struct process_group *g)
{
    size_t size = (size_t)process_group_size(g);
    struct diff_tensor *x[2] = {diff_reshape(body_part(b, 0, 4), 2, (size_t[]){2, 2}),
                                body_part(b, 4, 3)};
    struct diff_tensor *parts[2] = {body_part(b, 2, size), body_part(b, 0, 2 * size)}, *y[2];
    process_group_all_reduce_coalesced(g, 2, x, PROCESS_AVG, y);
    body_count(b, y[0]);
    body_count(b, y[1]);
    process_group_broadcast_coalesced(g, 2, x, 0, y);
    body_count(b, y[0]);
    body_count(b, y[1]);
    process_group_all_gather_coalesced(g, 2, x, y);
    body_count(b, y[0]);
    body_count(b, y[1]);
    process_group_reduce_scatter_coalesced(g, 2, parts, PROCESS_SUM, y);
    body_count(b, y[0]);
    body_count(b, y[1]);
}

static struct process_object body_object(int rank)
{
    size_t size = 3 * (size_t)rank;
    struct process_object object = {malloc(size + 1), size};
    if (object.bytes)
        memset(object.bytes, 'a' + rank, size);
    return object;
}

static void body_object_check(struct body *b, struct process_object object, int rank,
                              const char *what)
{
    struct process_object expected = body_object(rank);
    body_trouble(
        b, object.size == expected.size && memcmp(object.bytes, expected.bytes, object.size) == 0,
        what);
    free(expected.bytes);
    free(object.bytes);
}

static void body_objects(struct body *b, struct process_group *g, int root)
{
    int size = process_group_size(g), rank = process_group_rank(g), source = -1;
    struct process_object mine = body_object(rank), all[BODY_RANKS_MAX];
    process_group_all_gather_objects(g, mine, all);
    for (int i = 0; i < size; i++)
        body_object_check(b, all[i], i, "all_gather_objects");
    process_group_gather_objects(g, mine, rank == root ? all : NULL, root);
    if (rank == root) { /* scattered back, the other way round */
        struct process_object turned[BODY_RANKS_MAX];
        for (int i = 0; i < size; i++)
            turned[i] = all[size - 1 - i];
        body_object_check(b, process_group_scatter_objects(g, turned, root), size - 1 - rank,
                          "scatter_objects");
        for (int i = 0; i < size; i++)
            body_object_check(b, all[i], i, "gather_objects");
    } else {
        body_object_check(b, process_group_scatter_objects(g, NULL, root), size - 1 - rank,
                          "scatter_objects");
    }
    struct process_object got = process_group_broadcast_object(g, mine, root);
    if (rank == root)
        got = body_object(root);
    body_object_check(b, got, root, "broadcast_object");
    if (rank > 0)
        process_group_send_object(g, mine, 0, 5);
    for (int i = 1; rank == 0 && i < size; i++) {
        got = process_group_receive_object(g, PROCESS_ANY, 5, &source);
        body_object_check(b, got, source, "receive_object");
    }
    free(mine.bytes);
    process_group_barrier(g);
}

/* `shift` (BODY_VALUES numbers, or NULL) is added to this rank's values. Gives the rank's loss; its
 * gradient goes to `gradient` if not NULL. */
static double process_group_body(struct data_channel *channel, bool plain, const double *shift,
                                 double *gradient, const char **trouble)
{
    struct body b = {.tape = diff_tape_new(MPI_COMM_WORLD)};
    b.world = plain ? process_group_plain(b.tape, channel) : process_group_world(b.tape, channel);
    b.rank = process_group_rank(b.world);
    b.size = process_group_size(b.world);
    int reversed[BODY_RANKS_MAX], odd[BODY_RANKS_MAX], odds = 0;
    double values[BODY_VALUES];
    for (int i = 0; i < b.size; i++)
        reversed[i] = b.size - 1 - i;
    for (int i = b.size - 1; i >= 0; i--)
        if (i % 2 || b.size == 1)
            odd[odds++] = i;
    for (int i = 0; i < BODY_VALUES; i++)
        values[i] = body_value(b.rank, i) + (shift ? shift[i] : 0);
    b.x = diff_input(b.tape, "x", DIFF_DOUBLE, 1, (size_t[]){BODY_VALUES}, values);
    struct process_group *back = process_group_new(b.world, b.size, reversed);
    struct process_group *some = process_group_new(back, odds, odd);
    body_reductions(&b, b.world, 0);
    body_moves(&b, back, b.size - 1);
    body_messages(&b, b.world);
    body_coalesced(&b, back);
    body_objects(&b, b.world, b.size / 2);
    if (some) {
        body_reductions(&b, some, odds - 1);
        body_moves(&b, some, 0);
        body_messages(&b, some);
    }
    double loss = diff_scalar(b.loss);
    diff_backward(b.loss);
    if (gradient)
        memcpy(gradient, diff_gradient(b.x), BODY_VALUES * sizeof *gradient);
    *trouble = b.trouble;
    process_group_free(some);
    process_group_free(back);
    process_group_free(b.world);
    diff_tape_free(b.tape);
    return loss;
}

#endif
