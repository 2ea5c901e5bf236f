/* Hashes of a trace: equal runs give equal hashes. See trace.h.
 *
 * Only what is deterministic goes in: no wall times, no addresses, no paths but the file's last
 * part. Indices are replaced by what they stand for (rank and sequence number, communicator
 * number), so that the hash survives a round trip through the database or a file. */
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t mix_pair(uint64_t hash, uint32_t high, uint32_t low)
{
    return mix(hash, (uint64_t)high << 32 | low);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = mix(hash, (unsigned char)*text);
    return mix(hash, 0);
}

static uint64_t site_hash(const struct trace *trace, uint32_t site)
{
    if (site >= trace->site_count)
        return 0;
    const char *file = trace->sites[site].file, *slash = strrchr(file, '/');
    return mix_text(mix(1, (uint64_t)trace->sites[site].line), slash ? slash + 1 : file);
}

static uint64_t mix_op_of(uint64_t hash, const struct trace *trace, uint32_t op)
{
    if (op >= trace->op_count)
        return mix(hash, TRACE_NO);
    return mix_pair(hash, trace->ops[op].rank, trace_op_seq(trace, &trace->ops[op]));
}

/* The same, often of one of these ranks: nothing is asked of memory for that. */
static uint64_t mix_op_near(uint64_t hash, const struct trace *trace, uint32_t op, uint32_t rank,
                            uint32_t lanes)
{
    const size_t *begin = trace->rank_begin + rank;
    if (op < begin[0] || op >= begin[lanes])
        return mix_op_of(hash, trace, op);
    uint32_t lane = 0;
    while (op >= begin[lane + 1])
        lane++;
    return mix_pair(hash, rank + lane, (uint32_t)(op - begin[lane]));
}

/* Ranks that are hashed side by side. */
struct group {
    const struct trace *trace;
    const uint64_t
        *sites; /* the hash of every site, so that texts are hashed once; NULL: hash on the way */
    uint32_t first, lanes;
};

static uint64_t mix_op(uint64_t hash, const struct group *group, const struct trace_op *op)
{
    const struct trace *trace = group->trace;
    hash = mix_pair(hash, (uint32_t)op->kind << 24 | (uint32_t)op->state << 16 | op->flags,
                    op->form->pass);
    hash = mix_pair(hash, op->form->comm < trace->comm_count ? trace->comms[op->form->comm].id : 0,
                    op->comm_seq);
    hash = mix_pair(hash, (uint32_t)op->peer, (uint32_t)op->tag);
    hash = mix_pair(hash, (uint32_t)trace_op_peer_matched(op), (uint32_t)trace_op_tag_matched(op));
    hash = mix(mix(hash, (uint64_t)op->count), (uint64_t)trace_op_count_matched(op));
    hash = mix_pair(hash, op->form->type, op->form->signature);
    hash = mix_pair(hash, op->form->reduce_op, op->form->batch);
    hash = mix_pair(hash, op->node < trace->node_count ? trace->nodes[op->node].id : 0,
                    (uint32_t)op->form->error);
    hash = mix_op_near(hash, trace, op->request, group->first, group->lanes);
    hash = mix_op_near(hash, trace, trace_op_adjoint_of(trace, op), group->first, group->lanes);
    hash = mix_op_near(hash, trace, op->match, group->first, group->lanes);
    hash = mix(hash, op->form->identity);
    if (op->form->thread)
        hash = mix(hash, op->form->thread);
    return mix(mix(hash, op->begin), op->end);
}

static uint64_t mix_nodes(uint64_t hash, const struct trace *trace, uint32_t rank)
{
    size_t edge = 0, high = trace->edge_count;
    while (edge < high) { /* the first edge of this rank */
        size_t middle = edge + (high - edge) / 2;
        if (trace->edges[middle].from < trace->node_begin[rank])
            edge = middle + 1;
        else
            high = middle;
    }
    for (size_t i = trace->node_begin[rank]; i < trace->node_begin[rank + 1]; i++) {
        const struct trace_node *node = &trace->nodes[i];
        hash = mix_pair(hash, node->id, node->pass);
        hash = mix_pair(hash, node->kind, node->state);
        hash = mix(hash, node->forward < trace->node_count ? trace->nodes[node->forward].id : 0);
        hash = mix_text(mix(hash, site_hash(trace, node->site)), trace_string(trace, node->name));
    }
    for (; edge < trace->edge_count && trace->edges[edge].from < trace->node_begin[rank + 1];
         edge++)
        hash = mix(mix_pair(hash, trace->nodes[trace->edges[edge].from].id,
                            trace->nodes[trace->edges[edge].to].id),
                   trace->edges[edge].type);
    return hash;
}

static uint64_t mix_op_at(uint64_t hash, const struct group *group, size_t at)
{
    const struct trace *trace = group->trace;
    const struct trace_op *op = &trace->ops[at];
    uint32_t site = op->form->site;
    return mix(mix_op(hash, group, op), site >= trace->site_count ? 0
                                        : group->sites            ? group->sites[site]
                                                                  : site_hash(trace, site));
}

/* Each step of a hash waits for the one before, so ranks go side by side: the processor does several
 * in the time of one. */
enum { LANES = 4 };
static void mix_ops(const struct group *group, uint64_t *hashes)
{
    const size_t *begin = group->trace->rank_begin + group->first;
    size_t common = group->lanes == LANES ? SIZE_MAX : 0;
    for (uint32_t lane = 0; lane < group->lanes; lane++)
        if (begin[lane + 1] - begin[lane] < common)
            common = begin[lane + 1] - begin[lane];
    for (size_t i = 0; i < common; i++)
        for (uint32_t lane = 0; lane < LANES; lane++)
            hashes[lane] = mix_op_at(hashes[lane], group, begin[lane] + i);
    for (uint32_t lane = 0; lane < group->lanes; lane++)
        for (size_t i = begin[lane] + common; i < begin[lane + 1]; i++)
            hashes[lane] = mix_op_at(hashes[lane], group, i);
}

static uint64_t mix_rest(uint64_t hash, const struct trace *trace, uint32_t rank)
{
    size_t fold = 0, high = trace->fold_count;
    while (fold < high) { /* the first one of this rank */
        size_t middle = fold + (high - fold) / 2;
        if (trace->folds[middle].op < trace->rank_begin[rank])
            fold = middle + 1;
        else
            high = middle;
    }
    for (; fold < trace->fold_count && trace->folds[fold].op < trace->rank_begin[rank + 1]; fold++)
        hash = mix(mix_op_of(hash, trace, trace->folds[fold].op), trace->folds[fold].times);
    hash = mix_nodes(hash, trace, rank);
    return mix_pair(hash, trace->rank_info[rank].state, (uint32_t)trace->rank_info[rank].exit_code);
}

static void ops_hashes(const struct group *group, uint64_t *hashes)
{
    for (uint32_t lane = 0; lane < group->lanes; lane++)
        hashes[lane] = mix(group->first + lane, 0x73696d72756eu);
    mix_ops(group, hashes);
}

uint64_t trace_rank_hash(const struct trace *trace, uint32_t rank)
{
    uint64_t hash;
    ops_hashes(&(struct group){trace, NULL, rank, 1}, &hash);
    return mix_rest(hash, trace, rank);
}

static uint64_t *site_hashes(const struct trace *trace)
{
    uint64_t *sites = trace->site_count ? malloc(trace->site_count * sizeof *sites) : NULL;
    for (uint32_t i = 0; sites && i < trace->site_count; i++)
        sites[i] = site_hash(trace, i);
    return sites;
}

/* Of up to LANES ranks from `first` on, as they are kept or else anew; how many. */
static uint32_t some_hashes(const struct trace *trace, uint32_t first, uint64_t *hashes,
                            const uint64_t *sites)
{
    uint32_t left = trace->ranks - first, lanes = left < LANES ? left : LANES;
    if (trace->store->hashes)
        memcpy(hashes, trace->store->hashes + first, lanes * sizeof *hashes);
    else
        ops_hashes(&(struct group){trace, sites, first, lanes}, hashes);
    return lanes;
}

uint64_t trace_hash(const struct trace *trace)
{
    uint64_t *sites = site_hashes(trace), hashes[LANES];
    uint64_t hash = mix_pair(trace->ranks, trace->outcome, 0);
    for (uint32_t rank = 0, lanes; rank < trace->ranks; rank += lanes) {
        lanes = some_hashes(trace, rank, hashes, sites);
        for (uint32_t lane = 0; lane < lanes; lane++)
            hash = mix(hash, mix_rest(hashes[lane], trace, rank + lane));
    }
    free(sites);
    return hash;
}

void trace_hash_ranks(struct trace *trace)
{
    uint64_t *sites = site_hashes(trace), hashes[LANES];
    uint64_t *kept = malloc(trace->ranks * sizeof *kept);
    trace_hashes_forget(trace->store);
    for (uint32_t rank = 0, lanes; rank < trace->ranks; rank += lanes) {
        lanes = some_hashes(trace, rank, hashes, sites);
        for (uint32_t lane = 0; lane < lanes; lane++)
            trace->rank_info[rank + lane].hash = mix_rest(hashes[lane], trace, rank + lane);
        if (kept)
            memcpy(kept + rank, hashes, lanes * sizeof *kept);
    }
    trace->store->hashes = kept;
    free(sites);
}
