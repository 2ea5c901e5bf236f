/* Writes the JSONL format of docs/formats.md, so that reading it gives the same trace: tables in
 * order, keys left out where they have the value a missing key stands for. */
#include "traces/formats/jsonl.h"
#include "traces/input/input.h"
#include "traces/input/write.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_header(const struct trace *trace, FILE *out)
{
    fprintf(out, "{\"simrun\":%d,\"ranks\":%" PRIu32 ",\"program\":", JSONL_VERSION, trace->ranks);
    json_write_text(out, trace->program);
    fputs(",\"model\":", out);
    json_write_text(out, trace->model);
    fprintf(out, ",\"outcome\":\"%s\",\"seed\":%" PRIu64,
            jsonl_word(JSONL_OUTCOMES, trace->outcome), trace->seed);
    if (!isnan(trace->objective)) {
        fputs(",\"objective\":", out);
        json_write_double(out, trace->objective);
    }
    fputs("}\n", out);
}

static void write_strings(const struct trace *trace, FILE *out)
{
    if (trace->string_count == 0)
        return;
    for (size_t i = 0; i < trace->string_count; i++) {
        fputs(i ? "," : "{\"strings\":[", out);
        json_write_text(out, trace->strings[i]);
    }
    fputs("]}\n", out);
}

static void write_sites(const struct trace *trace, FILE *out)
{
    for (size_t i = 0; i < trace->site_count; i++) {
        const struct trace_site *site = &trace->sites[i];
        fprintf(out, "{\"site\":%zu,\"at\":[", i);
        json_write_text(out, site->file);
        fprintf(out, ",%d,", site->line);
        json_write_text(out, site->function);
        fputs("]}\n", out);
    }
}

static void write_u64(FILE *out, const char *key, uint64_t value)
{
    if (value)
        fprintf(out, ",\"%s\":%" PRIu64, key, value);
}

static void write_index(FILE *out, const char *key, uint32_t index)
{
    if (index != TRACE_NO)
        fprintf(out, ",\"%s\":%" PRIu32, key, index);
}

static void write_ranks(const struct trace *trace, FILE *out)
{
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        const struct trace_rank *info = &trace->rank_info[rank];
        bool said = info->state || info->exit_code || info->site != TRACE_NO || info->finalized ||
                    info->bytes_sent || info->messages_sent || info->hash;
        if (!said)
            continue;
        fprintf(out, "{\"rank\":%" PRIu32 ",\"state\":\"%s\"", rank,
                jsonl_word(JSONL_RANK_STATES, info->state));
        if (info->exit_code)
            fprintf(out, ",\"exit_code\":%d", info->exit_code);
        write_index(out, "site", info->site);
        if (info->finalized)
            fputs(",\"finalized\":true", out);
        write_u64(out, "bytes_sent", info->bytes_sent);
        write_u64(out, "messages_sent", info->messages_sent);
        write_u64(out, "hash", info->hash);
        fputs("}\n", out);
    }
}

static void write_comms(const struct trace *trace, FILE *out)
{
    for (size_t i = 0; i < trace->comm_count; i++) {
        const struct trace_comm *comm = &trace->comms[i];
        fprintf(out, "{\"comm\":%" PRIu32 ",\"size\":%" PRIu32, comm->id, comm->size);
        for (uint32_t k = 0; comm->members && k < comm->size; k++)
            fprintf(out, "%s%" PRId32, k ? "," : ",\"members\":[", comm->members[k]);
        if (comm->members)
            fputs(comm->size ? "]" : ",\"members\":[]", out);
        if (comm->parent < trace->comm_count)
            fprintf(out, ",\"parent\":%" PRIu32, trace->comms[comm->parent].id);
        if (comm->adjoint_of < trace->comm_count)
            fprintf(out, ",\"adjoint_of\":%" PRIu32, trace->comms[comm->adjoint_of].id);
        if (comm->name[0]) {
            fputs(",\"name\":", out);
            json_write_text(out, comm->name);
        }
        fputs("}\n", out);
    }
}

static void write_passes(const struct trace *trace, FILE *out)
{
    for (size_t i = 0; i < trace->pass_count; i++) {
        const struct trace_pass *pass = &trace->passes[i];
        fprintf(out, "{\"pass\":%" PRIu32 ",\"rank\":%" PRIu32 ",\"mode\":\"%s\"%s}\n", pass->pass,
                pass->rank, pass->mode == PASS_DATA ? "data" : "program",
                pass->complete ? "" : ",\"complete\":false");
    }
}

/* Edges by their end, in the order of trace->edges: where each node's list begins. */
struct incoming {
    uint32_t *begin, *edges;
};

static bool incoming_init(struct incoming *incoming, const struct trace *trace)
{
    incoming->begin = calloc(trace->node_count + 2, sizeof *incoming->begin);
    incoming->edges = malloc((trace->edge_count + 1) * sizeof *incoming->edges);
    if (!incoming->begin || !incoming->edges)
        return false;
    for (size_t i = 0; i < trace->edge_count; i++)
        incoming->begin[trace->edges[i].to + 2]++;
    for (size_t i = 2; i < trace->node_count + 2; i++)
        incoming->begin[i] += incoming->begin[i - 1];
    for (uint32_t i = 0; i < trace->edge_count; i++)
        incoming->edges[incoming->begin[trace->edges[i].to + 1]++] = i;
    return true;
}

/* Edges written as deps come back sorted by end, data before order. */
static bool edges_plain(const struct trace *trace)
{
    for (size_t i = 1; i < trace->edge_count; i++) {
        const struct trace_edge *a = &trace->edges[i - 1], *b = &trace->edges[i];
        if (a->from == b->from && (a->to > b->to || (a->to == b->to && a->type > b->type)))
            return false;
    }
    return true;
}

static void write_deps(const struct trace *trace, const struct incoming *incoming, uint32_t node,
                       enum edge_type type, FILE *out)
{
    bool any = false;
    for (uint32_t i = incoming->begin[node]; i < incoming->begin[node + 1]; i++) {
        const struct trace_edge *edge = &trace->edges[incoming->edges[i]];
        if (edge->type != (uint32_t)type)
            continue;
        if (any)
            putc(',', out);
        else
            fprintf(out, ",\"%s\":[", type == EDGE_DATA ? "deps" : "order_deps");
        fprintf(out, "%" PRIu32, trace->nodes[edge->from].id);
        any = true;
    }
    if (any)
        putc(']', out);
}

static void write_node(const struct trace *trace, const struct incoming *incoming, uint32_t index,
                       FILE *out)
{
    const struct trace_node *node = &trace->nodes[index];
    fprintf(out, "{\"node\":%" PRIu32 ",\"rank\":%" PRIu32, node->id, node->rank);
    if (node->name != TRACE_NO) {
        fputs(",\"name\":", out);
        json_write_text(out, trace_string(trace, node->name));
    }
    if (node->kind != OP_COMPUTE)
        fprintf(out, ",\"kind\":\"%s\"", op_kind_name(node->kind));
    if (node->state != STATE_COMPLETE)
        fprintf(out, ",\"state\":\"%s\"", jsonl_word(JSONL_STATES, node->state));
    if (node->pass)
        fprintf(out, ",\"pass\":%" PRIu32, node->pass);
    if (node->forward < trace->node_count)
        fprintf(out, ",\"forward\":%" PRIu32, trace->nodes[node->forward].id);
    write_index(out, "site", node->site);
    write_u64(out, "begin", node->begin);
    write_u64(out, "end", node->end);
    if (incoming) {
        write_deps(trace, incoming, index, EDGE_DATA, out);
        write_deps(trace, incoming, index, EDGE_ORDER, out);
    }
    fputs("}\n", out);
}

static void write_edges(const struct trace *trace, FILE *out)
{
    for (size_t i = 0; i < trace->edge_count; i++) {
        const struct trace_edge *edge = &trace->edges[i];
        const struct trace_node *from = &trace->nodes[edge->from], *to = &trace->nodes[edge->to];
        fprintf(out, "{\"edge\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]%s}\n", from->rank, from->id,
                to->id, edge->type == EDGE_ORDER ? ",\"order\":true" : "");
    }
}

static bool node_ids_rise(const struct trace *trace, struct failure *failure)
{
    for (size_t i = 1; i < trace->node_count; i++)
        if (trace->nodes[i].rank == trace->nodes[i - 1].rank &&
            trace->nodes[i].id <= trace->nodes[i - 1].id) {
            failure_set(failure, FAILURE_INPUT,
                        "%s: node %u of rank %u does not rise, so it cannot be referred to",
                        trace->program, trace->nodes[i].id, trace->nodes[i].rank);
            return false;
        }
    return true;
}

static bool write_nodes(const struct trace *trace, FILE *out, struct failure *failure)
{
    struct incoming incoming = {0};
    bool plain = edges_plain(trace);
    if (!node_ids_rise(trace, failure))
        return false;
    bool done = !plain || incoming_init(&incoming, trace);
    for (uint32_t i = 0; i < trace->node_count && done; i++)
        write_node(trace, plain ? &incoming : NULL, i, out);
    if (done && !plain)
        write_edges(trace, out);
    free(incoming.begin);
    free(incoming.edges);
    if (!done)
        failure_set(failure, FAILURE_INTERNAL, "out of memory while writing a trace");
    return done;
}

static void write_who(FILE *out, int32_t who)
{
    if (who == TRACE_ANY)
        fputs("\"any\"", out);
    else if (who == TRACE_NONE)
        fputs("null", out);
    else
        fprintf(out, "%" PRId32, who);
}

static void write_field(FILE *out, const struct jsonl_field *field,
                        const struct trace_whole_op *whole)
{
    const char *place = (const char *)whole + field->offset;
    int32_t low;
    int64_t high;
    bool wide = field->type == JSONL_U64 || field->type == JSONL_I64;
    memcpy(&low, place, sizeof low);
    if (wide)
        memcpy(&high, place, sizeof high);
    else
        high = field->type == JSONL_U32 ? (int64_t)(uint32_t)low : low;
    if (high == field->absent)
        return;
    fprintf(out, ",\"%s\":", field->key);
    if (field->type == JSONL_WHO)
        write_who(out, low);
    else if (field->type == JSONL_U64)
        fprintf(out, "%" PRIu64, (uint64_t)high);
    else
        fprintf(out, "%" PRId64, high);
}

/* As a name where the name leads back to the number. */
static void write_named(FILE *out, const char *key, uint32_t number, const char *name,
                        uint32_t back)
{
    if (number == 0)
        return;
    if (number == back)
        fprintf(out, ",\"%s\":\"%s\"", key, name);
    else
        fprintf(out, ",\"%s\":%" PRIu32, key, number);
}

static void write_op_of(const struct trace *trace, FILE *out, const char *key, uint32_t rank,
                        uint32_t op)
{
    if (op >= trace->op_count)
        return;
    if (trace->ops[op].rank == rank)
        fprintf(out, ",\"%s\":%" PRIu32, key, trace_op_seq(trace, &trace->ops[op]));
    else
        fprintf(out, ",\"%s\":[%" PRIu32 ",%" PRIu32 "]", key, trace->ops[op].rank,
                trace_op_seq(trace, &trace->ops[op]));
}

/* Rows of trace->waits from *next on that belong to the op. */
static void write_waits(const struct trace *trace, uint32_t op, size_t *next, FILE *out)
{
    size_t begin = *next;
    bool usual = trace->ops[op].state == STATE_COMPLETE, all_usual = true;
    for (; *next < trace->wait_count && trace->waits[*next].wait == op; ++*next) {
        const struct trace_wait *row = &trace->waits[*next];
        fprintf(out, "%s%" PRIu32, *next == begin ? ",\"requests\":[" : ",",
                trace_op_seq(trace, &trace->ops[row->start]));
        all_usual = all_usual && row->completed == usual;
    }
    if (*next == begin)
        return;
    putc(']', out);
    for (size_t i = begin; i < *next && !all_usual; i++)
        fprintf(out, "%s%s", i == begin ? ",\"completed\":[" : ",",
                trace->waits[i].completed ? "true" : "false");
    if (!all_usual)
        putc(']', out);
}

static void write_numbers(FILE *out, const char *key, const int64_t *numbers, uint32_t n)
{
    if (!numbers)
        return;
    fprintf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < n; i++)
        fprintf(out, "%s%" PRId64, i ? "," : "", numbers[i]);
    putc(']', out);
}

static void write_flags(FILE *out, unsigned flags)
{
    const char *before = ",\"flags\":[";
    for (unsigned i = 0; flags >> i; i++)
        if (flags >> i & 1) {
            fprintf(out, "%s\"%s\"", before, jsonl_word(JSONL_FLAGS, i));
            before = ",";
        }
    if (flags)
        putc(']', out);
}

/* Basic types have few numbers; the name that leads back is looked up once each. */
struct names {
    uint32_t type, type_back;
    uint32_t reduce, reduce_back;
    const char *type_name, *reduce_name;
};

static void write_types(FILE *out, const struct trace_op *op, struct names *names)
{
    if (op->form->type && op->form->type != names->type) {
        names->type = op->form->type;
        names->type_name = trace_type_name(op->form->type);
        names->type_back = format_type_by_name(names->type_name);
    }
    if (op->form->reduce_op && op->form->reduce_op != names->reduce) {
        names->reduce = op->form->reduce_op;
        names->reduce_name = trace_reduce_name(op->form->reduce_op);
        names->reduce_back = format_reduce_by_name(names->reduce_name);
    }
    write_named(out, "type", op->form->type, names->type_name, names->type_back);
    write_named(out, "reduce", op->form->reduce_op, names->reduce_name, names->reduce_back);
    if (op->form->signature != op->form->type)
        fprintf(out, ",\"signature\":%" PRIu32, op->form->signature);
}

static bool has_peers(int kind)
{
    enum op_class class = op_kind_class(kind);
    return class == CLASS_SEND || class == CLASS_RECEIVE || class == CLASS_PROBE ||
           class == CLASS_COLLECTIVE;
}

static void write_comm_of(const struct trace *trace, const struct trace_op *op, FILE *out)
{
    const struct trace_comm *comm =
        op->form->comm < trace->comm_count ? &trace->comms[op->form->comm] : NULL;
    if (comm && !(has_peers(op->kind) && comm->id == 1))
        fprintf(out, ",\"comm\":%" PRIu32, comm->id);
    if (!comm && has_peers(op->kind))
        fputs(",\"comm\":null", out);
    if (op->comm_seq || op_kind_class(op->kind) == CLASS_COLLECTIVE)
        fprintf(out, ",\"comm_seq\":%" PRIu32, op->comm_seq);
}

struct op_cursor {
    size_t wait, counts;
    struct names names;
};

static void write_op(const struct trace *trace, uint32_t index, struct op_cursor *cursor, FILE *out)
{
    const struct trace_op *op = &trace->ops[index];
    struct trace_whole_op whole;
    fprintf(out, "{\"op\":\"%s\",\"rank\":%" PRIu32 ",\"id\":%" PRIu32, op_kind_name(op->kind),
            op->rank, trace_op_seq(trace, op));
    trace_whole_op(trace, index, &whole);
    for (size_t i = 0; i < jsonl_field_count; i++)
        write_field(out, &jsonl_fields[i], &whole);
    write_types(out, op, &cursor->names);
    write_comm_of(trace, op, out);
    if (op->state != STATE_COMPLETE)
        fprintf(out, ",\"state\":\"%s\"", jsonl_word(JSONL_STATES, op->state));
    write_flags(out, op->flags);
    write_op_of(trace, out, "request", op->rank, op->request);
    write_op_of(trace, out, "adjoint_of", op->rank, trace_op_adjoint_of(trace, op));
    write_op_of(trace, out, "match", op->rank, op->match);
    if (op->node < trace->node_count)
        fprintf(out, ",\"node\":%" PRIu32, trace->nodes[op->node].id);
    write_index(out, "site", op->form->site);
    if (op->form->identity)
        fprintf(out, ",\"identity\":%" PRIu32, op->form->identity);
    write_waits(trace, index, &cursor->wait, out);
    if (cursor->counts < trace->counts_count && trace->counts[cursor->counts].op == index) {
        const struct trace_counts *row = &trace->counts[cursor->counts++];
        write_numbers(out, "send_counts", row->send, row->n);
        write_numbers(out, "receive_counts", row->receive, row->n);
    }
    fputs("}\n", out);
}

static void write_notes(const struct trace *trace, FILE *out)
{
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        fputs("{\"note\":", out);
        json_write_text(out, note->code);
        fprintf(out, ",\"rank\":%" PRIu32, note->rank);
        write_op_of(trace, out, "op", note->rank, note->op);
        if (note->node < trace->node_count)
            fprintf(out, ",\"node\":[%" PRIu32 ",%" PRIu32 "]", trace->nodes[note->node].rank,
                    trace->nodes[note->node].id);
        write_index(out, "site", note->site);
        fputs(",\"text\":", out);
        json_write_text(out, note->text);
        fputs("}\n", out);
    }
}

static void write_gradients(const struct trace *trace, FILE *out)
{
    for (size_t i = 0; i < trace->gradient_count; i++) {
        const struct trace_gradient *row = &trace->gradients[i];
        const double values[] = {row->step,  row->analytic,  row->numeric,
                                 row->error, row->tolerance, row->relative};
        static const char *const keys[] = {"step",  "analytic",  "numeric",
                                           "error", "tolerance", "relative"};
        fputs("{\"gradient\":", out);
        json_write_text(out, trace_string(trace, row->variable));
        fprintf(out, ",\"rank\":%" PRIu32 ",\"index\":%" PRId64 ",\"method\":\"%s\"", row->rank,
                row->index, row->method);
        for (size_t k = 0; k < 6; k++) {
            fprintf(out, ",\"%s\":", keys[k]);
            json_write_double(out, values[k]);
        }
        if (row->undecided)
            fprintf(out, ",\"undecided\":\"%s\"", row->undecided);
        if (row->elements > 1)
            fprintf(out, ",\"elements\":%" PRIu32, row->elements);
        fprintf(out, ",\"ok\":%s}\n", row->ok ? "true" : "false");
    }
}

static void write_metrics(const struct trace *trace, FILE *out)
{
    for (size_t i = 0; i < trace->metric_count; i++) {
        const struct trace_metric *row = &trace->metrics[i];
        fputs("{\"metric\":", out);
        json_write_text(out, trace_string(trace, row->name));
        fprintf(out, ",\"rank\":%" PRId32, row->rank);
        if (!isnan(row->step)) {
            fputs(",\"step\":", out);
            json_write_double(out, row->step);
        }
        fputs(",\"value\":", out);
        json_write_double(out, row->value);
        fputs(",\"unit\":", out);
        json_write_text(out, trace_string(trace, row->unit));
        fputs("}\n", out);
    }
}

static const char *severity_name(enum severity severity)
{
    return severity == SEVERITY_ERROR ? "error" : severity == SEVERITY_WARNING ? "warning" : "note";
}

static void write_optional(FILE *out, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    fprintf(out, ",\"%s\":", key);
    json_write_text(out, text);
}

static void write_finding(const struct trace *trace, const struct finding *finding, FILE *out)
{
    fputs("{\"finding\":", out);
    json_write_text(out, finding->code);
    fprintf(out, ",\"severity\":\"%s\"", severity_name(finding->severity));
    write_optional(out, "fingerprint", finding->fingerprint);
    write_optional(out, "title", finding->title);
    write_optional(out, "detail", finding->detail);
    write_index(out, "site", finding->site);
    write_optional(out, "models", finding->models);
    write_optional(out, "witness", finding->witness);
    write_optional(out, "repair", finding->repair);
    if (finding->inherited)
        fputs(",\"inherited\":true", out);
    if (finding->allowed)
        fputs(",\"allowed\":true", out);
    for (size_t i = 0; i < finding->op_count; i++) {
        const struct finding_op *place = &finding->ops[i];
        fputs(i ? ",{\"role\":" : ",\"ops\":[{\"role\":", out);
        json_write_text(out, place->role);
        if (place->op < trace->op_count)
            fprintf(out, ",\"op\":[%" PRIu32 ",%" PRIu32 "]", trace->ops[place->op].rank,
                    trace_op_seq(trace, &trace->ops[place->op]));
        if (place->node < trace->node_count)
            fprintf(out, ",\"node\":[%" PRIu32 ",%" PRIu32 "]", trace->nodes[place->node].rank,
                    trace->nodes[place->node].id);
        putc('}', out);
    }
    fputs(finding->op_count ? "]}\n" : "}\n", out);
}

bool format_jsonl_write(const struct trace *trace, const struct findings *findings, FILE *out,
                        struct failure *failure)
{
    struct op_cursor cursor = {0};
    write_header(trace, out);
    write_strings(trace, out);
    write_sites(trace, out);
    write_ranks(trace, out);
    write_comms(trace, out);
    write_passes(trace, out);
    if (!write_nodes(trace, out, failure))
        return false;
    for (uint32_t i = 0; i < trace->op_count; i++)
        write_op(trace, i, &cursor, out);
    write_notes(trace, out);
    write_gradients(trace, out);
    write_metrics(trace, out);
    for (size_t i = 0; findings && i < findings->count; i++)
        write_finding(trace, &findings->items[i], out);
    return true;
}
