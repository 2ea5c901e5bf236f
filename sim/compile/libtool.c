/* Reading libtool's scripts: see libtool.h. */
#include "sim/compile/libtool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What stands between the quotes of NAME="..." in a line, without a closing :$NAME. */
static void path_add(const char *line)
{
    char folders[4096];
    const char *start = strchr(line, '"'), *before = getenv("LD_LIBRARY_PATH");
    size_t length = start ? strcspn(start + 1, "\"$") : 0;
    while (length && start[length] == ':')
        length--;
    int used = snprintf(folders, sizeof folders, "%.*s%s%s", (int)length, start ? start + 1 : "",
                        before && *before ? ":" : "", before ? before : "");
    if (length && used < (int)sizeof folders && (!before || strncmp(before, folders, length)))
        setenv("LD_LIBRARY_PATH", folders, 1);
}

bool libtool_program(const char *path, char program[PATH_MAX])
{
    enum { HEAD_LINES = 8 };
    char line[8192];
    FILE *file = fopen(path, "re");
    bool found = false;
    if (!file || fgetc(file) != '#' || fgetc(file) != '!') {
        if (file)
            fclose(file);
        return false;
    }
    for (int number = 0; fgets(line, sizeof line, file) && (found || number < HEAD_LINES);
         number++) {
        const char *text = line + strspn(line, " \t");
        found = found || strstr(line, "temporary wrapper script for");
        if (found && !strncmp(text, "LD_LIBRARY_PATH=\"", 17))
            path_add(text);
    }
    fclose(file);
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    int used = snprintf(program, PATH_MAX, "%.*s.libs/%s", folder, path, path + folder);
    return found && used < PATH_MAX && !access(program, R_OK);
}
