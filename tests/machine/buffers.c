/* Variables of every type in every place that a buffer may lie in, shown to the test that compiles this with debug information
 * (test_typed.c). */
#include "buffers.h"

#define KIND(x)                                                                                    \
    _Generic((x), char                                                                             \
             : BUFFER_CHARACTERS, float                                                            \
             : BUFFER_FLOATING, double                                                             \
             : BUFFER_FLOATING, default                                                            \
             : BUFFER_INTEGERS)
#define SHOW(variable, first, elements, where, points, inner)                                      \
    do {                                                                                           \
        struct buffer shown =                                                                      \
            {(void *)&(first), sizeof(first), (size_t)(elements), KIND(first), where,              \
             points,           inner};                                                             \
        ask(&shown);                                                                               \
    } while (0)

/* One function for each type. */
#define PLACES(type, name)                                                                         \
    static type static_##name[6], alone_##name;                                                    \
    struct within_##name {                                                                         \
        type before[2];                                                                            \
        type member[4];                                                                            \
    };                                                                                             \
    static __attribute__((noinline)) void show_##name(buffer_ask *ask, buffer_allocate *allocate,  \
                                                      int length, const type *given)               \
    {                                                                                              \
        type array[5], single, open[length], matrix[2][3];                                         \
        struct within_##name record;                                                               \
        type *object = allocate(7 * sizeof(type));                                                 \
        SHOW(single, single, 1, "a variable", false, (void *)0);                                   \
        SHOW(array, array[0], 5, "an array", false, (void *)0);                                    \
        SHOW(array, array[2], 3, "the middle of an array", false, (void *)0);                      \
        SHOW(matrix, matrix[0][0], 6, "a matrix", false, (void *)0);                               \
        SHOW(open, open[0], length, "an array whose length the run tells", false, (void *)0);      \
        SHOW(record, record.before[0], 6, "a structure", false, (void *)0);                        \
        SHOW(record, record.member[1], 3, "a member", false, (void *)0);                           \
        SHOW(static_##name, static_##name[0], 6, "a static array", false, (void *)0);              \
        SHOW(static_##name, static_##name[4], 2, "the end of a static array", false, (void *)0);   \
        SHOW(alone_##name, alone_##name, 1, "a static variable", false, (void *)0);                \
        SHOW(given, *given, 3, "what an argument points to", false, (void *)0);                    \
        SHOW(object, object[0], 7, "an allocated object", true, (void *)0);                        \
        SHOW(object, object[3], 4, "the middle of an allocated object", true, (void *)0);          \
        {                                                                                          \
            type inner_##name[3];                                                                  \
            SHOW(inner_##name, inner_##name[0], 3, "an array of a block", false, "inner_" #name);  \
        }                                                                                          \
    }
PLACES(char, char)
PLACES(short, short)
PLACES(int, int)
PLACES(long, long)
PLACES(float, float)
PLACES(double, double)

void buffers_show(buffer_ask *ask, buffer_allocate *allocate, int length)
{
    char chars[3];
    short shorts[3];
    int ints[3];
    long longs[3];
    float floats[3];
    double doubles[3];
    show_char(ask, allocate, length, chars);
    show_short(ask, allocate, length, shorts);
    show_int(ask, allocate, length, ints);
    show_long(ask, allocate, length, longs);
    show_float(ask, allocate, length, floats);
    show_double(ask, allocate, length, doubles);
}
