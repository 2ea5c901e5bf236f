/* Regions and their intersection: see region.h. */
#include "sim/memory/region.h"

#include "sim/datatypes/layout.h"

#include <string.h>

/* Blocks looked at in one comparison. */
enum { STEPS_MAX = 1 << 20 };

/* Elements of a region in ascending order of addresses, whatever the sign of their extent. */
struct ascending {
    intptr_t base, extent;
    intptr_t last; /* number of the last element */
};

static struct ascending ascend(const struct sim_region *region)
{
    struct ascending order = {(intptr_t)region->base, region->type->extent,
                              (intptr_t)region->count - 1};
    if (order.extent < 0) {
        order.base += order.last * order.extent;
        order.extent = -order.extent;
    }
    return order;
}

struct sim_hull sim_region_hull_backwards(const struct sim_region *region)
{
    const struct sim_datatype *type = region->type;
    struct ascending order = ascend(region);
    uintptr_t low = (uintptr_t)(order.base + type->true_lb);
    return (struct sim_hull){low, low + (uintptr_t)(order.last * order.extent) +
                                      (uintptr_t)type->true_extent};
}

static intptr_t floor_divide(intptr_t a, intptr_t b)
{
    intptr_t quotient = a / b;
    return quotient - (a % b < 0);
}

/* Whether a block of the run, in an element at `base`, has a byte in [low, high). */
static bool run_touches(const struct sim_run *run, intptr_t base, intptr_t low, intptr_t high)
{
    intptr_t start = base + run->offset, length = (intptr_t)run->length;
    intptr_t stride = run->stride, last = (intptr_t)run->count - 1;
    if (stride < 0) {
        start += last * stride;
        stride = -stride;
    }
    if (!stride) /* a single block has none */
        return start < high && low < start + length;
    intptr_t first = floor_divide(low - length - start, stride) + 1;
    intptr_t end = floor_divide(high - 1 - start, stride);
    return (first > 0 ? first : 0) <= (end < last ? end : last);
}

bool sim_region_touches(const struct sim_region *region, uintptr_t low, uintptr_t high)
{
    const struct sim_datatype *type = region->type;
    struct sim_hull hull = sim_region_hull(region);
    if (low >= hull.high || high <= hull.low)
        return false;
    if (type->contiguous)
        return true;
    struct ascending order = ascend(region);
    intptr_t first = 0, last = order.last;
    if (order.extent) {
        intptr_t from = order.base + type->true_lb;
        first = floor_divide((intptr_t)low - from - type->true_extent, order.extent) + 1;
        last = floor_divide((intptr_t)high - 1 - from, order.extent);
        first = first > 0 ? first : 0;
        last = last < order.last ? last : order.last;
    }
    for (intptr_t i = first; i <= last; i++)
        for (size_t r = 0; r < type->run_count; r++)
            if (run_touches(&type->runs[r], order.base + i * order.extent, (intptr_t)low,
                            (intptr_t)high))
                return true;
    return false;
}

/* Was it, or a part of it, made of displacements in bytes, each by itself? */
static bool of_addresses(const struct sim_datatype *type)
{
    const struct sim_contents *contents = type->contents;
    if (!contents)
        return false;
    if (contents->combiner == MPI_COMBINER_STRUCT || contents->combiner == MPI_COMBINER_HINDEXED ||
        contents->combiner == MPI_COMBINER_HINDEXED_BLOCK)
        return true;
    for (size_t i = 0; i < contents->type_count; i++)
        if (of_addresses(contents->types[i]))
            return true;
    return false;
}

bool sim_region_leads_away(const struct sim_region *region)
{
    return of_addresses(region->type);
}

/* The last byte of the blocks that begin before `end`. */
static uintptr_t reach_before(const struct sim_region *region, uintptr_t end)
{
    const struct sim_datatype *type = region->type;
    uintptr_t reach = 0;
    for (size_t r = 0; r < type->run_count; r++) {
        const struct sim_run *run = &type->runs[r];
        uintptr_t at = region->base + (uintptr_t)run->offset;
        for (size_t k = 0; k < run->count; k++, at += (uintptr_t)run->stride)
            if (at < end && at + run->length > reach)
                reach = at + run->length;
    }
    return reach;
}

size_t sim_region_beyond(const struct sim_region *region, uintptr_t end)
{
    const struct sim_datatype *type = region->type;
    struct sim_hull hull = sim_region_hull(region);
    if (hull.high <= end)
        return 0;
    if (!region->base)
        return 0;
    if (of_addresses(type) && (region->count == 1 || type->extent < type->true_extent ||
                               hull.low + (uintptr_t)type->true_extent > end)) {
        uintptr_t reach = reach_before(region, end);
        return reach > end ? reach - end : 0;
    }
    return hull.high - end;
}

/* Calls `look` for every block; ends when it returns false. True: all were seen. */
struct block_visit {
    bool (*look)(void *context, uintptr_t low, size_t length);
    void *context;
};

static bool each_block(const struct sim_region *region, const struct block_visit *visit)
{
    const struct sim_datatype *type = region->type;
    if (type->contiguous)
        return visit->look(visit->context, region->base, region->count * type->size);
    for (size_t i = 0; i < region->count; i++)
        for (size_t r = 0; r < type->run_count; r++) {
            const struct sim_run *run = &type->runs[r];
            intptr_t at = (intptr_t)region->base + (intptr_t)i * type->extent + run->offset;
            for (size_t k = 0; k < run->count; k++, at += run->stride)
                if (!visit->look(visit->context, (uintptr_t)at, run->length))
                    return false;
        }
    return true;
}

static size_t block_count(const struct sim_region *region)
{
    if (region->type->contiguous)
        return 1;
    size_t blocks = 0;
    for (size_t r = 0; r < region->type->run_count; r++)
        blocks += region->type->runs[r].count;
    return blocks * region->count;
}

struct comparison {
    const struct sim_region *other;
    size_t steps;
    enum sim_share result;
    uintptr_t at;
};

/* The first byte of [low, high) that belongs to the region, which touches it. */
static uintptr_t first_touched(const struct sim_region *region, uintptr_t low, uintptr_t high)
{
    while (high - low > 1) {
        uintptr_t middle = low + (high - low) / 2;
        if (sim_region_touches(region, low, middle))
            high = middle;
        else
            low = middle;
    }
    return low;
}

static bool compare_block(void *context, uintptr_t low, size_t length)
{
    struct comparison *comparison = context;
    if (!comparison->steps--) {
        comparison->result = SIM_UNDECIDED;
        return false;
    }
    if (!sim_region_touches(comparison->other, low, low + length))
        return true;
    comparison->result = SIM_SHARED;
    comparison->at = first_touched(comparison->other, low, low + length);
    return false;
}

enum sim_share sim_regions_share(const struct sim_region *a, const struct sim_region *b,
                                 uintptr_t *at)
{
    struct sim_hull one = sim_region_hull(a), two = sim_region_hull(b);
    if (one.low >= two.high || two.low >= one.high)
        return SIM_APART;
    bool swap = block_count(b) < block_count(a);
    struct comparison comparison = {.other = swap ? a : b, .steps = STEPS_MAX, .result = SIM_APART};
    each_block(swap ? b : a, &(struct block_visit){compare_block, &comparison});
    *at = comparison.at;
    return comparison.result;
}

/* Four sums side by side: memory is as fast as they are. */
static bool checksum_block(void *context, uintptr_t low, size_t length)
{
    uint64_t *sums = context;
    const unsigned char *at = (const unsigned char *)low;
    for (; length >= 32; length -= 32, at += 32)
        for (int lane = 0; lane < 4; lane++) {
            uint64_t word;
            memcpy(&word, at + 8 * lane, sizeof word);
            sums[lane] = (sums[lane] ^ word) * 0x9e3779b97f4a7c15u;
            sums[lane] ^= sums[lane] >> 29;
        }
    for (; length >= 8; length -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        sums[0] = (sums[0] ^ word) * 0x9e3779b97f4a7c15u;
        sums[0] ^= sums[0] >> 29;
    }
    for (; length; length--)
        sums[0] = (sums[0] ^ *at++) * 0x100000001b3u;
    return true;
}

static uint64_t mixture(const uint64_t sums[4])
{
    uint64_t hash = sums[0] * 0x9e3779b97f4a7c15u + sums[1] * 0xd1b54a32d192ed03u +
                    sums[2] * 0xabc98388fb8fac03u + sums[3] * 0x8cb92ba72f3d8dd7u;
    return hash ^ hash >> 32;
}

uint64_t sim_region_checksum(const struct sim_region *region)
{
    uint64_t sums[4] = {1, 2, 3, 4};
    each_block(region, &(struct block_visit){checksum_block, sums});
    return mixture(sums) | 1;
}
