/* MPICH 3 and 4: a handle is an integer. Predefined ones are in values.tsv; the others are numbers of a table that each rank has, as of
 * everything in this library (numbers.c). */
#ifndef SIM_SHIMS_MPICH_H
#define SIM_SHIMS_MPICH_H

/* A handle's number, given when it is first told; the handle of a number, NULL if it has none. A number is free again when the program's
 * variable was set to a null handle. */
int numbers_of(const void *handle);
void *numbers_find(int number);
void numbers_release(int number);

#define HANDLE(name)                                                                               \
    typedef int F_##name;                                                                          \
    MPI_##name in_##name(int theirs);                                                              \
    int out_##name(MPI_##name ours);                                                               \
    static inline int again_##name(int before, MPI_##name ours)                                    \
    {                                                                                              \
        const void *handle = numbers_find(before);                                                 \
        if (handle == (const void *)ours && handle)                                                \
            return before;                                                                         \
        if (handle)                                                                                \
            numbers_release(before);                                                               \
        later_look();                                                                              \
        return out_##name(ours);                                                                   \
    }

/* A communicator that is there when a request completes: where ours is put, and looking whether it is there. */
MPI_Comm *later_in(int *theirs);
void later_look(void);
#define LATER_IN(kind, handle) later_in(handle)

/* Handles are the same integers in Fortran. */
#define NUMBER_IN(name, number)  (number)
#define NUMBER_OUT(name, number) (number)

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

typedef struct F_Status {
    int bytes_low, bytes_high_and_cancelled;
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
} F_Status;

static inline uint64_t status_bytes(const F_Status *status)
{
    return (uint32_t)status->bytes_low | (uint64_t)((unsigned)status->bytes_high_and_cancelled >> 1)
                                             << 32;
}

static inline void status_set(F_Status *status, uint64_t bytes, int cancelled)
{
    status->bytes_low = (int)(uint32_t)bytes;
    status->bytes_high_and_cancelled = (int)((uint32_t)(bytes >> 32) << 1 | (cancelled != 0));
}

static inline int status_cancelled(const F_Status *status)
{
    return status->bytes_high_and_cancelled & 1;
}

#define STATUS_THERE(status)     ((uintptr_t)(status) > 1)
#define STATUSES_THERE(statuses) STATUS_THERE(statuses)
#define BUFFER_IN(buffer)        ((intptr_t)(buffer) == -1 ? MPI_IN_PLACE : (buffer))
#define WEIGHTS_IN(weights)      (weights) /* the library's variables hold our values */

enum {
    BSEND_OVERHEAD_THERE = 96,
    OBJECT_NAME_THERE = 128,
    ERROR_STRING_THERE = 512,
    LIBRARY_VERSION_THERE = 8192,
    INFO_KEY_THERE = 255,
    PROCESSOR_NAME_THERE = 128
};

#endif
