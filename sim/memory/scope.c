/* Blocks of variables: see scope.h. */
#include "sim/memory/scope.h"

#include "sim/debug/variables.h"
#include "sim/libc/hooks.h"
#include "sim/memory/frames.h"

/* Answers that were "no": the same block, asked from the same place of the frame itself. */
enum { KEPT = 256 };
static _Thread_local struct {
    uint64_t block;
    uintptr_t cfa;
    const void *site;
    const char *file;
} going_on[KEPT];

static bool frame_has_left(const struct sim_scope *scope, const struct debug_frame *frame)
{
    debug_lock();
    struct debug_file *file = debug_file_get(scope->file);
    bool left = file && debug_block_left(file, scope->block, frame->pc - 2 - frame->bias);
    debug_unlock();
    return left;
}

bool sim_scope_left(const struct sim_scope *scope)
{
    const void *site = sim_libc_call_site();
    if (!scope->file || !site)
        return false;
    size_t place = (scope->block * 31 + (scope->cfa >> 4) + (uintptr_t)site) % KEPT;
    if (going_on[place].block == scope->block && going_on[place].cfa == scope->cfa &&
        going_on[place].site == site && going_on[place].file == scope->file)
        return false;
    struct sim_frames frames;
    sim_frames_find(&frames);
    for (int i = 0; i < frames.count; i++) {
        if (frames.frames[i].cfa != scope->cfa || frames.files[i] != scope->file)
            continue;
        if (frame_has_left(scope, &frames.frames[i]))
            return true;
        if (i == 0) {
            going_on[place].block = scope->block;
            going_on[place].cfa = scope->cfa;
            going_on[place].site = site;
            going_on[place].file = scope->file;
        }
    }
    return false;
}
