/* A bounded JSON pull parser: see json.h. */
#include "traces/input/json.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_LENGTH_MAX = 512 };

void json_init(struct json *json, struct format_input *input, size_t offset, size_t end)
{
    char *text = json->text;
    size_t room = json->text_room;
    *json = (struct json){
        .input = input, .offset = offset, .end = end, .text = text, .text_room = room};
}

void json_release(struct json *json)
{
    free(json->text);
    json->text = NULL;
    json->text_room = 0;
}

static int at(const struct json *json, size_t offset)
{
    return offset < json->end ? json->input->data[offset] : -1;
}

static int here(const struct json *json)
{
    return at(json, json->offset);
}

static void blanks(struct json *json)
{
    for (int c = here(json); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = here(json))
        json->offset++;
    json->start = json->offset;
}

static bool refuse_here(struct json *json, const char *expected)
{
    int c = here(json);
    if (c < 0)
        return format_refuse(json->input, json->offset, "%s expected, the input ends", expected);
    if (c < ' ' || c >= 0x7f)
        return format_refuse(json->input, json->offset, "%s expected, not byte 0x%02x", expected,
                             (unsigned)c);
    return format_refuse(json->input, json->offset, "%s expected, not '%c'", expected, c);
}

enum json_type json_peek(struct json *json)
{
    if (json->input->refused)
        return JSON_NONE;
    blanks(json);
    switch (here(json)) {
    case 'n':
        return JSON_NULL;
    case 't':
    case 'f':
        return JSON_BOOL;
    case '"':
        return JSON_TEXT;
    case '[':
        return JSON_LIST;
    case '{':
        return JSON_OBJECT;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return JSON_NUMBER;
    default:
        refuse_here(json, "a value");
        return JSON_NONE;
    }
}

static bool word(struct json *json, const char *text)
{
    size_t length = strlen(text);
    if (json->end - json->offset < length ||
        memcmp(json->input->data + json->offset, text, length) != 0)
        return refuse_here(json, "null, true or false");
    json->offset += length;
    return true;
}

static bool expect(struct json *json, enum json_type type, const char *what)
{
    enum json_type found = json_peek(json);
    if (found == type)
        return true;
    return found == JSON_NONE ? false : refuse_here(json, what);
}

bool json_null(struct json *json)
{
    return word(json, "null");
}

bool json_bool(struct json *json, bool *value)
{
    if (!expect(json, JSON_BOOL, "true or false"))
        return false;
    *value = here(json) == 't';
    return word(json, *value ? "true" : "false");
}

static size_t digits(struct json *json)
{
    size_t begin = json->offset;
    while (here(json) >= '0' && here(json) <= '9')
        json->offset++;
    return json->offset - begin;
}

/* Walks over a number by the grammar; `integer`: no fraction, no exponent. */
static bool number_span(struct json *json, bool *integer)
{
    if (!expect(json, JSON_NUMBER, "a number"))
        return false;
    *integer = true;
    if (here(json) == '-')
        json->offset++;
    bool zero = here(json) == '0';
    size_t count = digits(json);
    if (count == 0)
        return refuse_here(json, "a digit");
    if (zero && count > 1)
        return json_refuse(json, "a number may not begin with 0");
    if (here(json) == '.') {
        *integer = false;
        json->offset++;
        if (digits(json) == 0)
            return refuse_here(json, "a digit");
    }
    if (here(json) == 'e' || here(json) == 'E') {
        *integer = false;
        json->offset++;
        if (here(json) == '+' || here(json) == '-')
            json->offset++;
        if (digits(json) == 0)
            return refuse_here(json, "a digit");
    }
    if (json->offset - json->start >= NUMBER_LENGTH_MAX)
        return json_refuse(json, "a number of more than %d characters", NUMBER_LENGTH_MAX - 1);
    return true;
}

/* The magnitude of the integer just walked over; false when it passes 64 bits. */
static bool magnitude(const struct json *json, uint64_t *value)
{
    size_t i = json->start + (json->input->data[json->start] == '-');
    for (*value = 0; i < json->offset; i++)
        if (__builtin_mul_overflow(*value, 10u, value) ||
            __builtin_add_overflow(*value, (unsigned)(json->input->data[i] - '0'), value))
            return false;
    return true;
}

static bool signed_value(const struct json *json, int64_t *value)
{
    uint64_t absolute;
    bool negative = json->input->data[json->start] == '-';
    if (!magnitude(json, &absolute) || absolute > (uint64_t)INT64_MAX + negative)
        return false;
    *value = negative ? (int64_t)(0 - absolute) : (int64_t)absolute;
    return true;
}

/* Most numbers: up to 18 digits and nothing behind them. Takes one, or nothing at all: whatever is
 * unusual is for the grammar, which knows what is wrong with it. */
static bool take_plain(struct json *json, int64_t *value)
{
    if (json->input->refused)
        return false;
    blanks(json);
    const unsigned char *data = json->input->data;
    size_t at = json->start, first;
    bool negative = at < json->end && data[at] == '-';
    uint64_t number = 0; /* of more than 18 digits it is not used */
    first = at += negative;
    for (; at < json->end && data[at] >= '0' && data[at] <= '9'; at++)
        number = number * 10 + (uint64_t)(data[at] - '0');
    size_t length = at - first;
    if (length == 0 || length > 18 || (length > 1 && data[first] == '0') || at >= json->end ||
        (data[at] != ',' && data[at] != '}' && data[at] != ']'))
        return false;
    *value = negative ? -(int64_t)number : (int64_t)number;
    json->offset = at;
    return true;
}

bool json_integer(struct json *json, int64_t low, int64_t high, int64_t *value)
{
    bool integer;
    if (take_plain(json, value) && *value >= low && *value <= high)
        return true;
    json->offset = json->input->refused ? json->offset : json->start;
    if (!number_span(json, &integer))
        return false;
    if (!integer)
        return json_refuse(json, "a whole number expected");
    if (!signed_value(json, value) || *value < low || *value > high)
        return json_refuse(json, "a number from %lld to %lld expected", (long long)low,
                           (long long)high);
    return true;
}

bool json_unsigned(struct json *json, uint64_t *value)
{
    bool integer;
    int64_t plain_value;
    if (take_plain(json, &plain_value) && json->input->data[json->start] != '-') {
        *value = (uint64_t)plain_value;
        return true;
    }
    json->offset = json->input->refused ? json->offset : json->start;
    if (!number_span(json, &integer))
        return false;
    if (!integer || json->input->data[json->start] == '-')
        return json_refuse(json, "a whole number, not negative, expected");
    if (!magnitude(json, value))
        return json_refuse(json, "a number of at most 64 bits expected");
    return true;
}

bool json_number(struct json *json, double *value, bool *integer, int64_t *exact)
{
    bool whole;
    char text[NUMBER_LENGTH_MAX];
    if (!number_span(json, &whole))
        return false;
    size_t length = json->offset - json->start;
    memcpy(text, json->input->data + json->start, length);
    text[length] = 0;
    *value = strtod(text, NULL);
    if (integer)
        *integer = whole && signed_value(json, exact);
    return true;
}

static bool text_put(struct json *json, size_t *used, unsigned byte)
{
    if (*used >= json->text_room &&
        !format_grow(json->input, &json->text, *used, &json->text_room, 1))
        return false;
    json->text[(*used)++] = (char)byte;
    return true;
}

static bool text_put_point(struct json *json, size_t *used, uint32_t point)
{
    if (point < 0x80)
        return text_put(json, used, point);
    if (point < 0x800)
        return text_put(json, used, 0xc0 | point >> 6) &&
               text_put(json, used, 0x80 | (point & 0x3f));
    if (point < 0x10000)
        return text_put(json, used, 0xe0 | point >> 12) &&
               text_put(json, used, 0x80 | (point >> 6 & 0x3f)) &&
               text_put(json, used, 0x80 | (point & 0x3f));
    return text_put(json, used, 0xf0 | point >> 18) &&
           text_put(json, used, 0x80 | (point >> 12 & 0x3f)) &&
           text_put(json, used, 0x80 | (point >> 6 & 0x3f)) &&
           text_put(json, used, 0x80 | (point & 0x3f));
}

static bool hex_four(struct json *json, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++, json->offset++) {
        int c = here(json);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return refuse_here(json, "a hexadecimal digit");
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

/* Behind "\u". */
static bool escape_point(struct json *json, size_t *used)
{
    size_t begin = json->offset - 2;
    uint32_t point, low;
    if (!hex_four(json, &point))
        return false;
    if (point == 0)
        return format_refuse(json->input, begin, "a text may not hold the character U+0000");
    if (point >= 0xdc80 && point <= 0xdcff)
        return text_put(json, used, point - 0xdc00);
    if (point < 0xd800 || point > 0xdfff)
        return text_put_point(json, used, point);
    if (point > 0xdbff || here(json) != '\\' || at(json, json->offset + 1) != 'u')
        return format_refuse(json->input, begin, "half a surrogate pair");
    json->offset += 2;
    if (!hex_four(json, &low))
        return false;
    if (low < 0xdc00 || low > 0xdfff)
        return format_refuse(json->input, begin, "half a surrogate pair");
    return text_put_point(json, used, 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00));
}

static bool escape(struct json *json, size_t *used)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = at(json, ++json->offset);
    const char *known = c > 0 ? strchr(from, c) : NULL;
    if (c == 'u') {
        json->offset++;
        return escape_point(json, used);
    }
    if (!known)
        return refuse_here(json, "an escape");
    json->offset++;
    return text_put(json, used, (unsigned char)to[known - from]);
}

/* One character of several bytes: well-formed, shortest, no surrogate. */
static bool utf8(struct json *json, size_t *used)
{
    unsigned lead = (unsigned)here(json);
    int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    uint32_t point = lead & (0x3fu >> more);
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    bool good = lead >= 0xc2 && lead <= 0xf4;
    for (int i = 1; good && i <= more; i++) {
        int c = at(json, json->offset + (size_t)i);
        good = c >= 0x80 && c <= 0xbf;
        point = point << 6 | ((uint32_t)c & 0x3f);
    }
    if (!good || point < least[more] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return format_refuse(json->input, json->offset, "not UTF-8");
    json->offset += (size_t)more + 1;
    return text_put_point(json, used, point);
}

/* The run of characters that stand for themselves. */
static bool plain(struct json *json, size_t *used)
{
    const unsigned char *data = json->input->data;
    size_t begin = json->offset, end = begin;
    while (end < json->end && data[end] >= ' ' && data[end] < 0x80 && data[end] != '"' &&
           data[end] != '\\')
        end++;
    while (json->text_room < *used + (end - begin))
        if (!format_grow(json->input, &json->text, json->text_room, &json->text_room, 1))
            return false;
    memcpy(json->text + *used, data + begin, end - begin);
    *used += end - begin;
    json->offset = end;
    return true;
}

bool json_text(struct json *json, const char **text, size_t *length)
{
    size_t used = 0;
    if (!expect(json, JSON_TEXT, "a text"))
        return false;
    json->offset++;
    for (int c = here(json); c != '"'; c = here(json)) {
        bool done;
        if (c < 0)
            return json_refuse(json, "a text without end");
        if (c < ' ')
            return refuse_here(json, "a character of the text");
        if (c == '\\') {
            done = escape(json, &used);
        } else if (c >= 0x80) {
            done = utf8(json, &used);
        } else {
            done = plain(json, &used);
        }
        if (!done)
            return false;
    }
    json->offset++;
    if (!text_put(json, &used, 0))
        return false;
    *text = json->text;
    if (length)
        *length = used - 1;
    return true;
}

bool json_open(struct json *json, char bracket)
{
    if (!expect(json, bracket == '[' ? JSON_LIST : JSON_OBJECT,
                bracket == '[' ? "a list" : "an object"))
        return false;
    if (json->depth == JSON_DEPTH_MAX)
        return json_refuse(json, "nested deeper than %d", JSON_DEPTH_MAX);
    json->first[json->depth] = true;
    json->close[json->depth++] = bracket == '[' ? ']' : '}';
    json->offset++;
    return true;
}

bool json_next(struct json *json)
{
    if (json->input->refused || json->depth == 0)
        return false;
    char close = json->close[json->depth - 1];
    blanks(json);
    if (here(json) == close) {
        json->offset++;
        json->depth--;
        return false;
    }
    if (!json->first[json->depth - 1]) {
        if (here(json) != ',')
            return refuse_here(json, close == ']' ? "',' or ']'" : "',' or '}'");
        json->offset++;
        blanks(json);
    }
    json->first[json->depth - 1] = false;
    return true;
}

bool json_key(struct json *json, const char **key)
{
    if (!expect(json, JSON_TEXT, "a key") || !json_text(json, key, NULL))
        return false;
    size_t start = json->start;
    blanks(json);
    if (here(json) != ':')
        return refuse_here(json, "':'");
    json->offset++;
    json->start = start;
    return true;
}

bool json_key_is(struct json *json, const char *name, size_t length)
{
    const unsigned char *data = json->input->data + json->offset;
    if (json->input->refused || json->end - json->offset < length + 3 || data[0] != '"' ||
        memcmp(data + 1, name, length) != 0 || data[length + 1] != '"' || data[length + 2] != ':')
        return false;
    json->start = json->offset;
    json->offset += length + 3;
    return true;
}

/* Without recursion: brackets are counted on the parser's own stack. */
bool json_skip(struct json *json)
{
    unsigned outside = json->depth;
    const char *text;
    double number;
    bool truth;
    do {
        switch (json_peek(json)) {
        case JSON_NONE:
            return false;
        case JSON_NULL:
            json_null(json);
            break;
        case JSON_BOOL:
            json_bool(json, &truth);
            break;
        case JSON_NUMBER:
            json_number(json, &number, NULL, NULL);
            break;
        case JSON_TEXT:
            json_text(json, &text, NULL);
            break;
        case JSON_LIST:
            json_open(json, '[');
            break;
        case JSON_OBJECT:
            json_open(json, '{');
            break;
        }
        while (json->depth > outside && !json_next(json))
            if (json->input->refused)
                return false;
        if (json->depth > outside && json->close[json->depth - 1] == '}' && !json_key(json, &text))
            return false;
    } while (json->depth > outside);
    return !json->input->refused;
}

bool json_end(struct json *json)
{
    if (json->input->refused)
        return false;
    blanks(json);
    return json->offset == json->end || refuse_here(json, "the end of the value");
}
