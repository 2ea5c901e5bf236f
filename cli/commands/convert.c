/* simrun export and import: stored runs and trace files, from one form to another. */
#include "checker/check.h"

#include "cli/command.h"
#include "cli/options/shell_words.h"
#include "cli/options/show_options.h"
#include "cli/processes/progress_bar.h"
#include "cli/telling/outputs.h"
#include "cli/telling/run_store_load.h"
#include "cli/telling/run_store_write.h"
#include "recorder/recording.h"
#include "traces/formats/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Complains about a format that is unknown or cannot be used this way. */
static bool usable(const char *command, const char *name)
{
    const struct format *format = format_by_name(name);
    if (format && format->writes)
        return true;
    fprintf(stderr, "simrun %s: format '%s' %s; there are:", command, name,
            format ? "can only be read" : "does not exist");
    for (size_t i = 0; (format = format_at(i)); i++)
        if (format->writes)
            fprintf(stderr, " %s", format->name);
    fputc('\n', stderr);
    return false;
}

struct writing {
    const struct trace *trace;
    const struct findings *findings;
    const char *format;
};

static bool write_trace(void *context, FILE *out, struct failure *failure)
{
    const struct writing *writing = context;
    uint64_t folded = trace_folded_ops(writing->trace);
    if (folded)
        fprintf(stderr,
                "simrun: %" PRIu64 " operations of loop iterations that are like those around them "
                "are not in the output; record with --record events to have all\n",
                folded);
    return format_write(writing->trace, writing->findings, writing->format, out, failure);
}

/* A number is a run of the database, unless a file has that name; without a word the newest run. */
static bool is_run(const char *word)
{
    return !word || (stored_is_number(word) && access(word, F_OK));
}

static bool export_run(const struct show_options *options, const char *word,
                       struct failure *failure)
{
    struct stored stored;
    bool good = stored_open(&stored, options->database, word, failure);
    if (good) {
        struct writing writing = {stored.result.verdict.result.trace,
                                  &stored.result.verdict.findings, options->format};
        good = output_write(options->output, write_trace, &writing, failure);
    }
    stored_release(&stored);
    return good;
}

static bool export_file(const struct show_options *options, const char *path,
                        struct failure *failure)
{
    struct progress_bar bar;
    progress_bar_init(&bar, false);
    struct trace *trace = recording_read(path, &bar.base, failure);
    progress_bar_clear(&bar);
    if (!trace)
        return false;
    struct writing writing = {trace, NULL, options->format};
    bool good = output_write(options->output, write_trace, &writing, failure);
    trace_free(trace);
    return good;
}

int command_export(int argc, char **argv)
{
    struct show_options options;
    struct command_words words = {.most = 1};
    struct failure failure = {0};
    show_options_init(&options);
    int status = command_parse("export", &options, argc, argv, &words);
    if (status >= 0)
        return status;
    if (!usable("export", options.format))
        return EXIT_USAGE;
    const char *word = words.count ? words.words[0] : NULL;
    bool good =
        is_run(word) ? export_run(&options, word, &failure) : export_file(&options, word, &failure);
    return good ? EXIT_PASSED : command_fail("export", &failure);
}

/* Imported runs are judged at once, so that their findings are there to be shown. */
static bool import_file(struct store *store, struct progress_bar *bar, const char *path,
                        struct failure *failure)
{
    struct run_options options;
    struct check_options checks;
    struct verdict verdict = {0};
    struct job job = {0};
    char command[RESULT_COMMAND] = "simrun check ";
    verdict.result.trace = recording_read(path, &bar->base, failure);
    if (!verdict.result.trace)
        return false;
    run_options_init(&options);
    check_options_init(&checks);
    findings_init(&verdict.findings);
    verdict.result.outcome = verdict.result.trace->outcome;
    check_trace(verdict.result.trace, &checks, &verdict.findings);
    session_conclude(&options, &verdict);
    snprintf(job.name, sizeof job.name, "%s", path);
    job.world.ranks = (int)verdict.result.trace->ranks;
    shell_word_append(command, sizeof command, path);
    int64_t run = keep_begin(store, &job, command, 0, failure);
    bool good = run && keep_finish(store, run, &options, &verdict, failure);
    progress_bar_clear(bar);
    if (good)
        printf("run %lld: %s, %u ranks, %zu operations, %zu findings\n", (long long)run, path,
               verdict.result.trace->ranks, verdict.result.trace->op_count, verdict.findings.count);
    verdict_release(&verdict);
    return good;
}

int command_import(int argc, char **argv)
{
    struct show_options options;
    struct command_words words = {.least = 1, .most = COMMAND_ANY};
    struct failure failure = {0};
    struct store *store;
    show_options_init(&options);
    int status = command_parse("import", &options, argc, argv, &words);
    if (status >= 0)
        return status;
    if (!keep_open(options.database, &store, &failure))
        return command_fail("import", &failure);
    struct progress_bar bar;
    progress_bar_init(&bar, false);
    if (store)
        store_show_progress(store, &bar.base);
    status = EXIT_PASSED;
    for (int i = 0; i < words.count; i++) {
        failure = (struct failure){0};
        if (store && !import_file(store, &bar, words.words[i], &failure))
            status = exit_status_worse(status, command_fail("import", &failure));
    }
    store_close(store);
    return status;
}
