/* f90.c: MPI_Type_create_f90_real, _complex, _integer: the smallest type of a given precision
 * and range.
 *
 * The type given back is the sized one itself (MPI_REAL8, ...), so its envelope says that it is
 * named; the standard would have it be a type of its own that remembers the parameters.
 */
#include "sim/datatypes/call.h"

/* Decimal digits and decimal exponent that a type has, the smallest first. */
struct precision {
    int digits, range;
    MPI_Datatype type;
};

static const struct precision reals[] = {
    {3, 4, MPI_REAL2}, {6, 37, MPI_REAL4}, {15, 307, MPI_REAL8}, {33, 4931, MPI_REAL16}};
static const struct precision complexes[] = {{3, 4, MPI_COMPLEX4},
                                             {6, 37, MPI_COMPLEX8},
                                             {15, 307, MPI_COMPLEX16},
                                             {33, 4931, MPI_COMPLEX32}};
static const struct precision integers[] = {{0, 2, MPI_INTEGER1},
                                            {0, 4, MPI_INTEGER2},
                                            {0, 9, MPI_INTEGER4},
                                            {0, 18, MPI_INTEGER8},
                                            {0, 38, MPI_INTEGER16}};

static int select_type(const char *function, const struct precision *rows, size_t count,
                       struct precision wanted, MPI_Datatype *newtype)
{
    if (!newtype)
        return sim_type_raise(function, MPI_ERR_ARG, "newtype is a null pointer");
    for (size_t i = 0; i < count; i++)
        if (rows[i].digits >= wanted.digits && rows[i].range >= wanted.range) {
            *newtype = rows[i].type;
            return MPI_SUCCESS;
        }
    return sim_type_raise(function, MPI_ERR_ARG, "no type has %d digits and range %d",
                          wanted.digits, wanted.range);
}

/* MPI_UNDEFINED asks for nothing; asking for nothing at all is an error. */
static int select_floating(const char *function, const struct precision *rows, int p, int r,
                           MPI_Datatype *newtype)
{
    if (p == MPI_UNDEFINED && r == MPI_UNDEFINED)
        return sim_type_raise(function, MPI_ERR_ARG, "neither precision nor range is given");
    struct precision wanted = {p == MPI_UNDEFINED ? 0 : p, r == MPI_UNDEFINED ? 0 : r,
                               MPI_DATATYPE_NULL};
    return select_type(function, rows, sizeof reals / sizeof *reals, wanted, newtype);
}

int PMPI_Type_create_f90_real(int p, int r, MPI_Datatype *newtype)
{
    return select_floating("Type_create_f90_real", reals, p, r, newtype);
}

int PMPI_Type_create_f90_complex(int p, int r, MPI_Datatype *newtype)
{
    return select_floating("Type_create_f90_complex", complexes, p, r, newtype);
}

int PMPI_Type_create_f90_integer(int r, MPI_Datatype *newtype)
{
    return select_type("Type_create_f90_integer", integers, sizeof integers / sizeof *integers,
                       (struct precision){0, r, MPI_DATATYPE_NULL}, newtype);
}
