/* What is said of random backward passes (order_model.h) is what was said of them when somebody
 * looked: tests/golden/random_orders.tsv. The oracle is test_order_bruteforce.c. */
#include "tests/checker/order_model.h"
#include "tests/golden_trace.h"

enum { INSTANCES = 600, SPOILED = 600, LARGE = 200 };

static void check_one(struct golden *golden, unsigned seed, const char *what, unsigned models,
                      uint64_t limit)
{
    struct check_options options;
    struct findings findings;
    char key[60], words[400] = "";
    if (!golden_takes(golden, seed))
        return;
    state = seed;
    struct instance instance = instance_new();
    golden_sites(instance.program.trace);
    check_options_init(&options);
    options.models = models;
    if (limit)
        options.search_limit = limit;
    findings_init(&findings);
    check_trace(instance.program.trace, &options, &findings);
    findings_sort(&findings);
    snprintf(key, sizeof key, "%u %s", seed, what);
    uint64_t hash = golden_trace(instance.program.trace);
    hash =
        golden_mix(hash, golden_findings(instance.program.trace, &findings, words, sizeof words));
    if (!golden_row(golden, key, words, hash) && golden->wrong < 5)
        golden_show(&findings);
    findings_release(&findings);
    trace_free(instance.program.trace);
}

/* One to three operations are other ones, and some are not complete; some runs hang. */
static void spoil(struct instance *instance)
{
    static const uint8_t sends[] = {OP_SEND, OP_SSEND, OP_BSEND, OP_RSEND};
    static const uint8_t collectives[] = {OP_ALLREDUCE, OP_BARRIER, OP_BCAST, OP_REDUCE, OP_SCAN};
    struct trace *trace = instance->program.trace;
    for (uint32_t times = 1 + below(3); times-- > 0 && trace->op_count;) {
        uint32_t index = below((uint32_t)trace->op_count);
        struct trace_plain_op plain = trace_op_plain(trace, index), *op = &plain;
        enum op_class class = op_kind_class(op->kind);
        bool message = class == CLASS_SEND || class == CLASS_RECEIVE;
        uint32_t how = below(8), value = below(20);
        if (how == 0 && message)
            op->tag = (int32_t)(value % 3);
        else if (how == 1 && message)
            op->peer = (int32_t)(value % instance->ranks);
        else if (how == 2 && class == CLASS_RECEIVE)
            op->peer = TRACE_ANY;
        else if (how == 3)
            op->count = value % 4;
        else if (how == 4)
            op->type = PROGRAM_DOUBLE + (value % 2);
        else if (how == 5 && memchr(sends, op->kind, sizeof sends))
            op->kind = sends[value % sizeof sends];
        else if (how == 5 && memchr(collectives, op->kind, sizeof collectives))
            op->kind = collectives[value % sizeof collectives];
        else if (how == 6)
            op->site = value % (uint32_t)trace->site_count;
        else if (how == 7)
            op->state = value % 2 ? STATE_BLOCKED : STATE_POSTED;
        if (how == 7)
            trace->outcome = OUTCOME_DEADLOCK;
        trace_op_change(trace, index, &plain);
    }
}

int main(void)
{
    struct golden golden = golden_open("tests/golden/random_orders.tsv");
    for (unsigned seed = 1; seed <= INSTANCES; seed++) {
        check_one(&golden, seed, "all models", CHECK_EAGER | CHECK_RENDEZVOUS | CHECK_BATCH, 0);
        if (seed % 4 == 0)
            check_one(&golden, seed, "few steps", 1u << seed / 4 % 3, 1 + seed % 40);
    }
    instance_spoil = spoil;
    for (unsigned seed = INSTANCES + 1; seed <= INSTANCES + SPOILED; seed++)
        check_one(&golden, seed, "spoiled", CHECK_EAGER | CHECK_RENDEZVOUS | CHECK_BATCH, 0);
    instance_spoil = NULL;
    instance_more = 5; /* more pairs than are tried out one by one */
    for (unsigned seed = INSTANCES + SPOILED + 1; seed <= INSTANCES + SPOILED + LARGE; seed++)
        check_one(&golden, seed, "large", CHECK_EAGER | CHECK_RENDEZVOUS | CHECK_BATCH, 0);
    golden_close(&golden, "random backward passes are judged as they were");
    return tap_done();
}
