/* Jumps of programs: one may leave a signal's handler, which then does not return. See signal.h.
 *
 * A jump that stays within the handler is taken for one that leaves it, too. */
#undef _FORTIFY_SOURCE /* which some compilers set, and with which one name here becomes another's */
#include "sim/libc/common.h"
#include "sim/libc/signal.h"

#include <setjmp.h>

/* What longjmp becomes where the compiler checks bounds. */
_Noreturn void __longjmp_chk(struct __jmp_buf_tag to[1], int value);

void longjmp(struct __jmp_buf_tag to[1], int value)
{
    LIBC_REAL(longjmp);
    libc_hooks->handler_left();
    real(to, value);
    __builtin_unreachable();
}

void _longjmp(struct __jmp_buf_tag to[1], int value)
{
    LIBC_REAL(_longjmp);
    libc_hooks->handler_left();
    real(to, value);
    __builtin_unreachable();
}

void siglongjmp(struct __jmp_buf_tag to[1], int value)
{
    LIBC_REAL(siglongjmp);
    libc_hooks->handler_left();
    real(to, value);
    __builtin_unreachable();
}

void __longjmp_chk(struct __jmp_buf_tag to[1], int value)
{
    LIBC_REAL(__longjmp_chk);
    libc_hooks->handler_left();
    real(to, value);
    __builtin_unreachable();
}
