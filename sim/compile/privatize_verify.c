/* The proof that an assembled file names none of its variables: see privatize_globals.h. */
#include "sim/compile/privatize_globals.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

struct proof {
    Elf *elf;
    size_t names;   /* section of the sections' names */
    size_t ours[2]; /* the two sections of variables */
    Elf_Data *symbols;
    size_t symbol_count;
};

/* Functions through which code of a rank runs while another's variables are in force, or nobody's;
 * and what is looked for by name where it is not. */
static bool calls_back(const char *name)
{
    static const char *const known[] = {
        "pthread_create", "thrd_create",   "GOMP_",       "__kmpc_", "signal",
        "sigaction",      "__sysv_signal", "bsd_signal",  "sigvec",  "sigset",
        "dlsym",          "dlopen",        "makecontext", "timer_",  "mq_notify",
        "getaddrinfo_a",  "aio_",          "clone",       "getopt",  "opt",
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strncmp(name, known[i], strlen(known[i])))
            return true;
    return false;
}

static bool section_read(struct proof *proof, Elf_Scn *section)
{
    GElf_Shdr header;
    const char *name = gelf_getshdr(section, &header) == &header
                           ? elf_strptr(proof->elf, proof->names, header.sh_name)
                           : NULL;
    if (!name)
        return false;
    if (!strcmp(name, SEPARATE_FILLED)) {
        proof->ours[0] = elf_ndxscn(section);
    } else if (!strcmp(name, SEPARATE_ZERO)) {
        proof->ours[1] = elf_ndxscn(section);
    } else if (header.sh_type == SHT_SYMTAB) {
        proof->symbols = elf_getdata(section, NULL);
        proof->symbol_count = header.sh_entsize ? header.sh_size / header.sh_entsize : 0;
    } else if (header.sh_flags & SHF_ALLOC && header.sh_flags & SHF_WRITE && header.sh_size) {
        return false; /* variables elsewhere, constructors, thread-locals */
    }
    return true;
}

static bool symbols_harmless(const struct proof *proof, size_t names)
{
    GElf_Sym symbol;
    for (size_t i = 1; i < proof->symbol_count; i++) {
        const char *name = gelf_getsym(proof->symbols, (int)i, &symbol)
                               ? elf_strptr(proof->elf, names, symbol.st_name)
                               : NULL;
        if (!name || symbol.st_shndx == SHN_COMMON ||
            (symbol.st_shndx == SHN_UNDEF && calls_back(name)))
            return false;
    }
    return true;
}

/* Relocations of code and constants; what ranks have of their own may point anywhere, and what is
 * for debuggers nobody runs. */
static bool relocations_harmless(const struct proof *proof, Elf_Scn *section)
{
    GElf_Shdr header, of;
    GElf_Rela entry;
    GElf_Sym symbol;
    if (gelf_getshdr(section, &header) != &header)
        return false;
    if (header.sh_type == SHT_REL)
        return false;
    if (header.sh_type != SHT_RELA || header.sh_info == proof->ours[0] ||
        header.sh_info == proof->ours[1])
        return true;
    if (gelf_getshdr(elf_getscn(proof->elf, header.sh_info), &of) != &of)
        return false;
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count =
        of.sh_flags & SHF_ALLOC && header.sh_entsize ? header.sh_size / header.sh_entsize : 0;
    for (size_t i = 0; i < count; i++)
        if (!gelf_getrela(data, (int)i, &entry) ||
            !gelf_getsym(proof->symbols, (int)GELF_R_SYM(entry.r_info), &symbol) ||
            symbol.st_shndx == proof->ours[0] || symbol.st_shndx == proof->ours[1])
            return false;
    return true;
}

static bool proved(struct proof *proof)
{
    size_t names = 0;
    GElf_Shdr header;
    if (elf_kind(proof->elf) != ELF_K_ELF || elf_getshdrstrndx(proof->elf, &proof->names))
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(proof->elf, section));) {
        if (!section_read(proof, section))
            return false;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
            names = header.sh_link;
    }
    if (!proof->ours[0] || !proof->ours[1] || !proof->symbols || !symbols_harmless(proof, names))
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(proof->elf, section));)
        if (!relocations_harmless(proof, section))
            return false;
    return true;
}

bool separate_proved(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || elf_version(EV_CURRENT) == EV_NONE) {
        if (file >= 0)
            close(file);
        return false;
    }
    struct proof proof = {.elf = elf_begin(file, ELF_C_READ, NULL)};
    bool good = proof.elf && proved(&proof);
    elf_end(proof.elf);
    close(file);
    return good;
}
