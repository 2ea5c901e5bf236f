/* Places of calls, as images know them: what libc/hooks.h asks of the loader. */
#include "sim/programs/clone.h"

#include "sim/libc/hooks.h"

#include <dlfcn.h>

bool sim_libc_is_shim(const void *address)
{
    int index;
    const struct clone *clone = clone_find((uintptr_t)address, &index);
    return clone && clone->shim;
}

const char *sim_libc_image_file(const void *address, uintptr_t *bias)
{
    int index;
    const struct clone *clone = clone_find((uintptr_t)address, &index);
    Dl_info info;
    if (clone) {
        *bias = clone_base(clone, index);
        return clone->shim ? NULL : clone->image->path;
    }
    if (sim_libc_in_launcher(address) || !dladdr(address, &info) || !info.dli_fname)
        return NULL;
    *bias = (uintptr_t)info.dli_fbase;
    return info.dli_fname;
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
