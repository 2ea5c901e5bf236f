/* Pieces of HTML that the report's sections share. Not for others. */
#ifndef VIZ_REPORT_PAGE_H
#define VIZ_REPORT_PAGE_H

#include "traces/base/failure.h"
#include "viz/report/run.h"

#include <stdbool.h>
#include <stdio.h>

struct page {
    FILE *file;
    const struct viz_report_run *run;
    char prefix[24]; /* of every id of this run */
    int level;       /* of the run's headings: 2 on its own page, 3 in a session */
    unsigned figures;
};

/* HTML with %-directives whose strings are escaped: only %s, %zu, %u, %d, %g-family and %% with
 * flags. */
void page_put(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_heading(struct page *page, const char *text);
/* The next id prefix for a figure, "r0f3". */
const char *page_figure(struct page *page, char out[40]);
void page_head(FILE *file, const char *title);
void page_tail(FILE *file);
bool page_passed(const struct viz_report_run *run);
const char *page_name(const struct viz_report_run *run);

/* The sections, in the order of the page. */
bool page_findings(struct page *page, struct failure *failure);
void page_gradients(struct page *page);
void page_ranks(struct page *page);
void page_matches(struct page *page);
void page_metrics(struct page *page);
void page_curves(struct page *page); /* part of the metrics */
void page_command(struct page *page);

#endif
