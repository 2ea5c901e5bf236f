/* The limits of check_windows: findings, places of one, pairs, clocks; and what was no run. */
#include "tests/windows/window_rows.h"

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
    circle();
    many_findings();
    many_pairs();
    many_ranks();
    findings_release(&findings);
    return tap_done();
}
