/* The frame of a report: head, style, small helpers. See page.h.
 *
 * The policy forbids everything but inline styles; headings, tables and details carry the
 * structure, so that a screen reader and a keyboard find their way without a script. */
#include "viz/report/page.h"

#include "viz/paper/escape.h"
#include "viz/paper/svg.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Formats one directive with vfprintf's own help: the strings are the only ones that need escaping.
 */
void page_put(FILE *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    for (const char *at = format; *at; at++) {
        if (*at != '%') {
            fputc(*at, file);
            continue;
        }
        char directive[16] = "%";
        size_t length = 1;
        for (at++; *at && strchr("0123456789.-+ l", *at) && length < sizeof directive - 3; at++)
            directive[length++] = *at;
        bool size = *at == 'z';
        if (size)
            at++;
        bool is_long = length > 1 && directive[length - 1] == 'l';
        if (size)
            directive[length++] = 'z';
        directive[length] = *at;
        switch (*at) {
        case 's':
            viz_escape_html(file, va_arg(arguments, const char *));
            break;
        case 'u':
            if (size)
                fprintf(file, "%zu", va_arg(arguments, size_t));
            else if (is_long)
                fprintf(file, "%lu", va_arg(arguments, unsigned long));
            else
                fprintf(file, "%u", va_arg(arguments, unsigned));
            break;
        case 'd':
            if (is_long)
                fprintf(file, "%ld", va_arg(arguments, long));
            else
                fprintf(file, "%d", va_arg(arguments, int));
            break;
        case 'e':
        case 'f':
        case 'g': {
            char number[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(number, sizeof number, directive, va_arg(arguments, double));
#pragma GCC diagnostic pop
            fputs(number, file);
            break;
        }
        default: /* "%%" */
            fputc('%', file);
            break;
        }
    }
    va_end(arguments);
}

void page_heading(struct page *page, const char *text)
{
    page_put(page->file, "<h%d>%s</h%d>\n", page->level, text, page->level);
}

const char *page_figure(struct page *page, char out[40])
{
    snprintf(out, 40, "%sf%u", page->prefix, page->figures++);
    return out;
}

bool page_passed(const struct viz_report_run *run)
{
    return run->info->verdict &&
           (strcmp(run->info->verdict, "PASS") == 0 || strcmp(run->info->verdict, "PROVEN") == 0);
}

const char *page_name(const struct viz_report_run *run)
{
    if (run->info->scenario && *run->info->scenario)
        return run->info->scenario;
    return run->trace && *run->trace->program ? run->trace->program : "run";
}

static const char style[] =
    ":root{color-scheme:light "
    "dark;--bg:#fff;--card:#f6f7f9;--rule:#d4d8de;--text:#1b1f24;--dim:#57606a;--bad:#b23a00;"
    "--good:#00694d;--link:#0a58a6}\n"
    "@media screen and "
    "(prefers-color-scheme:dark){:root{--bg:#14171c;--card:#1c2027;--rule:#3b424d;--text:#e9e9e9;"
    "--dim:#b4bac3;--bad:#ffa066;--good:#4fd0a5;--link:#7db7ff}}\n"
    "*{box-sizing:border-box}html{background:var(--bg)}\n"
    "body{margin:0 auto;max-width:1180px;padding:24px 30px "
    "60px;background:var(--bg);color:var(--text);"
    "font:15px/1.5 'DejaVu Sans',Verdana,system-ui,sans-serif}\n"
    "h1{font-size:1.6rem;line-height:1.25;margin:.2em 0 .4em;overflow-wrap:anywhere}"
    "h2{font-size:1.15rem;margin:2em 0 .6em;padding-bottom:.3em;border-bottom:1px solid "
    "var(--rule)}"
    "h3{font-size:1.02rem;margin:1.4em 0 .5em}\n"
    ".bad{color:var(--bad);font-weight:bold}.good{color:var(--good);font-weight:bold}.dim{color:"
    "var(--dim)}\n"
    "code,pre{font:13px/1.45 'DejaVu Sans Mono',ui-monospace,monospace}code{overflow-wrap:anywhere}"
    "pre{overflow:auto;background:var(--bg);border:1px solid "
    "var(--rule);border-radius:6px;padding:10px;margin:.5em 0}\n"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:"
    "1.2em 0;padding:0;list-style:none}"
    ".tiles li{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:12px}"
    ".tiles b{display:block;font-size:1.35rem;line-height:1.3}\n"
    "details{background:var(--card);border:1px solid var(--rule);border-radius:8px;margin:10px "
    "0;padding:0 12px}"
    "details[open]{padding-bottom:12px}summary{cursor:pointer;margin:0 -12px;padding:8px "
    "12px;font-weight:bold;overflow-wrap:anywhere}"
    "\n"
    "a{color:var(--link)}:focus-visible{outline:3px solid var(--link);outline-offset:2px}\n"
    ".wide{overflow:auto;border:1px solid "
    "var(--rule);border-radius:8px;background:var(--bg);margin:10px 0;padding:4px}"
    ".wide>svg{display:block}\n"
    ".plots{display:flex;flex-wrap:wrap;gap:12px}.plots>*{max-width:100%}.plots svg{height:auto}\n"
    "table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:5px "
    "10px 5px 6px;"
    "border-bottom:1px solid "
    "var(--rule);vertical-align:top}th{font-weight:bold;background:var(--card)}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}caption{text-align:left;color:"
    "var(--dim);padding:4px 0}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 14px;margin:.6em "
    "0}dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}\n"
    ".skip{position:absolute;left:-999px}.skip:focus{left:8px;top:8px;background:var(--bg);padding:"
    "6px}\n"
    "@media(max-width:600px){body{padding:14px 12px "
    "40px}dl{grid-template-columns:1fr}dt{margin-top:.4em}"
    "h1{font-size:1.3rem}.tiles{grid-template-columns:repeat(2,1fr)}}\n"
    "@media "
    "print{body{max-width:none;padding:0;font-size:11px}details{border-color:#"
    "999}details::details-content{content-visibility:visible;block-size:auto}svg,tr,.tiles"
    "{break-inside:avoid}code,pre{font-size:10px}table{font-size:10px}.plots svg{max-width:48%}"
    ".wide{overflow:visible;border:0}.wide>svg{max-width:100%;height:auto}h2,h3{break-after:avoid}"
    "a{color:inherit;text-decoration:none}.skip{display:none}}\n";

void page_head(FILE *file, const char *title)
{
    page_put(file,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
             "'unsafe-inline'; "
             "base-uri 'none'; form-action 'none'\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"referrer\" content=\"no-referrer\">\n<title>%s</title>\n<style>\n",
             title);
    fputs(style, file);
    svg_style(file);
    fputs("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the findings</a>\n",
          file);
}

void page_tail(FILE *file)
{
    fputs("<footer><p class=\"dim\">The objective is the sum over ranks of the ranks' own "
          "objectives, every rank's copy of a "
          "value being a separate variable. Each gradient is the derivative of that "
          "sum.</p></footer>\n"
          "</body>\n</html>\n",
          file);
}
