/* A run as TAP: see tap.h. */
#include "cli/telling/tap.h"

#include "checker/check.h"
#include "cli/telling/result.h"

#include <string.h>

static size_t check_count(void)
{
    size_t count = 0;
    while (check_property_at(count))
        count++;
    return count;
}

void tap_begin(FILE *out, int runs)
{
    fprintf(out, "TAP version 13\n1..%zu\n", (check_count() + 1) * (size_t)runs);
}

static bool lists_code(const char *codes, const char *code)
{
    const char *at = strstr(codes, code);
    return at && (at == codes || at[-1] == ' ');
}

/* A finding belongs to the first check that lists its code; to none: to the last line, "nothing
 * else". */
static bool belongs(const struct finding *finding, size_t check)
{
    for (size_t i = 0; check_property_at(i); i++)
        if (lists_code(check_property_at(i)->codes, finding->code))
            return i == check;
    return check == check_count();
}

static const char *check_name(size_t check)
{
    const struct check_property *property = check_property_at(check);
    return property ? property->name : "nothing else";
}

/* A YAML string in single quotes on one line. */
static void quoted_text(FILE *out, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    while (length && text[length - 1] == '\n')
        length--;
    fputs("'", out);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'')
            fputs("''", out);
        else
            fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], out);
    }
    fputs("'\n", out);
}

static void quoted(FILE *out, const char *key, const char *text)
{
    fprintf(out, "  %s: ", key);
    quoted_text(out, text);
}

static void quoted_item(FILE *out, const char *text)
{
    fputs("    - ", out);
    quoted_text(out, text);
}

/* Part of a test's line: a '#' in the name of a file is no directive, and a line stays one. */
static void plain(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '#' || *text == '\\')
            putc('\\', out);
        putc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
}

static bool is_about(const struct findings *findings, size_t root, const char *name)
{
    if (strstr(findings->items[root].title, name))
        return true;
    for (size_t i = findings->count; i < findings->count + findings->folded; i++)
        if (!strcmp(findings->items[i].root, findings->items[root].fingerprint) &&
            strstr(findings->items[i].title, name))
            return true;
    return false;
}

/* The worst row of the variable that a gradient finding, or a consequence of it, is about. */
static void gradient_numbers(FILE *out, const struct trace *trace, const struct findings *findings,
                             size_t root)
{
    const struct trace_gradient *worst = NULL;
    for (size_t i = 0; i < trace->gradient_count; i++) {
        const struct trace_gradient *row = &trace->gradients[i];
        char name[160];
        snprintf(name, sizeof name, "gradient of %s ", trace_string(trace, row->variable));
        if (!trace_gradient_wrong(row) || !is_about(findings, root, name))
            continue;
        if (!worst || !(row->error <= worst->error))
            worst = row;
    }
    if (worst)
        fprintf(out, "  got: %.17g\n  expected: %.17g\n  relative_error: %.3g\n", worst->analytic,
                worst->numeric, worst->relative);
}

static void message(FILE *out, const char *text)
{
    fputs("  ---\n", out);
    quoted(out, "message", text);
    fputs("  ...\n", out);
}

/* What follows from a finding, in its block. */
static void folded(FILE *out, const struct findings *findings, size_t root)
{
    bool first = true;
    for (size_t i = findings->count; i < findings->count + findings->folded; i++) {
        char line[700];
        if (strcmp(findings->items[i].root, findings->items[root].fingerprint) != 0)
            continue;
        fputs(first ? "  consequences:\n" : "", out);
        snprintf(line, sizeof line, "%s %s", findings->items[i].code, findings->items[i].title);
        quoted_item(out, line);
        first = false;
    }
}

/* The first finding of a test in full; further ones by code and title: a test has one block. */
static void diagnose(FILE *out, const struct result *result, size_t index, size_t check)
{
    const struct trace *trace = result->verdict.result.trace;
    const struct findings *findings = &result->verdict.findings;
    const struct finding *finding = &findings->items[index];
    char replay[RESULT_COMMAND + 700];
    fputs("  ---\n", out);
    quoted(out, "message", finding->title);
    fprintf(out, "  severity: %s\n  code: %s\n  fingerprint: '%s'\n",
            severity_name(finding->severity), finding->code, finding->fingerprint);
    if (trace && trace_site_known(trace, finding->site)) {
        quoted(out, "file", trace->sites[finding->site].file);
        if (trace->sites[finding->site].line > 0)
            fprintf(out, "  line: %d\n", trace->sites[finding->site].line);
    }
    if (trace && finding->code[0] == 'G')
        gradient_numbers(out, trace, findings, index);
    quoted(out, "detail", finding->detail);
    quoted(out, "replay", result_replay(result, (int)index, replay, sizeof replay));
    folded(out, findings, index);
    bool first = true;
    for (size_t i = index + 1; i < findings->count; i++) {
        char line[700];
        if (!belongs(&findings->items[i], check))
            continue;
        fputs(first ? "  also:\n" : "", out);
        snprintf(line, sizeof line, "%s %s %s", findings->items[i].code,
                 findings->items[i].fingerprint, findings->items[i].title);
        quoted_item(out, line);
        folded(out, findings, i);
        first = false;
    }
    fputs("  ...\n", out);
}

/* Why a test of this run says nothing, NULL when it does. */
static const char *skipped(const struct result *result, size_t check)
{
    const struct trace *trace = result->verdict.result.trace;
    if (!trace)
        return check < check_count() ? "nothing was recorded" : NULL;
    if (!strcmp(check_name(check), "gradient") && !trace->gradient_count)
        return "no gradient was checked";
    return NULL;
}

static bool fails(const struct results *results, const struct finding *finding)
{
    return !finding->allowed && finding->severity >= run_options_threshold(results->options);
}

/* What no finding tells and made the run fail all the same: a run that failed never prints that all
 * is well. */
static bool ended_badly(const struct results *results, const struct result *result, size_t check)
{
    const struct findings *findings = &result->verdict.findings;
    bool told = false;
    for (size_t i = 0; i < findings->count; i++)
        told |= fails(results, &findings->items[i]);
    return check == check_count() && result->verdict.status != 0 &&
           (!told || result->verdict.result.crash[0] ||
            result->verdict.result.outcome == OUTCOME_TIMEOUT ||
            result->verdict.result.outcome == OUTCOME_INTERRUPTED);
}

/* Why, in a sentence. */
static void how_it_ended(FILE *out, const struct result *result)
{
    char text[200], words[80];
    if (result->verdict.result.crash[0]) {
        message(out, result->verdict.result.crash);
    } else if (result->verdict.passed && result->verdict.missed) {
        snprintf(text, sizeof text, "required and not reached: %s",
                 coverage_demands_text(result->verdict.missed, words, sizeof words));
        message(out, text);
    } else {
        message(out, result_word(result));
    }
}

/* What was not looked at, as comments behind the tests. */
static void gaps(FILE *out, const struct coverage *coverage)
{
    for (size_t i = 0; i < coverage->count; i++) {
        fprintf(out, "# N002 not covered by %s: ", coverage->gaps[i].check);
        plain(out, coverage->gaps[i].text);
        if (coverage->gaps[i].count > 1)
            fprintf(out, " (%llu times)", (unsigned long long)coverage->gaps[i].count);
        putc('\n', out);
    }
}

static void one_check(FILE *out, struct results *results, const struct result *result, size_t check)
{
    const struct findings *findings = &result->verdict.findings;
    bool failed = ended_badly(results, result, check), allowed = false, any = false;
    char name[256];
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (!belongs(finding, check))
            continue;
        any = true;
        allowed |= finding->allowed;
        failed |= fails(results, finding);
    }
    bool todo = allowed && !failed;
    const char *skip = any || failed ? NULL : skipped(result, check);
    fprintf(out, "%sok %d - ", failed || todo ? "not " : "", ++results->number);
    plain(out, result_name(results, result, name, sizeof name));
    fprintf(out, ": %s%s%s%s\n", check_name(check), todo ? " # TODO allowed" : "",
            skip ? " # SKIP " : "", skip ? skip : "");
    if (ended_badly(results, result, check))
        how_it_ended(out, result);
    else
        for (size_t i = 0; i < findings->count; i++)
            if (belongs(&findings->items[i], check)) {
                diagnose(out, result, i, check);
                break;
            }
}

void result_tap(FILE *out, struct results *results, const struct result *result)
{
    for (size_t check = 0; check <= check_count(); check++)
        one_check(out, results, result, check);
    gaps(out, &result->verdict.coverage);
}

void tap_failure(FILE *out, const char *name, const struct failure *failure, int *number)
{
    bool absent = failure->code == FAILURE_REQUIREMENT;
    for (size_t check = 0; check <= check_count(); check++) {
        bool last = check == check_count() && !absent;
        fprintf(out, "%sok %d - ", last ? "not " : "", ++*number);
        plain(out, name);
        fprintf(out, ": %s", check_name(check));
        if (!last) {
            fputs(" # SKIP ", out);
            plain(out, absent ? failure->text : "nothing was checked");
        }
        putc('\n', out);
    }
    if (!absent)
        message(out, failure->text);
}

void tap_bail_out(FILE *out, const char *text)
{
    fputs("Bail out! ", out);
    plain(out, text);
    putc('\n', out);
}

void tap_nothing(FILE *out, const char *name, const struct failure *failure)
{
    fputs("TAP version 13\n", out);
    if (failure->code == FAILURE_INTERNAL) {
        tap_bail_out(out, failure->text);
    } else if (failure->code == FAILURE_REQUIREMENT) {
        fputs("1..0 # SKIP ", out);
        plain(out, failure->text);
        putc('\n', out);
    } else {
        fputs("1..1\nnot ok 1 - ", out);
        plain(out, name);
        fputs(": nothing else\n", out);
        message(out, failure->text);
    }
}
