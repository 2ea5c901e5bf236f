/* Images through dlopen: see linked.h. */
#include "sim/linked.h"

#include "sim/resolve.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FILES_SPARE = 64 };

int linked_open(struct linked *linked, const struct image *image, int count,
                struct failure *failure)
{
    struct rlimit files;
    *linked = (struct linked){.image = image, .count = count};
    rlim_t needed = (rlim_t)count + FILES_SPARE;
    if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < needed) {
        if (files.rlim_max != RLIM_INFINITY && files.rlim_max < needed)
            return failure_set(
                failure, FAILURE_INTERNAL,
                "%s: %d images by dlopen need as many open files, the limit is %llu; raise it "
                "(ulimit -n) or use the clone loader",
                image->path, count, (unsigned long long)files.rlim_max);
        files.rlim_cur = needed;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    linked->copies = calloc((size_t)count, sizeof *linked->copies);
    if (!linked->copies)
        return failure_set(failure, FAILURE_INTERNAL, "%s: out of memory", image->path);
    return 0;
}

static void copy_close(struct linked_copy *copy)
{
    if (!copy->handle)
        return;
    dlclose(copy->handle);
    close(copy->file_descriptor);
    *copy = (struct linked_copy){0};
}

void linked_release(struct linked *linked)
{
    for (int i = 0; linked->copies && i < linked->count; i++)
        copy_close(&linked->copies[i]);
    free(linked->copies);
    *linked = (struct linked){0};
}

static bool write_all(int file_descriptor, const void *bytes, size_t size, off_t at)
{
    const char *from = bytes;
    while (size) {
        ssize_t written = pwrite(file_descriptor, from, size, at);
        if (written <= 0)
            return false;
        from += written, at += written, size -= (size_t)written;
    }
    return true;
}

/* Writes the changed entries of the dynamic section over the copy. */
static bool dynamic_patch(const struct image *image, int file_descriptor)
{
    const Elf64_Dyn *entry = image->dynamic.start;
    bool good = true;
    for (size_t i = 0; good && i < image->dynamic.count && entry[i].d_tag != DT_NULL; i++) {
        Elf64_Dyn changed = entry[i];
        if (changed.d_tag == DT_FLAGS_1)
            changed.d_un.d_val &= ~(uint64_t)DF_1_PIE;
        else if (changed.d_tag == DT_NEEDED &&
                 resolve_is_mpi(image_string(image, changed.d_un.d_val)))
            changed.d_tag = DT_DEBUG;
        else
            continue;
        good = write_all(file_descriptor, &changed, sizeof changed,
                         (off_t)((const unsigned char *)&entry[i] - image->file));
    }
    return good;
}

int linked_make(struct linked *linked, int index, struct failure *failure)
{
    assert(index >= 0 && index < linked->count);
    const struct image *image = linked->image;
    struct linked_copy *copy = &linked->copies[index];
    copy_close(copy);
    int file_descriptor = memfd_create("program", MFD_CLOEXEC);
    if (file_descriptor < 0 || !write_all(file_descriptor, image->file, image->file_size, 0) ||
        !dynamic_patch(image, file_descriptor)) {
        failure_set(failure, FAILURE_INTERNAL, "%s: cannot copy it into memory: %s", image->path,
                    strerror(errno));
        if (file_descriptor >= 0)
            close(file_descriptor);
        return FAILURE_INTERNAL;
    }
    char path[64];
    struct link_map *map = NULL;
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), file_descriptor);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map)) {
        const char *reason = dlerror();
        close(file_descriptor);
        return failure_set(failure, FAILURE_INPUT, "%s: cannot be loaded: %s", image->path,
                           reason ? reason : "unknown reason");
    }
    *copy = (struct linked_copy){handle, map->l_addr, file_descriptor};
    return 0;
}

bool linked_made(const struct linked *linked, int index)
{
    return linked->copies[index].handle;
}

uintptr_t linked_base(const struct linked *linked, int index)
{
    assert(index >= 0 && index < linked->count && linked->copies[index].handle);
    return linked->copies[index].base;
}
