/* The picture of a run as DOT: golden texts, hostile names, bounds. With UPDATE_GOLDEN set, writes
 * the golden texts. */
#include "tests/tap.h"
#include "tests/viz/viz_samples.h"
#include "viz/lanes/graph.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The DOT text, to be freed; NULL when it could not be made. */
static char *dot_of(const struct trace *trace, const struct findings *findings,
                    const struct viz_options *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    bool written = viz_graph_write(file, trace, findings, options, NULL);
    fclose(file);
    if (written)
        return text;
    free(text);
    return NULL;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

static char *read_golden(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "tests/golden/%s.dot", name);
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (file && text)
        text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
    if (file)
        fclose(file);
    return text;
}

static void write_golden(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "tests/golden/%s.dot", name);
    FILE *file = fopen(path, "w");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

static void test_golden(const char *name, const struct trace *trace,
                        const struct findings *findings, enum viz_view view)
{
    struct viz_options options = viz_options_default();
    options.view = view;
    char *got = dot_of(trace, findings, &options), *again = dot_of(trace, findings, &options);
    if (getenv("UPDATE_GOLDEN"))
        write_golden(name, got);
    char *golden = read_golden(name);
    tap_ok(got && strcmp(got, golden) == 0, "the picture %s is byte for byte tests/golden/%s.dot",
           name, name);
    tap_ok(got && again && strcmp(got, again) == 0, "the picture %s is the same the second time",
           name);
    free(got);
    free(again);
    free(golden);
}

static void test_contents(void)
{
    struct findings findings;
    struct viz_options options = viz_options_default();
    findings_init(&findings);
    struct trace *trace = sample_deadlock(&findings);
    char *dot = dot_of(trace, &findings, &options);
    tap_is_int(count_of(dot, "color=\"#D55E00\", penwidth=3"), 3,
               "a cycle of three has three heavy wait-for arrows");
    tap_is_int(count_of(dot, "color=\"#9A6700\", style=dashed, penwidth=1.6"), 1,
               "the rank outside the core waits by one dashed arrow");
    tap_is_int(count_of(dot, "never reached</FONT>"), 4, "what was never reached says so");
    tap_is_int(count_of(dot, "a receive on "), 3, "the table says what each blocked send needs");
    free(dot);
    findings_release(&findings);
    trace_free(trace);

    findings_init(&findings);
    trace = sample_wrong(&findings);
    dot = dot_of(trace, &findings, &options);
    tap_is_int(count_of(dot, "G001 first wrong adjoint"), 3,
               "the first wrong adjoint is named on its three ranks");
    tap_is_int(count_of(dot, "<B>0.5012, FD 1.5036"), 3,
               "wrong leaves show adjoint and finite difference");
    tap_is_int(count_of(dot, ">tainted<"), 3, "what the wrong values reach is tainted");
    options.finding = 1;
    free(dot);
    dot = dot_of(trace, &findings, &options);
    tap_is_int(count_of(dot, "G001"), 0, "a picture of one finding does not show the other");
    options.finding = 2;
    struct failure failure = {0};
    FILE *nowhere = fopen("/dev/null", "w");
    tap_ok(!viz_graph_write(nowhere, trace, &findings, &options, &failure) &&
               failure.code == FAILURE_USAGE,
           "a finding that does not exist is a usage error");
    fclose(nowhere);
    free(dot);
    findings_release(&findings);
    trace_free(trace);

    findings_init(&findings);
    trace = sample_race(&findings);
    options.finding = -1;
    dot = dot_of(trace, &findings, &options);
    tap_is_int(count_of(dot, "style=dotted, penwidth=4"), 2,
               "a missing order is dotted, once per rank");
    tap_is_int(count_of(dot, "#009E73:#FFFFFF:#009E73"), 2,
               "its repair is double and green, once per rank");
    free(dot);
    findings_release(&findings);
    trace_free(trace);
}

/* Labels that try to leave their label. */
static void test_hostile(void)
{
    char *huge = malloc((1 << 20) + 1);
    memset(huge, '"', 1 << 20);
    huge[1 << 20] = '\0';
    const char *const names[] = {
        "\"];evil[label=\"", "</B>>];evil", "<FONT>", "\\N\\G\\", "\x01\x02\xFF\xC0\x80", "", huge};
    struct trace *trace = trace_new(1);
    sample_head(trace, "\"><script>alert(1)</script>.c");
    uint32_t from = TRACE_NO;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        from = sample_node(trace, 0, 1, names[i], OP_COMPUTE, STATE_COMPLETE, from);
    tap_ok(trace_finish(trace, NULL), "a trace may hold any name");
    struct viz_options options = viz_options_default();
    char *dot = dot_of(trace, NULL, &options);
    tap_ok(dot && !strstr(dot, "\"];evil") && !strstr(dot, "</B>>];evil") &&
               !strstr(dot, "<script"),
           "no name becomes DOT or HTML");
    tap_ok(dot && strlen(dot) < 10000, "a name of 1 MiB leaves a small picture");
    bool clean = dot != NULL;
    for (const char *at = dot; at && *at; at++)
        clean = clean && ((unsigned char)*at >= 0x20 || *at == '\n');
    tap_ok(clean, "no control byte is left");
    char *svg = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&svg, &size);
    tap_ok(viz_graph_write_svg(file, trace, NULL, &options, NULL),
           "the same picture is written as SVG");
    fclose(file);
    tap_ok(!strstr(svg, "<script") && !strstr(svg, "\x01"), "no name becomes SVG");
    free(svg);
    free(dot);
    free(huge);
    trace_free(trace);
}

/* A wrong value on one rank spreads through a collective to the others. */
static void test_taint(void)
{
    struct findings findings;
    struct viz_options options = viz_options_default();
    findings_init(&findings);
    struct trace *trace = trace_new(2);
    sample_head(trace, "taint.c");
    uint32_t culprit = TRACE_NO;
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t first = sample_node(trace, r, 1, "exp*", OP_COMPUTE, STATE_COMPLETE, TRACE_NO);
        uint32_t all = sample_node(trace, r, 1, "Allreduce*", OP_ALLREDUCE, STATE_COMPLETE, first);
        sample_node(trace, r, 1, "mul*", OP_COMPUTE, STATE_COMPLETE, all);
        sample_op(trace, r, all, OP_ALLREDUCE, TRACE_NONE, TRACE_NONE, STATE_COMPLETE, 0);
        culprit = r == 0 ? first : culprit;
    }
    trace_finish(trace, NULL);
    finding_node_add(findings_add(&findings, "G006", "not finite"), culprit, "culprit");
    char *dot = dot_of(trace, &findings, &options);
    tap_is_int(count_of(dot, ">tainted<"), 2,
               "a wrong value of one rank taints what follows the collective on both");
    free(dot);
    findings_release(&findings);
    trace_free(trace);
}

/* Edges in a circle and messages against the order: a foreign trace may claim anything. */
static void test_cycle(void)
{
    struct trace *trace = trace_new(2);
    sample_head(trace, "cycle.jsonl");
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t a = sample_node(trace, r, 1, "a", OP_COMPUTE, STATE_COMPLETE, TRACE_NO);
        uint32_t b = sample_node(trace, r, 1, "b", OP_COMPUTE, STATE_COMPLETE, a);
        trace_add_edge(trace, b, a, EDGE_DATA);
    }
    struct viz_options options = viz_options_default();
    char *dot = trace_finish(trace, NULL) ? dot_of(trace, NULL, &options) : NULL;
    tap_ok(!dot || count_of(dot, "->") == 4, "a circle of edges is drawn, not followed for ever");
    free(dot);
    trace_free(trace);
}

static void test_sizes(void)
{
    struct viz_options options = viz_options_default();
    struct trace *trace = sample_long(4, 10000);
    char *dot = dot_of(trace, NULL, &options);
    tap_ok(count_of(dot, "local operations") + count_of(dot, "\xC3\x97 99") > 90,
           "equal runs are collapsed above 400 marks");
    tap_ok(count_of(dot, "pos=\"") < 1200, "a long run is drawn within the limit");
    free(dot);
    options.all = true;
    dot = dot_of(trace, NULL, &options);
    tap_is_int(count_of(dot, "tooltip=\"rank "), 10000, "--all draws 10,000 nodes, each of them");
    free(dot);
    trace_free(trace);

    trace = sample_stencil(64, 8);
    options.all = false;
    dot = dot_of(trace, NULL, &options);
    tap_is_int(count_of(dot, "subgraph cluster_rank"), 3,
               "of 64 ranks in a row the first, the last and those between are drawn");
    tap_ok(strstr(dot, ">ranks 1-62<") && strstr(dot, ">62 alike<"), "they say who they are");
    tap_ok(!strstr(dot, "operations shown"), "nothing is left out");
    free(dot);
    trace_free(trace);

    trace = sample_stencil(8, 64);
    dot = dot_of(trace, NULL, &options);
    tap_is_int(count_of(dot, "subgraph cluster_rank"), 8, "eight ranks are drawn each");
    tap_ok(strstr(dot, "ranks not shown") || strstr(dot, "operations shown"),
           "what is left out is said");
    tap_is_int(count_of(dot, "tooltip=\"rank "), 400, "400 of many operations are drawn");
    free(dot);
    trace_free(trace);

    trace = trace_new(3);
    sample_head(trace, "nothing.c");
    trace_finish(trace, NULL);
    dot = dot_of(trace, NULL, &options);
    tap_is_int(count_of(dot, "subgraph cluster_rank"), 3,
               "a run without operations is three empty lanes");
    free(dot);
    trace_free(trace);
}

int main(void)
{
    struct findings findings;
    tap_plan(41);
    struct trace *trace = sample_healthy();
    test_golden("healthy", trace, NULL, VIZ_AUTO);
    trace_free(trace);
    struct trace *(*const samples[])(struct findings *) = {sample_deadlock, sample_wrong,
                                                           sample_race, sample_possible};
    static const char *const names[] = {"deadlock", "wrong-adjoint", "race", "possible-hang"};
    for (size_t i = 0; i < 4; i++) {
        findings_init(&findings);
        trace = samples[i](&findings);
        test_golden(names[i], trace, &findings, VIZ_AUTO);
        findings_release(&findings);
        trace_free(trace);
    }
    trace = sample_stencil(4, 3);
    test_golden("stencil", trace, NULL, VIZ_FORWARD);
    trace_free(trace);
    test_contents();
    test_hostile();
    test_taint();
    test_cycle();
    test_sizes();
    return tap_done();
}
