/* The checksum of a buffer that is being sent: any byte that changes changes it, wherever it stands; it is of the bytes alone, and of all of
 * them; and there is none where it would be of others. */
#include "tests/dice.h"
#include "tests/tap.h"

#include "recorder/memory.h"
#include "recorder/rank.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 300 };

static bool spares;

static bool says_spared(void)
{
    return spares;
}

static uint32_t sum_of(const void *buffer, int64_t count, uint32_t unit, uint64_t extent)
{
    struct record_op op = {
        .count = count, .unit = unit, .extent = extent, .buffer = (uint64_t)(uintptr_t)buffer};
    return recorder_checksum(&op);
}

/* Where nothing is left to be read behind the bytes; twice, at other addresses. */
static void any_byte(void)
{
    uint64_t dice = 1;
    int same = 0, other = 0, shorter = 0, none = 0, twice = 0;
    for (size_t bytes = 1; bytes <= LONGEST; bytes++) {
        unsigned char *one = malloc(bytes), *again = malloc(bytes + 3);
        for (size_t i = 0; i < bytes; i++)
            one[i] = (unsigned char)dice_below(&dice, 256);
        memcpy(again + 3, one, bytes);
        uint32_t sum = sum_of(one, (int64_t)bytes, 1, bytes);
        none += sum == 0;
        other += sum != sum_of(again + 3, (int64_t)bytes, 1, bytes);
        shorter += sum_of(one, (int64_t)bytes - 1, 1, bytes - 1) == sum;
        for (size_t i = 0; i < bytes; i++)
            for (unsigned bit = 0; bit < 8; bit++) {
                one[i] ^= (unsigned char)(1U << bit);
                same += sum_of(one, (int64_t)bytes, 1, bytes) == sum;
                one[i] ^= (unsigned char)(1U << bit);
            }
        for (size_t i = 8; i < bytes; i += 8) { /* two words are exchanged */
            unsigned char word[8];
            size_t j = 8 * dice_below(&dice, (uint32_t)(i / 8)),
                   size = bytes - i < 8 ? bytes - i : 8;
            memcpy(word, one + i, size);
            memcpy(one + i, one + j, size);
            memcpy(one + j, word, size);
            twice += sum_of(one, (int64_t)bytes, 1, bytes) == sum;
            memcpy(word, one + i, size);
            memcpy(one + i, one + j, size);
            memcpy(one + j, word, size);
        }
        free(one);
        free(again);
    }
    tap_is_int(same, 0, "each bit of buffers of up to %d bytes changes it", LONGEST);
    tap_is_int(other, 0, "the same bytes have the same anywhere");
    tap_is_int(shorter, 0, "fewer have another one");
    tap_is_int(twice, 0, "nor are words in another order the same");
    tap_is_int(none, 0, "there is one of each");
}

static void no_byte(void)
{
    static const struct {
        int64_t count;
        uint32_t unit;
        uint64_t extent;
        bool is;
    } cases[] = {
        {10, 8, 80, true}, {10, 8, 81, false}, {10, 8, 79, false}, {10, 8, 160, false},
        {0, 8, 0, false},  {20, 4, 80, true},  {80, 1, 80, true},  {10, 4, 80, false},
    };
    static unsigned char buffer[160];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_ok((sum_of(buffer, cases[i].count, cases[i].unit, cases[i].extent) != 0) == cases[i].is,
               "%d of %u bytes in %d: %s", (int)cases[i].count, cases[i].unit, (int)cases[i].extent,
               cases[i].is ? "there is one" : "with gaps there is none");
    tap_ok(sum_of(NULL, 10, 8, 80) == 0, "nor of nothing");
    tap_ok(sum_of(buffer, 10, 8, 80) == sum_of(buffer, 20, 4, 80),
           "it does not ask what the bytes are");
    const struct recorder_memory *before = recorder_memory, watched = {.spared = says_spared};
    recorder_memory = &watched;
    tap_ok(sum_of(buffer, 10, 8, 80) != 0, "who watches may want it");
    spares = true;
    tap_ok(sum_of(buffer, 10, 8, 80) == 0, "or not");
    recorder_memory = before;
}

int main(void)
{
    any_byte();
    no_byte();
    return tap_done();
}
