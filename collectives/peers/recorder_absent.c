/* The recorder's calls as nothing, for programs linked without the recorder (on a real MPI). Weak:
 * where the recorder is linked, its own definitions are taken. */
#include "recorder/recorder.h"

#include <mpix.h>
#include <stdarg.h>
#include <stdio.h>

#define WEAK __attribute__((weak))

WEAK bool record_active(void)
{
    return false;
}

WEAK uint32_t record_node(const char *name, enum op_kind kind, uint32_t pass, uint32_t forward,
                          const void *site)
{
    (void)name, (void)kind, (void)pass, (void)forward, (void)site;
    return 0;
}

WEAK void record_edge(uint32_t from, uint32_t to, enum edge_type type)
{
    (void)from, (void)to, (void)type;
}

WEAK void record_node_enter(uint32_t node)
{
    (void)node;
}

WEAK void record_node_leave(uint32_t node)
{
    (void)node;
}

WEAK uint32_t record_pass_begin(enum pass_mode mode)
{

    (void)mode;
    return 1;
}

WEAK void record_pass_end(uint32_t pass)
{
    (void)pass;
}

WEAK void record_site_enter(const void *site)
{
    (void)site;
}

WEAK void record_site_leave(void)
{
}

WEAK void record_identity(const char *name)
{
    (void)name;
}

WEAK void record_adjoint_comm(const void *comm, const void *original)
{
    (void)comm, (void)original;
}

WEAK void record_input(const char *name, uint32_t type, int64_t count)
{
    (void)name, (void)type, (void)count;
}

WEAK void record_objective(double value)
{
    (void)value;
}

WEAK void record_gradient_check(const struct trace_gradient *row, const char *variable)
{
    (void)row, (void)variable;
}

WEAK void record_metric(const char *name, double value, const char *unit)
{
    (void)name, (void)value, (void)unit;
}

WEAK void record_metric_at(const char *name, double step, double value)
{
    (void)name, (void)step, (void)value;
}

WEAK uint32_t record_position(void)
{
    return 0;
}

WEAK void record_note(const char *code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "rank %d: %s: ", MPIX_World_rank(), code);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}
