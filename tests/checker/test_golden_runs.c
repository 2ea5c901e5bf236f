/* What is said of random programs (hunt_program.h) is what was said of them when somebody looked:
 * the operations that were recorded, the findings with all that they name, how many runs an
 * exploration takes and how they end. tests/golden/random_runs.tsv; oracles stand elsewhere
 * (test_proven.c, tests/spec): here nothing changes unseen. */
#include "checker/check.h"
#include "checker/explore/explore.h"
#include "tests/checker/hunt_run.h"
#include "tests/golden_trace.h"

enum { PROGRAMS = 60, SPOILED = 200, EXPLORED_MAX = 60 };

static struct scene scene;

struct kind {
    const char *name;
    enum sim_send_model send;
    bool strict, seeded;
};

static void options_of(const struct kind *kind, unsigned seed, struct sim_world_options *options)
{
    sim_world_options_init(options);
    options->send_model = kind->send;
    options->strict_collectives = kind->strict;
    options->driver = kind->seeded ? SIM_CHOOSE_SEED : SIM_CHOOSE_DEFAULT;
    options->seed = seed;
    options->livelock_rounds = 200;
}

static void run_and_check(struct golden *golden, unsigned seed, const struct kind *kind)
{
    struct sim_world_options options;
    enum trace_outcome outcome = OUTCOME_ABORTED;
    struct check_options checks;
    struct findings findings;
    char key[60], words[400];
    options_of(kind, seed, &options);
    struct trace *trace = scene_trace(&scene, &options, &outcome);
    if (!trace)
        return; /* its row is missing */
    golden_sites(trace);
    uint64_t hash = golden_trace(trace);
    check_options_init(&checks);
    findings_init(&findings);
    check_trace(trace, &checks, &findings);
    findings_sort(&findings);
    snprintf(key, sizeof key, "%u %s", seed, kind->name);
    snprintf(words, sizeof words, "%u", (unsigned)outcome);
    hash = golden_mix(hash, golden_findings(trace, &findings, words, sizeof words));
    if (!golden_row(golden, key, words, hash) && golden->wrong < 5)
        golden_show(&findings);
    findings_release(&findings);
    trace_free(trace);
}

static bool run_explored(void *context, unsigned worker, struct explore_steer *steer,
                         struct explore_run *run)
{
    struct sim_world_options options;
    (void)worker;
    options_of(context, 0, &options);
    explore_steer_world(steer, &options);
    struct sim_world *world = scene_run(&scene, &options, &run->outcome);
    if (!world)
        return false;
    run->fingerprint = golden_mix(1, scene.result.seen[0]);
    for (size_t i = 0; i < RANKS_MAX * OPS_MAX; i++)
        run->fingerprint =
            golden_mix(run->fingerprint, (uint64_t)scene.result.values[i / OPS_MAX][i % OPS_MAX]);
    run->conduct = run->fingerprint;
    explore_run_take(run, sim_world_choices(world));
    sim_world_free(world);
    return true;
}

static void explore_it(struct golden *golden, unsigned seed, struct kind *kind)
{
    struct explore_report report;
    struct explore_options options;
    char key[60], words[400];
    explore_options_init(&options);
    options.workers = 1;
    options.runs_max = EXPLORED_MAX;
    explore(&options, run_explored, kind, &report);
    snprintf(key, sizeof key, "%u explored %s", seed, kind->name);
    snprintf(words, sizeof words, "%llu runs, %llu redundant, %llu results, %zu failures, %s",
             (unsigned long long)report.runs, (unsigned long long)report.redundant,
             (unsigned long long)report.results, report.failure_count,
             report.complete ? "complete" : "open");
    uint64_t hash = golden_mix(report.waiting, report.gaps);
    for (size_t i = 0; i < EXPLORE_OUTCOMES; i++)
        hash = golden_mix(hash, report.by_outcome[i]);
    golden_row(golden, key, words, hash);
    explore_report_release(&report);
}

/* One or two steps are left out, changed or exchanged, so that most programs are wrong. */
static void spoil(struct program *program)
{
    static const uint8_t like[][4] = {{SEND, SSEND, BSEND, SENDRECV},
                                      {RECV, PROBE_RECV, MRECV, IPROBE_RECV},
                                      {ISEND, ISSEND, IBSEND, SEND_INIT},
                                      {ALLREDUCE, BARRIER, BCAST, REDUCE},
                                      {WAIT, WAITANY, WAITALL, TEST}};
    for (uint32_t times = 1 + below(2); times-- > 0;) {
        uint32_t rank = below(program->ranks), at = below(program->length[rank]), how = below(6);
        struct step *step = &program->steps[rank][at], kept = *step;
        if (how == 0) {
            memmove(step, step + 1, (--program->length[rank] - at) * sizeof *step);
        } else if (how == 1) {
            step->tag = (int8_t)below(3);
        } else if (how == 2) {
            step->peer = (int8_t)below(program->ranks);
        } else if (how == 3) {
            step->comm = (uint8_t)below(COMMS);
        } else if (how == 4 && at + 1 < program->length[rank]) {
            *step = step[1];
            step[1] = kept;
        }
        for (size_t i = 0; how == 5 && i < sizeof like / sizeof *like; i++)
            if (memchr(like[i], kept.verb, sizeof like[i]))
                step->verb = like[i][below(4)];
    }
}

int main(void)
{
    struct kind kinds[] = {{"eager", SIM_SEND_EAGER, false, false},
                           {"eager seeded", SIM_SEND_EAGER, true, true},
                           {"rendezvous", SIM_SEND_RENDEZVOUS, true, false},
                           {"batch", SIM_SEND_BATCH, false, true}};
    struct golden golden = golden_open("tests/golden/random_runs.tsv");
    for (unsigned seed = 1; seed <= PROGRAMS; seed++) {
        if (!golden_takes(&golden, seed))
            continue;
        struct program program = program_new(seed);
        scene.program = &program;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            run_and_check(&golden, seed, &kinds[i]);
        explore_it(&golden, seed, &kinds[seed % 2 ? 0 : 2]);
    }
    for (unsigned seed = PROGRAMS + 1; seed <= PROGRAMS + SPOILED; seed++) {
        if (!golden_takes(&golden, seed))
            continue;
        struct program program = program_new(seed);
        spoil(&program);
        scene.program = &program;
        run_and_check(&golden, seed, &kinds[seed % 2 ? 0 : 2]);
        if (seed % 2)
            explore_it(&golden, seed, &kinds[seed % 4 == 1 ? 0 : 2]);
    }
    golden_close(&golden, "random programs say what they said");
    return tap_done();
}
