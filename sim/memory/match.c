/* A type map over memory: see match.h. */
#include "sim/memory/match.h"

/* Numbers looked at in one comparison, and stretches of one basic type in an element. */
enum { NUMBERS_MAX = 4096, STRETCHES_MAX = 256 };

struct number {
    enum debug_kind kind;
    size_t size;
    int parts; /* of a complex number */
};

static struct number number_of(const struct sim_datatype *basic)
{
    switch (basic->kind) {
    case SIM_KIND_INT16:
    case SIM_KIND_INT32:
    case SIM_KIND_INT64:
    case SIM_KIND_INT128:
    case SIM_KIND_UINT16:
    case SIM_KIND_UINT32:
    case SIM_KIND_UINT64:
        return (struct number){DEBUG_INTEGER, basic->size, 1};
    case SIM_KIND_HALF:
    case SIM_KIND_FLOAT:
    case SIM_KIND_DOUBLE:
    case SIM_KIND_LONG_DOUBLE:
    case SIM_KIND_QUAD:
        return (struct number){DEBUG_FLOATING, basic->size, 1};
    case SIM_KIND_COMPLEX_HALF:
    case SIM_KIND_COMPLEX_FLOAT:
    case SIM_KIND_COMPLEX_DOUBLE:
    case SIM_KIND_COMPLEX_LONG_DOUBLE:
    case SIM_KIND_COMPLEX_QUAD:
        return (struct number){DEBUG_FLOATING, basic->size / 2, 2};
    default:
        return (struct number){DEBUG_OPAQUE, basic->size, 1};
    }
}

/* The basic types of an element, in the order of its runs. */
struct stretches {
    struct {
        const struct sim_datatype *basic;
        size_t count;
    } list[STRETCHES_MAX];
    size_t count;
    bool all;
};

static void add_stretch(void *context, const struct sim_datatype *basic, size_t count)
{
    struct stretches *stretches = context;
    if (stretches->count && stretches->list[stretches->count - 1].basic == basic) {
        stretches->list[stretches->count - 1].count += count;
        return;
    }
    stretches->all &= stretches->count < STRETCHES_MAX;
    if (!stretches->all)
        return;
    stretches->list[stretches->count].basic = basic;
    stretches->list[stretches->count++].count = count;
}

struct over {
    uintptr_t start;
    size_t bytes; /* what lies outside of them is another variable's; 0: nothing does */
    const struct debug_type *type;
    struct sim_mismatch *mismatch;
    size_t looked;
};

static bool number_fits(struct over *over, uintptr_t at, const struct sim_datatype *basic)
{
    struct number number = number_of(basic);
    if (over->bytes && at - over->start >= over->bytes) {
        over->looked++;
        return true;
    }
    for (int part = 0; part < number.parts && number.kind != DEBUG_OPAQUE; part++) {
        size_t offset = at - over->start + (size_t)part * number.size;
        size_t within = offset % over->type->size;
        const struct debug_leaf *leaf = debug_type_leaf(over->type, within);
        if (leaf && (leaf->kind == DEBUG_OPAQUE ||
                     (leaf->kind == number.kind && leaf->size == number.size &&
                      (within - leaf->offset) % leaf->size == 0)))
            continue;
        *over->mismatch = (struct sim_mismatch){basic, offset, leaf};
        return false;
    }
    over->looked++;
    return true;
}

/* One element at `base`. */
static bool element_fits(struct over *over, const struct sim_datatype *type,
                         const struct stretches *stretches, uintptr_t base)
{
    size_t stretch = 0, used = 0;
    for (size_t r = 0; r < type->run_count; r++) {
        const struct sim_run *run = &type->runs[r];
        uintptr_t block = base + (uintptr_t)run->offset;
        for (size_t k = 0; k < run->count; k++, block += (uintptr_t)run->stride)
            for (size_t at = 0; at < run->length && stretch < stretches->count;) {
                const struct sim_datatype *basic = stretches->list[stretch].basic;
                if (over->looked > NUMBERS_MAX)
                    return true;
                if (!number_fits(over, block + at, basic))
                    return false;
                at += basic->size;
                if (++used == stretches->list[stretch].count)
                    stretch++, used = 0;
            }
    }
    return true;
}

/* After so many elements of a region they lie over the type's elements as the first did. */
static size_t period(ptrdiff_t extent, size_t size)
{
    size_t a = size, b = (size_t)(extent < 0 ? -extent : extent);
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return size / a;
}

bool sim_match(const struct sim_region *region, uintptr_t start, size_t bytes,
               const struct debug_type *type, struct sim_mismatch *mismatch)
{
    struct stretches stretches = {.all = true};
    struct over over = {.start = start, .type = type, .mismatch = mismatch};
    if (sim_region_leads_away(region))
        over.bytes = bytes;
    if (type->opaque || !type->size)
        return true;
    sim_datatype_visit(region->type, 1, add_stretch, &stretches);
    if (!stretches.all)
        return true;
    size_t count = period(region->type->extent, type->size);
    if (region->count < count)
        count = region->count;
    for (size_t i = 0; i < count && over.looked <= NUMBERS_MAX; i++)
        if (!element_fits(&over, region->type, &stretches,
                          region->base + i * (uintptr_t)region->type->extent))
            return false;
    return true;
}

bool sim_match_numbers(const struct sim_datatype *type)
{
    struct stretches stretches = {.all = true};
    sim_datatype_visit(type, 1, add_stretch, &stretches);
    for (size_t i = 0; i < stretches.count; i++)
        if (number_of(stretches.list[i].basic).kind != DEBUG_OPAQUE)
            return true;
    return false;
}

/* MPI_BYTE and MPI_PACKED move anything. */
static bool is_character(const struct sim_datatype *basic)
{
    MPI_Datatype handle = sim_datatype_handle(basic);
    return handle == MPI_CHAR || handle == MPI_SIGNED_CHAR || handle == MPI_UNSIGNED_CHAR;
}

bool sim_match_by_count(const struct sim_datatype *type)
{
    return type->basic && is_character(&sim_datatype_predefined[type->basic - SIM_DATATYPE_FIRST]);
}

bool sim_match_cut(const struct sim_region *region, uintptr_t start, const struct debug_type *type,
                   size_t count, struct sim_mismatch *mismatch)
{
    const struct sim_datatype *basic =
        region->type->basic ? &sim_datatype_predefined[region->type->basic - SIM_DATATYPE_FIRST]
                            : NULL;
    if (!sim_match_by_count(region->type) || type->opaque || type->leaf_count != 1 ||
        !region->type->contiguous)
        return false;
    size_t bytes = region->count * region->type->size;
    const struct debug_leaf *leaf = &type->leaves[0];
    if (bytes % leaf->size == 0 && !(count > 1 && bytes == count))
        return false;
    *mismatch = (struct sim_mismatch){basic, region->base - start, leaf};
    return true;
}
