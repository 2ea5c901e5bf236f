/* test_info.c: info objects and the MPI_Info_* functions. */
#include <mpi.h>

#include "sim/base/handle.h"
#include "tests/tap.h"

static void test_keys(MPI_Info info)
{
    int count = -1, flag = -1, length = -1;
    char key[MPI_MAX_INFO_KEY] = "", value[MPI_MAX_INFO_VAL] = "";
    char name[16];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "key%d", i);
        PMPI_Info_set(info, name, "value");
    }
    PMPI_Info_set(info, "key3", "another");
    PMPI_Info_get_nkeys(info, &count);
    tap_is_int(count, 20, "setting a key twice keeps one");
    PMPI_Info_get_nthkey(info, 3, key);
    tap_is_str(key, "key3", "keys keep the order of their first setting");
    PMPI_Info_get(info, "key3", MPI_MAX_INFO_VAL - 1, value, &flag);
    tap_ok(flag == 1, "a key that was set is found");
    tap_is_str(value, "another", "a key has the value set last");
    PMPI_Info_get_valuelen(info, "key3", &length, &flag);
    tap_is_int(length, 7, "the length of a value excludes the null");
    PMPI_Info_get(info, "absent", 10, value, &flag);
    tap_is_int(flag, 0, "a key that was not set is not found");
    tap_is_str(value, "another", "a key that is not found leaves the value alone");
    tap_is_int(PMPI_Info_delete(info, "key3"), MPI_SUCCESS, "a key can be deleted");
    PMPI_Info_get_nthkey(info, 3, key);
    tap_is_str(key, "key4", "the keys behind a deleted one move up");
    tap_is_int(PMPI_Info_delete(info, "key3"), MPI_ERR_INFO_NOKEY, "a key is deleted only once");
}

static void test_cutting(MPI_Info info)
{
    char value[16];
    int flag, length = 4;
    PMPI_Info_set(info, "long", "abcdefgh");
    memset(value, '#', sizeof value);
    PMPI_Info_get(info, "long", 3, value, &flag);
    tap_is_str(value, "abc", "get cuts a value to the length given and adds the null");
    char longest[MPI_MAX_INFO_VAL];
    tap_is_int(PMPI_Info_get(info, "long", MPI_MAX_INFO_VAL, longest, &flag), MPI_SUCCESS,
               "get may be told the size of the largest value");
    memset(value, '#', sizeof value);
    PMPI_Info_get_string(info, "long", &length, value, &flag);
    tap_is_str(value, "abc", "get_string cuts a value so that the null fits into the length given");
    tap_ok(value[4] == '#', "get_string writes nothing beyond the length given");
    tap_is_int(length, 9, "get_string tells the length needed with the null");
    length = 0;
    PMPI_Info_get_string(info, "long", &length, NULL, &flag);
    tap_is_int(length, 9, "get_string with length 0 only tells the length");
    length = 5;
    PMPI_Info_get_string(info, "absent", &length, value, &flag);
    tap_ok(!flag && length == 5, "get_string of an absent key changes nothing");
}

static void test_copies(MPI_Info info)
{
    MPI_Info copy = MPI_INFO_NULL;
    char value[16] = "";
    int flag, count = -1;
    PMPI_Info_dup(info, &copy);
    PMPI_Info_set(info, "long", "changed");
    PMPI_Info_get(copy, "long", 15, value, &flag);
    tap_is_str(value, "abcdefgh", "a copy does not follow its original");
    PMPI_Info_get_nkeys(copy, &count);
    tap_is_int(count, 20, "a copy has all keys");
    PMPI_Info_free(&copy);
    tap_ok(copy == MPI_INFO_NULL, "free leaves MPI_INFO_NULL");
}

static void test_environment(void)
{
    char program[] = "./ring", first[] = "-n", second[] = "4", *argv[] = {program, first, second};
    char value[64] = "";
    int flag = 0, count = 0;
    MPI_Info info = MPI_INFO_NULL;
    PMPI_Info_create_env(3, argv, &info);
    PMPI_Info_get(info, "command", 63, value, &flag);
    tap_is_str(value, "./ring", "the environment has the command");
    PMPI_Info_get(info, "argv", 63, value, &flag);
    tap_is_str(value, "-n 4", "the environment has the arguments");
    PMPI_Info_free(&info);
    PMPI_Info_get_nkeys(MPI_INFO_ENV, &count);
    tap_ok(count >= 2, "MPI_INFO_ENV can be read");
    tap_is_int(PMPI_Info_get(MPI_INFO_ENV, "arch", 63, value, &flag), MPI_SUCCESS,
               "MPI_INFO_ENV can be asked for a key");
    tap_ok(flag, "MPI_INFO_ENV knows the architecture");
    tap_is_int(PMPI_Info_set(MPI_INFO_ENV, "arch", "pdp11"), MPI_ERR_INFO,
               "MPI_INFO_ENV cannot be changed");
}

static void test_errors(MPI_Info info)
{
    char text[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY];
    int flag;
    uint32_t foreign[16] = {SIM_MAGIC_GROUP};
    MPI_Info wrong = (MPI_Info)(void *)foreign;
    memset(text, 'x', sizeof text - 1);
    text[MPI_MAX_INFO_VAL] = '\0';
    tap_is_int(PMPI_Info_set(info, "key", text), MPI_ERR_INFO_VALUE, "a long value is refused");
    tap_is_int(PMPI_Info_set(info, text, "value"), MPI_ERR_INFO_KEY, "a long key is refused");
    tap_is_int(PMPI_Info_set(info, "", "value"), MPI_ERR_INFO_KEY, "an empty key is refused");
    tap_is_int(PMPI_Info_set(info, NULL, "value"), MPI_ERR_INFO_KEY, "a null key is refused");
    tap_is_int(PMPI_Info_set(MPI_INFO_NULL, "key", "value"), MPI_ERR_INFO, "null is no object");
    tap_is_int(PMPI_Info_set(wrong, "key", "value"), MPI_ERR_INFO, "a group is no info object");
    tap_is_int(PMPI_Info_free(&wrong), MPI_ERR_INFO, "a group is not freed as info object");
    tap_is_int(PMPI_Info_get_nthkey(info, 20, key), MPI_ERR_ARG,
               "a key beyond the last is refused");
    tap_is_int(PMPI_Info_get_nthkey(info, -1, key), MPI_ERR_ARG, "a negative number is refused");
    tap_is_int(PMPI_Info_get(info, "key", -1, text, &flag), MPI_ERR_ARG,
               "a negative length is refused");
    text[MPI_MAX_INFO_VAL - 1] = '\0';
    tap_is_int(PMPI_Info_set(info, "key", text), MPI_SUCCESS, "the longest value is accepted");
}

int main(void)
{
    MPI_Info info = MPI_INFO_NULL;
    tap_is_int(PMPI_Info_create(&info), MPI_SUCCESS, "an info object can be made");
    test_keys(info);
    test_cutting(info);
    test_copies(info);
    test_environment();
    test_errors(info);
    PMPI_Info_free(&info);
    return tap_done();
}
