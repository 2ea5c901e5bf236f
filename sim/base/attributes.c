/* attributes.c: keyvals and attribute lists as small arrays; search is linear in an object's
 * attributes, constant in keyvals. */
#include "sim/base/attributes.h"

#include <stdlib.h>
#include <string.h>

/* Above all predefined keyvals, and such that a small number given by mistake is none. */
enum { KEYVAL_FIRST = 4096 };

/* Makes room for one row more in an array; returns the array, NULL when memory is short. */
static void *rows_grow(void *rows, int count, int *capacity, size_t row)
{
    if (count < *capacity)
        return rows;
    int wanted = *capacity ? 2 * *capacity : 4;
    void *grown = realloc(rows, (size_t)wanted * row);
    if (grown)
        *capacity = wanted;
    return grown;
}

static void keyval_release(struct sim_keyval *keyval)
{
    if (keyval && --keyval->references == 0)
        free(keyval);
}

/* Keeps a keyval while a function of the program's is called, which may free it, and which an
 * exception may leave. */
#define KEPT __attribute__((cleanup(kept_release))) struct sim_keyval *

static void kept_release(struct sim_keyval **kept)
{
    keyval_release(*kept);
}

int sim_keyvals_create(struct sim_keyvals *keyvals, const struct sim_keyval *model)
{
    struct sim_keyval **rows =
        rows_grow(keyvals->rows, keyvals->count, &keyvals->capacity, sizeof *rows);
    struct sim_keyval *keyval = rows ? malloc(sizeof *keyval) : NULL;
    if (rows)
        keyvals->rows = rows;
    if (!keyval)
        return MPI_KEYVAL_INVALID;
    *keyval = *model;
    keyval->number = KEYVAL_FIRST + keyvals->count;
    keyval->references = 1;
    rows[keyvals->count++] = keyval;
    return keyval->number;
}

static struct sim_keyval *row_of(const struct sim_keyvals *keyvals, enum sim_attribute_kind kind,
                                 int number)
{
    if (number < KEYVAL_FIRST || number - KEYVAL_FIRST >= keyvals->count)
        return NULL;
    struct sim_keyval *keyval = keyvals->rows[number - KEYVAL_FIRST];
    return keyval && keyval->kind == kind ? keyval : NULL;
}

struct sim_keyval *sim_keyvals_find(const struct sim_keyvals *keyvals, enum sim_attribute_kind kind,
                                    int number)
{
    struct sim_keyval *keyval = row_of(keyvals, kind, number);
    return keyval && !keyval->freed ? keyval : NULL;
}

bool sim_keyvals_free(struct sim_keyvals *keyvals, enum sim_attribute_kind kind, int number)
{
    struct sim_keyval *keyval = row_of(keyvals, kind, number);
    if (!keyval || keyval->freed)
        return keyval && keyval->references > 1;
    keyval->freed = true;
    if (keyval->references == 1) {
        keyvals->rows[number - KEYVAL_FIRST] = NULL;
        keyval_release(keyval);
    }
    return true;
}

void sim_keyvals_release(struct sim_keyvals *keyvals)
{
    for (int i = 0; i < keyvals->count; i++)
        keyval_release(keyvals->rows[i]);
    free(keyvals->rows);
    *keyvals = (struct sim_keyvals){0};
}

/* Index of the row for a keyval; -1: none. */
static int row_find(const struct sim_attributes *list, int number)
{
    for (int i = 0; i < list->count; i++)
        if (list->rows[i].keyval->number == number)
            return i;
    return -1;
}

static void row_remove(struct sim_attributes *list, int row)
{
    keyval_release(list->rows[row].keyval);
    list->count--;
    memmove(&list->rows[row], &list->rows[row + 1],
            (size_t)(list->count - row) * sizeof *list->rows);
}

bool sim_attributes_get(const struct sim_attributes *list, int number, void **value)
{
    int row = row_find(list, number);
    if (row < 0)
        return false;
    *value = list->rows[row].value;
    return true;
}

/* Calls the program's function for a value that goes away. */
static int value_deleted(const struct sim_keyval *keyval, void *handle, void *value)
{
    sim_attribute_function *function = keyval->delete_value;
    if (function == (sim_attribute_function *)MPI_COMM_NULL_DELETE_FN)
        return MPI_SUCCESS;
    switch (keyval->kind) {
    case SIM_ATTRIBUTE_COMM:
        return ((MPI_Comm_delete_attr_function *)function)(handle, keyval->number, value,
                                                           keyval->extra_state);
    case SIM_ATTRIBUTE_TYPE:
        return ((MPI_Type_delete_attr_function *)function)(handle, keyval->number, value,
                                                           keyval->extra_state);
    case SIM_ATTRIBUTE_WIN:
        break;
    }
    return ((MPI_Win_delete_attr_function *)function)(handle, keyval->number, value,
                                                      keyval->extra_state);
}

/* Asks the program's function what a duplicate gets; *wanted: it gets something. */
static int value_copied(const struct sim_attribute *row, void *handle, void **value, int *wanted)
{
    const struct sim_keyval *keyval = row->keyval;
    sim_attribute_function *function = keyval->copy;
    *value = row->value;
    *wanted = function == (sim_attribute_function *)MPI_COMM_DUP_FN;
    if (*wanted || function == (sim_attribute_function *)MPI_COMM_NULL_COPY_FN)
        return MPI_SUCCESS;
    switch (keyval->kind) {
    case SIM_ATTRIBUTE_COMM:
        return ((MPI_Comm_copy_attr_function *)function)(
            handle, keyval->number, keyval->extra_state, row->value, value, wanted);
    case SIM_ATTRIBUTE_TYPE:
        return ((MPI_Type_copy_attr_function *)function)(
            handle, keyval->number, keyval->extra_state, row->value, value, wanted);
    case SIM_ATTRIBUTE_WIN:
        break;
    }
    return ((MPI_Win_copy_attr_function *)function)(handle, keyval->number, keyval->extra_state,
                                                    row->value, value, wanted);
}

static int row_add(struct sim_attributes *list, struct sim_keyval *keyval, void *value)
{
    struct sim_attribute *rows = rows_grow(list->rows, list->count, &list->capacity, sizeof *rows);
    if (!rows)
        return MPI_ERR_NO_MEM;
    list->rows = rows;
    keyval->references++;
    rows[list->count++] = (struct sim_attribute){keyval, value};
    return MPI_SUCCESS;
}

int sim_attributes_delete(struct sim_attributes *list, int number, void *handle)
{
    int row = row_find(list, number);
    if (row < 0)
        return MPI_SUCCESS;
    struct sim_attribute old = list->rows[row];
    old.keyval->references++;
    KEPT kept = old.keyval;
    int error = value_deleted(kept, handle, old.value);
    row = row_find(list, number);
    if (error == MPI_SUCCESS && row >= 0)
        row_remove(list, row);
    return error;
}

int sim_attributes_set(struct sim_attributes *list, struct sim_keyval *keyval, void *handle,
                       void *value)
{
    keyval->references++;
    KEPT kept = keyval;
    int error = sim_attributes_delete(list, kept->number, handle);
    return error == MPI_SUCCESS ? row_add(list, kept, value) : error;
}

int sim_attributes_clear(struct sim_attributes *list, void *handle)
{
    int error = MPI_SUCCESS;
    while (error == MPI_SUCCESS && list->count > 0)
        error = sim_attributes_delete(list, list->rows[list->count - 1].keyval->number, handle);
    return error;
}

int sim_attributes_copy(const struct sim_attributes *original, void *original_handle,
                        struct sim_attributes *duplicate)
{
    int error = MPI_SUCCESS;
    for (int i = 0; error == MPI_SUCCESS && i < original->count; i++) {
        struct sim_attribute row = original->rows[i];
        void *value;
        int wanted;
        row.keyval->references++;
        KEPT kept = row.keyval;
        error = value_copied(&row, original_handle, &value, &wanted);
        if (error == MPI_SUCCESS && wanted)
            error = row_add(duplicate, kept, value);
    }
    return error;
}

void sim_attributes_release(struct sim_attributes *list)
{
    while (list->count > 0)
        row_remove(list, list->count - 1);
    free(list->rows);
    *list = (struct sim_attributes){0};
}
