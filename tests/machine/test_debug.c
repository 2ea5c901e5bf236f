/* What debug information says of variables, against what C itself says of them (shapes.c): which there are at an address of the data and of
 * the code, where they are, how many elements they have, and which number lies at which byte of their types. From gcc and from clang, as it is
 * and optimised. */
#include "sim/debug/variables.h"
#include "tests/dice.h"
#include "tests/machine/shapes.h"
#include "tests/tap.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <link.h>
#include <stdlib.h>

static char folder[] = "/tmp/simrun-debug-XXXXXX";
static struct debug_file *file;
static uintptr_t bias;
static char wrong[400];
static int looks;
static bool by_clang, of_classes;

#define HOLDS(condition, ...)                                                                      \
    (void)((condition) || (*wrong || snprintf(wrong, sizeof wrong, __VA_ARGS__)))

/* Every byte of one element, one behind the other. */
static void types_are(const struct shape *shape, const struct debug_type *type)
{
    struct shape_row none = {.size = 0};
    bool numbers = false;
    HOLDS(type->size == shape->size && !strcmp(type->name, shape->type), "%s: %zu %s", shape->name,
          type->size, type->name);
    for (size_t byte = 0; byte <= shape->size && shape->row_count >= 0; byte++) {
        const struct debug_leaf *leaf = debug_type_leaf(type, byte);
        const struct shape_row *row = &none;
        for (int i = 0; i < shape->row_count; i++)
            if (byte >= shape->rows[i].offset &&
                byte < shape->rows[i].offset + shape->rows[i].size * shape->rows[i].count)
                row = &shape->rows[i];
        HOLDS(!leaf == !row->size, "%s: byte %zu is %sthere", shape->name, byte,
              leaf ? "" : "not ");
        if (!leaf || !row->size)
            continue;
        numbers |= row->kind != SHAPE_OPAQUE;
        HOLDS((int)leaf->kind == (int)row->kind && leaf->size == row->size, "%s: byte %zu",
              shape->name, byte);
        HOLDS((byte - leaf->offset) % leaf->size == (byte - row->offset) % row->size,
              "%s: phase of byte %zu", shape->name, byte);
        HOLDS(row->name ? leaf->name && (!*row->name || !strcmp(leaf->name, row->name))
                        : !leaf->name,
              "%s: name of byte %zu", shape->name, byte);
        const struct debug_type *target = debug_type_at(file, leaf->target);
        if (row->points)
            HOLDS(*row->points ? target && !strcmp(target->name, row->points) : !target,
                  "%s: target of byte %zu", shape->name, byte);
    }
    if (shape->row_count >= 0) {
        HOLDS(type->opaque == !numbers, "%s: opaque", shape->name);
        HOLDS(type->open == (shape->tail_at != 0) && type->tail_at == shape->tail_at, "%s: open",
              shape->name);
    }
    if (type->open)
        HOLDS(!strcmp(debug_type_at(file, type->tail)->name, "float"), "%s: its tail", shape->name);
}

static void bits_are(const struct debug_type *type, void (*bits_used)(bool[], size_t))
{
    bool used[64] = {false};
    bits_used(used, sizeof used);
    for (size_t byte = 0; byte < type->size && byte < sizeof used; byte++)
        if (used[byte]) {
            const struct debug_leaf *leaf = debug_type_leaf(type, byte);
            HOLDS(leaf && leaf->kind == DEBUG_OPAQUE, "a bit field at byte %zu", byte);
        }
    size_t there = 0, fields = 0;
    for (size_t byte = 0; byte < type->size && byte < sizeof used; byte++) {
        there += debug_type_leaf(type, byte) != NULL;
        fields += used[byte];
    }
    HOLDS(there == fields + sizeof(int) + 1 + sizeof(short), "%zu bytes are not padding", there);
    const char *const plain[] = {"before", "after", "last"};
    for (size_t i = 0; i < 3; i++) {
        bool found = false;
        for (size_t k = 0; k < type->leaf_count; k++)
            found |= type->leaves[k].name && !strcmp(type->leaves[k].name, plain[i]) &&
                     !used[type->leaves[k].offset] &&
                     type->leaves[k].kind == (i == 1 ? DEBUG_OPAQUE : DEBUG_INTEGER) &&
                     type->leaves[k].size == (size_t)(i == 0   ? 4
                                                      : i == 1 ? 1
                                                               : 2);
        HOLDS(found, "%s beside bit fields", plain[i]);
    }
}

/* At each byte of each, and at those beside it. */
static void statics_are(void *library, const struct shape *shapes_there, int count)
{
    for (int i = 0; i < count; i++) {
        const struct shape *shape = &shapes_there[i];
        uintptr_t low = (uintptr_t)(shape->address ? shape->address : dlsym(library, shape->name));
        size_t bytes = shape->pointer ? sizeof(void *)
                       : shape->count ? shape->size * shape->count
                                      : 1;
        const struct debug_variable *variable = debug_variable_holding(file, low - bias);
        if (!variable || strcmp(variable->name, shape->name)) {
            HOLDS(false, "%s is not found", shape->name);
            continue;
        }
        HOLDS(variable->address + bias == low && variable->count == shape->count &&
                  variable->pointer == shape->pointer,
              "%s", shape->name);
        HOLDS(!variable->moves && !variable->bound_count, "%s moves", shape->name);
        for (size_t at = 0; at < bytes; at++)
            HOLDS(debug_variable_holding(file, low + at - bias) == variable, "%s at %zu",
                  shape->name, at);
        if (shape->count || shape->pointer)
            HOLDS(debug_variable_holding(file, low + bytes - bias) != variable, "%s at its end",
                  shape->name);
        HOLDS(debug_variable_holding(file, low - 1 - bias) != variable, "%s before it",
              shape->name);
        HOLDS(!variable->type == !shape->type, "%s: a type", shape->name);
        if (variable->type && shape->type)
            types_are(shape, variable->type);
    }
    const struct debug_scope *all = debug_statics(file);
    for (size_t i = 1; i < all->count; i++)
        HOLDS(all->variables[i - 1].address <= all->variables[i].address, "the order of %s",
              all->variables[i].name);
    HOLDS(all == debug_statics(file) && !debug_variable_holding(file, 0), "nothing is at 0");
}

static const struct shape *shape_named(const struct shape *all, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    return NULL;
}

/* ---- frames ---- */

static uintptr_t pcs[8];
static const struct debug_variable *inners[8];

static const struct debug_variable *find(const struct debug_scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->count; i++)
        if (!strcmp(scope->variables[i].name, name))
            return &scope->variables[i];
    return NULL;
}

/* On x86-64 a frame pointer is saved below the return address. */
static void look_at(void *frame_address, const struct shape_local *locals, int count, int levels)
{
    uintptr_t pc = (uintptr_t)__builtin_return_address(0), base = (uintptr_t)frame_address;
    struct debug_frame frame = {
        .pc = pc, .bias = bias, .cfa = base + 16, .known = 1u << 6, .stack_high = base + 16};
    frame.stack_low = (uintptr_t)&frame;
    frame.registers[6] = base;
    const struct debug_scope *scope = debug_variables_at(file, pc - 1 - bias);
    HOLDS(scope->levels == levels, "look %d: %d levels", looks, scope->levels);
    HOLDS(scope == debug_variables_at(file, pc - 1 - bias), "another answer");
    for (int i = 0; i < count; i++) {
        const struct debug_variable *variable = find(scope, locals[i].name);
        uintptr_t address = 0;
        if (by_clang && locals[i].open) /* it tells a register that the call does not preserve */
            continue;
        if (!variable) {
            HOLDS(false, "%s is not there", locals[i].name);
            continue;
        }
        enum debug_place place =
            debug_evaluate(&variable->place, &variable->frame_base, &frame, &address);
        if (by_clang && variable->address) { /* by a number in a table */
            place = DEBUG_MEMORY;
            address = variable->address + bias;
        }
        HOLDS(place == DEBUG_MEMORY &&
                  (!locals[i].address || address == (uintptr_t)locals[i].address),
              "%s: place %d, %zd bytes off", locals[i].name, place,
              (ptrdiff_t)(address - (uintptr_t)locals[i].address));
        HOLDS(variable->pointer == !locals[i].count, "%s is a pointer", locals[i].name);
        size_t elements = locals[i].count == SHAPE_UNKNOWN ? 0 : locals[i].count;
        HOLDS(debug_count(variable, &frame) == elements, "%s: %zu elements", locals[i].name,
              debug_count(variable, &frame));
        if (variable->address)
            HOLDS(debug_variable_holding(file, variable->address)->name == variable->name,
                  "%s is not among what has one address", locals[i].name);
        HOLDS(variable->level == locals[i].level, "%s: level %d", locals[i].name, variable->level);
        HOLDS(!variable->moves, "%s moves", locals[i].name);
        HOLDS(variable->address || !variable->block == !locals[i].inner, "look %d: block of %s",
              looks, locals[i].name);
        if (locals[i].inner && !inners[looks])
            inners[looks] = variable;
        struct debug_frame narrow = frame; /* of which nothing may be read */
        narrow.stack_high = narrow.stack_low;
        for (int k = 0; k < variable->bound_count; k++)
            if (variable->bounds[k].held)
                HOLDS(!debug_count(variable, &narrow), "%s: a length from elsewhere",
                      locals[i].name);
    }
    HOLDS(of_classes || looks != 1 || (!find(scope, "inner") && find(scope, "length")),
          "another block's variable");
    HOLDS(of_classes || looks != 2 || (!find(scope, "inner") && !find(scope, "other")),
          "a variable of a block that is left");
    pcs[looks++] = pc - 1 - bias;
}

/* Which of the addresses are outside of which variable's block: those of the others that stand in no block of it. */
static void blocks_are(void)
{
    for (int i = 0; i < looks; i++)
        for (int k = 0; k < looks; k++)
            if (inners[i])
                HOLDS(debug_block_left(file, inners[i]->block, pcs[k]) == (i != k && !by_clang),
                      "block of look %d at %d", i, k);
}

/* An optimised one: what has an address lies there all the time, what is in registers does not. */
static void look_at_still(void *frame_address, const struct shape_local *locals, int count,
                          int levels)
{
    uintptr_t pc = (uintptr_t)__builtin_return_address(0), base = (uintptr_t)frame_address;
    struct debug_frame frame = {.pc = pc, .bias = bias, .cfa = base + 16, .known = 1u << 6};
    frame.registers[6] = base;
    const struct debug_scope *scope = debug_variables_at(file, pc - 1 - bias);
    HOLDS(scope->levels == levels, "%d levels of an optimised function", scope->levels);
    for (int i = 0; i < count; i++) {
        const struct debug_variable *variable = find(scope, locals[i].name);
        uintptr_t address = 0;
        HOLDS(variable && variable->still && !variable->moves &&
                  debug_evaluate(&variable->place, &variable->frame_base, &frame, &address) ==
                      DEBUG_MEMORY &&
                  address == (uintptr_t)locals[i].address,
              "%s does not lie still", locals[i].name);
    }
    const struct debug_variable *variable = find(scope, "length");
    HOLDS(!variable || variable->moves, "what is in registers lies still");
    looks++;
}

/* ---- lengths that the run tells ---- */

static Dwarf_Op bound_ops[DEBUG_BOUNDS_MAX][2];

/* Its value is that of an expression, or what lies at a place of the stack. Whether it is known. */
static bool bound_draw(uint64_t *state, struct debug_bound *bound, uintptr_t *cell,
                       struct debug_frame *frame, uint64_t *value)
{
    Dwarf_Op *ops = bound_ops[cell - (uintptr_t *)frame->stack_low];
    *value = 1 + dice_below(state, 6);
    *bound = (struct debug_bound){.value = {ops, 2}, .last = dice_below(state, 2)};
    ops[0] = (Dwarf_Op){.atom = DW_OP_const8u, .number = *value};
    ops[1] = (Dwarf_Op){.atom = DW_OP_stack_value};
    bool known = true;
    switch (dice_below(state, 8)) {
    case 0: /* too many for any memory */
        ops[0].number = (uint64_t)1 << 60;
        known = false;
        break;
    case 1: /* nowhere */
        bound->value.count = 0;
        known = false;
        break;
    case 2: /* in a register that the call did not preserve */
        ops[0] = (Dwarf_Op){.atom = DW_OP_reg1};
        bound->value.count = 1;
        known = false;
        break;
    case 3: /* in a variable that lies elsewhere */
        bound->held = true;
        bound->value.count = 1;
        ops[0].number = dice_below(state, 2) ? frame->stack_low - 1 : frame->stack_high - 7;
        known = false;
        break;
    case 4:
        bound->held = true;
        bound->value.count = 1;
        ops[0].number = (uintptr_t)cell;
        *cell = *value;
        break;
    case 5:
        bound->held = true;
        break;
    case 6: /* the expression's result is the number itself */
        bound->value.count = 1;
        break;
    default:
        break;
    }
    *value += bound->last;
    return known;
}

static void lengths_are(void)
{
    uintptr_t cells[DEBUG_BOUNDS_MAX];
    struct debug_frame frame = {.stack_low = (uintptr_t)cells,
                                .stack_high = (uintptr_t)(cells + DEBUG_BOUNDS_MAX)};
    uint64_t state = 1;
    for (int i = 0; i < 4000; i++) {
        struct debug_variable variable = {.count = 1 + dice_below(&state, 5),
                                          .bound_count =
                                              (int)dice_below(&state, DEBUG_BOUNDS_MAX + 1)};
        size_t expected = variable.count;
        for (int k = 0; k < variable.bound_count; k++) {
            uint64_t value;
            bool known = bound_draw(&state, &variable.bounds[k], &cells[k], &frame, &value);
            expected = known ? expected * value : 0;
        }
        HOLDS(debug_count(&variable, &frame) == expected, "length %d: %zu, not %zu", i,
              debug_count(&variable, &frame), expected);
    }
    tap_is_str(wrong, "", "lengths that the run tells are products of what is known, or not known");
}

/* ---- both ---- */

/* Bit fields, and types at the border of what is taken apart. */
static void extremes_are(const struct shape *all, int count, void (*bits_used)(bool[], size_t))
{
    const struct shape *bits = shape_named(all, count, "shape_bits");
    bits_are(debug_variable_holding(file, (uintptr_t)bits->address - bias)->type, bits_used);
    const struct shape *deep = shape_named(all, count, "shape_deep"),
                       *most = shape_named(all, count, "shape_most_leaves");
    HOLDS(debug_variable_holding(file, (uintptr_t)deep->address - bias)->type->leaf_count == 8,
          "eight structures in one another");
    HOLDS(debug_variable_holding(file, (uintptr_t)most->address - bias)->type->leaf_count == 4096,
          "a type of 4096 numbers");
    const struct shape *arrays = shape_named(all, count, "shape_deep_arrays");
    const struct debug_leaf *first =
        debug_type_leaf(debug_variable_holding(file, (uintptr_t)arrays->address - bias)->type, 0);
    HOLDS(first && first->kind == DEBUG_INTEGER && first->size == sizeof(int),
          "six arrays of structures in one another");
}

static void file_is(const char *how, const char *compiler, bool frames)
{
    char path[80], command[300];
    snprintf(path, sizeof path, "%s/%s.so", folder, how);
    snprintf(command, sizeof command,
             "%s -g -fPIC -shared -I tests/machine -o '%s' tests/machine/shapes.c 2>/dev/null",
             compiler, path);
    void *library = system(command) == 0 ? dlopen(path, RTLD_NOW) : NULL;
    struct link_map *map = NULL;
    file = NULL;
    of_classes = strstr(compiler, "++");
    if (library && !dlinfo(library, RTLD_DI_LINKMAP, &map)) {
        file = debug_file_get(path);
        bias = map->l_addr;
    }
    if (!file) {
        tap_skip(2, "%s is not there", compiler);
        return;
    }
    const struct shape *all = dlsym(library, "shapes");
    int count = *(int *)dlsym(library, "shape_count");
    void (*bits_used)(bool[], size_t);
    void (*call)(shape_look *, int);
    *(void **)&bits_used = dlsym(library, "shape_bits_used");
    *(void **)&call = dlsym(library, "shape_frames");
    *wrong = '\0';
    statics_are(library, all, count);
    if (!of_classes)
        extremes_are(all, count, bits_used);
    HOLDS(debug_file_get(path) == file && debug_file_dwarf(file), "the file once more");
    tap_is_str(wrong, "", "%s: variables and types are those of the language", how);
    *wrong = '\0';
    looks = 0;
    memset(inners, 0, sizeof inners);
#ifdef __x86_64__
    if (frames) {
        by_clang = strstr(compiler, "clang");
        call(look_at, 5);
        blocks_are();
        HOLDS(looks == (of_classes ? 7 : 5), "%d looks", looks);
    } else {
        *(void **)&call = dlsym(library, "shape_still");
        call(look_at_still, 5);
        HOLDS(looks == 1, "nothing was looked at");
    }
#endif
    tap_is_str(wrong, "", "%s: variables of frames are where the language says", how);
}

int main(void)
{
    char command[100];
    tap_plan(18);
    if (!mkdtemp(folder)) {
        tap_ok(false, "there is a folder");
        return tap_done();
    }
    debug_lock();
    lengths_are();
    file_is("gcc", "gcc -O0", true);
    file_is("clang", "clang -O0 -fno-omit-frame-pointer", true);
    file_is("gcc-optimised", "gcc -O2 -fno-omit-frame-pointer", false);
    file_is("clang-optimised", "clang -O2 -fno-omit-frame-pointer", false);
    file_is("old-gcc", "gcc -gdwarf-4 -O0", true);
    file_is("g++", "g++ -x c++ -O0", true);
    file_is("old-g++", "g++ -x c++ -gdwarf-4 -O0", true);
    file_is("clang++", "clang++ -x c++ -O0 -fno-omit-frame-pointer", true);
    tap_ok(!debug_file_get("/dev/null") && !debug_file_get("/dev/null") && !debug_file_get(folder),
           "what is no program has no debug information");
    debug_unlock();
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) ? 1 : tap_done();
}
