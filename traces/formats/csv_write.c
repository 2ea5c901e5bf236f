/* Writes a schedule: the cells its operations came from, derived messages in cells of their own.
 *
 * Two kinds of trace know their cells. One that was read from a schedule has them in the function
 * texts of the sites ("column 3: 0F1", "column 3: 0F1 derives 0SEND_F1"). A run of a schedule has a
 * node for each, named by its text; what it did outside of them is left out. */
#include "traces/input/input.h"
#include "traces/input/write.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_SKIPPED_MAX = 4096 }; /* a longer run of empty cells is closed up */

struct cell_text {
    long column; /* from 1 */
    const char *text;
    int length;
    bool derived;
};

static bool is_cell_text(const char *text)
{
    return text[0] && text[strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_;() ")] == 0;
}

static bool cell_of(const struct trace *trace, const struct trace_op *op, struct cell_text *cell)
{
    static const char before[] = "column ", between[] = " derives ";
    const char *function =
        op->form->site < trace->site_count ? trace->sites[op->form->site].function : "";
    char *end;
    if (strncmp(function, before, sizeof before - 1) != 0 ||
        !isdigit((unsigned char)function[sizeof before - 1]))
        return false;
    cell->column = strtol(function + sizeof before - 1, &end, 10);
    if (end[0] != ':' || end[1] != ' ' || cell->column < 1 || cell->column > FORMAT_ROWS_MAX)
        return false;
    const char *derives = strstr(end, between);
    cell->derived = derives != NULL;
    cell->text = derives ? derives + sizeof between - 1 : end + 2;
    cell->length = (int)strlen(cell->text);
    return is_cell_text(cell->text);
}

static bool any_derived(const struct trace *trace)
{
    struct cell_text cell;
    for (size_t i = 0; i < trace->op_count; i++)
        if (cell_of(trace, &trace->ops[i], &cell) && cell.derived)
            return true;
    return false;
}

static bool refuse(const struct trace *trace, size_t op, struct failure *failure)
{
    const struct trace_op *row = &trace->ops[op];
    const char *function =
        row->form->site < trace->site_count ? trace->sites[row->form->site].function : "";
    size_t length = strlen(function);
    bool cut = length > 3 && !strcmp(function + length - 3, "...");
    failure_set(failure, FAILURE_INPUT, "%s: operation %u of rank %u comes from %s", trace->program,
                trace_op_seq(trace, row), row->rank,
                cut ? "a cell that is too long to be written"
                    : "no schedule, so it has no cell to be written to");
    return false;
}

/* Operations of one cell follow each other and share its site. */
static bool write_row(const struct trace *trace, uint32_t rank, bool sequence, FILE *out,
                      struct failure *failure)
{
    long written = 0;
    for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
        struct cell_text cell;
        if (!cell_of(trace, &trace->ops[i], &cell))
            return refuse(trace, i, failure);
        if (i > trace->rank_begin[rank] && trace->ops[i - 1].form->site == trace->ops[i].form->site)
            continue;
        bool next =
            sequence || cell.column <= written || cell.column - written > COLUMNS_SKIPPED_MAX;
        long target = next ? written + 1 : cell.column;
        for (; written < target; written++)
            if (written)
                putc(',', out);
        fprintf(out, "%.*s", cell.length, cell.text);
    }
    putc('\n', out);
    return true;
}

/* A node that is a cell: outside of backward passes, and its name begins with an action. */
static bool is_cell_node(const struct trace *trace, const struct trace_node *node)
{
    const char *name = trace_string(trace, node->name);
    size_t digits = strspn(name, "0123456789");
    return node->pass == 0 && digits > 0 && isupper((unsigned char)name[digits]) &&
           is_cell_text(name);
}

static bool is_run_of_schedule(const struct trace *trace)
{
    for (size_t i = 0; i < trace->node_count; i++)
        if (is_cell_node(trace, &trace->nodes[i]))
            return true;
    return false;
}

static void write_nodes(const struct trace *trace, uint32_t rank, FILE *out)
{
    const char *between = "";
    for (size_t i = trace->node_begin[rank]; i < trace->node_begin[rank + 1]; i++) {
        if (!is_cell_node(trace, &trace->nodes[i]))
            continue;
        fprintf(out, "%s%s", between, trace_string(trace, trace->nodes[i].name));
        between = ",";
    }
    putc('\n', out);
}

bool format_csv_write(const struct trace *trace, const struct findings *findings, FILE *out,
                      struct failure *failure)
{
    (void)findings;
    bool sequence = any_derived(trace);
    if (is_run_of_schedule(trace)) {
        for (uint32_t rank = 0; rank < trace->ranks; rank++)
            write_nodes(trace, rank, out);
        return true;
    }
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        if (!write_row(trace, rank, sequence, out, failure))
            return false;
    return true;
}
