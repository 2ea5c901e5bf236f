/* What the report of an exploration says, of programs that are nothing but choices: each rank walks down a random tree of its own, and the
 * pairs of leaves are the runs. How each of them ends is drawn. Every run must come up once, and what was counted and kept is counted
 * again, naively, from the runs in the order in which they came. */
#include "checker/explore/explore.h"
#include "sim/worlds/choose.h"
#include "tests/dice.h"
#include "tests/fences/fence.h"
#include "tests/tap.h"

#include <mpix.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 400, RANKS_MOST = 2, DEPTH = 3, WIDTH = 3, TREE = 40, RUNS_MOST = 800 };

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

/* Node n has width[n] children, from child[n] on; 0: a leaf. */
struct tree {
    uint32_t width[TREE], child[TREE], count, leaves;
    /* Its alternatives have numbers; before each choice one is made that matters to nobody. */
    bool named;
};

struct ending {
    enum trace_outcome outcome;
    uint64_t fingerprint, conduct;
    bool failed;
    unsigned gaps;
};

/* A run as it came: which leaf of each rank, and how it ended. */
struct seen {
    uint32_t leaf[RANKS_MOST];
    struct ending ending;
    double width; /* product of how many ways there were at each choice */
};

struct program {
    uint32_t ranks;
    struct tree trees[RANKS_MOST];
    struct ending endings[TREE][TREE];
    uint32_t gives_up; /* at which run, from 1 on; 0: never */
    uint32_t strays;   /* from which run on ranks have other choices; 0: never */
    unsigned astray;   /* which ranks, a bit each */
    unsigned asked;    /* those that chose in the first run, the last choice left out */
    struct seen runs[RUNS_MOST];
    uint32_t last, harmless_wrong;
    uint32_t calls, run_count, blocked, batches, stops_at, progress_wrong;
    size_t examples_max;
    double expected;
    uint64_t waiting;
};

static void grow(struct tree *tree, uint32_t node, uint32_t depth)
{
    tree->width[node] = depth && (depth == DEPTH || below(3)) ? 1 + below(WIDTH) : 0;
    tree->leaves += !tree->width[node];
    tree->child[node] = tree->count;
    tree->count += tree->width[node];
    for (uint32_t i = 0; i < tree->width[node]; i++)
        grow(tree, tree->child[node] + i, depth - 1);
}

static struct ending ending_new(uint32_t odd)
{
    static const enum trace_outcome outcomes[] = {OUTCOME_DEADLOCK, OUTCOME_CRASHED,
                                                  OUTCOME_FINISHED};
    bool good = below(100) >= odd;
    return (struct ending){.outcome = good ? OUTCOME_FINISHED : outcomes[below(3)],
                           .failed = !good && below(2),
                           .fingerprint = 2 + below(3),
                           .conduct = below(4),
                           .gaps = below(60) ? 0 : 1u << below(7)};
}

static void program_draw(struct program *program)
{
    *program = (struct program){.ranks = 1 + below(RANKS_MOST)};
    for (uint32_t rank = 0; rank < RANKS_MOST; rank++) {
        program->trees[rank].count = 1;
        program->trees[rank].named = below(2);
        if (rank < program->ranks)
            grow(&program->trees[rank], 0, DEPTH);
    }
    uint32_t odd = below(3) ? below(100) : 0;
    for (uint32_t a = 0; a < TREE; a++)
        for (uint32_t b = 0; b < TREE; b++)
            program->endings[a][b] = ending_new(odd);
}

/* One of `width` things that have numbers from `first` on. */
static uint32_t choose_named(struct sim_chooser *chooser, uint32_t rank, uint32_t width,
                             uint32_t first)
{
    struct sim_alternative some[WIDTH + 1] = {{0}};
    for (uint32_t i = 0; i < width; i++) {
        some[i].rank = rank;
        some[i].object = (first + i) % (WIDTH + 1);
        some[i].taker = SIM_TAKER_NAMED;
    }
    return sim_choose(chooser, MPIX_CHOOSE_READY, rank, width, some);
}

/* Down the trees, ranks in turn; what a rank chose earlier is what its further choices depend on. */
static void walk(struct program *program, struct sim_chooser *chooser, bool strays,
                 struct seen *seen)
{
    uint32_t *leaf = seen->leaf;
    struct sim_dependences past[RANKS_MOST] = {{{0}}};
    bool moved = true;
    *seen = (struct seen){.width = 1};
    while (moved && !chooser->stopped) {
        moved = false;
        for (uint32_t rank = 0; rank < program->ranks && !chooser->stopped; rank++) {
            const struct tree *tree = &program->trees[rank];
            uint32_t width = tree->width[leaf[rank]];
            if (!width)
                continue;
            uint32_t as = strays && program->astray >> rank & 1 ? 5 : rank, zero = width % 2;
            if (tree->named) /* number 0 is among them */
                program->harmless_wrong +=
                    choose_named(chooser, as, width + zero, WIDTH + 1 - zero) != zero;
            uint32_t pick = tree->named ? choose_named(chooser, as, width, 1)
                                        : sim_choose(chooser, MPIX_CHOOSE_READY, as, width, NULL);
            if (chooser->stopped)
                break;
            leaf[rank] = tree->child[leaf[rank]] + pick;
            seen->width *= width;
            moved = true;
            if (width == 1)
                continue;
            if (program->calls == 1) {
                program->asked |= program->last;
                program->last = 1u << rank;
            }
            chooser->log.choices[chooser->log.count - 1].past = past[rank];
            sim_dependences_add(&past[rank], chooser->log.count - 1);
        }
    }
}

static char *told_of(const uint32_t leaf[RANKS_MOST])
{
    char *text = malloc(40);
    snprintf(text, 40, "%u and %u", leaf[0], leaf[1]);
    return text;
}

static bool run(void *context, unsigned worker, struct explore_steer *steer,
                struct explore_run *run)
{
    struct program *program = context;
    struct sim_world_options options;
    struct sim_chooser chooser;
    struct seen seen;
    (void)worker;
    if (++program->calls == program->gives_up)
        return false;
    sim_world_options_init(&options);
    explore_steer_world(steer, &options);
    sim_chooser_init(&chooser, options.driver, 0);
    chooser.guide = options.guide;
    chooser.guide_context = options.guide_context;
    chooser.logging = true;
    walk(program, &chooser, program->strays && program->calls >= program->strays, &seen);
    program->blocked += steer->blocked;
    if (!steer->blocked) {
        seen.ending = program->endings[seen.leaf[0]][seen.leaf[1]];
        chooser.log.gaps = seen.ending.gaps;
        run->outcome = seen.ending.outcome;
        run->fingerprint = seen.ending.fingerprint;
        run->conduct = seen.ending.conduct;
        run->failed = seen.ending.failed;
        run->printed = told_of(seen.leaf);
        if (program->run_count < RUNS_MOST)
            program->runs[program->run_count] = seen;
        program->run_count++;
    }
    explore_run_take(run, &chooser.log);
    sim_chooser_release(&chooser);
    return true;
}

/* ---- counted again ---- */

static bool is_good(const struct ending *ending)
{
    return ending->outcome == OUTCOME_FINISHED && !ending->failed;
}

static bool is_alike(const struct ending *a, const struct ending *b)
{
    return a->outcome == b->outcome && a->fingerprint == b->fingerprint && a->conduct == b->conduct;
}

/* Whether an earlier run of this sort, good or not, was like this one; `result`: in its fingerprint. */
static bool came_before(const struct program *program, uint32_t at, bool good, bool result)
{
    const struct ending *ending = &program->runs[at].ending;
    for (uint32_t i = 0; i < at; i++) {
        const struct ending *other = &program->runs[i].ending;
        if (is_good(other) == good &&
            (result ? other->fingerprint == ending->fingerprint : is_alike(other, ending)))
            return true;
    }
    return false;
}

/* That a kept run is the one that came as number `at`: its ending, what it printed, and its choices, which lead a fresh run there. */
static unsigned kept_wrong(struct program *program, const struct explore_failure *kept, uint32_t at)
{
    struct seen seen = program->runs[at];
    struct explore_run again = {0};
    char *text = told_of(seen.leaf);
    unsigned wrong =
        kept->outcome != seen.ending.outcome || kept->fingerprint != seen.ending.fingerprint ||
        kept->conduct != seen.ending.conduct || kept->ended_badly != seen.ending.failed ||
        !kept->printed || strcmp(kept->printed, text) != 0;
    struct explore_steer *steer = explore_steer_new(kept->choices, kept->choice_count);
    uint32_t runs = program->run_count, gives_up = program->gives_up;
    program->gives_up = 0;
    run(program, 0, steer, &again);
    program->run_count = runs;
    program->gives_up = gives_up;
    wrong += steer->blocked || explore_steer_done(steer) != kept->choice_count || !again.printed ||
             strcmp(again.printed, text) != 0;
    explore_steer_free(steer);
    explore_run_release(&again);
    free(text);
    return wrong;
}

/* Runs that ended badly: the first of each sort up to the bound. Others: the first of each kind, and beyond the bound that which brings the
 * second result. */
static unsigned all_kept_wrong(struct program *program, const struct explore_report *report,
                               const struct explore_options *options)
{
    unsigned wrong = 0, results = 0;
    size_t failures = 0, examples = 0, kinds = 0;
    bool more = false;
    for (uint32_t i = 0; i < program->run_count; i++) {
        const struct ending *ending = &program->runs[i].ending;
        bool good = is_good(ending), first = !came_before(program, i, good, false);
        bool result = good && !came_before(program, i, true, true);
        results += result;
        kinds += good && first;
        if (!first)
            continue;
        size_t most = good ? options->examples_max : options->failures_max;
        size_t *count = good ? &examples : &failures;
        if (*count >= most && !(result && results <= 2)) {
            more = more || !good;
            continue;
        }
        const struct explore_failure *kept = good ? report->examples : report->failures;
        size_t there = good ? report->example_count : report->failure_count;
        wrong += *count >= there || kept_wrong(program, &kept[*count], i);
        ++*count;
    }
    return wrong + (examples != report->example_count) + (failures != report->failure_count) +
           (more != report->more_failures) + (results != report->results) +
           (kinds != report->kinds);
}

static unsigned counts_wrong(const struct program *program, const struct explore_report *report)
{
    uint64_t by_outcome[EXPLORE_OUTCOMES] = {0}, badly = 0;
    unsigned gaps = 0, wrong = 0;
    for (uint32_t i = 0; i < program->run_count; i++) {
        const struct ending *ending = &program->runs[i].ending;
        by_outcome[ending->outcome]++;
        badly += ending->outcome == OUTCOME_FINISHED && ending->failed;
        gaps |= ending->gaps;
        for (uint32_t k = 0; k < i; k++)
            wrong += !memcmp(program->runs[k].leaf, program->runs[i].leaf,
                             sizeof program->runs[i].leaf); /* the same run twice */
    }
    return wrong + (report->runs != program->run_count) + (report->redundant != program->blocked) +
           (memcmp(by_outcome, report->by_outcome, sizeof by_outcome) != 0) +
           (report->ended_badly != badly) + (report->gaps != gaps);
}

static uint32_t all_runs(const struct program *program)
{
    return program->trees[0].leaves * (program->ranks > 1 ? program->trees[1].leaves : 1);
}

struct tally {
    unsigned wrong, exhausted, bounded, gave_up, stopped, strayed, failures, examples;
};

static bool progress(void *context, const struct explore_progress *now)
{
    struct program *program = context;
    program->batches++;
    program->progress_wrong += now->runs != program->run_count + program->blocked;
    double widths = 0;
    unsigned kinds = 0;
    for (uint32_t i = 0; i < program->run_count; i++) {
        bool good = is_good(&program->runs[i].ending);
        widths += program->runs[i].width;
        kinds += good && !came_before(program, i, true, false);
    }
    program->expected = program->run_count ? widths / program->run_count : 0;
    program->progress_wrong += now->expected != program->expected;
    program->progress_wrong += now->many_kinds != (kinds > program->examples_max);
    program->waiting = now->waiting;
    return program->batches != program->stops_at;
}

static void explore_one(struct program *program, struct tally *tally)
{
    struct explore_options options;
    struct explore_report report;
    uint32_t all = all_runs(program);
    explore_options_init(&options);
    options.workers = 1;
    options.failures_max = below(6);
    options.examples_max = program->examples_max = below(6);
    options.runs_max = below(4) ? 0 : 1 + below(all + 5);
    options.progress = progress;
    options.progress_context = program;
    program->gives_up = below(6) ? 0 : 1 + below(all);
    program->stops_at = below(6) ? 0 : 1 + below(4);
    explore(&options, run, program, &report);
    bool gave_up = program->gives_up && program->calls >= program->gives_up;
    bool stopped = program->stops_at && program->batches >= program->stops_at;
    bool bounded = options.runs_max && program->run_count >= options.runs_max;
    bool every = program->run_count == all;
    tally->wrong += report.expected != program->expected || report.waiting != program->waiting;
    tally->wrong += program->harmless_wrong;
    tally->wrong += counts_wrong(program, &report) + program->progress_wrong;
    tally->wrong += all_kept_wrong(program, &report, &options);
    tally->wrong += report.failed != gave_up || report.diverged;
    tally->wrong += report.exhausted != (every && !gave_up);
    tally->wrong += report.complete != (every && !gave_up && !report.gaps);
    tally->wrong += !every && !gave_up && !stopped && !bounded;
    tally->wrong += every && !gave_up && report.waiting != 0;
    tally->wrong += !every && !gave_up && report.waiting == 0;
    tally->wrong += options.runs_max && program->run_count + program->blocked > options.runs_max;
    tally->exhausted += report.exhausted;
    tally->bounded += bounded && !every;
    tally->gave_up += gave_up;
    tally->stopped += stopped && !every;
    tally->failures += report.failure_count > 0;
    tally->examples += report.example_count > 1;
    explore_report_release(&report);
    tally->wrong += report.failures || report.examples || report.runs;
}

static void counts_what_came(void)
{
    struct tally tally = {0};
    struct program *program = malloc(sizeof *program);
    long live = 0;
    struct dice_seeds seeds = dice_seeds(PROGRAMS);
    for (unsigned long long i = 0; i < seeds.count; i++) {
        unsigned before = tally.wrong;
        if (i == 10) /* the first have made what OpenMP keeps */
            live = fence_live();
        dice = seeds.first + i;
        program_draw(program);
        explore_one(program, &tally);
        if (tally.wrong > before && !before)
            tap_note("program %llu, %u runs of %u", seeds.first + i, program->run_count,
                     all_runs(program));
    }
    long left = fence_live() - live;
    tap_is_int(tally.wrong, 0, "each run once, and what is said of them is what they were");
    tap_ok(seeds.count < 11 || left == 0, "no block of memory is left");
    tap_ok(seeds.count < PROGRAMS ||
               (tally.exhausted > 100 && tally.bounded > 20 && tally.gave_up > 20 &&
                tally.stopped > 10 && tally.failures > 50 && tally.examples > 50),
           "%u explored to the end, %u to a bound, %u until one failed, %u until told",
           tally.exhausted, tally.bounded, tally.gave_up, tally.stopped);
    free(program);
}

/* Choices that are not as they were: what is forced is not there, whichever of it. */
static void sees_that_it_strays(void)
{
    struct program *program = malloc(sizeof *program);
    struct explore_options options;
    struct explore_report report;
    unsigned wrong = 0, unseen = 0;
    explore_options_init(&options);
    options.workers = 1;
    options.progress = progress;
    options.progress_context = program;
    for (unsigned i = 0; i < 90; i++) {
        dice = i;
        do
            program_draw(program);
        while (program->ranks < 2 || program->trees[0].leaves < 3 || program->trees[1].leaves < 3);
        program->strays = i % 3;
        program->astray = i / 3 % 4;
        program->examples_max = options.examples_max;
        explore(&options, run, program, &report);
        bool strays = program->strays == 2 && program->astray & program->asked;
        if (program->strays == 2 && program->astray && !strays)
            unseen++; /* nothing that is forced on the second run need be another rank's */
        else
            wrong += report.diverged != strays || report.exhausted == strays;
        wrong += report.complete && strays;
        wrong += strays && program->batches != 2; /* the first run, and those that it asks for */
        explore_report_release(&report);
    }
    tap_ok(wrong == 0 && unseen < 8,
           "a program that is another one the second time is not explored: %u", wrong);
    program_draw(program);
    program->examples_max = options.examples_max;
    options.kinds = 1u << MPIX_CHOOSE_WILDCARD;
    explore(&options, run, program, &report);
    tap_ok(report.runs == 1 && report.exhausted, "kinds that were not asked for are one run");
    explore_report_release(&report);
    free(program);
}

/* Sets of gaps: each has the sentences of its members, always in the same order. */
static void says_gaps(void)
{
    const char *order[16];
    unsigned count = 0, wrong = 0;
    while (count < 16 && (order[count] = explore_gap_text(UINT32_MAX, count)))
        count++;
    tap_is_int(count, 8, "each gap has a sentence");
    for (unsigned set = 0; set < 256; set++) {
        unsigned at = 0;
        for (unsigned i = 0; i < count; i++)
            for (unsigned bit = 0; bit < 8; bit++)
                if (set >> bit & 1 && explore_gap_text(1u << bit, 0) == order[i])
                    wrong += explore_gap_text(set, at++) != order[i];
        wrong += at != (unsigned)__builtin_popcount(set) || explore_gap_text(set, at);
    }
    tap_is_int(wrong, 0, "a set of them has those of its members");
    tap_ok(strstr(explore_gap_text(SIM_GAP_POLLS, 0), "poll") &&
               strstr(explore_gap_text(SIM_GAP_CANCEL, 0), "cancelled") &&
               strstr(explore_gap_text(SIM_GAP_THREADS, 0), "threads") &&
               strstr(explore_gap_text(SIM_GAP_PRINTED, 0), "prints") &&
               strstr(explore_gap_text(SIM_GAP_ATOMICS, 0), "atomic"),
           "each its own");
}

int main(void)
{
    counts_what_came();
    sees_that_it_strays();
    says_gaps();
    return tap_done();
}
