/* simrun explain: what a code means, or all codes. */
#include "cli/command.h"
#include "cli/options/catalogue.h"
#include "cli/options/suggest.h"
#include "cli/telling/present.h"
#include "cli/telling/results.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void print_section(const struct present *present, const char *title, const char *text)
{
    if (!text || !*text)
        return;
    printf("\n%s\n", title);
    present_wrapped(present, 2, text);
}

/* An example is code: its lines are kept. */
static void print_example(const char *text)
{
    if (!text || !*text)
        return;
    puts("\nexample");
    while (*text) {
        int length = (int)strcspn(text, "\n");
        printf("  %.*s\n", length, text);
        text += length + (text[length] == '\n');
    }
}

/* Whether the expectation names the code under some model; that model's name, "" for all. */
static bool expects(const char *expect, const char *code, char *model, size_t size)
{
    const char *at = strstr(expect, code);
    if (!at)
        return false;
    const char *word = at;
    while (word > expect && word[-1] != ' ')
        word--;
    size_t length = strcspn(word, "= +");
    bool keyed = word[length] == '=';
    snprintf(model, size, "%.*s", keyed ? (int)length : 0, word);
    return true;
}

/* The first scenario of the catalogue that shows the code: what it expects is asserted there. */
static void print_scenario(const char *code)
{
    struct catalogue catalogue;
    struct failure failure = {0};
    char model[32];
    if (!catalogue_read(&catalogue, &failure)) {
        catalogue_release(&catalogue);
        return;
    }
    /* A variant's options lie over those of its scenario, so the scenario itself is preferred. */
    for (size_t k = 0; k < 2 * catalogue.count; k++) {
        const struct catalogue_entry *entry = &catalogue.entries[k % catalogue.count];
        bool variant = k >= catalogue.count;
        if (!entry->rank_count || variant != (*entry->variant != 0) ||
            !expects(entry->expect, code, model, sizeof model))
            continue;
        printf("\nsee it\n  simrun -n %d%s%s%s%s %s%s%s\n", entry->ranks[0],
               *model && strcmp(model, "eager") ? " --send " : "",
               strcmp(model, "eager") ? model : "", *entry->options ? " " : "", entry->options,
               entry->name, *entry->arguments ? " " : "", entry->arguments);
        break;
    }
    catalogue_release(&catalogue);
}

static void print_code(const struct present *present, const struct finding_code *code)
{
    printf("%s %s (%s)\n", code->code, code->name, severity_name(code->severity));
    present_wrapped(present, 2, code->meaning);
    print_section(present, "cause", code->cause);
    print_example(code->example);
    print_section(present, "remedy", code->remedy);
    print_scenario(code->code);
}

static void print_list(void)
{
    const struct finding_code *code;
    for (size_t i = 0; (code = finding_code_at(i)); i++)
        printf("%s  %-7s  %s\n", code->code, severity_name(code->severity), code->name);
    puts("\n'simrun explain CODE' tells more.");
}

/* By code in any case, or by name; NULL with the nearest in `near` (NULL when none is near). */
static const struct finding_code *find(const char *word, const char **near)
{
    const char *names[512];
    size_t count = 0;
    char upper[8] = "";
    for (size_t i = 0; word[i] && i < sizeof upper - 1; i++)
        upper[i] = (char)toupper((unsigned char)word[i]);
    *near = NULL;
    if (strlen(word) < sizeof upper && finding_code(upper))
        return finding_code(upper);
    const struct finding_code *code;
    for (size_t i = 0; (code = finding_code_at(i)); i++) {
        if (!strcmp(word, code->name))
            return code;
        if (count + 2 < sizeof names / sizeof *names) {
            names[count++] = code->name;
            names[count++] = code->code;
        }
    }
    names[count] = NULL;
    *near = suggest_name(strlen(word) == 4 ? upper : word, names);
    return NULL;
}

int command_explain(int argc, char **argv)
{
    struct command_words words = {.most = COMMAND_ANY};
    struct present present;
    int status = command_parse("explain", NULL, argc, argv, &words);
    if (status >= 0)
        return status;
    present_init(&present, stdout, NULL);
    if (!words.count)
        print_list();
    for (int i = 0; i < words.count; i++) {
        const char *near;
        const struct finding_code *code = find(words.words[i], &near);
        if (!code) {
            fprintf(stderr, "simrun explain: no code '%s'%s%s%s; 'simrun explain' lists them\n",
                    words.words[i], near ? "; did you mean '" : "", near ? near : "",
                    near ? "'?" : "");
            return EXIT_USAGE;
        }
        if (i)
            putchar('\n');
        print_code(&present, code);
    }
    return EXIT_PASSED;
}
