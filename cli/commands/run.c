/* simrun run: compile, run, check, report; once for every number of ranks and progress model. */
#include "cli/command.h"
#include "cli/options/catalogue.h"
#include "cli/options/of_mpirun.h"
#include "cli/options/shell_words.h"
#include "cli/processes/interrupt.h"
#include "cli/telling/outputs.h"
#include "cli/telling/results.h"
#include "cli/telling/run_store_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void run_all(struct results *results, struct job *job, const int *ranks, int count)
{
    int done = 0;
    for (int i = 0; i < count; i++) {
        for (int model = SIM_SEND_EAGER; model <= SIM_SEND_BATCH; model++) {
            if (results->options->all_models)
                job->world.send_model = (enum sim_send_model)model;
            else if (model)
                continue;
            if (interrupt_signal())
                return;
            struct failure failure = {0};
            if (!session_ranks(job, results->options, ranks[i], &failure)) {
                results_fail(results, job, &failure);
                return;
            }
            if (results->expected > 1)
                snprintf(results->bar.before, sizeof results->bar.before, "run %d of %d: ", ++done,
                         results->expected);
            results_run(results, job);
        }
    }
}

/* "simrun ring --ranks 16": the option came too late. */
static bool options_after_program(int argc, char **argv, int at)
{
    for (int i = at + 1; i < argc && !strchr(argv[at], '/'); i++) {
        for (const struct option_row *row = run_option_rows; row->name; row++) {
            size_t length = strlen(row->name);
            bool is_long = !strncmp(argv[i], "--", 2) && !strncmp(argv[i] + 2, row->name, length) &&
                           (!argv[i][length + 2] || argv[i][length + 2] == '=');
            bool is_ranks = row->letter == 'n' && (!strncmp(argv[i], "-n", 2));
            if (!is_long && !is_ranks)
                continue;
            bool value = row->argument && !strchr(argv[i], '=') &&
                         (is_long || !argv[i][2] || !strcmp(argv[i], "-np")) && i + 1 < argc;
            fprintf(stderr,
                    "simrun run: options stand before the scenario; did you mean\n"
                    "  simrun %s%s%s %s\n",
                    argv[i], value ? " " : "", value ? argv[i + 1] : "", argv[at]);
            return true;
        }
    }
    return false;
}

/* "simrun --db FILE show": the command stands first, its options behind it. */
static bool is_late_command(int argc, char **argv, int at)
{
    if (at < 2 || !command_find(argv[at]) || !access(argv[at], F_OK))
        return false;
    fprintf(stderr, "simrun: the command stands before its options; did you mean\n  simrun %s",
            argv[at]);
    for (int i = 1; i < argc; i++)
        if (i != at)
            fprintf(stderr, " %s", argv[i]);
    fputc('\n', stderr);
    return true;
}

/* "simrun shwo": neither a file nor a scenario, but nearly a command. */
static bool is_misspelt_command(const char *word)
{
    struct catalogue catalogue;
    struct failure failure = {0};
    if (strchr(word, '/') || !access(word, F_OK))
        return false;
    bool known = catalogue_read(&catalogue, &failure) && catalogue_find(&catalogue, word);
    const char *scenario = known ? NULL : catalogue_did_you_mean(&catalogue, word);
    const char *command = known ? NULL : command_near(word);
    if (command)
        fprintf(stderr,
                "simrun: no command, scenario or file '%s'; did you mean 'simrun %s'%s%s%s?\n",
                word, command, scenario ? " or the scenario '" : "", scenario ? scenario : "",
                scenario ? "'" : "");
    catalogue_release(&catalogue);
    return command != NULL;
}

/* --gdb and --wrapper: this command line again, under another program. Returns only on failure. */
static int run_under(const struct run_options *options, int argc, char **argv)
{
    char gdb[] = "gdb -q -ex 'set follow-fork-mode child' -ex 'handle SIGURG nostop noprint' "
                 "--args",
         line[1024], own[600], *words[COMMAND_WORDS + 64];
    snprintf(line, sizeof line, "%s", options->gdb ? gdb : options->wrapper);
    int count = shell_words_split(line, words, 60);
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (count < 1 || length < 0 || argc > COMMAND_WORDS) {
        fprintf(stderr, "simrun run: --wrapper '%s' is no command\n", line);
        return EXIT_USAGE;
    }
    own[length] = '\0';
    words[count++] = own;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--gdb") || !strncmp(argv[i], "--wrapper=", 10))
            continue;
        if (!strcmp(argv[i], "--wrapper"))
            i++;
        else
            words[count++] = argv[i];
    }
    words[count] = NULL;
    execvp(words[0], words);
    fprintf(stderr, "simrun run: cannot run %s: %s\n", words[0], strerror(errno));
    return EXIT_REQUIREMENT;
}

static int run_program(int argc, char **argv, struct run_options *options,
                       struct session_words *own)
{
    struct job job;
    struct failure failure = {0};
    struct results results;
    int ranks[64], count;
    char **program;
    argc = session_program(argc, argv, own, &program);
    if (!session_prepare(argv[0], argc, program, options, &job, ranks, 64, &count, &failure))
        return results_refuse(options, argv[0], &failure);
    if (options->rank_count) {
        count = options->rank_count;
        memcpy(ranks, options->ranks, sizeof ranks);
    }
    if (!outputs_can_be_written(options))
        return EXIT_INTERNAL;
    interrupt_install();
    struct store *store;
    if (!keep_open(options->database, &store, &failure))
        return results_refuse(options, argv[0], &failure);
    results_begin(&results, options, count * (options->all_models ? 3 : 1));
    results.store = store;
    job.progress = &results.bar.base;
    if (store)
        store_show_progress(store, &results.bar.base);
    run_all(&results, &job, ranks, count);
    return results_end(&results);
}

int command_run(int argc, char **argv)
{
    struct run_options options;
    run_options_init(&options);
    int at = options_parse("run", run_option_rows, &options, argc, argv);
    if (at < 0)
        return EXIT_USAGE;
    if (options.help) {
        command_help(command_find("run"));
        return EXIT_PASSED;
    }
    if (at >= argc) {
        fputs("simrun run: no scenario given; see 'simrun list'\n", stderr);
        return EXIT_USAGE;
    }
    if (of_mpirun_tell(argc, argv, at) || options_after_program(argc, argv, at) ||
        is_late_command(argc, argv, at) || !run_options_agree("run", &options) ||
        (argv[0] != NULL && is_misspelt_command(argv[at])))
        return EXIT_USAGE;
    if (options.gdb || options.wrapper)
        return run_under(&options, argc, argv);
    /* A scenario's own options lie under those of the command line. */
    struct session_words own;
    struct failure failure = {0};
    run_options_init(&options);
    if (!session_entry(argv[at], &options, &own, &failure)) {
        fprintf(stderr, "simrun: %s\n", failure.text);
        return failure.code;
    }
    if (options_parse("run", run_option_rows, &options, argc, argv) < 0)
        return EXIT_USAGE;
    return run_program(argc - at, argv + at, &options, &own);
}
