/* One table of all definitions: see scope.h. Modules are entered in order and a search goes through
 * its entries in the order they were entered, so that the first module wins. */
#include "sim/elf/scope.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}

/* Seen by other modules? */
static bool is_exported(const Elf64_Sym *symbol)
{
    unsigned char bind = ELF64_ST_BIND(symbol->st_info), type = ELF64_ST_TYPE(symbol->st_info);
    unsigned char visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    return symbol->st_shndx != SHN_UNDEF && bind != STB_LOCAL && type != STT_SECTION &&
           type != STT_FILE && (visibility == STV_DEFAULT || visibility == STV_PROTECTED) &&
           (symbol->st_value || type == STT_TLS || symbol->st_shndx == SHN_ABS);
}

static void enter(struct scope *scope, int module, uint32_t symbol, const char *name)
{
    uint64_t hash = hash_of(name);
    size_t at = hash & (scope->room - 1);
    while (scope->entries[at].module)
        at = (at + 1) & (scope->room - 1);
    scope->entries[at] = (struct scope_entry){hash, symbol, (uint32_t)module + 1};
}

bool scope_open(struct scope *scope, const struct image *const *modules, const int *groups,
                int count)
{
    size_t symbols = 0;
    *scope = (struct scope){.count = count, .room = 64};
    if (count < 1)
        return false;
    for (int m = 0; m < count; m++)
        symbols += modules[m]->symbols.count;
    while (scope->room < 2 * symbols)
        scope->room *= 2;
    scope->modules = calloc((size_t)count, sizeof *scope->modules);
    scope->groups = calloc((size_t)count, sizeof *scope->groups);
    scope->entries = calloc(scope->room, sizeof *scope->entries);
    if (!scope->modules || !scope->groups || !scope->entries) {
        scope_close(scope);
        return false;
    }
    for (int m = 0; m < count; m++) {
        const Elf64_Sym *symbol = modules[m]->symbols.start;
        scope->modules[m] = modules[m];
        scope->groups[m] = groups[m];
        for (size_t i = 1; i < modules[m]->symbols.count; i++)
            if (is_exported(&symbol[i]))
                enter(scope, m, (uint32_t)i, image_string(modules[m], symbol[i].st_name));
    }
    return true;
}

void scope_close(struct scope *scope)
{
    free(scope->modules);
    free(scope->groups);
    free(scope->entries);
    *scope = (struct scope){0};
}

/* A reference without a version takes the default one. */
static bool version_fits(const struct image *image, size_t symbol, const char *wanted)
{
    bool hidden;
    const char *have = image_defined_version(image, symbol, &hidden);
    if (!have)
        return true;
    return wanted ? !strcmp(have, wanted) : !hidden;
}

int scope_find(const struct scope *scope, const char *name, const char *version, int first,
               int group, const Elf64_Sym **symbol)
{
    uint64_t hash = hash_of(name);
    for (size_t at = hash & (scope->room - 1); scope->room && scope->entries[at].module;
         at = (at + 1) & (scope->room - 1)) {
        const struct scope_entry *entry = &scope->entries[at];
        int module = (int)entry->module - 1;
        const struct image *image = scope->modules[module];
        const Elf64_Sym *found = image_symbol(image, entry->symbol);
        if (entry->hash != hash || module < first ||
            (scope->groups[module] && scope->groups[module] != group) ||
            strcmp(image_string(image, found->st_name), name) ||
            !version_fits(image, entry->symbol, version))
            continue;
        *symbol = found;
        return module;
    }
    return -1;
}
