/* A cache of bounded size: see cache.h. */
#include "sim/compile/cache.h"

#include "sim/base/hash.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { USUAL_MIB = 256, YOUNG_SECONDS = 3600 };

struct entry {
    char name[256];
    struct timespec used;
    unsigned long long size;
};

struct entries {
    struct entry *items;
    size_t count, room;
    unsigned long long size;
};

/* Of the first `size` bytes; false: there are not so many. */
static bool content(FILE *file, long size, char text[HASH_TEXT])
{
    char bytes[16384];
    struct hash hash;
    hash_init(&hash);
    rewind(file);
    while (size > 0) {
        size_t wanted = size < (long)sizeof bytes ? (size_t)size : sizeof bytes;
        if (fread(bytes, 1, wanted, file) != wanted)
            return false;
        hash_add(&hash, bytes, wanted);
        size -= (long)wanted;
    }
    hash_text(&hash, text);
    return true;
}

static long size_of(FILE *file)
{
    return file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
}

bool sim_cache_seal(const char *path)
{
    char text[HASH_TEXT];
    FILE *file = fopen(path, "r+e");
    long size = size_of(file);
    bool good = size >= 0 && content(file, size, text) && fseek(file, 0, SEEK_END) == 0 &&
                fwrite(text, 1, sizeof text, file) == sizeof text;
    if (file)
        good &= fclose(file) == 0;
    return good;
}

bool sim_cache_is_whole(const char *path)
{
    char text[HASH_TEXT], sealed[HASH_TEXT];
    FILE *file = fopen(path, "re");
    long size = size_of(file) - (long)sizeof sealed;
    bool good = size >= 0 && content(file, size, text) &&
                fread(sealed, 1, sizeof sealed, file) == sizeof sealed &&
                memcmp(text, sealed, sizeof sealed) == 0;
    if (file)
        fclose(file);
    return good;
}

void sim_cache_touch(const char *path)
{
    utimensat(AT_FDCWD, path, NULL, 0);
}

static unsigned long long size_most(void)
{
    const char *text = getenv("SIMRUN_CACHE_SIZE");
    char *end;
    unsigned long long mib = text ? strtoull(text, &end, 10) : USUAL_MIB;
    if (text && (end == text || *end || *text == '-'))
        mib = USUAL_MIB;
    return mib < 1ull << 40 ? mib << 20 : 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && !strcmp(text + length - wanted, end);
}

/* HASH.so, HASH.headers, and what a job that was killed left: HASH.PID-ADDRESS.so and the like. */
static bool is_ours(const char *name)
{
    return strspn(name, "0123456789abcdef") == HASH_TEXT - 1 && name[HASH_TEXT - 1] == '.' &&
           (ends_with(name, ".so") || ends_with(name, ".headers") || ends_with(name, ".d"));
}

static void entry_add(struct entries *entries, const char *name, const struct stat *status)
{
    if (entries->count == entries->room) {
        size_t room = entries->room ? entries->room * 2 : 64;
        struct entry *items = realloc(entries->items, room * sizeof *items);
        if (!items)
            return; /* one more is left for the next time */
        entries->items = items;
        entries->room = room;
    }
    struct entry *entry = &entries->items[entries->count++];
    snprintf(entry->name, sizeof entry->name, "%s", name);
    entry->used = status->st_mtim;
    entry->size = (unsigned long long)status->st_size;
    entries->size += entry->size;
}

static int oldest_first(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec)
        return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void entries_read(struct entries *entries, DIR *directory)
{
    struct stat status;
    for (const struct dirent *file; (file = readdir(directory));)
        if (is_ours(file->d_name) &&
            !fstatat(dirfd(directory), file->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
            S_ISREG(status.st_mode))
            entry_add(entries, file->d_name, &status);
}

void sim_cache_prune(const char *folder, const char *added)
{
    struct entries entries = {0};
    struct stat newest;
    unsigned long long most = size_most();
    DIR *directory = most && !stat(added, &newest) ? opendir(folder) : NULL;
    if (!directory)
        return;
    entries_read(&entries, directory);
    if (entries.size > most)
        qsort(entries.items, entries.count, sizeof *entries.items, oldest_first);
    for (size_t i = 0; i < entries.count && entries.size > most; i++) {
        if (newest.st_mtim.tv_sec - entries.items[i].used.tv_sec <= YOUNG_SECONDS)
            break;
        if (!unlinkat(dirfd(directory), entries.items[i].name, 0))
            entries.size -= entries.items[i].size;
    }
    closedir(directory);
    free(entries.items);
}
