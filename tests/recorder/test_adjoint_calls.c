/* Wrong adjoints that are written with calls of MPI (tests/gradients/adjoints.c), in this process: of
 * each it is said what it was when somebody looked, by which call and in which words. That those are
 * the right ones says tests/gradients/adjoints.t. */
#include "tests/diff_world.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* Ranks are fibers of one process: what each has of its own hangs on its slots. */
static struct here *here_of_rank(void);
#define HERE                 here_of_rank()
#define main                 adjoint_main
#define MPI_Init(argc, argv) ((void)(argc), (void)(argv))
#define MPI_Finalize()       ((void)0)
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "tests/gradients/adjoints.c"
#undef HERE
#undef main
#undef rank
#undef size
#undef defect
#undef root

static struct here *here_of_rank(void)
{
    void **slot = &MPIX_Rank_slots()[MPIX_SLOT_SPARE1];
    if (!*slot)
        *slot = calloc(1, sizeof(struct here));
    return *slot;
}

static char operation[20], number[20];

static void run_adjoint(void)
{
    char name[] = "adjoints", *arguments[] = {name, operation, number, NULL};
    adjoint_main(3, arguments);
    free(here_of_rank());
}

static void adjoint_check(const char *name, int wrong)
{
    if (!checked_takes())
        return;
    struct diff_world world = {5, run_adjoint, SIM_SEND_EAGER, 0};
    struct diff_runner runner = {diff_world_run, &world, 5, 1};
    struct gradcheck_options options = gradcheck_options_default();
    struct gradcheck_result result;
    snprintf(operation, sizeof operation, "%s", name);
    snprintf(number, sizeof number, "%d", wrong);
    options.elements_max = 1;
    options.points = 1;
    gradcheck_run(&runner, &options, &result);
    checked_hold(&result);
    bool nobody = strcmp(name, "allgather") == 0 && wrong == 2; /* it is written in another way */
    bool told = (wrong && !nobody) == (result.culprit.text[0] != 0);
    tap_ok(!result.base_failed && (result.failed > 0) == (wrong > 0) && told, "%s %d: %s", name,
           wrong, wrong ? result.culprit.text : "right");
    gradcheck_release(&result);
}

int main(void)
{
    static const struct {
        const char *name;
        int defects;
        bool local; /* those from 90 to 99, too */
    } rows[] = {{"allreduce", 7, true},  {"bcast", 4, false},    {"reduce", 4, false},
                {"gather", 3, false},    {"scatter", 2, false},  {"gatherv", 3, true},
                {"allgather", 4, false}, {"alltoall", 2, false}, {"alltoallv", 2, true},
                {"ring", 3, false},      {"halo", 3, true},      {"scan", 1, false},
                {"turn", 3, false}};
    (void)checked_open("adjoint_calls");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int wrong = 0; wrong <= rows[i].defects; wrong++)
            adjoint_check(rows[i].name, wrong);
        for (int wrong = 90; wrong <= 99 && rows[i].local; wrong++)
            adjoint_check(rows[i].name, wrong);
    }
    checked_close();
    return tap_done();
}
