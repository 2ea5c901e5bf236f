/* The child process of an exploration: see explore_worlds.h. */
#include "cli/running/explore_worlds.h"

#include "cli/processes/exit_status.h"
#include "cli/processes/isolate.h"
#include "cli/processes/sandbox.h"
#include "cli/running/printed.h"
#include "collectives/experiment/probe.h"
#include "recorder/recording.h"
#include "sim/libc/process.h"
#include "sim/programs/loader.h"
#include "sim/programs/run_program.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

struct exploration {
    const struct job *job;
    struct explore_board *board;
    struct sim_program *program;
    bool *fickle;                  /* per rank: prints something else every time */
    struct recording **recordings; /* per worker; an item is NULL where there is no memory for it */
};

struct explored_world {
    struct sim_run run;
    struct recording *recording;
};

static int world_body(void *context, int rank)
{
    struct explored_world *world = context;
    if (world->recording)
        recording_rank_begin(world->recording);
    return sim_run_body(&world->run, rank);
}

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* A gradient up to rounding: nodes in another order add their contributions in another order. */
static uint64_t mix_gradient(uint64_t hash, const struct probe_input *input)
{
    double largest = 0;
    bool has = input->gradient != NULL;
    size_t parts = has ? probe_input_parts(input) : 0;
    for (size_t i = 0; i < parts; i++)
        largest = fmax(largest, fabs(input->gradient[i]));
    for (size_t i = 0; i < parts && largest > 0 && isfinite(largest); i++) {
        long long rounded = llround(input->gradient[i] / largest * 0x1p24);
        hash = mix(hash, &rounded, sizeof rounded);
    }
    return mix(hash, &has, sizeof has);
}

/* What a run computed: its objectives, its gradients and its exit codes. */
static uint64_t fingerprint_of(const struct diff_probe *probe, const struct sim_world *world,
                               int ranks)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int r = 0; r < ranks; r++) {
        int code = sim_world_exit_code(world, r);
        hash = mix(hash, &code, sizeof code);
        for (size_t e = 0; e < probe->rows[r].epoch_count; e++)
            hash = mix(hash, &probe->rows[r].objectives[e].value, sizeof(double));
        for (size_t i = 0; i < probe->rows[r].input_count; i++)
            hash = mix_gradient(hash, &probe->rows[r].inputs[i]);
    }
    return hash;
}

static bool has_bad_end(const struct sim_world *world, int ranks)
{
    for (int r = 0; r < ranks; r++)
        if (sim_world_exit_code(world, r))
            return true;
    return false;
}

/* Of runs that finish well what they print is a result, too. */
static void take_printed(const struct exploration *exploration, const struct printed *printed,
                         struct explore_run *run)
{
    int ranks = exploration->job->world.ranks;
    if (run->outcome != OUTCOME_FINISHED || run->failed)
        return;
    for (int rank = 0; rank < ranks; rank++) {
        uint64_t hash = print_hash_value(&printed[rank].hash);
        if (!exploration->fickle[rank])
            run->fingerprint = mix(run->fingerprint, &hash, sizeof hash);
    }
    run->printed = printed_text(printed, ranks);
}

static bool run_printing(const struct exploration *exploration, unsigned worker,
                         struct explore_steer *steer, struct explore_run *run,
                         struct printed *printed)
{
    struct sim_world_options options = exploration->job->world;
    struct failure failure = {0};
    struct diff_probe probe;
    if (!diff_probe_init(&probe, options.ranks))
        return false;
    probe.order = exploration->job->order;
    probe.mutant = exploration->job->mutant;
    explore_steer_world(steer, &options);
    options.slots[MPIX_SLOT_PROBE] = &probe;
    options.slots[MPIX_SLOT_PRINTED] = printed;
    options.first_failure = &exploration->board->first_failure;
    options.unable = &failure;
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world) {
        exploration->board->unable = failure;
        diff_probe_release(&probe);
        return false;
    }
    sim_run_signal_stack();
    struct explored_world body = {
        .run = {.program = exploration->program, .first_image = (int)worker * options.ranks},
        .recording = exploration->recordings[worker]};
    body.run.argv = job_arguments(exploration->job, &body.run.argc);
    if (body.recording)
        recording_clear(body.recording);
    run->outcome = sim_world_run(world, world_body, &body);
    run->conduct = body.recording ? recording_conduct(body.recording) : 0;
    run->fingerprint = fingerprint_of(&probe, world, options.ranks);
    run->failed = has_bad_end(world, options.ranks);
    take_printed(exploration, printed, run);
    explore_run_take(run, sim_world_choices(world));
    sim_world_free(world);
    diff_probe_release(&probe);
    if (failure.code) /* of this machine, not of the program */
        exploration->board->unable = failure;
    return !failure.code;
}

static struct printed *printed_new(const struct exploration *exploration)
{
    return calloc((size_t)exploration->job->world.ranks, sizeof(struct printed));
}

static bool run_once(void *context, unsigned worker, struct explore_steer *steer,
                     struct explore_run *run)
{
    const struct exploration *exploration = context;
    struct printed *printed = printed_new(exploration);
    bool good = printed && run_printing(exploration, worker, steer, run, printed);
    free(printed);
    return good;
}

/* The same run twice: which ranks print something else each time (clocks, addresses). True if some
 * do that were not known to. */
static bool find_fickle(struct exploration *exploration, const struct explore_failure *example)
{
    struct printed *printed[2] = {printed_new(exploration), printed_new(exploration)};
    bool good = printed[0] && printed[1], found = false;
    for (int i = 0; i < 2 && good; i++) {
        struct explore_steer *steer = explore_steer_new(example->choices, example->choice_count);
        struct explore_run run = {0};
        good = run_printing(exploration, 0, steer, &run, printed[i]);
        explore_steer_free(steer);
        explore_run_release(&run);
    }
    for (int rank = 0; rank < exploration->job->world.ranks && good; rank++)
        if (print_hash_value(&printed[0][rank].hash) != print_hash_value(&printed[1][rank].hash) &&
            !exploration->fickle[rank])
            found = exploration->fickle[rank] = true;
    free(printed[0]);
    free(printed[1]);
    return found;
}

/* Where runs differ, it is looked at whether the same run differs from itself; then what those
 * ranks print says nothing, and everything is explored without it. */
static void explore_printing(const struct explore_options *options, struct exploration *exploration,
                             struct explore_report *report)
{
    bool fickle = false;
    explore(options, run_once, exploration, report);
    while (report->results > 1 && report->example_count && !exploration->board->stop &&
           find_fickle(exploration, &report->examples[0])) {
        fickle = true;
        explore_report_release(report);
        explore(options, run_once, exploration, report);
    }
    report->gaps |= fickle ? SIM_GAP_PRINTED : 0;
    report->complete = report->complete && !fickle;
}

static bool report_board(void *context, const struct explore_progress *progress)
{
    struct explore_board *board = context;
    board->runs = progress->runs;
    board->many_kinds = progress->many_kinds;
    board->expected = (uint64_t)(progress->expected < 1e18 ? progress->expected : 1e18);
    return !board->stop;
}

/* Its size (0: none) and the text. */
static bool write_text(FILE *out, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    return fwrite(&size, sizeof size, 1, out) == 1 &&
           fwrite(text ? text : "", 1, size, out) == size;
}

static bool read_text(FILE *in, char **text)
{
    size_t size;
    *text = NULL;
    if (fread(&size, sizeof size, 1, in) != 1)
        return false;
    if (!size)
        return true;
    *text = malloc(size);
    return *text && fread(*text, 1, size, in) == size;
}

static bool write_runs(FILE *out, const struct explore_failure *runs, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        good = write_text(out, runs[i].printed) && fwrite(&runs[i], sizeof runs[i], 1, out) == 1 &&
               fwrite(runs[i].choices, sizeof *runs[i].choices, runs[i].choice_count, out) ==
                   runs[i].choice_count;
    return good;
}

/* The report as it is, then each kept run's choices. */
static bool write_report(FILE *out, const struct explore_report *report)
{
    return fwrite(report, sizeof *report, 1, out) == 1 &&
           write_runs(out, report->failures, report->failure_count) &&
           write_runs(out, report->examples, report->example_count) && fflush(out) == 0;
}

static bool read_runs(FILE *in, struct explore_failure **runs, size_t count)
{
    *runs = calloc(count + 1, sizeof **runs);
    bool good = *runs != NULL;
    for (size_t i = 0; i < count && good; i++) {
        struct explore_failure *run = &(*runs)[i];
        char *printed;
        good = read_text(in, &printed) && fread(run, sizeof *run, 1, in) == 1;
        run->printed = printed;
        run->choices = calloc(run->choice_count + 1, sizeof *run->choices);
        good =
            good && run->choices &&
            fread(run->choices, sizeof *run->choices, run->choice_count, in) == run->choice_count;
    }
    return good;
}

static bool read_report(FILE *in, struct explore_report *report)
{
    bool good = fread(report, sizeof *report, 1, in) == 1;
    if (!good)
        return false;
    report->fingerprints = report->conducts = (struct number_set){0};
    report->failures = report->examples = NULL;
    return read_runs(in, &report->failures, report->failure_count) &&
           read_runs(in, &report->examples, report->example_count);
}

/* What the ranks print would come once per run: it goes nowhere but into the comparison. */
_Noreturn static void explore_in_child(const struct job *job, const struct explore_options *wanted,
                                       struct explore_board *board, FILE *result)
{
    struct failure failure = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    isolate_rights();
    int report_file = isolate_descriptors(fileno(result));
    isolate_memory();
    signal(SIGINT, SIG_IGN); /* the parent's affair */
    signal(SIGTERM, SIG_IGN);
    struct sim_program_options options = {.kind = job->loader,
                                          .images = job->world.ranks * job->workers,
                                          .own_threads = job->world.executor != SIM_FIBERS,
                                          .shared_libraries = job->share};
    if (job->scratch && !sandbox_enter(job->scratch, NULL, &failure)) {
        fprintf(stderr, "simrun explore: %s\n", failure.text);
        _exit(failure.code);
    }
    if (job->scratch)
        sim_libc_cage();
    struct exploration exploration = {.job = job,
                                      .board = board,
                                      .program =
                                          sim_program_open_as(job->object, &options, &failure)};
    if (!exploration.program) {
        fprintf(stderr, "simrun explore: %s\n", failure.text);
        _exit(failure.code ? failure.code : EXIT_INTERNAL);
    }
    exploration.recordings = calloc((size_t)job->workers, sizeof *exploration.recordings);
    for (int i = 0; exploration.recordings && i < job->workers; i++)
        exploration.recordings[i] =
            recording_new((uint32_t)job->world.ranks, RECORD_LEVEL_OPS, &failure);
    exploration.fickle = calloc((size_t)job->world.ranks, sizeof *exploration.fickle);
    if (!exploration.recordings || !exploration.fickle || !printed_install())
        _exit(EXIT_INTERNAL);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    struct explore_options explore_options = *wanted;
    struct explore_report report;
    explore_options.progress = report_board;
    explore_options.progress_context = board;
    explore_printing(&explore_options, &exploration, &report);
    FILE *out = fdopen(report_file, "w");
    _exit(out && write_report(out, &report) ? EXIT_PASSED : EXIT_INTERNAL);
}

struct explore_board *explore_board_new(void)
{
    void *board = mmap(NULL, sizeof(struct explore_board), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return NULL;
    ((struct explore_board *)board)->first_failure.rank = -1;
    return board;
}

void explore_board_free(struct explore_board *board)
{
    munmap(board, sizeof *board);
}

pid_t explore_worlds_begin(const struct job *job, const struct explore_options *options,
                           struct explore_board *board, FILE *result)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        explore_in_child(job, options, board, result);
    return child;
}

bool explore_worlds_end(FILE *result, struct explore_report *report)
{
    rewind(result);
    return read_report(result, report);
}
