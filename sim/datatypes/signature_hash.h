/* signature_hash.h: the hash of a sequence of basic types.
 *
 * A polynomial over the integers modulo 2^61 - 1 whose coefficients are handle numbers: the hash of
 * two sequences one after the other follows from theirs, so that a type is hashed in the time it
 * takes to describe it, not in that of its elements.
 */
#ifndef SIM_DATATYPES_SIGNATURE_HASH_H
#define SIM_DATATYPES_SIGNATURE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define SIM_HASH_PRIME UINT64_C(0x1fffffffffffffff)
#define SIM_HASH_BASE  UINT64_C(0x0002c5b1a6f3d94d) /* 50 bits, so that a pair fits 64 */

/* Of a sequence of one and of two; constant expressions. */
#define SIM_HASH_ONE(basic) ((uint64_t)(basic))
#define SIM_HASH_TWO(first, second)                                                                \
    (((uint64_t)(first)*SIM_HASH_BASE + (uint64_t)(second)) % SIM_HASH_PRIME)
#define SIM_HASH_BASE_SQUARED UINT64_C(0x1bb824cd982db180) /* modulo the prime */
__extension__ typedef unsigned __int128 sim_hash_wide;

static inline uint64_t sim_hash_multiply(uint64_t a, uint64_t b)
{
    return (uint64_t)((sim_hash_wide)a * b % SIM_HASH_PRIME);
}

/* A sequence's hash and BASE to its length. */
struct sim_hash {
    uint64_t value, power;
};

static inline struct sim_hash sim_hash_empty(void)
{
    return (struct sim_hash){0, 1};
}

static inline struct sim_hash sim_hash_concatenate(struct sim_hash a, struct sim_hash b)
{
    return (struct sim_hash){(sim_hash_multiply(a.value, b.power) + b.value) % SIM_HASH_PRIME,
                             sim_hash_multiply(a.power, b.power)};
}

/* `count` times the sequence. */
static inline struct sim_hash sim_hash_repeat(struct sim_hash hash, size_t count)
{
    struct sim_hash result = sim_hash_empty();
    for (; count; count >>= 1, hash = sim_hash_concatenate(hash, hash))
        if (count & 1)
            result = sim_hash_concatenate(result, hash);
    return result;
}

#endif
