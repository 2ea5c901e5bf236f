/* One table of all definitions: see scope.h. Modules are entered from the last to the first, each before
 * what is there, so that the first module is found first: many C++ libraries define the same. The hash is that of GNU's tables, which
 * files have of what they define (all but its lowest bit): no name is read to enter it. */
#include "sim/elf/scope.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const char *name)
{
    return image_hash(name) | 1;
}

/* Of a symbol that the image defines: the file says it, if it has GNU's table. */
static uint32_t symbol_hash(const struct image *image, size_t symbol)
{
    const uint32_t *hashes = image->hashes.start;
    size_t hashed = symbol - image->hashes_first;
    return symbol >= image->hashes_first && hashed < image->hashes.count
               ? hashes[hashed] | 1
               : hash_of(image_string(image, image_symbol(image, symbol)->st_name));
}

static size_t place_of(const struct scope *scope, uint32_t hash)
{
    return (size_t)(hash * 0x9e3779b97f4a7c15u >> 32) & (scope->room - 1);
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

static void enter(struct scope *scope, int module, size_t symbol)
{
    uint32_t hash = symbol_hash(scope->modules[module], symbol);
    uint32_t *place = &scope->places[place_of(scope, hash)];
    scope->entries[scope->entry_count++] = (struct scope_entry){
        hash, (uint32_t)module & 0xff, (uint32_t)symbol & (SCOPE_SYMBOLS_MAX - 1), *place};
    *place = scope->entry_count;
}

static size_t count_exported(const struct image *image)
{
    const Elf64_Sym *symbol = image->symbols.start;
    size_t count = 0;
    for (size_t i = 1; i < image->symbols.count; i++)
        count += is_exported(&symbol[i]);
    return count;
}

bool scope_open(struct scope *scope, const struct image *const *modules, const int *groups,
                int count)
{
    size_t symbols = 0;
    *scope = (struct scope){.count = count, .room = 64};
    if (count < 1 || count > SCOPE_MODULES_MAX)
        return false;
    for (int m = 0; m < count; m++) {
        if (modules[m]->symbols.count >= SCOPE_SYMBOLS_MAX)
            return false;
        symbols += count_exported(modules[m]);
    }
    if (symbols >= UINT32_MAX)
        return false;
    while (scope->room < symbols)
        scope->room *= 2;
    scope->modules = calloc((size_t)count, sizeof *scope->modules);
    scope->groups = calloc((size_t)count, sizeof *scope->groups);
    scope->entries = calloc(symbols + 1, sizeof *scope->entries);
    scope->places = calloc(scope->room, sizeof *scope->places);
    if (!scope->modules || !scope->groups || !scope->entries || !scope->places) {
        scope_close(scope);
        return false;
    }
    for (int m = count; m-- > 0;) {
        const Elf64_Sym *symbol = modules[m]->symbols.start;
        scope->modules[m] = modules[m];
        scope->groups[m] = groups[m];
        for (size_t i = modules[m]->symbols.count; i-- > 1;)
            if (is_exported(&symbol[i]))
                enter(scope, m, i);
    }
    return true;
}

void scope_close(struct scope *scope)
{
    free(scope->modules);
    free(scope->groups);
    free(scope->entries);
    free(scope->places);
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

/* What is looked for. */
struct sought {
    const char *name, *version;
    uint32_t hash;
    int first, group;
};

static int find(const struct scope *scope, const struct sought *sought, const Elf64_Sym **symbol)
{
    const struct scope_entry *entry;
    for (uint32_t at = scope->room ? scope->places[place_of(scope, sought->hash)] : 0; at;
         at = entry->next) {
        entry = &scope->entries[at - 1];
        int module = entry->module;
        if (entry->hash != sought->hash || module < sought->first ||
            (scope->groups[module] && scope->groups[module] != sought->group))
            continue;
        const struct image *image = scope->modules[module];
        const Elf64_Sym *found = image_symbol(image, entry->symbol);
        const char *name = image_string(image, found->st_name);
        if ((name != sought->name && strcmp(name, sought->name)) ||
            !version_fits(image, entry->symbol, sought->version))
            continue;
        *symbol = found;
        return module;
    }
    return -1;
}

void scope_fetch(const struct scope *scope, const struct image *image, size_t index)
{
    const uint32_t *hashes = image->hashes.start;
    size_t hashed = index - image->hashes_first;
    if (index >= image->hashes_first && hashed < image->hashes.count)
        __builtin_prefetch(&scope->places[place_of(scope, hashes[hashed] | 1)]);
}

int scope_find(const struct scope *scope, const char *name, const char *version, int first,
               int group, const Elf64_Sym **symbol)
{
    struct sought sought = {name, version, hash_of(name), first, group};
    return find(scope, &sought, symbol);
}

int scope_find_defined(const struct scope *scope, const struct image *image, size_t index,
                       const char *version, int group, const Elf64_Sym **symbol)
{
    const char *name = image_string(image, image_symbol(image, index)->st_name);
    struct sought sought = {name, version, symbol_hash(image, index), 0, group};
    return find(scope, &sought, symbol);
}
