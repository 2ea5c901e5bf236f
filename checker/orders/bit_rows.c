/* Rows of bits made of shared pieces: see bit_rows.h. */
#include "checker/orders/bit_rows.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

void bit_pool_init(struct bit_pool *pool)
{
    *pool = (struct bit_pool){.slot_count = 64};
    pool->slots = check_new(pool->slot_count, sizeof *pool->slots);
    pool->words =
        check_grow(NULL, &pool->room, BIT_PIECE_WORDS, sizeof *pool->words); /* of piece 0 */
    memset(pool->words, 0, BIT_PIECE_WORDS * sizeof *pool->words);
    pool->count = 1;
}

void bit_pool_release(struct bit_pool *pool)
{
    free(pool->words);
    free(pool->slots);
    *pool = (struct bit_pool){0};
}

size_t bit_pool_bytes(const struct bit_pool *pool)
{
    return pool->room * sizeof *pool->words + pool->slot_count * sizeof *pool->slots;
}

static size_t piece_hash(const uint64_t *words)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < BIT_PIECE_WORDS; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 31;
    return (size_t)(hash ^ hash >> 32);
}

/* Its slot, or the free one where it belongs. */
static size_t find_slot(const struct bit_pool *pool, const uint64_t *words)
{
    size_t slot = piece_hash(words) & (pool->slot_count - 1);
    while (pool->slots[slot] &&
           memcmp(bit_piece(pool, pool->slots[slot]), words, BIT_PIECE_WORDS * sizeof *words) != 0)
        slot = (slot + 1) & (pool->slot_count - 1);
    return slot;
}

static void widen(struct bit_pool *pool)
{
    free(pool->slots);
    pool->slot_count *= 2;
    pool->slots = check_new(pool->slot_count, sizeof *pool->slots);
    for (size_t piece = 1; piece < pool->count; piece++)
        pool->slots[find_slot(pool, bit_piece(pool, (uint32_t)piece))] = (uint32_t)piece;
}

/* The piece of these words, which are not all zero. */
static uint32_t keep(struct bit_pool *pool, const uint64_t *words)
{
    size_t slot = find_slot(pool, words);
    pool->steps++;
    if (pool->slots[slot])
        return pool->slots[slot];
    if (pool->count * 2 >= pool->slot_count) {
        widen(pool);
        slot = find_slot(pool, words);
    }
    pool->words = check_grow(pool->words, &pool->room, (pool->count + 1) * BIT_PIECE_WORDS,
                             sizeof *pool->words);
    memcpy(pool->words + pool->count * BIT_PIECE_WORDS, words, BIT_PIECE_WORDS * sizeof *words);
    pool->slots[slot] = (uint32_t)pool->count;
    return (uint32_t)pool->count++;
}

void bit_row_set(struct bit_pool *pool, uint32_t *row, uint32_t bit)
{
    uint64_t words[BIT_PIECE_WORDS];
    memcpy(words, bit_piece(pool, row[bit / BIT_PIECE]), sizeof words);
    words[bit % BIT_PIECE / 64] |= UINT64_C(1) << (bit % 64);
    row[bit / BIT_PIECE] = keep(pool, words);
}

void bit_row_merge(struct bit_pool *pool, uint32_t *into, const uint32_t *from, size_t pieces)
{
    uint64_t words[BIT_PIECE_WORDS];
    for (size_t p = 0; p < pieces; p++) {
        if (!from[p] || into[p] == from[p])
            continue;
        if (!into[p]) {
            into[p] = from[p];
            continue;
        }
        const uint64_t *one = bit_piece(pool, into[p]), *other = bit_piece(pool, from[p]);
        for (size_t w = 0; w < BIT_PIECE_WORDS; w++)
            words[w] = one[w] | other[w];
        into[p] = keep(pool, words);
    }
}
