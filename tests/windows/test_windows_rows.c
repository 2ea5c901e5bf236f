/* What check_windows makes of single rows: every pair of accesses that nothing orders, over kinds,
 * reductions, types, locks and ranks; the bytes they share; what collectives, probes and exposures
 * order. */
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
    bool unordered, same_op;
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
    if (a->same_op || b->same_op) /* 12.2.1: the same operation; then no MPI_NO_OP beside it */
        any = !one || !other;
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
                                  .same_op = side->same_op,
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
            for (uint32_t bits = 0; bits < 32; bits++)
                for (uint32_t locks = 0; locks < 9; locks++) {
                    struct side a = {one, 0, locks % 3, bits & 1, bits & 8};
                    struct side b = {other, bits >> 2 & 1, locks / 3, bits >> 1 & 1, bits & 16};
                    if (a.rank == b.rank && a.lock != b.lock)
                        continue;
                    wrong += !pair_is_right(&a, &b) && asked >= 0;
                    asked++;
                }
    tap_is_int(wrong, 0, "%d pairs of accesses race as MPI says", asked);
}

/* ---- elements ---- */

/* MPI's numbers, and what an element takes: an accumulate is atomic for each element by itself. */
static const struct {
    const char *name;
    uint32_t number;
    uint64_t size;
} element_types[] = {
    {"short", 0x208, 2}, {"int", 0x209, 4},      {"float", 0x210, 4}, {"double", 0x214, 8},
    {"2int", 0x22b, 8},  {"complex", 0x216, 16}, {"byte", 0x247, 1},  {"int64", 0x258, 8},
};
enum { ELEMENT_TYPES = sizeof element_types / sizeof *element_types };

/* Some element of one shares a byte with one of the other, and is not the same. */
static bool cross(uint64_t begin, uint64_t from, uint64_t size, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        for (uint64_t j = 0; j < count; j++)
            for (uint64_t byte = begin + i * size; byte < begin + (i + 1) * size; byte++)
                if (byte >= from + j * size && byte < from + (j + 1) * size &&
                    begin + i * size != from + j * size)
                    return true;
    return false;
}

static struct trace *two_sums(const uint32_t types[2], const uint64_t begins[2], uint64_t length,
                              const uint32_t reductions[2], bool one_origin)
{
    struct trace *trace = trace_new(3);
    for (uint32_t rank = 0; rank < 3; rank++)
        add_op(trace, rank, OP_WIN_LOCK_ALL);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t rank = one_origin ? 0 : 2 * i;
        trace_add_access(trace, &(struct trace_access){.rank = rank,
                                                       .op = one_origin ? 1 + i : 1,
                                                       .done = one_origin ? 3 : 2,
                                                       .target = 1,
                                                       .kind = ACCESS_ACCUMULATE,
                                                       .reduction = reductions[i],
                                                       .type = types[i],
                                                       .site = TRACE_NO,
                                                       .begin = begins[i],
                                                       .end = begins[i] + length});
        add_op(trace, rank, OP_ACCUMULATE);
    }
    for (uint32_t rank = 0; rank < 3; rank++)
        add_op(trace, rank, OP_WIN_UNLOCK_ALL);
    finish(trace);
    return trace;
}

/* Sums of several elements of one type, so many bytes apart. */
static void elements_apart(void)
{
    int wrong = 0;
    const uint32_t sums[2] = {SUM_OP, SUM_OP};
    for (size_t which = 0; which < ELEMENT_TYPES; which++)
        for (uint64_t apart = 0; apart < 4 * element_types[which].size; apart++)
            for (int turned = 0; turned < 4; turned++) {
                uint64_t size = element_types[which].size, length = 3 * size;
                const uint64_t begins[2] = {256 + (turned & 1 ? apart : 0),
                                            256 + (turned & 1 ? 0 : apart)};
                const uint32_t types[2] = {element_types[which].number,
                                           element_types[which].number};
                struct trace *trace = two_sums(types, begins, length, sums, turned & 2);
                /* Those of one origin are carried out one after the other. */
                bool races = !(turned & 2) && cross(begins[0], begins[1], size, 3);
                ask(trace);
                bool right = findings.count == races &&
                             (!races || strstr(findings.items[0].detail, " in part: "));
                if (!right)
                    tap_note("%s, %d bytes apart, %d: %zu", element_types[which].name, (int)apart,
                             turned, findings.count);
                wrong += !right;
                trace_free(trace);
            }
    tap_is_int(wrong, 0, "sums race where their elements share a byte and are not the same");
}

/* A finding says what it is about two accumulates that they may not meet. */
static void reasons(void)
{
    static const struct {
        uint32_t types[2], reductions[2];
        const char *said;
        bool same_op;
    } cases[] = {
        {{0x209, 0x20d}, {0x21, 0x21}, "One is of unsigned, the other of int: ", false},
        {{0x209, 0x209}, {0x21, 0x24}, "One is prod, the other sum: ", false},
        {{0x209, 0x20d}, {0x21, 0x24}, "One is of unsigned, the other of int: ", false},
        {{0x214, 0x214}, {0x3c, 0x23}, "One is max, the other replace: ", false},
        {{0x214, 0x214}, {ACCESS_NO_REDUCTION, 0x23}, "One is max, the other no_op: ", true},
        {{0x214, 0x214}, {0x3c, ACCESS_NO_REDUCTION}, "One is no_op, the other replace: ", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const uint64_t begins[2] = {260, 256};
        struct trace *trace = two_sums(cases[i].types, begins, 8, cases[i].reductions, false);
        trace->accesses[1].same_op = cases[i].same_op;
        ask(trace);
        tap_ok(findings.count == 1 && strstr(findings.items[0].detail, cases[i].said) &&
                   strstr(findings.items[0].detail,
                          cases[i].same_op ? " accumulate_ops=same_op.\n" : " may not meet.\n"),
               "it is told: %s", cases[i].said);
        trace_free(trace);
    }
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
    uint32_t world = add_world(trace);
    for (uint32_t rank = 0; rank < RANKS; rank++) { /* before all, and in the other order */
        struct trace_plain_op op = trace_op_none(rank, OP_SCAN);
        op.comm = world;
        op.comm_seq = 0;
        op.begin = now + 1;
        op.end = now + 5;
        trace_add_op(trace, &op);
    }
    now += 10;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct trace_plain_op op = trace_op_none(rank, collectives[which].kind);
        op.comm = comm;
        op.comm_seq = 0;
        op.peer = collectives[which].flow == FROM_ROOT || collectives[which].flow == TO_ROOT
                      ? (int32_t)root
                      : TRACE_NONE;
        op.begin = now;
        op.end = now + 1 + 4 * root;
        trace_add_op(trace, &op);
    }
    add_touch(trace, from, ACCESS_STORE, 1);
    add_touch(trace, to, ACCESS_LOAD, 2);
    finish(trace);
    ask(trace);
    bool flow = collectives[which].flow == ALL         ? true
                : collectives[which].flow == FROM_ROOT ? from == root
                : collectives[which].flow == TO_ROOT   ? to == root
                                                       : (from < to) != turned;
    bool right = (findings.count == 0) == flow && gap(trace, "accesses to windows") == 0;
    if (!right)
        tap_note("%s, root %u, from %u to %u%s: %zu findings",
                 op_kind_name((int)collectives[which].kind), root, from, to,
                 turned ? ", turned" : "", findings.count);
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

/* One member returns and tells another, who only then makes its call: nobody waits for it. */
static void late_member(enum op_kind kind, uint32_t root, bool root_is_there)
{
    struct trace *trace = trace_new(3);
    uint32_t comm = add_world(trace);
    struct trace_plain_op op = trace_op_none(0, kind);
    op.comm = comm;
    op.comm_seq = 0;
    op.peer = kind == OP_SCAN ? TRACE_NONE : (int32_t)root;
    for (uint32_t rank = 0; rank < 3; rank++) {
        if (rank == 2)
            add_message(trace, comm, 1, 2);
        op.rank = rank;
        op.begin = ++now;
        op.end = ++now;
        if (rank != root || root_is_there)
            trace_add_op(trace, &op);
        else
            add_op(trace, rank, OP_WIN_SYNC);
    }
    add_touch(trace, 0, ACCESS_LOAD, 0);
    add_touch(trace, 2, ACCESS_STORE, 0);
    finish(trace);
    ask(trace);
    tap_is_int(gap(trace, "accesses to windows"), 0, "%s: the last member comes late%s",
               op_kind_name((int)kind), root_is_there ? "" : ", the root never");
    tap_is_int(findings.count, 1, "... and what nothing orders races");
    trace_free(trace);
}

/* ---- probes ---- */

enum { KEYS = 8 }; /* two communicators, tags and sources each */

/* Each source stores and sends, key by key, twice; rank 2 receives the first round, probes one of the
 * second, sends something back, and loads what was stored before another one. */
static bool probe_is_right(uint32_t probed, uint32_t loaded, uint32_t turn, bool received)
{
    struct trace *trace = trace_new(3);
    uint32_t comms[2] = {add_world(trace), 0}, count[2] = {0};
    comms[1] = trace_add_comm(
        trace,
        &(struct trace_comm){.id = 2, .size = 3, .parent = TRACE_NO, .adjoint_of = TRACE_NO});
    struct trace_plain_op op = trace_op_none(2, OP_RECV);
    for (uint32_t i = 0; i < 2 * KEYS; i++) {
        uint32_t key = i % KEYS, source = key & 1;
        op = trace_op_none(source, OP_SEND);
        op.comm = comms[key >> 1 & 1];
        op.peer = op.peer_matched = 2;
        op.tag = op.tag_matched = (int32_t)(key >> 2);
        op.begin = ++now;
        op.end = ++now;
        struct trace_access store = touch(source, ACCESS_STORE, count[source]++);
        store.begin = 8 * (uint64_t)i;
        store.end = store.begin + 4;
        trace_add_access(trace, &store);
        trace_add_op(trace, &op);
    }
    uint32_t calls = 0;
    for (uint32_t i = 0; i < 2 * KEYS; i++) {
        uint32_t key = i < KEYS ? i : (i * 3 + turn) % KEYS, what = i == KEYS ? probed : key;
        for (int part = i == KEYS ? 0 : 2; part < 3; part++) {
            what = part < 2 ? probed : key;
            if (part == 2 && i >= KEYS && key == probed && !received)
                continue;
            op = trace_op_none(2, part == 0 ? OP_PROBE : part == 1 ? OP_SEND : OP_RECV);
            op.comm = comms[what >> 1 & 1];
            op.peer = op.peer_matched = (int32_t)(what & 1);
            op.tag = op.tag_matched = (int32_t)(what >> 2);
            op.begin = ++now;
            op.end = ++now;
            trace_add_op(trace, &op);
            calls++;
            if (part != 0)
                continue;
            struct trace_access load = touch(2, ACCESS_LOAD, calls);
            load.begin = 8 * (uint64_t)(KEYS + loaded);
            load.end = load.begin + 4;
            trace_add_access(trace, &load);
        }
    }
    op = trace_op_none(probed & 1, OP_RECV); /* what rank 2 sent back */
    op.comm = comms[probed >> 1 & 1];
    op.peer = op.peer_matched = 2;
    op.tag = op.tag_matched = (int32_t)(probed >> 2);
    op.begin = ++now;
    op.end = ++now;
    trace_add_op(trace, &op);
    finish(trace);
    ask(trace);
    bool known = received && (probed & 1) == (loaded & 1) && loaded <= probed;
    bool right = findings.count == !known && !gap(trace, "accesses to windows");
    if (!right)
        tap_note("probed %u, loaded %u, turn %u: %zu", probed, loaded, turn, findings.count);
    trace_free(trace);
    return right;
}

static void every_probe(void)
{
    int wrong = 0;
    for (uint32_t bits = 0; bits < KEYS * KEYS * 8; bits++)
        wrong += !probe_is_right(bits % KEYS, bits / KEYS % KEYS, bits / KEYS / KEYS % 4,
                                 bits / KEYS / KEYS < 4);
    tap_is_int(wrong, 0, "a probe tells what was before the send of the message that it saw");
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

int main(void)
{
    findings_init(&findings);
    every_pair();
    elements_apart();
    reasons();
    borders();
    every_collective();
    late_member(OP_BCAST, 0, true);
    late_member(OP_BCAST, 0, false);
    late_member(OP_REDUCE, 2, true);
    late_member(OP_SCAN, 3, true);
    every_probe();
    exposures(true, true, 0);
    exposures(true, false, 1);
    exposures(false, true, 1);
    findings_release(&findings);
    return tap_done();
}
