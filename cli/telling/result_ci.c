/* Results for CI services: JUnit XML, and what GitHub shows beside the lines of a change. */
#include "cli/telling/result.h"
#include "viz/paper/escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANNOTATIONS_MOST = 10 };

/* Text of XML 1.0 in UTF-8: markup escaped; what may not stand there becomes U+FFFD. */
static void xml_text(FILE *out, const char *text)
{
    while (*text) {
        const char *from = text;
        if (*text == '\n') {
            fputs("&#10;", out);
            text++;
            continue;
        }
        unsigned code = viz_text_next(&text);
        if (code == 0xFFFD)
            fputs("\xEF\xBF\xBD", out);
        else if (strchr("&<>\"", (int)code) && code < 0x80)
            fprintf(out, "&#%u;", code);
        else if (code == ' ')
            putc(' ', out);
        else
            fwrite(from, 1, (size_t)(text - from), out);
    }
}

static void xml_attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    xml_text(out, text);
    putc('"', out);
}

static bool fails(const struct results *results, const struct finding *finding)
{
    return !finding->allowed && finding->severity >= run_options_threshold(results->options);
}

static size_t failures_of(const struct results *results, const struct result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < result->verdict.findings.count; i++)
        count += fails(results, &result->verdict.findings.items[i]);
    return count ? count : result->verdict.status != 0;
}

static void junit_finding(FILE *out, const struct results *results, const struct result *result,
                          size_t index)
{
    const struct finding *finding = &result->verdict.findings.items[index];
    char where[TRACE_SITE_TEXT], name[300], replay[RESULT_COMMAND + 700];
    fputs("    <testcase", out);
    xml_attribute(out, "classname", result_name(results, result, name, sizeof name));
    const struct finding_code *code = finding_code(finding->code);
    snprintf(name, sizeof name, "%s %s %s", finding->code, code ? code->name : "finding",
             finding->fingerprint);
    xml_attribute(out, "name", name);
    if (result->verdict.result.trace &&
        trace_site_known(result->verdict.result.trace, finding->site)) {
        const struct trace_site *site = &result->verdict.result.trace->sites[finding->site];
        xml_attribute(out, "file", site->file);
        if (site->line > 0)
            fprintf(out, " line=\"%d\"", site->line);
    }
    fputs(" time=\"0\">\n", out);
    bool failed = fails(results, finding);
    fprintf(out, "      <%s", failed ? "failure" : "skipped");
    xml_attribute(out, "message", finding->title);
    if (failed)
        xml_attribute(out, "type", finding->code);
    fputs(failed ? ">" : "/>\n", out);
    if (failed) {
        xml_text(out, finding->detail ? finding->detail : "");
        if (result->verdict.result.trace) {
            trace_at_text(result->verdict.result.trace, finding->site, where, sizeof where);
            fputs(*where ? "&#10;" : "", out);
            xml_text(out, *where ? where + 1 : "");
        }
        fputs("&#10;replay: ", out);
        xml_text(out, result_replay(result, (int)index, replay, sizeof replay));
        fputs("</failure>\n", out);
    }
    fputs("    </testcase>\n", out);
}

/* What was not looked at: one property a gap. */
static void junit_coverage(FILE *out, const struct coverage *coverage)
{
    if (!coverage->count)
        return;
    fputs("    <properties>\n", out);
    for (size_t i = 0; i < coverage->count; i++) {
        const struct coverage_gap *gap = &coverage->gaps[i];
        char name[60];
        snprintf(name, sizeof name, "not covered: %s", gap->check);
        fputs("      <property", out);
        xml_attribute(out, "name", name);
        xml_attribute(out, "value", gap->text);
        fputs("/>\n", out);
    }
    fputs("    </properties>\n", out);
}

static void junit_run(FILE *out, const struct results *results, const struct result *result)
{
    char name[300];
    size_t failures = failures_of(results, result);
    result_name(results, result, name, sizeof name);
    fputs("  <testsuite", out);
    xml_attribute(out, "name", name);
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" time=\"%.6f\">\n",
            result->verdict.findings.count + 1, failures, result_seconds(result));
    junit_coverage(out, &result->verdict.coverage);
    fputs("    <testcase", out);
    xml_attribute(out, "classname", name);
    fprintf(out, " name=\"run\" time=\"%.6f\"", result_seconds(result));
    bool alone = result->verdict.status != 0;
    for (size_t i = 0; i < result->verdict.findings.count; i++)
        alone = alone && !fails(results, &result->verdict.findings.items[i]);
    if (alone) {
        char words[80], text[160];
        snprintf(text, sizeof text, "required and not reached: %s",
                 coverage_demands_text(result->verdict.missed, words, sizeof words));
        fputs(">\n      <failure", out);
        xml_attribute(out, "message",
                      result->verdict.result.crash[0] ? result->verdict.result.crash
                      : result->verdict.passed        ? text
                                                      : result_word(result));
        fputs("/>\n    </testcase>\n", out);
    } else {
        fputs("/>\n", out);
    }
    for (size_t i = 0; i < result->verdict.findings.count; i++)
        junit_finding(out, results, result, i);
    fputs("  </testsuite>\n", out);
}

static void junit_refusal(FILE *out, const struct result_refusal *refusal)
{
    bool absent = refusal->failure.code == FAILURE_REQUIREMENT;
    fputs("  <testsuite", out);
    xml_attribute(out, "name", refusal->name);
    fprintf(out,
            " tests=\"1\" failures=\"0\" errors=\"%d\" skipped=\"%d\" time=\"0\">\n    <testcase",
            !absent, absent);
    xml_attribute(out, "classname", refusal->name);
    fprintf(out, " name=\"run\" time=\"0\">\n      <%s", absent ? "skipped" : "error");
    xml_attribute(out, "message", refusal->failure.text);
    fputs("/>\n    </testcase>\n  </testsuite>\n", out);
}

bool results_junit(FILE *out, const struct results *results)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"simrun\">\n", out);
    for (size_t i = 0; i < results->count; i++)
        junit_run(out, results, &results->items[i]);
    for (size_t i = 0; i < results->refusal_count; i++)
        junit_refusal(out, &results->refusals[i]);
    fputs("</testsuites>\n", out);
    return !ferror(out);
}

/* A workflow command's text: '%', line ends, and in properties ':' and ',' are escaped. */
static void command_text(FILE *out, const char *text, bool property)
{
    for (; *text; text++) {
        if (*text == '%' || *text == '\r' || *text == '\n' ||
            (property && (*text == ':' || *text == ',')))
            fprintf(out, "%%%02X", (unsigned char)*text);
        else /* logs are shown on terminals, too */
            putc((unsigned char)*text < ' ' && *text != '\t' ? '?' : *text, out);
    }
}

/* As the service knows the file: relative to the checkout. */
static const char *checkout_path(const char *file)
{
    char folder[4096];
    const char *workspace = getenv("GITHUB_WORKSPACE");
    if (!workspace || !*workspace)
        workspace = getcwd(folder, sizeof folder);
    size_t length = workspace ? strlen(workspace) : 0;
    return length && !strncmp(file, workspace, length) && file[length] == '/' ? file + length + 1
                                                                              : file;
}

static void annotate(FILE *out, const struct result *result, size_t index)
{
    static const char *const levels[] = {"notice", "warning", "error"};
    const struct finding *finding = &result->verdict.findings.items[index];
    const struct trace *trace = result->verdict.result.trace;
    char replay[RESULT_COMMAND + 700], title[64];
    fprintf(out, "::%s ", levels[finding->allowed ? 0 : finding->severity]);
    if (trace && trace_site_known(trace, finding->site)) {
        fputs("file=", out);
        command_text(out, checkout_path(trace->sites[finding->site].file), true);
        if (trace->sites[finding->site].line > 0)
            fprintf(out, ",line=%d", trace->sites[finding->site].line);
        putc(',', out);
    }
    const struct finding_code *code = finding_code(finding->code);
    snprintf(title, sizeof title, "%s %s", finding->code, code ? code->name : "");
    fputs("title=", out);
    command_text(out, title, true);
    fputs("::", out);
    command_text(out, finding->title, false);
    fputs("%0A", out);
    command_text(out, finding->detail ? finding->detail : "", false);
    fputs("%0Areplay: ", out);
    command_text(out, result_replay(result, (int)index, replay, sizeof replay), false);
    putc('\n', out);
}

static void annotate_refusal(FILE *out, const struct result_refusal *refusal)
{
    fprintf(out, "::%s title=", refusal->failure.code == FAILURE_REQUIREMENT ? "notice" : "error");
    command_text(out, refusal->name, true);
    fputs("::", out);
    command_text(out, refusal->failure.text, false);
    putc('\n', out);
}

static bool seen_before(const struct results *results, size_t run, size_t index)
{
    const char *print = results->items[run].verdict.findings.items[index].fingerprint;
    for (size_t i = 0; i <= run; i++) {
        const struct findings *findings = &results->items[i].verdict.findings;
        for (size_t k = 0; k < (i == run ? index : findings->count); k++)
            if (!strcmp(findings->items[k].fingerprint, print))
                return true;
    }
    return false;
}

static void table_cell(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '<' || *text == '`' || *text == '\\')
            putc('\\', out);
        putc(*text == '\n' ? ' ' : *text, out);
    }
}

static void summary(FILE *out, const struct results *results)
{
    fputs("### simrun\n\n| scenario | ranks | model | verdict | findings | ms |\n"
          "| --- | ---: | --- | --- | --- | ---: |\n",
          out);
    for (size_t i = 0; i < results->count; i++) {
        const struct result *result = &results->items[i];
        fputs("| ", out);
        table_cell(out, result->job.name);
        fprintf(out, " | %d | %s | %s | ", result->job.world.ranks, result_model(result),
                result_word(result));
        for (size_t k = 0; k < result->verdict.findings.count; k++) {
            const struct finding *finding = &result->verdict.findings.items[k];
            fprintf(out, "%s%s ", k ? "<br>" : "", finding->code);
            table_cell(out, finding->title);
        }
        fprintf(out, " | %.1f |\n", result_seconds(result) * 1e3);
    }
    for (size_t i = 0; i < results->refusal_count; i++) {
        const struct result_refusal *refusal = &results->refusals[i];
        fputs("| ", out);
        table_cell(out, refusal->scenario);
        fprintf(out, " | %d | | %s | ", refusal->ranks,
                refusal->failure.code == FAILURE_REQUIREMENT ? "SKIP" : "ERROR");
        table_cell(out, refusal->failure.text);
        fputs(" | |\n", out);
    }
    for (size_t i = 0; i < results->count; i++) {
        char *line = coverage_line(&results->items[i].verdict.coverage, SIZE_MAX);
        if (line && *line) {
            fputs("\n", out);
            table_cell(out, results->items[i].job.name);
            fputs(": ", out);
            table_cell(out, line);
            fputs("\n", out);
        }
        free(line);
    }
    putc('\n', out);
}

/* What was not looked at, once each; a required one is an error. */
static void annotate_coverage(FILE *out, const struct result *result)
{
    char *line = coverage_line(&result->verdict.coverage, SIZE_MAX);
    if (line && *line) {
        fprintf(out, "::%s title=N002 coverage %s::",
                result->verdict.missed && result->verdict.passed ? "error" : "notice",
                result_word(result));
        command_text(out, result->job.name, false);
        fputs(": ", out);
        command_text(out, line, false);
        putc('\n', out);
    }
    free(line);
}

bool results_github(FILE *out, const struct results *results, struct failure *failure)
{
    int told = 0;
    for (size_t i = 0; i < results->count; i++)
        for (size_t k = 0; k < results->items[i].verdict.findings.count; k++)
            if (told < ANNOTATIONS_MOST && !seen_before(results, i, k)) {
                annotate(out, &results->items[i], k);
                told++;
            }
    for (size_t i = 0; i < results->refusal_count && told < ANNOTATIONS_MOST; i++, told++)
        annotate_refusal(out, &results->refusals[i]);
    for (size_t i = 0; i < results->count && told < ANNOTATIONS_MOST; i++, told++)
        annotate_coverage(out, &results->items[i]);
    fflush(out);
    const char *path = getenv("GITHUB_STEP_SUMMARY");
    if (!path || !*path)
        return true;
    FILE *file = fopen(path, "ae");
    if (file)
        summary(file, results);
    bool good = file && !ferror(file);
    good = file && !fclose(file) && good;
    if (!good)
        failure_set(failure, FAILURE_INTERNAL, "cannot write the step summary %s: %s", path,
                    strerror(errno));
    return good;
}
