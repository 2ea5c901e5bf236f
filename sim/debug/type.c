/* Types of C, flattened: see type.h. */
#include "sim/debug/type.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What has more is opaque as a whole. */
enum { LEAVES_MAX = 4096, DEPTH_MAX = 16 };

static bool add_leaf(struct debug_type *type, size_t offset, size_t size, enum debug_kind kind)
{
    if (type->leaf_count == LEAVES_MAX || !size)
        return false;
    type->leaves[type->leaf_count++] = (struct debug_leaf){offset, size, 1, kind, 0, NULL};
    return true;
}

static bool add_pointer(struct debug_type *type, Dwarf_Die *die, size_t offset)
{
    Dwarf_Attribute attribute;
    Dwarf_Die target;
    if (!add_leaf(type, offset, sizeof(void *), DEBUG_OPAQUE))
        return false;
    if (dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &target)) {
        type->leaves[type->leaf_count - 1].target = dwarf_dieoffset(&target);
        type->points = true;
    }
    return true;
}

static bool number_of(Dwarf_Die *die, unsigned name, Dwarf_Word *number)
{
    Dwarf_Attribute attribute;
    return !dwarf_formudata(dwarf_attr(die, name, &attribute), number);
}

/* The first bit of a bit field. Before DWARF 5, and by clang after that, they are counted from the last bit of a number that holds it. */
static bool first_bit(Dwarf_Die *die, Dwarf_Word size, Dwarf_Word *at)
{
    Dwarf_Word holder, place = 0, from_end;
    if (number_of(die, DW_AT_data_bit_offset, at))
        return true;
    if (!number_of(die, DW_AT_byte_size, &holder) || !number_of(die, DW_AT_bit_offset, &from_end))
        return false;
    number_of(die, DW_AT_data_member_location, &place);
    *at = 8 * (place + holder) - from_end - size;
    return true;
}

/* Of a bit field the bytes that have a bit of it, which the one before may have as well. */
static bool add_bits(struct debug_type *type, Dwarf_Die *die, size_t offset)
{
    Dwarf_Word at, size;
    if (!number_of(die, DW_AT_bit_size, &size) || !first_bit(die, size, &at))
        return false;
    size_t low = offset + (size_t)at / 8, high = offset + (size_t)(at + size + 7) / 8;
    struct debug_leaf *last = type->leaf_count ? &type->leaves[type->leaf_count - 1] : NULL;
    if (last && last->kind == DEBUG_OPAQUE && last->count == 1 && last->offset + last->size > low) {
        last->size = high - last->offset;
        return true;
    }
    return low == high || add_leaf(type, low, high - low, DEBUG_OPAQUE);
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
    size_t whole = size_of(die), each = size_of(&element), first = type->leaf_count;
    if (!whole) { /* a flexible one has no element of its own */
        type->open = true;
        type->tail_at = offset;
        type->tail = dwarf_dieoffset(&element);
        return true;
    }
    for (size_t at = 0; each && at + each <= whole; at += each) {
        if (!add_type(type, &element, offset + at, depth))
            return false;
        struct debug_leaf *leaf = &type->leaves[first];
        if (type->leaf_count == first + 1 && leaf->size * leaf->count == each) {
            leaf->count *= whole / each;
            return true;
        }
    }
    return true;
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
        if (dwarf_hasattr(&child, DW_AT_bit_size)) {
            if (!add_bits(type, &child, offset))
                return false;
            continue;
        }
        if (!dwarf_attr(&child, DW_AT_data_member_location, &attribute))
            at = 0;
        else if (dwarf_formudata(&attribute, &at))
            return false;
        size_t first = type->leaf_count;
        if (!debug_type_peel(&child, &member) ||
            !add_type(type, &member, offset + (size_t)at, depth))
            return false;
        for (; first < type->leaf_count; first++)
            if (!type->leaves[first].name)
                type->leaves[first].name = dwarf_diename(&child);
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
    case DW_TAG_pointer_type:
        return add_pointer(type, die, offset);
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
    if (!type->size || !add_type(type, die, 0, 0)) {
        type->leaf_count = 0;
        type->points = false;
    }
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
    size_t begin = 0, end = type->leaf_count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (type->leaves[middle].offset <= offset)
            begin = middle + 1;
        else
            end = middle;
    }
    const struct debug_leaf *leaf = begin ? &type->leaves[begin - 1] : NULL;
    return leaf && offset - leaf->offset < leaf->size * leaf->count ? leaf : NULL;
}
