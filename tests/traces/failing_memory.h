/* Memory that runs out: the `countdown`-th allocation of the process fails. Not under a sanitizer, which has an allocator of its own.
 * Included by one source of a program. */
#ifndef TESTS_TRACES_FAILING_MEMORY_H
#define TESTS_TRACES_FAILING_MEMORY_H

#include "tests/sanitized.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>

#if !SANITIZED

/* glibc's own functions under the names that stay when ours take their place. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *old);

static long countdown;    /* to the allocation that fails, 0: none will */
static long failed, held; /* how many failed, and how many blocks there are */

static bool fails(void)
{
    if (countdown == 0 || --countdown > 0)
        return false;
    failed++;
    errno = ENOMEM;
    return true;
}

static void *hold(void *block)
{
    held += block != NULL;
    return block;
}

void *malloc(size_t size)
{
    return fails() ? NULL : hold(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : hold(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    if (fails())
        return NULL;
    return old ? __libc_realloc(old, size) : hold(__libc_realloc(old, size));
}

void free(void *old)
{
    held -= old != NULL;
    __libc_free(old);
}

#else

static int failing_memory_skip(void)
{
    tap_plan(1);
    tap_skip(1, "a sanitizer has its own allocator");
    return tap_done();
}

#endif
#endif
