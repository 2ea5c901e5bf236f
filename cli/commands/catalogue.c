/* simrun catalogue: runs every scenario at its numbers of ranks and asserts that exactly the
 * expected findings appear.
 *
 * Output is TAP; a test is one scenario, variant, number of ranks and progress model. */
#include "cli/options/catalogue.h"
#include "cli/command.h"
#include "cli/options/values.h"
#include "cli/running/session.h"
#include "cli/telling/present.h"
#include "traces/trace/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 64 };

/* Splits a line at blanks into words; the array ends with NULL. */
static int split(char *line, char **words)
{
    int count = 0;
    char *rest = line;
    for (char *word; (word = strsep(&rest, " \t")) && count < WORDS - 1;)
        if (*word)
            words[count++] = word;
    words[count] = NULL;
    return count;
}

/* The expectation under one model: "OK D003" as such, or of "eager=OK rendezvous=D002+G001". */
static void expected_for(const char *expect, const char *model, char *out, size_t size)
{
    char key[32];
    snprintf(key, sizeof key, "%s=", model);
    const char *at = strstr(expect, key);
    if (at) {
        at += strlen(key);
        snprintf(out, size, "%.*s", (int)strcspn(at, " "), at);
        for (char *plus = out; (plus = strchr(plus, '+'));)
            *plus = ' ';
    } else {
        snprintf(out, size, "%s", strchr(expect, '=') ? "" : expect);
    }
    if (!strcasecmp(out, "OK"))
        *out = '\0';
}

static int compare_words(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Sorted, each word once: so that sets of codes compare as texts. */
static void normalise(char *text, size_t size)
{
    char copy[512], *words[WORDS];
    snprintf(copy, sizeof copy, "%s", text);
    int count = split(copy, words);
    qsort(words, (size_t)count, sizeof *words, compare_words);
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < count; i++)
        if (!i || strcmp(words[i], words[i - 1]))
            used += (size_t)snprintf(text + used, used < size ? size - used : 0, "%s%s",
                                     used ? " " : "", words[i]);
}

static void codes_of(const struct findings *findings, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity != SEVERITY_NOTE)
            used += (size_t)snprintf(text + used, used < size ? size - used : 0, "%s%s",
                                     used ? " " : "", findings->items[i].code);
    normalise(text, size);
}

/* A finding about what may happen must be shown by a real run of its witness. */
static void find_unconfirmed(const struct findings *findings, char *trouble, size_t size)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].witness && findings->items[i].confirmation == CONFIRM_ABSTRACT)
            snprintf(trouble, size, "%s was not confirmed by a real run", findings->items[i].code);
}

struct tally {
    int number, failed;
    bool verbose, table;
    FILE *findings;  /* what they say, NULL: not asked for */
    int part, parts; /* the part-th of so many, from 1; 0: all */
};

static void report_row(const struct tally *tally, bool good, const char *name, int ranks,
                       const char *model, const char *expected, const char *found)
{
    if (tally->number == 1)
        printf("%-34s %5s %-10s %-22s %-22s\n", "scenario", "ranks", "model", "expected", "found");
    printf("%-34s %5d %-10s %-22s %-22s %s\n", name, ranks, model, expected, found,
           good ? "equal" : "DIFFERS");
}

static void report(struct tally *tally, bool good, const struct catalogue_entry *entry, int ranks,
                   const char *model, const char *expected, const char *found, const char *trouble)
{
    tally->failed += !good;
    tally->number++;
    expected = *expected ? expected : "OK";
    char name[160];
    snprintf(name, sizeof name, "%s%s%s", entry->name, entry->variant[0] ? ":" : "",
             entry->variant);
    if (tally->table)
        report_row(tally, good, name, ranks, model, expected, *found ? found : "OK");
    else
        printf("%sok %d - %s/ranks=%d/%s: %s\n", good ? "" : "not ", tally->number, name, ranks,
               model, expected);
    if (!good)
        printf("  ---\n  expected: '%s'\n  got: '%s'\n  file: %s\n%s%s%s  ...\n", expected,
               *found ? found : "OK", entry->path, *trouble ? "  trouble: '" : "", trouble,
               *trouble ? "'\n" : "");
    fflush(stdout);
}

/* All that the run and its findings say, in words that are the same from run to run. */
static void report_findings(FILE *out, const struct catalogue_entry *entry, int ranks,
                            const char *model, const struct verdict *verdict)
{
    const struct trace *trace = verdict->result.trace;
    fprintf(out, "== %s%s%s/ranks=%d/%s\t%016llx\n", entry->name, entry->variant[0] ? ":" : "",
            entry->variant, ranks, model, trace ? (unsigned long long)trace_hash(trace) : 0ULL);
    struct present present;
    present_init(&present, out, "never");
    for (size_t i = 0; i < verdict->findings.count; i++)
        present_finding(&present, trace, &verdict->findings.items[i]);
}

static void run_entry(struct tally *tally, const struct catalogue_entry *entry, int ranks,
                      enum sim_send_model model)
{
    char expected[160], found[512] = "", arguments[256], options_line[280], *words[WORDS],
                        *option_words[WORDS];
    expected_for(entry->expect, trace_model_names[model], expected, sizeof expected);
    normalise(expected, sizeof expected);
    snprintf(arguments, sizeof arguments, "%s", entry->arguments);
    snprintf(options_line, sizeof options_line, "simrun %s", entry->options);
    char name[64];
    snprintf(name, sizeof name, "%s", entry->name);
    words[0] = name;
    int argc = 1 + split(arguments, words + 1);
    struct run_options options;
    run_options_init(&options);
    int option_count = split(options_line, option_words);
    struct failure failure = {0};
    if (options_parse("run", run_option_rows, &options, option_count, option_words) < 0)
        failure_set(&failure, FAILURE_USAGE, "unusable options: %s", entry->options);
    options.world.send_model = model;
    struct job job;
    struct verdict verdict = {0};
    int usual[64], usual_count;
    bool ran = !failure.code && session_prepare(entry->path, argc, words, &options, &job, usual, 64,
                                                &usual_count, &failure);
    if (ran) {
        snprintf(job.name, sizeof job.name, "%s", entry->name);
        job.quiet = !tally->verbose;
        job.timeout = job.timeout > 0 ? job.timeout : 60;
        ran = session_ranks(&job, &options, ranks, &failure) &&
              session_judge(&job, &options, &verdict, &failure);
    }
    if (failure.code == FAILURE_REQUIREMENT) {
        printf("%sok %d - %s%s%s/ranks=%d/%s # SKIP %s\n", tally->table ? "# " : "",
               ++tally->number, entry->name, entry->variant[0] ? ":" : "", entry->variant, ranks,
               trace_model_names[model], failure.text);
        verdict_release(&verdict);
        return;
    }
    if (ran)
        codes_of(&verdict.findings, found, sizeof found);
    if (ran)
        find_unconfirmed(&verdict.findings, failure.text, sizeof failure.text);
    if (ran && verdict.result.outcome == OUTCOME_TIMEOUT)
        snprintf(failure.text, sizeof failure.text, "timeout");
    if (ran && verdict.result.crash[0])
        snprintf(failure.text, sizeof failure.text, "%s", verdict.result.crash);
    if (tally->findings)
        report_findings(tally->findings, entry, ranks, trace_model_names[model], &verdict);
    report(tally, ran && !failure.text[0] && !strcmp(expected, found), entry, ranks,
           trace_model_names[model], expected, found, failure.text);
    verdict_release(&verdict);
}

/* Models under which an entry is run: those it names, or only eager. */
static bool runs_under(const struct catalogue_entry *entry, enum sim_send_model model)
{
    static const char *const keys[] = {"eager=", "rendezvous=", "batch="};
    return strchr(entry->expect, '=') ? strstr(entry->expect, keys[model]) != NULL
                                      : model == SIM_SEND_EAGER;
}

static int count_of(const struct catalogue_entry *entry)
{
    int count = 0;
    for (int model = SIM_SEND_EAGER; model <= SIM_SEND_BATCH; model++)
        if (runs_under(entry, (enum sim_send_model)model))
            count += entry->rank_count;
    return count;
}

static bool is_named(const struct catalogue_entry *entry, const char *pattern)
{
    return !pattern || strstr(entry->name, pattern);
}

/* Of the entries with this name those of the part: from, to. Parts follow each other. */
static int find_part(const struct catalogue *catalogue, const char *pattern,
                     const struct tally *tally, size_t range[2])
{
    int all = 0, before = 0, count = 0;
    for (size_t i = 0; i < catalogue->count; i++)
        all += is_named(&catalogue->entries[i], pattern) ? count_of(&catalogue->entries[i]) : 0;
    all = all ? all : 1;
    range[0] = range[1] = catalogue->count;
    for (size_t i = 0; i < catalogue->count; i++) {
        if (!is_named(&catalogue->entries[i], pattern))
            continue;
        int mine = count_of(&catalogue->entries[i]);
        if (!tally->parts || (long long)before * tally->parts / all + 1 == tally->part) {
            range[0] = count ? range[0] : i;
            range[1] = i + 1;
            count += mine;
        }
        before += mine;
    }
    return count;
}

static bool set_verbose(void *target, const char *value)
{
    (void)value;
    ((struct tally *)target)->verbose = true;
    return true;
}

static bool set_table(void *target, const char *value)
{
    (void)value;
    ((struct tally *)target)->table = true;
    return true;
}

static bool set_findings(void *target, const char *value)
{
    struct tally *tally = target;
    if (tally->findings)
        fclose(tally->findings);
    tally->findings = fopen(value, "w");
    if (!tally->findings)
        fprintf(stderr, "simrun catalogue: --findings %s: %s\n", value, strerror(errno));
    return tally->findings != NULL;
}

static bool set_part(void *target, const char *value)
{
    struct tally *tally = target;
    int end = 0;
    bool valid = sscanf(value, "%4d/%4d%n", &tally->part, &tally->parts, &end) == 2 &&
                 !value[end] && tally->part >= 1 && tally->part <= tally->parts;
    return valid || value_refused("part", value, "two numbers as 1/2: the first of two parts");
}

const struct option_row catalogue_option_rows[] = {
    {"findings", 0, "FILE", "also write what all findings say, and the traces' hashes",
     set_findings},
    {"part", 0, "I/N", "only the I-th of N parts, to run them side by side", set_part},
    {"table", 't', NULL, "a table of what is expected and what is found, instead of TAP",
     set_table},
    {"verbose", 'v', NULL, "show what the ranks print", set_verbose},
    {NULL, 0, NULL, NULL, NULL},
};

int command_catalogue(int argc, char **argv)
{
    struct tally tally = {0};
    struct command_words words = {.most = 1};
    int status = command_parse("catalogue", &tally, argc, argv, &words);
    if (status >= 0)
        return status;
    const char *pattern = words.count ? words.words[0] : NULL;
    struct catalogue catalogue;
    struct failure failure = {0};
    if (!catalogue_read(&catalogue, &failure)) {
        fprintf(stderr, "simrun catalogue: %s\n", failure.text);
        return failure.code;
    }
    size_t range[2];
    int count = find_part(&catalogue, pattern, &tally, range);
    if (!tally.table)
        printf("TAP version 13\n1..%d\n", count);
    for (size_t i = range[0]; i < range[1]; i++) {
        const struct catalogue_entry *entry = &catalogue.entries[i];
        if (!is_named(entry, pattern))
            continue;
        for (int model = SIM_SEND_EAGER; model <= SIM_SEND_BATCH; model++)
            for (int r = 0; runs_under(entry, (enum sim_send_model)model) && r < entry->rank_count;
                 r++)
                run_entry(&tally, entry, entry->ranks[r], (enum sim_send_model)model);
    }
    catalogue_release(&catalogue);
    if (tally.findings && fclose(tally.findings)) {
        fprintf(stderr, "simrun catalogue: cannot write all findings\n");
        return EXIT_INTERNAL;
    }
    if (tally.table)
        printf("%d of %d as expected\n", count - tally.failed, count);
    else if (tally.failed)
        printf("# %d of %d failed\n", tally.failed, count);
    return !count ? EXIT_NOTHING : tally.failed ? EXIT_FINDINGS : EXIT_PASSED;
}
