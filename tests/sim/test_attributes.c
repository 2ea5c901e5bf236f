/* test_attributes.c: keyvals, attribute lists and their functions, with a program's functions that
 * keep a diary of their calls. */
#include <stdlib.h>

#include <mpi.h>

#include "sim/communicator_calls/attribute_lists.h"
#include "tests/tap.h"

/* The machine's part, for one rank and one object of each kind, in place of
 * sim/communicator_calls/comm_attributes.c's. */
static struct sim_keyvals keyvals;
static struct sim_attributes lists[3];
static int objects[3];
static int tag_bound = 32767;

struct sim_keyvals *sim_attributes_keyvals(void)
{
    return &keyvals;
}

struct sim_attributes *sim_attributes_of(enum sim_attribute_kind kind, void *handle)
{
    return handle == &objects[kind] ? &lists[kind] : NULL;
}

bool sim_attributes_predefined(enum sim_attribute_kind kind, void *handle, int number, void **value)
{
    *value = &tag_bound;
    return kind == SIM_ATTRIBUTE_COMM && handle && number == MPI_TAG_UB;
}

#define COMM ((MPI_Comm)(void *)&objects[SIM_ATTRIBUTE_COMM])
#define TYPE ((MPI_Datatype)(void *)&objects[SIM_ATTRIBUTE_TYPE])
#define WIN  ((MPI_Win)(void *)&objects[SIM_ATTRIBUTE_WIN])

/* One letter per call of a program's function: the value, small for delete, large for copy. */
static char diary[64];
static char state[] = "state";
static int refuse_code;

static void diary_add(int letter)
{
    size_t length = strlen(diary);
    diary[length] = (char)letter;
    diary[length + 1] = '\0';
}

static int forget(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    bool right = comm == COMM && keyval >= 0 && extra_state == state;
    diary_add(right ? *(char *)value : '?');
    return refuse_code;
}

static int forget_type(MPI_Datatype type, int keyval, void *value, void *extra_state)
{
    diary_add(type == TYPE && keyval >= 0 && !extra_state ? *(char *)value : '?');
    return MPI_SUCCESS;
}

static int copy(MPI_Comm comm, int keyval, void *extra_state, void *value, void *copied, int *flag)
{
    static char made[] = "z";
    bool right = comm == COMM && keyval >= 0 && extra_state == state;
    diary_add(right ? *(char *)value - 'a' + 'A' : '?');
    *(void **)copied = made;
    *flag = *(char *)value != 'b';
    return refuse_code;
}

/* While its value goes, looks the value up, frees the keyval and sets another attribute. */
static int meddle_keyval, meddle_other;
static int meddle(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    static char later[] = "l";
    void *seen = NULL;
    int flag = 0;
    (void)extra_state;
    PMPI_Comm_get_attr(comm, keyval, &seen, &flag);
    diary_add(flag && seen == value ? 'm' : '?');
    PMPI_Comm_free_keyval(&meddle_keyval);
    PMPI_Comm_set_attr(comm, meddle_other, later);
    return MPI_SUCCESS;
}

static char a[] = "a", b[] = "b", c[] = "c";

static const char *comm_value(int keyval)
{
    char *value = NULL;
    int flag = -1;
    int error = PMPI_Comm_get_attr(COMM, keyval, &value, &flag);
    return error != MPI_SUCCESS ? "error" : flag ? value : NULL;
}

static void test_values(void)
{
    int key = 0, other = 0;
    PMPI_Comm_create_keyval(copy, forget, &key, state);
    PMPI_Comm_create_keyval(copy, forget, &other, state);
    tap_ok(key != other, "keyvals are different");
    tap_is_str(comm_value(key), NULL, "an attribute that was not set is not found");
    PMPI_Comm_set_attr(COMM, key, a);
    tap_is_str(comm_value(key), "a", "an attribute that was set is found");
    tap_is_str(comm_value(other), NULL, "another keyval has a value of its own");
    PMPI_Comm_set_attr(COMM, key, b);
    tap_is_str(diary, "a", "a new value deletes the old one");
    tap_is_str(comm_value(key), "b", "a new value takes the place of the old one");
    PMPI_Comm_delete_attr(COMM, key);
    tap_is_str(diary, "ab", "deleting calls the program's function");
    tap_is_str(comm_value(key), NULL, "what was deleted is not found");
    tap_is_int(PMPI_Comm_delete_attr(COMM, key), MPI_SUCCESS, "deleting twice succeeds");
    tap_is_str(diary, "ab", "deleting twice calls the program's function once");
    PMPI_Comm_free_keyval(&key);
    tap_is_int(key, MPI_KEYVAL_INVALID, "freeing a keyval makes it invalid");
    PMPI_Comm_free_keyval(&other);
}

static void test_duplicates(void)
{
    int keys[4];
    void *value = NULL;
    struct sim_attributes duplicate = {0};
    diary[0] = '\0';
    PMPI_Comm_create_keyval(copy, forget, &keys[0], state);
    PMPI_Comm_create_keyval(copy, forget, &keys[1], state);
    PMPI_Comm_create_keyval(MPI_COMM_DUP_FN, forget, &keys[2], state);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[3], NULL);
    char *values[] = {a, b, c, a};
    for (int i = 0; i < 4; i++)
        PMPI_Comm_set_attr(COMM, keys[i], values[i]);
    int freed = keys[2];
    PMPI_Comm_free_keyval(&freed);
    tap_is_str(comm_value(keys[2]), "c", "a freed keyval still finds the attributes that have it");
    tap_is_int(PMPI_Comm_set_attr(COMM, keys[2], values[2]), MPI_ERR_KEYVAL, "but sets none");
    sim_attributes_copy(&lists[SIM_ATTRIBUTE_COMM], COMM, &duplicate);
    tap_is_str(diary, "AB", "duplicating asks the program's functions in the order of setting");
    tap_ok(sim_attributes_get(&duplicate, keys[0], &value) && *(char *)value == 'z',
           "a duplicate gets what the copy function made");
    tap_ok(!sim_attributes_get(&duplicate, keys[1], &value),
           "a duplicate lacks what the copy function did not want");
    tap_ok(sim_attributes_get(&duplicate, keys[2], &value) && value == c,
           "MPI_COMM_DUP_FN copies the value, also when the keyval was freed");
    tap_ok(!sim_attributes_get(&duplicate, keys[3], &value),
           "MPI_COMM_NULL_COPY_FN copies nothing");
    diary[0] = '\0';
    sim_attributes_clear(&lists[SIM_ATTRIBUTE_COMM], COMM);
    tap_is_str(diary, "cba", "clearing deletes in the reverse order of setting");
    tap_is_int(lists[SIM_ATTRIBUTE_COMM].count, 0, "clearing leaves nothing");
    tap_is_str(comm_value(keys[2]), "error", "of a freed keyval neither");
    sim_attributes_release(&duplicate);
}

static void test_refusals(void)
{
    int key;
    struct sim_attributes duplicate = {0};
    diary[0] = '\0';
    PMPI_Comm_create_keyval(copy, forget, &key, state);
    PMPI_Comm_set_attr(COMM, key, a);
    refuse_code = 77;
    tap_is_int(PMPI_Comm_delete_attr(COMM, key), 77, "a delete function's error is returned");
    tap_is_str(comm_value(key), "a", "a value that would not go stays");
    tap_is_int(PMPI_Comm_set_attr(COMM, key, b), 77, "a value that would not go is not replaced");
    tap_is_int(sim_attributes_clear(&lists[SIM_ATTRIBUTE_COMM], COMM), 77,
               "clearing stops at a value that would not go");
    tap_is_int(sim_attributes_copy(&lists[SIM_ATTRIBUTE_COMM], COMM, &duplicate), 77,
               "a copy function's error is returned");
    tap_is_int(duplicate.count, 0, "what could not be copied is not there");
    refuse_code = MPI_SUCCESS;
    sim_attributes_clear(&lists[SIM_ATTRIBUTE_COMM], COMM);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, meddle, &meddle_keyval, NULL);
    meddle_other = key;
    diary[0] = '\0';
    PMPI_Comm_set_attr(COMM, meddle_keyval, a);
    sim_attributes_clear(&lists[SIM_ATTRIBUTE_COMM], COMM);
    tap_is_str(diary, "ml", "a delete function may use and change the attributes it belongs to");
    tap_is_int(meddle_keyval, MPI_KEYVAL_INVALID, "and may free its own keyval");
    sim_attributes_release(&duplicate);
}

static void test_kinds(void)
{
    int comm_key, type_key, win_key, flag = -1;
    int *bound = NULL;
    char *value = NULL;
    diary[0] = '\0';
    PMPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &comm_key, NULL);
    PMPI_Type_create_keyval(MPI_TYPE_DUP_FN, forget_type, &type_key, NULL);
    PMPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL);
    PMPI_Type_set_attr(TYPE, type_key, a);
    PMPI_Type_delete_attr(TYPE, type_key);
    tap_is_str(diary, "a", "a datatype's delete function is called with the datatype");
    PMPI_Win_set_attr(WIN, win_key, b);
    PMPI_Win_get_attr(WIN, win_key, &value, &flag);
    tap_ok(flag && value == b, "a window has attributes");
    PMPI_Attr_put(COMM, comm_key, c);
    tap_is_str(comm_value(comm_key), "c", "the functions of MPI 1 set a communicator's attributes");
    PMPI_Comm_get_attr(COMM, MPI_TAG_UB, &bound, &flag);
    tap_ok(flag && *bound == 32767, "a predefined attribute is the machine's");
    tap_is_int(PMPI_Comm_set_attr(COMM, MPI_TAG_UB, a), MPI_ERR_KEYVAL,
               "a predefined attribute cannot be set");
    tap_is_int(PMPI_Comm_set_attr(COMM, type_key, a), MPI_ERR_KEYVAL,
               "a keyval of another kind is refused");
    tap_is_int(PMPI_Comm_get_attr(COMM, 12345, &value, &flag), MPI_ERR_KEYVAL,
               "a number that is no keyval is refused");
    tap_is_int(PMPI_Comm_set_attr(MPI_COMM_NULL, comm_key, a), MPI_ERR_COMM,
               "a communicator that is none is refused");
    tap_is_int(PMPI_Type_set_attr(MPI_DATATYPE_NULL, type_key, a), MPI_ERR_TYPE,
               "a datatype that is none is refused");
    tap_is_int(PMPI_Win_set_attr(MPI_WIN_NULL, win_key, a), MPI_ERR_WIN,
               "a window that is none is refused");
    tap_is_int(PMPI_Type_free_keyval(&win_key), MPI_ERR_KEYVAL,
               "a keyval of another kind is not freed");
    tap_is_int(PMPI_Comm_create_keyval(copy, forget, NULL, NULL), MPI_ERR_ARG,
               "a null address for the keyval is refused");
    PMPI_Attr_delete(COMM, comm_key);
}

int main(void)
{
    test_values();
    test_duplicates();
    test_refusals();
    test_kinds();
    for (int i = 0; i < 3; i++)
        sim_attributes_release(&lists[i]);
    sim_keyvals_release(&keyvals);
    return tap_done();
}
