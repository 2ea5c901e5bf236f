/* What check_windows makes of single rows: every pair of accesses that nothing orders, over kinds,
 * reductions, types, locks and ranks; the bytes they share; what a run learned from an atomic
 * operation; and its limits: findings, places, pairs, clocks, circles. */
#include "checker/properties.h"
#include "tests/tap.h"
#include "traces/trace/finding.h"

#include <stdio.h>

enum { SUM_OP = 35, PRODUCT_OP = 36, INT_TYPE = 7, FLOAT_TYPE = 8 };

static uint64_t now;

static uint32_t add_op(struct trace *trace, uint32_t rank, enum op_kind kind)
{
    struct trace_op op = trace_op_none(rank, kind);
    op.begin = ++now;
    op.end = ++now;
    return trace_add_op(trace, &op);
}

static void finish(struct trace *trace)
{
    struct failure failure;
    if (!trace_finish(trace, &failure))
        tap_note("%s", failure.text);
}

static struct findings findings;

/* The gap that begins with these words. */
static uint64_t gap(const struct trace *trace, const char *words)
{
    for (size_t i = 0; i < trace->coverage->count; i++)
        if (strncmp(trace->coverage->gaps[i].text, words, strlen(words)) == 0)
            return trace->coverage->gaps[i].count;
    return 0;
}

static void ask(const struct trace *trace)
{
    struct check_options options;
    struct check_context context;
    check_options_init(&options);
    check_context_init(&context, trace, &options);
    findings_release(&findings);
    findings_init(&findings);
    check_windows(&context, &findings);
    check_context_release(&context);
}

/* ---- every pair ---- */

/* What MPI calls an access, how it is recorded, and by which operation. */
static const struct {
    const char *name;
    enum op_kind kind;
    enum access_kind access;
    uint32_t reduction, type;
    bool updates, atomic;
} sorts[] = {
    {"load", OP_NONE, ACCESS_LOAD, 0, 0, false, false},
    {"store", OP_NONE, ACCESS_STORE, 0, 0, true, false},
    {"get", OP_GET, ACCESS_GET, 0, 0, false, false},
    {"put", OP_PUT, ACCESS_PUT, 0, 0, true, false},
    {"sum", OP_ACCUMULATE, ACCESS_ACCUMULATE, SUM_OP, INT_TYPE, true, true},
    {"sum of floats", OP_ACCUMULATE, ACCESS_ACCUMULATE, SUM_OP, FLOAT_TYPE, true, true},
    {"sum of a mixed type", OP_ACCUMULATE, ACCESS_ACCUMULATE, SUM_OP, 0, true, true},
    {"product", OP_ACCUMULATE, ACCESS_ACCUMULATE, PRODUCT_OP, INT_TYPE, true, true},
    {"fetch and product", OP_GET_ACCUMULATE, ACCESS_ACCUMULATE, PRODUCT_OP, INT_TYPE, true, true},
    {"fetch and add", OP_FETCH_AND_OP, ACCESS_ACCUMULATE, SUM_OP, INT_TYPE, true, true},
    {"fetch", OP_GET_ACCUMULATE, ACCESS_ACCUMULATE, ACCESS_NO_REDUCTION, INT_TYPE, false, true},
    {"swap", OP_COMPARE_AND_SWAP, ACCESS_ACCUMULATE, 0, INT_TYPE, true, true}};
enum { SORTS = sizeof sorts / sizeof *sorts };

struct side {
    uint32_t sort, rank, lock;
    bool unordered;
};

static bool fetches(const struct side *side)
{
    enum op_kind kind = sorts[side->sort].kind;
    return kind == OP_GET_ACCUMULATE || kind == OP_FETCH_AND_OP || kind == OP_COMPARE_AND_SWAP;
}

static bool race(const struct side *a, const struct side *b)
{
    bool atomic = sorts[a->sort].atomic && sorts[b->sort].atomic;
    uint32_t one = sorts[a->sort].reduction, other = sorts[b->sort].reduction;
    bool any = !one || !other || one == ACCESS_NO_REDUCTION || other == ACCESS_NO_REDUCTION;
    if (a->rank != b->rank && a->lock && b->lock &&
        (a->lock == ACCESS_EXCLUSIVE || b->lock == ACCESS_EXCLUSIVE))
        return false; /* never at once */
    if (!sorts[a->sort].updates && !sorts[b->sort].updates)
        return false;
    if (!atomic)
        return a->rank != b->rank || sorts[a->sort].kind != OP_NONE ||
               sorts[b->sort].kind != OP_NONE;
    if (sorts[a->sort].type != sorts[b->sort].type)
        return true;
    return one != other && !any && (a->rank != b->rank || a->unordered || b->unordered);
}

/* Which one is first decides what is fetched, and nothing else is wrong. */
static bool decides(const struct side *a, const struct side *b)
{
    return a->rank != b->rank && sorts[a->sort].atomic && sorts[b->sort].atomic &&
           (sorts[a->sort].updates || sorts[b->sort].updates) && (fetches(a) || fetches(b)) &&
           !race(a, b) &&
           !(a->lock && b->lock && (a->lock == ACCESS_EXCLUSIVE || b->lock == ACCESS_EXCLUSIVE));
}

static void add_side(struct trace *trace, const struct side *side, uint64_t begin)
{
    struct trace_access access = {.rank = side->rank,
                                  .kind = (uint8_t)sorts[side->sort].access,
                                  .target = 1,
                                  .reduction = sorts[side->sort].reduction,
                                  .type = sorts[side->sort].type,
                                  .lock = side->lock,
                                  .site = TRACE_NO,
                                  .unordered = side->unordered,
                                  .begin = begin,
                                  .end = begin + 8,
                                  .done = UINT32_MAX};
    uint32_t count = 0; /* operations of the rank so far */
    for (size_t i = 0; i < trace->op_count; i++)
        count += trace->ops[i].rank == side->rank;
    access.op = count;
    if (sorts[side->sort].kind != OP_NONE) {
        add_op(trace, side->rank, sorts[side->sort].kind);
        access.done = 5; /* the last */
    }
    trace_add_access(trace, &access);
}

/* A, then b, both under way to the end; instants in between are of ranks that never meet. */
static bool pair_is_right(const struct side *a, const struct side *b)
{
    struct trace *trace = trace_new(3);
    for (uint32_t rank = 0; rank < 3; rank++)
        add_op(trace, rank, OP_WIN_LOCK_ALL);
    add_side(trace, a, 100);
    add_side(trace, b, 104);
    bool instant = a->rank == b->rank && sorts[a->sort].kind == OP_NONE;
    for (uint32_t rank = 0; rank < 3; rank++) {
        while (trace->op_count < 3u * (rank + 1) + 4)
            add_op(trace, rank, OP_WIN_SYNC);
        add_op(trace, rank, OP_WIN_UNLOCK_ALL);
    }
    finish(trace);
    ask(trace);
    /* what the program did itself before is over when it calls */
    bool races = race(a, b) && !instant;
    bool right = findings.count == races;
    right &= (gap(trace, "another order of atomic") == 1) == decides(a, b);
    if (races && findings.count)
        right &= strstr(findings.items[0].detail, " share 4 bytes of the window of rank 1.\n") &&
                 findings.items[0].op_count == 2;
    if (!right)
        tap_note("%s of rank %u%s lock %u, %s of rank %u%s lock %u: %zu, %d", sorts[a->sort].name,
                 a->rank, a->unordered ? " unordered" : "", a->lock, sorts[b->sort].name, b->rank,
                 b->unordered ? " unordered" : "", b->lock, findings.count,
                 (int)gap(trace, "another order"));
    trace_free(trace);
    return right;
}

static void every_pair(void)
{
    int wrong = 0, asked = 0;
    for (uint32_t one = 0; one < SORTS; one++)
        for (uint32_t other = 0; other < SORTS; other++)
            for (uint32_t bits = 0; bits < 8; bits++)
                for (uint32_t locks = 0; locks < 9; locks++) {
                    struct side a = {one, 0, locks % 3, bits & 1};
                    struct side b = {other, bits >> 2 & 1, locks / 3, bits >> 1 & 1};
                    if (a.rank == b.rank && a.lock != b.lock)
                        continue;
                    wrong += !pair_is_right(&a, &b) && asked >= 0;
                    asked++;
                }
    tap_is_int(wrong, 0, "%d pairs of accesses race as MPI says", asked);
}

/* ---- borders ---- */

static struct trace *two_stores(uint64_t begin, uint64_t end, uint64_t from, uint64_t to)
{
    struct trace *trace = trace_new(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        add_op(trace, rank, OP_WIN_LOCK_ALL);
        trace_add_access(trace, &(struct trace_access){.rank = rank,
                                                       .op = 1,
                                                       .done = UINT32_MAX,
                                                       .target = 0,
                                                       .kind = ACCESS_STORE,
                                                       .site = TRACE_NO,
                                                       .begin = rank ? from : begin,
                                                       .end = rank ? to : end});
    }
    finish(trace);
    return trace;
}

static void borders(void)
{
    int wrong = 0;
    for (uint64_t begin = 10; begin < 16; begin++)
        for (uint64_t end = begin + 1; end < 18; end++)
            for (uint64_t from = 10; from < 16; from++)
                for (uint64_t to = from + 1; to < 18; to++) {
                    struct trace *trace = two_stores(begin, end, from, to);
                    int shared = 0;
                    for (uint64_t byte = 0; byte < 20; byte++)
                        shared += byte >= begin && byte < end && byte >= from && byte < to;
                    char text[40];
                    snprintf(text, sizeof text, " share %d bytes", shared);
                    ask(trace);
                    wrong += findings.count != (shared > 0) ||
                             (shared && !strstr(findings.items[0].detail, text));
                    trace_free(trace);
                }
    tap_is_int(wrong, 0, "stores race where they share a byte, and that many are told");
}

/* ---- what a run learned ---- */

/* Rank 0 stores and adds; rank 1 fetches what was added, and loads. `told`: it knew before. */
static void learned(bool told, uint64_t chances, size_t races, uint32_t source)
{
    struct trace *trace = trace_new(2);
    struct trace_op send = trace_op_none(0, OP_SEND), receive = trace_op_none(1, OP_RECV);
    struct trace_access store = {.rank = 0,
                                 .op = 1,
                                 .done = UINT32_MAX,
                                 .kind = ACCESS_STORE,
                                 .site = TRACE_NO,
                                 .begin = 0,
                                 .end = 4};
    struct trace_access load = store;
    load.rank = 1;
    load.kind = ACCESS_LOAD;
    load.op = told ? 3 : 2;
    struct trace_comm comm = {.id = 1, .size = 2, .parent = TRACE_NO, .adjoint_of = TRACE_NO};
    send.comm = receive.comm = trace_add_comm(trace, &comm);
    send.peer = send.peer_matched = 1;
    receive.peer = receive.peer_matched = 0;
    send.tag = receive.tag = send.tag_matched = receive.tag_matched = 0;
    add_op(trace, 0, OP_WIN_LOCK_ALL);
    add_op(trace, 1, OP_WIN_LOCK_ALL);
    trace_add_access(trace, &store);
    add_op(trace, 0, OP_FETCH_AND_OP);
    if (told) {
        send.begin = ++now;
        send.end = ++now;
        receive.begin = ++now;
        receive.end = ++now;
        trace_add_op(trace, &send);
        trace_add_op(trace, &receive);
    }
    add_op(trace, 1, OP_FETCH_AND_OP);
    trace_add_access(trace, &load);
    trace_add_sync(trace, &(struct trace_sync){1, told ? 3 : 2, 0, source});
    finish(trace);
    ask(trace);
    bool lost = source != 1;
    tap_is_int(gap(trace, "another order of atomic"), chances, "what was fetched %s",
               told ? "tells nothing new" : "orders, and another order is a gap");
    tap_is_int(findings.count, races, "and what it orders is no race");
    tap_is_int(gap(trace, "accesses to windows of ranks"), lost ? 2 : 0, "%s",
               lost ? "what is not there leaves all accesses undecided" : "no gap else");
    trace_free(trace);
}

/* ---- circles ---- */

/* Two ranks that each receive what the other sends afterwards: no run was like that. */
static void circle(void)
{
    struct trace *trace = two_stores(0, 4, 0, 4);
    struct trace *turned = trace_new(2);
    struct trace_comm comm = {.id = 1, .size = 2, .parent = TRACE_NO, .adjoint_of = TRACE_NO};
    uint32_t world = trace_add_comm(turned, &comm);
    for (uint32_t rank = 0; rank < 2; rank++)
        for (int sends = 0; sends < 2; sends++) {
            struct trace_op op = trace_op_none(rank, sends ? OP_SEND : OP_RECV);
            op.comm = world;
            op.peer = op.peer_matched = 1 - (int32_t)rank;
            op.tag = op.tag_matched = 0;
            op.begin = ++now;
            op.end = ++now;
            trace_add_op(turned, &op);
        }
    for (size_t i = 0; i < trace->access_count; i++)
        trace_add_access(turned, &trace->accesses[i]);
    finish(turned);
    ask(turned);
    tap_is_int(turned->ops[0].match == TRACE_NO, 0, "the receives have their messages");
    tap_is_int(findings.count, 0, "of a circle nothing is said");
    tap_is_int(gap(turned, "accesses to windows of ranks that are threads"), 2,
               "but that its accesses were not looked at");
    ask(trace);
    tap_is_int(findings.count, 1, "without the circle they race");
    tap_is_int(gap(trace, "accesses to windows"), 0, "and that is all");
    trace_free(turned);
    trace_free(trace);
}

/* ---- limits ---- */

/* Stores of two ranks to each of so many places, `sites` lines for each rank. */
static struct trace *many_stores(uint32_t ranks, int places, int sites)
{
    struct trace *trace = trace_new(ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        add_op(trace, rank, OP_WIN_LOCK_ALL);
        for (int i = 0; i < places; i++)
            trace_add_access(trace, &(struct trace_access){
                                        .rank = rank,
                                        .op = 1,
                                        .done = UINT32_MAX,
                                        .kind = ACCESS_STORE,
                                        .site = trace_add_site(trace, "w.c", 1 + i % sites, "f"),
                                        .begin = 8 * (uint64_t)i,
                                        .end = 8 * (uint64_t)i + 4});
    }
    finish(trace);
    return trace;
}

static void many_findings(void)
{
    for (int places = 63; places <= 66; places++) {
        struct trace *trace = many_stores(2, places, places);
        ask(trace);
        tap_is_int(findings.count, places > 64 ? 64 : places, "%d races of other lines", places);
        tap_is_int(gap(trace, "more pairs"), places > 64 ? places - 64 : 0, "the rest is a gap");
        trace_free(trace);
    }
    struct trace *trace = many_stores(2, 200, 64);
    ask(trace);
    tap_is_int(findings.count, 64, "64 lines with 200 races are told whole");
    tap_is_int(gap(trace, "more pairs"), 0, "and nothing is left");
    size_t twice = 0;
    for (size_t i = 0; i < findings.count; i++)
        for (size_t k = 0; k < i; k++)
            twice += strcmp(findings.items[i].fingerprint, findings.items[k].fingerprint) == 0;
    tap_is_int(twice, 0, "each with its own fingerprint");
    trace_free(trace);
    for (uint32_t ranks = 2; ranks < 9; ranks++) {
        struct trace *crowd = many_stores(ranks, 1, 1);
        uint32_t pairs = ranks * (ranks - 1) / 2;
        ask(crowd);
        tap_is_int(findings.count, 1, "%u ranks that store in one line are one finding", ranks);
        tap_is_int(findings.items[0].op_count, 2 * (pairs < 12 ? pairs : 12),
                   "that lists at most 12 pairs");
        trace_free(crowd);
    }
}

/* Loads of everything by one rank, and of pairs of other bytes, as many as there are to look at. */
static void many_pairs(void)
{
    enum { LOADS = 5793, PAIRS = LOADS * (LOADS - 1) / 2 };
    for (int more = 0; more < 2; more++) {
        struct trace *trace = trace_new(2);
        add_op(trace, 0, OP_WIN_LOCK_ALL);
        add_op(trace, 1, OP_WIN_LOCK_ALL);
        struct trace_access load = {.op = 1,
                                    .done = UINT32_MAX,
                                    .kind = ACCESS_LOAD,
                                    .site = TRACE_NO,
                                    .begin = 0,
                                    .end = 4};
        for (int i = 0; i < LOADS; i++)
            trace_add_access(trace, &load);
        for (int i = 0; i < (1 << 24) - PAIRS + more; i++) {
            load.begin += 8;
            load.end += 8;
            trace_add_access(trace, &load);
            trace_add_access(trace, &load);
        }
        finish(trace);
        ask(trace);
        tap_is_int(gap(trace, "pairs of accesses to windows beyond 16777216"), more,
                   more ? "one pair too many is a gap" : "16,777,216 pairs are looked at");
        trace_free(trace);
    }
}

/* Clocks have a number for each rank, and each access has one. */
static void many_ranks(void)
{
    static const struct {
        uint32_t ranks;
        int accesses;
        bool fit;
    } rows[] = {{8191, 1, true},  {8191, 2, true},  {8191, 3, false},
                {8192, 1, false}, {8193, 1, false}, {70000, 1, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace *trace = trace_new(rows[i].ranks);
        add_op(trace, 0, OP_WIN_LOCK_ALL);
        for (int k = 0; k < rows[i].accesses; k++)
            trace_add_access(trace, &(struct trace_access){.op = 1,
                                                           .done = UINT32_MAX,
                                                           .kind = ACCESS_LOAD,
                                                           .site = TRACE_NO,
                                                           .begin = 0,
                                                           .end = 4});
        finish(trace);
        ask(trace);
        tap_is_int(gap(trace, "accesses to windows, whose clocks do not fit"),
                   rows[i].fit ? 0 : rows[i].accesses, "%d accesses of %u ranks %s",
                   rows[i].accesses, rows[i].ranks, rows[i].fit ? "are looked at" : "are a gap");
        trace_free(trace);
    }
}

int main(void)
{
    findings_init(&findings);
    every_pair();
    borders();
    learned(false, 1, 0, 1);
    learned(true, 0, 0, 1);
    learned(false, 0, 0, 2); /* rank 0 has no such operation */
    circle();
    many_findings();
    many_pairs();
    many_ranks();
    findings_release(&findings);
    return tap_done();
}
