/* The rank's state: see state.h. */
#include "collectives/tape/state.h"

#include "collectives/experiment/mutant.h"
#include "collectives/experiment/rows.h"
#include "collectives/tape/node.h"
#include "recorder/recorder.h"

#include <assert.h>
#include <mpix.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int order_from_environment(void)
{
    const char *text = getenv("SIMRUN_ORDER");
    if (text && strcmp(text, "program") == 0)
        return DIFF_ORDER_PROGRAM;
    if (text && strcmp(text, "data") == 0)
        return DIFF_ORDER_DATA;
    return -1;
}

/* A perturbed world has the settings of its base world. */
static void settings_read(struct diff_state *state, const struct diff_probe *probe)
{
    int rank = MPIX_World_rank();
    const struct diff_state *before = probe && probe->base && rank >= 0 && rank < probe->ranks
                                          ? probe->base->rows[rank].state
                                          : NULL;
    state->order_override = before ? before->order_override : order_from_environment();
    state->mutant = before ? before->mutant : diff_mutant_number(getenv("SIMRUN_MUTANT"));
}

static void probe_attach(struct diff_state *state, struct diff_probe *probe)
{
    int rank = MPIX_World_rank();
    if (!probe || rank < 0 || rank >= probe->ranks)
        return;
    state->probe = probe;
    state->row = &probe->rows[rank];
    state->row->state = state;
    if (probe->order >= 0)
        state->order_override = probe->order;
    if (probe->mutant)
        state->mutant = diff_mutant_number(probe->mutant);
}

struct diff_state *state_get(void)
{
    void **slots = MPIX_Rank_slots();
    if (!slots) {
        fprintf(stderr, "diff: called outside a rank\n");
        abort();
    }
    if (slots[MPIX_SLOT_DIFF])
        return slots[MPIX_SLOT_DIFF];
    struct diff_state *state = calloc(1, sizeof *state);
    if (!state)
        MPIX_Fail("X002", "the differentiable library ran out of memory");
    slots[MPIX_SLOT_DIFF] = state;
    state->recorded = record_active();
    state->epochs = 1; /* 0 is that of the marks */
    settings_read(state, slots[MPIX_SLOT_PROBE]);
    probe_attach(state, slots[MPIX_SLOT_PROBE]);
    return state;
}

void *state_system_find(const char *name)
{
    for (struct diff_system *system = state_get()->systems; system; system = system->next)
        if (strcmp(system->name, name) == 0)
            return system->state;
    return NULL;
}

void *state_system(const char *name, size_t size, void (*release)(void *state))
{
    struct diff_state *state = state_get();
    void *found = state_system_find(name);
    if (found)
        return found;
    struct diff_system *system = malloc(sizeof *system);
    void *kept = calloc(1, size);
    if (!system || !kept) {
        free(system);
        free(kept);
        state_fail(state, "X002", "%s ran out of memory", name);
    }
    *system = (struct diff_system){state->systems, name, kept, release};
    state->systems = system;
    return kept;
}

void state_enter(struct diff_state *state, const void *site)
{
    state_enter_function(state, site, NULL);
}

void state_enter_function(struct diff_state *state, const void *site, const char *function)
{
    if (state->depth++ > 0)
        return;
    state->site = site;
    state->function = function;
    if (state->recorded) {
        state->entered = record_position();
        state->off_tape = false;
        record_site_enter(site);
    }
}

/* What was called since the public call began is an operation's on a tape, or a pass's. */
static void calls_keep(struct diff_state *state)
{
    struct diff_probe_rank *row = state->row;
    uint32_t from = state->entered, to = record_position();
    if (to <= from)
        return;
    if (row->calls_count > 0 && row->calls[row->calls_count - 1].to == from) {
        row->calls[row->calls_count - 1].to = to;
        return;
    }
    if (row->calls_count == row->calls_room) {
        row->calls_room = row->calls_room ? 2 * row->calls_room : 64;
        row->calls = realloc(row->calls, row->calls_room * sizeof *row->calls);
        if (!row->calls)
            state_fail(state, "X002", "the differentiable library ran out of memory");
    }
    row->calls[row->calls_count++] = (struct probe_calls){from, to};
}

void state_leave(struct diff_state *state)
{
    assert(state->depth > 0);
    if (--state->depth > 0 || !state->recorded)
        return;
    record_site_leave();
    if (state->row && !state->off_tape)
        calls_keep(state);
}

_Noreturn void state_fail(struct diff_state *state, const char *code, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (state->depth == 0)
        record_site_enter(state->site);
    MPIX_Fail(code, text);
    abort(); /* MPIX_Fail does not return */
}

void state_tape_release(struct diff_tape *tape)
{
    arena_release(&tape->arena);
    arena_release(&tape->fixed);
    free(tape->keys);
    free(tape);
}

void diff_state_release(void *slot)
{
    struct diff_state *state = slot;
    if (!state)
        return;
    while (state->systems) {
        struct diff_system *system = state->systems;
        state->systems = system->next;
        if (system->release)
            system->release(system->state);
        free(system->state);
        free(system);
    }
    while (state->tapes) {
        struct diff_tape *tape = state->tapes;
        state->tapes = tape->next;
        state_tape_release(tape);
    }
    while (state->user_ops) {
        struct diff_user_op *op = state->user_ops;
        state->user_ops = op->next;
        free(op);
    }
    free(state);
}
