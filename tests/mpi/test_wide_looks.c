/* Looks at a world now and then: what each says, against the whole list of looks before it; and a world that becomes wide where a rank
 * computes, not where ranks call, and not where nobody may ask. */
#include "sim/worlds/wide.h"
#include "tests/dice.h"
#include "tests/world_harness.h"

#include <signal.h>
#include <time.h>

/* ---- what looks say ---- */

enum { LOOKS = 400, FEW = 100, MANY = 200, IN_A_ROW = 16, LONGEST = 16 };

struct look {
    bool wide, never;
    uint64_t calls;
};

/* So many looks up to this one found a wide world in which there was much to do. */
static int busy_before(const struct look *looks, int i)
{
    int row = 0;
    for (; i >= 0 && looks[i].wide && looks[i].calls >= MANY; i--)
        row++;
    return row;
}

/* Looks at a narrow world that calls much double the pause, from what it was. */
static unsigned pause_behind(const struct look *looks, int i)
{
    unsigned pause;
    int from = i;
    while (from >= 0 && !looks[from].wide && looks[from].calls >= MANY)
        from--;
    pause = from >= 0 && looks[from].wide ? 2 : 1;
    for (; from < i && pause < LONGEST; from++)
        pause *= 2;
    return pause;
}

static void test_looks(void)
{
    static struct look looks[LOOKS];
    int wrong = 0, answers[3] = {0};
    struct dice_seeds seeds = dice_seeds(40);
    for (unsigned long long n = 0; n < seeds.count; n++) {
        uint64_t state = seeds.first + n;
        struct sim_wide_looks said = {.pause = 1};
        bool wide = false, never = n % 8 == 0;
        uint32_t calm = 1 + dice_below(&state, 40); /* so seldom something changes */
        uint64_t calls = 0;
        for (int i = 0; i < LOOKS; i++) {
            static const uint64_t borders[] = {0,        1,    FEW - 1,  FEW,     FEW + 1,
                                               MANY - 1, MANY, MANY + 1, 9 * MANY};
            if (dice_below(&state, calm) == 0)
                wide = dice_below(&state, 2);
            if (dice_below(&state, calm) == 0)
                calls = borders[dice_below(&state, sizeof borders / sizeof *borders)];
            looks[i] = (struct look){wide, never, calls};
            int row = busy_before(looks, i);
            enum sim_wide_answer expected = row == IN_A_ROW                 ? SIM_WIDE_BUSY
                                            : wide || calls >= FEW || never ? SIM_WIDE_CALLS
                                                                            : SIM_WIDE_COMPUTES,
                                 got = sim_wide_look(&said, wide, never, calls);
            answers[got]++;
            if ((got != expected || said.pause != pause_behind(looks, i)) && wrong++ < 5)
                tap_note("seed %llu, look %d: %d and a pause of %u", seeds.first + n, i, (int)got,
                         said.pause);
        }
    }
    tap_is_int(wrong, 0, "each look says what all looks up to it say (%d, %d and %d)", answers[0],
               answers[1], answers[2]);
    tap_ok(answers[SIM_WIDE_COMPUTES] && answers[SIM_WIDE_CALLS] && answers[SIM_WIDE_BUSY],
           "... and each answer is given");
}

/* ---- worlds that are looked at ---- */

static struct sim_world *world;
static _Thread_local volatile sig_atomic_t computing;
static volatile sig_atomic_t asked;

static void on_look(int number)
{
    (void)number;
    asked++;
    if (computing && sim_world_computes(world))
        sim_world_widen(world);
}

static uint64_t processor_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

enum way { COMPUTES, CALLS, NEVER };

static int body(void *context, int rank)
{
    enum way way = *(enum way *)context;
    int size;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && way != CALLS) {
        uint64_t begin = processor_ns();
        computing = 1; /* until it is wide, or for long enough that it would be */
        while (way == COMPUTES ? !sim_world_widened(world) : processor_ns() - begin < 20000000)
            ;
        computing = 0;
    } else if (rank == 0) {
        uint64_t begin = processor_ns();
        computing = 1;
        for (int flag; processor_ns() - begin < 30000000;)
            for (int i = 0; i < 50; i++)
                MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        computing = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

static uint32_t widened(enum way way, int ranks, int number, enum sim_wide_when wide,
                        bool *possible)
{
    struct sim_world_options options = world_options(ranks);
    struct failure failure = {0};
    options.wide = wide;
    options.wide_signal = number;
    options.livelock_rounds = UINT64_MAX;
    asked = 0;
    world = sim_world_new(&options, &failure);
    *possible = sim_wide_possible(world);
    if (way == COMPUTES && !*possible)
        way = NEVER;
    enum trace_outcome outcome = sim_world_run(world, body, &way);
    tap_is_int(outcome, OUTCOME_FINISHED, "way %d: it comes to its end", (int)way);
    uint32_t times = sim_world_widened(world);
    sim_world_free(world);
    return times;
}

static void test_worlds(void)
{
    bool possible;
    signal(SIGUSR2, on_look);
    uint32_t times = widened(COMPUTES, 3, SIGUSR2, SIM_WIDE_AUTO, &possible);
    tap_ok(!possible || (times && asked >= 3), "a rank that computes makes its world wide");
    times = widened(CALLS, 3, SIGUSR2, SIM_WIDE_AUTO, &possible);
    tap_is_int(times, 0, "one that calls does not");
    times = widened(NEVER, 1, SIGUSR2, SIM_WIDE_AUTO, &possible);
    tap_ok(!times && !asked && !possible, "a world of one rank is not looked at");
    times = widened(NEVER, 3, SIGUSR2, SIM_WIDE_NEVER, &possible);
    tap_ok(!times && !asked && !possible, "nor one that is never wide");
    times = widened(NEVER, 3, 0, SIM_WIDE_AUTO, &possible);
    tap_ok(!times && !asked, "nor one where nobody answers");
}

int main(void)
{
    test_looks();
    test_worlds();
    return tap_done();
}
