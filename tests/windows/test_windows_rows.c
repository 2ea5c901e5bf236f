/* What check_windows makes of single rows: every pair of accesses that nothing orders, over kinds,
 * reductions, types, locks and ranks; the bytes they share; what a run learned from an atomic
 * operation; what collectives, exposures and threads order. */
#include "tests/windows/window_rows.h"

enum { SUM_OP = 35, PRODUCT_OP = 36, INT_TYPE = 7, FLOAT_TYPE = 8 };

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

/* ---- collectives ---- */

enum flow { ALL, FROM_ROOT, TO_ROOT, PREFIX };

static const struct {
    enum op_kind kind;
    enum flow flow;
} collectives[] = {{OP_BARRIER, ALL},        {OP_BCAST, FROM_ROOT},    {OP_SCATTER, FROM_ROOT},
                   {OP_SCATTERV, FROM_ROOT}, {OP_REDUCE, TO_ROOT},     {OP_GATHER, TO_ROOT},
                   {OP_GATHERV, TO_ROOT},    {OP_ALLREDUCE, ALL},      {OP_ALLGATHER, ALL},
                   {OP_ALLTOALLW, ALL},      {OP_REDUCE_SCATTER, ALL}, {OP_SCAN, PREFIX},
                   {OP_EXSCAN, PREFIX},      {OP_WIN_FENCE, ALL},      {OP_COMM_DUP, ALL}};

/* A store before the call on one rank, a load behind it on another: ordered where the data flow from
 * the one to the other. `turned`: the communicator has the ranks in the other order. */
static bool flows(size_t which, uint32_t root, uint32_t from, uint32_t to, bool turned)
{
    enum { RANKS = 3 };
    int32_t members[RANKS];
    struct trace *trace = trace_new(RANKS);
    for (int i = 0; i < RANKS; i++)
        members[i] = turned ? RANKS - 1 - i : i;
    uint32_t comm = trace_add_comm(trace, &(struct trace_comm){.id = 2,
                                                               .size = RANKS,
                                                               .members = members,
                                                               .parent = TRACE_NO,
                                                               .adjoint_of = TRACE_NO});
    now += 10;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct trace_op op = trace_op_none(rank, collectives[which].kind);
        op.comm = comm;
        op.comm_seq = 0;
        op.peer = collectives[which].flow == FROM_ROOT || collectives[which].flow == TO_ROOT
                      ? (int32_t)root
                      : TRACE_NONE;
        op.begin = now;
        op.end = now + 5;
        trace_add_op(trace, &op);
    }
    add_touch(trace, from, ACCESS_STORE, 0);
    add_touch(trace, to, ACCESS_LOAD, 1);
    finish(trace);
    ask(trace);
    bool flow = collectives[which].flow == ALL         ? true
                : collectives[which].flow == FROM_ROOT ? from == root
                : collectives[which].flow == TO_ROOT   ? to == root
                                                       : (from < to) != turned;
    bool right = (findings.count == 0) == flow && gap(trace, "accesses to windows") == 0;
    if (!right)
        tap_note("%s, root %u, from %u to %u%s: %zu findings",
                 op_kind_name(collectives[which].kind), root, from, to, turned ? ", turned" : "",
                 findings.count);
    trace_free(trace);
    return right;
}

static void every_collective(void)
{
    int wrong = 0, asked = 0;
    for (size_t which = 0; which < sizeof collectives / sizeof *collectives; which++)
        for (uint32_t bits = 0; bits < 54; bits++) {
            uint32_t root = bits / 2 % 3, from = bits / 6 % 3, to = bits / 18 % 3;
            wrong += from != to && !flows(which, root, from, to, bits % 2);
            asked += from != to;
        }
    tap_is_int(wrong, 0, "collectives order what their data order, and no more: %d cases", asked);
}

/* ---- exposures ---- */

/* Rank 0 puts to ranks 1 and 2 in one epoch; both wait for it, rank 2 later. `behind`: rank 1 loads
 * behind its wait, else before; `waits`: it has waited at all. */
static void exposures(bool waits, bool behind, size_t races)
{
    struct trace *trace = trace_new(3);
    struct trace_access put = {.rank = 0,
                               .op = 1,
                               .done = 3,
                               .kind = ACCESS_PUT,
                               .target = 1,
                               .site = TRACE_NO,
                               .begin = 0,
                               .end = 4};
    add_op(trace, 1, OP_WIN_POST);
    add_op(trace, 2, OP_WIN_POST);
    for (int i = 0; i < 3; i++)
        add_op(trace, 2, OP_WIN_SYNC);
    add_op(trace, 0, OP_WIN_START);
    add_op(trace, 0, OP_PUT);
    add_op(trace, 0, OP_PUT);
    add_op(trace, 0, OP_WIN_COMPLETE);
    trace_add_access(trace, &put);
    put.op = put.target = 2;
    put.begin += 100;
    put.end += 100;
    trace_add_access(trace, &put);
    for (uint32_t rank = 1; rank < 3 && waits; rank++) {
        add_op(trace, rank, OP_WIN_WAIT);
        trace_add_sync(trace, &(struct trace_sync){0, 1, rank, 0});
        trace_add_sync(trace, &(struct trace_sync){rank, rank == 1 ? 2 : 5, 0, 3});
    }
    add_touch(trace, 1, ACCESS_LOAD, behind ? 2 : 1);
    if (!waits)
        add_op(trace, 1, OP_WIN_SYNC);
    add_op(trace, 1, OP_WIN_SYNC);
    finish(trace);
    ask(trace);
    tap_is_int(findings.count, races, "a put of an epoch with two targets, a load %s the wait%s",
               behind ? "behind" : "before", waits ? "" : " that never was");
    tap_is_int(gap(trace, "accesses to windows"), 0, "nothing is left out");
    trace_free(trace);
}

/* ---- threads ---- */

/* A call of another thread that began first returns last: what is over stays over. */
static void threads(void)
{
    struct trace *trace = trace_new(1);
    static const enum op_kind kinds[] = {OP_WIN_LOCK_ALL, OP_WIN_SYNC, OP_PUT, OP_WIN_FLUSH,
                                         OP_WIN_SYNC};
    static const uint64_t begins[] = {1, 10, 20, 30, 110}, ends[] = {2, 100, 21, 40, 120};
    for (int i = 0; i < 5; i++) {
        struct trace_op op = trace_op_none(0, kinds[i]);
        op.begin = begins[i];
        op.end = ends[i];
        op.thread = i == 1;
        trace_add_op(trace, &op);
    }
    struct trace_access put = touch(0, ACCESS_PUT, 2);
    put.done = 3;
    trace_add_access(trace, &put);
    add_touch(trace, 0, ACCESS_LOAD, 4);
    finish(trace);
    ask(trace);
    tap_is_int(findings.count, 0, "a put that was flushed is over, whatever another thread does");
    trace_free(trace);
}

/* ---- what a run learned ---- */

enum when { NEVER, BEFORE, BEHIND };

/* Rank 0 stores and adds; rank 1 fetches what was added, `times` times, and loads. A message from
 * rank 0 before or behind its addition. `source`: the operation that rank 1 is said to know of. */
static void learned(enum when told, uint32_t times, uint32_t source, uint64_t chances,
                    const char *name)
{
    struct trace *trace = trace_new(2);
    uint32_t world = add_world(trace), fetched = 1;
    add_op(trace, 0, OP_WIN_LOCK_ALL);
    add_op(trace, 1, OP_FETCH_AND_OP);
    add_touch(trace, 0, ACCESS_STORE, 1);
    for (enum when when = BEFORE; when <= BEHIND; when++) {
        if (when == BEHIND)
            add_op(trace, 0, OP_FETCH_AND_OP);
        if (when == told) {
            add_message(trace, world, 0, 1);
            fetched++;
        }
    }
    add_op(trace, 0, OP_PUT);
    for (uint32_t i = 0; i < times; i++) {
        add_op(trace, 1, OP_FETCH_AND_OP);
        trace_add_sync(trace, &(struct trace_sync){1, ++fetched, 0, source});
    }
    add_touch(trace, 1, ACCESS_LOAD, fetched);
    finish(trace);
    ask(trace);
    bool lost = source > 2 || (source == 2 && told != BEFORE);
    tap_is_int(gap(trace, "another order of atomic"), chances, "%s", name);
    tap_is_int(findings.count, 0, "... and what it orders is no race");
    tap_is_int(gap(trace, "accesses to windows of ranks"), lost ? 2 : 0, "... %s",
               lost ? "all accesses are undecided" : "nothing else is left");
    trace_free(trace);
}

static void everything_learned(void)
{
    learned(NEVER, 1, 1, 1, "what was fetched orders, and another order is a gap");
    learned(NEVER, 3, 1, 1, "fetched again, it tells nothing new");
    learned(BEHIND, 1, 1, 0, "nor where a message told it");
    learned(BEFORE, 1, 2, 1, "a message of before does not tell it");
    learned(NEVER, 1, 2, 0, "an operation that tells nobody");
    learned(NEVER, 1, 3, 0, "an operation that is not there");
}

int main(void)
{
    findings_init(&findings);
    every_pair();
    borders();
    every_collective();
    exposures(true, true, 0);
    exposures(true, false, 1);
    exposures(false, true, 1);
    threads();
    everything_learned();
    findings_release(&findings);
    return tap_done();
}
