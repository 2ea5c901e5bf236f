/* channel_conformance.h: what every data channel must answer alike.
 *
 * A question is a function that all ranks of a channel run; it tells what it expects. The same
 * questions are put to every backend: test_channel_memory.c (the machine, in all its variants),
 * test_channel_tcp.c (processes), channel_peers.c (a real MPI). Expected values are computed from
 * formulas, never by another operation of the channel. */
#ifndef TESTS_SYSTEMS_CHANNEL_CONFORMANCE_H
#define TESTS_SYSTEMS_CHANNEL_CONFORMANCE_H

#include <complex.h>
#include <data_channel.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct channel_report {
    int looked_at, failed;
    char text[300]; /* of the first that failed */
};

struct channel_case {
    struct data_channel *channel;
    struct data_group *world;
    int rank, size;
    struct channel_report *report;
};

static inline void __attribute__((format(printf, 5, 6)))
conform_note(const struct channel_case *c, bool holds, int line, const char *condition,
             const char *format, ...)
{
    struct channel_report *report = c->report;
    report->looked_at++;
    if (holds || report->failed++)
        return;
    int used = snprintf(report->text, sizeof report->text, "line %d, rank %d of %d: %.80s: ", line,
                        c->rank, c->size, condition);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->text + used, sizeof report->text - (size_t)used, format, arguments);
    va_end(arguments);
}

#define conform(condition, ...) conform_note(c, (condition), __LINE__, #condition, __VA_ARGS__)
/* The operation succeeds; else its error is told. */
#define conform_ok(call)                                                                           \
    conform_note(c, (call), __LINE__, #call, "%s", data_channel_error(c->channel))
/* The operation refuses, and the error has these words. */
#define conform_refused(call, words)                                                               \
    do {                                                                                           \
        bool conform_done_ = (call);                                                               \
        conform_note(c, !conform_done_ && strstr(data_channel_error(c->channel), words), __LINE__, \
                     #call, "should be refused with \"%s\", got \"%s\"", words,                    \
                     conform_done_ ? "no error" : data_channel_error(c->channel));                 \
    } while (0)

/* Small whole numbers, so that sums and products are exact in every type. */
static inline int conform_value(int rank, size_t i)
{
    return (int)((unsigned)rank * 7u + (unsigned)i * 3u) % 5 - 1;
}

enum { CONFORM_LARGE = 700001, CONFORM_RANKS_MAX = 16 };

/* ---- messages ---- */

static void conform_ring(const struct channel_case *c)
{
    int right = (c->rank + 1) % c->size, left = (c->rank + c->size - 1) % c->size;
    double mine[3] = {c->rank, c->rank + 0.5, -c->rank}, got[3] = {0};
    struct data_request *request;
    struct data_status status = {0};
    conform_ok(data_group_isend(c->world, mine, 3, DATA_DOUBLE, right, 5, &request));
    conform_ok(data_group_receive(c->world, got, 3, DATA_DOUBLE, left, 5, &status));
    conform_ok(data_request_wait(request, NULL));
    conform(got[0] == left && got[1] == left + 0.5 && got[2] == -left, "got %g", got[0]);
    conform(status.source == left && status.tag == 5 && status.count == 3, "source %d",
            status.source);
}

/* Two tags, received in the other order; and two messages of one tag, in order. */
static void conform_tags(const struct channel_case *c)
{
    int right = (c->rank + 1) % c->size, left = (c->rank + c->size - 1) % c->size, got[4] = {0};
    int values[4] = {c->rank * 10, c->rank * 10 + 1, c->rank * 10 + 2, c->rank * 10 + 3};
    static const int tags[4] = {1, 2, 1, 2};
    static const int order[4] = {1, 0, 3, 2};
    struct data_request *requests[4];
    for (int i = 0; i < 4; i++)
        conform_ok(
            data_group_isend(c->world, &values[i], 1, DATA_INT, right, tags[i], &requests[i]));
    for (int i = 0; i < 4; i++)
        conform_ok(
            data_group_receive(c->world, &got[order[i]], 1, DATA_INT, left, tags[order[i]], NULL));
    for (int i = 0; i < 4; i++) {
        conform_ok(data_request_wait(requests[i], NULL));
        conform(got[i] == left * 10 + i, "message %d holds %d", i, got[i]);
    }
}

static void conform_any_source(const struct channel_case *c)
{
    int seen[CONFORM_RANKS_MAX] = {0};
    int64_t value = 100 + c->rank, got = 0;
    if (c->rank > 0) {
        conform_ok(data_group_send(c->world, &value, 1, DATA_LONG, 0, 9));
        return;
    }
    for (int i = 1; i < c->size; i++) {
        struct data_status status = {-1, -1, 0};
        conform_ok(data_group_receive(c->world, &got, 1, DATA_LONG, DATA_ANY, 9, &status));
        conform(got == 100 + status.source, "%lld came from %d", (long long)got, status.source);
        if (status.source >= 0 && status.source < c->size)
            seen[status.source]++;
    }
    for (int i = 1; i < c->size; i++)
        conform(seen[i] == 1, "%d messages of %d", seen[i], i);
    conform(seen[0] == 0, "one came from nowhere");
}

/* Everybody to everybody at once; waits in the reverse order, one of them by testing. */
static void conform_requests(const struct channel_case *c)
{
    struct data_request *out[CONFORM_RANKS_MAX], *in[CONFORM_RANKS_MAX];
    float sent[CONFORM_RANKS_MAX], got[CONFORM_RANKS_MAX] = {0};
    for (int i = 0; i < c->size; i++)
        conform_ok(data_group_irecv(c->world, &got[i], 1, DATA_FLOAT, i, 3, &in[i]));
    for (int i = 0; i < c->size; i++) {
        sent[i] = (float)(c->rank * 100 + i);
        conform_ok(data_group_isend(c->world, &sent[i], 1, DATA_FLOAT, i, 3, &out[i]));
    }
    bool done = false;
    while (!done) {
        bool right = data_request_test(in[c->size - 1], &done, NULL);
        conform(right, "test: %s", data_channel_error(c->channel));
        if (!right)
            break;
    }
    for (int i = c->size - 2; i >= 0; i--)
        conform_ok(data_request_wait(in[i], NULL));
    for (int i = c->size - 1; i >= 0; i--) {
        conform_ok(data_request_wait(out[i], NULL));
        conform(got[i] == (float)(i * 100 + c->rank), "%g from %d", (double)got[i], i);
    }
}

static void conform_probe(const struct channel_case *c)
{
    int right = (c->rank + 1) % c->size, left = (c->rank + c->size - 1) % c->size;
    int values[CONFORM_RANKS_MAX], got[CONFORM_RANKS_MAX];
    size_t mine = (size_t)c->rank + 1;
    struct data_request *request;
    struct data_status status = {0};
    bool there = true;
    for (size_t i = 0; i < mine; i++)
        values[i] = conform_value(c->rank, i);
    conform_ok(data_group_look(c->world, DATA_INT, left, 77, &there, NULL));
    conform(!there, "a message with a tag that nobody uses");
    conform_ok(data_group_isend(c->world, values, mine, DATA_INT, right, 4, &request));
    conform_ok(data_group_probe(c->world, DATA_INT, left, 4, &status));
    conform(status.count == (size_t)left + 1 && status.source == left, "%zu values", status.count);
    conform_ok(data_group_look(c->world, DATA_INT, left, 4, &there, &status));
    conform(there && status.count == (size_t)left + 1, "look does not see what probe saw");
    conform_ok(data_group_receive(c->world, got, CONFORM_RANKS_MAX, DATA_INT, left, 4, &status));
    conform(status.count == (size_t)left + 1, "%zu values", status.count);
    for (size_t i = 0; i < status.count && i < CONFORM_RANKS_MAX; i++)
        conform(got[i] == conform_value(left, i), "value %zu is %d", i, got[i]);
    conform_ok(data_request_wait(request, NULL));
    conform_ok(data_group_barrier(c->world)); /* nobody leaves while others look */
}

/* Many times what a socket holds, both ways at the same time. */
static void conform_large(const struct channel_case *c)
{
    int right = (c->rank + 1) % c->size, left = (c->rank + c->size - 1) % c->size;
    double *out = malloc(CONFORM_LARGE * sizeof *out), *in = malloc(CONFORM_LARGE * sizeof *in);
    struct data_request *request;
    size_t wrong = 0;
    conform(out && in, "no memory");
    for (size_t i = 0; i < CONFORM_LARGE; i++)
        out[i] = (double)i * 0.25 + c->rank;
    conform_ok(data_group_isend(c->world, out, CONFORM_LARGE, DATA_DOUBLE, right, 0, &request));
    conform_ok(data_group_receive(c->world, in, CONFORM_LARGE, DATA_DOUBLE, left, 0, NULL));
    conform_ok(data_request_wait(request, NULL));
    for (size_t i = 0; i < CONFORM_LARGE; i++)
        wrong += in[i] != (double)i * 0.25 + left;
    conform(wrong == 0, "%zu values differ", wrong);
    wrong = 0;
    conform_ok(data_group_all_reduce(c->world, out, in, CONFORM_LARGE, DATA_DOUBLE, DATA_SUM));
    for (size_t i = 0; i < CONFORM_LARGE; i++)
        wrong += in[i] != (double)i * 0.25 * c->size + c->size * (c->size - 1) / 2;
    conform(wrong == 0, "%zu sums differ", wrong);
    free(out);
    free(in);
}

static void conform_nothing(const struct channel_case *c)
{
    size_t zeros[CONFORM_RANKS_MAX] = {0};
    double in[1] = {1}, out[1] = {2};
    int right = (c->rank + 1) % c->size, left = (c->rank + c->size - 1) % c->size;
    struct data_request *request;
    struct data_status status = {-1, -1, 9};
    struct data_group *w = c->world;
    conform_ok(data_group_isend(w, in, 0, DATA_DOUBLE, right, 0, &request));
    conform_ok(data_group_receive(w, out, 0, DATA_DOUBLE, left, 0, &status));
    conform(status.count == 0 && status.source == left, "%zu values", status.count);
    conform_ok(data_request_wait(request, NULL));
    conform_ok(data_group_broadcast(w, out, 0, DATA_DOUBLE, c->size - 1));
    conform_ok(data_group_reduce(w, in, out, 0, DATA_DOUBLE, DATA_SUM, 0));
    conform_ok(data_group_all_reduce(w, in, out, 0, DATA_DOUBLE, DATA_AVERAGE));
    conform_ok(data_group_reduce_scatter(w, in, out, zeros, DATA_DOUBLE, DATA_MAX));
    conform_ok(data_group_gather(w, in, 0, out, zeros, DATA_DOUBLE, 0));
    conform_ok(data_group_scatter(w, in, zeros, out, 0, DATA_DOUBLE, 0));
    conform_ok(data_group_all_gather(w, in, out, zeros, DATA_DOUBLE));
    conform_ok(data_group_all_to_all(w, in, zeros, out, zeros, DATA_DOUBLE));
    conform(out[0] == 2, "something was written: %g", out[0]);
}

/* ---- collectives ---- */

static void conform_broadcast(const struct channel_case *c)
{
    for (int root = 0; root < c->size; root++) {
        double complex z[2] = {0};
        char text[20] = "";
        if (c->rank == root) {
            z[0] = (double)root + 2.0 * I;
            z[1] = -root;
            snprintf(text, sizeof text, "root %d", root);
        }
        conform_ok(data_group_broadcast(c->world, z, 2, DATA_COMPLEX_DOUBLE, root));
        conform_ok(data_group_broadcast(c->world, text, sizeof text, DATA_BYTE, root));
        conform(z[0] == (double)root + 2.0 * I && z[1] == -root, "root %d", root);
        char expected[20];
        snprintf(expected, sizeof expected, "root %d", root);
        conform(strcmp(text, expected) == 0, "%s", text);
    }
}

static inline double conform_fold(enum data_operator op, int size, size_t i)
{
    double result = conform_value(0, i);
    for (int r = 1; r < size; r++) {
        double v = conform_value(r, i);
        if (op == DATA_PRODUCT)
            result *= v;
        else if (op == DATA_MIN)
            result = v < result ? v : result;
        else if (op == DATA_MAX)
            result = v > result ? v : result;
        else
            result += v;
    }
    return op == DATA_AVERAGE ? result / size : result;
}

/* Values of any type as doubles, real parts only. */
static inline void conform_put(enum data_type type, void *values, size_t i, double value)
{
    switch (type) {
    case DATA_INT:
        ((int *)values)[i] = (int)value;
        break;
    case DATA_LONG:
        ((int64_t *)values)[i] = (int64_t)value;
        break;
    case DATA_FLOAT:
        ((float *)values)[i] = (float)value;
        break;
    case DATA_DOUBLE:
        ((double *)values)[i] = value;
        break;
    case DATA_COMPLEX_FLOAT:
        ((float complex *)values)[i] = (float)value;
        break;
    case DATA_COMPLEX_DOUBLE:
        ((double complex *)values)[i] = value;
        break;
    default:
        ((unsigned char *)values)[i] = (unsigned char)value;
    }
}

static inline double conform_get(enum data_type type, const void *values, size_t i)
{
    switch (type) {
    case DATA_INT:
        return ((const int *)values)[i];
    case DATA_LONG:
        return (double)((const int64_t *)values)[i];
    case DATA_FLOAT:
        return (double)((const float *)values)[i];
    case DATA_DOUBLE:
        return ((const double *)values)[i];
    case DATA_COMPLEX_FLOAT:
        return (double)crealf(((const float complex *)values)[i]);
    case DATA_COMPLEX_DOUBLE:
        return creal(((const double complex *)values)[i]);
    default:
        return ((const unsigned char *)values)[i];
    }
}

static inline bool conform_suits(enum data_operator op, enum data_type type)
{
    bool is_complex = type == DATA_COMPLEX_FLOAT || type == DATA_COMPLEX_DOUBLE;
    bool whole = type == DATA_INT || type == DATA_LONG;
    return !(is_complex && (op == DATA_MIN || op == DATA_MAX)) && !(whole && op == DATA_AVERAGE);
}

static inline bool conform_near(enum data_type type, double got, double expected)
{
    bool single = type == DATA_FLOAT || type == DATA_COMPLEX_FLOAT;
    double error = got > expected ? got - expected : expected - got;
    return error <= (single ? 1e-6 : 1e-14) * 16;
}

static inline void conform_reductions_of(const struct channel_case *c, enum data_operator op,
                                         enum data_type type, size_t count)
{
    void *in = calloc(count, 16), *out = calloc(count, 16);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        conform_put(type, in, i, conform_value(c->rank, i));
    conform_ok(data_group_all_reduce(c->world, in, out, count, type, op));
    for (size_t i = 0; i < count; i++)
        wrong += !conform_near(type, conform_get(type, out, i), conform_fold(op, c->size, i));
    conform(wrong == 0, "all_reduce, operator %d, type %d: %zu of %zu wrong", (int)op, (int)type,
            wrong, count);
    for (int root = 0; root < c->size && count < 100; root++) {
        memset(out, 0, count * 16);
        conform_ok(data_group_reduce(c->world, in, out, count, type, op, root));
        for (size_t i = 0; i < count; i++)
            wrong += c->rank == root &&
                     !conform_near(type, conform_get(type, out, i), conform_fold(op, c->size, i));
    }
    conform(wrong == 0, "reduce, operator %d, type %d: %zu wrong", (int)op, (int)type, wrong);
    free(in);
    free(out);
}

static void conform_reductions(const struct channel_case *c)
{
    for (enum data_operator op = DATA_SUM; op < DATA_OPERATORS; op++)
        for (enum data_type type = DATA_INT; type < DATA_TYPES; type++)
            if (conform_suits(op, type)) {
                conform_reductions_of(c, op, type, 7);
                conform_reductions_of(c, op, type, 1301);
            }
}

/* Rank r gets r values: rank 0 none. */
static void conform_reduce_scatter(const struct channel_case *c)
{
    size_t counts[CONFORM_RANKS_MAX], total = 0, begin = 0;
    for (int r = 0; r < c->size; r++) {
        begin += r < c->rank ? (size_t)r : 0;
        total += counts[r] = (size_t)r;
    }
    double in[CONFORM_RANKS_MAX * CONFORM_RANKS_MAX], out[CONFORM_RANKS_MAX] = {0};
    for (enum data_operator op = DATA_SUM; op < DATA_OPERATORS; op++) {
        for (size_t i = 0; i < total; i++)
            in[i] = conform_value(c->rank, i);
        conform_ok(data_group_reduce_scatter(c->world, in, out, counts, DATA_DOUBLE, op));
        for (size_t i = 0; i < counts[c->rank]; i++)
            conform(conform_near(DATA_DOUBLE, out[i], conform_fold(op, c->size, begin + i)),
                    "operator %d: value %zu is %g", (int)op, i, out[i]);
    }
}

static void conform_gathers(const struct channel_case *c)
{
    size_t counts[CONFORM_RANKS_MAX];
    int in[CONFORM_RANKS_MAX], all[CONFORM_RANKS_MAX * CONFORM_RANKS_MAX];
    int back[CONFORM_RANKS_MAX];
    size_t mine = (size_t)(c->size - c->rank) - 1;
    for (int r = 0; r < c->size; r++)
        counts[r] = (size_t)(c->size - r) - 1;
    for (size_t i = 0; i < mine; i++)
        in[i] = conform_value(c->rank, i) + 100 * c->rank;
    for (int root = -1; root < c->size; root++) { /* -1: all-gather */
        memset(all, 0, sizeof all);
        memset(back, 0, sizeof back);
        if (root < 0)
            conform_ok(data_group_all_gather(c->world, in, all, counts, DATA_INT));
        else
            conform_ok(data_group_gather(c->world, in, mine, all, counts, DATA_INT, root));
        size_t at = 0;
        for (int r = 0; r < c->size && (root < 0 || root == c->rank); r++)
            for (size_t i = 0; i < counts[r]; i++, at++)
                conform(all[at] == conform_value(r, i) + 100 * r, "root %d: %d of rank %d", root,
                        all[at], r);
        if (root < 0)
            continue;
        conform_ok(data_group_scatter(c->world, all, counts, back, mine, DATA_INT, root));
        conform(memcmp(back, in, mine * sizeof *in) == 0, "root %d: scatter gives others back",
                root);
    }
}

/* Rank a sends b (a + 2 b) % 4 values. */
static void conform_all_to_all(const struct channel_case *c)
{
    enum { ROOM = 4 * CONFORM_RANKS_MAX };
    size_t out_counts[CONFORM_RANKS_MAX], in_counts[CONFORM_RANKS_MAX], at = 0;
    float out[ROOM], in[ROOM] = {0};
    for (int r = 0; r < c->size; r++) {
        out_counts[r] = (size_t)(c->rank + 2 * r) % 4;
        in_counts[r] = (size_t)(r + 2 * c->rank) % 4;
        for (size_t i = 0; i < out_counts[r]; i++)
            out[at++] = (float)(c->rank * 100 + r * 10 + (int)i);
    }
    conform_ok(data_group_all_to_all(c->world, out, out_counts, in, in_counts, DATA_FLOAT));
    at = 0;
    for (int r = 0; r < c->size; r++)
        for (size_t i = 0; i < in_counts[r]; i++, at++)
            conform(in[at] == (float)(r * 100 + c->rank * 10 + (int)i), "%g from rank %d",
                    (double)in[at], r);
    conform_ok(data_group_barrier(c->world));
}

/* ---- groups ---- */

static void conform_groups(const struct channel_case *c)
{
    int reversed[CONFORM_RANKS_MAX], even[CONFORM_RANKS_MAX], evens = 0;
    for (int i = 0; i < c->size; i++)
        reversed[i] = c->size - 1 - i;
    for (int i = 0; i < c->size; i += 2)
        even[evens++] = i;
    struct data_group *back, *half, *same;
    conform_ok(data_group_new(c->world, c->size, reversed, &back));
    conform(back && data_group_rank(back) == c->size - 1 - c->rank, "reversed");
    /* even ranks of the reversed group */
    conform_ok(data_group_new(back, evens, even, &half));
    int within = c->size - 1 - c->rank;
    conform((within % 2 == 0) == (half != NULL), "member or not");
    if (half) {
        int64_t sum = 0, mine = c->rank, expected = 0;
        for (int i = 0; i < evens; i++)
            expected += c->size - 1 - even[i];
        conform(data_group_rank(half) == within / 2 && data_group_size(half) == evens, "rank %d",
                data_group_rank(half));
        conform_ok(data_group_all_reduce(half, &mine, &sum, 1, DATA_LONG, DATA_SUM));
        conform(sum == expected, "%lld", (long long)sum);
        data_group_free(half);
    }
    /* Two groups of the same ranks, messages with one tag: each stays in its own. */
    conform_ok(data_group_new(c->world, c->size, reversed, &same));
    int right = (c->rank + 1) % c->size, left = (c->rank + c->size - 1) % c->size;
    int first = c->rank, second = 1000 + c->rank, got_first = 0, got_second = 0;
    struct data_request *requests[2];
    conform_ok(data_group_isend(back, &first, 1, DATA_INT, c->size - 1 - right, 6, &requests[0]));
    conform_ok(data_group_isend(same, &second, 1, DATA_INT, c->size - 1 - right, 6, &requests[1]));
    conform_ok(data_group_receive(same, &got_second, 1, DATA_INT, c->size - 1 - left, 6, NULL));
    conform_ok(data_group_receive(back, &got_first, 1, DATA_INT, DATA_ANY, 6, NULL));
    conform_ok(data_request_wait(requests[0], NULL));
    conform_ok(data_request_wait(requests[1], NULL));
    conform(got_first == left && got_second == 1000 + left, "%d and %d", got_first, got_second);
    data_group_free(same);
    data_group_free(back);
}

/* ---- errors ---- */

/* Wrong arguments are refused on the spot, and the channel goes on. */
static void conform_errors(const struct channel_case *c)
{
    double in[4] = {1, 2, 3, 4}, out[4] = {0};
    size_t counts[CONFORM_RANKS_MAX] = {0};
    int twice[2] = {0, 0}, beyond = c->size;
    struct data_group *group, *w = c->world;
    struct data_request *request;
    char beyond_text[64];
    snprintf(beyond_text, sizeof beyond_text, "%d is not one of the group's ranks 0..%d", c->size,
             c->size - 1);
    conform_refused(data_group_send(w, in, 1, DATA_DOUBLE, c->size, 0), beyond_text);
    conform_refused(data_group_send(w, in, 1, DATA_DOUBLE, DATA_ANY, 0), "send: the destination");
    conform_refused(data_group_receive(w, out, 1, DATA_DOUBLE, c->size, 0, NULL), beyond_text);
    conform_refused(data_group_isend(w, in, 1, DATA_DOUBLE, -7, 0, &request), "isend: the dest");
    conform_refused(data_group_irecv(w, out, 1, DATA_DOUBLE, 0, -1, &request), "the tag -1");
    conform_refused(data_group_send(w, in, 1, (enum data_type)99, 0, 0), "no type 99");
    conform_refused(data_group_broadcast(w, out, 1, DATA_DOUBLE, c->size), "broadcast: the root");
    conform_refused(data_group_reduce(w, in, out, 1, DATA_BYTE, DATA_SUM, 0),
                    "no sum of byte values");
    conform_refused(data_group_all_reduce(w, in, out, 1, DATA_COMPLEX_DOUBLE, DATA_MIN),
                    "no min of complex double values");
    conform_refused(data_group_all_reduce(w, in, out, 1, DATA_INT, DATA_AVERAGE),
                    "no average of int values");
    conform_refused(data_group_all_gather(w, in, out, NULL, DATA_DOUBLE), "counts are missing");
    conform_refused(data_group_all_gather(w, in, out, (const size_t[]){(size_t)-1, 1}, DATA_BYTE),
                    "more than memory holds");
    counts[c->rank] = 1;
    conform_refused(data_group_all_to_all(w, in, counts, out, (const size_t[CONFORM_RANKS_MAX]){0},
                                          DATA_DOUBLE),
                    "gives itself 1 values and expects 0");
    conform_refused(data_group_new(w, 0, twice, &group), "make no group");
    conform_refused(data_group_new(w, 2, twice, &group), "named twice");
    conform_refused(data_group_new(w, 1, &beyond, &group), "there is no rank");
    conform(group == NULL, "a group all the same");
    double sum = 0, one = 1;
    conform_ok(data_group_all_reduce(w, &one, &sum, 1, DATA_DOUBLE, DATA_SUM));
    conform(sum == c->size, "%g", sum);
}

static const struct channel_question {
    const char *name;
    void (*ask)(const struct channel_case *c);
    bool heavy; /* moves megabytes */
} channel_questions[] = {
    {"messages go round a ring and tell where they are from", conform_ring, false},
    {"tags choose, and messages of one tag keep their order", conform_tags, false},
    {"a receive from any source gets one message of each", conform_any_source, false},
    {"requests complete in any order, and by testing", conform_requests, false},
    {"probe and look tell the size of what comes", conform_probe, false},
    {"messages and sums of megabytes pass both ways at once", conform_large, true},
    {"everything may be empty", conform_nothing, false},
    {"a broadcast reaches everybody from every root", conform_broadcast, false},
    {"reductions with every operator and type are the serial ones", conform_reductions, true},
    {"reduce-scatter gives parts of different lengths", conform_reduce_scatter, false},
    {"gathers and scatters take parts of different lengths", conform_gathers, false},
    {"all-to-all takes splits of different lengths", conform_all_to_all, false},
    {"groups renumber their ranks and keep their traffic apart", conform_groups, false},
    {"wrong arguments are refused by name and spoil nothing", conform_errors, false},
};
enum { CHANNEL_QUESTIONS = sizeof channel_questions / sizeof *channel_questions };

static inline void channel_ask(const struct channel_question *question,
                               struct data_channel *channel, struct channel_report *report)
{
    struct data_group *world = data_channel_world(channel);
    struct channel_case c = {channel, world, data_group_rank(world), data_group_size(world),
                             report};
    question->ask(&c);
}

#endif
