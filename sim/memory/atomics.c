/* Atomic operations of instrumented programs: the compiler replaces them by these calls, which do
 * what they stand for, at the strongest order. An atomic access is an access, too. */
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"

#include <stdint.h>

#define CALLER __builtin_return_address(0)

static void touch(const volatile void *address, size_t size, bool write, const void *site)
{
    struct sim_rank *rank = sim_current_rank ? sim_current_rank : sim_thread_parent;
    if (rank && rank->team && !write) /* it may wait for another thread */
        __atomic_store_n(&rank->team->looked, rank->team->round + 1, __ATOMIC_RELAXED);
    if (!rank || !rank->pending)
        return;
    if (rank->history && !rank->within_op)
        rank->world->rooms->window_atomic(rank, (uintptr_t)address, (uintptr_t)address + size,
                                          write, site);
    if (rank->pending->count)
        sim_pending_atomic(rank, (uintptr_t)address, size, write, site);
}

#define FETCH(bits, type, name, builtin)                                                           \
    type __tsan_atomic##bits##_fetch_##name(volatile type *address, type value, int order);        \
    type __tsan_atomic##bits##_fetch_##name(volatile type *address, type value, int order)         \
    {                                                                                              \
        (void)order;                                                                               \
        touch(address, sizeof(type), true, CALLER);                                                \
        return builtin(address, value, __ATOMIC_SEQ_CST);                                          \
    }

#define EXCHANGE(bits, type, name)                                                                 \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected,      \
                                                      type value, int order, int failed);          \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected,      \
                                                      type value, int order, int failed)           \
    {                                                                                              \
        (void)order, (void)failed;                                                                 \
        touch(address, sizeof(type), true, CALLER);                                                \
        return __atomic_compare_exchange_n(address, expected, value, 0, __ATOMIC_SEQ_CST,          \
                                           __ATOMIC_SEQ_CST);                                      \
    }

#define ATOMICS(bits, type)                                                                        \
    type __tsan_atomic##bits##_load(const volatile type *address, int order);                      \
    type __tsan_atomic##bits##_load(const volatile type *address, int order)                       \
    {                                                                                              \
        (void)order;                                                                               \
        touch(address, sizeof(type), false, CALLER);                                               \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                         \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order);               \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order)                \
    {                                                                                              \
        (void)order;                                                                               \
        touch(address, sizeof(type), true, CALLER);                                                \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                        \
    }                                                                                              \
    type __tsan_atomic##bits##_exchange(volatile type *address, type value, int order);            \
    type __tsan_atomic##bits##_exchange(volatile type *address, type value, int order)             \
    {                                                                                              \
        (void)order;                                                                               \
        touch(address, sizeof(type), true, CALLER);                                                \
        return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                              \
    }                                                                                              \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *address, type expected,         \
                                                    type value, int order, int failed);            \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *address, type expected,         \
                                                    type value, int order, int failed)             \
    {                                                                                              \
        (void)order, (void)failed;                                                                 \
        touch(address, sizeof(type), true, CALLER);                                                \
        __atomic_compare_exchange_n(address, &expected, value, 0, __ATOMIC_SEQ_CST,                \
                                    __ATOMIC_SEQ_CST);                                             \
        return expected;                                                                           \
    }                                                                                              \
    EXCHANGE(bits, type, strong)                                                                   \
    EXCHANGE(bits, type, weak)                                                                     \
    FETCH(bits, type, add, __atomic_fetch_add)                                                     \
    FETCH(bits, type, sub, __atomic_fetch_sub)                                                     \
    FETCH(bits, type, and, __atomic_fetch_and)                                                     \
    FETCH(bits, type, or, __atomic_fetch_or)                                                       \
    FETCH(bits, type, xor, __atomic_fetch_xor)                                                     \
    FETCH(bits, type, nand, __atomic_fetch_nand)

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
