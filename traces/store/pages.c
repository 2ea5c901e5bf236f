/* The tables that are kept in pages, and their writing and reading: see pages.h. */
#include "traces/store/pages.h"
#include "traces/store/page_code.h"

#include <stddef.h>
#include <stdlib.h>

#define OP(name, type, none, ...)                                                                  \
    {                                                                                              \
        .column = {#name, offsetof(struct trace_plain_op, name), type, none}, __VA_ARGS__          \
    }

#define WHOLE(name, member, type, none, ...)                                                       \
    {                                                                                              \
        .column = {#name, offsetof(struct trace_whole_op, member.name), type, none}, __VA_ARGS__   \
    }

/* Where they stand, for those that are told against them. */
enum { AT_KIND, AT_PEER, AT_TAG, AT_TYPE, AT_COUNT, AT_BEGIN, AT_BEGIN_NS };

static const struct page_column op_columns[] = {
    [AT_KIND] = OP(kind, COLUMN_U8, -1, .context = CONTEXT_NONE),
    [AT_PEER] = OP(peer, COLUMN_I32, TRACE_NONE, .context = CONTEXT_KIND),
    [AT_TAG] = OP(tag, COLUMN_I32, TRACE_NONE, .context = CONTEXT_KIND),
    [AT_TYPE] = OP(type, COLUMN_U32, 0, .context = CONTEXT_KIND),
    [AT_COUNT] = OP(count, COLUMN_I64, 0, .context = CONTEXT_KIND),
    [AT_BEGIN] = OP(begin, COLUMN_U64, 0, .context = CONTEXT_NONE),
    [AT_BEGIN_NS] = WHOLE(begin_ns, times, COLUMN_U64, 0, .context = CONTEXT_NONE),
    OP(rank, COLUMN_U32, -1, .context = CONTEXT_NONE),
    OP(seq, COLUMN_U32, -1, .against = AGAINST_ROW),
    OP(pass, COLUMN_U32, -1, .context = CONTEXT_NONE),
    OP(state, COLUMN_U8, -1, .context = CONTEXT_KIND),
    OP(flags, COLUMN_U16, 0, .context = CONTEXT_KIND),
    OP(site, COLUMN_SITE, TRACE_NO, .context = CONTEXT_KIND),
    OP(adjoint_of, COLUMN_OP, TRACE_NO, .context = CONTEXT_KIND),
    OP(comm, COLUMN_U32, TRACE_NO, .context = CONTEXT_KIND),
    OP(comm_seq, COLUMN_U32, 0, .context = CONTEXT_KIND),
    OP(peer_matched, COLUMN_I32, TRACE_NONE, .against = AGAINST_COLUMN, .other = AT_PEER,
       .context = CONTEXT_KIND),
    OP(tag_matched, COLUMN_I32, TRACE_NONE, .against = AGAINST_COLUMN, .other = AT_TAG,
       .context = CONTEXT_KIND),
    OP(count_matched, COLUMN_I64, -1, .against = AGAINST_COLUMN, .other = AT_COUNT,
       .context = CONTEXT_KIND),
    OP(signature, COLUMN_U32, 0, .context = CONTEXT_KIND),
    OP(reduce_op, COLUMN_U32, 0, .context = CONTEXT_KIND),
    OP(request, COLUMN_OP, TRACE_NO, .against = AGAINST_ROW, .context = CONTEXT_KIND),
    OP(batch, COLUMN_U32, 0, .context = CONTEXT_NONE),
    OP(node, COLUMN_NODE, TRACE_NO, .context = CONTEXT_KIND),
    OP(error, COLUMN_I32, 0, .context = CONTEXT_KIND),
    OP(identity, COLUMN_U32, 0, .context = CONTEXT_KIND),
    OP(thread, COLUMN_U32, 0, .context = CONTEXT_NONE),
    OP(end, COLUMN_U64, 0, .against = AGAINST_COLUMN, .other = AT_BEGIN, .context = CONTEXT_KIND),
    WHOLE(end_ns, times, COLUMN_U64, 0, .against = AGAINST_COLUMN, .other = AT_BEGIN_NS,
          .context = CONTEXT_KIND),
    WHOLE(buffer, at, COLUMN_U64, 0, .context = CONTEXT_KIND),
    WHOLE(extent, at, COLUMN_U64, 0, .against = AGAINST_BYTES, .other = AT_COUNT,
          .context = CONTEXT_KIND),
    OP(match, COLUMN_OP, TRACE_NO, .context = CONTEXT_PEER, .sends = true),
};

const struct page_table page_ops = {.content = "ops",
                                    .number = 1,
                                    .columns = op_columns,
                                    .column_count = sizeof op_columns / sizeof *op_columns,
                                    .row_size = sizeof(struct trace_whole_op),
                                    .kind = AT_KIND,
                                    .peer = AT_PEER};

struct wait_row {
    uint32_t wait, start;
    bool completed;
};

static const struct page_column wait_columns[] = {
    {.column = {"wait", offsetof(struct wait_row, wait), COLUMN_OP, TRACE_NO}},
    {.column = {"start", offsetof(struct wait_row, start), COLUMN_OP, TRACE_NO},
     .against = AGAINST_COLUMN},
    {.column = {"completed", offsetof(struct wait_row, completed), COLUMN_U8, -1}},
};

const struct page_table page_waits = {.content = "waits",
                                      .number = 2,
                                      .columns = wait_columns,
                                      .column_count = sizeof wait_columns / sizeof *wait_columns,
                                      .row_size = sizeof(struct wait_row),
                                      .kind = PAGE_NO_COLUMN,
                                      .peer = PAGE_NO_COLUMN};

/* Rows of a page, each with what stands elsewhere. */
union page_rows {
    struct trace_whole_op ops[PAGE_ROWS];
    struct wait_row waits[PAGE_ROWS];
};

static void make_rows(const struct trace *trace, const struct page_table *table, size_t first,
                      size_t count, union page_rows *rows)
{
    if (table == &page_ops) {
        for (size_t i = 0; i < count; i++)
            trace_whole_op(trace, (uint32_t)(first + i), &rows->ops[i]);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct trace_wait *wait = &trace->waits[first + i];
        rows->waits[i] = (struct wait_row){wait->wait, wait->start, wait->completed};
    }
}

/* At least one page, so that a reader knows that there are no more rows. */
static void write_table(struct writer *writer, const struct page_table *table, size_t total)
{
    struct page_code *code = page_code_new();
    const struct trace *trace = writer->trace;
    union page_rows *rows = malloc(sizeof *rows);
    bool room = code && rows;
    if (!room && !writer->code)
        writer->code = failure_set(writer->failure, FAILURE_INTERNAL, "out of memory for pages");
    if (!writer_begin(writer,
                      "INSERT INTO pages(run_id,content,first,count,data) VALUES(?,?,?,?,?)")) {
        page_code_free(code);
        free(rows);
        return;
    }
    writer_number(writer, 1, writer->ids.run);
    writer_text(writer, 2, table->content);
    for (size_t first = 0; !writer->code && (first == 0 || first < total); first += PAGE_ROWS) {
        size_t size, count = total - first < PAGE_ROWS ? total - first : PAGE_ROWS;
        make_rows(trace, table, first, count, rows);
        const void *page = page_encode(code, table, rows, first, count, total, &writer->ids, &size);
        if (first % PROGRESS_ROWS == 0)
            progress_report(writer->store->progress, "storing", first, total, "operations");
        writer_number(writer, 3, (int64_t)first);
        writer_number(writer, 4, (int64_t)count);
        sqlite3_bind_blob64(writer->insert, 5, page, page ? size : 0, SQLITE_STATIC);
        if (!page)
            writer->code =
                failure_set(writer->failure, FAILURE_INTERNAL, "out of memory for pages");
        writer_row(writer);
    }
    writer_end(writer);
    page_code_free(code);
    free(rows);
}

void store_write_pages(struct writer *writer)
{
    write_table(writer, &page_ops, writer->trace->op_count);
    write_table(writer, &page_waits, writer->trace->wait_count);
}

bool store_has_pages(struct reader *reader)
{
    bool has = false;
    if (!reader_begin(reader, "SELECT 1 FROM pages WHERE run_id=?1 LIMIT 1"))
        return false;
    while (reader_next(reader))
        has = true;
    return has;
}

static void broken_page(struct reader *reader, const char *content, size_t row)
{
    reader->code = failure_set(
        reader->failure, FAILURE_INPUT, "%s: run %lld: the page of %s from %zu on is %s",
        reader->store->path, (long long)reader->run, content, row, "broken or missing");
}

static int64_t value_at(struct reader *reader, const struct page_code *code,
                        const struct column *column, size_t at, size_t row)
{
    int64_t value = page_value(code, at, row);
    if (value == column->none)
        return value;
    switch (column->type) {
    case COLUMN_OP:
        return value >= 0 && value < reader->op_count ? value : TRACE_NO;
    case COLUMN_NODE:
        return value >= 0 && value < reader->node_count ? value : TRACE_NO;
    case COLUMN_SITE:
        return reader_site(reader, value);
    default:
        return value;
    }
}

/* One row more of the trace; false where it cannot be. */
static bool add_row(struct reader *reader, const struct page_code *code,
                    const struct page_table *table, size_t row)
{
    struct trace *trace = reader->trace;
    if (table == &page_waits) {
        const struct column *start = &wait_columns[1].column;
        trace_add_wait(trace, (uint32_t)value_at(reader, code, &wait_columns[0].column, 0, row),
                       (uint32_t)value_at(reader, code, start, 1, row),
                       page_value(code, 2, row) != 0);
        return true;
    }
    struct trace_whole_op whole = {.op = trace_op_none(0, OP_NONE)};
    for (size_t i = 0; i < table->column_count; i++) {
        const struct column *column = &table->columns[i].column;
        store_put(column, &whole, value_at(reader, code, column, i, row));
    }
    if (whole.op.rank < trace->ranks)
        trace_add_whole_op(trace, &whole);
    return whole.op.rank < trace->ranks;
}

/* The pages one after another, without a gap, up to the last row; how many rows there were. */
static size_t read_table(struct reader *reader, const struct page_table *table)
{
    struct page_code *code = page_code_new();
    size_t expected = 0, total = SIZE_MAX;
    if (!code && !reader->code)
        reader->code = failure_set(reader->failure, FAILURE_INTERNAL, "out of memory for pages");
    if (reader_begin(reader, "SELECT count,data FROM pages WHERE run_id=?1 AND content=?2 "
                             "ORDER BY first"))
        sqlite3_bind_text(reader->rows, 2, table->content, -1, SQLITE_STATIC);
    while (reader->rows && reader_next(reader)) {
        int64_t count = sqlite3_column_int64(reader->rows, 0);
        const void *data = sqlite3_column_blob(reader->rows, 1);
        size_t size = (size_t)sqlite3_column_bytes(reader->rows, 1), of = 0;
        bool good = count >= 0 && count <= PAGE_ROWS && data &&
                    page_decode(code, table, reader->run, data, size, expected, (size_t)count, &of);
        for (size_t i = 0; good && i < (size_t)count; i++)
            good = add_row(reader, code, table, i);
        if (!good)
            broken_page(reader, table->content, expected);
        if (expected % PROGRESS_ROWS == 0)
            progress_report(reader->store->progress, "reading", expected, of, "operations");
        expected += good ? (size_t)count : 0;
        total = of;
    }
    if (!reader->code && expected != total)
        broken_page(reader, table->content, expected);
    page_code_free(code);
    return expected;
}

void store_read_pages(struct reader *reader)
{
    struct trace *trace = reader->trace;
    size_t count = read_table(reader, &page_ops);
    if (!reader->code && count != (size_t)reader->op_count)
        broken_page(reader, page_ops.content, count);
    read_table(reader, &page_waits);
    for (size_t i = 0; !reader->code && i < trace->op_count; i++) {
        uint32_t match = trace->ops[i].match;
        if (match < trace->op_count && op_kind_class(trace->ops[i].kind) == CLASS_SEND)
            trace->ops[match].match = (uint32_t)i;
    }
}
