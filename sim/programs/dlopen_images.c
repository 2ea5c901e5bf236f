/* Images through dlopen: see dlopen_images.h. */
#include "sim/programs/dlopen_images.h"

#include "sim/programs/relocate.h"

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

int linked_open(struct linked *linked, const struct image *image, int count, bool private,
                struct failure *failure)
{
    struct rlimit files;
    *linked = (struct linked){.image = image, .count = count, .private = private};
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
static bool dynamic_patch(const struct image *image, int file_descriptor, bool private)
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
        else if (private && changed.d_tag == DT_FINI)
            changed.d_tag = DT_DEBUG;
        else if (private && changed.d_tag == DT_FINI_ARRAYSZ)
            changed.d_un.d_val = 0;
        else
            continue;
        good = write_all(file_descriptor, &changed, sizeof changed,
                         (off_t)((const unsigned char *)&entry[i] - image->file));
    }
    return good;
}

/* Words that hold the address of one of getopt's variables get that of the copy's own. The dynamic
 * linker may have made them read-only. */
static void getopt_bind(const struct image *image, struct linked_copy *copy)
{
    const struct image_table *tables[] = {&image->rela, &image->plt_rela};
    uint64_t page = image_page();
    copy->getopt = (struct resolve_getopt){.optind = 1, .opterr = 1, .optopt = '?'};
    for (int t = 0; t < 2; t++) {
        const Elf64_Rela *entry = tables[t]->start;
        for (size_t i = 0; i < tables[t]->count; i++) {
            const Elf64_Sym *symbol = image_symbol(image, ELF64_R_SYM(entry[i].r_info));
            enum relocate_kind kind = relocate_classify((uint32_t)ELF64_R_TYPE(entry[i].r_info));
            int field = symbol && symbol->st_shndx == SHN_UNDEF && kind == RELOCATE_SYMBOL
                            ? resolve_getopt_field(image_string(image, symbol->st_name))
                            : -1;
            uintptr_t at = copy->base + entry[i].r_offset;
            if (field < 0 ||
                mprotect((void *)image_round_down(at, page), (size_t)page, PROT_READ | PROT_WRITE))
                continue;
            uint64_t value =
                (uintptr_t)&copy->getopt + (uint64_t)field + (uint64_t)entry[i].r_addend;
            memcpy((void *)at, &value, sizeof value);
        }
    }
}

int linked_make(struct linked *linked, int index, struct failure *failure)
{
    assert(index >= 0 && index < linked->count);
    const struct image *image = linked->image;
    struct linked_copy *copy = &linked->copies[index];
    copy_close(copy);
    int file_descriptor = memfd_create("program", MFD_CLOEXEC);
    if (file_descriptor < 0 || !write_all(file_descriptor, image->file, image->file_size, 0) ||
        !dynamic_patch(image, file_descriptor, linked->private)) {
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
    *copy = (struct linked_copy){handle, map->l_addr, file_descriptor, {0}};
    if (linked->private)
        getopt_bind(image, copy);
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
