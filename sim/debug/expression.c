/* The machine of DWARF's expressions, as far as compilers of C use it for variables. */
#include "sim/debug/expression.h"

#include <dwarf.h>
#include <string.h>

enum { STACK_MAX = 16 };

struct machine {
    const struct debug_frame *frame;
    const struct debug_expression *frame_base;
    uintptr_t stack[STACK_MAX];
    int depth;
};

static bool push(struct machine *machine, uintptr_t value)
{
    if (machine->depth == STACK_MAX)
        return false;
    machine->stack[machine->depth++] = value;
    return true;
}

static bool push_register(struct machine *machine, uint64_t number, uint64_t offset)
{
    if (number >= 32 || !(machine->frame->known >> number & 1))
        return false;
    return push(machine, machine->frame->registers[number] + (uintptr_t)offset);
}

static bool push_base(struct machine *machine, uint64_t offset)
{
    uintptr_t base;
    if (!machine->frame_base || !machine->frame_base->count)
        return false;
    enum debug_place place = debug_evaluate(machine->frame_base, NULL, machine->frame, &base);
    return (place == DEBUG_MEMORY || place == DEBUG_VALUE) &&
           push(machine, base + (uintptr_t)offset);
}

static bool dereference(struct machine *machine)
{
    uintptr_t *top = &machine->stack[machine->depth - 1];
    if (*top < machine->frame->stack_low || *top + sizeof *top > machine->frame->stack_high)
        return false;
    memcpy(top, (const void *)*top, sizeof *top);
    return true;
}

static bool binary(struct machine *machine, uint8_t atom)
{
    if (machine->depth < 2)
        return false;
    uintptr_t b = machine->stack[--machine->depth], *a = &machine->stack[machine->depth - 1];
    switch (atom) {
    case DW_OP_plus:
        *a += b;
        return true;
    case DW_OP_minus:
        *a -= b;
        return true;
    case DW_OP_mul:
        *a *= b;
        return true;
    case DW_OP_and:
        *a &= b;
        return true;
    case DW_OP_or:
        *a |= b;
        return true;
    case DW_OP_shl:
        *a = b < 64 ? *a << b : 0;
        return true;
    case DW_OP_shr:
        *a = b < 64 ? *a >> b : 0;
        return true;
    case DW_OP_shra:
        *a = (uintptr_t)((intptr_t)*a >> (b < 64 ? b : 63));
        return true;
    default:
        return false;
    }
}

static bool constant(struct machine *machine, const Dwarf_Op *op)
{
    switch (op->atom) {
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
        return push(machine, (uintptr_t)op->number);
    default:
        return op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31 &&
               push(machine, (uintptr_t)op->atom - DW_OP_lit0);
    }
}

static bool step(struct machine *machine, const Dwarf_Op *op)
{
    switch (op->atom) {
    case DW_OP_addr:
        return push(machine, (uintptr_t)op->number + machine->frame->bias);
    case DW_OP_fbreg:
        return push_base(machine, op->number);
    case DW_OP_call_frame_cfa:
        return machine->frame->cfa && push(machine, machine->frame->cfa);
    case DW_OP_bregx:
        return push_register(machine, op->number, op->number2);
    case DW_OP_dup:
        return machine->depth && push(machine, machine->stack[machine->depth - 1]);
    case DW_OP_deref:
        return machine->depth && dereference(machine);
    case DW_OP_plus_uconst:
        if (machine->depth)
            machine->stack[machine->depth - 1] += (uintptr_t)op->number;
        return machine->depth;
    default:
        if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
            return push_register(machine, (uint64_t)op->atom - DW_OP_breg0, op->number);
        return constant(machine, op) || binary(machine, op->atom);
    }
}

enum debug_place debug_evaluate(const struct debug_expression *expression,
                                const struct debug_expression *frame_base,
                                const struct debug_frame *frame, uintptr_t *result)
{
    struct machine machine = {.frame = frame, .frame_base = frame_base};
    if (expression->count == 1) {
        const Dwarf_Op *op = expression->ops;
        bool plain = op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31;
        if (plain || op->atom == DW_OP_regx) {
            uint64_t number = plain ? (uint64_t)op->atom - DW_OP_reg0 : op->number;
            bool known = number < 32 && frame->known >> number & 1;
            *result = known ? frame->registers[number] : (uintptr_t)number;
            return known ? DEBUG_VALUE : DEBUG_REGISTER;
        }
    }
    for (size_t i = 0; i < expression->count; i++) {
        if (expression->ops[i].atom == DW_OP_stack_value && machine.depth) {
            *result = machine.stack[machine.depth - 1];
            return DEBUG_VALUE;
        }
        if (!step(&machine, &expression->ops[i]))
            return DEBUG_NOWHERE;
    }
    if (!machine.depth)
        return DEBUG_NOWHERE;
    *result = machine.stack[machine.depth - 1];
    return DEBUG_MEMORY;
}
