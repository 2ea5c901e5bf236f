/* The order checker against all linear extensions of small random DAGs, each run on a simulator
 * that shares nothing with it (order_model.h). The checker must say that some choice of extensions
 * hangs, or crosses, exactly if one does; every witness must replay to its verdict, and every
 * repair leave nothing unsafe. SIMRUN_SOAK=N runs N instances, from SIMRUN_SEED on. */
#include "checker/check.h"
#include "checker/replay/witness.h"
#include "tests/checker/order_model.h"

/* ---- the comparison ---- */

struct tally {
    unsigned bounded, missed_in_bound, bad_bound, needless_bound;
    unsigned instances, unsafe, hanging, crossing, longer, disagree, bad_witness;
    unsigned repaired, unrepaired, bad_repair, large_repair;
};

static void replay_witness(const struct trace *trace, const struct finding *finding,
                           struct tally *tally)
{
    struct check_witness witness;
    struct failure failure;
    enum witness_outcome wanted = finding->code[0] == 'D' ? WITNESS_STUCK : WITNESS_CROSSES;
    if (!finding->witness ||
        check_witness_parse(finding->witness, trace, &witness, &failure) != 0) {
        tally->bad_witness++;
        return;
    }
    tally->bad_witness += check_witness_replay(trace, &witness, NULL) != wanted;
    check_witness_release(&witness);
}

static void take_edges(struct instance *instance, const struct trace_edge *edges, size_t count)
{
    const struct trace *trace = instance->program.trace;
    for (size_t i = 0; i < count; i++) {
        const struct trace_node *from = &trace->nodes[edges[i].from],
                                *to = &trace->nodes[edges[i].to];
        instance->edge[from->rank][from->id - 1][to->id - 1] = true;
    }
}

/* Closes the relation in any direction; false when it has become a cycle. */
static bool close_anyway(struct instance *instance)
{
    for (uint32_t rank = 0; rank < instance->ranks; rank++) {
        uint32_t n = instance->node_count[rank];
        bool(*edge)[NODES_MAX] = instance->edge[rank];
        for (uint32_t k = 0; k < n; k++)
            for (uint32_t i = 0; i < n; i++)
                for (uint32_t j = 0; j < n; j++)
                    edge[i][j] |= edge[i][k] && edge[k][j];
        for (uint32_t i = 0; i < n; i++)
            if (edge[i][i])
                return false;
    }
    return true;
}

static bool is_safe_with(const struct instance *instance, enum check_model model,
                         const struct trace_edge *edges, size_t count)
{
    struct instance mended = *instance;
    struct verdict verdict;
    take_edges(&mended, edges, count);
    return close_anyway(&mended) && brute_force(&mended, model, &verdict) && !verdict.hangs &&
           !verdict.crosses;
}

enum { PAIRS_MAX = 7 };

static size_t unordered_pairs(const struct instance *instance, struct trace_edge *pairs)
{
    size_t count = 0;
    for (uint32_t rank = 0; rank < instance->ranks; rank++)
        for (uint32_t a = 0; a < instance->node_count[rank]; a++)
            for (uint32_t b = a + 1; b < instance->node_count[rank]; b++) {
                if (instance->edge[rank][a][b])
                    continue;
                if (count == PAIRS_MAX)
                    return PAIRS_MAX + 1;
                uint32_t begin = (uint32_t)instance->program.trace->node_begin[rank];
                pairs[count++] = (struct trace_edge){.from = begin + a, .to = begin + b};
            }
    return count;
}

/* Whether fewer edges towards the recorded order would do: every pair is left alone or ordered as
 * recorded. */
static bool fewer_will_do(const struct instance *instance, enum check_model model, size_t limit)
{
    struct trace_edge pairs[PAIRS_MAX + 1], chosen[PAIRS_MAX];
    size_t count = unordered_pairs(instance, pairs);
    for (size_t set = 0; set < (size_t)1 << count && count <= PAIRS_MAX; set++) {
        size_t size = 0;
        for (size_t i = 0; i < count; i++)
            if (set >> i & 1)
                chosen[size++] = pairs[i];
        if (size < limit && is_safe_with(instance, model, chosen, size))
            return true;
    }
    return false;
}

/* Where some order is safe, edges that allow only that one are a repair. */
static void try_repair(const struct instance *instance, enum check_model model,
                       const struct finding *finding, struct tally *tally)
{
    if (!finding->repair) {
        struct verdict verdict;
        tally->unrepaired += brute_force(instance, model, &verdict) && verdict.safe;
        return;
    }
    tally->repaired++;
    tally->bad_repair +=
        !is_safe_with(instance, model, finding->repair_edges, finding->repair_count);
    if (fewer_will_do(instance, model, finding->repair_count)) {
        tally->large_repair++;
        tap_note("seed %llu: fewer than %zu edges will do", instance->seed, finding->repair_count);
    }
}

/* `limit`: of the search's steps, 0 for the usual one. */
static struct verdict ask_checker(const struct instance *instance, enum check_model model,
                                  uint64_t limit, struct tally *tally)
{
    struct check_options options;
    struct findings findings;
    struct verdict verdict = {0};
    check_options_init(&options);
    check_options_parse(&options, "order", NULL);
    options.models = model;
    options.search_limit = limit ? limit : options.search_limit;
    findings_init(&findings);
    check_trace(instance->program.trace, &options, &findings);
    for (size_t i = 0; i < findings.count; i++) {
        const struct finding *finding = &findings.items[i];
        verdict.hangs |= finding->code[0] == 'D';
        verdict.crosses |= finding->code[0] == 'R';
        verdict.bounded |= finding->code[0] == 'N';
        if (finding->code[0] == 'N')
            continue;
        if (finding->code[0] == 'D' && strstr(finding->title, "3 ranks"))
            tally->longer++;
        replay_witness(instance->program.trace, finding, tally);
    }
    if (!limit && findings.count)
        try_repair(instance, model, &findings.items[0], tally);
    findings_release(&findings);
    return verdict;
}

/* Every claim must be true, no unsafe instance may pass, and where only one thing can happen the
 * checker must name it. */
static bool agree(struct verdict brute, struct verdict checker)
{
    if ((checker.crosses && !brute.crosses) || (checker.hangs && !brute.hangs))
        return false;
    if ((brute.crosses || brute.hangs) != (checker.crosses || checker.hangs))
        return false;
    return (brute.crosses && brute.hangs) ||
           (brute.crosses == checker.crosses && brute.hangs == checker.hangs);
}

/* With next to no steps allowed every claim must still be true, and silence must say that it is
 * bounded. */
static void compare_bounded(const struct instance *instance, enum check_model model,
                            struct verdict brute, struct tally *tally)
{
    struct verdict checker = ask_checker(instance, model, 1 + instance->seed % 12, tally);
    bool unsafe = brute.crosses || brute.hangs, says = checker.crosses || checker.hangs;
    tally->bounded += checker.bounded;
    tally->missed_in_bound += unsafe && !says && checker.bounded;
    if ((checker.crosses && !brute.crosses) || (checker.hangs && !brute.hangs) ||
        (unsafe && !says && !checker.bounded)) {
        tally->bad_bound++;
        tap_note("seed %llu %s, few steps: checker hangs %d crosses %d bounded %d", instance->seed,
                 check_model_name(model), checker.hangs, checker.crosses, checker.bounded);
    }
}

static void compare(uint64_t seed, enum check_model model, struct tally *tally)
{
    state = seed;
    struct instance instance = instance_new();
    instance.seed = seed;
    struct verdict brute;
    if (!instance.too_large && brute_force(&instance, model, &brute)) {
        struct verdict checker = ask_checker(&instance, model, 0, tally);
        compare_bounded(&instance, model, brute, tally);
        tally->needless_bound += checker.bounded;
        tally->instances++;
        tally->hanging += brute.hangs;
        tally->crossing += brute.crosses;
        tally->unsafe += brute.hangs || brute.crosses;
        if (!agree(brute, checker)) {
            tally->disagree++;
            tap_note("seed %llu %s: brute force hangs %d crosses %d, checker hangs %d crosses %d",
                     (unsigned long long)seed, check_model_name(model), brute.hangs, brute.crosses,
                     checker.hangs, checker.crosses);
        }
    }
    trace_free(instance.program.trace);
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(4000);
    unsigned long long seed = seeds.first, runs = seeds.count;
    struct tally tally = {0};
    for (unsigned long long i = 0; i < runs; i++)
        compare(seed + i, (enum check_model)(1u << i % 3), &tally);
    tap_note("seeds %llu to %llu: %u instances, %u unsafe, %u hang, %u cross, %u cycles of three",
             seed, seed + runs - 1, tally.instances, tally.unsafe, tally.hanging, tally.crossing,
             tally.longer);
    tap_is_int(tally.disagree, 0, "the order checker agrees with all linear extensions");
    tap_is_int(tally.needless_bound, 0, "and sees everything");
    tap_note("few steps allowed: %u bounded, %u unsafe ones missed", tally.bounded,
             tally.missed_in_bound);
    tap_is_int(tally.bad_bound, 0, "with few steps allowed what it misses it calls bounded");
    tap_ok(tally.missed_in_bound > 10 && tally.bounded * 2 < tally.instances,
           "which happens, and not everywhere");
    tap_is_int(tally.bad_witness, 0, "every witness replays to its verdict");
    tap_note("%u repairs, %u not repaired", tally.repaired, tally.unrepaired);
    tap_is_int(tally.bad_repair, 0, "every repair leaves no unsafe order");
    tap_is_int(tally.large_repair, 0,
               "no repair has more edges than needed towards the recorded order");
    tap_ok(tally.unrepaired * 200 < tally.repaired, "nearly everything is repaired");
    tap_ok(tally.instances > runs / 4, "most instances are small enough to enumerate");
    tap_ok(tally.unsafe > tally.instances / 10 && tally.unsafe < tally.instances,
           "there are safe and unsafe instances");
    return tap_done();
}
