/* The hunt for contradictions of PROVEN: what `simrun prove` covers, covered here in one process,
 * and then runs with every choice random against it.
 *
 * A random program (hunt_program.h) is judged as `simrun prove` judges it: one run, the other
 * progress models, the explorations under eager sends and under sends and collectives that wait,
 * every kind of run of both checked. What then has no finding and no gap counts as proven, and
 * random runs of it, under every model, must finish with the result of the first. What is said to
 * hang under a model, must: all explorations under that model look for it.
 *
 * SIMRUN_SOAK=N programs from SIMRUN_SEED on; HUNT_RUNS: runs of each that is proven. */
#include "checker/check.h"
#include "checker/explore/explore.h"
#include "tests/checker/hunt_run.h"
#include "traces/trace/coverage.h"

enum { MODELS = 3, EXPLORED_MAX = 400 };

static struct scene scene;

/* ---- judging ---- */

struct judgement {
    bool finds, gaps, race; /* race: only one of messages, which explored results decide */
    unsigned hangs;         /* enum check_model: where some finding says so */
    char codes[120];
};

static void take_findings(struct judgement *judgement, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->severity == SEVERITY_NOTE)
            continue;
        if (!strstr(judgement->codes, finding->code) && strlen(judgement->codes) < 100)
            snprintf(judgement->codes + strlen(judgement->codes), 8, "%.5s ", finding->code);
        if (strcmp(finding->code, "R003") == 0)
            judgement->race = true;
        else
            judgement->finds = true;
        for (unsigned model = CHECK_EAGER; finding->code[0] == 'D' && model <= CHECK_BATCH;
             model <<= 1)
            if (strstr(finding->models, check_model_name((enum check_model)model)))
                judgement->hangs |= model;
    }
}

/* One run, recorded and checked; `steer` may be NULL. */
static enum trace_outcome judge(struct judgement *judgement, enum sim_send_model send, bool strict,
                                struct explore_steer *steer)
{
    struct sim_world_options options;
    enum trace_outcome outcome = OUTCOME_ABORTED;
    sim_world_options_init(&options);
    options.send_model = send;
    options.strict_collectives = strict;
    if (steer)
        explore_steer_world(steer, &options);
    struct trace *trace = scene_trace(&scene, &options, &outcome);
    if (!trace) {
        judgement->gaps = true;
        return outcome;
    }
    struct check_options checks;
    struct findings findings;
    check_options_init(&checks);
    findings_init(&findings);
    check_trace(trace, &checks, &findings);
    take_findings(judgement, &findings);
    judgement->gaps = judgement->gaps || coverage_missed(trace_coverage(trace), COVERAGE_COMPLETE);
    findings_release(&findings);
    trace_free(trace);
    return outcome;
}

/* ---- exploring ---- */

struct kind {
    enum sim_send_model send;
    bool strict;
};

static uint64_t hash_of(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static bool run_explored(void *context, unsigned worker, struct explore_steer *steer,
                         struct explore_run *run)
{
    const struct kind *kind = context;
    struct sim_world_options options;
    (void)worker;
    sim_world_options_init(&options);
    options.send_model = kind->send;
    options.strict_collectives = kind->strict;
    explore_steer_world(steer, &options);
    struct sim_world *world = scene_run(&scene, &options, &run->outcome);
    if (!world)
        return false;
    run->fingerprint = hash_of(&scene.result, sizeof scene.result);
    run->conduct = run->fingerprint;
    explore_run_take(run, sim_world_choices(world));
    sim_world_free(world);
    return true;
}

static void explore_all(struct kind *kind, struct explore_report *report)
{
    struct explore_options options;
    explore_options_init(&options);
    options.workers = 1;
    options.runs_max = EXPLORED_MAX;
    explore(&options, run_explored, kind, report);
}

/* As `simrun prove` does it; false where something stays open or is found. */
static bool prove_kind(struct judgement *judgement, struct kind *kind)
{
    struct explore_report report;
    explore_all(kind, &report);
    bool alike = report.complete && !report.diverged && report.results <= 1 &&
                 !report.failure_count && report.kinds <= report.example_count;
    for (size_t i = 0; i < report.example_count && report.runs > 1; i++) {
        struct explore_steer *steer =
            explore_steer_new(report.examples[i].choices, report.examples[i].choice_count);
        judge(judgement, kind->send, kind->strict, steer);
        explore_steer_free(steer);
    }
    explore_report_release(&report);
    return alike;
}

/* ---- one program ---- */

struct tally {
    unsigned long long programs, proven, looking, runs, contradictions, open, hang, false_hangs;
    unsigned long long undecided, claims;
};

static void tell(unsigned long long seed, const char *what, struct kind kind,
                 const struct judgement *judgement)
{
    tap_note("SIMRUN_SEED=%llu, %s sends%s: %s (%s)", seed,
             check_model_name((enum check_model)(1u << kind.send)),
             kind.strict ? ", synchronising" : "", what, judgement->codes);
    program_show(scene.program);
}

/* Nothing may come about that was called impossible. */
static void contradict(unsigned long long seed, unsigned runs, const struct result *expected,
                       const struct judgement *judgement, struct tally *tally)
{
    for (unsigned run = 0; run < runs; run++) {
        struct sim_world_options options;
        enum trace_outcome outcome = OUTCOME_ABORTED;
        sim_world_options_init(&options);
        struct kind kind = {.send = (enum sim_send_model)below(MODELS), .strict = below(2)};
        options.driver = SIM_CHOOSE_SEED;
        options.seed = seed * runs + run + 1;
        options.send_model = kind.send;
        options.strict_collectives = kind.strict;
        sim_world_free(scene_run(&scene, &options, &outcome));
        tally->runs++;
        bool good =
            outcome == OUTCOME_FINISHED && memcmp(expected, &scene.result, sizeof *expected) == 0;
        if (good)
            continue;
        tally->contradictions++;
        tell(seed, outcome == OUTCOME_FINISHED ? "another result" : "does not finish", kind,
             judgement);
        return;
    }
}

/* Said to hang under a model: some run under it must. Batches without batches are rendezvous. */
static void confirm(unsigned long long seed, const struct judgement *judgement, struct tally *tally)
{
    for (unsigned model = 0; model < MODELS; model++) {
        bool hangs = false, open = false;
        struct kind kind = {.send = (enum sim_send_model)model};
        if (!(judgement->hangs >> model & 1))
            continue;
        tally->claims++;
        for (int strict = 0; strict < 2 && !hangs; strict++) {
            struct explore_report report;
            kind.strict = strict;
            explore_all(&kind, &report);
            hangs = report.runs > report.by_outcome[OUTCOME_FINISHED];
            open = open || !report.complete;
            explore_report_release(&report);
        }
        tally->hang += hangs;
        tally->undecided += !hangs && open;
        tally->false_hangs += !hangs && !open;
        if (!hangs && !open)
            tell(seed, "said to hang, and never does", kind, judgement);
    }
}

static void hunt(unsigned long long seed, unsigned runs, struct tally *tally)
{
    struct judgement judgement = {0};
    struct program program = program_new(seed);
    struct kind eager = {.send = SIM_SEND_EAGER},
                waits = {.send = SIM_SEND_RENDEZVOUS, .strict = true};
    scene.program = &program;
    if (judge(&judgement, SIM_SEND_EAGER, false, NULL) != OUTCOME_FINISHED)
        return;
    struct result expected = scene.result;
    tally->programs++;
    tally->looking += program.looks;
    for (unsigned send = 0; send < MODELS; send++)
        for (unsigned strict = 0; strict < 2; strict++)
            if ((send || strict) && (send != SIM_SEND_BATCH || (program.batches && !strict)))
                judge(&judgement, (enum sim_send_model)send, strict, NULL);
    bool alike = !judgement.finds && prove_kind(&judgement, &eager);
    alike = alike && !judgement.finds && prove_kind(&judgement, &waits);
    if (judgement.hangs)
        confirm(seed, &judgement, tally);
    else if (alike && !judgement.finds && !judgement.gaps) {
        tally->proven++;
        contradict(seed, runs, &expected, &judgement, tally);
    } else {
        tally->open++;
    }
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(100);
    const char *wanted = getenv("HUNT_RUNS");
    unsigned runs = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 30;
    struct tally tally = {0};
    for (unsigned long long i = 0; i < seeds.count; i++)
        hunt(seeds.first + i, runs, &tally);
    tap_note("seeds %llu to %llu: %llu programs that end, %llu of them look; %llu proven, %llu "
             "open; %llu random runs of those proven",
             seeds.first, seeds.first + seeds.count - 1, tally.programs, tally.looking,
             tally.proven, tally.open, tally.runs);
    tap_note("%llu claims of a hang under a model: %llu hang, %llu too large to tell", tally.claims,
             tally.hang, tally.undecided);
    tap_is_int((long long)tally.contradictions, 0, "no run contradicts what was proven");
    tap_is_int((long long)tally.false_hangs, 0, "what is said to hang, does");
    tap_ok(tally.programs * 2 > seeds.count, "most programs end");
    tap_ok(tally.proven * 5 > tally.programs && tally.hang * 20 > tally.programs,
           "many are proven, some hang");
    return tap_done();
}
