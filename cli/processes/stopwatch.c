/* A stopwatch with parts: see stopwatch.h. */
#include "cli/processes/stopwatch.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

uint64_t stopwatch_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void stopwatch_start(struct stopwatch *watch, uint64_t since)
{
    *watch = (struct stopwatch){.until = since ? since : stopwatch_now()};
}

void stopwatch_next_at(struct stopwatch *watch, enum stopwatch_part part, uint64_t at)
{
    uint64_t now = stopwatch_now();
    if (!watch->until)
        return;
    at = at > now ? now : at < watch->until ? watch->until : at;
    watch->spent[watch->part] += at - watch->until;
    watch->until = at;
    watch->part = part;
}

void stopwatch_next(struct stopwatch *watch, enum stopwatch_part part)
{
    stopwatch_next_at(watch, part, stopwatch_now());
}

double stopwatch_seconds(const struct stopwatch *watch)
{
    uint64_t sum = 0;
    for (int part = 0; part < STOPWATCH_PARTS; part++)
        sum += watch->spent[part];
    return (double)sum * 1e-9;
}

const char *stopwatch_part_name(enum stopwatch_part part)
{
    static const char *const names[STOPWATCH_PARTS] = {
        "compiling", "run", "gradients", "trace", "checks", "witnesses", "other runs", "storing"};
    return names[part];
}

void stopwatch_text(const struct stopwatch *watch, char *text, size_t size)
{
    double all = stopwatch_seconds(watch);
    *text = '\0';
    for (enum stopwatch_part part = 0; part < STOPWATCH_PARTS; part++) {
        double seconds = (double)watch->spent[part] * 1e-9;
        size_t used = strlen(text);
        if (seconds * 20 >= all && seconds > 0)
            snprintf(text + used, size - used, "%s%s %.1f s", used ? ", " : "",
                     stopwatch_part_name(part), seconds);
    }
}
