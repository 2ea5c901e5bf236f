/* Schedules from and to PyTorch's CSV; the grammar is traces/formats/csv.c's (docs/formats.md). */
#include "collectives/systems/schedule/rows.h"
#include "traces/formats/csv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert((int)SCHEDULE_F == CSV_F && (int)SCHEDULE_W == CSV_W &&
                   (int)SCHEDULE_REDUCE_GRAD == CSV_REDUCE_GRAD &&
                   (int)SCHEDULE_RECV_B == CSV_RECV_B,
               "the two tables of actions agree");

static bool fits(const struct csv_table *table, char *why, size_t room)
{
    enum { STAGES_MAX = 1 << 12, MICROBATCHES_MAX = 1 << 16 };
    if (table->stage_last < STAGES_MAX && table->microbatch_last < MICROBATCHES_MAX)
        return true;
    snprintf(why, room, "%s: a schedule that runs has at most %d stages and %d microbatches",
             table->input->name, STAGES_MAX, MICROBATCHES_MAX);
    return false;
}

/* Every stage has a row, every message a stage at its other end. */
static bool is_whole(const struct schedule *schedule, const char *path, char *why, size_t room)
{
    for (int s = 0; s < schedule->stages; s++)
        if (schedule->rank_of[s] < 0) {
            snprintf(why, room, "%s: no row computes stage %d", path, s);
            return false;
        }
    for (int r = 0; r < schedule->ranks; r++)
        for (size_t a = 0; a < schedule->rows[r].action_count; a++) {
            const struct schedule_action *action = &schedule->rows[r].actions[a];
            int partner = message_partner(action);
            bool here = schedule->rank_of[action->stage] == r;
            if (kind_is_message(action->kind) &&
                (!here || partner < 0 || partner >= schedule->stages)) {
                snprintf(why, room, "%s: row %d has %d%s%d, but %s", path, r + 1, action->stage,
                         csv_kind_name((enum csv_kind)action->kind), action->microbatch,
                         here ? "there is no such neighbour" : "computes no such stage");
                return false;
            }
        }
    return true;
}

static struct schedule *from_table(const struct csv_table *table)
{
    struct schedule *schedule =
        rows_new((int)table->ranks, (int)table->stage_last + 1, 1, (int)table->microbatch_last + 1);
    for (size_t c = 0; c < table->cell_count; c++) {
        const struct csv_cell *cell = &table->cells[c];
        for (uint32_t a = cell->first; a < cell->end; a++) {
            const struct csv_action *from = &table->actions[a];
            struct schedule_action action = {(enum schedule_kind)from->kind, (int)from->stage,
                                             (int)from->microbatch};
            (a == cell->first ? rows_add : rows_join)(schedule, (int)cell->rank, action);
        }
    }
    return schedule;
}

/* `complete`: the table has its messages. */
static struct schedule *read_cells(const char *path, bool *complete, char *why, size_t room)
{
    struct failure failure = {0};
    struct format_input input = {0};
    struct csv_table table = {0};
    struct schedule *schedule = NULL;
    if (!format_input_open(&input, path, &failure) || !csv_table_read(&table, &input))
        snprintf(why, room, "%s", failure.text);
    else if (fits(&table, why, room))
        schedule = from_table(&table);
    *complete = table.communicates;
    csv_table_release(&table);
    format_input_release(&input);
    if (schedule && !is_whole(schedule, path, why, room)) {
        schedule_free(schedule);
        return NULL;
    }
    return schedule;
}

struct schedule *schedule_read_cells(const char *path, char *why, size_t room)
{
    bool complete;
    return read_cells(path, &complete, why, room);
}

struct schedule *schedule_read(const char *path, char *why, size_t room)
{
    bool complete = false;
    struct schedule *schedule = read_cells(path, &complete, why, room);
    if (!schedule || complete)
        return schedule;
    struct schedule *with_messages = messages_add(schedule, "ordered", why, room);
    schedule_free(schedule);
    return with_messages;
}

bool rows_cell_text(const struct schedule_row *row, const struct schedule_cell *cell, char *text,
                    size_t room)
{
    size_t used = 0;
    for (size_t a = cell->first; a < cell->end && used < room; a++) {
        const struct schedule_action *action = &row->actions[a];
        bool whole_stage = action->kind >= SCHEDULE_UNSHARD && action->kind <= SCHEDULE_REDUCE_GRAD;
        int added = snprintf(text + used, room - used, "%s%d%s", a > cell->first ? ";" : "",
                             action->stage, csv_kind_name((enum csv_kind)action->kind));
        used += (size_t)added;
        if (!whole_stage && used < room)
            used += (size_t)snprintf(text + used, room - used, "%d", action->microbatch);
    }
    return used < room;
}

/* One action at a time: a cell may hold any number. */
static void print_row(FILE *file, const struct schedule_row *row)
{
    for (size_t c = 0; c < row->cell_count; c++)
        for (size_t a = row->cells[c].first; a < row->cells[c].end; a++) {
            char text[64];
            rows_cell_text(row, &(struct schedule_cell){a, a + 1}, text, sizeof text);
            fprintf(file, "%s%s", a > row->cells[c].first ? ";" : c ? "," : "", text);
        }
    fputc('\n', file);
}

bool schedule_write(const struct schedule *schedule, const char *path, char *why, size_t room)
{
    char temporary[1024];
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path); /* worlds side by side write too */
    int descriptor = mkstemp(temporary);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!file) {
        snprintf(why, room, "%s: %s", path, strerror(errno));
        return false;
    }
    for (int r = 0; r < schedule->ranks; r++)
        print_row(file, &schedule->rows[r]);
    bool written = !ferror(file) && fchmod(descriptor, 0644) == 0;
    written = fclose(file) == 0 && written && rename(temporary, path) == 0;
    if (!written) {
        snprintf(why, room, "%s: %s", path, strerror(errno));
        unlink(temporary);
    }
    return written;
}
