/* The findings of a run in its report: cause, place, picture, replay, repair. */
#include "viz/report/page.h"

#include "viz/lanes/graph.h"
#include "viz/paper/escape.h"

#include <string.h>

enum { PICTURES = 12, MARKS = 120 }; /* a page shows what a finding is about, not all around it */

static const char *severity_name(enum severity severity)
{
    return severity == SEVERITY_ERROR ? "error" : severity == SEVERITY_WARNING ? "warning" : "note";
}

static const char *confirmation_text(enum confirmation confirmation)
{
    switch (confirmation) {
    case CONFIRM_HAPPENED:
        return "it happened in this run";
    case CONFIRM_ABSTRACT:
        return "its witness was replayed on the trace";
    case CONFIRM_REAL:
        return "its witness was replayed by running the program";
    case CONFIRM_REFUTED:
        return "its witness did not reproduce it";
    case CONFIRM_NONE:
        break;
    }
    return NULL;
}

static void put_row(FILE *file, const char *name, const char *value)
{
    if (value && *value)
        page_put(file, "<dt>%s</dt><dd>%s</dd>\n", name, value);
}

static void put_code_row(FILE *file, const char *name, const char *value)
{
    if (value && *value)
        page_put(file, "<dt>%s</dt><dd><code>%s</code></dd>\n", name, value);
}

/* Paragraphs at line ends: the escaper would make one line of them. */
static void put_paragraphs(FILE *file, const char *text)
{
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        if (length) {
            char line[4096];
            snprintf(line, sizeof line, "%.*s",
                     (int)(length < sizeof line ? length : sizeof line - 1), text);
            page_put(file, "<p>%s</p>\n", line);
        }
        text += length + (text[length] != '\0');
    }
}

static void put_preformatted(FILE *file, const char *text)
{
    fputs("<pre tabindex=\"0\">", file);
    for (; *text; text += *text == '\n') {
        char line[2048];
        size_t length = strcspn(text, "\n"), part = length < sizeof line ? length : sizeof line - 1;
        memcpy(line, text, part);
        line[part] = '\0';
        viz_escape_html(file, line);
        if (text[length] == '\n')
            fputc('\n', file);
        text += length;
    }
    fputs("</pre>\n", file);
}

static bool put_picture(struct page *page, int finding, struct failure *failure)
{
    char id[40];
    struct viz_options options = viz_options_default();
    options.finding = finding;
    options.limit = MARKS;
    options.name = page->run->info->scenario;
    options.run = page->run->info->run;
    options.prefix = page_figure(page, id);
    fputs("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Picture, scrolls "
          "sideways\">\n",
          page->file);
    bool written =
        viz_graph_write_svg(page->file, page->run->trace, page->run->findings, &options, failure);
    fputs("</div>\n", page->file);
    return written;
}

static void put_facts(struct page *page, const struct finding *finding, size_t number)
{
    const struct viz_run_info *info = page->run->info;
    FILE *file = page->file;
    const struct finding_code *code = finding_code(finding->code);
    char site[TRACE_SITE_TEXT] = "", replay[4800];
    fputs("<dl>\n", file);
    if (page->run->trace && trace_site_known(page->run->trace, finding->site))
        put_code_row(file, "place",
                     trace_site_text(page->run->trace, finding->site, site, sizeof site));
    put_row(file, "severity", severity_name(finding->severity));
    put_row(file, "confirmed", confirmation_text(finding->confirmation));
    put_row(file, "occurs under", finding->models);
    if (finding->inherited)
        put_row(file, "inherited", "the forward pass has the same fault");
    if (finding->allowed)
        put_row(file, "allowed", "named by --allow: known, does not fail the run");
    put_row(file, "meaning", code ? code->meaning : NULL);
    put_row(file, "repair", finding->repair ? finding->repair : code ? code->remedy : NULL);
    put_code_row(file, "replay",
                 info->replay ? finding_replay(finding, number, info->replay, info->run, replay,
                                               sizeof replay)
                              : NULL);
    put_code_row(file, "draw", page->run->info->draw);
    put_code_row(file, "fingerprint", finding->fingerprint);
    fputs("</dl>\n", file);
}

static bool put_finding(struct page *page, size_t index, struct failure *failure)
{
    FILE *file = page->file;
    const struct finding *finding = &page->run->findings->items[index];
    const struct finding_code *code = finding_code(finding->code);
    bool open = finding->severity == SEVERITY_ERROR && index < PICTURES && !finding->allowed;
    page_put(file,
             "<details%s class=\"finding\"><summary><span class=\"%s\">%s %s</span> %s</summary>\n",
             open ? " open" : "",
             finding->severity == SEVERITY_NOTE || finding->allowed ? "dim" : "bad", finding->code,
             code ? code->name : "", finding->title ? finding->title : "");
    put_paragraphs(file, finding->detail);
    bool written = true;
    if (index < PICTURES && page->run->trace && (finding->op_count || finding->code[0] == 'G'))
        written = put_picture(page, (int)index, failure);
    put_facts(page, finding, index + 1);
    if (finding->witness && *finding->witness) {
        fputs("<details><summary>Witness schedule</summary>\n", file);
        put_preformatted(file, finding->witness);
        fputs("</details>\n", file);
    }
    fputs("</details>\n", file);
    return written;
}

bool page_findings(struct page *page, struct failure *failure)
{
    size_t count = page->run->findings ? page->run->findings->count : 0;
    page_heading(page, "Findings");
    if (count == 0)
        fputs("<p class=\"good\">None.</p>\n", page->file);
    bool written = true;
    for (size_t i = 0; i < count && written; i++)
        written = put_finding(page, i, failure);
    if (count == 0 && page->run->trace &&
        page->run->trace->op_count + page->run->trace->node_count > 0)
        written = put_picture(page, -1, failure);
    return written;
}
