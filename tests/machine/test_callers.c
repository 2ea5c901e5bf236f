/* Whose line an access is: the innermost call that is in the program's own source, where the access is in a header of the system or in a
 * library. Against chains of calls that the test draws, with all that each returns to; each chain comes several times, and from one place. */
#include "sim/memory/frames.h"
#include "tests/dice.h"
#include "tests/machine/callers.h"
#include "tests/machine/compiled.h"
#include "tests/tap.h"

#include "sim/debug/lines.h"

enum { CHAINS = 600 };
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

static void __attribute__((noinline)) ask(struct callers *callers)
{
    const void *site = __builtin_return_address(0), *expected = site;
    const char *kinds = callers->kinds;
    int length = (int)strlen(kinds);
    callers->sites[length + 1] = __builtin_return_address(0);
    /* What a function returns to is in the one that called it. */
    int own = length - 1;
    while (own >= 0 && kinds[own] == 'h')
        own--;
    if (own >= 0)
        expected = callers->sites[own + 2];
    bool header = kinds[length - 1] == 'h';
    look(site, expected, NULL, header ? "/usr/include/c++/12/bits/any_header.h:77" : "");
    __asm__ volatile("" : : "r"(&header) : "memory");
}

static int __attribute__((noinline)) compare(const void *one, const void *other)
{
    look(__builtin_return_address(0), NULL, "callers_sorts", "");
    return (one > other) - (one < other);
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
    uint64_t state = 3;
    for (int i = 0; i < CHAINS; i++) {
        char kinds[CALLERS_MAX] = "";
        int length = 1 + (int)dice_below(&state, 6);
        for (int k = 0; k < length; k++)
            kinds[k] = "ohhhb"[dice_below(&state, 5)];
        if (dice_below(&state, 8) == 0)
            kinds[length] = 'l';
        callers.kinds = kinds;
        callers.next[kinds[0] == 'o' ? 0 : kinds[0] == 'h' ? 1 : 2](&callers, 1);
    }
    tap_is_int(wrong, 0, "%d questions: the innermost call in the program's own source", asked);
    tap_ok(own_ones > 100 && none_ones > 100, "there are such, and others: %d and %d", own_ones,
           none_ones);
    return tap_done();
}
