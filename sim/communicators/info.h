/* info.h: an ordered list of (key, value) strings.
 *
 * Keys are unique, compared as they are, and keep the order in which they were first set. An info
 * object belongs to the rank that made it; it is not locked.
 */
#ifndef SIM_COMMUNICATORS_INFO_H
#define SIM_COMMUNICATORS_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include <mpi.h>

struct sim_info_entry {
    char *key;
    char *value;
};

struct sim_info {
    uint32_t magic;
    int count;
    int capacity;
    struct sim_info_entry *entries;
};

/* An empty object; NULL: out of memory. */
struct sim_info *sim_info_new(void);
/* NULL is ignored. */
void sim_info_free(struct sim_info *info);
/* A copy; NULL when `info` is NULL or memory is short. */
struct sim_info *sim_info_copy(const struct sim_info *info);

/* Adds or replaces; false, and nothing changed, when memory is short. Both strings are copied. */
bool sim_info_set(struct sim_info *info, const char *key, const char *value);
/* The value, which lives until the key is set or deleted; NULL: no such key (or `info` is NULL). */
const char *sim_info_get(const struct sim_info *info, const char *key);
/* Whether the key has this value. */
bool sim_info_says(const struct sim_info *info, const char *key, const char *value);
/* False: no such key. */
bool sim_info_delete(struct sim_info *info, const char *key);

/* Sets the keys the standard reserves for MPI_INFO_ENV as far as they are known: command and argv
 * (from `argv`, may be NULL), maxprocs, arch, host, wdir. False when memory is short. */
bool sim_info_set_environment(struct sim_info *info, int argc, char *const argv[]);

/* The object behind a handle; NULL for predefined handles and what is no info object. */
struct sim_info *sim_info_from_handle(MPI_Info handle);
/* True for MPI_INFO_NULL, MPI_INFO_ENV and every live object: what an `info` argument may be. */
bool sim_info_handle_valid(MPI_Info handle);
/* Raises the error on `comm` where it may not. */
int sim_info_check(MPI_Comm comm, MPI_Info info, const char *function);
struct sim_comm;
/* Takes note of what the program promises by the hints that a communicator has now. */
void sim_comm_hints(struct sim_comm *comm);
/* Tells coverage which hints among these promise what nobody holds against the program. */
void sim_comm_hints_told(MPI_Info info);

#endif
