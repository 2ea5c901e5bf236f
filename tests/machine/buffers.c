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
        struct buffer shown = {(void *)&(first),                                                   \
                               sizeof(first),                                                      \
                               (size_t)(elements),                                                 \
                               KIND(first),                                                        \
                               where,                                                              \
                               points,                                                             \
                               inner,                                                              \
                               false,                                                              \
                               false};                                                             \
        ask(&shown);                                                                               \
    } while (0)
/* Where compilers have put it so. */
#define NEIGHBOURS(one, other, two)                                                                \
    do {                                                                                           \
        struct buffer shown = {&(one), sizeof(one), 1,    KIND(one), "a neighbour",                \
                               false,  (void *)0,   true, two};                                    \
        if ((const char *)&(other) == (const char *)(&(one) + 1))                                  \
            ask(&shown);                                                                           \
    } while (0)
#define ALL_NEIGHBOURS(one, two, three)                                                            \
    do {                                                                                           \
        NEIGHBOURS(one, two, false);                                                               \
        NEIGHBOURS(two, one, false);                                                               \
        NEIGHBOURS(one, three, true);                                                              \
        NEIGHBOURS(two, three, true);                                                              \
    } while (0)

/* One function for each type. */
#define PLACES(type, name)                                                                         \
    static type static_##name[6], alone_##name, one_##name, two_##name, three_##name[2],           \
        *table_##name[5];                                                                          \
    struct within_##name {                                                                         \
        type before[2];                                                                            \
        type member[4];                                                                            \
    };                                                                                             \
    struct node_##name {                                                                           \
        struct node_##name *next;                                                                  \
        short number;                                                                              \
        type *data;                                                                                \
    };                                                                                             \
    static __attribute__((noinline)) void show_##name(buffer_ask *ask, buffer_allocate *allocate,  \
                                                      int length, const type *given)               \
    {                                                                                              \
        type array[5], single, open[length], matrix[2][3];                                         \
        type one, two, three[2], *open_table[length];                                              \
        struct within_##name record;                                                               \
        struct node_##name nodes[4] = {{0}}, *list = allocate(sizeof *list);                       \
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
        {                                                                                          \
            struct buffer behind = {.place = "behind a block"};                                    \
            ask(&behind);                                                                          \
        }                                                                                          \
        ALL_NEIGHBOURS(one, two, three);                                                           \
        ALL_NEIGHBOURS(one_##name, two_##name, three_##name);                                      \
        table_##name[3] = allocate(7 * sizeof(type));                                              \
        SHOW(object, table_##name[3][0], 7, "what a static table leads to", true, (void *)0);      \
        table_##name[3] = (void *)0;                                                               \
        for (int i = 0; i < length; i++)                                                           \
            open_table[i] = (void *)0;                                                             \
        open_table[length - 1] = allocate(7 * sizeof(type));                                       \
        SHOW(object, open_table[length - 1][0], 7, "what a table leads to", true, (void *)0);      \
        nodes[2].data = allocate(7 * sizeof(type));                                                \
        SHOW(object, nodes[2].data[0], 7, "what a field leads to", true, (void *)0);               \
        list->data = (void *)0;                                                                    \
        list->next = allocate(3 * sizeof *list);                                                   \
        for (int i = 0; i < 3; i++)                                                                \
            list->next[i] = (struct node_##name){0};                                               \
        list->next[1].data = allocate(7 * sizeof(type));                                           \
        SHOW(object, list->next[1].data[0], 7, "what a list leads to", true, (void *)0);           \
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
