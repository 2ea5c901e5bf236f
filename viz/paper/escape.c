/* Safe text: see escape.h. One decoder feeds every escaper, so what is dropped is dropped
 * everywhere. */
#include "viz/paper/escape.h"

#include <stdint.h>
#include <string.h>

#define REPLACEMENT 0xFFFDu

/* Length of the sequence a lead byte announces and the smallest code point it may hold; 0 for a
 * stray. */
static unsigned sequence_length(unsigned char lead, unsigned *smallest)
{
    if (lead >= 0xC2 && lead <= 0xDF) {
        *smallest = 0x80;
        return 2;
    }
    if ((lead & 0xF0) == 0xE0) {
        *smallest = 0x800;
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        *smallest = 0x10000;
        return 4;
    }
    return 0;
}

static unsigned decode(const char **text)
{
    const unsigned char *at = (const unsigned char *)*text;
    if (at[0] < 0x80) {
        *text += 1;
        return at[0];
    }
    unsigned smallest = 0, length = sequence_length(at[0], &smallest);
    unsigned code = length == 2 ? at[0] & 0x1Fu : length == 3 ? at[0] & 0x0Fu : at[0] & 0x07u;
    for (unsigned i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            *text += i; /* a broken sequence ends before the byte that breaks it */
            return REPLACEMENT;
        }
        code = code << 6 | (at[i] & 0x3Fu);
    }
    *text += length ? length : 1;
    return length && code >= smallest && code <= 0x10FFFF ? code : REPLACEMENT;
}

static bool turns_direction(unsigned code)
{
    return code == 0x200E || code == 0x200F || code == 0x061C ||
           (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

unsigned viz_text_next(const char **text)
{
    if (**text == '\0')
        return 0;
    unsigned code = decode(text);
    if (code == '\n' || code == '\t' || code == '\r' || code == 0x2028 || code == 0x2029)
        return ' ';
    bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    bool no_character = (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF);
    return control || surrogate || no_character || turns_direction(code) ? REPLACEMENT : code;
}

/* Writes one code point as UTF-8; returns its length. */
static size_t encode(unsigned code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80u | (code & 0x3Fu));
    out[0] = (char)(lead[length] | code);
    return length;
}

char *viz_text_cut(char *out, size_t size, const char *text, size_t characters)
{
    static const char ellipsis[] = "\xE2\x80\xA6";
    size_t length = 0, last = 0, count = 0;
    if (size == 0)
        return out;
    for (const char *at = text ? text : ""; *at;) {
        char bytes[4];
        size_t n = encode(viz_text_next(&at), bytes);
        bool full = (characters && count == characters) || length + n + sizeof ellipsis > size;
        if (full) { /* the last character makes room for the ellipsis */
            length = characters && count == characters ? last : length;
            if (length + sizeof ellipsis <= size) {
                memcpy(out + length, ellipsis, 3);
                length += 3;
            }
            break;
        }
        last = length;
        memcpy(out + length, bytes, n);
        length += n;
        count++;
    }
    out[length] = '\0';
    return out;
}

static void put(FILE *file, unsigned code)
{
    char bytes[4];
    fwrite(bytes, 1, encode(code, bytes), file);
}

/* The five characters XML reserves; false for any other. */
static bool put_entity(FILE *file, unsigned code)
{
    switch (code) {
    case '&':
        return fputs("&amp;", file), true;
    case '<':
        return fputs("&lt;", file), true;
    case '>':
        return fputs("&gt;", file), true;
    case '"':
        return fputs("&quot;", file), true;
    case '\'':
        return fputs("&#39;", file), true;
    default:
        return false;
    }
}

void viz_escape_html(FILE *file, const char *text)
{
    for (const char *at = text ? text : ""; *at;) {
        unsigned code = viz_text_next(&at);
        if (!put_entity(file, code))
            put(file, code);
    }
}

void viz_escape_dot_label(FILE *file, const char *text)
{
    for (const char *at = text ? text : ""; *at;) {
        unsigned code = viz_text_next(&at);
        if (!put_entity(file, code))
            put(file, code == '\\' ? 0x2216 : code);
    }
}

void viz_escape_dot_quoted(FILE *file, const char *text)
{
    /* Entities, not backslashes: Graphviz passes entities through to SVG and decodes them
     * elsewhere. */
    viz_escape_dot_label(file, text);
}

void viz_escape_json(FILE *file, const char *text)
{
    for (const char *at = text ? text : ""; *at;) {
        unsigned code = viz_text_next(&at);
        if (code == '"' || code == '\\')
            fputc('\\', file);
        put(file, code);
    }
}

/* Advance widths of the printable ASCII characters in hundredths of the size. */
static const uint8_t widths[2][95] = {
    {32, 40, 46, 84, 64, 95, 78, 28, 39, 39, 50, 84, 32, 36,  32, 34, 64, 64, 64,
     64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53, 100, 71, 68, 70, 77, 63,
     58, 77, 75, 29, 29, 65, 55, 86, 75, 79, 60, 79, 70, 64,  59, 73, 68, 99, 68,
     61, 68, 39, 34, 39, 84, 50, 50, 61, 64, 55, 64, 61, 34,  64, 64, 28, 28, 58,
     28, 97, 64, 61, 64, 64, 39, 52, 39, 64, 59, 82, 59, 59,  52, 64, 34, 64, 84},
    {34, 46,  52, 84, 70, 101, 87, 31,  46, 46, 52, 84, 38, 41,  38, 37, 70, 70,  70,
     70, 70,  70, 70, 70, 70,  70, 40,  40, 84, 84, 84, 58, 100, 77, 77, 74, 83,  68,
     68, 82,  84, 37, 37, 77,  64, 100, 84, 85, 74, 85, 77, 68,  70, 81, 77, 110, 77,
     73, 73,  46, 34, 46, 84,  50, 50,  68, 71, 59, 71, 68, 40,  71, 71, 34, 34,  67,
     34, 104, 71, 69, 71, 71,  50, 59,  48, 71, 65, 92, 65, 65,  58, 71, 37, 71,  84}};

double viz_text_width(const char *text, double points, bool bold)
{
    unsigned sum = 0;
    for (const char *at = text ? text : ""; *at;) {
        unsigned code = viz_text_next(&at);
        sum += code >= 32 && code < 127 ? widths[bold][code - 32] : code < 0x2E80 ? 75 : 105;
    }
    return (double)sum * points / 100.0;
}
