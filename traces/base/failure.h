/* A failure of the environment: a status code plus one sentence that names the object (path, rank,
 * line).
 *
 * Built where it is decided, passed on by everyone above, at most prefixed with context. Never used
 * for a wrong program under test: that is a finding (traces/trace/finding.h), which is data. */
#ifndef TRACES_BASE_FAILURE_H
#define TRACES_BASE_FAILURE_H

enum failure_code {
    FAILURE_NONE = 0,
    FAILURE_USAGE = 2, /* the caller's words are wrong; nothing ran */
    FAILURE_INPUT =
        3, /* input unusable: does not compile or load, malformed file, database too new */
    FAILURE_NOTHING = 4,     /* nothing selected */
    FAILURE_INTERNAL = 5,    /* memory, disk, library */
    FAILURE_REQUIREMENT = 77 /* something the scenario needs is absent */
};

struct failure {
    int code; /* an enum failure_code, which is also the exit status of the command */
    char text[504];
};

/* Sets code and sentence; returns code, so that `return failure_set(...)` passes it on. `failure`
 * may be NULL. */
int failure_set(struct failure *failure, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the sentence; returns the code. */
int failure_prefix(struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
