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

#endif
