/* Text from traces, made safe for pictures: DOT, SVG and HTML.
 *
 * Names in a trace come from programs, files and other people's clusters. Everything that reaches a
 * picture goes through here: invalid UTF-8, control bytes, surrogates, non-characters and the
 * characters that turn the direction of writing become U+FFFD, so that no reader of the result can
 * be upset or misled by them; line ends and tabs become spaces. None of this can fail; NULL is "".
 */
#ifndef VIZ_PAPER_ESCAPE_H
#define VIZ_PAPER_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { VIZ_LABEL_CHARACTERS = 40 };

/* The next safe code point of *text, which moves past it; 0 at the end. Never reads past the NUL.
 */
unsigned viz_text_next(const char **text);

/* Copies at most `characters` characters (0: as many as fit) as valid UTF-8; a cut text ends in an
 * ellipsis. Reads no more of `text` than it needs. Returns `out`. */
char *viz_text_cut(char *out, size_t size, const char *text, size_t characters);

/* Text or attribute value of HTML and SVG. */
void viz_escape_html(FILE *file, const char *text);
/* Inside an HTML-like label of DOT. Graphviz substitutes backslash escapes there even when they are
 * written as entities, so a backslash becomes U+2216, which looks the same. */
void viz_escape_dot_label(FILE *file, const char *text);
/* Inside a quoted attribute of DOT. */
void viz_escape_dot_quoted(FILE *file, const char *text);
/* Inside a JSON string. */
void viz_escape_json(FILE *file, const char *text);

/* Width of `text` in DejaVu Sans at this size, in points; a few percent generous. */
double viz_text_width(const char *text, double points, bool bold);

#endif
