/* What a run learned, from threads, late receives and atomic operations; and the limits of check_windows:
 * findings, places of one, pairs, clocks, rows that were cut off, what was no run. */
#include "tests/dice.h"
#include "tests/windows/window_rows.h"

/* ---- threads ---- */

/* A call of another thread that began first returns last: what is over stays over. */
static void threads(void)
{
    struct trace *trace = trace_new(1);
    static const enum op_kind kinds[] = {OP_WIN_LOCK_ALL, OP_WIN_SYNC, OP_PUT, OP_WIN_FLUSH,
                                         OP_WIN_SYNC};
    static const uint64_t begins[] = {1, 10, 20, 30, 110}, ends[] = {2, 100, 21, 40, 120};
    for (int i = 0; i < 5; i++) {
        struct trace_plain_op op = trace_op_none(0, kinds[i]);
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

/* A receive that returns late, of another thread or with its wait, tells nothing before. */
static void returns_late(bool by_wait)
{
    struct trace *trace = trace_new(2);
    uint32_t world = add_world(trace);
    add_touch(trace, 1, ACCESS_STORE, 0);
    struct trace_plain_op op = trace_op_none(1, OP_SEND);
    op.comm = world;
    op.peer = op.peer_matched = op.tag = op.tag_matched = 0;
    op.begin = 1;
    op.end = 2;
    trace_add_op(trace, &op);
    op = trace_op_none(0, by_wait ? OP_IRECV : OP_RECV);
    op.comm = world;
    op.peer = op.peer_matched = 1;
    op.tag = op.tag_matched = 0;
    op.begin = 10;
    op.end = by_wait ? 21 : 100;
    op.thread = !by_wait;
    uint32_t receive = trace_add_op(trace, &op);
    op = trace_op_none(0, by_wait ? OP_WAIT : OP_WIN_SYNC);
    op.begin = 20;
    op.end = 21;
    op.request = by_wait ? receive : TRACE_NO;
    uint32_t second = trace_add_op(trace, &op);
    if (by_wait) {
        trace->ops[receive].request = second;
    } else {
        op.begin = 30;
        op.end = 31;
        trace_add_op(trace, &op);
    }
    add_touch(trace, 0, ACCESS_LOAD, by_wait ? 1 : 2);
    finish(trace);
    ask(trace);
    tap_is_int(findings.count, 1, "before a receive has returned %s nothing is known",
               by_wait ? "with its wait" : "to another thread");
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
    add_op(trace, 1, OP_WIN_SYNC);
    finish(trace);
    ask(trace);
    bool lost = source > 2 || (source == 2 && told != BEFORE);
    tap_is_int(gap(trace, "another order of atomic"), chances, "%s", name);
    tap_is_int(findings.count, 0, "... and what it orders is no race");
    tap_is_int(gap(trace, "accesses to windows, of whose operations"), lost ? 2 : 0, "... %s",
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
            struct trace_plain_op op = trace_op_none(rank, sends ? OP_SEND : OP_RECV);
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
    tap_is_int(gap(turned, "accesses to windows, of whose operations"), 2,
               "but that its accesses were not looked at");
    ask(trace);
    tap_is_int(findings.count, 1, "without the circle they race");
    tap_is_int(gap(trace, "accesses to windows"), 0, "and that is all");
    trace_free(turned);
    trace_free(trace);
}

/* What is cut off: operations behind the last one that is there; a wait that never was. */
static void cut(void)
{
    for (uint32_t op = 0; op < 6; op++) {
        struct trace *trace = trace_new(2);
        for (int i = 0; i < 3; i++) {
            add_op(trace, 0, OP_WIN_SYNC);
            add_op(trace, 1, OP_WIN_SYNC);
        }
        add_touch(trace, 0, ACCESS_STORE, op);
        add_touch(trace, 1, ACCESS_STORE, op);
        finish(trace);
        ask(trace);
        uint32_t before = op == 0 ? 0 : op > 3 ? 2 : op - 1;
        tap_is_int(findings.count, 1, "stores before operation %u of 3 race", op);
        tap_is_int(findings.items[0].ops[0].op + findings.items[0].ops[1].op, 3 + 2 * before,
                   "... and stand behind operation %u", before);
        trace_free(trace);
    }
    struct trace *bare = trace_new(2);
    add_op(bare, 0, OP_WIN_SYNC);
    add_touch(bare, 0, ACCESS_STORE, 1);
    add_touch(bare, 1, ACCESS_STORE, 0);
    finish(bare);
    ask(bare);
    tap_is_int(findings.count, 0, "of a rank without operations nothing is said");
    tap_is_int(gap(bare, "accesses to windows, of whose operations"), 2, "... but that");
    trace_free(bare);
    static const uint32_t calls[] = {1, 3, 7}, ends[] = {1000000, 6, 6};
    for (int i = 0; i < 3; i++) {
        struct trace *trace = trace_new(2);
        for (int k = 0; k < 3; k++) {
            add_op(trace, 0, k == 1 ? OP_PUT : OP_WIN_SYNC);
            add_op(trace, 1, OP_WIN_SYNC);
        }
        struct trace_access put = touch(0, ACCESS_PUT, calls[i]);
        put.done = ends[i];
        trace_add_access(trace, &put);
        add_touch(trace, 1, ACCESS_LOAD, 1);
        finish(trace);
        ask(trace);
        tap_is_int(findings.count, i == 0, "a put by operation %u of 3 whose end is lost",
                   calls[i]);
        trace_free(trace);
    }
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
    struct trace *others = many_stores(2, 65, 65); /* others have found something before */
    found_before = true;
    ask(others);
    found_before = false;
    tap_is_int(findings.count, 65, "findings of others do not count");
    tap_is_int(gap(others, "more pairs"), 1, "nor are they filled up");
    trace_free(others);
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
    for (int more = 0; more < 4; more += 1 + more) {
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
        tap_is_int(gap(trace, "pairs of accesses to windows beyond 16777216"), more > 0,
                   more ? "%d pairs too many are a gap" : "%d more than 16,777,216 pairs", more);
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

static void small_ones(void)
{
    threads();
    returns_late(false);
    returns_late(true);
    everything_learned();
    circle();
    cut();
    many_findings();
}

int main(void)
{
    findings_init(&findings);
    if (dice_takes_group(DICE_DEAR)) {
        many_pairs();
        many_ranks();
    }
    if (dice_takes_group(0))
        small_ones();
    findings_release(&findings);
    return tap_done();
}
