/* What the program's variables lead to: see reach.h. */
#include "sim/memory/reach.h"

#include "sim/memory/objects.h"
#include "traces/trace/handle_map.h"

#include <stdlib.h>
#include <string.h>

/* Objects that are entered, and pointers that are read. */
enum { PLACES_MAX = 1024, READ_MAX = 16384 };

struct place {
    uintptr_t at;
    const struct debug_type *type;
    size_t count;
};

struct walk {
    struct sim_rank *rank;
    uintptr_t one, other;
    sim_reach_visit *visit;
    void *context;
    struct place *places; /* to be looked at, in the order found */
    size_t count;
    size_t read;
    struct handle_map entered; /* by address */
};

static void add_place(struct walk *walk, uintptr_t at, const struct debug_type *type, size_t count)
{
    if (type && type->points && count && walk->count < PLACES_MAX)
        walk->places[walk->count++] = (struct place){at, type, count};
}

/* Is a pointer of this value one that is looked for, or to an object that nobody has entered? */
static bool matters(const struct walk *walk, uintptr_t value, struct sim_object_found *object)
{
    object->size = 0;
    if (!value || value == walk->one || value == walk->other)
        return value;
    return !handle_map_find(&walk->entered, value) && sim_objects_at(walk->rank, value, object) &&
           !object->recycled;
}

static void meet(struct walk *walk, const char *name, const struct debug_type *type,
                 uintptr_t value, const struct sim_object_found *object)
{
    if (!object->size)
        walk->visit(walk->context, name ? name : "a pointer", type, value);
    else if (type && type->points && handle_map_add(&walk->entered, value, walk))
        add_place(walk, value, type, object->size / type->size);
}

static void look_through(struct walk *walk, const struct place *place)
{
    const struct debug_type *type = place->type;
    struct sim_object_found object;
    for (size_t i = 0; i < place->count && walk->read < READ_MAX; i++)
        for (size_t k = 0; k < type->leaf_count && walk->read < READ_MAX; k++) {
            const struct debug_leaf *leaf = &type->leaves[k];
            uintptr_t at = place->at + i * type->size + leaf->offset;
            for (size_t n = 0; leaf->target && n < leaf->count; n++, at += leaf->size) {
                uintptr_t value;
                memcpy(&value, (const void *)at, sizeof value);
                walk->read++;
                if (matters(walk, value, &object))
                    meet(walk, leaf->name, debug_type_at(type->file, leaf->target), value, &object);
            }
        }
}

static void add_pointer(struct walk *walk, const struct debug_variable *variable, uintptr_t value)
{
    struct sim_object_found object;
    if (matters(walk, value, &object))
        meet(walk, variable->name, variable->type, value, &object);
}

/* `pc` is of the call under way: its end, or just before. */
static void add_frame(struct walk *walk, const struct debug_frame *frame, struct debug_file *file,
                      uintptr_t pc)
{
    const struct debug_scope *scope = debug_variables_at(file, pc - frame->bias);
    for (size_t k = 0; k < scope->count; k++) {
        const struct debug_variable *variable = &scope->variables[k];
        uintptr_t at;
        enum debug_place place =
            debug_evaluate(&variable->place, &variable->frame_base, frame, &at);
        if (place == DEBUG_VALUE && variable->pointer)
            add_pointer(walk, variable, at);
        if (place != DEBUG_MEMORY || variable->moves || at < frame->stack_low ||
            at >= frame->stack_high)
            continue;
        size_t each = variable->pointer ? sizeof(void *) : variable->type->size;
        size_t count = variable->pointer ? 1 : debug_count(variable, frame);
        if (!each || count > (frame->stack_high - at) / each)
            continue;
        if (variable->pointer) {
            memcpy(&at, (const void *)at, sizeof at);
            add_pointer(walk, variable, at);
        } else {
            add_place(walk, at, variable->type, count);
        }
    }
}

static void add_statics(struct walk *walk, struct debug_file *file, uintptr_t bias)
{
    const struct debug_scope *statics = debug_statics(file);
    for (size_t k = 0; k < statics->count; k++) {
        const struct debug_variable *variable = &statics->variables[k];
        uintptr_t at = variable->address + bias;
        if (variable->pointer) {
            memcpy(&at, (const void *)at, sizeof at);
            add_pointer(walk, variable, at);
        } else {
            add_place(walk, at, variable->type, variable->count);
        }
    }
}

void sim_reach(struct sim_rank *rank, const struct sim_frames *frames, uintptr_t one,
               uintptr_t other, sim_reach_visit *visit, void *context)
{
    struct walk walk = {
        .rank = rank, .one = one, .other = other, .visit = visit, .context = context};
    walk.places = malloc(PLACES_MAX * sizeof *walk.places);
    if (!walk.places)
        return;
    for (int i = 0; i < frames->count; i++) {
        struct debug_file *file = debug_file_get(frames->files[i]);
        bool again = i && frames->files[i] == frames->files[i - 1];
        for (unsigned back = 2; file && back > 0; back--)
            add_frame(&walk, &frames->frames[i], file, frames->frames[i].pc - back);
        if (file && !again)
            add_statics(&walk, file, frames->frames[i].bias);
    }
    for (size_t i = 0; i < walk.count && walk.read < READ_MAX; i++) {
        struct place place = walk.places[i];
        look_through(&walk, &place);
    }
    handle_map_release(&walk.entered);
    free(walk.places);
}
