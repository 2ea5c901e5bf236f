/* Cells of pipeline schedules at their borders: the last stage, microbatch and tag there may be, what is refused and where, long cells,
 * gaps and rows, and which nodes of a run are cells. */
#include "tests/formats/format_samples.h"

static bool reads(const char *text)
{
    struct failure failure;
    struct trace *trace = sample_read("s", text, &failure);
    bool read = trace != NULL;
    trace_free(trace);
    return read;
}

static int32_t first_tag(const char *text)
{
    struct failure failure;
    struct trace *trace = sample_read("s", text, &failure);
    int32_t tag = trace ? trace->ops[0].tag : -1;
    trace_free(trace);
    return tag;
}

static void test_limits(void)
{
    tap_ok(reads("1048575W0"), "the last stage there may be");
    sample_refused("s", "1048576W0", 9, "s:1:1: a stage beyond 1048575");
    tap_ok(reads("0W1073741823"), "the last microbatch there may be");
    sample_refused("s", "0W1073741824", 12, "s:1:3: a microbatch beyond 1073741823");
    tap_is_int(first_tag("0SEND_F1073741823\n1W0"), INT32_MAX - 1, "a tag near the end of numbers");
    tap_is_int(first_tag("0RECV_B1\n1W0"), 7,
               "a gradient's tag is its stage's and its microbatch's, and odd");
    tap_is_int(first_tag("1RECV_F1\n0W2"), 2, "an output's tag is even");
    sample_refused("s", "0W0,1SEND_F1073741823\n2W0", 25,
                   "s:1:5: too many stages times microbatches to number the messages");
    sample_refused("s", "0F0,0XYZ0123456789012345678901234567890123456789 rest", 53,
                   "s:1:6: unknown action \"XYZ0123456789012345678901234567890123456\"");
    sample_refused("s", "0F0,0XY Z", 9, "s:1:6: unknown action \"XY\"");
    sample_refused("s", "0F0,\"0F1", 8, "s:1:5: a quote that is not closed in its cell");
    sample_refused("s", "0F0,\"", 5, "s:1:5: a quote that is not closed in its cell");
    sample_refused("s", "0F0,\"\"", 6, "s:1:6: a stage expected, as in 0F1 or 0SEND_F1");
    sample_refused("s", "0F0,(0F1;0F2 0F3)", 17, "s:1:14: ';' or ')' expected");
    sample_refused("s", "0F0,0F1;", 8, "s:1:9: a stage expected, as in 0F1 or 0SEND_F1");
    sample_refused("s", "0F0\n2F0", 7,
                   "s:1:1: stage 0 has no neighbour for SEND_F: no row has stage 1");
    sample_refused("s", "0B0\n2B0", 7,
                   "s:2:1: stage 2 has no neighbour for SEND_B: no row has stage 1");
    sample_refused("s", "0F0\n1F0\n\n1B0", 12, "s:4:1: stage 1 is on row 2 already");
    sample_refused("s", ",\n \t\n\n", 6, "s:1:1: a schedule without actions");
}

/* A cell of so many messages is written whole, or refused; so is one with a number of very many digits. */
static void test_long_cells(void)
{
    int wrong = 0;
    for (int messages = 1; messages < 220; messages += messages < 30 || messages >= 200 ? 1 : 7) {
        static char text[200 * 12 + 20];
        struct failure failure = {0};
        size_t used = 0, size;
        if (messages >= 200)
            used = (size_t)snprintf(text, sizeof text, "%0*dSEND_F1", messages - 200 + 983, 0);
        for (int i = 0; i < messages && messages < 200; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s0SEND_F%d", i ? ";" : "",
                                     i % 10);
        size_t length = used;
        snprintf(text + used, sizeof text - used, "\n1W0\n");
        struct trace *trace = sample_read("s", text, &failure);
        char *again = NULL;
        FILE *out = open_memstream(&again, &size);
        bool written = trace && format_write(trace, NULL, "csv", out, &failure);
        fclose(out);
        if (length > 1000 ? written || strcmp(failure.text, "s: operation 0 of rank 0 comes from a "
                                                            "cell that is too long to be written")
                          : !written || strcmp(again, text))
            wrong++;
        free(again);
        trace_free(trace);
    }
    tap_is_int(wrong, 0, "a long cell is written whole, or refused");
}

static char *written(const char *name, const char *text)
{
    struct failure failure;
    size_t size;
    struct trace *trace = sample_read(name, text, &failure);
    char *again = trace ? sample_write(trace, "csv", &size) : NULL;
    trace_free(trace);
    return again;
}

/* Empty cells between others are written, but for a very long run of them. */
static void test_gaps(void)
{
    static const int columns[] = {1, 2, 3, 4094, 4095, 4096, 4097, 5000};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        static char text[6000], expected[6000];
        int column = columns[i];
        snprintf(text, sizeof text, "0W0%0*d0W1,,0W2\n", column, 0);
        memset(text + 3, ',', (size_t)column);
        snprintf(expected, sizeof expected, "%s", column > 4096 ? "0W0,0W1,0W2\n" : text);
        char *again = written("s", text);
        if (column > 4096) /* the count goes on from there: what follows is as far away as it was */
            tap_ok(again && !strncmp(again, "0W0,0W1,", 8), "a gap of %d columns is closed",
                   column);
        else
            tap_ok(again && !strcmp(again, expected), "a gap of %d columns is written", column);
        free(again);
    }
}

/* As many rows as there may be ranks, and one more. */
static void test_many_rows(void)
{
    size_t rows = 1 << 20;
    char *text = malloc(rows + 8);
    struct failure failure = {0};
    memcpy(text, "0W0", 3);
    memset(text + 3, '\n', rows);
    struct trace *trace = format_read_memory("s", text, rows + 3, &failure);
    tap_ok(trace && trace->ranks == 1, "empty rows at the end are none: %s", failure.text);
    trace_free(trace);
    text[rows + 3] = ' ';
    sample_refused("s", text, rows + 4, "s:1048577:1: more than 1048576 rows");
    free(text);
}

/* A run of a schedule has a node for each cell: outside of backward passes, named by an action. */
static void test_nodes(void)
{
    char *text = written("t", "{\"simrun\":1,\"ranks\":2}\n"
                              "{\"node\":1,\"rank\":0,\"name\":\"0F0\"}\n"
                              "{\"node\":2,\"rank\":0,\"name\":\"F0\"}\n"
                              "{\"node\":3,\"rank\":0,\"name\":\"0\"}\n"
                              "{\"node\":4,\"rank\":0,\"name\":\"0f\"}\n"
                              "{\"node\":5,\"rank\":0,\"name\":\"0F.\"}\n"
                              "{\"node\":6,\"rank\":0,\"name\":\"0SEND_F0;0RECV_B1\"}\n"
                              "{\"node\":7,\"rank\":0,\"name\":\"0B0\",\"pass\":1}\n"
                              "{\"node\":8,\"rank\":0}\n"
                              "{\"node\":9,\"rank\":0,\"name\":\"12B3\"}\n");
    tap_is_str(text, "0F0,0SEND_F0;0RECV_B1,12B3\n\n", "nodes named by actions are cells");
    free(text);
}

/* The first node of a run may be its only cell. */
static void test_one_node(void)
{
    char *text = written("t", "{\"simrun\":1,\"ranks\":1}\n"
                              "{\"node\":1,\"rank\":0,\"name\":\"0F0\"}\n"
                              "{\"node\":2,\"rank\":0,\"name\":\"x\"}\n");
    tap_is_str(text, "0F0\n", "one cell makes a schedule");
    free(text);
}

/* Which functions name a cell, and so can be written: a column from 1 on, and actions. */
static void test_cell_names(void)
{
    static const struct {
        const char *function;
        bool is_cell;
    } rows[] = {{"column 1: 0F0", true},
                {"column 0: 0F0", false},
                {"column 4097: 0F0", true},
                {"column 1073741824: 0F0", true},
                {"column 1073741825: 0F0", false},
                {"column 18446744073709551617: 0F0", false},
                {"column -1: 0F0", false},
                {"column  1: 0F0", false},
                {"column +1: 0F0", false},
                {"column : 0F0", false},
                {"column 1 : 0F0", false},
                {"column 1:0F0", false},
                {"column 1; 0F0", false},
                {"column 1: ", false},
                {"column 1: 0f0", false},
                {"columns 1: 0F0", false},
                {"Column 1: 0F0", false},
                {"column 1: 0F0 derives 0F1", true},
                {"main", false},
                {"", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300];
        struct failure failure = {0};
        snprintf(text, sizeof text,
                 "{\"simrun\":1,\"ranks\":1}\n"
                 "{\"op\":\"compute\",\"rank\":0,\"site\":[\"s\",1,\"%s\"]}\n",
                 rows[i].function);
        struct trace *trace = sample_read("t", text, &failure);
        FILE *out = fopen("/dev/null", "w");
        bool done = trace && out && format_write(trace, NULL, "csv", out, &failure);
        tap_ok(trace && done == rows[i].is_cell, "\"%s\" is %s cell: %s", rows[i].function,
               rows[i].is_cell ? "a" : "no", failure.text);
        if (out)
            fclose(out);
        trace_free(trace);
    }
}

/* Why it is none: a cell that was cut ends in three dots behind its text. */
static void test_no_cell(void)
{
    static const struct {
        const char *function, *words;
    } rows[] = {{"", "comes from no schedule, so it has no cell to be written to"},
                {".", "comes from no schedule, so it has no cell to be written to"},
                {"..", "comes from no schedule, so it has no cell to be written to"},
                {"...", "comes from no schedule, so it has no cell to be written to"},
                {"a..", "comes from no schedule, so it has no cell to be written to"},
                {"...a", "comes from no schedule, so it has no cell to be written to"},
                {"a...", "comes from a cell that is too long to be written"},
                {"column 1: 0F...", "comes from a cell that is too long to be written"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300], wanted[200], *again = NULL;
        size_t size;
        struct failure failure;
        snprintf(text, sizeof text,
                 "{\"simrun\":1,\"ranks\":1,\"program\":\"p\"}\n"
                 "{\"op\":\"compute\",\"rank\":0,\"site\":[\"s\",1,\"%s\"]}\n",
                 rows[i].function);
        snprintf(wanted, sizeof wanted, "p: operation 0 of rank 0 %s", rows[i].words);
        struct trace *trace = sample_read("t", text, &failure);
        FILE *out = open_memstream(&again, &size);
        bool done = trace && format_write(trace, NULL, "csv", out, &failure);
        fclose(out);
        free(again);
        tap_is_str(done ? "written" : failure.text, wanted, "\"%s\"", rows[i].function);
        trace_free(trace);
    }
}

/* A result that no cell takes is received where it is computed, on its next stage's rank. */
static void test_unwanted(void)
{
    struct failure failure;
    struct trace *trace = sample_read("s", "0F0,0W0\n1W0,1F1\n", &failure);
    const struct trace_op *op = trace ? &trace->ops[trace->rank_begin[1]] : NULL;
    if (tap_ok(op && op->kind == OP_RECV && op->peer == 0, "what nobody takes is received")) {
        const struct trace_site *site = &trace->sites[op->form->site];
        tap_is_str(site->function, "column 1: 0F0 derives 1RECV_F0", "at the cell it comes from");
        tap_is_int(site->line, 1, "in the row of that");
    }
    trace_free(trace);
}

/* Those that the guide tells of, and no more. */
static void test_known(void)
{
    static const char *const names[] = {"jsonl", "csv", "ti", "flight-recorder", "chrome"};
    enum { COUNT = sizeof names / sizeof *names };
    for (size_t i = 0; i < COUNT; i++) {
        const struct format *format = format_at(i);
        tap_ok(format && !strcmp(format->name, names[i]) && format_by_name(names[i]) == format,
               "format %zu is %s", i, names[i]);
    }
    tap_ok(!format_at(COUNT) && !format_by_name("no format"), "there are no others");
}

int main(void)
{
    test_known();
    test_limits();
    test_unwanted();
    test_long_cells();
    test_gaps();
    test_many_rows();
    test_nodes();
    test_one_node();
    test_cell_names();
    test_no_cell();
    return tap_done();
}
