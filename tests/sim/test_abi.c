/* test_abi.c: mpi.h, the rows of functions.h and the stub library against the standard's lists. */
#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mpi.h>

#include "sim/interface/unsupported.h"
#include "tests/tap.h"

/* Every value of the list, as the header has it and as the standard has it. */
struct value {
    const char *name;
    intptr_t got;
    intptr_t expected;
    bool same_type;
};
static const struct value values[] = {
#define ABI_VALUE(name, expected)                                                                  \
    {#name, (intptr_t)(name), (intptr_t)(expected),                                                \
     _Generic((name), __typeof__(expected)                                                         \
              : true, default                                                                      \
              : false)},
#include "abi_values.h"
};
enum { VALUES = sizeof values / sizeof values[0] };

/* Every row of functions.h; does not compile when mpi.h lacks one of its prototypes. */
typedef void any_function(void);
struct function {
    const char *name;
    any_function *mpi;
    any_function *pmpi;
};
static const struct function functions[] = {
#define SIM_FUNCTION(name) {#name, (any_function *)MPI_##name, (any_function *)PMPI_##name},
#include "sim/functions.h"
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static bool function_exists(const char *name)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].name, name) == 0)
            return true;
    return false;
}

/* These stand for a later implementation and for a tool's wrapper: both never provided here. */
static const char *join_seen, *connect_seen;
static MPI_Comm comm_seen;

int PMPI_Comm_join(int fd, MPI_Comm *intercomm)
{
    join_seen = fd == 42 && intercomm == &comm_seen ? "all arguments" : "others";
    return 7;
}

int MPI_Comm_connect(const char *port_name, MPI_Info info, int root, MPI_Comm comm,
                     MPI_Comm *newcomm)
{
    connect_seen = port_name;
    return info == MPI_INFO_NULL && root == 1 && comm == MPI_COMM_SELF && newcomm == NULL ? 8 : 9;
}

static void test_values(void)
{
    for (size_t i = 0; i < VALUES; i++) {
        tap_is_int(values[i].got, values[i].expected, "%s has the standard's value",
                   values[i].name);
        tap_ok(values[i].same_type, "%s has the standard's type", values[i].name);
    }
}

static void test_types(void)
{
    tap_is_int(sizeof(MPI_Status), 32, "a status is eight ints");
    tap_is_int(offsetof(MPI_Status, MPI_SOURCE), 0, "a status begins with the source");
    tap_is_int(offsetof(MPI_Status, MPI_TAG), 4, "the tag of a status follows the source");
    tap_is_int(offsetof(MPI_Status, MPI_ERROR), 8, "the error of a status follows the tag");
    tap_is_int(sizeof(MPI_Comm), sizeof(void *), "a handle is a pointer");
    tap_is_int(sizeof(MPI_Aint), sizeof(void *), "MPI_Aint holds an address");
    tap_ok((MPI_Aint)-1 < 0, "MPI_Aint is signed");
    tap_is_int(sizeof(MPI_Offset), 8, "MPI_Offset has 64 bits");
    tap_is_int(sizeof(MPI_Count), 8, "MPI_Count has 64 bits");
    tap_is_int(sizeof(MPI_Fint), sizeof(int), "MPI_Fint is an int");
}

/* One test per name of the standard's list; returns how many names it has. */
static size_t test_functions(FILE *list)
{
    char traced[128] = "P", *name = traced + 1;
    size_t count = 0;
    for (; fscanf(list, "%100s", name) == 1; count++) {
        tap_ok(function_exists(name + 4) && dlsym(RTLD_DEFAULT, name) &&
                   dlsym(RTLD_DEFAULT, traced),
               "%s has a row and exists under both names", name);
    }
    return count;
}

/* Prototypes of the header that are no rows; counts all of them. */
static size_t header_strangers(FILE *header, size_t *count)
{
    char line[256], name[128];
    size_t strangers = 0;
    while (fgets(line, sizeof line, header)) {
        char *open = strchr(line, '(');
        if (!open || !strchr("idM", line[0]))
            continue;
        *open = '\0';
        const char *word = strrchr(line, ' ') + 1;
        snprintf(name, sizeof name, "%.100s", word + (*word == 'P'));
        (*count)++;
        if (strncmp(name, "MPI_", 4) != 0 || !function_exists(name + 4))
            tap_note("%s is not a row", word), strangers++;
    }
    return strangers;
}

static void test_header(void)
{
    size_t count = 0;
    FILE *header = fopen("sim/mpi.h", "r");
    if (!header) {
        tap_skip(2, "sim/mpi.h is not in the current directory");
        return;
    }
    tap_is_int(header_strangers(header, &count), 0, "every prototype of mpi.h is a row");
    tap_is_int(count, 2 * FUNCTIONS, "mpi.h has two prototypes for each row");
    fclose(header);
}

/* Programs are compiled by other people's compilers, in other dialects than ours. */
static void test_dialects(void)
{
    static const char *const dialects[] = {"cc -x c -std=c99", "cc -x c -std=c17",
                                           "c++ -x c++ -std=c++11", "c++ -x c++ -std=c++17"};
    char command[512], probe[64];
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
        snprintf(probe, sizeof probe, "command -v %.3s >/dev/null", dialects[i]);
        snprintf(command, sizeof command,
                 "printf '#include <mpi.h>\\n#include <mpix.h>\\n"
                 "MPI_Comm_copy_attr_function *f = MPI_COMM_DUP_FN; MPI_Comm c = MPI_COMM_WORLD;' "
                 "| %s -Wall -Wextra -pedantic -Werror -fsyntax-only -Isim -",
                 dialects[i]);
        if (system(probe) != 0)
            tap_skip(1, "there is no compiler for %s", dialects[i]);
        else
            tap_is_int(system(command), 0, "mpi.h and mpix.h compile with %s", dialects[i]);
    }
}

static void test_linking(void)
{
    bool listed = false, implemented_listed = false;
    for (size_t i = 0; i < sim_unsupported_count(); i++) {
        listed |= strcmp(sim_unsupported_name(i), "MPI_Comm_accept") == 0;
        implemented_listed |= strcmp(sim_unsupported_name(i), "MPI_Comm_join") == 0;
    }
    tap_is_int(sim_function_count(), FUNCTIONS, "the machine knows every row");
    tap_ok(listed, "a function nobody defines is listed as unsupported");
    tap_ok(!implemented_listed, "a function somebody defines is not listed");
    tap_ok(sim_unsupported_name(sim_unsupported_count()) == NULL, "the list ends with NULL");
    tap_ok(sim_function_supported("PMPI_Comm_join"), "a defined function is supported");
    tap_ok(!sim_function_supported("MPI_Comm_accept"), "an undefined function is not supported");
    tap_is_int(MPI_Comm_join(42, &comm_seen), 7, "MPI_X reaches the PMPI_X that was linked");
    tap_is_str(join_seen, "all arguments", "the arguments reach it unchanged");
    tap_is_int(MPI_Comm_connect("door", MPI_INFO_NULL, 1, MPI_COMM_SELF, NULL), 8,
               "a tool's MPI_X takes the place of ours");
    tap_is_str(connect_seen, "door", "a tool's MPI_X gets the arguments");
    tap_ok(dlsym(RTLD_DEFAULT, "PMPI_Comm_connect") != dlsym(RTLD_DEFAULT, "MPI_Comm_connect"),
           "the PMPI_X beneath a tool's MPI_X stays");
    tap_is_int(MPI_Close_port("door"), MPI_ERR_UNSUPPORTED_OPERATION,
               "an unsupported function returns MPI_ERR_UNSUPPORTED_OPERATION");
}

/* Path of the stub library, beside the folder of this program. */
static const char *stub_path(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 64);
    path[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 3; up++)
        *strrchr(path, '/') = '\0';
    return strcat(path, "/lib/libmpi_abi.so.1");
}

/* Calls `name` of the stub library in a child; returns its exit status, or -1, and what it said. */
static int stub_call(void *stub, const char *name, char *said, size_t size)
{
    int ends[2], status = 0;
    any_function *call = NULL;
    *(void **)&call = dlsym(stub, name);
    if (!call || pipe(ends) != 0)
        return -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        call();
        _exit(0);
    }
    close(ends[1]);
    ssize_t length = read(ends[0], said, size - 1);
    said[length > 0 ? length : 0] = '\0';
    close(ends[0]);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static size_t stub_missing(void *stub)
{
    size_t missing = 0;
    char name[128];
    for (size_t i = 0; i < 2 * FUNCTIONS; i++) {
        snprintf(name, sizeof name, "%sMPI_%s", i % 2 ? "P" : "", functions[i / 2].name);
        missing += !dlsym(stub, name);
    }
    return missing;
}

static void test_stub(void)
{
    char path[PATH_MAX], said[512];
    void *stub = dlopen(stub_path(path), RTLD_NOW | RTLD_LOCAL);
    if (!stub) {
        tap_note("%s", dlerror());
        tap_skip(6, "the stub library is not built");
        return;
    }
    tap_is_int(stub_missing(stub), 0, "the stub library has every function under both names");
    tap_ok(dlsym(stub, "MPIX_World_rank") && dlsym(stub, "SIM_Batch_begin"),
           "the stub library has the extensions of mpix.h");
    tap_is_int(stub_call(stub, "MPI_Init", said, sizeof said), 3,
               "a program started by itself ends with status 3 at its first MPI call");
    tap_ok(strstr(said, "simrun -n N") != NULL, "it says how to run the program");
    tap_ok(strstr(said, "MPI_Init") != NULL, "it names the call");
    tap_is_int(stub_call(stub, "MPIX_Yield", said, sizeof said), 3,
               "an extension called outside simrun ends with status 3 too");
    dlclose(stub);
}

int main(void)
{
    FILE *list = fopen("tests/data/mpi-abi-functions.txt", "r");
    test_values();
    test_types();
    if (tap_ok(list != NULL, "the standard's list of functions can be read")) {
        tap_is_int(test_functions(list), FUNCTIONS, "the list has as many names as there are rows");
        fclose(list);
    }
    test_header();
    test_dialects();
    test_linking();
    test_stub();
    return tap_done();
}
