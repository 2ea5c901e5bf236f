/* The HTML report: what must be in it, and what must never be. With REPORT_FOLDER set, leaves its
 * pages there for tests/viz/viz_report.t to open in a browser. */
#include "tests/tap.h"
#include "tests/viz/viz_samples.h"
#include "viz/charts/timeline.h"
#include "viz/report/report.h"

#include <stdlib.h>
#include <string.h>

static const char *const environment[] = {"compiler", "gcc 12.2", "threads", "2", NULL};

static struct viz_run_info info_of(const char *scenario, const char *verdict, uint32_t ranks)
{
    return (struct viz_run_info){.scenario = scenario,
                                 .verdict = verdict,
                                 .run = "run 19",
                                 .command = "simrun -n 4 scenario.c",
                                 .replay = "simrun replay simrun.db:19",
                                 .draw = "simrun graph 19 -o 19.svg",
                                 .version = "simrun 0.1.0",
                                 .started = "2026-11-20 19:04 UTC",
                                 .model = "rendezvous",
                                 .environment = environment,
                                 .seed = 7,
                                 .ranks = ranks,
                                 .seconds = 0.41};
}

/* The page, to be freed; also left in REPORT_FOLDER. */
static char *page_of(const struct viz_report_run *runs, size_t count, const char *name)
{
    char *text = NULL, path[512];
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    struct failure failure = {0};
    if (!viz_report_write(file, runs, count, &failure))
        tap_note("%s", failure.text);
    fclose(file);
    if (getenv("REPORT_FOLDER")) {
        snprintf(path, sizeof path, "%s/%s.html", getenv("REPORT_FOLDER"), name);
        FILE *copy = fopen(path, "w");
        fputs(text, copy);
        fclose(copy);
    }
    return text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

/* Ids are unique, and every reference to one has its target. */
static bool ids_are_sound(const char *page)
{
    for (const char *at = page; (at = strstr(at, " id=\"")); at += 5) {
        char id[128];
        snprintf(id, sizeof id, " id=\"%.*s\"", (int)strcspn(at + 5, "\""), at + 5);
        if (count_of(page, id) != 1)
            return false;
    }
    for (const char *at = page; (at = strstr(at, "aria-labelledby=\"")); at++) {
        char id[128];
        snprintf(id, sizeof id, " id=\"%.*s\"", (int)strcspn(at + 17, " \""), at + 17);
        if (count_of(page, id) != 1)
            return false;
    }
    for (const char *at = page; (at = strstr(at, "href=\"#")); at++) {
        char id[128];
        snprintf(id, sizeof id, " id=\"%.*s\"", (int)strcspn(at + 7, "\""), at + 7);
        if (count_of(page, id) != 1)
            return false;
    }
    return true;
}

static bool is_closed(const char *page, const char *element)
{
    char open[32], space[32], close[32];
    snprintf(open, sizeof open, "<%s>", element);
    snprintf(space, sizeof space, "<%s ", element);
    snprintf(close, sizeof close, "</%s>", element);
    return count_of(page, open) + count_of(page, space) == count_of(page, close);
}

static bool is_well_formed(const char *page)
{
    static const char *const elements[] = {"main", "details", "summary", "table", "tbody", "tr",
                                           "td",   "th",      "div",     "p",     "h1",    "h2",
                                           "h3",   "dl",      "dt",      "dd",    "svg",   "g",
                                           "text", "title",   "desc",    "ul",    "li"};
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (!is_closed(page, elements[i])) {
            tap_note("<%s> is not closed as often as it is opened", elements[i]);
            return false;
        }
    return true;
}

static void test_single(void)
{
    struct findings findings;
    findings_init(&findings);
    struct trace *trace = sample_wrong(&findings);
    for (int i = 1; i <= 50; i++) {
        trace_add_metric(trace, "gradient_norm M=4", -1, 1.0 / i, "1");
        trace_add_metric(trace, "gradient_norm M=8", -1, 0.9 / i, "1");
        trace_add_metric(trace, "staleness", -1, i % 4, "steps");
    }
    trace_add_metric(trace, "wall", -1, 3, "s");
    struct viz_run_info info = info_of("tp-linear", "FAIL", 3);
    struct viz_report_run run = {&info, trace, &findings};
    char *page = page_of(&run, 1, "single"), *again = page_of(&run, 1, "single");
    tap_ok(strcmp(page, again) == 0, "the same run gives the same page");
    tap_ok(strstr(page, "<title>FAIL: tp-linear</title>"), "the verdict is in the title");
    tap_ok(strstr(page, "<h1>tp-linear <span class=\"bad\">FAIL</span></h1>"),
           "the verdict is in the heading");
    tap_ok(strstr(page, "default-src 'none'") && !strstr(page, "<script") &&
               !strstr(page, "http://") && !strstr(page, "https://"),
           "no script and no address");
    tap_is_int(count_of(page, "class=\"finding\""), 2, "each finding has its place");
    tap_ok(count_of(page, "role=\"img\"") >= 4, "pictures, plots and the timeline are in the page");
    tap_is_int(count_of(page, ">M=4</text>") + count_of(page, ">M=8</text>"), 2,
               "series that share a word share a plot");
    tap_is_int(count_of(page, "class=\"bar\""), 4, "staleness is a histogram");
    tap_ok(strstr(page, "tp.c:88") && strstr(page, "simrun replay simrun.db:19"),
           "a finding has place and replay line");
    tap_ok(strstr(page, "sum over ranks of the ranks' own objectives"),
           "the objective's convention is stated");
    tap_ok(strstr(page, ">wrong</td>") && strstr(page, ">1.5036</td>"),
           "wrong gradients stand beside their reference");
    tap_ok(ids_are_sound(page), "ids are unique and references have targets");
    tap_ok(is_well_formed(page), "what is opened is closed");
    free(page);
    free(again);
    findings_release(&findings);
    trace_free(trace);
}

static void test_session(void)
{
    struct findings findings[2];
    findings_init(&findings[0]);
    findings_init(&findings[1]);
    struct trace *traces[3] = {sample_healthy(), sample_deadlock(&findings[0]),
                               sample_race(&findings[1])};
    struct viz_run_info infos[4] = {
        info_of("ring-halo", "PASS", 4), info_of("send-first-ring", "FAIL", 4),
        info_of("two-allreduce", "FAIL", 2), info_of("not-run", "ERROR", 2)};
    struct viz_report_run runs[4] = {{&infos[0], traces[0], NULL},
                                     {&infos[1], traces[1], &findings[0]},
                                     {&infos[2], traces[2], &findings[1]},
                                     {&infos[3], NULL, NULL}};
    char *page = page_of(runs, 4, "session");
    tap_ok(strstr(page, "<title>FAIL: 1 of 4 runs passed</title>"),
           "a session's verdict is in its title");
    const char *fail = strstr(page, ">send-first-ring<"), *pass = strstr(page, ">ring-halo<");
    tap_ok(fail && pass && fail < pass, "what failed stands before what passed");
    tap_ok(strstr(page, ">not-run</td>"), "a run without a trace has its row");
    tap_is_int(count_of(page, "<details id=\"run"), 3, "each run with a trace is told in full");
    tap_ok(strstr(page, "Repair: ring.c:41") || strstr(page, "ring.c:41: let one rank receive"),
           "a repair is told");
    tap_ok(ids_are_sound(page), "ids of a session are unique and references have targets");
    tap_ok(is_well_formed(page), "what a session opens it closes");
    free(page);
    for (size_t i = 0; i < 3; i++)
        trace_free(traces[i]);
    findings_release(&findings[0]);
    findings_release(&findings[1]);
}

static void test_hostile(void)
{
    const char *evil = "</title><script>alert(1)</script>\" onload=\"x\x01\xFF";
    struct findings findings;
    findings_init(&findings);
    struct trace *trace = trace_new(2);
    sample_head(trace, evil);
    trace_add_site(trace, evil, 1, evil);
    sample_node(trace, 0, 1, evil, OP_COMPUTE, STATE_COMPLETE, TRACE_NO);
    sample_op(trace, 0, TRACE_NO, OP_SEND, 1, 1, STATE_COMPLETE, 3);
    sample_op(trace, 1, TRACE_NO, OP_RECV, TRACE_ANY, TRACE_ANY, STATE_COMPLETE, 3);
    sample_gradient(trace, 0, evil, 1, 2);
    trace_add_metric(trace, evil, -1, 1, evil);
    trace_finish(trace, NULL);
    struct finding *finding = findings_add(&findings, "R003", "%s", evil);
    finding_detail(finding, "%s\n%s", evil, evil);
    finding->witness = strdup(evil);
    finding->repair = strdup(evil);
    finding_op_add(finding, 0, "culprit");
    const char *const words[] = {evil, evil, NULL};
    struct viz_run_info info = {.scenario = evil,
                                .verdict = evil,
                                .run = evil,
                                .command = evil,
                                .replay = evil,
                                .draw = evil,
                                .version = evil,
                                .started = evil,
                                .model = evil,
                                .environment = words,
                                .ranks = 2};
    struct viz_report_run run = {&info, trace, &findings};
    char *page = page_of(&run, 1, "hostile");
    tap_ok(!strstr(page, "<script") && !strstr(page, "\" onload"), "no text of a run becomes HTML");
    tap_ok(!strchr(page, '\x01') && !strchr(page, '\xFF'), "no byte is left that is not text");
    tap_ok(is_well_formed(page) && ids_are_sound(page), "a hostile run leaves the page whole");
    free(page);
    findings_release(&findings);
    trace_free(trace);
}

static void test_timeline(void)
{
    struct findings findings;
    findings_init(&findings);
    struct trace *trace = sample_wrong(&findings);
    uint32_t path[8];
    size_t count = viz_critical_path(trace, false, path, 8);
    tap_ok(count > 0 && trace->ops[path[0]].form->pass == 1,
           "the critical path ends in the backward pass");
    double idle[3];
    viz_timeline_idle(trace, false, idle);
    tap_ok(idle[0] > 0 && idle[0] <= 1 && idle[2] > 0 && idle[2] <= 1, "an idle share is a share");
    findings_release(&findings);
    trace_free(trace);
    trace = sample_stencil(16, 4000);
    char *svg = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&svg, &size);
    struct viz_timeline options = {.prefix = "t"};
    tap_ok(viz_timeline_write(file, trace, &options, NULL), "a long run has a timeline");
    fclose(file);
    tap_ok(size < 2000000, "it is bounded");
    tap_ok(strstr(svg, "messages are not drawn"), "what is left out is said");
    free(svg);
    trace_free(trace);
}

int main(void)
{
    tap_plan(28);
    test_single();
    test_session();
    test_hostile();
    test_timeline();
    return tap_done();
}
