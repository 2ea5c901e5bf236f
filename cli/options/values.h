/* How the values of options are written: words, whole numbers, sizes. */
#ifndef CLI_OPTIONS_VALUES_H
#define CLI_OPTIONS_VALUES_H

#include <stdbool.h>
#include <stddef.h>

/* One sentence on stderr; false. */
bool value_refused(const char *option, const char *value, const char *wanted);
/* Which of the words it is, -1 for none. */
int value_word(const char *value, const char *const *words);
bool value_number(const char *value, unsigned long long *number);
bool value_between(const char *value, int least, int most, int *number);
/* "65536", "64K", "1M", "2G". */
bool value_bytes(const char *value, size_t *bytes);
/* A number of seconds, with fractions; not below `least`. */
bool value_seconds(const char *value, double least, double *seconds);

#endif
