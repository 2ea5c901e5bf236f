/* What programs call of libc that allocates, or that moves memory out of the compiler's sight; text is
 * in strings.c, and formats.c prints. See wraps.h. */
#include "sim/libc/output.h"
#include "sim/memory/memory.h"
#include "sim/memory/objects.h"
#include "sim/memory/wraps.h"
#include "sim/worlds/fault.h"
#include "sim/worlds/rank.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* An injected fault: the caller gets none. */
static bool denied(void)
{
    if (!sim_current_rank || !sim_fault_no_memory(sim_current_rank))
        return false;
    errno = ENOMEM;
    return true;
}

/* In worlds that ask for it, what was freed and what nobody has written yet holds numbers that are
 * plain as doubles, floats and integers, and no program's own. */
static bool overwrites(void)
{
    const struct sim_rank *rank = sim_current_rank;
    return rank && rank->world->options.stale_memory;
}

static void overwrite(void *memory, size_t size)
{
    enum { STALE = 0x41, MOST = 1 << 24 };
    if (memory && overwrites())
        memset(memory, STALE, size < MOST ? size : MOST);
}

enum { PAGE = 4 << 10, HUGE_PAGE = 2 << 20 };

static uintptr_t up_to(uintptr_t address, uintptr_t page)
{
    return (address + page - 1) & -page;
}

/* Large memory comes in huge pages where the system has them: the first touch of each small page costs
 * as much as computing on it several times. What lies beside it, keeps its pages. */
static void make_huge(void *memory, size_t size)
{
    if (!memory || !sim_current_rank || size < 2 * HUGE_PAGE)
        return;
    uintptr_t first = up_to((uintptr_t)memory, HUGE_PAGE);
    uintptr_t end = ((uintptr_t)memory + size) & -(uintptr_t)HUGE_PAGE;
    int saved = errno;
    madvise((void *)first, end - first, MADV_HUGEPAGE); /* else they are small, as ever */
    errno = saved;
}

static void give_pages(uintptr_t from, uintptr_t to)
{
    enum { SHARE = 16 }; /* of the machine's memory: who asks for much may use little of it */
    static _Atomic size_t given, most;
    if (!most)
        most = (size_t)sysconf(_SC_PHYS_PAGES) / SHARE * PAGE;
    if (from >= to || given + (to - from) > most)
        return;
    given += to - from;
    from &= -(uintptr_t)PAGE;
    madvise((void *)from, up_to(to, PAGE) - from,
            MADV_POPULATE_WRITE); /* else one by one, as ever */
}

/* A small page of zeroed memory that a program reads before it writes there comes twice, and for the
 * write every core has to forget the page that was read: that takes longer than computing on it.
 * Small pages of all but the least memory are given at once, so that there is none to forget. */
static void make_present(void *memory, size_t size)
{
    enum { LEAST = 128 << 10 };
    if (!memory || !sim_current_rank || size < LEAST)
        return;
    uintptr_t from = (uintptr_t)memory, to = from + size;
    bool huge = size >= 2 * HUGE_PAGE;
    int saved = errno;
    give_pages(from, huge ? up_to(from, HUGE_PAGE) : to);
    if (huge)
        give_pages(to & -(uintptr_t)HUGE_PAGE, to);
    errno = saved;
}

WRAP(void *, malloc, (size_t size))
{
    void *memory = denied() ? NULL : malloc(size);
    make_huge(memory, size);
    overwrite(memory, size);
    sim_objects_add(memory, size, CALLER);
    return memory;
}

WRAP(void *, calloc, (size_t count, size_t size))
{
    void *memory = denied() ? NULL : calloc(count, size);
    make_huge(memory, count * size);
    make_present(memory, count * size);
    sim_objects_add(memory, count * size, CALLER);
    return memory;
}

WRAP(void *, realloc, (void *old, size_t size))
{
    enum { SMALL = 64 << 10 }; /* is copied, so that what it was can be held back */
    if (denied())
        return NULL; /* the old memory stays */
    size_t had = sim_objects_size(old), room = had ? malloc_usable_size(old) : 0;
    size_t before = overwrites() ? had : 0;
    bool lost = !sim_memory_release(old, CALLER);
    bool moves = lost || (had && had <= SMALL && had <= room && size > room);
    void *memory = moves ? malloc(size) : realloc(old, size);
    if (moves && memory) {
        memcpy(memory, old, had < size ? had : size);
        if (!lost && !sim_objects_hold(old, had, CALLER))
            free(old);
    }
    if (!memory && size && had && !lost) /* the old memory stays */
        sim_objects_add(old, had, CALLER);
    if (memory && size > before && (before || !old)) /* nobody has written what is new */
        overwrite((char *)memory + before, size - before);
    sim_objects_add(memory, size, CALLER);
    return memory;
}

WRAP(void *, aligned_alloc, (size_t alignment, size_t size))
{
    void *memory = denied() ? NULL : aligned_alloc(alignment, size);
    make_huge(memory, size);
    overwrite(memory, size);
    sim_objects_add(memory, size, CALLER);
    return memory;
}

WRAP(int, posix_memalign, (void **memory, size_t alignment, size_t size))
{
    int error = denied() ? ENOMEM : posix_memalign(memory, alignment, size);
    if (!error)
        make_huge(*memory, size);
    if (!error)
        overwrite(*memory, size);
    if (!error)
        sim_objects_add(*memory, size, CALLER);
    return error;
}

WRAP(void, free, (void *memory))
{
    int saved = errno;
    if (overwrites())
        overwrite(memory, sim_objects_size(memory));
    sim_memory_free(memory, CALLER);
    errno = saved;
}

/* ---- of instrumented programs only ---- */

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

WRAP(int, bcmp, (const void *a, const void *b, size_t size))
{
    READS(a, size);
    READS(b, size);
    return memcmp(a, b, size);
}

WRAP(void *, mempcpy, (void *to, const void *from, size_t size))
{
    copied(to, from, size, CALLER);
    return mempcpy(to, from, size);
}

WRAP(void *, memchr, (const void *memory, int value, size_t size))
{
    char *found = memchr(memory, value, size);
    READS(memory, found ? (size_t)(found - (char *)(uintptr_t)memory) + 1 : size);
    return found;
}

WRAP(void, qsort,
     (void *memory, size_t count, size_t size, int (*compare)(const void *, const void *)))
{
    WRITES(memory, count * size);
    qsort(memory, count, size, compare);
}

/* As fortified headers call them. */
void *__memcpy_chk(void *to, const void *from, size_t size, size_t room);
void *__memmove_chk(void *to, const void *from, size_t size, size_t room);
void *__mempcpy_chk(void *to, const void *from, size_t size, size_t room);
void *__memset_chk(void *to, int value, size_t size, size_t room);
size_t __fread_chk(void *to, size_t room, size_t size, size_t count, FILE *file);
ssize_t __read_chk(int file, void *to, size_t size, size_t room);

WRAP(void *, __memcpy_chk, (void *to, const void *from, size_t size, size_t room))
{
    copied(to, from, size, CALLER);
    return __memcpy_chk(to, from, size, room);
}

WRAP(void *, __memmove_chk, (void *to, const void *from, size_t size, size_t room))
{
    copied(to, from, size, CALLER);
    return __memmove_chk(to, from, size, room);
}

WRAP(void *, __mempcpy_chk, (void *to, const void *from, size_t size, size_t room))
{
    copied(to, from, size, CALLER);
    return __mempcpy_chk(to, from, size, room);
}

WRAP(void *, __memset_chk, (void *to, int value, size_t size, size_t room))
{
    WRITES(to, size);
    return __memset_chk(to, value, size, room);
}

WRAP(size_t, __fread_chk, (void *to, size_t room, size_t size, size_t count, FILE *file))
{
    WRITES(to, size * count);
    return __fread_chk(to, room, size, count, file);
}

WRAP(ssize_t, __read_chk, (int file, void *to, size_t size, size_t room))
{
    WRITES(to, size);
    return __read_chk(file, to, size, room);
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

WRAP(ssize_t, write, (int file, const void *from, size_t size))
{
    READS(from, size);
    return sim_libc_write(file, from, size);
}
