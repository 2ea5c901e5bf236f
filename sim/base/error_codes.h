/* Error classes and codes that a rank adds to the standard's. Zeroed memory is an empty table.
 *
 * Numbers go up from MPI_ERR_LASTCODE + 1 and are never used again, so that a removed one is told
 * from a live one. */
#ifndef SIM_BASE_ERROR_CODES_H
#define SIM_BASE_ERROR_CODES_H

struct sim_error_row {
    int class; /* its own number for a class; 0 when removed */
    char *text;
};

struct sim_error_codes {
    struct sim_error_row *rows;
    int count, room;
    int last; /* MPI_LASTUSEDCODE; 0: nothing was ever added */
};

/* A live row; NULL: none has this number. */
struct sim_error_row *sim_error_codes_find(const struct sim_error_codes *codes, int code);
/* Adds a row and returns its number; `class` 0 makes it a class of its own. */
int sim_error_codes_add(struct sim_error_codes *codes, int class);
void sim_error_codes_release(struct sim_error_codes *codes);

#endif
