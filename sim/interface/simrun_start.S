# What makes a shared object a program that can be started: the name of the dynamic linker. Linked together with the C library's own
# entry into simrun_start.o, which simcc puts into every program; the symbol tells it from an executable.
    .section .interp, "a", @progbits
#ifdef __aarch64__
    .asciz "/lib/ld-linux-aarch64.so.1"
#else
    .asciz "/lib64/ld-linux-x86-64.so.2"
#endif
    .globl simrun_start
    .protected simrun_start
    .section .rodata
simrun_start:
    .byte 0
    .section .note.GNU-stack, "", @progbits
