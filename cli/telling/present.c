/* The result as a person reads it: see present.h. */
#include "cli/telling/present.h"

#include "cli/options/catalogue.h"
#include "cli/processes/terminal.h"
#include "cli/running/first_failure.h"
#include "cli/telling/result.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NARROWEST = 40, USUAL = 80 };

static bool may_be_coloured(void)
{
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && *no_color) && !terminal_is_dumb();
}

/* $COLUMNS, for what is piped. */
static int columns_asked(void)
{
    const char *columns = getenv("COLUMNS");
    char *end;
    long width = columns ? strtol(columns, &end, 10) : 0;
    return width >= NARROWEST && width <= 10000 && !*end ? (int)width : USUAL;
}

void present_init(struct present *present, FILE *out, const char *color)
{
    bool terminal = isatty(fileno(out));
    int columns = terminal ? terminal_columns(fileno(out), 0) : 0;
    present->out = out;
    present->width = columns >= NARROWEST ? columns : columns_asked();
    present->color = color && strcmp(color, "auto") != 0 ? !strcmp(color, "always")
                                                         : terminal && may_be_coloured();
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

/* Text of programs and files goes to terminals: nothing in it may steer one. */
static void print_clean(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        putc((unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i], out);
    putc('\n', out);
}

const char *present_clean(char *room, size_t size, const char *text)
{
    snprintf(room, size, "%s", text);
    for (char *at = room; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = '?';
    return room;
}

/* One paragraph, its first line from column `column` on, the others indented; words longer than a
 * line are not broken. */
static void wrap_paragraph(const struct present *present, int column, int indent, const char *text,
                           size_t length)
{
    int blanks = 0;
    size_t room = (size_t)(present->width > column ? present->width - column : 1);
    while (length) {
        size_t take = length;
        if (take > room) {
            for (take = room; take && text[take] != ' ';)
                take--;
            if (!take)
                for (take = room; take < length && text[take] != ' ';)
                    take++;
        }
        fprintf(present->out, "%*s", blanks, "");
        size_t shown = take;
        while (shown && text[shown - 1] == ' ')
            shown--;
        print_clean(present->out, text, shown);
        blanks = indent;
        room = (size_t)(present->width - indent);
        text += take;
        length -= take;
        while (length && *text == ' ') {
            text++;
            length--;
        }
    }
}

void present_hanging(const struct present *present, int column, int indent, const char *text)
{
    wrap_paragraph(present, column, indent, text, strlen(text));
}

void present_wrapped(const struct present *present, int indent, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length) {
            fprintf(present->out, "%*s", indent, "");
            wrap_paragraph(present, indent, indent, text, length);
        }
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

void present_word(const struct present *present, const char *word, bool good)
{
    fprintf(present->out, "%s%s%s", paint(present, good ? GREEN : RED), word,
            paint(present, PLAIN));
}

static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static void count_gradients(char *text, size_t size, const struct trace *trace)
{
    struct trace_answers answers = {0};
    char said[120];
    for (size_t i = 0; i < trace->gradient_count; i++)
        trace_answers_add(&answers, &trace->gradients[i]);
    trace_answers_text(&answers, "gradients", said, sizeof said);
    if (trace->gradient_count)
        append(text, size, ", %s", said);
}

enum { GAPS_SHOWN = 4 };

static void present_coverage(const struct present *present, const struct result *result)
{
    const struct verdict *verdict = &result->verdict;
    if (result->covered[0]) {
        fprintf(present->out, "  covered: ");
        present_hanging(present, 11, 4, result->covered);
    }
    char words[80];
    char *line = coverage_line(&verdict->coverage, GAPS_SHOWN);
    if (line && *line)
        present_wrapped(present, 2, line);
    free(line);
    if (verdict->passed && verdict->missed)
        fprintf(present->out, "  required and not reached: %s (exit status 6)\n",
                coverage_demands_text(verdict->missed, words, sizeof words));
}

/* It ended by itself, and may have done so for want of threads. */
static bool gave_up_threads(const struct result *result)
{
    const struct findings *findings = &result->verdict.findings;
    bool ended = false;
    for (size_t i = 0; i < findings->count; i++)
        ended = ended || strcmp(findings->items[i].code, "X002") == 0;
    return ended && result->verdict.result.threads_denied &&
           result->job.world.executor != SIM_THREADS;
}

/* What is said beside the word and the name: at most a line of it as a rule. */
void present_verdict(const struct present *present, const struct result *result, bool model)
{
    const struct job_result *run = &result->verdict.result;
    const struct findings *findings = &result->verdict.findings;
    char text[600] = "";
    append(text, sizeof text, "%s, %d rank%s", result->job.name, result->job.world.ranks,
           result->job.world.ranks == 1 ? "" : "s");
    if (model)
        append(text, sizeof text, ", %s", result_model(result));
    if (result->job.world.seed)
        append(text, sizeof text, ", seed %llu", (unsigned long long)result->job.world.seed);
    if (result->file)
        append(text, sizeof text, ": %zu operations", run->trace->op_count);
    else
        append(text, sizeof text, ": %s", outcome_text(run));
    if (run->trace)
        count_gradients(text, sizeof text, run->trace);
    int restarts = run->trace ? cause_restarts(run->trace) : 0;
    if (restarts)
        append(text, sizeof text, " after %d restart%s", restarts, restarts == 1 ? "" : "s");
    if (findings->count)
        append(text, sizeof text, ", %zu finding%s", findings->count,
               findings->count == 1 ? "" : "s");
    else if (!run->trace || !run->trace->gradient_count)
        append(text, sizeof text, ", no findings");
    if (findings->folded)
        append(text, sizeof text, " and %zu consequence%s", findings->folded,
               findings->folded == 1 ? "" : "s");
    double seconds = result_seconds(result);
    if (seconds > 0)
        append(text, sizeof text, seconds < 1 ? " (%.1f ms)" : " (%.1f s)",
               seconds < 1 ? seconds * 1e3 : seconds);
    present_word(present, result_word(result), result->verdict.passed);
    fputc(' ', present->out);
    present_hanging(present, (int)strlen(result_word(result)) + 1, 5, text);
    if (seconds >= 1) {
        stopwatch_text(&result->verdict.watch, text, sizeof text);
        fputs("  time    ", present->out);
        present_hanging(present, 10, 10, text);
    }
    if (run->crash[0])
        present_wrapped(present, 2, run->crash);
    if (!run->trace && !result->verdict.passed && !result->file)
        present_wrapped(present, 2, "nothing was recorded: --record ops says why");
    present_coverage(present, result);
    char cause[CAUSE_TEXT];
    if (cause_text(run->trace, cause, sizeof cause)) {
        fputs("  root cause  ", present->out);
        char *shown = present_short(cause);
        present_hanging(present, 14, 14, shown);
        free(shown);
    }
    if (gave_up_threads(result)) {
        fputs("  threads     ", present->out);
        present_hanging(present, 14, 14,
                        "MPI_Init_thread was asked for more than ranks that are fibers are given; "
                        "--os-threads gives it all levels");
    }
}

/* How bad a row is: what is wrong before what is undecided, before what is right; then NaN, then
 * error by tolerance. */
static double badness(const struct trace_gradient *row)
{
    double ratio = row->tolerance > 0 ? row->error / row->tolerance : row->error > 0;
    if (row->ok)
        return ratio;
    ratio = isnan(ratio) || ratio > 1e9 ? 1e9 : ratio;
    return row->undecided ? 1e20 + 1e5 * ratio : 1e30 + 1e15 * ratio;
}

/* Why a comparison could not be decided. */
static const char *doubt_text(const char *undecided)
{
    static const struct {
        const char *word, *text;
    } texts[] = {
        {"noise", "the rounding of the objective hides the slope"},
        {"kink", "the slope changes with every step: a kink, or a function of a scale that no "
                 "step meets"},
        {"scale", "zero, and nothing tells what would be small"},
        {"unfinished", "near the point the program does not finish, or its objective is not "
                       "finite"},
        {"budget", "it would take too many runs"},
        {"objective", "no loss was given: passes that start from cotangents of the program's own "
                      "do not tell of what (diff_checkpoint; or marks)"},
        {"later", "the loss was computed before this input was made, from its values: what the "
                  "program hands from one pass to the next is a leaf (diff_leaf, or "
                  "diff_checkpoint), no input"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(undecided, texts[i].word))
            return texts[i].text;
    return undecided;
}

/* Sentences on the method of a comparison and where its tolerance comes from. */
static const char *method_text(const char *method)
{
    static const struct {
        const char *method, *text;
    } texts[] = {
        {"central", "central differences; tolerance: change between the best two steps, plus "
                    "rounding"},
        {"one-sided", "one-sided differences at a kink; tolerance: change between the best two "
                      "steps, plus rounding"},
        {"complex", "complex step; tolerance: rounding"},
        {"dot", "adjoint identity <y_bar, y_dot> = <x_bar, x_dot>; tolerance: rounding"},
        {"tangent", "forward mode; tolerance: rounding"},
        {"value", "a known value; tolerance: the program's"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(method, texts[i].method))
            return texts[i].text;
    return method;
}

void present_methods(const struct present *present, const struct trace *trace)
{
    for (size_t i = 0; i < trace->gradient_count; i++) {
        const char *method = trace->gradients[i].method;
        char text[300];
        bool told = false;
        for (size_t k = 0; k < i && !told; k++)
            told = !strcmp(trace->gradients[k].method, method);
        if (told)
            continue;
        snprintf(text, sizeof text, "%s: %s", method, method_text(method));
        present_wrapped(present, 2, text);
    }
}

static void print_variable(const struct present *present, const struct trace *trace, size_t first,
                           bool verbose)
{
    const struct trace_gradient *worst = &trace->gradients[first];
    struct trace_answers answers = {0};
    for (size_t i = first; i < trace->gradient_count; i++) {
        const struct trace_gradient *row = &trace->gradients[i];
        if (row->variable != trace->gradients[first].variable)
            continue;
        trace_answers_add(&answers, row);
        if (badness(row) > badness(worst))
            worst = row;
    }
    const char *name = trace_string(trace, worst->variable);
    char text[512] = "", said[120];
    bool wrong = answers.wrong > 0, ok = !wrong && !answers.undecided;
    const char *word = wrong ? "WRONG" : ok ? "ok" : "undecided";
    trace_answers_text(&answers, "", said, sizeof said);
    append(text, sizeof text, ": %s; worst: rank %u ", said, worst->rank);
    if (worst->index >= 0 && worst->elements > 1)
        append(text, sizeof text, "%s[%lld..%lld]", name, (long long)worst->index,
               (long long)worst->index + worst->elements - 1);
    else if (worst->index >= 0)
        append(text, sizeof text, "%s[%lld]", name, (long long)worst->index);
    else
        append(text, sizeof text, "along a direction");
    append(text, sizeof text, ", error %.1e, tolerance %.1e", worst->error, worst->tolerance);
    fprintf(present->out, "  ");
    present_word(present, word, !wrong);
    fprintf(present->out, " %s", name);
    present_hanging(present, 3 + (int)strlen(word) + (int)strlen(name), 5, text);
    if (worst->undecided)
        present_wrapped(present, 5, doubt_text(worst->undecided));
    if (ok && !verbose)
        return;
    *text = '\0';
    append(text, sizeof text, "computed %.12g, measured %.12g (%s, step %.1e)", worst->analytic,
           worst->numeric, method_text(worst->method), worst->step);
    present_wrapped(present, 5, text);
}

void present_gradients(const struct present *present, const struct trace *trace, bool verbose)
{
    for (size_t i = 0; trace && i < trace->gradient_count; i++) {
        bool told = false;
        for (size_t k = 0; k < i && !told; k++)
            told = trace->gradients[k].variable == trace->gradients[i].variable;
        if (!told)
            print_variable(present, trace, i, verbose);
    }
}

/* Takes every occurrence of a prefix out of a text, in place. */
static void take_out(char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    for (char *at = text; length > 1 && (at = strstr(at, prefix));)
        memmove(at, at + length, strlen(at + length) + 1);
}

char *present_short(const char *text)
{
    char prefix[4200];
    char *copy = strdup(text ? text : "");
    if (!copy)
        abort();
    if (getcwd(prefix, sizeof prefix - 2)) {
        strcat(prefix, "/");
        take_out(copy, prefix);
    }
    const char *folder = catalogue_folder();
    const char *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash) {
        snprintf(prefix, sizeof prefix, "%.*s", (int)(slash - folder + 1), folder);
        take_out(copy, prefix);
    }
    return copy;
}

/* "  cause   text", wrapped; every further line under the first one's text. */
static void print_labelled(const struct present *present, const char *label, const char *text)
{
    if (!text || !*text)
        return;
    char *shown = present_short(text);
    text = shown;
    fprintf(present->out, "  %-7s ", label);
    size_t length = strcspn(text, "\n");
    wrap_paragraph(present, 10, 10, text, length);
    present_wrapped(present, 10, text + length);
    free(shown);
}

/* A command, on one line however long it is: to be copied. */
static void print_command(const struct present *present, const char *label, const char *command)
{
    if (command)
        fprintf(present->out, "  %-7s %s\n", label, command);
}

/* What happened in this run needs no other proof. */
static const char *confirmation_text(enum confirmation confirmation)
{
    switch (confirmation) {
    case CONFIRM_REAL:
        return "confirmed by a real run of the witness";
    case CONFIRM_ABSTRACT:
        return "confirmed on the trace: its witness was replayed without running the program";
    case CONFIRM_REFUTED:
        return "not confirmed: its witness did not reproduce it";
    case CONFIRM_HAPPENED:
    case CONFIRM_NONE:
        break;
    }
    return NULL;
}

void present_consequences(const struct present *present, const struct findings *findings,
                          size_t root, bool all)
{
    size_t count = findings_consequences(findings, root);
    if (!count)
        return;
    fprintf(present->out, "  %-7s %zu more finding%s follow%s from it%s\n", "folded", count,
            count == 1 ? "" : "s", count == 1 ? "s" : "", all ? ":" : " (--verbose lists them)");
    for (size_t i = findings->count; all && i < findings->count + findings->folded; i++) {
        const struct finding *finding = &findings->items[i];
        char line[700];
        if (strcmp(finding->root, findings->items[root].fingerprint) != 0)
            continue;
        snprintf(line, sizeof line, "%s %s", finding->code, finding->title);
        char *shown = present_short(line);
        fprintf(present->out, "%10s", "");
        present_hanging(present, 10, 12, shown);
        free(shown);
    }
}

void present_finding(const struct present *present, const struct trace *trace,
                     const struct finding *finding)
{
    const struct finding_code *code = finding_code(finding->code);
    char title[600];
    snprintf(title, sizeof title, " %s%s: %s%s", code ? code->name : "finding",
             finding->severity == SEVERITY_WARNING ? " (warning)"
             : finding->severity == SEVERITY_NOTE  ? " (note)"
                                                   : "",
             finding->title ? finding->title : "", finding->allowed ? " (allowed)" : "");
    fprintf(present->out, "%s%s%s", paint(present, severity_color(finding->severity)),
            finding->code, paint(present, PLAIN));
    char *shown = present_short(title);
    present_hanging(present, (int)strlen(finding->code), 5, shown);
    free(shown);
    present_places(present, trace, finding);
    print_labelled(present, "cause", finding->detail);
    if (finding->because[0] && !finding->root[0]) {
        snprintf(title, sizeof title, "may follow from %s, which is allowed", finding->because);
        print_labelled(present, "because", title);
    }
    print_labelled(present, "models", finding->models);
    print_labelled(present, "shown", confirmation_text(finding->confirmation));
    print_labelled(present, "repair", finding->repair);
    print_command(present, "replay", present->replay);
    print_command(present, "draw", present->draw);
}
