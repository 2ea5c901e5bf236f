/* What is said of buffers, against the sentences of those that wrote the calls (told.c): that of each wrong one, and of no right one;
 * and whether numbers and ends are known. With debug information and without, as the compiler writes it and optimised. */
#include "recorder/recording.h"
#include "sim/memory/objects.h"
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/world.h"
#include "tests/machine/compiled.h"
#include "tests/machine/told.h"
#include "tests/tap.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCES = 4000, LENGTH = 300, MOST = 20, KEPT = 400 };

static void *library;
static bool bare; /* it has no debug information */
static char expected[SENTENCES][LENGTH];
static int lines[SENTENCES], expected_count, calls;
static int wrong;
static uint64_t misfits, untold, unbounded, untyped;

static struct sim_pending *pending(void)
{
    return sim_current_rank->pending;
}

static void __attribute__((format(printf, 3, 4)))
called(int line, enum told what, const char *format, ...)
{
    static const char *const words[] = {"right",   "unbounded", "untold", "nothing",
                                        "unasked", "wrong",     "wrong",  "wrong"};
    uint64_t said = pending()->misfits - misfits, without = pending()->untyped - untyped;
    enum told got = without                            ? TOLD_NOTHING
                    : said                             ? TOLD_WRONG
                    : pending()->untold - untold       ? TOLD_UNTOLD
                    : pending()->unbounded - unbounded ? TOLD_UNBOUNDED
                                                       : TOLD_RIGHT;
    calls++;
    if ((what >= TOLD_OBJECT || (what == TOLD_WRONG && !bare)) && expected_count < SENTENCES) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(expected[expected_count], LENGTH, format, arguments);
        va_end(arguments);
        lines[expected_count++] = line;
    }
    what = what == TOLD_UNASKED     ? TOLD_RIGHT
           : what == TOLD_ELSEWHERE ? TOLD_WRONG
           : bare                   ? TOLD_NOTHING
           : what == TOLD_OBJECT    ? TOLD_WRONG
                                    : what;
    if (got != what && wrong++ < MOST)
        tap_note("line %d: %s, not %s", line, words[got], words[what]);
    misfits = pending()->misfits, untold = pending()->untold;
    unbounded = pending()->unbounded, untyped = pending()->untyped;
}

enum { LEAST = 512 };
static void *released, *all[KEPT];
static int kept;

void *told_allocate(size_t size)
{
    void *memory = released ? released : calloc(1, size < LEAST ? LEAST : size);
    if (!released && kept < KEPT)
        all[kept++] = memory;
    released = NULL;
    sim_objects_add(memory, size, __builtin_return_address(0));
    return memory;
}

static void release(void *memory)
{
    sim_objects_remove(memory);
    released = memory;
}

__attribute__((noinline)) void told_above(void *buffer, int count, MPI_Datatype type)
{
    MPI_Bcast(buffer, count, type, 0, MPI_COMM_SELF);
    __asm__ volatile("");
}

static int run(void *context, int rank)
{
    static const struct told_test test = {called, told_allocate, release};
    static const char *const parts[] = {"told_places", "told_pointers", "told_arguments",
                                        "told_again"};
    (void)rank;
    recording_rank_begin(context);
    MPI_Init(NULL, NULL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        void (*part)(const struct told_test *);
        *(void **)&part = dlsym(library, parts[i]);
        misfits = pending()->misfits, untold = pending()->untold;
        unbounded = pending()->unbounded, untyped = pending()->untyped;
        part(&test);
    }
    MPI_Finalize();
    return 0;
}

/* Up to the first that is another. */
static void compare(const struct trace *trace)
{
    int count = 0;
    bool same = true;
    for (size_t i = 0; i < trace->note_count && same; i++) {
        const struct trace_note *note = &trace->notes[i];
        char said[LENGTH];
        if (note->code[0] != 'M' && note->code[0] != 'B')
            continue;
        snprintf(said, sizeof said, "%s %s", note->code, note->text);
        same = count < expected_count && !strcmp(said, expected[count]);
        if (!same)
            wrong++, tap_note("line %d: \"%s\", not \"%s\"", lines[count], said, expected[count]);
        count++;
    }
    if (count < expected_count && same)
        wrong++, tap_note("%d sentences, not %d", count, expected_count);
}

static void test(const char *name, const char *options)
{
    struct sim_world_options given;
    struct failure failure = {0};
    bare = !strstr(options, "-g ");
    expected_count = calls = wrong = 0;
    released = NULL;
    library = compiled("told", name, options, 0);
    if (!library) {
        tap_skip(1, "gcc is not there");
        return;
    }
    struct recording *recording = recording_new(1, RECORD_LEVEL_OPS, &failure);
    sim_world_options_init(&given);
    given.ranks = 1;
    struct sim_world *world = sim_world_new(&given, &failure);
    struct recording_result result = {
        .outcome = sim_world_run(world, run, recording), .program = "told", .model = "eager"};
    sim_world_free(world);
    struct trace *trace = recording_load(recording, &result, &failure);
    if (result.outcome != OUTCOME_FINISHED)
        wrong++, tap_note("it ends by outcome %d", (int)result.outcome);
    else if (trace)
        compare(trace);
    trace_free(trace);
    recording_ranks_release(recording);
    recording_free(recording);
    while (kept)
        free(all[--kept]);
    wrong += calls < 200;
    tap_is_int(wrong, 0, "%s: %d calls, of which %d have a sentence", name, calls, expected_count);
}

int main(void)
{
    compiled("told", "layer", "-O2 -DTOLD_LAYER", RTLD_GLOBAL);
    compiled("told", "data", "-g -O0 -DTOLD_DATA", RTLD_GLOBAL);
    test("plain", "-g -O0");
    test("optimised", "-g -O2 -fno-toplevel-reorder");
    test("bare", "-O0");
    return tap_done();
}
