/* simrun run: compile, run, check, store, report. */
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/present.h"
#include "cli/run_options.h"
#include "cli/session.h"
#include "cli/tap.h"

#include <string.h>

static int report_failure(const struct failure *failure)
{
    fprintf(stderr, "simrun: %s\n", failure->text);
    return failure->code;
}

static void present(const struct job *job, const struct verdict *verdict)
{
    struct present present;
    present_init(&present, stdout, NULL);
    present_verdict(&present, job, &verdict->result, &verdict->findings, verdict->passed);
    for (size_t i = 0; i < verdict->findings.count; i++)
        present_finding(&present, verdict->result.trace, &verdict->findings.items[i], i);
}

static struct viz_run_info info_of(const struct job *job, const struct verdict *verdict)
{
    static const char *const models[] = {"eager", "rendezvous", "batch"};
    return (struct viz_run_info){
        .scenario = job->name,
        .verdict = verdict->passed ? "PASS" : "FAIL",
        .model = models[job->world.send_model],
        .version = SIMRUN_VERSION,
        .seed = job->world.seed,
        .ranks = (uint32_t)job->world.ranks,
        .seconds = (double)(verdict->result.ended_ns - verdict->result.started_ns) * 1e-9};
}

/* The files asked for; a failure to write one is worse than any finding. */
static int write_outputs(const struct job *job, const struct run_options *options,
                         const struct verdict *verdict, int status)
{
    struct failure failure = {0};
    const struct trace *trace = verdict->result.trace;
    if (!trace)
        return status;
    struct viz_options graph = viz_options_default();
    struct viz_run_info info = info_of(job, verdict);
    struct viz_report_run report = {&info, trace, &verdict->findings};
    bool good =
        !options->dot || output_graph(options->dot, trace, &verdict->findings, &graph, &failure);
    good = good && (!options->html || output_report(options->html, &report, 1, &failure));
    return good ? status : report_failure(&failure);
}

static int run_at(struct job *job, int ranks, const struct run_options *options)
{
    struct verdict verdict;
    struct failure failure = {0};
    job->world.ranks = ranks;
    int status;
    if (session_judge(job, options, &verdict, &failure)) {
        status = verdict.status;
        if (options->tap)
            tap_verdict(stdout, job, &verdict);
        else
            present(job, &verdict);
        status = write_outputs(job, options, &verdict, status);
    } else {
        status = report_failure(&failure);
        if (options->tap)
            printf("Bail out! %s\n", failure.text);
    }
    verdict_release(&verdict);
    return status;
}

static int usage(void)
{
    puts("usage: simrun [run] [options] SCENARIO [arguments]\n");
    options_help(run_option_rows);
    return EXIT_PASSED;
}

/* "simrun ring --ranks 16": the option came too late. */
static bool options_after_program(int argc, char **argv, int at)
{
    for (int i = at + 1; i < argc; i++) {
        for (const struct option_row *row = run_option_rows; row->name; row++) {
            char long_form[40];
            snprintf(long_form, sizeof long_form, "--%s", row->name);
            bool is_option =
                !strcmp(argv[i], long_form) ||
                (row->letter == 'n' && (!strcmp(argv[i], "-n") || !strcmp(argv[i], "-np")));
            if (!is_option || strchr(argv[at], '/'))
                continue;
            fprintf(
                stderr,
                "simrun run: options stand before the scenario; did you mean\n  simrun %s%s%s %s\n",
                argv[i], row->argument && i + 1 < argc ? " " : "",
                row->argument && i + 1 < argc ? argv[i + 1] : "", argv[at]);
            return true;
        }
    }
    return false;
}

int command_run(int argc, char **argv)
{
    struct run_options options;
    run_options_init(&options);
    int at = options_parse("run", run_option_rows, &options, argc, argv);
    if (at < 0)
        return EXIT_USAGE;
    if (options.help)
        return usage();
    if (at >= argc) {
        fputs("simrun run: no scenario given; see 'simrun list'\n", stderr);
        return EXIT_USAGE;
    }
    if (options_after_program(argc, argv, at))
        return EXIT_USAGE;
    struct job job;
    struct failure failure = {0};
    int ranks[64], count;
    /* A scenario's own options lie under those of the command line, its arguments give way to any
     * given here. */
    struct session_words words;
    run_options_init(&options);
    if (!session_entry(argv[at], &options, &words, &failure))
        return report_failure(&failure);
    options_parse("run", run_option_rows, &options, argc, argv);
    char **program = argv + at;
    int program_argc = argc - at;
    if (program_argc == 1 && words.argc) {
        memmove(words.argv + 1, words.argv, (size_t)words.argc * sizeof *words.argv);
        words.argv[0] = argv[at];
        words.argv[++words.argc] = NULL;
        program = words.argv;
        program_argc = words.argc;
    }
    if (!session_prepare(argv[at], program_argc, program, &options, &job, ranks, 64, &count,
                         &failure))
        return report_failure(&failure);
    if (options.rank_count) {
        count = options.rank_count;
        memcpy(ranks, options.ranks, sizeof options.ranks);
    }
    if (options.tap)
        tap_begin(stdout, count);
    int worst = EXIT_PASSED;
    for (int i = 0; i < count; i++) {
        int status = run_at(&job, ranks[i], &options);
        worst = status > worst ? status : worst;
    }
    return worst;
}
