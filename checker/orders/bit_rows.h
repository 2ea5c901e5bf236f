/* Rows of bits that mostly repeat each other: which items come before an item, for every item.
 *
 * A row is a list of pieces of 2048 bits, and equal pieces of all rows are one. The rows of a chain,
 * of a chain with leaves, of the same pass on another rank take a fraction of a square; only rows
 * that have nothing in common take all of it. */
#ifndef CHECKER_ORDERS_BIT_ROWS_H
#define CHECKER_ORDERS_BIT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BIT_PIECE_WORDS = 32, BIT_PIECE = 64 * BIT_PIECE_WORDS };

/* Piece 0 is all zero. */
struct bit_pool {
    uint64_t *words; /* BIT_PIECE_WORDS of each piece */
    size_t count, room;
    uint32_t *slots; /* piece, 0 for none; a power of two */
    size_t slot_count;
    uint64_t steps; /* pieces that were computed */
};

void bit_pool_init(struct bit_pool *pool);
void bit_pool_release(struct bit_pool *pool);
size_t bit_pool_bytes(const struct bit_pool *pool);

static inline size_t bit_row_pieces(size_t bits)
{
    return (bits + BIT_PIECE - 1) / BIT_PIECE;
}

static inline const uint64_t *bit_piece(const struct bit_pool *pool, uint32_t piece)
{
    return pool->words + (size_t)piece * BIT_PIECE_WORDS;
}

void bit_row_set(struct bit_pool *pool, uint32_t *row, uint32_t bit);
/* into |= from */
void bit_row_merge(struct bit_pool *pool, uint32_t *into, const uint32_t *from, size_t pieces);

#endif
