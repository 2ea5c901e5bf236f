/* Findings in the store: random lists, in which each field of each finding takes every kind of value
 * it can have, come back as they were; so do those that were folded, under their roots. */
#include "tests/dice.h"
#include "tests/tap.h"
#include "tests/traces/store_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTS = 60, FINDINGS_MAX = 7, OPS = 6, NODES = 4 };

static const struct store_run run_of = {
    .scenario = "s", .ranks = 2, .schedule = "default", .argv = "s", .version = "test"};

static struct trace *trace_of(void)
{
    struct trace *trace = trace_new(2);
    struct failure failure = {0};
    trace->outcome = OUTCOME_FINISHED;
    trace_add_comm(trace, &(struct trace_comm){.id = 1,
                                               .size = 2,
                                               .members = (int32_t[]){0, 1},
                                               .parent = TRACE_NO,
                                               .adjoint_of = TRACE_NO});
    for (uint32_t i = 0; i < OPS; i++) {
        struct trace_plain_op op = trace_op_none(i % 2, OP_BARRIER);
        op.comm = 0;
        op.state = STATE_COMPLETE;
        op.comm_seq = i / 2;
        op.site = trace_add_site(trace, i < 3 ? "a.c" : "b.c", (int)(i % 3) + 1, "main");
        trace_add_op(trace, &op);
    }
    for (uint32_t i = 0; i < NODES; i++)
        trace_add_node(trace, &(struct trace_node){.id = i + 1,
                                                   .kind = OP_SEND,
                                                   .state = STATE_COMPLETE,
                                                   .forward = TRACE_NO,
                                                   .site = 0,
                                                   .name = trace_add_string(trace, "n")});
    if (!trace_finish(trace, &failure) || !trace_check(trace, &failure))
        tap_note("%s", failure.text);
    return trace;
}

static char *text_or_none(uint64_t *dice, const char *text)
{
    return dice_below(dice, 2) ? strdup(text) : NULL;
}

static void random_finding(struct findings *findings, uint64_t *dice, size_t number)
{
    static const char *const codes[] = {"D001", "G001", "R003", "L002", "X010", "N001"};
    static const char *const models[] = {"", "eager", "rendezvous batch", "eager rendezvous batch"};
    struct finding *finding =
        findings_add(findings, codes[dice_below(dice, 6)], "it's %zu", number);
    finding_detail(finding, "%s", dice_below(dice, 2) ? "one\ntwo [3,4,1]" : "");
    finding->severity = (enum severity)dice_below(dice, SEVERITY_ERROR + 1);
    snprintf(finding->fingerprint, sizeof finding->fingerprint, "%016zx", number + 1);
    uint32_t site = dice_below(dice, OPS + 1);
    finding->site = site == OPS ? TRACE_NO : site;
    for (uint32_t left = dice_below(dice, 4); left; left--)
        if (dice_below(dice, 2))
            finding_op_add(finding, dice_below(dice, OPS), "culprit");
        else
            finding_node_add(finding, dice_below(dice, NODES), "never");
    finding->witness = text_or_none(dice, "simrun-witness 1\nranks 2\nend\n");
    finding->repair = text_or_none(dice, "join at a.c:1");
    uint32_t edges = dice_below(dice, 3);
    finding->repair_edges = edges ? calloc(edges, sizeof *finding->repair_edges) : NULL;
    for (finding->repair_count = 0; finding->repair_count < edges; finding->repair_count++)
        finding->repair_edges[finding->repair_count] =
            (struct trace_edge){.from = dice_below(dice, NODES),
                                .to = dice_below(dice, NODES),
                                .type = dice_below(dice, 2) ? EDGE_ORDER : EDGE_DATA};
    finding->confirmation = (enum confirmation)dice_below(dice, CONFIRM_REFUTED + 1);
    snprintf(finding->models, sizeof finding->models, "%s", models[dice_below(dice, 4)]);
    finding->inherited = dice_below(dice, 2);
    finding->allowed = dice_below(dice, 2);
}

static void random_list(struct findings *findings, uint64_t *dice)
{
    size_t count = 1 + dice_below(dice, FINDINGS_MAX);
    for (size_t i = 0; i < count; i++)
        random_finding(findings, dice, i);
    for (uint32_t left = dice_below(dice, 4); left && findings->count > 1; left--) {
        struct finding root = findings->items[0];
        size_t under = dice_below(dice, 2) ? findings->count - 1 : 1;
        findings_fold(findings, under, &root);
    }
    if (dice_below(dice, 4) == 0) /* freed: only the code is kept */
        findings_unfold(findings, findings->items[0].fingerprint);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The first field in which they differ, NULL for none. */
static const char *difference(const struct trace *trace, const struct finding *a,
                              const struct trace *again, const struct finding *b)
{
    char here[TRACE_SITE_TEXT], there[TRACE_SITE_TEXT];
    trace_site_text(trace, a->site, here, sizeof here);
    trace_site_text(again, b->site, there, sizeof there);
    if (strcmp(a->code, b->code) != 0 || a->severity != b->severity ||
        strcmp(a->fingerprint, b->fingerprint) != 0)
        return "code, severity or fingerprint";
    if (strcmp(a->title, b->title) != 0 || strcmp(a->detail, b->detail) != 0)
        return "title or detail";
    if ((a->site == TRACE_NO) != (b->site == TRACE_NO) || strcmp(here, there) != 0)
        return "site";
    if (!same_text(a->witness, b->witness) || !same_text(a->repair, b->repair))
        return "witness or repair";
    if (a->confirmation != b->confirmation || strcmp(a->models, b->models) != 0)
        return "confirmation or models";
    if (a->inherited != b->inherited || a->allowed != b->allowed)
        return "inherited or allowed";
    if (strcmp(a->because, b->because) != 0 || strcmp(a->root, b->root) != 0)
        return "what it follows from";
    if (a->op_count != b->op_count || a->repair_count != b->repair_count)
        return "how many places or edges";
    for (size_t i = 0; i < a->op_count; i++)
        if (a->ops[i].op != b->ops[i].op || a->ops[i].node != b->ops[i].node ||
            strcmp(a->ops[i].role, b->ops[i].role) != 0)
            return "places";
    for (size_t i = 0; i < a->repair_count; i++)
        if (a->repair_edges[i].from != b->repair_edges[i].from ||
            a->repair_edges[i].to != b->repair_edges[i].to ||
            a->repair_edges[i].type != b->repair_edges[i].type)
            return "edges";
    return NULL;
}

static bool comes_back(struct store *store, const struct trace *trace, uint64_t *dice, int *folded)
{
    struct findings findings, back;
    struct failure failure = {0};
    findings_init(&findings);
    findings_init(&back);
    random_list(&findings, dice);
    *folded += (int)findings.folded;
    int64_t run = store_run_begin(store, &run_of, &failure);
    struct store_result result = {.outcome = "fail", .trace = trace, .findings = &findings};
    bool same = run && store_run_finish(store, run, &result, &failure) == 0;
    struct trace *again = same ? store_load_trace(store, run, &failure) : NULL;
    same = again && store_load_findings(store, run, again, &back, &failure) == 0 &&
           back.count == findings.count && back.folded == findings.folded;
    for (size_t i = 0; same && i < back.count + back.folded; i++) {
        const char *what = difference(trace, &findings.items[i], again, &back.items[i]);
        same = !what;
        if (what)
            tap_note("finding %zu: %s", i, what);
    }
    if (failure.text[0])
        tap_note("%s", failure.text);
    if (again)
        trace_free(again);
    findings_release(&findings);
    findings_release(&back);
    return same;
}

int main(void)
{
    struct failure failure = {0};
    uint64_t dice = 13;
    int wrong = 0, folded = 0;
    snprintf(folder, sizeof folder, "/tmp/simrun-findings-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    struct store *store = store_open(file("f.db"), STORE_WRITE, &failure);
    struct trace *trace = trace_of();
    tap_ok(store, "a file is made: %s", failure.text);
    for (int i = 0; store && i < LISTS; i++)
        wrong += !comes_back(store, trace, &dice, &folded);
    tap_is_int(wrong, 0, "%d lists of findings come back, field by field", LISTS);
    tap_ok(folded > LISTS / 4, "with %d that follow from others", folded);
    if (store)
        store_close(store);
    trace_free(trace);
    unlink(file("f.db"));
    rmdir(folder);
    return tap_done();
}
