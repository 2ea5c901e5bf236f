/* Random bytes that are nearly pickles, against a second machine for them: written from what Python says of each opcode (Lib/pickletools.py), with
 * the marks on the one stack. Both read the same value, or refuse at the same byte. */
#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/input/value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    STACK = 80,
    ITEMS = 80,
    NODES = 200,
    MEMO = 64,
    BYTES_MAX = 200,
    SAID = 6000,
    DEPTH = 7,
    TRIES = 40000
};

/* A value of the second machine; `what` says it where it has no items. */
struct node {
    char kind, what[40]; /* kind: '[', '{', '(' for a mark, '=' for the rest */
    struct node *items[ITEMS];
    unsigned count;
};

struct second {
    const unsigned char *bytes;
    size_t size, at;
    struct node nodes[NODES], *stack[STACK], *memo[MEMO];
    unsigned made, depth, memo_end;
    bool over; /* more than it has room for */
};

struct said {
    char text[SAID];
    size_t size;
};

/* ---- the second machine ---- */

static struct node *node(struct second *second, char kind)
{
    if (second->made == NODES) {
        second->over = true;
        return &second->nodes[0];
    }
    struct node *made = &second->nodes[second->made++];
    made->kind = kind;
    made->count = 0;
    return made;
}

static bool push(struct second *second, struct node *value)
{
    if (second->depth == STACK)
        second->over = true;
    else
        second->stack[second->depth++] = value;
    return true;
}

/* Of the values on top, above the last mark. */
static unsigned above(const struct second *second)
{
    unsigned count = 0;
    while (count < second->depth && second->stack[second->depth - 1 - count]->kind != '(')
        count++;
    return count;
}

static bool has_mark(const struct second *second)
{
    return above(second) < second->depth;
}

static void append(struct second *second, struct node *list, struct node *item)
{
    if (list->count == ITEMS)
        second->over = true;
    else
        list->items[list->count++] = item;
}

/* The operand of so many bytes; false: they are not there. */
static bool operand(struct second *second, size_t size, uint64_t *number)
{
    *number = 0;
    if (second->size - second->at < size)
        return false;
    for (size_t i = 0; i < size; i++)
        *number += (uint64_t)second->bytes[second->at + i] << 8 * i;
    second->at += size;
    return true;
}

static bool push_integer(struct second *second, int64_t integer)
{
    struct node *made = node(second, '=');
    snprintf(made->what, sizeof made->what, "%" PRId64, integer);
    return push(second, made);
}

static bool push_word(struct second *second, const char *word)
{
    struct node *made = node(second, '=');
    snprintf(made->what, sizeof made->what, "%s", word);
    return push(second, made);
}

static bool push_long(struct second *second, size_t width)
{
    uint64_t size, bits;
    if (!operand(second, width, &size) || size > 8 || !operand(second, (size_t)size, &bits))
        return false;
    /* two's complement: the last byte's highest bit counts negative */
    uint64_t sign = size ? bits >> (8 * size - 1) & 1 : 0;
    if (sign && size < 8)
        bits -= (uint64_t)1 << 8 * size;
    return push_integer(second, (int64_t)bits);
}

static bool push_text(struct second *second, size_t width)
{
    uint64_t size;
    if (!operand(second, width, &size) || size > second->size - second->at)
        return false;
    struct node *made = node(second, '=');
    size_t used = 1;
    made->what[0] = '\'';
    for (size_t i = 0; i < size && used + 4 < sizeof made->what; i++, used += 2)
        snprintf(made->what + used, 3, "%02x", second->bytes[second->at + i]);
    made->what[used] = 0;
    second->at += size;
    return push(second, made);
}

static bool push_real(struct second *second)
{
    unsigned char turned[8];
    double real;
    if (second->size - second->at < 8)
        return false;
    for (int i = 0; i < 8; i++)
        turned[i] = second->bytes[second->at + 7 - (size_t)i];
    second->at += 8;
    memcpy(&real, turned, sizeof real); /* on a machine whose numbers begin with the lowest byte */
    struct node *made = node(second, '=');
    snprintf(made->what, sizeof made->what, "%a", real);
    return push(second, made);
}

/* The last `count` values go to the list or dict below them. */
static bool items(struct second *second, unsigned count, char kind)
{
    if (second->depth < count + 1 || (kind == '{' && count % 2))
        return false;
    struct node *target = second->stack[second->depth - count - 1];
    if (target->kind != kind)
        return false;
    for (unsigned i = 0; i < count; i++)
        append(second, target, second->stack[second->depth - count + i]);
    second->depth -= count;
    return true;
}

/* The same of those above the last mark, which goes. */
static bool marked_items(struct second *second, char kind)
{
    unsigned count = above(second);
    if (!has_mark(second))
        return false;
    unsigned mark = second->depth - count - 1;
    memmove(&second->stack[mark], &second->stack[mark + 1], count * sizeof *second->stack);
    second->depth--;
    return above(second) > count && items(second, count, kind);
}

static bool tuple(struct second *second, unsigned count)
{
    struct node *made = node(second, '[');
    for (unsigned i = 0; i < count; i++)
        append(second, made, second->stack[second->depth - count + i]);
    second->depth -= count;
    return push(second, made);
}

static bool marked_tuple(struct second *second)
{
    unsigned count = above(second);
    if (!has_mark(second))
        return false;
    bool done = tuple(second, count);
    if (second->depth >= 2) {
        second->stack[second->depth - 2] = second->stack[second->depth - 1];
        second->depth--;
    }
    return done;
}

static bool put(struct second *second, uint64_t number)
{
    if (!above(second) || number > second->size)
        return false;
    if (number >= MEMO) {
        second->over = true;
        return true;
    }
    second->memo[number] = second->stack[second->depth - 1];
    if (number >= second->memo_end)
        second->memo_end = (unsigned)number + 1;
    return true;
}

static bool get(struct second *second, uint64_t number)
{
    return number < MEMO && second->memo[number] && push(second, second->memo[number]);
}

static bool step(struct second *second, unsigned code)
{
    uint64_t number;
    switch (code) {
    case 0x80:
        return operand(second, 1, &number) && number >= 2 && number <= 5;
    case 0x95:
        return operand(second, 8, &number) && number <= second->size - second->at;
    case 'N':
        return push_word(second, "null");
    case 0x88:
        return push_word(second, "yes");
    case 0x89:
        return push_word(second, "no");
    case 'J':
        return operand(second, 4, &number) &&
               push_integer(second, (int64_t)number - (number >= 0x80000000 ? 0x100000000 : 0));
    case 'K':
        return operand(second, 1, &number) && push_integer(second, (int64_t)number);
    case 'M':
        return operand(second, 2, &number) && push_integer(second, (int64_t)number);
    case 0x8a:
        return push_long(second, 1);
    case 0x8b:
        return push_long(second, 4);
    case 'G':
        return push_real(second);
    case 0x8c:
        return push_text(second, 1);
    case 'X':
        return push_text(second, 4);
    case 0x8d:
        return push_text(second, 8);
    case ']':
    case ')':
        return push(second, node(second, '['));
    case '}':
        return push(second, node(second, '{'));
    case '(':
        return push(second, node(second, '('));
    case 'a':
        return above(second) >= 2 && items(second, 1, '[');
    case 's':
        return above(second) >= 3 && items(second, 2, '{');
    case 'e':
        return marked_items(second, '[');
    case 'u':
        return marked_items(second, '{');
    case 't':
        return marked_tuple(second);
    case 0x85:
    case 0x86:
    case 0x87:
        return above(second) >= code - 0x84 && tuple(second, code - 0x84);
    case '0':
        return above(second) && second->depth--;
    case '1':
        if (!has_mark(second))
            return false;
        second->depth -= above(second) + 1;
        return true;
    case '2':
        return above(second) && push(second, second->stack[second->depth - 1]);
    case 'q':
        return operand(second, 1, &number) && put(second, number);
    case 'r':
        return operand(second, 4, &number) && put(second, number);
    case 0x94:
        return put(second, second->memo_end);
    case 'h':
        return operand(second, 1, &number) && get(second, number);
    case 'j':
        return operand(second, 4, &number) && get(second, number);
    default:
        return false;
    }
}

/* The value; NULL: refused at the opcode that is at *wrong. */
static struct node *second_reads(struct second *second, const unsigned char *bytes, size_t size,
                                 size_t *wrong)
{
    memset(second->memo, 0, sizeof second->memo);
    second->bytes = bytes;
    second->size = size;
    second->at = 0;
    second->made = second->depth = second->memo_end = 0;
    second->over = false;
    while (*wrong = second->at, second->at < size && bytes[second->at] != '.')
        if (!step(second, bytes[second->at++]))
            return NULL;
    if (second->at == size || second->depth != 1 || has_mark(second))
        return NULL;
    *wrong = second->at + 1;
    return second->at + 1 == size ? second->stack[0] : NULL;
}

/* ---- what both say: a value may hold itself, so to some depth ---- */

static void say(struct said *said, const char *text)
{
    size_t length = strlen(text), room = SAID - 1 - said->size;
    length = length < room ? length : room;
    memcpy(said->text + said->size, text, length);
    said->text[said->size += length] = 0;
}

static void say_node(struct said *said, const struct node *value, unsigned depth)
{
    if (value->kind == '=') {
        say(said, value->what);
        return;
    }
    say(said, value->kind == '{' ? "{" : "[");
    for (unsigned i = 0; i < value->count && depth < DEPTH && said->size < SAID - 1; i++) {
        say_node(said, value->items[i], depth + 1);
        say(said, ",");
    }
    say(said, "]");
}

static void say_value(struct said *said, const struct value *value, unsigned depth)
{
    char what[40];
    size_t used = 1;
    switch (value->type) {
    case VALUE_NULL:
        say(said, "null");
        break;
    case VALUE_BOOL:
        say(said, value->as.truth ? "yes" : "no");
        break;
    case VALUE_INTEGER:
        snprintf(what, sizeof what, "%" PRId64, value->as.integer);
        say(said, what);
        break;
    case VALUE_REAL:
        snprintf(what, sizeof what, "%a", value->as.real);
        say(said, what);
        break;
    case VALUE_TEXT:
        what[0] = '\'';
        for (size_t i = 0; i < value->as.text.length && used + 4 < sizeof what; i++, used += 2)
            snprintf(what + used, 3, "%02x", (unsigned char)value->as.text.start[i]);
        what[used] = 0;
        say(said, what);
        break;
    case VALUE_LIST:
    case VALUE_DICT:
        say(said, value->type == VALUE_DICT ? "{" : "[");
        for (uint32_t i = 0; i < value->count && depth < DEPTH && said->size < SAID - 1; i++) {
            say_value(said, value->as.items[i], depth + 1);
            say(said, ",");
        }
        say(said, "]");
    }
}

/* False: refused, at byte *wrong (SIZE_MAX: not as what a file is refused for). */
static bool reads(const unsigned char *bytes, size_t size, struct said *said, size_t *wrong)
{
    struct failure failure = {0};
    struct format_input input;
    struct value_pool pool;
    said->size = 0;
    *wrong = SIZE_MAX;
    if (!format_input_copy(&input, "p", bytes, size, &failure))
        return false;
    value_pool_init(&pool, &input);
    const struct value *root = value_read_pickle(&pool);
    if (root)
        say_value(said, root, 0);
    bool read = root && !input.refused && !failure.code;
    if (!root && (failure.code != FAILURE_INPUT || sscanf(failure.text, "p: byte %zu", wrong) != 1))
        *wrong = SIZE_MAX;
    value_pool_release(&pool);
    format_input_release(&input);
    return read;
}

/* ---- nearly pickles ---- */

struct bytes {
    unsigned char at[BYTES_MAX];
    size_t size;
    uint64_t dice;
};

static uint32_t below(struct bytes *bytes, uint32_t n)
{
    return dice_below(&bytes->dice, n);
}

static void byte(struct bytes *bytes, unsigned byte)
{
    bytes->at[bytes->size++] = (unsigned char)byte;
}

static void little(struct bytes *bytes, uint64_t number, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        byte(bytes, number >> 8 * i & 255);
}

/* Bytes that are likely opcodes, too: what is left when an operand is cut may be read for a while. */
static void filling(struct bytes *bytes, unsigned size)
{
    static const unsigned char likely[] = {'N', '.', 0, 1, 0x7f, 0x80, 0xff, 'N', ']', 'a', '('};
    for (unsigned i = 0; i < size; i++)
        byte(bytes, likely[below(bytes, sizeof likely)]);
}

/* One opcode with what belongs behind it, or nearly. */
static void draw(struct bytes *bytes)
{
    static const unsigned char plain[] = {'N', ']', '}', ')', '(',  'a',  'e',  's',  'u',  't',
                                          '0', '1', '2', 'N', 0x88, 0x89, 0x85, 0x86, 0x87, 0x94};
    static const struct {
        unsigned char code, width;
        bool counts; /* how many bytes follow */
    } with[] = {{0x8a, 1, true}, {0x8b, 4, true}, {0x8c, 1, true},  {'X', 4, true},
                {0x8d, 8, true}, {'q', 1, false}, {'r', 4, false},  {'h', 1, false},
                {'j', 4, false}, {'K', 1, false}, {0x80, 1, false}, {0x95, 8, false}};
    unsigned which, size;
    switch (below(bytes, 8)) {
    case 0:
    case 1:
        which = below(bytes, sizeof with / sizeof *with);
        size = below(bytes, below(bytes, 4) ? 4 : 11);
        byte(bytes, with[which].code);
        little(bytes, size, with[which].width);
        if (with[which].counts)
            filling(bytes, below(bytes, 8) ? size : below(bytes, size + 1));
        break;
    case 2: {
        static const unsigned char fixed[][2] = {{'J', 4}, {'M', 2}, {'G', 8}};
        which = below(bytes, 3);
        byte(bytes, fixed[which][0]);
        filling(bytes, fixed[which][1]);
        break;
    }
    default:
        byte(bytes, plain[below(bytes, sizeof plain)]);
    }
}

/* The last opcode lacks bytes of its operand: those that are there would be opcodes themselves. */
static void cut_operand(struct bytes *bytes)
{
    static const unsigned char codes[] = {0x8a, 0x8b, 0x8c, 'X', 0x8d, 'q',  'r', 'h',
                                          'j',  'K',  'M',  'J', 'G',  0x80, 0x95};
    byte(bytes, codes[below(bytes, sizeof codes)]);
    for (unsigned i = below(bytes, 7); i-- > 0;)
        byte(bytes, below(bytes, 4) ? 'N' : '0');
}

static void nearly_pickles(void)
{
    static struct second second;
    static struct said here, there;
    struct dice_seeds seeds = dice_seeds(TRIES);
    unsigned long long read = 0, other = 0, tried = 0;
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct bytes bytes = {.dice = seed};
        size_t wrong, expected;
        for (unsigned count = 1 + below(&bytes, 9); count-- > 0;)
            draw(&bytes);
        if (below(&bytes, 6) == 0)
            bytes.size -= below(&bytes, bytes.size < 9 ? (uint32_t)bytes.size : 9);
        if (below(&bytes, 8) == 0)
            cut_operand(&bytes);
        byte(&bytes, '.');
        if (below(&bytes, 20) == 0)
            byte(&bytes, below(&bytes, 2) ? '.' : 0);
        const struct node *value = second_reads(&second, bytes.at, bytes.size, &expected);
        if (second.over)
            continue;
        there.size = 0;
        if (value)
            say_node(&there, value, 0);
        bool is = reads(bytes.at, bytes.size, &here, &wrong);
        tried++;
        read += value != NULL;
        if ((is != (value != NULL) ||
             (is ? strcmp(here.text, there.text) != 0 : wrong != expected)) &&
            !other++)
            tap_note("seed %llu: read %d, at %zu, %s\n# but: at %zu, %s", seed, is, wrong,
                     is ? here.text : "", expected, value ? there.text : "refused");
    }
    tap_ok(read * 30 > tried && read * 2 < tried, "of %llu nearly pickles %llu are some", tried,
           read);
    tap_is_int(other, 0, "each is read, or refused at its byte, as the second machine says");
}

int main(void)
{
    nearly_pickles();
    return tap_done();
}
