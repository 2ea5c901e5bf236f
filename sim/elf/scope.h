/* What the program and its private libraries define, in the order the dynamic linker would look:
 * the program first, then its libraries as they are needed, breadth first. */
#ifndef SIM_ELF_SCOPE_H
#define SIM_ELF_SCOPE_H

#include "sim/elf/image.h"

struct scope_entry {
    uint32_t hash;
    uint32_t module : 8;
    uint32_t symbol : 24;
    uint32_t next; /* + 1, of the same place; 0: none */
};
enum { SCOPE_MODULES_MAX = 256, SCOPE_SYMBOLS_MAX = 1 << 24 };

struct scope {
    const struct image **modules;
    int *groups; /* of each: 0 is seen by all, another by the modules of the same */
    int count;
    struct scope_entry *entries;
    uint32_t entry_count;
    uint32_t *places; /* the first entry of each + 1, by the hash */
    size_t room;      /* a power of two */
};

/* The images must outlive it. False: out of memory, or more modules or symbols than an entry counts; nothing is held
 * then. */
bool scope_open(struct scope *scope, const struct image *const *modules, const int *groups,
                int count);
void scope_close(struct scope *scope);

/* The first module from `first` on that defines the name for those of `group`, and the symbol; -1 if none
 * does. With a version, a definition in another version is passed over where the module has
 * versions. */
int scope_find(const struct scope *scope, const char *name, const char *version, int first,
               int group, const Elf64_Sym **symbol);

/* The same for the name of a symbol that `image` defines itself. */
int scope_find_defined(const struct scope *scope, const struct image *image, size_t index,
                       const char *version, int group, const Elf64_Sym **symbol);

/* Symbol `index` of `image` will be looked for soon: the table is larger than a cache. */
void scope_fetch(const struct scope *scope, const struct image *image, size_t index);

#endif
