/* What tells marks that are alike from others, and with whom they communicate. Used to draw alike
 * ranks and alike iterations once: see scene.h. */
#include "viz/lanes/scene.h"

uint64_t scene_mixed(uint64_t key, uint64_t value)
{
    return (key ^ value) * 0x9E3779B97F4A7C15u ^ key >> 29;
}

uint64_t scene_key(const struct scene *scene, const struct mark *mark)
{
    uint64_t key = scene_mixed(mark->shape, (uint64_t)mark->tone << 32 | mark->pass);
    key = scene_mixed(key, (uint64_t)mark->never << 1 | mark->spoiled);
    if (mark->node != TRACE_NO) {
        key = scene_mixed(key, scene->trace->nodes[mark->node].name);
        key = scene_mixed(key, scene->trace->nodes[mark->node].site);
    }
    if (mark->op != TRACE_NO) {
        const struct trace_op *op = &scene->trace->ops[mark->op];
        key =
            scene_mixed(key, (uint64_t)op->kind << 48 | (uint64_t)op->flags << 32 | op->form->site);
        key = scene_mixed(key, (uint64_t)(uint32_t)op->tag << 32 | op->form->comm);
    }
    return key;
}

uint32_t scene_open_request(const struct scene *scene, uint32_t op)
{
    enum { LIMIT = 64 };
    uint32_t starts[LIMIT];
    size_t count = trace_op_requests(scene->trace, op, starts, LIMIT);
    for (size_t i = 0; i < count && i < LIMIT; i++)
        if (scene->trace->ops[starts[i]].match == TRACE_NO &&
            scene->trace->ops[starts[i]].peer >= 0)
            return starts[i];
    return TRACE_NO;
}

/* A Sendrecv is recorded as its parts, which stand side by side. */
static void peers_of_compound(const struct trace *trace, uint32_t at, int32_t peers[2])
{
    const struct trace_op *op = &trace->ops[at];
    for (size_t i = at > 2 ? at - 2 : 0; i < trace->op_count && i <= (size_t)at + 2; i++) {
        const struct trace_op *part = &trace->ops[i];
        if (part->rank != op->rank || !(part->flags & OP_COMPOUND) ||
            part->form->site != op->form->site)
            continue;
        if (op_kind_class(part->kind) == CLASS_SEND)
            peers[0] = part->peer;
        else if (op_kind_class(part->kind) == CLASS_RECEIVE)
            peers[1] = part->peer;
    }
}

void scene_peers(const struct scene *scene, const struct mark *mark, int32_t peers[2])
{
    peers[0] = peers[1] = TRACE_NONE;
    if (mark->op == TRACE_NO)
        return;
    const struct trace_op *op = &scene->trace->ops[mark->op];
    uint32_t open = mark->blocked && op_kind_class(op->kind) == CLASS_WAIT
                        ? scene_open_request(scene, mark->op)
                        : TRACE_NO;
    if ((op->flags & OP_COMPOUND) && mark->node != TRACE_NO)
        peers_of_compound(scene->trace, mark->op, peers);
    else if (open != TRACE_NO)
        peers[0] = scene->trace->ops[open].peer;
    else {
        peers[0] = op->peer;
        peers[1] = trace_op_peer_matched(op);
    }
}
