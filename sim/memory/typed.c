/* Buffers against variables: see typed.h. */
#include "sim/memory/typed.h"

#include "sim/debug/variables.h"
#include "sim/libc/hooks.h"
#include "sim/memory/frames.h"
#include "sim/memory/match.h"
#include "sim/memory/objects.h"
#include "sim/memory/reach.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/told.h"

#include <dwarf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Frames in which a pointer to an allocated object is looked for. */
enum { POINTER_FRAMES = 4 };

struct look {
    const struct sim_region *region;
    struct sim_hull hull;
    const char *name, *verb;
    struct sim_frames frames;
    int argument; /* the buffer's place in the call of the innermost frame; -1: not known */
    /* What does not fit, as long as nothing does. */
    bool fits, misfits;
    bool by_count;          /* what fits might not, were it fewer elements */
    bool bounded;           /* where its variable or object ends is known */
    bool told;              /* some file that it is looked for in has debug information */
    bool lenient;           /* what does not fit is none of its variables */
    struct sim_scope scope; /* of the variable that fits */
    struct debug_variable variable;
    bool of_pointer; /* the buffer is where a pointer lies */
    uintptr_t start;
    size_t beyond;
    size_t pointed_to; /* bytes from where a pointer leads to the end of its object */
    struct sim_mismatch mismatch;
};

static void try(struct look *look, const struct debug_variable *variable, uintptr_t start,
                size_t count);
static bool begins_at(const struct look *look, uintptr_t address);

/* The displacements in bytes that a type was made of, whatever else leaves its bytes where they are. */
struct places {
    const struct sim_contents *contents;
    size_t count, before; /* of large ones, whose number and lengths come first */
};

static struct places places_of(const struct sim_datatype *type)
{
    const struct sim_contents *contents = type->contents;
    while (contents &&
           (contents->combiner == MPI_COMBINER_DUP || contents->combiner == MPI_COMBINER_RESIZED))
        contents = contents->types[0]->contents;
    bool of_blocks = contents && contents->combiner == MPI_COMBINER_HINDEXED_BLOCK;
    if (!contents || (contents->combiner != MPI_COMBINER_STRUCT &&
                      contents->combiner != MPI_COMBINER_HINDEXED && !of_blocks))
        return (struct places){NULL, 0, 0};
    size_t count = contents->large ? (size_t)contents->counts[0] : contents->address_count;
    return (struct places){contents, count, of_blocks ? 2 : 1 + count};
}

static uintptr_t place_at(const struct places *places, size_t i)
{
    const struct sim_contents *contents = places->contents;
    return contents->large ? (uintptr_t)contents->counts[places->before + i]
                           : (uintptr_t)contents->addresses[i];
}

/* Displacements from one variable to others, which may be its neighbours: all that it reaches beyond
 * `end` begins where a variable does. */
static bool leads_to_variables(const struct look *look, uintptr_t end)
{
    struct places places = places_of(look->region->type);
    bool any = false;
    for (size_t i = 0; i < places.count && look->region->count == 1; i++) {
        uintptr_t at = look->region->base + place_at(&places, i);
        if (at < end)
            continue;
        if (!begins_at(look, at))
            return false;
        any = true;
    }
    return any;
}

/* The array at the end of a structure, which is as long as the object lets it be. What begins
 * before it and reaches into it is not looked at. */
static void try_tail(struct look *look, const struct debug_variable *variable, uintptr_t start)
{
    struct debug_variable tail = *variable;
    tail.type = debug_type_at(variable->type->file, variable->type->tail);
    if (tail.type && look->hull.low >= start + variable->type->tail_at)
        try(look, &tail, start + variable->type->tail_at, 0);
    else
        look->fits = true;
}

/* Several variables may seem to hold an address (blocks of one function share memory): one that
 * fits is enough. */
static void try(struct look *look, const struct debug_variable *variable, uintptr_t start,
                size_t count)
{
    const struct debug_type *type = variable->type;
    struct sim_mismatch mismatch;
    if (type->open && look->hull.high > start + type->tail_at) {
        try_tail(look, variable, start);
        return;
    }
    size_t beyond = count && !variable->pointer
                        ? sim_region_beyond(look->region, start + count * type->size)
                        : 0;
    if (beyond && leads_to_variables(look, start + count * type->size))
        beyond = 0;
    size_t bytes = variable->pointer ? look->pointed_to : count * type->size;
    bool matches = sim_match(look->region, start, bytes, type, &mismatch) &&
                   !sim_match_cut(look->region, start, type, count, &mismatch);
    look->by_count |= !type->opaque && sim_match_by_count(look->region->type);
    if (matches && !beyond) {
        look->fits = true;
    } else if (!look->misfits && !look->lenient) {
        look->misfits = true;
        look->variable = *variable;
        look->variable.count = count;
        look->start = start;
        look->beyond = matches ? beyond : 0;
        look->mismatch = mismatch;
    }
}

/* ---- variables that hold the buffer ---- */

/* What is given is the address of a pointer: there is room for no more than one. */
static void try_place_of_pointer(struct look *look, const struct debug_variable *variable,
                                 uintptr_t start)
{
    uintptr_t end = start + sizeof(void *);
    if (look->hull.low - start >= sizeof(void *))
        return;
    look->bounded = true;
    if (look->hull.high <= end || !variable->still) {
        look->fits = true;
    } else if (!look->misfits) {
        look->misfits = look->of_pointer = true;
        look->variable = *variable;
        look->beyond = look->hull.high - end;
    }
}

static void try_variable(struct look *look, const struct debug_variable *variable, uintptr_t start,
                         size_t count)
{
    uintptr_t low = look->hull.low;
    if (variable->pointer) { /* without a type there are only these */
        try_place_of_pointer(look, variable, start);
        return;
    }
    size_t size = count * variable->type->size;
    if (size ? low - start >= size : low != start)
        return;
    look->bounded |= size && !look->lenient;
    try(look, variable, start, count);
}

/* Of variables that share memory the innermost is the one in use: one whose address was taken shares
 * with nothing while its block lasts. Blocks come outermost first. */
static void try_frame(struct look *look, int number, struct debug_file *file)
{
    const struct debug_frame *frame = &look->frames.frames[number];
    const struct debug_scope *scope = debug_variables_at(file, frame->pc - 1 - frame->bias);
    for (size_t k = 0; k < scope->count; k++) {
        const struct debug_variable *variable = &scope->variables[k];
        bool fitted = look->fits;
        uintptr_t start;
        if (debug_evaluate(&variable->place, &variable->frame_base, frame, &start) != DEBUG_MEMORY)
            continue;
        look->fits = false;
        look->lenient = variable->moves;
        try_variable(look, variable, start, debug_count(variable, frame));
        look->lenient = false;
        if (look->fits && !variable->moves)
            look->scope = (struct sim_scope){variable->block ? look->frames.files[number] : NULL,
                                             variable->name, variable->block, frame->cfa};
        look->fits |= fitted;
    }
}

static void try_stack(struct look *look)
{
    for (int i = 0; i < look->frames.count && !look->fits; i++) {
        struct debug_file *file = debug_file_get(look->frames.files[i]);
        if (file)
            try_frame(look, i, file);
    }
}

static void try_static(struct look *look, const char *path, uintptr_t bias)
{
    struct debug_file *file = debug_file_get(path);
    const struct debug_variable *variable =
        file ? debug_variable_holding(file, look->hull.low - bias) : NULL;
    if (variable)
        try_variable(look, variable, variable->address + bias, variable->count);
}

static bool begins_in_frame(const struct look *look, int number, uintptr_t address)
{
    const struct debug_frame *frame = &look->frames.frames[number];
    struct debug_file *file = debug_file_get(look->frames.files[number]);
    const struct debug_scope *scope =
        file ? debug_variables_at(file, frame->pc - 1 - frame->bias) : NULL;
    uintptr_t start;
    for (size_t k = 0; scope && k < scope->count; k++)
        if (debug_evaluate(&scope->variables[k].place, &scope->variables[k].frame_base, frame,
                           &start) == DEBUG_MEMORY &&
            start == address)
            return true;
    const struct debug_variable *variable =
        file ? debug_variable_holding(file, address - frame->bias) : NULL;
    return variable && variable->address + frame->bias == address;
}

static bool begins_at(const struct look *look, uintptr_t address)
{
    for (int i = 0; i < look->frames.count; i++)
        if (begins_in_frame(look, i, address))
            return true;
    return false;
}

/* ---- pointers to an allocated object ---- */

/* Which argument a buffer is, by the function's name: -1 where it is none. */
static int argument_of(const char *function, const char *side)
{
    static const struct {
        const char *part;
        int receive;
    } kinds[] = {{"recv_replace", 0}, {"endrecv", 5},       {"lltoallv", 4}, {"lltoallw", 4},
                 {"catterv", 4},      {"educe_scatter", 1}, {"catter", 3},   {"gather", 3},
                 {"Gather", 3},       {"lltoall", 3},       {"educe", 1},    {"xscan", 1},
                 {"scan", 1},         {"Scan", 1},          {"cast", 0},     {"send", 0},
                 {"Send", 0},         {"recv", 0},          {"Recv", 0},     {"et_accumulate", 3},
                 {"ccumulate", 0},    {"Fetch_and_op", 1},  {"and_swap", 2}, {"Put", 0},
                 {"put", 0},          {"Get", 0},           {"get", 0},      {"external", -1},
                 {"ack", 3}};
    for (size_t i = 0; function && i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(function, kinds[i].part)) {
            bool first = !strcmp(side, "send buffer") || !strcmp(side, "origin buffer") ||
                         !strcmp(side, "inbuf");
            if (kinds[i].receive < 0)
                return -1;
            return first ? 0 : !strcmp(side, "compare buffer") ? 1 : kinds[i].receive;
        }
    return -1;
}

static int register_of(int argument)
{
#ifdef __aarch64__
    return argument;
#else
    static const int registers[] = {5, 4, 1, 2, 8, 9};
    return argument < 0 ? -1 : registers[argument];
#endif
}

/* The value of a pointer in a frame; 0: not known. */
static uintptr_t pointer_value(const struct look *look, int number,
                               const struct debug_variable *variable)
{
    const struct debug_frame *frame = &look->frames.frames[number];
    uintptr_t result;
    switch (debug_evaluate(&variable->place, &variable->frame_base, frame, &result)) {
    case DEBUG_VALUE:
        return result;
    case DEBUG_REGISTER:
        return number == 0 && (int)result == register_of(look->argument) ? look->region->base : 0;
    case DEBUG_MEMORY:
        if (result < frame->stack_low || result + sizeof result > frame->stack_high)
            return 0;
        memcpy(&result, (const void *)result, sizeof result);
        return result;
    default:
        return 0;
    }
}

/* Pointers to the object. Where a function has none to numbers, its caller is asked; what is at last
 * known by pointers to characters and to unions alone may hold anything. A void pointer says nothing. */
struct pointers {
    bool any, opaque;
};

static void try_pointer(struct look *look, struct pointers *pointers,
                        const struct sim_object_found *object,
                        const struct debug_variable *variable, uintptr_t value)
{
    bool exact = value == look->region->base;
    if ((!exact && value != object->start) || value - object->start > object->size)
        return;
    if (!variable->type || !variable->type->size)
        return;
    if (variable->type->opaque) {
        pointers->opaque = true;
        return;
    }
    pointers->any = true;
    look->pointed_to = object->start + object->size - value;
    try(look, variable, value, exact ? object->size / variable->type->size : 0);
}

static void try_frame_at(struct look *look, struct pointers *pointers,
                         const struct sim_object_found *object, int number, uintptr_t pc)
{
    const struct debug_frame *frame = &look->frames.frames[number];
    struct debug_file *file = debug_file_get(look->frames.files[number]);
    if (!file)
        return;
    const struct debug_scope *scope = debug_variables_at(file, pc - frame->bias);
    for (int level = scope->levels; level > 0 && !pointers->any; level--)
        for (size_t k = 0; k < scope->count; k++)
            if (scope->variables[k].pointer && scope->variables[k].level == level)
                try_pointer(look, pointers, object, &scope->variables[k],
                            pointer_value(look, number, &scope->variables[k]));
}

/* Just before the call's end, and at it: between the two, a compiler's list of places may go over
 * from the argument's register to one that the call preserves. */
static void try_frame_pointers(struct look *look, struct pointers *pointers,
                               const struct sim_object_found *object, int number)
{
    for (unsigned back = 2; back > 0 && !pointers->any; back--)
        try_frame_at(look, pointers, object, number, look->frames.frames[number].pc - back);
}

static void try_static_pointers(struct look *look, struct pointers *pointers,
                                const struct sim_object_found *object)
{
    const struct debug_frame *frame = &look->frames.frames[0];
    struct debug_file *file = debug_file_get(look->frames.files[0]);
    const struct debug_scope *statics = file ? debug_statics(file) : NULL;
    for (size_t k = 0; statics && k < statics->count; k++) {
        uintptr_t value;
        if (!statics->variables[k].pointer)
            continue;
        memcpy(&value, (const void *)(statics->variables[k].address + frame->bias), sizeof value);
        try_pointer(look, pointers, object, &statics->variables[k], value);
    }
}

/* Whether a call begins here; what only looks like one may be told as one. */
static bool calls_here(uintptr_t pc)
{
#ifdef __x86_64__
    const unsigned char *code = (const unsigned char *)pc;
    return code[0] == 0xe8 || (code[0] == 0xff && (code[1] & 0x38) == 0x10);
#else
    (void)pc;
    return true;
#endif
}

/* Does the code behind a call, and before the next, put its result into this place of the stack? */
static bool stores_result(const struct debug_variable *variable, uintptr_t site)
{
#ifdef __x86_64__
    enum { LOOKED_AT = 24 };
    const Dwarf_Op *op = variable->place.ops;
    int32_t distance = (int32_t)op->number + 16; /* from %rbp */
    unsigned char store[7] = {0x48, 0x89, 0x85},
                  near[4] = {0x48, 0x89, 0x45, (unsigned char)distance};
    memcpy(store + 3, &distance, sizeof distance);
    if (op->atom != DW_OP_fbreg || variable->place.count != 1)
        return false;
    for (uintptr_t at = site; at < site + LOOKED_AT; at++) {
        if (!memcmp((const void *)at, store, sizeof store) ||
            (distance >= -128 && !memcmp((const void *)at, near, sizeof near)))
            return true;
        if (calls_here(at))
            break;
    }
    return false;
#else
    (void)variable, (void)site;
    return false;
#endif
}

static void try_result(struct look *look, struct pointers *pointers,
                       const struct sim_object_found *object, const struct debug_scope *scope,
                       const struct debug_frame *at)
{
    for (size_t k = 0; k < scope->count; k++) {
        const struct debug_variable *variable = &scope->variables[k];
        uintptr_t result;
        if (!variable->pointer)
            continue;
        enum debug_place place =
            debug_evaluate(&variable->place, &variable->frame_base, at, &result);
        if ((place == DEBUG_REGISTER && result == 0) || stores_result(variable, object->site))
            try_pointer(look, pointers, object, variable, object->start);
    }
}

/* The variable that the allocation's result went to: behind that call, and before the next, it is in
 * the register of results, or about to be stored. Compilers place it there a few instructions late. */
static void try_allocation(struct look *look, struct pointers *pointers,
                           const struct sim_object_found *object)
{
    enum { LATEST = 48 };
    uintptr_t bias;
    const char *path = object->site ? sim_libc_file_of((void *)(object->site - 1), &bias) : NULL;
    struct debug_file *file = path ? debug_file_get(path) : NULL;
    for (uintptr_t pc = object->site; file && pc < object->site + LATEST; pc++) {
        struct debug_frame at = {.pc = pc, .bias = bias};
        const struct debug_scope *scope = debug_variables_at(file, pc - bias);
        if (scope->function != debug_variables_at(file, object->site - 1 - bias)->function)
            break;
        try_result(look, pointers, object, scope, &at);
        if (pointers->any || pointers->opaque || calls_here(pc))
            break;
    }
}

/* Whether the code so many bytes before the end of a frame's call is of the same function. */
static bool in_function(const struct look *look, int number, unsigned back)
{
    const struct debug_frame *frame = &look->frames.frames[number];
    struct debug_file *file = debug_file_get(look->frames.files[number]);
    return file && debug_variables_at(file, frame->pc - back - frame->bias)->function ==
                       debug_variables_at(file, frame->pc - 1 - frame->bias)->function;
}

/* Compilers lose a variable's place while its value is still there. What some bytes before the call
 * was the place of a pointer, and holds the buffer's address now, is good for what fits alone: the
 * place may be another's by then. */
static void try_lost_pointers(struct look *look, struct pointers *pointers,
                              const struct sim_object_found *object)
{
    enum { FARTHEST = 192, STEP = 6 }; /* calls of eight arguments take 70 */
    look->lenient = true;
    for (int i = 0; i < look->frames.count && i < POINTER_FRAMES && !look->fits; i++)
        for (unsigned back = STEP; back <= FARTHEST && !look->fits && in_function(look, i, back);
             back += STEP) {
            pointers->any = false;
            try_frame_at(look, pointers, object, i, look->frames.frames[i].pc - back);
        }
    pointers->any = false;
    look->lenient = false;
}

struct met {
    struct look *look;
    struct pointers *pointers;
    const struct sim_object_found *object;
};

static void try_met(void *context, const char *name, const struct debug_type *type, uintptr_t value)
{
    struct met *met = context;
    const struct debug_variable variable = {.name = name, .type = type, .pointer = true};
    try_pointer(met->look, met->pointers, met->object, &variable, value);
}

static void try_reached(struct look *look, struct sim_rank *rank, struct pointers *pointers,
                        const struct sim_object_found *object)
{
    struct met met = {look, pointers, object};
    sim_reach(rank, &look->frames, look->region->base, object->start, try_met, &met);
}

/* Variables in scope, then static ones, then the allocation's, then whatever they lead to. */
static void ask_all(struct look *look, struct sim_rank *rank, struct pointers *pointers,
                    const struct sim_object_found *object)
{
    for (int i = 0; i < look->frames.count && i < POINTER_FRAMES; i++)
        if (!pointers->any)
            try_frame_pointers(look, pointers, object, i);
    if (!pointers->any)
        try_static_pointers(look, pointers, object);
    if (!pointers->any && !object->recycled)
        try_allocation(look, pointers, object);
    if (!pointers->any)
        try_reached(look, rank, pointers, object);
}

/* A pointer to what was in recycled memory before may still be about: only the one that the
 * allocation's result went to tells what is wrong there, and others what is right. */
static void try_object(struct look *look, struct sim_rank *rank,
                       const struct sim_object_found *object, const char *function)
{
    struct pointers pointers = {false, false};
    look->argument = argument_of(function, look->region->side);
    if (object->recycled)
        try_allocation(look, &pointers, object);
    if (!pointers.any) {
        look->lenient = object->recycled;
        ask_all(look, rank, &pointers, object);
        look->lenient = false;
    }
    if (!pointers.any && !pointers.opaque)
        try_lost_pointers(look, &pointers, object);
    look->fits |= pointers.opaque && !pointers.any;
}

/* ---- telling ---- */

static void describe_leaf(const struct debug_leaf *leaf, char *text, size_t size)
{
    if (!leaf)
        snprintf(text, size, "padding");
    else
        snprintf(text, size, "%s of %zu bytes",
                 leaf->kind == DEBUG_INTEGER ? "an integer" : "a floating-point number",
                 leaf->size);
}

static void tell(const struct look *look)
{
    const struct debug_variable *variable = &look->variable;
    char text[256], there[64];
    if (look->of_pointer) {
        snprintf(
            text, sizeof text,
            "%s %s %zu byte%s beyond the end of pointer %s: its %s is where the pointer itself "
            "lies, not what it points to (%s, not &%s)",
            look->name, look->verb, look->beyond, look->beyond == 1 ? "" : "s", variable->name,
            look->region->side, variable->name, variable->name);
        sim_told_note("B006", text);
        return;
    }
    if (look->beyond) {
        snprintf(text, sizeof text,
                 "%s %s %zu byte%s beyond the end of variable %s of %zu: its %s begins %zu into "
                 "the variable and spans %zu",
                 look->name, look->verb, look->beyond, look->beyond == 1 ? "" : "s", variable->name,
                 variable->count * variable->type->size, look->region->side,
                 look->hull.low - look->start, look->hull.high - look->hull.low);
        sim_told_note("B006", text);
        return;
    }
    describe_leaf(look->mismatch.leaf, there, sizeof there);
    snprintf(text, sizeof text, "%s %s %s at byte %td of its %s, where %s%s, of %s, has %s",
             look->name, look->verb, sim_datatype_name(look->mismatch.basic),
             (ptrdiff_t)(look->start + look->mismatch.offset - look->region->base),
             look->region->side, variable->pointer ? "what is pointed to by " : "", variable->name,
             variable->type->name, there);
    sim_told_note("M011", text);
}

static void tell_gone(const struct look *look)
{
    char text[256];
    snprintf(text, sizeof text,
             "%s %s a variable of a function that has returned: its %s lies below the stack of its "
             "caller",
             look->name, look->verb, look->region->side);
    sim_told_note("B006", text);
}

/* ---- once for each call ---- */

/* What was found right is not looked at again: the same call, from the same places, with the same
 * buffer and no more elements. Ranks that are fibers share the table. */
enum { SEEN = 8192 };
struct seen {
    struct {
        uint64_t key;
        size_t count;
        bool by_count;
        struct sim_scope scope;
    } right[SEEN];
    /* Calls whose frames, down to main's, and whose buffer's allocation are in files without debug information: nothing is told of
     * them, wherever the buffer is. */
    uint64_t untold[SEEN];
};

static pthread_key_t seen_key;
static bool seen_key_made;
static _Thread_local struct seen *seen_here;

static void seen_end(void *seen)
{
    seen_here = NULL;
    munmap(seen, sizeof(struct seen));
}

static void seen_begin(void)
{
    seen_key_made = !pthread_key_create(&seen_key, seen_end);
}

/* The calling thread's, from its first call on: half a megabyte that other threads of the launcher need not clear. NULL: no memory. */
static struct seen *seen_of_thread(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (seen_here)
        return seen_here;
    pthread_once(&once, seen_begin);
    void *seen = seen_key_made ? mmap(NULL, sizeof(struct seen), PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                               : MAP_FAILED;
    if (seen == MAP_FAILED)
        return NULL;
    if (pthread_setspecific(seen_key, seen)) {
        munmap(seen, sizeof(struct seen));
        return NULL;
    }
    return seen_here = seen;
}

enum { RUNS = 4, FRAMES = 12 };

/* The place in a table is its lower half; 0 marks a free one. */
static uint64_t folded(uint64_t key)
{
    return (key ^ key >> 32) | 1;
}

static uint64_t untold_key(const void *site, const struct sim_object_found *object,
                           const void *buffer)
{
    static const uint64_t odd[3 + FRAMES] = {
        0xd1b54a32d192ed03, 0xb8b34b2d3a3c1d57, 0xd3a2646cab3487ff, 0x9fb21c651e98df25,
        0x8cb92ba72f3d8dd7, 0xaef17502108ef2d9, 0xc6a4a7935bd1e995, 0x87c37b91114253d5,
        0xe9846af9b1a615d3, 0xa54ff53a5f1d36f1, 0xbb67ae8584caa73b, 0xf372fe94f82bcaf5,
        0x9b05688c2b3e6c1f, 0xdbe0cd19137e2179, 0xcd3d5ea4e1b3c2a7};
    uintptr_t bias;
    const char *file = object->size ? NULL : sim_libc_file_of(buffer, &bias);
    uint64_t key = (uintptr_t)site * odd[0] + object->site * odd[1] + (uintptr_t)file * odd[2];
    key += sim_frames_key(__builtin_frame_address(0), odd + 3, FRAMES);
    return folded(key);
}

/* Products that do not wait for each other, with odd numbers drawn at random. */
static uint64_t key_of(const struct sim_region *region, const void *site,
                       const struct sim_object_found *object)
{
    static const uint64_t odd[7 + 2 * RUNS + FRAMES] = {
        0x2c5d6baed2eac903, 0xf3c95789ace1a955, 0x0b66402800e03d2d, 0xcbf27734ac103525,
        0xfc27ed12b10877a9, 0xe0a3a91f2346cc13, 0x7714dc919b27dbdf, 0xf1260ebc7d56ab57,
        0xc280ad3729a6f2e7, 0x6caf76a5703598af, 0xd670c342c6cce997, 0x3f0c9931918c40bf,
        0xcc9c26a813678d7b, 0x004498f4b987f7c1, 0x8fcc69d79561a0d1, 0x0ecaf828e2f79553,
        0x24414c46f147ecf9, 0x73f80e52a36958b5, 0xe1010f154a9f2969, 0xc1af446506f102fd,
        0xff72c46dca8fbe35, 0xb459071afb8adf9f, 0xe81696a68afe2313, 0x5a3c1fbdf9da0bf3,
        0x402a2e8f96fc5ce9, 0x135d63cf1293924d, 0x410915b0875b0b21};
    const struct sim_datatype *type = region->type;
    const uint64_t *factor = odd + 7;
    uint64_t key = region->base * odd[0] + (uintptr_t)site * odd[1] + type->hash * odd[2] +
                   ((uint64_t)type->extent ^ type->size << 32) * odd[3] + object->start * odd[4] +
                   (object->size << 1 | object->recycled) * odd[5] + object->site * odd[6];
    for (size_t i = 0; i < type->run_count && i < RUNS; i++, factor += 2)
        key += ((uint64_t)type->runs[i].offset ^ type->runs[i].length << 32) * factor[0] +
               (type->runs[i].count ^ (uint64_t)type->runs[i].stride << 32) * factor[1];
    /* two blocks side by side are one run */
    struct places places = places_of(type);
    for (size_t i = 0; i < places.count && i < RUNS; i++)
        key = (key ^ place_at(&places, i)) * odd[2];
    factor = odd + 7 + 2 * RUNS;
    /* who called whom */
    key += sim_frames_key(__builtin_frame_address(0), factor, FRAMES);
    return folded(key);
}

/* Whether any file that holds a frame's code, the static variable or the allocation has debug
 * information. */
static bool anybody_tells(const struct look *look, const struct sim_object_found *object,
                          const char *path)
{
    uintptr_t bias;
    const char *site = object->site ? sim_libc_file_of((void *)(object->site - 1), &bias) : NULL;
    if ((path && debug_file_get(path)) || (site && debug_file_get(site)))
        return true;
    for (int i = 0; i < look->frames.count; i++) {
        bool again = i && look->frames.files[i] == look->frames.files[i - 1];
        if (!again && debug_file_get(look->frames.files[i]))
            return true;
    }
    return false;
}

static enum sim_typed check(struct look *look, struct sim_rank *rank,
                            const struct sim_object_found *object)
{
    uintptr_t bias;
    sim_frames_find(&look->frames);
    if (!look->frames.count)
        return SIM_TYPED_NOT_KNOWN;
    const char *function = sim_libc_called_at((const char *)look->frames.frames[0].pc);
    if (function && strncmp(function, "MPI_", 4) && strncmp(function, "PMPI_", 5))
        return SIM_TYPED_NOT_KNOWN; /* a library above MPI knows what it put there */
    if (function && !object->size &&
        sim_frames_gone(look->frames.frames[0].stack_low, look->hull.low)) {
        tell_gone(look);
        return SIM_TYPED_WRONG;
    }
    debug_lock();
    const char *path = object->size ? NULL : sim_libc_file_of((void *)look->hull.low, &bias);
    bool readable = debug_file_get(look->frames.files[0]);
    look->told = readable || anybody_tells(look, object, path);
    if (!look->told) {
        debug_unlock();
        return SIM_TYPED_NO_DEBUG;
    }
    if (object->size)
        try_object(look, rank, object, function);
    else if (path)
        try_static(look, path, bias);
    else
        try_stack(look);
    if (!object->size && !look->fits && !look->misfits) {
        const struct sim_object_found unknown = {.start = look->region->base};
        try_object(look, rank, &unknown, function);
    }
    debug_unlock();
    if (look->misfits && !look->fits) {
        tell(look);
        return SIM_TYPED_WRONG;
    }
    if (!readable)
        return SIM_TYPED_NO_DEBUG;
    if (!look->fits && sim_match_numbers(look->region->type))
        return SIM_TYPED_UNTOLD;
    return look->bounded || object->size ? SIM_TYPED_RIGHT : SIM_TYPED_UNBOUNDED;
}

enum sim_typed sim_typed_check(struct sim_rank *rank, const struct sim_region *region,
                               const char *name, const char *verb, struct sim_scope *scope)
{
    *scope = (struct sim_scope){.file = NULL};
    const void *site = sim_libc_call_site();
    if (!site || !region->base || rank != sim_current_rank) /* absolute addresses: any objects */
        return SIM_TYPED_NOT_KNOWN;
    struct sim_hull hull = sim_region_hull(region);
    struct sim_object_found object = {.size = 0};
    sim_objects_holding(rank, hull.low, &object);
    uint64_t key = key_of(region, site, &object);
    size_t place = key % SEEN;
    struct seen *seen = seen_of_thread();
    if (seen && seen->right[place].key == key &&
        (region->count == seen->right[place].count ||
         (region->count < seen->right[place].count && !seen->right[place].by_count))) {
        *scope = seen->right[place].scope;
        return SIM_TYPED_RIGHT;
    }
    uint64_t by_whom = untold_key(site, &object, (const void *)hull.low);
    if (seen && seen->untold[by_whom % SEEN] == by_whom)
        return SIM_TYPED_NO_DEBUG;
    struct look look = {.region = region, .hull = hull, .name = name, .verb = verb};
    enum sim_typed result = check(&look, rank, &object);
    if (seen && result == SIM_TYPED_NO_DEBUG && !look.told && look.frames.count < SIM_FRAMES_MAX)
        seen->untold[by_whom % SEEN] = by_whom;
    *scope = look.scope;
    if (seen && result <= SIM_TYPED_RIGHT) { /* right as a whole */
        seen->right[place].key = key;
        seen->right[place].count = region->count;
        seen->right[place].by_count = look.by_count;
        seen->right[place].scope = look.scope;
    }
    return result;
}
