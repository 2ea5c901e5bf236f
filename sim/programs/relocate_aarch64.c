/* Relocation numbers and the non-C parts for aarch64: see relocate.h. */
#include "sim/programs/relocate.h"

#if defined(__aarch64__)

#include <sys/auxv.h>

static const struct {
    uint32_t type;
    enum relocate_kind kind;
    const char *name;
} types[] = {
    {R_AARCH64_NONE, RELOCATE_NONE, "R_AARCH64_NONE"},
    {R_AARCH64_ABS64, RELOCATE_SYMBOL, "R_AARCH64_ABS64"},
    {R_AARCH64_COPY, RELOCATE_COPY, "R_AARCH64_COPY"},
    {R_AARCH64_GLOB_DAT, RELOCATE_SYMBOL, "R_AARCH64_GLOB_DAT"},
    {R_AARCH64_JUMP_SLOT, RELOCATE_SYMBOL, "R_AARCH64_JUMP_SLOT"},
    {R_AARCH64_RELATIVE, RELOCATE_BASE, "R_AARCH64_RELATIVE"},
    {R_AARCH64_TLS_DTPMOD, RELOCATE_TLS_MODULE, "R_AARCH64_TLS_DTPMOD"},
    {R_AARCH64_TLS_DTPREL, RELOCATE_TLS_OFFSET, "R_AARCH64_TLS_DTPREL"},
    {R_AARCH64_TLS_TPREL, RELOCATE_TLS_STATIC, "R_AARCH64_TLS_TPREL"},
    {R_AARCH64_TLSDESC, RELOCATE_TLS_DESCRIPTOR, "R_AARCH64_TLSDESC"},
    {R_AARCH64_IRELATIVE, RELOCATE_CALL, "R_AARCH64_IRELATIVE"},
};

enum relocate_kind relocate_classify(uint32_t type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return types[i].kind;
    return RELOCATE_UNKNOWN;
}

const char *relocate_name(uint32_t type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return types[i].name;
    return NULL;
}

/* A selector is given the processor's capabilities; bit 62 says that a structure with more of them
 * follows. */
uint64_t relocate_call(uintptr_t function)
{
    const struct {
        uint64_t size, hwcap, hwcap2;
    } more = {sizeof more, getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    uint64_t (*selector)(uint64_t, const void *) = (uint64_t(*)(uint64_t, const void *))function;
    return selector(more.hwcap | (uint64_t)1 << 62, &more);
}

/* A thread-local descriptor is called with its own address in x0 and must change no other register
 * but the flags; it returns the variable's distance from the thread pointer. Ours holds the
 * variable's address in the image itself; for a thread that a rank started, C code is asked where
 * that thread has it. */
#define PAIRS_SAVE                                                                                 \
    "stp x3, x4, [sp, #-16]!\nstp x5, x6, [sp, #-16]!\nstp x7, x8, [sp, #-16]!\n"                  \
    "stp x9, x10, [sp, #-16]!\nstp x11, x12, [sp, #-16]!\nstp x13, x14, [sp, #-16]!\n"             \
    "stp x15, x16, [sp, #-16]!\nstp x17, x18, [sp, #-16]!\n"
#define PAIRS_RESTORE                                                                              \
    "ldp x17, x18, [sp], #16\nldp x15, x16, [sp], #16\nldp x13, x14, [sp], #16\n"                  \
    "ldp x11, x12, [sp], #16\nldp x9, x10, [sp], #16\nldp x7, x8, [sp], #16\n"                     \
    "ldp x5, x6, [sp], #16\nldp x3, x4, [sp], #16\n"
#define VECTORS(instruction)                                                                       \
    instruction " q0, q1, [sp, #0]\n" instruction " q2, q3, [sp, #32]\n" instruction               \
                " q4, q5, [sp, #64]\n" instruction " q6, q7, [sp, #96]\n" instruction              \
                " q8, q9, [sp, #128]\n" instruction " q10, q11, [sp, #160]\n" instruction          \
                " q12, q13, [sp, #192]\n" instruction " q14, q15, [sp, #224]\n" instruction        \
                " q16, q17, [sp, #256]\n" instruction " q18, q19, [sp, #288]\n" instruction        \
                " q20, q21, [sp, #320]\n" instruction " q22, q23, [sp, #352]\n" instruction        \
                " q24, q25, [sp, #384]\n" instruction " q26, q27, [sp, #416]\n" instruction        \
                " q28, q29, [sp, #448]\n" instruction " q30, q31, [sp, #480]\n"

void relocate_descriptor_aarch64(void);
__asm__(".text\n"
        ".globl relocate_descriptor_aarch64\n"
        ".type relocate_descriptor_aarch64, %function\n"
        "relocate_descriptor_aarch64:\n"
        "    stp x1, x2, [sp, #-16]!\n"
        "    ldr x0, [x0, #8]\n"
        "    mrs x1, tpidr_el0\n"
        "    adrp x2, :gottprel:libc_thread_started\n"
        "    ldr x2, [x2, #:gottprel_lo12:libc_thread_started]\n"
        "    ldrb w2, [x1, x2]\n"
        "    cbnz w2, 1f\n"
        "    sub x0, x0, x1\n"
        "    ldp x1, x2, [sp], #16\n"
        "    ret\n"
        "1:  stp x29, x30, [sp, #-16]!\n"
        "    mov x29, sp\n" PAIRS_SAVE "    sub sp, sp, #512\n" VECTORS("stp") //
        "    bl tls_descriptor_address\n" VECTORS("ldp")                       //
        "    add sp, sp, #512\n" PAIRS_RESTORE                                 //
        "    ldp x29, x30, [sp], #16\n"
        "    mrs x1, tpidr_el0\n"
        "    sub x0, x0, x1\n"
        "    ldp x1, x2, [sp], #16\n"
        "    ret\n"
        ".size relocate_descriptor_aarch64, .-relocate_descriptor_aarch64\n");

uintptr_t relocate_descriptor(void)
{
    return (uintptr_t)relocate_descriptor_aarch64;
}

void relocate_enter(uintptr_t entry, uint64_t *stack)
{
    register uintptr_t target __asm__("x16") = entry;
    __asm__ volatile("mov sp, %0\n"
                     "mov x0, xzr\n"
                     "mov x29, xzr\n"
                     "mov x30, xzr\n"
                     "br %1\n"
                     :
                     : "r"(stack), "r"(target)
                     : "memory", "x0");
    __builtin_unreachable();
}

#endif
typedef int relocate_aarch64_not_empty;
