/* Which range holds an address, against a picture of the memory: of each address, whose it is. Ranges
 * come where there is room and go again, while nobody asks for as long as it takes to forget the index
 * or to sort much in at once; and with the n-th allocation failing. */
#include "tests/sanitized.h"
#include "tests/tap.h"
#if !SANITIZED
#include "tests/traces/failing_memory.h"
#endif
#include "traces/trace/range_index.h"

#include <string.h>

enum { MEMORY = 1 << 15, BASE = 1 << 20, LONGEST = 24, PHASES = 240 };

static struct range *owner[MEMORY]; /* of each address; NULL: nobody */
static struct range kept[MEMORY];   /* the range that begins at an address */
static uint64_t state = 1;

static uint64_t draw(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static bool add(struct range_index *index, struct handle_map *map)
{
    size_t at = draw(MEMORY);
    size_t size = draw(LONGEST);
    for (size_t i = at; i < at + size + !size; i++)
        if (i >= MEMORY || owner[i] || kept[i].start)
            return false;
    struct range *range = &kept[at];
    *range = (struct range){BASE + at, size};
    if (!handle_map_add(map, range->start, range)) {
        *range = (struct range){0};
        return false;
    }
    for (size_t i = at; i < at + size; i++)
        owner[i] = range;
    range_index_add(index, *range);
    return true;
}

static void take_away(struct handle_map *map)
{
    size_t at = draw(MEMORY);
    struct range *range = &kept[at];
    if (!range->start)
        return;
    handle_map_remove(map, range->start);
    for (size_t i = at; i < at + range->size; i++)
        owner[i] = NULL;
    *range = (struct range){0};
}

static long wrong_of(struct range_index *index, const struct handle_map *map, size_t at)
{
    return range_index_find(index, map, BASE + at) != owner[at];
}

/* Answers that are wrong; how large the world was counts into `most`. */
static long phases(size_t *most, long failing)
{
    struct handle_map map = {0};
    struct range_index index = {0};
    long wrong = 0;
    (void)failing;
    memset(owner, 0, sizeof owner);
    memset(kept, 0, sizeof kept);
    for (int phase = 0; phase < PHASES; phase++) {
        uint64_t changes = draw(phase % 8 ? 300 : 20000);
        uint64_t adds = draw(4); /* of five changes; else something is taken away */
#if !SANITIZED
        countdown = failing;
#endif
        for (uint64_t i = 0; i < changes; i++) {
            uint64_t what = draw(5);
            if (what <= adds)
                add(&index, &map);
            else
                for (int k = 0; k < 8; k++)
                    take_away(&map);
        }
        for (int i = 0; i < 100; i++)
            wrong += wrong_of(&index, &map, draw(MEMORY));
#if !SANITIZED
        countdown = 0;
#endif
        *most = map.count > *most ? map.count : *most;
    }
    for (size_t at = 0; at < MEMORY; at++)
        wrong += wrong_of(&index, &map, at);
    wrong += range_index_find(&index, &map, BASE - 1) || range_index_find(&index, &map, 0) ||
             range_index_find(&index, &map, UINTPTR_MAX) ||
             range_index_find(&index, &map, BASE + MEMORY);
    range_index_forget(&index);
    handle_map_release(&map);
    return wrong;
}

static void test_without_questions(void)
{
    struct handle_map map = {0};
    struct range_index index = {0};
    range_index_find(&index, &map, BASE);
    size_t room = index.room;
    for (size_t i = 0; i < 4 * room; i++)
        range_index_add(&index, (struct range){BASE + i, 1});
    tap_ok(room && !index.ranges, "an index that nobody asks is forgotten, instead of growing");
    range_index_forget(&index);
    handle_map_release(&map);
}

int main(void)
{
    tap_plan(4);
    size_t most = 0;
    long wrong = phases(&most, 0);
    tap_ok(!wrong, "who holds an address is what the picture says (%ld wrong)", wrong);
    tap_ok(most > 1500, "with many ranges at one time (%zu)", most);
    test_without_questions();
#if SANITIZED
    tap_skip(1, "allocations that fail: the sanitizer has an allocator of its own");
#else
    wrong = 0;
    for (long n = 1; n <= 4; n++)
        wrong += phases(&most, n);
    tap_ok(!wrong && failed, "so it is where allocations fail (%ld did, %ld wrong)", failed, wrong);
#endif
    return tap_done();
}
