/* Variables of every type that debug information can tell of, and functions in whose frames variables live: compiled with debug information
 * by the test that looks at it (test_debug.c); the second half by compilers of C++. */
#include "shapes.h"

#ifndef __cplusplus

#include <complex.h>
#include <string.h>
#include <uchar.h>

#define ENTRIES(array) ((int)(sizeof(array) / sizeof *(array)))
#define KIND(x)                                                                                    \
    _Generic((x), float                                                                            \
             : SHAPE_FLOATING, double                                                              \
             : SHAPE_FLOATING, long double                                                         \
             : SHAPE_FLOATING, short                                                               \
             : SHAPE_INTEGER, unsigned short                                                       \
             : SHAPE_INTEGER, int                                                                  \
             : SHAPE_INTEGER, unsigned                                                             \
             : SHAPE_INTEGER, long                                                                 \
             : SHAPE_INTEGER, unsigned long                                                        \
             : SHAPE_INTEGER, long long                                                            \
             : SHAPE_INTEGER, unsigned long long                                                   \
             : SHAPE_INTEGER, default                                                              \
             : SHAPE_OPAQUE)
/* A member that is a number. */
#define ONE(type, member)                                                                          \
    {                                                                                              \
        offsetof(type, member), sizeof(((type *)0)->member), 1, KIND(((type *)0)->member),         \
            #member, NULL                                                                          \
    }
/* An array of numbers, of which `first` is the first. */
#define MANY(type, member, first)                                                                  \
    {                                                                                              \
        offsetof(type, member), sizeof(((type *)0)->first),                                        \
            sizeof(((type *)0)->member) / sizeof(((type *)0)->first), KIND(((type *)0)->first),    \
            #member, NULL                                                                          \
    }
/* A member of a structure within. */
#define WITHIN(type, place, name)                                                                  \
    {                                                                                              \
        offsetof(type, place), sizeof(((type *)0)->place), 1, KIND(((type *)0)->place), name, NULL \
    }
#define POINTS(type, member, to)                                                                   \
    {                                                                                              \
        offsetof(type, member), sizeof(void *), 1, SHAPE_OPAQUE, #member, to                       \
    }

struct plain {
    char c;
    signed char sc;
    unsigned char uc;
    _Bool b;
    short s;
    unsigned short us;
    int i;
    unsigned u;
    long l;
    unsigned long long ull;
    float f;
    double d;
    long double e;
    char16_t c16;
    char32_t c32;
};
static const struct shape_row plain_rows[] = {
    ONE(struct plain, c), ONE(struct plain, sc),  ONE(struct plain, uc), ONE(struct plain, b),
    ONE(struct plain, s), ONE(struct plain, us),  ONE(struct plain, i),  ONE(struct plain, u),
    ONE(struct plain, l), ONE(struct plain, ull), ONE(struct plain, f),  ONE(struct plain, d),
    ONE(struct plain, e), ONE(struct plain, c16), ONE(struct plain, c32)};

struct gaps {
    char a;
    double b;
    char c;
    int d[3];
    char e[5];
    short f;
    char g;
};
static const struct shape_row gap_rows[] = {ONE(struct gaps, a),        ONE(struct gaps, b),
                                            ONE(struct gaps, c),        MANY(struct gaps, d, d[0]),
                                            MANY(struct gaps, e, e[0]), ONE(struct gaps, f),
                                            ONE(struct gaps, g)};

struct pair {
    short first;
    float second;
};
struct single {
    int only;
};
struct nested {
    struct pair pairs[2];
    struct single singles[3];
    double matrix[2][3];
    struct pair last;
    struct {
        long unnamed_one;
        struct {
            float unnamed_two;
        };
    };
};
static const struct shape_row nested_rows[] = {WITHIN(struct nested, pairs[0].first, "first"),
                                               WITHIN(struct nested, pairs[0].second, "second"),
                                               WITHIN(struct nested, pairs[1].first, "first"),
                                               WITHIN(struct nested, pairs[1].second, "second"),
                                               WITHIN(struct nested, singles[0].only, "only"),
                                               WITHIN(struct nested, singles[1].only, "only"),
                                               WITHIN(struct nested, singles[2].only, "only"),
                                               MANY(struct nested, matrix, matrix[0][0]),
                                               WITHIN(struct nested, last.first, "first"),
                                               WITHIN(struct nested, last.second, "second"),
                                               WITHIN(struct nested, unnamed_one, "unnamed_one"),
                                               WITHIN(struct nested, unnamed_two, "unnamed_two")};

union either {
    int i;
    double d[2];
};
enum colour { RED, GREEN };
enum __attribute__((packed)) small { LOW, HIGH };
enum __attribute__((packed)) middle { SOME, MANY_MORE = 1000 };
typedef const double quiet;
struct others {
    union either one;
    enum colour colour;
    enum small small;
    enum middle middle;
    volatile int changing;
    const short fixed;
    quiet named;
    double _Complex both;
    float _Complex all[2];
};
static const struct shape_row other_rows[] = {
    {offsetof(struct others, one), sizeof(union either), 1, SHAPE_OPAQUE, "one", NULL},
    {offsetof(struct others, colour), sizeof(enum colour), 1, SHAPE_INTEGER, "colour", NULL},
    {offsetof(struct others, small), 1, 1, SHAPE_OPAQUE, "small", NULL},
    {offsetof(struct others, middle), 2, 1, SHAPE_INTEGER, "middle", NULL},
    {offsetof(struct others, changing), sizeof(int), 1, SHAPE_INTEGER, "changing", NULL},
    {offsetof(struct others, fixed), sizeof(short), 1, SHAPE_INTEGER, "fixed", NULL},
    {offsetof(struct others, named), sizeof(double), 1, SHAPE_FLOATING, "named", NULL},
    {offsetof(struct others, both), sizeof(double), 2, SHAPE_FLOATING, "both", NULL},
    {offsetof(struct others, all), sizeof(float), 4, SHAPE_FLOATING, "all", NULL}};

struct links {
    struct links *next;
    void *any;
    const double *values;
    double (*rows)[4];
    int (*call)(void);
    struct hidden *hidden;
    char *text;
    struct pair **indirect;
};
static const struct shape_row link_rows[] = {
    POINTS(struct links, next, "struct links"),
    POINTS(struct links, any, ""),
    POINTS(struct links, values, "double"),
    POINTS(struct links, rows, "double"),
    POINTS(struct links, call, ""),
    POINTS(struct links, hidden, ""),
    POINTS(struct links, text, "char"),
    {offsetof(struct links, indirect), 8, 1, SHAPE_OPAQUE, "indirect", NULL}};

struct open {
    int count;
    short kind;
    float tail[];
};
static const struct shape_row open_rows[] = {ONE(struct open, count), ONE(struct open, kind)};

struct bits {
    int before;
    unsigned a : 3, b : 7, c : 6;
    unsigned d : 17;
    unsigned char after;
    unsigned long e : 40, f : 1;
    short last;
    unsigned g : 2; /* and padding */
};

#define NEST(inside)                                                                               \
    struct {                                                                                       \
        inside in;                                                                                 \
        char side;                                                                                 \
    }
typedef NEST(NEST(NEST(NEST(NEST(NEST(NEST(int))))))) eight_deep;
typedef NEST(NEST(NEST(NEST(NEST(
    NEST(NEST(NEST(NEST(NEST(NEST(NEST(NEST(NEST(NEST(NEST(NEST(NEST(int)))))))))))))))))) too_deep;

#define ARRAY_OF(inside)                                                                           \
    struct {                                                                                       \
        inside in[2];                                                                              \
        char side;                                                                                 \
    }
typedef ARRAY_OF(ARRAY_OF(ARRAY_OF(ARRAY_OF(ARRAY_OF(ARRAY_OF(int)))))) deep_arrays;
typedef ARRAY_OF(ARRAY_OF(
    ARRAY_OF(ARRAY_OF(ARRAY_OF(ARRAY_OF(ARRAY_OF(ARRAY_OF(ARRAY_OF(int))))))))) too_deep_arrays;

struct like {
    char mark;
    int number;
};
struct three {
    int v[3];
};
struct many {
    struct three rows[2000][3];
};
static const struct shape_row many_rows[] = {
    {0, sizeof(int), sizeof(struct many) / sizeof(int), SHAPE_INTEGER, "v", NULL}};
struct a_name_of_more_than_sixty_three_characters_that_has_to_be_cut_off_before_its_end {
    int value;
};

/* ---- the variables ---- */

struct plain shape_plain;
static struct gaps shape_gaps[3];
struct nested shape_nested;
struct others shape_others = {.fixed = 1};
struct links shape_links;
static struct open shape_open = {0, 0, {1, 2, 3}};
struct bits shape_bits;
int shape_number = 1;
double shape_array[5], shape_matrix[2][3], shape_cube[2][3][4];
char shape_text[7];
float *shape_pointer;
void *shape_void;
struct pair *shape_pairs;
eight_deep shape_deep;
too_deep shape_too_deep;
deep_arrays shape_deep_arrays;
too_deep_arrays shape_too_deep_arrays;
struct like shape_most[2048], shape_more[2049];
struct {
    struct like likes[2048];
} shape_most_leaves;
struct {
    struct like likes[2049];
} shape_more_leaves;
struct a_name_of_more_than_sixty_three_characters_that_has_to_be_cut_off_before_its_end shape_named;
struct many shape_many;
extern const int shape_constant;
const int shape_constant = 7;
static const struct shape_row int_rows[] = {{0, sizeof(int), 1, SHAPE_INTEGER, NULL, NULL}},
                              double_rows[] = {{0, sizeof(double), 1, SHAPE_FLOATING, NULL, NULL}},
                              char_rows[] = {{0, 1, 1, SHAPE_OPAQUE, NULL, NULL}},
                              float_rows[] = {{0, sizeof(float), 1, SHAPE_FLOATING, NULL, NULL}},
                              pair_rows[] = {ONE(struct pair, first), ONE(struct pair, second)},
                              like_rows[] = {ONE(struct like, mark), ONE(struct like, number)},
                              long_rows[] = {{0, sizeof(int), 1, SHAPE_INTEGER, "value", NULL}};

#define VARIABLE(name, element, count, type, rows)                                                 \
    {                                                                                              \
#name, &name, sizeof(element), count, false, type, rows, ENTRIES(rows), 0                  \
    }
#define POINTER(name, type, rows)                                                                  \
    {                                                                                              \
#name, &name, sizeof *(name), 0, true, type, rows, ENTRIES(rows), 0                        \
    }
#define WHOLE(name, type)                                                                          \
    {                                                                                              \
#name, &name, sizeof(name), 1, false, type, NULL, -1, 0                                    \
    }
#define OPAQUE(name, type)                                                                         \
    {                                                                                              \
#name, &name, sizeof(name), 1, false, type, NULL, 0, 0                                     \
    }
const struct shape shapes[] = {
    VARIABLE(shape_plain, shape_plain, 1, "struct plain", plain_rows),
    VARIABLE(shape_gaps, shape_gaps[0], 3, "struct gaps", gap_rows),
    VARIABLE(shape_nested, shape_nested, 1, "struct nested", nested_rows),
    VARIABLE(shape_others, shape_others, 1, "struct others", other_rows),
    VARIABLE(shape_links, shape_links, 1, "struct links", link_rows),
    {"shape_open", &shape_open, sizeof(struct open), 0, false, "struct open", open_rows,
     ENTRIES(open_rows), offsetof(struct open, tail)},
    WHOLE(shape_bits, "struct bits"),
    VARIABLE(shape_number, shape_number, 1, "int", int_rows),
    VARIABLE(shape_array, shape_array[0], 5, "double", double_rows),
    VARIABLE(shape_matrix, shape_matrix[0][0], 6, "double", double_rows),
    VARIABLE(shape_cube, shape_cube[0][0][0], 24, "double", double_rows),
    VARIABLE(shape_text, shape_text[0], 7, "char", char_rows),
    POINTER(shape_pointer, "float", float_rows),
    {"shape_void", &shape_void, 0, 0, true, NULL, NULL, -1, 0},
    POINTER(shape_pairs, "struct pair", pair_rows),
    WHOLE(shape_deep, "struct without a name"),
    OPAQUE(shape_too_deep, "struct without a name"),
    WHOLE(shape_deep_arrays, "struct without a name"),
    OPAQUE(shape_too_deep_arrays, "struct without a name"),
    VARIABLE(shape_most, shape_most[0], 2048, "struct like", like_rows),
    VARIABLE(shape_more, shape_more[0], 2049, "struct like", like_rows),
    WHOLE(shape_most_leaves, "struct without a name"),
    OPAQUE(shape_more_leaves, "struct without a name"),
    VARIABLE(shape_many, shape_many, 1, "struct many", many_rows),
    VARIABLE(shape_named, shape_named, 1,
             "struct a_name_of_more_than_sixty_three_characters_that_has_to_b", long_rows),
    VARIABLE(shape_constant, shape_constant, 1, "int", int_rows),
};
const int shape_count = ENTRIES(shapes);

void shape_bits_used(bool used[], size_t size)
{
    struct bits set;
    memset(&set, 0, sizeof set);
    set.a = 7;
    set.b = 127;
    set.c = 63;
    set.d = 0x1ffff;
    set.e = 0xffffffffff;
    set.f = 1;
    set.g = 3;
    for (size_t i = 0; i < size && i < sizeof set; i++)
        used[i] = ((unsigned char *)&set)[i];
}

/* ---- frames ---- */

static __attribute__((noinline)) void arrays(shape_look *look, int length, double given[4])
{
    int number = 1;
    double row[6], matrix[2][3];
    float open_row[length];
    short open_matrix[length + 1][3], open_both[length][length + 2];
    char open_wide[length][2][length][length][length];
    double *pointer = row;
    {
        int inner = 2;
        double number_within[3];
        struct shape_local locals[] = {
            {"number", &number, 1, 1, false},
            {"row", row, 6, 1, false},
            {"matrix", matrix, 6, 1, false},
            {"open_row", open_row, sizeof open_row / sizeof(float), 1, false, true},
            {"open_matrix", open_matrix, sizeof open_matrix / sizeof(short), 1, false, true},
            {"open_both", open_both, sizeof open_both / sizeof(short), 1, false, true},
            {"open_wide", open_wide, SHAPE_UNKNOWN, 1, false, true},
            {"pointer", &pointer, 0, 1, false},
            {"length", &length, 1, 1, false},
            {"given", &given, 0, 1, false},
            {"inner", &inner, 1, 1, true},
            {"number_within", number_within, 3, 1, true}};
        look(__builtin_frame_address(0), locals, ENTRIES(locals), 1);
    }
    {
        long other = 3;
        struct shape_local locals[] = {{"number", &number, 1, 1, false},
                                       {"other", &other, 1, 1, true}};
        look(__builtin_frame_address(0), locals, ENTRIES(locals), 1);
    }
    struct shape_local locals[] = {{"number", &number, 1, 1, false},
                                   {"matrix", matrix, 6, 1, false}};
    look(__builtin_frame_address(0), locals, ENTRIES(locals), 1);
}

static inline __attribute__((always_inline)) void within(shape_look *look, double *outer)
{
    double mine[5];
    memset(mine, 0, sizeof mine);
    struct shape_local locals[] = {{"outer_row", outer, 2, 1, false}, {"mine", mine, 5, 2, true}};
    look(__builtin_frame_address(0), locals, ENTRIES(locals), 2);
}

static __attribute__((noinline)) void inlined(shape_look *look)
{
    double outer_row[2];
    memset(outer_row, 0, sizeof outer_row);
    within(look, outer_row);
    struct shape_local locals[] = {{"outer_row", outer_row, 2, 1, false}};
    look(__builtin_frame_address(0), locals, ENTRIES(locals), 1);
}

static void take(void *address)
{
    (void)address;
}
static void (*volatile taking)(void *) = take;

/* Those whose addresses are given away are constants before. */
void shape_still(shape_look *look, int length)
{
    int number = 0;
    double real = 1.5;
    long whole = 7;
    struct shape_local locals[] = {{"number", &number, 1, 1, false, false},
                                   {"real", &real, 1, 1, false, false},
                                   {"whole", &whole, 1, 1, false, false}};
    taking(&number);
    taking(&real);
    taking(&whole);
    look(__builtin_frame_address(0), locals, ENTRIES(locals), 1);
    shape_number += number + length;
}

void shape_frames(shape_look *look, int length)
{
    double given[4] = {0};
    arrays(look, length, given);
    inlined(look);
}

#else

/* ---- of C++ ---- */

#include <cstring>

#define ENTRIES(array) ((int)(sizeof(array) / sizeof *(array)))

template <typename any> constexpr shape_kind kind_of()
{
    return SHAPE_OPAQUE;
}
template <> constexpr shape_kind kind_of<short>()
{
    return SHAPE_INTEGER;
}
template <> constexpr shape_kind kind_of<int>()
{
    return SHAPE_INTEGER;
}
template <> constexpr shape_kind kind_of<wchar_t>()
{
    return SHAPE_INTEGER;
}
template <> constexpr shape_kind kind_of<float>()
{
    return SHAPE_FLOATING;
}
template <> constexpr shape_kind kind_of<double>()
{
    return SHAPE_FLOATING;
}
#define ONE(type, member)                                                                          \
    {                                                                                              \
        offsetof(type, member), sizeof(type::member), 1, kind_of<decltype(type::member)>(),        \
            #member, NULL                                                                          \
    }
#define AS(type, member, kind, points)                                                             \
    {                                                                                              \
        offsetof(type, member), sizeof(type::member), 1, kind, #member, points                     \
    }

namespace space
{
struct first {
    int one;
    double two;
    static int shared;
    static const float fixed;
};
int first::shared = 3;
const float first::fixed = 2;
struct second {
    short alone;
    bool truth;
};
class heir : public first, public second
{
  public:
    wchar_t wide;
    static double own[3];
    char last;
    void ask(shape_look *look, double &given);
};
double heir::own[3];
static heir shape_heirs[2];
float shape_far[4];
namespace inner
{
static int shape_farther[2][3];
}
} /* namespace space */
struct with_methods {
    virtual ~with_methods()
    {
    }
    int number;
    float after;
};
enum class level : short { LOW };
enum class tiny : unsigned char { LEAST };
struct kinds {
    level of_two;
    tiny of_one;
    enum { PLAIN } of_four;
    space::first *leads;
    space::second within;
};
struct refers {
    int number;
    int &other;
};
struct to_members {
    int number;
    int space::first::*where;
};
struct of_nothing {
    decltype(nullptr) nothing;
    int number;
};
with_methods shape_with_methods;
kinds shape_kinds;
static int target;
refers shape_refers = {1, target};
to_members shape_to_members;
of_nothing shape_of_nothing;
int &shape_reference = target;
decltype(nullptr) shape_nothings[3];
space::heir *shape_pointer;

/* What a class's methods are found by comes first; its name is the compiler's. */
static const shape_row
    heir_rows[] = {ONE(space::heir, one),   ONE(space::heir, two),  ONE(space::heir, alone),
                   ONE(space::heir, truth), ONE(space::heir, wide), ONE(space::heir, last)},
    kind_rows[] = {AS(kinds, of_two, SHAPE_INTEGER, NULL),
                   AS(kinds, of_one, SHAPE_OPAQUE, NULL),
                   AS(kinds, of_four, SHAPE_INTEGER, NULL),
                   AS(kinds, leads, SHAPE_OPAQUE, "struct first"),
                   {offsetof(kinds, within.alone), sizeof(short), 1, SHAPE_INTEGER, "alone", NULL},
                   {offsetof(kinds, within.truth), 1, 1, SHAPE_OPAQUE, "truth", NULL}},
    refer_rows[] = {ONE(refers, number),
                    {sizeof(void *), sizeof(void *), 1, SHAPE_OPAQUE, "other", NULL}},
    method_rows[] = {{0, sizeof(void *), 1, SHAPE_OPAQUE, "", NULL},
                     {sizeof(void *), sizeof(int), 1, SHAPE_INTEGER, "number", NULL},
                     {sizeof(void *) + sizeof(int), sizeof(float), 1, SHAPE_FLOATING, "after",
                      NULL}},
    int_rows[] = {{0, sizeof(int), 1, SHAPE_INTEGER, NULL, NULL}},
    float_rows[] = {{0, sizeof(float), 1, SHAPE_FLOATING, NULL, NULL}},
    double_rows[] = {{0, sizeof(double), 1, SHAPE_FLOATING, NULL, NULL}};

#define VARIABLE(name, variable, element, count, type, rows)                                       \
    {                                                                                              \
        name, &variable, sizeof(element), count, false, type, rows, ENTRIES(rows), 0               \
    }
#define OPAQUE(variable, type)                                                                     \
    {                                                                                              \
#variable, &variable, sizeof variable, 1, false, type, NULL, 0, 0                          \
    }
extern "C" const shape shapes[] = {
    VARIABLE("shape_heirs", space::shape_heirs, space::heir, 2, "heir", heir_rows),
    VARIABLE("shared", space::first::shared, int, 1, "int", int_rows),
    VARIABLE("fixed", space::first::fixed, float, 1, "float", float_rows),
    VARIABLE("own", space::heir::own, double, 3, "double", double_rows),
    VARIABLE("shape_far", space::shape_far, float, 4, "float", float_rows),
    VARIABLE("shape_farther", space::inner::shape_farther, int, 6, "int", int_rows),
    VARIABLE("shape_with_methods", shape_with_methods, with_methods, 1, "struct with_methods",
             method_rows),
    VARIABLE("shape_kinds", shape_kinds, kinds, 1, "struct kinds", kind_rows),
    VARIABLE("shape_refers", shape_refers, refers, 1, "struct refers", refer_rows),
    OPAQUE(shape_to_members, "struct to_members"),
    OPAQUE(shape_of_nothing, "struct of_nothing"),
    {"shape_pointer", &shape_pointer, sizeof(space::heir), 0, true, "heir", heir_rows,
     ENTRIES(heir_rows), 0},
    {"shape_reference", NULL, sizeof(int), 0, true, "int", int_rows, ENTRIES(int_rows), 0},
};
extern "C" const int shape_count = ENTRIES(shapes);

#define LOOK(look, ...)                                                                            \
    do {                                                                                           \
        const shape_local locals[] = {__VA_ARGS__};                                                \
        look(__builtin_frame_address(0), locals, ENTRIES(locals), 1);                              \
    } while (0)

/* A reference has no address that the language tells. */
void space::heir::ask(shape_look *look, double &given)
{
    float mine[3] = {(float)given};
    LOOK(look, {"given", NULL, 0, 1, false, false}, {"mine", mine, 3, 1, false, false});
}

namespace space
{
namespace inner
{
static __attribute__((noinline)) void ask(shape_look *look, int number)
{
    LOOK(look, {"number", &number, 1, 1, false, false});
}
} /* namespace inner */
} /* namespace space */

static __attribute__((noinline)) void throws(shape_look *look)
{
    try {
        int tried[3] = {1};
        LOOK(look, {"tried", tried, 3, 1, true, false});
        throw tried[0];
    } catch (int number) {
        int caught = number;
        LOOK(look, {"caught", &caught, 1, 1, true, false});
    }
}

extern "C" void shape_frames(shape_look *look, int length)
{
    double given = length;
    auto closure = [](shape_look *asked, short last) {
        {
            static double kept[2];
            double numbers[4] = {(double)last};
            LOOK(asked, {"numbers", numbers, 4, 1, true, false},
                 {"last", &last, 1, 1, false, false}, {"kept", kept, 2, 1, true, false});
        }
    };
    struct local {
        static void ask(shape_look *look)
        {
            short mine[2] = {0, 1};
            LOOK(look, {"mine", mine, 2, 1, false, false});
        }
    };
    space::shape_heirs[0].ask(look, given);
    space::inner::ask(look, space::inner::shape_farther[0][0]);
    throws(look);
    closure(look, 3);
    local::ask(look);
    LOOK(look, {"given", &given, 1, 1, false, false}, {"length", &length, 1, 1, false, false});
}

#endif
