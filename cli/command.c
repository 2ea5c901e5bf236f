/* What all commands share: see command.h. */
#include "cli/command.h"
#include "cli/options/suggest.h"

#include "cli/telling/present.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct command *command_find(const char *name)
{
    for (const struct command *command = commands; command->name; command++)
        if (!strcmp(command->name, name))
            return command;
    return NULL;
}

const char *command_near(const char *word)
{
    const char *names[64];
    size_t count = 0;
    for (const struct command *command = commands; command->name && count < 63; command++)
        names[count++] = command->name;
    names[count] = NULL;
    return suggest_name(word, names);
}

int command_fail(const char *name, const struct failure *failure)
{
    fprintf(stderr, "simrun %s: %s\n", name, failure->text);
    return failure->code;
}

void command_help(const struct command *command)
{
    printf("usage: simrun %s\n\n%s\n", command->usage, command->summary);
    if (command->more) {
        struct present present;
        present_init(&present, stdout, NULL);
        putchar('\n');
        present_wrapped(&present, 0, command->more);
    }
    if (command->options) {
        puts("\noptions:");
        options_help(command->options);
    }
}

/* A word that is an option: starts with '-', but "-" alone is a file and "--" the end of options.
 */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] && strcmp(word, "--");
}

static bool is_help(const char *word)
{
    return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static int wrong_count(const struct command *command, const struct command_words *words)
{
    if (words->count < words->least)
        fprintf(stderr, "simrun %s: a word is missing\n", command->name);
    else
        fprintf(stderr, "simrun %s: unexpected '%s'\n", command->name, words->words[words->most]);
    fprintf(stderr, "  usage: simrun %s\n", command->usage);
    return EXIT_USAGE;
}

int command_parse(const char *name, void *target, int argc, char **argv,
                  struct command_words *words)
{
    static const struct option_row none[] = {{NULL, 0, NULL, NULL, NULL}};
    const struct command *command = command_find(name);
    bool ended = false;
    words->count = 0;
    words->words = argv + 1; /* never ahead of what is read */
    for (int at = 1; at < argc;) {
        if (!ended && is_help(argv[at])) {
            command_help(command);
            return EXIT_PASSED;
        }
        if (!ended && is_option(argv[at])) {
            int used = options_one(name, command->options ? command->options : none, target, argc,
                                   argv, at);
            if (!used)
                return EXIT_USAGE;
            at += used;
            continue;
        }
        if (!ended && !strcmp(argv[at], "--"))
            ended = true;
        else
            words->words[words->count++] = argv[at];
        at++;
    }
    return words->count < words->least || words->count > words->most ? wrong_count(command, words)
                                                                     : -1;
}
