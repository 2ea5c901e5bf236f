/* simrun explore: every relevant interleaving of a program.
 *
 * The worlds run in a child process, many of them side by side, with nothing recorded: each is only
 * asked how it ended and what objective it computed. A choice sequence that fails is printed as
 * picks, which force the same run again. */
#include "cli/command.h"
#include "cli/run_options.h"
#include "cli/session.h"

#include "checker/explore.h"
#include "collectives/probe.h"
#include "sim/loader.h"
#include "sim/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct exploration {
    const struct job *job;
    struct sim_program *program;
    FILE *out; /* the command's result; the ranks' output goes nowhere */
};

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* What a run computed: its objectives and exit codes. */
static uint64_t fingerprint_of(const struct diff_probe *probe, const struct sim_world *world,
                               int ranks)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int r = 0; r < ranks; r++) {
        int code = sim_world_exit_code(world, r);
        hash = mix(hash, &code, sizeof code);
        for (size_t e = 0; e < probe->rows[r].epoch_count; e++)
            hash = mix(hash, &probe->rows[r].objectives[e].value, sizeof(double));
    }
    return hash;
}

static bool run_once(void *context, unsigned worker, struct explore_steer *steer,
                     struct explore_run *run)
{
    struct exploration *exploration = context;
    struct sim_world_options options = exploration->job->world;
    struct failure failure = {0};
    struct diff_probe probe;
    if (!diff_probe_init(&probe, options.ranks))
        return false;
    probe.order = exploration->job->order;
    probe.mutant = exploration->job->mutant;
    explore_steer_world(steer, &options);
    options.slots[MPIX_SLOT_PROBE] = &probe;
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world) {
        diff_probe_release(&probe);
        return false;
    }
    sim_run_signal_stack();
    struct sim_run body = {.program = exploration->program,
                           .first_image = (int)worker * options.ranks,
                           .argc = exploration->job->argc,
                           .argv = exploration->job->argv};
    run->outcome = sim_world_run(world, sim_run_body, &body);
    run->fingerprint = fingerprint_of(&probe, world, options.ranks);
    explore_run_take(run, sim_world_choices(world));
    for (int r = 0; r < options.ranks; r++)
        diff_state_release(sim_world_slots(world, r)[MPIX_SLOT_DIFF]);
    sim_world_free(world);
    diff_probe_release(&probe);
    return true;
}

static const char *outcome_name(enum trace_outcome outcome)
{
    static const char *const names[] = {"finished", "deadlock", "livelock",    "aborted",
                                        "crashed",  "timeout",  "interrupted", "imported"};
    return names[outcome];
}

static void print_report(FILE *out, const struct job *job, const struct explore_report *report)
{
    bool good = !report->failure_count && report->results <= 1;
    fprintf(out, "%s %s, %d ranks: %llu run%s explored, %s\n", good ? "PASS" : "FAIL", job->name,
            job->world.ranks, (unsigned long long)report->runs, report->runs == 1 ? "" : "s",
            report->diverged   ? "nothing proven: the program did not follow its picks"
            : report->complete ? "complete: there is no other"
                               : "bounded: not all of them");
    for (int i = 0; i < EXPLORE_OUTCOMES; i++)
        if (report->by_outcome[i])
            fprintf(out, "  %-10s %llu\n", outcome_name((enum trace_outcome)i),
                    (unsigned long long)report->by_outcome[i]);
    if (report->results > 1)
        fprintf(out, "  %llu different results among the runs that finished (R003)\n",
                (unsigned long long)report->results);
    for (size_t i = 0; i < report->failure_count; i++) {
        const struct explore_failure *failure = &report->failures[i];
        fprintf(out, "  %s\n", outcome_name(failure->outcome));
    }
}

static _Noreturn void explore_in_child(const struct job *job, uint64_t runs_max, int result)
{
    struct failure failure = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    FILE *out = fdopen(result, "w");
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    struct sim_program_options options = {.kind = job->loader,
                                          .images = job->world.ranks * job->workers,
                                          .own_threads = job->world.executor == SIM_THREADS};
    struct exploration exploration = {
        .job = job, .program = sim_program_open_as(job->object, &options, &failure), .out = out};
    if (!exploration.program || !out) {
        fprintf(stderr, "simrun explore: %s\n", failure.text);
        _exit(failure.code ? failure.code : EXIT_INTERNAL);
    }
    dup2(nowhere, STDERR_FILENO);
    struct explore_options explore_options;
    explore_options_init(&explore_options);
    explore_options.workers = (unsigned)job->workers;
    if (runs_max)
        explore_options.runs_max = runs_max;
    struct explore_report report;
    explore(&explore_options, run_once, &exploration, &report);
    print_report(out, job, &report);
    fflush(out);
    _exit(report.failed                                                   ? EXIT_INTERNAL
          : report.failure_count || report.results > 1 || report.diverged ? EXIT_FINDINGS
                                                                          : EXIT_PASSED);
}

static int explore_job(const struct job *job, uint64_t runs_max)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        explore_in_child(job, runs_max, dup(STDOUT_FILENO));
    int status;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child > 0 && WIFEXITED(status))
        return WEXITSTATUS(status);
    fprintf(stderr,
            "simrun explore: the process that ran the worlds was killed by signal %d (%s); "
            "'simrun run' of the same program shows where\n",
            WTERMSIG(status), strsignal(WTERMSIG(status)));
    return EXIT_FINDINGS;
}

int command_explore(int argc, char **argv)
{
    struct run_options options;
    uint64_t runs_max = 0;
    run_options_init(&options);
    if (argc > 2 && !strcmp(argv[1], "--runs")) {
        runs_max = strtoull(argv[2], NULL, 10);
        argv += 2;
        argc -= 2;
    }
    int at = options_parse("explore", run_option_rows, &options, argc, argv);
    if (at < 0)
        return EXIT_USAGE;
    if (options.help || at >= argc) {
        puts("usage: simrun explore [--runs MOST] [options of run] SCENARIO [arguments]\n\n"
             "Runs every relevant interleaving: each wildcard receive takes each possible sender, "
             "the ready\nqueue and Waitany each pick. Says 'complete' only when nothing is left.");
        return options.help ? EXIT_PASSED : EXIT_USAGE;
    }
    struct session_words words;
    struct failure failure = {0};
    struct job job;
    int ranks[64], count;
    run_options_init(&options);
    bool good = session_entry(argv[at], &options, &words, &failure);
    if (good)
        options_parse("explore", run_option_rows, &options, argc, argv);
    good = good && session_prepare(argv[at], argc - at, argv + at, &options, &job, ranks, 64,
                                   &count, &failure);
    if (!good) {
        fprintf(stderr, "simrun explore: %s\n", failure.text);
        return failure.code;
    }
    job.world.ranks = options.rank_count ? options.ranks[0] : ranks[0];
    return explore_job(&job, runs_max);
}
