/* Operations of a long run, in the table `pages` in place of rows: what ops, matches, waits and
 * events have of it. See page_code.h. For store*.c. */
#ifndef TRACES_STORE_PAGES_H
#define TRACES_STORE_PAGES_H

#include "traces/store/reader.h"
#include "traces/store/writer.h"

void store_write_pages(struct writer *writer);
/* Whether the run has pages; and its operations with their matches, waits and times. */
bool store_has_pages(struct reader *reader);
void store_read_pages(struct reader *reader);

#endif
