/* Reserving addresses for images: see range.h. */
#include "sim/programs/range.h"

#include "sim/elf/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static long file_number(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    char line[256];
    long value = -1;
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)))
            value = strtol(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return value;
}

long range_maps_limit(void)
{
    return file_number("/proc/sys/vm/max_map_count", "");
}

static long maps_used(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    long count = 0;
    for (int c; file && (c = getc(file)) != EOF;)
        count += c == '\n';
    if (file)
        fclose(file);
    return count;
}

/* A quarter of the kernel's allowance is left to stacks, threads and libraries. */
static long maps_free(void)
{
    long limit = range_maps_limit();
    return (limit < 0 ? 65530 : limit) / 4 * 3 - maps_used();
}

/* Chooses between mapping and copying; a sentence when neither is possible. */
static int strategy_choose(struct range *range, const struct range_needs *needs,
                           struct failure *failure)
{
    long wanted = (long)needs->count * needs->maps_each;
    if (needs->common)
        return 0;
    range->copied = !needs->mappable || wanted > (needs->maps_max ? needs->maps_max : maps_free());
    if (!range->copied)
        return 0;
    uint64_t bytes = needs->bytes_copied * (uint64_t)needs->count;
    long free_kib = file_number("/proc/meminfo", "MemAvailable:");
    if (free_kib < 0 || bytes / 1024 <= (uint64_t)free_kib)
        return 0;
    return failure_set(
        failure, FAILURE_INTERNAL,
        "%s: %d images need %ld mappings, more than the kernel allows, and copies of its code "
        "would "
        "take %.1f of %.1f GiB free; raise the limit (sysctl -w vm.max_map_count=%ld) or share one "
        "image (--loader=shared)",
        needs->path, needs->count, wanted, (double)bytes / (1 << 30), (double)free_kib / (1 << 20),
        2 * wanted);
}

static int reserve(struct range *range, const struct range_needs *needs, struct failure *failure)
{
    uint64_t slack = needs->alignment - image_page();
    int protection = PROT_READ | PROT_WRITE | (range->copied ? PROT_EXEC : 0);
    range->reserved = (size_t)((uint64_t)(needs->common ? 1 : needs->count) * range->stride);
    char *start = mmap(NULL, range->reserved + slack, protection,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        size_t wanted = range->reserved;
        range->reserved = 0;
        return failure_set(failure, FAILURE_INTERNAL,
                           "%s: cannot reserve %.1f GiB for %d images: %s", needs->path,
                           (double)wanted / (1 << 30), needs->count, strerror(errno));
    }
    range->first = image_round_up((uintptr_t)start, needs->alignment);
    if (range->first > (uintptr_t)start)
        munmap(start, range->first - (uintptr_t)start);
    if ((uintptr_t)start + slack > range->first)
        munmap((void *)(range->first + range->reserved), (uintptr_t)start + slack - range->first);
    /* A huge page would fill the untouched parts of many images with memory. */
    madvise((void *)range->first, range->reserved, MADV_NOHUGEPAGE);
    return 0;
}

int range_open(struct range *range, const struct range_needs *needs, struct failure *failure)
{
    *range = (struct range){.count = needs->count, .span = needs->span};
    range->stride = image_round_up(needs->span, needs->alignment);
    int status = strategy_choose(range, needs, failure);
    return status ? status : reserve(range, needs, failure);
}

void range_release(struct range *range)
{
    if (range->reserved)
        munmap((void *)range->first, range->reserved);
    *range = (struct range){0};
}
