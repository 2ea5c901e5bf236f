/* Command lines as text: words quoted as a POSIX shell reads them, and back. */
#ifndef CLI_OPTIONS_SHELL_WORDS_H
#define CLI_OPTIONS_SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Appends `word` to the line, quoted where it must be; cut where there is no room. */
void shell_word_append(char *line, size_t size, const char *word);
/* Splits `line` in place at blanks outside quotes, quotes removed: no expansions. Returns how many
 * words were stored (the array ends with NULL), -1 for a quote without end or too many words. */
int shell_words_split(char *line, char **words, int room);

#endif
