/* Reads PyTorch's pipeline schedule files: csv_table.c reads the table, csv_plan.c
 * makes operations of it. */
#include "traces/formats/csv.h"

#include <stdio.h>

struct trace *format_csv_read(struct format_input *input)
{
    struct csv_table table;
    struct trace *trace = NULL;
    bool done = csv_table_read(&table, input);
    if (done && !(trace = trace_new(table.ranks)))
        done = format_no_memory(input);
    if (done) {
        trace->outcome = OUTCOME_IMPORTED;
        snprintf(trace->program, sizeof trace->program, "%s", input->name);
        done = csv_plan(&table, trace);
    }
    csv_table_release(&table);
    if (done)
        return format_finish(input, trace);
    trace_free(trace);
    return NULL;
}
