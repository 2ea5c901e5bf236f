#include "checker/explore/explore.h"

#include "checker/explore/choice_table.h"
#include "checker/explore/guided_run.h"
#include "checker/explore/races.h"
#include "checker/memory.h"
#include "sim/worlds/choose.h"

#include <mpix.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Runs taken at once: fixed, so that nothing depends on the team. */
enum {
    BATCH = 64,
    WAITING_MAX = 50000, /* more are not let grow */
    ORDERLY = 256        /* after so many runs every other one makes by chance what is left to it */
};

/* A run that somebody asks for: the choices it must make. */
struct request {
    struct request *next;
    size_t count;
    uint32_t choices[];
};

/* A branch of the tree: runs that make the first `level` choices of the node and not the next one.
 * The first of them that is run becomes the child, below which the others are sorted in. */
struct slot {
    struct node *node; /* NULL: the root's */
    uint32_t level;
    struct node *child;
    struct request *pending, **last;
    bool queued;
    struct slot *next;
};

/* A run, with the choices it made beyond those of its slot, in order. */
struct node {
    struct slot *slot, *branches;
    uint32_t count;
    uint32_t choices[];
};

struct explorer {
    const struct explore_options *options;
    struct explore_report *report;
    struct choice_table table;
    struct number_set asked; /* sets of choices that were asked for or run */
    struct slot root;
    struct slot **stack; /* the branches that wait: `count` from `first` on */
    size_t first, count, room;
    double widths;
    struct sim_late *late; /* receives that runs so far cancelled after they had their message */
    size_t late_count, late_room;
    struct number_set matter; /* locks whose order matters in a run so far */
    bool again; /* another of either was found: everything from the start, with it known */
};

/* One run of a batch. */
struct task {
    struct slot *slot;
    struct explore_steer steer;
    size_t required; /* the first so many forced choices lead to the slot */
    struct explore_run run;
    struct explore_races races;
    bool good;
};

void explore_options_init(struct explore_options *options)
{
    *options = (struct explore_options){
        .runs_max = 1000000,
        .kinds = 1u << MPIX_CHOOSE_WILDCARD | 1u << MPIX_CHOOSE_READY | 1u << MPIX_CHOOSE_WAITANY,
        .failures_max = 16,
        .examples_max = 32};
}

void explore_run_take(struct explore_run *run, const struct sim_choice_log *log)
{
    run->log = (struct sim_choice_log){.count = log->count,
                                       .alternative_count = log->alternative_count,
                                       .event_count = log->event_count,
                                       .gaps = log->gaps};
    run->log.events = check_new(log->event_count, sizeof *log->events);
    if (log->event_count)
        memcpy(run->log.events, log->events, log->event_count * sizeof *log->events);
    run->log.choices = check_new(log->count, sizeof *log->choices);
    run->log.alternatives = check_new(log->alternative_count, sizeof *log->alternatives);
    if (log->count)
        memcpy(run->log.choices, log->choices, log->count * sizeof *log->choices);
    if (log->alternative_count)
        memcpy(run->log.alternatives, log->alternatives,
               log->alternative_count * sizeof *log->alternatives);
}

/* ---- results ---- */

static void keep_run(struct explore_failure *kept, struct explore_run *run,
                     const struct explore_races *races)
{
    *kept = (struct explore_failure){.outcome = run->outcome,
                                     .fingerprint = run->fingerprint,
                                     .conduct = run->conduct,
                                     .ended_badly = run->failed,
                                     .printed = run->printed,
                                     .choices = check_new(races->move_count, sizeof *kept->choices),
                                     .choice_count = races->move_count};
    if (races->move_count)
        memcpy(kept->choices, races->moves, races->move_count * sizeof *kept->choices);
    run->printed = NULL; /* kept */
}

static void keep_failure(struct explorer *explorer, struct explore_run *run,
                         const struct explore_races *races)
{
    struct explore_report *report = explorer->report;
    for (size_t i = 0; i < report->failure_count; i++)
        if (report->failures[i].outcome == run->outcome &&
            report->failures[i].fingerprint == run->fingerprint &&
            report->failures[i].conduct == run->conduct)
            return;
    report->more_failures = report->failure_count >= explorer->options->failures_max;
    if (report->more_failures)
        return;
    report->failures = check_grow(report->failures, &report->failure_room,
                                  report->failure_count + 1, sizeof *report->failures);
    keep_run(&report->failures[report->failure_count++], run, races);
}

/* Beyond the bound only the second result, however late it comes: two are there to compare. */
static void keep_example(struct explorer *explorer, struct explore_run *run,
                         const struct explore_races *races, bool other)
{
    struct explore_report *report = explorer->report;
    if (report->example_count >= explorer->options->examples_max && (!other || report->results > 2))
        return;
    report->examples = check_grow(report->examples, &report->example_room,
                                  report->example_count + 1, sizeof *report->examples);
    keep_run(&report->examples[report->example_count++], run, races);
}

static void count_run(struct explorer *explorer, struct task *task)
{
    struct explore_report *report = explorer->report;
    struct explore_run *run = &task->run;
    report->runs++;
    report->by_outcome[run->outcome]++;
    report->gaps |= run->log.gaps | (explore_locks_lazy(&run->log) ? SIM_GAP_LAZY : 0u);
    explorer->widths += task->races.width;
    if (run->outcome != OUTCOME_FINISHED || run->failed) {
        report->ended_badly += run->outcome == OUTCOME_FINISHED;
        keep_failure(explorer, run, &task->races);
        return;
    }
    bool other = number_set_add(&report->fingerprints, run->fingerprint);
    uint64_t kind = (run->fingerprint ^ run->conduct) * 0x9e3779b97f4a7c15u ^ run->conduct;
    report->results += other;
    if (number_set_add(&report->conducts, kind)) {
        report->kinds++;
        keep_example(explorer, run, &task->races, other);
    }
}

/* ---- the tree ---- */

static void enqueue(struct explorer *explorer, struct slot *slot)
{
    if (slot->queued)
        return;
    slot->queued = true;
    if (explorer->first > explorer->count) {
        memmove(explorer->stack, explorer->stack + explorer->first,
                explorer->count * sizeof(struct slot *));
        explorer->first = 0;
    }
    size_t end = explorer->first + explorer->count++;
    explorer->stack = check_grow(explorer->stack, &explorer->room, end + 1, sizeof(struct slot *));
    explorer->stack[end] = slot;
}

/* In turn one of the youngest, the oldest, and any: the young ones are done with soon, but differ
 * from each other late in the run; the old ones differ least from the first run, early or late.
 * Where not all can be run, some of each kind are. */
static struct slot *dequeue(struct explorer *explorer, size_t turn)
{
    struct slot **slots = explorer->stack + explorer->first;
    size_t last = --explorer->count;
    struct slot *young = slots[last];
    if (turn % 4 == 1) {
        explorer->first++;
        return slots[0];
    }
    size_t any = turn % 4 == 3 ? sim_random(last, explorer->report->runs) % (last + 1) : last;
    struct slot *slot = slots[any];
    slots[any] = young;
    return slot;
}

static struct slot *branch_at(struct node *node, uint32_t level)
{
    struct slot *slot = node->branches;
    while (slot && slot->level != level)
        slot = slot->next;
    if (slot)
        return slot;
    slot = check_new(1, sizeof *slot);
    *slot = (struct slot){.node = node, .level = level, .next = node->branches};
    slot->last = &slot->pending;
    node->branches = slot;
    return slot;
}

/* Whether a run can make only one of the two: they are of one taker, or take one message. */
static bool exclude_each_other(const struct explore_choice *a, const struct explore_choice *b)
{
    bool same_taker = a->kind == b->kind && a->rank == b->rank && a->object == b->object;
    bool same_message = a->kind <= SIM_TAKER_PROBE && b->kind <= SIM_TAKER_PROBE &&
                        a->source != SIM_NOTHING && a->rank == b->rank && a->source == b->source &&
                        a->number == b->number && a->box == b->box;
    return same_taker || same_message || explore_same_lock(a, b);
}

/* Whether nothing that the request wants stands against the choice: then what it wants is explored
 * together with the choice, and what takes the choice's place is asked for from there. */
static bool goes_with(const struct explorer *explorer, const struct request *request,
                      uint32_t choice)
{
    const struct explore_choice *items = explorer->table.items;
    for (size_t i = 0; i < request->count; i++)
        if (exclude_each_other(&items[request->choices[i]], &items[choice]))
            return false;
    return true;
}

/* Sorts a request (whose choices are stamped) into the tree below a node; what a run there does
 * anyway, or can do besides, is dropped. */
static void sort_in(struct explorer *explorer, struct node *node, struct request *request)
{
    while (node) {
        uint32_t level = 0;
        while (level < node->count &&
               choice_table_is_stamped(&explorer->table, node->choices[level]))
            level++;
        if (level == node->count || goes_with(explorer, request, node->choices[level]))
            break;
        struct slot *slot = branch_at(node, level);
        node = slot->child;
        if (node)
            continue;
        *slot->last = request;
        slot->last = &request->next;
        enqueue(explorer, slot);
        return;
    }
    free(request);
}

static void ask(struct explorer *explorer, const struct task *task, const uint32_t *moves,
                size_t race)
{
    const struct explore_races *races = &task->races;
    const uint64_t *kept = races->kept + race * races->words;
    struct request *request = malloc(sizeof *request + (races->move_count + 1) * sizeof(uint32_t));
    if (!request)
        abort();
    request->next = NULL;
    request->count = 0;
    request->choices[request->count++] =
        choice_table_number(&explorer->table, &races->races[race].instead);
    for (size_t m = 0; m < races->move_count; m++)
        if (kept[m / 64] >> m % 64 & 1)
            request->choices[request->count++] = moves[m];
    if (number_set_add(&explorer->asked,
                       choice_table_stamp(&explorer->table, request->choices, request->count)))
        sort_in(explorer, explorer->root.child, request);
    else
        free(request);
}

/* The run becomes the child of its slot; what else the slot was asked for is sorted in below. */
static void add_node(struct explorer *explorer, struct task *task, const uint32_t *moves)
{
    struct slot *slot = task->slot;
    struct choice_table *table = &explorer->table;
    size_t count = task->races.move_count;
    uint32_t *required = check_new(task->required, sizeof *required);
    for (size_t i = 0; i < task->required; i++)
        required[i] = choice_table_number(table, &task->steer.forced[i]);
    choice_table_stamp(table, required, task->required);
    struct node *node = check_new(1, sizeof *node + count * sizeof(uint32_t));
    node->slot = slot;
    for (size_t m = 0; m < count; m++)
        if (!choice_table_is_stamped(table, moves[m]))
            node->choices[node->count++] = moves[m];
    slot->child = node;
    struct request *request = slot->pending;
    slot->pending = NULL;
    slot->last = &slot->pending;
    while (request) {
        struct request *next = request->next;
        request->next = NULL;
        choice_table_stamp(table, request->choices, request->count);
        sort_in(explorer, node, request);
        request = next;
    }
    free(required);
}

/* Whether a receive by name was cancelled too late is known only afterwards. */
static void note_late(struct explorer *explorer, const struct sim_choice_log *log)
{
    for (size_t i = 0; i < log->event_count; i++) {
        const struct sim_event *event = &log->events[i];
        if (event->kind != SIM_EVENT_CANCEL || event->next != UINT32_MAX)
            continue;
        explorer->late = check_grow(explorer->late, &explorer->late_room, explorer->late_count + 1,
                                    sizeof *explorer->late);
        explorer->late[explorer->late_count++] =
            (struct sim_late){.rank = event->rank, .receive = event->object};
        explorer->again = true;
    }
}

/* A poll that was told "not yet" twice, once where nothing could have come, is told so once where
 * something had: that is no program that does not do the same. */
static bool is_look(const struct explore_choice *choice)
{
    return choice->kind == SIM_TAKER_WAITANY || choice->kind == SIM_TAKER_PROBE;
}

/* Whether polls explain that the run did not come to all that leads to its slot: one in vain was not told so, or polls
 * were answered beyond the bound, which have no number, so that another one has it here. */
static bool polled_less_often(const struct explorer *explorer, const struct task *task)
{
    bool beyond = (explorer->report->gaps | task->run.log.gaps) & SIM_GAP_POLLS;
    for (size_t i = 0; i < task->required; i++) {
        const struct explore_choice *choice = &task->steer.forced[i];
        if (!task->steer.done[i] && is_look(choice) && (beyond || choice->source == SIM_NOTHING))
            return true;
    }
    return false;
}

static void take_run(struct explorer *explorer, struct task *task)
{
    struct explore_report *report = explorer->report;
    struct slot *slot = task->slot;
    slot->queued = false;
    report->failed = report->failed || !task->good;
    if (!task->good)
        return;
    if (task->steer
            .blocked) { /* by nothing else to choose from: others may have been kept from sending */
        report->gaps |= task->run.log.gaps & SIM_GAP_WAITING;
        report->redundant++;
        if (slot->pending)
            enqueue(explorer, slot);
        return;
    }
    note_late(explorer, &task->run.log);
    explorer->again |= explore_locks_note(&explorer->matter, &task->run.log);
    if (explorer->again)
        return;
    bool less_often = polled_less_often(explorer, task);
    for (size_t i = 0; i < task->required && !less_often; i++)
        report->diverged = report->diverged || !task->steer.done[i];
    count_run(explorer, task);
    if (less_often) {
        report->gaps |= SIM_GAP_POLLS;
        if (slot->pending)
            enqueue(explorer, slot);
        return;
    }
    size_t count = task->races.move_count;
    uint32_t *moves = check_new(count, sizeof *moves);
    for (size_t m = 0; m < count; m++)
        moves[m] = choice_table_number(&explorer->table, &task->races.moves[m]);
    add_node(explorer, task, moves);
    for (size_t race = 0; race < task->races.race_count; race++)
        ask(explorer, task, moves, race);
    free(moves);
}

/* ---- batches ---- */

/* What leads to the slot is forced, what its elders explored is excluded; then what the first
 * request wants besides. */
static void aim(struct explorer *explorer, struct task *task, struct slot *slot)
{
    struct choice_table *table = &explorer->table;
    struct request *request = slot->pending;
    *task = (struct task){.slot = slot, .steer.kinds = explorer->options->kinds};
    for (size_t i = 0; i < explorer->late_count; i++)
        explore_steer_delay(&task->steer, explorer->late[i].rank, explorer->late[i].receive);
    for (const struct slot *at = slot; at->node; at = at->node->slot) {
        const struct node *node = at->node;
        explore_steer_exclude(&task->steer, &table->items[node->choices[at->level]]);
        for (uint32_t i = 0; i < at->level; i++)
            explore_steer_force(&task->steer, &table->items[node->choices[i]]);
    }
    task->required = task->steer.forced_count;
    if (!request)
        return;
    table->stamp++;
    for (size_t i = 0; i < task->required; i++)
        table->stamps[choice_table_number(table, &task->steer.forced[i])] = table->stamp;
    for (size_t i = 0; i < request->count; i++)
        if (!choice_table_is_stamped(table, request->choices[i]))
            explore_steer_force(&task->steer, &table->items[request->choices[i]]);
    slot->pending = request->next;
    if (!slot->pending)
        slot->last = &slot->pending;
    free(request);
}

static void run_task(struct task *task, const struct number_set *matter, explore_callback *callback,
                     void *context)
{
    task->good = callback(context, (unsigned)omp_get_thread_num(), &task->steer, &task->run);
    if (task->good && !task->steer.blocked)
        explore_races_find(&task->races, &task->run.log, task->steer.kinds, matter);
}

void explore_run_release(struct explore_run *run)
{
    free(run->log.choices);
    free(run->log.alternatives);
    free(run->log.events);
    free(run->printed);
}

static void task_release(struct task *task)
{
    explore_steer_release(&task->steer);
    explore_races_release(&task->races);
    explore_run_release(&task->run);
}

static void run_batch(struct explorer *explorer, explore_callback *callback, void *context)
{
    const struct explore_options *options = explorer->options;
    struct task batch[BATCH];
    uint64_t begun = explorer->report->runs + explorer->report->redundant,
             left = options->runs_max ? options->runs_max - begun : UINT64_MAX;
    size_t count = explorer->count < BATCH ? explorer->count : BATCH;
    count = left < count ? (size_t)left : count;
    bool few = explorer->count < WAITING_MAX;
    for (size_t i = 0; i < count; i++) {
        aim(explorer, &batch[i], dequeue(explorer, few ? i : 0));
        batch[i].steer.seed = begun >= ORDERLY && i % 2 ? begun + i : 0;
    }
    int workers = options->workers ? (int)options->workers : omp_get_max_threads();
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers) if (count > 1)
    for (size_t i = 0; i < count; i++)
        run_task(&batch[i], &explorer->matter, callback, context);
    for (size_t i = 0; i < count; i++) {
        take_run(explorer, &batch[i]);
        task_release(&batch[i]);
    }
}

static bool report_progress(struct explorer *explorer)
{
    struct explore_report *report = explorer->report;
    report->waiting = explorer->count;
    report->expected = report->runs ? explorer->widths / (double)report->runs : 0;
    struct explore_progress progress = {.runs = report->runs + report->redundant,
                                        .waiting = explorer->count,
                                        .expected = report->expected,
                                        .many_kinds =
                                            report->kinds > explorer->options->examples_max};
    return !explorer->options->progress ||
           explorer->options->progress(explorer->options->progress_context, &progress);
}

static void release_requests(struct slot *slot)
{
    for (struct request *request = slot->pending, *next; request; request = next) {
        next = request->next;
        free(request);
    }
}

/* From the leaves up, without recursion: branches are taken off their node one by one. */
static void release_tree(struct node *node)
{
    while (node) {
        struct slot *slot = node->branches;
        if (slot && slot->child) {
            struct node *child = slot->child;
            slot->child = NULL;
            node = child;
        } else if (slot) {
            node->branches = slot->next;
            release_requests(slot);
            free(slot);
        } else {
            struct node *parent = node->slot->node;
            free(node);
            node = parent;
        }
    }
}

static void explorer_release(struct explorer *explorer)
{
    release_tree(explorer->root.child);
    release_requests(&explorer->root);
    free(explorer->stack);
    choice_table_release(&explorer->table);
    number_set_release(&explorer->asked);
}

static void explore_all(struct explorer *explorer, explore_callback *callback, void *context)
{
    const struct explore_options *options = explorer->options;
    struct explore_report *report = explorer->report;
    bool goes_on = true;
    explorer->root.last = &explorer->root.pending;
    enqueue(explorer, &explorer->root);
    while (goes_on && explorer->count && !explorer->again) {
        if (options->runs_max && report->runs + report->redundant >= options->runs_max)
            break;
        run_batch(explorer, callback, context);
        goes_on = report_progress(explorer) && !report->failed && !report->diverged;
    }
    report->exhausted = explorer->count == 0 && !report->failed && !report->diverged;
    report->complete = report->exhausted && !report->gaps;
}

void explore(const struct explore_options *options, explore_callback *callback, void *context,
             struct explore_report *report)
{
    *report = (struct explore_report){0};
    struct explorer explorer = {.options = options, .report = report};
    explore_all(&explorer, callback, context);
    while (explorer.again) {
        struct explorer next = {.options = options,
                                .report = report,
                                .late = explorer.late,
                                .late_count = explorer.late_count,
                                .late_room = explorer.late_room,
                                .matter = explorer.matter};
        explorer_release(&explorer);
        explore_report_release(report);
        explorer = next;
        explore_all(&explorer, callback, context);
    }
    explorer_release(&explorer);
    free(explorer.late);
    number_set_release(&explorer.matter);
}

const char *explore_gap_text(unsigned gaps, size_t index)
{
    static const struct {
        unsigned gap;
        const char *text;
    } rows[] = {
        {SIM_GAP_POLLS, "a poll (Test, Iprobe) was told 'not yet' of what was there once in a row, "
                        "not more often"},
        {SIM_GAP_CANCEL, "a cancelled operation that was matched may also be cancelled in time"},
        {SIM_GAP_PRINTED,
         "what a rank prints was not compared: it differs between two runs with the "
         "same choices"},
        {SIM_GAP_LOCKS, "a lock of a window was given while another rank polled a window, which "
                        "might have asked for it"},
        {SIM_GAP_ATOMICS, "one rank fetched atomically from a window where another made atomic "
                          "changes: they came in one order only"},
        {SIM_GAP_WAITING, "a rank waited for others without need, where MPI may let it go on: in "
                          "a collective without their data, a fence that nothing precedes, "
                          "or MPI_Win_start"},
        {SIM_GAP_LAZY, "a rank sent or received within a lock of a window before its first flush: "
                       "MPI may give the lock after one that was asked for because of that"},
        {SIM_GAP_THREADS, "threads of one rank called MPI in one order only"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (gaps & rows[i].gap && index-- == 0)
            return rows[i].text;
    return NULL;
}

void explore_report_release(struct explore_report *report)
{
    for (size_t i = 0; i < report->failure_count; i++) {
        free(report->failures[i].choices);
        free(report->failures[i].printed);
    }
    for (size_t i = 0; i < report->example_count; i++) {
        free(report->examples[i].choices);
        free(report->examples[i].printed);
    }
    free(report->failures);
    free(report->examples);
    number_set_release(&report->fingerprints);
    number_set_release(&report->conducts);
    *report = (struct explore_report){0};
}
