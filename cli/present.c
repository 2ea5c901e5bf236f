/* The result as a person reads it: see present.h. */
#include "cli/present.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { NARROWEST = 40, USUAL = 80 };

void present_init(struct present *present, FILE *out, const char *color)
{
    struct winsize size;
    bool terminal = isatty(fileno(out));
    present->out = out;
    present->width = terminal && !ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col >= NARROWEST
                         ? size.ws_col
                         : USUAL;
    const char *no_color = getenv("NO_COLOR");
    present->color = color && !strcmp(color, "always") ? true
                                                       : terminal && !(no_color && *no_color) &&
                                                             !(color && !strcmp(color, "never"));
    present->replay = present->draw = NULL;
}

static const char *paint(const struct present *present, const char *code)
{
    return present->color ? code : "";
}

#define RED    "\033[1;31m"
#define GREEN  "\033[1;32m"
#define YELLOW "\033[1;33m"
#define PLAIN  "\033[0m"

static const char *severity_color(enum severity severity)
{
    return severity == SEVERITY_ERROR ? RED : severity == SEVERITY_WARNING ? YELLOW : PLAIN;
}

/* One paragraph; words longer than a line are not broken. */
static void wrap_paragraph(const struct present *present, int indent, const char *text,
                           size_t length)
{
    size_t room = (size_t)(present->width - indent);
    while (length) {
        size_t take = length;
        if (take > room) {
            for (take = room; take && text[take] != ' ';)
                take--;
            if (!take)
                for (take = room; take < length && text[take] != ' ';)
                    take++;
        }
        fprintf(present->out, "%*s%.*s\n", indent, "", (int)take, text);
        text += take;
        length -= take;
        while (length && *text == ' ') {
            text++;
            length--;
        }
    }
}

void present_wrapped(const struct present *present, int indent, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length)
            wrap_paragraph(present, indent, text, length);
        text += length + (text[length] == '\n');
    }
}

static const char *outcome_text(const struct job_result *result)
{
    switch (result->outcome) {
    case OUTCOME_DEADLOCK:
        return "deadlock";
    case OUTCOME_LIVELOCK:
        return "livelock";
    case OUTCOME_ABORTED:
        return "aborted";
    case OUTCOME_CRASHED:
        return "crashed";
    case OUTCOME_TIMEOUT:
        return "timeout without verdict";
    case OUTCOME_INTERRUPTED:
        return "interrupted";
    case OUTCOME_FINISHED:
    case OUTCOME_IMPORTED:
        break;
    }
    return "finished";
}

static void print_gradients(const struct present *present, const struct trace *trace)
{
    size_t good = 0;
    double worst = 0;
    for (size_t i = 0; trace && i < trace->gradient_count; i++) {
        good += trace->gradients[i].ok;
        worst = trace->gradients[i].relative > worst ? trace->gradients[i].relative : worst;
    }
    if (trace && trace->gradient_count)
        fprintf(present->out, ", %zu of %zu gradients right (worst relative error %.1e)", good,
                trace->gradient_count, worst);
}

void present_verdict(const struct present *present, const struct job *job,
                     const struct job_result *result, const struct findings *findings, bool passed)
{
    fprintf(present->out, "%s%s%s %s, %d rank%s: %s", paint(present, passed ? GREEN : RED),
            passed ? "PASS" : "FAIL", paint(present, PLAIN), job->name, job->world.ranks,
            job->world.ranks == 1 ? "" : "s", outcome_text(result));
    print_gradients(present, result->trace);
    if (findings->count)
        fprintf(present->out, ", %zu finding%s", findings->count, findings->count == 1 ? "" : "s");
    if (result->started_ns && result->ended_ns > result->started_ns)
        fprintf(present->out, " (%.1f ms)", (double)(result->ended_ns - result->started_ns) * 1e-6);
    fputc('\n', present->out);
    if (result->crash[0])
        present_wrapped(present, 2, result->crash);
}

static void print_place(const struct present *present, const struct trace *trace,
                        const struct finding_op *place, const char *label)
{
    char what[160], where[160];
    uint32_t rank;
    if (place->op != TRACE_NO) {
        rank = trace->ops[place->op].rank;
        trace_op_text(trace, place->op, what, sizeof what);
        trace_site_text(trace, trace->ops[place->op].site, where, sizeof where);
    } else if (place->node != TRACE_NO) {
        rank = trace->nodes[place->node].rank;
        snprintf(what, sizeof what, "%s", trace_string(trace, trace->nodes[place->node].name));
        trace_site_text(trace, trace->nodes[place->node].site, where, sizeof where);
    } else {
        return;
    }
    fprintf(present->out, "  %-7s rank %u: %s  %s%s%s%s\n", label, rank, what, where,
            *place->role ? " (" : "", place->role, *place->role ? ")" : "");
}

static void print_labelled(const struct present *present, const char *label, const char *text)
{
    if (!text || !*text)
        return;
    fprintf(present->out, "  %s\n", label);
    present_wrapped(present, 10, text);
}

enum { PLACES_SHOWN = 12 };

void present_finding(const struct present *present, const struct trace *trace,
                     const struct finding *finding, size_t index)
{
    const struct finding_code *code = finding_code(finding->code);
    fprintf(present->out, "%s%s%s %s: %s%s\n", paint(present, severity_color(finding->severity)),
            finding->code, paint(present, PLAIN), code ? code->name : "finding",
            finding->title ? finding->title : "", finding->allowed ? " (allowed)" : "");
    for (size_t i = 0; i < finding->op_count && i < PLACES_SHOWN; i++)
        print_place(present, trace, &finding->ops[i], i ? "" : "where");
    if (finding->op_count > PLACES_SHOWN)
        fprintf(present->out, "          and %zu more\n", finding->op_count - PLACES_SHOWN);
    print_labelled(present, "cause", finding->detail);
    if (finding->models[0])
        fprintf(present->out, "  models  %s\n", finding->models);
    print_labelled(present, "repair", finding->repair);
    if (present->replay)
        fprintf(present->out, "  replay  %s\n", present->replay);
    if (present->draw)
        fprintf(present->out, "  draw    %s --finding %zu -o finding.svg\n", present->draw, index);
}
