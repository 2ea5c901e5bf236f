/* The functions of the program that are under way on the calling stack, innermost first. */
#ifndef SIM_MEMORY_FRAMES_H
#define SIM_MEMORY_FRAMES_H

#include "sim/debug/expression.h"

enum { SIM_FRAMES_MAX = 32 };

struct sim_frames {
    struct debug_frame frames[SIM_FRAMES_MAX];
    const char *files[SIM_FRAMES_MAX]; /* that hold their code */
    int count;
};

void sim_frames_find(struct sim_frames *frames);

/* The place in the program's own source for one that an access returns to: where that is in a header of the system (a template of the
 * library's) or in a library, the innermost call on the way there that is in neither. `within`, unless it is NULL: the place in the
 * header, "" where it is none; it must have room for DEBUG_LINE_MAX. */
const void *sim_frames_own(const void *site, char *within);

/* Whether an address lies on the calling stack below that of the program's function that runs: the
 * function that had a variable there has returned. */
bool sim_frames_gone(uintptr_t stack_pointer, uintptr_t address);

/* Its file and line; "" where nothing tells them. `line` has room for DEBUG_LINE_MAX. */
void sim_frames_line(const void *site, char *line);

/* The frame of the caller, by the frame pointers; NULL where their chain ends. */
static inline void *const *sim_frames_above(void *const *frame)
{
    void *const *next = frame[0];
    bool near = (uintptr_t)next - (uintptr_t)frame <= 16384;
    return near && (uintptr_t)next % sizeof(void *) == 0 ? next : NULL;
}

/* A sum of products over the return addresses from this frame on, at most `count`: who called whom. */
static inline uint64_t sim_frames_key(void *const *frame, const uint64_t *factor, int count)
{
    uint64_t key = 0;
    for (int depth = 0; frame && depth < count; depth++) {
        key += (uintptr_t)frame[1] * factor[depth];
        frame = sim_frames_above(frame);
    }
    return key;
}

/* The stack pointer of the function that called MPI and to which the call returns at `site`; 0: not found. */
static inline uintptr_t sim_frames_stack_of(void *const *frame, const void *site)
{
    enum { DEEPEST = 32 };
    for (int depth = 0; site && frame && depth < DEEPEST; depth++) {
        if (frame[1] == site)
            return (uintptr_t)(frame + 2);
        frame = sim_frames_above(frame);
    }
    return 0;
}

#endif
