/* Lists of findings: their order, what is one fault found twice, what is folded under what. */
#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/trace/finding.h"

#include <stdlib.h>
#include <string.h>

enum { LISTS = 3000, FINDINGS_MAX = 9 };

static const char *const codes[] = {"D001", "G001", "R003", "L002", "L001", "N001"};
static const char *const prints[] = {"", "0a", "0b", "0c"};
static const char *const titles[] = {"one", "two"};

static struct finding *add(struct findings *findings, const char *code, const char *print,
                           const char *title, const char *detail)
{
    struct finding *finding = findings_add(findings, code, "%s", title);
    snprintf(finding->fingerprint, sizeof finding->fingerprint, "%s", print);
    finding_detail(finding, "%s", detail);
    return finding;
}

/* Whether a may stand before b among the roots: severity, then whether something follows from it,
 * code, fingerprint, title. */
static bool in_order(const struct finding *a, const struct finding *b)
{
    if (a->severity != b->severity)
        return a->severity > b->severity;
    if (a->has_consequences != b->has_consequences)
        return a->has_consequences;
    int order = strcmp(a->code, b->code);
    order = order ? order : strcmp(a->fingerprint, b->fingerprint);
    order = order ? order : strcmp(a->title, b->title);
    return order < 0 || (order == 0 && strcmp(a->detail, b->detail) <= 0);
}

static bool same(const struct finding *a, const char *code, const char *print)
{
    return *print && !strcmp(a->code, code) && !strcmp(a->fingerprint, print);
}

/* What is told twice is one, and says how often; without a fingerprint it never is. */
static bool sorted_well(uint64_t *dice)
{
    struct findings findings;
    size_t count = 1 + dice_below(dice, FINDINGS_MAX), distinct = 0, seen = 0;
    int times[6][4] = {{0}};
    findings_init(&findings);
    for (size_t i = 0; i < count; i++) {
        uint32_t code = dice_below(dice, 6), print = dice_below(dice, 4);
        add(&findings, codes[code], prints[print], titles[dice_below(dice, 2)], "why");
        distinct += !print || !times[code][print];
        times[code][print]++;
    }
    findings_sort(&findings);
    bool good = findings.count == distinct && findings.folded == 0;
    for (size_t i = 0; i + 1 < findings.count; i++)
        good = good && in_order(&findings.items[i], &findings.items[i + 1]);
    for (int code = 0; code < 6; code++)
        for (int print = 1; print < 4; print++)
            for (size_t i = 0; i < findings.count; i++) {
                const struct finding *at = &findings.items[i];
                char more[40];
                if (!same(at, codes[code], prints[print]))
                    continue;
                snprintf(more, sizeof more, "found %d more time%s at", times[code][print] - 1,
                         times[code][print] == 2 ? "" : "s");
                good = good && (times[code][print] > 1) == (strstr(at->detail, more) != NULL);
                seen++;
            }
    for (size_t i = 0; i < findings.count; i++)
        seen += !findings.items[i].fingerprint[0];
    good = good && seen == findings.count;
    findings_release(&findings);
    return good;
}

static void order(void)
{
    uint64_t dice = 7;
    int wrong = 0;
    for (int i = 0; i < LISTS; i++)
        wrong += !sorted_well(&dice);
    tap_is_int(wrong, 0, "%d lists are in order, and hold each fault once", LISTS);
    for (size_t i = 0; finding_code_at(i); i++) {
        const struct finding_code *row = finding_code_at(i);
        if (finding_code(row->code) != row)
            wrong++;
    }
    tap_is_int(wrong, 0, "every code is found under its name");
    tap_ok(!finding_code("Z999") && !finding_code(""), "and no other is");
}

static const struct finding *of(const struct findings *findings, const char *code)
{
    for (size_t i = 0; i < findings->count + findings->folded; i++)
        if (!strcmp(findings->items[i].code, code))
            return &findings->items[i];
    return NULL;
}

static size_t index_of(const struct findings *findings, const char *code)
{
    return (size_t)(of(findings, code) - findings->items);
}

/* L001 under G001, both under D001: consequences of consequences follow from the root. */
static void folding(void)
{
    struct findings findings;
    findings_init(&findings);
    add(&findings, "D001", "0d", "root", "");
    add(&findings, "L001", "01", "leaf", "");
    add(&findings, "G001", "06", "middle", "");
    add(&findings, "R003", "03", "apart", "");
    struct finding middle = *of(&findings, "G001");
    findings_fold(&findings, index_of(&findings, "L001"), &middle);
    tap_ok(findings.count == 3 && findings.folded == 1 &&
               !strcmp(of(&findings, "L001")->because, "G001") &&
               findings_consequences(&findings, index_of(&findings, "G001")) == 1,
           "what follows stands behind, with the code it follows from");
    struct finding root = *of(&findings, "D001");
    findings_fold(&findings, index_of(&findings, "G001"), &root);
    tap_ok(findings.count == 2 && findings.folded == 2 &&
               !strcmp(of(&findings, "L001")->because, "D001") &&
               findings_consequences(&findings, index_of(&findings, "D001")) == 2 &&
               findings_consequences(&findings, index_of(&findings, "R003")) == 0,
           "its own consequences go with it");
    add(&findings, "B001", "0b", "late", "");
    tap_ok(findings.count == 3 && findings.folded == 2 && index_of(&findings, "B001") == 2 &&
               index_of(&findings, "L001") > 2 && index_of(&findings, "G001") > 2,
           "one added later is a root");
    findings_sort(&findings);
    tap_ok(of(&findings, "D001")->has_consequences && !of(&findings, "R003")->has_consequences &&
               index_of(&findings, "D001") == 0 && findings.count == 3 && findings.folded == 2,
           "sorting keeps what is folded");
    findings_unfold(&findings, "03");
    tap_is_int(findings.folded, 2, "what nothing follows from frees nothing");
    findings_unfold(&findings, "0d");
    tap_ok(findings.count == 5 && findings.folded == 0 && !of(&findings, "L001")->root[0] &&
               !strcmp(of(&findings, "L001")->because, "D001"),
           "freed they are roots again, and know why they were not");
    findings_release(&findings);
}

/* A trace with two places; the fingerprint is of code, kinds, roles and places as a set. */
static void seal(struct trace *trace, const char *code, const uint32_t *ops, size_t count,
                 const char *role, char *print)
{
    struct findings findings;
    findings_init(&findings);
    struct finding *finding = findings_add(&findings, code, "t");
    for (size_t i = 0; i < count; i++)
        finding_op_add(finding, ops[i], role);
    finding_seal(finding, trace);
    memcpy(print, finding->fingerprint, sizeof finding->fingerprint);
    findings_release(&findings);
}

static void fingerprints(void)
{
    struct trace *trace = trace_new(2);
    char base[24], other[24];
    for (uint32_t i = 0; i < 4; i++) { /* 0 and 1: one place; 2: another; 3: another kind there */
        struct trace_plain_op op = trace_op_none(i % 2, i == 3 ? OP_RECV : OP_SEND);
        op.site = trace_add_site(trace, i == 1 ? "/else/p.c" : "p.c", i < 2 ? 5 : 6, "main");
        trace_add_op(trace, &op);
    }
    seal(trace, "D001", (uint32_t[]){0, 2}, 2, "core", base);
    static const struct {
        const char *code;
        uint32_t ops[4];
        size_t count;
        const char *role;
        bool same;
        const char *name;
    } rows[] = {
        {"D001", {0, 2}, 2, "core", true, "the same is the same"},
        {"D001", {0, 2, 0, 2}, 4, "core", true, "on more ranks, too"},
        {"D001", {0, 1, 2}, 3, "core", true, "whatever folder the source lies in"},
        {"D002", {0, 2}, 2, "core", false, "another code is another fault"},
        {"D001", {0}, 1, "core", false, "fewer places are"},
        {"D001", {0, 3}, 2, "core", false, "another kind of operation is"},
        {"D001", {0, 2}, 2, "waits", false, "another role is"},
        {"D001", {2, 0}, 2, "core", false, "it is about its first place"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        seal(trace, rows[i].code, rows[i].ops, rows[i].count, rows[i].role, other);
        tap_ok(!strcmp(base, other) == rows[i].same && strlen(other) == 16, "fingerprints: %s",
               rows[i].name);
    }
    trace_free(trace);
}

/* How a finding is seen again: as it says itself, else by its witness where that is kept, else by the run. */
static void replays(void)
{
    static const struct {
        const char *said; /* NULL: nothing */
        bool witness, kept;
        const char *due;
    } rows[] = {
        {NULL, false, false, "run 7"},
        {NULL, false, true, "run 7"},
        {NULL, true, false, "run 7"},
        {NULL, true, true, "run 7 --witness 3"},
        {"x", false, true, "x"},
        {"simrun run --seed 4 a.c", false, false, "simrun run --seed 4 a.c"},
        {"simrun run a.c", true, true, "run 7 --witness 3"},
        {"a command of thirty-one letters", false, false, "a command of thirty-one letters"},
        {"a command of thirty-two letters.", false, false, "run 7"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct findings findings;
        char text[32];
        findings_init(&findings);
        struct finding *finding = findings_add(&findings, "D001", "a");
        finding_detail(finding, "before\n");
        if (rows[i].said)
            finding_repeated_by(finding, rows[i].said);
        finding_detail(finding, "after\n");
        finding->witness = rows[i].witness ? strdup("w") : NULL;
        tap_is_str(finding_replay(finding, 3, "run 7", rows[i].kept, text, sizeof text),
                   rows[i].due, "finding %zu is seen again", i);
        findings_release(&findings);
    }
}

int main(void)
{
    order();
    replays();
    folding();
    fingerprints();
    return tap_done();
}
