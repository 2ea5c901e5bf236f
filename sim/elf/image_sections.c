/* What only the section headers of a file tell: symbols that are not exported, and whether the
 * program has variables. Running it needs neither: a file without section headers, or stripped of
 * its symbols, has no such symbols and is taken to have variables. */
#include "sim/elf/image.h"

#include <stdlib.h>
#include <string.h>

/* A symbol table and the strings its names are in. */
struct symbol_table {
    const Elf64_Sym *symbols;
    size_t count;
    const char *strings;
    size_t strings_size;
};

static const void *file_bytes(const struct image *image, uint64_t offset, uint64_t size)
{
    if (offset > image->file_size || size > image->file_size - offset)
        return NULL;
    return image->file + offset;
}

static const Elf64_Shdr *sections_of(const struct image *image, int *count)
{
    const Elf64_Ehdr *header = (const void *)image->file;
    const Elf64_Shdr *sections =
        file_bytes(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);
    *count = header->e_shnum;
    return header->e_shentsize == sizeof *sections && header->e_shoff % 8 == 0 ? sections : NULL;
}

/* The table debuggers use; false if the file has none. */
static bool symbols_of(const struct image *image, struct symbol_table *table)
{
    int count;
    const Elf64_Shdr *sections = sections_of(image, &count);
    for (int i = 0; sections && i < count; i++) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= (Elf64_Word)count ||
            sections[i].sh_offset % 8)
            continue;
        const Elf64_Shdr *names = &sections[sections[i].sh_link];
        table->symbols = file_bytes(image, sections[i].sh_offset, sections[i].sh_size);
        table->count = (size_t)(sections[i].sh_size / sizeof(Elf64_Sym));
        table->strings = file_bytes(image, names->sh_offset, names->sh_size);
        table->strings_size = (size_t)names->sh_size;
        if (table->symbols && table->strings)
            return true;
    }
    return false;
}

/* A name of the table, "" if the file lies about it. */
static const char *name_at(const char *strings, size_t size, uint64_t offset)
{
    return offset < size && memchr(strings + offset, 0, size - (size_t)offset) ? strings + offset
                                                                               : "";
}

uint64_t image_find_local(const struct image *image, const char *name)
{
    struct symbol_table table;
    if (!symbols_of(image, &table))
        return 0;
    for (size_t i = 0; i < table.count; i++)
        if (table.symbols[i].st_shndx != SHN_UNDEF && table.symbols[i].st_value &&
            !strcmp(name_at(table.strings, table.strings_size, table.symbols[i].st_name), name))
            return table.symbols[i].st_value;
    return 0;
}

static bool is_one_of(const char *name, const char *const *known)
{
    while (*known && strcmp(name, *known))
        known++;
    return *known;
}

/* Writable for the dynamic linker's sake only. */
static bool is_linkers(const Elf64_Shdr *section, const char *name)
{
    return section->sh_type == SHT_DYNAMIC || section->sh_type == SHT_INIT_ARRAY ||
           section->sh_type == SHT_FINI_ARRAY || !strcmp(name, ".got") ||
           !strcmp(name, ".got.plt") || !strncmp(name, ".data.rel.ro", 12);
}

/* Holds nothing but what the compiler's start files leave in every program: the address by which
 * its handlers are known, and whether its destructors have run. */
static bool is_start_files(const struct symbol_table *table, size_t index,
                           const Elf64_Shdr *section)
{
    static const char *const known[] = {"",
                                        "__dso_handle",
                                        "data_start",
                                        "__data_start",
                                        "completed.0",
                                        "__TMC_END__",
                                        "__bss_start",
                                        "_edata",
                                        "_end",
                                        NULL};
    if (section->sh_size > 16)
        return false;
    int accounted = 0; /* a program's own `completed` may bear the same name */
    for (size_t i = 0; i < table->count; i++) {
        if (table->symbols[i].st_shndx != index)
            continue;
        const char *name = name_at(table->strings, table->strings_size, table->symbols[i].st_name);
        if (!is_one_of(name, known))
            return false;
        accounted += !strcmp(name, "__dso_handle") || !strcmp(name, "completed.0");
    }
    return accounted == 1;
}

/* Functions that the start files have run before main and after it, and that change nothing else.
 */
static bool starts_plainly(const struct image *image)
{
    return image->init_count == 1 && image->fini_count == 1 &&
           image_find_local(image, "frame_dummy") &&
           image_find_local(image, "__do_global_dtors_aux");
}

/* Getopt's variables are kept in the image. */
static bool calls_getopt(const struct image *image)
{
    for (size_t i = 0; i < image->symbols.count; i++)
        if (!strncmp(image_string(image, image_symbol(image, i)->st_name), "getopt", 6))
            return true;
    return false;
}

/* What it locks it unlocks before it returns; threads it has for programs that name them. */
static bool is_runtime(const struct image *image)
{
    const char *slash = strrchr(image->path, '/');
    return !strncmp(slash ? slash + 1 : image->path, "libstdc++.so", 12);
}

bool image_calls(const struct image *image, const char *prefix)
{
    size_t length = strlen(prefix);
    for (size_t i = 0; i < image->symbols.count; i++) {
        const Elf64_Sym *symbol = image_symbol(image, i);
        if (symbol->st_shndx == SHN_UNDEF &&
            !strncmp(image_string(image, symbol->st_name), prefix, length))
            return true;
    }
    return false;
}

bool image_knows_its_thread(const struct image *image)
{
    static const char *const calls[] = {"pthread_",    "thrd_",       "mtx_",       "tss_",
                                        "gettid",      "tgkill",      "uselocale",  "timer_create",
                                        "dlopen",      "makecontext", "setcontext", "swapcontext",
                                        "_ZNSt6thread"};
    bool knows = false;
    for (size_t k = 0; k < sizeof calls / sizeof *calls && !knows; k++)
        knows = image_calls(image, calls[k]);
    return knows && !is_runtime(image);
}

bool image_has_variables(const struct image *image)
{
    int count;
    struct symbol_table table;
    const Elf64_Ehdr *header = (const void *)image->file;
    const Elf64_Shdr *sections = sections_of(image, &count);
    if (!sections || header->e_shstrndx >= count || !symbols_of(image, &table) || image->tls_size ||
        !starts_plainly(image) || calls_getopt(image))
        return true;
    const Elf64_Shdr *names = &sections[header->e_shstrndx];
    const char *strings = file_bytes(image, names->sh_offset, names->sh_size);
    for (int i = 0; strings && i < count; i++) {
        const char *name = name_at(strings, (size_t)names->sh_size, sections[i].sh_name);
        if (sections[i].sh_flags & SHF_ALLOC && sections[i].sh_flags & SHF_WRITE &&
            sections[i].sh_size && !is_linkers(&sections[i], name) &&
            !is_start_files(&table, (size_t)i, &sections[i]))
            return true;
    }
    return !strings;
}
