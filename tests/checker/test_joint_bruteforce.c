/* Imported plans that combine orders given by data, wildcards, and waits and tests that one of
 * several requests completes (random_plan.h), against a naive model of MPI that runs them in every
 * way (plan_model.h), under three progress models and two ways in which collectives synchronise.
 *
 * The checker, which gets the plan as a JSONL file, must say D002 where something hangs with sends
 * that complete at once, D003 where only rendezvous hangs, D004 where only batches do; R001 or R002
 * where something meets others than planned though wildcards take what they are planned to; R003
 * for each wildcard that can take messages of two ranks; and of all that nothing that cannot
 * happen. Or it must say that it did not look (N001, coverage). SIMRUN_SOAK=N tries N plans, from
 * SIMRUN_SEED on. */
#include "checker/check.h"
#include "tests/checker/plan_model.h"
#include "tests/golden_said.h"
#include "tests/tap.h"
#include "traces/formats/format.h"

struct tally {
    unsigned plans, too_large, unread, bounded, silent;
    unsigned hangs, crosses, races; /* plans in which that can happen */
    unsigned missed[3], invented[3];
};

enum { HANG, CROSSING, RACE };

struct case_of {
    const struct plan *plan;
    const struct trace *trace;
    const struct findings *findings;
    struct outcome by_model[SENDING_MODELS], all;
    bool bounded;
};

static bool has(const struct findings *findings, const char *code)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->items[i].code, code) == 0)
            return true;
    return false;
}

/* The model's number of an operation of the trace. */
static int number_in_plan(const struct trace *trace, uint32_t op)
{
    uint32_t rank = trace->ops[op].rank;
    return (int)(rank * OPS_MAX + op - trace->rank_begin[rank]);
}

static uint32_t op_in_trace(const struct trace *trace, int number)
{
    return (uint32_t)trace->rank_begin[number / OPS_MAX] + (uint32_t)number % OPS_MAX;
}

static void find_planned(const struct plan *plan, const struct trace *trace,
                         struct sources *planned)
{
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        for (uint32_t i = 0; i < plan->count[rank]; i++) {
            uint32_t match = trace->ops[trace->rank_begin[rank] + i].match;
            planned->of[rank][i] = match == TRACE_NO ? -1 : (int8_t)trace->ops[match].rank;
        }
}

static void join(struct outcome *all, const struct outcome *one)
{
    all->too_large |= one->too_large;
    for (int a = 0; a < STEPS_MAX; a++) {
        all->crosses[a] |= one->crosses[a];
        for (int b = 0; b < STEPS_MAX; b++) {
            all->met[a][b] |= one->met[a][b];
            all->met_as_planned[a][b] |= one->met_as_planned[a][b];
        }
    }
}

static void run_models(struct case_of *it)
{
    struct sources planned;
    find_planned(it->plan, it->trace, &planned);
    for (int sending = EAGER; sending < SENDING_MODELS; sending++) {
        if (sending == BATCHED && !it->plan->has_batches) {
            it->by_model[BATCHED] = it->by_model[RENDEZVOUS];
            continue;
        }
        for (int minimal = 0; minimal < 2; minimal++)
            model_run(it->plan, &planned, (enum sending)sending, minimal, &it->by_model[sending]);
        join(&it->all, &it->by_model[sending]);
    }
}

/* ---- hangs ---- */

static const char *const model_names[] = {"eager", "rendezvous", "batch"};

static bool told_hang(const struct findings *findings, int sending)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].code[0] == 'D' &&
            strstr(findings->items[i].models, model_names[sending]))
            return true;
    return false;
}

static bool told_crossing(const struct findings *findings)
{
    return has(findings, "R001") || has(findings, "R002");
}

/* Each finding names the models under which it hangs. What hangs only where steps of one channel
 * come in another order than planned may be told as what crosses. */
static void compare_hangs(const struct case_of *it, struct tally *tally, bool *missed,
                          bool *invented)
{
    for (int sending = EAGER; sending < SENDING_MODELS; sending++) {
        const struct outcome *outcome = &it->by_model[sending];
        bool told = told_hang(it->findings, sending);
        if (sending != BATCHED || it->plan->has_batches)
            *missed |= (outcome->hangs && !told) ||
                       (outcome->hangs_turned && !told && !told_crossing(it->findings));
        *invented |= told && !outcome->hangs && !outcome->hangs_turned && !outcome->hangs_maybe;
    }
    tally->hangs += it->by_model[RENDEZVOUS].hangs;
}

/* ---- crossings ---- */

static bool can_cross(const struct case_of *it)
{
    const struct trace *trace = it->trace;
    for (int a = 0; a < STEPS_MAX; a++) {
        if (it->all.crosses[a])
            return true;
        for (int b = 0; b < STEPS_MAX; b++)
            if (it->all.met_as_planned[a][b] &&
                trace->ops[op_in_trace(trace, a)].match != op_in_trace(trace, b))
                return true;
    }
    return false;
}

/* Both can meet one and the same, or both can come as another call than planned. */
static bool pair_can_cross(const struct case_of *it, int one, int other)
{
    const struct outcome *all = &it->all;
    if (all->crosses[one] || all->crosses[other])
        return true;
    for (int partner = 0; partner < STEPS_MAX; partner++)
        if ((all->met[one][partner] && all->met[other][partner]) ||
            (all->met[partner][one] && all->met[partner][other]))
            return true;
    return false;
}

static bool has_any_tag(const struct plan *plan)
{
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        for (uint8_t comm = 0; comm < COMMS; comm++)
            if (takes_any_tag(plan, rank, comm))
                return true;
    return false;
}

/* Where a hang is named, what crosses may come to light when that is mended: of any tags orders of
 * two ranks are needed; and what was planned to meet may never do. */
static void compare_crossings(const struct case_of *it, struct tally *tally, bool *missed,
                              bool *invented)
{
    bool told = false, can = can_cross(it);
    for (size_t i = 0; i < it->findings->count; i++) {
        const struct finding *finding = &it->findings->items[i];
        bool crossing = strncmp(finding->title, "nothing orders", 14) == 0 ||
                        strncmp(finding->title, "other legal orders", 18) == 0;
        told = told || crossing;
        if (crossing && finding->code[0] == 'R' && !told_hang(it->findings, RENDEZVOUS))
            *invented |= !pair_can_cross(it, number_in_plan(it->trace, finding->ops[0].op),
                                         number_in_plan(it->trace, finding->ops[1].op));
    }
    tally->crosses += can;
    *missed |= can && !told && !(has_any_tag(it->plan) && told_hang(it->findings, RENDEZVOUS));
}

/* ---- races ---- */

static bool is_raced_for(const struct case_of *it, int receive)
{
    int source = -1;
    for (int send = 0; send < STEPS_MAX; send++) {
        if (!it->all.met[send][receive])
            continue;
        if (source >= 0 && source != send / OPS_MAX)
            return true;
        source = send / OPS_MAX;
    }
    return false;
}

static bool told_race(const struct case_of *it, int receive)
{
    for (size_t i = 0; i < it->findings->count; i++)
        if (strcmp(it->findings->items[i].code, "R003") == 0 &&
            number_in_plan(it->trace, it->findings->items[i].ops[0].op) == receive)
            return true;
    return false;
}

/* One race may make another: where there are any, one must be named, if nothing hangs before. */
static void compare_races(const struct case_of *it, struct tally *tally, bool *missed,
                          bool *invented)
{
    bool any = false;
    for (int number = 0; number < STEPS_MAX; number++) {
        const struct step *step = &it->plan->steps[number / OPS_MAX][number % OPS_MAX];
        bool exists = (uint32_t)number % OPS_MAX < it->plan->count[number / OPS_MAX];
        if (!exists || !is_wildcard(step))
            continue;
        bool raced = is_raced_for(it, number);
        any = any || raced;
        *invented |= told_race(it, number) && !raced;
    }
    tally->races += any;
    *missed |= any && !has(it->findings, "R003") && !told_hang(it->findings, RENDEZVOUS);
}

/* ---- all together ---- */

static void tell(unsigned long long seed, const struct case_of *it, const char *text,
                 const bool missed[3], const bool invented[3])
{
    tap_note("seed %llu: missed%s%s%s, invented%s%s%s; hangs %d %d %d (turned %d %d %d, perhaps %d "
             "%d %d)",
             seed, missed[0] ? " hang" : "", missed[1] ? " crossing" : "", missed[2] ? " race" : "",
             invented[0] ? " hang" : "", invented[1] ? " crossing" : "", invented[2] ? " race" : "",
             it->by_model[0].hangs, it->by_model[1].hangs, it->by_model[2].hangs,
             it->by_model[0].hangs_turned, it->by_model[1].hangs_turned,
             it->by_model[2].hangs_turned, it->by_model[0].hangs_maybe, it->by_model[1].hangs_maybe,
             it->by_model[2].hangs_maybe);
    for (size_t i = 0; i < it->findings->count; i++)
        tap_note("%s [%s] %s", it->findings->items[i].code, it->findings->items[i].models,
                 it->findings->items[i].title);
    puts(text);
}

static bool is_bounded(const struct trace *trace, const struct findings *findings)
{
    return has(findings, "N001") || trace_coverage(trace)->count > 0;
}

static void judge(unsigned long long seed, struct case_of *it, const char *text,
                  struct tally *tally)
{
    bool missed[3] = {false}, invented[3] = {false};
    compare_hangs(it, tally, &missed[HANG], &invented[HANG]);
    compare_crossings(it, tally, &missed[CROSSING], &invented[CROSSING]);
    compare_races(it, tally, &missed[RACE], &invented[RACE]);
    bool wrong = false;
    for (int i = 0; i < 3; i++) {
        missed[i] = missed[i] && !it->bounded;
        tally->missed[i] += missed[i];
        tally->invented[i] += invented[i];
        wrong = wrong || missed[i] || invented[i];
    }
    tally->bounded += it->bounded;
    tally->silent += !it->findings->count && !it->bounded;
    if (wrong)
        tell(seed, it, text, missed, invented);
}

static void compare(unsigned long long seed, uint64_t begin, struct tally *tally)
{
    char text[TEXT_MAX];
    struct failure failure = {0};
    struct check_options options;
    struct findings findings;
    dice = begin;
    struct plan plan = plan_new();
    size_t size = plan_write(&plan, text);
    struct trace *trace = format_read_memory("plan.jsonl", text, size, &failure);
    if (!trace) {
        tally->unread++;
        tap_note("seed %llu: %s", seed, failure.text);
        return;
    }
    struct case_of it = {.plan = &plan, .trace = trace, .findings = &findings};
    run_models(&it);
    if (it.all.too_large) {
        tally->too_large++;
    } else {
        tally->plans++;
        findings_init(&findings);
        check_options_init(&options);
        check_trace(trace, &options, &findings);
        it.bounded = is_bounded(trace, &findings);
        judge(seed, &it, text, tally);
        said_trace(trace, &options, &findings);
        findings_release(&findings);
    }
    trace_free(trace);
}

/* Once; 41901: in the order of the file a wildcard waits for what its rank must do more for. */
static const unsigned long long judged_wrongly[] = {41901};

static const uint64_t MIXED = 0x9e3779b97f4a7c15u;

int main(void)
{
    struct dice_seeds seeds = dice_seeds(300);
    struct tally tally = {0};
    if (dice_part().of == 1)
        said_open("joint_bruteforce", 10);
    for (unsigned long long i = 0; i < seeds.count; i++)
        compare(seeds.first + i, (seeds.first + i) * MIXED, &tally);
    for (size_t i = 0; i < sizeof judged_wrongly / sizeof *judged_wrongly; i++)
        compare(judged_wrongly[i], judged_wrongly[i] * MIXED, &tally);
    plan_by_name = true;
    for (size_t i = 0; i < CROSSING_PLANS; i++)
        compare(crossing_plans[i], crossing_plans[i], &tally);
    tap_note("%u plans: %u hang, %u cross, %u have races; %u bounded, nothing said of %u; %u were "
             "too large for the model",
             tally.plans, tally.hangs, tally.crosses, tally.races, tally.bounded, tally.silent,
             tally.too_large);
    tap_is_int(tally.unread, 0, "every plan is read");
    tap_is_int(tally.missed[HANG], 0, "no hang of an order, a match and an arrival is missed");
    tap_is_int(tally.invented[HANG], 0, "and none is invented");
    tap_is_int(tally.missed[CROSSING], 0, "nothing crosses unnoticed");
    tap_is_int(tally.invented[CROSSING], 0, "and what is said to cross can");
    tap_is_int(tally.missed[RACE], 0, "every wildcard that several ranks can serve is named");
    tap_is_int(tally.invented[RACE], 0, "and no other");
    tap_ok(tally.hangs * 10 > tally.plans && tally.crosses * 20 > tally.plans &&
               tally.races * 50 > tally.plans && tally.silent * 10 > tally.plans,
           "there are plans of every kind");
    tap_ok(tally.bounded * 4 < tally.plans && tally.too_large * 20 < tally.plans,
           "most are decided");
    said_close();
    return tap_done();
}
