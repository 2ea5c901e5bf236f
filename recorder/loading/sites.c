/* From an address in a module to file:line:function: see sites.h. */
#include "recorder/loading/sites.h"

#include "traces/base/author_line.h"
#include "traces/trace/handle_map.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One module has one session of its own, so that modules linked at the same address do not meet. */
struct module {
    char *path;
    Dwfl *session;
    Dwfl_Module *module;     /* NULL: cannot be read */
    struct handle_map known; /* address -> site + 1 */
    struct module *next;
};

struct sites {
    struct trace *trace;
    struct module *modules;
    char folder[4096]; /* working directory and '/' */
};

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = dwfl_standard_find_debuginfo,
                                         .section_address = dwfl_offline_section_address};

struct sites *sites_new(struct trace *trace)
{
    struct sites *sites = calloc(1, sizeof *sites);
    if (!sites)
        return NULL;
    sites->trace = trace;
    if (getcwd(sites->folder, sizeof sites->folder - 1))
        strcat(sites->folder, "/");
    else
        sites->folder[0] = 0;
    return sites;
}

void sites_free(struct sites *sites)
{
    if (!sites)
        return;
    for (struct module *module = sites->modules, *next; module; module = next) {
        next = module->next;
        if (module->session)
            dwfl_end(module->session);
        handle_map_release(&module->known);
        free(module->path);
        free(module);
    }
    free(sites);
}

static void module_open(struct module *module)
{
    module->session = dwfl_begin(&callbacks);
    if (!module->session)
        return;
    dwfl_report_begin(module->session);
    module->module = dwfl_report_elf(module->session, module->path, module->path, -1, 0, true);
    dwfl_report_end(module->session, NULL, NULL);
}

static struct module *module_find(struct sites *sites, const char *path)
{
    for (struct module *module = sites->modules; module; module = module->next)
        if (strcmp(module->path, path) == 0)
            return module;
    struct module *module = calloc(1, sizeof *module);
    if (!module || !(module->path = strdup(path))) {
        free(module);
        return NULL;
    }
    module_open(module);
    module->next = sites->modules;
    sites->modules = module;
    return module;
}

static const char *shorten(const struct sites *sites, const char *path)
{
    size_t length = strlen(sites->folder);
    if (length > 1 && strncmp(path, sites->folder, length) == 0)
        path += length;
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    return path;
}

/* The unit's line for an address. Instructions that stand for no single line (clang gives them the
 * line 0, such as calls it merged) take that of the code before them. */
static const char *unit_line(Dwarf_Die *unit, Dwarf_Addr address, int *line)
{
    Dwarf_Lines *lines;
    size_t count, at = 0;
    Dwarf_Line *found = dwarf_getsrc_die(unit, address);
    if (!found || dwarf_lineno(found, line) || dwarf_getsrclines(unit, &lines, &count))
        return NULL;
    while (at < count && dwarf_onesrcline(lines, at) != found)
        at++;
    for (; *line == 0 && at > 0 && at < count; at--) {
        Dwarf_Line *before = dwarf_onesrcline(lines, at - 1);
        bool ended = true;
        if (!before || dwarf_lineendsequence(before, &ended) || ended || dwarf_lineno(before, line))
            break;
        found = before;
    }
    return dwarf_linesrc(found, NULL, NULL);
}

/* Compilers that write no .debug_aranges (clang) leave an address without a way to its unit: then
 * every unit is asked. */
static const char *search_units(Dwfl_Module *module, Dwarf_Addr address, int *line)
{
    Dwarf_Addr bias;
    const char *file = NULL;
    for (Dwarf_Die *unit = dwfl_module_nextcu(module, NULL, &bias); unit && !file;
         unit = dwfl_module_nextcu(module, unit, &bias))
        if (dwarf_haspc(unit, address - bias) > 0)
            file = unit_line(unit, address - bias, line);
    return file;
}

/* Where what a system header has at an address was inlined. */
static const char *inlined_at(Dwfl_Module *module, Dwarf_Addr address, int *line)
{
    Dwarf_Addr bias;
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias);
    if (unit)
        return author_line(unit, address - bias, line);
    while ((unit = dwfl_module_nextcu(module, unit, &bias)))
        if (dwarf_haspc(unit, address - bias) > 0)
            return author_line(unit, address - bias, line);
    return NULL;
}

static uint32_t look_up(struct sites *sites, const struct module *module, uint64_t address)
{
    const char *file = NULL, *function = NULL;
    int line = 0, column;
    Dwarf_Addr at, own = address;
    if (module->module) {
        function = dwfl_module_addrname(module->module, own);
        Dwfl_Line *found = dwfl_module_getsrc(module->module, own);
        if (found)
            file = dwfl_lineinfo(found, &at, &line, &column, NULL, NULL);
        if (!file || line == 0)
            file = search_units(module->module, own, &line);
        const char *caller =
            file && is_system_header(file) ? inlined_at(module->module, own, &line) : NULL;
        file = caller ? caller : file;
    }
    return trace_add_site(sites->trace, shorten(sites, file ? file : module->path), file ? line : 0,
                          function);
}

uint32_t sites_find(struct sites *sites, const char *path, uint64_t address)
{
    struct module *module = module_find(sites, path);
    if (!module || address == 0)
        return TRACE_NO;
    void *known = handle_map_find(&module->known, address);
    if (known)
        return (uint32_t)((uintptr_t)known - 1);
    uint32_t site = look_up(sites, module, address - 1); /* the call, not what follows it */
    if (site != TRACE_NO)
        handle_map_add(&module->known, address, (void *)((uintptr_t)site + 1));
    return site;
}
