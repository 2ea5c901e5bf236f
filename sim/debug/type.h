/* Types of C as debug information describes them, flattened: which number lies at which byte. */
#ifndef SIM_DEBUG_TYPE_H
#define SIM_DEBUG_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

enum debug_kind {
    DEBUG_OPAQUE, /* characters, pointers, unions, bit fields: anything may lie there */
    DEBUG_INTEGER,
    DEBUG_FLOATING
};

struct debug_leaf {
    size_t offset, size;
    enum debug_kind kind;
};

/* One element: of an array its element, however many dimensions that has; a complex number is two
 * leaves. */
struct debug_type {
    size_t size;               /* 0: not known, and no leaf is */
    struct debug_leaf *leaves; /* by offset */
    size_t leaf_count;
    bool opaque; /* no leaf is a number */
    bool open;   /* ends with an array of no declared length */
    char name[64];
};

/* Of a type that is no array. Owner: the caller, debug_type_free. NULL: out of memory. */
struct debug_type *debug_type_new(Dwarf_Die *die);
void debug_type_free(struct debug_type *type);

/* The leaf that a byte of the element belongs to; NULL: none, it is padding. */
const struct debug_leaf *debug_type_leaf(const struct debug_type *type, size_t offset);

/* The type without typedefs and qualifiers. False: it has none, as void. */
bool debug_type_peel(Dwarf_Die *variable, Dwarf_Die *type);

#endif
