/* What a program allocates, and what is known of it: random calls of malloc and its kin as programs make them, against a list of what is there. Sizes,
 * contents, alignment; which object begins at an address or holds it, and whether its memory was another's; what a buffer reaches beyond;
 * memory that is freed while an operation writes there; what was freed last, which nobody gets for a while; memory that is not there;
 * and memory that is overwritten, so that nobody lives on what was there. */
#include "sim/memory/objects.h"
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"
#include "tests/fences/fence.h"
#include "tests/world_harness.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>

void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_aligned_alloc(size_t, size_t);
int __wrap_posix_memalign(void **, size_t, size_t);
void __wrap_free(void *);

enum { OBJECTS = 40, STEPS = 900, STALE = 0x41, FREED_MAX = 4 * STEPS };
enum { KEPT = 16, KEPT_BYTES = 256 << 10, COPIED_MAX = 64 << 10, NEAR = 1 << 16 };

struct known {
    unsigned char *at;
    size_t size;
    unsigned char mark;           /* what is in it, a byte after the other */
    bool was_freed, beside_freed; /* some of it was another's; all of it lies beside what was */
};

static struct known objects[OBJECTS];
static uint64_t state;
static bool stale;
/* All that was freed; of it the last ones, which are kept back. */
static struct stretch {
    uintptr_t low, high;
} freed[FREED_MAX], last_freed[KEPT + 1];
static int freed_count, last_count;
static char wrong[200];

#define HOLDS(condition, ...)                                                                      \
    (void)((condition) || (*wrong || snprintf(wrong, sizeof wrong, __VA_ARGS__)))

static bool all_are(const unsigned char *at, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++)
        if (at[i] != value)
            return false;
    return true;
}

static void mark(struct known *object)
{
    object->mark = (unsigned char)dice_below(&state, 50);
    for (size_t i = 0; i < object->size; i++)
        object->at[i] = (unsigned char)(object->mark + i);
}

static bool is_marked(const struct known *object, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (object->at[i] != (unsigned char)(object->mark + i))
            return false;
    return true;
}

static const struct known *at_address(const unsigned char *address)
{
    for (int i = 0; i < OBJECTS; i++)
        if (objects[i].at && address - objects[i].at >= 0 &&
            (size_t)(address - objects[i].at) < objects[i].size)
            return &objects[i];
    return NULL;
}

/* ---- what was freed ---- */

static void note_freed(const unsigned char *at, size_t size)
{
    if (freed_count < FREED_MAX)
        freed[freed_count++] = (struct stretch){(uintptr_t)at, (uintptr_t)at + size};
    else
        HOLDS(false, "too much is freed");
}

static void note_kept(const unsigned char *at, size_t size)
{
    size_t bytes = 0;
    if (!size)
        return;
    last_freed[last_count++] = (struct stretch){(uintptr_t)at, (uintptr_t)at + size};
    for (int i = 0; i < last_count; i++)
        bytes += last_freed[i].high - last_freed[i].low;
    while (last_count > KEPT || (bytes > KEPT_BYTES && last_count > 1)) {
        bytes -= last_freed[0].high - last_freed[0].low;
        memmove(last_freed, last_freed + 1, (size_t)--last_count * sizeof *last_freed);
    }
}

/* Whether its memory was another object's before: where it is known to be, and where nothing lies between what was freed. */
static void note_new(struct known *object)
{
    uintptr_t low = (uintptr_t)object->at, high = low + object->size, first = UINTPTR_MAX, last = 0;
    for (int i = 0; i < freed_count; i++) {
        object->was_freed |= low < freed[i].high && high > freed[i].low;
        first = freed[i].low < first ? freed[i].low : first;
        last = freed[i].high > last ? freed[i].high : last;
    }
    object->beside_freed = low >= last || high <= first;
}

/* An operation is told of what is kept back. */
static void ask_freed(struct sim_rank *rank, uintptr_t at)
{
    struct sim_region region = {at, sim_datatype_get(MPI_BYTE), 1, false, "buffer"};
    bool is = false;
    for (int i = 0; i < last_count; i++)
        is |= at >= last_freed[i].low && at < last_freed[i].high;
    HOLDS(sim_objects_freed(rank, &region, sim_region_hull(&region), "Send", "reads") == is,
          "%d kept: that a byte was freed is not %d", last_count, is);
}

/* ---- what is known ---- */

static void ask(const struct sim_rank *rank, const unsigned char *address)
{
    struct sim_object_found found = {0};
    const struct known *object = at_address(address);
    bool begins = false;
    for (int i = 0; i < OBJECTS; i++)
        begins |= objects[i].at == address && address;
    HOLDS(sim_objects_holding((struct sim_rank *)(uintptr_t)rank, (uintptr_t)address, &found) ==
              (object != NULL),
          "an object is %sfound", object ? "not " : "");
    if (object)
        HOLDS(found.start == (uintptr_t)object->at && found.size == object->size &&
                  (found.recycled ? !object->beside_freed : !object->was_freed) && found.site,
              "found is another");
    HOLDS(sim_objects_at((struct sim_rank *)(uintptr_t)rank, (uintptr_t)address, &found) == begins,
          "an object %sbegins", begins ? "" : "does not ");
    HOLDS(sim_objects_size(address) == (begins && object ? object->size : 0),
          "the size of what begins there");
}

/* A buffer of bytes must end in the object that it begins in. */
static void reach(struct sim_rank *rank, const struct known *object)
{
    size_t from = object->size ? dice_below(&state, (uint32_t)object->size) : 0,
           count = 1 + dice_below(&state, (uint32_t)object->size + 3);
    struct sim_region region = {(uintptr_t)object->at + from, sim_datatype_get(MPI_BYTE), count,
                                true, "buffer"};
    bool beyond = object->size && from + count > object->size;
    if (object->size)
        HOLDS(sim_objects_bound(rank, &region, sim_region_hull(&region), "Recv", "reaches") ==
                  beyond,
              "%zu bytes from %zu on of %zu", count, from, object->size);
}

/* One byte or more that displacements lead to from a buffer: within the object that is there, or, beside all of them, not far from the
 * one that the buffer is in. */
static void reach_away(struct sim_rank *rank, const struct known *object)
{
    static const int far[] = {0, 1, 70, NEAR - 1, NEAR, NEAR + 1, 3 * NEAR};
    size_t from = dice_below(&state, (uint32_t)object->size);
    ptrdiff_t beside = far[dice_below(&state, 7)];
    MPI_Aint away = dice_below(&state, 2) ? -(ptrdiff_t)from - beside
                                          : (ptrdiff_t)(object->size - from) + beside -
                                                (ptrdiff_t)dice_below(&state, 2);
    int count = 1 + (int)dice_below(&state, 4);
    const unsigned char *at = object->at + from + away;
    const struct known *there = at_address(at);
    MPI_Datatype type;
    MPI_Type_create_hindexed(1, &count, &away, MPI_BYTE, &type);
    struct sim_region region = {(uintptr_t)object->at + from, sim_datatype_get(type), 1, true,
                                "buffer"};
    bool beyond;
    if (there)
        beyond = (size_t)(at - there->at) + (size_t)count > there->size;
    else if (at < object->at)
        beyond = object->at - at <= NEAR;
    else
        beyond = at - (object->at + object->size) <= NEAR;
    HOLDS(sim_objects_bound(rank, &region, sim_region_hull(&region), "Recv", "reaches") == beyond,
          "%d bytes %td from %zu on of %zu", count, (ptrdiff_t)away, from, object->size);
    region.base = (uintptr_t)&state; /* no object */
    away = 0;
    if (!there)
        HOLDS(!sim_objects_bound(rank, &region, sim_region_hull(&region), "Recv", "reaches") ||
                  at_address((const unsigned char *)sim_region_hull(&region).low),
              "a variable is no object");
    MPI_Type_free(&type);
}

/* ---- what is done ---- */

static void allocate(struct known *object)
{
    size_t size = dice_below(&state, 4)    ? dice_below(&state, 90)
                  : dice_below(&state, 10) ? dice_below(&state, 3000)
                                           : 30000 + dice_below(&state, 90000),
           alignment = (size_t)16 << dice_below(&state, 5);
    void *memory = NULL;
    int way = (int)dice_below(&state, 5);
    errno = 77;
    switch (way) {
    case 0:
        memory = __wrap_malloc(size);
        break;
    case 1:
        size = size / 3 * 3;
        memory = __wrap_calloc(size / 3, 3);
        break;
    case 2:
        memory = __wrap_realloc(NULL, size + 1);
        size = size + 1;
        break;
    case 3:
        memory =
            __wrap_aligned_alloc(alignment, size = (size + alignment - 1) / alignment * alignment);
        break;
    default:
        HOLDS(!__wrap_posix_memalign(&memory, alignment, size), "no memory");
    }
    *object = (struct known){memory, size, 0, false, false};
    note_new(object);
    HOLDS(memory && errno == 77, "no memory, or an error without reason");
    HOLDS(way < 3 || (uintptr_t)memory % alignment == 0, "alignment");
    HOLDS(way != 1 || all_are(memory, size, 0), "zeros of calloc");
    HOLDS(way == 1 || !stale || all_are(memory, size, STALE), "what nobody has written, by way %d",
          way);
    HOLDS(stale || size < 16 || !all_are(memory, size, STALE),
          "memory is overwritten, which nobody asked for");
    mark(object);
}

static void resize(struct known *object)
{
    size_t size = 1 + dice_below(&state, 200), kept = size < object->size ? size : object->size,
           before = object->size, room = malloc_usable_size(object->at);
    unsigned char *old = object->at;
    object->at = __wrap_realloc(object->at, size);
    note_freed(old, before);
    if (size > room && before && before <= COPIED_MAX)
        note_kept(old, before);
    *object = (struct known){object->at, size, object->mark, false, false};
    note_new(object);
    HOLDS(object->at && is_marked(object, kept), "what realloc keeps");
    if (size > before && before && stale)
        HOLDS(all_are(object->at + before, size - before, STALE), "what realloc adds");
    mark(object);
}

/* While an operation writes there: it is told, and whoever comes next does not get the memory. */
static void lose(struct sim_rank *rank, struct known *object, bool resizes)
{
    struct sim_region region = {(uintptr_t)object->at + object->size - 1,
                                sim_datatype_get(MPI_BYTE), 1, true, "buffer"};
    unsigned char *old = object->at, *next[8];
    size_t size = object->size;
    sim_pending_add(rank, &region, 1, "Irecv", objects);
    if (resizes) {
        object->at = __wrap_realloc(old, size + 40);
        HOLDS(object->at != old && is_marked(object, size), "a realloc of what is under way");
        note_freed(old, size);
        *object = (struct known){object->at, size + 40, object->mark, false, false};
        note_new(object);
        HOLDS(sim_objects_size(object->at) == object->size, "and its size");
        mark(object);
    } else {
        __wrap_free(old);
        note_freed(old, size);
        object->at = NULL;
    }
    HOLDS(rank->pending->count == 1 && rank->pending->entries[0].write_told, "freed under way");
    HOLDS(sim_pending_end(rank, objects), "the end says that it was told");
    for (int i = 0; i < 8; i++)
        HOLDS((next[i] = malloc(size)) != old, "memory under way is given to others");
    for (int i = 0; i < 8; i++)
        free(next[i]);
    free(old); /* which the test may do */
}

static void step(struct sim_rank *rank)
{
    struct known *object = &objects[dice_below(&state, OBJECTS)];
    uint64_t before = sim_objects_stamp(rank);
    bool changes = true;
    if (!object->at) {
        allocate(object);
    } else if (!dice_below(&state, 3)) {
        resize(object);
    } else if (object->size && !dice_below(&state, 4)) {
        lose(rank, object, dice_below(&state, 2));
    } else if (dice_below(&state, 2)) {
        errno = 78;
        __wrap_free(object->at);
        HOLDS(errno == 78, "an error of free");
        note_freed(object->at, object->size);
        note_kept(object->at, object->size);
        HOLDS(!stale || all_are(object->at, object->size, STALE), "what is kept back");
        object->at = NULL;
    } else {
        changes = false;
        reach(rank, object);
        if (object->size)
            reach_away(rank, object);
    }
    for (int i = freed_count > 40 ? freed_count - 40 : 0; i < freed_count; i++) {
        ask_freed(rank, freed[i].low);
        ask_freed(rank, freed[i].high - 1);
        ask_freed(rank, freed[i].high);
    }
    HOLDS(sim_objects_stamp(rank) && (sim_objects_stamp(rank) != before) == changes, "the stamp");
    for (int i = 0; i < OBJECTS; i++)
        if (objects[i].at && !dice_below(&state, 8)) {
            HOLDS(is_marked(&objects[i], objects[i].size), "another's contents");
            ask(rank, objects[i].at);
            ask(rank, objects[i].at - 1);
            ask(rank, objects[i].at + dice_below(&state, (uint32_t)objects[i].size + 2));
        }
}

/* Nobody has so much: what there was stays, and is known. */
static void too_much(struct sim_rank *rank)
{
    const size_t much = (size_t)PTRDIFF_MAX - 4096;
    struct known object = {__wrap_malloc(30), 30, 0, false, false};
    struct sim_object_found found;
    void *none = &found;
    mark(&object);
    errno = 0;
    HOLDS(!__wrap_malloc(much) && errno == ENOMEM, "malloc of too much");
    HOLDS(!__wrap_calloc(much / 8, 8) && !__wrap_aligned_alloc(64, much / 64 * 64),
          "calloc and aligned_alloc of too much");
    HOLDS(__wrap_posix_memalign(&none, 64, much) == ENOMEM && none == &found,
          "posix_memalign of too much");
    HOLDS(!__wrap_realloc(NULL, much), "a new object of too much");
    HOLDS(!__wrap_realloc(object.at, much) && is_marked(&object, 30) &&
              sim_objects_size(object.at) == 30 &&
              sim_objects_holding(rank, (uintptr_t)object.at + 29, &found),
          "an object that cannot grow stays");
    __wrap_free(object.at);
}

/* As much as is kept back at all, and a byte more. */
static void largest(struct sim_rank *rank)
{
    for (size_t more = 0; more < 2; more++) {
        size_t size = ((size_t)4 << 20) + more;
        void *memory = __wrap_malloc(size);
        uintptr_t at = (uintptr_t)memory;
        __wrap_free(memory);
        if (!more) {
            last_count = 1; /* all others had to go */
            last_freed[0] = (struct stretch){at, at + size};
        }
        ask_freed(rank, at);
        ask_freed(rank, at + size - 1);
        last_count = 0;
    }
}

static void body(int number, int size)
{
    struct sim_rank *rank = sim_current_rank;
    (void)number, (void)size;
    sim_pending_watch(rank);
    memset(objects, 0, sizeof objects);
    freed_count = last_count = 0;
    HOLDS(!sim_objects_stamp(rank) && !sim_objects_size(objects), "nothing is known of nothing");
    for (int i = 0; i < STEPS && !*wrong; i++)
        step(rank);
    if (!SANITIZED) /* whose malloc ends the program */
        too_much(rank);
    largest(rank);
    for (int i = 0; i < OBJECTS / 2; i++)
        __wrap_free(objects[i].at);
    expect(true, "it came to its end");
}

static void test(const char *name, bool overwritten)
{
    struct sim_world_options options = world_options(1);
    options.memory = true;
    options.stale_memory = stale = overwritten;
    *wrong = '\0';
    for (state = 1; state < 4 && !*wrong; state++) {
        uint64_t seed = state;
        long live = fence_live();
        struct world_result result = world_try(options, body);
        for (int i = OBJECTS / 2; i < OBJECTS; i++)
            free(objects[i].at);
        if (fence_stands && seed > 1) /* the first world makes what is kept for all */
            HOLDS(fence_live() == live, "%ld blocks are left", fence_live() - live);
        HOLDS(result.outcome == OUTCOME_FINISHED, "%s", world_outcomes[result.outcome]);
        state = seed;
    }
    tap_is_str(wrong, "", "%s", name);
}

static void test_nobody(void)
{
    char *memory = __wrap_malloc(10);
    memset(memory, 7, 10);
    memory = __wrap_realloc(memory, 1000);
    tap_ok(memory && memory[9] == 7 && sim_objects_size(memory) == 0,
           "of what is no rank's nothing is known");
    __wrap_free(memory);
}

int main(void)
{
    tap_plan(3);
    test("what a program allocates is known, and as it should be", false);
    test("... and overwritten where a world asks for that", true);
    test_nobody();
    return tap_done();
}
