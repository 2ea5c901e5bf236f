/* A run as TAP: see tap.h. */
#include "cli/tap.h"

#include "checker/check.h"

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

/* A finding belongs to the first check that lists its code; to none: to the last line, "no other
 * finding". */
static bool belongs(const struct finding *finding, size_t check)
{
    for (size_t i = 0; check_property_at(i); i++)
        if (lists_code(check_property_at(i)->codes, finding->code))
            return i == check;
    return check == check_count();
}

/* A YAML string in single quotes on one line. */
static void quoted(FILE *out, const char *key, const char *text)
{
    fprintf(out, "  %s: '", key);
    for (; text && *text; text++) {
        if (*text == '\'')
            fputs("''", out);
        else
            fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputs("'\n", out);
}

static const char *severity_text(enum severity severity)
{
    return severity == SEVERITY_ERROR ? "error" : severity == SEVERITY_WARNING ? "warning" : "note";
}

static void diagnose(FILE *out, const struct trace *trace, const struct finding *finding)
{
    fputs("  ---\n", out);
    quoted(out, "message", finding->title);
    fprintf(out, "  severity: %s\n  code: %s\n  fingerprint: %s\n",
            severity_text(finding->severity), finding->code, finding->fingerprint);
    if (trace && finding->site != TRACE_NO) {
        quoted(out, "file", trace->sites[finding->site].file);
        fprintf(out, "  line: %d\n", trace->sites[finding->site].line);
    }
    quoted(out, "detail", finding->detail);
    fputs("  ...\n", out);
}

static void one_check(FILE *out, const struct job *job, const struct verdict *verdict, size_t check,
                      int *number)
{
    const struct check_property *property = check_property_at(check);
    const struct finding *worst = NULL;
    bool failed = false;
    for (size_t i = 0; i < verdict->findings.count; i++) {
        const struct finding *finding = &verdict->findings.items[i];
        if (!belongs(finding, check))
            continue;
        failed |= !finding->allowed && finding->severity == SEVERITY_ERROR;
        worst = worst ? worst : finding;
    }
    bool todo = worst && worst->allowed && !failed;
    fprintf(out, "%sok %d - %s/ranks=%d: %s%s\n", failed || todo ? "not " : "", ++*number,
            job->name, job->world.ranks, property ? property->name : "nothing else",
            todo ? " # TODO allowed" : "");
    for (size_t i = 0; i < verdict->findings.count; i++)
        if (belongs(&verdict->findings.items[i], check))
            diagnose(out, verdict->result.trace, &verdict->findings.items[i]);
}

void tap_verdict(FILE *out, const struct job *job, const struct verdict *verdict)
{
    static _Thread_local int number;
    for (size_t check = 0; check <= check_count(); check++)
        one_check(out, job, verdict, check, &number);
}
