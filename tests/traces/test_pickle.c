/* Pickles of random plain data, written here with opcodes that are drawn, are read as what was
 * written; every one that is cut short is refused, and so is each of a table of wrong ones, with its
 * byte and its sentence. What each opcode means is Python's (Lib/pickletools.py). */
#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/input/value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 4000, TEXT_MAX = 16000, MEMO_MAX = 8, PICKLES = 60, CUT_MAX = 400 };

struct text {
    char data[TEXT_MAX];
    size_t size;
};

struct writer {
    uint64_t dice;
    unsigned char bytes[BYTES_MAX];
    size_t size;
    struct text says;
    char *memo[256];                 /* what was put there */
    unsigned memo_count, most_items; /* one past the highest */
};

/* ---- what a value says ---- */

static void say(struct text *text, const char *data, size_t size)
{
    if (text->size + size < TEXT_MAX)
        memcpy(text->data + text->size, data, size);
    text->size += size;
}

static void say_text(struct text *text, const char *start, size_t length)
{
    char hex[4];
    say(text, "'", 1);
    for (size_t i = 0; i < length; i++) {
        snprintf(hex, sizeof hex, "%02x", (unsigned char)start[i]);
        say(text, hex, 2);
    }
    say(text, "'", 1);
}

static void say_integer(struct text *text, int64_t integer)
{
    char digits[24];
    say(text, digits, (size_t)snprintf(digits, sizeof digits, "%" PRId64, integer));
}

static void say_real(struct text *text, double real)
{
    char digits[40];
    say(text, digits, (size_t)snprintf(digits, sizeof digits, "%a", real));
}

static void say_value(struct text *text, const struct value *value)
{
    static const char *const begins[] = {[VALUE_LIST] = "[", [VALUE_DICT] = "{"};
    switch (value->type) {
    case VALUE_NULL:
        say(text, "null", 4);
        break;
    case VALUE_BOOL:
        say(text, value->as.truth ? "yes" : "no", value->as.truth ? 3 : 2);
        break;
    case VALUE_INTEGER:
        say_integer(text, value->as.integer);
        break;
    case VALUE_REAL:
        say_real(text, value->as.real);
        break;
    case VALUE_TEXT:
        say_text(text, value->as.text.start, value->as.text.length);
        break;
    case VALUE_LIST:
    case VALUE_DICT:
        say(text, begins[value->type], 1);
        for (uint32_t i = 0; i < value->count; i++) {
            say_value(text, value->as.items[i]);
            say(text, ",", 1);
        }
        say(text, "]", 1);
    }
}

/* ---- writing ---- */

static uint32_t below(struct writer *writer, uint32_t n)
{
    return dice_below(&writer->dice, n);
}

static void put(struct writer *writer, unsigned byte)
{
    if (writer->size < BYTES_MAX)
        writer->bytes[writer->size++] = (unsigned char)byte;
}

static void put_little(struct writer *writer, uint64_t number, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        put(writer, i < 8 ? (unsigned)(number >> 8 * i & 255) : 0);
}

static bool fits(int64_t integer, unsigned size)
{
    int64_t half = size < 8 && size ? (int64_t)1 << (8 * size - 1) : 0;
    return size >= 8 || (size == 0 ? integer == 0 : integer >= -half && integer < half);
}

static void put_integer(struct writer *writer)
{
    static const int64_t borders[] = {0,       1,       127,      128,      255,        256,
                                      32767,   32768,   65535,    65536,    INT32_MAX,  INT64_MAX,
                                      1 << 23, 1 << 24, 0x7fffff, 0xffffff, 0x800000000};
    int64_t integer = borders[below(writer, sizeof borders / sizeof *borders)];
    if (below(writer, 3) == 0)
        integer = (int64_t)(dice_next(&writer->dice) >> below(writer, 64));
    integer = below(writer, 2) ? -integer - (below(writer, 2) && integer < INT64_MAX) : integer;
    unsigned size = below(writer, 9);
    if (integer >= 0 && integer < 256 && below(writer, 2)) {
        put(writer, 'K');
        put_little(writer, (uint64_t)integer, 1);
    } else if (integer >= 0 && integer < 65536 && below(writer, 2)) {
        put(writer, 'M');
        put_little(writer, (uint64_t)integer, 2);
    } else if (fits(integer, 4) && below(writer, 2)) {
        put(writer, 'J');
        put_little(writer, (uint64_t)integer, 4);
    } else {
        bool wide = below(writer, 2);
        while (!fits(integer, size))
            size++;
        put(writer, wide ? 0x8b : 0x8a);
        put_little(writer, size, wide ? 4 : 1);
        put_little(writer, (uint64_t)integer, size);
    }
    say_integer(&writer->says, integer);
}

static void put_real(struct writer *writer)
{
    static const double reals[] = {0, -0.0, 1, -1.5, 1e300, 0x1p-1074, 3.141592653589793};
    double real = reals[below(writer, sizeof reals / sizeof *reals)];
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    put(writer, 'G');
    for (int i = 7; i >= 0; i--)
        put(writer, (unsigned)(bits >> 8 * i & 255));
    say_real(&writer->says, real);
}

static void put_text(struct writer *writer)
{
    static const struct {
        unsigned char code, size;
    } forms[] = {{0x8c, 1}, {'X', 4}, {0x8d, 8}};
    unsigned form = below(writer, 3), length = below(writer, 2) ? below(writer, 4) : 0;
    char text[4];
    put(writer, forms[form].code);
    put_little(writer, length, forms[form].size);
    for (unsigned i = 0; i < length; i++) {
        text[i] = (char)below(writer, 256);
        put(writer, (unsigned char)text[i]);
    }
    say_text(&writer->says, text, length);
}

static void put_value(struct writer *writer, unsigned depth);

/* Items, or keys and values: one by one, or some behind a mark. */
static void put_items(struct writer *writer, unsigned depth, bool dict)
{
    unsigned count = below(writer, writer->most_items), each = dict ? 2 : 1;
    put(writer, dict ? '}' : ']');
    say(&writer->says, dict ? "{" : "[", 1);
    while (count > 0) {
        unsigned some = below(writer, 2) ? below(writer, count + 1) : 0;
        if (some || below(writer, 8) == 0) {
            put(writer, '(');
            for (unsigned i = 0; i < some * each; i++) {
                put_value(writer, depth);
                say(&writer->says, ",", 1);
            }
            put(writer, dict ? 'u' : 'e');
        } else {
            for (unsigned i = 0; i < each; i++) {
                put_value(writer, depth);
                say(&writer->says, ",", 1);
            }
            put(writer, dict ? 's' : 'a');
            some = 1;
        }
        count -= some;
    }
    say(&writer->says, "]", 1);
}

static void put_tuple(struct writer *writer, unsigned depth)
{
    unsigned count = below(writer, 5);
    bool marked = count > 3 || (count && below(writer, 2)) || (!count && below(writer, 2));
    if (marked)
        put(writer, '(');
    say(&writer->says, "[", 1);
    for (unsigned i = 0; i < count; i++) {
        put_value(writer, depth);
        say(&writer->says, ",", 1);
    }
    put(writer, marked ? 't' : count ? 0x84 + count : ')');
    say(&writer->says, "]", 1);
}

/* Something that is thrown away again, or means nothing. */
static void put_noise(struct writer *writer, unsigned depth)
{
    size_t said = writer->says.size;
    switch (below(writer, 5)) {
    case 0:
        put_value(writer, depth);
        put(writer, '0');
        break;
    case 1:
        put(writer, '(');
        for (unsigned i = below(writer, 3); i-- > 0;)
            put_value(writer, depth);
        put(writer, '1');
        break;
    case 2:
        put(writer, 0x95);
        put_little(writer, 0, 8);
        break;
    case 3:
        put(writer, 0x80);
        put(writer, 2 + below(writer, 4));
        break;
    default:
        put_value(writer, depth);
        put(writer, '2');
        put(writer, '0');
        put(writer, '0');
    }
    writer->says.size = said;
}

static void remember(struct writer *writer, size_t said)
{
    unsigned index = writer->memo_count, how = below(writer, 3);
    if (index + 4 > MEMO_MAX * 4 || writer->says.size > TEXT_MAX)
        return;
    if (how < 2)
        index = below(writer, index + 3);
    put(writer, how == 0 ? 'q' : how == 1 ? 'r' : 0x94);
    if (how < 2)
        put_little(writer, index, how ? 4 : 1);
    free(writer->memo[index]);
    writer->memo[index] = strndup(writer->says.data + said, writer->says.size - said);
    writer->memo_count = index + 1 > writer->memo_count ? index + 1 : writer->memo_count;
}

static void put_value(struct writer *writer, unsigned depth)
{
    size_t said = writer->says.size;
    unsigned known = writer->memo_count ? below(writer, writer->memo_count) : 0;
    if (depth && below(writer, 6) == 0)
        put_noise(writer, depth - 1);
    switch (below(writer, depth ? 9 : 6)) {
    case 0:
        put(writer, 'N');
        say(&writer->says, "null", 4);
        break;
    case 1: {
        bool truth = below(writer, 2);
        put(writer, truth ? 0x88 : 0x89);
        say(&writer->says, truth ? "yes" : "no", truth ? 3 : 2);
        break;
    }
    case 2:
        put_integer(writer);
        break;
    case 3:
        put_real(writer);
        break;
    case 4:
        put_text(writer);
        break;
    case 5: {
        bool wide = below(writer, 2);
        if (!writer->memo[known]) {
            put_integer(writer);
            break;
        }
        put(writer, wide ? 'j' : 'h');
        put_little(writer, known, wide ? 4 : 1);
        say(&writer->says, writer->memo[known], strlen(writer->memo[known]));
        break;
    }
    case 6:
        put_tuple(writer, depth - 1);
        break;
    default:
        put_items(writer, depth - 1, below(writer, 2));
    }
    if (below(writer, 4) == 0)
        remember(writer, said);
}

/* ---- reading ---- */

/* False where it is refused: `failure` says why. */
static bool reads(const void *bytes, size_t size, struct text *says, struct failure *failure)
{
    struct format_input input = {0};
    struct value_pool pool;
    *failure = (struct failure){0};
    says->size = 0;
    if (!format_input_copy(&input, "p", bytes, size, failure))
        return false;
    value_pool_init(&pool, &input);
    const struct value *root = value_read_pickle(&pool);
    if (root)
        say_value(says, root);
    value_pool_release(&pool);
    format_input_release(&input);
    return root != NULL;
}

static void random_pickles(void)
{
    static struct writer writer;
    static struct text says;
    struct failure failure;
    struct dice_seeds seeds = dice_seeds(PICKLES);
    unsigned long long other = 0, longer = 0, cut = 0, tried = 0, items = 0;
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        memset(&writer, 0, sizeof writer);
        writer.dice = seed;
        writer.most_items = 5;
        put_value(&writer, 4);
        put(&writer, '.');
        for (unsigned i = 0; i < 256; i++)
            free(writer.memo[i]);
        if (writer.size > BYTES_MAX - 8 || writer.says.size >= TEXT_MAX)
            continue;
        tried++;
        items += writer.size;
        bool same = reads(writer.bytes, writer.size, &says, &failure) &&
                    says.size == writer.says.size &&
                    memcmp(says.data, writer.says.data, says.size) == 0;
        if (!same && !other++)
            tap_note("seed %llu: %s\n# %.*s\n# %.*s", seed, failure.text, (int)says.size, says.data,
                     (int)writer.says.size, writer.says.data);
        size_t step = 1 + writer.size / CUT_MAX;
        for (size_t size = 0; size < writer.size; size += step)
            cut += reads(writer.bytes, size, &says, &failure) || failure.code != FAILURE_INPUT;
        writer.bytes[writer.size] = '.';
        longer += reads(writer.bytes, writer.size + 1, &says, &failure);
    }
    tap_ok(items > 20 * tried && tried, "%llu pickles of %llu bytes are written", tried, items);
    tap_is_int(other, 0, "each is read as what was written");
    tap_is_int(cut, 0, "none that is cut short is read");
    tap_is_int(longer, 0, "nor one with a byte more");
}

#define BYTES(bytes) bytes, sizeof bytes - 1
static const struct {
    const char *bytes;
    size_t size;
    const char *says; /* with a space first: it is refused so */
} rows[] = {
    {BYTES("N."), "null"},
    {BYTES("."), " byte 0: the pickle ends with other than one value"},
    {BYTES("NN."), " byte 2: the pickle ends with other than one value"},
    {BYTES("N(."), " byte 2: the pickle ends with other than one value"},
    {BYTES("N.N"), " byte 2: bytes behind the end of the pickle"},
    {BYTES("0"), " byte 0: a value is missing on the stack"},
    {BYTES("N(0"), " byte 2: a value is missing on the stack"},
    {BYTES("N(2"), " byte 2: a value is missing on the stack"},
    {BYTES("N(q\0"), " byte 2: a value is missing on the stack"},
    {BYTES("Na"), " byte 1: a value is missing on the stack"},
    {BYTES("](Na"), " byte 3: a value is missing on the stack"},
    {BYTES("NNa"), " byte 2: items for what is no list"},
    {BYTES("}Na"), " byte 2: items for what is no list"},
    {BYTES("]Na."), "[null,]"},
    {BYTES("}Ns"), " byte 2: a value is missing on the stack"},
    {BYTES("}(NNs"), " byte 4: a value is missing on the stack"},
    {BYTES("]NNs"), " byte 3: items for what is no dict"},
    {BYTES("}NNs."), "{null,null,]"},
    {BYTES("e"), " byte 0: a mark is missing on the stack"},
    {BYTES("u"), " byte 0: a mark is missing on the stack"},
    {BYTES("t"), " byte 0: a mark is missing on the stack"},
    {BYTES("1"), " byte 0: a mark is missing on the stack"},
    {BYTES("(e"), " byte 1: a value is missing on the stack"},
    {BYTES("N((e"), " byte 3: a value is missing on the stack"},
    {BYTES("N(e"), " byte 2: items for what is no list"},
    {BYTES("](e."), "[]"},
    {BYTES("}(u."), "{]"},
    {BYTES("}(Nu"), " byte 3: a key without a value"},
    {BYTES("](NNu"), " byte 4: items for what is no dict"},
    {BYTES("(t."), "[]"},
    {BYTES("(N1N."), "null"},
    {BYTES("\x85"), " byte 0: a value is missing on the stack"},
    {BYTES("N\x86"), " byte 1: a value is missing on the stack"},
    {BYTES("NN\x87"), " byte 2: a value is missing on the stack"},
    {BYTES("N(\x85"), " byte 2: a value is missing on the stack"},
    {BYTES("NN\x86."), "[null,null,]"},
    {BYTES("h\0."), " byte 0: a memo number that was never put"},
    {BYTES("Nq\2h\1"), " byte 3: a memo number that was never put"},
    {BYTES("Nq\2h\3"), " byte 3: a memo number that was never put"},
    {BYTES("Nq\2h\2\x86."), "[null,null,]"},
    {BYTES("Nq\4."), "null"},
    {BYTES("Nq\5."), " byte 1: a memo number beyond the size of the file"},
    {BYTES("Nr\0\0\1\0."), " byte 1: a memo number beyond the size of the file"},
    {BYTES("\x80\1N."), " byte 0: a pickle of protocol 2 to 5 expected"},
    {BYTES("\x80\2N."), "null"},
    {BYTES("\x80\5N."), "null"},
    {BYTES("\x80\6N."), " byte 0: a pickle of protocol 2 to 5 expected"},
    {BYTES("\x95\2\0\0\0\0\0\0\0N."), "null"},
    {BYTES("\x95\3\0\0\0\0\0\0\0N."), " byte 0: a frame longer than the file"},
    {BYTES("\x8a\x8\1\2\3\4\5\6\7\x80."), "-9221395093405892095"},
    {BYTES("\x8a\x9\1\2\3\4\5\6\7\x8\0."), " byte 0: an integer of more than 64 bits"},
    {BYTES("\x8b\x9\0\0\0\1\2\3\4\5\6\7\x8\0."), " byte 0: an integer of more than 64 bits"},
    {BYTES("\x8a\0."), "0"},
    {BYTES("\x8a\1\xff."), "-1"},
    {BYTES("M\xff\xff."), "65535"},
    {BYTES("J\xff\xff\xff\xff."), "-1"},
    {BYTES("X\3\0\0\0ab"), " byte 0: the pickle is cut short"},
    {BYTES("X\1\0\0\1ab."), " byte 0: the pickle is cut short"},
    {BYTES("\x8d\2\0\0\0\0\0\0\1ab."), " byte 0: the pickle is cut short"},
    {BYTES("\x8c\2ab."), "'6162'"},
    {BYTES("Ncos\nsystem\n"),
     " byte 1: the pickle would run code (GLOBAL): only plain data is read"},
    {BYTES("\x93"), " byte 0: the pickle would run code (STACK_GLOBAL): only plain data is read"},
    {BYTES("R"), " byte 0: the pickle would run code (REDUCE): only plain data is read"},
    {BYTES("b"), " byte 0: the pickle would run code (BUILD): only plain data is read"},
    {BYTES("i"), " byte 0: the pickle would run code (INST): only plain data is read"},
    {BYTES("o"), " byte 0: the pickle would run code (OBJ): only plain data is read"},
    {BYTES("\x81"), " byte 0: the pickle would run code (NEWOBJ): only plain data is read"},
    {BYTES("\x92"), " byte 0: the pickle would run code (NEWOBJ_EX): only plain data is read"},
    {BYTES("P"), " byte 0: the pickle would run code (PERSID): only plain data is read"},
    {BYTES("Q"), " byte 0: the pickle would run code (BINPERSID): only plain data is read"},
    {BYTES("\x82"), " byte 0: the pickle would run code (EXT1): only plain data is read"},
    {BYTES("\x83"), " byte 0: the pickle would run code (EXT2): only plain data is read"},
    {BYTES("\x84"), " byte 0: the pickle would run code (EXT4): only plain data is read"},
    {BYTES("\x97"), " byte 0: the pickle would run code (NEXT_BUFFER): only plain data is read"},
    {BYTES("\x98"),
     " byte 0: the pickle would run code (READONLY_BUFFER): only plain data is read"},
    {BYTES("I"), " byte 0: opcode 0x49 is not one that plain data needs"},
    {BYTES("\x90"), " byte 0: opcode 0x90 is not one that plain data needs"},
};

static void rows_are_read(void)
{
    static struct text says;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct failure failure;
        bool good = reads(rows[i].bytes, rows[i].size, &says, &failure);
        says.data[says.size] = 0;
        const char *got = good ? says.data : strchr(failure.text, ' ');
        tap_is_str(got, rows[i].says, "pickle %zu", i);
    }
}

int main(void)
{
    random_pickles();
    rows_are_read();
    return tap_done();
}
