/* What a process that runs a user's program does not keep of the launcher's: its descriptors, and
 * the right to reach into it. */
#ifndef CLI_PROCESSES_ISOLATE_H
#define CLI_PROCESSES_ISOLATE_H

/* The launcher before it forks and after the child has ended: between them its memory and its
 * descriptors, the database among them, cannot be had through /proc, nor can it be traced. */
void isolate_judge_begin(void);
void isolate_judge_end(void);

/* For the forked child, first of all: it may be looked at and may trace its own children, but not
 * whoever has rights that it has not: the launcher, even where both are root. Nor may it keep more
 * than a gigabyte in memory by mlock. */
void isolate_rights(void);

/* For a forked child before it loads a program: closes what exec would have closed, which is all
 * that the launcher opened (the database, recording memory, pipes), so that no number a program may
 * happen to write to is one of them. `keep` (-1: none) stays open under another, high number, which
 * is returned. */
int isolate_descriptors(int keep);

/* For the same child: when the machine's memory is used up, the kernel ends it before any other
 * process. */
void isolate_memory(void);

#endif
