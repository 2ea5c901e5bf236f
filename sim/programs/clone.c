/* Making images: see clone.h.
 *
 * Rules:
 *  1. Nothing is stored about an image's place but its index: base, block of thread-locals and
 *     getopt's variables are found by arithmetic.
 *  2. Everything behind data_filled is zero before relocate_apply: fresh pages are, used ones are
 *     put back, small ranges by writing, large ones by giving the pages back to the kernel.
 *  3. The list of clones is read without a lock, since unwinding does so in signal handlers; an
 *     entry is complete before it is visible and cleared before its memory goes. */
#include "sim/programs/clone.h"

#include "sim/libc/common.h"
#include "sim/programs/static_tls.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CLONES_MAX = 256 };

static _Atomic(struct clone *) clones[CLONES_MAX];
static _Atomic int clones_seen; /* places behind it were never taken: unwinders search often */

/* Thread-locals of threads that a rank started: one block per image touched, on the thread's own
 * list. */
struct thread_block {
    struct thread_block *next;
    uintptr_t image_block; /* which image's thread-locals these are */
    uint32_t generation;
    unsigned char *bytes;
};

static _Thread_local struct thread_block *thread_blocks;

uintptr_t clone_base(const struct clone *clone, int index)
{
    assert(index >= 0 && index < clone->count);
    return clone->first + (clone->common ? 0 : (uint64_t)index * clone->stride) - clone->image->low;
}

int clone_index(const struct clone *clone, uintptr_t address)
{
    if (address < clone->first || address - clone->first >= clone->reserved)
        return -1;
    uint64_t index = (address - clone->first) / clone->stride;
    uint64_t inside = (address - clone->first) % clone->stride;
    return inside < clone->span && index < (uint64_t)clone->count ? (int)index : -1;
}

struct clone *clone_find(uintptr_t address, int *index)
{
    int seen = atomic_load_explicit(&clones_seen, memory_order_acquire);
    for (int i = 0; i < seen; i++) {
        struct clone *clone = atomic_load_explicit(&clones[i], memory_order_acquire);
        *index = clone ? clone_index(clone, address) : -1;
        if (*index >= 0)
            return clone;
    }
    *index = -1;
    return NULL;
}

/* False when the list is full: the clone works, but nobody finds it by address. */
static bool clone_enlist(struct clone *clone)
{
    for (int i = 0; i < CLONES_MAX; i++) {
        struct clone *none = NULL;
        if (!atomic_compare_exchange_strong(&clones[i], &none, clone))
            continue;
        int seen = atomic_load(&clones_seen);
        while (seen <= i && !atomic_compare_exchange_weak(&clones_seen, &seen, i + 1)) {
        }
        return true;
    }
    return false;
}

static void clone_unlist(struct clone *clone)
{
    for (int i = 0; i < CLONES_MAX; i++) {
        struct clone *mine = clone;
        atomic_compare_exchange_strong(&clones[i], &mine, NULL);
    }
}

uint64_t clone_bytes_copied(const struct clone *clone)
{
    return image_round_up(clone->image->data_filled, image_page()) - clone->image->low;
}

int clone_maps(const struct clone *clone)
{
    const struct image *image = clone->image;
    int maps = 2 * image->piece_count;
    for (int i = 1; i < image->piece_count; i++) /* adjacent pieces have no gap between them */
        maps -=
            image->pieces[i - 1].address + image->pieces[i - 1].size == image->pieces[i].address;
    return maps;
}

static void layout_plan(struct clone *clone)
{
    const struct image *image = clone->image;
    uint64_t alignment = image->tls_alignment > 16 ? image->tls_alignment : 16;
    uint64_t end = image->data_filled;
    const Elf64_Phdr *segment = image->segments.start;
    for (size_t i = 0; i < image->segments.count; i++)
        if (segment[i].p_type == PT_LOAD && segment[i].p_vaddr + segment[i].p_memsz > end)
            end = segment[i].p_vaddr + segment[i].p_memsz;
    end = end > image->data_start ? end : image->data_start;
    clone->extra.tls_block = image_round_up(end, alignment);
    clone->extra.getopt = image_round_up(clone->extra.tls_block + image->tls_size, 16);
    end = clone->extra.getopt + sizeof(struct resolve_getopt);
    clone->span = image_round_up(end, image_page()) - image->low;
}

static int pieces_map(const struct clone *clone, uintptr_t base, struct failure *failure)
{
    const struct image *image = clone->image;
    for (int i = 0; i < image->piece_count; i++) {
        const struct image_piece *piece = &image->pieces[i];
        void *at = (void *)(base + piece->address);
        if (mmap(at, (size_t)piece->size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
                 image->file_descriptor, (off_t)piece->file_offset) == MAP_FAILED)
            return failure_set(failure, FAILURE_INTERNAL,
                               "%s: cannot map an image: %s (vm.max_map_count is %ld)", image->path,
                               strerror(errno), range_maps_limit());
    }
    return 0;
}

/* The one image of a program without variables. */
static int common_make(struct clone *clone, struct failure *failure)
{
    const struct image *image = clone->image;
    uintptr_t base = clone_base(clone, 0);
    int status = pieces_map(clone, base, failure);
    if (status)
        return status;
    relocate_apply(&clone->plan, image, &clone->extra, base);
    mprotect((void *)(base + image->data_start), image->low + clone->span - image->data_start,
             PROT_READ);
    return 0;
}

void clone_open(struct clone *clone, const struct image *image, int count, bool own_threads)
{
    *clone = (struct clone){.image = image, .count = count, .program = clone};
    clone->common = image->piece_count && !image_has_variables(image);
    clone->extra.own_threads = own_threads;
    layout_plan(clone);
}

int clone_place(struct clone *clone, const struct resolver *resolver, const struct range *range,
                uint64_t offset, struct failure *failure)
{
    clone->first = range->first + offset;
    clone->stride = range->stride;
    clone->copied = range->copied;
    clone->reserved =
        (size_t)((uint64_t)(clone->common ? 0 : clone->count - 1) * clone->stride + clone->span);
    clone->states = calloc((size_t)clone->count, sizeof *clone->states);
    int status =
        clone->states
            ? relocate_plan(&clone->plan, clone->image, resolver, &clone->extra, failure)
            : failure_set(failure, FAILURE_INTERNAL, "%s: out of memory", clone->image->path);
    status = status || !clone->common ? status : common_make(clone, failure);
    if (status)
        return status;
    clone->static_tls = clone->plan.uses_static_tls;
    clone_enlist(clone);
    return 0;
}

void clone_release(struct clone *clone)
{
    clone_unlist(clone);
    for (int i = 0; clone->states && i < clone->count; i++)
        libc_handlers_forget(&clone->states[i].handlers);
    relocate_release(&clone->plan);
    free(clone->states);
    *clone = (struct clone){0};
}

static void pieces_copy(const struct clone *clone, uintptr_t base)
{
    const struct image *image = clone->image;
    const Elf64_Phdr *segment = image->segments.start;
    for (size_t i = 0; i < image->segments.count; i++, segment++)
        if (segment->p_type == PT_LOAD && segment->p_vaddr < image->data_start)
            memcpy((void *)(base + segment->p_vaddr), image->file + segment->p_offset,
                   (size_t)segment->p_filesz);
    __builtin___clear_cache((char *)(base + image->low), (char *)(base + image->data_start));
}

/* Puts zeros where an earlier life of the image may have written. */
static void zero_again(const struct clone *clone, uintptr_t base)
{
    uintptr_t start = base + clone->image->data_filled, page = (uintptr_t)image_page();
    uintptr_t end = base + clone->image->low + clone->span, whole = image_round_up(start, page);
    if (end - whole <= 2 * page || madvise((void *)whole, end - whole, MADV_DONTNEED))
        whole = end;
    memset((void *)start, 0, whole - start);
}

/* All pages that will be written, at once: one call instead of a fault for each. A kernel that does not know it leaves
 * that to the faults. */
static void pages_fetch(const struct clone *clone, uintptr_t base)
{
#ifdef MADV_POPULATE_WRITE
    const struct image *image = clone->image;
    uint64_t page = image_page(), end = image_round_up(image->data_filled, page);
    if (end - image->data_start > page)
        madvise((void *)(base + image->data_start), end - image->data_start, MADV_POPULATE_WRITE);
#else
    (void)clone, (void)base;
#endif
}

int clone_make(struct clone *clone, int index, struct failure *failure)
{
    uintptr_t base = clone_base(clone, index);
    struct clone_state *state = &clone->states[index];
    libc_handlers_forget(&state->handlers);
    if (clone->common)
        return 0;
    if (state->generation) {
        zero_again(clone, base);
    } else if (clone->copied) {
        pieces_copy(clone, base);
    } else {
        int status = pieces_map(clone, base, failure);
        if (status)
            return status;
        pages_fetch(clone, base);
    }
    relocate_apply(&clone->plan, clone->image, &clone->extra, base);
    if (clone->extra.getopt_used)
        *(struct resolve_getopt *)(base + clone->extra.getopt) =
            (struct resolve_getopt){.optind = 1, .opterr = 1, .optopt = '?'};
    state->generation += state->generation == UINT32_MAX ? 2 : 1;
    clone_thread_enter(clone, index);
    return 0;
}

void clone_thread_enter(const struct clone *clone, int index)
{
    if (clone->static_tls && clone->states[index].generation)
        static_tls_enter(clone->image, clone_base(clone, index), clone->states[index].generation);
}

void clone_thread_end(void)
{
    while (thread_blocks) {
        struct thread_block *block = thread_blocks;
        thread_blocks = block->next;
        free(block->bytes);
        free(block);
    }
}

/* The initial values of the thread-locals are in the image itself, already relocated. */
static bool thread_block_fill(struct thread_block *block, const struct clone *clone, int index)
{
    const struct image *image = clone->image;
    size_t alignment = image->tls_alignment > 16 ? (size_t)image->tls_alignment : 16;
    size_t size = (size_t)image_round_up(image->tls_size, alignment);
    if (!block->bytes)
        block->bytes = aligned_alloc(alignment, size);
    if (!block->bytes)
        return false;
    memset(block->bytes, 0, size);
    memcpy(block->bytes, (const void *)(clone_base(clone, index) + image->tls_start),
           (size_t)image->tls_filled);
    block->generation = clone->states[index].generation;
    return true;
}

static unsigned char *thread_block_find(uintptr_t image_block)
{
    int index;
    const struct clone *clone = clone_find(image_block, &index);
    struct thread_block *block = thread_blocks;
    while (block && block->image_block != image_block)
        block = block->next;
    if (clone && block && block->generation == clone->states[index].generation)
        return block->bytes;
    if (clone && !block && (block = calloc(1, sizeof *block))) {
        *block = (struct thread_block){.next = thread_blocks, .image_block = image_block};
        thread_blocks = block;
    }
    /* There is no way to report: the program asked for the address of a variable. */
    if (!clone || !block || !thread_block_fill(block, clone, index))
        abort();
    return block->bytes;
}

/* What images call for the address of a thread-local: the "module" is the address of the image's
 * own block. */
void *tls_get_address(const size_t index[2])
{
    if (!libc_thread_started)
        return (void *)(index[0] + index[1]);
    return thread_block_find(index[0]) + index[1];
}

/* For descriptors, which hold the address of a variable in the image's own block: where the calling
 * thread, one that a rank started, has it. */
uintptr_t tls_descriptor_address(uintptr_t address)
{
    int index;
    const struct clone *clone = clone_find(address, &index);
    if (!clone)
        abort();
    uintptr_t block = clone_base(clone, index) + clone->extra.tls_block;
    return (uintptr_t)thread_block_find(block) + (address - block);
}
