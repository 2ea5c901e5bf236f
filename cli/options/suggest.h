/* Did you mean: the nearest of some names by edit distance. */
#ifndef CLI_OPTIONS_SUGGEST_H
#define CLI_OPTIONS_SUGGEST_H

/* The name in a list (ends with NULL) that was probably meant, NULL when none is near. */
const char *suggest_name(const char *word, const char *const *names);

#endif
