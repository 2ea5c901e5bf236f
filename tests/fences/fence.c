/* malloc of a test program that is no sanitizer's: see fence.h. */
#include "tests/fences/fence.h"

#include "tests/sanitized.h"

bool fence_low;

#if SANITIZED

const bool fence_stands = false;

long fence_live(void)
{
    return 0;
}

long fence_wrong(void)
{
    return 0;
}

#else

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* glibc's own functions under the names that stay when ours take their place. */
void *__libc_malloc(size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *old);

#define PAGE ((size_t)4096)
enum { PAGES = 1 << 17, BLOCKS_MAX = 6000, CLASSES = 64 };

struct block {   /* of the page that a block begins with; behind the block is a page out of reach */
    size_t size; /* SIZE_MAX: it was given back */
    uint32_t pages, next; /* of those that are free; 0: none */
};

const bool fence_stands = true;
static char *space;
static uint32_t space_used = 1, block_count; /* pages: the first is a fence */
static struct block blocks[PAGES];
static uint32_t free_blocks[CLASSES]; /* by pages */
static _Atomic long live, wrong;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void enter(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        sched_yield(); /* who holds it may not run */
}

static void leave(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

/* Of a process with several threads, the child has only the one that forked. */
static __attribute__((constructor)) void guard_forks(void)
{
    pthread_atfork(enter, leave, leave);
}

long fence_live(void)
{
    return live;
}

long fence_wrong(void)
{
    return wrong;
}

/* 0: none. The number of maps of a process is bounded, and a program that makes many wants them itself. */
static uint32_t new_block(size_t pages)
{
    if (!space) {
        void *begin =
            mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        space = begin == MAP_FAILED ? NULL : begin;
    }
    if (!space || block_count == BLOCKS_MAX || pages + 1 > PAGES - space_used ||
        mprotect(space + space_used * PAGE, pages * PAGE, PROT_READ | PROT_WRITE) != 0)
        return 0;
    uint32_t at = space_used;
    space_used += (uint32_t)pages + 1;
    block_count++;
    blocks[at].pages = (uint32_t)pages;
    return at;
}

static uint32_t take_block(size_t pages)
{
    uint32_t at = pages < CLASSES ? free_blocks[pages] : 0;
    if (!at)
        return pages < CLASSES ? new_block(pages) : 0;
    free_blocks[pages] = blocks[at].next;
    return at;
}

static bool is_ours(const void *address)
{
    const char *at = address;
    return space && at >= space && at < space + PAGES * PAGE;
}

static uint32_t block_of(const void *address)
{
    return (uint32_t)((size_t)((const char *)address - space) / PAGE);
}

static void *give(size_t size)
{
    if (size > CLASSES * PAGE)
        return __libc_malloc(size);
    size_t room = (size + 15) / 16 * 16, pages = (room + PAGE - 1) / PAGE;
    pages += pages == 0;
    enter();
    uint32_t at = take_block(pages);
    leave();
    if (!at)
        return __libc_malloc(size);
    live++;
    blocks[at].size = size;
    char *given = space + at * PAGE + (fence_low ? 0 : pages * PAGE - (room ? room : 16));
    memset(given, 0xa5, room);
    return given;
}

/* Weak: a test may have its own. */
#define WEAK __attribute__((weak))

WEAK void *malloc(size_t size)
{
    return give(size);
}

WEAK void *calloc(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    void *given = give(count * size);
    return given ? memset(given, 0, count * size) : NULL;
}

static void take_back(void *old)
{
    uint32_t at = block_of(old);
    struct block *block = &blocks[at];
    if (block->size == SIZE_MAX || block->pages == 0) {
        wrong++;
        return;
    }
    live--;
    memset(old, 0xdd, block->size);
    block->size = SIZE_MAX;
    enter();
    block->next = free_blocks[block->pages];
    free_blocks[block->pages] = at;
    leave();
}

WEAK void free(void *old)
{
    int kept = errno;
    if (is_ours(old))
        take_back(old);
    else
        __libc_free(old);
    errno = kept;
}

WEAK void *realloc(void *old, size_t size)
{
    if (old && !is_ours(old))
        return __libc_realloc(old, size);
    void *given = give(size);
    if (old && given) {
        size_t had = blocks[block_of(old)].size;
        memcpy(given, old, had < size ? had : size);
        take_back(old);
    }
    return given;
}

WEAK size_t malloc_usable_size(void *given)
{
    static size_t (*theirs)(void *);
    if (given && is_ours(given))
        return blocks[block_of(given)].size;
    if (!theirs)
        *(void **)&theirs = dlsym(RTLD_NEXT, "malloc_usable_size");
    return theirs(given);
}

#endif
