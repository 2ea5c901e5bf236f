/* Where a finding's operations are: see present.h. */
#include "cli/telling/present.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_TEXT_MAX = TRACE_SITE_TEXT + 300 };

/* Empty where it names no place. */
static void place_text(const struct trace *trace, const struct finding_op *place,
                       char text[static PLACE_TEXT_MAX])
{
    char what[160], where[TRACE_SITE_TEXT] = "", iteration[48] = "";
    uint32_t rank, site;
    *text = '\0';
    if (place->op != TRACE_NO) {
        rank = trace->ops[place->op].rank;
        trace_op_text(trace, place->op, what, sizeof what);
        site = trace->ops[place->op].form->site;
        uint64_t number = trace_op_iteration(trace, place->op);
        if (number)
            snprintf(iteration, sizeof iteration, "  after %" PRIu64 " like iterations",
                     number - 1);
    } else if (place->node != TRACE_NO) {
        rank = trace->nodes[place->node].rank;
        snprintf(what, sizeof what, "%s", trace_string(trace, trace->nodes[place->node].name));
        site = trace->nodes[place->node].site;
    } else {
        return;
    }
    if (trace_site_known(trace, site))
        trace_site_text(trace, site, where, sizeof where);
    snprintf(text, PLACE_TEXT_MAX, "rank %u: %s%s%s%s%s%s%s", rank, what, *where ? "  " : "", where,
             iteration, *place->role ? " (" : "", place->role, *place->role ? ")" : "");
}

enum { PLACES_SHOWN = 12, PLACES_READ = 4096 };

/* What is one line for several operations is printed once. */
void present_places(const struct present *present, const struct trace *trace,
                    const struct finding *finding)
{
    struct {
        char text[PLACE_TEXT_MAX];
        size_t times;
    } *lines = calloc(PLACES_SHOWN, sizeof *lines);
    size_t count = 0, more = 0;
    for (size_t i = 0; lines && trace && i < finding->op_count; i++) {
        char text[PLACE_TEXT_MAX];
        size_t at = 0;
        *text = '\0';
        if (i < PLACES_READ)
            place_text(trace, &finding->ops[i], text);
        while (at < count && strcmp(lines[at].text, text) != 0)
            at++;
        if (i >= PLACES_READ || at == PLACES_SHOWN) {
            more++;
        } else if (*text) {
            memcpy(lines[at].text, text, sizeof text);
            lines[at].times++;
            count += at == count;
        }
    }
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(lines[i].text);
        if (lines[i].times > 1)
            snprintf(lines[i].text + length, sizeof lines[i].text - length, ", %zu times",
                     lines[i].times);
        char *shown = present_short(lines[i].text);
        fprintf(present->out, "  %-7s ", i ? "" : "where");
        present_hanging(present, 10, 12, shown);
        free(shown);
    }
    if (more)
        fprintf(present->out, "          and %zu more\n", more);
    free(lines);
}
