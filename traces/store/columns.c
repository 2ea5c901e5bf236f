/* Columns of the hot tables as data: see internal.h. */
#include "traces/store/internal.h"

#include <stddef.h>
#include <string.h>

#define OP(name, field, type, none)                                                                \
    {                                                                                              \
        name, offsetof(struct trace_plain_op, field), type, none                                   \
    }
#define WHOLE(name, field, type, none)                                                             \
    {                                                                                              \
        name, offsetof(struct trace_whole_op, field), type, none                                   \
    }
#define NODE(name, field, type, none)                                                              \
    {                                                                                              \
        name, offsetof(struct trace_node, field), type, none                                       \
    }

const struct column store_op_columns[] = {
    OP("rank", rank, COLUMN_U32, -1),
    OP("seq", seq, COLUMN_U32, -1),
    OP("phase", pass, COLUMN_U32, -1),
    OP("kind", kind, COLUMN_U8, -1),
    OP("state", state, COLUMN_U8, -1),
    OP("site_id", site, COLUMN_SITE, TRACE_NO),
    OP("fwd_op_id", adjoint_of, COLUMN_OP, TRACE_NO),
    OP("peer", peer, COLUMN_I32, TRACE_NONE),
    OP("tag", tag, COLUMN_I32, TRACE_NONE),
    OP("comm", comm, COLUMN_U32, TRACE_NO),
    OP("dtype", type, COLUMN_U32, 0),
    OP("count", count, COLUMN_I64, 0),
    OP("redop", reduce_op, COLUMN_U32, 0),
    OP("coll_seq", comm_seq, COLUMN_U32, 0),
    OP("flags", flags, COLUMN_U16, 0),
    OP("peer_matched", peer_matched, COLUMN_I32, TRACE_NONE),
    OP("tag_matched", tag_matched, COLUMN_I32, TRACE_NONE),
    OP("count_matched", count_matched, COLUMN_I64, -1),
    OP("signature", signature, COLUMN_U32, 0),
    OP("request_op_id", request, COLUMN_OP, TRACE_NO),
    OP("batch", batch, COLUMN_U32, 0),
    OP("node_id", node, COLUMN_NODE, TRACE_NO),
    OP("error", error, COLUMN_I32, 0),
    OP("identity", identity, COLUMN_U32, 0),
    OP("step_begin", begin, COLUMN_U64, 0),
    OP("step_end", end, COLUMN_U64, 0),
    WHOLE("buffer", at.buffer, COLUMN_U64, 0),
    WHOLE("extent", at.extent, COLUMN_U64, 0),
    OP("thread", thread, COLUMN_U32, 0),
};
const size_t store_op_column_count = sizeof store_op_columns / sizeof *store_op_columns;

const struct column store_node_columns[] = {
    NODE("rank", rank, COLUMN_U32, -1),
    NODE("id", id, COLUMN_U32, -1),
    NODE("pass", pass, COLUMN_U32, -1),
    NODE("kind", kind, COLUMN_U8, -1),
    NODE("state", state, COLUMN_U8, -1),
    NODE("fwd_node_id", forward, COLUMN_NODE, TRACE_NO),
    NODE("site_id", site, COLUMN_SITE, TRACE_NO),
    NODE("name", name, COLUMN_STRING, TRACE_NO),
    NODE("step_begin", begin, COLUMN_U64, 0),
    NODE("step_end", end, COLUMN_U64, 0),
};
const size_t store_node_column_count = sizeof store_node_columns / sizeof *store_node_columns;

int64_t store_get(const struct column *column, const void *row)
{
    const char *place = (const char *)row + column->offset;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    int32_t i32;
    int64_t i64;
    switch (column->type) {
    case COLUMN_U8:
        memcpy(&u8, place, sizeof u8);
        return u8;
    case COLUMN_U16:
        memcpy(&u16, place, sizeof u16);
        return u16;
    case COLUMN_I32:
        memcpy(&i32, place, sizeof i32);
        return i32;
    case COLUMN_I64:
    case COLUMN_U64:
        memcpy(&i64, place, sizeof i64);
        return i64;
    default:
        memcpy(&u32, place, sizeof u32);
        return u32;
    }
}

int64_t store_id(const struct column *column, int64_t value, const struct store_ids *ids)
{
    switch (column->type) {
    case COLUMN_OP:
        return value + ids->first_op;
    case COLUMN_NODE:
        return value + ids->first_node;
    case COLUMN_SITE:
        return ids->sites[value];
    case COLUMN_STRING:
        return ids->strings[value];
    default:
        return value;
    }
}

void store_put(const struct column *column, void *row, int64_t value)
{
    char *place = (char *)row + column->offset;
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;
    switch (column->type) {
    case COLUMN_U8:
        memcpy(place, &u8, sizeof u8);
        break;
    case COLUMN_U16:
        memcpy(place, &u16, sizeof u16);
        break;
    case COLUMN_I64:
    case COLUMN_U64:
        memcpy(place, &value, sizeof value);
        break;
    default:
        memcpy(place, &u32, sizeof u32);
    }
}
