#include "checker/explore.h"

#include "checker/memory.h"
#include "checker/races.h"
#include "checker/steer.h"

#include <mpix.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Runs taken at once: fixed, so that nothing depends on the team. */
enum { BATCH = 64 };

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

struct choice_table { /* choices by number, found by hashing */
    struct explore_choice *items;
    uint32_t *stamps; /* per item: the set it was last put into */
    size_t count, room, stamp_room;
    uint32_t *slots; /* number + 1 */
    size_t slot_count;
    uint32_t stamp;
};

struct hash_set {
    uint64_t *slots;
    size_t room, count;
};

struct explorer {
    const struct explore_options *options;
    struct explore_report *report;
    struct choice_table table;
    struct hash_set asked; /* sets of choices that were asked for or run */
    struct slot root;
    struct slot **stack;
    size_t count, room;
    double widths;
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
        .failures_max = 16};
}

void explore_run_take(struct explore_run *run, const struct sim_choice_log *log)
{
    run->log = (struct sim_choice_log){.count = log->count,
                                       .alternative_count = log->alternative_count,
                                       .event_count = log->event_count,
                                       .polls = log->polls};
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

static void keep_failure(struct explorer *explorer, const struct explore_run *run,
                         const struct explore_races *races)
{
    struct explore_report *report = explorer->report;
    for (size_t i = 0; i < report->failure_count; i++)
        if (report->failures[i].outcome == run->outcome &&
            report->failures[i].fingerprint == run->fingerprint)
            return;
    if (report->failure_count >= explorer->options->failures_max)
        return;
    report->failures = check_grow(report->failures, &report->failure_room,
                                  report->failure_count + 1, sizeof *report->failures);
    struct explore_failure *failure = &report->failures[report->failure_count++];
    *failure =
        (struct explore_failure){.outcome = run->outcome,
                                 .fingerprint = run->fingerprint,
                                 .choices = check_new(races->move_count, sizeof *failure->choices),
                                 .choice_count = races->move_count};
    if (races->move_count)
        memcpy(failure->choices, races->moves, races->move_count * sizeof *failure->choices);
}

static void count_run(struct explorer *explorer, const struct task *task)
{
    struct explore_report *report = explorer->report;
    const struct explore_run *run = &task->run;
    report->runs++;
    report->by_outcome[run->outcome]++;
    report->polls = report->polls || run->log.polls;
    explorer->widths += task->races.width;
    if (run->outcome != OUTCOME_FINISHED)
        keep_failure(explorer, run, &task->races);
    else if (is_new_fingerprint(report, run->fingerprint))
        report->results++;
}

/* ---- numbers for choices, sets of them ---- */

static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

static uint64_t hash_choice(const struct explore_choice *choice)
{
    uint64_t hash = mix(choice->kind + UINT64_C(0x9e3779b97f4a7c15) * (choice->rank + 1));
    hash = mix(hash ^ ((uint64_t)choice->object << 32 | choice->source));
    return mix(hash ^ ((uint64_t)choice->number << 32 | choice->box));
}

static void grow_table(struct choice_table *table)
{
    size_t slots = table->slot_count ? table->slot_count * 2 : 256;
    free(table->slots);
    table->slots = check_new(slots, sizeof *table->slots);
    table->slot_count = slots;
    for (size_t i = 0; i < table->count; i++) {
        size_t at = hash_choice(&table->items[i]) & (slots - 1);
        while (table->slots[at])
            at = (at + 1) & (slots - 1);
        table->slots[at] = (uint32_t)i + 1;
    }
}

static uint32_t number_of(struct choice_table *table, const struct explore_choice *choice)
{
    if (2 * (table->count + 1) > table->slot_count)
        grow_table(table);
    size_t at = hash_choice(choice) & (table->slot_count - 1);
    while (table->slots[at] && !explore_choice_same(&table->items[table->slots[at] - 1], choice))
        at = (at + 1) & (table->slot_count - 1);
    if (!table->slots[at]) {
        table->items =
            check_grow(table->items, &table->room, table->count + 1, sizeof *table->items);
        table->stamps =
            check_grow(table->stamps, &table->stamp_room, table->count + 1, sizeof *table->stamps);
        table->stamps[table->count] = 0;
        table->items[table->count++] = *choice;
        table->slots[at] = (uint32_t)table->count;
    }
    return table->slots[at] - 1;
}

/* Makes these the members of the current set; returns its hash. */
static uint64_t stamp(struct choice_table *table, const uint32_t *choices, size_t count)
{
    uint64_t hash = count;
    table->stamp++;
    for (size_t i = 0; i < count; i++) {
        table->stamps[choices[i]] = table->stamp;
        hash += mix(choices[i] + UINT64_C(0x9e3779b97f4a7c15));
    }
    return mix(hash);
}

static bool is_stamped(const struct choice_table *table, uint32_t choice)
{
    return table->stamps[choice] == table->stamp;
}

static bool add_to_set(struct hash_set *set, uint64_t hash)
{
    hash += hash == 0; /* 0 marks a free slot */
    if (2 * (set->count + 1) > set->room) {
        size_t room = set->room ? set->room * 2 : 256;
        uint64_t *old = set->slots, *slots = check_new(room, sizeof *slots);
        for (size_t i = 0; i < set->room; i++)
            if (old[i]) {
                size_t at = old[i] & (room - 1);
                while (slots[at])
                    at = (at + 1) & (room - 1);
                slots[at] = old[i];
            }
        free(old);
        set->slots = slots;
        set->room = room;
    }
    size_t at = hash & (set->room - 1);
    while (set->slots[at] && set->slots[at] != hash)
        at = (at + 1) & (set->room - 1);
    bool fresh = set->slots[at] == 0;
    set->slots[at] = hash;
    set->count += fresh;
    return fresh;
}

/* ---- the tree ---- */

static void enqueue(struct explorer *explorer, struct slot *slot)
{
    if (slot->queued)
        return;
    slot->queued = true;
    explorer->stack =
        check_grow(explorer->stack, &explorer->room, explorer->count + 1, sizeof(struct slot *));
    explorer->stack[explorer->count++] = slot;
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

/* Sorts a request (whose choices are stamped) into the tree below a node; what a run there does
 * anyway is dropped. */
static void sort_in(struct explorer *explorer, struct node *node, struct request *request)
{
    while (node) {
        uint32_t level = 0;
        while (level < node->count && is_stamped(&explorer->table, node->choices[level]))
            level++;
        if (level == node->count)
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
    request->choices[request->count++] = number_of(&explorer->table, &races->races[race].instead);
    for (size_t m = 0; m < races->move_count; m++)
        if (kept[m / 64] >> m % 64 & 1)
            request->choices[request->count++] = moves[m];
    if (add_to_set(&explorer->asked, stamp(&explorer->table, request->choices, request->count)))
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
        required[i] = number_of(table, &task->steer.forced[i]);
    stamp(table, required, task->required);
    struct node *node = check_new(1, sizeof *node + count * sizeof(uint32_t));
    node->slot = slot;
    for (size_t m = 0; m < count; m++)
        if (!is_stamped(table, moves[m]))
            node->choices[node->count++] = moves[m];
    slot->child = node;
    struct request *request = slot->pending;
    slot->pending = NULL;
    slot->last = &slot->pending;
    while (request) {
        struct request *next = request->next;
        request->next = NULL;
        stamp(table, request->choices, request->count);
        sort_in(explorer, node, request);
        request = next;
    }
    free(required);
}

static void take_run(struct explorer *explorer, struct task *task)
{
    struct explore_report *report = explorer->report;
    struct slot *slot = task->slot;
    slot->queued = false;
    report->failed = report->failed || !task->good;
    if (!task->good)
        return;
    if (task->steer.blocked) {
        report->redundant++;
        if (slot->pending)
            enqueue(explorer, slot);
        return;
    }
    for (size_t i = 0; i < task->required; i++)
        report->diverged = report->diverged || !task->steer.done[i];
    count_run(explorer, task);
    size_t count = task->races.move_count;
    uint32_t *moves = check_new(count, sizeof *moves);
    for (size_t m = 0; m < count; m++)
        moves[m] = number_of(&explorer->table, &task->races.moves[m]);
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
        table->stamps[number_of(table, &task->steer.forced[i])] = table->stamp;
    for (size_t i = 0; i < request->count; i++)
        if (!is_stamped(table, request->choices[i]))
            explore_steer_force(&task->steer, &table->items[request->choices[i]]);
    slot->pending = request->next;
    if (!slot->pending)
        slot->last = &slot->pending;
    free(request);
}

static void run_task(struct task *task, explore_callback *callback, void *context)
{
    task->good = callback(context, (unsigned)omp_get_thread_num(), &task->steer, &task->run);
    if (task->good && !task->steer.blocked)
        explore_races_find(&task->races, &task->run.log, task->steer.kinds);
}

static void task_release(struct task *task)
{
    explore_steer_release(&task->steer);
    explore_races_release(&task->races);
    free(task->run.log.choices);
    free(task->run.log.alternatives);
    free(task->run.log.events);
}

static void run_batch(struct explorer *explorer, explore_callback *callback, void *context)
{
    const struct explore_options *options = explorer->options;
    struct task batch[BATCH];
    uint64_t begun = explorer->report->runs + explorer->report->redundant,
             left = options->runs_max ? options->runs_max - begun : UINT64_MAX;
    size_t count = explorer->count < BATCH ? explorer->count : BATCH;
    count = left < count ? (size_t)left : count;
    for (size_t i = 0; i < count; i++)
        aim(explorer, &batch[i], explorer->stack[--explorer->count]);
    int workers = options->workers ? (int)options->workers : omp_get_max_threads();
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers) if (count > 1)
    for (size_t i = 0; i < count; i++)
        run_task(&batch[i], callback, context);
    for (size_t i = 0; i < count; i++) {
        take_run(explorer, &batch[i]);
        task_release(&batch[i]);
    }
}

static bool tell_progress(struct explorer *explorer)
{
    struct explore_report *report = explorer->report;
    report->waiting = explorer->count;
    report->expected = report->runs ? explorer->widths / (double)report->runs : 0;
    struct explore_progress progress = {.runs = report->runs + report->redundant,
                                        .waiting = explorer->count,
                                        .expected = report->expected};
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
    free(explorer->table.items);
    free(explorer->table.stamps);
    free(explorer->table.slots);
    free(explorer->asked.slots);
}

void explore(const struct explore_options *options, explore_callback *callback, void *context,
             struct explore_report *report)
{
    struct explorer explorer = {.options = options, .report = report};
    bool goes_on = true;
    *report = (struct explore_report){0};
    explorer.root.last = &explorer.root.pending;
    enqueue(&explorer, &explorer.root);
    while (goes_on && explorer.count) {
        if (options->runs_max && report->runs + report->redundant >= options->runs_max)
            break;
        run_batch(&explorer, callback, context);
        goes_on = tell_progress(&explorer) && !report->failed && !report->diverged;
    }
    report->complete = explorer.count == 0 && !report->failed && !report->diverged;
    explorer_release(&explorer);
}

void explore_report_release(struct explore_report *report)
{
    for (size_t i = 0; i < report->failure_count; i++)
        free(report->failures[i].choices);
    free(report->failures);
    free(report->fingerprints);
    *report = (struct explore_report){0};
}
