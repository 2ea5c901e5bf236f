/* Pipeline schedules: cells to operations, derived messages, the verdicts on known schedules,
 * refusals. */
#include "checker/check.h"
#include "tests/formats/format_samples.h"

#include <stdarg.h>

/* ---- verdicts ---- */

static bool hangs(const struct trace *trace, unsigned model)
{
    struct check_options options;
    struct findings findings;
    check_options_init(&options);
    options.models = model;
    if (check_options_parse(&options, "models", NULL) != 0)
        return true;
    findings_init(&findings);
    check_trace(trace, &options, &findings);
    bool found = findings.count > 0;
    findings_release(&findings);
    return found;
}

/* One letter per model, eager, rendezvous, batch: '-' well, 'D' hangs, '?' unreadable. */
static const char *verdict(const char *text, char letters[4])
{
    struct failure failure;
    struct trace *trace = sample_read("s.csv", text, &failure);
    if (!trace) {
        tap_note("%s", failure.text);
        return strcpy(letters, "???");
    }
    for (int i = 0; i < 3; i++)
        letters[i] = hangs(trace, 1u << i) ? 'D' : '-';
    letters[3] = 0;
    trace_free(trace);
    return letters;
}

/* A schedule being written. */
struct text {
    char data[16384];
    size_t used;
};

static void __attribute__((format(printf, 2, 3))) say(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(text->data + text->used, sizeof text->data - text->used, format, arguments);
    va_end(arguments);
    text->used += (size_t)length;
}

enum style { COMPUTE_ONLY, UNFUSED, FUSED };

static void forward(struct text *text, enum style style, int stage, int last, int m, bool receive,
                    bool send)
{
    if (style != COMPUTE_ONLY && receive && stage > 0)
        say(text, "%dRECV_F%d,", stage, m);
    say(text, "%dF%d,", stage, m);
    if (style != COMPUTE_ONLY && send && stage < last)
        say(text, "%dSEND_F%d,", stage, m);
}

static void backward(struct text *text, enum style style, int stage, int last, int m, bool receive,
                     bool send)
{
    if (style != COMPUTE_ONLY && receive && stage < last)
        say(text, "%dRECV_B%d,", stage, m);
    say(text, "%dB%d,", stage, m);
    if (style != COMPUTE_ONLY && send && stage > 0)
        say(text, "%dSEND_B%d,", stage, m);
}

/* One forward, one backward; fused: the send of one with the receive of the other in one cell. */
static const char *one_f_one_b(struct text *text, int stages, int microbatches, enum style style)
{
    int last = stages - 1;
    text->used = 0;
    for (int s = 0; s < stages; s++) {
        int warmup = last - s < microbatches ? last - s : microbatches, b = 0;
        for (int m = 0; m < warmup; m++)
            forward(text, style, s, last, m, true, true);
        for (int m = warmup; m < microbatches; m++, b++) {
            bool fused = style == FUSED;
            forward(text, style, s, last, m, !fused || m == warmup, !fused);
            if (fused && s < last)
                say(text, "%dSEND_F%d;%dRECV_B%d,", s, m, s, b);
            backward(text, style, s, last, b, !fused, !fused);
            if (fused && s > 0 && m + 1 < microbatches)
                say(text, "(%dSEND_B%d;%dRECV_F%d),", s, b, s, m + 1);
            else if (fused && s > 0)
                say(text, "%dSEND_B%d,", s, b);
        }
        for (; b < microbatches; b++)
            backward(text, style, s, last, b, true, true);
        say(text, "\n");
    }
    return text->data;
}

static void test_verdicts(void)
{
    static struct text text;
    char letters[4];
    tap_is_str(verdict("0SEND_F1,2RECV_F0\n1SEND_F0,1RECV_F1\n", letters), "-DD",
               "interleaved: only eager sends are well");
    tap_is_str(verdict(one_f_one_b(&text, 2, 4, UNFUSED), letters), "-DD", "1F1B unfused (2, 4)");
    tap_is_str(verdict(one_f_one_b(&text, 4, 8, UNFUSED), letters), "-DD", "1F1B unfused (4, 8)");
    tap_is_str(verdict(one_f_one_b(&text, 4, 8, FUSED), letters), "---", "1F1B fused (4, 8)");
    tap_is_str(verdict(one_f_one_b(&text, 4, 2, FUSED), letters), "---", "1F1B fused (4, 2)");
    tap_is_str(verdict(one_f_one_b(&text, 4, 8, COMPUTE_ONLY), letters), "---",
               "1F1B with derived messages (4, 8)");
    tap_is_str(verdict("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n", letters), "---",
               "GPipe with derived messages");
    tap_is_str(verdict("0F0,2F0,2B0,0B0\n1F0,1B0\n", letters), "---", "stages in a circle");
    tap_is_str(verdict("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", letters), "---", "stages in a V");
    tap_is_str(verdict("0F0,1F0\n", letters), "---", "a last cell whose neighbour is its own rank");
    tap_is_str(verdict("0F0,0F1,0I0,0I1,0W0,0W1\n1F0,1I0,1F1,1I1,1W0,1W1", letters), "---",
               "backward in two parts");
    tap_is_str(verdict("0B0,0F0\n1F0,1B0\n", letters), "DDD",
               "a schedule that can never run hangs everywhere");
    tap_is_str(verdict("0F0\n1F1\n", letters), "DDD", "a result nobody computed hangs everywhere");
}

/* ---- cells ---- */

static void test_cells(void)
{
    struct failure failure;
    char place[64];
    struct trace *trace = sample_read("dir/s.csv",
                                      "0UNSHARD,0F7,,\"0SEND_F7\",0RESHARD\r\n"
                                      "\n"
                                      "(1RECV_F7;1F6;1SEND_B6),1REDUCE_GRAD,(1F7;1B6)OVERLAP_F_B\n"
                                      "\n",
                                      &failure);
    if (!tap_ok(trace, "explicit cells are read: %s", failure.text))
        return;
    tap_is_int(trace->ranks, 3, "an empty row between others is a rank, one at the end is none");
    tap_is_int(trace->rank_begin[1], 4, "an empty cell is nothing");
    const struct trace_op *send = &trace->ops[2], *receive = &trace->ops[trace->rank_begin[2]];
    tap_is_int(send->kind, OP_SEND, "a message alone in its cell blocks");
    tap_is_int(send->peer, 2, "it goes to the rank of the next stage");
    tap_is_int(receive->kind, OP_IRECV, "messages beside others are a batch");
    tap_is_int(receive->form->batch, 1, "with a number");
    tap_is_int(receive[1].peer, 0, "a gradient goes to the rank of the stage before");
    tap_is_int(receive[3].kind, OP_WAITALL, "awaited behind the cell's computations");
    tap_is_int(send->match, trace->rank_begin[2], "a message is matched");
    tap_is_int(receive->form->identity, send->form->identity, "and says what it moves");
    tap_is_int(trace->ops[trace->rank_begin[3] - 1].kind, OP_COMPUTE, "an overlap is computed");
    tap_is_str(trace_site_text(trace, send->form->site, place, sizeof place), "dir/s.csv:1:4",
               "a site names file, row and column");
    tap_is_str(trace->sites[receive->form->site].function, "column 1: (1RECV_F7;1F6;1SEND_B6)",
               "and holds the cell's text");
    trace_free(trace);
}

static size_t count_kind(const struct trace *trace, enum op_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->op_count; i++)
        count += trace->ops[i].kind == kind;
    return count;
}

static void test_derived(void)
{
    struct failure failure;
    struct trace *trace = sample_read("s.csv", "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", &failure);
    if (!tap_ok(trace, "a V is read: %s", failure.text))
        return;
    tap_is_int(count_kind(trace, OP_SEND), 4, "neighbours on one rank need no message");
    tap_is_int(count_kind(trace, OP_RECV), 4, "each send has its receive");
    size_t size, unmatched = 0;
    for (size_t i = 0; i < trace->op_count; i++)
        unmatched += trace->ops[i].kind != OP_COMPUTE && trace->ops[i].match == TRACE_NO;
    tap_is_int(unmatched, 0, "all messages are matched");
    char *text = sample_write(trace, "csv", &size);
    tap_is_str(text,
               "0F0,0SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,0RECV_B0,0B0\n"
               "1RECV_F0,1F0,2F0,2SEND_F0,2RECV_B0,2B0,1B0,1SEND_B0\n",
               "a schedule is written with its derived messages");
    struct trace *again = text ? sample_read("s.csv", text, &failure) : NULL;
    tap_ok(again && again->op_count == trace->op_count, "and read again");
    free(text);
    trace_free(trace);
    trace_free(again);
}

static void test_written(void)
{
    static const char *const schedules[] = {"0F0,0SEND_F0,,0F1\n1RECV_F0,1F0\n", "0F0\n\n1F0\n",
                                            "(0F7;1B3)OVERLAP_F_B,0UNSHARD\n",
                                            "0F0,0SEND_F0;0RECV_B0\n1F0\n"};
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        struct failure failure;
        size_t size;
        struct trace *trace = sample_read("s.csv", schedules[i], &failure);
        char *text = trace ? sample_write(trace, "csv", &size) : NULL;
        bool derived = i == 1;
        tap_is_str(text, derived ? "0F0,0SEND_F0\n\n1RECV_F0,1F0\n" : schedules[i],
                   "schedule %zu is written as read", i + 1);
        free(text);
        trace_free(trace);
    }
    struct failure failure;
    struct trace *trace = sample_read(
        "t", "{\"simrun\":1,\"ranks\":1,\"program\":\"p\"}\n{\"op\":\"Barrier\",\"rank\":0}",
        &failure);
    FILE *out = fopen("/dev/null", "w");
    tap_ok(trace && out && !format_write(trace, NULL, "csv", out, &failure),
           "a trace without cells is not written");
    tap_is_str(
        failure.text,
        "p: operation 0 of rank 0 comes from no schedule, so it has no cell to be written to",
        "with the reason");
    fclose(out);
    trace_free(trace);
}

static const struct {
    const char *text, *expected;
} malformed[] = {
    {"", "s:1:1: an empty file"},
    {"\n,,\n", "s:1:1: a schedule without actions"},
    {"0F0,0X1", "s:1:6: unknown action \"X1\""},
    {"0F0,\n1f0", "s:2:2: unknown action \"f0\""},
    {"0F0,F1", "s:1:5: a stage expected, as in 0F1 or 0SEND_F1"},
    {"0F", "s:1:3: a microbatch expected, as in 0F1 or 0SEND_F1"},
    {"0SEND_F_RECV_B0", "s:1:2: unknown action \"SEND_F_RECV_B0\""},
    {"99999999999999999999F0", "s:1:1: a stage beyond 1048575"},
    {"0F99999999999", "s:1:3: a microbatch beyond 1073741823"},
    {"0F0 1F0", "s:1:5: the end of the cell expected"},
    {"(0F0;1F1", "s:1:9: ';' or ')' expected"},
    {"(0F0;1B1)OVERLAP", "s:1:10: the end of the cell expected"},
    {"\"0F0", "s:1:1: a quote that is not closed in its cell"},
    {"0F0\n1F0,0F1", "s:2:5: stage 0 is on row 1 already"},
    {"0F0,0SEND_F0", "s:1:5: stage 0 has no neighbour for SEND_F: no row has stage 1"},
    {"0F0,0RECV_F0", "s:1:5: stage 0 has no neighbour for RECV_F: no row has stage -1"},
    {"1SEND_F1073741823,2F0", "s:1:1: too many stages times microbatches to number the messages"},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        sample_refused("s", malformed[i].text, strlen(malformed[i].text), malformed[i].expected);
}

/* Many blocked rows and one that runs: linear, or this would not end. */
static void test_large(void)
{
    enum { ROWS = 3000, CELLS = 30000 };
    struct failure failure = {0};
    size_t used = 0, room = (size_t)ROWS * 16 + (size_t)CELLS * 10;
    char *text = malloc(room);
    for (int i = 0; i < CELLS; i++)
        used += (size_t)snprintf(text + used, room - used, "0F%d,", i);
    for (int i = 1; i < ROWS; i++)
        used += (size_t)snprintf(text + used, room - used, "\n%dF%d", i, CELLS - 1);
    struct trace *trace = format_read_memory("large", text, used, &failure);
    tap_is_int(trace ? trace->op_count : 0, ROWS + CELLS - 1 + 2 * (CELLS - 1 + ROWS - 1),
               "a large schedule is planned");
    trace_free(trace);
    free(text);
}

int main(void)
{
    if (dice_takes_group(DICE_DEAR))
        test_large();
    if (dice_takes_group(0)) {
        test_verdicts();
        test_cells();
        test_derived();
        test_written();
        test_refusals();
    }
    return tap_done();
}
