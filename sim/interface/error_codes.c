/* The calls on error classes, codes and strings: the standard's and those a rank adds. */
#include "sim/worlds/error.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/rank_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A live row of the calling rank; NULL: none has this number. */
static struct sim_error_row *find(int code)
{
    return sim_current_rank ? sim_error_codes_find(&sim_current_rank->error_codes, code) : NULL;
}

static int refuse(const char *function, int code, const char *why)
{
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, function, "%d is %s", code, why);
}

static bool is_class(int number)
{
    const struct sim_error_row *row = find(number);
    return row ? row->class == number : number >= 0 && number <= MPI_ERR_LASTCODE;
}

static bool is_code(int number)
{
    return find(number) || (number >= 0 && number <= MPI_ERR_LASTCODE);
}

int PMPI_Add_error_class(int *class)
{
    WITH_RANK_LOCK;
    if (!sim_current_rank)
        return MPI_ERR_OTHER;
    *class = sim_error_codes_add(&sim_current_rank->error_codes, 0);
    return MPI_SUCCESS;
}

int PMPI_Add_error_code(int class, int *code)
{
    WITH_RANK_LOCK;
    if (!sim_current_rank || !is_class(class))
        return refuse("Add_error_code", class, "not an error class");
    *code = sim_error_codes_add(&sim_current_rank->error_codes, class);
    return MPI_SUCCESS;
}

int PMPI_Add_error_string(int code, const char *string)
{
    WITH_RANK_LOCK;
    struct sim_error_row *row = find(code);
    if (!row)
        return refuse("Add_error_string", code, "not an error code the program has added");
    free(row->text);
    row->text = strndup(string, MPI_MAX_ERROR_STRING - 1);
    return MPI_SUCCESS;
}

int PMPI_Remove_error_class(int class)
{
    WITH_RANK_LOCK;
    struct sim_error_row *row = find(class);
    if (!row || row->class != class)
        return refuse("Remove_error_class", class, "not an error class the program has added");
    const struct sim_error_codes *codes = &sim_current_rank->error_codes;
    for (int i = 0; i < codes->count; i++)
        if (&codes->rows[i] != row && codes->rows[i].class == class)
            return refuse("Remove_error_class", class, "a class that still has error codes");
    row->class = 0;
    return MPI_SUCCESS;
}

int PMPI_Remove_error_code(int code)
{
    WITH_RANK_LOCK;
    struct sim_error_row *row = find(code);
    if (!row || row->class == code)
        return refuse("Remove_error_code", code, "not an error code the program has added");
    row->class = 0;
    return MPI_SUCCESS;
}

int PMPI_Remove_error_string(int code)
{
    WITH_RANK_LOCK;
    struct sim_error_row *row = find(code);
    if (!row || !row->text)
        return refuse("Remove_error_string", code, "not an error code with an added string");
    free(row->text);
    row->text = NULL;
    return MPI_SUCCESS;
}

/* A code of the standard is its own class. */
int PMPI_Error_class(int code, int *class)
{
    WITH_RANK_LOCK;
    if (!is_code(code))
        return refuse("Error_class", code, "not an error code");
    const struct sim_error_row *row = find(code);
    *class = row ? row->class : code;
    return MPI_SUCCESS;
}

int PMPI_Error_string(int code, char *string, int *length)
{
    WITH_RANK_LOCK;
    if (!is_code(code))
        return refuse("Error_string", code, "not an error code");
    const struct sim_error_row *row = find(code);
    const char *text = !row ? sim_error_meaning(code) : row->text ? row->text : "";
    snprintf(string, MPI_MAX_ERROR_STRING, "%s", text);
    *length = (int)strlen(string);
    return MPI_SUCCESS;
}
