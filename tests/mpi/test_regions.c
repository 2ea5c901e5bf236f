/* The bytes that a side of an operation uses, against a map of them: hull, single bytes and stretches, what two regions share, and
 * checksums, of random types, counts and places; and how far a region reaches for sure, against a table.
 * SIMRUN_SOAK=N tries N regions, from SIMRUN_SEED on. */
#include "sim/memory/region.h"
#include "tests/dice.h"
#include "tests/sim/datatype_naive.h"
#include "tests/tap.h"

#include <mpi.h>

enum { ROOM = 1 << 14, MIDDLE = ROOM / 2, STRETCHES = 300, SHARES = 12 };

static unsigned char memory[ROOM];

struct mapped {
    struct naive naive;
    struct sim_region region;
    bool uses[ROOM]; /* of `memory` */
    ptrdiff_t low, high;
};

static uintptr_t address(ptrdiff_t place)
{
    return (uintptr_t)memory + (uintptr_t)place;
}

/* Its bytes at `place`; false: they do not fit into the memory. */
static bool put_at(struct mapped *mapped, ptrdiff_t place, int count)
{
    size_t n;
    ptrdiff_t *bytes = naive_bytes(&mapped->naive, count, &n);
    bool fits = true;
    memset(mapped->uses, 0, sizeof mapped->uses);
    mapped->low = ROOM;
    mapped->high = 0;
    for (size_t i = 0; i < n && fits; i++) {
        ptrdiff_t at = place + bytes[i];
        fits = at >= 64 && at < ROOM - 64;
        if (fits) {
            mapped->uses[at] = true;
            mapped->low = at < mapped->low ? at : mapped->low;
            mapped->high = at + 1 > mapped->high ? at + 1 : mapped->high;
        }
    }
    free(bytes);
    mapped->region = (struct sim_region){.base = address(place),
                                         .type = sim_datatype_get(mapped->naive.handle),
                                         .count = (size_t)count};
    return fits;
}

static struct mapped *mapped_new(void)
{
    static struct mapped all[2];
    static int turn;
    struct mapped *mapped = &all[turn++ % 2];
    for (;;) {
        mapped->naive = naive_make_any(naive_between(0, 3));
        if (put_at(mapped, MIDDLE + naive_between(-40, 40), naive_between(0, 4)))
            return mapped;
        naive_free(&mapped->naive);
    }
}

static bool hull_agrees(const struct mapped *mapped)
{
    struct sim_hull hull = sim_region_hull(&mapped->region);
    if (mapped->low >= mapped->high)
        return hull.low == hull.high;
    return hull.low == address(mapped->low) && hull.high == address(mapped->high);
}

static bool is_used(const struct mapped *mapped, ptrdiff_t low, ptrdiff_t high)
{
    return low < high && memchr(mapped->uses + low, true, (size_t)(high - low));
}

static bool touches_agree(const struct mapped *mapped)
{
    ptrdiff_t low = mapped->low < mapped->high ? mapped->low : MIDDLE;
    ptrdiff_t high = mapped->low < mapped->high ? mapped->high : MIDDLE;
    bool same = true;
    for (ptrdiff_t at = low - 3; at < high + 3; at++)
        same = same && sim_region_touches(&mapped->region, address(at), address(at + 1)) ==
                           mapped->uses[at];
    for (int i = 0; i < STRETCHES; i++) {
        ptrdiff_t from = naive_between((int)low - 8, (int)high + 8);
        ptrdiff_t to = from + naive_between(1, i % 2 ? 12 : 60);
        to = to > ROOM ? ROOM : to;
        same = same && sim_region_touches(&mapped->region, address(from), address(to)) ==
                           is_used(mapped, from, to);
    }
    return same;
}

static bool shares_agree(const struct mapped *a, const struct mapped *b)
{
    bool shared = false, swapped = false;
    for (int i = 0; i < ROOM; i++)
        shared = shared || (a->uses[i] && b->uses[i]);
    for (int turn = 0; turn < 2; turn++, swapped = true) {
        uintptr_t at = 0;
        enum sim_share said = sim_regions_share(swapped ? &b->region : &a->region,
                                                swapped ? &a->region : &b->region, &at);
        if (said != (shared ? SIM_SHARED : SIM_APART))
            return false;
        if (shared && (at < address(0) || at >= address(ROOM) || !a->uses[at - address(0)] ||
                       !b->uses[at - address(0)]))
            return false;
    }
    return true;
}

static bool checksum_agrees(const struct mapped *mapped)
{
    uint64_t before = sim_region_checksum(&mapped->region);
    bool same = before != 0;
    ptrdiff_t low = mapped->low < mapped->high ? mapped->low : MIDDLE;
    ptrdiff_t high = mapped->low < mapped->high ? mapped->high : MIDDLE;
    for (ptrdiff_t at = low - 2; at < high + 2; at++) {
        memory[at] ^= (unsigned char)(1 << at % 8);
        same = same && (sim_region_checksum(&mapped->region) != before) == mapped->uses[at];
        memory[at] ^= (unsigned char)(1 << at % 8);
    }
    return same && sim_region_checksum(&mapped->region) == before;
}

static void random_regions(void)
{
    struct dice_seeds seeds = dice_seeds(600);
    int hulls = 0, touches = 0, shares = 0, checksums = 0;
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        naive_state = seed;
        struct mapped *a = mapped_new(), *b = mapped_new();
        for (int i = 0; i < ROOM; i++)
            memory[i] = (unsigned char)(i * 37 + (int)seed);
        hulls += !hull_agrees(a);
        touches += !touches_agree(a);
        checksums += !checksum_agrees(a);
        for (int i = 0; i < SHARES; i++)
            if (put_at(b, MIDDLE + naive_between(-90, 90), naive_between(0, 3)))
                shares += !shares_agree(a, b);
        naive_free(&a->naive);
        naive_free(&b->naive);
    }
    tap_is_int(hulls, 0, "a hull reaches from the lowest byte to the highest");
    tap_is_int(touches, 0, "bytes and stretches are touched if the map has them");
    tap_is_int(shares, 0, "two regions share a byte if their maps do, and it is named");
    tap_is_int(checksums, 0, "a checksum tells every change of a region's bytes, and no other");
}

/* Too many blocks: it is not decided. Few against many is. */
static void many_blocks(void)
{
    MPI_Datatype even, odd, single;
    uintptr_t at;
    PMPI_Type_vector(1 << 21, 1, 2, MPI_BYTE, &even);
    PMPI_Type_vector(1 << 20, 1, 2, MPI_BYTE, &odd);
    PMPI_Type_vector(2, 1, 1 << 20, MPI_BYTE, &single);
    struct sim_region a = {address(0), sim_datatype_get(even), 1, false, "buffer"};
    struct sim_region b = {address(1), sim_datatype_get(even), 1, false, "buffer"};
    struct sim_region c = {address(1), sim_datatype_get(odd), 1, false, "buffer"};
    struct sim_region d = {address(4), sim_datatype_get(single), 1, false, "buffer"};
    tap_is_int(sim_regions_share(&a, &b, &at), SIM_UNDECIDED, "two million blocks are too many");
    tap_is_int(sim_regions_share(&a, &c, &at), SIM_APART, "a million on one side is not");
    tap_ok(sim_regions_share(&a, &d, &at) == SIM_SHARED && at == address(4), "nor are two");
    PMPI_Type_free(&even);
    PMPI_Type_free(&odd);
    PMPI_Type_free(&single);
}

/* Elements on top of each other: one is as good as many. */
static void no_extent(void)
{
    MPI_Datatype vector, flat;
    int wrong = 0;
    PMPI_Type_vector(3, 2, 5, MPI_BYTE, &vector);
    PMPI_Type_create_resized(vector, 0, 0, &flat);
    for (size_t count = 0; count < 4; count++) {
        struct sim_region region = {address(50), sim_datatype_get(flat), count, false, "buffer"};
        for (int at = -3; at < 20; at++)
            wrong += sim_region_touches(&region, address(50 + at), address(51 + at)) !=
                     (count && at >= 0 && at < 12 && at % 5 < 2);
    }
    tap_is_int(wrong, 0, "elements without an extent lie on top of each other");
    PMPI_Type_free(&vector);
    PMPI_Type_free(&flat);
}

/* ---- beyond an end ---- */

enum maker { BYTES, HINDEXED, HINDEXED_BLOCK, STRUCT, INDEXED, NESTED };

struct beyond_row {
    enum maker maker;
    int blocks, lengths[3], places[3], extent, count, end, expected;
    const char *what;
};

static MPI_Datatype made(const struct beyond_row *row)
{
    MPI_Aint places[3] = {row->places[0], row->places[1], row->places[2]};
    MPI_Datatype bytes[3] = {MPI_BYTE, MPI_BYTE, MPI_BYTE}, type = MPI_BYTE, sized;
    switch (row->maker) {
    case BYTES:
        PMPI_Type_contiguous(row->lengths[0], MPI_BYTE, &type);
        break;
    case HINDEXED_BLOCK:
        PMPI_Type_create_hindexed_block(row->blocks, row->lengths[0], places, MPI_BYTE, &type);
        break;
    case STRUCT:
        PMPI_Type_create_struct(row->blocks, row->lengths, places, bytes, &type);
        break;
    case INDEXED:
        PMPI_Type_indexed(row->blocks, row->lengths, row->places, MPI_BYTE, &type);
        break;
    default:
        PMPI_Type_create_hindexed(row->blocks, row->lengths, places, MPI_BYTE, &type);
    }
    if (row->maker == NESTED) {
        PMPI_Type_contiguous(1, type, &sized);
        PMPI_Type_free(&type);
        type = sized;
    }
    if (row->extent) {
        PMPI_Type_create_resized(type, 0, row->extent, &sized);
        PMPI_Type_free(&type);
        type = sized;
    }
    return type;
}

static void beyond(void)
{
    static const struct beyond_row rows[] = {
        {BYTES, 1, {8}, {0}, 0, 2, 16, 0, "bytes up to the end"},
        {BYTES, 1, {8}, {0}, 0, 2, 15, 1, "bytes one beyond it"},
        {INDEXED, 2, {4, 4}, {0, 20}, 0, 1, 8, 16, "a block that is counted from the first"},
        {HINDEXED, 2, {4, 4}, {0, 20}, 0, 1, 8, 0, "a block with an address of its own"},
        {HINDEXED_BLOCK, 2, {4, 4}, {0, 20}, 0, 1, 8, 0, "blocks of one length with addresses"},
        {STRUCT, 2, {4, 4}, {0, 20}, 0, 1, 8, 0, "a member with an address of its own"},
        {NESTED, 2, {4, 4}, {0, 20}, 0, 1, 8, 0, "a type made of such a type"},
        {HINDEXED, 2, {10, 4}, {0, 20}, 0, 1, 8, 2, "a block that begins before the end"},
        {HINDEXED, 3, {10, 4, 30}, {0, 7, 20}, 0, 1, 8, 3, "the longer of two such blocks"},
        {HINDEXED, 3, {4, 10, 30}, {7, 0, 20}, 0, 1, 8, 3, "whichever comes first"},
        {HINDEXED, 2, {4, 4}, {0, 8}, 0, 1, 8, 0, "a block that begins at the end"},
        {HINDEXED, 2, {4, 4}, {0, 7}, 0, 1, 8, 3, "a block that begins at the last byte"},
        {HINDEXED, 2, {4, 4}, {0, 8}, 0, 3, 20, 16, "elements of which one is within"},
        {HINDEXED, 2, {4, 4}, {0, 8}, 0, 3, 12, 24, "... just within"},
        {HINDEXED, 2, {4, 4}, {0, 8}, 0, 3, 11, 1, "elements of which none is within"},
        {HINDEXED, 2, {4, 4}, {0, 20}, 0, 3, 10, 0, "... and whose blocks may be elsewhere"},
        {HINDEXED, 2, {4, 4}, {0, 20}, 4, 3, 30, 0, "elements that lie in each other"},
        {HINDEXED_BLOCK, 3, {4}, {0, 8, 16}, 0, 1, 18, 2, "a block of a row of blocks"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MPI_Datatype type = made(&rows[i]);
        struct sim_region region = {address(100), sim_datatype_get(type), (size_t)rows[i].count,
                                    false, "buffer"};
        tap_is_int(sim_region_beyond(&region, address(100 + rows[i].end)), rows[i].expected,
                   "%s: so many bytes beyond", rows[i].what);
        PMPI_Type_free(&type);
    }
    struct sim_region bottom = {0, sim_datatype_get(MPI_BYTE), 100, false, "buffer"};
    tap_is_int(sim_region_beyond(&bottom, 50), 0, "MPI_BOTTOM is no object");
}

int main(void)
{
    random_regions();
    many_blocks();
    no_extent();
    beyond();
    return tap_done();
}
