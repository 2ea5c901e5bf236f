/* What the tests of file formats share: random traces, comparison of all tables, reading from a
 * text. */
#ifndef TESTS_FORMATS_FORMAT_SAMPLES_H
#define TESTS_FORMATS_FORMAT_SAMPLES_H

#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/formats/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline struct trace *sample_read(const char *name, const char *text, struct failure *failure)
{
    *failure = (struct failure){0};
    return format_read_memory(name, text, strlen(text), failure);
}

/* The whole refusal: code 3, the sentence, and nothing returned. */
static inline bool sample_refused(const char *name, const void *data, size_t size,
                                  const char *expected)
{
    struct failure failure = {0};
    struct trace *trace = format_read_memory(name, data, size, &failure);
    bool refused = tap_is_str(failure.text, expected, "refused: %s", expected);
    if (trace || failure.code != FAILURE_INPUT)
        tap_ok(false, "nothing is returned and the code is 3: %s", expected);
    trace_free(trace);
    return refused;
}

/* With findings, or NULL; free it. NULL: it cannot be written. */
static inline char *sample_told(const struct trace *trace, const struct findings *findings,
                                const char *format, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    struct failure failure = {0};
    if (!format_write(trace, findings, format, out, &failure)) {
        fclose(out);
        free(text);
        tap_note("%s", failure.text);
        return NULL;
    }
    fclose(out);
    return text;
}

static inline char *sample_write(const struct trace *trace, const char *format, size_t *size)
{
    return sample_told(trace, NULL, format, size);
}

/* How often a text holds some words. */
static inline int sample_count(const char *text, const char *words)
{
    int count = 0;
    for (const char *at = text; at && (at = strstr(at, words)); at++)
        count++;
    return count;
}

static inline uint32_t sample_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(dice_next(state) % limit);
}

static inline bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static inline bool same_double(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static inline bool same_numbers(const int64_t *a, const int64_t *b, size_t n)
{
    return (!a && !b) || (a && b && memcmp(a, b, n * sizeof *a) == 0);
}

/* struct trace_plain_op has no padding that matters: compared field by field all the same. */
static inline bool same_whole_op(const struct trace_whole_op *left,
                                 const struct trace_whole_op *right)
{
    const struct trace_plain_op *a = &left->op, *b = &right->op;
    return a->rank == b->rank && a->seq == b->seq && a->kind == b->kind && a->state == b->state &&
           a->flags == b->flags && a->pass == b->pass && a->comm == b->comm &&
           a->comm_seq == b->comm_seq && a->peer == b->peer && a->tag == b->tag &&
           a->peer_matched == b->peer_matched && a->tag_matched == b->tag_matched &&
           a->count == b->count && a->count_matched == b->count_matched && a->type == b->type &&
           a->signature == b->signature && a->reduce_op == b->reduce_op &&
           a->request == b->request && a->batch == b->batch && a->thread == b->thread &&
           a->node == b->node && a->adjoint_of == b->adjoint_of && a->match == b->match &&
           a->site == b->site && a->error == b->error && a->identity == b->identity &&
           a->begin == b->begin && a->end == b->end &&
           left->times.begin_ns == right->times.begin_ns &&
           left->times.end_ns == right->times.end_ns && left->at.buffer == right->at.buffer &&
           left->at.extent == right->at.extent;
}

static inline bool same_op(const struct trace *a, const struct trace *b, size_t index)
{
    struct trace_whole_op left, right;
    trace_whole_op(a, (uint32_t)index, &left);
    trace_whole_op(b, (uint32_t)index, &right);
    return same_whole_op(&left, &right);
}

static inline bool same_node(const struct trace_node *a, const struct trace_node *b)
{
    return a->rank == b->rank && a->id == b->id && a->pass == b->pass && a->kind == b->kind &&
           a->state == b->state && a->forward == b->forward && a->site == b->site &&
           a->name == b->name && a->begin == b->begin && a->end == b->end;
}

static inline const char *different_small_tables(const struct trace *a, const struct trace *b)
{
    for (size_t i = 0; i < a->comm_count; i++) {
        const struct trace_comm *x = &a->comms[i], *y = &b->comms[i];
        if (x->id != y->id || x->size != y->size || x->parent != y->parent ||
            x->adjoint_of != y->adjoint_of || strcmp(x->name, y->name) != 0 ||
            !x->members != !y->members ||
            (x->members && x->size &&
             memcmp(x->members, y->members, x->size * sizeof *x->members) != 0))
            return "comms";
    }
    for (size_t i = 0; i < a->site_count; i++)
        if (!same_text(a->sites[i].file, b->sites[i].file) ||
            a->sites[i].line != b->sites[i].line ||
            !same_text(a->sites[i].function, b->sites[i].function))
            return "sites";
    for (size_t i = 0; i < a->string_count; i++)
        if (!same_text(a->strings[i], b->strings[i]))
            return "strings";
    for (size_t i = 0; i < a->note_count; i++) {
        const struct trace_note *x = &a->notes[i], *y = &b->notes[i];
        if (!same_text(x->code, y->code) || x->rank != y->rank || x->op != y->op ||
            x->node != y->node || x->site != y->site || !same_text(x->text, y->text))
            return "notes";
    }
    for (size_t i = 0; i < a->gradient_count; i++) {
        const struct trace_gradient *x = &a->gradients[i], *y = &b->gradients[i];
        if (x->rank != y->rank || x->variable != y->variable || x->index != y->index ||
            !same_text(x->method, y->method) || !same_double(x->step, y->step) ||
            !same_double(x->analytic, y->analytic) || !same_double(x->numeric, y->numeric) ||
            !same_double(x->error, y->error) || !same_double(x->tolerance, y->tolerance) ||
            !same_double(x->relative, y->relative) || x->ok != y->ok ||
            !same_text(x->undecided ? x->undecided : "", y->undecided ? y->undecided : "") ||
            (x->elements > 1 ? x->elements : 1) != (y->elements > 1 ? y->elements : 1))
            return "gradients";
    }
    for (size_t i = 0; i < a->metric_count; i++)
        if (a->metrics[i].name != b->metrics[i].name || a->metrics[i].unit != b->metrics[i].unit ||
            a->metrics[i].rank != b->metrics[i].rank ||
            !same_double(a->metrics[i].step, b->metrics[i].step) ||
            !same_double(a->metrics[i].value, b->metrics[i].value))
            return "metrics";
    for (uint32_t i = 0; i < a->ranks; i++) {
        const struct trace_rank *x = &a->rank_info[i], *y = &b->rank_info[i];
        if (x->state != y->state || x->exit_code != y->exit_code || x->site != y->site ||
            x->finalized != y->finalized || x->bytes_sent != y->bytes_sent ||
            x->messages_sent != y->messages_sent || x->hash != y->hash)
            return "ranks";
    }
    return NULL;
}

/* The name of the first table that differs, NULL when all are equal. */
static inline const char *sample_difference(const struct trace *a, const struct trace *b)
{
    if (a->ranks != b->ranks || a->outcome != b->outcome || a->seed != b->seed ||
        strcmp(a->program, b->program) != 0 || strcmp(a->model, b->model) != 0 ||
        !same_double(a->objective, b->objective))
        return "header";
    if (a->op_count != b->op_count || a->wait_count != b->wait_count ||
        a->counts_count != b->counts_count || a->node_count != b->node_count ||
        a->edge_count != b->edge_count || a->pass_count != b->pass_count ||
        a->comm_count != b->comm_count || a->site_count != b->site_count ||
        a->string_count != b->string_count || a->note_count != b->note_count ||
        a->gradient_count != b->gradient_count || a->metric_count != b->metric_count)
        return "number of rows";
    for (size_t i = 0; i < a->op_count; i++)
        if (!same_op(a, b, i))
            return "ops";
    for (size_t i = 0; i < a->wait_count; i++)
        if (a->waits[i].wait != b->waits[i].wait || a->waits[i].start != b->waits[i].start ||
            a->waits[i].completed != b->waits[i].completed)
            return "waits";
    for (size_t i = 0; i < a->counts_count; i++)
        if (a->counts[i].op != b->counts[i].op || a->counts[i].n != b->counts[i].n ||
            !same_numbers(a->counts[i].send, b->counts[i].send, a->counts[i].n) ||
            !same_numbers(a->counts[i].receive, b->counts[i].receive, a->counts[i].n))
            return "counts";
    for (size_t i = 0; i < a->node_count; i++)
        if (!same_node(&a->nodes[i], &b->nodes[i]))
            return "nodes";
    for (size_t i = 0; i < a->edge_count; i++)
        if (a->edges[i].from != b->edges[i].from || a->edges[i].to != b->edges[i].to ||
            a->edges[i].type != b->edges[i].type)
            return "edges";
    for (size_t i = 0; i < a->pass_count; i++) {
        const struct trace_pass *x = &a->passes[i], *y = &b->passes[i];
        if (x->rank != y->rank || x->pass != y->pass || x->mode != y->mode ||
            x->first_op != y->first_op || x->op_end != y->op_end || x->complete != y->complete)
            return "passes";
    }
    return different_small_tables(a, b);
}

#endif
