#include "checker/memory.h"

#include "traces/base/failure.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *give(void *block, size_t count, size_t size)
{
    if (!block) {
        fprintf(stderr, "simrun: out of memory in the checker (%zu elements of %zu bytes)\n", count,
                size);
        exit(FAILURE_INTERNAL);
    }
    return block;
}

void *check_new(size_t count, size_t size)
{
    return give(calloc(count ? count : 1, size), count, size);
}

void *check_grow(void *block, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return block;
    size_t more = *room < 8 ? 8 : *room * 2;
    if (more < need)
        more = need;
    block = give(reallocarray(block, more, size), more, size);
    *room = more;
    return block;
}

char *check_text(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return give(text, 1, 1);
}
