/* Large arrays in huge pages, also those of programs and libraries that others built, and our own: they are touched at a fraction of the
 * faults, and found by fewer look-ups. */
#ifndef CLI_PROCESSES_HUGE_PAGES_H
#define CLI_PROCESSES_HUGE_PAGES_H

/* Where the system gives huge pages to those that ask, this process begins again with glibc told to ask. What of that is in the
 * environment is gone when it returns. To be called before anything else is begun. */
void huge_pages_ask(char **argv);

#endif
