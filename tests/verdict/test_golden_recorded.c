/* What is said of recordings (tests/golden/traces, tests/examination/order) and of small changes of them is what was said when
 * somebody looked: golden_judged.h, tests/golden/recorded.tsv; whether it is right is for other tests. */
#include "tests/folder.h"
#include "tests/golden_judged.h"

enum { FILES_MAX = 100, ROWS = 3 };

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

static void take_folder(struct golden *golden, const char *folder)
{
    char *names[FILES_MAX], path[400];
    snprintf(path, sizeof path, "tests/%s", folder);
    size_t count = folder_list(path, ".jsonl", names, FILES_MAX);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "tests/%s/%.200s", folder, names[i]);
        if (strcmp(names[i], "any100.jsonl") != 0 && golden_takes(golden, i)) /* it takes seconds */
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
