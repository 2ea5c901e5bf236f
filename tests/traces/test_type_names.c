/* The names and sizes under which a trace knows types and reductions, against the standard's list
 * of numbers and the machine's own extents. */
#include "tests/world_harness.h"
#include "traces/trace/trace.h"

#include <ctype.h>
#include <string.h>

enum { WORDS = 6, WORD = 32 };

static const char *const list = "tests/data/mpi-abi-values.tsv";

/* The words of a name in lower case and alphabetical order, without what only tells languages and
 * typedefs apart. */
static void words_of(const char *name, char *text, size_t size)
{
    char words[WORDS][WORD];
    size_t count = 0;
    while (*name && count < WORDS) {
        size_t length = 0;
        for (; isalnum((unsigned char)*name) && length + 1 < WORD; name++)
            words[count][length++] = (char)tolower((unsigned char)*name);
        words[count][length] = 0;
        bool told = length && strcmp(words[count], "c") && strcmp(words[count], "cxx") &&
                    strcmp(words[count], "t");
        count += told;
        name += *name != 0;
    }
    qsort(words, count, sizeof *words, (int (*)(const void *, const void *))strcmp);
    *text = 0;
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), size - strlen(text), " %s", words[i]);
}

static bool names_agree(const char *mpi_name, const char *name)
{
    char one[200], other[200];
    words_of(mpi_name + strlen("MPI_"), one, sizeof one);
    words_of(name, other, sizeof other);
    return !strcmp(one, other);
}

static void check_type(const char *name, unsigned long number)
{
    MPI_Aint low, extent;
    int bytes;
    if (number == (unsigned long)(uintptr_t)MPI_DATATYPE_NULL)
        return;
    const char *known = trace_type_name((uint32_t)number);
    expect(names_agree(name, known), "%s (0x%lx) is called '%s'", name, number, known);
    MPI_Datatype type = (MPI_Datatype)(uintptr_t)number; /* NOLINT: the ABI's handles are numbers */
    MPI_Type_get_extent(type, &low, &extent);
    MPI_Type_size(type, &bytes);
    expect(trace_type_extent((uint32_t)number) == (size_t)extent, "%s extends %zu bytes, not %zu",
           name, (size_t)extent, trace_type_extent((uint32_t)number));
    expect(trace_type_size((uint32_t)number) == (size_t)bytes, "%s has %d bytes, not %zu", name,
           bytes, trace_type_size((uint32_t)number));
}

static void all_of_the_list(int rank, int size)
{
    char line[200], name[80], kind[40];
    unsigned long number;
    int types = 0, reductions = 0;
    FILE *file = fopen(list, "r");
    (void)rank, (void)size;
    expect(file, "%s cannot be read", list);
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%79s %lx (%39[A-Za-z_])", name, &number, kind) != 3)
            continue;
        if (!strcmp(kind, "MPI_Datatype")) {
            check_type(name, number);
            types++;
        } else if (!strcmp(kind, "MPI_Op") && strcmp(name, "MPI_OP_NULL")) {
            const char *known = trace_reduce_name((uint32_t)number);
            expect(names_agree(name, known), "%s (0x%lx) is called '%s'", name, number, known);
            reductions++;
        }
    }
    if (file)
        fclose(file);
    expect(types > 60 && reductions > 12, "%d types and %d reductions", types, reductions);
}

int main(void)
{
    world_test_sizes("every type and reduction of the standard has its name and size",
                     all_of_the_list, WORLD_FIBERS, WORLD_SIZES(1));
    tap_is_str(trace_type_name(0x299), "?", "what is no type has no name");
    tap_is_int(trace_type_size(0x299), 1, "and counts bytes");
    tap_is_str(trace_type_name(0), "mixed", "types mixed are called so");
    tap_is_str(trace_reduce_name(1), "user op", "and operations of programs");
    tap_is_str(trace_reduce_name(0), "", "no reduction has no name");
    tap_is_str(trace_reduce_name(0x77), "?", "what is no reduction, either");
    return tap_done();
}
