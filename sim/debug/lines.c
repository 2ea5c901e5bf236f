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

bool debug_in_system_header(struct debug_file *file, uint64_t pc, char line[DEBUG_LINE_MAX])
{
    Dwarf_Die unit;
    int number = 0, ignored;
    *line = '\0';
    if (!unit_of(debug_file_dwarf(file), pc, &unit))
        return false;
    Dwarf_Line *found = dwarf_getsrc_die(&unit, pc);
    const char *name = found ? dwarf_linesrc(found, NULL, NULL) : NULL;
    if (!name || !is_system_header(name))
        return false;
    dwarf_lineno(found, &number);
    enum { ROOM = DEBUG_LINE_MAX - 16 };
    size_t length = strlen(name);
    snprintf(line, DEBUG_LINE_MAX, "%s:%d", length < ROOM ? name : name + length - ROOM, number);
    return !author_line(&unit, pc, &ignored);
}

void debug_line(struct debug_file *file, uint64_t pc, char line[DEBUG_LINE_MAX])
{
    Dwarf_Die unit;
    int number = 0;
    *line = '\0';
    Dwarf_Line *found =
        unit_of(debug_file_dwarf(file), pc, &unit) ? dwarf_getsrc_die(&unit, pc) : NULL;
    const char *name = found ? dwarf_linesrc(found, NULL, NULL) : NULL;
    if (!name)
        return;
    dwarf_lineno(found, &number);
    const char *slash = strrchr(name, '/');
    snprintf(line, DEBUG_LINE_MAX, "%.*s:%d", DEBUG_LINE_MAX - 16, slash ? slash + 1 : name,
             number);
}
