/* Reduce_scatter where members do not agree about the shares, in a group and between two: nothing behind the end of anybody's input is read, nothing
 * beside a member's share is written. Both buffers end where a page does that must not be touched. Where all agree, the results are those of
 * loops over the ranks' numbers. */
#include "tests/world_harness.h"

#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 2, CALLS = 60, MOST = 16, FILL = 0x55, BEFORE = 16 };

static char *open_pages(void)
{
    char *pages =
        mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + PAGES * PAGE, PAGE, PROT_NONE))
        abort();
    return pages;
}

/* The last `count` ints before the page that must not be touched. */
static int *last_ints(char *pages, int count)
{
    return (int *)(void *)(pages + PAGES * PAGE) - count;
}

static int number_of(int world_rank, int element, int call)
{
    return world_rank * 100 + element * 3 + call;
}

static int sum_of(const int shares[], int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += shares[i];
    return sum;
}

/* The world's ranks that call, and whose numbers a member gets: `first` and the `count` - 1 behind it. */
struct side {
    MPI_Comm comm;
    int rank, size; /* in the member's own group */
    int first, count;
    bool between;
};

/* What all members of all groups draw alike, then what is the own group's, then what is the odd one's. Says whether all agree. */
static bool draw_shares(const struct side *side, uint64_t state, int world, int size, int shares[])
{
    int total = (int)dice_below(&state, 40), odd = (int)dice_below(&state, (uint32_t)size),
        more = 1 + (int)dice_below(&state, 300);
    uint32_t way = dice_below(&state, 5);
    memset(shares, 0, (size_t)side->size * sizeof *shares);
    state += (uint64_t)side->first; /* who gets from whom tells the groups apart */
    for (int i = 0; i < total; i++)
        shares[dice_below(&state, (uint32_t)side->size)]++;
    int one = (int)dice_below(&state, (uint32_t)side->size),
        other = (int)dice_below(&state, (uint32_t)side->size);
    bool moves = way == 2 && total && side->size > 1;
    if (world == odd && way == 1)
        shares[one] += more;
    if (world == odd && way == 0 && shares[one])
        shares[one]--;
    if (world == odd && moves && shares[other]) {
        shares[other]--;
        shares[one]++;
    }
    return way > 2;
}

static void one_call(const struct side *side, char *input, char *output, uint64_t state, int call)
{
    int shares[MOST], world = MPIX_World_rank(),
                      size = side->between ? side->size + side->count : side->size;
    bool agreed = draw_shares(side, state, world, size, shares),
         in_place = !side->between && call % 3 == 0;
    int all = sum_of(shares, side->size), before = sum_of(shares, side->rank),
        share = shares[side->rank];
    int *in = last_ints(input, all), *out = in_place ? in : last_ints(output, share);
    memset(output, FILL, PAGES * PAGE);
    for (int i = 0; i < all; i++)
        in[i] = number_of(world, i, call);
    int error =
        MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : in, out, shares, MPI_INT, MPI_SUM, side->comm);
    expect(!agreed || !error, "call %d: error %d though all agree", call, error);
    for (int i = 0; agreed && i < share; i++) {
        int expected = 0;
        for (int r = side->first; r < side->first + side->count; r++)
            expected += number_of(r, before + i, call);
        expect(out[i] == expected, "call %d, element %d: %d, not %d", call, i, out[i], expected);
    }
    const char *fill = in_place ? output + PAGES * PAGE : (const char *)out;
    for (int i = 1; i <= BEFORE; i++)
        expect(fill[-i] == FILL, "call %d: what is before the share was written", call);
    if (in_place) /* what follows the share stays, too */
        for (int i = share; i < all; i++)
            expect(in[i] == number_of(world, i, call), "call %d: element %d was written", call, i);
}

static void all_calls(const struct side *side)
{
    char *input = open_pages(), *output = open_pages();
    uint64_t state = 5;
    MPI_Comm_set_errhandler(side->comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < CALLS; i++) {
        one_call(side, input, output, state, i);
        dice_next(&state);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* nobody reads them any more */
    munmap(input, (PAGES + 1) * PAGE);
    munmap(output, (PAGES + 1) * PAGE);
}

static void within(int rank, int size)
{
    all_calls(&(struct side){MPI_COMM_WORLD, rank, size, 0, size, false});
}

static void between(int rank, int size)
{
    int low = (size + 1) / 3 ? (size + 1) / 3 : 1; /* of different sizes */
    bool in_low = rank < low;
    MPI_Comm own, across;
    MPI_Comm_split(MPI_COMM_WORLD, in_low, 0, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, in_low ? low : 0, 7, &across);
    struct side side = {across,           in_low ? rank : rank - low, in_low ? low : size - low,
                        in_low ? low : 0, in_low ? size - low : low,  true};
    all_calls(&side);
    MPI_Comm_free(&across);
    MPI_Comm_free(&own);
}

int main(void)
{
    tap_plan(2);
    world_test("in a group, shares that differ are not read beyond an input", within, WORLD_ANY);
    world_test_pairs("between groups, shares that differ are not read beyond an input", between,
                     WORLD_ANY);
    return tap_done();
}
