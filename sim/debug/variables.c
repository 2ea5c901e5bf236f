/* A program's variables: see variables.h. */
#include "sim/debug/variables.h"

#include "traces/trace/handle_map.h"

#include <dwarf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NESTING_MAX = 64 };

struct debug_file {
    char *path;
    Dwarf *dwarf;             /* NULL: there is nothing to read */
    struct handle_map scopes; /* by address of the code + 1 */
    struct handle_map types;  /* by offset of the description + 1 */
    bool listed;              /* statics are */
    struct debug_scope statics;
    struct debug_file *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct debug_file *files;

void debug_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void debug_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

static Dwarf *read_file(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    Dwarf *dwarf = descriptor < 0 ? NULL : dwarf_begin(descriptor, DWARF_C_READ);
    Dwarf_CU *unit = NULL;
    if (dwarf && dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL)) {
        dwarf_end(dwarf);
        dwarf = NULL;
    }
    if (descriptor >= 0 && !dwarf)
        close(descriptor);
    return dwarf;
}

struct debug_file *debug_file_get(const char *path)
{
    for (struct debug_file *file = files; file; file = file->next)
        if (!strcmp(file->path, path))
            return file->dwarf ? file : NULL;
    struct debug_file *file = calloc(1, sizeof *file);
    if (!file || !(file->path = strdup(path))) {
        free(file);
        return NULL;
    }
    file->dwarf = read_file(path);
    file->next = files;
    files = file;
    return file->dwarf ? file : NULL;
}

Dwarf *debug_file_dwarf(const struct debug_file *file)
{
    return file->dwarf;
}

/* ---- one variable ---- */

static const struct debug_type *type_of(struct debug_file *file, Dwarf_Die *die)
{
    uint64_t key = dwarf_dieoffset(die) + 1;
    struct debug_type *type = handle_map_find(&file->types, key);
    if (type)
        return type;
    type = debug_type_new(die);
    if (type)
        type->file = file;
    if (type && !handle_map_add(&file->types, key, type)) {
        debug_type_free(type);
        type = NULL;
    }
    return type;
}

const struct debug_type *debug_type_at(struct debug_file *file, uint64_t target)
{
    Dwarf_Die die, type, inner;
    if (!target || !dwarf_offdie(file->dwarf, target, &die) || dwarf_peel_type(&die, &type))
        return NULL;
    for (int depth = 0; dwarf_tag(&type) == DW_TAG_array_type && depth < 8; depth++) {
        if (!debug_type_peel(&type, &inner))
            return NULL;
        type = inner;
    }
    const struct debug_type *found =
        dwarf_tag(&type) == DW_TAG_subroutine_type ? NULL : type_of(file, &type);
    return found && found->size ? found : NULL;
}

static struct debug_expression expression_of(Dwarf_Die *die, unsigned name, uint64_t pc)
{
    struct debug_expression expression = {NULL, 0};
    Dwarf_Attribute attribute;
    if (!dwarf_attr(die, name, &attribute) ||
        dwarf_getlocation_addr(&attribute, pc, &expression.ops, &expression.count, 1) < 1)
        return (struct debug_expression){NULL, 0};
    return expression;
}

/* A dimension whose length is an expression, or in a variable that the compiler made. */
static bool add_bound(struct debug_variable *variable, Dwarf_Die *range, uint64_t pc)
{
    unsigned name = dwarf_hasattr(range, DW_AT_count) ? DW_AT_count : DW_AT_upper_bound;
    struct debug_bound *bound = &variable->bounds[variable->bound_count];
    Dwarf_Attribute attribute;
    Dwarf_Die holder;
    if (variable->bound_count == DEBUG_BOUNDS_MAX || !dwarf_attr(range, name, &attribute))
        return false;
    bound->last = name == DW_AT_upper_bound;
    bound->held = dwarf_formref_die(&attribute, &holder);
    bound->value =
        bound->held ? expression_of(&holder, DW_AT_location, pc) : expression_of(range, name, pc);
    variable->bound_count++;
    return bound->value.count;
}

size_t debug_count(const struct debug_variable *variable, const struct debug_frame *frame)
{
    size_t count = variable->count;
    for (int i = 0; i < variable->bound_count; i++) {
        const struct debug_bound *bound = &variable->bounds[i];
        uintptr_t value = 0;
        enum debug_place place =
            debug_evaluate(&bound->value, &variable->frame_base, frame, &value);
        if (place == DEBUG_NOWHERE || place == DEBUG_REGISTER)
            return 0;
        if (bound->held && place == DEBUG_MEMORY) {
            if (value < frame->stack_low || value + sizeof value > frame->stack_high)
                return 0;
            memcpy(&value, (const void *)value, sizeof value);
        }
        value += bound->last;
        if (value > SIZE_MAX >> 24)
            return 0;
        count *= value;
    }
    return count;
}

/* Elements of an array's dimensions, those left out that the run tells; 0: not known. */
static size_t array_length(struct debug_variable *variable, Dwarf_Die *array, uint64_t pc)
{
    Dwarf_Die child;
    Dwarf_Attribute attribute;
    Dwarf_Word bound;
    size_t length = 1;
    for (int none = dwarf_child(array, &child); !none; none = dwarf_siblingof(&child, &child)) {
        if (dwarf_tag(&child) != DW_TAG_subrange_type)
            continue;
        if (!dwarf_formudata(dwarf_attr(&child, DW_AT_count, &attribute), &bound))
            length *= (size_t)bound;
        else if (!dwarf_formudata(dwarf_attr(&child, DW_AT_upper_bound, &attribute), &bound))
            length *= (size_t)bound + 1;
        else if (!add_bound(variable, &child, pc))
            return 0;
    }
    return length;
}

/* Follows arrays of arrays down to the element. */
static bool set_type(struct debug_file *file, struct debug_variable *variable, Dwarf_Die *die,
                     uint64_t pc)
{
    Dwarf_Die type = *die, inner;
    variable->count = 1;
    if (dwarf_tag(&type) == DW_TAG_pointer_type || dwarf_tag(&type) == DW_TAG_reference_type) {
        variable->pointer = true;
        variable->count = 0;
        if (!debug_type_peel(&type, &inner))
            return true;
        type = inner;
    }
    for (int depth = 0; dwarf_tag(&type) == DW_TAG_array_type && depth < 8; depth++) {
        variable->count *= array_length(variable, &type, pc);
        if (!debug_type_peel(&type, &inner))
            return false;
        type = inner;
    }
    variable->type = type_of(file, &type);
    if (variable->pointer)
        variable->bound_count = 0;
    if (variable->type && variable->type->open)
        variable->count = 0;
    return variable->type != NULL;
}

static bool is_value(const Dwarf_Op *ops, size_t count)
{
    return count && (ops[count - 1].atom == DW_OP_stack_value ||
                     (count == 1 && ops[0].atom == DW_OP_implicit_value));
}

/* clang lists the value that a variable has before it is stored, and one place. */
static bool has_one_place(Dwarf_Attribute *attribute)
{
    Dwarf_Addr base, start, end;
    Dwarf_Op *ops, first = {0};
    size_t count;
    ptrdiff_t at = 0;
    while ((at = dwarf_getlocations(attribute, at, &base, &start, &end, &ops, &count)) > 0) {
        if (is_value(ops, count))
            continue;
        if (count != 1 || (first.atom && (ops->atom != first.atom || ops->number != first.number)))
            return false;
        first = *ops;
    }
    return !at && first.atom >= DW_OP_breg0 && first.atom <= DW_OP_fbreg;
}

static bool is_by_clang(Dwarf_Die *die)
{
    Dwarf_Die unit;
    Dwarf_Attribute attribute;
    const char *producer = dwarf_diecu(die, &unit, NULL, NULL)
                               ? dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &attribute))
                               : NULL;
    return producer && strstr(producer, "clang version");
}

/* Whether it lies at one place while its scope lasts. What is here now and elsewhere later (a list of
 * places) has no address that the program took: another object may lie where its value is. */
static bool lies_still(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    switch (dwarf_attr(die, DW_AT_location, &attribute) ? dwarf_whatform(&attribute) : 0) {
    case DW_FORM_exprloc:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_block:
        return true;
    case 0:
        return false;
    default:
        return is_by_clang(die) && has_one_place(&attribute);
    }
}

static bool append(struct debug_scope *scope, const struct debug_variable *variable)
{
    if (!(scope->count & (scope->count - 1))) { /* 0, 1, 2, 4, 8 … are full */
        size_t room = scope->count ? 2 * scope->count : 1;
        struct debug_variable *more = realloc(scope->variables, room * sizeof *more);
        if (!more)
            return false;
        scope->variables = more;
    }
    scope->variables[scope->count++] = *variable;
    return true;
}

struct around {
    struct debug_expression frame_base;
    uint64_t pc;
    int level;
    uint64_t block;
    bool within_others; /* functions are looked for in others, too, and in their classes */
};

/* Where a static variable is, which clang says by its place in a table; 0: it is none. */
static uint64_t address_of(Dwarf_Die *die, const Dwarf_Op *op)
{
    Dwarf_Attribute location, address;
    Dwarf_Addr result = 0;
    if (op->atom == DW_OP_addr)
        return op->number;
    if (op->atom != DW_OP_addrx || !dwarf_attr(die, DW_AT_location, &location) ||
        dwarf_getlocation_attr(&location, op, &address) || dwarf_formaddr(&address, &result))
        return 0;
    return result;
}

static void add_variable(struct debug_file *file, struct debug_scope *scope, Dwarf_Die *die,
                         const struct around *around)
{
    struct debug_variable variable = {
        .frame_base = around->frame_base, .level = around->level, .block = around->block};
    Dwarf_Die type;
    variable.place = expression_of(die, DW_AT_location, around->pc);
    if (!variable.place.count || !debug_type_peel(die, &type) ||
        !set_type(file, &variable, &type, around->pc))
        return;
    /* An array whose length the run tells has its place in a pointer of the compiler's. */
    variable.still = lies_still(die);
    variable.moves = !variable.pointer && !variable.bound_count && !variable.still;
    if (variable.place.count == 1)
        variable.address = address_of(die, variable.place.ops);
    Dwarf_Attribute attribute;
    variable.name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
    if (variable.name)
        append(scope, &variable);
}

/* ---- at a place of the code ---- */

static bool of_c(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
        return true;
    default:
        return dwarf_srclang(unit) >= 0x2a && dwarf_srclang(unit) <= 0x2c; /* of 2017 on */
    }
}

/* Compilers that write no table of addresses (clang) leave each unit to be asked. */
static bool find_unit(Dwarf *dwarf, uint64_t pc, Dwarf_Die *unit)
{
    Dwarf_CU *each = NULL;
    if (dwarf_addrdie(dwarf, pc, unit))
        return true;
    while (!dwarf_get_units(dwarf, each, &each, NULL, NULL, unit, NULL))
        if (dwarf_haspc(unit, pc) > 0)
            return true;
    return false;
}

static bool is_block(int tag)
{
    return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
           tag == DW_TAG_subprogram;
}

static bool is_class(int tag)
{
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
}

static bool is_variable(int tag)
{
    return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

/* A function's own description goes from block to block that holds the address; a namespace does
 * not say what it holds. */
static void descend(struct debug_file *file, struct debug_scope *scope, Dwarf_Die *die,
                    struct around around, int depth)
{
    Dwarf_Die child;
    if (depth == NESTING_MAX || dwarf_child(die, &child))
        return;
    if (around.level > scope->levels)
        scope->levels = around.level;
    do {
        int tag = dwarf_tag(&child);
        if (is_variable(tag) && around.level) {
            add_variable(file, scope, &child, &around);
        } else if (tag == DW_TAG_namespace) {
            descend(file, scope, &child, around, depth + 1);
        } else if (is_block(tag) && dwarf_haspc(&child, around.pc) > 0) {
            struct around inner = around;
            inner.level += tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
            inner.block = dwarf_dieoffset(&child);
            if (tag == DW_TAG_subprogram) {
                inner.frame_base = expression_of(&child, DW_AT_frame_base, around.pc);
                inner.block = 0;
                scope->function = dwarf_dieoffset(&child);
            }
            descend(file, scope, &child, inner, depth + 1);
        } else if (around.within_others && (is_block(tag) || is_class(tag))) {
            descend(file, scope, &child, around, depth + 1);
        }
    } while (!dwarf_siblingof(&child, &child));
}

const struct debug_scope *debug_variables_at(struct debug_file *file, uint64_t pc)
{
    static const struct debug_scope none;
    struct debug_scope *scope = handle_map_find(&file->scopes, pc + 1);
    if (scope)
        return scope;
    scope = calloc(1, sizeof *scope);
    if (!scope || !handle_map_add(&file->scopes, pc + 1, scope)) {
        free(scope);
        return &none;
    }
    Dwarf_Die unit;
    if (!find_unit(file->dwarf, pc, &unit) || !of_c(&unit))
        return scope;
    descend(file, scope, &unit, (struct around){.pc = pc}, 0);
    if (!scope->function) /* a lambda's, or a local class's */
        descend(file, scope, &unit, (struct around){.pc = pc, .within_others = true}, 0);
    return scope;
}

bool debug_block_left(struct debug_file *file, uint64_t block, uint64_t pc)
{
    Dwarf_Die die;
    return dwarf_offdie(file->dwarf, block, &die) && !is_by_clang(&die) &&
           dwarf_haspc(&die, pc) == 0;
}

/* ---- at an address of the data ---- */

static void list_statics(struct debug_file *file, Dwarf_Die *die, int depth)
{
    Dwarf_Die child;
    static const struct around nothing;
    if (depth == NESTING_MAX || dwarf_child(die, &child))
        return;
    do {
        int tag = dwarf_tag(&child);
        size_t before = file->statics.count;
        if (tag == DW_TAG_variable) {
            add_variable(file, &file->statics, &child, &nothing);
            const struct debug_variable *added = &file->statics.variables[before];
            if (file->statics.count > before && (!added->address || added->moves))
                file->statics.count = before;
        } else if (tag == DW_TAG_namespace || is_block(tag) || is_class(tag)) {
            list_statics(file, &child, depth + 1);
        }
    } while (!dwarf_siblingof(&child, &child));
}

static int by_address(const void *a, const void *b)
{
    const struct debug_variable *one = a, *two = b;
    return (one->address > two->address) - (one->address < two->address);
}

const struct debug_scope *debug_statics(struct debug_file *file)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    if (file->listed)
        return &file->statics;
    file->listed = true;
    while (!dwarf_get_units(file->dwarf, unit, &unit, NULL, NULL, &die, NULL))
        if (of_c(&die))
            list_statics(file, &die, 0);
    if (file->statics.count)
        qsort(file->statics.variables, file->statics.count, sizeof *file->statics.variables,
              by_address);
    return &file->statics;
}

const struct debug_variable *debug_variable_holding(struct debug_file *file, uint64_t address)
{
    const struct debug_scope *statics = debug_statics(file);
    size_t begin = 0, end = statics->count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (statics->variables[middle].address <= address)
            begin = middle + 1;
        else
            end = middle;
    }
    if (!begin)
        return NULL;
    const struct debug_variable *variable = &statics->variables[begin - 1];
    size_t size = variable->pointer ? sizeof(void *) : variable->count * variable->type->size;
    return !size || address - variable->address < size ? variable : NULL;
}
