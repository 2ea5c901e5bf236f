/* Types of C as debug information describes them, flattened: which number lies at which byte. */
#ifndef SIM_DEBUG_TYPE_H
#define SIM_DEBUG_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum debug_kind {
    DEBUG_OPAQUE, /* characters, pointers, unions, bit fields: anything may lie there */
    DEBUG_INTEGER,
    DEBUG_FLOATING
};

/* A number, or as many of one kind, side by side, as an array has. */
struct debug_leaf {
    size_t offset, size, count;
    enum debug_kind kind;
    uint64_t target;  /* of a pointer: the description of what it points to; 0: none */
    const char *name; /* of the member; NULL: it has none */
};

struct debug_file;

/* One element: of an array its element, however many dimensions that has; a complex number is two
 * leaves. */
struct debug_type {
    size_t size;               /* 0: not known, and no leaf is */
    struct debug_leaf *leaves; /* by offset */
    size_t leaf_count;
    bool opaque;    /* no leaf is a number */
    bool open;      /* ends with an array of no declared length, */
    size_t tail_at; /* which begins here */
    uint64_t tail;  /* and of whose elements this is the description */
    bool points;    /* a leaf has a target */
    struct debug_file *file;
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
