/* layout.c: puts copies of old types at displacements and keeps the flat form small. */
#include "sim/datatypes/layout.h"

#include <stdlib.h>
#include <string.h>

#include "sim/datatypes/signature_hash.h"

void sim_layout_begin(struct sim_layout *layout)
{
    *layout = (struct sim_layout){.empty = true, .type = calloc(1, sizeof *layout->type)};
    if (!layout->type) {
        layout->error = MPI_ERR_NO_MEM;
        return;
    }
    layout->type->hash_power = 1;
    layout->type->alignment = 1;
}

/* ---- Runs ---- */

static ptrdiff_t run_last(const struct sim_run *run)
{
    return run->offset + (ptrdiff_t)(run->count - 1) * run->stride;
}

static struct sim_run *runs_push(struct sim_layout *layout, struct sim_run run)
{
    if (layout->run_count == layout->run_room) {
        size_t room = layout->run_room ? 2 * layout->run_room : 4;
        struct sim_run *runs = realloc(layout->runs, room * sizeof *runs);
        if (!runs) {
            layout->error = MPI_ERR_NO_MEM;
            return NULL;
        }
        layout->runs = runs;
        layout->run_room = room;
    }
    layout->runs[layout->run_count] = run;
    return &layout->runs[layout->run_count++];
}

/* The first block follows the last one of `last` without a gap: it joins it. */
static void runs_append(struct sim_layout *layout, struct sim_run run);
static void runs_join(struct sim_layout *layout, struct sim_run *last, struct sim_run run)
{
    struct sim_run joint = {run_last(last), last->length + run.length, 1, 0, 0};
    if (last->count == 1)
        layout->run_count--;
    else if (--last->count == 1)
        last->stride = 0;
    runs_append(layout, joint);
    if (run.count > 1) {
        run.offset += run.stride;
        if (--run.count == 1)
            run.stride = 0;
        runs_append(layout, run);
    }
}

/* Whether `run` only continues `last`; then extends it. */
static bool runs_extend(struct sim_run *last, const struct sim_run *run)
{
    if (last->length != run->length)
        return false;
    ptrdiff_t step = run->offset - run_last(last);
    if ((last->count > 1 && last->stride != step) || (run->count > 1 && run->stride != step))
        return false;
    last->count += run->count;
    last->stride = step;
    return true;
}

static void runs_append(struct sim_layout *layout, struct sim_run run)
{
    if (layout->error)
        return;
    struct sim_run *last = layout->run_count ? &layout->runs[layout->run_count - 1] : NULL;
    if (last && run_last(last) + (ptrdiff_t)last->length == run.offset)
        runs_join(layout, last, run);
    else if (!last || !runs_extend(last, &run))
        runs_push(layout, run);
}

/* `count` copies of a run, `stride` apart, as one run where that is possible. */
static bool run_repeat(struct sim_run *run, size_t count, ptrdiff_t stride)
{
    if (count == 1)
        return true;
    if (run->count > 1 && stride != (ptrdiff_t)run->count * run->stride)
        return false;
    if (run->count == 1 && stride == (ptrdiff_t)run->length)
        run->length *= count;
    else {
        run->stride = run->count == 1 ? stride : run->stride;
        run->count *= count;
    }
    return true;
}

static void runs_add_copy(struct sim_layout *layout, const struct sim_datatype *old,
                          ptrdiff_t displacement)
{
    for (size_t i = 0; i < old->run_count && !layout->error; i++) {
        struct sim_run run = old->runs[i];
        run.offset += displacement;
        runs_append(layout, run);
    }
}

static void runs_add(struct sim_layout *layout, const struct sim_datatype *old,
                     const struct sim_blocks *blocks)
{
    struct sim_run run = *old->runs;
    run.offset += blocks->displacement;
    bool whole_block = old->run_count == 1 && run_repeat(&run, blocks->block, old->extent);
    if (whole_block && run_repeat(&run, blocks->count, blocks->stride)) {
        runs_append(layout, run);
        return;
    }
    for (size_t i = 0; i < blocks->count && !layout->error; i++) {
        ptrdiff_t shift = (ptrdiff_t)i * blocks->stride;
        struct sim_run moved = run;
        moved.offset += shift;
        if (whole_block)
            runs_append(layout, moved);
        for (size_t j = 0; !whole_block && j < blocks->block && !layout->error; j++)
            runs_add_copy(layout, old, blocks->displacement + shift + (ptrdiff_t)j * old->extent);
    }
}

/* ---- Bounds ---- */

struct range {
    MPI_Aint low, high;
};

static struct range range_stretch(struct range range, MPI_Aint by)
{
    return by < 0 ? (struct range){range.low + by, range.high}
                  : (struct range){range.low, range.high + by};
}

/* What [lb, ub) of the old type becomes when all copies of it are taken together. */
static struct range blocks_range(const struct sim_datatype *old, const struct sim_blocks *blocks,
                                 MPI_Aint lb, MPI_Aint extent)
{
    struct range range = {blocks->displacement + lb, blocks->displacement + lb + extent};
    range = range_stretch(range, (MPI_Aint)(blocks->block - 1) * old->extent);
    return range_stretch(range, (MPI_Aint)(blocks->count - 1) * blocks->stride);
}

static void range_include(MPI_Aint *low, MPI_Aint *high, struct range range, bool first)
{
    if (first || range.low < *low)
        *low = range.low;
    if (first || range.high > *high)
        *high = range.high;
}

static void bounds_add(struct sim_layout *layout, const struct sim_datatype *old,
                       const struct sim_blocks *blocks)
{
    if (old->size)
        range_include(&layout->data_lb, &layout->data_ub,
                      blocks_range(old, blocks, old->true_lb, old->true_extent), layout->empty);
    if (!old->bounds_explicit)
        return;
    struct range range = blocks_range(old, blocks, old->lb, old->extent);
    /* A negative extent puts ub before lb: each is a bound of its own. */
    if (old->extent < 0) {
        struct range lower = blocks_range(old, blocks, old->lb, 0);
        struct range upper = blocks_range(old, blocks, old->lb + old->extent, 0);
        range = (struct range){lower.low, upper.high};
    }
    range_include(&layout->explicit_lb, &layout->explicit_ub, range, !layout->bounded);
    layout->bounded = true;
}

/* ---- Adding ---- */

static void sequence_add(struct sim_layout *layout, const struct sim_datatype *old, size_t copies)
{
    struct sim_datatype *type = layout->type;
    struct sim_hash hash = sim_hash_repeat((struct sim_hash){old->hash, old->hash_power}, copies);
    hash = sim_hash_concatenate((struct sim_hash){type->hash, type->hash_power}, hash);
    type->hash = hash.value;
    type->hash_power = hash.power;
    type->elements += copies * old->elements;
    type->basic = layout->empty || type->basic == old->basic ? old->basic : 0;
    type->unit = layout->empty || type->unit == old->unit ? old->unit : 0;
    if (old->alignment > type->alignment)
        type->alignment = old->alignment;
}

/* Whether every address and size that follows can be computed without overflow. */
static bool blocks_representable(const struct sim_datatype *old, const struct sim_blocks *blocks,
                                 size_t size)
{
    size_t copies, bytes, total;
    MPI_Aint block, blocks_span, end;
    return !__builtin_mul_overflow(blocks->block, blocks->count, &copies) &&
           !__builtin_mul_overflow(copies, old->size, &bytes) &&
           !__builtin_add_overflow(size, bytes, &total) && total <= PTRDIFF_MAX &&
           !__builtin_mul_overflow(blocks->block, old->extent, &block) &&
           !__builtin_mul_overflow(blocks->count, blocks->stride, &blocks_span) &&
           !__builtin_add_overflow(block, blocks_span, &end) &&
           !__builtin_add_overflow(end, blocks->displacement, &end);
}

void sim_layout_add(struct sim_layout *layout, const struct sim_datatype *old,
                    struct sim_blocks blocks)
{
    if (layout->error || blocks.block == 0 || blocks.count == 0)
        return;
    if (!blocks_representable(old, &blocks, layout->type->size)) {
        layout->error = MPI_ERR_VALUE_TOO_LARGE;
        return;
    }
    bounds_add(layout, old, &blocks);
    if (old->size == 0)
        return;
    sequence_add(layout, old, blocks.block * blocks.count);
    layout->type->size += blocks.block * blocks.count * old->size;
    layout->empty = false;
    runs_add(layout, old, &blocks);
}

void sim_layout_set_bounds(struct sim_layout *layout, MPI_Aint lb, MPI_Aint extent)
{
    layout->bounded = true;
    layout->explicit_lb = lb;
    layout->explicit_ub = lb + extent;
}

/* ---- Finishing ---- */

static void finish_bounds(const struct sim_layout *layout, struct sim_datatype *type)
{
    type->true_lb = layout->data_lb;
    type->true_extent = layout->data_ub - layout->data_lb;
    type->bounds_explicit = layout->bounded;
    if (layout->bounded) {
        type->lb = layout->explicit_lb;
        type->extent = layout->explicit_ub - layout->explicit_lb;
    } else {
        MPI_Aint unit = type->alignment;
        type->lb = type->true_lb;
        type->extent = (type->true_extent + unit - 1) / unit * unit;
    }
}

static void finish_runs(struct sim_layout *layout, struct sim_datatype *type)
{
    size_t start = 0;
    for (size_t i = 0; i < layout->run_count; i++) {
        layout->runs[i].start = start;
        start += layout->runs[i].length * layout->runs[i].count;
    }
    type->run_count = layout->run_count;
    if (layout->run_count <= 1) {
        if (layout->run_count)
            type->run = layout->runs[0];
        type->runs = &type->run;
        free(layout->runs);
    } else {
        struct sim_run *fitted = realloc(layout->runs, layout->run_count * sizeof *fitted);
        type->runs = fitted ? fitted : layout->runs;
    }
    type->contiguous = type->extent == (MPI_Aint)type->size &&
                       (type->size == 0 || (type->run_count == 1 && type->runs->count == 1 &&
                                            type->runs->offset == 0));
}

struct sim_datatype *sim_layout_finish(struct sim_layout *layout, struct sim_contents *contents,
                                       int *error)
{
    struct sim_datatype *type = layout->type;
    *error = layout->error;
    if (*error) {
        free(layout->runs);
        free(type);
        sim_contents_free(contents);
        return NULL;
    }
    finish_bounds(layout, type);
    finish_runs(layout, type);
    type->magic = SIM_MAGIC_DATATYPE;
    type->references = 1;
    type->handles = 1;
    type->contents = contents;
    sim_datatype_check(type);
    return type;
}

/* ---- Contents ---- */

struct sim_contents *sim_contents_new(int combiner, bool large, size_t numbers, size_t types)
{
    struct sim_contents *contents = calloc(1, sizeof *contents);
    if (!contents)
        return NULL;
    contents->combiner = combiner;
    contents->large = large;
    contents->integers = malloc((numbers + 1) * sizeof *contents->integers);
    contents->addresses = malloc((numbers + 1) * sizeof *contents->addresses);
    contents->counts = malloc((numbers + 1) * sizeof *contents->counts);
    contents->types = malloc((types + 1) * sizeof *contents->types);
    if (contents->integers && contents->addresses && contents->counts && contents->types)
        return contents;
    sim_contents_free(contents);
    return NULL;
}

void sim_contents_put_integer(struct sim_contents *contents, int value)
{
    contents->integers[contents->integer_count++] = value;
}

void sim_contents_put_address(struct sim_contents *contents, MPI_Aint value)
{
    contents->addresses[contents->address_count++] = value;
}

void sim_contents_put_count(struct sim_contents *contents, MPI_Count value)
{
    if (contents->large)
        contents->counts[contents->large_count++] = value;
    else
        sim_contents_put_integer(contents, (int)value);
}

void sim_contents_put_type(struct sim_contents *contents, const struct sim_datatype *type)
{
    contents->types[contents->type_count++] = sim_datatype_retain(type);
}
