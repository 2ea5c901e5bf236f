/* What --allow names: see allow.h. */
#include "verdict/allow.h"

#include "checker/suppress.h"

#include <stdio.h>
#include <string.h>

enum { RULE_MAX = 1024 };

static bool is_fingerprint(const char *text)
{
    return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}

/* The next rule of a baseline; false at its end. */
static bool next_rule(FILE *file, char line[RULE_MAX])
{
    while (fgets(line, RULE_MAX, file)) {
        line[strcspn(line, "#\n")] = '\0';
        size_t length = strlen(line), skip = strspn(line, " \t");
        while (length > skip && strchr(" \t\r", line[length - 1]))
            line[--length] = '\0';
        memmove(line, line + skip, strlen(line + skip) + 1);
        line[strcspn(line, " \t")] = '\0'; /* what follows the rule is for people */
        if (*line)
            return true;
    }
    return false;
}

bool allow_rule_valid(const char *rule, struct failure *failure)
{
    char code[8], line[RULE_MAX];
    if (*rule == '@') {
        FILE *file = fopen(rule + 1, "re");
        bool good = file != NULL;
        if (!file)
            failure_set(failure, FAILURE_INPUT, "--allow %s: the baseline cannot be read", rule);
        while (good && next_rule(file, line))
            good = *line != '@' && allow_rule_valid(line, failure);
        if (file)
            fclose(file);
        return good;
    }
    snprintf(code, sizeof code, "%.*s", (int)strcspn(rule, ":"), rule);
    if (finding_code(code) || is_fingerprint(rule))
        return true;
    failure_set(failure, FAILURE_USAGE,
                "--allow '%s': expected a code of 'simrun explain', such as D001 or "
                "D001:ring.c:41, a fingerprint, or @FILE with one of these a line",
                rule);
    return false;
}

static bool in_baseline(const char *path, const struct finding *finding, const struct trace *trace)
{
    char line[RULE_MAX];
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && next_rule(file, line))
        found = *line != '@' && allow_matches(line, finding, trace);
    if (file)
        fclose(file);
    return found;
}

bool allow_matches(const char *rule, const struct finding *finding, const struct trace *trace)
{
    size_t length = strlen(finding->code);
    if (*rule == '@')
        return in_baseline(rule + 1, finding, trace);
    if (is_fingerprint(rule))
        return !strcmp(rule, finding->fingerprint);
    if (strncmp(rule, finding->code, length))
        return false;
    if (!rule[length])
        return true;
    if (rule[length] != ':')
        return false;
    const char *site = rule + length + 1;
    if (!strcmp(site, finding->fingerprint))
        return true;
    if (!trace)
        return false;
    char where[TRACE_SITE_TEXT];
    trace_site_text(trace, finding->site, where, sizeof where);
    size_t have = strlen(where), wanted = strlen(site);
    if (!wanted || wanted > have || strcmp(where + have - wanted, site))
        return false;
    return wanted == have || where[have - wanted - 1] == '/';
}

void allow_mark(struct findings *findings, const struct trace *trace, const char *const *rules,
                int count)
{
    for (size_t i = 0; i < findings->count; i++) { /* what is freed comes last, and is met, too */
        struct finding *finding = &findings->items[i];
        for (int k = 0; k < count; k++)
            finding->allowed |= allow_matches(rules[k], finding, trace);
        if (finding->allowed)
            findings_unfold(findings, finding->fingerprint);
    }
    if (trace && count) {
        suppress_consequences(findings, 0, trace);
        findings_sort(findings);
    }
}
