/* A table being written: see writer.h. */
#include "traces/store/writer.h"

#include <math.h>

bool writer_begin(struct writer *writer, const char *sql)
{
    if (writer->code)
        return false;
    writer->insert = store_prepare(writer->store, sql, writer->failure);
    if (!writer->insert)
        writer->code = writer->failure ? writer->failure->code : FAILURE_INTERNAL;
    return writer->insert != NULL;
}

void writer_end(struct writer *writer)
{
    sqlite3_finalize(writer->insert);
    writer->insert = NULL;
}

bool writer_row(struct writer *writer)
{
    if (!writer->code)
        writer->code = store_step(writer->store, writer->insert, writer->failure);
    return writer->code == 0;
}

void writer_number(struct writer *writer, int at, int64_t value)
{
    sqlite3_bind_int64(writer->insert, at, value);
}

void writer_text(struct writer *writer, int at, const char *text)
{
    sqlite3_bind_text(writer->insert, at, text ? text : "", -1, SQLITE_TRANSIENT);
}

/* NaN as the text 'nan': SQLite would store NULL. */
void writer_double(struct writer *writer, int at, double value)
{
    if (isnan(value))
        sqlite3_bind_text(writer->insert, at, "nan", -1, SQLITE_STATIC);
    else
        sqlite3_bind_double(writer->insert, at, value);
}

void writer_index(struct writer *writer, int at, uint32_t index, size_t count, int64_t first)
{
    if (index < count)
        writer_number(writer, at, first + index);
    else
        sqlite3_bind_null(writer->insert, at);
}

void writer_site(struct writer *writer, int at, uint32_t site)
{
    if (site < writer->ids.site_count)
        writer_number(writer, at, writer->ids.sites[site]);
    else
        sqlite3_bind_null(writer->insert, at);
}

void writer_optional(struct writer *writer, int at, const char *text)
{
    if (text)
        writer_text(writer, at, text);
    else
        sqlite3_bind_null(writer->insert, at);
}
