/* S003: copies of a parameter that must be equal on all ranks after every step are not.
 *
 * Every rank notes a hash of its copy after each step ("replica/SERVER/PARAMETER"); the k-th notes
 * of all ranks belong together. The first step that differs is reported for each parameter; the
 * ranks to blame are those that are not with the most. */
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"
#include "traces/base/identity.h"

#include <stdlib.h>
#include <string.h>

static const char prefix[] = "replica/";

struct copy {
    uint32_t name;
    uint32_t rank, step;
    double hash;
};

static int copy_order(const void *a, const void *b)
{
    const struct copy *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int owner_order(const void *a, const void *b)
{
    const struct copy *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* All copies, by parameter, step and rank. */
static struct copy *copies_read(const struct trace *trace, size_t *count)
{
    struct copy *copies = check_new(trace->metric_count, sizeof *copies);
    *count = 0;
    for (size_t i = 0; i < trace->metric_count; i++) {
        const struct trace_metric *metric = &trace->metrics[i];
        const char *name = trace_string(trace, metric->name);
        if (metric->rank >= 0 && strncmp(name, prefix, sizeof prefix - 1) == 0)
            copies[(*count)++] = (struct copy){.name = metric->name,
                                               .rank = (uint32_t)metric->rank,
                                               .step = (uint32_t)i, /* in time, so far */
                                               .hash = metric->value};
    }
    qsort(copies, *count, sizeof *copies, owner_order);
    copies->step = 0;
    for (size_t i = 1; i < *count; i++) {
        bool same = copies[i].name == copies[i - 1].name && copies[i].rank == copies[i - 1].rank;
        copies[i].step = same ? copies[i - 1].step + 1 : 0;
    }
    qsort(copies, *count, sizeof *copies, copy_order);
    return copies;
}

/* The last operation that moved this parameter's gradient in that step, TRACE_NO where the rank's
 * operations are not the same number in every step. */
static uint32_t operation_of(const struct trace *trace, const struct copy *copy, uint32_t steps)
{
    const char *name = strrchr(trace_string(trace, copy->name), '/') + 1;
    uint32_t identity = trace_identity(name, strlen(name)), count = 0, seen = 0;
    size_t begin = trace->rank_begin[copy->rank], end = trace->rank_begin[copy->rank + 1];
    for (size_t i = begin; i < end; i++)
        count += trace->ops[i].form->identity == identity;
    if (!steps || !count || count % steps != 0)
        return TRACE_NO;
    for (size_t i = begin; i < end; i++)
        if (trace->ops[i].form->identity == identity &&
            ++seen == (copy->step + 1) * (count / steps))
            return (uint32_t)i;
    return TRACE_NO;
}

static double most_common(const struct copy *copies, size_t count)
{
    double best = copies->hash;
    size_t best_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t alike = 0;
        for (size_t k = 0; k < count; k++)
            alike += copies[k].hash == copies[i].hash;
        if (alike > best_count) {
            best = copies[i].hash;
            best_count = alike;
        }
    }
    return best;
}

/* `count` copies of one parameter after one step. */
static void report(const struct trace *trace, const struct copy *copies, size_t count,
                   uint32_t steps, struct findings *findings)
{
    double right = most_common(copies, count);
    const char *name = trace_string(trace, copies->name) + sizeof prefix - 1;
    struct finding *finding = findings_add(findings, "S003", "the replicas of %s differ", name);
    unsigned wrong = 0, partners = 0;
    char place[PLACE_TEXT];
    finding->confirmation = CONFIRM_HAPPENED;
    for (size_t i = 0; i < count; i++)
        wrong += copies[i].hash != right;
    finding_detail(finding, "First after step %u: %u of %zu ranks have other values than most.\n",
                   copies->step + 1, wrong, count);
    for (size_t i = 0; i < count && finding->op_count < PLACES_LISTED_MAX; i++) {
        bool culprit = copies[i].hash != right;
        uint32_t op = operation_of(trace, &copies[i], steps);
        if (!culprit && partners++)
            continue;
        if (op == TRACE_NO) {
            finding_detail(finding, "Rank %u %s.\n", copies[i].rank,
                           culprit ? "differs" : "is with the most");
            continue;
        }
        finding_detail(finding, "Rank %u %s; its gradients came by %s.\n", copies[i].rank,
                       culprit ? "differs" : "is with the most",
                       check_place(trace, op, place, sizeof place));
        finding_op_add(finding, op, culprit ? "culprit" : "partner");
    }
    finding_seal(finding, trace);
}

static bool differ(const struct copy *copies, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (copies[i].hash != copies->hash)
            return true;
    return false;
}

void check_replicas(const struct check_context *context, struct findings *findings)
{
    size_t count, next;
    struct copy *copies = copies_read(context->trace, &count);
    uint32_t reported = TRACE_NO;
    for (size_t i = 0; i < count; i = next) {
        for (next = i; next < count && copies[next].name == copies[i].name &&
                       copies[next].step == copies[i].step;)
            next++;
        if (copies[i].name == reported || !differ(copies + i, next - i))
            continue;
        size_t last = next;
        while (last < count && copies[last].name == copies[i].name)
            last++;
        report(context->trace, copies + i, next - i, copies[last - 1].step + 1, findings);
        reported = copies[i].name;
    }
    free(copies);
}
