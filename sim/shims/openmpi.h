/* Open MPI 4: a handle is the address of an object; a predefined one, of a variable of the library. Ours that are not predefined are addresses
 * of objects, too, and serve as theirs. */
#ifndef SIM_SHIMS_OPENMPI_H
#define SIM_SHIMS_OPENMPI_H

/* What the library's variables hold. Programs copy them, and mean their copy then. */
struct predefined {
    uint64_t mark;
    void *ours;
};

#define PREDEFINED_MARK UINT64_C(0x6e75726d69732a2a)
enum { PREDEFINED_MAX = 0x300, HANDLES_FROM = 4096 };

extern void *const predefined_theirs[PREDEFINED_MAX];

static inline void *handle_in(void *theirs)
{
    const struct predefined *object = theirs;
    if ((uintptr_t)theirs < HANDLES_FROM || (uintptr_t)theirs % sizeof(uint32_t))
        return NULL;
    return object->mark == PREDEFINED_MARK ? object->ours : theirs;
}

static inline void *handle_out(void *ours)
{
    return (uintptr_t)ours < PREDEFINED_MAX ? predefined_theirs[(uintptr_t)ours] : ours;
}

#define HANDLE(name)                                                                               \
    typedef struct foreign_##name *F_##name;                                                       \
    static inline MPI_##name in_##name(F_##name theirs)                                            \
    {                                                                                              \
        return handle_in(theirs);                                                                  \
    }                                                                                              \
    static inline F_##name out_##name(MPI_##name ours)                                             \
    {                                                                                              \
        return handle_out(ours);                                                                   \
    }                                                                                              \
    static inline F_##name again_##name(F_##name before, MPI_##name ours)                          \
    {                                                                                              \
        (void)before;                                                                              \
        return handle_out(ours);                                                                   \
    }
HANDLE(Comm)
HANDLE(Datatype)
HANDLE(Errhandler)
HANDLE(File)
HANDLE(Group)
HANDLE(Info)
HANDLE(Message)
HANDLE(Op)
HANDLE(Request)
HANDLE(Session)
HANDLE(Win)

/* The integers that Fortran has for predefined ones, and ours. */
#define NUMBERS(name)                                                                              \
    int number_in_##name(int number);                                                              \
    int number_out_##name(int number);
NUMBERS(Comm)
NUMBERS(Datatype)
NUMBERS(Errhandler)
NUMBERS(File)
NUMBERS(Group)
NUMBERS(Info)
NUMBERS(Message)
NUMBERS(Op)
NUMBERS(Request)
NUMBERS(Win)
#define NUMBER_IN(name, number)  number_in_##name(number)
#define NUMBER_OUT(name, number) number_out_##name(number)

typedef struct F_Status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR, cancelled;
    size_t bytes;
} F_Status;

static inline uint64_t status_bytes(const F_Status *status)
{
    return status->bytes;
}

static inline void status_set(F_Status *status, uint64_t bytes, int cancelled)
{
    status->bytes = bytes;
    status->cancelled = cancelled;
}

static inline int status_cancelled(const F_Status *status)
{
    return status->cancelled != 0;
}

#define STATUSES_THERE(statuses) (statuses)
#define STATUS_THERE(status)     ((status) != NULL)
#define BUFFER_IN(buffer)        (buffer)

/* Where a new handle is put later. */
#define LATER_IN(kind, handle) ((MPI_##kind *)(void *)(handle))

/* No weights, and none because there is no neighbour. */
#define WEIGHTS_IN(weights)                                                                        \
    ((weights) == (const int *)2   ? MPI_UNWEIGHTED                                                \
     : (weights) == (const int *)3 ? MPI_WEIGHTS_EMPTY                                             \
                                   : (weights))

enum {
    BSEND_OVERHEAD_THERE = 128,
    OBJECT_NAME_THERE = 64,
    ERROR_STRING_THERE = 256,
    LIBRARY_VERSION_THERE = 256,
    INFO_KEY_THERE = 36,
    PROCESSOR_NAME_THERE = 256
};

/* Predefined functions of attributes are functions of the library. */
#define ATTRIBUTE_COPY(kind) OMPI_C_MPI_##kind##_DUP_FN

#endif
