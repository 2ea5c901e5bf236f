/* The schedule chart: see schedule.h. */
#include "viz/charts/schedule.h"

#include "viz/paper/svg.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_YET = -1, NOTHING = -1 };

bool viz_block_parse(const char *name, struct viz_block *block)
{
    char *end;
    block->stage = -1;
    if (isdigit((unsigned char)*name)) {
        long stage = strtol(name, &end, 10);
        block->stage = (int)(stage < 100000 ? stage : 100000);
        name = end;
    }
    if (!*name || !strchr("FBWI", *name) || !isdigit((unsigned char)name[1]))
        return false;
    block->action = *name;
    long microbatch = strtol(name + 1, &end, 10);
    block->microbatch = (int)(microbatch < 1000000 ? microbatch : 1000000);
    return *end == '\0' || strcmp(end, "*") == 0;
}

/* What a rank did, in order: a block or an operation. */
struct event {
    uint64_t time;
    uint32_t rank, order;
    int64_t block; /* NOTHING: an operation */
    uint32_t op;
    uint32_t node; /* that is the block, or issued the operation; TRACE_NO where it is not known */
};

struct simulation {
    const struct trace *trace;
    struct viz_block *blocks;
    struct event *events;
    size_t *begin; /* by rank */
    size_t event_count, block_count;
    bool by_node;  /* blocks are nodes, whose clock is ahead of that of operations */
    int64_t *sent; /* by operation: when a send was issued, NOT_YET before */
};

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->op != TRACE_NO && y->op != TRACE_NO) /* both are operations, in program order */
        return x->op < y->op ? -1 : x->op > y->op;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->node != y->node && x->node != TRACE_NO && y->node != TRACE_NO)
        return x->node < y->node ? -1 : 1; /* entered one after the other */
    if ((x->block == NOTHING) !=
        (y->block == NOTHING)) /* what a block issued comes after its begin */
        return x->block == NOTHING ? 1 : -1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* A cell of a schedule file names its actions: "column 3: (0F7;7B3)OVERLAP_F_B". Reads the one with
 * this number. */
static bool parse_cell(const char *cell, unsigned number, struct viz_block *block)
{
    const char *at = strstr(cell, ": ");
    at = at ? at + 2 : cell;
    while (*at) {
        char name[32];
        size_t length = strcspn(at, "(); ,");
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
                 at);
        if (viz_block_parse(name, block) && number-- == 0)
            return true;
        at += length;
        at += strspn(at, "(); ,");
    }
    return false;
}

/* Computations of an imported schedule: operations whose place is a cell. */
static void find_cells(struct simulation *simulation)
{
    const struct trace *trace = simulation->trace;
    unsigned number = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->kind != OP_COMPUTE || op->node != TRACE_NO || op->form->site >= trace->site_count)
            continue;
        bool again = i > 0 && trace->ops[i - 1].kind == OP_COMPUTE &&
                     trace->ops[i - 1].rank == op->rank &&
                     trace->ops[i - 1].form->site == op->form->site;
        number = again ? number + 1 : 0;
        struct viz_block block = {.rank = op->rank};
        const char *cell = trace->sites[op->form->site].function;
        if (!cell || !parse_cell(cell, number, &block))
            continue;
        simulation->events[simulation->event_count++] =
            (struct event){op->begin, op->rank, i, (int64_t)simulation->block_count, i, TRACE_NO};
        simulation->blocks[simulation->block_count++] = block;
    }
}

bool viz_schedule_draws(const struct trace *trace, const struct trace_metric *metric,
                        struct viz_block *block)
{
    char name[48];
    struct viz_block own;
    const char *text = trace_string(trace, metric->name);
    if (isnan(metric->step) || metric->rank < 0 || strncmp(text, "block ", 6) != 0 ||
        !(metric->value >= 0 && metric->value < 1e6))
        return false;
    snprintf(name, sizeof name, "%.20s%.0f", text + 6, metric->value);
    block = block ? block : &own;
    block->rank = (uint32_t)metric->rank;
    return strlen(text) < 20 && viz_block_parse(name, block);
}

/* Blocks that the program named as it began them. */
static void find_named(struct simulation *simulation)
{
    const struct trace *trace = simulation->trace;
    for (size_t i = 0; i < trace->metric_count; i++) {
        struct viz_block block;
        if (!viz_schedule_draws(trace, &trace->metrics[i], &block))
            continue;
        simulation->events[simulation->event_count++] =
            (struct event){(uint64_t)trace->metrics[i].step, block.rank, (uint32_t)i,
                           (int64_t)simulation->block_count, TRACE_NO,   TRACE_NO};
        simulation->blocks[simulation->block_count++] = block;
    }
}

static void find_blocks(struct simulation *simulation)
{
    const struct trace *trace = simulation->trace;
    bool weights = false;
    for (uint32_t i = 0; i < trace->node_count; i++) {
        const struct trace_node *node = &trace->nodes[i];
        struct viz_block block = {.rank = node->rank};
        if (!viz_block_parse(trace_string(trace, node->name), &block))
            continue;
        simulation->events[simulation->event_count++] = (struct event){
            node->begin, node->rank, i, (int64_t)simulation->block_count, TRACE_NO, i};
        simulation->blocks[simulation->block_count++] = block;
    }
    simulation->by_node = simulation->block_count > 0;
    find_cells(simulation);
    if (simulation->block_count == 0)
        find_named(simulation);
    for (size_t i = 0; i < simulation->block_count; i++)
        weights = weights || simulation->blocks[i].action == 'W';
    for (size_t i = 0; i < simulation->block_count; i++)
        simulation->blocks[i].length = simulation->blocks[i].action == 'B' && !weights ? 2 : 1;
}

/* Beside nodes an operation stands where the node that issued it began: its own time is that of
 * another count. */
static struct event event_of(const struct simulation *simulation, uint32_t index)
{
    const struct trace *trace = simulation->trace;
    const struct trace_op *op = &trace->ops[index];
    bool by_node = simulation->by_node && op->node < trace->node_count;
    return (struct event){.time = by_node ? trace->nodes[op->node].begin : op->begin,
                          .rank = op->rank,
                          .order = index,
                          .block = NOTHING,
                          .op = index,
                          .node = by_node ? op->node : TRACE_NO};
}

static void find_events(struct simulation *simulation)
{
    const struct trace *trace = simulation->trace;
    for (uint32_t i = 0; i < trace->op_count && simulation->block_count; i++) {
        enum op_class class = op_kind_class(trace->ops[i].kind);
        if (class == CLASS_SEND || class == CLASS_RECEIVE || class == CLASS_WAIT)
            simulation->events[simulation->event_count++] = event_of(simulation, i);
    }
    if (simulation->event_count)
        qsort(simulation->events, simulation->event_count, sizeof *simulation->events,
              compare_events);
    for (size_t i = 0; i < simulation->event_count; i++)
        simulation->begin[simulation->events[i].rank + 1]++;
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        simulation->begin[rank + 1] += simulation->begin[rank];
}

/* When the message of this receive was sent; 0 for a receive without a message, NOT_YET while it is
 * not known. */
static int64_t message_time(const struct simulation *simulation, uint32_t receive)
{
    const struct trace_op *op = &simulation->trace->ops[receive];
    if (op_kind_class(op->kind) != CLASS_RECEIVE || op->match == TRACE_NO)
        return 0;
    return simulation->sent[op->match];
}

/* The time at which an operation lets its rank go on, NOT_YET when it depends on a send not yet
 * issued. */
static int64_t release_time(const struct simulation *simulation, uint32_t at)
{
    enum { REQUESTS = 256 };
    const struct trace_op *op = &simulation->trace->ops[at];
    uint32_t starts[REQUESTS];
    if (op->kind == OP_RECV || op->kind == OP_MRECV)
        return message_time(simulation, at);
    if (op_kind_class(op->kind) != CLASS_WAIT)
        return 0;
    int64_t latest = 0;
    size_t count = trace_op_requests(simulation->trace, at, starts, REQUESTS);
    for (size_t i = 0; i < count && i < REQUESTS; i++) {
        int64_t time = message_time(simulation, starts[i]);
        if (time == NOT_YET)
            return NOT_YET;
        latest = time > latest ? time : latest;
    }
    return latest;
}

/* Runs the ranks as far as they go, round after round; a round in which nobody moves lets the first
 * one go on. */
static void run(struct simulation *simulation, size_t *next, int64_t *clock)
{
    const struct trace *trace = simulation->trace;
    size_t done = 0;
    bool force = false;
    while (done < simulation->event_count) {
        bool moved = false;
        for (uint32_t rank = 0; rank < trace->ranks; rank++)
            while (next[rank] < simulation->begin[rank + 1]) {
                const struct event *event = &simulation->events[next[rank]];
                int64_t release = event->block == NOTHING ? release_time(simulation, event->op) : 0;
                if (release == NOT_YET && !force)
                    break;
                force = false;
                clock[rank] = release > clock[rank] ? release : clock[rank];
                if (event->block != NOTHING) {
                    simulation->blocks[event->block].start = (unsigned)clock[rank];
                    clock[rank] += simulation->blocks[event->block].length;
                } else if (op_kind_class(trace->ops[event->op].kind) == CLASS_SEND) {
                    simulation->sent[event->op] = clock[rank];
                }
                next[rank]++;
                done++;
                moved = true;
            }
        force = !moved;
    }
}

static bool simulate(struct simulation *simulation)
{
    const struct trace *trace = simulation->trace;
    size_t rows = trace->node_count + trace->op_count + trace->metric_count + 1;
    size_t *next = calloc(trace->ranks + 1, sizeof *next);
    int64_t *clock = calloc(trace->ranks + 1, sizeof *clock);
    simulation->blocks = calloc(rows, sizeof *simulation->blocks);
    simulation->events = calloc(rows, sizeof *simulation->events);
    simulation->begin = calloc((size_t)trace->ranks + 1, sizeof *simulation->begin);
    simulation->sent = calloc(trace->op_count + 1, sizeof *simulation->sent);
    bool room = next && clock && simulation->blocks && simulation->events && simulation->begin &&
                simulation->sent;
    if (room) {
        for (size_t i = 0; i < trace->op_count; i++)
            simulation->sent[i] = NOT_YET;
        find_blocks(simulation);
        find_events(simulation);
        memcpy(next, simulation->begin, trace->ranks * sizeof *next);
        run(simulation, next, clock);
    }
    free(next);
    free(clock);
    free(simulation->events);
    free(simulation->begin);
    free(simulation->sent);
    return room;
}

bool viz_schedule_blocks(const struct trace *trace, struct viz_block **blocks, size_t *count,
                         struct failure *failure)
{
    struct simulation simulation = {.trace = trace};
    bool done = simulate(&simulation);
    *count = done ? simulation.block_count : 0;
    *blocks = simulation.blocks;
    if (!done)
        failure_set(failure, FAILURE_INTERNAL, "out of memory for the schedule of %zu nodes",
                    trace->node_count);
    if (*count == 0) {
        free(simulation.blocks);
        *blocks = NULL;
    }
    return done;
}

static unsigned end_of(const struct viz_block *blocks, size_t count)
{
    unsigned end = 0;
    for (size_t i = 0; i < count; i++)
        if (blocks[i].start + blocks[i].length > end)
            end = blocks[i].start + blocks[i].length;
    return end;
}

double viz_schedule_bubble(const struct viz_block *blocks, size_t count, uint32_t ranks)
{
    double busy = 0, all = (double)end_of(blocks, count) * ranks;
    for (size_t i = 0; i < count; i++)
        busy += blocks[i].length;
    return all > 0 ? 1 - busy / all : 0;
}

static void draw_block(struct svg *svg, const struct viz_block *block, double left, double top,
                       double unit, double height)
{
    static const char *const words[] = {"forward", "backward", "weight gradient", "input gradient"};
    static const char *const classes[] = {"k f", "k b", "k w", "k o"};
    size_t kind = (size_t)(strchr("FBWI", block->action) - "FBWI");
    char tip[120], stage[32] = "";
    if (block->stage >= 0)
        snprintf(stage, sizeof stage, "stage %d, ", block->stage);
    snprintf(tip, sizeof tip, "rank %" PRIu32 ": %s%s of microbatch %d, units %u to %u",
             block->rank, stage, words[kind], block->microbatch, block->start,
             block->start + block->length);
    double x = left + unit * block->start, width = unit * block->length;
    svg_rect(svg, classes[kind], x + 0.5, top, width - 1, height, 2, tip);
    if (width >= 16)
        svg_text(svg, "small", x + width / 2, top + height / 2 + 3, SVG_MIDDLE, "%c%d",
                 block->action, block->microbatch);
}

static void draw_chart(struct svg *svg, const struct trace *trace, const struct viz_block *blocks,
                       size_t count)
{
    enum { LEFT = 62, TOP = 46, ROW = 26, BLOCK = 20 };
    unsigned end = end_of(blocks, count);
    uint32_t ranks = trace->ranks < 64 ? trace->ranks : 64;
    double unit = fmax(3, fmin(24, 1100.0 / end)), width = LEFT + unit * end + 16,
           height = TOP + ROW * (double)ranks + 40;
    char title[160];
    snprintf(title, sizeof title, "Pipeline schedule: %.0f %% bubble, %u units",
             100 * viz_schedule_bubble(blocks, count, trace->ranks), end);
    svg_open(svg, fmax(width, 380), height, title,
             "A row per rank, a block per microbatch and action, gaps are bubbles.");
    svg_text(svg, "bold", 4, 14, SVG_START, "%s", title);
    svg_text(svg, "small soft", 4, 30, SVG_START, "%s",
             "units of one forward; what is drawn is the order, not measured time");
    for (uint32_t rank = 0; rank < ranks; rank++) {
        svg_text(svg, "mid", 4, TOP + ROW * (double)rank + 14, SVG_START, "rank %" PRIu32, rank);
        svg_rect(svg, "k idle", LEFT, TOP + ROW * (double)rank, unit * end, BLOCK, 0, NULL);
    }
    for (size_t i = 0; i < count; i++)
        if (blocks[i].rank < ranks)
            draw_block(svg, &blocks[i], LEFT, TOP + ROW * (double)blocks[i].rank, unit, BLOCK);
    static const struct {
        const char *class, *word;
        char action;
    } key[] = {{"k f", "F forward", 'F'},
               {"k b", "B backward", 'B'},
               {"k o", "I input gradient", 'I'},
               {"k w", "W weight gradient", 'W'}};
    double x = LEFT, y = TOP + ROW * (double)ranks + 12;
    for (size_t k = 0; k < 4; k++) {
        bool present = false;
        for (size_t i = 0; i < count && !present; i++)
            present = blocks[i].action == key[k].action;
        if (!present)
            continue;
        svg_rect(svg, key[k].class, x, y, 14, 10, 2, NULL);
        svg_text(svg, "small", x + 19, y + 9, SVG_START, "%s", key[k].word);
        x += 36 + 6.0 * (double)strlen(key[k].word);
    }
    svg_rect(svg, "k idle", x, y, 14, 10, 0, NULL);
    svg_text(svg, "small", x + 19, y + 9, SVG_START, "bubble");
    svg_close(svg);
}

bool viz_schedule_write(FILE *file, const struct trace *trace, const char *prefix, bool alone,
                        struct failure *failure)
{
    struct svg svg = {file, prefix ? prefix : "schedule", alone};
    struct viz_block *blocks;
    size_t count;
    if (!viz_schedule_blocks(trace, &blocks, &count, failure))
        return false;
    if (count) {
        draw_chart(&svg, trace, blocks, count);
    } else {
        svg_open(&svg, 380, 40, "Pipeline schedule", "No block was recorded.");
        svg_text(&svg, "soft", 4, 20, SVG_START, "No node is named like a block of a schedule.");
        svg_close(&svg);
    }
    free(blocks);
    return true;
}
