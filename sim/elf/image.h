/* An ELF file as a template from which images are made: parsed once, bounded everywhere, never
 * written.
 *
 * The file is a shared object or a dynamic position-independent executable. All addresses in here
 * are the linker's
 * ("virtual addresses"); an image placed at base B has them at B + address. Nothing is loaded or
 * run by this object. */
#ifndef SIM_ELF_IMAGE_H
#define SIM_ELF_IMAGE_H

#include "traces/base/failure.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table inside the file: where it starts in the mapping and how many entries are really there. */
struct image_table {
    const void *start;
    size_t count;
};

/* A run of the file that an image maps or copies without changing it. */
struct image_piece {
    uint64_t address;     /* page aligned */
    uint64_t file_offset; /* page aligned */
    uint64_t size;        /* whole pages */
};

/* The architecture this was built for. */
#ifdef __aarch64__
enum { IMAGE_MACHINE = EM_AARCH64 };
#else
enum { IMAGE_MACHINE = EM_X86_64 };
#endif

enum { IMAGE_PIECES_MAX = 8 };

struct image {
    char *path;
    int file_descriptor;
    const unsigned char *file;
    size_t file_size;
    bool executable; /* a position-independent executable rather than a shared object */

    struct image_table segments; /* Elf64_Phdr */
    uint64_t low, high;          /* page-aligned bounds of all loaded segments */
    uint64_t alignment;          /* what the base must be a multiple of */
    uint64_t data_start;         /* from here on an image has private bytes; page aligned */
    uint64_t data_filled;        /* up to here they come from the file, behind it they are zero */
    struct image_piece pieces[IMAGE_PIECES_MAX];
    int piece_count; /* 0: the read-only part cannot be mapped, only copied */

    struct image_table symbols; /* Elf64_Sym */
    struct image_table
        hashes; /* uint32_t, of the symbols' names from hashes_first on, as GNU's table has them; or empty */
    size_t hashes_first;
    struct image_table versions; /* Elf64_Half, one per symbol, or empty */
    struct image_table strings;  /* char, the last one is 0 */
    struct image_table rela, plt_rela, relr;
    uint64_t needs_offset; /* of the first Elf64_Verneed, as a virtual address; 0 if none */
    size_t needs_count;
    uint64_t versions_offset; /* of the first Elf64_Verdef, as a virtual address; 0 if none */
    size_t versions_count;
    bool symbolic;              /* its own definitions come first (-Bsymbolic) */
    struct image_table dynamic; /* Elf64_Dyn */
    uint64_t init, fini;        /* 0 if absent */
    uint64_t init_array, fini_array;
    size_t init_count, fini_count;
    uint64_t tls_start, tls_filled, tls_size, tls_alignment;
    uint64_t unwind_table; /* address of .eh_frame_hdr, 0 if absent */
    uint64_t main_address; /* 0 if no symbol says where main is */
};

/* Opens and parses `path`. 0, or a failure code with a sentence naming what makes the file
 * unusable; on failure nothing is held. */
int image_open(struct image *image, const char *path, struct failure *failure);

/* Unmaps and closes; all fields are invalid afterwards. */
void image_release(struct image *image);

/* The file's bytes for [address, address + size), or NULL if the file has not all of them. */
const void *image_bytes(const struct image *image, uint64_t address, uint64_t size);

/* Does `address` lie in a segment that may be executed? */
bool image_is_code(const struct image *image, uint64_t address);

/* Entry `index` of the symbol table, NULL if there is none; and its name ("" if the file lies about
 * it). */
const Elf64_Sym *image_symbol(const struct image *image, size_t index);
const char *image_string(const struct image *image, uint64_t offset);

/* The version a symbol is wanted in (as "GLIBC_2.34"), NULL if it is not versioned. */
const char *image_symbol_version(const struct image *image, size_t index);

/* The version the file defines a symbol in, NULL if it has none; `hidden`: not the default one. */
const char *image_defined_version(const struct image *image, size_t index, bool *hidden);

/* The address of a symbol the file itself defines (dynamic table first, then the one debuggers
 * use); 0 if none. */
uint64_t image_find(const struct image *image, const char *name);

/* The same in the table debuggers use alone; it is absent from a stripped file. */
uint64_t image_find_local(const struct image *image, const char *name);

/* Does it call functions of others whose names begin so? */
bool image_calls(const struct image *image, const char *prefix);

/* Does it call functions whose answer, or whose owner, is the thread that calls: locks that know their
 * owner, values and names of threads, locales, contexts, libraries to come? */
bool image_knows_its_thread(const struct image *image);

/* Does the program have variables, or anything else a rank could change in its image?
 * False only when the file's sections and symbols show that it has none. */
bool image_has_variables(const struct image *image);

/* Size of a memory page, and a value rounded down or up to a multiple of a power of two. */
uint64_t image_page(void);
uint64_t image_round_down(uint64_t value, uint64_t unit);
uint64_t image_round_up(uint64_t value, uint64_t unit);

/* The hash of a name in GNU's tables. */
uint32_t image_hash(const char *name);

#endif
