/* Writes Chrome's trace event format, which Perfetto and chrome://tracing open.
 *
 * Rules:
 *  1. One process, one thread per rank; an operation is a complete event ("X") and ends at the
 *     latest where the rank's next one begins, so that slices never overlap by halves.
 *  2. Every matched message is a pair of flow events with one id: "s" where the send begins, "f"
 *     where the receive (or the wait that completed it) ends. A message whose clocks say that it
 *     arrived before it left has no arrow: viewers would drop half of it.
 *  3. Time is wall time where any was recorded, else logical time, else the operation's number;
 *     in microseconds. */
#include "traces/input/write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum clock { CLOCK_WALL, CLOCK_LOGICAL, CLOCK_ORDER };

struct timeline {
    const struct trace *trace;
    FILE *out;
    enum clock clock;
    uint64_t origin, last; /* in ticks of the clock */
    uint64_t *begin, *end; /* per operation, from origin */
    bool any;              /* an event was written */
};

static uint64_t op_begin(const struct timeline *line, const struct trace_op *op)
{
    return line->clock == CLOCK_WALL      ? trace_op_times(line->trace, op).begin_ns
           : line->clock == CLOCK_LOGICAL ? op->begin
                                          : 2 * (uint64_t)trace_op_seq(line->trace, op);
}

static uint64_t op_end(const struct timeline *line, const struct trace_op *op)
{
    return line->clock == CLOCK_WALL      ? trace_op_times(line->trace, op).end_ns
           : line->clock == CLOCK_LOGICAL ? op->end
                                          : 2 * (uint64_t)trace_op_seq(line->trace, op) + 2;
}

static void choose_clock(struct timeline *line)
{
    const struct trace *trace = line->trace;
    line->clock = CLOCK_ORDER;
    for (size_t i = 0; i < trace->op_count; i++) {
        if (trace_op_times(trace, &trace->ops[i]).begin_ns) {
            line->clock = CLOCK_WALL;
            break;
        }
        if (trace->ops[i].begin || trace->ops[i].end)
            line->clock = CLOCK_LOGICAL;
    }
    line->origin = UINT64_MAX;
    for (size_t i = 0; i < trace->op_count; i++) {
        uint64_t begin = op_begin(line, &trace->ops[i]), end = op_end(line, &trace->ops[i]);
        bool known = begin || line->clock != CLOCK_WALL;
        line->origin = known && begin < line->origin ? begin : line->origin;
        line->last = end > line->last ? end : line->last;
        line->last = begin > line->last ? begin : line->last;
    }
    if (line->origin > line->last)
        line->origin = 0;
}

static uint64_t since(uint64_t time, uint64_t origin)
{
    return time > origin ? time - origin : 0;
}

/* Begins never fall on a rank; ends as rule 1 says. What never ended lasts to the end of the run if
 * the rank stood in it. */
static bool lay_out(struct timeline *line)
{
    const struct trace *trace = line->trace;
    line->begin = malloc((trace->op_count + 1) * sizeof *line->begin);
    line->end = malloc((trace->op_count + 1) * sizeof *line->end);
    if (!line->begin || !line->end)
        return false;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        uint64_t floor = 0, next = since(line->last, line->origin) + 1;
        for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
            uint64_t begin = since(op_begin(line, &trace->ops[i]), line->origin);
            floor = line->begin[i] = begin > floor ? begin : floor;
        }
        for (size_t i = trace->rank_begin[rank + 1]; i-- > trace->rank_begin[rank];) {
            uint64_t end = since(op_end(line, &trace->ops[i]), line->origin);
            if (trace->ops[i].state == STATE_BLOCKED || end > next)
                end = next;
            line->end[i] = end > line->begin[i] ? end : line->begin[i];
            next = line->begin[i];
        }
    }
    return true;
}

/* Exact decimals: ticks are nanoseconds on the wall, microseconds otherwise. */
static void write_time(const struct timeline *line, const char *key, uint64_t time)
{
    if (line->clock == CLOCK_WALL)
        fprintf(line->out, ",\"%s\":%" PRIu64 ".%03u", key, time / 1000, (unsigned)(time % 1000));
    else
        fprintf(line->out, ",\"%s\":%" PRIu64, key, time);
}

static void event_begin(struct timeline *line, const char *phase, uint32_t rank)
{
    fprintf(line->out, "%s\n{\"ph\":\"%s\",\"pid\":0,\"tid\":%" PRIu32, line->any ? "," : "", phase,
            rank);
    line->any = true;
}

static void write_threads(struct timeline *line)
{
    const struct trace *trace = line->trace;
    event_begin(line, "M", 0);
    fputs(",\"name\":\"process_name\",\"args\":{\"name\":", line->out);
    json_write_text(line->out, trace->program[0] ? trace->program : "simrun");
    fputs("}}", line->out);
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        event_begin(line, "M", rank);
        fprintf(line->out, ",\"name\":\"thread_name\",\"args\":{\"name\":\"rank %" PRIu32 "\"}}",
                rank);
        event_begin(line, "M", rank);
        fprintf(line->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}",
                rank);
    }
}

/* A computation of a schedule is named by its cell ("column 3: 0F1"). */
static void write_name(struct timeline *line, uint32_t op)
{
    const struct trace *trace = line->trace;
    char text[200];
    uint32_t site = trace->ops[op].form->site;
    const char *cell = trace->ops[op].kind == OP_COMPUTE && site < trace->site_count
                           ? strstr(trace->sites[site].function, ": ")
                           : NULL;
    fputs(",\"name\":", line->out);
    json_write_text(line->out, cell ? cell + 2 : trace_op_text(trace, op, text, sizeof text));
}

static const char *state_name(int state)
{
    static const char *const names[] = {"never reached", "posted", "blocked",
                                        "complete",      "failed", "cancelled"};
    return names[state];
}

static void write_op(struct timeline *line, uint32_t index)
{
    const struct trace *trace = line->trace;
    const struct trace_op *op = &trace->ops[index];
    char place[TRACE_SITE_TEXT];
    event_begin(line, "X", op->rank);
    write_time(line, "ts", line->begin[index]);
    write_time(line, "dur", line->end[index] - line->begin[index]);
    write_name(line, index);
    fprintf(line->out, ",\"cat\":\"%s\"", op->form->pass ? "backward" : "forward");
    if (op->state == STATE_BLOCKED || op->state == STATE_FAILED)
        fputs(",\"cname\":\"terrible\"", line->out);
    fprintf(line->out,
            ",\"args\":{\"number\":%" PRIu32 ",\"state\":\"%s\",\"count\":%" PRId64 ",\"type\":",
            trace_op_seq(trace, op), state_name(op->state), op->count);
    json_write_text(line->out, trace_type_name(op->form->type));
    if (op->form->comm < trace->comm_count)
        fprintf(line->out, ",\"communicator\":%" PRIu32, trace->comms[op->form->comm].id);
    if (op->form->pass)
        fprintf(line->out, ",\"pass\":%" PRIu32, op->form->pass);
    if (trace_site_known(trace, op->form->site)) {
        fputs(",\"place\":", line->out);
        json_write_text(line->out, trace_site_text(trace, op->form->site, place, sizeof place));
    }
    fputs("}}", line->out);
}

/* The operation whose end is the arrival. */
static uint32_t arrival(const struct trace *trace, uint32_t receive)
{
    uint32_t wait = trace->ops[receive].request;
    bool waited = wait < trace->op_count && op_kind_class(trace->ops[wait].kind) == CLASS_WAIT &&
                  trace->ops[wait].rank == trace->ops[receive].rank;
    return waited && wait > receive ? wait : receive;
}

static void write_flow(struct timeline *line, uint32_t send)
{
    const struct trace *trace = line->trace;
    uint32_t end = arrival(trace, trace->ops[send].match);
    uint64_t from = line->begin[send], to = line->end[end];
    if (to < from)
        return;
    event_begin(line, "s", trace->ops[send].rank);
    write_time(line, "ts", from);
    fprintf(line->out, ",\"name\":\"message\",\"cat\":\"message\",\"id\":%" PRIu32 "}", send);
    event_begin(line, "f", trace->ops[end].rank);
    write_time(line, "ts", to);
    fprintf(line->out, ",\"bp\":\"e\",\"name\":\"message\",\"cat\":\"message\",\"id\":%" PRIu32 "}",
            send);
}

static void write_finding(struct timeline *line, const struct finding *finding)
{
    for (size_t i = 0; i < finding->op_count; i++) {
        uint32_t op = finding->ops[i].op;
        if (op >= line->trace->op_count)
            continue;
        event_begin(line, "i", line->trace->ops[op].rank);
        write_time(line, "ts", line->begin[op]);
        fputs(",\"s\":\"t\",\"cat\":\"finding\",\"name\":", line->out);
        json_write_text(line->out, finding->code);
        fputs(",\"args\":{\"title\":", line->out);
        json_write_text(line->out, finding->title ? finding->title : "");
        fputs(",\"role\":", line->out);
        json_write_text(line->out, finding->ops[i].role);
        fputs("}}", line->out);
    }
}

bool format_chrome_write(const struct trace *trace, const struct findings *findings, FILE *out,
                         struct failure *failure)
{
    struct timeline line = {.trace = trace, .out = out};
    choose_clock(&line);
    bool done = lay_out(&line);
    if (done) {
        fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
        write_threads(&line);
        for (uint32_t i = 0; i < trace->op_count; i++)
            write_op(&line, i);
        for (uint32_t i = 0; i < trace->op_count; i++)
            if (op_kind_class(trace->ops[i].kind) == CLASS_SEND &&
                trace->ops[i].match < trace->op_count)
                write_flow(&line, i);
        for (size_t i = 0; findings && i < findings->count; i++)
            write_finding(&line, &findings->items[i]);
        fputs("\n]}\n", out);
    } else {
        failure_set(failure, FAILURE_INTERNAL, "out of memory while writing a timeline");
    }
    free(line.begin);
    free(line.end);
    return done;
}
