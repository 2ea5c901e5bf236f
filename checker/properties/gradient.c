/* G001 and G006: gradients that finite differences or another oracle contradict. One finding per
 * variable, with its worst element. */
#include "checker/memory.h"
#include "checker/properties.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How wrong a row is: error over tolerance; what is no number is worse than any number. */
static double badness(const struct trace_gradient *row)
{
    double ratio = row->tolerance > 0 ? row->error / row->tolerance : row->error;
    return isnan(ratio) ? INFINITY : ratio;
}

/* Who contradicts the backward pass. */
static const char *oracle_of(const char *method)
{
    static const struct {
        const char *method, *text;
    } oracles[] = {
        {"central", "central differences say"}, {"one-sided", "one-sided differences say"},
        {"complex", "the complex step says"},   {"dot", "the adjoint identity wants"},
        {"tangent", "forward mode says"},       {"value", "the right value is"}};
    for (size_t i = 0; i < sizeof oracles / sizeof *oracles; i++)
        if (strcmp(method, oracles[i].method) == 0)
            return oracles[i].text;
    return "the check says";
}

/* Such a finding names no operation: the variable's name tells it from the others. */
static void sign(struct finding *finding, const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (unsigned char)finding->code[3];
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    snprintf(finding->fingerprint, sizeof finding->fingerprint, "%016llx",
             (unsigned long long)hash);
}

/* Somebody has already said that there is no such number, and why. */
static bool noted(const struct trace *trace)
{
    for (size_t i = 0; i < trace->note_count; i++)
        if (strcmp(trace->notes[i].code, "G006") == 0)
            return true;
    return false;
}

static void report_variable(const struct trace *trace, size_t first, struct findings *findings,
                            bool *reported)
{
    const struct trace_gradient *worst = NULL;
    size_t wrong = 0, all = 0;
    bool finite = true;
    for (size_t i = 0; i < trace->gradient_count; i++) {
        const struct trace_gradient *row = &trace->gradients[i];
        if (row->variable != trace->gradients[first].variable)
            continue;
        reported[i] = true;
        all++;
        if (!trace_gradient_wrong(row))
            continue;
        wrong++;
        finite = finite && isfinite(row->analytic);
        if (!worst || badness(row) > badness(worst))
            worst = row;
    }
    if (!worst)
        return;
    const char *name = trace_string(trace, worst->variable);
    bool direction = strncmp(name, "direction", 9) == 0; /* asked of index -1 alone */
    struct finding *finding =
        findings_add(findings, finite || noted(trace) ? "G001" : "G006", "the gradient %s %s%s",
                     worst->index >= 0 ? "of"
                     : direction       ? "along"
                                       : "contradicts",
                     name,
                     worst->index < 0 && !direction ? ""
                     : finite                       ? " is wrong"
                                                    : " is not finite");
    finding_detail(finding, "Worst: rank %u, ", worst->rank);
    if (worst->index >= 0)
        finding_detail(finding, "%s[%lld]", name, (long long)worst->index);
    else
        finding_detail(finding, direction ? "along %s" : "%s", name);
    finding_detail(
        finding, ": the backward pass says %.17g, %s %.17g (error %.3g, tolerance %.3g).\n",
        worst->analytic, oracle_of(worst->method), worst->numeric, worst->error, worst->tolerance);
    finding_detail(finding,
                   "%zu of %zu checks of %s fail. The objective is the sum over ranks of the local "
                   "objectives.\n",
                   wrong, all, name);
    finding->confirmation = CONFIRM_HAPPENED;
    finding->summary = true;
    finding_seal(finding, trace);
    sign(finding, name);
}

void check_gradient(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    bool *reported = check_new(trace->gradient_count, sizeof *reported);
    for (size_t i = 0; i < trace->gradient_count; i++)
        if (!reported[i] && trace_gradient_wrong(&trace->gradients[i]))
            report_variable(trace, i, findings, reported);
    free(reported);
}
