/* Writes a schedule: the cells its operations came from, derived messages in cells of their own.
 *
 * Only a trace that was read from a schedule knows its cells: they stand in the function texts of
 * the sites
 * ("column 3: 0F1", "column 3: 0F1 derives 0SEND_F1"). */
#include "traces/format_input.h"
#include "traces/format_write.h"

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

static bool cell_of(const struct trace *trace, const struct trace_op *op, struct cell_text *cell)
{
    static const char before[] = "column ", between[] = " derives ";
    const char *function = op->site < trace->site_count ? trace->sites[op->site].function : "";
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
    return cell->length > 0 &&
           cell->text[strspn(cell->text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_;() ")] == 0;
}

static bool any_derived(const struct trace *trace)
{
    struct cell_text cell;
    for (size_t i = 0; i < trace->op_count; i++)
        if (cell_of(trace, &trace->ops[i], &cell) && cell.derived)
            return true;
    return false;
}

/* Operations of one cell follow each other and share its site. */
static bool write_row(const struct trace *trace, uint32_t rank, bool sequence, FILE *out,
                      struct failure *failure)
{
    long written = 0;
    for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
        struct cell_text cell;
        if (!cell_of(trace, &trace->ops[i], &cell)) {
            failure_set(failure, FAILURE_INPUT,
                        "%s: operation %u of rank %u comes from no schedule, so it has no cell to "
                        "be written to",
                        trace->program, trace->ops[i].seq, rank);
            return false;
        }
        if (i > trace->rank_begin[rank] && trace->ops[i - 1].site == trace->ops[i].site)
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

bool format_csv_write(const struct trace *trace, const struct findings *findings, FILE *out,
                      struct failure *failure)
{
    (void)findings;
    bool sequence = any_derived(trace);
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        if (!write_row(trace, rank, sequence, out, failure))
            return false;
    return true;
}
