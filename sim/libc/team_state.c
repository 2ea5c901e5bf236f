/* What gcc's OpenMP runtime knows of the calling OS thread: its team, its pool of threads, its
 * level. See hooks.h.
 *
 * All of it stands in libgomp's thread-local block, and a block of zeros is a thread that never had
 * a region. Ranks that are fibers share an OS thread, so a rank that waits inside its region takes
 * the block with it, and others find one from outside of any region. Where the runtime is another
 * one (LLVM's keeps its state elsewhere) nothing is done: there a rank that waits inside a region
 * leaves its team to the others. */
#include "sim/libc/common.h"

#include <dlfcn.h>
#include <link.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct block {
    void *address;
    size_t size;
};

static int find_block(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    struct block *block = argument;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "libgomp.so") || !info->dlpi_tls_data)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *block = (struct block){info->dlpi_tls_data, info->dlpi_phdr[i].p_memsz};
    return 1;
}

/* Whether regions are libgomp's: LLVM's runtime has functions of the same names. */
static bool is_gomp(void)
{
    Dl_info info;
    const void *start = dlsym(RTLD_NEXT, "GOMP_parallel");
    return start && dladdr(start, &info) && info.dli_fname && strstr(info.dli_fname, "libgomp.so");
}

static struct block own_block(void)
{
    static _Thread_local struct block block;
    static _Thread_local bool looked;
    if (!looked && is_gomp())
        dl_iterate_phdr(find_block, &block);
    looked = true;
    if (block.size > sizeof((struct sim_team_state *)NULL)->bytes)
        block.address = NULL;
    return block;
}

/* Blocks from outside of regions, with their pools of threads; the calling thread's. */
static _Thread_local struct spare {
    struct spare *next;
    struct sim_team_state state;
} * spares;

static void take_fresh(struct block block)
{
    struct spare *spare = spares;
    if (!spare) {
        memset(block.address, 0, block.size);
        return;
    }
    spares = spare->next;
    memcpy(block.address, spare->state.bytes, block.size);
    free(spare);
}

/* A thread that ends lets its spare pools go: each is made its own once more and dismissed. */
static void spares_release(void *unused)
{
    struct block block = own_block();
    struct sim_team_state own;
    (void)unused;
    memcpy(own.bytes, block.address, block.size);
    while (spares) {
        struct spare *spare = spares;
        spares = spare->next;
        memcpy(block.address, spare->state.bytes, block.size);
        omp_pause_resource_all(omp_pause_hard);
        free(spare);
    }
    memcpy(block.address, own.bytes, block.size);
}

static pthread_key_t ending;

static void ending_watch(void)
{
    pthread_key_create(&ending, spares_release);
}

/* Without memory the pool is lost, not the run. */
static void put_spare(struct block block)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct spare *spare = malloc(sizeof *spare);
    if (!spare)
        return;
    pthread_once(&once, ending_watch);
    memcpy(spare->state.bytes, block.address, block.size);
    spare->next = spares;
    spares = spare;
    pthread_setspecific(ending, spares);
}

void sim_libc_team_aside(struct sim_team_state *state)
{
    struct block block = own_block();
    if (!block.address)
        return;
    memcpy(state->bytes, block.address, block.size);
    take_fresh(block);
}

void sim_libc_team_back(const struct sim_team_state *state)
{
    struct block block = own_block();
    if (!block.address)
        return;
    put_spare(block);
    memcpy(block.address, state->bytes, block.size);
}

void sim_libc_team_drop(void)
{
    struct block block = own_block();
    if (block.address)
        take_fresh(block);
}

bool libc_team_is_gomp(void)
{
    return own_block().address != NULL;
}
