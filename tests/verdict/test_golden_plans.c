/* What is said of random plans (random_plan.h), which leave order, wildcards and completions open, and of small changes of them is
 * what was said when somebody looked: golden_judged.h, tests/golden/plans.tsv. Oracles are test_joint_bruteforce.c and its like. */
#include "tests/checker/random_plan.h"
#include "tests/golden_judged.h"

enum { PLANS = 150 };

int main(void)
{
    static char data[TEXT_MAX + 1];
    struct golden golden = golden_open("tests/golden/plans.tsv");
    for (unsigned seed = 1; seed <= PLANS; seed++) {
        char name[40];
        if (!golden_takes(&golden, seed))
            continue;
        dice = seed;
        struct plan plan = plan_new();
        size_t size = plan_write(&plan, data);
        data[size] = 0;
        snprintf(name, sizeof name, "plan %u", seed);
        judged_hold(&golden, name, data, size, 1);
    }
    plan_by_name = true;
    for (unsigned i = 0; i < CROSSING_PLANS; i++) {
        char name[40];
        if (!golden_takes(&golden, i))
            continue;
        dice = crossing_plans[i];
        struct plan plan = plan_new();
        size_t size = plan_write(&plan, data);
        data[size] = 0;
        snprintf(name, sizeof name, "crossing plan %u", crossing_plans[i]);
        judged_hold(&golden, name, data, size, 1);
    }
    golden_close(&golden, "plans are judged, told and written as they were");
    return tap_done();
}
