/* A place of the code: see lines.h. */
#include "sim/debug/lines.h"

#include "traces/base/author_line.h"

#include <stdio.h>
#include <string.h>

/* Where there are no .debug_aranges (clang writes none) every unit is asked. */
static bool unit_of(Dwarf *dwarf, uint64_t pc, Dwarf_Die *unit)
{
    if (dwarf_addrdie(dwarf, pc, unit))
        return true;
    Dwarf_CU *cu = NULL;
    Dwarf_Die other;
    while (!dwarf_get_units(dwarf, cu, &cu, NULL, NULL, unit, &other))
        if (dwarf_haspc(unit, pc) > 0)
            return true;
    return false;
}

/* The source file of an address, and its line; NULL: not known. */
static const char *source_of(struct debug_file *file, uint64_t pc, Dwarf_Die *unit, int *number)
{
    Dwarf_Line *found =
        unit_of(debug_file_dwarf(file), pc, unit) ? dwarf_getsrc_die(unit, pc) : NULL;
    *number = 0;
    dwarf_lineno(found, number);
    return dwarf_linesrc(found, NULL, NULL);
}

bool debug_in_system_header(struct debug_file *file, uint64_t pc, char line[DEBUG_LINE_MAX])
{
    enum { ROOM = DEBUG_LINE_MAX - 16 };
    Dwarf_Die unit;
    int number, ignored;
    const char *name = source_of(file, pc, &unit, &number);
    *line = '\0';
    if (!name || !is_system_header(name))
        return false;
    size_t length = strlen(name);
    snprintf(line, DEBUG_LINE_MAX, "%s:%d", length < ROOM ? name : name + length - ROOM, number);
    return !author_line(&unit, pc, &ignored);
}

void debug_line(struct debug_file *file, uint64_t pc, char line[DEBUG_LINE_MAX])
{
    Dwarf_Die unit;
    int number;
    const char *name = source_of(file, pc, &unit, &number);
    const char *slash = name ? strrchr(name, '/') : NULL;
    *line = '\0';
    if (name)
        snprintf(line, DEBUG_LINE_MAX, "%.*s:%d", DEBUG_LINE_MAX - 16, slash ? slash + 1 : name,
                 number);
}
