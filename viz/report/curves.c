/* Curves and histograms from a run's metrics, for its report: see charts/metric_plots.h. */
#include "viz/report/page.h"

#include "viz/charts/metric_plots.h"

enum { PLOTS_MOST = 8 };

void page_curves(struct page *page)
{
    struct metric_plots *plots = metric_plots_new(page->run->trace);
    size_t count = plots ? metric_plots_count(plots) : 0;
    if (count)
        fputs("<div class=\"plots\">\n", page->file);
    for (size_t i = 0; i < count && i < PLOTS_MOST; i++) {
        char id[40];
        metric_plots_write(plots, i, page->file, AXES_AUTO, page_figure(page, id));
    }
    if (count)
        fputs("</div>\n", page->file);
    if (count > PLOTS_MOST)
        page_put(page->file,
                 "<p class=\"dim\">%u more: <code>simrun graph --view metrics -o metrics.svg"
                 "</code></p>\n",
                 (unsigned)(count - PLOTS_MOST));
    metric_plots_free(plots);
}
