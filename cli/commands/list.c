/* simrun list: the catalogue. */
#include "cli/command.h"
#include "cli/options/catalogue.h"
#include "cli/telling/present.h"

#include <stdio.h>
#include <string.h>

static bool shown(const struct catalogue_entry *entry, const char *pattern)
{
    return !pattern || strstr(entry->name, pattern) || strstr(entry->about, pattern);
}

static void print_entry(const struct present *present, const struct catalogue_entry *entry)
{
    if (entry->variant[0]) {
        printf("  :%-22s %s\n", entry->variant, entry->expect);
        return;
    }
    printf("%-24s  expects %s\n", entry->name, entry->expect[0] ? entry->expect : "OK");
    present_wrapped(present, 4, entry->about);
}

int command_list(int argc, char **argv)
{
    struct command_words words = {.most = 1};
    int status = command_parse("list", NULL, argc, argv, &words);
    if (status >= 0)
        return status;
    const char *pattern = words.count ? words.words[0] : NULL;
    struct catalogue catalogue;
    struct failure failure = {0};
    if (!catalogue_read(&catalogue, &failure)) {
        fprintf(stderr, "simrun list: %s\n", failure.text);
        return failure.code;
    }
    struct present present;
    present_init(&present, stdout, NULL);
    size_t count = 0;
    for (size_t i = 0; i < catalogue.count; i++)
        if (shown(&catalogue.entries[i], pattern)) {
            print_entry(&present, &catalogue.entries[i]);
            count++;
        }
    catalogue_release(&catalogue);
    if (!count)
        fprintf(stderr, "simrun list: no scenario contains '%s'\n", pattern ? pattern : "");
    return count ? EXIT_PASSED : EXIT_NOTHING;
}
