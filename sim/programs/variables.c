/* Blocks of variables: see variables.h. */
#include "sim/programs/variables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, LARGE = 1 << 20, TOGETHER = 32 << 20 };

/* Where a pointer into the program's variables leads in a block; false if it leads elsewhere. What
 * points behind the last one is theirs, too. */
static bool offset_of(const struct image_separate *sections, uint64_t address, uint64_t *offset)
{
    if (address >= sections->filled && address - sections->filled <= sections->filled_size) {
        *offset = address - sections->filled;
        return true;
    }
    *offset = address - sections->zero + sections->filled_size;
    return address >= sections->zero && address - sections->zero <= sections->zero_size;
}

/* The words of the first section that point into one of both. */
static bool pointers_find(struct variables *variables, const struct relocate_plan *plan,
                          uintptr_t base)
{
    const struct image_separate *sections = &variables->sections;
    variables->pointers = calloc(plan->base_count + 1, sizeof *variables->pointers);
    for (size_t i = 0; variables->pointers && i < plan->base_count; i++) {
        uint64_t at = plan->base_words[i], word, offset;
        if (at < sections->filled || at - sections->filled >= sections->filled_size)
            continue;
        memcpy(&word, (const void *)(base + at), sizeof word);
        if (offset_of(sections, word - base, &offset))
            variables->pointers[variables->pointer_count++] = (size_t)(at - sections->filled);
    }
    return variables->pointers;
}

/* An odd number of units, so that the same variable of all ranks is spread over the sets of a
 * cache. */
static size_t stride_of(const struct image_separate *sections)
{
    uint64_t unit = sections->alignment > LINE ? sections->alignment : LINE;
    uint64_t units = image_round_up(sections->filled_size + sections->zero_size + 1, unit) / unit;
    return (size_t)((units | 1) * unit);
}

bool variables_open(struct variables *variables, const struct image *image,
                    const struct relocate_plan *plan, uintptr_t base, int count)
{
    *variables = (struct variables){0};
    if (!image_is_separate(image, &variables->sections))
        return true;
    variables->stride = stride_of(&variables->sections);
    variables->filled = (const char *)(base + variables->sections.filled);
    variables->reserved = (size_t)count * variables->stride;
    void *blocks = mmap(NULL, variables->reserved, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (blocks == MAP_FAILED || !pointers_find(variables, plan, base)) {
        if (blocks != MAP_FAILED)
            munmap(blocks, variables->reserved);
        *variables = (struct variables){0};
        return false;
    }
    variables->first = blocks;
    if (variables->reserved <= TOGETHER)
        madvise(blocks, variables->reserved, MADV_HUGEPAGE);
    return true;
}

void variables_release(struct variables *variables)
{
    if (variables->first)
        munmap(variables->first, variables->reserved);
    free(variables->pointers);
    *variables = (struct variables){0};
}

char *variables_block(const struct variables *variables, int index)
{
    return variables->first + (size_t)index * variables->stride;
}

/* Large ones by giving whole pages back. */
static void zero_again(char *start, size_t size)
{
    size_t page = (size_t)image_page();
    char *whole = (char *)image_round_up((uintptr_t)start, page);
    char *end = (char *)image_round_down((uintptr_t)start + size, page);
    if (size < LARGE || whole >= end || madvise(whole, (size_t)(end - whole), MADV_DONTNEED)) {
        memset(start, 0, size);
        return;
    }
    memset(start, 0, (size_t)(whole - start));
    memset(end, 0, (size_t)(start + size - end));
}

void variables_make(const struct variables *variables, int index, bool used)
{
    const struct image_separate *sections = &variables->sections;
    char *block = variables_block(variables, index);
    memcpy(block, variables->filled, (size_t)sections->filled_size);
    for (size_t i = 0; i < variables->pointer_count; i++) {
        char *word = block + variables->pointers[i];
        uint64_t value, offset;
        memcpy(&value, word, sizeof value);
        offset_of(sections, value - (uintptr_t)variables->filled + sections->filled, &offset);
        value = (uintptr_t)block + offset;
        memcpy(word, &value, sizeof value);
    }
    if (used)
        zero_again(block + sections->filled_size, (size_t)sections->zero_size);
}
