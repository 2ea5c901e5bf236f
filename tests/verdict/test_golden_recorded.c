/* What is said of recordings (tests/golden/traces, tests/examination/order) and of small changes of them is what was said when
 * somebody looked: golden_judged.h, tests/golden/recorded.tsv; whether it is right is for other tests. */
#include "tests/golden_judged.h"

#include <dirent.h>

enum { FILES_MAX = 100, ROWS = 4 };

static const char *const folders[] = {"golden/traces", "examination/order"};

static void take_file(struct golden *golden, const char *path, const char *name)
{
    static char data[CHANGES_SIZE];
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(data, 1, sizeof data - 1, file) : 0;
    if (file)
        fclose(file);
    data[size] = 0;
    judged_hold(golden, name, data, size, ROWS);
}

static int name_order(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void take_folder(struct golden *golden, const char *folder)
{
    char *names[FILES_MAX], path[400];
    size_t count = 0;
    snprintf(path, sizeof path, "tests/%s", folder);
    DIR *open_folder = opendir(path);
    for (struct dirent *entry;
         open_folder && (entry = readdir(open_folder)) && count < FILES_MAX;) {
        size_t length = strlen(entry->d_name);
        if (length > 6 && strcmp(entry->d_name + length - 6, ".jsonl") == 0 &&
            strcmp(entry->d_name, "any100.jsonl") != 0) /* takes seconds */
            names[count++] = strdup(entry->d_name);
    }
    if (open_folder)
        closedir(open_folder);
    qsort(names, count, sizeof *names, name_order);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "tests/%s/%.200s", folder, names[i]);
        take_file(golden, path, names[i]);
        free(names[i]);
    }
}

int main(void)
{
    struct golden golden = golden_open("tests/golden/recorded.tsv");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        take_folder(&golden, folders[i]);
    golden_close(&golden, "recordings are judged, told and written as they were");
    return tap_done();
}
