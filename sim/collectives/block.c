/* Blocks of data that a collective moves between its members: whether what one gives is what the
 * other takes, and the move itself. */
#include "sim/collectives/collective.h"
#include "sim/collectives/kept.h"

#include "recorder/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct sim_datatype *type)
{
    const char *name = sim_datatype_name(type);
    return *name ? name : "a derived type";
}

static void remark(struct sim_collective_call *call, const char *code, const char *text)
{
    if (call->remark || !record_active())
        return;
    char *kept = malloc(strlen(text) + 8);
    if (kept)
        sprintf(kept, "%s %s", code, text);
    call->remark = kept;
}

void sim_call_remark_tell(struct sim_collective_call *call)
{
    if (!call->remark)
        return;
    char code[8];
    snprintf(code, sizeof code, "%.4s", call->remark);
    record_note(code, "%s", call->remark + 5);
    free(call->remark);
    call->remark = NULL;
}

static void remark_types(const struct sim_collective *collective, int sender, struct sim_block from,
                         int receiver, struct sim_block to)
{
    char text[400];
    snprintf(text, sizeof text,
             "the data types differ: in %s rank %d gives %zu %s, rank %d takes %zu %s",
             collective->kind->name, sim_context_world_rank(collective->context, sender),
             from.count, name_of(from.type), sim_context_world_rank(collective->context, receiver),
             to.count, name_of(to.type));
    remark(collective->calls[receiver], "M004", text);
}

void sim_call_remark_units(const struct sim_collective *collective, int rank)
{
    char text[400];
    struct sim_collective_call *call = collective->calls[rank];
    const struct sim_datatype *mine = call->send.type ? call->send.type : call->receive.type;
    snprintf(text, sizeof text,
             "the data types differ: in %s rank %d combines %s, rank %d another basic type",
             collective->kind->name, sim_context_world_rank(collective->context, rank),
             name_of(mine), sim_context_world_rank(collective->context, collective->first));
    remark(call, "M004", text);
}

static void remark_amounts(const struct sim_collective *collective, int sender,
                           struct sim_block from, int receiver, struct sim_block to)
{
    char text[400];
    snprintf(text, sizeof text,
             "the amounts differ: in %s rank %d gives %zu %s (%zu bytes), rank %d takes %zu %s "
             "(%zu bytes)",
             collective->kind->name, sim_context_world_rank(collective->context, sender),
             from.count, name_of(from.type), from.count * from.type->size,
             sim_context_world_rank(collective->context, receiver), to.count, name_of(to.type),
             to.count * to.type->size);
    remark(collective->calls[receiver], "M005", text);
}

void sim_call_remark_share(const struct sim_collective *collective, int rank, size_t given,
                           size_t taken)
{
    char text[400];
    snprintf(text, sizeof text,
             "the amounts differ: in %s rank %d has a share of %zu for rank %d, which takes %zu",
             collective->kind->name, sim_context_world_rank(collective->context, collective->first),
             given, sim_context_world_rank(collective->context, rank), taken);
    collective->calls[rank]->error = MPI_ERR_TRUNCATE;
    remark(collective->calls[rank], "M005", text);
}

void sim_block_compare(const struct sim_collective *collective, int sender, struct sim_block from,
                       int receiver, struct sim_block to)
{
    if (from.type == to.type && from.count == to.count)
        return;
    size_t bytes = from.count * from.type->size, room = to.count * to.type->size;
    if (bytes != room) {
        /* An amount of something else: the type is what is wrong, as where all give one. */
        bool other = bytes && room && from.type->basic && to.type->basic &&
                     from.type->basic != to.type->basic;
        collective->calls[receiver]->error = MPI_ERR_TRUNCATE;
        (other ? remark_types : remark_amounts)(collective, sender, from, receiver, to);
        return;
    }
    if (!bytes || (from.type->basic && from.type->basic == to.type->basic))
        return;
    struct sim_signature given = sim_datatype_signature(from.type, from.count),
                         taken = sim_datatype_signature(to.type, to.count);
    if (!sim_signature_equal(&given, &taken))
        remark_types(collective, sender, from, receiver, to);
}

void sim_block_move(const struct sim_collective *collective, int sender, struct sim_block from,
                    int receiver, struct sim_block to)
{
    sim_block_compare(collective, sender, from, receiver, to);
    size_t bytes = from.count * from.type->size, room = to.count * to.type->size;
    size_t moved = bytes < room ? bytes : room;
    if (!moved || (from.data == to.data && from.type == to.type))
        return;
    if (from.type->contiguous && to.type->contiguous)
        memmove(to.data, from.data, moved);
    else
        sim_datatype_transfer(from.data, from.type, from.count, to.data, to.type, to.count);
}

size_t sim_call_all_shares(const struct sim_collective_call *call)
{
    const struct sim_comm *own = sim_call_is_intercomm(call) ? call->comm->face : call->comm;
    size_t sum = 0;
    if (!call->receive.vectored)
        return (size_t)own->size * call->receive.count;
    for (int i = 0; i < own->size; i++)
        sum += sim_counts_at(call->receive.counts, i);
    return sum;
}

struct sim_block sim_side_block(const struct sim_side *side, int peer)
{
    struct sim_block block = {side->buffer, side->count, side->type};
    if (side->typed)
        block.type =
            side->kept ? sim_kept_type(side->kept, peer) : sim_datatype_get(side->types[peer]);
    if (side->vectored)
        block.count = sim_counts_at(side->counts, peer);
    ptrdiff_t unit = side->typed ? 1 : (ptrdiff_t)block.type->extent;
    if (side->vectored && (side->displacements.narrow || side->displacements.wide))
        block.data += unit * sim_displacement_at(side->displacements, peer);
    else
        block.data += unit * (ptrdiff_t)block.count * peer;
    return block;
}
