/* defaults.c: stand-ins, all weak, for what the machine defines once it is linked.
 *
 * They let groups, info objects and attributes be used and tested where there is no world: an error
 * is returned to the caller, and nobody is a rank.
 */
#include <stddef.h>

#include <mpix.h>

#include "sim/attributes.h"
#include "sim/error.h"
#include "sim/integers.h"

__attribute__((weak)) int sim_error_raise(MPI_Comm comm, int error_class, const char *function,
                                          const char *format, ...)
{
    (void)comm, (void)function, (void)format;
    return error_class;
}

__attribute__((weak)) int MPIX_World_rank(void)
{
    return -1;
}

__attribute__((weak)) int MPIX_World_size(void)
{
    return 0;
}

__attribute__((weak)) struct sim_keyvals *sim_attributes_keyvals(void)
{
    return NULL;
}

__attribute__((weak)) struct sim_attributes *sim_attributes_of(enum sim_attribute_kind kind,
                                                               void *handle)
{
    (void)kind, (void)handle;
    return NULL;
}

__attribute__((weak)) bool sim_attributes_predefined(enum sim_attribute_kind kind, void *handle,
                                                     int number, void **value)
{
    (void)kind, (void)handle, (void)number, (void)value;
    return false;
}

__attribute__((weak)) struct sim_integers *sim_integers_of_rank(void)
{
    return NULL;
}
