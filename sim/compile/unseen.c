#include "sim/compile/unseen.h"

#include "sim/compile/compile.h"
#include "sim/elf/library_path.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A name that ends with * is a beginning. */
static const char *const functions[] = {
    /* scanning and printing */
    "sscanf", "fscanf", "scanf", "__isoc99_*scanf", "__isoc23_*scanf", "vsscanf", "vprintf",
    "vfprintf", "vsprintf", "vsnprintf", "__v*printf_chk", "asprintf", "vasprintf", "dprintf",
    "getline", "getdelim",
    /* memory and text */
    "memccpy", "memrchr", "rawmemchr", "memmem", "bcopy", "bzero", "explicit_bzero", "swab",
    "strtok", "strtok_r", "strsep", "strspn", "strcspn", "strpbrk", "strndup", "stpncpy", "strcoll",
    "strxfrm", "strftime", "wmem*", "wcs*", "__isoc23_wcs*", "strtoimax", "strtoumax",
    "__isoc23_strtoimax", "__isoc23_strtoumax", "mbstowcs", "wcstombs", "qsort_r", "bsearch",
    /* files and the net */
    "pread", "pread64", "pwrite", "pwrite64", "readv", "writev", "recv", "recvfrom", "recvmsg",
    "send", "sendto", "sendmsg", "getcwd", "gethostname", "readlink",
    /* Fortran's */
    "_gfortran_transfer_*", "_gfortran_matmul_*", "_gfortran_reshape*", "_gfortran_*pack*",
    "_gfortran_*cshift*", "_gfortran_eoshift*", "_gfortran_spread*", "_gfortran_compare_string*",
    "_gfortran_concat_string*", "_gfortran_string_*", "_gfortran_adjust*", "_gfortran_*maxloc*",
    "_gfortran_*minloc*", "_gfortran_*maxval*", "_gfortran_*minval*", "_gfortran_*sum_*",
    "_gfortran_*product_*", "_gfortran_findloc*", "_gfortran_arandom_*", "_gfortran_random_*",
    /* C++'s */
    "_ZNSo5writeEPKcl", "_ZNSi4readEPcl"};

/* Libraries whose functions are judged one by one, or touch no memory of the program's. */
static const char *const judged[] = {
    "libc.so.",      "libm.so.",   "libpthread.so.", "libdl.so.",    "librt.so.",
    "ld-linux",      "libgcc_s.",  "libstdc++.so.",  "libgfortran.", "libquadmath.so.",
    "libmpi_abi.so", "libsimrun_", "libgomp.so.",    "libomp.so",    "libatomic.so.",
    "libmpi.so.",    "libmpi_",    "libmpich",       "libmpifort",   "libopen-",
    "libubsan.so.",  "libasan.so."};

static bool matches(const char *name, const char *pattern)
{
    for (; *pattern; pattern++, name++) {
        if (*pattern == '*') {
            for (pattern++; *name && !matches(name, pattern); name++) {
            }
            return !*pattern || *name;
        }
        if (*name != *pattern)
            return false;
    }
    return !*name;
}

static bool is_unseen(const char *name)
{
    for (size_t i = 0; i < COUNT(functions); i++)
        if (matches(name, functions[i]))
            return true;
    return false;
}

static bool is_judged(const char *library)
{
    for (size_t i = 0; i < COUNT(judged); i++)
        if (!strncmp(library, judged[i], strlen(judged[i])))
            return true;
    return false;
}

struct list {
    char *text;
    size_t size, used, count;
};

static void add(struct list *list, const char *name)
{
    enum { NAMED = 6 };
    if (list->count++ < NAMED && list->used < list->size)
        list->used += (size_t)snprintf(list->text + list->used, list->size - list->used, "%s%s",
                                       list->used ? ", " : "", name);
}

static void add_functions(struct list *list, const struct image *image)
{
    for (size_t i = 1; i < image->symbols.count; i++) {
        const Elf64_Sym *symbol = image_symbol(image, i);
        const char *name = symbol ? image_string(image, symbol->st_name) : "";
        if (symbol && symbol->st_shndx == SHN_UNDEF && is_unseen(name))
            add(list, name);
    }
}

static void add_libraries(struct list *list, const struct image *image)
{
    const Elf64_Dyn *entries = image->dynamic.start;
    struct library_cache cache = {0};
    for (size_t i = 0; i < image->dynamic.count && entries[i].d_tag != DT_NULL; i++) {
        char path[PATH_MAX];
        if (entries[i].d_tag != DT_NEEDED)
            continue;
        const char *name = image_string(image, entries[i].d_un.d_val);
        bool seen = is_judged(name) || (library_path_find(image, image, name, &cache, path) &&
                                        sim_compiled_instrumented(path));
        if (!seen)
            add(list, name);
    }
    library_cache_release(&cache);
}

size_t sim_compiled_unseen(const char *object, char *text, size_t size)
{
    struct image image;
    struct failure ignored = {0};
    struct list list = {.text = text, .size = size};
    if (image_open(&image, object, &ignored))
        return 0;
    add_functions(&list, &image);
    add_libraries(&list, &image);
    image_release(&image);
    return list.count;
}
