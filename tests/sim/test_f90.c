/* Types by precision and range: of the types there are, the smallest whose format has them. */
#include "tests/world_harness.h"

#include <math.h>

struct format {
    int digits, range, bytes;
};

/* IEEE 754: `significand` bits with the hidden one, exponents up to `exponent`. */
static struct format real_format(int significand, int exponent, int bytes)
{
    return (struct format){(int)((significand - 1) * log10(2)), (int)((exponent - 2) * log10(2)),
                           bytes};
}

/* Bytes of the smallest of `count` formats, 0: none is large enough. */
static int smallest(const struct format *formats, int count, int digits, int range)
{
    for (int i = 0; i < count; i++)
        if (formats[i].digits >= digits && formats[i].range >= range)
            return formats[i].bytes;
    return 0;
}

static int asked(int value)
{
    return value == MPI_UNDEFINED ? 0 : value;
}

static void look(int error, MPI_Datatype type, int bytes, const char *what, int digits, int range)
{
    int size = 0;
    if (!error)
        MPI_Type_size(type, &size);
    expect(size == bytes, "%s of %d digits, range %d has %d bytes, not %d", what, digits, range,
           size, bytes);
}

static void every_precision(int rank, int size)
{
    const struct format reals[] = {real_format(11, 16, 2), real_format(24, 128, 4),
                                   real_format(53, 1024, 8), real_format(113, 16384, 16)};
    const int ranges[] = {MPI_UNDEFINED, 0,   1,   3,    4,    5,    36,  37, 38,
                          306,           307, 308, 4930, 4931, 4932, 9999};
    MPI_Datatype type;
    (void)rank, (void)size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int p = -1; p <= 40; p++)
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
            int digits = p < 0 ? MPI_UNDEFINED : p, range = ranges[i];
            bool nothing = digits == MPI_UNDEFINED && range == MPI_UNDEFINED;
            int bytes = nothing ? 0 : smallest(reals, 4, asked(digits), asked(range));
            int error = MPI_Type_create_f90_real(digits, range, &type);
            look(error, type, bytes, "a real", p, range);
            error = MPI_Type_create_f90_complex(digits, range, &type);
            look(error, type, 2 * bytes, "a complex number", p, range);
        }
    for (int range = 0; range <= 45; range++) {
        int bytes = 1;
        while (bytes <= 16 && (int)((8 * bytes - 1) * log10(2)) < range)
            bytes *= 2;
        int error = MPI_Type_create_f90_integer(range, &type);
        look(error, type, bytes > 16 ? 0 : bytes, "an integer", 0, range);
    }
}

int main(void)
{
    world_test_sizes("every precision and range has its smallest type", every_precision,
                     WORLD_FIBERS, WORLD_SIZES(1));
    return tap_done();
}
