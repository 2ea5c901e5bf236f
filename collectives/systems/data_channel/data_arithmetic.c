/* Reductions of values: see data_arithmetic.h. */
#include "collectives/systems/data_channel/data_arithmetic.h"

#include <complex.h>
#include <stdint.h>

/* Sums and products in U, so that integers wrap round instead of overflowing. */
#define COMBINE(name, T, U, compare)                                                               \
    static void combine_##name(enum data_operator op, void *into, const void *more, size_t count)  \
    {                                                                                              \
        T *a = into;                                                                               \
        const T *b = more;                                                                         \
        for (size_t i = 0; i < count && op == DATA_PRODUCT; i++)                                   \
            a[i] = (T)((U)a[i] * (U)b[i]);                                                         \
        for (size_t i = 0; i < count && (op == DATA_SUM || op == DATA_AVERAGE); i++)               \
            a[i] = (T)((U)a[i] + (U)b[i]);                                                         \
        compare                                                                                    \
    }
#define ORDERED                                                                                    \
    for (size_t i = 0; i < count && op == DATA_MIN; i++)                                           \
        a[i] = b[i] < a[i] ? b[i] : a[i];                                                          \
    for (size_t i = 0; i < count && op == DATA_MAX; i++)                                           \
        a[i] = b[i] > a[i] ? b[i] : a[i];

COMBINE(int, int, unsigned, ORDERED)
COMBINE(long, int64_t, uint64_t, ORDERED)
COMBINE(float, float, float, ORDERED)
COMBINE(double, double, double, ORDERED)
COMBINE(complex_float, float complex, float complex, )
COMBINE(complex_double, double complex, double complex, )

void data_combine(enum data_operator op, enum data_type type, void *into, const void *more,
                  size_t count)
{
    static void (*const rows[DATA_TYPES])(enum data_operator, void *, const void *, size_t) = {
        [DATA_INT] = combine_int,
        [DATA_LONG] = combine_long,
        [DATA_FLOAT] = combine_float,
        [DATA_DOUBLE] = combine_double,
        [DATA_COMPLEX_FLOAT] = combine_complex_float,
        [DATA_COMPLEX_DOUBLE] = combine_complex_double,
    };
    if (rows[type])
        rows[type](op, into, more, count);
}

void data_finish(enum data_operator op, enum data_type type, void *values, size_t count, int size)
{
    bool complex_pair = type == DATA_COMPLEX_FLOAT || type == DATA_COMPLEX_DOUBLE;
    bool single = type == DATA_FLOAT || type == DATA_COMPLEX_FLOAT;
    if (op != DATA_AVERAGE)
        return;
    count *= complex_pair ? 2 : 1;
    for (size_t i = 0; i < count; i++)
        if (single)
            ((float *)values)[i] /= (float)size;
        else
            ((double *)values)[i] /= (double)size;
}
