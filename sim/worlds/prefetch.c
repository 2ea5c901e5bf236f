/* Whence ranks call: see prefetch.h. */
#include "sim/worlds/prefetch.h"

#include "sim/programs/clone.h"

#include <string.h>

/* Bytes from the image's own range only. */
static bool bytes_at(const struct clone *clone, int index, uintptr_t address, void *to, size_t size)
{
    if (clone_index(clone, address) != index || clone_index(clone, address + size - 1) != index)
        return false;
    memcpy(to, (const void *)address, size);
    return true;
}

#if defined __x86_64__
/* The word that a call which returns to `site` took its target from, 0: not known. Either
 * `call *word(%rip)`, or a direct call of a stub that is `jmp *word(%rip)`, perhaps behind an
 * endbr64. */
static uintptr_t word_called(const struct clone *clone, int index, uintptr_t site)
{
    unsigned char call[6], stub[12];
    int32_t distance;
    if (!bytes_at(clone, index, site - sizeof call, call, sizeof call))
        return 0;
    memcpy(&distance, call + 2, sizeof distance);
    if (call[0] == 0xff && call[1] == 0x15)
        return site + (uintptr_t)(intptr_t)distance;
    if (call[1] != 0xe8)
        return 0;
    uintptr_t target = site + (uintptr_t)(intptr_t)distance;
    if (!bytes_at(clone, index, target, stub, sizeof stub))
        return 0;
    static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    size_t at = memcmp(stub, endbr64, sizeof endbr64) ? 0 : sizeof endbr64;
    if (stub[at] != 0xff || stub[at + 1] != 0x25)
        return 0;
    memcpy(&distance, stub + at + 2, sizeof distance);
    return target + at + 6 + (uintptr_t)(intptr_t)distance;
}
#else
static uintptr_t word_called(const struct clone *clone, int index, uintptr_t site)
{
    (void)clone, (void)index, (void)site;
    return 0;
}
#endif

void sim_prefetch_learn(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    uintptr_t site = (uintptr_t)sim_libc_call_site();
    int index;
    const struct clone *clone = site ? clone_find(site, &index) : NULL;
    if (clone && clone->common) /* one word for all */
        world->ahead.wanted = false;
    if (!clone || clone->common || index != rank->libc.image)
        return;
    uintptr_t word = word_called(clone, index, site);
    if (!word || clone_index(clone, word) != index)
        return;
    world->ahead.word = (const char *)word - (uint64_t)index * clone->stride;
    world->ahead.stride = (size_t)clone->stride;
}
