/* Stacks of one world are there for the next of the same size, emptied: a world of hundreds of ranks,
 * as gradient checks run thousands of, costs no mapping and no page of its own. */
#include "sim/worlds/world.h"
#include "tests/sanitized.h"
#include "tests/tap.h"

#include <string.h>
#include <sys/resource.h>

enum { PAGE = 4096 };

/* As it lies there, even where compilers fill what nobody sets. */
#if __has_attribute(uninitialized)
#define AS_FOUND __attribute__((uninitialized))
#else
#define AS_FOUND
#endif

struct seen {
    int pages;      /* every rank writes */
    unsigned found; /* bytes that were not 0 before */
};

/* Page by page down the stack: compilers that probe large frames would touch all of one at once. */
__attribute__((noinline)) static void touch_pages(struct seen *seen, int pages)
{
    AS_FOUND volatile char room[PAGE];
    volatile char *volatile place = &room[PAGE / 2];
    seen->found += *place != 0;
    *place = 1;
    if (pages > 1)
        touch_pages(seen, pages - 1);
    *place = 2; /* the frame is needed until here */
}

static int touch(void *context, int rank)
{
    struct seen *seen = context;
    (void)rank;
    touch_pages(seen, seen->pages);
    return 0;
}

static long faults_of_world(int ranks, struct seen *seen)
{
    struct failure failure = {0};
    struct sim_world_options options;
    struct rusage before, after;
    sim_world_options_init(&options);
    options.ranks = ranks;
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world)
        return -1;
    getrusage(RUSAGE_SELF, &before);
    sim_world_run(world, touch, seen);
    sim_world_free(world);
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

int main(void)
{
    static const struct {
        int ranks, pages;
        bool kept;
    } rows[] = {{16, 1, true},   {64, 3, true},    {65, 3, true},   {256, 3, true},
                {1024, 2, true}, {256, 60, false}, {1025, 1, false}};
    enum { ROWS = sizeof rows / sizeof *rows };
    tap_plan(2 * ROWS);
    for (int i = 0; i < ROWS; i++) {
        struct seen seen = {.pages = rows[i].pages};
        if (SANITIZED) {
            tap_skip(2, "a sanitizer has memory of its own for every stack");
            continue;
        }
        long first = faults_of_world(rows[i].ranks, &seen);
        long second = faults_of_world(rows[i].ranks, &seen);
        bool again = second < rows[i].ranks / 2;
        tap_ok(first >= 0 && again == rows[i].kept,
               "%d ranks that write %d pages: the next world's stacks are %s (%ld faults, then "
               "%ld)",
               rows[i].ranks, rows[i].pages, rows[i].kept ? "those of the last" : "new", first,
               second);
        tap_is_int(seen.found, 0, "%d ranks find nothing in them", rows[i].ranks);
    }
    return tap_done();
}
