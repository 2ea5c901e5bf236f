/* rand, random and drand48 with one state per rank, and strtok: see hooks.h.
 *
 * libc's own reentrant functions do the work, so a rank sees the very numbers a process of its own
 * would see. Threads of one rank share its state, under a spin lock, as threads of a process do. */
#include "sim/libc/common.h"

#include <stdlib.h>
#include <string.h>

struct libc_random {
    struct random_data data;
    struct drand48_data drand;
    atomic_flag busy;
    int32_t table[32];       /* 128 bytes: what libc starts with */
    unsigned short seeds[3]; /* what seed48 returns */
};

static struct libc_random *random_of(struct sim_libc_state *state)
{
    if (!state)
        return NULL;
    if (!state->random) {
        struct libc_random *made = calloc(1, sizeof *made);
        if (!made || initstate_r(1, (char *)made->table, sizeof made->table, &made->data)) {
            free(made);
            return NULL; /* out of memory: libc's own state serves */
        }
        state->random = made;
    }
    while (atomic_flag_test_and_set_explicit(&state->random->busy, memory_order_acquire))
        ;
    return state->random;
}

static void done(struct libc_random *random)
{
    atomic_flag_clear_explicit(&random->busy, memory_order_release);
}

void libc_random_release(struct libc_random *random)
{
    free(random);
}

static long next_of(struct libc_random *random)
{
    int32_t value = 0;
    random_r(&random->data, &value);
    done(random);
    return value;
}

int rand(void)
{
    LIBC_REAL(rand);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    return own ? (int)next_of(own) : real();
}

long random(void)
{
    LIBC_REAL(random);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    return own ? next_of(own) : real();
}

static void seed_of(struct libc_random *random, unsigned seed)
{
    srandom_r(seed, &random->data);
    done(random);
}

void srand(unsigned seed)
{
    LIBC_REAL(srand);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    if (own)
        seed_of(own, seed);
    else
        real(seed);
}

void srandom(unsigned seed)
{
    LIBC_REAL(srandom);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    if (own)
        seed_of(own, seed);
    else
        real(seed);
}

/* A state begins one word before the numbers. */
static char *state_of(const struct libc_random *random)
{
    return (char *)(random->data.state - 1);
}

char *initstate(unsigned seed, char *table, size_t size)
{
    LIBC_REAL(initstate);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    if (!own)
        return real(seed, table, size);
    char *before = state_of(own);
    int failed = initstate_r(seed, table, size, &own->data);
    done(own);
    return failed ? NULL : before;
}

char *setstate(char *table)
{
    LIBC_REAL(setstate);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    if (!own)
        return real(table);
    char *before = state_of(own);
    int failed = setstate_r(table, &own->data);
    done(own);
    return failed ? NULL : before;
}

double drand48(void)
{
    LIBC_REAL(drand48);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    double value = 0;
    if (!own)
        return real();
    drand48_r(&own->drand, &value);
    done(own);
    return value;
}

long lrand48(void)
{
    LIBC_REAL(lrand48);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    long value = 0;
    if (!own)
        return real();
    lrand48_r(&own->drand, &value);
    done(own);
    return value;
}

long mrand48(void)
{
    LIBC_REAL(mrand48);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    long value = 0;
    if (!own)
        return real();
    mrand48_r(&own->drand, &value);
    done(own);
    return value;
}

/* The caller holds the numbers, the rank only the multiplier that lcong48 may have changed. */

double erand48(unsigned short numbers[3])
{
    LIBC_REAL(erand48);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    double value = 0;
    if (!own)
        return real(numbers);
    erand48_r(numbers, &own->drand, &value);
    done(own);
    return value;
}

long nrand48(unsigned short numbers[3])
{
    LIBC_REAL(nrand48);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    long value = 0;
    if (!own)
        return real(numbers);
    nrand48_r(numbers, &own->drand, &value);
    done(own);
    return value;
}

long jrand48(unsigned short numbers[3])
{
    LIBC_REAL(jrand48);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    long value = 0;
    if (!own)
        return real(numbers);
    jrand48_r(numbers, &own->drand, &value);
    done(own);
    return value;
}

void srand48(long seed)
{
    LIBC_REAL(srand48);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    if (!own) {
        real(seed);
        return;
    }
    srand48_r(seed, &own->drand);
    done(own);
}

unsigned short *seed48(unsigned short seeds[3])
{
    LIBC_REAL(seed48);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    if (!own)
        return real(seeds);
    seed48_r(seeds, &own->drand);
    memcpy(own->seeds, own->drand.__old_x, sizeof own->seeds);
    done(own);
    return own->seeds;
}

void lcong48(unsigned short parameters[7])
{
    LIBC_REAL(lcong48);
    struct libc_random *own = random_of(libc_rank(LIBC_CALLER));
    if (!own) {
        real(parameters);
        return;
    }
    lcong48_r(parameters, &own->drand);
    done(own);
}

char *strtok(char *text, const char *separators)
{
    LIBC_REAL(strtok);
    struct sim_libc_state *state = libc_rank(LIBC_CALLER);
    return state ? strtok_r(text, separators, &state->token) : real(text, separators);
}
