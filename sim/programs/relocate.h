/* Relocation worked out once for all images of a program.
 *
 * The dynamic linker applies a program's relocations for one place. Here they are sorted, once, by
 * how they depend on the place: most give the same word everywhere, the others the image's base
 * plus a constant. An image is then a copy of prepared bytes, plus its base added to a list of
 * words: no symbol is looked up and no relocation read again. Thread-locals are part of this: an
 * image carries its own block of them at a fixed distance from its base, so the module number that
 * `__tls_get_addr` is called with is simply the address of that block.
 *
 * The two `relocate_<architecture>.c` files know relocation numbers and the few instructions that C
 * cannot say. */
#ifndef SIM_PROGRAMS_RELOCATE_H
#define SIM_PROGRAMS_RELOCATE_H

#include "sim/elf/image.h"
#include "sim/programs/resolve.h"

enum relocate_kind {
    RELOCATE_UNKNOWN,
    RELOCATE_NONE,
    RELOCATE_BASE,       /* base + addend */
    RELOCATE_SYMBOL,     /* symbol + addend */
    RELOCATE_COPY,       /* the symbol's bytes as another object initialised them */
    RELOCATE_CALL,       /* what the function at base + addend returns */
    RELOCATE_TLS_MODULE, /* which thread-local block */
    RELOCATE_TLS_OFFSET, /* where in that block */
    RELOCATE_TLS_STATIC, /* offset from the thread pointer: fixed for the process, so not per image
                          */
    RELOCATE_TLS_DESCRIPTOR, /* a function and its argument */
};

struct relocate_copy {
    uint64_t address;
    uint64_t source; /* an address of the process, or added to the base */
    uint64_t size;
    bool inside; /* the latter */
};

/* What every image is made from. All addresses are the linker's. */
struct relocate_plan {
    unsigned char
        *bytes; /* [image->data_start, image->data_filled), all but the base already in it */
    uint64_t *base_words; /* addresses of words to which the base is added */
    size_t base_count;
    uint64_t (*calls)[2]; /* word, function: the word becomes what the function returns */
    size_t call_count;
    struct relocate_copy *copies;
    size_t copy_count;
    bool uses_getopt;     /* reads or writes getopt's variables in relocate_extra */
    bool uses_static_tls; /* finds its thread-locals through the thread pointer */
};

/* Where an image keeps what is not in its file. */
struct relocate_extra {
    uint64_t tls_block; /* address of the thread-local block */
    uint64_t getopt;    /* address of a struct resolve_getopt; it may be in another module */
    bool getopt_used;   /* it is in this one, and somebody uses it */
    int module;         /* which of the resolver's this is */
    bool own_threads;   /* ranks are OS threads: thread-locals may be bound to them
                         * (sim/programs/static_tls.h)
                         */
};

/* Works the plan out; unresolved symbols and what cannot be done are reported in one sentence. On
 * failure the plan is empty. Owner: the caller, relocate_release. */
int relocate_plan(struct relocate_plan *plan, const struct image *image,
                  const struct resolver *resolver, const struct relocate_extra *extra,
                  struct failure *failure);
void relocate_release(struct relocate_plan *plan);

/* Makes the image at `base` pristine: bytes, base words, copies, calls, thread-local block.
 * Everything from data_filled on must be zero. The calls run selector functions of the module and
 * of those it needs, which must be made before it. */
void relocate_apply(const struct relocate_plan *plan, const struct image *image,
                    const struct relocate_extra *extra, uintptr_t base);

/* Of the architecture this was built for. */
enum relocate_kind relocate_classify(uint32_t type);
const char *relocate_name(uint32_t type); /* for messages; NULL if unknown */
uint64_t relocate_call(uintptr_t function);
uintptr_t
relocate_descriptor(void); /* the function for thread-local descriptors; 0 if there is none */
_Noreturn void relocate_enter(uintptr_t entry,
                              uint64_t *stack); /* as the kernel enters a program */

#endif
