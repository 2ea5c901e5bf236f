/* Which findings are folded under which: of every pair of codes, in runs that ended well and badly,
 * about the same operation and about others; and of random sets of findings. What is folded is what
 * was when somebody looked (tests/golden/suppress.tsv). Whatever the set: nothing is lost, what
 * is allowed is folded only under what is allowed and sums it up, every consequence names a root that
 * stands. */
#include "checker/suppress.h"
#include "tests/change_op.h"
#include "tests/checker/order_model.h"
#include "tests/golden_trace.h"
#include "verdict/allow.h"

enum { SETS = 3000, SETS_A_ROW = 50, MOST = 6 };

static const enum trace_outcome outcomes[] = {OUTCOME_FINISHED, OUTCOME_DEADLOCK, OUTCOME_IMPORTED};

static unsigned lost, rootless, allowed_folded;

/* Backward passes with refused calls and exchanges, some without a node. */
static struct trace *trace_varied(uint64_t seed)
{
    state = seed;
    struct instance instance = instance_new();
    struct trace *trace = instance.program.trace;
    for (size_t i = 0; i < trace->op_count; i++) {
        CHANGE_OP(trace, i, error, below(4) ? 0 : 15);
        if (!below(4))
            trace->ops[i].flags |= OP_COMPOUND;
        if (!below(3)) {
            trace->ops[i].node = TRACE_NO;
            CHANGE_OP(trace, i, pass, 0);
        }
    }
    trace->outcome = outcomes[below(3)];
    return trace;
}

static struct finding *finding_new(struct findings *findings, const char *code, uint32_t op)
{
    struct finding *finding = findings_add(findings, code, "%s of %u", code, op);
    if (op != TRACE_NO)
        finding_op_add(finding, op, "culprit");
    return finding;
}

/* "D001<X001 L002": the second follows from... is written behind its root. */
static uint64_t fold(struct findings *findings, const struct trace *trace, char *words, size_t size)
{
    size_t before = findings->count;
    for (size_t i = 0; i < before; i++)
        finding_seal(&findings->items[i], trace);
    suppress_consequences(findings, 0, trace);
    lost += findings->count + findings->folded != before;
    uint64_t hash = findings->count;
    for (size_t i = 0; i < before; i++) {
        const struct finding *one = &findings->items[i];
        hash = golden_mix_text(golden_mix_text(hash, one->code), one->because);
        hash = golden_mix(golden_mix_text(hash, one->root), one->has_consequences);
        size_t used = strlen(words);
        if (i >= findings->count && used + 8 < size)
            snprintf(words + used, size - used, "%s<%s ", one->code, one->because);
        if (i < findings->count)
            continue;
        bool stands = false;
        for (size_t k = 0; k < findings->count; k++)
            stands = stands || (strcmp(findings->items[k].code, one->because) == 0 &&
                                findings->items[k].allowed == one->allowed);
        rootless += !stands;
        allowed_folded += one->allowed && !one->summary;
    }
    return hash;
}

/* One row a code: what it folds, by outcome and place. */
static void pairs_of(struct golden *golden, const char *cause, struct trace *trace)
{
    char words[500] = "", key[40];
    uint64_t hash = 1;
    for (size_t o = 0; o < 3; o++)
        for (uint32_t place = 0; place < 5; place++) {
            char folded[2000] = "";
            trace->outcome = outcomes[o];
            for (size_t k = 0; finding_code_at(k); k++) {
                struct findings findings;
                findings_init(&findings);
                finding_new(&findings, cause, 3);
                finding_new(&findings, finding_code_at(k)->code,
                            place < 4 ? 1 + 2 * place : TRACE_NO);
                hash = golden_mix(hash, fold(&findings, trace, folded, sizeof folded));
                findings_release(&findings);
            }
            size_t used = strlen(words);
            snprintf(words + used, sizeof words - used, "%zu ", strlen(folded) / 10);
        }
    snprintf(key, sizeof key, "%s folds", cause);
    golden_row(golden, key, words, hash);
}

static uint64_t one_set(uint64_t seed, char *words, size_t size)
{
    static const char *const titles[] = {"the gradient of x", "a direction", "one"};
    struct trace *trace = trace_varied(seed);
    struct findings findings;
    size_t codes = 0;
    while (finding_code_at(codes))
        codes++;
    findings_init(&findings);
    for (uint32_t count = 2 + below(MOST - 1); count-- > 0 && trace->op_count;) {
        const char *code = finding_code_at(below((uint32_t)codes))->code;
        struct finding *finding = findings_add(&findings, code, "%s", titles[below(3)]);
        for (uint32_t ops = below(4); ops-- > 0;)
            finding_op_add(finding, below((uint32_t)trace->op_count), "culprit");
        if (!below(3) && trace->node_count)
            finding_node_add(finding, below((uint32_t)trace->node_count), "core");
        finding->allowed = !below(8);
        finding->summary = !below(6);
    }
    uint64_t hash = fold(&findings, trace, words, size);
    const char *rule = findings.count ? findings.items[0].code : "D001";
    allow_mark(&findings, trace, &rule, 1);
    char again[200] = "";
    hash = golden_mix(hash, golden_findings(trace, &findings, again, sizeof again));
    findings_release(&findings);
    trace_free(trace);
    return hash;
}

int main(void)
{
    struct golden golden = golden_open("tests/golden/suppress.tsv");
    struct trace *trace = trace_varied(5);
    tap_ok(trace->op_count > 8 && trace->node_count, "the trace of the pairs has operations");
    for (size_t i = 0; finding_code_at(i); i++)
        if (golden_takes(&golden, i))
            pairs_of(&golden, finding_code_at(i)->code, trace);
    trace_free(trace);
    for (unsigned row = 0; row < SETS / SETS_A_ROW; row++) {
        char key[40], words[120] = "";
        uint64_t hash = 1;
        if (!golden_takes(&golden, row))
            continue;
        for (unsigned i = 0; i < SETS_A_ROW; i++)
            hash = golden_mix(hash, one_set(row * SETS_A_ROW + i + 1, words, sizeof words));
        snprintf(key, sizeof key, "sets from %u", row * SETS_A_ROW + 1);
        golden_row(&golden, key, words, hash);
    }
    golden_close(&golden, "findings are folded as they were");
    tap_is_int(lost, 0, "no finding is lost");
    tap_is_int(rootless, 0,
               "every consequence names a root that stands, and is not allowed if it is not");
    tap_is_int(allowed_folded, 0, "what is allowed is not folded but where it sums up");
    return tap_done();
}
