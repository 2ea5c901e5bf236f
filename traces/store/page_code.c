/* Rows to bytes and back: see page_code.h. */
#include "traces/store/page_code.h"
#include "traces/trace/kinds.h"
#include "traces/trace/trace.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* One number of a column; what does not fit behind FIRST_DIFFERENCE follows the word WIDE. */
enum { SAME, NONE, WIDE, FIRST_DIFFERENCE };
enum {
    CONTEXTS = 256,
    NUMBER_BYTES = 11,
    HEAD_BYTES = 64,
    PLAIN_BYTES = HEAD_BYTES + PAGE_COLUMNS * (PAGE_ROWS * NUMBER_BYTES + 8),
    LEVEL = 1
};

struct page_code {
    int64_t values[PAGE_COLUMNS]
                  [PAGE_ROWS + 8];              /* a row's columns not all in one line of a cache */
    uint8_t kinds[PAGE_ROWS], peers[PAGE_ROWS]; /* what a row is told against */
    uint8_t plain[PLAIN_BYTES];
    size_t room;
    ZSTD_CCtx *writing;
    ZSTD_DCtx *reading;
    uint8_t packed[];
};

struct page_code *page_code_new(void)
{
    size_t room = ZSTD_compressBound(PLAIN_BYTES);
    struct page_code *code = calloc(1, sizeof *code + room);
    if (!code)
        return NULL;
    code->room = room;
    code->writing = ZSTD_createCCtx();
    code->reading = ZSTD_createDCtx();
    if (code->writing && code->reading) {
        ZSTD_CCtx_setParameter(code->writing, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(code->writing, ZSTD_c_checksumFlag, 1);
        return code;
    }
    page_code_free(code);
    return NULL;
}

void page_code_free(struct page_code *code)
{
    if (!code)
        return;
    ZSTD_freeCCtx(code->writing);
    ZSTD_freeDCtx(code->reading);
    free(code);
}

static uint8_t *put_number(uint8_t *at, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

/* NULL at the end of the bytes, and for more than 64 bits. */
static const uint8_t *get_number(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        uint64_t seven = *at & 0x7f;
        if (shift == 63 && seven > 1)
            return NULL;
        *value |= seven << shift;
        if (!(*at++ & 0x80))
            return at;
    }
    return NULL;
}

/* What the last row of each context had. */
struct last {
    uint64_t value[CONTEXTS];
    bool some[CONTEXTS];
};

static uint64_t folded(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unfolded(uint64_t number)
{
    return number >> 1 ^ (0 - (number & 1));
}

/* What the column is taken against in this row. */
static uint64_t base(const struct page_code *code, const struct page_column *column, size_t first,
                     size_t row)
{
    switch (column->against) {
    case AGAINST_ROW:
        return first + row;
    case AGAINST_COLUMN:
        return (uint64_t)code->values[column->other][row];
    case AGAINST_BYTES:
        return (uint64_t)code->values[column->other][row] *
               trace_type_extent((uint32_t)code->values[column->other - 1][row]);
    default:
        return 0;
    }
}

static const uint8_t *contexts(const struct page_code *code, const struct page_column *column)
{
    static const uint8_t one[PAGE_ROWS];
    switch (column->context) {
    case CONTEXT_KIND:
        return code->kinds;
    case CONTEXT_PEER:
        return code->peers;
    default:
        return one;
    }
}

/* After the first columns are known. */
static void find_contexts(struct page_code *code, const struct page_table *table, size_t count)
{
    for (size_t i = 0; table->kind != PAGE_NO_COLUMN && i < count; i++) {
        code->kinds[i] = (uint8_t)code->values[table->kind][i];
        code->peers[i] = (uint8_t)(code->kinds[i] * 37 + (uint8_t)code->values[table->peer][i]);
    }
}

static bool all_none(const int64_t *values, size_t count, int64_t none)
{
    int64_t different = 0;
    for (size_t i = 0; i < count; i++)
        different |= values[i] ^ none;
    return different == 0;
}

/* Behind its last number that is not SAME. */
static uint8_t *encode_column(const struct page_code *code, const struct page_column *column,
                              const int64_t *values, size_t first, size_t count, uint8_t *at)
{
    const uint8_t *context = contexts(code, column);
    struct last last = {0};
    uint8_t *end = at;
    if (all_none(values, count, column->column.none))
        return end;
    for (size_t i = 0; i < count; i++) {
        uint8_t c = context[i];
        bool some = values[i] != column->column.none;
        uint64_t value = some ? (uint64_t)values[i] - base(code, column, first, i) : last.value[c];
        if (some == last.some[c] && value == last.value[c]) {
            *at++ = SAME;
            continue;
        }
        uint64_t number = folded(value - last.value[c]);
        if (!some) {
            *at++ = NONE;
        } else if (number < (uint64_t)1 << 63) {
            at = put_number(at, FIRST_DIFFERENCE + number);
        } else {
            *at++ = WIDE;
            at = put_number(at, number);
        }
        last.some[c] = some;
        last.value[c] = value;
        end = at;
    }
    return end;
}

static bool decode_column(struct page_code *code, const struct page_column *column, int64_t *values,
                          size_t first, size_t count, const uint8_t *at, const uint8_t *end)
{
    const uint8_t *context = contexts(code, column);
    struct last last = {0};
    for (size_t i = 0; i < count; i++) {
        uint8_t c = context[i];
        uint64_t number = SAME;
        if (at < end && !(at = get_number(at, end, &number)))
            return false;
        if (number == NONE) {
            last.some[c] = false;
        } else if (number != SAME) {
            uint64_t difference = number - FIRST_DIFFERENCE;
            if (number == WIDE && !(at = get_number(at, end, &difference)))
                return false;
            last.some[c] = true;
            last.value[c] += unfolded(difference);
        }
        values[i] = last.some[c] ? (int64_t)(last.value[c] + base(code, column, first, i))
                                 : column->column.none;
    }
    return at == end;
}

#define GATHER(type)                                                                               \
    for (size_t i = 0; i < count; i++, row += row_size) {                                          \
        type field;                                                                                \
        memcpy(&field, row, sizeof field);                                                         \
        values[i] = (int64_t)field;                                                                \
    }

static void gather(const struct column *column, const char *rows, size_t row_size, size_t count,
                   int64_t *values)
{
    const char *row = rows + column->offset;
    switch (column->type) {
    case COLUMN_U8:
        GATHER(uint8_t)
        break;
    case COLUMN_U16:
        GATHER(uint16_t)
        break;
    case COLUMN_I32:
        GATHER(int32_t)
        break;
    case COLUMN_I64:
    case COLUMN_U64:
        GATHER(int64_t)
        break;
    default:
        GATHER(uint32_t)
        break;
    }
}

/* As the file knows them. */
static void translate(struct page_code *code, const struct page_column *column, int64_t *values,
                      size_t count, const struct store_ids *ids)
{
    for (size_t i = 0; column->column.type == COLUMN_SITE && i < count; i++)
        if (values[i] != column->column.none)
            values[i] = ids->sites[values[i]];
    for (size_t i = 0; column->sends && i < count; i++)
        if (op_kind_class(code->kinds[i]) != CLASS_SEND)
            values[i] = column->column.none;
}

const void *page_encode(struct page_code *code, const struct page_table *table, const void *rows,
                        size_t first, size_t count, size_t total, const struct store_ids *ids,
                        size_t *size)
{
    uint8_t *at = code->plain;
    assert(count <= PAGE_ROWS && table->column_count <= PAGE_COLUMNS);
    const uint64_t head[] = {table->number, (uint64_t)ids->run, first, count,
                             total,         table->column_count};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        at = put_number(at, head[i]);
    for (size_t i = 0; i < table->column_count; i++)
        gather(&table->columns[i].column, rows, table->row_size, count, code->values[i]);
    find_contexts(code, table, count);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct page_column *column = &table->columns[i];
        enum { LENGTH = 4 };
        translate(code, column, code->values[i], count, ids);
        uint8_t *begin = at + LENGTH;
        uint8_t *end = encode_column(code, column, code->values[i], first, count, begin);
        uint32_t length = (uint32_t)(end - begin);
        for (int byte = 0; byte < LENGTH; byte++)
            at[byte] = (uint8_t)(length >> 8 * byte);
        at = end;
    }
    *size = ZSTD_compress2(code->writing, code->packed, code->room, code->plain,
                           (size_t)(at - code->plain));
    return ZSTD_isError(*size) ? NULL : code->packed;
}

bool page_decode(struct page_code *code, const struct page_table *table, int64_t run,
                 const void *data, size_t size, size_t first, size_t count, size_t *total)
{
    size_t plain = ZSTD_decompressDCtx(code->reading, code->plain, PLAIN_BYTES, data, size);
    const uint8_t *at = code->plain, *end = code->plain + plain;
    uint64_t head[6];
    if (ZSTD_isError(plain) || count > PAGE_ROWS)
        return false;
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        if (!(at = get_number(at, end, &head[i])))
            return false;
    if (head[0] != table->number || head[1] != (uint64_t)run || head[2] != first ||
        head[3] != count || head[5] != table->column_count)
        return false;
    *total = head[4];
    for (size_t i = 0; i < table->column_count; i++) {
        uint32_t length = 0;
        if (end - at < 4)
            return false;
        for (int byte = 0; byte < 4; byte++)
            length |= (uint32_t)*at++ << 8 * byte;
        if (length > (size_t)(end - at) || !decode_column(code, &table->columns[i], code->values[i],
                                                          first, count, at, at + length))
            return false;
        at += length;
        if (i == table->kind || i == table->peer)
            find_contexts(code, table, count);
    }
    return at == end;
}

int64_t page_value(const struct page_code *code, size_t column, size_t row)
{
    return code->values[column][row];
}
