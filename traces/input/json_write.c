/* JSON texts and numbers: see formats/write.h. */
#include "traces/input/write.h"

#include <math.h>
#include <stdlib.h>

/* Length of the well-formed UTF-8 character at `text`, 0 if there is none. */
static int character(const unsigned char *text)
{
    int more = text[0] >= 0xf0 ? 3 : text[0] >= 0xe0 ? 2 : 1;
    if (text[0] < 0x80)
        return 1;
    if (text[0] < 0xc2 || text[0] > 0xf4)
        return 0;
    for (int i = 1; i <= more; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool outside = (text[0] == 0xed && text[1] > 0x9f) || (text[0] == 0xf4 && text[1] > 0x8f);
    return overlong || outside ? 0 : more + 1;
}

void json_write_text(FILE *out, const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    putc('"', out);
    while (*byte) {
        int length = character(byte);
        if (length == 0) {
            fprintf(out, "\\udc%02x", *byte++);
        } else if (*byte == '"' || *byte == '\\') {
            putc('\\', out);
            putc(*byte++, out);
        } else if (*byte < ' ') {
            fprintf(out, "\\u%04x", *byte++);
        } else {
            fwrite(byte, 1, (size_t)length, out);
            byte += length;
        }
    }
    putc('"', out);
}

void json_write_double(FILE *out, double value)
{
    char text[40];
    if (isnan(value)) {
        fputs("null", out);
        return;
    }
    if (isinf(value)) {
        fputs(value < 0 ? "\"-inf\"" : "\"inf\"", out);
        return;
    }
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof text, "%.17g", value);
    fputs(text, out);
}
