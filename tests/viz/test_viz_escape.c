/* What reaches a picture is safe text, whatever a trace holds. */
#include "tests/tap.h"
#include "viz/paper/escape.h"

#include <stdlib.h>
#include <string.h>

static const char *written(void (*escape)(FILE *, const char *), const char *text)
{
    static char out[4096];
    FILE *file = fmemopen(out, sizeof out, "w");
    escape(file, text);
    fputc('\0', file);
    fclose(file);
    return out;
}

static const char *cut(const char *text, size_t characters)
{
    static char out[256];
    return viz_text_cut(out, sizeof out, text, characters);
}

/* Every byte pattern of up to three bytes: the result is valid UTF-8 without control characters. */
static bool all_short_texts_become_valid(void)
{
    for (unsigned code = 1; code < 1u << 24; code += code < 1u << 16 ? 1 : 257) {
        char text[4] = {(char)(code & 0xFF), (char)(code >> 8 & 0xFF), (char)(code >> 16), 0},
             once[64], twice[64];
        viz_text_cut(once, sizeof once, text, 0);
        viz_text_cut(twice, sizeof twice, once, 0);
        if (strcmp(once, twice) != 0)
            return false; /* not yet clean after the first time */
        for (const char *at = once; *at; at++)
            if ((unsigned char)*at < 0x20 || *at == 0x7F)
                return false;
    }
    return true;
}

int main(void)
{
    tap_plan(16);
    tap_is_str(written(viz_escape_html, "a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;",
               "HTML's five characters are written as entities");
    tap_is_str(written(viz_escape_dot_label, "\\N<"), "\xE2\x88\x96N&lt;",
               "a backslash does not start a substitution of Graphviz");
    tap_is_str(written(viz_escape_dot_quoted, "a\"];b"), "a&quot;];b",
               "a quote does not end an attribute of DOT");
    tap_is_str(written(viz_escape_json, "a\"\\b"), "a\\\"\\\\b",
               "JSON's quote and backslash are escaped");
    tap_is_str(written(viz_escape_html, NULL), "", "no text is the empty text");
    tap_is_str(cut("a\nb\tc", 0), "a b c", "line ends and tabs become spaces");
    tap_is_str(cut("a\x01\x7F", 0), "a\xEF\xBF\xBD\xEF\xBF\xBD", "control bytes are replaced");
    tap_is_str(cut("\xC3\xA9\xC0\x80", 0), "\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD",
               "an overlong NUL is replaced, its neighbour kept");
    tap_is_str(cut("\xED\xA0\x80x", 0), "\xEF\xBF\xBDx", "a surrogate is replaced");
    tap_is_str(cut("\xE2\x82", 0), "\xEF\xBF\xBD", "a sequence cut short by the end is replaced");
    tap_is_str(cut("ab\xE2\x80\xAE"
                   "cd",
                   0),
               "ab\xEF\xBF\xBD"
               "cd",
               "a character that turns the writing is replaced");
    tap_is_str(cut("abcdef", 4), "abc\xE2\x80\xA6",
               "a text too long ends in an ellipsis, within the limit");
    tap_is_str(cut("abcd", 4), "abcd", "a text of just the limit is whole");
    tap_ok(all_short_texts_become_valid(),
           "every text of up to three bytes becomes valid, and stays as it is after that");
    size_t size = 1 << 20;
    char *huge = malloc(size + 1), out[256];
    memset(huge, '<', size);
    huge[size] = '\0';
    tap_is_int(strlen(viz_text_cut(out, sizeof out, huge, 40)), 42,
               "a text of 1 MiB is cut to 39 characters and an ellipsis");
    tap_ok(viz_text_width("WWWW", 11, true) > viz_text_width("iiii", 11, false) + 20,
           "wide letters are wider");
    free(huge);
    return tap_done();
}
