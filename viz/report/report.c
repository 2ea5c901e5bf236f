/* The report: one run's page, or a session's. See report.h. */
#include "viz/report/report.h"

#include "viz/charts/schedule.h"
#include "viz/charts/timeline.h"
#include "viz/report/page.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS_IN_FULL = 100 };

struct counts {
    size_t findings, errors, gradients, gradients_ok, gradients_undecided, messages;
    double worst;
};

static struct counts count_run(const struct viz_report_run *run)
{
    struct counts counts = {.worst = 0};
    for (size_t i = 0; run->findings && i < run->findings->count; i++) {
        counts.findings += !run->findings->items[i].allowed;
        counts.errors +=
            run->findings->items[i].severity == SEVERITY_ERROR && !run->findings->items[i].allowed;
    }
    const struct trace *trace = run->trace;
    for (size_t i = 0; trace && i < trace->gradient_count; i++) {
        counts.gradients++;
        counts.gradients_ok += trace->gradients[i].ok;
        counts.gradients_undecided += trace->gradients[i].undecided != NULL;
        if (!(trace->gradients[i].relative <= counts.worst))
            counts.worst = trace->gradients[i].relative;
    }
    for (size_t i = 0; trace && i < trace->op_count; i++)
        counts.messages +=
            op_kind_class(trace->ops[i].kind) == CLASS_SEND && trace->ops[i].match != TRACE_NO;
    return counts;
}

/* 18432 as "18 432", with the thin space that does not break. */
static const char *grouped(size_t number, char out[40])
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%zu", number), at = 0;
    for (size_t i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) {
            memcpy(out + at, "\xE2\x80\xAF", 3);
            at += 3;
        }
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

static void put_tile(FILE *file, const char *class, const char *value, const char *words)
{
    page_put(file, "<li><b class=\"%s\">%s</b> %s</li>\n", class, value, words);
}

static void put_tiles(FILE *file, const struct viz_report_run *run)
{
    struct counts counts = count_run(run);
    char text[80];
    fputs("<ul class=\"tiles\">\n", file);
    put_tile(file, counts.findings ? "bad" : "good", grouped(counts.findings, text),
             counts.findings == 1 ? "finding" : "findings");
    if (counts.gradients) {
        bool right = counts.gradients == counts.gradients_ok;
        snprintf(text, sizeof text, "%zu / %zu", counts.gradients_ok, counts.gradients);
        bool wrong = counts.gradients > counts.gradients_ok + counts.gradients_undecided;
        put_tile(file,
                 right   ? "good"
                 : wrong ? "bad"
                         : "dim",
                 text,
                 counts.gradients_undecided ? "gradients right, some undecided"
                                            : "gradients right");
        snprintf(text, sizeof text, "%.1e", counts.worst);
        put_tile(file, "plain", text, "worst relative error");
    }
    if (run->info->schedules) {
        snprintf(text, sizeof text, "%zu / %zu", run->info->schedules_finished,
                 run->info->schedules);
        put_tile(file, "plain", text, "schedules finished");
    }
    if (run->trace) {
        put_tile(file, "plain", grouped(run->trace->op_count, text), "operations");
        put_tile(file, "plain", grouped(counts.messages, text), "messages");
    }
    if (run->info->seconds > 0) {
        if (run->info->seconds < 0.1)
            snprintf(text, sizeof text, "%.2g ms", 1000 * run->info->seconds);
        else
            snprintf(text, sizeof text, "%.3g s", run->info->seconds);
        put_tile(file, "plain", text, "wall time");
    }
    fputs("</ul>\n", file);
}

static void put_meta(FILE *file, const struct viz_report_run *run)
{
    const struct viz_run_info *info = run->info;
    fputs("<p class=\"dim\">", file);
    if (info->run)
        page_put(file, "%s \xC2\xB7 ", info->run);
    page_put(file, "%u rank%s \xC2\xB7 seed %lu", info->ranks, info->ranks == 1 ? "" : "s",
             (unsigned long)info->seed);
    if (info->model)
        page_put(file, " \xC2\xB7 %s", info->model);
    if (info->version)
        page_put(file, " \xC2\xB7 %s", info->version);
    if (info->started)
        page_put(file, " \xC2\xB7 %s", info->started);
    if (info->replay)
        page_put(file, " \xC2\xB7 replay: <code>%s</code>", info->replay);
    fputs("</p>\n", file);
}

static bool put_timelines(struct page *page, struct failure *failure)
{
    page_heading(page, "Timeline");
    for (int wall = 0; wall <= viz_timeline_has_wall(page->run->trace); wall++) {
        char id[40];
        struct viz_timeline options = {.wall = wall, .prefix = page_figure(page, id)};
        fputs("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Timeline, scrolls "
              "sideways\">\n",
              page->file);
        if (!viz_timeline_write(page->file, page->run->trace, &options, failure))
            return false;
        fputs("</div>\n", page->file);
    }
    return true;
}

/* Only for runs that have one. */
static bool put_schedule(struct page *page, struct failure *failure)
{
    struct viz_block *blocks;
    size_t count;
    char id[40];
    if (!viz_schedule_blocks(page->run->trace, &blocks, &count, failure))
        return false;
    free(blocks);
    if (count == 0)
        return true;
    page_heading(page, "Schedule");
    fputs("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Schedule, scrolls "
          "sideways\">\n",
          page->file);
    bool written =
        viz_schedule_write(page->file, page->run->trace, page_figure(page, id), false, failure);
    fputs("</div>\n", page->file);
    return written;
}

/* What the checks did not look at. */
static void put_coverage(struct page *page)
{
    const struct coverage *coverage =
        page->run->info->coverage ? page->run->info->coverage : trace_coverage(page->run->trace);
    if (!coverage->count)
        return;
    page_heading(page, "Not covered");
    fputs("<ul class=\"coverage\">\n", page->file);
    for (size_t i = 0; i < coverage->count; i++) {
        page_put(page->file, "<li>%s: %s", coverage->gaps[i].check, coverage->gaps[i].text);
        if (coverage->gaps[i].count > 1)
            page_put(page->file, " (%lu times)", (unsigned long)coverage->gaps[i].count);
        fputs("</li>\n", page->file);
    }
    fputs("</ul>\n", page->file);
}

static bool put_run(struct page *page, struct failure *failure)
{
    put_tiles(page->file, page->run);
    put_coverage(page);
    if (!page_findings(page, failure))
        return false;
    if (page->run->trace) {
        page_gradients(page);
        page_ranks(page);
        page_matches(page);
        if (!put_schedule(page, failure) || !put_timelines(page, failure))
            return false;
        page_metrics(page);
    }
    page_command(page);
    return true;
}

static bool put_single(FILE *file, const struct viz_report_run *run, struct failure *failure)
{
    char title[256];
    const char *verdict = run->info->verdict ? run->info->verdict : "";
    struct page page = {.file = file, .run = run, .prefix = "r0", .level = 2};
    snprintf(title, sizeof title, "%s: %.200s", verdict, page_name(run));
    page_head(file, title);
    page_put(file, "<main id=\"main\">\n<h1>%s <span class=\"%s\">%s</span></h1>\n", page_name(run),
             page_passed(run) ? "good" : "bad", verdict);
    put_meta(file, run);
    bool written = put_run(&page, failure);
    fputs("</main>\n", file);
    page_tail(file);
    return written;
}

static void put_codes(FILE *file, const struct findings *findings)
{
    for (size_t i = 0; findings && i < findings->count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(findings->items[i].code, findings->items[k].code) == 0;
        if (!seen)
            page_put(file, "%s%s", i ? " " : "", findings->items[i].code);
    }
}

static void put_session_row(FILE *file, const struct viz_report_run *run, size_t index, bool linked)
{
    struct counts counts = count_run(run);
    bool passed = page_passed(run);
    page_put(file, "<tr><td class=\"%s\">%s</td><td>", passed ? "good" : "bad",
             run->info->verdict ? run->info->verdict : "");
    if (linked)
        page_put(file, "<a href=\"#run%zu\">%s</a>", index, page_name(run));
    else
        page_put(file, "%s", page_name(run));
    page_put(file, "</td><td class=\"n\">%u</td><td>%s</td><td>", run->info->ranks,
             run->info->model ? run->info->model : "");
    put_codes(file, run->findings);
    fputs("</td><td class=\"n\">", file);
    if (counts.gradients)
        page_put(file, "%zu/%zu", counts.gradients_ok, counts.gradients);
    fputs("</td><td class=\"n\">", file);
    if (counts.gradients)
        page_put(file, "%.1e", counts.worst);
    page_put(file, "</td><td class=\"n\">%.3g</td></tr>\n", run->info->seconds);
}

static void put_session_table(FILE *file, const struct viz_report_run *runs, size_t count,
                              const bool *linked)
{
    fputs("<h2>Runs</h2>\n<div class=\"wide\" role=\"region\" tabindex=\"0\" "
          "aria-label=\"Runs\">\n<table>"
          "<caption>What failed first, then what passed</caption><thead><tr><th "
          "scope=\"col\">verdict</th>"
          "<th scope=\"col\">scenario</th><th scope=\"col\" class=\"n\">ranks</th><th "
          "scope=\"col\">model</th>"
          "<th scope=\"col\">findings</th><th scope=\"col\" class=\"n\">gradients</th>"
          "<th scope=\"col\" class=\"n\">worst error</th><th scope=\"col\" "
          "class=\"n\">seconds</th></tr></thead><tbody>\n",
          file);
    for (int passed = 0; passed < 2; passed++)
        for (size_t i = 0; i < count; i++)
            if (page_passed(&runs[i]) == passed)
                put_session_row(file, &runs[i], i, linked[i]);
    fputs("</tbody></table></div>\n", file);
}

static bool put_session_runs(FILE *file, const struct viz_report_run *runs, size_t count,
                             const bool *linked, struct failure *failure)
{
    fputs("<h2>Each run</h2>\n", file);
    for (int passed = 0; passed < 2; passed++)
        for (size_t i = 0; i < count; i++) {
            if (page_passed(&runs[i]) != passed || !linked[i])
                continue;
            struct page page = {.file = file, .run = &runs[i], .level = 3};
            snprintf(page.prefix, sizeof page.prefix, "r%zu", i);
            page_put(
                file,
                "<details id=\"run%zu\"%s><summary>%s <span class=\"%s\">%s</span></summary>\n", i,
                passed ? "" : " open", page_name(&runs[i]), passed ? "good" : "bad",
                runs[i].info->verdict ? runs[i].info->verdict : "");
            put_meta(file, &runs[i]);
            if (!put_run(&page, failure))
                return false;
            fputs("</details>\n", file);
        }
    return true;
}

static bool put_session(FILE *file, const struct viz_report_run *runs, size_t count,
                        struct failure *failure)
{
    size_t passed = 0, full = 0;
    double seconds = 0;
    bool *linked = calloc(count ? count : 1, sizeof *linked);
    if (!linked) {
        failure_set(failure, FAILURE_INTERNAL, "out of memory for a report of %zu runs", count);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        passed += page_passed(&runs[i]);
        seconds += runs[i].info->seconds;
    }
    for (int good = 0; good < 2; good++) /* failures have the first claim to the room */
        for (size_t i = 0; i < count && full < RUNS_IN_FULL; i++)
            if (page_passed(&runs[i]) == good && runs[i].trace) {
                linked[i] = true;
                full++;
            }
    char title[120], text[80];
    bool good = passed == count;
    snprintf(title, sizeof title, "%s: %zu of %zu runs passed", good ? "PASS" : "FAIL", passed,
             count);
    page_head(file, title);
    page_put(file,
             "<main id=\"main\">\n<h1>Session of %zu runs <span class=\"%s\">%s</span></h1>\n",
             count, good ? "good" : "bad", good ? "PASS" : "FAIL");
    fputs("<ul class=\"tiles\">\n", file);
    snprintf(text, sizeof text, "%zu / %zu", passed, count);
    put_tile(file, good ? "good" : "bad", text, "runs passed");
    put_tile(file, count - passed ? "bad" : "good", grouped(count - passed, text), "runs failed");
    snprintf(text, sizeof text, "%.3g s", seconds);
    put_tile(file, "plain", text, "wall time of all runs");
    fputs("</ul>\n", file);
    put_session_table(file, runs, count, linked);
    bool written = put_session_runs(file, runs, count, linked, failure);
    fputs("</main>\n", file);
    page_tail(file);
    free(linked);
    return written;
}

bool viz_report_write(FILE *file, const struct viz_report_run *runs, size_t count,
                      struct failure *failure)
{
    bool written =
        count == 1 ? put_single(file, &runs[0], failure) : put_session(file, runs, count, failure);
    if (written && ferror(file)) {
        failure_set(failure, FAILURE_INTERNAL, "the report could not be written");
        return false;
    }
    return written;
}
