/* overlap.c: whether elements of a type share bytes, so that receiving there is an error.
 *
 * Decided by looking at every block in the order of addresses; runs whose ranges keep clear of each
 * other, as in nearly every type, are looked at only as a whole.
 */
#include <stdlib.h>

#include "sim/datatypes/datatype.h"

/* Blocks that are looked at one by one, at most: when committing, when receiving. */
enum { BLOCKS_MAX = 1 << 20, BLOCKS_FEW = 256 };

struct stretch {
    ptrdiff_t low, high;
};

static struct stretch stretch_of(const struct sim_run *run)
{
    ptrdiff_t reach = (ptrdiff_t)(run->count - 1) * run->stride;
    ptrdiff_t low = run->offset + (reach < 0 ? reach : 0);
    return (struct stretch){low, low + (reach < 0 ? -reach : reach) + (ptrdiff_t)run->length};
}

static int compare(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

/* Sorts; reports whether any two meet. */
static bool any_meet(struct stretch *stretches, size_t count)
{
    qsort(stretches, count, sizeof *stretches, compare);
    for (size_t i = 1; i < count; i++)
        if (stretches[i].low < stretches[i - 1].high)
            return true;
    return false;
}

static bool run_overlaps(const struct sim_run *run)
{
    ptrdiff_t stride = run->stride < 0 ? -run->stride : run->stride;
    return run->count > 1 && stride < (ptrdiff_t)run->length;
}

/* Every block of one element. */
static size_t all_blocks(const struct sim_datatype *type, struct stretch *stretches)
{
    size_t count = 0;
    for (size_t i = 0; i < type->run_count; i++)
        for (size_t j = 0; j < type->runs[i].count; j++) {
            ptrdiff_t low = type->runs[i].offset + (ptrdiff_t)j * type->runs[i].stride;
            stretches[count++] = (struct stretch){low, low + (ptrdiff_t)type->runs[i].length};
        }
    return count;
}

static size_t block_count(const struct sim_datatype *type)
{
    size_t count = 0;
    for (size_t i = 0; i < type->run_count; i++)
        count += type->runs[i].count;
    return count;
}

/* Copies of the stretches, an extent apart, added behind them. */
static size_t repeat(struct stretch *stretches, size_t count, size_t copies, ptrdiff_t extent)
{
    for (size_t i = count; i < count * copies; i++) {
        ptrdiff_t shift = (ptrdiff_t)(i / count) * extent;
        stretches[i] =
            (struct stretch){stretches[i % count].low + shift, stretches[i % count].high + shift};
    }
    return count * copies;
}

/* Elements that have to be looked at together: those that one element's data reaches into. */
static size_t neighbours(const struct sim_datatype *type, size_t count)
{
    MPI_Aint extent = type->extent < 0 ? -type->extent : type->extent;
    if (extent >= type->true_extent)
        return 1;
    size_t reached = extent ? (size_t)(type->true_extent / extent) + 1 : 2;
    return reached < count ? reached : count;
}

static bool overlaps(const struct sim_datatype *type, size_t count, size_t blocks_max)
{
    if (type->contiguous || type->size == 0 || count == 0)
        return false;
    for (size_t i = 0; i < type->run_count; i++)
        if (run_overlaps(&type->runs[i]))
            return true;
    size_t together = neighbours(type, count), blocks = block_count(type);
    if (together == 1 && type->run_count == 1)
        return false;
    if (blocks > blocks_max || together > blocks_max / blocks)
        return false;
    struct stretch *stretches = malloc(blocks * together * sizeof *stretches);
    if (!stretches)
        return false;
    bool found = true;
    if (together == 1) {
        for (size_t i = 0; i < type->run_count; i++)
            stretches[i] = stretch_of(&type->runs[i]);
        found = any_meet(stretches, type->run_count);
    }
    if (found) {
        size_t n = repeat(stretches, all_blocks(type, stretches), together, type->extent);
        found = any_meet(stretches, n);
    }
    free(stretches);
    return found;
}

bool sim_datatype_overlaps(const struct sim_datatype *type, size_t count)
{
    return overlaps(type, count, BLOCKS_MAX);
}

/* Two arithmetic progressions, one step a multiple of the other, as columns of a matrix are: they
 * meet when the shorter steps reach the first of the longer ones. */
static bool progressions_meet(size_t step, size_t steps, size_t long_step, size_t length)
{
    return step < length || steps > long_step / step;
}

bool sim_datatype_interlock_overlaps(const struct sim_datatype *type, size_t count)
{
    size_t extent = (size_t)(type->extent < 0 ? -type->extent : type->extent);
    size_t stride = (size_t)(type->run.stride < 0 ? -type->run.stride : type->run.stride);
    if (type->size == 0)
        return false;
    if (extent == 0)
        return true;
    if (type->run_count == 1 && type->run.count > 1 && stride % extent == 0)
        return progressions_meet(extent, count, stride, type->run.length);
    if (type->run_count == 1 && type->run.count > 1 && extent % stride == 0)
        return progressions_meet(stride, type->run.count, extent, type->run.length);
    return overlaps(type, count, BLOCKS_FEW);
}
