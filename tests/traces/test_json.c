/* The JSON reader at its borders: integers around every power that decides, and all byte sequences
 * that begin like UTF-8, against a decoder that asks for nothing but the definition. All escapes
 * against what they stand for; and what is written is well-formed and read back as the same bytes. */
#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/input/json.h"
#include "traces/input/write.h"

#include <stdlib.h>
#include <string.h>

/* ---- integers ---- */

struct parsed {
    bool is_signed, is_unsigned, in_range;
    int64_t signed_value;
    uint64_t unsigned_value;
};

static struct json begin(struct format_input *input, struct failure *failure, const char *text,
                         size_t size)
{
    struct json json = {0};
    *failure = (struct failure){0};
    *input = (struct format_input){
        .name = "t", .data = (const unsigned char *)text, .size = size, .failure = failure};
    json_init(&json, input, 0, size);
    return json;
}

static struct parsed parse(const char *text)
{
    struct parsed parsed = {0};
    struct format_input input;
    struct failure failure;
    struct json json = begin(&input, &failure, text, strlen(text));
    parsed.is_signed = json_open(&json, '[') && json_next(&json) &&
                       json_integer(&json, INT64_MIN, INT64_MAX, &parsed.signed_value) &&
                       !json_next(&json) && !input.refused && json_end(&json);
    json = begin(&input, &failure, text, strlen(text));
    parsed.is_unsigned = json_open(&json, '[') && json_next(&json) &&
                         json_unsigned(&json, &parsed.unsigned_value) && !json_next(&json) &&
                         !input.refused && json_end(&json);
    int64_t value;
    json = begin(&input, &failure, text, strlen(text));
    parsed.in_range =
        json_open(&json, '[') && json_next(&json) && json_integer(&json, -3, 5, &value);
    return parsed;
}

__extension__ typedef __int128 wide;

/* The value of the decimal digits, as 128 bits; false where they are too many even for that. */
static bool value_of(const char *digits, wide *value)
{
    bool negative = *digits == '-';
    *value = 0;
    for (const char *at = digits + negative; *at; at++)
        *value = *value * 10 + (*at - '0');
    if (negative)
        *value = -*value;
    return strlen(digits) < 36;
}

static void expect_integer(const char *digits, const char *behind)
{
    char text[80];
    wide value;
    bool known = value_of(digits, &value), plain = digits[0] != '-' || digits[1];
    bool leading_zero = plain && digits[digits[0] == '-'] == '0' && digits[(digits[0] == '-') + 1];
    snprintf(text, sizeof text, "[%s%s]", digits, behind);
    struct parsed parsed = parse(text);
    bool good = known && !leading_zero && *digits && plain;
    bool fits = good && value >= INT64_MIN && value <= INT64_MAX;
    bool fits_unsigned = good && *digits != '-' && value <= UINT64_MAX;
    tap_ok(parsed.is_signed == fits && (!fits || parsed.signed_value == (int64_t)value) &&
               parsed.is_unsigned == fits_unsigned &&
               (!fits_unsigned || parsed.unsigned_value == (uint64_t)value) &&
               parsed.in_range == (fits && value >= -3 && value <= 5),
           "%s is read as what it is", text);
}

static void integers(void)
{
    static const char *const borders[] = {
        "0",
        "-0",
        "1",
        "-1",
        "5",
        "6",
        "-3",
        "-4",
        "00",
        "01",
        "-01",
        "-",
        "99999999999999999",
        "999999999999999999",
        "1000000000000000000",
        "-999999999999999999",
        "-1000000000000000000",
        "1000000000000000001",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "9999999999999999999",
        "10000000000000000000",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551617",
        "-18446744073709551615",
        "-18446744073709551617",
        "27670116110564327424",
        "99999999999999999999",
        "100000000000000000000",
        "184467440737095516160",
        "340282366920938463463374607431768211",
    };
    for (size_t i = 0; i < sizeof borders / sizeof *borders; i++) {
        expect_integer(borders[i], "");
        expect_integer(borders[i], " ");
    }
}

/* ---- UTF-8 ---- */

/* The code point that stands at text, and its length in bytes; 0: none does. By the definition: the
 * bytes are what the point would be encoded as. */
static int decode(const unsigned char *text, int size)
{
    unsigned char made[4];
    for (int length = 1; length <= size; length++) {
        uint32_t point = length == 1   ? text[0]
                         : length == 2 ? (uint32_t)(text[0] & 0x1f) << 6 | (text[1] & 0x3f)
                         : length == 3
                             ? (uint32_t)(text[0] & 0xf) << 12 | (uint32_t)(text[1] & 0x3f) << 6 |
                                   (text[2] & 0x3f)
                             : (uint32_t)(text[0] & 7) << 18 | (uint32_t)(text[1] & 0x3f) << 12 |
                                   (uint32_t)(text[2] & 0x3f) << 6 | (text[3] & 0x3f);
        if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
            continue;
        int needed = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        made[0] = (unsigned char)(needed == 1   ? point
                                  : needed == 2 ? 0xc0 | point >> 6
                                  : needed == 3 ? 0xe0 | point >> 12
                                                : 0xf0 | point >> 18);
        for (int i = 1; i < needed; i++)
            made[i] = (unsigned char)(0x80 | (point >> 6 * (needed - 1 - i) & 0x3f));
        if (needed == length && !memcmp(made, text, (size_t)length))
            return length;
    }
    return 0;
}

/* Whether the bytes are read, and whether what was read is what they were. */
static bool is_read(const unsigned char *bytes, int size, bool *same)
{
    struct format_input input;
    struct failure failure;
    char text[8] = {'"'};
    const char *got;
    size_t length;
    memcpy(text + 1, bytes, (size_t)size);
    text[size + 1] = '"';
    struct json json = begin(&input, &failure, text, (size_t)size + 2);
    bool read = json_text(&json, &got, &length) && json_end(&json);
    *same = !read || (length == (size_t)size && !memcmp(got, bytes, (size_t)size));
    json_release(&json);
    return read;
}

/* All of text is characters, none of which ends it or needs an escape. */
static bool is_text(const unsigned char *bytes, int size)
{
    for (int at = 0, length; at < size; at += length) {
        length = decode(bytes + at, size - at);
        if (!length || bytes[at] < ' ' || bytes[at] == '"' || bytes[at] == '\\')
            return false;
    }
    return true;
}

/* Of a part (tests/dice.h) only the first bytes where something changes. */
static bool is_asked(int lead)
{
    static const unsigned char changes[] = {0x20, 0x22, 0x5c, 0x7f, 0x80, 0xc1, 0xc2,
                                            0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5};
    return dice_part().of == 1 || memchr(changes, lead, sizeof changes);
}

static void utf8(void)
{
    static const unsigned char edges[] = {0x20, 0x41, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x9f,
                                          0xa0, 0xaf, 0xb0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
                                          0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xff};
    enum { EDGES = sizeof edges };
    int wrong = 0, tried = 0, good = 0;
    for (int lead = 0x20; lead < 256; lead++)
        for (int size = is_asked(lead) ? 1 : 5; size <= 4; size++) {
            int codes = size == 1   ? 1
                        : size == 2 ? EDGES
                        : size == 3 ? EDGES * EDGES
                                    : 22 * 22 * 22;
            for (int code = 0; code < codes; code++) {
                unsigned char bytes[4] = {(unsigned char)lead, edges[code % EDGES],
                                          edges[code / EDGES % EDGES],
                                          edges[code / EDGES / EDGES % EDGES]};
                bool is = is_text(bytes, size), same;
                if ((is_read(bytes, size, &same) != is || !same) && !wrong++)
                    tap_note("%d bytes %02x %02x %02x %02x: %s UTF-8", size, bytes[0], bytes[1],
                             bytes[2], bytes[3], is ? "are" : "are not");
                tried++;
                good += is;
            }
        }
    tap_ok(!wrong && good > 300 && good < tried,
           "%d sequences of bytes are read where they are UTF-8, and refused where not", tried);
}

/* ---- escapes ---- */

/* What is read of the text in quotes; -1: it is refused. The bytes go to `bytes`, with room for 16. */
static int read_text(const char *quoted, unsigned char *bytes)
{
    struct format_input input;
    struct failure failure;
    const char *got;
    size_t length;
    struct json json = begin(&input, &failure, quoted, strlen(quoted));
    bool read = json_text(&json, &got, &length) && json_end(&json) && length <= 16;
    if (read)
        memcpy(bytes, got, length);
    json_release(&json);
    return read ? (int)length : -1;
}

/* The point that the bytes are, all of them; 0: they are none. */
static uint32_t point_of(const unsigned char *bytes, int length)
{
    static const unsigned char mask[] = {0, 0x7f, 0x1f, 0xf, 7};
    if (length < 1 || length > 4 || decode(bytes, length) != length)
        return 0;
    uint32_t point = bytes[0] & mask[length];
    for (int i = 1; i < length; i++)
        point = point << 6 | (bytes[i] & 0x3f);
    return point;
}

static bool is_surrogate(unsigned unit)
{
    return unit >= 0xd800 && unit < 0xe000;
}

static bool is_raw_byte(unsigned unit)
{
    return unit >= 0xdc80 && unit <= 0xdcff;
}

/* Every unit alone, in small and in capital letters. */
static void units(void)
{
    int wrong = 0;
    for (unsigned unit = 0; unit < 0x10000; unit++)
        for (int capital = 0; capital < 2; capital++) {
            char text[16];
            unsigned char bytes[16] = {0};
            snprintf(text, sizeof text, capital ? "\"\\u%04X\"" : "\"\\u%04x\"", unit);
            int length = read_text(text, bytes);
            bool right = is_raw_byte(unit) ? length == 1 && bytes[0] == (unit & 0xff)
                         : unit == 0 || is_surrogate(unit) ? length == -1
                                                           : point_of(bytes, length) == unit;
            if (!right && !wrong++)
                tap_note("%s is read as %d bytes", text, length);
        }
    tap_ok(!wrong, "every \\uXXXX is the character it names, or a byte, or refused");
}

/* Two units are one character where both are halves in their order. A raw byte stands alone, so
 * what follows it is read for itself. */
static void pairs(void)
{
    static const unsigned edges[] = {0x41,   0xd7ff, 0xd800, 0xd801, 0xd83d, 0xdbfe,
                                     0xdbff, 0xdc00, 0xdc01, 0xdc7f, 0xdc80, 0xdcff,
                                     0xdd00, 0xdffe, 0xdfff, 0xe000};
    enum { EDGES = sizeof edges / sizeof *edges };
    int wrong = 0, joined = 0;
    for (unsigned code = 0; code < EDGES * EDGES; code++) {
        unsigned high = edges[code / EDGES], low = edges[code % EDGES];
        char text[24];
        unsigned char bytes[16] = {0};
        snprintf(text, sizeof text, "\"\\u%04x\\u%04x\"", high, low);
        int length = read_text(text, bytes);
        bool one = high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000;
        bool refused = !one && ((is_surrogate(high) && !is_raw_byte(high)) ||
                                (is_surrogate(low) && !is_raw_byte(low)));
        uint32_t point = 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00);
        joined += one;
        if (one ? point_of(bytes, length) != point : refused ? length != -1 : length < 2)
            wrong += wrong || (tap_note("%s is read as %d bytes", text, length), true);
    }
    tap_is_int(joined, 5 * 8, "halves in their order are looked at");
    tap_is_int(wrong, 0, "and are one character, other pairs with a half are refused");
}

static void escapes(void)
{
    static const char known[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    static const char *const refused[] = {
        "\"\\u004\"",       "\"\\u004g\"",       "\"\\u004G\"",    "\"\\u00/1\"",
        "\"\\u00:1\"",      "\"\\u00@1\"",       "\"\\u00`1\"",    "\"\\u",
        "\"\\ud83d",        "\"\\ud83d\\",       "\"\\ud83d\\n\"", "\"\\ud83du\"",
        "\"\\ud83d dc00\"", "\"\\ud83d\\udc0\"", "\"\\U0041\""};
    int wrong = 0;
    for (int c = 1; c < 128; c++) {
        char text[] = {'"', '\\', (char)c, '"', 0};
        unsigned char bytes[16] = {0};
        const char *at = strchr(known, c);
        int length = read_text(text, bytes);
        wrong += at ? length != 1 || bytes[0] != (unsigned char)meant[at - known] : length != -1;
    }
    tap_is_int(wrong, 0, "eight letters may stand behind a backslash, and no others");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        unsigned char bytes[16];
        tap_is_int(read_text(refused[i], bytes), -1, "%s is refused", refused[i]);
    }
    units();
    pairs();
}

/* ---- what is written ---- */

/* Whether the written text is UTF-8 and is read as the same bytes. Those that are no UTF-8 are each
 * escaped: `raw` of them. */
static bool is_written(const unsigned char *bytes, int size, int raw)
{
    char text[5] = {0}, written[64] = {0};
    unsigned char got[16];
    memcpy(text, bytes, (size_t)size);
    FILE *out = fmemopen(written, sizeof written, "w");
    if (!out)
        return false;
    json_write_text(out, text);
    fclose(out);
    int escaped = 0, length = (int)strlen(written), step;
    for (const char *at = written; (at = strstr(at, "\\udc")) != NULL; at++)
        escaped++;
    for (int at = 0; at < length; at += step)
        if ((step = decode((const unsigned char *)written + at, length - at)) == 0)
            return false;
    return escaped == raw && read_text(written, got) == size && !memcmp(got, bytes, (size_t)size);
}

static void written_texts(void)
{
    static const unsigned char edges[] = {0x01, 0x1f, 0x20, 0x22, 0x5c, 0x7f, 0x80,
                                          0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    enum { EDGES = sizeof edges };
    int wrong = 0, tried = 0;
    for (int lead = 1; lead < 256; lead++)
        for (int size = is_asked(lead) ? 1 : 5; size <= 4; size++) {
            int codes = size == 1   ? 1
                        : size == 2 ? EDGES
                        : size == 3 ? EDGES * EDGES
                                    : 14 * 14 * 14;
            for (int code = 0; code < codes; code++) {
                unsigned char bytes[4] = {(unsigned char)lead, edges[code % EDGES],
                                          edges[code / EDGES % EDGES],
                                          edges[code / EDGES / EDGES % EDGES]};
                int raw = 0, length;
                for (int at = 0; at < size; at += length ? length : 1)
                    raw += (length = decode(bytes + at, size - at)) == 0;
                tried++;
                if (!is_written(bytes, size, raw) && !wrong++)
                    tap_note("%d bytes %02x %02x %02x %02x", size, bytes[0], bytes[1], bytes[2],
                             bytes[3]);
            }
        }
    tap_is_int(wrong, 0, "%d texts are written as UTF-8 and read back, byte by byte", tried);
}

int main(void)
{
    static void (*const tests[])(void) = {integers, utf8, escapes, written_texts};
    enum { TESTS = sizeof tests / sizeof *tests };
    for (size_t i = 0; i < TESTS; i++)
        if (dice_takes_of(i, TESTS))
            tests[i]();
    return tap_done();
}
