/* Waits and tests on one handle of several, on some, and on all. */
#include "collectives/operations/message.h"
#include "collectives/operations/message_internal.h"

/* Who is told so waits for the handle before the call returns. */
static void completed(struct diff_request *request, const MPI_Status *status)
{
    if (!request->complete && request->arrived)
        request->arrived(request, status);
    request->complete = true;
}

static MPI_Request *requests_of(size_t count, struct diff_tensor *const *handles)
{
    struct diff_tape *tape = handles[0]->tape;
    MPI_Request *requests = arena_take(&tape->arena, (count + 1) * sizeof *requests);
    for (size_t i = 0; i < count; i++) {
        if (handles[i]->type != DIFF_HANDLE)
            state_fail(tape->state, "M009", "a wait on a %s tensor",
                       diff_type_name(handles[i]->type));
        requests[i] = handles[i]->used ? MPI_REQUEST_NULL : *handles[i]->request->at;
    }
    return requests;
}

static void requests_return(size_t count, struct diff_tensor *const *handles,
                            const MPI_Request *requests)
{
    for (size_t i = 0; i < count; i++)
        if (!handles[i]->used)
            *handles[i]->request->at = requests[i];
}

static void all_take(size_t count, struct diff_tensor *const *handles, const MPI_Status *statuses,
                     struct diff_tensor **results)
{
    for (size_t i = 0; i < count; i++)
        completed(handles[i]->request, &statuses[i]);
    for (size_t i = 0; i < count; i++) {
        struct diff_tensor *result = message_wait(handles[i]);
        if (results)
            results[i] = result;
    }
}

void diff_waitall(size_t count, struct diff_tensor *const *handles, struct diff_tensor **results)
{
    if (count == 0)
        return;
    struct diff_tape *tape = handles[0]->tape;
    ENTER(tape->state);
    MPI_Request *requests = requests_of(count, handles);
    MPI_Status *statuses = arena_take(&tape->arena, (count + 1) * sizeof *statuses);
    MPI_Waitall((int)count, requests, statuses);
    requests_return(count, handles, requests);
    all_take(count, handles, statuses, results);
    state_leave(tape->state);
}

struct diff_tensor *diff_waitany(size_t count, struct diff_tensor *const *handles, size_t *index)
{
    *index = SIZE_MAX;
    if (count == 0)
        return NULL;
    struct diff_tape *tape = handles[0]->tape;
    ENTER(tape->state);
    int chosen = MPI_UNDEFINED;
    MPI_Status status;
    MPI_Request *requests = requests_of(count, handles);
    MPI_Waitany((int)count, requests, &chosen, &status);
    requests_return(count, handles, requests);
    for (size_t i = 0; i < count && chosen == MPI_UNDEFINED; i++)
        if (!handles[i]->used && *handles[i]->request->at != MPI_REQUEST_NULL) {
            /* MPICH 4.0 passes over a persistent request of nobody that was started. */
            MPI_Wait(handles[i]->request->at, &status);
            chosen = (int)i;
        }
    struct diff_tensor *result = NULL;
    if (chosen != MPI_UNDEFINED) {
        *index = (size_t)chosen;
        completed(handles[chosen]->request, &status);
        result = message_wait(handles[chosen]);
    }
    state_leave(tape->state);
    return result;
}

struct diff_tensor *diff_test(struct diff_tensor *handle)
{
    struct diff_state *state = handle->tape->state;
    ENTER(state);
    if (handle->type != DIFF_HANDLE || handle->used)
        request_take(handle, "diff_test"); /* ends the rank with the reason */
    struct diff_request *request = handle->request;
    int done = 0;
    MPI_Status status;
    MPI_Test(request->at, &done, &status);
    if (done)
        completed(request, &status);
    struct diff_tensor *result = done ? message_wait(handle) : NULL;
    state_leave(state);
    return result;
}

/* ---- some of several ---- */

typedef int some_function(int count, MPI_Request requests[], int *done, int indices[],
                          MPI_Status statuses[]);

static size_t some(size_t count, struct diff_tensor *const *handles, size_t *indices,
                   struct diff_tensor **results, some_function *function)
{
    struct arena *arena = &handles[0]->tape->arena;
    MPI_Request *requests = requests_of(count, handles);
    MPI_Status *statuses = arena_take(arena, (count + 1) * sizeof *statuses);
    int done = 0, *places = arena_take(arena, (count + 1) * sizeof *places);
    size_t found = 0;
    function((int)count, requests, &done, places, statuses);
    requests_return(count, handles, requests);
    for (int i = 0; i < done; i++) { /* MPI_UNDEFINED, which is negative: none is active */
        completed(handles[places[i]]->request, &statuses[i]);
        indices[found++] = (size_t)places[i];
    }
    for (size_t i = 0; i < found; i++) {
        struct diff_tensor *result = message_wait(handles[indices[i]]);
        if (results)
            results[i] = result;
    }
    return found;
}

size_t diff_waitsome(size_t count, struct diff_tensor *const *handles, size_t *indices,
                     struct diff_tensor **results)
{
    if (count == 0)
        return 0;
    ENTER(handles[0]->tape->state);
    size_t found = some(count, handles, indices, results, MPI_Waitsome);
    state_leave(handles[0]->tape->state);
    return found;
}

size_t diff_testsome(size_t count, struct diff_tensor *const *handles, size_t *indices,
                     struct diff_tensor **results)
{
    if (count == 0)
        return 0;
    ENTER(handles[0]->tape->state);
    size_t found = some(count, handles, indices, results, MPI_Testsome);
    state_leave(handles[0]->tape->state);
    return found;
}

bool diff_testall(size_t count, struct diff_tensor *const *handles, struct diff_tensor **results)
{
    if (count == 0)
        return true;
    struct diff_tape *tape = handles[0]->tape;
    ENTER(tape->state);
    MPI_Request *requests = requests_of(count, handles);
    MPI_Status *statuses = arena_take(&tape->arena, (count + 1) * sizeof *statuses);
    int done = 0;
    MPI_Testall((int)count, requests, &done, statuses);
    if (done) {
        requests_return(count, handles, requests);
        all_take(count, handles, statuses, results);
    }
    state_leave(tape->state);
    return done;
}
