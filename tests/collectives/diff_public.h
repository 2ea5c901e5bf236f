/* The public functions that communicate, read from diff.h: those of its sections on messages and
 * collectives that give a tensor, or fill in several. */
#ifndef TESTS_COLLECTIVES_DIFF_PUBLIC_H
#define TESTS_COLLECTIVES_DIFF_PUBLIC_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct diff_public {
    char name[200][40];
    int count;
};

/* The name before the first parenthesis of a prototype that begins at the line. */
static inline bool diff_public_name(const char *line, char *name, size_t size)
{
    const char *end = strchr(line, '('), *begin = end;
    bool gives = strncmp(line, "struct diff_tensor *", 20) == 0;
    if (!end || !isalpha((unsigned char)line[0]) ||
        !(gives || (strncmp(line, "void ", 5) == 0 && strstr(line, "struct diff_tensor **"))))
        return false;
    while (begin > line && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_'))
        begin--;
    snprintf(name, size, "%.*s", (int)(end - begin), begin);
    return true;
}

static inline struct diff_public diff_public_read(void)
{
    struct diff_public list = {.count = 0};
    char line[400];
    bool inside = false;
    FILE *file = fopen("collectives/diff.h", "r"); /* tests run from the top folder */
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "/* ---- ", 8) == 0)
            inside = strstr(line, "messages") || strstr(line, "collectives");
        if (inside && list.count < 200 &&
            diff_public_name(line, list.name[list.count], sizeof list.name[0]))
            list.count++;
    }
    if (file)
        fclose(file);
    return list;
}

#endif
