/* Error classes and codes that a rank adds: see error_codes.h. */
#include "sim/base/error_codes.h"

#include <assert.h>
#include <mpi.h>
#include <stdlib.h>

struct sim_error_row *sim_error_codes_find(const struct sim_error_codes *codes, int code)
{
    int i = code - MPI_ERR_LASTCODE - 1;
    if (i < 0 || i >= codes->count)
        return NULL;
    struct sim_error_row *row = &codes->rows[i];
    return row->class ? row : NULL;
}

int sim_error_codes_add(struct sim_error_codes *codes, int class)
{
    if (codes->count == codes->room) {
        codes->room = codes->room ? codes->room * 2 : 8;
        codes->rows = realloc(codes->rows, (size_t)codes->room * sizeof *codes->rows);
        assert(codes->rows && "out of memory for an error code");
    }
    int number = MPI_ERR_LASTCODE + 1 + codes->count;
    codes->rows[codes->count++] = (struct sim_error_row){class ? class : number, NULL};
    codes->last = number;
    return number;
}

void sim_error_codes_release(struct sim_error_codes *codes)
{
    for (int i = 0; i < codes->count; i++)
        free(codes->rows[i].text);
    free(codes->rows);
    *codes = (struct sim_error_codes){0};
}
