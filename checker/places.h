/* How findings speak of operations: one wording everywhere, and one finding per place. */
#ifndef CHECKER_PLACES_H
#define CHECKER_PLACES_H

#include "checker/context.h"

enum { PLACE_TEXT = TRACE_SITE_TEXT + 200, PLACES_LISTED_MAX = 12 };

/* "world", its name, or "communicator 3". */
char *check_comm_text(const struct trace *trace, uint32_t comm, char *text, size_t size);
/* "rank 3, Send to 4 tag 7 at ring.c:41"; into `text`, returned. */
char *check_place(const struct trace *trace, uint32_t op, char *text, size_t size);
/* "Send at ring.c:41": free of ranks and numbers, for titles. */
char *check_short_place(const struct trace *trace, uint32_t op, char *text, size_t size);
/* Appends the short place to a list "a, b" unless it is in it or there is no room. */
void check_add_place(const struct trace *trace, uint32_t op, char *list, size_t size);
/* Where matching or completion is left open first: a wildcard, else a channel that two threads of a
 * rank take from, else a test or a wait for one of several, else a lock of a window. TRACE_NO where
 * the trace shows nothing of that kind. */
uint32_t check_first_choice(const struct trace *trace);
/* The finding of this code at this place and kind among findings[first..], or NULL: later ones are
 * added to it. */
struct finding *check_at_place(struct findings *findings, size_t first, const char *code,
                               const struct trace *trace, uint32_t op);

#endif
