/* Results as SARIF 2.1.0: what code scanning services read. One run of the tool; a result for each
 * finding, N002 for each gap of the coverage, a notification for what could not be run. */
#include "cli/telling/result.h"
#include "traces/input/write.h"

#include <string.h>

static void field(FILE *out, const char *key, const char *text)
{
    json_write_text(out, key);
    putc(':', out);
    json_write_text(out, text ? text : "");
}

static void message(FILE *out, const char *text, const char *more)
{
    char joined[4096];
    snprintf(joined, sizeof joined, "%s%s%s", text, more && *more ? "\n" : "", more ? more : "");
    fputs("\"message\":{", out);
    field(out, "text", joined);
    putc('}', out);
}

static void location(FILE *out, const struct trace *trace, uint32_t site)
{
    const struct trace_site *at = &trace->sites[site];
    fputs("{\"physicalLocation\":{\"artifactLocation\":{", out);
    field(out, "uri", at->file);
    fprintf(out, "},\"region\":{\"startLine\":%d}}}", at->line > 0 ? at->line : 1);
}

static void locations(FILE *out, const struct result *result, const struct finding *finding)
{
    const struct trace *trace = result->verdict.result.trace;
    fputs(",\"locations\":[", out);
    if (trace && trace_site_known(trace, finding->site))
        location(out, trace, finding->site);
    fputs("],\"relatedLocations\":[", out);
    bool first = true;
    for (size_t i = 0; trace && i < finding->op_count; i++) {
        uint32_t op = finding->ops[i].op;
        if (op >= trace->op_count || !trace_site_known(trace, trace->ops[op].form->site))
            continue;
        fputs(first ? "" : ",", out);
        location(out, trace, trace->ops[op].form->site);
        first = false;
    }
    putc(']', out);
}

static const char *level(const struct finding *finding)
{
    return finding->severity == SEVERITY_ERROR     ? "error"
           : finding->severity == SEVERITY_WARNING ? "warning"
                                                   : "note";
}

static void one_finding(FILE *out, const struct result *result, size_t index, bool *first)
{
    const struct finding *finding = &result->verdict.findings.items[index];
    fputs(*first ? "\n{" : ",\n{", out);
    *first = false;
    field(out, "ruleId", finding->code);
    fprintf(out, ",\"level\":\"%s\",", level(finding));
    message(out, finding->title, finding->detail);
    locations(out, result, finding);
    fputs(",\"partialFingerprints\":{", out);
    field(out, "simrun/v1", finding->fingerprint);
    fputs("},\"properties\":{", out);
    field(out, "scenario", result->job.name);
    fprintf(out, ",\"ranks\":%d,", result->job.world.ranks);
    field(out, "models", finding->models);
    fprintf(out, ",\"consequences\":%zu}", findings_consequences(&result->verdict.findings, index));
    if (finding->allowed)
        fputs(",\"suppressions\":[{\"kind\":\"external\"}]", out);
    putc('}', out);
}

static void gaps(FILE *out, const struct result *result, bool *first)
{
    const struct coverage *coverage = &result->verdict.coverage;
    for (size_t i = 0; i < coverage->count; i++) {
        char text[600];
        snprintf(text, sizeof text, "%s: not covered by %s: %s", result->job.name,
                 coverage->gaps[i].check, coverage->gaps[i].text);
        fputs(*first ? "\n{" : ",\n{", out);
        *first = false;
        field(out, "ruleId", "N002");
        fputs(",\"level\":\"note\",", out);
        message(out, text, NULL);
        fputs(",\"locations\":[]}", out);
    }
}

static void rules(FILE *out)
{
    const struct finding_code *code;
    for (size_t i = 0; (code = finding_code_at(i)); i++) {
        fputs(i ? ",\n{" : "\n{", out);
        field(out, "id", code->code);
        putc(',', out);
        field(out, "name", code->name);
        fputs(",\"shortDescription\":{", out);
        field(out, "text", code->meaning);
        fputs("},\"help\":{", out);
        field(out, "text", code->remedy);
        fputs("}}", out);
    }
}

static void invocation(FILE *out, const struct results *results)
{
    fprintf(out, "\"invocations\":[{\"executionSuccessful\":%s,\"toolExecutionNotifications\":[",
            results->refusal_count ? "false" : "true");
    for (size_t i = 0; i < results->refusal_count; i++) {
        fputs(i ? ",{\"level\":\"error\"," : "{\"level\":\"error\",", out);
        message(out, results->refusals[i].failure.text, NULL);
        putc('}', out);
    }
    fputs("]}]", out);
}

bool results_sarif(FILE *out, const struct results *results)
{
    bool first = true;
    fputs("{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\","
          "\"runs\":[{\"tool\":{\"driver\":{\"name\":\"simrun\",",
          out);
    field(out, "version", SIMRUN_VERSION);
    fputs(",\"rules\":[", out);
    rules(out);
    fputs("]}},", out);
    invocation(out, results);
    fputs(",\"results\":[", out);
    for (size_t i = 0; i < results->count; i++) {
        for (size_t k = 0; k < results->items[i].verdict.findings.count; k++)
            one_finding(out, &results->items[i], k, &first);
        gaps(out, &results->items[i], &first);
    }
    fputs("],\"properties\":{\"verdicts\":[", out);
    for (size_t i = 0; i < results->count; i++) {
        fputs(i ? ",{" : "{", out);
        field(out, "scenario", results->items[i].job.name);
        fprintf(out, ",\"ranks\":%d,", results->items[i].job.world.ranks);
        field(out, "verdict", result_word(&results->items[i]));
        fprintf(out, ",\"exit\":%d}", results->items[i].verdict.status);
    }
    fputs("]}}]}\n", out);
    return !ferror(out);
}
