/* What a nonblocking or persistent collective keeps of its arguments: see kept.h. */
#include "sim/collectives/kept.h"

#include "sim/datatypes/datatype.h"
#include "sim/worlds/rank.h"

#include <assert.h>
#include <string.h>

/* The program's own arrays, and behind it the copies. */
struct sim_kept {
    struct sim_counts counts, displacements;
    const MPI_Datatype *types;
    const struct sim_datatype **retained;
    size_t count, bytes; /* of each array, and of this with the copies */
};

static size_t bytes_of(struct sim_counts counts, size_t count)
{
    return (counts.narrow ? sizeof *counts.narrow : counts.wide ? sizeof *counts.wide : 0) * count;
}

static const void *start_of(struct sim_counts counts)
{
    return counts.narrow ? (const void *)counts.narrow : counts.wide;
}

static struct sim_counts copy(struct sim_counts counts, size_t count, char **to)
{
    size_t bytes = bytes_of(counts, count);
    if (!bytes)
        return counts;
    void *at = memcpy(*to, start_of(counts), bytes);
    *to += (bytes + 7) & ~(size_t)7;
    return counts.narrow ? (struct sim_counts){.narrow = at} : (struct sim_counts){.wide = at};
}

static void side_keep(struct sim_world *world, struct sim_side *side)
{
    struct sim_kept *kept;
    side->kept = NULL;
    if (!side->vectored)
        return;
    size_t count = (size_t)side->arrays, types = side->typed ? count : 0;
    size_t bytes = sizeof *kept + types * (sizeof(MPI_Datatype) + sizeof(void *)) +
                   bytes_of(side->counts, count) + bytes_of(side->displacements, count) +
                   2 * sizeof(int64_t);
    kept = sim_pool_get(world, bytes);
    assert(kept && "out of memory for a collective's arrays");
    *kept = (struct sim_kept){.counts = side->counts,
                              .displacements = side->displacements,
                              .types = side->typed ? side->types : NULL,
                              .count = count,
                              .bytes = bytes};
    char *to = (char *)(kept + 1);
    if (types) {
        kept->retained = (const struct sim_datatype **)(void *)to;
        to += types * sizeof(void *);
        for (size_t i = 0; i < types; i++)
            sim_datatype_retain(kept->retained[i] = sim_datatype_get(side->types[i]));
        side->types = memcpy(to, side->types, types * sizeof(MPI_Datatype));
        to += types * sizeof(MPI_Datatype);
    }
    side->counts = copy(side->counts, count, &to);
    side->displacements = copy(side->displacements, count, &to);
    side->kept = kept;
}

static void side_drop(struct sim_world *world, struct sim_side *side)
{
    struct sim_kept *kept = side->vectored ? side->kept : NULL;
    for (size_t i = 0; kept && kept->retained && i < kept->count; i++)
        sim_datatype_release(kept->retained[i]);
    if (kept)
        sim_pool_put(world, kept, kept->bytes);
}

void sim_call_keep(struct sim_world *world, struct sim_collective_call *call)
{
    side_keep(world, &call->send);
    side_keep(world, &call->receive);
}

void sim_call_drop(struct sim_world *world, struct sim_collective_call *call)
{
    side_drop(world, &call->send);
    side_drop(world, &call->receive);
}

const struct sim_datatype *sim_kept_type(const struct sim_kept *kept, int peer)
{
    return kept->retained[peer];
}

static bool same(struct sim_counts given, struct sim_counts now, size_t count)
{
    size_t bytes = bytes_of(given, count);
    return !bytes || !memcmp(start_of(given), start_of(now), bytes);
}

bool sim_call_arrays_changed(const struct sim_collective_call *call)
{
    for (int receives = 0; receives < 2; receives++) {
        const struct sim_side *side = receives ? &call->receive : &call->send;
        const struct sim_kept *kept = side->vectored ? side->kept : NULL;
        if (!kept)
            continue;
        if (!same(kept->counts, side->counts, kept->count) ||
            !same(kept->displacements, side->displacements, kept->count) ||
            (kept->types && memcmp(kept->types, side->types, kept->count * sizeof *kept->types)))
            return true;
    }
    return false;
}
