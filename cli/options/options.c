/* The option parser: see options.h. */
#include "cli/options/options.h"

#include "cli/options/of_mpirun.h"
#include "cli/options/suggest.h"

#include <stdio.h>
#include <string.h>

enum { MOST_OPTIONS = 128 };

static const struct option_row *find_long(const struct option_row *rows, const char *name,
                                          size_t length)
{
    for (; rows->name; rows++)
        if (strlen(rows->name) == length && !strncmp(rows->name, name, length))
            return rows;
    return NULL;
}

static const struct option_row *find_short(const struct option_row *rows, char letter)
{
    for (; rows->name; rows++)
        if (rows->letter == letter)
            return rows;
    return NULL;
}

static void unknown(const char *command, const struct option_row *rows, const char *word)
{
    const char *names[MOST_OPTIONS];
    int count = 0;
    const char *remedy = strcmp(command, "run") ? NULL : of_mpirun_option(word);
    if (remedy) {
        fprintf(stderr, "simrun: '%s' is an option of another MPI's mpirun; %s\n", word, remedy);
        return;
    }
    for (; rows->name && count < MOST_OPTIONS - 1; rows++)
        names[count++] = rows->name;
    names[count] = NULL;
    const char *near = strncmp(word, "--", 2) ? NULL : suggest_name(word + 2, names);
    fprintf(stderr, "simrun %s: unknown option '%s'", command, word);
    if (near)
        fprintf(stderr, "; did you mean '--%s'?", near);
    fprintf(stderr, "\n  see 'simrun help %s'\n", command);
}

int options_one(const char *command, const struct option_row *rows, void *target, int argc,
                char **argv, int at)
{
    const char *word = argv[at], *value = NULL;
    const struct option_row *row;
    if (!strncmp(word, "--", 2)) {
        const char *equals = strchr(word, '=');
        row = find_long(rows, word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2));
        value = equals ? equals + 1 : NULL;
    } else if (!strcmp(word, "-np")) {
        row = find_short(rows, 'n');
    } else {
        row = find_short(rows, word[1]);
        value = word[2] ? word + 2 : NULL;
    }
    if (!row) {
        unknown(command, rows, word);
        return 0;
    }
    int used = 1;
    if (row->argument && !value) {
        if (at + 1 >= argc) {
            fprintf(stderr, "simrun %s: option '%s' needs %s\n", command, word, row->argument);
            return 0;
        }
        value = argv[at + 1];
        used = 2;
    } else if (!row->argument && value) {
        fprintf(stderr, "simrun %s: option '--%s' takes no value\n", command, row->name);
        return 0;
    }
    return row->set(target, value) ? used : 0;
}

int options_parse(const char *command, const struct option_row *rows, void *target, int argc,
                  char **argv)
{
    int at = 1;
    while (at < argc && argv[at][0] == '-' && argv[at][1]) {
        if (!strcmp(argv[at], "--"))
            return at + 1;
        int used = options_one(command, rows, target, argc, argv, at);
        if (!used)
            return -1;
        at += used;
    }
    return at;
}

enum { HELP_COLUMN = 30, HELP_WIDTH = 80 };

void options_help(const struct option_row *rows)
{
    for (; rows->name; rows++) {
        char left[64];
        int used = rows->letter
                       ? snprintf(left, sizeof left, "  -%c, --%s", rows->letter, rows->name)
                       : snprintf(left, sizeof left, "      --%s", rows->name);
        if (rows->argument)
            used += snprintf(left + used, sizeof left - (size_t)used, " %s", rows->argument);
        printf("%-*s", HELP_COLUMN - 1, left);
        int column = used < HELP_COLUMN ? HELP_COLUMN - 1 : used;
        const char *word = rows->help;
        while (*word) {
            int length = (int)strcspn(word, " ");
            if (column + 1 + length > HELP_WIDTH) {
                printf("\n%*s", HELP_COLUMN - 1, "");
                column = HELP_COLUMN - 1;
            }
            column += printf(" %.*s", length, word);
            word += length + (word[length] == ' ');
        }
        putchar('\n');
    }
}
