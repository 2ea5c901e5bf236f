/* Finding libraries: see library_path.h. The cache is the file that ldconfig writes: a header, then
 * entries of offsets into the file, in no order that matters here. */
#include "sim/elf/library_path.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Is this a library for the architecture this was built for? */
static bool is_usable(const char *path)
{
    Elf64_Ehdr header;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool good = file >= 0 && read(file, &header, sizeof header) == sizeof header &&
                !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
                header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == IMAGE_MACHINE;
    if (file >= 0)
        close(file);
    return good;
}

/* One folder of a run path, `$ORIGIN` being the folder of who says so. */
static bool try_folder(const char *origin, const char *entry, size_t length, const char *name,
                       char out[PATH_MAX])
{
    const char *slash = strrchr(origin, '/');
    size_t skip = 0;
    if (length >= 7 && !strncmp(entry, "$ORIGIN", 7))
        skip = 7;
    else if (length >= 9 && !strncmp(entry, "${ORIGIN}", 9))
        skip = 9;
    int folder = skip && slash ? (int)(slash - origin) : 0;
    int used = snprintf(out, PATH_MAX, "%.*s%.*s/%s", folder, origin, (int)(length - skip),
                        entry + skip, name);
    return used > 0 && used < PATH_MAX && is_usable(out);
}

static bool try_folders(const char *origin, const char *paths, const char *name, char out[PATH_MAX])
{
    while (paths && *paths) {
        size_t length = strcspn(paths, ":");
        if (length && try_folder(origin, paths, length, name, out))
            return true;
        paths += length + (paths[length] == ':');
    }
    return false;
}

static const char *dynamic_text(const struct image *image, Elf64_Sxword tag)
{
    const Elf64_Dyn *entry = image->dynamic.start;
    for (size_t i = 0; i < image->dynamic.count && entry[i].d_tag != DT_NULL; i++)
        if (entry[i].d_tag == tag)
            return image_string(image, entry[i].d_un.d_val);
    return NULL;
}

/* The cache's present form. */
struct cache_entry {
    int32_t flags;
    uint32_t name, path;
    uint32_t os_version;
    uint64_t capabilities;
};
struct cache_header {
    char magic[20];
    uint32_t count, strings;
    uint32_t unused[5];
};

/* The text at an offset: what was read ends with a zero of ours. */
static const char *cache_text(const struct library_cache *cache, uint32_t at)
{
    return at < cache->size ? cache->bytes + at : "";
}

/* Entries for processors that have more come first, marked by capabilities; the plain one always
 * serves. */
static bool cache_search(const struct library_cache *cache, const char *name, char out[PATH_MAX])
{
    static const char magic[] = "glibc-ld.so.cache1.1";
    const struct cache_header *header = (const void *)cache->bytes;
    const struct cache_entry *entry = (const void *)(cache->bytes + sizeof *header);
    if (cache->size < sizeof *header || memcmp(header->magic, magic, sizeof magic - 1) ||
        header->count > (cache->size - sizeof *header) / sizeof *entry)
        return false;
    for (uint32_t i = 0; i < header->count; i++) {
        if (entry[i].capabilities || strcmp(cache_text(cache, entry[i].name), name))
            continue;
        int used = snprintf(out, PATH_MAX, "%s", cache_text(cache, entry[i].path));
        if (used > 0 && used < PATH_MAX && is_usable(out))
            return true;
    }
    return false;
}

static void cache_read(struct library_cache *cache)
{
    struct stat status;
    int file = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    cache->was_read = true;
    if (file >= 0 && !fstat(file, &status) && status.st_size > 0)
        cache->bytes = malloc((size_t)status.st_size + 1);
    ssize_t size = cache->bytes ? read(file, cache->bytes, (size_t)status.st_size) : 0;
    cache->size = size > 0 ? (size_t)size : 0;
    if (cache->bytes)
        cache->bytes[cache->size] = 0;
    if (file >= 0)
        close(file);
}

void library_cache_release(struct library_cache *cache)
{
    free(cache->bytes);
    *cache = (struct library_cache){0};
}

static bool try_cache(struct library_cache *cache, const char *name, char out[PATH_MAX])
{
    if (!cache->was_read)
        cache_read(cache);
    return cache_search(cache, name, out);
}

bool library_path_find(const struct image *image, const struct image *program, const char *needed,
                       struct library_cache *cache, char out[PATH_MAX])
{
    if (strchr(needed, '/'))
        return snprintf(out, PATH_MAX, "%s", needed) < PATH_MAX && is_usable(out);
    const char *runpath = dynamic_text(image, DT_RUNPATH);
    if (!runpath && (try_folders(image->path, dynamic_text(image, DT_RPATH), needed, out) ||
                     try_folders(program->path, dynamic_text(program, DT_RPATH), needed, out)))
        return true;
    return try_folders("", getenv("LD_LIBRARY_PATH"), needed, out) ||
           try_folders(image->path, runpath, needed, out) || try_cache(cache, needed, out) ||
           try_folders("",
                       "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
                       "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
                       "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib",
                       needed, out);
}
