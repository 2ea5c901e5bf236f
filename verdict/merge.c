/* One verdict of several runs: see merge.h. */
#include "verdict/merge.h"

#include "checker/options.h"

#include <stdlib.h>
#include <string.h>

static bool is_danger(const char *code)
{
    return !strcmp(code, "D002") || !strcmp(code, "D003") || !strcmp(code, "D004");
}

/* Collectives of a rank's threads on one communicator: they meet others in one run, and are seen
 * side by side in another. */
static bool is_order(const char *code)
{
    return !strcmp(code, "M001") || !strcmp(code, "M006");
}

/* The code in the first run, which ended. */
static const char *code_here(const struct finding *finding, const struct merge_origin *origin)
{
    if (strcmp(finding->code, "D001") != 0)
        return finding->code;
    if (origin->explored || !strcmp(origin->model, origin->base))
        return "D002";
    return !strcmp(origin->model, "batch") ? "D004" : "D003";
}

static bool same_site(const struct trace *a, uint32_t site, const struct trace *b, uint32_t other)
{
    return trace_site_known(a, site) && trace_site_known(b, other) &&
           a->sites[site].line == b->sites[other].line &&
           !strcmp(a->sites[site].file, b->sites[other].file);
}

static uint32_t place_site(const struct trace *trace, const struct finding_op *place)
{
    if (place->op < trace->op_count)
        return trace->ops[place->op].form->site;
    return place->node < trace->node_count ? trace->nodes[place->node].site : TRACE_NO;
}

/* They name the same line of the program. */
static bool share_site(const struct finding *a, const struct trace *trace, const struct finding *b,
                       const struct trace *other)
{
    if (same_site(trace, a->site, other, b->site))
        return true;
    for (size_t i = 0; i < a->op_count; i++)
        for (size_t j = 0; j < b->op_count; j++)
            if (same_site(trace, place_site(trace, &a->ops[i]), other,
                          place_site(other, &b->ops[j])))
                return true;
    return false;
}

static bool has_place(const struct finding *finding)
{
    return finding->site != TRACE_NO || finding->op_count;
}

static bool same_defect(const struct finding *known, const struct trace *trace, const char *code,
                        const struct finding *finding, const struct trace *other)
{
    bool dangers = is_danger(code) && is_danger(known->code);
    bool orders = is_order(code) && is_order(known->code);
    if (strcmp(known->code, code) != 0 && !dangers && !orders)
        return false;
    if (!strcmp(known->fingerprint, finding->fingerprint) ||
        (!has_place(known) && !has_place(finding)))
        return true;
    return share_site(known, trace, finding, other);
}

/* The names in their usual order. */
static void add_models(struct finding *finding, const char *models)
{
    static const char *const names[] = {"eager", "rendezvous", "batch", "streams", "device", NULL};
    char known[sizeof finding->models];
    size_t used = 0;
    memcpy(known, finding->models, sizeof known);
    finding->models[0] = 0;
    for (size_t i = 0; names[i]; i++)
        if ((strstr(known, names[i]) || strstr(models, names[i])) && used < sizeof known)
            used += (size_t)snprintf(finding->models + used, sizeof known - used, "%s%s",
                                     used ? " " : "", names[i]);
}

/* The operation of the first run that corresponds: the same call of the same rank. */
static uint32_t op_here(const struct trace *trace, const struct trace *other, uint32_t index)
{
    const struct trace_op *op = index < other->op_count ? &other->ops[index] : NULL;
    if (!op || op->rank >= trace->ranks)
        return TRACE_NO;
    uint32_t here = trace_op_by_number(trace, op->rank, trace_op_number(other, index));
    return here != TRACE_NO && trace->ops[here].kind == op->kind &&
                   same_site(trace, trace->ops[here].form->site, other, op->form->site)
               ? here
               : TRACE_NO;
}

static uint32_t site_here(struct trace *trace, const struct trace *other, uint32_t site)
{
    if (!trace_site_known(other, site))
        return TRACE_NO;
    const struct trace_site *at = &other->sites[site];
    return trace_add_site(trace, at->file, at->line, at->function);
}

/* It hung there; else that run has only shown once more that some other may. */
static bool is_seen(const struct finding *finding)
{
    return !is_danger(finding->code) || finding->confirmation != CONFIRM_ABSTRACT;
}

static void add(struct findings *into, struct trace *trace, const struct finding *finding,
                const struct trace *other, const char *code, const struct merge_origin *origin)
{
    struct finding *copy = findings_add(into, code, "%s", finding->title);
    finding_detail(copy, "%s%sIn a run %s.\n", finding->detail,
                   finding->detail[0] && finding->detail[strlen(finding->detail) - 1] != '\n' ? "\n"
                                                                                              : "",
                   origin->how);
    if (origin->replay)
        finding_repeated_by(copy, origin->replay);
    copy->site = site_here(trace, other, finding->site);
    copy->severity = finding->severity;
    copy->confirmation = is_seen(finding) ? CONFIRM_REAL : CONFIRM_ABSTRACT;
    for (size_t i = 0; i < finding->op_count; i++) {
        uint32_t op = op_here(trace, other, finding->ops[i].op);
        if (op != TRACE_NO)
            finding_op_add(copy, op, finding->ops[i].role);
    }
    add_models(copy, is_seen(finding) ? origin->model : finding->models);
    finding_seal(copy, trace);
}

void merge_findings(struct findings *into, struct trace *trace, const struct findings *from,
                    const struct trace *other, const struct merge_origin *origin)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct finding *finding = &from->items[i];
        const char *code = code_here(finding, origin);
        bool known = false;
        if (finding->severity == SEVERITY_NOTE || check_streams_named(finding->models))
            continue; /* on streams of a device one order is judged, that of the first run */
        for (size_t k = 0; k < into->count + into->folded; k++) {
            struct finding *here = &into->items[k];
            if (!same_defect(here, trace, code, finding, other))
                continue;
            if (known && strcmp(here->code, code) != 0)
                continue; /* its likes are met in that model, too; another danger is one of its own */
            known = true;
            if (!here->models[0] && here->confirmation == CONFIRM_HAPPENED)
                add_models(here, origin->base);
            if (!is_seen(finding)) {
                add_models(here, finding->models);
                continue;
            }
            add_models(here, origin->model);
            if (is_danger(here->code))
                here->confirmation = CONFIRM_REAL;
        }
        if (!known)
            add(into, trace, finding, other, code, origin);
    }
}
