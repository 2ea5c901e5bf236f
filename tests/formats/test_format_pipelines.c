/* Random pipeline schedules against what docs/formats.md says of them: the operations of written messages one by one; of derived
 * messages who has which, what they stand between, and that a rendezvous of both ends gets through. The
 * schedule is drawn as a table and then printed, so nothing here reads one. */
#include "tests/formats/format_samples.h"

#include <stdarg.h>

enum {
    RANKS = 4,
    STAGES = 6,
    CELLS = 64,
    TOGETHER = 3,
    MICROBATCHES = 3,
    EXPLICIT = 400,
    DERIVED = 400
};
enum kind { F, I, W, B, UNSHARD, RESHARD, REDUCE_GRAD, SEND_F, RECV_F, SEND_B, RECV_B, KINDS };

static const char *const names[KINDS] = {"F",       "I",       "W",           "B",
                                         "UNSHARD", "RESHARD", "REDUCE_GRAD", "SEND_F",
                                         "RECV_F",  "SEND_B",  "RECV_B"};

struct action {
    enum kind kind;
    int stage, microbatch;
    bool shown; /* the microbatch of one that needs none */
};

struct cell {
    int count; /* 0: an empty cell */
    struct action actions[TOGETHER];
    int line, column; /* of the text, where it was printed */
    int places[TOGETHER];
    char text[120];
};

struct schedule {
    int ranks, stages, last_microbatch, owner[STAGES];
    int cells[RANKS];
    struct cell table[RANKS][CELLS];
    char text[RANKS * CELLS * 140];
    size_t used;
};

static uint64_t dice;

static int below(int limit)
{
    return (int)dice_below(&dice, (uint32_t)limit);
}

static void __attribute__((format(printf, 2, 3)))
print(struct schedule *schedule, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    schedule->used += (size_t)vsnprintf(schedule->text + schedule->used,
                                        sizeof schedule->text - schedule->used, format, arguments);
    va_end(arguments);
}

/* ---- the table, printed ---- */

static void some_blanks(struct schedule *schedule, bool noise)
{
    for (int i = noise ? below(3) : 0; i > 0; i--)
        print(schedule, "%s", below(2) ? " " : "\t");
}

static void print_actions(struct schedule *schedule, struct cell *cell, size_t line, bool noise)
{
    for (int i = 0; i < cell->count; i++) {
        const struct action *action = &cell->actions[i];
        if (i) {
            some_blanks(schedule, noise);
            print(schedule, ";");
            some_blanks(schedule, noise);
        }
        cell->places[i] = (int)(schedule->used - line) + 1;
        print(schedule, "%d%s", action->stage, names[action->kind]);
        if (action->shown)
            print(schedule, "%d", action->microbatch);
    }
}

static void print_cell(struct schedule *schedule, struct cell *cell, size_t line, bool noise)
{
    bool quoted = noise && !below(3), group = cell->count > 1 && below(2),
         overlap = group && below(2);
    some_blanks(schedule, noise);
    print(schedule, "%s", quoted ? "\"" : "");
    size_t begin = schedule->used;
    cell->column = (int)(begin - line) + 1;
    print(schedule, "%s", group ? "(" : "");
    print_actions(schedule, cell, line, noise);
    print(schedule, "%s%s", group ? ")" : "", overlap ? "OVERLAP_F_B" : "");
    snprintf(cell->text, sizeof cell->text, "%s", schedule->text + begin);
    print(schedule, "%s", quoted ? "\"" : "");
    some_blanks(schedule, noise);
}

static void print_table(struct schedule *schedule, bool noise)
{
    bool returns = noise && !below(3);
    schedule->used = 0;
    print(schedule, "%s", noise && !below(4) ? "\xef\xbb\xbf" : "");
    for (int rank = 0; rank < schedule->ranks; rank++) {
        size_t line = rank ? schedule->used : 0;
        for (int c = 0; c < schedule->cells[rank]; c++) {
            struct cell *cell = &schedule->table[rank][c];
            print(schedule, "%s", c ? "," : "");
            cell->line = rank + 1;
            if (cell->count)
                print_cell(schedule, cell, line, noise);
            else
                some_blanks(schedule, noise);
        }
        print(schedule, "%s", returns ? "\r\n" : "\n");
    }
    print(schedule, "%s", noise && below(2) ? "\n ,\n" : "");
}

/* Each stage on a rank, and no rank without one: the last row has cells then. */
static void draw_owners(struct schedule *schedule)
{
    schedule->ranks = 1 + below(RANKS);
    schedule->stages = schedule->ranks + below(STAGES - schedule->ranks + 1);
    for (int s = 0; s < schedule->stages; s++)
        schedule->owner[s] = s < schedule->ranks ? s : below(schedule->ranks);
    for (int s = schedule->stages - 1; s > 0; s--) {
        int other = below(s + 1), owner = schedule->owner[s];
        schedule->owner[s] = schedule->owner[other];
        schedule->owner[other] = owner;
    }
}

static struct trace *read_table(const struct schedule *schedule, struct failure *failure)
{
    *failure = (struct failure){0};
    return format_read_memory("s", schedule->text, schedule->used, failure);
}

/* ---- what one operation must be ---- */

static bool sends(enum kind kind)
{
    return kind == SEND_F || kind == SEND_B;
}

static bool communicates(enum kind kind)
{
    return kind >= SEND_F;
}

static bool goes_back(enum kind kind)
{
    return kind == SEND_B || kind == RECV_B;
}

/* Outputs come from the stage before, gradients from the one behind. */
static int other_stage(const struct action *action)
{
    int next = action->stage + 1, before = action->stage - 1;
    switch (action->kind) {
    case SEND_F:
    case RECV_B:
        return next;
    default:
        return before;
    }
}

static int source_stage(const struct action *action)
{
    return sends(action->kind) ? action->stage : other_stage(action);
}

static unsigned wrong;

static bool expect(bool holds, const struct schedule *schedule, const char *what)
{
    if (!holds && !wrong++)
        tap_note("%s:\n%s", what, schedule->text);
    return holds;
}

static bool stands_at(const struct trace *trace, const struct trace_op *op, const struct cell *cell,
                      int column, const struct action *derives)
{
    char text[300];
    const struct trace_site *site = &trace->sites[op->form->site];
    int used = snprintf(text, sizeof text, "column %d: %s", column + 1, cell->text);
    if (derives)
        snprintf(text + used, sizeof text - (size_t)used, " derives %d%s%d", derives->stage,
                 names[derives->kind], derives->microbatch);
    return !strcmp(site->function, text) && site->line == cell->line && !strcmp(site->file, "s");
}

/* The tag tells messages apart, by direction, stage and microbatch, and so does the identity. */
static struct known {
    int back, stage, microbatch;
    int32_t tag;
    uint32_t identity;
} known[4000];
static int known_count;

static bool tells_apart(const struct action *action, const struct trace_op *op)
{
    struct known now = {goes_back(action->kind), source_stage(action), action->microbatch, op->tag,
                        op->form->identity};
    for (int i = 0; i < known_count; i++) {
        const struct known *old = &known[i];
        bool same =
            old->back == now.back && old->stage == now.stage && old->microbatch == now.microbatch;
        if (same != (old->tag == now.tag) || same != (old->identity == now.identity))
            return false;
        if (same)
            return true;
    }
    if (known_count < (int)(sizeof known / sizeof *known))
        known[known_count++] = now;
    return op->tag >= 0 && op->form->identity;
}

static bool is_message(const struct schedule *schedule, const struct trace_op *op,
                       const struct action *action, enum op_kind kind, uint32_t batch)
{
    return op->kind == kind && op->peer == schedule->owner[other_stage(action)] && op->count == 1 &&
           op->form->batch == batch && op->state == STATE_COMPLETE && op->form->comm == 0 &&
           tells_apart(action, op);
}

static bool is_work(const struct trace_op *op)
{
    return op->kind == OP_COMPUTE && op->peer == TRACE_NONE && op->form->batch == 0 &&
           op->state == STATE_COMPLETE;
}

/* ---- written messages ---- */

static void draw_explicit(struct schedule *schedule)
{
    draw_owners(schedule);
    schedule->last_microbatch = 0;
    for (int rank = 0; rank < schedule->ranks; rank++) {
        int own[STAGES], count = 0;
        for (int s = 0; s < schedule->stages; s++)
            if (schedule->owner[s] == rank)
                own[count++] = s;
        schedule->cells[rank] = 1 + below(9);
        for (int c = 0; c < schedule->cells[rank]; c++) {
            struct cell *cell = &schedule->table[rank][c];
            cell->count = !c || below(5) ? 1 + (below(2) ? below(TOGETHER) : 0) : 0;
            for (int i = 0; i < cell->count; i++) {
                struct action *action = &cell->actions[i];
                action->kind = (enum kind)below(KINDS);
                action->stage = c ? own[below(count)] : own[i % count];
                action->microbatch = below(MICROBATCHES);
                action->shown = action->kind < UNSHARD || communicates(action->kind) || below(2);
                if (!action->shown)
                    action->microbatch = 0;
                if (communicates(action->kind) &&
                    (other_stage(action) < 0 || other_stage(action) == schedule->stages) &&
                    below(20))
                    action->kind = W, action->shown = true;
            }
        }
    }
    /* each stage in some cell: the neighbours of messages are there */
    for (int s = 0; s < schedule->stages; s++) {
        int rank = schedule->owner[s];
        struct cell *cell = &schedule->table[rank][schedule->cells[rank]++];
        *cell = (struct cell){.count = 1, .actions = {{.kind = W, .stage = s, .shown = true}}};
    }
}

/* The first message, row by row, whose other stage is nowhere. */
static const struct action *without_neighbour(const struct schedule *schedule, char *sentence,
                                              size_t size)
{
    for (int rank = 0; rank < schedule->ranks; rank++)
        for (int c = 0; c < schedule->cells[rank]; c++) {
            const struct cell *cell = &schedule->table[rank][c];
            for (int i = 0; i < cell->count; i++) {
                const struct action *action = &cell->actions[i];
                int other = other_stage(action);
                if (!communicates(action->kind) || (other >= 0 && other < schedule->stages))
                    continue;
                snprintf(sentence, size,
                         "s:%d:%d: stage %d has no neighbour for %s: no row has stage %d",
                         cell->line, cell->places[i], action->stage, names[action->kind], other);
                return action;
            }
        }
    return NULL;
}

/* The operations of one cell from `at` on; where the next ones begin, 0 where one is not what it must be. */
static size_t follow_cell(const struct schedule *schedule, const struct trace *trace, size_t at,
                          const struct cell *cell, int column, uint32_t *batches)
{
    int messages = 0;
    for (int i = 0; i < cell->count; i++)
        messages += communicates(cell->actions[i].kind);
    bool alone = messages == 1 && cell->count == 1, batch = messages && !alone;
    size_t first = at;
    *batches += batch;
    for (int work = 0; work < 2; work++)
        for (int i = 0; i < cell->count; i++) {
            const struct action *action = &cell->actions[i];
            if (communicates(action->kind) == work)
                continue;
            const struct trace_op *op = &trace->ops[at++];
            enum op_kind blocks = sends(action->kind) ? OP_SEND : OP_RECV,
                         posts = sends(action->kind) ? OP_ISEND : OP_IRECV;
            if (!stands_at(trace, op, cell, column, NULL) ||
                !(work ? is_work(op)
                       : is_message(schedule, op, action, alone ? blocks : posts,
                                    batch ? *batches : 0)))
                return 0;
        }
    if (!batch)
        return at;
    uint32_t starts[TOGETHER + 1];
    bool right = trace->ops[at].kind == OP_WAITALL &&
                 stands_at(trace, &trace->ops[at], cell, column, NULL) &&
                 trace_op_requests(trace, (uint32_t)at, starts, TOGETHER + 1) == (size_t)messages;
    for (int i = 0; right && i < messages; i++)
        right = starts[i] == first + (size_t)i && trace->ops[starts[i]].request == at;
    return right ? at + 1 : 0;
}

/* The k-th message of a kind is the k-th of the other side. */
static bool matched_in_order(const struct trace *trace)
{
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op_kind_class(op->kind) != CLASS_SEND)
            continue;
        size_t before = 0, partner = TRACE_NO;
        for (size_t k = trace->rank_begin[op->rank]; k < i; k++)
            before += op_kind_class(trace->ops[k].kind) == CLASS_SEND &&
                      trace->ops[k].peer == op->peer && trace->ops[k].tag == op->tag;
        for (size_t k = trace->rank_begin[op->peer];
             k < trace->rank_begin[op->peer + 1] && partner == TRACE_NO; k++) {
            const struct trace_op *other = &trace->ops[k];
            if (op_kind_class(other->kind) == CLASS_RECEIVE && other->peer == (int32_t)op->rank &&
                other->tag == op->tag && !before--)
                partner = k;
        }
        if (op->match != partner)
            return false;
    }
    return true;
}

static void one_explicit(struct schedule *schedule, bool noise)
{
    char sentence[160];
    struct failure failure;
    known_count = 0;
    draw_explicit(schedule);
    print_table(schedule, noise);
    struct trace *trace = read_table(schedule, &failure);
    bool any = false;
    for (int rank = 0; rank < schedule->ranks; rank++)
        for (int c = 0; c < schedule->cells[rank]; c++)
            for (int i = 0; i < schedule->table[rank][c].count; i++)
                any = any || communicates(schedule->table[rank][c].actions[i].kind);
    if (!any || without_neighbour(schedule, sentence, sizeof sentence)) {
        expect(any ? !trace && !strcmp(failure.text, sentence) : trace != NULL, schedule,
               failure.text);
        trace_free(trace);
        return;
    }
    if (!expect(trace && trace->ranks == (uint32_t)schedule->ranks &&
                    trace->outcome == OUTCOME_IMPORTED && !strcmp(trace->program, "s"),
                schedule, failure.text))
        return;
    for (int rank = 0; rank < schedule->ranks; rank++) {
        uint32_t batches = 0;
        size_t at = trace->rank_begin[rank];
        for (int c = 0; at + 1 && c < schedule->cells[rank]; c++)
            if (schedule->table[rank][c].count) {
                at = follow_cell(schedule, trace, at, &schedule->table[rank][c], c, &batches);
                at -= !at;
            }
        expect(at == trace->rank_begin[rank + 1], schedule, "operations");
    }
    expect(matched_in_order(trace), schedule, "partners");
    size_t size;
    char *text = noise ? NULL : sample_write(trace, "csv", &size);
    if (text) /* no two cells in a row that are alike are told apart */
        expect(!strcmp(text, schedule->text), schedule, text);
    free(text);
    trace_free(trace);
}

/* ---- derived messages ---- */

static bool needs(const struct schedule *schedule, const struct action *action,
                  struct action *needed)
{
    *needed = *action;
    if (action->kind == F && action->stage > 0)
        return needed->stage--, needed->kind = F, true;
    if ((action->kind == B || action->kind == I) && action->stage + 1 < schedule->stages)
        return needed->stage++, needed->kind = B, true;
    return false;
}

static bool is_result(const struct action *action, const struct action *needed)
{
    bool back = action->kind == B || action->kind == I;
    return action->stage == needed->stage && action->microbatch == needed->microbatch &&
           (needed->kind == F ? action->kind == F : back);
}

/* Whether a cell among the first so many of each rank has it. */
static bool has_run(const struct schedule *schedule, const int *next, const struct action *needed)
{
    int rank = schedule->owner[needed->stage];
    for (int c = 0; c < next[rank]; c++)
        for (int i = 0; i < schedule->table[rank][c].count; i++)
            if (is_result(&schedule->table[rank][c].actions[i], needed))
                return true;
    return false;
}

/* `across`: what a rank needs of its own is taken to be there. */
static bool can_run(const struct schedule *schedule, const int *next, int rank, bool across)
{
    const struct cell *cell = &schedule->table[rank][next[rank]];
    struct action needed;
    for (int i = 0; i < cell->count; i++)
        if (needs(schedule, &cell->actions[i], &needed) &&
            !(across && schedule->owner[needed.stage] == rank) && !has_run(schedule, next, &needed))
            return false;
    return true;
}

/* How many cells of each rank run at last; of all ranks. */
static int run_all(const struct schedule *schedule, int *next, bool across)
{
    int count = 0;
    memset(next, 0, RANKS * sizeof *next);
    for (bool goes = true; goes;) {
        goes = false;
        for (int rank = 0; rank < schedule->ranks; rank++)
            while (next[rank] < schedule->cells[rank] && can_run(schedule, next, rank, across))
                next[rank]++, count++, goes = true;
    }
    return count;
}

static void draw_derived(struct schedule *schedule)
{
    draw_owners(schedule);
    memset(schedule->cells, 0, sizeof schedule->cells);
    struct action tasks[STAGES * MICROBATCHES * 3];
    int count = 0, microbatches = 1 + below(MICROBATCHES);
    for (int s = 0; s < schedule->stages; s++)
        for (int m = 0; m < microbatches; m++) {
            bool parts = below(2);
            tasks[count++] = (struct action){F, s, m, true};
            tasks[count++] = (struct action){parts ? I : B, s, m, true};
            if (parts)
                tasks[count++] = (struct action){W, s, m, true};
        }
    bool in_order = below(3);
    while (count) {
        struct action needed;
        int next[RANKS], pick = below(count);
        memcpy(next, schedule->cells, sizeof next);
        for (int tries = 0; in_order && tries < count; tries++, pick = (pick + 1) % count)
            if (!needs(schedule, &tasks[pick], &needed) || has_run(schedule, next, &needed))
                break;
        int rank = schedule->owner[tasks[pick].stage];
        schedule->table[rank][schedule->cells[rank]++] =
            (struct cell){.count = 1, .actions = {tasks[pick]}};
        tasks[pick] = tasks[--count];
        struct cell *cell = &schedule->table[rank][schedule->cells[rank] - 1];
        for (int i = 0; i < count && !below(3) && cell->count < TOGETHER; i++)
            if (schedule->owner[tasks[i].stage] == rank &&
                (!needs(schedule, &tasks[i], &needed) || has_run(schedule, next, &needed))) {
                cell->actions[cell->count++] = tasks[i];
                tasks[i] = tasks[--count];
            }
    }
}

/* The message that takes a result to another rank. */
static bool result_of(const struct schedule *schedule, const struct action *action,
                      struct action *send)
{
    *send = *action;
    send->kind = action->kind == F ? SEND_F : SEND_B;
    if (action->kind == W ||
        (action->kind == F ? action->stage + 1 == schedule->stages : action->stage == 0))
        return false;
    return schedule->owner[other_stage(send)] != schedule->owner[action->stage];
}

static struct action other_end(const struct action *send)
{
    return (struct action){send->kind == SEND_F ? RECV_F : RECV_B, other_stage(send),
                           send->microbatch, true};
}

struct reading {
    const struct schedule *schedule;
    const struct trace *trace;
    const int *ran;
    size_t at, end;
    unsigned received; /* from ranks whose cells ran */
};

static const struct trace_op *next_op(struct reading *reading)
{
    static const struct trace_op none;
    return reading->at < reading->end ? &reading->trace->ops[reading->at++] : &none;
}

/* Receives that stand before a cell: of results that ran, which it or a later one takes. */
static void skip_receives(struct reading *reading, int rank, int column)
{
    const struct schedule *schedule = reading->schedule;
    for (; reading->at < reading->end && reading->trace->ops[reading->at].kind == OP_RECV;
         reading->at++) {
        const struct trace_op *op = &reading->trace->ops[reading->at];
        bool found = false;
        for (int c = column; c < schedule->cells[rank] && !found; c++)
            for (int i = 0; i < schedule->table[rank][c].count && !found; i++) {
                struct action needed, send, receive;
                const struct action *action = &schedule->table[rank][c].actions[i];
                if (!needs(schedule, action, &needed) ||
                    !has_run(schedule, reading->ran, &needed) ||
                    !result_of(schedule, &needed, &send))
                    continue;
                receive = other_end(&send);
                found = stands_at(reading->trace, op, &schedule->table[rank][c], c, &receive) &&
                        is_message(schedule, op, &receive, OP_RECV, 0);
            }
        if (!found)
            return;
        reading->received++;
    }
}

/* One that nobody could run receives what has not come, computes and sends. */
static bool follow_forced(struct reading *reading, const struct cell *cell, int column)
{
    const struct schedule *schedule = reading->schedule;
    for (int i = 0; i < cell->count; i++) {
        struct action needed, send;
        if (!needs(schedule, &cell->actions[i], &needed) ||
            has_run(schedule, reading->ran, &needed) || !result_of(schedule, &needed, &send))
            continue;
        struct action receive = other_end(&send);
        const struct trace_op *op = next_op(reading);
        if (!op->form || !is_message(schedule, op, &receive, OP_RECV, 0) ||
            !stands_at(reading->trace, op, cell, column, &receive))
            return false;
    }
    return true;
}

static bool follow_run(struct reading *reading, const struct cell *cell, int column)
{
    for (int i = 0; i < cell->count; i++) {
        const struct trace_op *op = next_op(reading);
        if (!op->form || !is_work(op) || !stands_at(reading->trace, op, cell, column, NULL))
            return false;
    }
    for (int i = 0; i < cell->count; i++) {
        struct action send;
        if (!result_of(reading->schedule, &cell->actions[i], &send))
            continue;
        const struct trace_op *op = next_op(reading);
        if (!op->form || !is_message(reading->schedule, op, &send, OP_SEND, 0) ||
            !stands_at(reading->trace, op, cell, column, &send))
            return false;
    }
    return true;
}

static unsigned results_that_ran(const struct schedule *schedule, const int *ran)
{
    unsigned count = 0;
    struct action send;
    for (int rank = 0; rank < schedule->ranks; rank++)
        for (int c = 0; c < ran[rank]; c++)
            for (int i = 0; i < schedule->table[rank][c].count; i++)
                count += result_of(schedule, &schedule->table[rank][c].actions[i], &send);
    return count;
}

/* Whether all get through: where a send does not wait, or where both ends of a message go together. */
static bool gets_through(const struct trace *trace, bool eager)
{
    size_t at[RANKS];
    memcpy(at, trace->rank_begin, trace->ranks * sizeof *at);
    for (bool goes = true; goes;) {
        goes = false;
        for (uint32_t rank = 0; rank < trace->ranks; rank++)
            while (at[rank] < trace->rank_begin[rank + 1]) {
                const struct trace_op *op = &trace->ops[at[rank]];
                bool alone = op->kind == OP_COMPUTE || (eager && op->kind == OP_SEND) ||
                             (eager && op->match < at[op->peer]);
                if (!alone && (eager || at[op->peer] != op->match))
                    break;
                at[rank]++;
                at[alone ? rank : (uint32_t)op->peer] += !alone;
                goes = true;
            }
    }
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        if (at[rank] < trace->rank_begin[rank + 1])
            return false;
    return true;
}

static bool one_derived(struct schedule *schedule, bool noise)
{
    struct failure failure;
    int ran[RANKS], across[RANKS], cells = 0;
    unsigned received = 0;
    known_count = 0;
    draw_derived(schedule);
    print_table(schedule, noise);
    int all = run_all(schedule, ran, false);
    struct trace *trace = read_table(schedule, &failure);
    if (!expect(trace != NULL, schedule, failure.text))
        return false;
    for (int rank = 0; rank < schedule->ranks; rank++) {
        struct reading reading = {
            schedule, trace, ran, trace->rank_begin[rank], trace->rank_begin[rank + 1], 0};
        bool right = true;
        cells += schedule->cells[rank];
        for (int c = 0; right && c < schedule->cells[rank]; c++) {
            const struct cell *cell = &schedule->table[rank][c];
            if (c <= ran[rank])
                skip_receives(&reading, rank, c);
            right = (c < ran[rank] || follow_forced(&reading, cell, c)) &&
                    follow_run(&reading, cell, c);
        }
        skip_receives(&reading, rank, schedule->cells[rank]);
        expect(right && reading.at == reading.end, schedule, "cells and messages");
        received += reading.received;
    }
    expect(received == results_that_ran(schedule, ran), schedule,
           "each result that ran is received once");
    expect(all < cells || gets_through(trace, false), schedule,
           "a rendezvous gets through what can run");
    expect(gets_through(trace, true) == (run_all(schedule, across, true) == cells), schedule,
           "messages get through what ranks do not hold up themselves");
    trace_free(trace);
    return all == cells;
}

int main(void)
{
    static struct schedule schedule;
    unsigned through = 0, noise;
    struct dice_seeds seeds = dice_seeds(EXPLICIT);
    for (unsigned long long i = 0; i < seeds.count && !wrong; i++) {
        dice = seeds.first + i;
        noise = (unsigned)below(2);
        one_explicit(&schedule, noise);
    }
    tap_is_int(wrong, 0, "written messages are the operations of their cells");
    wrong = 0;
    seeds = dice_seeds(DERIVED);
    for (unsigned long long i = 0; i < seeds.count && !wrong; i++) {
        dice = seeds.first + i;
        noise = (unsigned)below(2);
        through += one_derived(&schedule, noise);
    }
    tap_is_int(wrong, 0, "derived messages take each result to its next stage");
    tap_ok(seeds.count < 20 || (through && through < seeds.count),
           "%u schedules get through, others do not", through);
    return tap_done();
}
