/* The line of progress: what it says and that it fits. */
#include "tests/tap.h"

#include "cli/processes/progress_bar.h"

#include <string.h>
#include <unistd.h>

static const char *line(const char *before, uint64_t done, uint64_t total, double seconds,
                        int columns)
{
    static char text[256];
    progress_bar_text(before, "storing", done, total, "operations", seconds, columns, text,
                      sizeof text);
    return text;
}

int main(void)
{
    tap_is_str(line("", 5000000, 10000000, 4, 80),
               "storing [###############               ]  50 %  1.2 M operations/s, 4 s left",
               "half of it: part, rate, time left");
    tap_is_str(line("", 0, 10000000, 0, 80), "storing [                              ]   0 %",
               "nothing yet");
    tap_ok(strstr(line("", 10, 10, 1, 80), "100 %  10 operations/s, 0 s left"), "all of it");
    tap_ok(strstr(line("", 1000, 1000000, 1, 80), "17 min left"), "minutes");
    tap_ok(strstr(line("", 1, 100000, 1, 80), "27.8 h left"), "hours");
    tap_is_str(line("run 2 of 5: ", 2000000, 0, 10, 80),
               "run 2 of 5: storing 10 s, 2.0 M operations, 200 k/s",
               "without an end: how long, how much, how fast");
    tap_is_str(line("", 0, 0, 3, 80), "storing 3 s", "without any amount: how long");
    size_t longest = 0;
    for (int columns = 40; columns < 200; columns++)
        for (uint64_t done = 1; done <= 1u << 30; done *= 7) {
            size_t length = strlen(line("", done, 1u << 30, 1.5, columns));
            longest = length >= (size_t)columns && columns >= 60 ? length : longest;
        }
    tap_is_int((long)longest, 0, "it fits the terminal");
    struct progress_bar bar;
    progress_bar_init(&bar, false);
    tap_ok(bar.enabled == (isatty(2) != 0), "only a terminal sees it");
    return tap_done();
}
