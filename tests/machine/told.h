/* Calls whose buffers are wrong or right, each with what is to be said of it: see told.c. */
#ifndef TESTS_MACHINE_TOLD_H
#define TESTS_MACHINE_TOLD_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* What is known of a call's buffer. */
enum told {
    TOLD_RIGHT,
    TOLD_UNBOUNDED, /* nothing says where its memory ends */
    TOLD_UNTOLD,    /* nothing says what numbers are there */
    TOLD_NOTHING,   /* nothing is known of its program */
    TOLD_UNASKED,   /* nobody looks at it, wherever it is */
    TOLD_WRONG,
    TOLD_OBJECT,   /* what is said of it needs no debug information */
    TOLD_ELSEWHERE /* it has that of another file */
};

struct told_test {
    /* The call has returned. `format` and what follows: the sentence; only for TOLD_WRONG. */
    void (*called)(int line, enum told expected, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    /* Memory that is known as an object of the heap; the next one lies where the last one lay that was released. */
    void *(*allocate)(size_t size);
    void (*release)(void *memory);
};

void told_places(const struct told_test *test);
void told_pointers(const struct told_test *test);
void told_arguments(const struct told_test *test);
void told_again(const struct told_test *test);

/* A library of its own, without debug information. */
void told_layer(void *buffer, int count, MPI_Datatype type);
/* Another, with it. */
extern float told_data[8];
double *told_make(size_t size);
/* Of the launcher: a library above MPI. */
void told_above(void *buffer, int count, MPI_Datatype type);
void *told_allocate(size_t size);

#endif
