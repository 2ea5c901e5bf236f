/* Types of C, flattened: see type.h. */
#include "sim/debug/type.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What has more is opaque as a whole. */
enum { LEAVES_MAX = 512, DEPTH_MAX = 16 };

static bool add_leaf(struct debug_type *type, size_t offset, size_t size, enum debug_kind kind)
{
    if (type->leaf_count == LEAVES_MAX || !size)
        return false;
    type->leaves[type->leaf_count++] = (struct debug_leaf){offset, size, kind};
    return true;
}

bool debug_type_peel(Dwarf_Die *variable, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    Dwarf_Die named;
    return dwarf_formref_die(dwarf_attr_integrate(variable, DW_AT_type, &attribute), &named) &&
           !dwarf_peel_type(&named, type) && dwarf_tag(type) != DW_TAG_unspecified_type;
}

static size_t size_of(Dwarf_Die *die)
{
    Dwarf_Word size;
    return dwarf_aggregate_size(die, &size) ? 0 : (size_t)size;
}

static bool add_base(struct debug_type *type, Dwarf_Die *die, size_t offset)
{
    Dwarf_Attribute attribute;
    Dwarf_Word encoding;
    size_t size = size_of(die);
    if (dwarf_formudata(dwarf_attr(die, DW_AT_encoding, &attribute), &encoding))
        return false;
    switch (encoding) {
    case DW_ATE_float:
        return add_leaf(type, offset, size, DEBUG_FLOATING);
    case DW_ATE_complex_float:
        return add_leaf(type, offset, size / 2, DEBUG_FLOATING) &&
               add_leaf(type, offset + size / 2, size / 2, DEBUG_FLOATING);
    case DW_ATE_signed:
    case DW_ATE_unsigned:
    case DW_ATE_UTF:
        return add_leaf(type, offset, size, size > 1 ? DEBUG_INTEGER : DEBUG_OPAQUE);
    default:
        return add_leaf(type, offset, size, DEBUG_OPAQUE);
    }
}

static bool add_type(struct debug_type *type, Dwarf_Die *die, size_t offset, int depth);

static bool add_array(struct debug_type *type, Dwarf_Die *die, size_t offset, int depth)
{
    Dwarf_Die element;
    if (!debug_type_peel(die, &element))
        return false;
    size_t whole = size_of(die), each = size_of(&element);
    type->open |= !whole;
    for (size_t at = 0; each && at + each <= whole; at += each)
        if (!add_type(type, &element, offset + at, depth))
            return false;
    return true; /* a flexible one has no element of its own */
}

static bool add_members(struct debug_type *type, Dwarf_Die *die, size_t offset, int depth)
{
    Dwarf_Die child, member;
    Dwarf_Attribute attribute;
    Dwarf_Word at;
    for (int none = dwarf_child(die, &child); !none; none = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
            continue;
        if (dwarf_hasattr(&child, DW_AT_external)) /* static */
            continue;
        if (dwarf_hasattr(&child, DW_AT_bit_size))
            return false;
        if (!dwarf_attr(&child, DW_AT_data_member_location, &attribute))
            at = 0;
        else if (dwarf_formudata(&attribute, &at))
            return false;
        if (!debug_type_peel(&child, &member) ||
            !add_type(type, &member, offset + (size_t)at, depth))
            return false;
    }
    return true;
}

static bool add_type(struct debug_type *type, Dwarf_Die *die, size_t offset, int depth)
{
    size_t size = size_of(die);
    if (depth == DEPTH_MAX)
        return false;
    switch (dwarf_tag(die)) {
    case DW_TAG_base_type:
        return add_base(type, die, offset);
    case DW_TAG_enumeration_type:
        return add_leaf(type, offset, size, size > 1 ? DEBUG_INTEGER : DEBUG_OPAQUE);
    case DW_TAG_array_type:
        return add_array(type, die, offset, depth + 1);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
        return add_members(type, die, offset, depth + 1);
    default:
        return add_leaf(type, offset, size, DEBUG_OPAQUE);
    }
}

static int by_offset(const void *a, const void *b)
{
    const struct debug_leaf *one = a, *two = b;
    return (one->offset > two->offset) - (one->offset < two->offset);
}

static void name_set(struct debug_type *type, Dwarf_Die *die)
{
    const char *name = dwarf_diename(die);
    int tag = dwarf_tag(die);
    const char *before = tag == DW_TAG_structure_type     ? "struct "
                         : tag == DW_TAG_union_type       ? "union "
                         : tag == DW_TAG_enumeration_type ? "enum "
                                                          : "";
    snprintf(type->name, sizeof type->name, "%s%s", before, name ? name : "without a name");
}

struct debug_type *debug_type_new(Dwarf_Die *die)
{
    struct debug_type *type = calloc(1, sizeof *type);
    if (type)
        type->leaves = calloc(LEAVES_MAX, sizeof *type->leaves);
    if (!type || !type->leaves) {
        free(type);
        return NULL;
    }
    name_set(type, die);
    type->size = dwarf_hasattr(die, DW_AT_declaration) ? 0 : size_of(die);
    if (!type->size || !add_type(type, die, 0, 0))
        type->leaf_count = 0;
    qsort(type->leaves, type->leaf_count, sizeof *type->leaves, by_offset);
    type->opaque = true;
    for (size_t i = 0; i < type->leaf_count; i++)
        type->opaque &= type->leaves[i].kind == DEBUG_OPAQUE;
    struct debug_leaf *fitting =
        realloc(type->leaves, (type->leaf_count + 1) * sizeof *type->leaves);
    if (fitting)
        type->leaves = fitting;
    return type;
}

void debug_type_free(struct debug_type *type)
{
    if (type)
        free(type->leaves);
    free(type);
}

const struct debug_leaf *debug_type_leaf(const struct debug_type *type, size_t offset)
{
    for (size_t i = 0; i < type->leaf_count && type->leaves[i].offset <= offset; i++)
        if (offset - type->leaves[i].offset < type->leaves[i].size)
            return &type->leaves[i];
    return NULL;
}
