/* Relocation numbers and the non-C parts for x86-64: see relocate.h. */
#include "sim/programs/relocate.h"

#if defined(__x86_64__)

static const struct {
    enum relocate_kind kind;
    const char *name;
} types[] = {
    [R_X86_64_NONE] = {RELOCATE_NONE, "R_X86_64_NONE"},
    [R_X86_64_64] = {RELOCATE_SYMBOL, "R_X86_64_64"},
    [R_X86_64_PC32] = {RELOCATE_UNKNOWN, "R_X86_64_PC32"},
    [R_X86_64_COPY] = {RELOCATE_COPY, "R_X86_64_COPY"},
    [R_X86_64_GLOB_DAT] = {RELOCATE_SYMBOL, "R_X86_64_GLOB_DAT"},
    [R_X86_64_JUMP_SLOT] = {RELOCATE_SYMBOL, "R_X86_64_JUMP_SLOT"},
    [R_X86_64_RELATIVE] = {RELOCATE_BASE, "R_X86_64_RELATIVE"},
    [R_X86_64_32] = {RELOCATE_UNKNOWN, "R_X86_64_32"},
    [R_X86_64_DTPMOD64] = {RELOCATE_TLS_MODULE, "R_X86_64_DTPMOD64"},
    [R_X86_64_DTPOFF64] = {RELOCATE_TLS_OFFSET, "R_X86_64_DTPOFF64"},
    [R_X86_64_TPOFF64] = {RELOCATE_TLS_STATIC, "R_X86_64_TPOFF64"},
    [R_X86_64_TLSDESC] = {RELOCATE_TLS_DESCRIPTOR, "R_X86_64_TLSDESC"},
    [R_X86_64_IRELATIVE] = {RELOCATE_CALL, "R_X86_64_IRELATIVE"},
};

enum relocate_kind relocate_classify(uint32_t type)
{
    return type < sizeof types / sizeof *types ? types[type].kind : RELOCATE_UNKNOWN;
}

const char *relocate_name(uint32_t type)
{
    return type < sizeof types / sizeof *types ? types[type].name : NULL;
}

uint64_t relocate_call(uintptr_t function)
{
    return ((uint64_t(*)(void))function)();
}

/* A thread-local descriptor is called with its own address in rax and must change no other
 * register; it returns the variable's distance from the thread pointer. Ours holds the variable's
 * address itself. Compilers use descriptors only when asked to (-mtls-dialect=gnu2); threads that a
 * rank starts then share its thread-locals, since to ask C code for theirs the whole vector state
 * would have to be saved. */
void relocate_descriptor_x86_64(void);
__asm__(".text\n"
        ".globl relocate_descriptor_x86_64\n"
        ".type relocate_descriptor_x86_64, @function\n"
        "relocate_descriptor_x86_64:\n"
        "    .cfi_startproc\n"
        "    movq 8(%rax), %rax\n"
        "    subq %fs:0, %rax\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size relocate_descriptor_x86_64, .-relocate_descriptor_x86_64\n");

uintptr_t relocate_descriptor(void)
{
    return (uintptr_t)relocate_descriptor_x86_64;
}

void relocate_enter(uintptr_t entry, uint64_t *stack)
{
    __asm__ volatile("movq %0, %%rsp\n"
                     "xorl %%edx, %%edx\n"
                     "xorl %%ebp, %%ebp\n"
                     "jmp *%1\n"
                     :
                     : "r"(stack), "r"(entry)
                     : "memory", "rdx");
    __builtin_unreachable();
}

#endif
typedef int relocate_x86_64_not_empty;
