/* The JSON reader at its borders: integers around every power that decides, and all byte sequences
 * that begin like UTF-8, against a decoder that asks for nothing but the definition. */
#include "tests/tap.h"
#include "traces/input/json.h"

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

static void utf8(void)
{
    static const unsigned char edges[] = {0x20, 0x41, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x9f,
                                          0xa0, 0xaf, 0xb0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
                                          0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xff};
    enum { EDGES = sizeof edges };
    int wrong = 0, tried = 0, good = 0;
    for (int lead = 0x20; lead < 256; lead++)
        for (int size = 1; size <= 4; size++) {
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
    tap_ok(!wrong && good > 1000 && good < tried,
           "%d sequences of bytes are read where they are UTF-8, and refused where not", tried);
}

int main(void)
{
    integers();
    utf8();
    return tap_done();
}
