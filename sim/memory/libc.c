/* What programs call of libc that allocates, or that moves memory out of the compiler's sight.
 *
 * The compile cache links a program with --wrap=NAME for the names of SIM_WRAPPED_*, so that its
 * own calls (not a library's) arrive at __wrap_NAME in the launcher. */
#include "sim/memory/accesses.h"
#include "sim/memory/objects.h"
#include "sim/memory/pending.h"
#include "sim/worlds/fault.h"
#include "sim/worlds/rank.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLER __builtin_return_address(0)

#define WRAP(type, name, parameters)                                                               \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters

/* An injected fault: the caller gets none. */
static bool denied(void)
{
    if (!sim_current_rank || !sim_fault_no_memory(sim_current_rank))
        return false;
    errno = ENOMEM;
    return true;
}

WRAP(void *, malloc, (size_t size))
{
    void *memory = denied() ? NULL : malloc(size);
    sim_objects_add(memory, size, CALLER);
    return memory;
}

WRAP(void *, calloc, (size_t count, size_t size))
{
    void *memory = denied() ? NULL : calloc(count, size);
    sim_objects_add(memory, count * size, CALLER);
    return memory;
}

/* What is under way must not lose its memory. */
static void release(void *memory, const void *site)
{
    size_t size = sim_objects_size(memory);
    if (size)
        sim_pending_lose(sim_current_rank, (uintptr_t)memory, size, SIM_LOST_FREE, site);
    sim_objects_remove(memory);
}

WRAP(void *, realloc, (void *old, size_t size))
{
    if (denied())
        return NULL; /* the old memory stays */
    release(old, CALLER);
    void *memory = realloc(old, size);
    sim_objects_add(memory, size, CALLER);
    return memory;
}

WRAP(void *, aligned_alloc, (size_t alignment, size_t size))
{
    void *memory = denied() ? NULL : aligned_alloc(alignment, size);
    sim_objects_add(memory, size, CALLER);
    return memory;
}

WRAP(int, posix_memalign, (void **memory, size_t alignment, size_t size))
{
    int error = denied() ? ENOMEM : posix_memalign(memory, alignment, size);
    if (!error)
        sim_objects_add(*memory, size, CALLER);
    return error;
}

WRAP(void, free, (void *memory))
{
    int saved = errno;
    release(memory, CALLER);
    errno = saved;
    free(memory);
}

/* --- of instrumented programs only ------------------------------------------------------------ */

#define READS(address, size)  sim_access_range(address, size, false, CALLER)
#define WRITES(address, size) sim_access_range(address, size, true, CALLER)

static void copied(void *to, const void *from, size_t size, const void *site)
{
    sim_access_range(from, size, false, site);
    sim_access_range(to, size, true, site);
}

WRAP(void *, memcpy, (void *to, const void *from, size_t size))
{
    copied(to, from, size, CALLER);
    return memcpy(to, from, size);
}

WRAP(void *, memmove, (void *to, const void *from, size_t size))
{
    copied(to, from, size, CALLER);
    return memmove(to, from, size);
}

WRAP(void *, memset, (void *to, int value, size_t size))
{
    WRITES(to, size);
    return memset(to, value, size);
}

/* The same from clang's instrumentation. */
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memcpy(void *to, const void *from, size_t size)
{
    copied(to, from, size, CALLER);
    return memcpy(to, from, size);
}

void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size)
{
    copied(to, from, size, CALLER);
    return memmove(to, from, size);
}

void *__tsan_memset(void *to, int value, size_t size);
void *__tsan_memset(void *to, int value, size_t size)
{
    WRITES(to, size);
    return memset(to, value, size);
}

WRAP(int, memcmp, (const void *a, const void *b, size_t size))
{
    READS(a, size);
    READS(b, size);
    return memcmp(a, b, size);
}

WRAP(size_t, strlen, (const char *text))
{
    size_t length = strlen(text);
    READS(text, length + 1);
    return length;
}

WRAP(char *, strcpy, (char *to, const char *from))
{
    copied(to, from, strlen(from) + 1, CALLER);
    return strcpy(to, from);
}

WRAP(char *, strncpy, (char *to, const char *from, size_t size))
{
    READS(from, strnlen(from, size));
    WRITES(to, size);
    return strncpy(to, from, size);
}

WRAP(int, strcmp, (const char *a, const char *b))
{
    READS(a, strlen(a) + 1);
    READS(b, strlen(b) + 1);
    return strcmp(a, b);
}

WRAP(size_t, fread, (void *to, size_t size, size_t count, FILE *file))
{
    WRITES(to, size * count);
    return fread(to, size, count, file);
}

WRAP(size_t, fwrite, (const void *from, size_t size, size_t count, FILE *file))
{
    READS(from, size * count);
    return fwrite(from, size, count, file);
}

WRAP(ssize_t, read, (int file, void *to, size_t size))
{
    WRITES(to, size);
    return read(file, to, size);
}
