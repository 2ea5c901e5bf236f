/* Buffered sends against a model of the attached buffer: random sequences of attaching, sends in all
 * three forms, receives, flushes and detaching, of each rank with itself. What MPI's own sum (the bytes
 * and MPI_BSEND_OVERHEAD for each message) has room for is sent; what no implementation has room for is
 * refused and changes nothing. */
#include "tests/dice.h"
#include "tests/world_harness.h"

enum { MOST = 40, ROOM = 20000, LEAST_BESIDE = 128 };

struct model {
    bool attached, automatic;
    size_t size, bytes;
    int lengths[MOST], first, count; /* messages on their way, the oldest first */
    int within;                      /* those of them that are not empty */
};

static char room[2][ROOM]; /* written by nobody: what lies in it is the machine's own affair */

static bool must_fit(const struct model *model, int bytes)
{
    size_t all = model->bytes + (size_t)bytes + ((size_t)model->within + 1) * MPI_BSEND_OVERHEAD;
    return model->automatic || (model->attached && all <= model->size);
}

/* Empty messages take no room in Open MPI; whether they find some is not asked. */
static bool cannot_fit(const struct model *model, int bytes)
{
    size_t within = (size_t)model->within;
    size_t all = model->bytes + (size_t)bytes + (within + 1) * LEAST_BESIDE;
    bool full = within && model->bytes + within * MPI_BSEND_OVERHEAD == model->size;
    return !model->automatic && (!model->attached || (bytes && (all > model->size || full)));
}

static int send_by(int form, const char *values, int bytes, int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int error;
    if (form == 0)
        return MPI_Bsend(values, bytes, MPI_CHAR, 0, tag, MPI_COMM_SELF);
    if (form == 1) {
        error = MPI_Ibsend(values, bytes, MPI_CHAR, 0, tag, MPI_COMM_SELF, &request);
        return error ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    expect_ok(MPI_Bsend_init(values, bytes, MPI_CHAR, 0, tag, MPI_COMM_SELF, &request));
    error = MPI_Start(&request);
    if (!error)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    return error;
}

static void bsend(struct model *model, int form, int bytes, int tag)
{
    static _Thread_local char values[ROOM];
    int class = MPI_SUCCESS;
    if (model->count == MOST)
        return;
    memset(values, 'a' + tag % 26, (size_t)bytes);
    bool due = must_fit(model, bytes), never = cannot_fit(model, bytes);
    MPI_Error_class(send_by(form, values, bytes, tag), &class);
    memset(values, 0, (size_t)bytes);
    expect(class == MPI_SUCCESS || class == MPI_ERR_BUFFER, "class %d", class);
    expect(!due || class == MPI_SUCCESS,
           "form %d: %d bytes beside %zu of %d messages in %zu: refused", form, bytes, model->bytes,
           model->count, model->size);
    expect(!never || class == MPI_ERR_BUFFER,
           "form %d: %d bytes beside %zu of %d messages in %zu: sent", form, bytes, model->bytes,
           model->count, model->size);
    if (class == MPI_SUCCESS) {
        model->lengths[(model->first + model->count++) % MOST] = bytes;
        model->bytes += (size_t)bytes;
        model->within += bytes > 0;
    }
}

static void receive(struct model *model, int tag_of_oldest)
{
    char *got = malloc(ROOM);
    MPI_Status status;
    int bytes = -1, due = model->lengths[model->first];
    if (model->count) {
        expect_ok(MPI_Recv(got, ROOM, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_SELF, &status));
        MPI_Get_count(&status, MPI_CHAR, &bytes);
        expect(bytes == due, "%d bytes, not %d", bytes, due);
        for (int i = 0; i < bytes; i++)
            expect(got[i] == 'a' + status.MPI_TAG % 26, "byte %d of message %d", i, status.MPI_TAG);
        expect(status.MPI_TAG >= tag_of_oldest, "message %d is an old one", status.MPI_TAG);
        model->first = (model->first + 1) % MOST;
        model->count--;
        model->bytes -= (size_t)due;
        model->within -= due > 0;
    }
    free(got);
}

static void attach(struct model *model, uint64_t *dice)
{
    int size = (int)dice_below(dice, 6) * (MPI_BSEND_OVERHEAD + 40) + (int)dice_below(dice, 2);
    bool wide = dice_below(dice, 2), automatic = dice_below(dice, 8) == 0;
    void *buffer = automatic ? MPI_BUFFER_AUTOMATIC : room[0];
    int error = wide ? MPI_Buffer_attach_c(buffer, size) : MPI_Buffer_attach(buffer, size);
    int class = -1;
    MPI_Error_class(error, &class);
    expect(class == (model->attached ? MPI_ERR_BUFFER : MPI_SUCCESS), "attaching gave class %d",
           class);
    if (!model->attached)
        *model = (struct model){.attached = true, .automatic = automatic, .size = (size_t)size};
}

static void detach(struct model *model, bool wide)
{
    void *back = NULL;
    int size = -1, class = -1;
    MPI_Count wide_size = -1;
    if (model->count)
        return; /* it would wait for ever */
    MPI_Error_class(wide ? MPI_Buffer_detach_c(&back, &wide_size) : MPI_Buffer_detach(&back, &size),
                    &class);
    expect(class == (model->attached ? MPI_SUCCESS : MPI_ERR_BUFFER), "detaching gave class %d",
           class);
    if (model->attached)
        expect(back == (model->automatic ? MPI_BUFFER_AUTOMATIC : (void *)room[0]) &&
                   (wide ? wide_size : size) == (MPI_Count)model->size,
               "detached %d of %zu bytes", size, model->size);
    *model = (struct model){0};
}

static void the_buffer_holds_what_the_model_says(int rank, int size)
{
    uint64_t dice = 31 + (uint64_t)rank;
    struct model model = {0};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    (void)size;
    for (int i = 0; i < 400; i++) {
        uint32_t what = dice_below(&dice, 20);
        if (what < 8) {
            int form = (int)dice_below(&dice, 3);
            bsend(&model, form, (int)dice_below(&dice, 3) * 40, i);
        } else if (what < 11) { /* as much as there is room for, or one byte more */
            size_t taken = model.bytes + ((size_t)model.within + 1) * MPI_BSEND_OVERHEAD;
            if (model.attached && taken <= model.size)
                bsend(&model, 0, (int)(model.size - taken) + (what == 10), i);
        } else if (what < 15)
            receive(&model, i - MOST * 20);
        else if (what < 17)
            attach(&model, &dice);
        else if (what < 19)
            detach(&model, what == 17);
        else if (!model.count)
            expect_ok(MPI_Buffer_flush());
    }
    while (model.count)
        receive(&model, 0);
    detach(&model, false);
}

static int received; /* by rank 1, in this world */

static void flushing_waits_for_who_receives(int rank, int size)
{
    int value = 5, back_size;
    char *buffer = malloc(2000), *back;
    (void)size;
    for (int detaches = 0; detaches < 2; detaches++) {
        __atomic_store_n(&received, 0, __ATOMIC_SEQ_CST);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            expect_ok(MPI_Buffer_attach(buffer, 2000));
            expect_ok(MPI_Bsend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
            expect_ok(MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD));
            if (!detaches) {
                expect_ok(MPI_Buffer_flush());
                expect(__atomic_load_n(&received, __ATOMIC_SEQ_CST),
                       "flushed before it was received");
            }
            expect_ok(MPI_Buffer_detach(&back, &back_size));
            expect(__atomic_load_n(&received, __ATOMIC_SEQ_CST) && back == buffer &&
                       back_size == 2000,
                   "detached before it was received");
        } else if (rank == 1) {
            MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            __atomic_store_n(&received, 1, __ATOMIC_SEQ_CST);
            expect_ok(MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            expect(value == 5, "got %d", value);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(buffer);
}

static void what_cannot_be_attached_is_refused(int rank, int size)
{
    void *back = NULL;
    int room_back = -1;
    (void)rank, (void)size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect_class(MPI_Buffer_attach(room[1], -1), MPI_ERR_ARG);
    expect_class(MPI_Buffer_attach(NULL, 1), MPI_ERR_BUFFER);
    expect_class(MPI_Buffer_detach(&back, &room_back), MPI_ERR_BUFFER);
    expect_ok(MPI_Buffer_flush());
    expect_ok(MPI_Buffer_attach(NULL, 0));
    expect_class(MPI_Buffer_attach(room[1], ROOM), MPI_ERR_BUFFER);
    expect_ok(MPI_Buffer_detach(&back, &room_back));
    expect(!back && room_back == 0, "%d bytes back", room_back);
}

int main(void)
{
    world_test_sizes("the attached buffer holds what the model says",
                     the_buffer_holds_what_the_model_says, WORLD_ANY, WORLD_SIZES(1, 2));
    world_test_sizes("flushing and detaching wait for who receives",
                     flushing_waits_for_who_receives, WORLD_BUFFERS, WORLD_SIZES(2));
    world_test_sizes("what cannot be attached is refused", what_cannot_be_attached_is_refused,
                     WORLD_ANY, WORLD_SIZES(1, 2));
    return tap_done();
}
