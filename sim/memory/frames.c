/* The program's frames, by the unwinder that exceptions use: see frames.h. */
#include "sim/memory/frames.h"

#include "sim/libc/hooks.h"
#include "sim/worlds/world.h"

#include <unwind.h>

/* The registers that calls preserve, by DWARF's numbers, and the stack pointer. */
#ifdef __aarch64__
static const int preserved[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
enum { STACK_POINTER = 31 };
#else
static const int preserved[] = {3, 6, 12, 13, 14, 15};
enum { STACK_POINTER = 7 };
#endif

struct walk {
    struct sim_frames *frames;
    bool within; /* the last frame seen is one of the program's */
    int depth;
};

static void keep(struct walk *walk, struct _Unwind_Context *context, uintptr_t stack)
{
    struct sim_frames *frames = walk->frames;
    uintptr_t pc = (uintptr_t)_Unwind_GetIP(context), bias;
    const char *file = sim_libc_file_of((const void *)(pc - 1), &bias);
    walk->within = file;
    if (!file || frames->count == SIM_FRAMES_MAX)
        return;
    struct debug_frame *frame = &frames->frames[frames->count];
    frames->files[frames->count++] = file;
    *frame = (struct debug_frame){.pc = pc, .bias = bias};
    frame->registers[STACK_POINTER] = stack;
    frame->known = 1u << STACK_POINTER;
    for (size_t i = 0; i < sizeof preserved / sizeof *preserved; i++) {
        frame->registers[preserved[i]] = (uintptr_t)_Unwind_GetGR(context, preserved[i]);
        frame->known |= 1u << preserved[i];
    }
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *given)
{
    struct walk *walk = given;
    struct sim_frames *frames = walk->frames;
    uintptr_t stack = (uintptr_t)_Unwind_GetCFA(context);
    bool was_within = walk->within;
    if (was_within)
        frames->frames[frames->count - 1].cfa = stack;
    keep(walk, context, stack);
    bool full = frames->count == SIM_FRAMES_MAX || ++walk->depth == 2 * SIM_FRAMES_MAX;
    return full || (was_within && !walk->within) ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void sim_frames_find(struct sim_frames *frames)
{
    struct walk walk = {.frames = frames};
    frames->count = 0;
    _Unwind_Backtrace(visit, &walk);
    for (int i = 0; i < frames->count; i++) {
        const struct debug_frame *last = &frames->frames[frames->count - 1];
        frames->frames[i].stack_low = frames->frames[0].registers[STACK_POINTER];
        frames->frames[i].stack_high = last->cfa ? last->cfa : last->registers[STACK_POINTER];
    }
}

bool sim_frames_gone(uintptr_t stack_pointer, uintptr_t address)
{
    return address < stack_pointer && sim_rank_stack_holds(address) &&
           sim_rank_stack_holds(stack_pointer);
}
