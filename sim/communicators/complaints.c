/* Complaints of collectives: see complaints.h. */
#include "sim/communicators/complaints.h"

#include <stdio.h>
#include <stdlib.h>

struct sim_complaint {
    struct sim_complaint *next;
    const void *call;
    char text[SIM_COMPLAINT_MAX];
};

static struct sim_complaint **find(struct sim_complaint **complaints, const void *call)
{
    struct sim_complaint **link = complaints;
    while (*link && (*link)->call != call)
        link = &(*link)->next;
    return link;
}

void sim_complaint_add(struct sim_complaint **complaints, const void *call, const char *text)
{
    struct sim_complaint **link = find(complaints, call);
    if (!*link)
        *link = calloc(1, sizeof **link);
    if (!*link)
        return; /* the error's class is told all the same */
    (*link)->call = call;
    snprintf((*link)->text, sizeof(*link)->text, "%s", text);
}

bool sim_complaint_take(struct sim_complaint **complaints, const void *call,
                        char text[SIM_COMPLAINT_MAX])
{
    struct sim_complaint **link = find(complaints, call), *found = *link;
    if (!found)
        return false;
    *link = found->next;
    snprintf(text, SIM_COMPLAINT_MAX, "%s", found->text);
    free(found);
    return true;
}

void sim_complaints_drop(struct sim_complaint **complaints)
{
    for (struct sim_complaint *next; *complaints; *complaints = next) {
        next = (*complaints)->next;
        free(*complaints);
    }
}
