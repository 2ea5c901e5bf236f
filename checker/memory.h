/* Memory of the checkers: zeroed blocks that are never NULL.
 *
 * A checker has nothing useful to say without memory, so running out ends the process with status 5
 * and one sentence; the run being checked is already safe in the parent's database by then. */
#ifndef CHECKER_MEMORY_H
#define CHECKER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* `count` zeroed elements of `size` bytes; free() them. A count of 0 gives a valid block too. */
void *check_new(size_t count, size_t size);
/* Makes room for `need` elements in `block`, whose room is `*room`; the block may move. */
void *check_grow(void *block, size_t *room, size_t need, size_t size);
/* For qsort: negative, 0 or positive. */
static inline int check_order_of(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}
/* The same of numbers in an array. */
static inline int check_by_number(const void *a, const void *b)
{
    return check_order_of(*(const uint32_t *)a, *(const uint32_t *)b);
}
/* Formatted text, owned by the caller. */
char *check_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
