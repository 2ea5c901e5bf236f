/* When an exploration is given up: by how many runs are expected, and how many the time suffices for. */
#include "tests/tap.h"

#include "cli/running/exploration.h"

static bool hopeless(uint64_t runs, double expected, double spent, double all)
{
    struct explore_progress progress = {.runs = runs, .expected = expected};
    return exploration_is_hopeless(&progress, spent, all);
}

int main(void)
{
    tap_ok(!hopeless(1000, 0, 10, 60), "one of which nothing is expected goes on");
    tap_ok(!hopeless(1000, 900, 10, 60), "so does one that did more than was expected");
    tap_ok(!hopeless(1000, 6000, 10, 60), "and one that the time suffices for");
    tap_ok(!hopeless(1000, 20000, 10, 60), "and one of which the estimate may be wrong");
    tap_ok(hopeless(1000, 22000, 10, 60), "one that would take several times as long does not");
    tap_ok(hopeless(1000, 1e18, 10, 60), "nor one without an end");
    tap_ok(hopeless(0, 5, 10, 60), "nor one of which no run ended");
    tap_ok(!hopeless(0, 0, 10, 60), "unless none is expected");
    struct explore_progress many = {.runs = 1000, .expected = 2000, .many_kinds = true};
    tap_ok(exploration_is_hopeless(&many, 10, 60),
           "nor one of whose runs not every kind is judged");
    tap_ok(exploration_share(50, 1) == 50, "one number of ranks has all the time there is");
    tap_ok(exploration_share(50, 4) == 12.5, "of four the first has a quarter");
    tap_ok(exploration_share(50 - 2.0, 3) == 16, "what it did not need is shared by the others");
    tap_ok(exploration_share(-1, 2) == 0, "and where all is spent there is nothing");
    return tap_done();
}
