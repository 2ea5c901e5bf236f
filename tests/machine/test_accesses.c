/* Which bytes the loads, stores and atomic operations of instrumented programs touch, byte for byte (watched.h), and what the atomic ones do. */
#include "tests/machine/watched.h"

/* clang-format off */
#define EACH(X) X(read1, 1, 0) X(read2, 2, 0) X(read4, 4, 0) X(read8, 8, 0) X(read16, 16, 0) X(write1, 1, 1) X(write2, 2, 1) X(write4, 4, 1)    \
    X(write8, 8, 1) X(write16, 16, 1) X(read_write4, 4, 1) X(read_write8, 8, 1) X(volatile_read4, 4, 0) X(volatile_write4, 4, 1)                \
    X(unaligned_read2, 2, 0) X(unaligned_read4, 4, 0) X(unaligned_read8, 8, 0) X(unaligned_read16, 16, 0) X(unaligned_write2, 2, 1)             \
    X(unaligned_write4, 4, 1) X(unaligned_write8, 8, 1) X(unaligned_write16, 16, 1) X(unaligned_volatile_read8, 8, 0)                            \
    X(unaligned_volatile_write8, 8, 1) X(unaligned_read_write8, 8, 1) X(vptr_read, 8, 0)
#define DECLARE(name, size, writes) void __tsan_##name(void *);
EACH(DECLARE)
#define ATOMIC(bits)                                                                                                                             \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *, int);                                                             \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *, uint##bits##_t, int);                                                            \
    uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t *, uint##bits##_t, int);                                               \
    uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile uint##bits##_t *, uint##bits##_t, int);                                              \
    uint##bits##_t __tsan_atomic##bits##_fetch_nand(volatile uint##bits##_t *, uint##bits##_t, int);                                             \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *, uint##bits##_t *, uint##bits##_t, int, int);                    \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *, uint##bits##_t, uint##bits##_t, int, int);
ATOMIC(8) ATOMIC(16) ATOMIC(32) ATOMIC(64)
void __tsan_read_range(void *, size_t);
void __tsan_write_range(void *, size_t);
void __tsan_vptr_update(void *, void *);
/* clang-format on */

static void expect_access(const char *name, size_t at, size_t size, bool writes, int written)
{
    memset(&expected, 0, sizeof expected);
    if (writes)
        WRITE(at, size);
    else
        READ(at, size);
    compare(name, (int)at, written);
    cases++;
}

/* After accesses beside the watched bytes, on both sides: what was found safe there must not be so here. */
static void from_outside(void (*access)(void *))
{
    static unsigned char around[3 * ROOM];
    for (size_t i = 0; i < sizeof around; i += 16)
        access(around + i);
}

static void loads_and_stores(void)
{
#define ASK(name, size, writes)                                                                    \
    for (size_t at = 0; at < ROOM - 16; at += 23)                                                  \
        for (int written = 0; written < 2; written++) {                                            \
            watch(written);                                                                        \
            from_outside(__tsan_##name);                                                           \
            __tsan_##name(memory + at);                                                            \
            expect_access(#name, at, size, writes, written);                                       \
        }
    EACH(ASK)
#undef ASK
    for (size_t size = 0; size < 40; size += 3)
        for (int way = 0; way < 6; way++) {
            watch(way % 2);
            if (way / 2 == 0)
                __tsan_read_range(memory + 50, size);
            else if (way / 2 == 1)
                __tsan_write_range(memory + 50, size);
            else
                sim_access_range(memory + 50, size, true, NULL);
            expect_access("a range", 50, size, way / 2, way % 2);
        }
    watch(true);
    __tsan_vptr_update(memory + 16, NULL);
    expect_access("a table of functions", 16, 8, true, true);
}

#define ASK_ATOMIC(bits)                                                                           \
    for (int way = 0; way < 16; way++) {                                                           \
        uint##bits##_t *at = (uint##bits##_t *)(void *)(memory + 64), before = 5, other = 5,       \
                       got = 0, after = 5;                                                         \
        memcpy(at, &before, sizeof before);                                                        \
        watch(way % 2);                                                                            \
        switch (way / 2) {                                                                         \
        case 0:                                                                                    \
            got = __tsan_atomic##bits##_load(at, 0);                                               \
            break;                                                                                 \
        case 1:                                                                                    \
            __tsan_atomic##bits##_store(at, after = 9, 0);                                         \
            got = 5;                                                                               \
            break;                                                                                 \
        case 2:                                                                                    \
            got = __tsan_atomic##bits##_exchange(at, after = 77, 0);                               \
            break;                                                                                 \
        case 3:                                                                                    \
            got = __tsan_atomic##bits##_fetch_add(at, 4, 0);                                       \
            after = 9;                                                                             \
            break;                                                                                 \
        case 4:                                                                                    \
            got = __tsan_atomic##bits##_fetch_nand(at, 6, 0);                                      \
            after = (uint##bits##_t) - 5; /* not 4 */                                              \
            break;                                                                                 \
        case 5:                                                                                    \
            got = __tsan_atomic##bits##_compare_exchange_strong(at, &other, after = 8, 0, 0)       \
                      ? other                                                                      \
                      : 0;                                                                         \
            break;                                                                                 \
        case 6:                                                                                    \
            other = 6; /* it is another */                                                         \
            got = __tsan_atomic##bits##_compare_exchange_strong(at, &other, 8, 0, 0) ? 0 : other;  \
            break;                                                                                 \
        default:                                                                                   \
            got = __tsan_atomic##bits##_compare_exchange_val(at, 5, after = 8, 0, 0);              \
        }                                                                                          \
        expect_access("an atomic operation of " #bits " bits", 64, bits / 8, way / 2, way % 2);    \
        if ((got != 5 || memcmp(at, &after, sizeof after) != 0) && !*wrong)                        \
            snprintf(wrong, sizeof wrong, "atomic operation %d of " #bits " bits: %llu", way / 2,  \
                     (unsigned long long)got);                                                     \
    }

static void atomics(void)
{
    ASK_ATOMIC(8)
    ASK_ATOMIC(16)
    ASK_ATOMIC(32)
    ASK_ATOMIC(64)
}

int main(void)
{
#if !SANITIZED_THREAD
    watched_test(loads_and_stores,
                 "loads and stores touch their bytes, wherever others were before");
    uint32_t nobodys = 7;
    tap_is_int(__tsan_atomic32_load(&nobodys, 0), 7, "an atomic load by nobody's thread is one");
    watched_test(atomics, "atomic operations touch their bytes, and do what they stand for");
#endif
    return tap_done();
}
