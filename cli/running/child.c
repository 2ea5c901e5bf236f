/* The child process of a run: see child.h. */
#include "cli/running/child.h"

#include "checker/explore/explore.h"
#include "cli/processes/isolate.h"
#include "cli/processes/sandbox.h"
#include "cli/processes/stopwatch.h"
#include "cli/running/rank_output.h"
#include "cli/running/sanitizer.h"
#include "collectives/gradcheck/gradcheck.h"
#include "recorder/recorder.h"
#include "recorder/recording.h"
#include "recorder/watch.h"
#include "sim/libc/hooks.h"
#include "sim/libc/process.h"
#include "sim/programs/loader.h"
#include "sim/programs/run_program.h"
#include "sim/worlds/open_handles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static _Noreturn void give_up(struct board *board, const struct failure *failure)
{
    board_note_failure(board, failure->code, failure->text);
    _exit(0);
}

/* Whoever gave a source does not know the object in the cache by its name. */
static void name_program(const struct job *job, struct failure *failure)
{
    size_t length = strlen(job->object);
    char rest[sizeof failure->text];
    if (!job->source[0] || strncmp(failure->text, job->object, length) != 0)
        return;
    snprintf(rest, sizeof rest, "%s", failure->text + length);
    failure_set(failure, failure->code, "%s%s", job->source, rest);
}

/* Everything the worlds of this process share. */
struct child {
    const struct job *job;
    struct board *board;
    struct rank_output *output;
    struct recording *recording; /* NULL: nothing is recorded */
    struct sim_program *program;
    struct sim_world *base; /* the first world: recorded, kept for the rows of the gradient check */
    struct child_answers {
        const struct diff_probe *like; /* in whose world they were noted */
        struct sim_answers *rows;
        bool forgotten;
    } answers[8];
    int answers_count;
};

/* One world of it. */
struct child_world {
    struct child *child;
    struct sim_run run;
    bool base;
    struct recording *watched; /* a world whose calls are watched: kept for that alone */
};

static void note_image(void *context, int rank, uintptr_t pc, uint64_t address)
{
    struct child_world *world = context;
    if (!world->base)
        return;
    world->child->board->ranks[rank].bias = pc - address;
    board_seal(world->child->board, rank);
}

static int world_body(void *context, int rank)
{
    struct child_world *world = context;
    child_signals_judge(world->base);
    if (world->base && world->child->recording && world->child->job->record != RECORD_LEVEL_NONE)
        recording_rank_begin(world->child->recording);
    if (world->watched)
        recording_rank_begin(world->watched);
    return sim_run_body(&world->run, rank);
}

static void note_ranks(const struct child *child)
{
    for (int r = 0; r < child->job->world.ranks; r++) {
        struct board_rank *row = &child->board->ranks[r];
        row->state = (int32_t)sim_world_rank_state(child->base, r);
        row->exit_code = sim_world_exit_code(child->base, r);
        if (row->exit_code && !row->place)
            row->place = (uint64_t)(uintptr_t)sim_world_rank_left_at(child->base, r);
        row->finalized = sim_world_rank_finalized(child->base, r);
        row->initialized = sim_world_rank_initialized(child->base, r);
        board_seal(child->board, r);
    }
}

/* Each once, as many as there is room for. */
static void board_warn(struct board *board, const char *text)
{
    for (int i = 0; i < BOARD_WARNINGS; i++) {
        if (!board->warnings[i][0])
            snprintf(board->warnings[i], sizeof board->warnings[i], "%s", text);
        if (!strncmp(board->warnings[i], text, sizeof board->warnings[i] - 1))
            return;
    }
}

static struct board *shared_board;

/* What a rank used that all ranks have in common. */
static void note_shared(const char *what)
{
    board_warn(shared_board, what);
}

static void note_warnings(struct board *board, const struct sim_program *program)
{
    for (int i = 0; sim_program_warning(program, i); i++)
        board_warn(board, sim_program_warning(program, i));
}

/* Exit codes other than 0 are findings of their own. */
static void record_left(struct sim_world *world, int ranks)
{
    for (int r = 0; r < ranks; r++)
        if (sim_world_rank_left(world, r) && !sim_world_exit_code(world, r)) {
            sim_world_impersonate(world, r);
            record_note_of(record_position_last(), sim_world_rank_left_at(world, r), "X008",
                           "ended without MPI_Finalize; call it on every way out");
        }
}

/* Faults that were asked for and had no occasion. */
static void record_unstruck(const struct child *child)
{
    const struct sim_world_options *options = &child->job->world;
    for (size_t i = 0; !child->job->restart && i < options->fault_count; i++) {
        const struct sim_fault *fault = &options->faults[i];
        if (sim_fault_struck(child->base, i))
            continue;
        sim_world_impersonate(child->base, fault->rank);
        record_gap("run", 1, "the fault %s:%d@%u did not strike: the rank has %u operations",
                   sim_fault_name(fault->kind), fault->rank, fault->op, record_position_last());
    }
}

static void note_end(const struct child *child, enum trace_outcome outcome)
{
    struct board *board = child->board;
    note_warnings(board, child->program); /* it may have opened libraries */
    board->steps = sim_world_steps(child->base);
    board->switches = sim_world_switches(child->base);
    board->stopped_ns = sim_world_stopped_ns(child->base);
    board->finished_ns = stopwatch_now();
    for (int r = 0; outcome != OUTCOME_FINISHED && r < child->job->world.ranks; r++) {
        sim_world_impersonate(child->base, r);
        record_pending(sim_request_peek);
    }
    for (int r = 0; r < child->job->world.ranks; r++)
        if (board->ranks[r].overflow) {
            sim_world_impersonate(child->base, r);
            record_note_of(
                record_position_last(), (const void *)(uintptr_t)(board->ranks[r].place + 1),
                "X004", "the stack overflowed; raise --stack-size or look for endless recursion");
        }
    sim_world_strays(child->base);
    if (outcome != OUTCOME_FINISHED)
        sim_world_detaching(child->base);
    record_left(child->base, child->job->world.ranks);
    record_unstruck(child);
    sim_world_impersonate(child->base, -1);
    note_ranks(child);
    if (child->job->steer)
        board->choices_made = explore_steer_done(child->job->steer);
    board->running = -1;
    board_note_outcome(board, outcome);
}

/* A sanitizer has found something in the rank that runs, and ends the process. */
static struct child *reporting;

static void note_report(const char *what, uint64_t place)
{
    int rank = sim_world_current_rank();
    if (rank < 0 || !reporting->base || !child_signals_is_judged())
        return;
    struct board_rank *row = &reporting->board->ranks[rank];
    record_site_enter((const void *)(uintptr_t)(place + 1));
    record_note("X001", "%s", what);
    record_site_leave();
    note_end(reporting, OUTCOME_CRASHED);
    row->state = RANK_CRASHED;
    row->exit_code = SIGABRT;
    row->place = place + 1;
    board_seal(reporting->board, rank);
    rank_output_finish(reporting->output, reporting->job->world.ranks);
    reporting->board->checked = 1;
    _exit(0);
}

/* Another thread begins to carry ranks of the world that is judged. */
static void carry_judged(void)
{
    sim_run_signal_stack();
    child_signals_judge(true);
}

enum { ANSWERS_MOST = 1 << 23 /* of a world: 64 MiB */ };

/* Where a world notes what its ranks learn that their code does not decide; NULL: it does not. */
static struct sim_answers *answers_new(struct child *child, const struct diff_probe *like)
{
    int at = 0, room = (int)(sizeof child->answers / sizeof *child->answers);
    while (at < child->answers_count && child->answers[at].like != like)
        at++;
    if (at == room)
        return NULL;
    struct child_answers *kept = &child->answers[at];
    for (int r = 0; kept->rows && r < child->job->world.ranks; r++)
        free(kept->rows[r].of);
    free(kept->rows);
    kept->like = like;
    kept->forgotten = false;
    kept->rows = calloc((size_t)child->job->world.ranks, sizeof *kept->rows);
    for (int r = 0; kept->rows && r < child->job->world.ranks; r++)
        kept->rows[r].most = ANSWERS_MOST / (size_t)child->job->world.ranks + 1024;
    child->answers_count += at == child->answers_count;
    return kept->rows;
}

/* What another world noted; NULL: nothing, or nothing to follow. */
static const struct sim_answers *answers_of(const struct child *child,
                                            const struct diff_probe *like)
{
    for (int i = 0; i < child->answers_count; i++)
        if (child->answers[i].like == like &&
            !__atomic_load_n(&child->answers[i].forgotten, __ATOMIC_RELAXED))
            return child->answers[i].rows;
    return NULL;
}

/* A world that followed them did not end: it asks something else (a perturbed one has no backward
 * passes, a small step may change what a program does). None follows them any more. */
static void answers_forget(struct child *child, const struct diff_probe *like)
{
    for (int i = 0; i < child->answers_count; i++)
        if (child->answers[i].like == like)
            __atomic_store_n(&child->answers[i].forgotten, true, __ATOMIC_RELAXED);
}

/* The order of arrival is the same in all worlds of one gradient, so that differences measure what
 * was differentiated. */
static void keep_answers(struct child *child, const struct diff_probe *probe,
                         struct sim_world_options *options)
{
    if (!probe->like || child->job->world.driver > SIM_CHOOSE_SEED ||
        !sim_program_calls(child->program, "diff_"))
        return;
    if (probe->like == probe)
        options->answers_noted = answers_new(child, probe);
    else
        options->answers_followed = answers_of(child, probe->like);
}

/* Runs the program once in a fresh world. The first world is the one that is recorded and judged.
 */
static int run_world(void *context, struct diff_probe *probe, int worker)
{
    struct child *child = context;
    struct failure failure = {0};
    bool base = !child->base;
    struct sim_world_options options = child->job->world;
    options.slots[MPIX_SLOT_PROBE] = probe;
    if (probe->repeat && child->job->vary != VARY_CHOICES)
        options.reduce_order = SIM_REDUCE_SEED;
    if (probe->repeat && child->job->vary != VARY_ORDER)
        options.driver = SIM_CHOOSE_SEED;
    if (probe->repeat)
        options.seed += (uint64_t)probe->repeat * 7919;
    uint64_t cost;
    if (probe->adverse && options.executor != SIM_THREADS)
        sim_world_options_adverse(&options, &cost);
    options.stale_memory = probe->stale_memory;
    keep_answers(child, probe, &options);
    if (!base || child->job->restart) /* what is compared is undisturbed; so is what starts again */
        options.fault_count = 0;
    options.first_failure = base ? &child->board->first_failure : NULL;
    options.running = base ? &child->board->running : NULL;
    options.carrier = carry_judged;
    options.wide_signal = BOARD_QUESTION;
    if (!base || !sim_program_may_move(child->program))
        options.wide = SIM_WIDE_NEVER;
    options.unable = &failure;
    struct child_world run = {.child = child, .base = base};
    if (probe->watch && !base) {
        options.slots[MPIX_SLOT_WATCH] = probe->watch;
        run.watched = recording_new((uint32_t)options.ranks, RECORD_LEVEL_OPS, &failure);
        if (!run.watched)
            give_up(child->board, &failure);
    }
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world)
        give_up(child->board, &failure);
    sim_run_signal_stack();
    if (base) {
        child->base = world;
        child_signals_world(world);
    }
    run.run = (struct sim_run){.program = child->program,
                               .first_image = worker * options.ranks,
                               .placed = note_image,
                               .context = &run};
    run.run.argv = job_arguments(child->job, &run.run.argc);
    enum trace_outcome outcome = sim_world_run(world, world_body, &run);
    probe->steps = sim_world_steps(world);
    if (failure.code)
        give_up(child->board, &failure);
    if (base) {
        for (int r = 0; child->recording && r < options.ranks; r++)
            recording_ahead(child->recording, (uint32_t)r,
                            sim_world_rank_state(world, r) == RANK_RUNNING);
        note_end(child, outcome);
        /* What further worlds print would only repeat it. */
        rank_output_finish(child->output, child->job->world.ranks);
        rank_output_silence(child->output);
    } else {
        sim_world_free(world);
    }
    if (run.watched) {
        probe->watch->over(probe->watch);
        recording_free(run.watched);
    }
    if (outcome == OUTCOME_FINISHED)
        return 0;
    if (!options.answers_followed)
        return 1;
    answers_forget(child, probe->like);
    return DIFF_RUN_AGAIN;
}

static void culprit_text(const struct gradcheck_culprit *culprit, char *text, size_t size)
{
    if (culprit->text[0])
        snprintf(text, size, "%s", culprit->text);
    else if (!culprit->marked)
        snprintf(text, size,
                 culprit->never_ran ? "the adjoint of %s%s%s%s never ran"
                                    : "the first wrong adjoint is that of %s%s%s%s",
                 culprit->name, *culprit->label ? " \"" : "", culprit->label,
                 *culprit->label ? "\"" : "");
    else if (culprit->before[0])
        snprintf(
            text, size,
            "the gradient of %s is the first wrong one: the adjoint of what leads from %s to %s "
            "is wrong, since the gradient of %s, marked before it, is right",
            culprit->name, culprit->name, culprit->before, culprit->before);
    else
        snprintf(
            text, size,
            "the gradient of %s is wrong, and it is the first that was marked: mark what comes "
            "between it and the loss to find the place",
            culprit->name);
}

/* The first wrong adjoint, at the operation and the line that it is about; at the line alone where
 * no operation is known to be wrong: none is accused. */
static void record_culprit(const struct child *child, const struct gradcheck_culprit *culprit)
{
    const char *code = culprit->missing ? "G006" : "G001";
    bool by_call = culprit->outside || (culprit->marked && culprit->before[0]);
    char text[400];
    if (!culprit->found && !culprit->text[0])
        return;
    sim_world_impersonate(child->base, culprit->rank);
    culprit_text(culprit, text, sizeof text);
    if (!culprit->found) { /* about no operation */
        record_note_at(0, code, text);
    } else if (by_call && culprit->position > 0 && culprit->position <= record_position()) {
        record_note_at(culprit->position, code, text);
    } else if (culprit->record) {
        record_node_enter(culprit->record);
        record_site_enter(culprit->site);
        record_note(code, "%s", text);
        record_site_leave();
        record_node_leave(culprit->record);
    } else {
        record_note_of(0, culprit->site, code, text);
    }
}

/* How far repetitions differ, and a finding when that is more than rounding. */
static void record_repeat(const struct gradcheck_repeat *repeat)
{
    if (repeat->worlds == 0)
        return;
    record_metric("gradient repetitions", repeat->worlds, "worlds");
    record_metric("gradient spread", repeat->spread, "units of precision");
    if (!(repeat->spread <= repeat->bound))
        record_note("G007",
                    "repeating the run gives another gradient: %s[%lld] of rank %d differs by %.3g "
                    "units of the precision; another order of the sums explains %.3g",
                    repeat->name, (long long)repeat->index, repeat->rank, repeat->spread,
                    repeat->bound);
}

/* Where differences may have measured another order of messages than was differentiated. */
static void record_order(const struct child *child)
{
    uint64_t missed = 0, forgotten = 0;
    for (int i = 0; i < child->answers_count; i++) {
        bool asked = false; /* else there was nothing to keep */
        for (int r = 0; child->answers[i].rows && r < child->job->world.ranks; r++) {
            const struct sim_answers *row = &child->answers[i].rows[r];
            missed += row->missed;
            asked |= row->count > 0 || row->unsure;
        }
        forgotten += asked && child->answers[i].forgotten;
    }
    record_gap("gradients", missed,
               "the order of messages in further runs: it was not kept behind a receive that is "
               "cancelled, and in ranks with threads");
    record_gap("gradients", forgotten > 0,
               "the order of messages in further runs: one that kept it did not end");
}

/* The rows go where everything about the run goes: into the recorder's buffers, each in its rank's
 * name. */
static void record_gradients(const struct child *child, const struct gradcheck_result *result)
{
    for (int r = 0; child->job->record == RECORD_LEVEL_NONE && r < child->job->world.ranks; r++) {
        sim_world_impersonate(child->base, r); /* the run itself left nothing */
        recording_rank_begin(child->recording);
    }
    for (size_t i = 0; i < result->row_count; i++) {
        sim_world_impersonate(child->base, (int)result->rows[i].check.rank);
        record_gradient_check(&result->rows[i].check, result->rows[i].name);
    }
    record_culprit(child, &result->culprit);
    sim_world_impersonate(child->base, 0);
    record_metric("gradient check worlds", result->worlds, "worlds");
    record_metric("gradient check points", result->points, "points");
    struct trace_answers answers = {0};
    for (size_t i = 0; i < result->row_count; i++)
        trace_answers_add(&answers, &result->rows[i].check);
    if (child->job->points > 0) /* whoever asked for them */
        record_gap("gradients", (uint64_t)result->points_outside,
                   "points beside the program's own where it does not finish or is not finite");
    record_gap("gradients", (uint64_t)result->ranks_together,
               "ranks whose inputs were moved along directions only, not one by one: in so large a "
               "world each move is a run of all ranks (--check-elements N moves them)");
    bool as_they_come =
        result->row_count > 0 && !result->failed && child->job->world.executor == SIM_THREADS;
    record_gap("gradients", result->memory_missed,
               "what is read of memory that was freed or never written: the run where that is "
               "overwritten did not finish");
    record_gap("gradients", result->delivery_missed || as_they_come,
               as_they_come
                   ? "deliveries of messages besides this one: not tried with OS threads"
                   : "deliveries of messages besides this one: the run with late messages did not "
                     "finish");
    record_gap(
        "gradients", result->step_refuted,
        "the complex step: differences contradict it, so that between a complex mark and the "
        "objective stands what is not analytic (abs, conj, a comparison)");
    record_gap("gradients", result->unsteady,
               "gradients of a program that computes something else each time it runs on the same "
               "inputs: a clock, random numbers or addresses decide");
    record_gap("gradients", answers.undecided,
               "gradients undecided: no oracle resolved three digits (simrun show gradients)");
    if (result->row_count > 0)
        record_order(child);
    gradcheck_record_curves(result);
    record_repeat(&result->repeat);
    sim_world_impersonate(child->base, -1);
}

static void check_gradients(struct child *child)
{
    struct gradcheck_options options = gradcheck_options_default();
    options.seed = child->job->world.seed;
    options.order = child->job->order;
    options.mutant = child->job->mutant;
    options.repeat = child->job->repeat;
    options.points = child->job->points;
    options.taylor = options.heat_map = options.sweep = child->recording != NULL;
    if (child->job->check_elements)
        options.elements_max = child->job->check_elements;
    struct diff_runner runner = {.run = run_world,
                                 .context = child,
                                 .ranks = child->job->world.ranks,
                                 .workers = child->job->workers};
    struct gradcheck_result result;
    if (!gradcheck_run(&runner, &options, &result) && child->recording)
        record_gradients(child, &result);
    gradcheck_release(&result);
}

/* A probe that only carries the options: for runs without a gradient check. */
static void run_plainly(struct child *child)
{
    struct diff_probe probe;
    if (!diff_probe_init(&probe, child->job->world.ranks))
        give_up(child->board, &(struct failure){FAILURE_INTERNAL, "out of memory"});
    probe.order = child->job->order;
    probe.mutant = child->job->mutant;
    run_world(child, &probe, 0);
}

/* Where the libraries lie that each rank has for itself, and what could not be so. */
static void note_program(struct board *board, const struct sim_program *program)
{
    struct sim_program_module module;
    board->image_size = sim_program_image_size(program);
    for (int i = 1; sim_program_module(program, i, &module) && board->modules_count < BOARD_MODULES;
         i++) {
        struct board_module *row = &board->modules[board->modules_count];
        if (strlen(module.path) >= sizeof row->path)
            continue; /* its sites stay unknown */
        *row = (struct board_module){module.low + module.shift, module.high + module.shift,
                                     module.shift, ""};
        strcpy(row->path, module.path);
        board->modules_count++;
    }
    note_warnings(board, program);
}

/* Programs and their libraries see how often the group was started again. */
static void restart_count_report(const struct job *job)
{
    char count[16], most[16];
    snprintf(count, sizeof count, "%d", job->restart);
    snprintf(most, sizeof most, "%d", job->restarts_max);
    setenv("SIMRUN_RESTART_COUNT", count, 1);
    setenv("SIMRUN_MAX_RESTARTS", most, 1);
}

void child_main(const struct job *job, struct board *board, struct rank_output *output,
                struct recording *recording)
{
    struct failure failure = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    isolate_rights();
    isolate_descriptors(-1);
    isolate_memory();
    dup2(STDERR_FILENO, STDOUT_FILENO); /* the ranks' output; the result is the parent's */
    rank_output_install(output);
    restart_count_report(job);
    struct child child = {.job = job, .board = board, .output = output, .recording = recording};
    if (job->quiet)
        rank_output_silence(output);
    struct sim_program_options options = {.kind = job->loader,
                                          .images = job->world.ranks *
                                                    (job->gradients ? job->workers : 1),
                                          .own_threads = job->world.executor != SIM_FIBERS,
                                          .shared_libraries = job->share};
    if (job->scratch && !sandbox_enter(job->scratch, child_signals_refused, &failure))
        give_up(board, &failure);
    if (job->scratch)
        sim_libc_cage();
    struct sim_program *program = sim_program_open_as(job->object, &options, &failure);
    if (!program) {
        name_program(job, &failure);
        give_up(board, &failure);
    }
    note_program(board, program);
    shared_board = board;
    sim_libc_on_shared(note_shared, job->world.executor == SIM_FIBERS);
    child_signals_install(board);
    sim_libc_guard_forks();
    if (recording)
        recording_images_scan(recording);
    child.program = program;
    reporting = &child;
    sanitizer_watch(note_report);
    if (job->gradients)
        check_gradients(&child);
    else
        run_plainly(&child);
    board->checked_ns = stopwatch_now();
    board->checked = 1;
    fflush(NULL);
    _exit(0);
}
