/* What is known of a terminal. */
#ifndef CLI_PROCESSES_TERMINAL_H
#define CLI_PROCESSES_TERMINAL_H

#include <stdbool.h>

/* $TERM says that it understands neither colours nor a line written twice. */
bool terminal_is_dumb(void);
/* The width of the terminal behind a descriptor, `otherwise` where that is none. */
int terminal_columns(int file, int otherwise);

#endif
