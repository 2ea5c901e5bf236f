/* Operations under way, and whoever touches their memory, against a map with a place for each byte: random regions that operations begin
 * with, of random types, guarded, freed and ended; loads, stores and calls beside them, memory given up, and questions whether there is
 * anything. What is told is what the map says: of which operation, of which of its sides, and by how far in. Then a rank that nobody
 * watches; what is said of buffers that were not looked at; and buffers that wait to be filled, against the map, too.
 * SIMRUN_SOAK=N tries N rounds, from SIMRUN_SEED on. */
#include "recorder/recorder.h"
#include "recorder/recording.h"
#include "sim/memory/accesses.h"
#include "sim/memory/held.h"
#include "sim/memory/pending.h"
#include "sim/memory/quiet.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/sim/datatype_naive.h"
#include "tests/tap.h"
#include "traces/trace/coverage.h"

#include <mpi.h>
#include <mpix.h>

enum {
    ROOM = 640,
    MARGIN = 40, /* where no operation is */
    SIDES = 3,
    OWNERS = 5,
    STEPS = 70,
    NAMES = STEPS + 1,
    ENTRIES = SIDES * NAMES,
    RECORDED = 12, /* operations that notes can stand at */
    SAID_MAX = 4 * ENTRIES,
    STRAYS_MAX = 8
};

static unsigned char memory[ROOM];
static struct sim_rank *self;
static bool instrumented;
static char wrong[900];
static int looked_at, notes_asked;
static unsigned long long round_number;
static int step_number;

#define HOLDS(condition, ...)                                                                      \
    (looked_at++, (void)((condition) || *wrong || tell(snprintf(wrong, sizeof wrong, __VA_ARGS__))))

static int tell(int length)
{
    return snprintf(wrong + length, sizeof wrong - (size_t)length, " (round %llu, step %d)",
                    round_number, step_number);
}

/* ---- what should be told ---- */

/* `blank`: one number of the text is a byte's place, which only has to be one of those set. */
struct said {
    char code[8], text[300];
    uint32_t position;
    bool by_site;
    bool blank, places[ROOM];
    int step;
    unsigned long long round;
};
static struct said *said;
static size_t said_count, said_room;

static struct said *say(const char *code, uint32_t position, const void *site)
{
    if (said_count == said_room) {
        said_room = said_room ? 2 * said_room : 256;
        said = realloc(said, said_room * sizeof *said);
    }
    struct said *one = &said[said_count++];
    memset(one, 0, sizeof *one);
    snprintf(one->code, sizeof one->code, "%s", code);
    one->position = position;
    one->by_site = site;
    one->step = step_number;
    one->round = round_number;
    return one;
}

#define SAY(code, position, site, ...)                                                             \
    snprintf(say(code, position, site)->text, sizeof said->text, __VA_ARGS__)

/* ---- the map ---- */

struct entry {
    bool uses[ROOM], twice; /* a byte */
    size_t low, high, size; /* of the hull; how many bytes there are */
    bool written, orphan, read_told, write_told, guarded;
    unsigned char before[ROOM]; /* what it was when it was guarded */
    const char *name, *side;
    const void *owner, *also;
    uint32_t position;
    int group;
    struct naive naive;
    int count;
    size_t base;
};
static struct entry *entries[ENTRIES];
static size_t entry_count;
static int groups;
static uint64_t kept, misfits;
static char names[NAMES][8];
static const char *const sides[SIDES] = {"send buffer", "receive buffer", "third buffer"};
static char owners[OWNERS], orphans;
static struct said strays[STRAYS_MAX];
static int stray_count;

static bool touches(const struct entry *entry, size_t low, size_t high)
{
    return low < high && memchr(entry->uses + low, true, high - low);
}

static struct entry *entry_new(void)
{
    struct entry *entry = calloc(1, sizeof *entry);
    for (;;) {
        size_t n;
        entry->naive = naive_make_any(naive_between(0, 2));
        entry->count = naive_between(0, 4);
        ptrdiff_t base = naive_between(MARGIN, ROOM - MARGIN),
                  *bytes = naive_bytes(&entry->naive, entry->count, &n);
        bool fits = n < 200;
        entry->low = ROOM;
        entry->base = (size_t)base;
        for (size_t i = 0; i < n && fits; i++) {
            ptrdiff_t at = base + bytes[i];
            fits = at >= MARGIN && at < ROOM - MARGIN;
            if (!fits)
                break;
            entry->twice |= entry->uses[at];
            entry->uses[at] = true;
            entry->low = (size_t)at < entry->low ? (size_t)at : entry->low;
            entry->high = (size_t)at + 1 > entry->high ? (size_t)at + 1 : entry->high;
        }
        free(bytes);
        entry->size = n;
        if (fits)
            return entry;
        naive_free(&entry->naive);
        memset(entry, 0, sizeof *entry);
    }
}

static void entry_free(struct entry *entry)
{
    naive_free(&entry->naive);
    free(entry);
}

static struct sim_region region_of(const struct entry *entry)
{
    return (struct sim_region){(uintptr_t)memory + entry->base,
                               sim_datatype_get(entry->naive.handle), (size_t)entry->count,
                               entry->written, entry->side};
}

/* Those that begin lower come first, and of two that begin at one byte the earlier one. */
static void entry_add(struct entry *entry)
{
    size_t at = entry_count++;
    for (; at > 0 && entries[at - 1]->low > entry->low; at--)
        entries[at] = entries[at - 1];
    entries[at] = entry;
}

static void remove_where(bool (*which)(const struct entry *, const void *), const void *what)
{
    size_t left = 0;
    for (size_t i = 0; i < entry_count; i++)
        if (which(entries[i], what))
            entry_free(entries[i]);
        else
            entries[left++] = entries[i];
    entry_count = left;
}

static bool is_of(const struct entry *entry, const void *owner)
{
    return entry->owner == owner || entry->also == owner;
}

static bool is_of_group(const struct entry *entry, const void *group)
{
    return entry->group == *(const int *)group;
}

static bool is_any(const struct entry *entry, const void *nothing)
{
    return entry != nothing;
}

static bool is_changed(const struct entry *entry)
{
    for (size_t i = 0; i < ROOM; i++)
        if (entry->uses[i] && entry->before[i] != memory[i])
            return true;
    return false;
}

/* ---- what is done ---- */

/* A byte of both is named by its distance from the first byte of one. */
static void blank(struct said *one, const struct entry *a, const struct entry *b, size_t from)
{
    one->blank = true;
    for (size_t i = from; i < ROOM; i++)
        one->places[i - from] = a->uses[i] && b->uses[i];
}

static void meet(struct entry *earlier, const struct entry *later, uint32_t position,
                 const void *site)
{
    bool same = earlier->group == later->group, by_site = site && !same;
    if (!earlier->orphan && later->written)
        earlier->guarded = false;
    struct said *one = say(by_site ? "B001" : "B002", by_site ? earlier->position : position, site);
    if (same && earlier->written && later->written)
        snprintf(one->text, sizeof one->text,
                 "two blocks of the %s of one %s overlap, # bytes into the later", later->side,
                 later->name);
    else if (same)
        snprintf(one->text, sizeof one->text,
                 "the %s and the %s of one %s overlap, # bytes into the %s", earlier->side,
                 later->side, later->name, later->side);
    else
        snprintf(one->text, sizeof one->text, "%s %s the %s of a pending %s, at byte # of it",
                 later->name, later->written ? "writes" : "reads", earlier->side, earlier->name);
    blank(one, earlier, later, same ? later->low : earlier->low);
    if (!same && !site)
        SAY("B002", earlier->position, NULL, "this one was under way");
}

/* Each region against those before it, until one thing was told of the call. */
static bool compare(const struct entry *later, uint32_t position, const void *site, bool told)
{
    for (size_t i = 0; i < entry_count && !told; i++) {
        bool shared = false;
        for (size_t at = 0; at < ROOM; at++)
            shared |= entries[i]->uses[at] && later->uses[at];
        told = shared && (entries[i]->written || later->written);
        if (told)
            meet(entries[i], later, position, site);
    }
    if (!told && later->written && later->twice) {
        told = true;
        SAY("B002", position, site,
            "blocks of the %s of one %s overlap: elements of its datatype lie closer together "
            "than their bytes reach",
            later->side, later->name);
    }
    return told;
}

/* A call with up to three buffers: started, or over at once, or one that the recorder does not know. */
static void begin(bool owned, bool used)
{
    struct entry *mine[SIDES];
    struct sim_region regions[SIDES];
    struct sim_used used_sides[SIDES];
    int count = naive_between(1, SIDES), number = naive_between(0, OWNERS - 1);
    static char site;
    const void *owner = owned ? &owners[number] : NULL;
    uint32_t position = used ? 0 : record_position();
    char *name = names[step_number];
    bool told = false;
    snprintf(name, sizeof names[0], "op%d", step_number);
    groups++;
    for (int i = 0; i < count; i++) {
        struct entry *entry = mine[i] = entry_new();
        entry->written = naive_between(0, 1);
        entry->side = sides[i];
        entry->name = name;
        entry->owner = owner;
        entry->group = groups;
        entry->position = position;
        regions[i] = region_of(entry);
        used_sides[i] = (struct sim_used){memory + entry->base, regions[i].type, regions[i].count,
                                          regions[i].written, regions[i].side};
    }
    for (int i = 0; i < count; i++)
        if (mine[i]->size) {
            told = compare(mine[i], position, used ? &site : NULL, told);
            entry_add(mine[i]);
        }
    kept += owned;
    misfits += told;
    if (used)
        sim_pending_used(name, used_sides, (size_t)count, &site);
    else
        sim_pending_add(self, regions, (size_t)count, name, owner);
    if (owned && naive_between(0, 1)) {
        int at = naive_between(0, count - 1);
        struct entry *entry = mine[at];
        if (entry->size) {
            entry->guarded = true;
            memcpy(entry->before, memory, ROOM);
        }
        sim_pending_guard(self, &regions[at], owner);
    }
    if (owned && !naive_between(0, 3)) {
        const void *request = &owners[naive_between(0, OWNERS - 1)];
        for (size_t i = 0; i < entry_count; i++)
            if (entries[i]->group == groups)
                entries[i]->also = request;
        sim_pending_also(self, owner, request);
    }
    for (int i = 0; i < count; i++)
        if (!mine[i]->size)
            entry_free(mine[i]);
    if (!owned)
        remove_where(is_of_group, &groups);
}

static void give_operation(void)
{
    const void *owner = &owners[naive_between(0, OWNERS - 1)];
    uint32_t position = (uint32_t)naive_between(0, RECORDED);
    bool told = false;
    for (size_t i = 0; i < entry_count; i++)
        told |= entries[i]->owner == owner && (entries[i]->read_told || entries[i]->write_told);
    for (size_t i = 0; i < entry_count; i++)
        if (entries[i]->owner == owner)
            entries[i]->position = told ? 0 : position;
    sim_pending_operation(self, owner, position);
}

#define EACH(X) X(1) X(2) X(4) X(8) X(16)
/* clang-format off */
#define DECLARE(size) void __tsan_read##size(void *); void __tsan_write##size(void *);
EACH(DECLARE)
/* clang-format on */
void __tsan_read_range(void *, size_t);
void __tsan_write_range(void *, size_t);
#define CASE(size)                                                                                 \
    case size:                                                                                     \
        (write ? __tsan_write##size : __tsan_read##size)(at);                                      \
        return;

static void load_or_store(void *at, size_t size, bool write)
{
    switch (size) {
        EACH(CASE)
    default:
        (write ? __tsan_write_range : __tsan_read_range)(at, size);
    }
}

/* No load or store that begins there reaches what is under way. */
static void stretch_is_safe(size_t at, size_t size, bool looked, bool inside)
{
    size_t next = SIZE_MAX;
    for (size_t x = 0; x < ROOM; x++)
        for (size_t i = 0;
             i < entry_count && (uintptr_t)memory + x - self->safe_low < self->safe_size; i++)
            HOLDS(entries[i]->high <= x || entries[i]->low >= x + 16,
                  "byte %zu is safe beside %zu to %zu", x, entries[i]->low, entries[i]->high);
    for (size_t i = 0; i < entry_count; i++)
        if (entries[i]->low > at && entries[i]->low < next)
            next = entries[i]->low;
    if (looked && !inside && size <= 16 && next - at > 16)
        HOLDS((uintptr_t)memory + at - self->safe_low < self->safe_size,
              "byte %zu, far from the next, is not safe", at);
}

static void access(bool by_thread)
{
    static const size_t sizes[] = {1, 2, 4, 8, 16, 3, 24, 60};
    size_t at = (size_t)naive_between(0, ROOM - 60), size = sizes[naive_between(0, 7)];
    bool write = naive_between(0, 1), inside = false, any = entry_count;
    self->within_op = !naive_between(0, 5); /* which may read what it is given */
    for (size_t i = 0; i < entry_count; i++) {
        struct entry *entry = entries[i];
        bool *told = write ? &entry->write_told : &entry->read_told;
        inside |= entry->low < at + size && entry->high > at;
        if ((!write && !entry->written) || *told || self->within_op ||
            !touches(entry, at, at + size))
            continue;
        *told = true;
        if (by_thread && stray_count == STRAYS_MAX)
            continue;
        SAY("B001", entry->position, memory,
            "the %s of %s %s was %s before it completed; %zu bytes, %td from its beginning",
            entry->side, entry->orphan ? "a freed" : "a pending", entry->name,
            write ? "written" : "read", size, (ptrdiff_t)at - (ptrdiff_t)entry->low);
        if (by_thread)
            strays[stray_count++] = said[--said_count];
    }
    struct sim_rank *rank = sim_current_rank;
    if (by_thread) {
        sim_current_rank = NULL;
        sim_thread_parent = rank;
    }
    load_or_store(memory + at, size, write);
    if (by_thread)
        sim_thread_parent = NULL;
    sim_current_rank = rank;
    stretch_is_safe(at, size, !by_thread && any && !self->within_op && size != 3 && size < 17,
                    inside);
    self->within_op = false;
}

static void tell_strays(void)
{
    while (stray_count) {
        struct said *one = say("", 0, NULL);
        *one = strays[--stray_count];
        one->step = step_number;
    }
}

static void changed(struct entry *entry)
{
    if (!instrumented && entry->guarded && !entry->orphan && !entry->write_told &&
        is_changed(entry)) {
        entry->write_told = true;
        SAY("B001", entry->position, NULL, "the %s of a pending %s was changed before it completed",
            entry->side, entry->name);
    }
    entry->guarded &= entry->orphan;
}

static void end(void)
{
    const void *owner = &owners[naive_between(0, OWNERS - 1)];
    bool told = false;
    if (entry_count)
        tell_strays();
    for (size_t i = 0; i < entry_count; i++)
        if (is_of(entries[i], owner)) {
            changed(entries[i]);
            told |= entries[i]->read_told || entries[i]->write_told;
        }
    remove_where(is_of, owner);
    HOLDS(sim_pending_end(self, owner) == told, "an operation that ended: told is not %d", told);
}

static void look(void)
{
    int first = naive_between(0, OWNERS - 1), last = naive_between(first, OWNERS - 1);
    for (size_t i = 0; i < entry_count && !instrumented; i++)
        for (int k = first, once = 1; k <= last && once; k++)
            if (is_of(entries[i], &owners[k])) {
                changed(entries[i]);
                once = 0;
            }
    sim_pending_look(self, &owners[first], &owners[last]);
}

static void freed(void)
{
    const void *owner = &owners[naive_between(0, OWNERS - 1)];
    for (size_t i = 0; i < entry_count; i++) {
        struct entry *entry = entries[i];
        if (entry->also == owner)
            entry->also = NULL;
        if (entry->owner != owner)
            continue;
        entry->owner = &orphans;
        entry->orphan = true;
        if (!instrumented && !entry->written) {
            entry->guarded = true;
            memcpy(entry->before, memory, ROOM);
        }
    }
    sim_pending_freed(self, owner);
}

static void heard(void)
{
    bool any = false;
    for (size_t i = 0; i < entry_count; i++)
        any |= entries[i]->orphan;
    if (any)
        tell_strays();
    for (size_t i = 0; i < entry_count; i++)
        if (entries[i]->orphan && entries[i]->guarded && is_changed(entries[i]))
            SAY("B001", entries[i]->position, NULL,
                "the buffer of a send was changed after its request was freed, before anything "
                "told that the send was complete, as seen");
    remove_where(is_of, &orphans);
    sim_pending_heard(self);
}

static void lose(void)
{
    size_t at = (size_t)naive_between(0, ROOM - 60), size = (size_t)naive_between(1, 60);
    bool returns = naive_between(0, 1), told = false;
    self->within_op = !naive_between(0, 5);
    for (size_t i = 0; i < entry_count && !self->within_op; i++)
        if (!entries[i]->write_told && touches(entries[i], at, at + size)) {
            told = entries[i]->write_told = true;
            SAY("B001", entries[i]->position, memory,
                "the memory of the %s of %s %s %s before it completed", entries[i]->side,
                entries[i]->orphan ? "a freed" : "a pending", entries[i]->name,
                returns ? "lay on the stack of a function that returned" : "was freed");
        }
    HOLDS(sim_pending_lose(self, (uintptr_t)memory + at, size,
                           returns ? SIM_LOST_RETURN : SIM_LOST_FREE,
                           __builtin_return_address(0)) == told,
          "memory that is given up: told is not %d", told);
    self->within_op = false;
}

/* What is allowed touches nothing; what lies beside all that is under way is allowed. A loop forwards or backwards asks the same. */
static void questions(void)
{
    for (int n = 0; n < 12; n++) {
        size_t low = (size_t)naive_between(0, ROOM - 60), high = low + (size_t)naive_between(1, 60);
        bool write = naive_between(0, 1), minds = false, beside = true, begins = false;
        for (size_t i = 0; i < entry_count; i++) {
            const struct entry *entry = entries[i];
            bool conflicts = write || entry->written;
            minds |= conflicts && touches(entry, low, high);
            beside &= !conflicts || entry->high <= low || entry->low >= high;
            begins |= entry->low >= low && entry->low < high && !entry->write_told;
        }
        uintptr_t from = (uintptr_t)memory + low, to = (uintptr_t)memory + high;
        bool allowed = sim_pending_allows(self, from, to, write);
        HOLDS(!allowed || !minds, "%zu to %zu is allowed", low, high);
        HOLDS(allowed || !beside, "%zu to %zu is not allowed", low, high);
        HOLDS(sim_pending_within(self, from, to) == begins, "within %zu to %zu is not %d", low,
              high, begins);
        ptrdiff_t each = naive_between(1, (int)(high - low)),
                  moves = (ptrdiff_t)(high - low) - each;
        bool back = naive_between(0, 1);
        int safe = __simrun_safe((const void *)(back ? from + (uintptr_t)moves : from),
                                 back ? -moves : moves, write ? -each : each, 0);
#ifndef __SANITIZE_THREAD__
        HOLDS(!safe || !minds, "%zu to %zu is safe", low, high);
        HOLDS(safe || !beside, "%zu to %zu is not safe", low, high);
#endif
        (void)safe;
    }
    HOLDS(sim_pending_any(self) == (entry_count != 0), "whether there is any");
}

static void counts_are_right(void)
{
    const struct sim_pending *pending = self->pending;
    size_t writes = 0;
    for (size_t i = 0; i < entry_count; i++)
        writes += entries[i]->written;
    HOLDS(pending->count == entry_count, "%zu are under way, not %zu", (size_t)pending->count,
          entry_count);
    HOLDS(pending->writes == writes, "%zu write, not %zu", pending->writes, writes);
    HOLDS(pending->kept == kept && pending->misfits == misfits, "%llu kept, not %llu",
          (unsigned long long)pending->kept, (unsigned long long)kept);
    for (size_t i = 0; i < entry_count && i < pending->count; i++)
        HOLDS(pending->entries[i].hull.low == (uintptr_t)memory + entries[i]->low &&
                  pending->entries[i].hull.high == (uintptr_t)memory + entries[i]->high &&
                  pending->entries[i].name == entries[i]->name &&
                  pending->entries[i].read_told == entries[i]->read_told &&
                  pending->entries[i].write_told == entries[i]->write_told &&
                  pending->entries[i].operation == entries[i]->position,
              "entry %zu of %s", i, entries[i]->name);
}

static void step(void)
{
    int which = naive_between(0, 19);
    if (!instrumented && naive_between(0, 1))
        memory[naive_between(0, ROOM - 1)] ^= 0x40;
    if (which < 5)
        begin(true, false);
    else if (which < 6)
        begin(false, false);
    else if (which < 7)
        begin(false, true);
    else if (which < 8)
        give_operation();
    else if (which < 12)
        access(false);
    else if (which < 13)
        access(true);
    else if (which < 15)
        end();
    else if (which < 16)
        freed();
    else if (which < 17)
        heard();
    else if (which < 18)
        lose();
    else if (which < 19)
        look();
    else
        questions();
    counts_are_right();
}

static struct dice_seeds seeds;

static int run(void *context, int rank)
{
    (void)rank;
    recording_rank_begin(context);
    MPI_Init(NULL, NULL);
    self = sim_current_rank;
    groups = (int)self->pending->groups;
    for (int i = 0; i < RECORDED; i++)
        MPI_Barrier(MPI_COMM_SELF);
    stray_count = 0;
    kept = self->pending->kept, misfits = self->pending->misfits;
    for (round_number = seeds.first; round_number < seeds.first + seeds.count; round_number++) {
        naive_state = round_number;
        for (step_number = 0; step_number < STEPS && !*wrong; step_number++)
            step();
        while (entry_count) {
            freed();
            end();
            heard();
        }
    }
    while (!stray_count &&
           !*wrong) { /* what a thread did is told at the latest when the rank is done */
        begin(true, false);
        access(true);
    }
    tell_strays();
    remove_where(is_any, NULL);
    MPI_Finalize();
    return 0;
}

/* ---- what was told ---- */

static bool is_said(const struct said *one, const struct trace_note *note)
{
    char before[300];
    unsigned long place;
    int length = 0;
    uint32_t op = one->position ? one->position - 1 : TRACE_NO;
    if (strcmp(one->code, note->code) || (op != note->op))
        return false;
    if (one->by_site != (note->site != 0) && one->by_site)
        return false;
    if (!one->blank)
        return !strcmp(one->text, note->text);
    const char *hash = strchr(one->text, '#');
    snprintf(before, sizeof before, "%.*s", (int)(hash - one->text), one->text);
    return !strncmp(before, note->text, strlen(before)) &&
           sscanf(note->text + strlen(before), "%lu%n", &place, &length) == 1 && place < ROOM &&
           one->places[place] && !strcmp(note->text + strlen(before) + length, hash + 1);
}

static void compare_all(const struct trace *trace)
{
    size_t next = 0;
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        if (*note->code != 'B')
            continue;
        const struct said *one = next < said_count ? &said[next++] : NULL;
        notes_asked++;
        if ((!one || !is_said(one, note)) && !*wrong) {
            round_number = one ? one->round : 0;
            step_number = one ? one->step : 0;
            HOLDS(false, "%s of %d: %s; expected: %s of %d: %s", note->code, (int)note->op,
                  note->text, one ? one->code : "-", one ? (int)one->position - 1 : 0,
                  one ? one->text : "");
        }
    }
    HOLDS(next == said_count, "%zu notes, not %zu", next, said_count);
}

static struct trace *traced(const struct sim_world_options *options, int (*body)(void *, int),
                            enum trace_outcome *outcome)
{
    struct failure failure = {0};
    struct recording *recording =
        recording_new((uint32_t)options->ranks, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(options, &failure);
    *outcome = sim_world_run(world, body, recording);
    struct recording_result result = {.outcome = *outcome, .program = "pending", .model = "eager"};
    sim_world_free(world);
    struct trace *trace = recording_load(recording, &result, &failure);
    recording_ranks_release(recording);
    recording_free(recording);
    return trace;
}

static void test(bool seen, const char *name)
{
    struct sim_world_options options;
    enum trace_outcome outcome;
    sim_world_options_init(&options);
    options.ranks = 1;
    options.memory = instrumented = seen;
    *wrong = '\0';
    said_count = 0;
    looked_at = notes_asked = 0;
    struct trace *trace = traced(&options, run, &outcome);
    if (trace && !*wrong)
        compare_all(trace);
    tap_is_str(!trace || outcome != OUTCOME_FINISHED ? "it did not come to its end" : wrong, "",
               "%s", name);
    tap_ok(notes_asked > 100 && looked_at > 1000, "... of %d things told, and %d others",
           notes_asked, looked_at);
    trace_free(trace);
}

/* ---- nobody watches ---- */

static int unwatched(void *context, int rank)
{
    struct sim_region region = {(uintptr_t)memory, sim_datatype_get(MPI_BYTE), 8, true, "buffer"};
    struct sim_used used = {memory, region.type, 8, true, "buffer"};
    (void)context, (void)rank;
    MPI_Init(NULL, NULL);
    self = sim_current_rank;
    HOLDS(!self->pending, "it is watched");
    sim_pending_add(self, &region, 1, "Irecv", owners);
    sim_pending_used("Pack", &used, 1, memory);
    sim_pending_also(self, owners, owners + 1);
    sim_pending_operation(self, owners, 1);
    sim_pending_freed(self, owners);
    sim_pending_heard(self);
    HOLDS(!sim_pending_any(self) && !sim_pending_end(self, owners), "something is under way");
    HOLDS(!sim_pending_lose(self, (uintptr_t)memory, 8, SIM_LOST_FREE, NULL), "something is lost");
    self->safe_low = (uintptr_t)memory;
    self->safe_size = 0;
    __tsan_read_range(memory, 8);
    HOLDS(!sim_access_matters(), "an access matters");
    HOLDS(self->safe_size == 0, "a range makes all safe");
    __tsan_write4(memory);
    HOLDS(self->safe_low == 0 && self->safe_size == UINTPTR_MAX, "not all is safe");
    sim_current_rank = NULL;
    sim_thread_parent = self;
    __tsan_write4(memory);
    __tsan_write_range(memory, 8);
    sim_thread_parent = NULL;
    __tsan_write4(memory);
    __tsan_read_range(memory, 8);
    sim_current_rank = self;
    MPI_Finalize();
    return 0;
}

static void test_unwatched(void)
{
    struct sim_world_options options;
    struct failure failure = {0};
    sim_world_options_init(&options);
    options.ranks = 1;
    *wrong = '\0';
    struct sim_world *world = sim_world_new(&options, &failure);
    if (sim_world_run(world, unwatched, NULL) != OUTCOME_FINISHED)
        HOLDS(false, "it did not come to its end");
    sim_world_free(world);
    tap_is_str(wrong, "", "of a rank that nobody watches nothing is kept or told");
}

/* ---- what was not looked at ---- */

enum { UNUSUAL = 7777, LOOKED_AT = 1024 };

static void unseen_large(void)
{
    self->pending->unseen_large = UNUSUAL;
}
static void unseen_collectives(void)
{
    self->pending->unseen_collectives = UNUSUAL;
}
static void untyped(void)
{
    self->pending->untyped = UNUSUAL;
}
static void untold(void)
{
    self->pending->untold = UNUSUAL;
}
static void unbounded(void)
{
    self->pending->unbounded = UNUSUAL;
}
static void kept_beyond(void)
{
    self->pending->kept = UNUSUAL;
}
static void unpacked(void)
{
    self->unpacked = UNUSUAL;
}
static void beside(void)
{
    self->company.beside = UNUSUAL;
}

static const struct unseen {
    void (*set)(void);
    bool memory, before; /* loads and stores are seen; the program was built before */
    const char *check, *words;
} unseen[] = {{unseen_large, false, false, "buffers", "pending buffers above 1048576 bytes"},
              {unseen_collectives, false, false, "buffers", "of nonblocking collectives"},
              {untyped, false, false, "types", "of a program without debug information"},
              {untold, false, false, "types", "whose type no variable tells"},
              {unbounded, false, false, "bounds", "of which nothing says where they end"},
              {unpacked, false, false, "types", "what was unpacked"},
              {kept_beyond, false, true, "memory", "in a program that was built before"},
              {kept_beyond, false, false, NULL, NULL},
              {beside, true, false, "threads", "beside other threads of the rank"},
              {beside, false, false, NULL, NULL}};
static const struct unseen *asked;

/* Then many regions of one operation, some of which have no byte. */
static int unseen_run(void *context, int rank)
{
    static struct sim_region many[LOOKED_AT + 20];
    (void)rank;
    recording_rank_begin(context);
    MPI_Init(NULL, NULL);
    self = sim_current_rank;
    for (int i = 0; i < LOOKED_AT + 20; i++)
        many[i] = (struct sim_region){(uintptr_t)memory + (uintptr_t)i % ROOM,
                                      sim_datatype_get(MPI_BYTE), i % 100 != 99, false, "buffer"};
    sim_pending_add(self, many, LOOKED_AT + 20, "Isend", owners);
    HOLDS(self->pending->count == LOOKED_AT, "%zu regions are looked at",
          (size_t)self->pending->count);
    sim_pending_end(self, owners);
    self->pending->kept = 0;
    asked->set();
    MPI_Finalize();
    return 0;
}

static void test_unseen(void)
{
    *wrong = '\0';
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
        struct sim_world_options options;
        enum trace_outcome outcome;
        sim_world_options_init(&options);
        options.ranks = 1;
        asked = &unseen[i];
        options.memory = asked->memory;
        options.memory_unseen = asked->before;
        struct trace *trace = traced(&options, unseen_run, &outcome);
        int gaps = 0;
        for (size_t k = 0; trace && k < trace->coverage->count; k++) {
            const struct coverage_gap *gap = &trace->coverage->gaps[k];
            if (gap->count != UNUSUAL)
                continue;
            gaps++;
            HOLDS(asked->check && !strcmp(gap->check, asked->check) &&
                      strstr(gap->text, asked->words),
                  "row %zu: %s: %s", i, gap->check, gap->text);
        }
        HOLDS(gaps == (asked->check != NULL), "row %zu: %d gaps", i, gaps);
        trace_free(trace);
    }
    tap_is_str(wrong, "", "what was not looked at is a gap of its own, and nothing else is");
}

/* ---- buffers that wait to be filled ---- */

static void filled_later(void)
{
    static const unsigned char poison[] = {0xa5, 0x6f, 0x72, 0x41};
    unsigned char before[ROOM], after[ROOM], came[ROOM];
    struct entry *mine[SIDES];
    struct sim_region regions[SIDES];
    bool uses[ROOM] = {false}, written = false, clear = true;
    size_t bytes = 0;
    int count = naive_between(1, SIDES);
    for (size_t i = 0; i < ROOM; i++)
        before[i] = memory[i] = (unsigned char)naive_between(0, 63);
    memcpy(after, before, ROOM);
    for (int i = 0; i < count; i++) {
        size_t n;
        mine[i] = entry_new();
        mine[i]->written = true;
        regions[i] = region_of(mine[i]);
        ptrdiff_t *order = naive_bytes(&mine[i]->naive, mine[i]->count, &n);
        clear &= !mine[i]->twice;
        for (size_t k = 0; k < n; k++) { /* in the order in which they travel */
            size_t at = (size_t)((ptrdiff_t)mine[i]->base + order[k]);
            after[at] = poison[k % 4];
        }
        for (size_t at = 0; at < ROOM; at++) {
            clear &= !(uses[at] && mine[i]->uses[at]);
            uses[at] |= mine[i]->uses[at];
        }
        bytes += n;
        free(order);
    }
    struct sim_held *held = clear ? sim_held_new(self, regions, (size_t)count) : NULL;
    if (clear)
        HOLDS(!held == !bytes, "%zu bytes are %sheld", bytes, held ? "" : "not ");
    if (held) {
        HOLDS(!memcmp(memory, after, ROOM), "other bytes are poisoned");
        ptrdiff_t shift = sim_held_shift(held);
        HOLDS(shift % 64 == 0, "the other memory is aligned otherwise");
        for (size_t i = 0; i < ROOM; i++)
            if (uses[i]) {
                unsigned char *there = (unsigned char *)((uintptr_t)&memory[i] + (uintptr_t)shift);
                HOLDS(*there == before[i], "what was at byte %zu is not kept", i);
                *there = came[i] = (unsigned char)(naive_between(0, 2) ? before[i] : 200);
            }
        if (naive_between(0, 1)) {
            size_t at = (size_t)naive_between(0, ROOM - 1);
            memory[at] ^= 0x80;
            after[at] ^= 0x80;
            written = uses[at];
        }
        HOLDS(sim_held_end(held) == written, "that it was written to is not %d", written);
        for (size_t i = 0; i < ROOM; i++)
            HOLDS(memory[i] == (uses[i] ? came[i] : after[i]), "byte %zu at the end", i);
    }
    for (int i = 0; i < count; i++)
        entry_free(mine[i]);
}

static int late_run(void *context, int rank)
{
    const struct sim_world_options *options = &sim_current_rank->world->options;
    (void)rank;
    recording_rank_begin(context);
    MPI_Init(NULL, NULL);
    self = sim_current_rank;
    self->world->late_count = 0;
    for (uint64_t i = 0; i < 6; i++) {
        bool late = options->late_receives &&
                    (!options->late_to || (i >= options->late_from && i < options->late_to));
        HOLDS(sim_held_is_late(self) == late, "operation %d is not %d", (int)i, late);
    }
    for (round_number = 0; round_number < 300 && options->late_receives && !options->late_to;
         round_number++) {
        naive_state = round_number;
        filled_later();
    }
    struct sim_region apart[] = {
        {(uintptr_t)memory, sim_datatype_get(MPI_BYTE), 1, true, "buffer"},
        {(uintptr_t)memory + ((uintptr_t)1 << 31), sim_datatype_get(MPI_BYTE), 1, true, "buffer"},
        {(uintptr_t)memory, sim_datatype_get(MPI_BYTE), 0, true, "buffer"}};
    HOLDS(!sim_held_new(self, apart, 2), "what lies apart is held");
    HOLDS(!sim_held_new(self, apart + 2, 1), "what is empty is held");
    sim_held_free(NULL);
    MPI_Finalize();
    return 0;
}

/* In worlds that are not late, late as a whole, and late for two of the operations, of which the program is told. */
static void test_held(void)
{
    *wrong = '\0';
    for (int i = 0; i < 3; i++) {
        struct sim_world_options options;
        enum trace_outcome outcome;
        int gaps = 0, notes = 0;
        sim_world_options_init(&options);
        options.ranks = 1;
        options.late_receives = i > 0;
        options.late_from = i == 2 ? 2 : 0;
        options.late_to = i == 2 ? 4 : 0;
        options.late_told = i == 2;
        struct trace *trace = traced(&options, late_run, &outcome);
        for (size_t k = 0; trace && k < trace->coverage->count; k++)
            gaps += !strcmp(trace->coverage->gaps[k].check, "delivery")
                        ? (int)trace->coverage->gaps[k].count
                        : 0;
        for (size_t k = 0; trace && k < trace->note_count; k++)
            notes += !strcmp(trace->notes[k].code, "B001");
        HOLDS(outcome == OUTCOME_FINISHED && gaps == (i == 1), "world %d: %d gaps", i, gaps);
        HOLDS(notes == (i == 2 ? 2 : 0), "world %d: %d notes", i, notes);
        trace_free(trace);
    }
    tap_is_str(wrong, "", "buffers that wait hold the bytes of the map, and no others");
}

int main(void)
{
    tap_plan(7);
    seeds = dice_seeds(150);
    test(true, "what is told where loads and stores are seen is what a map of bytes says");
    test(false, "... where only what has changed is seen");
    test_unwatched();
    test_unseen();
    test_held();
    free(said);
    return tap_done();
}
