/* Unwinding through images: backtraces, C++ exceptions, thread cancellation.
 *
 * The unwinder asks the dynamic linker which object holds an address (_dl_find_object, glibc 2.35
 * and later). The launcher answers first, for images, by arithmetic: no image is registered
 * anywhere, so there may be any number of them, and a signal handler may unwind. All other
 * addresses go on to the dynamic linker. With an older glibc the unwinder stops at an image's
 * frame. */
#include "sim/programs/clone.h"

#include "sim/libc/common.h"

#include <dlfcn.h>

#ifdef DLFO_STRUCT_HAS_EH_DBASE

int _dl_find_object(void *address, struct dl_find_object *found)
{
    LIBC_REAL(_dl_find_object);
    int index;
    const struct clone *clone = clone_find((uintptr_t)address, &index);
    if (!clone || !clone->image->unwind_table)
        return real(address, found);
    uintptr_t base = clone_base(clone, index);
    *found = (struct dl_find_object){.dlfo_map_start = (void *)(base + clone->image->low),
                                     .dlfo_map_end = (void *)(base + clone->image->high),
                                     .dlfo_eh_frame = (void *)(base + clone->image->unwind_table)};
    return 0;
}

#endif
typedef int unwind_not_empty;
