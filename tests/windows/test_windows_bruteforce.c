/* B003 against brute force: random programs of one-sided communication run on the machine, and what
 * check_windows finds in their traces is what window_oracle.h finds in all orders, neither more nor
 * less: the same pairs of accesses, each pair of places once, with their operations, roles and
 * bytes. SIMRUN_SOAK=100000 SIMRUN_SEED=1: so many programs, from there on. */
#include "checker/properties.h"
#include "tests/windows/window_oracle.h"
#include "tests/windows/window_run.h"
#include "traces/trace/finding.h"

#include <stdio.h>

static const char *const verbs[] = {
    "put",     "get",       "sum",        "product",  "replace",   "sum floats",  "fetch sum",
    "fetch",   "fetch add", "swap",       "rput",     "rget",      "rsum",        "load",
    "store",   "send from", "receive in", "irecv in", "send",      "ssend",       "issend",
    "probe",   "receive",   "wait all",   "fence",    "barrier",   "ibarrier",    "bcast",
    "scatter", "scatterv",  "reduce",     "gather",   "gatherv",   "allreduce",   "scan",
    "exscan",  "post",      "start",      "complete", "wait",      "lock excl",   "lock shared",
    "unlock",  "lock all",  "unlock all", "flush",    "flush all", "flush local", "flush local*",
    "sync"};

static void print_program(const struct program *program)
{
    tap_note("%s%s", program->shared ? "shared " : "", program->unordered ? "unordered" : "");
    for (uint32_t rank = 0; rank < program->ranks; rank++)
        for (uint32_t i = 0; i < program->length[rank]; i++) {
            const struct call *call = &program->calls[rank][i];
            tap_note("%u:%u %s %u place %u+%u #%u", rank, i, verbs[call->verb], call->peer,
                     call->place, call->shape, call->number);
        }
}

static bool is_touch(const struct way_access *access)
{
    return access->call->verb == LOAD || access->call->verb == STORE;
}

/* How an access should be told: its operation or the one before it, its line, its part. */
struct told {
    uint32_t op, site;
    const char *role;
    char place[40]; /* "w.c:103 ", "a load by rank 0 at w.c:101 " */
};

static struct told told_of(const struct scene *scene, struct trace *trace,
                           const struct way_access *access)
{
    struct told told = {.op = scene->op_of[access->rank][access->number], .role = "culprit"};
    told.site = trace->ops[told.op].form->site;
    if (is_touch(access) && access->number % SITELESS) {
        told.site = trace_add_site(trace, "w.c", call_line(access->rank, access->number), "f");
        told.role = access->call->verb == LOAD ? "before the load" : "before the store";
    }
    bool named = strcmp(told.role, "culprit") != 0;
    snprintf(told.place, sizeof told.place, "%s%sw.c:%d ",
             !named                       ? ""
             : access->call->verb == LOAD ? "a load by rank "
                                          : "a store by rank ",
             !named              ? ""
             : access->rank == 0 ? "0 at "
             : access->rank == 1 ? "1 at "
             : access->rank == 2 ? "2 at "
                                 : "3 at ",
             trace->sites[told.site].line);
    return told;
}

static bool is_told(const struct finding *finding, size_t at, const struct told *told)
{
    return finding->ops[at].op == told->op && strcmp(finding->ops[at].role, told->role) == 0;
}

/* A sentence that says so many bytes of two places. */
static bool says(const struct finding *finding, const struct told *a, const struct told *b,
                 const char *bytes)
{
    for (const char *line = finding->detail; line && *line;) {
        const char *end = strchr(line, '\n'), *share = strstr(line, " share ");
        const char *one = strstr(line, a->place), *other = strstr(line, b->place);
        if (share && share < end && one && one < end && other && other < end &&
            (a->site == b->site || one != other) && strncmp(share, bytes, strlen(bytes)) == 0)
            return true;
        line = end ? end + 1 : NULL;
    }
    return false;
}

/* The finding about two places. */
static const struct finding *about(const struct findings *findings, const struct told *a,
                                   const struct told *b, int *count)
{
    const struct finding *found = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        for (size_t k = 0; k + 1 < finding->op_count; k += 2)
            if (((is_told(finding, k, a) && is_told(finding, k + 1, b)) ||
                 (is_told(finding, k, b) && is_told(finding, k + 1, a))) &&
                (finding->site == a->site || finding->site == b->site) && says(finding, a, b, "")) {
                *count += found != finding;
                found = finding;
            }
    }
    return found;
}

/* Stretches that both touch begin at a place; their bytes. 0: none begins there. */
static int stretch_at(const struct way_access *a, const struct way_access *b, int place)
{
    uint32_t common = places_of(a->call) & places_of(b->call);
    bool apart = a->call->shape == GAP || b->call->shape == GAP;
    bool begins = (common >> place & 1) && (apart || !place || !(common >> (place - 1) & 1));
    return !begins ? 0 : !apart && (common >> (place + 1) & 1) ? 8 : 4;
}

/* Each stretch is told with its bytes. */
static bool bytes_are_told(const struct finding *finding, const struct told *one,
                           const struct told *other, const struct way_access *a,
                           const struct way_access *b)
{
    for (int place = 0; place < PLACES + 2; place++) {
        char text[80];
        int bytes = stretch_at(a, b, place);
        snprintf(text, sizeof text, " share %d bytes of the window of rank %u.\n", bytes, a->owner);
        if (bytes && !says(finding, one, other, text))
            return false;
    }
    return true;
}

/* Pairs of stretches of atomic operations that may be carried out in either order. */
static uint64_t count_meetings(const struct oracle *oracle)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < oracle->access_count; i++)
        for (uint32_t j = i + 1; j < oracle->access_count; j++)
            for (int place = 0; place < PLACES + 2; place++)
                count += (oracle->accesses[i].met >> j & 1) &&
                         stretch_at(&oracle->accesses[i], &oracle->accesses[j], place);
    return count;
}

struct answer {
    uint64_t atomic_orders; /* the gap about them */
    uint64_t other_gaps;
};

static struct answer ask_checker(const struct trace *trace, struct findings *findings)
{
    struct check_options options;
    struct check_context context;
    check_options_init(&options);
    check_context_init(&context, trace, &options);
    check_windows(&context, findings);
    check_context_release(&context);
    struct answer answer = {0};
    for (size_t i = 0; i < trace->coverage->count; i++) {
        const struct coverage_gap *gap = &trace->coverage->gaps[i];
        if (strncmp(gap->text, "another order of atomic", 23) == 0)
            answer.atomic_orders += gap->count;
        else if (strcmp(gap->check, "windows") == 0)
            answer.other_gaps += gap->count;
    }
    return answer;
}

/* The run learned an order from what an atomic operation fetched: it stands for other orders, too,
 * and says so. */
static bool has_learned(const struct trace *trace)
{
    for (size_t i = 0; i < trace->sync_count; i++) {
        const struct trace_sync *sync = &trace->syncs[i];
        uint8_t kind = trace->ops[trace->rank_begin[sync->peer] + sync->peer_op].kind;
        if (kind != OP_WIN_POST && kind != OP_WIN_COMPLETE)
            return true;
    }
    return false;
}

struct count {
    int hung, untraced, missed, invented, twice, bytes, gaps, learned, racy, clean, pairs;
};

static bool compare(const struct oracle *oracle, const struct scene *scene, struct trace *trace,
                    struct count *count)
{
    struct findings findings;
    findings_init(&findings);
    struct count before = *count;
    struct answer answer = ask_checker(trace, &findings);
    bool learned = has_learned(trace);
    size_t racing = 0, entries = 0, known = 0;
    for (uint32_t i = 0; i < oracle->access_count; i++)
        for (uint32_t j = i + 1; j < oracle->access_count; j++) {
            const struct way_access *a = &oracle->accesses[i], *b = &oracle->accesses[j];
            struct told one = told_of(scene, trace, a), other = told_of(scene, trace, b);
            int times = 0;
            const struct finding *finding = about(&findings, &one, &other, &times);
            if (!(a->races >> j & 1))
                continue;
            racing++;
            count->missed += !finding && !learned;
            count->twice += times > 1;
            count->bytes += finding && !bytes_are_told(finding, &one, &other, a, b);
        }
    /* and every pair that is told races */
    for (size_t f = 0; f < findings.count; f++)
        for (size_t k = 0; k + 1 < findings.items[f].op_count; k += 2) {
            bool races = false;
            for (uint32_t i = 0; i < oracle->access_count && !races; i++)
                for (uint32_t j = 0; j < oracle->access_count && !races; j++) {
                    struct told one = told_of(scene, trace, &oracle->accesses[i]);
                    struct told other = told_of(scene, trace, &oracle->accesses[j]);
                    races = (oracle->accesses[i].races >> j & 1) &&
                            is_told(&findings.items[f], k, &one) &&
                            is_told(&findings.items[f], k + 1, &other);
                }
            entries++;
            known += races;
        }
    for (size_t f = 0; f < findings.count; f++)
        count->bytes +=
            findings.items[f].confirmation != CONFIRM_HAPPENED || !findings.items[f].fingerprint[0];
    count->invented += (int)(entries - known);
    count->learned += learned;
    count->gaps +=
        answer.other_gaps || (!learned && count_meetings(oracle) != answer.atomic_orders);
    count->racy += racing > 0;
    count->clean += !racing;
    count->pairs += (int)racing;
    bool same = before.missed == count->missed && before.invented == count->invented &&
                before.twice == count->twice && before.bytes == count->bytes &&
                before.gaps == count->gaps;
    for (size_t f = 0; f < findings.count && !same; f++)
        tap_note("%s\n# %s", findings.items[f].title, findings.items[f].detail);
    for (uint32_t i = 0; i < oracle->access_count && !same; i++)
        for (uint32_t j = i + 1; j < oracle->access_count; j++)
            if (oracle->accesses[i].races >> j & 1)
                tap_note("race %u:%u %u:%u", oracle->accesses[i].rank, oracle->accesses[i].number,
                         oracle->accesses[j].rank, oracle->accesses[j].number);
    if (before.gaps != count->gaps)
        tap_note("%d met, gaps %d and %d", (int)count_meetings(oracle), (int)answer.atomic_orders,
                 (int)answer.other_gaps);
    findings_release(&findings);
    return same;
}

int main(void)
{
    static struct oracle oracle;
    static struct scene scene;
    struct dice_seeds seeds = dice_seeds(2500);
    struct count count = {0};
    int told = 0;
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct program program;
        write_program(&program, seed);
        ask_oracle(&oracle, &program);
        if (oracle.too_large)
            continue;
        memset(&scene, 0, sizeof scene);
        scene.program = &program;
        struct trace *trace = scene_trace(&scene, seed);
        bool fine = trace && !oracle.hangs;
        count.hung += oracle.hangs;
        count.untraced += !trace;
        if (trace)
            fine = compare(&oracle, &scene, trace, &count) && fine;
        if (!fine && told++ < 3) {
            tap_note(oracle.hangs ? "it hangs" : "");
            tap_note("program %llu:", seed);
            print_program(&program);
        }
        trace_free(trace);
    }
    tap_is_int(count.hung + count.untraced, 0, "no program hangs, and each was run");
    tap_is_int(count.missed, 0, "every pair of accesses that some order brings together is found");
    tap_is_int(count.invented, 0, "and no other");
    tap_is_int(count.twice, 0, "two places are one finding");
    tap_is_int(count.bytes, 0, "each says how many bytes of whose window, and that it happened");
    tap_is_int(count.gaps, 0, "orders of atomic accesses that decide what is fetched are a gap");
    tap_ok(count.racy > (int)seeds.count / 5 && count.clean > (int)seeds.count / 5 &&
               count.learned < (int)seeds.count / 8,
           "of %d programs %d have races, %d pairs, and %d have none", (int)seeds.count, count.racy,
           count.pairs, count.clean);
    return tap_done();
}
