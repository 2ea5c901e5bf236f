/* Where findings stand: see told.h. */
#include "sim/worlds/told.h"

#include "recorder/recorder.h"

#include <stddef.h>

static _Thread_local const void *lone_call;

void sim_told_set(const void *site)
{
    lone_call = site;
}

const void *sim_told_site(void)
{
    return lone_call;
}

void sim_told_note(const char *code, const char *text)
{
    record_note_of(lone_call ? 0 : record_position(), lone_call, code, text);
}
