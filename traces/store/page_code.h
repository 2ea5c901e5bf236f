/* A page: some thousands of rows of a table of C structs as few bytes. For runs of so many
 * operations that a row of SQLite for each would take most of the time and of the disk.
 *
 * Each column is told row by row against the last row of the same kind; a column may first be taken
 * against another one of its row, of which it usually is a copy (the matched tag against the tag).
 * What does not change is one byte 0, and those at the end of a column are left out. The whole is a
 * zstd frame with its checksum. Nothing of a page refers to another page. */
#ifndef TRACES_STORE_PAGE_CODE_H
#define TRACES_STORE_PAGE_CODE_H

#include "traces/store/internal.h"

enum { PAGE_ROWS = 4096, PAGE_COLUMNS = 40, PAGE_NO_COLUMN = 255 };

enum page_against {
    AGAINST_NOTHING,
    AGAINST_ROW,    /* the row's own index: references to rows nearby */
    AGAINST_COLUMN, /* `other`, which stands before this one */
    AGAINST_BYTES   /* the bytes that `other` elements of the type in the column before it take */
};

enum page_context {
    CONTEXT_NONE, /* told against the row before */
    CONTEXT_KIND, /* against the last row of the same kind */
    CONTEXT_PEER  /* against the last row of the same kind and peer */
};

struct page_column {
    struct column column;
    enum page_against against;
    uint8_t other;
    enum page_context context;
    bool sends; /* none for all but sends: the other side follows */
};

struct page_table {
    const char *content; /* in the table pages */
    uint8_t number;      /* in the page */
    const struct page_column *columns;
    size_t column_count, row_size;
    uint8_t kind, peer; /* columns of the contexts, before those that use them; PAGE_NO_COLUMN */
};

extern const struct page_table page_ops, page_waits;

struct page_code;
struct page_code *page_code_new(void); /* NULL: out of memory */
void page_code_free(struct page_code *code);

/* Rows first .. first + count of a table of `total`, which are those at `rows`, at most PAGE_ROWS, as bytes that stay
 * in `code` until the next call; NULL: out of memory. */
const void *page_encode(struct page_code *code, const struct page_table *table, const void *rows,
                        size_t first, size_t count, size_t total, const struct store_ids *ids,
                        size_t *size);

/* The values of a page, which must be that of these rows of this run; false when it is broken or another one.
 * page_value then gives each. Sites are ids of the file, operations and nodes indices of the trace. */
bool page_decode(struct page_code *code, const struct page_table *table, int64_t run,
                 const void *data, size_t size, size_t first, size_t count, size_t *total);
int64_t page_value(const struct page_code *code, size_t column, size_t row);

#endif
