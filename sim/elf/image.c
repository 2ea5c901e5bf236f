/* Parsing of a program file: see image.h.
 *
 * Rules:
 *  1. The file is hostile: every offset, size and count is compared with what the mapping really
 *     holds before use.
 *  2. Only what the images need is taken; the section headers are image_sections.c's.
 *  3. Read-only segments whose distance between address and file offset is the same become one
 *     piece, so that a usual file needs one mapping for everything it does not change. */
#include "sim/elf/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t image_page(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t image_round_down(uint64_t value, uint64_t unit)
{
    return value & ~(unit - 1);
}

uint64_t image_round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) & ~(unit - 1);
}

static const void *file_bytes(const struct image *image, uint64_t offset, uint64_t size)
{
    if (offset > image->file_size || size > image->file_size - offset)
        return NULL;
    return image->file + offset;
}

const void *image_bytes(const struct image *image, uint64_t address, uint64_t size)
{
    const Elf64_Phdr *segment = image->segments.start;
    for (size_t i = 0; i < image->segments.count; i++, segment++) {
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr)
            continue;
        uint64_t inside = address - segment->p_vaddr;
        if (inside <= segment->p_filesz && size <= segment->p_filesz - inside)
            return file_bytes(image, segment->p_offset + inside, size);
    }
    return NULL;
}

bool image_is_code(const struct image *image, uint64_t address)
{
    const Elf64_Phdr *segment = image->segments.start;
    for (size_t i = 0; address && i < image->segments.count; i++)
        if (segment[i].p_type == PT_LOAD && segment[i].p_flags & PF_X &&
            address >= segment[i].p_vaddr && address - segment[i].p_vaddr < segment[i].p_filesz)
            return true;
    return false;
}

/* The same for something the processor reads in units of `unit` bytes: also NULL if it is
 * misaligned. */
static const void *aligned_bytes(const struct image *image, uint64_t address, uint64_t size,
                                 size_t unit)
{
    const void *bytes = image_bytes(image, address, size);
    return (uintptr_t)bytes % unit ? NULL : bytes;
}

/* A table of `size` bytes at `address`; false if the file has not got it. */
static bool table_set(const struct image *image, struct image_table *table, uint64_t address,
                      uint64_t size, size_t entry)
{
    *table = (struct image_table){0};
    if (size < entry)
        return true;
    table->start = aligned_bytes(image, address, size, entry > 8 ? 8 : entry);
    table->count = table->start ? (size_t)(size / entry) : 0;
    return table->start;
}

const Elf64_Sym *image_symbol(const struct image *image, size_t index)
{
    return index < image->symbols.count ? (const Elf64_Sym *)image->symbols.start + index : NULL;
}

const char *image_string(const struct image *image, uint64_t offset)
{
    return offset < image->strings.count ? (const char *)image->strings.start + offset : "";
}

/* Walks the version needs until the one with this number; every step is bounded by the count the
 * file states. */
const char *image_symbol_version(const struct image *image, size_t index)
{
    if (index >= image->versions.count || !image->needs_offset)
        return NULL;
    Elf64_Half wanted = ((const Elf64_Half *)image->versions.start)[index] & 0x7fff;
    uint64_t at = image->needs_offset;
    for (size_t i = 0; i < image->needs_count; i++) {
        const Elf64_Verneed *need = aligned_bytes(image, at, sizeof *need, 4);
        uint64_t next = at;
        for (int k = 0; need && k < need->vn_cnt; k++) {
            next += k ? 0 : need->vn_aux;
            const Elf64_Vernaux *version = aligned_bytes(image, next, sizeof *version, 4);
            if (!version)
                return NULL;
            if (version->vna_other == wanted)
                return image_string(image, version->vna_name);
            next += version->vna_next;
        }
        if (!need || !need->vn_next)
            return NULL;
        at += need->vn_next;
    }
    return NULL;
}

/* The same walk through the definitions. */
const char *image_defined_version(const struct image *image, size_t index, bool *hidden)
{
    *hidden = false;
    if (index >= image->versions.count || !image->versions_offset)
        return NULL;
    Elf64_Half own = ((const Elf64_Half *)image->versions.start)[index];
    uint64_t at = image->versions_offset;
    *hidden = own & 0x8000;
    if ((own & 0x7fff) <= VER_NDX_GLOBAL)
        return NULL;
    for (size_t i = 0; i < image->versions_count; i++) {
        const Elf64_Verdef *definition = aligned_bytes(image, at, sizeof *definition, 4);
        if (!definition)
            return NULL;
        if (definition->vd_ndx == (own & 0x7fff)) {
            const Elf64_Verdaux *name =
                aligned_bytes(image, at + definition->vd_aux, sizeof *name, 4);
            return name ? image_string(image, name->vda_name) : NULL;
        }
        if (!definition->vd_next)
            return NULL;
        at += definition->vd_next;
    }
    return NULL;
}

static uint64_t table_find(const struct image_table *symbols, const char *strings,
                           size_t strings_size, const char *name)
{
    const Elf64_Sym *symbol = symbols->start;
    size_t length = strlen(name) + 1;
    for (size_t i = 0; i < symbols->count; i++, symbol++)
        if (symbol->st_shndx != SHN_UNDEF && symbol->st_value && symbol->st_name < strings_size &&
            strings_size - symbol->st_name >= length &&
            !memcmp(strings + symbol->st_name, name, length))
            return symbol->st_value;
    return 0;
}

uint32_t image_hash(const char *name)
{
    uint32_t hash = 5381;
    while (*name)
        hash = hash * 33 + (unsigned char)*name++;
    return hash;
}

/* By the hashes of what the file defines, if they are there: no other name is read then. */
static uint64_t dynamic_find(const struct image *image, const char *name)
{
    const uint32_t *hashes = image->hashes.start;
    uint32_t hash = image_hash(name);
    if (!image->hashes.count)
        return table_find(&image->symbols, image->strings.start, image->strings.count, name);
    for (size_t i = 0; i < image->hashes.count; i++) {
        const Elf64_Sym *symbol = image_symbol(image, image->hashes_first + i);
        if ((hashes[i] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
            !strcmp(image_string(image, symbol->st_name), name))
            return symbol->st_value;
    }
    return 0;
}

uint64_t image_find(const struct image *image, const char *name)
{
    uint64_t found = dynamic_find(image, name);
    return found ? found : image_find_local(image, name);
}

static const char *machine_name(int machine)
{
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_386:
        return "32-bit x86";
    case EM_AARCH64:
        return "aarch64";
    case EM_ARM:
        return "32-bit ARM";
    case EM_RISCV:
        return "RISC-V";
    case EM_PPC64:
        return "64-bit POWER";
    case EM_S390:
        return "s390";
    default:
        return "another architecture";
    }
}

static bool image_is_script(const struct image *image)
{
    return image->file_size > 2 && !memcmp(image->file, "#!", 2);
}

static const char *what_else(const struct image *image)
{
    if (image_is_script(image))
        return " but a script; give simrun the program that it starts";
    if (image->file_size >= 8 && !memcmp(image->file, "!<arch>\n", 8))
        return " but an archive of objects, which must be linked first: simcc -o program, and its "
               "name";
    return "; give a C, C++ or Fortran source, or what simcc built";
}

static int header_check(const struct image *image, struct failure *failure)
{
    const Elf64_Ehdr *header = (const void *)image->file;
    const char *path = image->path;
    if (image->file_size < EI_NIDENT || memcmp(header->e_ident, ELFMAG, SELFMAG))
        return failure_set(failure, FAILURE_INPUT, "%s: not an ELF program%s", path,
                           what_else(image));
    if (image->file_size < sizeof *header)
        return failure_set(failure, FAILURE_INPUT, "%s: truncated ELF file", path);
    if (header->e_ident[EI_CLASS] == ELFCLASS32)
        return failure_set(failure, FAILURE_INPUT,
                           "%s: a program of 32 bits, and simrun has 64: build it without -m32",
                           path);
    if (header->e_machine != IMAGE_MACHINE || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB)
        return failure_set(failure, FAILURE_INPUT,
                           "%s: wrong architecture: built for %s, this is %s", path,
                           machine_name(header->e_machine), machine_name(IMAGE_MACHINE));
    if (header->e_type != ET_DYN && header->e_type != ET_EXEC)
        return failure_set(
            failure, FAILURE_INPUT,
            "%s: neither a program nor a shared object (an object file must be linked "
            "first: simcc -o program %s)",
            path, path);
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff % 8 ||
        !file_bytes(image, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr)))
        return failure_set(failure, FAILURE_INPUT, "%s: malformed ELF file: program headers", path);
    return 0;
}

static const Elf64_Phdr *segment_find(const struct image *image, Elf64_Word type)
{
    const Elf64_Phdr *segment = image->segments.start;
    for (size_t i = 0; i < image->segments.count; i++)
        if (segment[i].p_type == type)
            return &segment[i];
    return NULL;
}

/* Executables bound to an address, or without the dynamic linker's tables, cannot be placed again
 * and again. */
static int linkage_check(const struct image *image, struct failure *failure)
{
    const Elf64_Ehdr *header = (const void *)image->file;
    bool interpreter = segment_find(image, PT_INTERP), dynamic = segment_find(image, PT_DYNAMIC);
    if (!dynamic || (header->e_type == ET_EXEC && !interpreter))
        return failure_set(
            failure, FAILURE_INPUT,
            "%s: statically linked; link it dynamically (without -static, or with simcc)",
            image->path);
    if (header->e_type == ET_EXEC)
        return failure_set(
            failure, FAILURE_INPUT,
            "%s: linked to a fixed address (-no-pie); link it with -pie or with simcc",
            image->path);
    return 0;
}

/* Adds a read-only segment to the pieces, joined to the last one where address and file advance
 * alike. */
static bool piece_add(struct image *image, const Elf64_Phdr *segment)
{
    uint64_t page = image_page();
    struct image_piece piece = {image_round_down(segment->p_vaddr, page),
                                image_round_down(segment->p_offset, page), 0};
    uint64_t end = image_round_up(segment->p_vaddr + segment->p_filesz, page);
    piece.size = end - piece.address;
    if (segment->p_vaddr % page != segment->p_offset % page ||
        segment->p_memsz != segment->p_filesz)
        return false;
    struct image_piece *last = image->piece_count ? &image->pieces[image->piece_count - 1] : NULL;
    if (last && last->address - last->file_offset == piece.address - piece.file_offset &&
        piece.address >= last->address) {
        last->size = end - last->address;
        return true;
    }
    if (image->piece_count == IMAGE_PIECES_MAX ||
        (last && piece.address < last->address + last->size))
        return false;
    image->pieces[image->piece_count++] = piece;
    return true;
}

static bool segment_plausible(const struct image *image, const Elf64_Phdr *segment)
{
    const uint64_t address_max = (uint64_t)1 << 46;
    return segment->p_vaddr < address_max && segment->p_memsz < address_max &&
           segment->p_filesz <= segment->p_memsz && segment->p_align < address_max &&
           (segment->p_align & (segment->p_align - 1)) == 0 &&
           file_bytes(image, segment->p_offset, segment->p_filesz);
}

/* Bounds and the border between what images share and what each owns. A file whose writable part
 * does not come last has data_start at its very beginning: then all of it is copied per image. */
static int layout_read(struct image *image, struct failure *failure)
{
    const Elf64_Phdr *segment = image->segments.start;
    uint64_t page = image_page(), shared_end = 0;
    image->low = image->data_start = UINT64_MAX;
    image->alignment = page;
    bool mappable = true;
    for (size_t i = 0; i < image->segments.count; i++, segment++) {
        if (segment->p_type != PT_LOAD || !segment->p_memsz)
            continue;
        if (!segment_plausible(image, segment))
            return failure_set(failure, FAILURE_INPUT,
                               "%s: malformed or truncated ELF file: segment %zu", image->path, i);
        uint64_t start = image_round_down(segment->p_vaddr, page);
        uint64_t end = segment->p_vaddr + segment->p_memsz;
        image->low = start < image->low ? start : image->low;
        image->high = end > image->high ? image_round_up(end, page) : image->high;
        image->alignment =
            segment->p_align > image->alignment ? segment->p_align : image->alignment;
        if (segment->p_flags & PF_W) {
            image->data_start = start < image->data_start ? start : image->data_start;
            uint64_t filled = segment->p_vaddr + segment->p_filesz;
            image->data_filled = filled > image->data_filled ? filled : image->data_filled;
        } else {
            shared_end = image_round_up(end, page);
            mappable = piece_add(image, segment) && mappable;
            mappable = mappable && image->data_start == UINT64_MAX;
        }
    }
    if (image->low == UINT64_MAX)
        return failure_set(failure, FAILURE_INPUT, "%s: malformed ELF file: nothing to load",
                           image->path);
    if (image->data_start == UINT64_MAX)
        image->data_start = image->data_filled = shared_end;
    if (!mappable || shared_end > image->data_start) {
        image->piece_count = 0;
        image->data_start = image->low;
        image->data_filled = image->data_filled > shared_end ? image->data_filled : shared_end;
    }
    return 0;
}

/* How many dynamic symbols there are is only implied by the hash table: the highest index reached
 * from it. */
static size_t gnu_hash_count(const struct image *image, uint64_t address)
{
    const uint32_t *head = aligned_bytes(image, address, 16, 4);
    if (!head)
        return 0;
    uint64_t buckets_at = address + 16 + (uint64_t)head[2] * 8, last = 0;
    const uint32_t *buckets = aligned_bytes(image, buckets_at, (uint64_t)head[0] * 4, 4);
    for (uint32_t i = 0; buckets && i < head[0]; i++)
        last = buckets[i] > last ? buckets[i] : last;
    if (last < head[1])
        return head[1];
    for (uint64_t chain = buckets_at + (uint64_t)head[0] * 4;; last++) {
        const uint32_t *value = aligned_bytes(image, chain + (last - head[1]) * 4, 4, 4);
        if (!value || *value & 1)
            return (size_t)last + 1;
    }
}

static void symbol_count_set(struct image *image, uint64_t symbols, uint64_t hash,
                             uint64_t gnu_hash)
{
    const uint32_t *words = hash ? aligned_bytes(image, hash, 8, 4) : NULL;
    size_t count = words ? words[1] : gnu_hash ? gnu_hash_count(image, gnu_hash) : 0;
    /* Undefined symbols may lie outside a GNU hash table: count up to the string table that
     * follows, if it does. */
    uint64_t strings = 0;
    const Elf64_Dyn *entry = image->dynamic.start;
    for (size_t i = 0; i < image->dynamic.count && entry[i].d_tag != DT_NULL; i++)
        strings = entry[i].d_tag == DT_STRTAB ? entry[i].d_un.d_ptr : strings;
    if (!words && strings > symbols && (strings - symbols) / sizeof(Elf64_Sym) > count)
        count = (size_t)((strings - symbols) / sizeof(Elf64_Sym));
    if (!table_set(image, &image->symbols, symbols, (uint64_t)count * sizeof(Elf64_Sym),
                   sizeof(Elf64_Sym)))
        image->symbols = (struct image_table){0};
}

/* GNU's table has the hash of each name that others may see, but for its lowest bit. */
static void hashes_set(struct image *image, uint64_t gnu_hash)
{
    const uint32_t *head = gnu_hash ? aligned_bytes(image, gnu_hash, 16, 4) : NULL;
    if (!head || head[1] >= image->symbols.count)
        return;
    uint64_t chain = gnu_hash + 16 + (uint64_t)head[2] * 8 + (uint64_t)head[0] * 4;
    image->hashes_first = head[1];
    if (!table_set(image, &image->hashes, chain, (uint64_t)(image->symbols.count - head[1]) * 4, 4))
        image->hashes = (struct image_table){0};
}

static uint64_t dynamic_value(const struct image *image, Elf64_Sxword tag)
{
    const Elf64_Dyn *entry = image->dynamic.start;
    for (size_t i = 0; i < image->dynamic.count && entry[i].d_tag != DT_NULL; i++)
        if (entry[i].d_tag == tag)
            return entry[i].d_un.d_val;
    return 0;
}

static int dynamic_read(struct image *image, struct failure *failure)
{
    const Elf64_Phdr *segment = segment_find(image, PT_DYNAMIC);
    bool good =
        table_set(image, &image->dynamic, segment->p_vaddr, segment->p_filesz, sizeof(Elf64_Dyn));
    if (good) {
        good = table_set(image, &image->strings, dynamic_value(image, DT_STRTAB),
                         dynamic_value(image, DT_STRSZ), 1) &&
               table_set(image, &image->rela, dynamic_value(image, DT_RELA),
                         dynamic_value(image, DT_RELASZ), sizeof(Elf64_Rela)) &&
               table_set(image, &image->plt_rela, dynamic_value(image, DT_JMPREL),
                         dynamic_value(image, DT_PLTRELSZ), sizeof(Elf64_Rela)) &&
               table_set(image, &image->relr, dynamic_value(image, DT_RELR),
                         dynamic_value(image, DT_RELRSZ), sizeof(Elf64_Relr));
        symbol_count_set(image, dynamic_value(image, DT_SYMTAB), dynamic_value(image, DT_HASH),
                         dynamic_value(image, DT_GNU_HASH));
        hashes_set(image, dynamic_value(image, DT_GNU_HASH));
    }
    const char *strings = image->strings.start;
    if (!good || (image->strings.count && strings[image->strings.count - 1]))
        return failure_set(failure, FAILURE_INPUT, "%s: malformed ELF file: dynamic section",
                           image->path);
    if (dynamic_value(image, DT_TEXTREL) || dynamic_value(image, DT_FLAGS) & DF_TEXTREL ||
        dynamic_value(image, DT_REL))
        return failure_set(
            failure, FAILURE_INPUT,
            "%s: its code must be changed to be placed (text relocations); compile it with "
            "-fPIC or with simcc",
            image->path);
    uint64_t versions = dynamic_value(image, DT_VERSYM);
    if (versions &&
        !table_set(image, &image->versions, versions,
                   (uint64_t)image->symbols.count * sizeof(Elf64_Half), sizeof(Elf64_Half)))
        image->versions = (struct image_table){0};
    image->needs_offset = dynamic_value(image, DT_VERNEED);
    image->needs_count = (size_t)dynamic_value(image, DT_VERNEEDNUM);
    image->versions_offset = dynamic_value(image, DT_VERDEF);
    image->versions_count = (size_t)dynamic_value(image, DT_VERDEFNUM);
    image->symbolic = dynamic_value(image, DT_FLAGS) & DF_SYMBOLIC;
    const Elf64_Dyn *entry = image->dynamic.start;
    for (size_t i = 0; i < image->dynamic.count && entry[i].d_tag != DT_NULL; i++)
        image->symbolic |= entry[i].d_tag == DT_SYMBOLIC;
    image->init = dynamic_value(image, DT_INIT);
    image->fini = dynamic_value(image, DT_FINI);
    image->init_array = dynamic_value(image, DT_INIT_ARRAY);
    image->init_count = (size_t)dynamic_value(image, DT_INIT_ARRAYSZ) / 8;
    image->fini_array = dynamic_value(image, DT_FINI_ARRAY);
    image->fini_count = (size_t)dynamic_value(image, DT_FINI_ARRAYSZ) / 8;
    /* What simcc links can be started, too, and is a shared object all the same. */
    image->executable = dynamic_value(image, DT_FLAGS_1) & DF_1_PIE ||
                        (segment_find(image, PT_INTERP) && !dynamic_find(image, "simrun_start"));
    if (image->executable && !segment_find(image, PT_INTERP))
        return failure_set(failure, FAILURE_INPUT,
                           "%s: statically linked (-static-pie); link it dynamically or with simcc",
                           image->path);
    return 0;
}

/* Every address that an image will follow must lie inside it. */
static int ranges_check(struct image *image, struct failure *failure)
{
    const Elf64_Phdr *tls = segment_find(image, PT_TLS),
                     *unwind = segment_find(image, PT_GNU_EH_FRAME);
    if (tls && tls->p_memsz) {
        image->tls_start = tls->p_vaddr;
        image->tls_filled = tls->p_filesz;
        image->tls_size = tls->p_memsz;
        image->tls_alignment = tls->p_align ? tls->p_align : 1;
    }
    image->unwind_table = unwind ? unwind->p_vaddr : 0;
    uint64_t span = image->high - image->low;
    bool good =
        image->init_count * 8 <= span && image->fini_count * 8 <= span &&
        (!image->init_count || aligned_bytes(image, image->init_array, image->init_count * 8, 8)) &&
        (!image->fini_count || aligned_bytes(image, image->fini_array, image->fini_count * 8, 8)) &&
        (!image->init || image_bytes(image, image->init, 1)) &&
        (!image->fini || image_bytes(image, image->fini, 1)) &&
        (!image->unwind_table || image_bytes(image, image->unwind_table, 4)) &&
        image->tls_filled <= image->tls_size && image->tls_size < ((uint64_t)1 << 30) &&
        (image->tls_alignment & (image->tls_alignment - 1)) == 0 &&
        image->tls_alignment <= image->alignment &&
        (!image->tls_filled || image_bytes(image, image->tls_start, image->tls_filled));
    image->main_address = good ? image_find(image, "main") : 0;
    if (!good || (image->main_address && !image_is_code(image, image->main_address)))
        return failure_set(failure, FAILURE_INPUT, "%s: malformed ELF file: addresses outside it",
                           image->path);
    return 0;
}

/* Programs count their descriptors up from 3, and nobody opens this many by accident. */
static int open_high(const char *path)
{
    enum { HIGH = 900 };
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, HIGH);
    if (high < 0)
        return file; /* a small limit on open files */
    close(file);
    return high;
}

static int file_map(struct image *image, struct failure *failure)
{
    image->file_descriptor = open_high(image->path);
    if (image->file_descriptor < 0)
        return failure_set(failure, FAILURE_INPUT, "%s: %s", image->path, strerror(errno));
    struct stat status;
    if (fstat(image->file_descriptor, &status) < 0)
        return failure_set(failure, FAILURE_INPUT, "%s: %s", image->path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return failure_set(failure, FAILURE_INPUT,
                           "%s: not a regular file; give a source or a program", image->path);
    if (status.st_size == 0)
        return failure_set(failure, FAILURE_INPUT,
                           "%s: not an ELF program but an empty file; build it again", image->path);
    image->file_size = (size_t)status.st_size;
    void *mapping = mmap(NULL, image->file_size, PROT_READ, MAP_PRIVATE, image->file_descriptor, 0);
    if (mapping == MAP_FAILED)
        return failure_set(failure, FAILURE_INTERNAL, "%s: cannot map: %s", image->path,
                           strerror(errno));
    image->file = mapping;
    return 0;
}

int image_open(struct image *image, const char *path, struct failure *failure)
{
    *image = (struct image){.file_descriptor = -1, .path = realpath(path, NULL)};
    if (!image->path)
        return failure_set(failure, FAILURE_INPUT, "%s: %s", path, strerror(errno));
    int status = file_map(image, failure);
    status = status ? status : header_check(image, failure);
    if (!status) {
        const Elf64_Ehdr *header = (const void *)image->file;
        image->segments = (struct image_table){image->file + header->e_phoff, header->e_phnum};
        status = linkage_check(image, failure);
    }
    status = status ? status : layout_read(image, failure);
    status = status ? status : dynamic_read(image, failure);
    status = status ? status : ranges_check(image, failure);
    if (status)
        image_release(image);
    return status;
}

void image_release(struct image *image)
{
    if (image->file)
        munmap((void *)(uintptr_t)image->file, image->file_size);
    if (image->file_descriptor >= 0)
        close(image->file_descriptor);
    free(image->path);
    *image = (struct image){.file_descriptor = -1};
}
