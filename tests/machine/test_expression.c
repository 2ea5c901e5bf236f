/* Expressions of debug information. Random ones are drawn as trees, whose values come by recursion and arithmetic digit
 * by digit; the same tree in postfix order is what is asked. Then each way not to have a value, at its border. */
#include "sim/debug/expression.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <dwarf.h>

enum { OPS_MAX = 256, CELLS = 8, PRESERVED = 6, DEPTH_OF_COMPILERS = 16 };

static uint64_t state = 1;
static Dwarf_Op ops[OPS_MAX], base_ops[2];
static size_t count;
static uint64_t cells[CELLS];
static struct debug_frame frame;
static struct debug_expression frame_base = {base_ops, 0};
static const unsigned preserved[PRESERVED] = {0, 3, 6, 12, 15, 31};

static void put(unsigned atom, uint64_t number, uint64_t number2)
{
    if (count < OPS_MAX)
        ops[count++] = (Dwarf_Op){.atom = (uint8_t)atom, .number = number, .number2 = number2};
}

static enum debug_place ask(uintptr_t *value)
{
    struct debug_expression expression = {ops, count};
    return debug_evaluate(&expression, &frame_base, &frame, value);
}

/* Such a frame: every register, and what it is compared with, is another number. */
static void frame_draw(void)
{
    frame = (struct debug_frame){.bias = dice_next(&state), .cfa = dice_next(&state) | 1};
    for (int i = 0; i < 32; i++)
        frame.registers[i] = dice_next(&state);
    for (int i = 0; i < PRESERVED; i++)
        frame.known |= 1u << preserved[i];
    for (int i = 0; i < CELLS; i++)
        cells[i] = dice_next(&state);
    frame.stack_low = (uintptr_t)cells;
    frame.stack_high = (uintptr_t)(cells + CELLS);
    base_ops[0] = (Dwarf_Op){.atom = DW_OP_call_frame_cfa};
    frame_base.count = 1;
}

/* ---- the second way: trees ---- */

/* By hand, digit after digit, and of products the sum of doubled ones. */
static uint64_t sum(uint64_t a, uint64_t b, unsigned carry)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 64; i += 16) {
        uint32_t digit = (uint32_t)(a >> i & 0xffff) + (uint32_t)(b >> i & 0xffff) + carry;
        result |= (uint64_t)(digit & 0xffff) << i;
        carry = digit >> 16;
    }
    return result;
}

static uint64_t wide(uint64_t a, uint64_t b, int what)
{
    uint64_t product = 0;
    if (what != '*')
        return what == '+' ? sum(a, b, 0) : sum(a, ~b, 1);
    for (; b; b >>= 1, a = sum(a, a, 0))
        product = b & 1 ? sum(product, a, 0) : product;
    return product;
}

/* One bit after the other. */
static uint64_t bits(uint64_t a, uint64_t b, unsigned atom)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 64; i++) {
        bool one = a >> i & 1, two = b >> i & 1;
        result += (uint64_t)(atom == DW_OP_and ? one && two : one || two) << i;
    }
    return result;
}

/* So many steps of one bit. */
static uint64_t shifted(uint64_t a, uint64_t steps, unsigned atom)
{
    bool negative = a >> 63;
    for (uint64_t i = 0; i < steps && i < 70; i++) {
        if (atom == DW_OP_shl)
            a += a;
        else
            a = a / 2 + (atom == DW_OP_shra && negative ? (uint64_t)1 << 63 : 0);
    }
    return a;
}

static uint64_t joined(uint64_t a, uint64_t b, unsigned atom)
{
    switch (atom) {
    case DW_OP_plus:
        return wide(a, b, '+');
    case DW_OP_minus:
        return wide(a, b, '-');
    case DW_OP_mul:
        return wide(a, b, '*');
    case DW_OP_and:
    case DW_OP_or:
        return bits(a, b, atom);
    default:
        return shifted(a, b, atom);
    }
}

static uint64_t leaf(void)
{
    static const unsigned constants[] = {DW_OP_const1u, DW_OP_const1s, DW_OP_const2u, DW_OP_const2s,
                                         DW_OP_const4u, DW_OP_const4s, DW_OP_const8u, DW_OP_const8s,
                                         DW_OP_constu,  DW_OP_consts};
    uint64_t number = dice_next(&state) >> dice_below(&state, 64);
    unsigned r = preserved[dice_below(&state, PRESERVED)], cell = dice_below(&state, CELLS);
    switch (dice_below(&state, 8)) {
    case 0:
        put(constants[dice_below(&state, 10)], number, 0);
        return number;
    case 1:
        number = dice_below(&state, 32);
        put(DW_OP_lit0 + (unsigned)number, 0, 0);
        return number;
    case 2:
        put(DW_OP_breg0 + r, number, 0);
        return wide(frame.registers[r], number, '+');
    case 3:
        put(DW_OP_bregx, r, number);
        return wide(frame.registers[r], number, '+');
    case 4:
        put(DW_OP_call_frame_cfa, 0, 0);
        return frame.cfa;
    case 5:
        put(DW_OP_addr, number, 0);
        return wide(frame.bias, number, '+');
    case 6:
        put(DW_OP_fbreg, number, 0);
        return wide(frame.cfa, number, '+');
    default:
        put(DW_OP_constu, (uint64_t)(uintptr_t)&cells[cell], 0);
        put(DW_OP_deref, 0, 0);
        return cells[cell];
    }
}

static uint64_t tree(int height)
{
    static const unsigned joins[] = {DW_OP_plus, DW_OP_minus, DW_OP_mul, DW_OP_and,
                                     DW_OP_or,   DW_OP_shl,   DW_OP_shr, DW_OP_shra};
    unsigned atom = joins[dice_below(&state, 8)];
    if (!height || !dice_below(&state, 5))
        return leaf();
    uint64_t a = tree(height - 1), b = a;
    if (!dice_below(&state, 6)) {
        put(DW_OP_plus_uconst, b = dice_next(&state) >> 40, 0);
        return wide(a, b, '+');
    }
    if (!dice_below(&state, 6)) {
        put(DW_OP_dup, 0, 0);
    } else if (atom >= DW_OP_shl && atom <= DW_OP_shra) {
        put(DW_OP_const1u, b = dice_below(&state, 72), 0);
    } else {
        b = tree(height - 1);
    }
    put(atom, 0, 0);
    return joined(a, b, atom);
}

static void test_trees(void)
{
    int wrong = 0, values = 0;
    struct dice_seeds seeds = dice_seeds(1500);
    for (unsigned long long i = 0; i < seeds.count; i++) {
        state = seeds.first + i;
        frame_draw();
        count = 0;
        uint64_t expected = tree(4);
        uintptr_t got = 0;
        bool value = dice_below(&state, 2);
        if (value)
            put(DW_OP_stack_value, 0, 0);
        wrong += ask(&got) != (value ? DEBUG_VALUE : DEBUG_MEMORY) || got != expected;
        values += value;
    }
    tap_ok(!wrong && values, "a postfix expression has the value of its tree, and is a place "
                             "unless it says that it is a value");
}

/* ---- registers ---- */

static void test_registers(void)
{
    int wrong = 0;
    for (unsigned r = 0; r < 40; r++) {
        bool known = false;
        for (int i = 0; i < PRESERVED; i++)
            known |= preserved[i] == r;
        for (int x = 0; x < 2; x++) {
            uintptr_t got = 0, expected = known ? frame.registers[r] : r;
            count = 0;
            if (r < 32 && !x)
                put(DW_OP_reg0 + r, 99, 0);
            else
                put(DW_OP_regx, r, 99);
            wrong += ask(&got) != (known ? DEBUG_VALUE : DEBUG_REGISTER) || got != expected;
            count = 0;
            put(DW_OP_lit0 + 1, 0, 0); /* must not be the answer */
            if (r < 32 && !x)
                put(DW_OP_breg0 + r, 5, 77);
            else
                put(DW_OP_bregx, r, 5);
            enum debug_place place = ask(&got);
            wrong += place != (known ? DEBUG_MEMORY : DEBUG_NOWHERE) ||
                     (known && got != frame.registers[r] + 5);
        }
    }
    tap_ok(!wrong, "a register that a call preserves has a value and is a base; of any other only "
                   "its number is known");
    put(DW_OP_lit0, 0, 0);
    count = 0;
    put(DW_OP_reg0 + 3, 0, 0);
    put(DW_OP_reg0 + 3, 0, 0);
    uintptr_t got;
    tap_is_int(ask(&got), DEBUG_NOWHERE, "a register is no operand of an expression");
}

static void test_frame_base(void)
{
    static const struct {
        unsigned atom;
        uint64_t number;
        enum debug_place place;
        const char *what;
    } rows[] = {
        {DW_OP_reg0 + 6, 0, DEBUG_MEMORY, "a register that is preserved"},
        {DW_OP_reg0 + 7, 0, DEBUG_NOWHERE, "a register that is not preserved"},
        {DW_OP_breg0 + 6, 16, DEBUG_MEMORY, "a place by a register that is preserved"},
        {DW_OP_breg0 + 7, 16, DEBUG_NOWHERE, "a place by one that is not"},
        {DW_OP_fbreg, 16, DEBUG_NOWHERE, "itself"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uintptr_t got = 0;
        base_ops[0] = (Dwarf_Op){.atom = (uint8_t)rows[i].atom, .number = rows[i].number};
        count = 0;
        put(DW_OP_lit0 + 1, 0, 0);
        put(DW_OP_fbreg, (uint64_t)-40, 0);
        enum debug_place place = ask(&got);
        tap_ok(place == rows[i].place &&
                   (place == DEBUG_NOWHERE || got == frame.registers[6] + rows[i].number - 40),
               "a frame's base is %s", rows[i].what);
    }
    uintptr_t got;
    frame_base.count = 0;
    tap_is_int(ask(&got), DEBUG_NOWHERE, "a frame without a base has no places in it");
    struct debug_expression expression = {ops, count};
    tap_is_int(debug_evaluate(&expression, NULL, &frame, &got), DEBUG_NOWHERE,
               "nor one of which nothing is said");
    frame_draw();
    frame.cfa = 0;
    count = 0;
    put(DW_OP_lit0 + 1, 0, 0);
    put(DW_OP_call_frame_cfa, 0, 0);
    tap_is_int(ask(&got), DEBUG_NOWHERE,
               "a frame whose stack pointer is not known has no place by it");
    frame_draw();
}

/* ---- what must not be done ---- */

/* With `operands` numbers on the stack, the operation has a result or none. */
static void test_operands(void)
{
    static const unsigned binaries[] = {DW_OP_plus, DW_OP_minus, DW_OP_mul, DW_OP_and,
                                        DW_OP_or,   DW_OP_shl,   DW_OP_shr, DW_OP_shra};
    static const unsigned unaries[] = {DW_OP_dup, DW_OP_plus_uconst, DW_OP_deref,
                                       DW_OP_stack_value};
    static const unsigned foreign[] = {DW_OP_div,   DW_OP_mod, DW_OP_neg,    DW_OP_not,
                                       DW_OP_xor,   DW_OP_bra, DW_OP_drop,   DW_OP_swap,
                                       DW_OP_piece, DW_OP_eq,  DW_OP_lo_user};
    int wrong = 0;
    uintptr_t got;
    for (unsigned operands = 0; operands < 4; operands++)
        for (size_t i = 0; i < 8 + 4 + 11; i++) {
            count = 0;
            for (unsigned k = 0; k < operands; k++)
                put(DW_OP_constu, (uint64_t)(uintptr_t)&cells[k], 0);
            put(i < 8 ? binaries[i] : i < 12 ? unaries[i - 8] : foreign[i - 12], 0, 0);
            bool possible = i < 8 ? operands >= 2 : i < 12 && operands >= 1;
            wrong += (ask(&got) != DEBUG_NOWHERE) != possible;
        }
    tap_ok(!wrong,
           "an operation without its operands, and one that compilers do not use, has no result");
    count = 0;
    tap_is_int(ask(&got), DEBUG_NOWHERE, "an expression of nothing is nowhere");
    count = 0;
    for (int i = 0; i < DEPTH_OF_COMPILERS; i++)
        put(DW_OP_lit0 + 1, 0, 0);
    for (int i = 1; i < DEPTH_OF_COMPILERS; i++)
        put(DW_OP_plus, 0, 0);
    tap_ok(ask(&got) == DEBUG_MEMORY && got == DEPTH_OF_COMPILERS, "sixteen operands may wait");
    count = 0;
    for (int i = 0; i < OPS_MAX; i++)
        put(DW_OP_lit0, 0, 0);
    tap_is_int(ask(&got), DEBUG_NOWHERE, "more than any compiler stacks is not evaluated");
}

static void test_reads(void)
{
    int wrong = 0, read = 0;
    frame.stack_low = (uintptr_t)(cells + 2);
    frame.stack_high = (uintptr_t)(cells + 5);
    for (ptrdiff_t at = 0; at <= (ptrdiff_t)sizeof cells - 8; at++) {
        uint64_t expected = 0;
        uintptr_t got = 0;
        for (int i = 8; i-- > 0;) /* of little-endian machines */
            expected = expected * 256 + ((unsigned char *)cells)[at + i];
        count = 0;
        put(DW_OP_constu, (uint64_t)(uintptr_t)cells + (uint64_t)at, 0);
        put(DW_OP_deref, 0, 0);
        bool within = at >= 2 * 8 && at + 8 <= 5 * 8;
        enum debug_place place = ask(&got);
        wrong += place != (within ? DEBUG_MEMORY : DEBUG_NOWHERE) || (within && got != expected);
        read += within;
    }
    tap_ok(!wrong && read == 17,
           "memory is read where the stack is, from its first byte to its last, and nowhere else");
}

int main(void)
{
    tap_plan(16);
    test_trees();
    frame_draw();
    test_registers();
    test_frame_base();
    test_operands();
    test_reads();
    return tap_done();
}
