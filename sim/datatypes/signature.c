/* signature.c: what travels, as a sequence of basic types.
 *
 * A sequence is never written out: it is described by how the type was made. Every constructor but
 * struct repeats its old type, so that a walk down to one basic element takes as many steps as the
 * type has levels (and struct as many as it has members).
 */
#include <assert.h>

#include "sim/datatypes/datatype.h"
#include "sim/datatypes/layout.h"
#include "sim/datatypes/signature_hash.h"

#define PACKED 0x207

/* A member of a struct: `count` copies of a type. A type of another constructor has one member. */
struct member {
    const struct sim_datatype *type;
    size_t count;
};

static size_t member_count(const struct sim_datatype *type)
{
    return type->contents->combiner == MPI_COMBINER_STRUCT ? type->contents->type_count : 1;
}

static struct member member_at(const struct sim_datatype *type, size_t i)
{
    const struct sim_contents *contents = type->contents;
    const struct sim_datatype *old = contents->types[i];
    if (contents->combiner != MPI_COMBINER_STRUCT)
        return (struct member){old, old->size ? type->size / old->size : 0};
    MPI_Count length = contents->large ? contents->counts[1 + i] : contents->integers[1 + i];
    return (struct member){old, (size_t)length};
}

/* What lies before some point of a sequence. */
struct prefix {
    size_t bytes, elements;
    struct sim_hash hash;
};

static void prefix_add(struct prefix *prefix, const struct sim_datatype *type, size_t count)
{
    struct sim_hash hash = {type->hash, type->hash_power};
    prefix->bytes += count * type->size;
    prefix->elements += count * type->elements;
    prefix->hash = sim_hash_concatenate(prefix->hash, sim_hash_repeat(hash, count));
}

/* Where a walk stops: before the element that would exceed either limit. */
struct limit {
    size_t bytes, elements;
};

static size_t copies_within(const struct prefix *prefix, const struct limit *limit,
                            const struct member *member)
{
    size_t by_bytes = (limit->bytes - prefix->bytes) / member->type->size;
    size_t by_elements = (limit->elements - prefix->elements) / member->type->elements;
    size_t copies = by_bytes < by_elements ? by_bytes : by_elements;
    return copies < member->count ? copies : member->count;
}

/* A pair's hash is that of a sequence of two, short enough to be taken apart again. */
static const struct sim_datatype *pair_value(const struct sim_datatype *pair)
{
    uint64_t number = pair->hash / SIM_HASH_BASE;
    assert(number >= SIM_DATATYPE_FIRST && number <= SIM_DATATYPE_LAST);
    return &sim_datatype_predefined[number - SIM_DATATYPE_FIRST];
}

static const struct sim_datatype *pair_index(const struct sim_datatype *pair)
{
    uint64_t number = pair->hash % SIM_HASH_BASE;
    assert(number >= SIM_DATATYPE_FIRST && number <= SIM_DATATYPE_LAST);
    return &sim_datatype_predefined[number - SIM_DATATYPE_FIRST];
}

/* The value of a pair travels before its index. */
static void prefix_add_half(struct prefix *prefix, const struct sim_datatype *pair,
                            const struct limit *limit)
{
    const struct sim_datatype *type = pair_value(pair);
    struct member half = {type, 1};
    if (copies_within(prefix, limit, &half))
        prefix_add(prefix, type, 1);
}

/* The longest prefix of endless repetitions of `type` that stays within the limit. */
static struct prefix walk(const struct sim_datatype *type, struct limit limit)
{
    struct prefix prefix = {0, 0, sim_hash_empty()};
    struct member member = {type, SIZE_MAX};
    while (member.type->size) {
        size_t copies = copies_within(&prefix, &limit, &member);
        prefix_add(&prefix, member.type, copies);
        assert(copies < member.count);
        if (member.type->predefined) {
            if (member.type->elements == 2)
                prefix_add_half(&prefix, member.type, &limit);
            break;
        }
        /* The limit lies within the next copy: go on with the member in which it does. */
        const struct sim_datatype *outer = member.type;
        for (size_t i = 0; i < member_count(outer); i++) {
            member = member_at(outer, i);
            if (member.type->size == 0 || member.count == 0)
                continue;
            if (copies_within(&prefix, &limit, &member) < member.count)
                break;
            prefix_add(&prefix, member.type, member.count);
        }
    }
    return prefix;
}

struct sim_signature sim_datatype_signature(const struct sim_datatype *type, size_t count)
{
    struct sim_hash hash = {type->hash, type->hash_power};
    if (count != 1)
        hash = sim_hash_repeat(hash, count);
    return (struct sim_signature){
        .hash = hash.value,
        .elements = count * type->elements,
        .basic = type->basic,
        .packed = type->basic == PACKED,
    };
}

bool sim_signature_equal(const struct sim_signature *a, const struct sim_signature *b)
{
    if (a->packed || b->packed)
        return true;
    return a->elements == b->elements && (a->elements == 0 || a->hash == b->hash);
}

bool sim_signature_accepts(const struct sim_signature *sent, const struct sim_datatype *type,
                           size_t count)
{
    if (sent->packed || type->basic == PACKED || sent->elements == 0)
        return true;
    if (sent->elements > count * type->elements)
        return false;
    if (sent->basic && type->basic)
        return sent->basic == type->basic;
    struct prefix prefix = walk(type, (struct limit){SIZE_MAX, sent->elements});
    return prefix.hash.value == sent->hash;
}

void sim_datatype_visit(const struct sim_datatype *type, size_t count, sim_basic_visit *visit,
                        void *context)
{
    if (type->size == 0 || count == 0)
        return;
    if (type->basic) {
        const struct sim_datatype *basic =
            &sim_datatype_predefined[type->basic - SIM_DATATYPE_FIRST];
        visit(context, basic, count * type->elements);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (type->predefined) {
            visit(context, pair_value(type), 1);
            visit(context, pair_index(type), 1);
            continue;
        }
        for (size_t k = 0; k < member_count(type); k++) {
            struct member member = member_at(type, k);
            sim_datatype_visit(member.type, member.count, visit, context);
        }
    }
}

size_t sim_datatype_elements_in(const struct sim_datatype *type, size_t bytes)
{
    if (bytes == 0)
        return 0;
    struct prefix prefix = walk(type, (struct limit){bytes, SIZE_MAX});
    return prefix.bytes == bytes ? prefix.elements : SIZE_MAX;
}

size_t sim_datatype_bytes_of(const struct sim_datatype *type, size_t elements)
{
    return walk(type, (struct limit){SIZE_MAX, elements}).bytes;
}
