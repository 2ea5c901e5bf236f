/* simrun list: the catalogue. */
#include "cli/catalogue.h"
#include "cli/command.h"
#include "cli/present.h"

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
    if (argc > 1 && argv[1][0] == '-') {
        puts("usage: simrun list [PATTERN]\n\nThe scenarios whose name or purpose contains "
             "PATTERN, with variants and expected findings.");
        return strcmp(argv[1], "--help") && strcmp(argv[1], "-h") ? EXIT_USAGE : EXIT_PASSED;
    }
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
        if (shown(&catalogue.entries[i], argc > 1 ? argv[1] : NULL)) {
            print_entry(&present, &catalogue.entries[i]);
            count++;
        }
    catalogue_release(&catalogue);
    if (!count)
        fprintf(stderr, "simrun list: no scenario contains '%s'\n", argc > 1 ? argv[1] : "");
    return count ? EXIT_PASSED : EXIT_NOTHING;
}
