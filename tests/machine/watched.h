/* watched.h: memory all of which belongs to operations under way, one a byte, so that of each byte it is known whether it was read or written.
 *
 *   watch(true);              all of `memory` is of receives; false: of sends
 *   __wrap_strlen(...);       what is looked at
 *   READ(3, 5);               what it should have touched
 *   compare("strlen", 0, true);
 *
 * within a function that watched_test(function, name) runs. */
#ifndef TESTS_MACHINE_WATCHED_H
#define TESTS_MACHINE_WATCHED_H

#include "sim/memory/accesses.h"
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"
#include "tests/world_harness.h"

#include <stdint.h>

enum { ROOM = 256 };

enum { NEVER, MAY, MUST }; /* an access that the standard leaves open is not asked for */
struct touches {
    unsigned char read[ROOM], write[ROOM];
};

static unsigned char memory[ROOM];
static struct touches expected;
static struct sim_rank *self;
static char wrong[300];
static int cases;

static void span(unsigned char map[], size_t at, size_t size, unsigned char how)
{
    for (size_t i = at; i < at + size && i < ROOM; i++)
        map[i] = map[i] > how ? map[i] : how;
}

#define READ(at, size)  span(expected.read, at, size, MUST)
#define WRITE(at, size) span(expected.write, at, size, MUST)

static void visit_bytes(const void *operation, sim_region_visit *visit, void *context)
{
    for (size_t i = 0; i < ROOM; i++) {
        struct sim_region region = {(uintptr_t)memory + i, sim_datatype_get(MPI_BYTE), 1,
                                    *(const bool *)operation, "buffer"};
        visit(context, &region);
    }
}

static void watch(bool written)
{
    sim_pending_begin(self, "Irecv", &memory, visit_bytes, &written);
}

/* Of a receive's buffer nothing may be touched; of a send's nothing written. */
static void compare(const char *name, int variant, bool written)
{
    for (size_t i = 0; i < self->pending->count; i++) {
        const struct sim_pending_entry *entry = &self->pending->entries[i];
        size_t at = entry->hull.low - (uintptr_t)memory;
        unsigned char read = written ? expected.read[at] : NEVER, write = expected.write[at];
        bool right = (read == MAY || entry->read_told == (read == MUST)) &&
                     (write == MAY || entry->write_told == (write == MUST));
        if (!right && !*wrong)
            snprintf(
                wrong, sizeof wrong,
                "%s, variant %d, byte %zu of a %s: read %d, expected %d; written %d, expected %d",
                name, variant, at, written ? "receive" : "send", entry->read_told, read,
                entry->write_told, write);
    }
    if (self->pending->count != ROOM && !*wrong)
        snprintf(wrong, sizeof wrong, "%s: %zu bytes are watched", name,
                 (size_t)self->pending->count);
    sim_pending_end(self, &memory);
}

static void (*watched_asked)(void);

static void watched_body(int rank, int size)
{
    (void)rank, (void)size;
    self = sim_current_rank;
    sim_pending_watch(self);
    expect(!sim_access_matters(), "nothing is under way");
    watch(true);
    expect(sim_access_matters(), "something is");
    sim_pending_end(self, &memory);
    watched_asked();
}

static void watched_test(void (*function)(void), const char *name)
{
    struct sim_world_options options = world_options(1);
    options.memory = true;
    watched_asked = function;
    cases = 0;
    *wrong = '\0';
    struct world_result result = world_try(options, watched_body);
    tap_is_str(result.failed || result.outcome != OUTCOME_FINISHED ? result.text : wrong, "", "%s",
               name);
    tap_ok(cases > 50, "... in %d cases", cases);
}

#endif
