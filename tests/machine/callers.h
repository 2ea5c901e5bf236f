/* Calls through code of the program's own and of headers of the system: see callers.c. */
#ifndef TESTS_MACHINE_CALLERS_H
#define TESTS_MACHINE_CALLERS_H

enum { CALLERS_MAX = 12 };

struct callers {
    const char
        *kinds; /* of each function, outermost first: o its own, h a header's, b its own without
                               debug information, l one that has libc call the question */
    void *sites[CALLERS_MAX + 2]; /* what each returns to; the last: what the question returns to */
    void (*ask)(struct callers *callers);
    void (*next[4])(struct callers *callers, int depth); /* by kind */
};

void callers_own(struct callers *callers, int depth);
void callers_header(struct callers *callers, int depth);
void callers_bare(struct callers *callers, int depth);
void callers_sorts(struct callers *callers, int depth);
/* The line of callers_own, all of which is one. */
extern const int callers_own_line;
/* What libc calls. */
extern int (*callers_compare)(const void *, const void *);

#endif
