/* Whatever trace_check accepts can be drawn: random traces and findings through every writer, and
 * the pictures of it stay within bounds. The numbers come from a fixed generator, so that a failure
 * is the same every time. */
#include "tests/tap.h"
#include "viz/charts/schedule.h"
#include "viz/charts/timeline.h"
#include "viz/lanes/graph.h"
#include "viz/report/report.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TRACES = 150 };

static uint64_t state;

static uint32_t below(uint32_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return limit ? (uint32_t)(state >> 33) % limit : 0;
}

static double any_number(void)
{
    static const double numbers[] = {0, 1, -1, 1e-300, 1e300, NAN, INFINITY, -INFINITY, 0.5};
    return numbers[below(sizeof numbers / sizeof *numbers)];
}

static const char *any_name(void)
{
    static const char *const names[] = {"seed", "mul*", "dL/dx",      "F0",
                                        "3B1",  "",     "Allreduce*", "\"]<&>\\N\x01\xFF"};
    return names[below(sizeof names / sizeof *names)];
}

static int any_kind(void)
{
    for (;;) {
        int kind = (int)below(OP_KIND_LIMIT);
        if (op_kind_class(kind) != CLASS_NONE)
            return kind;
    }
}

static void add_nodes(struct trace *trace)
{
    uint32_t count = below(40);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_node node = {.rank = below(trace->ranks),
                                  .id = i + 1,
                                  .pass = below(3),
                                  .kind = (uint8_t)any_kind(),
                                  .forward = TRACE_NO,
                                  .site = below(2) ? 0 : TRACE_NO,
                                  .name = trace_add_string(trace, any_name())};
        static const uint8_t states[] = {STATE_NEVER, STATE_BLOCKED, STATE_COMPLETE};
        node.state = states[below(3)];
        node.begin = below(100);
        node.end = node.begin + below(9);
        for (uint32_t k = 0; k < i && node.pass; k++)
            if (trace->nodes[k].pass == 0 && trace->nodes[k].rank == node.rank && below(3) == 0)
                node.forward = k;
        trace_add_node(trace, &node);
    }
    for (uint32_t i = 0; i < count * 2; i++) {
        uint32_t from = below(count), to = below(count);
        if (trace->nodes[from].rank == trace->nodes[to].rank &&
            trace->nodes[from].pass == trace->nodes[to].pass && from < to)
            trace_add_edge(trace, from, to, below(3) ? EDGE_DATA : EDGE_ORDER);
    }
}

static void add_ops(struct trace *trace)
{
    uint32_t count = below(60);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_plain_op op = trace_op_none(below(trace->ranks), (enum op_kind)any_kind());
        uint32_t node = trace->node_count ? below((uint32_t)trace->node_count) : TRACE_NO;
        op.state = (uint8_t)below(STATE_CANCELLED + 1);
        op.flags = (uint16_t)below(128);
        op.comm = below(8) ? 0 : TRACE_NO;
        op.comm_seq = below(4);
        op.peer = below(6) ? (int32_t)below(trace->ranks) : below(2) ? TRACE_ANY : TRACE_NONE;
        op.tag = below(4) ? (int32_t)below(4) : TRACE_ANY;
        op.count = (int64_t)below(1000) - 1;
        op.reduce_op = below(2) ? 0x21 : 0;
        op.site = below(2) ? 0 : TRACE_NO;
        op.begin = below(100);
        op.end = below(2) ? op.begin + below(9) : 0;
        if (node != TRACE_NO && trace->nodes[node].rank == op.rank && below(2)) {
            op.node = node;
            op.pass = trace->nodes[node].pass;
        } else {
            op.pass = below(3);
        }
        trace_set_times(trace, trace_add_op(trace, &op), op.begin * 1000, op.end * 1000);
    }
}

static void add_gradients(struct trace *trace)
{
    for (uint32_t i = below(30); i > 0; i--) {
        struct trace_gradient row = {.rank = below(trace->ranks),
                                     .variable = trace_add_string(trace, any_name()),
                                     .index = (int64_t)below(5) - 1,
                                     .method = "central",
                                     .step = any_number(),
                                     .analytic = any_number(),
                                     .numeric = any_number(),
                                     .error = any_number(),
                                     .tolerance = 1e-6,
                                     .relative = any_number()};
        row.ok = row.error <= row.tolerance;
        trace_add_gradient(trace, &row);
    }
    for (uint32_t i = below(60); i > 0; i--)
        trace_add_metric(trace, any_name(), (int32_t)below(3) - 1, any_number(), "1");
}

static struct trace *any_trace(void)
{
    struct trace *trace = trace_new(1 + below(6));
    int32_t members[6] = {0, 1, 2, 3, 4, 5};
    struct trace_comm world = {.id = 1,
                               .size = trace->ranks,
                               .members = members,
                               .parent = TRACE_NO,
                               .adjoint_of = TRACE_NO};
    snprintf(trace->program, sizeof trace->program, "%s", any_name());
    trace->outcome = (enum trace_outcome)below(OUTCOME_IMPORTED + 1);
    trace_add_comm(trace, &world);
    trace_add_site(trace, any_name(), (int)below(100), any_name());
    add_nodes(trace);
    add_ops(trace);
    add_gradients(trace);
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        trace->rank_info[rank].state = (enum rank_state)below(RANK_RUNNING + 1);
    if (trace_finish(trace, NULL) && trace_check(trace, NULL))
        return trace;
    trace_free(trace);
    return NULL;
}

static void any_findings(const struct trace *trace, struct findings *findings)
{
    static const char *const codes[] = {"D001", "D002", "R001", "R002", "R003",
                                        "G001", "G003", "M005", "B001", "ZZZZ"};
    static const char *const roles[] = {"core",      "waits", "culprit", "partner",
                                        "unmatched", "never", "tainted", ""};
    for (uint32_t i = below(4); i > 0; i--) {
        struct finding *finding = findings_add(findings, codes[below(10)], "%s", any_name());
        for (uint32_t k = below(6); k > 0; k--) {
            if (below(2) && trace->op_count)
                finding_op_add(finding, below((uint32_t)trace->op_count), roles[below(8)]);
            else if (trace->node_count)
                finding_node_add(finding, below((uint32_t)trace->node_count), roles[below(8)]);
        }
        finding->site = TRACE_NO;
        if (trace->node_count && below(2)) {
            finding->repair_edges = calloc(1, sizeof *finding->repair_edges);
            uint32_t count = (uint32_t)trace->node_count;
            finding->repair_edges[finding->repair_count++] =
                (struct trace_edge){below(count), below(count), EDGE_ORDER};
        }
    }
}

/* Text that was written without a byte or a word that no picture may have. */
static bool is_clean(const char *text, size_t size)
{
    static const char *const never[] = {"=\"nan", "=\"inf", "=\"-nan", "=\"-inf",
                                        ",nan",   ",inf",   ",-nan",   ",-inf"};
    if (!text || size == 0 || strlen(text) != size)
        return false;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(text, never[i]))
            return false;
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)text[i] < 0x20 && text[i] != '\n') || (unsigned char)text[i] == 0xFF)
            return false;
    return true;
}

static bool draws(const struct trace *trace, const struct findings *findings)
{
    static const char *const words[] = {NULL};
    struct viz_run_info info = {
        .scenario = trace->program, .verdict = "FAIL", .environment = words, .ranks = trace->ranks};
    struct viz_report_run run = {&info, trace, findings};
    bool good = true;
    for (int view = VIZ_AUTO; view <= VIZ_BOTH + 2; view++) {
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        struct viz_options options = viz_options_default();
        options.view = view <= VIZ_BOTH ? (enum viz_view)view : VIZ_AUTO;
        if (view == VIZ_BOTH + 2)
            good = good && viz_report_write(file, &run, 1, NULL);
        else if (view == VIZ_BOTH + 1)
            good = good && viz_schedule_write(file, trace, NULL, true, NULL);
        else
            good = good && viz_graph_write(file, trace, findings, &options, NULL);
        fclose(file);
        good = good && is_clean(text, size);
        free(text);
    }
    return good;
}

int main(void)
{
    size_t drawn = 0, bad = 0;
    for (uint64_t seed = 1; seed <= TRACES; seed++) {
        state = seed;
        struct trace *trace = any_trace();
        struct findings findings;
        if (!trace)
            continue;
        findings_init(&findings);
        any_findings(trace, &findings);
        drawn++;
        if (!draws(trace, &findings) && bad++ < 5)
            tap_note("the trace of seed %llu is not drawn well", (unsigned long long)seed);
        findings_release(&findings);
        trace_free(trace);
    }
    tap_plan(2);
    tap_ok(drawn > TRACES / 2, "most random traces are traces");
    tap_is_int(bad, 0, "each of them is drawn, in every view and in the report");
    return tap_done();
}
