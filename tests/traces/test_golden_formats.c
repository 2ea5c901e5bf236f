/* What readers make of files and of what a few changed bytes turn them into: the trace, or the
 * refusal with its place and sentence; what the checks say of it, and what writers make of it. All is as it was when somebody looked: tests/golden/formats.tsv. What was written as JSON
 * lines and is read again is the same trace. */
#include "checker/check.h"
#include "tests/dice.h"
#include "tests/folder.h"
#include "tests/golden_trace.h"
#include "traces/formats/format.h"

#include <ctype.h>

enum { VARIANTS = 600, CHECKED = 4, SIZE_MAX_READ = 1 << 16, FILES_MAX = 200 };

static const char *const folders[] = {"fuzz/corpus/csv", "fuzz/corpus/flight", "fuzz/corpus/jsonl",
                                      "fuzz/corpus/ti", "examination/order"};
static unsigned reread, changed;

struct bytes {
    char data[SIZE_MAX_READ + 64];
    size_t size;
};

static bool load(const char *path, struct bytes *bytes)
{
    FILE *file = fopen(path, "r");
    bytes->size = file ? fread(bytes->data, 1, SIZE_MAX_READ, file) : 0;
    if (file)
        fclose(file);
    return bytes->size > 0;
}

/* The next number is another: most files stay well-formed. */
static void spoil_number(struct bytes *bytes, size_t at, uint64_t *dice)
{
    static const char *const numbers[] = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "7",
                                          "-1",
                                          "12",
                                          "63",
                                          "64",
                                          "99",
                                          "4294967295",
                                          "2147483648",
                                          "1e3",
                                          "-",
                                          "0.5",
                                          "100",
                                          "2147483647",
                                          "00",
                                          "99999999999999999999",
                                          "18446744073709551617"};
    const char *number = numbers[dice_below(dice, sizeof numbers / sizeof *numbers)];
    while (at < bytes->size && !isdigit((unsigned char)bytes->data[at]))
        at++;
    size_t end = at, length = strlen(number);
    while (end < bytes->size && isdigit((unsigned char)bytes->data[end]))
        end++;
    if (at == bytes->size || bytes->size + length > SIZE_MAX_READ)
        return;
    memmove(bytes->data + at + length, bytes->data + end, bytes->size - end);
    memcpy(bytes->data + at, number, length);
    bytes->size = bytes->size + length - (end - at);
}

/* A few bytes are others, missing, said twice; or all ends early. */
static void spoil(struct bytes *bytes, uint64_t *dice)
{
    static const char likely[] = " 0123456789,:{}[]\"-.en\n\\tu+F;";
    for (uint32_t times = dice_below(dice, 3) ? 1 : 3; times-- > 0 && bytes->size > 8;) {
        size_t at = dice_below(dice, (uint32_t)bytes->size), rest = bytes->size - at;
        uint32_t how = dice_below(dice, 32);
        size_t length = 1 + dice_below(dice, 8);
        if (how < 20) {
            spoil_number(bytes, at, dice);
        } else if (how < 24) {
            bytes->data[at] = likely[dice_below(dice, sizeof likely - 1)];
        } else if (how < 26) {
            bytes->data[at] = (char)dice_below(dice, 256);
        } else if (how < 29 && rest > length) {
            memmove(bytes->data + at, bytes->data + at + length, rest - length);
            bytes->size -= length;
        } else if (how < 31 && bytes->size + length < SIZE_MAX_READ && rest > length) {
            memmove(bytes->data + at + length, bytes->data + at, rest);
            bytes->size += length;
        } else if (!dice_below(dice, 4)) {
            bytes->size = at + 1;
        }
    }
}

static uint64_t mix_bytes(uint64_t hash, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)data[i]) * 0x100000001b3u;
    return golden_mix(hash, size);
}

static void read_again(const struct trace *trace, const char *data, size_t size)
{
    struct failure failure = {0};
    struct trace *again = format_read_memory("again", data, size, &failure);
    reread++;
    if (!again || trace_hash(again) != trace_hash(trace)) {
        if (!changed++)
            tap_note("read again: %s", again ? "another trace" : failure.text);
    }
    trace_free(again);
}

static uint64_t mix_written(uint64_t hash, const struct trace *trace)
{
    for (size_t i = 0; format_at(i); i++) {
        struct failure failure = {0};
        char *data = NULL;
        size_t size = 0;
        if (!format_at(i)->writes)
            continue;
        FILE *out = open_memstream(&data, &size);
        bool written = format_write(trace, NULL, format_at(i)->name, out, &failure);
        fclose(out);
        hash = written ? mix_bytes(hash, data, size) : golden_mix_text(hash, failure.text);
        if (written && !strcmp(format_at(i)->name, "jsonl"))
            read_again(trace, data, size);
        free(data);
    }
    return hash;
}

static uint64_t mix_checked(uint64_t hash, const struct trace *trace)
{
    struct check_options checks;
    struct findings findings;
    char words[400] = "";
    check_options_init(&checks);
    findings_init(&findings);
    check_trace(trace, &checks, &findings);
    findings_sort(&findings);
    hash = golden_mix(hash, golden_findings(trace, &findings, words, sizeof words));
    findings_release(&findings);
    return golden_mix_text(hash, words);
}

/* All variants of one file; with `show` each is told. */
static uint64_t read_all(const struct bytes *original, const char *name, char *words, bool show)
{
    static struct bytes bytes;
    uint64_t hash = 1, dice = original->size;
    unsigned good = 0;
    for (unsigned variant = 0; variant <= VARIANTS; variant++) {
        struct failure failure = {0};
        bytes = *original;
        if (variant)
            spoil(&bytes, &dice);
        struct trace *trace = format_read_memory(name, bytes.data, bytes.size, &failure);
        good += trace != NULL;
        hash = trace ? golden_trace(trace) ^ hash * 31 : golden_mix_text(hash, failure.text);
        if (trace)
            hash = mix_written(golden_mix(hash, trace_hash(trace)), trace);
        if (trace && variant < CHECKED)
            hash = mix_checked(hash, trace);
        if (show)
            tap_note("%u: %s %016llx", variant, trace ? "read" : failure.text,
                     (unsigned long long)hash);
        trace_free(trace);
    }
    sprintf(words, "%u read, %u refused", good, VARIANTS + 1 - good);
    return hash;
}

static bool is_source(const char *name)
{
    size_t length = strlen(name);
    return length > 2 && strcmp(name + length - 2, ".c") == 0;
}

static void read_folder(struct golden *golden, const char *folder)
{
    static struct bytes bytes;
    static unsigned files;
    char *names[FILES_MAX], path[400], key[300], words[60];
    snprintf(path, sizeof path, "tests/%s", folder);
    size_t count = folder_list(path, "", names, FILES_MAX);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "tests/%s/%s", folder, names[i]);
        snprintf(key, sizeof key, "%s/%.200s", folder, names[i]);
        if (!is_source(names[i]) && golden_takes(golden, files++) && load(path, &bytes)) {
            uint64_t hash = read_all(&bytes, names[i], words, false);
            if (!golden_row(golden, key, words, hash) && golden->wrong < 3)
                read_all(&bytes, names[i], words, true);
        }
        free(names[i]);
    }
}

int main(void)
{
    struct golden golden = golden_open("tests/golden/formats.tsv");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        read_folder(&golden, folders[i]);
    golden_close(&golden, "files are read, refused and written as they were");
    tap_ok(reread > 100 || dice_part().of > 1, "many traces were written and read again");
    tap_is_int(changed, 0, "and are the same traces");
    return tap_done();
}
