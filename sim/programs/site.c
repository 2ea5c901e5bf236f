/* Places of calls, as images know them: what libc/hooks.h asks of the loader. */
#include "sim/programs/clone.h"

#include "sim/libc/hooks.h"

bool sim_libc_is_shim(const void *address)
{
    int index;
    const struct clone *clone = clone_find((uintptr_t)address, &index);
    return clone && clone->shim;
}

const void *sim_libc_site_of(const struct sim_libc_state *rank, const void *site)
{
    int index;
    const struct clone *clone = clone_find((uintptr_t)site, &index);
    if (!clone || rank->image < 0 || rank->image >= clone->count || index == rank->image)
        return site;
    return (const void *)((uintptr_t)site - clone_base(clone, index) +
                          clone_base(clone, rank->image));
}
