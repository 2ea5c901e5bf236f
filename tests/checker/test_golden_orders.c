/* What is said of random backward passes (order_model.h) is what was said of them when somebody
 * looked: tests/golden/random_orders.tsv. The oracle is test_order_bruteforce.c. */
#include "tests/checker/order_model.h"
#include "tests/golden_trace.h"

enum { INSTANCES = 600 };

static void check_one(struct golden *golden, unsigned seed, const char *what, unsigned models,
                      uint64_t limit)
{
    struct check_options options;
    struct findings findings;
    char key[60], words[400] = "";
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

int main(void)
{
    struct golden golden = golden_open("tests/golden/random_orders.tsv");
    for (unsigned seed = 1; seed <= INSTANCES; seed++) {
        check_one(&golden, seed, "all models", CHECK_EAGER | CHECK_RENDEZVOUS | CHECK_BATCH, 0);
        if (seed % 4 == 0)
            check_one(&golden, seed, "few steps", 1u << seed / 4 % 3, 1 + seed % 40);
    }
    golden_close(&golden, "random backward passes are judged as they were");
    return tap_done();
}
