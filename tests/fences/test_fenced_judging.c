/* Reading, judging, telling and writing of traces touches no memory but what it asked for, and gives all of it back (fence.h): recordings
 * and random plans, and small changes of them that leave no rule unbroken. What is said of them is for other tests. */
#include "tests/fences/fence.h"

#include "tests/checker/random_plan.h"
#include "tests/folder.h"
#include "tests/golden_judged.h"

enum { FILES_MAX = 100, PLANS = 25, CHANGED = 12, LEAKS_TOLD = 5 };

static char data[CHANGES_SIZE];
static struct changes_text text;
static unsigned texts, judged, leaking;

static void judge(const char *name, const char *bytes, size_t size, uint64_t *state, bool write)
{
    struct failure failure = {0};
    struct findings findings, others;
    long before = fence_live();
    texts++;
    struct trace *trace = format_read_memory(name, bytes, size, &failure);
    if (trace) {
        judged++;
        judged_check(trace, state, &findings);
        judged_check(trace, state, &others);
        judged_mix_words(1, trace, &findings);
        judged_mix_texts(1, trace);
        if (write)
            judged_mix_written(1, trace, &findings);
        judged_verdict(1, trace, &findings, state, trace, &others);
        findings_release(&findings);
        findings_release(&others);
        trace_free(trace);
    }
    leaking += fence_live() != before;
    if (fence_live() != before && leaking < LEAKS_TOLD)
        tap_note("%s: %ld blocks are not given back", name, fence_live() - before);
}

static void judge_changed(const char *name, size_t size, unsigned changed)
{
    static char copy[CHANGES_SIZE];
    uint64_t state = size;
    fence_low = false;
    judge(name, data, size, &state, true);
    fence_low = true;
    judge(name, data, size, &state, false);
    changes_find(&text, data, size);
    for (unsigned i = 0; i < changed; i++) {
        fence_low = i % 3 == 2;
        size_t length = changes_make(&text, &state, copy);
        judge(name, copy, length, &state, i % 4 == 0);
    }
}

static void judge_folder(const char *folder)
{
    char *names[FILES_MAX], path[400];
    size_t count = folder_list(folder, ".jsonl", names, FILES_MAX);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%.200s", folder, names[i]);
        FILE *file = strcmp(names[i], "any100.jsonl") ? fopen(path, "r") : NULL; /* takes seconds */
        size_t size = file ? fread(data, 1, sizeof data - 1, file) : 0;
        if (file) {
            fclose(file);
            data[size] = 0;
            judge_changed(names[i], size, CHANGED);
        }
        free(names[i]);
    }
}

int main(void)
{
    if (!fence_stands) {
        tap_plan(1);
        tap_skip(1, "a sanitizer has its own allocator");
        return tap_done();
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    (void)strsignal(0); /* the library keeps this text for good */
    judge_folder("tests/golden/traces");
    judge_folder("tests/examination/order");
    for (unsigned seed = 1; seed <= PLANS; seed++) {
        dice = seed;
        struct plan plan = plan_new();
        size_t size = plan_write(&plan, data);
        data[size] = 0;
        judge_changed("a plan", size, CHANGED);
    }
    tap_note("%u texts, %u of them traces", texts, judged);
    tap_ok(judged > 500, "traces are judged within their memory");
    tap_is_int(leaking, 0, "all memory is given back");
    tap_is_int(fence_wrong(), 0, "nothing is given back twice");
    return tap_done();
}
