/* The regions of a collective: which blocks each kind reads and writes on the caller's rank. */
#include "sim/collectives/regions.h"

#include <stdlib.h>
#include <string.h>

static bool is(const struct sim_collective_call *call, const char *name)
{
    return !strcmp(call->kind->name, name);
}

struct joined {
    sim_region_visit *visit;
    void *context;
    struct sim_region region;
    uintptr_t *anchor; /* told what vectored sides are displaced from; NULL: nobody asks */
};

static void flush(struct joined *joined)
{
    if (joined->region.count && joined->region.type->size)
        joined->visit(joined->context, &joined->region);
    joined->region.count = 0;
}

static void add(struct joined *joined, struct sim_block block)
{
    struct sim_region *region = &joined->region;
    uintptr_t base = (uintptr_t)block.data;
    if (!block.count || !block.type || !block.type->size)
        return;
    if (region->count && region->type == block.type &&
        base == region->base + region->count * (uintptr_t)block.type->extent) {
        region->count += block.count;
        return;
    }
    flush(joined);
    region->base = base;
    region->type = block.type;
    region->count = block.count;
}

static void visit_side(const struct sim_collective_call *call, const struct sim_side *side,
                       bool receive, struct joined *joined)
{
    int peers = sim_call_side_peers(call, receive);
    if (!side->type)
        return;
    if (side->vectored) {
        if (joined->anchor && !side->typed)
            *joined->anchor = (uintptr_t)side->buffer;
        for (int i = 0; i < peers; i++)
            add(joined, sim_side_block(side, i));
    } else {
        struct sim_block whole = sim_side_whole(side);
        if (receive ? call->kind->receives_each : call->kind->sends_each && !call->op)
            whole.count *= (size_t)peers;
        add(joined, whole);
    }
    flush(joined);
    if (joined->anchor)
        *joined->anchor = 0;
}

static void visit_call(const struct sim_collective_call *call, sim_region_visit *visit,
                       void *context, uintptr_t *anchor)
{
    struct joined joined = {.visit = visit, .context = context, .anchor = anchor};
    if (is(call, "Bcast")) {
        joined.region.side = "buffer";
        joined.region.written = !sim_call_is_root(call);
        visit_side(call, &call->send, false, &joined);
        return;
    }
    struct sim_side send = call->send, receive = call->receive;
    if (call->op && call->kind->sends_each && receive.type) {
        send.vectored = receive.vectored = false;
        *(call->in_place ? &receive.count : &send.count) = sim_call_all_shares(call);
    }
    joined.region.side = "send buffer";
    bool root_scatters = is(call, "Scatter") || is(call, "Scatterv");
    if (!call->in_place || root_scatters)
        visit_side(call, &send, false, &joined);
    joined.region.side = call->in_place ? "buffer" : "receive buffer";
    joined.region.written = true;
    visit_side(call, &receive, true, &joined);
}

void sim_regions_of_call(const struct sim_collective_call *call, sim_region_visit *visit,
                         void *context)
{
    visit_call(call, visit, context, NULL);
}

struct collected {
    struct sim_region *regions;
    size_t count, room;
    bool failed;
};

static void collect(void *context, const struct sim_region *region)
{
    struct collected *collected = context;
    if (!region->written)
        return;
    if (collected->count == collected->room) {
        size_t room = collected->room ? 2 * collected->room : 8;
        struct sim_region *more = realloc(collected->regions, room * sizeof *more);
        if (!more) {
            collected->failed = true;
            return;
        }
        collected->regions = more;
        collected->room = room;
    }
    collected->regions[collected->count++] = *region;
}

size_t sim_regions_written(const struct sim_collective_call *call, struct sim_region **regions)
{
    struct collected collected = {.regions = NULL};
    sim_regions_of_call(call, collect, &collected);
    *regions = collected.regions;
    return collected.failed ? 0 : collected.count;
}

struct asked {
    const struct sim_collective_call *call;
    uintptr_t *anchor;
};

static void regions_of(const void *context, sim_region_visit *visit, void *with)
{
    const struct asked *asked = context;
    visit_call(asked->call, visit, with, asked->anchor);
}

void sim_regions_pending(struct sim_rank *rank, const struct sim_collective_call *call,
                         const void *owner)
{
    if (!rank->pending)
        return;
    if (owner && !rank->pending->instrumented)
        rank->pending->unseen_collectives++;
    sim_pending_begin(rank, call->kind->name, owner, regions_of,
                      &(struct asked){call, &rank->pending->anchor});
}
