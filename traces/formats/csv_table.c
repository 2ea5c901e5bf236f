/* The table of a PyTorch pipeline schedule file: rows are ranks, cells are actions. See
 * docs/formats.md. */
#include "traces/formats/csv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[CSV_KINDS] = {
    [CSV_F] = "F",
    [CSV_I] = "I",
    [CSV_W] = "W",
    [CSV_B] = "B",
    [CSV_UNSHARD] = "UNSHARD",
    [CSV_RESHARD] = "RESHARD",
    [CSV_REDUCE_GRAD] = "REDUCE_GRAD",
    [CSV_SEND_F] = "SEND_F",
    [CSV_RECV_F] = "RECV_F",
    [CSV_SEND_B] = "SEND_B",
    [CSV_RECV_B] = "RECV_B",
};

const char *csv_kind_name(enum csv_kind kind)
{
    return names[kind];
}

bool csv_communicates(enum csv_kind kind)
{
    return kind >= CSV_SEND_F;
}

uint32_t csv_rank_of(const struct csv_table *table, int64_t stage)
{
    const struct format_index_row *row =
        stage < 0 ? NULL : format_index_find(&table->stage_rank, (uint64_t)stage);
    return row ? table->cells[table->cell_of[row->value]].rank : TRACE_NO;
}

struct cursor {
    struct csv_table *table;
    size_t at, end; /* within one cell */
};

static int here(const struct cursor *cursor)
{
    return cursor->at < cursor->end ? cursor->table->input->data[cursor->at] : -1;
}

static void blanks(struct cursor *cursor)
{
    while (here(cursor) == ' ' || here(cursor) == '\t')
        cursor->at++;
}

static bool number(struct cursor *cursor, uint32_t limit, const char *what, uint32_t *value)
{
    size_t begin = cursor->at;
    uint64_t sum = 0;
    while (isdigit(here(cursor))) {
        sum = sum * 10 + (uint64_t)(here(cursor) - '0');
        cursor->at++;
        if (sum >= limit)
            return format_refuse(cursor->table->input, begin, "a %s beyond %u", what, limit - 1);
    }
    *value = (uint32_t)sum;
    return cursor->at > begin ||
           format_refuse(cursor->table->input, begin, "a %s expected, as in 0F1 or 0SEND_F1", what);
}

/* The longest run of letters and underscores, matched whole. */
static bool kind(struct cursor *cursor, uint8_t *found)
{
    const char *text = (const char *)cursor->table->input->data + cursor->at;
    size_t length = 0;
    while (cursor->at + length < cursor->end &&
           (isupper((unsigned char)text[length]) || text[length] == '_'))
        length++;
    for (int i = 0; i < CSV_KINDS; i++)
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0) {
            *found = (uint8_t)i;
            cursor->at += length;
            return true;
        }
    for (length = 0;
         length < 40 && cursor->at + length < cursor->end && isgraph((unsigned char)text[length]);)
        length++;
    return format_refuse(cursor->table->input, cursor->at, "unknown action \"%.*s\"", (int)length,
                         text);
}

static bool has_microbatch(enum csv_kind kind)
{
    return kind != CSV_UNSHARD && kind != CSV_RESHARD && kind != CSV_REDUCE_GRAD;
}

static bool action(struct cursor *cursor)
{
    struct csv_table *table = cursor->table;
    struct csv_action row = {.offset = cursor->at};
    if (!number(cursor, CSV_STAGE_MAX, "stage", &row.stage) || !kind(cursor, &row.kind))
        return false;
    if (has_microbatch(row.kind) || isdigit(here(cursor))) {
        if (!number(cursor, CSV_MICROBATCH_MAX, "microbatch", &row.microbatch))
            return false;
    }
    if (!format_grow(table->input, &table->actions, table->action_count, &table->action_room,
                     sizeof *table->actions))
        return false;
    table->actions[table->action_count++] = row;
    table->communicates = table->communicates || csv_communicates(row.kind);
    table->stage_last = row.stage > table->stage_last ? row.stage : table->stage_last;
    table->microbatch_last =
        row.microbatch > table->microbatch_last ? row.microbatch : table->microbatch_last;
    return true;
}

static bool actions(struct cursor *cursor)
{
    for (;;) {
        blanks(cursor);
        if (!action(cursor))
            return false;
        blanks(cursor);
        if (here(cursor) != ';')
            return true;
        cursor->at++;
    }
}

/* action; action...   (action; action...)   (action; action)OVERLAP_F_B */
static bool cell_text(struct cursor *cursor)
{
    static const char overlap[] = "OVERLAP_F_B";
    bool group = here(cursor) == '(';
    if (group)
        cursor->at++;
    if (!actions(cursor))
        return false;
    if (group) {
        if (here(cursor) != ')')
            return format_refuse(cursor->table->input, cursor->at, "';' or ')' expected");
        cursor->at++;
        size_t left = cursor->end - cursor->at;
        if (left >= sizeof overlap - 1 &&
            memcmp(cursor->table->input->data + cursor->at, overlap, sizeof overlap - 1) == 0)
            cursor->at += sizeof overlap - 1;
        blanks(cursor);
    }
    return cursor->at == cursor->end ||
           format_refuse(cursor->table->input, cursor->at, "the end of the cell expected");
}

static bool cell(struct csv_table *table, uint32_t rank, uint32_t column, size_t begin, size_t end)
{
    struct cursor cursor = {table, begin, end};
    blanks(&cursor);
    while (cursor.end > cursor.at && isspace(table->input->data[cursor.end - 1]))
        cursor.end--;
    if (cursor.at == cursor.end)
        return true;
    if (here(&cursor) == '"') {
        cursor.at++;
        if (cursor.end == cursor.at || table->input->data[cursor.end - 1] != '"')
            return format_refuse(table->input, cursor.at - 1,
                                 "a quote that is not closed in its cell");
        cursor.end--;
    }
    struct csv_cell row = {
        .rank = rank,
        .column = column,
        .first = (uint32_t)table->action_count,
        .offset = cursor.at,
        .length = cursor.end - cursor.at > UINT32_MAX ? 0 : (uint32_t)(cursor.end - cursor.at)};
    if (!cell_text(&cursor))
        return false;
    row.end = (uint32_t)table->action_count;
    if (!format_grow(table->input, &table->cells, table->cell_count, &table->cell_room,
                     sizeof *table->cells))
        return false;
    table->cells[table->cell_count++] = row;
    return true;
}

static bool row(struct csv_table *table, uint32_t rank, size_t begin, size_t end)
{
    uint32_t column = 0;
    for (size_t at = begin;; column++) {
        const unsigned char *comma = memchr(table->input->data + at, ',', end - at);
        size_t stop = comma ? (size_t)(comma - table->input->data) : end;
        if (!cell(table, rank, column, at, stop))
            return false;
        if (!comma)
            return true;
        at = stop + 1;
    }
}

static bool rows(struct csv_table *table)
{
    struct format_input *input = table->input;
    uint32_t rank = 0;
    for (size_t at = format_text_begin(input); at < input->size; rank++) {
        const unsigned char *newline = memchr(input->data + at, '\n', input->size - at);
        size_t end = newline ? (size_t)(newline - input->data) : input->size;
        if (rank == FORMAT_RANKS_MAX)
            return format_refuse(input, at, "more than %d rows", FORMAT_RANKS_MAX);
        if (!row(table, rank, at, end))
            return false;
        at = end + 1;
        if (table->cell_count && table->cells[table->cell_count - 1].rank == rank)
            table->ranks = rank + 1; /* empty rows at the end are none */
    }
    return table->ranks > 0 || format_refuse(input, 0, "a schedule without actions");
}

/* Every stage on one rank. */
static bool stages(struct csv_table *table)
{
    struct format_index *index = &table->stage_rank;
    table->cell_of = malloc((table->action_count + 1) * sizeof *table->cell_of);
    if (!table->cell_of)
        return format_no_memory(table->input);
    for (uint32_t c = 0; c < table->cell_count; c++)
        for (uint32_t a = table->cells[c].first; a < table->cells[c].end; a++) {
            table->cell_of[a] = c;
            if (!format_index_add(table->input, index, table->actions[a].stage, a))
                return false;
        }
    format_index_sort(index);
    size_t kept = 0;
    for (size_t i = 0; i < index->count; i++) {
        uint32_t a = index->rows[i].value;
        if (i && index->rows[i].key == index->rows[kept - 1].key) {
            uint32_t known = index->rows[kept - 1].value;
            if (table->cells[table->cell_of[a]].rank != table->cells[table->cell_of[known]].rank)
                return format_refuse(table->input, table->actions[a].offset,
                                     "stage %u is on row %u already", table->actions[a].stage,
                                     table->cells[table->cell_of[known]].rank + 1);
            continue;
        }
        index->rows[kept++] = index->rows[i];
    }
    index->count = kept;
    return true;
}

bool csv_table_read(struct csv_table *table, struct format_input *input)
{
    *table = (struct csv_table){.input = input};
    return rows(table) && stages(table);
}

void csv_table_release(struct csv_table *table)
{
    free(table->cells);
    free(table->actions);
    free(table->cell_of);
    format_index_release(&table->stage_rank);
}
