/* Type maps over memory: whether each number of a region is one of those that debug information tells of, against a map of every byte of
 * the memory. Random datatypes, as lists of basic types and places, lie over types that were made of them, some with one member
 * changed, and over any others; the first number that does not fit is the one that is told. SIMRUN_SOAK=N tries N pairs, from SIMRUN_SEED on. */
#include "sim/memory/match.h"
#include "tests/sim/datatype_naive.h"
#include "tests/tap.h"

/* An element of more changes between basic types is not looked at. */
enum { BYTES = 4096, LEAVES = 300, NUMBERS = 1500, CHANGES = 256 };

static const enum debug_kind kinds[NAIVE_BASICS] = {DEBUG_OPAQUE,   DEBUG_INTEGER,  DEBUG_INTEGER,
                                                    DEBUG_FLOATING, DEBUG_FLOATING, DEBUG_FLOATING,
                                                    DEBUG_OPAQUE};

/* ---- what is in memory ---- */

static struct debug_leaf leaves[LEAVES];
static struct debug_type type;
static int owner[BYTES]; /* of each byte of one element: a leaf, -1: none */

static int by_place(const void *a, const void *b)
{
    const struct debug_leaf *one = a, *two = b;
    return (one->offset > two->offset) - (one->offset < two->offset);
}

/* False: two members share a byte, or one is not within. */
static bool map_of_type(void)
{
    qsort(leaves, type.leaf_count, sizeof *leaves, by_place);
    type.leaves = leaves;
    type.opaque = true;
    for (size_t i = 0; i < type.size; i++)
        owner[i] = -1;
    for (size_t i = 0; i < type.leaf_count; i++) {
        type.opaque &= leaves[i].kind == DEBUG_OPAQUE;
        for (size_t b = 0; b < leaves[i].size * leaves[i].count; b++) {
            if (leaves[i].offset + b >= type.size || owner[leaves[i].offset + b] >= 0)
                return false;
            owner[leaves[i].offset + b] = (int)i;
        }
    }
    return type.leaf_count > 0;
}

static void add_leaf(size_t offset, size_t size, size_t number, enum debug_kind kind)
{
    if (type.leaf_count < LEAVES)
        leaves[type.leaf_count++] =
            (struct debug_leaf){.offset = offset, .size = size, .count = number, .kind = kind};
}

/* The datatype's own numbers, `times` elements of it in one of the type; from its lowest byte on. */
static bool type_like(const struct naive *naive, ptrdiff_t low, int times)
{
    ptrdiff_t extent = naive_bounds(naive).extent;
    if (extent < 1 || extent * times > BYTES)
        return false;
    type = (struct debug_type){.size = (size_t)(extent * times)};
    for (int i = 0; i < times; i++)
        for (size_t k = 0; k < naive->count; k++) {
            int basic = naive->entries[k].basic;
            if (basic >= 0)
                add_leaf((size_t)((naive->entries[k].at - low + i * extent) % (extent * times)),
                         (size_t)naive_basics[basic].size, 1, kinds[basic]);
        }
    return type.leaf_count < LEAVES && type.leaf_count;
}

static void change_one(void)
{
    struct debug_leaf *leaf = &leaves[naive_between(0, (int)type.leaf_count - 1)];
    switch (naive_between(0, 4)) {
    case 0:
        leaf->kind = leaf->kind == DEBUG_INTEGER ? DEBUG_FLOATING : DEBUG_INTEGER;
        break;
    case 1:
        leaf->kind = DEBUG_OPAQUE;
        break;
    case 2: /* numbers of half the size */
        leaf->count = leaf->size > 1 ? 2 : 1;
        leaf->size = leaf->size > 1 ? leaf->size / 2 : 1;
        break;
    case 3: /* a gap */
        *leaf = leaves[--type.leaf_count];
        break;
    default:
        leaf->offset += 1;
    }
}

static void type_of_any(void)
{
    static const size_t sizes[] = {1, 2, 4, 4, 8, 16};
    size_t at = 0;
    type = (struct debug_type){.size = 0};
    for (int i = naive_between(1, 5); i > 0; i--) {
        size_t size = sizes[naive_between(0, 5)], number = (size_t)naive_between(1, 3);
        add_leaf(at, size, number,
                 size == 1 ? DEBUG_OPAQUE
                           : (enum debug_kind)naive_between(DEBUG_OPAQUE, DEBUG_FLOATING));
        at += size * number + (size_t)naive_between(0, 1) * 4;
    }
    type.size = at;
}

/* ---- the second way ---- */

/* The first number that is none of the memory's; false: all are. Memory of opaque things holds anything. */
static bool misfit(const struct naive *naive, int count, ptrdiff_t low,
                   struct sim_mismatch *mismatch)
{
    ptrdiff_t extent = naive_bounds(naive).extent;
    for (int i = 0; i < count && !type.opaque; i++)
        for (size_t k = 0; k < naive->count; k++) {
            int basic = naive->entries[k].basic;
            if (basic < 0 || kinds[basic] == DEBUG_OPAQUE)
                continue;
            size_t offset = (size_t)(naive->entries[k].at - low + i * extent),
                   within = offset % type.size;
            const struct debug_leaf *leaf = owner[within] < 0 ? NULL : &leaves[owner[within]];
            bool begins =
                leaf && (within == leaf->offset || (within - leaf->offset) / leaf->size !=
                                                       (within - 1 - leaf->offset) / leaf->size);
            if (leaf && (leaf->kind == DEBUG_OPAQUE ||
                         (leaf->kind == kinds[basic] &&
                          leaf->size == (size_t)naive_basics[basic].size && begins)))
                continue;
            *mismatch =
                (struct sim_mismatch){sim_datatype_get(naive_basics[basic].handle), offset, leaf};
            return true;
        }
    return false;
}

static ptrdiff_t lowest(const struct naive *naive, int count)
{
    ptrdiff_t low = PTRDIFF_MAX, extent = naive_bounds(naive).extent;
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < naive->count; k++)
            if (naive->entries[k].basic >= 0 && naive->entries[k].at + i * extent < low)
                low = naive->entries[k].at + i * extent;
    return low == PTRDIFF_MAX ? 0 : low;
}

static size_t numbers_in(const struct naive *naive)
{
    size_t numbers = 0;
    for (size_t k = 0; k < naive->count; k++)
        numbers += naive->entries[k].basic >= 0;
    return numbers;
}

static const char *try_pair(int *fit, int *misfits)
{
    static char text[200];
    static unsigned char memory[8];
    struct naive naive = naive_make_any(naive_between(0, 3));
    int count = naive_between(1, 12);
    ptrdiff_t low = lowest(&naive, count);
    bool made = numbers_in(&naive) * (size_t)count < NUMBERS && numbers_in(&naive) &&
                numbers_in(&naive) <= CHANGES;
    *text = '\0';
    if (made && naive_between(0, 3)) {
        made = type_like(&naive, low, naive_between(1, 3));
        if (made && naive_between(0, 2))
            change_one();
    } else {
        type_of_any();
    }
    if (made && map_of_type()) {
        const struct sim_datatype *machines = sim_datatype_get(naive.handle);
        struct sim_region region = {(uintptr_t)memory, machines, (size_t)count, false, "buffer"};
        struct sim_mismatch expected = {0}, got = {0};
        bool fits = !misfit(&naive, count, low, &expected), numbers = false;
        bool answer = sim_match(&region, (uintptr_t)memory + (uintptr_t)low, 0, &type, &got);
        if (answer != fits ||
            (!fits && (got.basic != expected.basic || got.offset != expected.offset ||
                       got.leaf != expected.leaf)))
            snprintf(text, sizeof text, "%s at %zu, expected %s at %zu",
                     answer ? "fits" : "does not", got.offset, fits ? "fits" : "does not",
                     expected.offset);
        for (size_t k = 0; k < naive.count; k++)
            numbers |= naive.entries[k].basic >= 0 && kinds[naive.entries[k].basic] != DEBUG_OPAQUE;
        if (sim_match_numbers(machines) != numbers)
            snprintf(text, sizeof text, "%s numbers", numbers ? "has" : "has no");
        *fit += fits && !type.opaque;
        *misfits += !fits;
    }
    naive_free(&naive);
    return text;
}

static void test_pairs(void)
{
    const char *text = "";
    int fit = 0, misfits = 0;
    struct dice_seeds seeds = dice_seeds(6000);
    for (unsigned long long i = 0; i < seeds.count && !*text; i++) {
        naive_state = seeds.first + i;
        text = try_pair(&fit, &misfits);
        if (*text)
            tap_note("seed %llu", seeds.first + i);
    }
    tap_is_str(text, "",
               "a region fits where every number of it is one of the memory's, and else the first "
               "that is none is told");
    tap_ok(fit > 200 && misfits > 200, "... of %d that fit and %d that do not", fit, misfits);
}

/* ---- characters where numbers are ---- */

/* Bytes that end within a number, or as many bytes as there are numbers. */
static void test_cuts(void)
{
    static const struct {
        MPI_Datatype handle;
        bool character;
    } moved[] = {{MPI_CHAR, true},  {MPI_SIGNED_CHAR, true}, {MPI_UNSIGNED_CHAR, true},
                 {MPI_BYTE, false}, {MPI_PACKED, false},     {MPI_INT, false},
                 {MPI_SHORT, false}};
    static unsigned char memory[8];
    int wrong = 0, cuts = 0;
    for (size_t m = 0; m < sizeof moved / sizeof *moved; m++)
        for (size_t size = 2; size <= 8; size *= 2)
            for (size_t there = 0; there < 12; there++)
                for (size_t bytes = 1; bytes < 30; bytes++)
                    for (int members = 1; members <= 2; members++) {
                        struct sim_mismatch mismatch = {0};
                        const struct sim_datatype *machines = sim_datatype_get(moved[m].handle);
                        type = (struct debug_type){.size = size * (size_t)members};
                        for (int k = 0; k < members; k++)
                            add_leaf(size * (size_t)k, size, 1, k ? DEBUG_FLOATING : DEBUG_INTEGER);
                        map_of_type();
                        struct sim_region region = {(uintptr_t)memory + 4, machines, bytes, false,
                                                    "buffer"};
                        bool expected = moved[m].character && members == 1 &&
                                        (bytes % size != 0 || (there > 1 && bytes == there));
                        bool got =
                            sim_match_cut(&region, (uintptr_t)memory, &type, there, &mismatch);
                        wrong += got != expected;
                        wrong += got && (mismatch.basic != machines || mismatch.offset != 4 ||
                                         mismatch.leaf != leaves);
                        cuts += got;
                    }
    tap_ok(!wrong && cuts > 100,
           "characters must not end within a number, nor be as many as the numbers");
    for (size_t m = 0; m < sizeof moved / sizeof *moved; m++)
        wrong += sim_match_by_count(sim_datatype_get(moved[m].handle)) != moved[m].character;
    tap_ok(!wrong, "only of characters it matters how many are moved");
    type.opaque = true;
    struct sim_mismatch mismatch;
    struct sim_region region = {(uintptr_t)memory, sim_datatype_get(MPI_CHAR), 3, false, "buffer"};
    tap_ok(!sim_match_cut(&region, (uintptr_t)memory, &type, 2, &mismatch),
           "what holds no numbers is not cut");
}

int main(void)
{
    tap_plan(5);
    test_pairs();
    test_cuts();
    return tap_done();
}
