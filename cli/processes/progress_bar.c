/* A progress line on a terminal: see progress_bar.h. */
#include "cli/processes/progress_bar.h"

#include "cli/processes/terminal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SILENT_SECONDS 0.5
#define PAUSE_SECONDS  0.1

enum { BAR_MOST = 30, BAR_LEAST = 5 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* "1.23 M". */
static void put_amount(char *text, size_t size, double amount)
{
    static const char *const prefixes[] = {"", " k", " M", " G"};
    int prefix = 0;
    while (amount >= 999.5 && prefix < 3) {
        amount /= 1000;
        prefix++;
    }
    snprintf(text, size, amount < 10 && prefix ? "%.1f%s" : "%.0f%s", amount, prefixes[prefix]);
}

static void put_time(char *text, size_t size, double seconds)
{
    if (seconds < 100)
        snprintf(text, size, "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(text, size, "%.0f min", seconds / 60);
    else
        snprintf(text, size, "%.1f h", seconds / 3600);
}

void progress_bar_text(const char *before, const char *step, uint64_t done, uint64_t total,
                       const char *unit, double seconds, int columns, char *text, size_t size)
{
    char rate[24], time[24], amount[24], head[80], tail[120];
    double per_second = seconds > 0 ? (double)done / seconds : 0;
    snprintf(head, sizeof head, "%s%s ", before, step);
    put_amount(rate, sizeof rate, per_second);
    if (total == 0) {
        put_amount(amount, sizeof amount, (double)done);
        put_time(time, sizeof time, seconds);
        if (done)
            snprintf(text, size, "%s%s, %s %s, %s/s", head, time, amount, unit, rate);
        else
            snprintf(text, size, "%s%s", head, time);
        return;
    }
    double part = done < total ? (double)done / (double)total : 1;
    put_time(time, sizeof time, per_second > 0 ? (double)(total - done) / per_second : 0);
    if (done)
        snprintf(tail, sizeof tail, " %3.0f %%  %s %s/s, %s left", part * 100, rate, unit, time);
    else
        snprintf(tail, sizeof tail, " %3.0f %%", part * 100);
    int room = columns - 1 - (int)strlen(head) - (int)strlen(tail) - 2;
    int width = room < BAR_LEAST ? 0 : room > BAR_MOST ? BAR_MOST : room;
    int full = (int)(part * width);
    static const char marks[] = "##############################";
    if (width)
        snprintf(text, size, "%s[%.*s%*s]%s", head, full, marks, width - full, "", tail);
    else
        snprintf(text, size, "%s%s", head, tail + 1);
}

static void tell(struct progress *progress, const char *step, uint64_t done, uint64_t total,
                 const char *unit)
{
    struct progress_bar *bar = (struct progress_bar *)progress;
    if (!bar->enabled)
        return;
    double time = now();
    if (!bar->step || strcmp(bar->step, step) != 0) {
        bar->step = step;
        bar->begun = time;
    }
    if (time - bar->begun < SILENT_SECONDS || time - bar->shown < PAUSE_SECONDS)
        return;
    bar->shown = time;
    bar->visible = true;
    char text[256];
    int columns = terminal_columns(STDERR_FILENO, 80);
    progress_bar_text(bar->before, step, done < total || !total ? done : total, total, unit,
                      time - bar->begun, columns, text, sizeof text);
    /* Back to the line's begin, so that a line of the program's own writes over it. */
    fprintf(stderr, "\r%.*s\033[K\r", columns - 1, text);
    fflush(stderr);
}

void progress_bar_init(struct progress_bar *bar, bool quiet)
{
    *bar = (struct progress_bar){.base = {tell},
                                 .enabled = !quiet && isatty(STDERR_FILENO) && !terminal_is_dumb()};
}

void progress_bar_clear(struct progress_bar *bar)
{
    if (bar->visible) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    bar->visible = false;
    bar->step = NULL;
}
