#include "checker/explore.h"

#include "checker/memory.h"

#include <mpix.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Subtrees taken at once, and runs each may take before the rest is shared again: fixed, so that
 * nothing depends on the team. */
enum { BATCH = 32, QUOTA = 64 };

/* A subtree still to be explored: the picks that lead to it and the alternatives asleep at its
 * root: what they lead to is explored elsewhere. */
struct subtree {
    uint32_t *picks;
    size_t pick_count;
    struct sim_alternative *asleep;
    size_t asleep_count;
    double share; /* of the whole space, estimated */
};

/* What is kept of a run until it is counted. */
struct record {
    enum trace_outcome outcome;
    uint64_t fingerprint;
    bool redundant, diverged;
    uint32_t *picks; /* of a run that did not finish */
    size_t pick_count;
};

/* One subtree's exploration up to its quota, by one thread; what is left of it goes back to the
 * common stack. */
struct explorer {
    const struct explore_options *options;
    struct subtree *stack;
    size_t count, room;
    struct record *records;
    size_t record_count, record_room;
    double done;
    bool failed;
};

static bool same_alternative(const struct sim_alternative *a, const struct sim_alternative *b)
{
    return a->rank == b->rank && a->object == b->object && a->source == b->source &&
           a->number == b->number;
}

static bool contains(const struct sim_alternative *set, size_t count,
                     const struct sim_alternative *one)
{
    for (size_t i = 0; i < count; i++)
        if (same_alternative(&set[i], one))
            return true;
    return false;
}

/* Matches at one receiver depend on each other; a rank's own choice changes nothing for the others.
 */
static size_t keep_independent(struct sim_alternative *set, size_t count, uint32_t rank)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (set[i].rank != rank)
            set[kept++] = set[i];
    return kept;
}

void explore_options_init(struct explore_options *options)
{
    *options = (struct explore_options){
        .runs_max = 1000000,
        .kinds = 1u << MPIX_CHOOSE_WILDCARD | 1u << MPIX_CHOOSE_READY | 1u << MPIX_CHOOSE_WAITANY,
        .failures_max = 16};
}

void explore_run_take(struct explore_run *run, const struct sim_choice_log *log)
{
    run->log =
        (struct sim_choice_log){.count = log->count, .alternative_count = log->alternative_count};
    run->log.choices = check_new(log->count, sizeof *log->choices);
    run->log.alternatives = check_new(log->alternative_count, sizeof *log->alternatives);
    if (log->count)
        memcpy(run->log.choices, log->choices, log->count * sizeof *log->choices);
    if (log->alternative_count)
        memcpy(run->log.alternatives, log->alternatives,
               log->alternative_count * sizeof *log->alternatives);
}

/* ---- results ---- */

static bool is_new_fingerprint(struct explore_report *report, uint64_t fingerprint)
{
    fingerprint += fingerprint == 0; /* 0 marks a free slot */
    if (2 * (report->results + 1) > report->fingerprint_room) {
        size_t room = report->fingerprint_room ? report->fingerprint_room * 2 : 64;
        uint64_t *old = report->fingerprints, *slots = check_new(room, sizeof *slots);
        for (size_t i = 0; i < report->fingerprint_room; i++)
            if (old[i]) {
                size_t at = old[i] * UINT64_C(0x9e3779b97f4a7c15) & (room - 1);
                while (slots[at])
                    at = (at + 1) & (room - 1);
                slots[at] = old[i];
            }
        free(old);
        report->fingerprints = slots;
        report->fingerprint_room = room;
    }
    size_t at = fingerprint * UINT64_C(0x9e3779b97f4a7c15) & (report->fingerprint_room - 1);
    while (report->fingerprints[at] && report->fingerprints[at] != fingerprint)
        at = (at + 1) & (report->fingerprint_room - 1);
    bool fresh = report->fingerprints[at] == 0;
    report->fingerprints[at] = fingerprint;
    return fresh;
}

/* What forces the run up to `depth` entries of its log and then `last`; entries without a choice
 * take no pick. */
static uint32_t *copy_picks(const struct sim_choice_log *log, size_t depth, uint32_t last,
                            size_t *count)
{
    uint32_t *picks = check_new(depth + 1, sizeof *picks);
    *count = 0;
    for (size_t i = 0; i < depth; i++)
        if (log->choices[i].n > 1)
            picks[(*count)++] = log->choices[i].picked;
    picks[(*count)++] = last;
    return picks;
}

static void keep_failure(struct explore_report *report, const struct explore_options *options,
                         struct record *record)
{
    for (size_t i = 0; i < report->failure_count; i++)
        if (report->failures[i].outcome == record->outcome &&
            report->failures[i].fingerprint == record->fingerprint)
            return;
    if (report->failure_count >= options->failures_max)
        return;
    report->failures = check_grow(report->failures, &report->failure_room,
                                  report->failure_count + 1, sizeof *report->failures);
    report->failures[report->failure_count++] =
        (struct explore_failure){.outcome = record->outcome,
                                 .fingerprint = record->fingerprint,
                                 .picks = record->picks,
                                 .pick_count = record->pick_count};
    record->picks = NULL;
}

static void count_run(struct explore_report *report, const struct explore_options *options,
                      struct record *record)
{
    report->diverged = report->diverged || record->diverged;
    if (record->redundant) {
        report->redundant++;
        return;
    }
    report->runs++;
    report->by_outcome[record->outcome]++;
    if (record->outcome != OUTCOME_FINISHED)
        keep_failure(report, options, record);
    else if (is_new_fingerprint(report, record->fingerprint))
        report->results++;
}

static void keep_record(struct explorer *explorer, const struct explore_run *run, bool redundant)
{
    struct record record = {.outcome = run->outcome,
                            .fingerprint = run->fingerprint,
                            .redundant = redundant,
                            .diverged = run->diverged};
    if (run->outcome != OUTCOME_FINISHED && !redundant) {
        size_t length = run->log.count, count;
        while (length > 0 && run->log.choices[length - 1].picked == 0)
            length--; /* the rest is default */
        record.picks = copy_picks(&run->log, length, 0, &count);
        record.pick_count = count - 1;
    }
    explorer->records = check_grow(explorer->records, &explorer->record_room,
                                   explorer->record_count + 1, sizeof *explorer->records);
    explorer->records[explorer->record_count++] = record;
}

/* ---- the tree ---- */

struct branching {
    struct explorer *explorer;
    const struct sim_choice_log *log;
    size_t depth;
    struct sim_alternative *asleep; /* at this depth; grows by the alternatives explored here */
    size_t asleep_count, asleep_room;
    double share;
};

static const struct sim_alternative *alternative_at(const struct branching *at, uint32_t pick)
{
    const struct sim_choice *choice = &at->log->choices[at->depth];
    if (choice->first_alternative == SIZE_MAX || choice->kind != MPIX_CHOOSE_WILDCARD)
        return NULL;
    return &at->log->alternatives[choice->first_alternative + pick];
}

static uint32_t rank_moved(const struct branching *at, uint32_t pick)
{
    const struct sim_alternative *alternative = alternative_at(at, pick);
    return alternative ? alternative->rank : at->log->choices[at->depth].rank;
}

static void put_to_sleep(struct branching *at, uint32_t pick)
{
    const struct sim_alternative *alternative = alternative_at(at, pick);
    if (!alternative)
        return;
    at->asleep = check_grow(at->asleep, &at->asleep_room, at->asleep_count + 1, sizeof *at->asleep);
    at->asleep[at->asleep_count++] = *alternative;
}

static bool is_asleep(const struct branching *at, uint32_t pick)
{
    const struct sim_alternative *alternative = alternative_at(at, pick);
    return alternative && contains(at->asleep, at->asleep_count, alternative);
}

static void add_subtree(struct explorer *explorer, struct subtree subtree)
{
    explorer->stack =
        check_grow(explorer->stack, &explorer->room, explorer->count + 1, sizeof *explorer->stack);
    explorer->stack[explorer->count++] = subtree;
}

static void push(struct branching *at, uint32_t pick, double share)
{
    struct explorer *explorer = at->explorer;
    struct subtree subtree = {.share = share};
    subtree.picks = copy_picks(at->log, at->depth, pick, &subtree.pick_count);
    subtree.asleep = check_new(at->asleep_count, sizeof *subtree.asleep);
    if (at->asleep_count)
        memcpy(subtree.asleep, at->asleep, at->asleep_count * sizeof *subtree.asleep);
    subtree.asleep_count = keep_independent(subtree.asleep, at->asleep_count, rank_moved(at, pick));
    explorer->stack =
        check_grow(explorer->stack, &explorer->room, explorer->count + 1, sizeof *explorer->stack);
    explorer->stack[explorer->count++] = subtree;
}

/* The alternatives of one choice: the run's own pick goes on, the others become subtrees. False:
 * the run's own pick is asleep, so the run repeats another from here on. */
static bool branch(struct branching *at)
{
    const struct sim_choice *choice = &at->log->choices[at->depth];
    uint32_t awake = 0;
    size_t before = at->asleep_count;
    for (uint32_t pick = 0; pick < choice->n; pick++)
        awake += !is_asleep(at, pick);
    bool goes_on = !is_asleep(at, choice->picked);
    double share = awake ? at->share / awake : 0;
    if (goes_on)
        put_to_sleep(at, choice->picked);
    for (uint32_t pick = 0; pick < choice->n; pick++) {
        if (pick == choice->picked || is_asleep(at, pick))
            continue;
        push(at, pick, share);
        put_to_sleep(at, pick);
    }
    if (awake)
        at->share = goes_on ? share : 0;
    at->asleep_count = keep_independent(at->asleep, before, rank_moved(at, choice->picked));
    return goes_on;
}

/* The entry of the log after the last forced pick. */
static size_t first_free(const struct sim_choice_log *log, size_t picks)
{
    size_t depth = 0;
    while (picks && depth < log->count)
        picks -= log->choices[depth++].n > 1;
    return depth;
}

static void take_run(struct explorer *explorer, const struct subtree *subtree,
                     const struct explore_run *run)
{
    struct branching at = {.explorer = explorer, .log = &run->log, .share = subtree->share};
    bool goes_on = true;
    at.depth = first_free(&run->log, subtree->pick_count);
    at.asleep = check_new(subtree->asleep_count, sizeof *at.asleep);
    at.asleep_room = at.asleep_count = subtree->asleep_count;
    if (at.asleep_count)
        memcpy(at.asleep, subtree->asleep, at.asleep_count * sizeof *at.asleep);
    for (; goes_on && at.depth < run->log.count; at.depth++)
        if (explorer->options->kinds >> run->log.choices[at.depth].kind & 1)
            goes_on = branch(&at);
    keep_record(explorer, run, !goes_on);
    explorer->done += at.share;
    free(at.asleep);
}

/* ---- batches ---- */

static void release_subtree(struct subtree *subtree)
{
    free(subtree->picks);
    free(subtree->asleep);
}

static void explore_subtree(struct explorer *explorer, uint64_t quota, explore_callback *callback,
                            void *context)
{
    while (explorer->count && explorer->record_count < quota && !explorer->failed) {
        struct subtree subtree = explorer->stack[--explorer->count];
        struct explore_run run = {0};
        explorer->failed = !callback(context, (unsigned)omp_get_thread_num(), subtree.picks,
                                     subtree.pick_count, &run);
        if (!explorer->failed)
            take_run(explorer, &subtree, &run);
        release_subtree(&subtree);
        free(run.log.choices);
        free(run.log.alternatives);
    }
}

/* Counts what one subtree gave and takes back what is left of it. */
static void collect(struct explorer *common, struct explorer *one, struct explore_report *report)
{
    for (size_t i = 0; i < one->record_count; i++) {
        count_run(report, common->options, &one->records[i]);
        free(one->records[i].picks);
    }
    for (size_t i = 0; i < one->count; i++)
        add_subtree(common, one->stack[i]);
    common->done += one->done;
    report->failed = report->failed || one->failed;
    free(one->stack);
    free(one->records);
}

static void run_batch(struct explorer *common, explore_callback *callback, void *context,
                      struct explore_report *report)
{
    struct explorer batch[BATCH];
    size_t count = common->count < BATCH ? common->count : BATCH;
    uint64_t left = common->options->runs_max
                        ? common->options->runs_max - report->runs - report->redundant
                        : UINT64_MAX;
    uint64_t quota = left / count < QUOTA ? left / count : QUOTA;
    if (quota == 0) {
        count = left;
        quota = 1;
    }
    for (size_t i = 0; i < count; i++) {
        batch[i] = (struct explorer){.options = common->options};
        add_subtree(&batch[i], common->stack[--common->count]);
    }
    int workers = common->options->workers ? (int)common->options->workers : omp_get_max_threads();
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers) if (count > 1)
    for (size_t i = 0; i < count; i++)
        explore_subtree(&batch[i], quota, callback, context);
    for (size_t i = count;
         i-- > 0;) /* the first taken is to be explored next: what is left of it goes on top */
        collect(common, &batch[i], report);
}

static bool tell_progress(const struct explorer *explorer, const struct explore_report *report)
{
    struct explore_progress progress = {.runs = report->runs + report->redundant,
                                        .waiting = explorer->count,
                                        .done = explorer->done};
    return !explorer->options->progress ||
           explorer->options->progress(explorer->options->progress_context, &progress);
}

void explore(const struct explore_options *options, explore_callback *callback, void *context,
             struct explore_report *report)
{
    struct explorer common = {.options = options};
    bool goes_on = true;
    *report = (struct explore_report){0};
    add_subtree(&common, (struct subtree){.picks = check_new(1, sizeof(uint32_t)),
                                          .asleep = check_new(1, sizeof(struct sim_alternative)),
                                          .share = 1});
    while (goes_on && common.count) {
        if (options->runs_max && report->runs + report->redundant >= options->runs_max)
            break;
        run_batch(&common, callback, context, report);
        goes_on = !report->failed && !report->diverged && tell_progress(&common, report);
    }
    report->complete = common.count == 0 && !report->failed && !report->diverged;
    for (size_t i = 0; i < common.count; i++)
        release_subtree(&common.stack[i]);
    free(common.stack);
}

void explore_report_release(struct explore_report *report)
{
    for (size_t i = 0; i < report->failure_count; i++)
        free(report->failures[i].picks);
    free(report->failures);
    free(report->fingerprints);
    *report = (struct explore_report){0};
}
