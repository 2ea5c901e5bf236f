/* The reserve for a program's fixed thread-locals: see static_tls.h. */
#include "sim/programs/static_tls.h"

#include <string.h>

#if defined(__x86_64__)

enum { RESERVE_SIZE = 4096, RESERVE_ALIGNMENT = 64 };

/* Linkers place .tcommon behind all other thread-locals, so that this ends where the thread pointer
 * points. */
__asm__(".pushsection .tcommon, \"awT\", @nobits\n"
        ".balign 64\n"
        ".globl static_tls_reserve\n"
        ".hidden static_tls_reserve\n"
        ".type static_tls_reserve, @tls_object\n"
        ".size static_tls_reserve, 4096\n"
        "static_tls_reserve:\n"
        ".zero 4096\n"
        ".popsection\n");
extern _Thread_local char static_tls_reserve[RESERVE_SIZE];

/* Whose values the calling thread's reserve holds. */
static _Thread_local struct {
    uintptr_t base;
    uint32_t generation;
} owner;

static uintptr_t thread_pointer(void)
{
    uintptr_t pointer;
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

int64_t static_tls_distance(const struct image *image)
{
    return -(int64_t)image_round_up(image->tls_size, image->tls_alignment);
}

bool static_tls_fits(const struct image *image)
{
    uintptr_t end = (uintptr_t)static_tls_reserve + RESERVE_SIZE;
    return end == thread_pointer() && image->tls_alignment <= RESERVE_ALIGNMENT &&
           -static_tls_distance(image) <= RESERVE_SIZE;
}

void static_tls_enter(const struct image *image, uintptr_t base, uint32_t generation)
{
    if (owner.base == base && owner.generation == generation)
        return;
    char *block = (char *)thread_pointer() + static_tls_distance(image);
    memcpy(block, (const void *)(base + image->tls_start), (size_t)image->tls_filled);
    memset(block + image->tls_filled, 0, (size_t)(image->tls_size - image->tls_filled));
    owner.base = base;
    owner.generation = generation;
}

#else

int64_t static_tls_distance(const struct image *image)
{
    (void)image;
    return 0;
}

bool static_tls_fits(const struct image *image)
{
    (void)image;
    return false;
}

void static_tls_enter(const struct image *image, uintptr_t base, uint32_t generation)
{
    (void)image, (void)base, (void)generation;
}

#endif
