/* attributes.h: what programs hang on communicators, datatypes and windows.
 *
 * Two objects. A *keyval* is a rank's key with its copy and delete functions; keyvals of a rank are
 * in one table, each with a number that is never used again. An *attribute list* belongs to one
 * rank's view of one object and holds values by keyval.
 *
 * Rules:
 *   1. A keyval that was freed lives on, unfindable by number, while attributes use it.
 *   2. Replacing a value deletes the old one first. Clearing deletes in the reverse order of
 *      setting. Copying goes in the order of setting.
 *   3. A program's function may call MPI and so come back to the same list: no list is walked
 *      across such a call without looking again.
 *   4. An error code a program's function returns stops the work and is returned; what was already
 *      done stays done.
 *   5. Whoever looks at lists or tables that threads of a rank share holds the rank's lock
 *      (worlds/rank_lock.h).
 *
 * All state hangs off the two structs; zeroed memory is a valid empty table or list.
 */
#ifndef SIM_BASE_ATTRIBUTES_H
#define SIM_BASE_ATTRIBUTES_H

#include <stdbool.h>

#include <mpi.h>

enum sim_attribute_kind { SIM_ATTRIBUTE_COMM, SIM_ATTRIBUTE_TYPE, SIM_ATTRIBUTE_WIN };

/* Any of the MPI_*_copy_attr_function or MPI_*_delete_attr_function, chosen by the kind. */
typedef void sim_attribute_function(void);

struct sim_keyval {
    int number;
    int references;
    enum sim_attribute_kind kind;
    sim_attribute_function *copy; /* or one of the predefined MPI_*_NULL_COPY_FN, MPI_*_DUP_FN */
    sim_attribute_function *delete_value;
    void *extra_state;
    bool freed; /* by the program: stays while attributes have it */
};

struct sim_keyvals {
    struct sim_keyval **rows; /* NULL where nothing is left of it */
    int count;
    int capacity;
};

struct sim_attribute {
    struct sim_keyval *keyval;
    void *value;
};

struct sim_attributes {
    struct sim_attribute *rows;
    int count;
    int capacity;
};

/* A new keyval like `model` (its number and references are ignored); returns its number, or
 * MPI_KEYVAL_INVALID when memory is short. */
int sim_keyvals_create(struct sim_keyvals *keyvals, const struct sim_keyval *model);
/* NULL: no keyval of this kind has this number. */
struct sim_keyval *sim_keyvals_find(const struct sim_keyvals *keyvals, enum sim_attribute_kind kind,
                                    int number);
/* False: there is none. One that attributes have may be freed again, by a copy of its number. */
bool sim_keyvals_free(struct sim_keyvals *keyvals, enum sim_attribute_kind kind, int number);
/* Frees the table; keyvals still used by attribute lists stay until those are released. */
void sim_keyvals_release(struct sim_keyvals *keyvals);

/* False: the list has no value for this keyval. */
bool sim_attributes_get(const struct sim_attributes *list, int number, void **value);
/* These return MPI_SUCCESS, MPI_ERR_NO_MEM, or what a program's function returned. `handle` is the
 * object's handle, as those functions get it. Deleting what is not there succeeds. */
int sim_attributes_set(struct sim_attributes *list, struct sim_keyval *keyval, void *handle,
                       void *value);
int sim_attributes_delete(struct sim_attributes *list, int number, void *handle);
/* Deletes all values; to be called when the object is freed. */
int sim_attributes_clear(struct sim_attributes *list, void *handle);
/* Fills the list of a duplicate, which is empty, from the original's. */
int sim_attributes_copy(const struct sim_attributes *original, void *original_handle,
                        struct sim_attributes *duplicate);
/* Frees the list without calling any program's function. */
void sim_attributes_release(struct sim_attributes *list);

#endif
