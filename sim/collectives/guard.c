/* Whether a program writes to the buffers of a nonblocking collective while it is under way.
 *
 * A checksum of both sides is taken at the start, compared before the collective itself reads or
 * writes them, taken anew afterwards, and compared when the program completes the request. */
#include "sim/collectives/guard.h"

#include "sim/collectives/kept.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_bytes(uint64_t hash, const unsigned char *at, size_t bytes)
{
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    for (; bytes; bytes--)
        hash = (hash ^ *at++) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_block(uint64_t hash, struct sim_block block)
{
    unsigned char room[4096];
    size_t bytes = block.type ? block.count * block.type->size : 0;
    if (!bytes)
        return hash;
    if (block.type->contiguous)
        return hash_bytes(hash, (unsigned char *)block.data, bytes);
    for (size_t at = 0; at < bytes; at += sizeof room) {
        size_t part = bytes - at < sizeof room ? bytes - at : sizeof room;
        sim_datatype_copy_out_range(block.type, block.data, at, part, room);
        hash = hash_bytes(hash, room, part);
    }
    return hash;
}

static struct sim_block all_shares(const struct sim_collective_call *call)
{
    struct sim_block block = sim_side_whole(&call->send);
    block.count = sim_call_all_shares(call);
    return block;
}

uint64_t sim_collective_checksum(const struct sim_collective_call *call)
{
    uint64_t hash = 1 + sim_call_arrays_changed(call);
    for (int receives = 0; receives < 2; receives++) {
        const struct sim_side *side = receives ? &call->receive : &call->send;
        if (!side->type && !side->typed)
            continue;
        if (!receives && call->kind->sends_each && call->op) {
            hash = hash_block(hash, all_shares(call));
        } else if (receives ? !call->kind->receives_each : !call->kind->sends_each) {
            hash = hash_block(hash, sim_side_whole(side));
        } else {
            int peers = sim_call_side_peers(call, receives);
            for (int peer = 0; peer < peers; peer++)
                hash = hash_block(hash, sim_side_block(side, peer));
        }
    }
    return hash;
}

/* ---- one call's two buffers ---- */

struct stretch {
    const char *from, *to;
};

static inline struct stretch stretch_of(struct sim_block block)
{
    size_t bytes = block.type && block.type->contiguous ? block.count * block.type->size : 0;
    if (!bytes)
        return (struct stretch){NULL, NULL};
    return (struct stretch){block.data, (const char *)block.data + bytes};
}

static inline bool meet(struct stretch a, struct stretch b)
{
    return a.from && b.from && a.from < b.to && b.from < a.to;
}

/* Block `i` of a side, all of it where it is one. */
static struct stretch part_of(const struct sim_collective_call *call, bool receives, int i)
{
    const struct sim_side *side = receives ? &call->receive : &call->send;
    bool each = receives ? call->kind->receives_each : call->kind->sends_each;
    if (!receives && each && call->op)
        return stretch_of(all_shares(call));
    if (each && side->vectored)
        return stretch_of(sim_side_block(side, i));
    struct sim_block whole = sim_side_whole(side);
    if (each)
        whole.count *= (size_t)sim_call_side_peers(call, receives);
    return stretch_of(whole);
}

static int parts_of(const struct sim_collective_call *call, bool receives)
{
    const struct sim_side *side = receives ? &call->receive : &call->send;
    bool each = receives ? call->kind->receives_each : call->kind->sends_each;
    return each && side->vectored && !(call->op && !receives) ? sim_call_side_peers(call, receives)
                                                              : 1;
}

bool sim_call_overlaps(const struct sim_collective_call *call)
{
    enum { LOOKED_AT = 1 << 20 };
    const struct sim_side *send = &call->send, *receive = &call->receive;
    if (call->in_place || !send->type || !receive->type)
        return false;
    int gives = parts_of(call, false), takes = parts_of(call, true);
    if ((int64_t)gives * takes > LOOKED_AT)
        return false;
    for (int i = 0; i < gives; i++)
        for (int k = 0; k < takes; k++)
            if (meet(part_of(call, false, i), part_of(call, true, k)))
                return true;
    return false;
}
