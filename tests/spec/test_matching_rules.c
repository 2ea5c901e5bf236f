/* Random programs on the machine, held to the rules of rules.h, which know nothing of it. */
#include "tests/spec/machine.h"
#include "tests/spec/rules.h"

enum { PROGRAMS = 6000 };

struct spec_variant {
    const char *name;
    bool seeded, delayed, strict;
    enum sim_executor_kind executor;
    unsigned one_in; /* of so many programs one runs so */
};

static const struct spec_variant variants[] = {
    {"default choices", false, false, false, SIM_FIBERS, 1},
    {"seeded", true, false, false, SIM_FIBERS, 1},
    {"wildcards put off", true, true, false, SIM_FIBERS, 1},
    {"strict collectives", true, false, true, SIM_FIBERS, 4},
    {"OS threads", false, false, false, SIM_THREADS, 40},
    {"turns", false, false, false, SIM_TURNS, 40},
    {"turns, wildcards put off", true, true, false, SIM_TURNS, 40},
};

struct tally {
    unsigned long long runs, finished, matched, probes;
};

static bool holds(const struct spec_program *program, const struct spec_variant *variant,
                  uint64_t seed, struct tally *tally)
{
    static struct spec_rules rules;
    struct spec_run run;
    struct sim_world_options options = world_options(program->ranks);
    options.executor = variant->executor;
    options.strict_collectives = variant->strict;
    options.delay_wildcards = variant->delayed;
    options.driver = variant->seeded ? SIM_CHOOSE_SEED : SIM_CHOOSE_DEFAULT;
    options.seed = seed;
    bool ran = spec_run(program, options, &run);
    bool good = ran && spec_allows(&rules, program, &run);
    if (!good) {
        tap_note("program %llu, %s: %s", (unsigned long long)seed, variant->name,
                 ran ? rules.broken : "neither finished nor deadlocked");
        spec_print(program, &run);
    }
    tally->runs++;
    tally->finished += run.finished;
    for (int i = 0; i < SPEC_NUMBERS; i++)
        tally->matched += run.seen[i / SPEC_OPS][i % SPEC_OPS].message != SPEC_NONE;
    return good;
}

static void random_programs(const struct spec_variant *variant, struct dice_seeds seeds)
{
    struct tally tally = {0};
    unsigned long long wrong = 0;
    for (unsigned long long i = 0; i < seeds.count / variant->one_in && wrong < 3; i++) {
        struct spec_program program;
        spec_random(&program, seeds.first + i);
        wrong += !holds(&program, variant, seeds.first + i, &tally);
    }
    tap_ok(!wrong && tally.matched > tally.runs && tally.finished > tally.runs / 10 &&
               tally.finished < tally.runs,
           "%llu random programs, %s: each run is one that the rules allow", tally.runs,
           variant->name);
    tap_note("%llu finished, %llu messages received", tally.finished, tally.matched);
}

/* ---- the rules themselves: what they must refuse ---- */

static struct spec_op sends(int to, int tag)
{
    return (struct spec_op){.kind = SPEC_SEND, .to = to, .send_tag = tag};
}

static struct spec_op receives(int from, int tag)
{
    return (struct spec_op){.kind = SPEC_RECV, .from = from, .tag = tag};
}

static bool allows(const struct spec_program *program, const int *messages, bool finished)
{
    static struct spec_rules rules;
    struct spec_run run;
    memset(&run, 0, sizeof run);
    run.finished = finished;
    for (int rank = 0, next = 0; rank < program->ranks; rank++)
        for (int i = 0; i < program->count[rank]; i++) {
            struct spec_seen *seen = &run.seen[rank][i];
            bool receive = spec_receives(program->ops[rank][i].kind);
            int message = receive ? messages[next++] : SPEC_NONE;
            *seen = (struct spec_seen){.begun = true,
                                       .ended = !receive || message != SPEC_NONE,
                                       .message = message,
                                       .source = SPEC_NONE,
                                       .tag = SPEC_NONE,
                                       .index = SPEC_NONE};
            if (!seen->ended)
                break;
        }
    return spec_allows(&rules, program, &run);
}

static void the_rules(void)
{
    struct spec_program two = {.ranks = 2, .count = {2, 2}};
    two.ops[0][0] = sends(1, 0);
    two.ops[0][1] = sends(1, 0);
    two.ops[1][0] = receives(0, SPEC_ANY);
    two.ops[1][1] = receives(SPEC_ANY, 0);
    tap_ok(allows(&two, (int[]){0, 1}, true), "messages in the order sent");
    tap_ok(!allows(&two, (int[]){1, 0}, true), "R2: not in the other");
    tap_ok(!allows(&two, (int[]){0, 0}, true), "R1: no message twice");
    tap_ok(!allows(&two, (int[]){0, SPEC_NONE}, false), "R7: no message left beside its receive");
    tap_ok(!allows(&two, (int[]){0, 1}, false), "R7: no deadlock where all have ended");
    two.ops[0][1].send_tag = 1;
    tap_ok(!allows(&two, (int[]){0, 1}, true), "R1: no message of another tag");
    tap_ok(allows(&two, (int[]){0, SPEC_NONE}, false), "a receive stands beside what does not fit");
    two.sends_wait = true;
    tap_ok(!allows(&two, (int[]){0, SPEC_NONE}, false), "R4: a send that waits has not ended");
    struct spec_program ring = {.ranks = 2, .count = {2, 2}, .sends_wait = true};
    for (int rank = 0; rank < 2; rank++) {
        ring.ops[rank][0] = sends(1 - rank, 0);
        ring.ops[rank][1] = receives(1 - rank, 0);
    }
    tap_ok(!allows(&ring, (int[]){SPEC_OPS, 0}, true), "no order: each send waits for the other");
    ring.sends_wait = false;
    tap_ok(allows(&ring, (int[]){SPEC_OPS, 0}, true), "unless they are buffered");
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(PROGRAMS);
    the_rules();
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        random_programs(&variants[i], seeds);
    return tap_done();
}
