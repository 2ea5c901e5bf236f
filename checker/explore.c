#include "checker/explore.h"

#include "checker/memory.h"

#include <mpix.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256 };

/* A subtree still to be explored: the picks that lead to it and the alternatives asleep at its
 * root: what they lead to is explored elsewhere. */
struct subtree {
    uint32_t *picks;
    size_t pick_count;
    struct sim_alternative *asleep;
    size_t asleep_count;
    double share; /* of the whole space, estimated */
};

struct explorer {
    const struct explore_options *options;
    struct explore_report *report;
    struct subtree *stack;
    size_t count, room;
    double done;
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

static void keep_failure(struct explorer *explorer, const struct explore_run *run)
{
    struct explore_report *report = explorer->report;
    for (size_t i = 0; i < report->failure_count; i++)
        if (report->failures[i].outcome == run->outcome &&
            report->failures[i].fingerprint == run->fingerprint)
            return;
    if (report->failure_count >= explorer->options->failures_max)
        return;
    size_t length = run->log.count;
    while (length > 0 && run->log.choices[length - 1].picked == 0)
        length--; /* the rest is default */
    size_t count;
    uint32_t *picks = copy_picks(&run->log, length, 0, &count);
    report->failures = check_grow(report->failures, &report->failure_room,
                                  report->failure_count + 1, sizeof *report->failures);
    report->failures[report->failure_count++] =
        (struct explore_failure){.outcome = run->outcome,
                                 .fingerprint = run->fingerprint,
                                 .picks = picks,
                                 .pick_count = count - 1};
}

static void count_run(struct explorer *explorer, const struct explore_run *run, bool redundant)
{
    struct explore_report *report = explorer->report;
    report->diverged = report->diverged || run->diverged;
    if (redundant) {
        report->redundant++;
        return;
    }
    report->runs++;
    report->by_outcome[run->outcome]++;
    if (run->outcome != OUTCOME_FINISHED)
        keep_failure(explorer, run);
    else if (is_new_fingerprint(report, run->fingerprint))
        report->results++;
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
    count_run(explorer, run, !goes_on);
    explorer->done += at.share;
    free(at.asleep);
}

/* ---- batches ---- */

static void release_subtree(struct subtree *subtree)
{
    free(subtree->picks);
    free(subtree->asleep);
}

static bool run_batch(struct explorer *explorer, explore_callback *callback, void *context)
{
    static const size_t batch_max = BATCH;
    struct subtree batch[BATCH];
    struct explore_run runs[BATCH] = {0};
    size_t count = explorer->count < batch_max ? explorer->count : batch_max;
    uint64_t left =
        explorer->options->runs_max - (explorer->report->runs + explorer->report->redundant);
    if (explorer->options->runs_max && count > left)
        count = left;
    for (size_t i = 0; i < count; i++)
        batch[i] = explorer->stack[--explorer->count];
    bool good = true;
    int workers =
        explorer->options->workers ? (int)explorer->options->workers : omp_get_max_threads();
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers) reduction(&& : good) if (count > 1)
    for (size_t i = 0; i < count; i++)
        good = callback(context, (unsigned)omp_get_thread_num(), batch[i].picks,
                        batch[i].pick_count, &runs[i]) &&
               good;
    for (size_t i = count;
         i-- > 0 && good;) /* the first taken is to be explored next: its children go on top */
        take_run(explorer, &batch[i], &runs[i]);
    for (size_t i = 0; i < count; i++) {
        release_subtree(&batch[i]);
        free(runs[i].log.choices);
        free(runs[i].log.alternatives);
    }
    return good;
}

static bool tell_progress(const struct explorer *explorer)
{
    struct explore_progress progress = {.runs =
                                            explorer->report->runs + explorer->report->redundant,
                                        .waiting = explorer->count,
                                        .done = explorer->done};
    return !explorer->options->progress ||
           explorer->options->progress(explorer->options->progress_context, &progress);
}

void explore(const struct explore_options *options, explore_callback *callback, void *context,
             struct explore_report *report)
{
    struct explorer explorer = {.options = options, .report = report};
    bool goes_on = true;
    *report = (struct explore_report){0};
    explorer.stack = check_grow(NULL, &explorer.room, 1, sizeof *explorer.stack);
    explorer.stack[explorer.count++] =
        (struct subtree){.picks = check_new(1, sizeof(uint32_t)),
                         .asleep = check_new(1, sizeof(struct sim_alternative)),
                         .share = 1};
    while (goes_on && explorer.count) {
        if (options->runs_max && report->runs + report->redundant >= options->runs_max)
            break;
        report->failed = !run_batch(&explorer, callback, context);
        goes_on = !report->failed && !report->diverged && tell_progress(&explorer);
    }
    report->complete = explorer.count == 0 && !report->failed && !report->diverged;
    for (size_t i = 0; i < explorer.count; i++)
        release_subtree(&explorer.stack[i]);
    free(explorer.stack);
}

void explore_report_release(struct explore_report *report)
{
    for (size_t i = 0; i < report->failure_count; i++)
        free(report->failures[i].picks);
    free(report->failures);
    free(report->fingerprints);
    *report = (struct explore_report){0};
}
