/* entry.h: entry points of one or two instructions, made from rows of a table by the assembler.
 *
 * An entry leaves arguments, return address and stack as its caller set them and jumps on, so
 * nothing about parameters need be known here. Each macro expands to a string for an __asm__ at
 * file scope; the assembler statements of a file stay in their order.
 */
#ifndef SIM_INTERFACE_ENTRY_H
#define SIM_INTERFACE_ENTRY_H

#if defined(__x86_64__)
#define ENTRY_LOAD(label)  "leaq " label "(%rip), %rdi\n"
#define ENTRY_JUMP(target) "jmp " target "\n"
#define ENTRY_PLT          "@PLT"
#elif defined(__aarch64__)
#define ENTRY_LOAD(label)  "adrp x0, " label "\nadd x0, x0, :lo12:" label "\n"
#define ENTRY_JUMP(target) "b " target "\n"
#define ENTRY_PLT
#else
#error "say how this architecture loads an address as first argument and jumps"
#endif

#define ENTRY_IN(section, body) ".pushsection " section "\n" body ".popsection\n"
#define ENTRY_TEXT              ".text"

/* A label for a constant string. */
#define ENTRY_STRING(label, text)                                                                  \
    ENTRY_IN(".rodata.str1.1, \"aMS\", %progbits, 1", label ": .asciz \"" text "\"\n")

/* A function `symbol` bound as ".weak" or ".globl", with the instructions of `body`. */
#define ENTRY_FUNCTION(binding, symbol, body)                                                      \
    binding " " symbol "\n.type " symbol ", %function\n.p2align 4\n" symbol ":\n" body             \
            ".size " symbol ", .-" symbol "\n"

#endif
