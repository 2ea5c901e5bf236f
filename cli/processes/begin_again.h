/* What libraries read of the environment once, before main(): it is set, and the process begins again.
 *
 * - glibc is told to ask for huge pages, where the system gives them to those that ask. Large arrays, also those of programs and libraries
 *   that others built, and our own, are touched at a fraction of the faults, and found by fewer look-ups.
 * - Threads of OpenMP that wait for work look for it for some 0.1 ms, and then sleep. Without this they look for 10 ms or more, which
 *   those pay who wait for a processor: other ranks, and other programs. */
#ifndef CLI_PROCESSES_BEGIN_AGAIN_H
#define CLI_PROCESSES_BEGIN_AGAIN_H

/* What is set is gone from the environment when this returns; what the user has set stays, and counts. To be called before anything
 * else is begun. */
void begin_again(char **argv);

#endif
