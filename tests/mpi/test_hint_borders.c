/* Arguments of hints and attributes: see borders.h. */
#include "tests/mpi/borders.h"

static void hints_have_borders(int rank, int size)
{
    returning();
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1], back[MPI_MAX_INFO_VAL + 2];
    MPI_Info info, none = MPI_INFO_NULL, copy;
    int flag = -1, length = -1, number = -1;
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[MPI_MAX_INFO_KEY - 1] = value[MPI_MAX_INFO_VAL - 1] = 0; /* as long as they may be */
    MPI_Info_create(&info);
    expect_ok(MPI_Info_set(info, key, value));
    key[MPI_MAX_INFO_KEY - 1] = 'k';
    key[MPI_MAX_INFO_KEY] = 0;
    expect_class(MPI_Info_set(info, key, "x"), MPI_ERR_INFO_KEY);
    expect_class(MPI_Info_delete(info, key), MPI_ERR_INFO_KEY);
    expect_class(MPI_Info_set(info, "", "x"), MPI_ERR_INFO_KEY);
    expect_class(MPI_Info_set(info, NULL, "x"), MPI_ERR_INFO_KEY);
    expect_class(MPI_Info_set(info, "a", NULL), MPI_ERR_INFO_VALUE);
    value[MPI_MAX_INFO_VAL - 1] = 'v';
    value[MPI_MAX_INFO_VAL] = 0;
    expect_class(MPI_Info_set(info, "a", value), MPI_ERR_INFO_VALUE);
    expect_ok(MPI_Info_set(info, "a", ""));
    expect_ok(MPI_Info_set(info, "b", "four"));
    expect_class(MPI_Info_set(none, "a", "x"), MPI_ERR_INFO);
    expect_class(MPI_Info_delete(none, "a"), MPI_ERR_INFO);
    expect_class(MPI_Info_delete(info, "absent"), MPI_ERR_INFO_NOKEY);
    expect_class(MPI_Info_dup(none, &copy), MPI_ERR_INFO);
    expect_class(MPI_Info_dup(info, NULL), MPI_ERR_ARG);
    expect_class(MPI_Info_free(&none), MPI_ERR_INFO);
    expect_class(MPI_Info_create(NULL), MPI_ERR_ARG);
    expect_class(MPI_Info_get_nkeys(none, &number), MPI_ERR_INFO);
    expect_class(MPI_Info_get_nkeys(info, NULL), MPI_ERR_ARG);
    expect_ok(MPI_Info_get_nkeys(info, &number));
    expect(number == 3, "%d keys", number);
    expect_class(MPI_Info_get_nthkey(info, -1, back), MPI_ERR_ARG);
    expect_class(MPI_Info_get_nthkey(info, 3, back), MPI_ERR_ARG);
    expect_class(MPI_Info_get_nthkey(info, 0, NULL), MPI_ERR_ARG);
    expect_class(MPI_Info_get_nthkey(none, 0, back), MPI_ERR_INFO);
    expect_ok(MPI_Info_get_nthkey(info, 2, back));
    expect(!strcmp(back, "b"), "the last key is %s", back);
    expect_ok(MPI_Info_get_nthkey(info, 0, back));
    expect(strlen(back) == MPI_MAX_INFO_KEY - 1, "the first key has %zu", strlen(back));
    expect_class(MPI_Info_get(info, "b", -1, back, &flag), MPI_ERR_ARG);
    expect_class(MPI_Info_get(info, "b", 4, NULL, &flag), MPI_ERR_ARG);
    expect_class(MPI_Info_get(info, "b", 4, back, NULL), MPI_ERR_ARG);
    expect_class(MPI_Info_get(none, "b", 4, back, &flag), MPI_ERR_INFO);
    for (int room = 0; room < 7; room++) { /* characters, without the null */
        memset(back, '#', sizeof back);
        expect_ok(MPI_Info_get(info, "b", room, back, &flag));
        expect(flag == 1 && !strncmp(back, "four", (size_t)(room < 4 ? room : 4)) &&
                   back[room < 4 ? room : 4] == 0 && back[room < 4 ? room + 1 : 5] == '#',
               "room for %d", room);
        memset(back, '#', sizeof back);
        length = room; /* with the null */
        expect_ok(MPI_Info_get_string(info, "b", &length, back, &flag));
        expect(flag == 1 && length == 5, "flag %d, length %d", flag, length);
        int kept = room < 1 ? 0 : room < 5 ? room - 1 : 4;
        expect(!strncmp(back, "four", (size_t)kept) && back[kept] == (room ? 0 : '#') &&
                   back[kept + 1] == '#',
               "room for %d with the null", room);
    }
    length = -1;
    expect_class(MPI_Info_get_string(info, "b", &length, back, &flag), MPI_ERR_ARG);
    length = 1;
    expect_class(MPI_Info_get_string(info, "b", &length, NULL, &flag), MPI_ERR_ARG);
    expect_class(MPI_Info_get_string(info, "b", NULL, back, &flag), MPI_ERR_ARG);
    for (int i = 0; i < 2; i++) { /* what is not there is not found */
        MPI_Info asked = i ? info : none;
        const int wanted = i ? MPI_ERR_INFO_KEY : MPI_ERR_INFO;
        flag = 1;
        expect_class(MPI_Info_get(asked, "", 4, back, &flag), wanted);
        expect(flag == 0, "Info_get found it");
        length = flag = 1;
        expect_class(MPI_Info_get_string(asked, "", &length, back, &flag), wanted);
        expect(flag == 0 && length == 1, "Info_get_string found it");
        flag = 1;
        expect_class(MPI_Info_get_valuelen(asked, "", &length, &flag), wanted);
        expect(flag == 0 && length == 1, "Info_get_valuelen found it");
    }
    length = 0;
    expect_ok(MPI_Info_get_string(info, "absent", &length, NULL, &flag));
    expect(flag == 0 && length == 0, "absent: %d, %d", flag, length);
    expect_class(MPI_Info_get_valuelen(info, "b", NULL, &flag), MPI_ERR_ARG);
    expect_class(MPI_Info_get_valuelen(info, "b", &length, NULL), MPI_ERR_ARG);
    expect_class(MPI_Info_get_valuelen(info, "", &length, &flag), MPI_ERR_INFO_KEY);
    expect_ok(MPI_Info_get_valuelen(info, "b", &length, &flag));
    expect(flag == 1 && length == 4, "%d characters", length);
    expect_ok(MPI_Info_get_valuelen(info, "absent", &length, &flag));
    expect(flag == 0 && length == 4, "absent: %d, %d", flag, length);
    MPI_Info_free(&info);
    expect(info == MPI_INFO_NULL, "the freed one is there");
    still_works(rank, size);
}

/* Hints of a communicator are set one by one, and given back as a copy. */
static void hints_are_kept_one_by_one(int rank, int size)
{
    MPI_Comm comm, copy;
    MPI_Info info, used;
    char value[32];
    int number = -1, flag = -1;
    (void)rank, (void)size;
    returning();
    MPI_Comm_dup(world, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    expect_ok(MPI_Comm_set_info(comm, MPI_INFO_NULL));
    expect_ok(MPI_Comm_get_info(comm, &used));
    MPI_Info_get_nkeys(used, &number);
    expect(number == 0, "%d hints at first", number);
    MPI_Info_free(&used);
    static const char *const sets[][2] = {{"one", "1"}, {"two", "2"}, {"one", "11"}, {"six", "6"}};
    for (int i = 0; i < 4; i++) {
        MPI_Info_create(&info);
        MPI_Info_set(info, sets[i][0], sets[i][1]);
        expect_ok(MPI_Comm_set_info(comm, info));
        MPI_Info_free(&info);
    }
    expect_ok(MPI_Comm_get_info(comm, &used));
    MPI_Info_get_nkeys(used, &number);
    expect(number == 3, "%d hints", number);
    for (int i = 1; i < 4; i++) {
        MPI_Info_get(used, sets[i][0], 31, value, &flag);
        expect(flag && !strcmp(value, sets[i][1]), "%s is %s", sets[i][0], value);
    }
    MPI_Info_set(used, "one", "changed"); /* a copy: the communicator's stay */
    MPI_Comm_dup_with_info(comm, used, &copy);
    MPI_Info_free(&used);
    MPI_Comm_get_info(comm, &used);
    MPI_Info_get(used, "one", 31, value, &flag);
    expect(flag && !strcmp(value, "11"), "one is %s", value);
    MPI_Info_free(&used);
    MPI_Comm_get_info(copy, &used);
    MPI_Info_get(used, "one", 31, value, &flag);
    expect(flag && !strcmp(value, "changed"), "one of the copy is %s", value);
    MPI_Info_get_nkeys(used, &number);
    expect(number == 3, "%d hints of the copy", number);
    MPI_Info_free(&used);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
    expect_class(MPI_Comm_set_info(MPI_COMM_NULL, MPI_INFO_NULL), MPI_ERR_COMM);
    expect_class(MPI_Comm_get_info(MPI_COMM_NULL, &used), MPI_ERR_COMM);
}

static void attributes_have_borders(int rank, int size)
{
    returning();
    int keyval = -1, flag = -1, stale, invalid = MPI_KEYVAL_INVALID, predefined = MPI_TAG_UB;
    void *value = NULL;
    expect_class(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, NULL, NULL),
                 MPI_ERR_ARG);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    expect_class(MPI_Comm_set_attr(MPI_COMM_NULL, keyval, NULL), MPI_ERR_COMM);
    expect_class(MPI_Comm_get_attr(MPI_COMM_NULL, keyval, &value, &flag), MPI_ERR_COMM);
    expect_class(MPI_Comm_delete_attr(MPI_COMM_NULL, keyval), MPI_ERR_COMM);
    expect_class(MPI_Comm_set_attr(world, invalid, NULL), MPI_ERR_KEYVAL);
    expect_class(MPI_Comm_set_attr(world, predefined, NULL), MPI_ERR_KEYVAL);
    expect_class(MPI_Comm_delete_attr(world, predefined), MPI_ERR_KEYVAL);
    expect_class(MPI_Comm_get_attr(world, invalid, &value, &flag), MPI_ERR_KEYVAL);
    expect_class(MPI_Comm_get_attr(world, keyval, NULL, &flag), MPI_ERR_ARG);
    expect_class(MPI_Comm_get_attr(world, keyval, &value, NULL), MPI_ERR_ARG);
    expect_class(MPI_Comm_free_keyval(&invalid), MPI_ERR_KEYVAL);
    expect_class(MPI_Comm_free_keyval(&predefined), MPI_ERR_KEYVAL);
    expect_class(MPI_Type_set_attr(MPI_INT, keyval, NULL), MPI_ERR_KEYVAL); /* of another kind */
    stale = keyval;
    expect_ok(MPI_Comm_free_keyval(&keyval));
    expect(keyval == MPI_KEYVAL_INVALID, "the freed one is %d", keyval);
    expect_class(MPI_Comm_set_attr(world, stale, NULL), MPI_ERR_KEYVAL);
    /* What the communicators tell of themselves. */
    static const int keys[] = {MPI_TAG_UB, MPI_HOST,         MPI_IO,           MPI_WTIME_IS_GLOBAL,
                               MPI_APPNUM, MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE};
    const int wanted[] = {0x3fffffff, MPI_PROC_NULL, MPI_ANY_SOURCE, 1, 0, MPI_ERR_LASTCODE, size};
    for (int i = 0; i < 7; i++) {
        int *told = NULL;
        expect_ok(MPI_Comm_get_attr(world, keys[i], &told, &flag));
        expect(flag == 1 && told && *told == wanted[i], "attribute %d: %d", i, told ? *told : -1);
    }
    int class, *told = NULL;
    MPI_Add_error_class(&class);
    MPI_Comm_get_attr(world, MPI_LASTUSEDCODE, &told, &flag);
    expect(flag && *told == class, "the last code is %d, not %d", *told, class);
    still_works(rank, size);
}

int main(void)
{
    borders("keys and values of hints have their length", hints_have_borders);
    borders("hints of a communicator are kept one by one", hints_are_kept_one_by_one);
    borders("attributes have keyvals of their kind", attributes_have_borders);
    return tap_done();
}
