/* Working out and applying a relocation plan: see relocate.h.
 *
 * Rules:
 *  1. A word is written only inside [data_start, data_filled): what lies outside is shared or
 *     zero, and a file that wants it changed is refused.
 *  2. Symbols are resolved while planning; applying cannot fail and looks nothing up.
 *  3. A thread-local of a shared library is refused: there is only one per OS thread. One at a
 *     fixed distance from the thread pointer is refused unless ranks are OS threads. */
#include "sim/programs/relocate.h"

#include "sim/programs/static_tls.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything needed while planning. */
struct planner {
    struct relocate_plan *plan;
    const struct image *image;
    const struct resolver *resolver;
    const struct relocate_extra *extra;
    struct failure *failure;
    struct resolved *seen; /* by the symbol's index: tables of C++ name each of them many times */
    char missing[320];     /* names of unresolved symbols, separated by ", " */
    int missing_count;
};

static int refuse(struct planner *planner, const char *what, const char *remedy)
{
    return failure_set(planner->failure, FAILURE_INPUT, "%s: %s; %s", planner->image->path, what,
                       remedy);
}

static bool word_inside(const struct image *image, uint64_t address, uint64_t size)
{
    return address >= image->data_start && address <= image->data_filled &&
           size <= image->data_filled - address;
}

static void word_put(struct planner *planner, uint64_t address, uint64_t value)
{
    memcpy(planner->plan->bytes + (address - planner->image->data_start), &value, sizeof value);
}

static void word_put_based(struct planner *planner, uint64_t address, uint64_t value)
{
    word_put(planner, address, value);
    planner->plan->base_words[planner->plan->base_count++] = address;
}

/* Few files have one, and most of those few: the list doubles. NULL: out of memory. */
static void *list_room(void *list, size_t count, size_t size)
{
    return count & (count - 1) ? list : reallocarray(list, count ? 2 * count : 1, size);
}

static int out_of_memory(struct planner *planner)
{
    return failure_set(planner->failure, FAILURE_INTERNAL, "%s: out of memory",
                       planner->image->path);
}

static int call_add(struct planner *planner, uint64_t address, uint64_t function)
{
    struct relocate_plan *plan = planner->plan;
    uint64_t(*longer)[2] = list_room(plan->calls, plan->call_count, sizeof *plan->calls);
    if (!longer)
        return out_of_memory(planner);
    plan->calls = longer;
    plan->calls[plan->call_count][0] = address;
    plan->calls[plan->call_count++][1] = function;
    return 0;
}

static void missing_add(struct planner *planner, const char *name)
{
    size_t used = strlen(planner->missing), room = sizeof planner->missing - used;
    if (strstr(planner->missing, name))
        return;
    planner->missing_count++;
    if (strlen(name) + 3 < room)
        snprintf(planner->missing + used, room, "%s%s", used ? ", " : "", name);
}

static struct resolve_self self_of(const struct planner *planner)
{
    return (struct resolve_self){planner->image, planner->extra->module, planner->extra->getopt};
}

static const char *symbol_name(const struct planner *planner, const Elf64_Rela *entry)
{
    const Elf64_Sym *symbol = image_symbol(planner->image, ELF64_R_SYM(entry->r_info));
    return symbol ? image_string(planner->image, symbol->st_name) : "?";
}

static struct resolved resolved_once(struct planner *planner, size_t index)
{
    struct resolve_self self = self_of(planner);
    if (index >= planner->image->symbols.count)
        return resolve_symbol(planner->resolver, &self, index, false);
    struct resolved *seen = &planner->seen[index];
    if (seen->kind == RESOLVE_MISSING)
        *seen = resolve_symbol(planner->resolver, &self, index, false);
    return *seen;
}

static int plan_symbol(struct planner *planner, const Elf64_Rela *entry)
{
    const Elf64_Sym *symbol = image_symbol(planner->image, ELF64_R_SYM(entry->r_info));
    if (symbol && symbol->st_shndx == SHN_UNDEF &&
        resolve_getopt_field(symbol_name(planner, entry)) >= 0)
        planner->plan->uses_getopt = true;
    struct resolved resolved = resolved_once(planner, ELF64_R_SYM(entry->r_info));
    uint64_t value = resolved.value + (uint64_t)entry->r_addend;
    switch (resolved.kind) {
    case RESOLVE_MISSING:
        missing_add(planner, symbol_name(planner, entry));
        break;
    case RESOLVE_CONSTANT:
        word_put(planner, entry->r_offset, value);
        break;
    case RESOLVE_INSIDE:
        word_put_based(planner, entry->r_offset, value);
        break;
    case RESOLVE_SELECTOR:
        return call_add(planner, entry->r_offset, value);
    }
    return 0;
}

static int plan_copy(struct planner *planner, const Elf64_Rela *entry)
{
    const Elf64_Sym *symbol = image_symbol(planner->image, ELF64_R_SYM(entry->r_info));
    const struct image *image = planner->image;
    if (!symbol || entry->r_offset < image->data_start || entry->r_offset > image->high ||
        symbol->st_size > image->high - entry->r_offset)
        return refuse(planner, "malformed ELF file", "a copied variable lies outside it");
    struct resolve_self self = self_of(planner);
    struct resolved resolved =
        resolve_symbol(planner->resolver, &self, ELF64_R_SYM(entry->r_info), true);
    bool inside = resolved.kind == RESOLVE_INSIDE;
    if (!inside && (resolved.kind != RESOLVE_CONSTANT || !resolved.value)) {
        missing_add(planner, symbol_name(planner, entry));
        return 0;
    }
    struct relocate_plan *plan = planner->plan;
    struct relocate_copy *longer = list_room(plan->copies, plan->copy_count, sizeof *plan->copies);
    if (!longer)
        return out_of_memory(planner);
    plan->copies = longer;
    plan->copies[plan->copy_count++] =
        (struct relocate_copy){entry->r_offset, resolved.value, symbol->st_size, inside};
    return 0;
}

/* Where a thread-local is: the block, as this module sees it, and the offset in it. */
static int tls_place(struct planner *planner, const Elf64_Rela *entry, uint64_t *block,
                     uint64_t *offset)
{
    size_t index = ELF64_R_SYM(entry->r_info);
    struct resolve_self self = self_of(planner);
    const struct resolve_module *modules = planner->resolver->modules;
    const Elf64_Sym *definition = NULL;
    int module =
        index ? resolve_definition(planner->resolver, &self, index, false, &definition) : -1;
    char what[200];
    *block = planner->extra->tls_block;
    *offset = (uint64_t)entry->r_addend;
    if (!index)
        return 0;
    snprintf(what, sizeof what, "the thread-local `%s` belongs to a library that ranks share",
             symbol_name(planner, entry));
    if (module < 0 || definition->st_shndx == SHN_UNDEF)
        return refuse(planner, what, "run it with --loader=dlopen");
    *offset += definition->st_value;
    *block = modules[module].tls_block + modules[module].place - modules[self.module].place;
    return 0;
}

static int plan_tls(struct planner *planner, const Elf64_Rela *entry, enum relocate_kind kind)
{
    uint64_t block, offset;
    bool fixed = kind == RELOCATE_TLS_STATIC;
    if (fixed && (planner->extra->module || !planner->extra->own_threads ||
                  !static_tls_fits(planner->image)))
        return refuse(planner, "its thread-locals are bound to the OS thread (initial-exec)",
                      planner->extra->module
                          ? "compile it with -ftls-model=global-dynamic or with simcc"
                          : "compile it with -ftls-model=global-dynamic or with simcc, or run it "
                            "with --os-threads");
    int status = tls_place(planner, entry, &block, &offset);
    if (status)
        return status;
    if (!planner->image->tls_size && block == planner->extra->tls_block)
        return refuse(planner, "malformed ELF file", "thread-locals without a segment for them");
    if (fixed) {
        planner->plan->uses_static_tls = true;
        word_put(planner, entry->r_offset, offset + (uint64_t)static_tls_distance(planner->image));
    } else if (kind == RELOCATE_TLS_MODULE) {
        word_put_based(planner, entry->r_offset, block);
    } else if (kind == RELOCATE_TLS_OFFSET) {
        word_put(planner, entry->r_offset, offset);
    } else {
        if (!word_inside(planner->image, entry->r_offset, 16))
            return refuse(planner, "malformed ELF file", "a relocation lies outside its data");
        word_put(planner, entry->r_offset, relocate_descriptor());
        word_put_based(planner, entry->r_offset + 8, block + offset);
    }
    return 0;
}

static int plan_entry(struct planner *planner, const Elf64_Rela *entry)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(entry->r_info);
    enum relocate_kind kind = relocate_classify(type);
    if (kind == RELOCATE_NONE)
        return 0;
    if (kind == RELOCATE_COPY)
        return plan_copy(planner, entry);
    if (kind != RELOCATE_UNKNOWN && !word_inside(planner->image, entry->r_offset, 8))
        return refuse(planner, "a relocation lies outside its data",
                      "compile it with -fPIC or with simcc");
    char what[80];
    switch (kind) {
    case RELOCATE_BASE:
        word_put_based(planner, entry->r_offset, (uint64_t)entry->r_addend);
        return 0;
    case RELOCATE_SYMBOL:
        return plan_symbol(planner, entry);
    case RELOCATE_CALL:
        return call_add(planner, entry->r_offset, (uint64_t)entry->r_addend);
    case RELOCATE_TLS_MODULE:
    case RELOCATE_TLS_OFFSET:
    case RELOCATE_TLS_STATIC:
    case RELOCATE_TLS_DESCRIPTOR:
        return plan_tls(planner, entry, kind);
    default:
        snprintf(what, sizeof what, "unsupported relocation %s (type %u)",
                 relocate_name(type) ? relocate_name(type) : "", type);
        return refuse(planner, what,
                      "compile it with -fPIC or with simcc, or run it with --loader=dlopen");
    }
}

static int plan_table(struct planner *planner, const struct image_table *table)
{
    const Elf64_Rela *entry = table->start;
    enum { AHEAD = 8 };
    for (size_t i = 0; i < table->count; i++) {
        if (i + AHEAD < table->count)
            scope_fetch(&planner->resolver->scope, planner->image,
                        ELF64_R_SYM(entry[i + AHEAD].r_info));
        int status = plan_entry(planner, &entry[i]);
        if (status)
            return status;
    }
    return 0;
}

/* The packed form of relative relocations: an even word is an address to relocate, an odd one says
 * by its bits which of the 63 words that follow are too. With `plan` false the words are only
 * counted. */
static int relr_walk(struct planner *planner, bool plan, size_t *count)
{
    const Elf64_Relr *entry = planner->image->relr.start;
    uint64_t next = 0;
    for (size_t i = 0; i < planner->image->relr.count; i++) {
        uint64_t bits = entry[i] & 1 ? entry[i] >> 1 : 1, at = entry[i] & 1 ? next : entry[i];
        next = entry[i] & 1 ? next + 63 * 8 : entry[i] + 8;
        for (; bits; bits >>= 1, at += 8) {
            if (!(bits & 1))
                continue;
            ++*count;
            if (!plan)
                continue;
            if (!word_inside(planner->image, at, 8))
                return refuse(planner, "malformed ELF file", "a relocation lies outside its data");
            planner->plan->base_words[planner->plan->base_count++] = at;
        }
    }
    return 0;
}

/* Room for the worst case; what is not used is never touched. */
static int plan_allocate(struct planner *planner)
{
    const struct image *image = planner->image;
    struct relocate_plan *plan = planner->plan;
    size_t relative = 0, others = image->rela.count + image->plt_rela.count;
    relr_walk(planner, false, &relative);
    plan->bytes = calloc(1, image->data_filled - image->data_start + 1);
    plan->base_words = reallocarray(NULL, relative + others + 1, sizeof *plan->base_words);
    planner->seen = calloc(image->symbols.count + 1, sizeof *planner->seen);
    return plan->bytes && plan->base_words && planner->seen ? 0 : out_of_memory(planner);
}

/* The file's bytes of everything an image owns: usually one segment. */
static void plan_bytes(struct planner *planner)
{
    const struct image *image = planner->image;
    const Elf64_Phdr *segment = image->segments.start;
    for (size_t i = 0; i < image->segments.count; i++, segment++) {
        uint64_t start = segment->p_vaddr, end = start + segment->p_filesz;
        if (segment->p_type != PT_LOAD || end <= image->data_start || start < image->data_start)
            continue;
        assert(end <= image->data_filled);
        memcpy(planner->plan->bytes + (start - image->data_start), image->file + segment->p_offset,
               (size_t)segment->p_filesz);
    }
}

int relocate_plan(struct relocate_plan *plan, const struct image *image,
                  const struct resolver *resolver, const struct relocate_extra *extra,
                  struct failure *failure)
{
    struct planner planner = {
        .plan = plan, .image = image, .resolver = resolver, .extra = extra, .failure = failure};
    size_t count = 0;
    *plan = (struct relocate_plan){0};
    plan->uses_static_tls = image->executable && image->tls_size;
    int status = plan_allocate(&planner);
    if (!status) {
        plan_bytes(&planner);
        status = relr_walk(&planner, true, &count);
    }
    status = status ? status : plan_table(&planner, &image->rela);
    status = status ? status : plan_table(&planner, &image->plt_rela);
    if (!status && planner.missing_count)
        status = failure_set(
            failure, FAILURE_INPUT,
            "%s: unresolved symbol%s: %s%s; give the sources, or link the libraries, "
            "that define %s",
            image->path, planner.missing_count > 1 ? "s" : "", planner.missing,
            planner.missing_count > 12 ? ", ..." : "", planner.missing_count > 1 ? "them" : "it");
    free(planner.seen);
    if (status)
        relocate_release(plan);
    return status;
}

void relocate_release(struct relocate_plan *plan)
{
    free(plan->bytes);
    free(plan->base_words);
    free(plan->calls);
    free(plan->copies);
    *plan = (struct relocate_plan){0};
}

/* Packed structures may hold pointers at odd addresses. */
static void word_add(uintptr_t address, uint64_t value)
{
    uint64_t word;
    memcpy(&word, (const void *)address, sizeof word);
    word += value;
    memcpy((void *)address, &word, sizeof word);
}

void relocate_apply(const struct relocate_plan *plan, const struct image *image,
                    const struct relocate_extra *extra, uintptr_t base)
{
    memcpy((void *)(base + image->data_start), plan->bytes,
           (size_t)(image->data_filled - image->data_start));
    for (size_t i = 0; i < plan->base_count; i++)
        word_add(base + plan->base_words[i], base);
    for (size_t i = 0; i < plan->copy_count; i++)
        memcpy((void *)(base + plan->copies[i].address),
               (const void *)(plan->copies[i].source + (plan->copies[i].inside ? base : 0)),
               (size_t)plan->copies[i].size);
    for (size_t i = 0; i < plan->call_count; i++) {
        uint64_t chosen = relocate_call(base + plan->calls[i][1]);
        memcpy((void *)(base + plan->calls[i][0]), &chosen, sizeof chosen);
    }
    if (image->tls_filled)
        memcpy((void *)(base + extra->tls_block), (const void *)(base + image->tls_start),
               (size_t)image->tls_filled);
}
