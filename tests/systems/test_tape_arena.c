/* Memory of a tape: pieces lie apart and stay as they are, clearing keeps the blocks, and small blocks go through a pool from one tape to
 * the next. */
#include "collectives/tape/arena.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { PIECES = 400, ROUNDS = 6, KIB = 1024 };

struct piece {
    unsigned char *at;
    size_t size;
};

static size_t rounded(size_t size)
{
    return size ? (size + 15) / 16 * 16 : 16;
}

static int by_address(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    return (a->at > b->at) - (a->at < b->at);
}

static size_t some_size(uint64_t *dice)
{
    uint32_t kind = dice_below(dice, 40);
    if (kind == 0)
        return 256 * KIB - 40 + dice_below(dice, 80);
    if (kind == 1)
        return 256 * KIB + dice_below(dice, 512 * KIB);
    return dice_below(dice, kind < 6 ? 60 * KIB : 300);
}

/* Pieces of random sizes, filled: each as large as it was asked for, none in another. */
static void pieces(void)
{
    struct arena arena;
    struct piece all[PIECES];
    int odd = 0, changed = 0, within = 0, counted = 0, zeroed = 0, new = 0;
    arena_init(&arena);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t dice = 1 + (uint64_t)round % 2;
        size_t sum = 0;
        for (int i = 0; i < PIECES; i++) {
            size_t size = some_size(&dice);
            bool zero = dice_below(&dice, 4) == 0;
            unsigned char *at = zero ? arena_take_zeroed(&arena, size) : arena_take(&arena, size);
            for (size_t k = 0; zero && k < size; k++)
                zeroed += at[k] != 0;
            odd += (uintptr_t)at % 16 != 0;
            memset(at, i % 251 + 1, size);
            all[i] = (struct piece){at, size};
            sum += rounded(size);
        }
        counted += arena.bytes != sum;
        for (int i = 0; i < PIECES; i++)
            for (size_t k = 0; k < all[i].size; k += k + 64 < all[i].size ? 61 : 1)
                changed += all[i].at[k] != i % 251 + 1;
        qsort(all, PIECES, sizeof *all, by_address);
        for (int i = 1; i < PIECES; i++)
            within += all[i - 1].at + rounded(all[i - 1].size) > all[i].at;
        arena_clear(&arena);
        new += arena.bytes != 0;
    }
    arena_release(&arena);
    tap_is_int(odd, 0, "pieces are aligned");
    tap_is_int(zeroed, 0, "zeros are zeros, where memory was used before, too");
    tap_is_int(changed, 0, "pieces stay as they are");
    tap_is_int(within, 0, "none lies in another");
    tap_is_int(counted + new, 0, "their bytes are counted, and forgotten when they are");
}

/* What the same fill finds after a clear. */
static void clearing(void)
{
    enum { TAKES = 40 };
    struct arena arena;
    unsigned char *first[TAKES];
    int known = 0;
    arena_init(&arena);
    for (int i = 0; i < TAKES; i++)
        first[i] = arena_take(&arena, (size_t)(i % 2 ? 300 : 700) * KIB);
    arena_clear(&arena);
    for (int i = 0; i < TAKES; i++) {
        unsigned char *again = arena_take(&arena, (size_t)(i % 2 ? 300 : 700) * KIB);
        for (int k = 0; k < TAKES; k++)
            known += again == first[k];
    }
    tap_is_int(known, TAKES, "what is taken once more after a clear lies where it did");
    arena_clear(&arena);
    unsigned char *small = arena_take(&arena, 257 * KIB);
    known = 0;
    for (int k = 0; k < TAKES; k++)
        known += small == first[k] && k % 2 == 0;
    tap_is_int(known, 0, "a block of more than twice the size is left for larger pieces");
    arena_release(&arena);
    tap_ok(!arena.used && !arena.spare && !arena.pool, "a released arena has nothing");
}

/* Blocks of 16 and 32 KiB go into the pool and come from it; larger ones do not. */
static void pool(void)
{
    struct arena_block *blocks = NULL;
    struct arena one, two;
    arena_init(&one);
    one.pool = &blocks;
    unsigned char *first = arena_take(&one, 16 * KIB);
    arena_release(&one);
    tap_ok(blocks != NULL, "a small block is pooled");
    arena_init(&two);
    two.pool = &blocks;
    tap_ok(arena_take(&two, 16 * KIB) == first, "another arena begins in it");
    tap_ok(blocks == NULL, "... which was the only one");
    unsigned char *second = arena_take(&two, 32 * KIB);
    arena_release(&two);
    arena_init(&one);
    one.pool = &blocks;
    tap_ok(arena_take(&one, 16 * KIB) == second, "the next begins in the last, which is larger");
    tap_ok(arena_take(&one, 16 * KIB) == second + 16 * KIB, "... and uses all of it");
    tap_ok(blocks != NULL, "... the first is left");
    one.pool = NULL;
    arena_release(&one);
    arena_pool_release(&blocks);
    tap_ok(blocks == NULL, "a pool that is released is empty");
    arena_init(&one);
    one.pool = &blocks;
    unsigned char *large = arena_take(&one, 300 * KIB);
    tap_is_int((uintptr_t)large % 64, 0, "a large piece with a block of its own is aligned by 64");
    arena_take(&one, 40 * KIB);
    arena_release(&one);
    tap_ok(blocks == NULL, "larger ones are not pooled");
    arena_init(&one);
    one.pool = &blocks;
    arena_take(&one, 1);
    arena_release(&one);
    tap_ok(blocks != NULL, "a small one is");
    arena_pool_release(&blocks);
}

int main(void)
{
    pieces();
    clearing();
    pool();
    return tap_done();
}
