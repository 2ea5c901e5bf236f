/* Whether a line of source was written by the program's author, or is in a header of the compiler or the system. */
#ifndef TRACES_BASE_AUTHOR_LINE_H
#define TRACES_BASE_AUTHOR_LINE_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool is_system_header(const char *file)
{
    bool installed = !strncmp(file, "/usr/", 5) || !strncmp(file, "/opt/", 5);
    return installed && strstr(file, "/include/");
}

/* All calls that were inlined around an address of a unit, innermost first, up to the unit. dwarf_getscopes leaves the outer ones out:
 * behind an inlined function it goes on where that was written. */
static inline int inlined_scopes(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes)
{
    Dwarf_Die *innermost = NULL;
    *scopes = NULL;
    int count = dwarf_getscopes(unit, address, &innermost);
    if (count > 0)
        count = dwarf_getscopes_die(innermost, scopes);
    free(innermost);
    return count;
}

/* Where a function of a header of the system was inlined: the line that calls it, in a file that is none. NULL: nobody knows. */
static inline const char *author_line(Dwarf_Die *unit, Dwarf_Addr address, int *line)
{
    Dwarf_Files *files;
    Dwarf_Die *scopes;
    const char *found = NULL;
    if (dwarf_getsrcfiles(unit, &files, NULL))
        return NULL;
    int count = inlined_scopes(unit, address, &scopes);
    for (int i = 0; i < count && !found; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Word file, at;
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine ||
            dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &file) ||
            dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &at))
            continue;
        const char *name = dwarf_filesrc(files, file, NULL, NULL);
        if (name && !is_system_header(name)) {
            found = name;
            *line = (int)at;
        }
    }
    free(scopes);
    return found;
}

#endif
