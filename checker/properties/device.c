/* D002 of a run whose operations are issued to the streams of a device, one for each communicator or
 * one for all, where that is declared (replay/device.h): in the order seen. A hang that is told of
 * other models already is not told again; they get one model more. */
#include "checker/replay/device.h"

#include "checker/places.h"
#include "checker/properties.h"

#include <stdio.h>
#include <string.h>

static enum device_streams streams_of(const struct check_context *context)
{
    return context->options->streams ? context->options->streams
                                     : check_streams_named(context->trace->model);
}

static bool names(const struct finding *finding, const struct device_hang *hang)
{
    for (size_t i = 0; i < finding->op_count; i++)
        for (size_t k = 0; k < hang->count; k++)
            if (strcmp(finding->ops[i].role, "core") == 0 &&
                finding->ops[i].op == hang->steps[k].stands)
                return true;
    return false;
}

static bool is_told(struct findings *findings, const struct device_hang *hang, const char *model)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        size_t used = strlen(finding->models);
        if (finding->code[0] != 'D' || !names(finding, hang))
            continue;
        snprintf(finding->models + used, sizeof finding->models - used, "%s%s", used ? " " : "",
                 model);
        return true;
    }
    return false;
}

static void name_step(struct finding *finding, const struct trace *trace,
                      const struct device_step *step)
{
    char stands[PLACE_TEXT], lacks[PLACE_TEXT], before[PLACE_TEXT];
    check_place(trace, step->stands, stands, sizeof stands);
    if (step->lacks == TRACE_NO) {
        finding_detail(finding, "%s has begun; nobody has its partner.\n", stands);
        return;
    }
    check_place(trace, step->lacks, lacks, sizeof lacks);
    if (step->before == TRACE_NO || step->before == step->lacks)
        finding_detail(finding, "%s has begun and waits for %s.\n", stands, lacks);
    else
        finding_detail(finding, "%s has begun and waits for %s, which stands behind %s.\n", stands,
                       lacks, check_place(trace, step->before, before, sizeof before));
}

static void report(const struct check_context *context, const struct check_plan *plan,
                   enum device_streams streams, const struct device_hang *hang,
                   struct findings *findings)
{
    const struct trace *trace = context->trace;
    char places[PLACE_TEXT] = "";
    struct device_hang other;
    for (size_t i = 0; i < hang->count; i++)
        check_add_place(trace, hang->steps[i].stands, places, sizeof places);
    struct finding *finding = findings_add(
        findings, "D002",
        streams == STREAMS_DEVICE ? "hangs where a device runs all in the order of issue: %s"
                                  : "hangs where each communicator has a stream: %s",
        places);
    for (size_t i = 0; i < hang->count; i++) {
        if (i < PLACES_LISTED_MAX)
            name_step(finding, trace, &hang->steps[i]);
        finding_op_add(finding, hang->steps[i].stands, "core");
    }
    for (size_t i = 0; i < hang->count; i++)
        if (hang->steps[i].lacks != TRACE_NO)
            finding_op_add(finding, hang->steps[i].lacks, "partner");
    check_device_run(plan, STREAMS_COMMUNICATOR, &other);
    if (streams == STREAMS_DEVICE && !other.count)
        finding_detail(finding, "With a stream for each communicator it ends.\n");
    check_device_release(&other);
    snprintf(finding->models, sizeof finding->models, "%s", check_streams_name(streams));
    finding_seal(finding, trace);
}

static bool has_threads(const struct trace *trace)
{
    for (size_t op = 0; op < trace->op_count; op++)
        if (trace->ops[op].form->thread)
            return true;
    return false;
}

void check_device(const struct check_context *context, struct findings *findings)
{
    enum device_streams streams = streams_of(context);
    struct check_plan plan;
    struct device_hang hang;
    if (!streams || context->cut_short)
        return;
    check_plan_init(&plan, context, &(struct plan_options){.lost_wait = true});
    check_device_run(&plan, streams, &hang);
    if (hang.count && !is_told(findings, &hang, check_streams_name(streams)))
        report(context, &plan, streams, &hang, findings);
    check_device_release(&hang);
    check_plan_release(&plan);
    if (context->has_data_passes)
        trace_gap(context->trace, "device", 1,
                  "other orders of a backward pass on the streams of a device");
    if (context->has_wildcards)
        trace_gap(context->trace, "device", 1, "other matches on the streams of a device");
    if (has_threads(context->trace))
        trace_gap(context->trace, "device", 1,
                  "other orders in which threads issue to the streams of a device");
}
