/* A run as one JSON object on one line; described in simrun(1). */
#include "cli/running/first_failure.h"
#include "cli/telling/result.h"
#include "traces/input/write.h"
#include "traces/trace/names.h"

#include <inttypes.h>
#include <string.h>

static const char *const confirmations[] = {"none", "happened", "abstract", "real", "refuted"};

static void field(FILE *out, const char *key, const char *text)
{
    fprintf(out, ",\"%s\":", key);
    if (text)
        json_write_text(out, text);
    else
        fputs("null", out);
}

static void number(FILE *out, const char *key, double value)
{
    fprintf(out, ",\"%s\":", key);
    json_write_double(out, value);
}

static void write_site(FILE *out, const struct trace *trace, uint32_t site)
{
    if (!trace || !trace_site_known(trace, site))
        return;
    field(out, "file", trace->sites[site].file);
    if (trace->sites[site].line > 0)
        fprintf(out, ",\"line\":%d", trace->sites[site].line);
}

static void write_place(FILE *out, const struct trace *trace, const struct finding_op *place)
{
    char text[160];
    fputs("{\"role\":", out);
    json_write_text(out, place->role);
    if (place->op != TRACE_NO) {
        const struct trace_op *op = &trace->ops[place->op];
        fprintf(out, ",\"rank\":%u,\"seq\":%" PRIu64, op->rank, trace_op_number(trace, place->op));
        if (trace_op_iteration(trace, place->op))
            fprintf(out, ",\"iteration\":%" PRIu64, trace_op_iteration(trace, place->op));
        field(out, "operation", trace_op_text(trace, place->op, text, sizeof text));
        write_site(out, trace, op->form->site);
    } else if (place->node != TRACE_NO) {
        const struct trace_node *node = &trace->nodes[place->node];
        fprintf(out, ",\"rank\":%u,\"node\":%u", node->rank, node->id);
        field(out, "operation", trace_string(trace, node->name));
        write_site(out, trace, node->site);
    }
    putc('}', out);
}

/* What was folded under a root. */
static void write_consequences(FILE *out, const struct findings *findings, size_t root)
{
    bool first = true;
    fputs(",\"consequences\":[", out);
    for (size_t i = findings->count; i < findings->count + findings->folded; i++) {
        const struct finding *finding = &findings->items[i];
        if (strcmp(finding->root, findings->items[root].fingerprint) != 0)
            continue;
        fputs(first ? "{\"code\":" : ",{\"code\":", out);
        json_write_text(out, finding->code);
        field(out, "severity", severity_name(finding->severity));
        field(out, "title", finding->title);
        field(out, "fingerprint", finding->fingerprint);
        putc('}', out);
        first = false;
    }
    putc(']', out);
}

static void write_finding(FILE *out, const struct result *result, size_t index)
{
    const struct finding *finding = &result->verdict.findings.items[index];
    const struct trace *trace = result->verdict.result.trace;
    const struct finding_code *code = finding_code(finding->code);
    char command[RESULT_COMMAND + 700];
    fputs("{\"code\":", out);
    json_write_text(out, finding->code);
    field(out, "name", code ? code->name : "");
    field(out, "severity", severity_name(finding->severity));
    field(out, "title", finding->title);
    field(out, "detail", finding->detail);
    field(out, "fingerprint", finding->fingerprint);
    write_site(out, trace, finding->site);
    field(out, "models", finding->models);
    field(out, "confirmation", confirmations[finding->confirmation]);
    fprintf(out, ",\"allowed\":%s,\"inherited\":%s,\"places\":[",
            finding->allowed ? "true" : "false", finding->inherited ? "true" : "false");
    for (size_t i = 0; trace && i < finding->op_count; i++) {
        if (i)
            putc(',', out);
        write_place(out, trace, &finding->ops[i]);
    }
    putc(']', out);
    if (finding->because[0])
        field(out, "because", finding->because);
    write_consequences(out, &result->verdict.findings, index);
    field(out, "repair", finding->repair);
    field(out, "witness", finding->witness);
    field(out, "replay", result_replay(result, (int)index, command, sizeof command));
    field(out, "draw", result_draw(result, (int)index, command, sizeof command));
    putc('}', out);
}

static void write_gradient(FILE *out, const struct trace *trace, const struct trace_gradient *row)
{
    fputs("{\"variable\":", out);
    json_write_text(out, trace_string(trace, row->variable));
    fprintf(out, ",\"rank\":%u,\"index\":%" PRId64, row->rank, row->index);
    field(out, "method", row->method);
    number(out, "step", row->step);
    number(out, "analytic", row->analytic);
    number(out, "numeric", row->numeric);
    number(out, "error", row->error);
    number(out, "tolerance", row->tolerance);
    number(out, "relative", row->relative);
    fprintf(out, ",\"elements\":%u", row->elements ? row->elements : 1);
    field(out, "answer", row->ok ? "right" : row->undecided ? "undecided" : "wrong");
    field(out, "undecided", row->undecided);
    fprintf(out, ",\"ok\":%s}", row->ok ? "true" : "false");
}

static void write_coverage(FILE *out, const struct result *result)
{
    const struct verdict *verdict = &result->verdict;
    const struct coverage *coverage = &verdict->coverage;
    char words[80];
    if (result->covered[0])
        field(out, "covered", result->covered);
    fprintf(out, ",\"complete\":%s,\"required\":",
            coverage_missed(coverage, COVERAGE_COMPLETE) ? "false" : "true");
    json_write_text(out, coverage_demands_text(verdict->missed, words, sizeof words));
    fputs(",\"coverage\":[", out);
    for (size_t i = 0; i < coverage->count; i++) {
        fputs(i ? ",{\"code\":\"N002\",\"check\":" : "{\"code\":\"N002\",\"check\":", out);
        json_write_text(out, coverage->gaps[i].check);
        fprintf(out, ",\"count\":%" PRIu64, coverage->gaps[i].count);
        field(out, "text", coverage->gaps[i].text);
        putc('}', out);
    }
    putc(']', out);
}

/* What the seconds went to. */
static void spent(FILE *out, const struct stopwatch *watch)
{
    fputs(",\"spent\":{", out);
    for (enum stopwatch_part part = 0, told = 0; part < STOPWATCH_PARTS; part++)
        if (watch->spent[part])
            fprintf(out, "%s\"%s\":%.6f", told++ ? "," : "", stopwatch_part_name(part),
                    (double)watch->spent[part] * 1e-9);
    fputc('}', out);
}

void result_json(FILE *out, const struct result *result)
{
    const struct trace *trace = result->verdict.result.trace;
    fputs("{\"scenario\":", out);
    json_write_text(out, result->job.name);
    fprintf(out, ",\"ranks\":%d,\"seed\":%" PRIu64 ",\"exit\":%d", result->job.world.ranks,
            result->job.world.seed, result->verdict.status);
    field(out, "model", result_model(result));
    field(out, "verdict", result_word(result));
    field(out, "outcome", trace_outcome_names[result->verdict.result.outcome]);
    field(out, "command", result->command);
    field(out, "version", SIMRUN_VERSION);
    number(out, "seconds", result_seconds(result));
    spent(out, &result->verdict.watch);
    if (result->run)
        fprintf(out, ",\"run\":%lld", (long long)result->run);
    char cause[CAUSE_TEXT];
    if (cause_text(result->verdict.result.trace, cause, sizeof cause))
        field(out, "root_cause", cause);
    if (result->verdict.result.trace && cause_restarts(result->verdict.result.trace))
        number(out, "restarts", cause_restarts(result->verdict.result.trace));
    if (result->verdict.result.crash[0])
        field(out, "crash", result->verdict.result.crash);
    if (trace) {
        fprintf(out, ",\"operations\":%zu,\"trace_hash\":\"%016" PRIx64 "\"", trace->op_count,
                trace_hash(trace));
        number(out, "objective", trace->objective);
    }
    write_coverage(out, result);
    fputs(",\"gradients\":[", out);
    for (size_t i = 0; trace && i < trace->gradient_count; i++) {
        if (i)
            putc(',', out);
        write_gradient(out, trace, &trace->gradients[i]);
    }
    fputs("],\"findings\":[", out);
    for (size_t i = 0; i < result->verdict.findings.count; i++) {
        if (i)
            putc(',', out);
        write_finding(out, result, i);
    }
    fputs("]}\n", out);
}

/* A run that could not be made has no verdict: why stands in its place. */
void result_json_refusal(FILE *out, const struct result_refusal *refusal, uint64_t seed)
{
    fputs("{\"scenario\":", out);
    json_write_text(out, refusal->scenario);
    if (refusal->ranks)
        fprintf(out, ",\"ranks\":%d", refusal->ranks);
    fprintf(out, ",\"seed\":%" PRIu64 ",\"exit\":%d", seed, refusal->failure.code);
    field(out, "verdict", refusal->failure.code == FAILURE_REQUIREMENT ? "SKIP" : "ERROR");
    field(out, "error", refusal->failure.text);
    field(out, "version", SIMRUN_VERSION);
    fputs(",\"gradients\":[],\"findings\":[]}\n", out);
}
