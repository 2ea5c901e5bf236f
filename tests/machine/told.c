/* Calls whose buffers lie in variables of the test's own, or in what pointers lead to, and the sentence that C has for each. Compiled by
 * test_told.c with debug information and without, as it stands and optimised. */
#include "told.h"

#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#if defined TOLD_LAYER

void told_layer(void *buffer, int count, MPI_Datatype type)
{
    MPI_Bcast(buffer, count, type, 0, MPI_COMM_SELF);
    __asm__ volatile("");
}

#elif defined TOLD_DATA

float told_data[8];
double *told_make(size_t size)
{
    double *made = told_allocate(size);
    made[0] = made[1] = 1;
    return made;
}

#else

#define BCAST(buffer, count, type) MPI_Bcast((void *)(buffer), count, type, 0, MPI_COMM_SELF)
#define RIGHT(call)                ((call), test->called(__LINE__, TOLD_RIGHT, "%s", ""))
#define UNBOUNDED(call)            ((call), test->called(__LINE__, TOLD_UNBOUNDED, "%s", ""))
#define UNTOLD(call)               ((call), test->called(__LINE__, TOLD_UNTOLD, "%s", ""))
#define NOTHING(call)              ((call), test->called(__LINE__, TOLD_NOTHING, "%s", ""))
#define UNASKED(call)              ((call), test->called(__LINE__, TOLD_UNASKED, "%s", ""))
#define OBJECT(call, ...)          ((call), test->called(__LINE__, TOLD_OBJECT, __VA_ARGS__))
#define WRONG(call, ...)           ((call), test->called(__LINE__, TOLD_WRONG, __VA_ARGS__))

/* The sentence of a Bcast of other numbers. */
#define OTHER(moved, at, name, type, there)                                                        \
    "M011 Bcast reads " moved " at byte %zu of its buffer, where " name ", of " type               \
    ", has " there,                                                                                \
        (size_t)(at)
#define BEYOND(bytes, name, size, from, span)                                                      \
    "B006 Bcast reads %zu byte%s beyond the end of variable " name                                 \
    " of %zu: its buffer begins %zu into the variable and spans %zu",                              \
        (size_t)(bytes), (bytes) == 1 ? "" : "s", (size_t)(size), (size_t)(from), (size_t)(span)
#define POINTER(bytes, name)                                                                       \
    "B006 Bcast reads %zu byte%s beyond the end of pointer " name                                  \
    ": its buffer is where the pointer itself lies, not what it points to (" name ", not &" name   \
    ")",                                                                                           \
        (size_t)(bytes), (bytes) == 1 ? "" : "s"
#define INT4    "an integer of 4 bytes"
#define INT8    "an integer of 8 bytes"
#define FLOAT4  "a floating-point number of 4 bytes"
#define FLOAT8  "a floating-point number of 8 bytes"
#define POINTEE "what is pointed to by "

struct late { /* its tail begins within what sizeof counts */
    double first;
    int second;
    float tail[];
};
struct open {
    long length;
    double tail[];
};
struct triple {
    double first;
    long second;
    double third;
};
struct open_triples {
    long length;
    struct triple tail[];
};
struct gap {
    char letter;
    double number;
};

static const struct told_test *test;
static struct late late = {1, 2, {3, 4, 5}};
static int static_ints[6];
static float static_floats[6];
static double *static_pointer;
static long static_address; /* a number, whatever it is */
static int *static_small;

/* ---- places ---- */

static NOINLINE void neighbours(void)
{
    int one[4] = {0};
    float other[4] = {0};
    double third[2] = {0};
    long fourth[2] = {0};
    WRONG(BCAST(one, 2, MPI_DOUBLE), OTHER("MPI_DOUBLE", 0, "one", "int", INT4));
    WRONG(BCAST(other, 2, MPI_LONG), OTHER("MPI_LONG", 0, "other", "float", FLOAT4));
    WRONG(BCAST(third, 2, MPI_LONG), OTHER("MPI_LONG", 0, "third", "double", FLOAT8));
    WRONG(BCAST(fourth, 2, MPI_DOUBLE), OTHER("MPI_DOUBLE", 0, "fourth", "long int", INT8));
    WRONG(BCAST(one, 4, MPI_FLOAT), OTHER("MPI_FLOAT", 0, "one", "int", INT4));
    RIGHT(BCAST(one, 4, MPI_INT));
    RIGHT(BCAST(other, 4, MPI_FLOAT));
    RIGHT(BCAST(third, 2, MPI_DOUBLE));
    RIGHT(BCAST(fourth, 2, MPI_LONG));
}

static NOINLINE void ends(void)
{
    int ints[5] = {0};
    char letters[7] = {0};
    double number = 0;
    for (int from = 0; from < 5; from++) {
        RIGHT(BCAST(ints + from, 5 - from, MPI_INT));
        WRONG(BCAST(ints + from, 6 - from, MPI_INT),
              BEYOND(4, "ints", 20, 4 * from, 24 - 4 * from));
        WRONG(BCAST(ints + from, 21 - 4 * from, MPI_BYTE),
              BEYOND(1, "ints", 20, 4 * from, 21 - 4 * from));
    }
    RIGHT(BCAST(letters, 7, MPI_CHAR));
    WRONG(BCAST(letters, 8, MPI_CHAR), BEYOND(1, "letters", 7, 0, 8));
    WRONG(BCAST(letters + 6, 3, MPI_CHAR), BEYOND(2, "letters", 7, 6, 3));
    RIGHT(BCAST(&number, 1, MPI_DOUBLE));
    WRONG(BCAST(&number, 2, MPI_DOUBLE), BEYOND(8, "number", 8, 0, 16));
    WRONG(BCAST(&number, 2, MPI_FLOAT), OTHER("MPI_FLOAT", 0, "number", "double", FLOAT8));
}

static NOINLINE void lengths(int length)
{
    int told[length];
    double matrix[length][2];
    told[0] = 0;
    matrix[0][0] = 0;
    RIGHT(BCAST(told, length, MPI_INT));
    WRONG(BCAST(told, length + 1, MPI_INT), BEYOND(4, "told", 4 * length, 0, 4 * length + 4));
    WRONG(BCAST(matrix, 2 * length + 1, MPI_DOUBLE),
          BEYOND(8, "matrix", 16 * length, 0, 16 * length + 8));
    WRONG(BCAST(told, length, MPI_FLOAT), OTHER("MPI_FLOAT", 0, "told", "int", INT4));
}

/* In a register, or in memory: the variable lies where it points to. */
static NOINLINE void pointer_beside(void)
{
    int *pointer, beside[6] = {0};
    __asm__ volatile("" : "=r"(pointer) : "0"(beside));
    for (int i = 0; i < 2; i++) {
        WRONG(BCAST(pointer, 6, MPI_FLOAT), OTHER("MPI_FLOAT", 0, "beside", "int", INT4));
        WRONG(BCAST(pointer, 7, MPI_INT), BEYOND(4, "beside", 24, 0, 28));
    }
    __asm__ volatile("" : : "r"(pointer));
}

static NOINLINE void structures(void)
{
    struct gap gaps[3];
    memset(gaps, 0, sizeof gaps);
    WRONG(BCAST((char *)&gaps[1] + 4, 1, MPI_INT),
          OTHER("MPI_INT", 0, "gaps", "struct gap", "padding"));
    RIGHT(BCAST(&gaps[1].number, 1, MPI_DOUBLE));
    WRONG(BCAST(&gaps[2].number, 1, MPI_LONG), OTHER("MPI_LONG", 0, "gaps", "struct gap", FLOAT8));
}

static NOINLINE void tails(void)
{
    struct open *open = test->allocate(sizeof *open + 5 * sizeof(double));
    struct open_triples *triples = test->allocate(sizeof *triples + 3 * sizeof(struct triple));
    RIGHT(BCAST(&triples->tail[1].second, 1, MPI_LONG));
    RIGHT(BCAST(&triples->tail[1].third, 2, MPI_DOUBLE));
    WRONG(BCAST(&triples->tail[2].second, 1, MPI_DOUBLE),
          OTHER("MPI_DOUBLE", 0, POINTEE "triples", "struct triple", INT8));
    RIGHT(BCAST(open->tail, 5, MPI_DOUBLE));
    RIGHT(BCAST(open->tail + 3, 2, MPI_DOUBLE));
    RIGHT(BCAST(&open->length, 1, MPI_LONG));
    WRONG(BCAST(&open->length, 1, MPI_DOUBLE),
          OTHER("MPI_DOUBLE", 0, POINTEE "open", "struct open", INT8));
    WRONG(BCAST(open->tail, 5, MPI_LONG), OTHER("MPI_LONG", 0, POINTEE "open", "double", FLOAT8));
    WRONG(BCAST(open->tail + 3, 2, MPI_LONG),
          OTHER("MPI_LONG", 0, POINTEE "open", "double", FLOAT8));
    RIGHT(BCAST(open, 5, MPI_FLOAT));       /* begins before the tail and reaches into it */
    UNBOUNDED(BCAST(&late, 1, MPI_DOUBLE)); /* how long such a variable is, is not known */
    WRONG(BCAST(&late, 1, MPI_LONG), OTHER("MPI_LONG", 0, "late", "struct late", FLOAT8));
}

static NOINLINE void pointer_itself(void)
{
    double numbers[1] = {0};
    double *volatile local = numbers;
    void *volatile any = numbers;
    RIGHT(BCAST(&local, 8, MPI_BYTE));
    RIGHT(BCAST(&local, 1, MPI_DOUBLE));
    WRONG(BCAST(&local, 9, MPI_BYTE), POINTER(1, "local"));
    WRONG(BCAST(&local, 20, MPI_BYTE), POINTER(12, "local"));
    RIGHT(BCAST((char *)&local + 4, 1, MPI_INT));
    WRONG(BCAST((char *)&local + 4, 2, MPI_INT), POINTER(4, "local"));
    WRONG(BCAST((char *)&local + 7, 2, MPI_BYTE), POINTER(1, "local"));
    RIGHT(BCAST(&any, 8, MPI_BYTE));
    WRONG(BCAST(&any, 10, MPI_BYTE), POINTER(2, "any"));
    RIGHT(BCAST(&static_pointer, 1, MPI_AINT));
    WRONG(BCAST(&static_pointer, 3, MPI_INT), POINTER(4, "static_pointer"));
    RIGHT(BCAST(numbers, 1, MPI_DOUBLE));
}

static NOINLINE void last_of_block(int which)
{
    if (which == 1) {
        float inner[3] = {0};
        BCAST(inner, 3, MPI_INT);
    } else {
        int inner[3] = {0};
        BCAST(inner, 3, MPI_INT);
    }
    if (which == 1)
        test->called(__LINE__, TOLD_WRONG, OTHER("MPI_INT", 0, "inner", "float", FLOAT4));
    else
        test->called(__LINE__, TOLD_RIGHT, "%s", "");
}

static NOINLINE void given(void *buffer, int count, MPI_Datatype type)
{
    BCAST(buffer, count, type);
}
static NOINLINE void given_deeper(void *buffer, int count, MPI_Datatype type, int depth)
{
    if (depth)
        given_deeper(buffer, count, type, depth - 1);
    else
        given(buffer, count, type);
    __asm__ volatile("");
}

#define DEEPER(name, next)                                                                         \
    static NOINLINE void name(void *buffer, int count, MPI_Datatype type)                          \
    {                                                                                              \
        next(buffer, count, type);                                                                 \
        __asm__ volatile("" : : "r"(&count) : "memory");                                           \
    }
DEEPER(given_1, given)
DEEPER(given_2, given_1)

void told_places(const struct told_test *given_test)
{
    test = given_test;
    float mine[4] = {0};
    neighbours();
    ends();
    structures();
    lengths(5);
    pointer_beside();
    tails();
    pointer_itself();
    last_of_block(1);
    last_of_block(2);
    RIGHT(BCAST(static_ints, 6, MPI_INT));
    RIGHT(BCAST(static_ints + 5, 1, MPI_INT));
    WRONG(BCAST(static_ints + 5, 2, MPI_INT), BEYOND(4, "static_ints", 24, 20, 8));
    WRONG(BCAST(static_ints + 2, 2, MPI_FLOAT), OTHER("MPI_FLOAT", 0, "static_ints", "int", INT4));
    WRONG(BCAST(static_floats, 3, MPI_DOUBLE),
          OTHER("MPI_DOUBLE", 0, "static_floats", "float", FLOAT4));
    for (int depth = 0; depth < 8; depth++) {
        RIGHT(given_deeper(mine, 4, MPI_FLOAT, depth));
        WRONG(given_deeper(mine, 4, MPI_INT, depth), OTHER("MPI_INT", 0, "mine", "float", FLOAT4));
        WRONG(given_deeper(mine, 5, MPI_FLOAT, depth), BEYOND(4, "mine", 16, 0, 20));
    }
    WRONG(told_layer(mine, 4, MPI_INT), OTHER("MPI_INT", 0, "mine", "float", FLOAT4));
    WRONG(told_layer(static_floats, 4, MPI_INT),
          OTHER("MPI_INT", 0, "static_floats", "float", FLOAT4));
    NOTHING(told_layer(mine, 4, MPI_FLOAT));
    RIGHT(PMPI_Bcast(mine, 4, MPI_FLOAT, 0, MPI_COMM_SELF));
    WRONG(PMPI_Bcast(mine, 4, MPI_INT, 0, MPI_COMM_SELF),
          OTHER("MPI_INT", 0, "mine", "float", FLOAT4));
    UNASKED(told_above(mine, 4, MPI_FLOAT));
    UNASKED(told_above(mine, 4, MPI_INT));
}

/* ---- what pointers lead to ---- */

struct unknown;

static NOINLINE void typed_pointers(void)
{
    int *ints = test->allocate(40);
    double *volatile numbers = test->allocate(80);
    float *floats = test->allocate(40), *volatile also = floats;
    (void)also;
    RIGHT(BCAST(ints, 10, MPI_INT));
    RIGHT(BCAST(ints + 3, 7, MPI_INT));
    WRONG(BCAST(ints, 10, MPI_FLOAT), OTHER("MPI_FLOAT", 0, POINTEE "ints", "int", INT4));
    WRONG(BCAST(ints + 3, 7, MPI_FLOAT), OTHER("MPI_FLOAT", 0, POINTEE "ints", "int", INT4));
    RIGHT(BCAST(ints, 40, MPI_CHAR));
    WRONG(BCAST(ints, 10, MPI_CHAR), OTHER("MPI_CHAR", 0, POINTEE "ints", "int", INT4));
    OBJECT(BCAST(ints, 41, MPI_BYTE),
           "B006 Bcast reads 1 byte beyond the end of an allocated object of 40: its buffer begins "
           "0 into the object and spans 41%s",
           "");
    RIGHT(BCAST(numbers, 10, MPI_DOUBLE));
    WRONG(BCAST(numbers, 10, MPI_LONG), OTHER("MPI_LONG", 0, POINTEE "numbers", "double", FLOAT8));
    WRONG(BCAST(numbers + 4, 6, MPI_LONG),
          OTHER("MPI_LONG", 0, POINTEE "numbers", "double", FLOAT8));
}

/* As many characters as there are numbers of two bytes. */
static NOINLINE void as_many(void)
{
    short *shorts = test->allocate(8);
    RIGHT(BCAST(shorts, 8, MPI_CHAR));
    RIGHT(BCAST(shorts, 2, MPI_CHAR));
    WRONG(BCAST(shorts, 4, MPI_CHAR),
          OTHER("MPI_CHAR", 0, POINTEE "shorts", "short int", "an integer of 2 bytes"));
    WRONG(BCAST(shorts, 3, MPI_CHAR),
          OTHER("MPI_CHAR", 0, POINTEE "shorts", "short int", "an integer of 2 bytes"));
}

/* Pointers that say nothing, or everything. */
static NOINLINE void *raw(size_t size)
{
    void *memory = test->allocate(size);
    __asm__ volatile("" : "+r"(memory));
    return memory;
}
/* The code behind it is another function's, whose pointer is where results are. */
static NOINLINE void function_behind(void)
{
    double *loaded = static_pointer;
    loaded[0] = loaded[1] = 3;
}
/* And here the pointer of the function before lies in its frame where the other's argument is in its own. */
static NOINLINE void function_before(void)
{
    float *volatile pointer = 0;
    (void)pointer;
}
static NOINLINE void given_behind(void *buffer, int count, MPI_Datatype type)
{
    BCAST(buffer, count, type);
    __asm__ volatile("");
}

static NOINLINE void silent_pointers(void)
{
    void *volatile any = raw(32);
    static_address = (long)any;
    UNTOLD(BCAST(any, 4, MPI_DOUBLE));
    UNTOLD(BCAST(any, 4, MPI_LONG));
    RIGHT(BCAST(any, 32, MPI_BYTE));
    UNTOLD(given_behind(any, 8, MPI_FLOAT));
}

/* What was a pointer's place a few bytes before is good for what fits; in near frames. */
static NOINLINE void pointer_before(void)
{
    void *any = raw(32);
    {
        float *volatile gone = any;
        gone[0] = 1;
    }
    RIGHT(BCAST(any, 8, MPI_FLOAT));
    any = raw(32);
    {
        float *volatile gone = any;
        gone[0] = 1;
    }
    UNTOLD(BCAST(any, 4, MPI_DOUBLE));
}
static NOINLINE void pointer_before_call(int depth)
{
    void *any = raw(32);
    {
        float *volatile gone = any;
        gone[0] = 1;
    }
    void (*const givers[])(void *, int, MPI_Datatype) = {given, given_1, given_2};
    givers[depth](any, 8, MPI_FLOAT);
    test->called(__LINE__, TOLD_RIGHT, "%s", "");
}
static NOINLINE void unknown_pointers(void)
{
    void *any = raw(32);
    struct unknown *volatile unknown = any;
    UNTOLD(BCAST(unknown, 4, MPI_DOUBLE));
}
static NOINLINE void letter_pointers(void)
{
    void *any = raw(32);
    char *volatile letters = any;
    RIGHT(BCAST(letters, 4, MPI_DOUBLE));
    RIGHT(BCAST(letters + 8, 3, MPI_LONG));
}
static NOINLINE void all_pointers(void)
{
    void *volatile any = raw(32);
    struct unknown *volatile unknown = any;
    char *volatile letters = any;
    float *volatile floats = any;
    (void)unknown, (void)letters;
    RIGHT(BCAST(floats, 8, MPI_FLOAT));
    WRONG(BCAST(floats, 8, MPI_INT), OTHER("MPI_INT", 0, POINTEE "floats", "float", FLOAT4));
    RIGHT(BCAST(floats + 1, 7, MPI_FLOAT));
    WRONG(BCAST(floats + 1, 7, MPI_INT), OTHER("MPI_INT", 0, POINTEE "floats", "float", FLOAT4));
}

/* Two of one function: one that fits is enough, and the first is told. */
static NOINLINE void two_views(void)
{
    void *any = raw(32);
    float *volatile one = any;
    int *volatile two = any;
    long *volatile middle = (long *)any + 1;
    RIGHT(BCAST(one, 8, MPI_FLOAT));
    RIGHT(BCAST(two, 8, MPI_INT));
    WRONG(BCAST(any, 4, MPI_DOUBLE), OTHER("MPI_DOUBLE", 0, POINTEE "one", "float", FLOAT4));
    RIGHT(BCAST(middle, 3, MPI_LONG));
}

static NOINLINE void middle_view(void)
{
    long *volatile middle = (long *)raw(32) + 1;
    RIGHT(BCAST(middle, 3, MPI_LONG));
    WRONG(BCAST(middle, 3, MPI_DOUBLE), OTHER("MPI_DOUBLE", 0, POINTEE "middle", "long int", INT8));
}

/* The innermost that says something is the one that counts: a caller's pointer is another view. */
static NOINLINE void inner_view(void *memory)
{
    long *volatile longs = memory;
    RIGHT(BCAST(longs, 4, MPI_LONG));
    WRONG(BCAST(longs, 4, MPI_DOUBLE), OTHER("MPI_DOUBLE", 0, POINTEE "longs", "long int", INT8));
}
static inline __attribute__((always_inline)) void inlined_view(void *memory)
{
    int *volatile ints = memory;
    RIGHT(BCAST(ints, 8, MPI_INT));
    WRONG(BCAST(ints, 4, MPI_DOUBLE), OTHER("MPI_DOUBLE", 0, POINTEE "ints", "int", INT4));
}
static NOINLINE void outer_view(void)
{
    void *any = raw(32);
    double *volatile doubles = any;
    inner_view(any);
    inlined_view(any);
    RIGHT(given_deeper(doubles, 4, MPI_DOUBLE, 0));
    WRONG(given_deeper(doubles, 4, MPI_LONG, 0),
          OTHER("MPI_LONG", 0, POINTEE "doubles", "double", FLOAT8));
    RIGHT(given_deeper(doubles, 4, MPI_DOUBLE, 1));
    WRONG(given_deeper(doubles, 4, MPI_LONG, 1),
          OTHER("MPI_LONG", 0, POINTEE "doubles", "double", FLOAT8));
}

/* By a member alone. */
struct holder {
    long length;
    double *held;
    struct holder *next;
};
static struct holder *chain;
static NOINLINE void members(void)
{
    struct holder local = {4, raw(32), 0};
    __asm__ volatile("" : : "r"(&local) : "memory");
    RIGHT(given(local.held, 4, MPI_DOUBLE));
    WRONG(given(local.held, 4, MPI_LONG), OTHER("MPI_LONG", 0, POINTEE "held", "double", FLOAT8));
    RIGHT(given(local.held + 2, 2, MPI_DOUBLE));
    WRONG(given(local.held + 2, 2, MPI_LONG),
          OTHER("MPI_LONG", 0, POINTEE "held", "double", FLOAT8));
    chain = raw(sizeof *chain);
    chain->next = raw(sizeof *chain);
    chain->next->held = raw(24);
    RIGHT(given(chain->next->held, 3, MPI_DOUBLE));
    WRONG(given(chain->next->held, 3, MPI_LONG),
          OTHER("MPI_LONG", 0, POINTEE "held", "double", FLOAT8));
}

/* The variable that an allocation's result went to, long ago. */
#define MADE(number, bytes)                                                                        \
    static NOINLINE void *made_##number(size_t size, double *made)                                 \
    {                                                                                              \
        volatile char room[bytes];                                                                 \
        room[0] = 1;                                                                               \
        made = test->allocate(size);                                                               \
        made[0] = 1;                                                                               \
        made[1] = room[0];                                                                         \
        return made;                                                                               \
    }
MADE(1, 1)
MADE(80, 80)
MADE(88, 88)
MADE(96, 96)
MADE(104, 104)
MADE(112, 112)
MADE(400, 400)
static NOINLINE void *made_at_once(size_t size, double *none)
{
    double *made = test->allocate(size);
    (void)none;
    made[0] = made[1] = 1;
    return made;
}
static NOINLINE void *made_perhaps(size_t size, double *none)
{
    double *made = size != 3 ? test->allocate(size) : (double *)-1;
    (void)none;
    made[0] = made[1] = 1;
    return made;
}

static NOINLINE void *made_alone(void)
{
    double *made = test->allocate(40);
    made[0] = made[1] = 1;
    return made;
}
static NOINLINE void *made_as_number(void)
{
    long made = (long)test->allocate(40);
    static_address += made != 0;
    return (void *)made;
}
static NOINLINE void *made_letters(size_t size)
{
    char *made = test->allocate(size);
    made[0] = 1;
    made[1] = 2;
    return made;
}

/* What the next call returns goes to a variable of its own. */
static NOINLINE void *made_before_another(size_t size)
{
    void *result = test->allocate(size);
    int *second = test->allocate(8);
    second[0] = 1;
    second[1] = 1;
    return result;
}
static NOINLINE void *made_directly(size_t size)
{
    void *result = told_allocate(size);
    int *second = told_allocate(8);
    second[0] = 1;
    second[1] = 1;
    return result;
}

static NOINLINE void statics(void)
{
    static_pointer = raw(64);
    static_small =
        made_at_once(16, 0); /* what the program calls it now is before what it was made as */
    RIGHT(given(static_pointer, 8, MPI_DOUBLE));
    WRONG(given(static_pointer, 8, MPI_LONG),
          OTHER("MPI_LONG", 0, POINTEE "static_pointer", "double", FLOAT8));
    RIGHT(given(static_small, 4, MPI_INT));
    WRONG(given(static_small, 4, MPI_FLOAT),
          OTHER("MPI_FLOAT", 0, POINTEE "static_small", "int", INT4));
    WRONG(given(static_small + 1, 3, MPI_FLOAT),
          OTHER("MPI_FLOAT", 0, POINTEE "static_small", "int", INT4));
}

static NOINLINE void allocations(void)
{
    void *(*const makers[])(size_t, double *) = {made_at_once, made_perhaps, made_1,
                                                 made_80,      made_88,      made_96,
                                                 made_104,     made_112,     made_400};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        RIGHT(given(makers[i](40, 0), 5, MPI_DOUBLE));
        WRONG(given(makers[i](40, 0), 5, MPI_LONG),
              OTHER("MPI_LONG", 0, POINTEE "made", "double", FLOAT8));
        WRONG(given((double *)makers[i](40, 0) + 2, 3, MPI_LONG),
              OTHER("MPI_LONG", 0, POINTEE "made", "double", FLOAT8));
    }
    RIGHT(given(made_alone(), 5, MPI_DOUBLE));
    WRONG(given(made_alone(), 5, MPI_LONG), OTHER("MPI_LONG", 0, POINTEE "made", "double", FLOAT8));
    UNTOLD(given(made_as_number(), 5, MPI_DOUBLE));
    UNTOLD(given(made_as_number(), 5, MPI_LONG));
    RIGHT(given(made_letters(40), 5, MPI_LONG));
    RIGHT(given(made_letters(40), 10, MPI_FLOAT));
    UNTOLD(given(made_before_another(40), 5, MPI_DOUBLE));
    UNTOLD(given(made_directly(40), 5, MPI_DOUBLE));
}

/* Memory that was another's: a pointer to what was there before may still be about. */
static NOINLINE int *made_ints(size_t size)
{
    int *ints = test->allocate(size);
    ints[0] = ints[1] = 1;
    return ints;
}
static NOINLINE short *made_shorts(size_t size)
{
    short *shorts = test->allocate(size);
    shorts[0] = shorts[1] = 1;
    return shorts;
}
static NOINLINE void recycled(void)
{
    long *volatile before = test->allocate(320);
    RIGHT(BCAST(before, 40, MPI_LONG));
    test->release(before);
    void *now = made_at_once(320, 0);
    RIGHT(given(now, 40, MPI_DOUBLE));
    WRONG(given(now, 40, MPI_FLOAT), OTHER("MPI_FLOAT", 0, POINTEE "made", "double", FLOAT8));
    test->release(now);
    now = raw(320);
    UNTOLD(given(now, 40, MPI_DOUBLE));
    RIGHT(given(now, 40, MPI_LONG));
    test->release(now);
    before = 0;
}

void told_pointers(const struct told_test *given_test)
{
    test = given_test;
    typed_pointers();
    as_many();
    silent_pointers();
    unknown_pointers();
    pointer_before();
    for (int depth = 0; depth < 3; depth++)
        pointer_before_call(depth);
    static_pointer = raw(64);
    function_behind();
    function_before();
    letter_pointers();
    all_pointers();
    two_views();
    middle_view();
    outer_view();
    statics();
    members();
    allocations();
}

/* ---- arguments ----
 *
 * Optimised, the pointer of each of these is nowhere but where the call wants it. The other buffer is of characters, which may be
 * anything. */

static char other[64];
static MPI_Request request;
static MPI_Win window;
static int position, ones[1] = {1}, zeros[1];
static MPI_Datatype types[1];

#define FIRST(name, call)                                                                          \
    static NOINLINE void first_##name(float *buffer)                                               \
    {                                                                                              \
        call;                                                                                      \
        __asm__ volatile("");                                                                      \
    }
#define SECOND(name, call)                                                                         \
    static NOINLINE void second_##name(const void *from, float *buffer)                            \
    {                                                                                              \
        call;                                                                                      \
        __asm__ volatile("");                                                                      \
    }
#define THIRD(name, call)                                                                          \
    static NOINLINE void third_##name(const void *from, const void *with, float *buffer)           \
    {                                                                                              \
        call;                                                                                      \
        __asm__ volatile("");                                                                      \
    }
#define FOURTH(name, call)                                                                         \
    static NOINLINE void fourth_##name(const void *from, int n, MPI_Datatype type, float *buffer)  \
    {                                                                                              \
        call;                                                                                      \
        __asm__ volatile("");                                                                      \
    }
#define FIFTH(name, of, call)                                                                      \
    static NOINLINE void fifth_##name(const void *from, const int n[], const int at[], of type,    \
                                      float *buffer)                                               \
    {                                                                                              \
        call;                                                                                      \
        __asm__ volatile("");                                                                      \
    }
#define SIXTH(name, call)                                                                          \
    static NOINLINE void sixth_##name(const void *from, int n, MPI_Datatype type, int to, int tag, \
                                      float *buffer)                                               \
    {                                                                                              \
        call;                                                                                      \
        __asm__ volatile("");                                                                      \
    }

FIRST(send, MPI_Send(buffer, 1, MPI_INT, 0, 0, MPI_COMM_SELF))
FIRST(bsend, MPI_Bsend(buffer, 1, MPI_INT, 0, 0, MPI_COMM_SELF))
FIRST(isend, MPI_Isend(buffer, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request))
FIRST(issend, MPI_Issend(buffer, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request))
FIRST(recv, MPI_Recv(buffer, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE))
FIRST(irecv, MPI_Irecv(buffer, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request))
FIRST(ibcast, MPI_Ibcast(buffer, 1, MPI_INT, 0, MPI_COMM_SELF, &request))
FIRST(replace,
      MPI_Sendrecv_replace(buffer, 1, MPI_INT, 0, 0, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE))
FIRST(ireplace, MPI_Isendrecv_replace(buffer, 1, MPI_INT, 0, 0, 0, 0, MPI_COMM_SELF, &request))
FIRST(sendrecv, MPI_Sendrecv(buffer, 1, MPI_INT, 0, 0, other, 1, MPI_INT, 0, 0, MPI_COMM_SELF,
                             MPI_STATUS_IGNORE))
FIRST(gather, MPI_Gather(buffer, 1, MPI_INT, other, 1, MPI_INT, 0, MPI_COMM_SELF))
FIRST(alltoallv,
      MPI_Alltoallv(buffer, ones, zeros, MPI_INT, other, ones, zeros, MPI_INT, MPI_COMM_SELF))
FIRST(allreduce, MPI_Allreduce(buffer, other, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF))
FIRST(put, MPI_Put(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, window))
FIRST(get, MPI_Get(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, window))
FIRST(rput, MPI_Rput(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, window, &request))
FIRST(rget, MPI_Rget(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, window, &request))
FIRST(accumulate, MPI_Accumulate(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window))
FIRST(get_accumulate,
      MPI_Get_accumulate(buffer, 1, MPI_INT, other, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window))
FIRST(fetch, MPI_Fetch_and_op(buffer, other, MPI_INT, 0, 0, MPI_SUM, window))
FIRST(swap, MPI_Compare_and_swap(buffer, other, other + 8, MPI_INT, 0, 0, window))
FIRST(pack, MPI_Pack(buffer, 1, MPI_INT, other, 64, &position, MPI_COMM_SELF))
SECOND(allreduce, MPI_Allreduce(from, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF))
SECOND(ireduce, MPI_Ireduce(from, buffer, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF, &request))
SECOND(scan, MPI_Scan(from, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF))
SECOND(iscan, MPI_Iscan(from, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &request))
SECOND(reduce_scatter, MPI_Reduce_scatter(from, buffer, ones, MPI_INT, MPI_SUM, MPI_COMM_SELF))
SECOND(reduce_block, MPI_Reduce_scatter_block(from, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF))
SECOND(fetch, MPI_Fetch_and_op(from, buffer, MPI_INT, 0, 0, MPI_SUM, window))
SECOND(swap, MPI_Compare_and_swap(from, buffer, other + 8, MPI_INT, 0, 0, window))
THIRD(swap, MPI_Compare_and_swap(from, with, buffer, MPI_INT, 0, 0, window))
FOURTH(gather, MPI_Gather(from, n, type, buffer, 1, MPI_INT, 0, MPI_COMM_SELF))
FOURTH(igather, MPI_Igather(from, n, type, buffer, 1, MPI_INT, 0, MPI_COMM_SELF, &request))
FOURTH(gatherv, MPI_Gatherv(from, n, type, buffer, ones, zeros, MPI_INT, 0, MPI_COMM_SELF))
FOURTH(allgather, MPI_Allgather(from, n, type, buffer, 1, MPI_INT, MPI_COMM_SELF))
FOURTH(allgatherv, MPI_Allgatherv(from, n, type, buffer, ones, zeros, MPI_INT, MPI_COMM_SELF))
FOURTH(scatter, MPI_Scatter(from, n, type, buffer, 1, MPI_INT, 0, MPI_COMM_SELF))
FOURTH(alltoall, MPI_Alltoall(from, n, type, buffer, 1, MPI_INT, MPI_COMM_SELF))
FOURTH(get_accumulate,
       MPI_Get_accumulate(from, n, type, buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window))
FIFTH(scatterv, MPI_Datatype, MPI_Scatterv(from, n, at, type, buffer, 1, MPI_INT, 0, MPI_COMM_SELF))
FIFTH(alltoallv, MPI_Datatype,
      MPI_Alltoallv(from, n, at, type, buffer, ones, zeros, MPI_INT, MPI_COMM_SELF))
FIFTH(alltoallw, const MPI_Datatype *,
      MPI_Alltoallw(from, n, at, type, buffer, ones, zeros, types, MPI_COMM_SELF))
SIXTH(sendrecv, MPI_Sendrecv(from, n, type, to, tag, buffer, 1, MPI_INT, 0, 0, MPI_COMM_SELF,
                             MPI_STATUS_IGNORE))
SIXTH(isendrecv,
      MPI_Isendrecv(from, n, type, to, tag, buffer, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request))

#define TAKEN(name, verb, side)                                                                    \
    "M011 " name " " verb " MPI_INT at byte 0 of its " side                                        \
    ", where what is pointed to by buffer, of float, has " FLOAT4 "%s",                            \
        ""
#define ONE(call, name, verb, side) WRONG(call, TAKEN(name, verb, side))
#define THEN_WAIT(call, name, verb, side)                                                          \
    (ONE(call, name, verb, side), MPI_Wait(&request, MPI_STATUS_IGNORE))
#define SENT()     MPI_Send(other, 1, MPI_INT, 0, 0, MPI_COMM_SELF)
#define RECEIVED() MPI_Recv(other, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)

static NOINLINE void messages(void *any)
{
    static char room[1000];
    MPI_Buffer_attach(room, sizeof room);
    ONE(first_send(any), "Send", "reads", "buffer");
    RECEIVED();
    ONE(first_bsend(any), "Bsend", "reads", "buffer");
    RECEIVED();
    ONE(first_isend(any), "Isend", "reads", "buffer");
    RECEIVED(), MPI_Wait(&request, MPI_STATUS_IGNORE);
    ONE(first_issend(any), "Issend", "reads", "buffer");
    RECEIVED(), MPI_Wait(&request, MPI_STATUS_IGNORE);
    SENT();
    ONE(first_recv(any), "Recv", "writes", "buffer");
    ONE(first_irecv(any), "Irecv", "writes", "buffer");
    SENT(), MPI_Wait(&request, MPI_STATUS_IGNORE);
    ONE(first_sendrecv(any), "Sendrecv", "reads", "send buffer");
    ONE(sixth_sendrecv(other, 1, MPI_INT, 0, 0, any), "Sendrecv", "writes", "receive buffer");
    ONE(first_replace(any), "Sendrecv_replace", "writes", "buffer");
    THEN_WAIT(sixth_isendrecv(other, 1, MPI_INT, 0, 0, any), "Isendrecv", "writes",
              "receive buffer");
    THEN_WAIT(first_ireplace(any), "Isendrecv_replace", "writes", "buffer");
    ONE(first_pack(any), "Pack", "reads", "inbuf");
    MPI_Buffer_detach(&(void *){0}, &(int){0});
}

static NOINLINE void collectives(void *any)
{
    types[0] = MPI_INT;
    THEN_WAIT(first_ibcast(any), "Bcast", "reads", "buffer");
    ONE(first_gather(any), "Gather", "reads", "send buffer");
    ONE(first_alltoallv(any), "Alltoallv", "reads", "send buffer");
    ONE(first_allreduce(any), "Allreduce", "reads", "send buffer");
    ONE(second_allreduce(other, any), "Allreduce", "writes", "receive buffer");
    THEN_WAIT(second_ireduce(other, any), "Reduce", "writes", "receive buffer");
    ONE(second_scan(other, any), "Scan", "writes", "receive buffer");
    THEN_WAIT(second_iscan(other, any), "Scan", "writes", "receive buffer");
    ONE(second_reduce_scatter(other, any), "Reduce_scatter", "writes", "receive buffer");
    ONE(second_reduce_block(other, any), "Reduce_scatter_block", "writes", "receive buffer");
    ONE(fourth_gather(other, 1, MPI_INT, any), "Gather", "writes", "receive buffer");
    THEN_WAIT(fourth_igather(other, 1, MPI_INT, any), "Gather", "writes", "receive buffer");
    ONE(fourth_gatherv(other, 1, MPI_INT, any), "Gatherv", "writes", "receive buffer");
    ONE(fourth_allgather(other, 1, MPI_INT, any), "Allgather", "writes", "receive buffer");
    ONE(fourth_allgatherv(other, 1, MPI_INT, any), "Allgatherv", "writes", "receive buffer");
    ONE(fourth_scatter(other, 1, MPI_INT, any), "Scatter", "writes", "receive buffer");
    ONE(fourth_alltoall(other, 1, MPI_INT, any), "Alltoall", "writes", "receive buffer");
    ONE(fifth_scatterv(other, ones, zeros, MPI_INT, any), "Scatterv", "writes", "receive buffer");
    ONE(fifth_alltoallv(other, ones, zeros, MPI_INT, any), "Alltoallv", "writes", "receive buffer");
    ONE(fifth_alltoallw(other, ones, zeros, types, any), "Alltoallw", "writes", "receive buffer");
}

static NOINLINE void windows(void *any)
{
    static char memory[64];
    RIGHT(MPI_Win_create(any, 8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window));
    MPI_Win_free(&window);
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
#define IN_ORDER() MPI_Win_flush(0, window)
    ONE(first_put(any), "Put", "reads", "origin buffer"), IN_ORDER();
    ONE(first_get(any), "Get", "writes", "origin buffer"), IN_ORDER();
    THEN_WAIT(first_rput(any), "Rput", "reads", "origin buffer"), IN_ORDER();
    THEN_WAIT(first_rget(any), "Rget", "writes", "origin buffer"), IN_ORDER();
    ONE(first_accumulate(any), "Accumulate", "reads", "origin buffer"), IN_ORDER();
    ONE(first_get_accumulate(any), "Get_accumulate", "reads", "origin buffer"), IN_ORDER();
    ONE(fourth_get_accumulate(other, 1, MPI_INT, any), "Get_accumulate", "writes", "result buffer"),
        IN_ORDER();
    ONE(first_fetch(any), "Fetch_and_op", "reads", "origin buffer"), IN_ORDER();
    ONE(second_fetch(other, any), "Fetch_and_op", "writes", "result buffer"), IN_ORDER();
    ONE(first_swap(any), "Compare_and_swap", "reads", "origin buffer"), IN_ORDER();
    ONE(second_swap(other, any), "Compare_and_swap", "reads", "compare buffer"), IN_ORDER();
    ONE(third_swap(other, other + 8, any), "Compare_and_swap", "writes", "result buffer"),
        IN_ORDER();
    MPI_Win_unlock(0, window);
    MPI_Win_free(&window);
}

void told_arguments(const struct told_test *given_test)
{
    test = given_test;
    messages(raw(16));
    collectives(raw(16));
    windows(raw(16));
}

/* ---- the same call again ---- */

static MPI_Datatype spread(int first, int second, int third, int extent)
{
    MPI_Datatype type, sized;
    MPI_Type_create_hindexed_block(3, 1, (MPI_Aint[]){first, second, third}, MPI_INT, &type);
    MPI_Type_create_resized(type, 0, extent, &sized);
    MPI_Type_commit(&sized);
    MPI_Type_free(&type);
    return sized;
}

/* From one place, in an order that makes each right one stand before a wrong one that differs in little. */
static NOINLINE void one_place(void)
{
    int ints[16] = {0};
    float floats[16] = {0};
    enum { CASES = 30 };
    struct {
        void *buffer;
        int count;
        MPI_Datatype type;
        int at; /* where the first wrong number is; -1: right, -2: behind the end */
    } cases[CASES] = {{ints, 16, MPI_INT, -1},
                      {ints, 8, MPI_INT, -1},
                      {ints, 17, MPI_INT, -2},
                      {floats, 16, MPI_INT, 0},
                      {ints, 16, MPI_UNSIGNED, -1},
                      {ints + 1, 15, MPI_INT, -1},
                      {ints + 1, 16, MPI_INT, -2},
                      {(char *)ints + 2, 15, MPI_INT, 0},
                      {ints, 4, spread(0, 4, 8, 16), -1},
                      {ints, 4, spread(0, 4, 8, 14), 14},
                      {ints, 4, spread(0, 4, 10, 16), 10},
                      {ints, 4, spread(0, 6, 12, 16), 6},
                      {ints, 4, spread(0, 4, 12, 16), -1},
                      {ints, 4, spread(0, 5, 12, 16), 5},
                      {ints, 2, spread(0, 8, 16, 32), -1},
                      {ints, 2, spread(0, 9, 18, 32), 9},
                      {ints, 2, spread(0, 12, 24, 32), -1},
                      {ints, 2, spread(0, 11, 22, 32), 11},
                      {ints, 2, spread(4, 8, 16, 32), -1},
                      {ints, 2, spread(3, 8, 16, 32), 3},
                      {ints, 64, MPI_BYTE, -1},
                      {ints, 65, MPI_BYTE, -2},
                      {ints, 4, spread(0, 4, 8, 16), -1},
                      {ints, 6, spread(0, 4, 8, 16), -2},
                      {ints, 64, MPI_CHAR, -1},
                      {ints, 62, MPI_CHAR, 0},
                      {ints, 60, MPI_CHAR, -1},
                      {ints, 16, MPI_CHAR, 0},
                      {ints, 16, MPI_INT, -1},
                      {ints, 4, MPI_INT, -1}};
    for (int twice = 0; twice < 2; twice++)
        for (int i = 0; i < CASES; i++) {
            size_t span = i == 21 ? 65 : i == 23 ? 92 : i == 6 ? 64 : 68;
            const char *of = cases[i].buffer == floats ? "floats, of float, has " FLOAT4
                                                       : "ints, of int, has " INT4;
            given(cases[i].buffer, cases[i].count, cases[i].type);
            if (cases[i].at == -1)
                test->called(__LINE__, TOLD_RIGHT, "%s", "");
            else if (cases[i].at == -2)
                test->called(__LINE__, TOLD_WRONG,
                             BEYOND(span == 64 || span == 68 ? 4 : span - 64, "ints", 64,
                                    i == 6 ? 4 : 0, span));
            else
                test->called(__LINE__, TOLD_WRONG,
                             "M011 Bcast reads %s at byte %d of its buffer, where %s",
                             cases[i].type == MPI_CHAR ? "MPI_CHAR" : "MPI_INT", cases[i].at, of);
        }
    for (int i = 0; i < CASES; i++) {
        int numbers, addresses, types, combiner;
        MPI_Type_get_envelope(cases[i].type, &numbers, &addresses, &types, &combiner);
        if (combiner != MPI_COMBINER_NAMED)
            MPI_Type_free(&cases[i].type);
    }
}

/* Objects of other sizes and other makers where those before lay. */
static NOINLINE void one_object(void)
{
    void *memory[6];
    for (int i = 0; i < 6; i++) {
        size_t size = i < 2 ? 320 : i % 2 ? 8 : 16;
        memory[i] = i == 0   ? made_at_once(size, 0)
                    : i == 1 ? (void *)made_ints(size)
                             : (void *)made_shorts(size);
        given(memory[i], i < 2 ? 40 : 4, i < 2 ? MPI_DOUBLE : MPI_CHAR);
        if (i == 1)
            test->called(__LINE__, TOLD_WRONG, OTHER("MPI_DOUBLE", 0, POINTEE "ints", "int", INT4));
        else if (i == 3 || i == 5)
            test->called(
                __LINE__, TOLD_WRONG,
                OTHER("MPI_CHAR", 0, POINTEE "shorts", "short int", "an integer of 2 bytes"));
        else
            test->called(__LINE__, TOLD_RIGHT, "%s", "");
        test->release(memory[i]);
        memory[i] = 0;
    }
}

/* What is told of by another file than the program's. */
static NOINLINE void elsewhere(void)
{
    char letters[32] = {0};
    void *const buffers[] = {letters, told_data, letters, told_make(64), letters, told_data};
    for (int i = 0; i < 6; i++) {
        told_layer(buffers[i], 8, MPI_INT);
        if (i % 2 == 0)
            test->called(__LINE__, TOLD_NOTHING, "%s", "");
        else if (i == 3)
            test->called(__LINE__, TOLD_ELSEWHERE,
                         OTHER("MPI_INT", 0, POINTEE "made", "double", FLOAT8));
        else
            test->called(__LINE__, TOLD_ELSEWHERE,
                         OTHER("MPI_INT", 0, "told_data", "float", FLOAT4));
    }
    NOTHING(told_layer(told_data, 8, MPI_FLOAT));
    NOTHING(told_layer(told_make(64), 8, MPI_DOUBLE));
}

void told_again(const struct told_test *given_test)
{
    test = given_test;
    one_place();
    elsewhere();
    recycled(); /* from now on what is allocated may lie where another was */
    one_object();
}

#endif
