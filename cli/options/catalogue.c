/* The catalogue of scenarios: see catalogue.h. */
#include "cli/options/catalogue.h"

#include "cli/options/ranks.h"
#include "cli/options/suggest.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *catalogue_folder(void)
{
    static const char *const candidates[] = {"../scenarios", "../../scenarios",
                                             "../share/simrun/scenarios"};
    static _Thread_local char folder[512];
    char own[400];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length < 0)
        return NULL;
    own[length] = '\0';
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        char path[480], *real;
        snprintf(path, sizeof path, "%s/%s", own, candidates[i]);
        real = realpath(path, NULL);
        if (!real)
            continue;
        snprintf(folder, sizeof folder, "%s", real);
        free(real);
        return folder;
    }
    return NULL;
}

static struct catalogue_entry *entry_add(struct catalogue *catalogue)
{
    if (catalogue->count == catalogue->room) {
        catalogue->room = catalogue->room ? catalogue->room * 2 : 64;
        catalogue->entries =
            realloc(catalogue->entries, catalogue->room * sizeof *catalogue->entries);
        if (!catalogue->entries)
            abort();
    }
    struct catalogue_entry *entry = &catalogue->entries[catalogue->count++];
    memset(entry, 0, sizeof *entry);
    return entry;
}

static char *trim(char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Stores one "key: value"; false with a sentence when the value is unusable, true for keys of no
 * interest. */
static bool set_field(struct catalogue_entry *entry, const char *key, const char *value,
                      struct failure *failure)
{
    if (!strcmp(key, "about"))
        snprintf(entry->about, sizeof entry->about, "%s", value);
    else if (!strcmp(key, "arguments"))
        snprintf(entry->arguments, sizeof entry->arguments, "%s", value);
    else if (!strcmp(key, "options"))
        snprintf(entry->options, sizeof entry->options, "%s", value);
    else if (!strcmp(key, "expect"))
        snprintf(entry->expect, sizeof entry->expect, "%s", value);
    else if (!strcmp(key, "requires"))
        snprintf(entry->requirements, sizeof entry->requirements, "%s", value);
    else if (!strcmp(key, "ranks"))
        return ranks_parse(value, entry->ranks, (int)(sizeof entry->ranks / sizeof *entry->ranks),
                           &entry->rank_count, failure);
    return true;
}

/* "NAME; key: value; key: value" as a copy of the head with changes. */
static bool add_variant(struct catalogue *catalogue, size_t head, char *text,
                        struct failure *failure)
{
    struct catalogue_entry *entry = entry_add(catalogue);
    *entry = catalogue->entries[head];
    char *rest = text, *field = strsep(&rest, ";");
    snprintf(entry->variant, sizeof entry->variant, "%s", trim(field));
    while ((field = strsep(&rest, ";"))) {
        char *colon = strchr(field, ':');
        if (!colon)
            continue;
        *colon = '\0';
        if (!set_field(entry, trim(field), trim(colon + 1), failure))
            return false;
    }
    return true;
}

/* The text of a head-comment line without its decoration; NULL at the comment's end. */
static char *comment_text(char *line, bool *last)
{
    char *end = strstr(line, "*/");
    *last = end != NULL;
    if (end)
        *end = '\0';
    char *text = trim(line);
    if (!strncmp(text, "/*", 2))
        text += 2;
    else if (*text == '*')
        text++;
    return trim(text);
}

static bool is_key(const char *text, size_t *length)
{
    static const char *const keys[] = {"about",   "ranks",     "options", "expect",
                                       "variant", "arguments", "requires"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        *length = strlen(keys[i]);
        if (!strncmp(text, keys[i], *length) && text[*length] == ':')
            return true;
    }
    return false;
}

bool catalogue_read_file(struct catalogue *catalogue, const char *path, const char *name,
                         struct failure *failure)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        failure_set(failure, FAILURE_INPUT, "%s: %s", path, strerror(errno));
        return false;
    }
    size_t head = catalogue->count;
    struct catalogue_entry *entry = entry_add(catalogue);
    snprintf(entry->name, sizeof entry->name, "%s", name);
    snprintf(entry->path, sizeof entry->path, "%s", path);
    char line[1024];
    bool last = false, good = true, in_about = false;
    for (int number = 1; good && !last && number < 200 && fgets(line, sizeof line, file);
         number++) {
        if (number == 1 && strncmp(line, "/*", 2))
            break;
        char *text = comment_text(line, &last);
        size_t length;
        entry = &catalogue->entries[head];
        if (is_key(text, &length)) {
            char *value = trim(text + length + 1);
            text[length] = '\0';
            in_about = !strcmp(text, "about");
            good = !strcmp(text, "variant") ? add_variant(catalogue, head, value, failure)
                                            : set_field(entry, text, value, failure);
            if (!good)
                failure_prefix(failure, "%s:%d", path, number);
        } else if (in_about && *text) {
            size_t used = strlen(entry->about);
            snprintf(entry->about + used, sizeof entry->about - used, " %s", text);
        } else if (!*text) {
            in_about = false;
        }
    }
    fclose(file);
    return good;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

bool catalogue_read(struct catalogue *catalogue, struct failure *failure)
{
    *catalogue = (struct catalogue){0};
    const char *folder = catalogue_folder();
    DIR *directory = folder ? opendir(folder) : NULL;
    if (!directory) {
        failure_set(failure, FAILURE_INPUT, "no catalogue of scenarios beside this simrun");
        return false;
    }
    char **names = NULL;
    size_t count = 0;
    for (struct dirent *file; (file = readdir(directory));) {
        size_t length = strlen(file->d_name);
        if (length < 3 || strcmp(file->d_name + length - 2, ".c"))
            continue;
        names = realloc(names, (count + 1) * sizeof *names);
        names[count++] = strndup(file->d_name, length - 2);
    }
    closedir(directory);
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.c", folder, names[i]);
        good = good && catalogue_read_file(catalogue, path, names[i], failure);
        free(names[i]);
    }
    free(names);
    return good;
}

void catalogue_release(struct catalogue *catalogue)
{
    free(catalogue->entries);
    *catalogue = (struct catalogue){0};
}

const struct catalogue_entry *catalogue_find(const struct catalogue *catalogue, const char *word)
{
    char name[128];
    snprintf(name, sizeof name, "%s", word);
    char *variant = strchr(name, ':');
    if (variant)
        *variant++ = '\0';
    for (size_t i = 0; i < catalogue->count; i++)
        if (!strcmp(catalogue->entries[i].name, name) &&
            !strcmp(catalogue->entries[i].variant, variant ? variant : ""))
            return &catalogue->entries[i];
    return NULL;
}

const char *catalogue_did_you_mean(const struct catalogue *catalogue, const char *word)
{
    const char **names = calloc(catalogue->count + 1, sizeof *names);
    if (!names)
        return NULL;
    for (size_t i = 0; i < catalogue->count; i++)
        names[i] = catalogue->entries[i].name;
    const char *near = suggest_name(word, names);
    free(names);
    return near;
}
