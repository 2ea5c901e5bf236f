/* Whose line an access is: the innermost call that is in the program's own source, where the access is in a header of the system or in a
 * library. Against chains of calls that the test draws, with all that each returns to; each chain comes several times, and from one place. */
#include "sim/memory/frames.h"
#include "tests/dice.h"
#include "tests/machine/callers.h"
#include "tests/machine/compiled.h"
#include "tests/sanitized.h"
#include "tests/tap.h"

#include "sim/debug/lines.h"

enum { CHAINS = 300 };
static int asked, wrong, own_ones, none_ones;
static struct callers *asking;

static void look(const void *site, const void *expected, const char *function, const char *line)
{
    for (int again = 0; again < 3; again++) {
        char within[DEBUG_LINE_MAX] = "x";
        Dl_info info;
        const void *got = sim_frames_own(site, again == 1 ? NULL : within);
        bool is = function
                      ? dladdr(got, &info) && info.dli_sname && !strcmp(info.dli_sname, function)
                      : got == expected;
        asked++;
        if ((!is || strcmp(within, again == 1 ? "x" : line)) && wrong++ < 5)
            tap_note("%s, time %d: %p, not %p; within %s", asking->kinds, again, got, expected,
                     within);
    }
    own_ones += expected != site;
    none_ones += expected == site;
}

#define HEADER "/usr/include/c++/12/bits/any_header.h:77"
static int own_line;

/* The innermost of the program's own that is not within the one of this number; -1: none is. */
static int own_from(const char *kinds, int number)
{
    while (number >= 0 && kinds[number] == 'h')
        number--;
    return number;
}

/* The line of a place, in whatever file it is. */
static void look_at_line(const void *site, const char *line)
{
    char got[DEBUG_LINE_MAX] = "x";
    sim_frames_line(site, got);
    asked++;
    if (strcmp(got, line) && wrong++ < 5)
        tap_note("%s: the line is %s, not %s", asking->kinds, got, line);
}

static void __attribute__((noinline)) ask(struct callers *callers)
{
    const char *kinds = callers->kinds;
    int length = (int)strlen(kinds);
    char own[80], *heap = malloc(1), within[DEBUG_LINE_MAX] = "x";
    snprintf(own, sizeof own, "callers.c:%d", own_line);
    callers->sites[length + 1] = __builtin_return_address(0);
    /* What a function returns to is in the one that called it. */
    for (int i = length - 1; i >= 0; i--) {
        const void *site = callers->sites[i + 2];
        int same =
            length - 1; /* calls of one function return to one place: the innermost is meant */
        while (callers->sites[same + 2] != site)
            same--;
        int from = own_from(kinds, same);
        look(site, from < 0 ? site : callers->sites[from + 2], NULL, kinds[i] == 'h' ? HEADER : "");
        look_at_line(site, kinds[i] == 'h' ? "any_header.h:77" : kinds[i] == 'o' ? own : "");
    }
    /* Code that is in no file, or in the machine's own; and none. */
    int from = own_from(kinds, length - 1);
    look(heap, from < 0 ? heap : callers->sites[from + 2], NULL, "");
    look_at_line(heap, "");
    const void *machine = (const void *)((uintptr_t)ask + 1);
    look(machine, machine, NULL, "");
    asked++;
    wrong += sim_frames_own(NULL, within) || *within;
    free(heap);
    __asm__ volatile("" : : "r"(&length) : "memory");
}

static int __attribute__((noinline)) compare(const void *one, const void *other)
{
    look(__builtin_return_address(0), NULL, "callers_sorts", "");
    return (one > other) - (one < other);
}

/* The line whose number it is given is the one that it is called from. */
static int __attribute__((noinline)) is_called_from(int line)
{
    char expected[40];
    snprintf(expected, sizeof expected, "callers.c:%d", line);
    look_at_line(__builtin_return_address(0), expected);
    return 0;
}

int main(void)
{
    void *program = compiled("callers", "own", "-g -O1", 0);
    void *bare = compiled("callers", "bare", "-O1 -DCALLERS_BARE", 0);
    if (!program || !bare) {
        tap_skip(1, "gcc is not there");
        return tap_done();
    }
    struct callers callers = {.ask = ask};
    const char *const names[] = {"callers_own", "callers_header", "callers_bare", "callers_sorts"};
    for (int i = 0; i < 4; i++)
        *(void **)&callers.next[i] = dlsym(i == 2 ? bare : program, names[i]);
    *(int (**)(const void *, const void *))dlsym(program, "callers_compare") = compare;
    asking = &callers;
    own_line = *(const int *)dlsym(program, "callers_own_line");
    uint64_t state = 3;
    for (int i = 0; i < CHAINS; i++) {
        char kinds[CALLERS_MAX] = "";
        int length = 1 + (int)dice_below(&state, 6);
        for (int k = 0; k < length; k++)
            kinds[k] = "ohhhb"[dice_below(&state, 5)];
        if (dice_below(&state, 8) == 0 && !SANITIZED) /* whose sort is the launcher's */
            kinds[length] = 'l';
        callers.kinds = kinds;
        callers.next[kinds[0] == 'o' ? 0 : kinds[0] == 'h' ? 1 : 2](&callers, 1);
    }
    int (*two_lines)(int (*)(int));
    *(void **)&two_lines = dlsym(program, "callers_two_lines");
    callers.kinds = "two lines";
    two_lines(is_called_from);
    tap_is_int(wrong, 0, "%d questions: the innermost call in the program's own source", asked);
    tap_ok(own_ones > 100 && none_ones > 100, "there are such, and others: %d and %d", own_ones,
           none_ones);
    return tap_done();
}
