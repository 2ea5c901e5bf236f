/* Addresses within images: see site.h. */
#include "sim/programs/site.h"

#include "sim/programs/clone.h"

const char *site_file(const void *address, uintptr_t *bias, enum libc_between *between)
{
    int index;
    const struct clone *clone = clone_find((uintptr_t)address, &index);
    if (!clone)
        return NULL;
    *bias = clone_base(clone, index);
    *between = clone->between;
    return clone->image->path;
}

const void *site_in(int image, const void *site)
{
    int index;
    const struct clone *clone = clone_find((uintptr_t)site, &index);
    if (!clone || image < 0 || image >= clone->count || index == image)
        return site;
    return (const void *)((uintptr_t)site - clone_base(clone, index) + clone_base(clone, image));
}

struct libc_handler **site_handlers(const void *address)
{
    int index;
    const struct clone *clone = clone_find((uintptr_t)address, &index);
    return clone ? &clone->program->states[index].handlers : NULL;
}
