/* What is known of a terminal: see terminal.h. */
#include "cli/processes/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

bool terminal_is_dumb(void)
{
    const char *terminal = getenv("TERM");
    return terminal && !strcmp(terminal, "dumb");
}

int terminal_columns(int file, int otherwise)
{
    struct winsize size;
    return ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}
