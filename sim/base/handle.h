/* handle.h: what an MPI handle of this machine is.
 *
 * A predefined handle is an integer below SIM_HANDLE_PREDEFINED, with the value mpi.h gives it.
 * Every other handle is the address of an object whose first member is `uint32_t magic`, one value
 * per kind of object. A freed object's magic is overwritten first, so that a stale handle, a handle
 * of another kind, and an address that is no handle at all are told apart from valid ones.
 *
 * A handle between the two is no address either; MPICH's mpi.h has integers there.
 *
 * This is a check against mistakes of the program under test, not against malice: a wild pointer to
 * memory that is not mapped still faults, and ends the rank with a finding.
 */
#ifndef SIM_BASE_HANDLE_H
#define SIM_BASE_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __SANITIZE_ADDRESS__
#define SIM_HANDLE_ASAN 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SIM_HANDLE_ASAN 1
#endif
#endif
#ifdef SIM_HANDLE_ASAN
#include <sanitizer/asan_interface.h>
#endif

#define SIM_HANDLE_PREDEFINED 4096
/* Objects lie above: simrun is position-independent. MPICH's handles are integers below. */
#define SIM_HANDLE_LOWEST UINT64_C(0x80000000)

/* Four letters each, readable in a memory dump. */
#define SIM_MAGIC_COMM       UINT32_C(0x6d6d6f63) /* "comm" */
#define SIM_MAGIC_DATATYPE   UINT32_C(0x65707974) /* "type" */
#define SIM_MAGIC_ERRHANDLER UINT32_C(0x68727265) /* "errh" */
#define SIM_MAGIC_FILE       UINT32_C(0x656c6966) /* "file" */
#define SIM_MAGIC_GROUP      UINT32_C(0x756f7267) /* "grou" */
#define SIM_MAGIC_INFO       UINT32_C(0x6f666e69) /* "info" */
#define SIM_MAGIC_MESSAGE    UINT32_C(0x7373656d) /* "mess" */
#define SIM_MAGIC_OP         UINT32_C(0x7265706f) /* "oper" */
#define SIM_MAGIC_REQUEST    UINT32_C(0x75716572) /* "requ" */
#define SIM_MAGIC_SESSION    UINT32_C(0x73736573) /* "sess" */
#define SIM_MAGIC_WIN        UINT32_C(0x646e6977) /* "wind" */
#define SIM_MAGIC_FREED      UINT32_C(0x64656572) /* "reed": what free leaves behind */

static inline bool sim_handle_is_predefined(const void *handle)
{
    return (uintptr_t)handle < SIM_HANDLE_PREDEFINED;
}

/* The object behind `handle` when it is one of this kind and alive, else NULL (also for every
 * predefined handle). */
static inline void *sim_handle_object(void *handle, uint32_t magic)
{
    if ((uintptr_t)handle < SIM_HANDLE_LOWEST || (uintptr_t)handle % sizeof(uint32_t) != 0)
        return NULL;
#ifdef SIM_HANDLE_ASAN
    if (__asan_address_is_poisoned(handle)) /* reading what was freed is what this is for */
        return NULL;
#endif
    return *(const uint32_t *)handle == magic ? handle : NULL;
}

#endif
