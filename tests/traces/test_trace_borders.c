/* What a trace refers to is there: of each reference the last row that exists is taken and the next
 * one refused, with the table, the row and what is wrong with it (traces/trace/trace.h). */
#include "tests/tap.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { OPS = 7, NODES = 3, COMMS = 2, SITES = 2, RANKS = 2 };

static uint32_t add_op(struct trace *trace, uint32_t rank, enum op_kind kind, int32_t peer)
{
    struct trace_plain_op op = trace_op_none(rank, kind);
    op.state = STATE_COMPLETE;
    op.comm = 0;
    op.site = 0;
    op.peer = peer;
    op.tag = 1;
    op.count = 1;
    op.type = 0x214;
    op.node = kind == OP_ALLREDUCE && rank == 0 ? 1 : TRACE_NO;
    op.request = kind == OP_WAIT ? 0 : TRACE_NO;
    return trace_add_op(trace, &op);
}

/* Operations 0 to 3 are of rank 0 and 4 to 6 of rank 1; so are nodes 0, 1 and 2. */
static struct trace *sample(void)
{
    struct trace *trace = trace_new(RANKS);
    for (uint32_t i = 0; i < COMMS; i++)
        trace_add_comm(trace, &(struct trace_comm){.id = i + 1,
                                                   .size = RANKS,
                                                   .members = (int32_t[]){0, 1},
                                                   .parent = i ? 0 : TRACE_NO,
                                                   .adjoint_of = TRACE_NO,
                                                   .name = "comm"});
    for (int i = 0; i < SITES; i++)
        trace_add_site(trace, "p.c", i + 1, "main");
    for (uint32_t i = 0; i < NODES; i++)
        trace_add_node(trace, &(struct trace_node){.rank = i / 2,
                                                   .id = i % 2 + 1,
                                                   .kind = OP_ALLREDUCE,
                                                   .state = STATE_COMPLETE,
                                                   .forward = TRACE_NO,
                                                   .site = 0,
                                                   .name = TRACE_NO});
    trace_add_edge(trace, 0, 1, EDGE_DATA);
    trace_add_edge(trace, 1, 1, EDGE_ORDER);
    add_op(trace, 0, OP_ISEND, 1);
    uint32_t wait = add_op(trace, 0, OP_WAIT, TRACE_NONE);
    add_op(trace, 0, OP_ALLREDUCE, TRACE_NONE);
    uint32_t all = add_op(trace, 0, OP_WAITALL, TRACE_NONE);
    add_op(trace, 1, OP_RECV, 0);
    add_op(trace, 1, OP_ALLREDUCE, TRACE_NONE);
    uint32_t varying = add_op(trace, 1, OP_ALLTOALLV, TRACE_NONE);
    trace_add_wait(trace, wait, 0, true);
    trace_add_wait(trace, all, 0, true);
    trace_add_counts(trace, varying, RANKS, (int64_t[]){1, 1}, NULL);
    trace_add_pass(trace, &(struct trace_pass){.rank = 1, .pass = 1, .mode = PASS_DATA});
    char words[] = "words";
    trace_add_note(
        trace,
        &(struct trace_note){
            .code = "G005", .rank = 1, .op = 6, .node = TRACE_NO, .site = TRACE_NO, .text = words});
    return trace;
}

/* ---- what trace_finish needs ---- */

static void finishing(void)
{
    static const struct {
        const char *says;
        uint32_t end; /* one past the last */
    } rows[] = {{"trace: row 1 of waits: no such operation", OPS},
                {"trace: row 1 of waits: no such operation", OPS},
                {"trace: row 0 of counts: no such operation", OPS},
                {"trace: row 1 of edges: no such node", NODES},
                {"trace: row 1 of edges: no such node", NODES}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t beyond = 0; beyond < 2; beyond++) {
            struct failure failure = {0};
            struct trace *trace = sample();
            uint32_t row = rows[i].end - 1 + beyond;
            uint32_t *const fields[] = {&trace->waits[1].wait, NULL, &trace->counts[0].op,
                                        &trace->edges[1].from, &trace->edges[1].to};
            if (fields[i])
                *fields[i] = row;
            else
                trace->waits[1].start = row & 0x7fffffff;
            bool good = trace_finish(trace, &failure);
            tap_is_str(good ? "" : failure.text, beyond ? rows[i].says : "", "reference %zu to %u",
                       i, rows[i].end - 1 + beyond);
            trace_free(trace);
        }
}

/* ---- what trace_check asks ---- */

static const char *checked(const struct trace *trace)
{
    static struct failure failure;
    failure = (struct failure){0};
    return trace_check(trace, &failure) ? "" : failure.text;
}

struct row {
    void *field; /* of 4 bytes */
    uint32_t good, bad;
    const char *says;
};

static void each(const struct trace *trace, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t kept;
        memcpy(&kept, rows[i].field, sizeof kept);
        memcpy(rows[i].field, &rows[i].good, sizeof kept);
        tap_is_str(checked(trace), "", "%u is fine: %s", rows[i].good, rows[i].says);
        memcpy(rows[i].field, &rows[i].bad, sizeof kept);
        tap_is_str(checked(trace), rows[i].says, "%u is not", rows[i].bad);
        memcpy(rows[i].field, &kept, sizeof kept);
    }
}

static void tables(struct trace *trace)
{
    static const char comm[] = "trace: row 1 of comms: parent or original does not exist",
                      member[] = "trace: row 1 of comms: member is not a rank of the run",
                      node[] = "trace: row 0 of nodes: forward node, site or name does not exist",
                      note[] =
                          "trace: row 0 of notes: rank, operation, node or site does not exist",
                      pass[] = "trace: row 0 of passes: rank or operations do not exist",
                      edge[] = "trace: row 1 of edges: node does not exist";
    struct trace_node *nodes = trace->nodes;
    struct trace_comm *comms = trace->comms;
    struct trace_note *notes = trace->notes;
    const struct row rows[] = {
        {&comms[1].parent, 1, COMMS, comm},
        {&comms[1].parent, TRACE_NO, COMMS, comm},
        {&comms[1].adjoint_of, 1, COMMS, comm},
        {&comms[1].members[1], 1, RANKS, member},
        {&comms[1].members[1], 0, UINT32_MAX, member},
        {&nodes[0].forward, 1, NODES, node},
        {&nodes[0].forward, 0, 2, "trace: row 0 of nodes: its forward node is on another rank"},
        {&nodes[0].site, 1, SITES, node},
        {&nodes[0].site, TRACE_NO, SITES, node},
        {&nodes[0].name, TRACE_NO, (uint32_t)trace->string_count, node},
        {&nodes[2].rank, 1, 0, "trace: row 2 of nodes: not grouped by rank"},
        {&notes[0].rank, 0, RANKS, note},
        {&notes[0].op, TRACE_NO, OPS, note},
        {&notes[0].node, 2, NODES, note},
        {&notes[0].site, 1, SITES, note},
        {&trace->passes[0].rank, 0, RANKS, pass},
        {&trace->passes[0].op_end, OPS, OPS + 1, pass},
        {&trace->passes[0].first_op, trace->passes[0].op_end, trace->passes[0].op_end + 1, pass},
        {&trace->edges[1].to, 0, NODES, edge},
        {&trace->edges[1].from, 1, NODES, edge},
        {&trace->edges[1].to, 1, 2, "trace: row 1 of edges: leads to another rank"},
        {&trace->edges[0].from, 1, 2, "trace: row 0 of edges: leads to another rank"},
        {&trace->edges[1].from, 0, NODES, edge}};
    each(trace, rows, sizeof rows / sizeof *rows);
}

static void waits_and_counts(struct trace *trace)
{
    static const char other[] = "trace: row 1 of waits: operation does not exist on that rank";
    struct trace_wait *waits = trace->waits;
    static const struct {
        uint32_t wait, start;
        const char *says;
    } rows[] = {{3, 0, ""},
                {3, 2, ""},
                {OPS - 1, 4, "trace: row 1 of waits: is not of a wait"},
                {OPS, 4, other},
                {OPS, 0, other},
                {3, OPS, other},
                {3, OPS - 1, other}, /* of another rank */
                {3, 4, other},
                {2, 0, "trace: row 1 of waits: is not of a wait"},
                {3, 1, "trace: row 1 of waits: waits for a wait"},
                {1, 2, ""}};
    struct trace_wait kept = waits[1];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        waits[1].wait = rows[i].wait;
        waits[1].start = rows[i].start & 0x7fffffff;
        tap_is_str(checked(trace), rows[i].says, "%u waits for %u", rows[i].wait, rows[i].start);
    }
    waits[1] = kept;
    const struct row counts = {&trace->counts[0].op, 5, OPS,
                               "trace: row 0 of counts: operation does not exist, or not sorted"};
    each(trace, &counts, 1);
    struct trace_wait first = waits[0];
    waits[0] = waits[1];
    tap_is_str(checked(trace), "", "two rows of one wait are sorted");
    waits[1] = first;
    tap_is_str(checked(trace), "trace: row 1 of waits: not sorted", "exchanged they are not");
    waits[1] = waits[0];
    waits[0] = first;
}

static void operations(struct trace *trace)
{
    struct trace_op *ops = trace->ops;
    const struct row rows[] = {
        {&ops[0].peer, (uint32_t)TRACE_ANY, RANKS,
         "trace: row 0 of ops: peer is not a rank of the run"},
        {&ops[0].peer, 0, RANKS, "trace: row 0 of ops: peer is not a rank of the run"},
        {&ops[2].node, 1, NODES, "trace: row 2 of ops: node does not exist"},
        {&ops[2].node, 0, 2, "trace: row 2 of ops: its node is on another rank"},
        {&ops[1].request, 2, OPS, "trace: row 1 of ops: request, adjoint or match does not exist"},
        {&ops[1].request, 2, 4, "trace: row 1 of ops: its request is on another rank"},
        {&ops[1].request, 2, 3, "trace: row 1 of ops: waits for a wait"},
        {&ops[0].match, 4, OPS, "trace: row 0 of ops: request, adjoint or match does not exist"},
        {&ops[0].match, 4, TRACE_NO, "trace: row 4 of ops: match is not symmetric"},
        {&ops[0].match, 4, 5, "trace: row 0 of ops: match is not symmetric"}};
    each(trace, rows, sizeof rows / sizeof *rows);
    static const struct {
        uint32_t comm, site;
        int32_t peer, error;
        const char *says;
    } forms[] = {
        {COMMS - 1, SITES - 1, 1, 0, ""},
        {TRACE_NO, TRACE_NO, 1, 0, ""},
        {COMMS, 0, 1, 0, "trace: row 2 of ops: communicator or site does not exist"},
        {0, SITES, 1, 0, "trace: row 2 of ops: communicator or site does not exist"},
        {0, 0, RANKS, 0, "trace: row 2 of ops: peer is not a rank of the run"},
        {0, 0, RANKS, 6, ""}, /* as the program gave it: it was refused */
    };
    struct trace_plain_op kept = trace_op_plain(trace, 2);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct trace_plain_op op = kept;
        op.comm = forms[i].comm;
        op.site = forms[i].site;
        op.peer = forms[i].peer;
        op.error = forms[i].error;
        trace_op_change(trace, 2, &op);
        tap_is_str(checked(trace), forms[i].says, "form %zu", i);
    }
    trace_op_change(trace, 2, &kept);
    for (int kind = 0; kind < 2; kind++) {
        const uint8_t was = kind ? ops[2].kind : ops[2].state;
        uint8_t *field = kind ? &ops[2].kind : &ops[2].state;
        *field = kind ? OP_KIND_LIMIT - 1 : STATE_CANCELLED;
        tap_is_str(checked(trace), "", "the last %s is known", kind ? "kind" : "state");
        ++*field;
        tap_is_str(checked(trace), "trace: row 2 of ops: unknown kind or state",
                   "one beyond is not");
        *field = was;
    }
    ops[3].rank = 1;
    tap_is_str(checked(trace), "trace: row 3 of ops: not grouped by rank in issue order",
               "operations stand rank by rank");
    ops[3].rank = 0;
    trace->rank_begin[RANKS]--;
    tap_is_str(checked(trace), "trace: row 7 of ops: not all belong to a rank",
               "and each is of one");
    trace->rank_begin[RANKS]++;
    trace->node_begin[RANKS]--;
    tap_is_str(checked(trace), "trace: row 3 of nodes: not all belong to a rank",
               "so is each node");
    trace->node_begin[RANKS]++;
}

/* Sites and strings have one number each, the same for the same ones: whatever the order in which they come, of thousands that differ in one
 * part only. A place of memory is what it was added as. */
static void names_and_places(void)
{
    enum { FILES = 40, LINES = 20, FUNCTIONS = 5, ALL = FILES * LINES * FUNCTIONS, TIMES = 3 };
    static uint32_t sites[ALL], strings[ALL];
    struct trace *trace = trace_new(1);
    uint32_t wrong = 0;
    memset(sites, 0xff, sizeof sites);
    for (uint32_t i = 0; i < ALL * TIMES; i++) {
        uint32_t which = (uint32_t)(i * UINT64_C(7919) % ALL), line = which / FUNCTIONS % LINES;
        char file[24], function[24], string[24];
        snprintf(file, sizeof file, "f%u.c", which / FUNCTIONS / LINES);
        snprintf(function, sizeof function, "g%u", which % FUNCTIONS);
        snprintf(string, sizeof string, "s%u", which);
        uint32_t site = trace_add_site(trace, file, (int)line, function);
        uint32_t text = trace_add_string(trace, string);
        const struct trace_site *is = &trace->sites[site];
        wrong += strcmp(is->file, file) || is->line != (int)line || strcmp(is->function, function);
        wrong += strcmp(trace_string(trace, text), string) != 0;
        wrong += i >= ALL ? site != sites[which] || text != strings[which]
                          : site + 1 != trace->site_count || text + 1 != trace->string_count;
        sites[which] = site;
        strings[which] = text;
    }
    tap_ok(!wrong && trace->site_count == ALL && trace->string_count == ALL,
           "%d sites and strings have each one number", ALL);
    for (uint64_t i = 0; i < 30000; i++) {
        uint64_t one = i * 8191 % 3000 * 64, buffer = i % 2 ? one : 640,
                 extent = i % 2 ? i % 7 : one;
        uint32_t place = trace_add_place(trace, buffer, extent);
        wrong +=
            place ? trace->places[place].buffer != buffer || trace->places[place].extent != extent
                  : buffer || extent;
    }
    tap_is_int(wrong, 0, "and a place is what it was added as");
    trace_free(trace);
}

int main(void)
{
    struct failure failure = {0};
    finishing();
    struct trace *trace = sample();
    tap_ok(trace_finish(trace, &failure) && trace->op_count == OPS, "a trace is finished: %s",
           failure.text);
    tap_is_str(checked(trace), "", "and keeps the rules");
    operations(trace);
    tables(trace);
    waits_and_counts(trace);
    tap_is_str(checked(trace), "", "it keeps them in the end");
    trace_free(trace);
    names_and_places();
    return tap_done();
}
