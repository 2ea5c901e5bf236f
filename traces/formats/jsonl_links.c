/* References of a JSONL file: ids become indices once every line is read. See jsonl_read.h.
 *
 * Dependencies may stand on operations (each operation of such a pass is then a node of its own) or
 * on nodes, not both in one file. */
#include "traces/formats/jsonl_read.h"

#include <stdlib.h>
#include <string.h>

static bool unique(struct jsonl_reader *reader, struct format_index *index, const char *what)
{
    size_t twice = format_index_sort(index);
    if (twice == index->count)
        return true;
    uint64_t key = index->rows[twice].key;
    uint32_t row = index->rows[twice].value;
    size_t offset = index == &reader->op_ids     ? reader->ops[row].offset
                    : index == &reader->node_ids ? reader->node_lines.offsets[row]
                    : index == &reader->comm_ids ? reader->comm_lines.offsets[row]
                                                 : reader->pass_lines.offsets[row];
    if (index == &reader->comm_ids)
        return format_refuse(reader->input, offset, "%s %u twice", what, (unsigned)key);
    return format_refuse(reader->input, offset, "%s %u of rank %u twice", what, (unsigned)key,
                         (unsigned)(key >> 32));
}

static bool look_up(struct jsonl_reader *reader, const struct format_index *index, uint32_t rank,
                    uint32_t id, const char *what, size_t offset, uint32_t *found)
{
    const struct format_index_row *row = format_index_find(index, (uint64_t)rank << 32 | id);
    if (!row)
        return format_refuse(reader->input, offset, "rank %u has no %s %u", rank, what, id);
    *found = row->value;
    return true;
}

static bool comm_of(struct jsonl_reader *reader, uint32_t id, size_t offset, uint32_t *found)
{
    const struct format_index_row *row = format_index_find(&reader->comm_ids, id);
    if (!row)
        return format_refuse(reader->input, offset, "no communicator %u", id);
    *found = row->value;
    return true;
}

static bool world_add(struct jsonl_reader *reader)
{
    struct trace *trace = reader->trace;
    if (format_index_find(&reader->comm_ids, 1))
        return true;
    uint32_t index = format_world_add(reader->input, trace, "world");
    bool done = index != TRACE_NO && format_index_add(reader->input, &reader->comm_ids, 1, index);
    format_index_sort(&reader->comm_ids);
    return done;
}

/* communicator, request and node of every operation */
static bool link_ops(struct jsonl_reader *reader)
{
    for (uint32_t i = 0; i < reader->trace->op_count; i++) {
        struct trace_op *op = &reader->trace->ops[i];
        size_t offset = reader->ops[i].offset;
        struct trace_plain_op plain = trace_op_plain(reader->trace, i);
        if (plain.comm != TRACE_NO && !comm_of(reader, plain.comm, offset, &plain.comm))
            return false;
        if (plain.comm != op->form->comm && !trace_op_change(reader->trace, i, &plain))
            return format_no_memory(reader->input);
        if (op->request != TRACE_NO && !look_up(reader, &reader->op_ids, op->rank, op->request,
                                                "operation", offset, &op->request))
            return false;
        if (op->request != TRACE_NO && op_kind_class(op->kind) == CLASS_WAIT &&
            op_kind_class(reader->trace->ops[op->request].kind) == CLASS_WAIT)
            return format_refuse(reader->input, offset, "\"request\" names a wait");
        if (op->node != TRACE_NO &&
            !look_up(reader, &reader->node_ids, op->rank, op->node, "node", offset, &op->node))
            return false;
    }
    return true;
}

/* Collectives without "comm_seq" count in the order of their lines. */
static bool number_collectives(struct jsonl_reader *reader)
{
    struct format_index order = {0};
    bool done = true, wanted = false;
    for (uint32_t i = 0; i < reader->trace->op_count && done; i++) {
        const struct trace_op *op = &reader->trace->ops[i];
        if (op_kind_class(op->kind) != CLASS_COLLECTIVE || op->form->comm == TRACE_NO)
            continue;
        wanted = wanted || !reader->ops[i].numbered;
        done =
            format_index_add(reader->input, &order, (uint64_t)op->rank << 32 | op->form->comm, i);
    }
    if (done && wanted) {
        uint32_t number = 0;
        format_index_sort(&order);
        for (size_t k = 0; k < order.count; k++) {
            number = k && order.rows[k].key == order.rows[k - 1].key ? number + 1 : 0;
            if (!reader->ops[order.rows[k].value].numbered)
                reader->trace->ops[order.rows[k].value].comm_seq = number;
        }
    }
    format_index_release(&order);
    return done;
}

/* One node for each operation of a pass. */
static bool nodes_of_ops(struct jsonl_reader *reader)
{
    struct trace *trace = reader->trace;
    if (!reader->deps_on_ops)
        return true;
    if (reader->has_nodes)
        return format_refuse(reader->input, 0,
                             "deps of operations and node lines do not mix in one file");
    for (uint32_t i = 0; i < trace->op_count; i++) {
        struct trace_op *op = &trace->ops[i];
        if (op->form->pass == 0)
            continue;
        uint32_t name = reader->ops[i].name;
        struct trace_node node = {
            .rank = op->rank,
            .id = reader->ops[i].id,
            .pass = op->form->pass,
            .kind = op_kind_class(op->kind) == CLASS_WAIT ? (uint8_t)OP_COMPUTE : op->kind,
            .state = STATE_COMPLETE,
            .forward = TRACE_NO,
            .site = op->form->site};
        if (op->state == STATE_BLOCKED || op->state == STATE_NEVER)
            node.state = op->state;
        node.name = name == TRACE_NO ? trace_add_string(trace, op_kind_name(op->kind)) : name;
        op->node = trace_add_node(trace, &node);
        if (op->node == TRACE_NO || node.name == TRACE_NO)
            return format_no_memory(reader->input);
    }
    return true;
}

/* Passes without a line: in data order where operations carry deps. */
static bool passes_of_ops(struct jsonl_reader *reader)
{
    struct trace *trace = reader->trace;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->form->pass &&
            !format_index_add(reader->input, &reader->passes,
                              (uint64_t)op->rank << 32 | op->form->pass, TRACE_NO))
            return false;
    }
    format_index_sort(&reader->passes); /* a declared one comes first among its equals */
    for (size_t i = 0; i < reader->passes.count; i++) {
        uint64_t key = reader->passes.rows[i].key;
        if ((i && reader->passes.rows[i - 1].key == key) ||
            reader->passes.rows[i].value != TRACE_NO)
            continue;
        struct trace_pass pass = {.rank = (uint32_t)(key >> 32),
                                  .pass = (uint32_t)key,
                                  .mode = reader->deps_on_ops ? PASS_DATA : PASS_PROGRAM,
                                  .complete = true};
        if (trace_add_pass(trace, &pass) == TRACE_NO)
            return format_no_memory(reader->input);
    }
    return true;
}

static bool edge_add(struct jsonl_reader *reader, const struct jsonl_reference *to,
                     uint32_t from_node, uint32_t to_node)
{
    if (from_node == TRACE_NO || to_node == TRACE_NO)
        return format_refuse(reader->input, to->offset, "operation %u of rank %u is in no pass",
                             to->id, to->rank);
    if (from_node == to_node)
        return format_refuse(reader->input, to->offset, "%u depends on itself", to->id);
    return trace_add_edge(reader->trace, from_node, to_node, to->flag ? EDGE_ORDER : EDGE_DATA) !=
               TRACE_NO ||
           format_no_memory(reader->input);
}

static bool link_to_op(struct jsonl_reader *reader, const struct jsonl_reference *reference,
                       uint32_t found)
{
    struct trace *trace = reader->trace;
    struct trace_op *ops = trace->ops;
    switch ((enum jsonl_reference_to)reference->to) {
    case JSONL_TO_MATCH:
        ops[reference->row].match = found;
        return true;
    case JSONL_TO_ADJOINT:
        return trace_op_set_adjoint(trace, reference->row, found) ||
               format_no_memory(reader->input);
    case JSONL_TO_NOTE_OP:
        trace->notes[reference->row].op = found;
        return true;
    case JSONL_TO_DEP:
        return edge_add(reader, reference, ops[found].node, ops[reference->row].node);
    default: /* JSONL_TO_WAITED */
        if (op_kind_class(ops[reference->row].kind) != CLASS_WAIT)
            return format_refuse(reader->input, reference->offset,
                                 "\"requests\" of an operation that is no wait");
        if (op_kind_class(ops[found].kind) == CLASS_WAIT)
            return format_refuse(reader->input, reference->offset, "\"requests\" names a wait");
        return trace_add_wait(trace, reference->row, found, reference->flag) != TRACE_NO ||
               format_no_memory(reader->input);
    }
}

static bool link_to_node(struct jsonl_reader *reader, const struct jsonl_reference *reference,
                         uint32_t found)
{
    uint32_t other = TRACE_NO;
    switch ((enum jsonl_reference_to)reference->to) {
    case JSONL_TO_NODE_DEP:
        return edge_add(reader, reference, found, reference->row);
    case JSONL_TO_FORWARD:
        reader->trace->nodes[reference->row].forward = found;
        return true;
    case JSONL_TO_NOTE_NODE:
        reader->trace->notes[reference->row].node = found;
        return true;
    default: /* JSONL_TO_EDGE_FROM: the next reference is the other end */
        return look_up(reader, &reader->node_ids, reference[1].rank, reference[1].id, "node",
                       reference->offset, &other) &&
               edge_add(reader, reference, found, other);
    }
}

static bool follow(struct jsonl_reader *reader, const struct jsonl_reference *reference)
{
    uint32_t found = TRACE_NO;
    switch ((enum jsonl_reference_to)reference->to) {
    case JSONL_TO_EDGE_TO:
        return true;
    case JSONL_TO_PARENT:
        return comm_of(reader, reference->id, reference->offset,
                       &reader->trace->comms[reference->row].parent);
    case JSONL_TO_ORIGINAL:
        return comm_of(reader, reference->id, reference->offset,
                       &reader->trace->comms[reference->row].adjoint_of);
    case JSONL_TO_NODE_DEP:
    case JSONL_TO_FORWARD:
    case JSONL_TO_EDGE_FROM:
    case JSONL_TO_NOTE_NODE:
        return look_up(reader, &reader->node_ids, reference->rank, reference->id, "node",
                       reference->offset, &found) &&
               link_to_node(reader, reference, found);
    default:
        return look_up(reader, &reader->op_ids, reference->rank, reference->id, "operation",
                       reference->offset, &found) &&
               link_to_op(reader, reference, found);
    }
}

bool jsonl_link(struct jsonl_reader *reader)
{
    bool done = unique(reader, &reader->op_ids, "operation") &&
                unique(reader, &reader->node_ids, "node") &&
                unique(reader, &reader->comm_ids, "communicator") &&
                unique(reader, &reader->passes, "pass") && world_add(reader) && link_ops(reader) &&
                number_collectives(reader) && nodes_of_ops(reader) && passes_of_ops(reader);
    for (size_t i = 0; i < reader->reference_count && done; i++)
        done = follow(reader, &reader->references[i]);
    return done;
}
