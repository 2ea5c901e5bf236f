/* The table of system calls that a sandbox looks at, and the seccomp filter made of it. Between
 * sandbox*.c only. */
#ifndef CLI_PROCESSES_SANDBOX_FILTER_H
#define CLI_PROCESSES_SANDBOX_FILTER_H

#include <stdbool.h>

/* What becomes of a call. */
enum sandbox_rule {
    SANDBOX_REFUSED, /* EPERM, and reported */
    SANDBOX_QUIET,   /* EPERM */
    SANDBOX_ABSENT,  /* ENOSYS: the caller knows an older one */
    SANDBOX_PATH_AT, /* changes files: Landlock is asked on behalf of it */
    SANDBOX_OPEN,    /* that, where its flags say so */
    SANDBOX_SELF,    /* refused unless argument 0 is the own process */
    SANDBOX_LIMIT,   /* the same, or 0, and quiet */
    SANDBOX_NETWORK, /* refused but for AF_UNIX, which is quiet */
    SANDBOX_CLONE,   /* threads only */
    SANDBOX_TERMINAL /* quiet where it types into a terminal */
};

struct sandbox_row {
    int number;
    enum sandbox_rule rule;
    int path;         /* the argument that is one, -1: none */
    int flags;        /* the argument with the flags of an open, -1: none */
    const char *what; /* "rename a file" */
};

/* The sixth argument of calls that ask on behalf of the program. No secret: Landlock decides. */
#define SANDBOX_COOKIE 0x5a4d0b07u

const struct sandbox_row *sandbox_row_of(int number);

/* From now on, for the calling thread and those it starts; false: errno. */
bool sandbox_filter(void);

#endif
