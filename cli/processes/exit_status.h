/* What a command's exit status says, and which of several is the worst. */
#ifndef CLI_PROCESSES_EXIT_STATUS_H
#define CLI_PROCESSES_EXIT_STATUS_H

/* Exit statuses of every command; findings never leave as anything but 1, ranks' own codes never at
 * all. */
enum {
    EXIT_PASSED = 0,
    EXIT_FINDINGS = 1,
    EXIT_USAGE = 2,
    EXIT_INPUT = 3,
    EXIT_NOTHING = 4,
    EXIT_INTERNAL = 5,
    EXIT_UNCOVERED = 6,
    EXIT_REQUIREMENT = 77,
    EXIT_TIMEOUT = 124,
    EXIT_INTERRUPTED = 130,
    EXIT_TERMINATED = 143
};

/* The worse of two exit statuses, for sessions of several runs: interrupted, internal error,
 * unusable input, findings, timeout, requirement absent, nothing selected, passed. */
int exit_status_worse(int left, int right);

#endif
