/* The timeline: see timeline.h. */
#include "viz/charts/timeline.h"

#include "viz/paper/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS = 32,
    MESSAGES = 600,
    PATH = 4096,
    LEFT = 64,
    WIDTH = 980,
    RIGHT = 92,
    TOP = 44,
    LANE = 26,
    BAR = 16
};

struct frame {
    const struct trace *trace;
    bool wall;
    uint64_t begin, end;
    double scale;
    uint32_t ranks;
};

static uint64_t op_begin(const struct frame *frame, const struct trace_op *op)
{
    return frame->wall ? trace_op_times(frame->trace, op).begin_ns : op->begin;
}

/* What is not complete lasts to the end of the run. */
static uint64_t op_end(const struct frame *frame, const struct trace_op *op)
{
    uint64_t end = frame->wall ? trace_op_times(frame->trace, op).end_ns : op->end;
    bool open = op->state == STATE_BLOCKED || op->state == STATE_POSTED;
    return open ? frame->end : end > op_begin(frame, op) ? end : op_begin(frame, op);
}

bool viz_timeline_has_wall(const struct trace *trace)
{
    for (size_t i = 0; i < trace->op_count; i++)
        if (trace_op_times(trace, &trace->ops[i]).end_ns)
            return true;
    return false;
}

static bool frame_span(struct frame *frame)
{
    const struct trace *trace = frame->trace;
    bool any = false;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        uint64_t begin = op_begin(frame, op),
                 end = frame->wall ? trace_op_times(frame->trace, op).end_ns : op->end;
        if (op->state == STATE_NEVER || (frame->wall && begin == 0))
            continue;
        frame->begin = any && frame->begin < begin ? frame->begin : begin;
        frame->end = frame->end > end ? frame->end : end;
        frame->end = frame->end > begin ? frame->end : begin;
        any = true;
    }
    if (any && frame->end == 0) /* an imported trace without times */
        return false;
    if (any && frame->end == frame->begin)
        frame->end++;
    return any;
}

/* Whether a rank stands still in this call until others act. */
static bool waits(const struct trace_op *op)
{
    if (op->flags & OP_NONBLOCKING)
        return false;
    switch (op->kind) {
#define X(number, enumerator, name, class, blocking)                                               \
    case number:                                                                                   \
        return blocking;
        OP_KINDS(X)
#undef X
    default:
        return false;
    }
}

static double idle_share(const struct frame *frame, uint32_t rank)
{
    const struct trace *trace = frame->trace;
    uint64_t idle = 0,
             last = 0; /* calls of one rank do not overlap, but a foreign trace may say so */
    for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (!waits(op) || op->state == STATE_NEVER)
            continue;
        uint64_t begin = op_begin(frame, op), end = op_end(frame, op);
        begin = begin > last ? begin : last;
        if (end > begin) {
            idle += end - begin;
            last = end;
        }
    }
    return frame->end > frame->begin ? (double)idle / (double)(frame->end - frame->begin) : 0;
}

void viz_timeline_idle(const struct trace *trace, bool wall, double *shares)
{
    struct frame frame = {.trace = trace, .wall = wall};
    bool any = frame_span(&frame);
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        shares[rank] = any ? idle_share(&frame, rank) : 0;
}

static double x_at(const struct frame *frame, uint64_t time)
{
    return LEFT + (double)(time - frame->begin) * frame->scale;
}

static double y_at(uint32_t rank)
{
    return TOP + LANE * (double)rank + (LANE - BAR) / 2.0;
}

static const char *bar_class(const struct trace_op *op)
{
    if (op->state == STATE_BLOCKED)
        return "t stuck";
    switch (op_kind_class(op->kind)) {
    case CLASS_SEND:
        return "t send";
    case CLASS_RECEIVE:
    case CLASS_PROBE:
        return "t receive";
    case CLASS_COLLECTIVE:
        return "t collective";
    case CLASS_WAIT:
        return "t wait";
    default:
        return "t compute";
    }
}

static void draw_bar(struct svg *svg, const struct frame *frame, size_t first, size_t count,
                     double from, double to)
{
    char text[200], tip[260];
    const struct trace_op *op = &frame->trace->ops[first];
    trace_op_text(frame->trace, (uint32_t)first, text, sizeof text);
    if (count > 1)
        snprintf(tip, sizeof tip, "rank %" PRIu32 ": %zu operations, the first %s", op->rank, count,
                 text);
    else
        snprintf(tip, sizeof tip, "rank %" PRIu32 " #%" PRIu32 ": %s", op->rank,
                 trace_op_seq(frame->trace, op), text);
    svg_rect(svg, bar_class(op), from, y_at(op->rank), fmax(to - from, 1.5), BAR, 0, tip);
}

/* Operations that end less than three pixels after the first of them began share a bar, so the
 * picture stays bounded. */
static void draw_rank(struct svg *svg, const struct frame *frame, uint32_t rank)
{
    const struct trace *trace = frame->trace;
    size_t first = 0, count = 0;
    double from = 0, to = 0;
    for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->state == STATE_NEVER || (frame->wall && op_begin(frame, op) == 0))
            continue;
        double begin = x_at(frame, op_begin(frame, op)), end = x_at(frame, op_end(frame, op));
        bool joins = count && end - from < 3 && op->state == STATE_COMPLETE;
        if (!joins && count)
            draw_bar(svg, frame, first, count, from, to);
        if (!joins) {
            first = i;
            count = 0;
            from = begin;
        }
        to = end;
        count++;
    }
    if (count)
        draw_bar(svg, frame, first, count, from, to);
}

static size_t draw_messages(struct svg *svg, const struct frame *frame)
{
    const struct trace *trace = frame->trace;
    size_t messages = 0;
    for (size_t i = 0; i < trace->op_count; i++)
        messages +=
            op_kind_class(trace->ops[i].kind) == CLASS_SEND && trace->ops[i].match != TRACE_NO;
    for (size_t i = 0; i < trace->op_count && messages <= MESSAGES; i++) {
        const struct trace_op *send = &trace->ops[i];
        if (op_kind_class(send->kind) != CLASS_SEND || send->match == TRACE_NO)
            continue;
        const struct trace_op *receive = &trace->ops[send->match];
        if (receive->rank >= frame->ranks || send->rank >= frame->ranks)
            continue;
        uint32_t done =
            receive->request; /* a nonblocking receive has its message when its wait returns */
        uint64_t end = op_end(frame, done != TRACE_NO ? &trace->ops[done] : receive);
        bool down = receive->rank > send->rank;
        double y1 = y_at(send->rank) + (down ? BAR : 0),
               y2 = y_at(receive->rank) + (down ? 0 : BAR);
        double x1 = x_at(frame, op_begin(frame, send)), x2 = x_at(frame, end);
        svg_line(svg, "l message thin", x1, y1, x2, y2);
        svg_arrow(svg, "h message", x2, y2, x2 - x1, y2 - y1, 6);
    }
    return messages;
}

static size_t draw_critical(struct svg *svg, const struct frame *frame)
{
    const struct trace *trace = frame->trace;
    uint32_t *ops = malloc(PATH * sizeof *ops);
    double *points = malloc(PATH * 4 * sizeof *points);
    size_t count = ops && points ? viz_critical_path(trace, frame->wall, ops, PATH) : 0, drawn = 0;
    for (size_t i = 0; i < count && i < PATH; i++) {
        const struct trace_op *op = &trace->ops[ops[i]];
        if (op->rank >= frame->ranks)
            continue;
        double y = y_at(op->rank) + BAR / 2.0;
        points[2 * drawn] = x_at(frame, op_end(frame, op));
        points[2 * drawn++ + 1] = y;
        points[2 * drawn] = x_at(frame, op_begin(frame, op));
        points[2 * drawn++ + 1] = y;
    }
    if (drawn > 1)
        svg_polyline(svg, "critical", points, drawn);
    free(ops);
    free(points);
    return count;
}

static void draw_axis(struct svg *svg, const struct frame *frame, double bottom)
{
    double span = (double)(frame->end - frame->begin), rough = span / 8,
           power = pow(10, floor(log10(rough)));
    double lead = rough / power, step = power * (lead < 1.5   ? 1
                                                 : lead < 3.5 ? 2
                                                 : lead < 7.5 ? 5
                                                              : 10);
    if (!frame->wall)
        step = fmax(step, 1);
    for (double at = 0; at <= span; at += step) {
        double x = LEFT + at * frame->scale;
        svg_line(svg, "grid", x, TOP - 4, x, bottom);
        svg_text(svg, "small soft", x, TOP - 8, SVG_MIDDLE, frame->wall ? "%.4g \xC2\xB5s" : "%.6g",
                 frame->wall ? at / 1000 : at);
    }
}

static void draw_all(struct svg *svg, struct frame *frame)
{
    double height = TOP + LANE * (double)frame->ranks + 52,
           bottom = TOP + LANE * (double)frame->ranks;
    char title[120];
    snprintf(title, sizeof title, "Timeline in %s",
             frame->wall ? "wall time" : "logical time (scheduler steps)");
    svg_open(svg, WIDTH, height, title, "One lane per rank, time to the right.");
    svg_text(svg, "bold", 4, 14, SVG_START, "%s", title);
    svg_text(svg, "small soft", WIDTH - RIGHT + 8, TOP - 8, SVG_START, "waiting");
    for (uint32_t rank = 0; rank < frame->ranks; rank++) {
        svg_rect(svg, "lane", LEFT, TOP + LANE * (double)rank + 1, WIDTH - LEFT - RIGHT, LANE - 2,
                 0, NULL);
        svg_text(svg, "mid", 4, y_at(rank) + 12, SVG_START, "rank %" PRIu32, rank);
        svg_text(svg, "mid soft", WIDTH - RIGHT + 8, y_at(rank) + 12, SVG_START, "%.0f %%",
                 100 * idle_share(frame, rank));
    }
    draw_axis(svg, frame, bottom);
    for (uint32_t rank = 0; rank < frame->ranks; rank++)
        draw_rank(svg, frame, rank);
    size_t messages = draw_messages(svg, frame), critical = draw_critical(svg, frame);
    static const struct {
        const char *class, *word;
    } key[] = {{"t send", "send"}, {"t receive", "receive"}, {"t collective", "collective"},
               {"t wait", "wait"}, {"t compute", "compute"}, {"t stuck", "stands still"}};
    double x = LEFT;
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        svg_rect(svg, key[i].class, x, bottom + 10, 14, 10, 0, NULL);
        svg_text(svg, "small", x + 19, bottom + 19, SVG_START, "%s", key[i].word);
        x += 30 + 6.0 * (double)strlen(key[i].word) + 10;
    }
    if (critical) {
        svg_line(svg, "critical", x, bottom + 15, x + 20, bottom + 15);
        svg_text(svg, "small", x + 25, bottom + 19, SVG_START,
                 "critical path of the backward pass, %zu operations", critical);
    }
    char note[200] = "";
    if (frame->ranks < frame->trace->ranks)
        snprintf(note, sizeof note, "The first %" PRIu32 " of %" PRIu32 " ranks. ", frame->ranks,
                 frame->trace->ranks);
    if (messages > MESSAGES)
        snprintf(note + strlen(note), sizeof note - strlen(note), "%zu messages are not drawn.",
                 messages);
    svg_text(svg, "small soft", LEFT, bottom + 38, SVG_START, "%s", note);
    svg_close(svg);
}

bool viz_timeline_write(FILE *file, const struct trace *trace, const struct viz_timeline *options,
                        struct failure *failure)
{
    struct svg svg = {file, options->prefix ? options->prefix : "time", options->alone};
    struct frame frame = {.trace = trace, .wall = options->wall};
    if (!frame_span(&frame)) {
        svg_open(&svg, WIDTH, 40, "Timeline", "No times were recorded.");
        svg_text(&svg, "soft", 4, 20, SVG_START, "No times were recorded.");
        svg_close(&svg);
        return true;
    }
    frame.ranks = trace->ranks < RANKS ? trace->ranks : RANKS;
    frame.scale = (WIDTH - LEFT - RIGHT) / (double)(frame.end - frame.begin);
    draw_all(&svg, &frame);
    if (!ferror(file))
        return true;
    failure_set(failure, FAILURE_INTERNAL, "the timeline could not be written");
    return false;
}
