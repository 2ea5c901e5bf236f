/* The memory behind a trace: see memory.h. */
#include "traces/trace/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct trace_block {
    struct trace_block *next;
    size_t used, size;
    max_align_t data[];
};

enum { BLOCK_SIZE = 64 * 1024, LARGE_TABLE = 1 << 24 };

/* Tables of many megabytes in large pages: taking their memory page by page costs as much as
 * filling it. A wish only; where it is not granted nothing changes. All pages of the table are
 * asked for, the first and last too: a mapping with two kinds of pages cannot grow in place. */
static void ask_large_pages(const char *start, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)start & ~(page - 1);
    uintptr_t to = ((uintptr_t)start + size + page - 1) & ~(page - 1);
    madvise((void *)from, to - from, MADV_HUGEPAGE);
}

bool trace_memory_grow(struct trace_store *store, void *table, size_t count, size_t *room,
                       size_t row)
{
    if (count < *room)
        return true;
    void *old;
    memcpy(&old, table, sizeof old);
    size_t wanted = *room ? *room * 2 : 16;
    void *moved = wanted <= (size_t)TRACE_ROWS_MAX + 1 ? realloc(old, wanted * row) : NULL;
    if (!moved) {
        store->failed = true;
        return false;
    }
    if (wanted * row >= LARGE_TABLE)
        ask_large_pages(moved, wanted * row);
    memcpy(table, &moved, sizeof moved);
    *room = wanted;
    return true;
}

void trace_hashes_forget(struct trace_store *store)
{
    free(store->hashes);
    store->hashes = NULL;
}

static struct trace_block *block_new(struct trace_store *store, size_t size)
{
    size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    struct trace_block *block = calloc(1, sizeof *block + room);
    if (!block) {
        store->failed = true;
        return NULL;
    }
    block->size = room;
    block->next = store->blocks;
    store->blocks = block;
    return block;
}

void *trace_memory_take(struct trace_store *store, size_t size)
{
    size_t aligned = (size + 15) & ~(size_t)15;
    struct trace_block *block = store->blocks;
    if (!block || block->size - block->used < aligned)
        block = block_new(store, aligned);
    if (!block)
        return NULL;
    void *place = (char *)block->data + block->used;
    block->used += aligned;
    return place;
}

const char *trace_memory_text(struct trace_store *store, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = trace_memory_take(store, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

void trace_memory_release(struct trace_store *store)
{
    while (store->blocks) {
        struct trace_block *next = store->blocks->next;
        free(store->blocks);
        store->blocks = next;
    }
    free(store->string_table);
    free(store->site_table);
    free(store->forms);
    free(store->hashes);
    free(store);
}
