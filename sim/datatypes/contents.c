/* contents.c: MPI_Type_get_envelope and MPI_Type_get_contents: how a type was made. */
#include <string.h>

#include "sim/datatypes/call.h"
#include "sim/worlds/open_handles.h"

static const struct sim_contents named = {.combiner = MPI_COMBINER_NAMED};

static const struct sim_contents *contents_of(MPI_Datatype datatype)
{
    const struct sim_datatype *type = sim_datatype_get(datatype);
    return type->contents ? type->contents : &named;
}

/* Large counts cannot be returned in ints. */
static int check_small(const char *function, MPI_Datatype datatype)
{
    if (contents_of(datatype)->large_count == 0)
        return MPI_SUCCESS;
    return sim_type_raise(function, MPI_ERR_TYPE, "the type was made with large counts: use %s_c",
                          function);
}

int PMPI_Type_get_envelope(MPI_Datatype datatype, int *num_integers, int *num_addresses,
                           int *num_datatypes, int *combiner)
{
    int error = sim_type_query_check("Type_get_envelope", datatype,
                                     num_integers && num_addresses && num_datatypes && combiner);
    if (!error)
        error = check_small("Type_get_envelope", datatype);
    if (error)
        return error;
    const struct sim_contents *contents = contents_of(datatype);
    *num_integers = (int)contents->integer_count;
    *num_addresses = (int)contents->address_count;
    *num_datatypes = (int)contents->type_count;
    *combiner = contents->combiner;
    return MPI_SUCCESS;
}

int PMPI_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count *num_integers,
                             MPI_Count *num_addresses, MPI_Count *num_large_counts,
                             MPI_Count *num_datatypes, int *combiner)
{
    int error = sim_type_query_check("Type_get_envelope_c", datatype,
                                     num_integers && num_addresses && num_large_counts &&
                                         num_datatypes && combiner);
    if (error)
        return error;
    const struct sim_contents *contents = contents_of(datatype);
    *num_integers = (MPI_Count)contents->integer_count;
    *num_addresses = (MPI_Count)contents->address_count;
    *num_large_counts = (MPI_Count)contents->large_count;
    *num_datatypes = (MPI_Count)contents->type_count;
    *combiner = contents->combiner;
    return MPI_SUCCESS;
}

/* The caller's arrays and how many entries each has room for. */
struct arrays {
    MPI_Count integer_room, address_room, large_room, type_room;
    int *integers;
    MPI_Aint *addresses;
    MPI_Count *large_counts;
    MPI_Datatype *types;
};

static bool fits(size_t count, MPI_Count room, const void *array)
{
    return count == 0 || (room > 0 && count <= (size_t)room && array);
}

/* The program gets a handle of its own, even when it freed the one it had. */
static MPI_Datatype new_handle(const struct sim_datatype *type)
{
    struct sim_datatype *derived = (struct sim_datatype *)(uintptr_t)type;
    if (!type->predefined) {
        sim_datatype_retain(type);
        derived->handles++;
        sim_open_handles_add(SIM_LIVE_DATATYPE, (uint64_t)(uintptr_t)sim_datatype_handle(type));
        derived->magic = SIM_MAGIC_DATATYPE;
    }
    return sim_datatype_handle(type);
}

/* memcpy that may be told to copy nothing from nowhere. */
static void copy_array(void *to, const void *from, size_t count, size_t width)
{
    if (count)
        memcpy(to, from, count * width);
}

static int get_contents(const char *function, MPI_Datatype datatype, const struct arrays *arrays)
{
    const struct sim_contents *contents = contents_of(datatype);
    if (contents == &named)
        return sim_type_raise(function, MPI_ERR_TYPE, "%s is predefined and has no contents",
                              sim_datatype_name(sim_datatype_get(datatype)));
    if (!fits(contents->integer_count, arrays->integer_room, arrays->integers) ||
        !fits(contents->address_count, arrays->address_room, arrays->addresses) ||
        !fits(contents->large_count, arrays->large_room, arrays->large_counts) ||
        !fits(contents->type_count, arrays->type_room, arrays->types))
        return sim_type_raise(function, MPI_ERR_ARG,
                              "an array is too small for what the envelope says");
    copy_array(arrays->integers, contents->integers, contents->integer_count, sizeof(int));
    copy_array(arrays->addresses, contents->addresses, contents->address_count, sizeof(MPI_Aint));
    copy_array(arrays->large_counts, contents->counts, contents->large_count, sizeof(MPI_Count));
    for (size_t i = 0; i < contents->type_count; i++)
        arrays->types[i] = new_handle(contents->types[i]);
    return MPI_SUCCESS;
}

int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses,
                           int max_datatypes, int array_of_integers[],
                           MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[])
{
    int error = sim_type_query_check("Type_get_contents", datatype, true);
    if (!error)
        error = check_small("Type_get_contents", datatype);
    if (error)
        return error;
    struct arrays arrays = {.integer_room = max_integers,
                            .address_room = max_addresses,
                            .type_room = max_datatypes,
                            .integers = array_of_integers,
                            .addresses = array_of_addresses,
                            .types = array_of_datatypes};
    return get_contents("Type_get_contents", datatype, &arrays);
}

int PMPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                             MPI_Count max_large_counts, MPI_Count max_datatypes,
                             int array_of_integers[], MPI_Aint array_of_addresses[],
                             MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[])
{
    int error = sim_type_query_check("Type_get_contents_c", datatype, true);
    if (error)
        return error;
    struct arrays arrays = {max_integers,          max_addresses,     max_large_counts,
                            max_datatypes,         array_of_integers, array_of_addresses,
                            array_of_large_counts, array_of_datatypes};
    return get_contents("Type_get_contents_c", datatype, &arrays);
}
