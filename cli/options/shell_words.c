/* Words of a shell: see shell_words.h. */
#include "cli/options/shell_words.h"

#include <stdio.h>
#include <string.h>

static bool is_plain(const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_-./:=,+@%";
    return *word && word[strspn(word, safe)] == '\0';
}

static void append(char *line, size_t size, const char *text, size_t length)
{
    size_t used = strlen(line);
    if (used < size)
        snprintf(line + used, size - used, "%.*s", (int)length, text);
}

void shell_word_append(char *line, size_t size, const char *word)
{
    if (is_plain(word)) {
        append(line, size, word, strlen(word));
        return;
    }
    append(line, size, "'", 1);
    while (*word) {
        size_t length = strcspn(word, "'");
        append(line, size, word, length);
        word += length;
        if (*word) {
            append(line, size, "'\\''", 4);
            word++;
        }
    }
    append(line, size, "'", 1);
}

/* Takes the quotes off one word, in place; where it ends, NULL for a quote without end. */
static char *take_word(char *at, char **end)
{
    char *out = at;
    char quote = 0;
    for (; *at && (quote || !strchr(" \t\n", *at)); at++) {
        if (quote ? *at == quote : *at == '\'' || *at == '"')
            quote = quote ? 0 : *at;
        else if (*at == '\\' && quote != '\'' && at[1])
            *out++ = *++at;
        else
            *out++ = *at;
    }
    *end = out;
    return quote ? NULL : at;
}

int shell_words_split(char *line, char **words, int room)
{
    int count = 0;
    for (char *at = line; *(at += strspn(at, " \t\n"));) {
        char *end, *after;
        if (count + 1 >= room)
            return -1;
        words[count++] = at;
        after = take_word(at, &end);
        if (!after)
            return -1;
        at = *after ? after + 1 : after;
        *end = '\0';
    }
    words[count] = NULL;
    return count;
}
