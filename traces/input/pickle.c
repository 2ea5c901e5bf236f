/* Reads Python pickles of protocol 2 to 5 that hold plain data: None, booleans, integers, floats,
 * texts, lists, tuples, dicts. See value.h.
 *
 * What makes a pickle run code (GLOBAL, REDUCE, BUILD and their kin) is refused by name, so that a
 * dump from anywhere can be read. The rest of the opcodes is refused as unknown. */
#include "traces/input/value.h"

#include <stdlib.h>
#include <string.h>

struct pickle {
    struct value_pool *pool;
    struct format_input *input;
    size_t at;
    size_t op; /* offset of the opcode at hand */
    struct value **stack;
    size_t depth, stack_room;
    size_t *marks; /* stack depths */
    size_t mark_count, mark_room;
    struct value **memo;
    size_t memo_count, memo_room; /* one past the highest put */
};

static bool refuse(struct pickle *pickle, const char *what)
{
    return format_refuse(pickle->input, pickle->op, "%s", what);
}

/* The next `size` bytes; NULL (refused) when the file ends before. */
static const unsigned char *take(struct pickle *pickle, size_t size)
{
    const unsigned char *bytes = pickle->input->data + pickle->at;
    if (pickle->input->size - pickle->at < size) {
        refuse(pickle, "the pickle is cut short");
        return NULL;
    }
    pickle->at += size;
    return bytes;
}

static bool little(struct pickle *pickle, size_t size, uint64_t *value)
{
    const unsigned char *bytes = take(pickle, size);
    *value = 0;
    for (size_t i = 0; bytes && i < size; i++)
        *value |= (uint64_t)bytes[i] << 8 * i;
    return bytes != NULL;
}

static bool push(struct pickle *pickle, struct value *value)
{
    if (!value || !format_grow(pickle->input, &pickle->stack, pickle->depth, &pickle->stack_room,
                               sizeof *pickle->stack))
        return false;
    pickle->stack[pickle->depth++] = value;
    return true;
}

/* Depth below which nothing may be taken: the last mark. */
static size_t bottom(const struct pickle *pickle)
{
    return pickle->mark_count ? pickle->marks[pickle->mark_count - 1] : 0;
}

static struct value *top(struct pickle *pickle)
{
    if (pickle->depth > bottom(pickle))
        return pickle->stack[pickle->depth - 1];
    refuse(pickle, "a value is missing on the stack");
    return NULL;
}

static struct value *pop(struct pickle *pickle)
{
    struct value *value = top(pickle);
    pickle->depth -= value != NULL;
    return value;
}

static bool push_new(struct pickle *pickle, enum value_type type, struct value **made)
{
    *made = value_new(pickle->pool, type, pickle->op);
    return push(pickle, *made);
}

static bool push_bool(struct pickle *pickle, bool truth)
{
    struct value *value;
    if (!push_new(pickle, VALUE_BOOL, &value))
        return false;
    value->as.truth = truth;
    return true;
}

static bool push_integer(struct pickle *pickle, int64_t integer)
{
    struct value *value;
    if (!push_new(pickle, VALUE_INTEGER, &value))
        return false;
    value->as.integer = integer;
    return true;
}

/* LONG1, LONG4: little-endian two's complement. */
static bool push_long(struct pickle *pickle, size_t length_size)
{
    uint64_t size, bits;
    if (!little(pickle, length_size, &size))
        return false;
    if (size > 8)
        return refuse(pickle, "an integer of more than 64 bits");
    if (!little(pickle, (size_t)size, &bits))
        return false;
    if (size > 0 && size < 8 && bits >> (8 * size - 1))
        bits |= UINT64_MAX << 8 * size;
    return push_integer(pickle, (int64_t)bits);
}

static bool push_real(struct pickle *pickle)
{
    const unsigned char *bytes = take(pickle, 8);
    uint64_t bits = 0;
    struct value *value;
    if (!bytes || !push_new(pickle, VALUE_REAL, &value))
        return false;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&value->as.real, &bits, sizeof bits);
    return true;
}

static bool push_text(struct pickle *pickle, size_t length_size)
{
    uint64_t length;
    struct value *value;
    if (!little(pickle, length_size, &length))
        return false;
    const unsigned char *bytes = take(pickle, (size_t)length);
    if (!bytes || !push_new(pickle, VALUE_TEXT, &value))
        return false;
    value->as.text.start = (const char *)bytes;
    value->as.text.length = (size_t)length;
    return true;
}

static bool put(struct pickle *pickle, uint64_t index)
{
    struct value *value = top(pickle);
    if (!value)
        return false;
    if (index > pickle->input->size)
        return refuse(pickle, "a memo number beyond the size of the file");
    while (pickle->memo_room <= index)
        if (!format_grow(pickle->input, &pickle->memo, pickle->memo_room, &pickle->memo_room,
                         sizeof *pickle->memo))
            return false;
    while (pickle->memo_count <= index)
        pickle->memo[pickle->memo_count++] = NULL;
    pickle->memo[index] = value;
    return true;
}

static bool get(struct pickle *pickle, uint64_t index)
{
    if (index >= pickle->memo_count || !pickle->memo[index])
        return refuse(pickle, "a memo number that was never put");
    return push(pickle, pickle->memo[index]);
}

static bool mark(struct pickle *pickle)
{
    if (!format_grow(pickle->input, &pickle->marks, pickle->mark_count, &pickle->mark_room,
                     sizeof *pickle->marks))
        return false;
    pickle->marks[pickle->mark_count++] = pickle->depth;
    return true;
}

/* Takes the last mark away: where its values stand; SIZE_MAX (refused): there is none. */
static size_t unmark(struct pickle *pickle)
{
    if (pickle->mark_count)
        return pickle->marks[--pickle->mark_count];
    refuse(pickle, "a mark is missing on the stack");
    return SIZE_MAX;
}

/* Moves the values from `begin` on into a list or dict (which stands below them). */
static bool gather(struct pickle *pickle, size_t begin, enum value_type type)
{
    if (begin <= bottom(pickle))
        return refuse(pickle, "a value is missing on the stack");
    struct value *target = pickle->stack[begin - 1];
    if (target->type != type)
        return refuse(pickle, type == VALUE_LIST ? "items for what is no list"
                                                 : "items for what is no dict");
    if (type == VALUE_DICT && (pickle->depth - begin) % 2)
        return refuse(pickle, "a key without a value");
    for (size_t i = begin; i < pickle->depth; i++)
        if (!value_append(pickle->pool, target, pickle->stack[i]))
            return false;
    pickle->depth = begin;
    return true;
}

static bool gather_marked(struct pickle *pickle, enum value_type type)
{
    size_t begin = unmark(pickle);
    return begin != SIZE_MAX && gather(pickle, begin, type);
}

static bool gather_last(struct pickle *pickle, size_t count, enum value_type type)
{
    if (pickle->depth < bottom(pickle) + count + 1)
        return refuse(pickle, "a value is missing on the stack");
    return gather(pickle, pickle->depth - count, type);
}

/* The last `count` values become one; tuples are lists here. */
static bool tuple(struct pickle *pickle, size_t count)
{
    struct value *made = value_new(pickle->pool, VALUE_LIST, pickle->op);
    if (!made)
        return false;
    if (pickle->depth < bottom(pickle) + count)
        return refuse(pickle, "a value is missing on the stack");
    for (size_t i = pickle->depth - count; i < pickle->depth; i++)
        if (!value_append(pickle->pool, made, pickle->stack[i]))
            return false;
    pickle->depth -= count;
    return push(pickle, made);
}

static bool tuple_marked(struct pickle *pickle)
{
    size_t begin = unmark(pickle);
    return begin != SIZE_MAX && tuple(pickle, pickle->depth - begin);
}

static bool pop_mark(struct pickle *pickle)
{
    size_t begin = unmark(pickle);
    if (begin != SIZE_MAX)
        pickle->depth = begin;
    return begin != SIZE_MAX;
}

static bool skip_frame(struct pickle *pickle)
{
    uint64_t length;
    return little(pickle, 8, &length) && (length <= pickle->input->size - pickle->at ||
                                          refuse(pickle, "a frame longer than the file"));
}

static bool protocol(struct pickle *pickle)
{
    uint64_t version;
    return little(pickle, 1, &version) && ((version >= 2 && version <= 5) ||
                                           refuse(pickle, "a pickle of protocol 2 to 5 expected"));
}

static bool with_number(struct pickle *pickle, size_t size,
                        bool (*each)(struct pickle *pickle, uint64_t number))
{
    uint64_t number;
    return little(pickle, size, &number) && each(pickle, number);
}

static const struct {
    unsigned char code;
    const char *name;
} dangerous[] = {
    {'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},
    {'b', "BUILD"},     {'i', "INST"},          {'o', "OBJ"},
    {0x81, "NEWOBJ"},   {0x92, "NEWOBJ_EX"},    {'P', "PERSID"},
    {'Q', "BINPERSID"}, {0x82, "EXT1"},         {0x83, "EXT2"},
    {0x84, "EXT4"},     {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
};

static bool unknown(struct pickle *pickle, unsigned code)
{
    for (size_t i = 0; i < sizeof dangerous / sizeof *dangerous; i++)
        if (dangerous[i].code == code)
            return format_refuse(pickle->input, pickle->op,
                                 "the pickle would run code (%s): only plain data is read",
                                 dangerous[i].name);
    return format_refuse(pickle->input, pickle->op,
                         "opcode 0x%02x is not one that plain data needs", code);
}

static bool step(struct pickle *pickle, unsigned code)
{
    struct value *value;
    uint64_t number;
    switch (code) {
    case 0x80:
        return protocol(pickle);
    case 0x95:
        return skip_frame(pickle);
    case 'N':
        return push_new(pickle, VALUE_NULL, &value);
    case 0x88:
    case 0x89:
        return push_bool(pickle, code == 0x88);
    case 'J':
        return little(pickle, 4, &number) && push_integer(pickle, (int32_t)(uint32_t)number);
    case 'K':
    case 'M':
        return little(pickle, code == 'K' ? 1 : 2, &number) &&
               push_integer(pickle, (int64_t)number);
    case 0x8a:
    case 0x8b:
        return push_long(pickle, code == 0x8a ? 1 : 4);
    case 'G':
        return push_real(pickle);
    case 0x8c:
        return push_text(pickle, 1);
    case 'X':
        return push_text(pickle, 4);
    case 0x8d:
        return push_text(pickle, 8);
    case ']':
        return push_new(pickle, VALUE_LIST, &value);
    case '}':
        return push_new(pickle, VALUE_DICT, &value);
    case ')':
        return push_new(pickle, VALUE_LIST, &value);
    case '(':
        return mark(pickle);
    case 'a':
        return gather_last(pickle, 1, VALUE_LIST);
    case 'e':
        return gather_marked(pickle, VALUE_LIST);
    case 's':
        return gather_last(pickle, 2, VALUE_DICT);
    case 'u':
        return gather_marked(pickle, VALUE_DICT);
    case 't':
        return tuple_marked(pickle);
    case 0x85:
    case 0x86:
    case 0x87:
        return tuple(pickle, code - 0x84);
    case '0':
        return pop(pickle) != NULL;
    case '1':
        return pop_mark(pickle);
    case '2':
        return push(pickle, top(pickle));
    case 'q':
    case 'r':
        return with_number(pickle, code == 'q' ? 1 : 4, put);
    case 0x94:
        return put(pickle, pickle->memo_count);
    case 'h':
    case 'j':
        return with_number(pickle, code == 'h' ? 1 : 4, get);
    default:
        return unknown(pickle, code);
    }
}

static struct value *run(struct pickle *pickle)
{
    for (;;) {
        pickle->op = pickle->at;
        const unsigned char *code = take(pickle, 1);
        if (!code)
            return NULL;
        if (*code == '.')
            break;
        if (!step(pickle, *code))
            return NULL;
    }
    if (pickle->mark_count || pickle->depth != 1) {
        refuse(pickle, "the pickle ends with other than one value");
        return NULL;
    }
    if (pickle->at != pickle->input->size) {
        pickle->op = pickle->at;
        refuse(pickle, "bytes behind the end of the pickle");
        return NULL;
    }
    return pickle->stack[0];
}

struct value *value_read_pickle(struct value_pool *pool)
{
    struct pickle pickle = {.pool = pool, .input = pool->input};
    pool->input->binary = true;
    struct value *root = run(&pickle);
    free(pickle.stack);
    free(pickle.marks);
    free(pickle.memo);
    return root;
}
