/* Whose line a call is that comes through another MPI's library for another language: see hooks.h. That library's frames need not have their
 * pointers, so they are unwound; a function of it has a frame of one size, which is learned once for each place that it calls from. */
#include "sim/libc/common.h"
#include "sim/libc/images.h"

#include <unwind.h>

static bool is_above(const void *address, uintptr_t *bias)
{
    enum libc_between between = LIBC_PROGRAM;
    return libc_images->file_of(address, bias, &between) && between == LIBC_ABOVE_SHIM;
}

struct walk {
    const void *site, *outer;
    uintptr_t end; /* of the library's only frame; 0: there are several */
    int within;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data)
{
    struct walk *walk = data;
    uintptr_t bias;
    const void *at = (const void *)(uintptr_t)_Unwind_GetIP(context);
    if (!walk->within && at != walk->site)
        return _URC_NO_REASON;
    if (!walk->within++ || is_above((const char *)at - 1, &bias))
        return _URC_NO_REASON;
    walk->outer = at;
    walk->end = walk->within == 2 ? (uintptr_t)_Unwind_GetCFA(context) : 0;
    return _URC_END_OF_STACK;
}

const void *sim_libc_outer_site(const void *site, void *const *frame)
{
    enum { PLACES = 256 };
    static _Thread_local struct {
        uintptr_t site; /* from where its file begins: ranks have copies */
        ptrdiff_t up;   /* how many words above the frame its caller's line is */
    } places[PLACES];
    uintptr_t bias = 0;
    if (!is_above((const char *)site - 1, &bias))
        return site;
    uintptr_t key = (uintptr_t)site - bias;
    size_t place = (key ^ key >> 8) % PLACES;
    if (places[place].site == key)
        return frame[places[place].up];
    struct walk walk = {.site = site};
    _Unwind_Backtrace(visit, &walk);
#ifdef __x86_64__
    if (walk.end) {
        places[place].site = key;
        places[place].up = (ptrdiff_t)(walk.end - (uintptr_t)frame) / (ptrdiff_t)sizeof *frame - 1;
    }
#endif
    return walk.outer ? walk.outer : site;
}
