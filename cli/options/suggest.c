#include "cli/options/suggest.h"

#include <stddef.h>
#include <string.h>

static int minimum(int a, int b)
{
    return a < b ? a : b;
}

/* Edit distance of two words, both cut at 63 letters. */
static int distance(const char *a, const char *b)
{
    int row[64], rows = (int)strnlen(a, 63), columns = (int)strnlen(b, 63);
    for (int j = 0; j <= columns; j++)
        row[j] = j;
    for (int i = 1; i <= rows; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= columns; j++) {
            int substituted = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = minimum(substituted, minimum(row[j] + 1, row[j - 1] + 1));
        }
    }
    return row[columns];
}

const char *suggest_name(const char *word, const char *const *names)
{
    const char *best = NULL;
    int nearest = (int)strlen(word) / 3 + 2;
    for (; *names; names++) {
        int far = distance(word, *names);
        if (far < nearest) {
            nearest = far;
            best = *names;
        }
    }
    return best;
}
