/* What an error leads to: each way to raise one, under each error handler, for each class of the standard, against the sentences of
 * error.h as a table; classes against their names in mpi.h; error handlers as objects. */
#include "recorder/recording.h"
#include "sim/worlds/error.h"
#include "sim/worlds/world.h"
#include "tests/tap.h"

#include <mpi.h>
#include <stdlib.h>

/* Every class of MPI 4.1 without files, of MPI's fault tolerance; those that say what a program lives with or asks for are expected. */
#define CLASSES(X)                                                                                 \
    X(SUCCESS, 0)                                                                                  \
    X(ERR_BUFFER, 0)                                                                               \
    X(ERR_COUNT, 0)                                                                                \
    X(ERR_TYPE, 0)                                                                                 \
    X(ERR_TAG, 0)                                                                                  \
    X(ERR_COMM, 0)                                                                                 \
    X(ERR_RANK, 0)                                                                                 \
    X(ERR_REQUEST, 0)                                                                              \
    X(ERR_ROOT, 0)                                                                                 \
    X(ERR_GROUP, 0)                                                                                \
    X(ERR_OP, 0)                                                                                   \
    X(ERR_TOPOLOGY, 0)                                                                             \
    X(ERR_DIMS, 0)                                                                                 \
    X(ERR_ARG, 0)                                                                                  \
    X(ERR_UNKNOWN, 0)                                                                              \
    X(ERR_TRUNCATE, 0)                                                                             \
    X(ERR_OTHER, 0)                                                                                \
    X(ERR_INTERN, 0)                                                                               \
    X(ERR_PENDING, 1)                                                                              \
    X(ERR_IN_STATUS, 1)                                                                            \
    X(ERR_ACCESS, 0)                                                                               \
    X(ERR_ASSERT, 0)                                                                               \
    X(ERR_BASE, 0)                                                                                 \
    X(ERR_DISP, 0)                                                                                 \
    X(ERR_INFO, 0)                                                                                 \
    X(ERR_INFO_KEY, 0)                                                                             \
    X(ERR_INFO_NOKEY, 1)                                                                           \
    X(ERR_INFO_VALUE, 0)                                                                           \
    X(ERR_KEYVAL, 0)                                                                               \
    X(ERR_LOCKTYPE, 0)                                                                             \
    X(ERR_NAME, 1)                                                                                 \
    X(ERR_NO_MEM, 1)                                                                               \
    X(ERR_NOT_SAME, 0)                                                                             \
    X(ERR_RMA_CONFLICT, 0)                                                                         \
    X(ERR_RMA_RANGE, 0)                                                                            \
    X(ERR_RMA_SYNC, 0)                                                                             \
    X(ERR_SIZE, 0)                                                                                 \
    X(ERR_UNSUPPORTED_OPERATION, 1)                                                                \
    X(ERR_WIN, 0)                                                                                  \
    X(ERR_PROC_ABORTED, 0)                                                                         \
    X(ERR_VALUE_TOO_LARGE, 0)                                                                      \
    X(ERR_SESSION, 0)                                                                              \
    X(ERR_ERRHANDLER, 0)                                                                           \
    X(ERR_PROC_FAILED, 1)                                                                          \
    X(ERR_PROC_FAILED_PENDING, 1)                                                                  \
    X(ERR_REVOKED, 1)

static const struct {
    int class;
    const char *name;
    bool expected; /* by programs: no finding where it comes back */
} classes[] = {
#define X(name, expected) {MPI_##name, "MPI_" #name, expected},
    CLASSES(X)
#undef X
};
enum { CLASS_COUNT = sizeof classes / sizeof *classes };

/* ---- classes ---- */

static void test_classes(void)
{
    int wrong = 0;
    for (int i = 0; i < CLASS_COUNT; i++) {
        const char *meaning = sim_error_meaning(classes[i].class);
        size_t length = strlen(classes[i].name);
        wrong += strcmp(sim_error_name(classes[i].class), classes[i].name) != 0;
        wrong += strncmp(meaning, classes[i].name, length) != 0 ||
                 strncmp(meaning + length, ": ", 2) != 0 || strlen(meaning) < length + 8;
        for (int k = 0; k < i; k++)
            wrong += !strcmp(meaning, sim_error_meaning(classes[k].class)) ||
                     classes[i].class == classes[k].class;
    }
    tap_ok(!wrong, "every class has its name, and a meaning of its own behind it");
    tap_is_str(sim_error_name(1 << 20), "MPI_ERR_?", "a class of nobody has no name");
    tap_is_str(sim_error_meaning(1 << 20), "an error class of the program",
               "... and means what the program says");
}

/* The standard's classes, by the list of its values (tests/data): each has its own name. */
static void test_standard_classes(void)
{
    FILE *list = fopen("tests/data/mpi-abi-values.tsv", "r");
    char line[200], name[64];
    long value;
    int seen = 0, wrong = 0;
    while (list && fgets(line, sizeof line, list)) {
        bool row = sscanf(line, "%63s %ld", name, &value) == 2;
        bool class = !strncmp(name, "MPI_ERR_", 8) || !strncmp(name, "MPI_T_ERR_", 10);
        if (!row || !class || value == MPI_ERR_LASTCODE)
            continue;
        seen++;
        wrong += strcmp(sim_error_name((int)value), name) != 0;
        wrong += strncmp(sim_error_meaning((int)value), name, strlen(name)) != 0;
    }
    if (list)
        fclose(list);
    tap_ok(seen > 75 && !wrong, "%d classes of the standard have their names", seen);
}

/* ---- raising ---- */

enum way { PLAINLY, OVERLAPS, MISMATCHES, CALLBACK, CALLED, WAYS };
enum handler { FATAL, ABORT, RETURNS, OWN, HANDLERS };

/* The codes of findings by error.h: where the run ends by it, and where the error comes back. */
static const char *expected_code(enum way way, enum handler handler, int class, bool expected)
{
    bool comes_back = handler == RETURNS || handler == OWN;
    switch (way) {
    case PLAINLY:
        return comes_back && expected ? "" : class == MPI_ERR_TRUNCATE ? "M007" : "M009";
    case OVERLAPS:
        return "B002";
    case MISMATCHES:
        return "";
    case CALLBACK:
        return comes_back ? "" : "M009";
    default:
        return comes_back ? "" : "X002";
    }
}

static struct {
    enum way way;
    enum handler handler;
    int first, last; /* of `classes` */
    int returned[CLASS_COUNT];
    int calls, told, depth, depth_most;
    MPI_Comm told_comm, comm;
    char told_text[100];
    struct recording *recording;
} now;

static int raise_it(int class)
{
    switch (now.way) {
    case PLAINLY:
        return sim_error_raise(now.comm, class, "Send", "number %d is %s", class, "wrong");
    case OVERLAPS:
        return sim_error_raise_overlap(now.comm, "Send");
    case MISMATCHES:
        return sim_error_raise_mismatch(now.comm, class, "Send", "no fit");
    case CALLBACK:
        return sim_error_raise_callback(now.comm, class, "Send", "no luck");
    default:
        return sim_error_called(now.comm, class, "Send");
    }
}

static void handle(MPI_Comm *comm, int *class, ...)
{
    now.calls++;
    now.told = *class;
    now.told_comm = *comm;
    *class = 0; /* is the handler's own */
    if (++now.depth <= now.depth_most)
        raise_it(MPI_ERR_ARG);
    now.depth--;
}

static int play(void *context, int rank)
{
    MPI_Errhandler own;
    (void)context;
    if (rank)
        return 0;
    recording_rank_begin(now.recording);
    MPI_Init(NULL, NULL);
    now.comm = MPI_COMM_SELF;
    MPI_Comm_create_errhandler(handle, &own);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, now.handler == FATAL   ? MPI_ERRORS_ARE_FATAL
                                           : now.handler == ABORT ? MPI_ERRORS_ABORT
                                           : now.handler == OWN   ? own
                                                                  : MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&own);
    for (int i = now.first; i < now.last; i++)
        now.returned[i] = raise_it(classes[i].class);
    MPI_Finalize();
    return 0;
}

/* What it says of them. NULL: no memory. */
static struct trace *run(enum trace_outcome *outcome, int *exit_code)
{
    struct failure failure = {0};
    struct sim_world_options options;
    struct recording_result result = {.program = "test", .model = "eager"};
    sim_world_options_init(&options);
    options.ranks = 1;
    now.calls = now.depth = 0;
    now.recording = recording_new(1, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(&options, &failure);
    *outcome = sim_world_run(world, play, NULL);
    *exit_code = sim_world_exit_code(world, 0);
    recording_rank_end(now.recording, 0, sim_world_rank_state(world, 0), *exit_code, NULL);
    sim_world_free(world);
    struct trace *trace = recording_load(now.recording, &result, &failure);
    recording_free(now.recording);
    return trace;
}

static int class_of(int i)
{
    return now.way == OVERLAPS ? MPI_ERR_BUFFER : classes[i].class;
}

/* Each class comes back, and leaves the finding that it should. */
static bool comes_back(const struct trace *trace)
{
    size_t note = 0;
    for (int i = now.first; i < CLASS_COUNT; i++) {
        const char *code = expected_code(now.way, now.handler, class_of(i), classes[i].expected);
        char begin[60];
        snprintf(begin, sizeof begin, "MPI_Send: %s: ", sim_error_name(class_of(i)));
        if (now.returned[i] != class_of(i))
            return false;
        if (!*code)
            continue;
        if (note == trace->note_count || strcmp(trace->notes[note].code, code) ||
            strncmp(trace->notes[note].text, begin, strlen(begin)))
            return false;
        note++;
    }
    return note == trace->note_count;
}

static void test_raising(void)
{
    static const char *const ways[] = {"an error", "an overlap", "a mismatch", "a callback's error",
                                       "a call of the handler"};
    static const char *const handlers[] = {"MPI_ERRORS_ARE_FATAL", "MPI_ERRORS_ABORT",
                                           "MPI_ERRORS_RETURN", "a handler of the program"};
    static const int some[] = {MPI_ERR_ARG, MPI_ERR_TRUNCATE, MPI_ERR_NO_MEM, MPI_ERR_PROC_FAILED};
    enum trace_outcome outcome;
    int exit_code;
    for (int way = 0; way < WAYS; way++)
        for (int handler = 0; handler < HANDLERS; handler++) {
            bool right = true;
            now.way = (enum way)way;
            now.handler = (enum handler)handler;
            now.depth_most = 0;
            now.first = 1; /* success is no error */
            now.last = CLASS_COUNT;
            if (handler == RETURNS || handler == OWN) {
                struct trace *trace = run(&outcome, &exit_code);
                right = trace && outcome == OUTCOME_FINISHED && comes_back(trace) &&
                        now.calls == (handler == OWN ? CLASS_COUNT - 1 : 0);
                right &= handler != OWN ||
                         (now.told == class_of(CLASS_COUNT - 1) && now.told_comm == MPI_COMM_SELF);
                trace_free(trace);
            }
            for (size_t k = 0; handler < RETURNS && k < sizeof some / sizeof *some; k++) {
                while (classes[now.first].class != some[k])
                    now.first = (now.first + 1) % CLASS_COUNT;
                now.last = now.first + 1;
                int class = class_of(now.first);
                struct trace *trace = run(&outcome, &exit_code);
                const char *code =
                    expected_code(now.way, now.handler, class, classes[now.first].expected);
                right &= trace && outcome == OUTCOME_ABORTED && exit_code == class &&
                         trace->note_count == (*code != '\0') &&
                         (!*code || !strcmp(trace->notes[0].code, code));
                trace_free(trace);
            }
            tap_ok(right, "%s, with %s", ways[way], handlers[handler]);
        }
}

/* A handler may call what fails again, but not for ever. */
static void test_depth(void)
{
    static const int depths[] = {1, 30, 64, 100000};
    enum trace_outcome outcome;
    int exit_code;
    now.way = PLAINLY;
    now.handler = OWN;
    now.first = 1;
    now.last = 2;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        now.depth_most = depths[i];
        trace_free(run(&outcome, &exit_code));
        bool ends = depths[i] == 100000;
        tap_ok(outcome == (ends ? OUTCOME_ABORTED : OUTCOME_FINISHED) &&
                   (ends || now.calls == depths[i] + 1),
               "a handler within a handler, %d deep, %s", depths[i],
               ends ? "ends the run" : "comes back");
    }
}

static void test_outside(void)
{
    tap_is_int(sim_error_raise(MPI_COMM_SELF, MPI_ERR_TAG, "Send", "nobody calls"), MPI_ERR_TAG,
               "who is no rank gets the class");
    tap_is_int(sim_error_comm_check(MPI_COMM_NULL, "Send"), MPI_ERR_COMM,
               "... and no communicator is none");
    tap_is_int(sim_error_comm_check(MPI_COMM_SELF, "Send"), MPI_SUCCESS,
               "... and others are not looked at");
}

/* ---- handlers ---- */

static void test_handlers(void)
{
    static const struct {
        enum sim_errhandler_kind kind;
        const char *maker;
    } kinds[] = {{SIM_ERRHANDLER_COMM, "MPI_Comm_create_errhandler"},
                 {SIM_ERRHANDLER_WIN, "MPI_Win_create_errhandler"}};
    static const MPI_Errhandler given[] = {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT,
                                           MPI_ERRORS_RETURN};
    int unused = 0;
    for (size_t i = 0; i < 3; i++)
        tap_ok(sim_errhandler_valid(given[i]) && !sim_errhandler_made(given[i]) &&
                   !sim_errhandler_unfit(given[i], SIM_ERRHANDLER_COMM) &&
                   !sim_errhandler_unfit(given[i], SIM_ERRHANDLER_WIN) &&
                   !sim_errhandler_unfit(given[i], SIM_ERRHANDLER_SESSION),
               "handler %zu of the standard fits everything, and nobody made it", i);
    for (size_t i = 0; i < 2; i++) {
        MPI_Errhandler made = sim_errhandler_new(kinds[i].kind, handle);
        bool right = sim_errhandler_valid(made) && sim_errhandler_made(made);
        for (int kind = SIM_ERRHANDLER_ANY; kind <= SIM_ERRHANDLER_SESSION; kind++) {
            const char *why = sim_errhandler_unfit(made, (enum sim_errhandler_kind)kind);
            bool fits = kind == SIM_ERRHANDLER_ANY || kind == (int)kinds[i].kind;
            right &= fits ? !why : why && strstr(why, kinds[i].maker) != NULL;
        }
        tap_ok(right, "a handler made by %s fits what it was made for", kinds[i].maker);
        sim_errhandler_retain(made);
        sim_errhandler_release(made);
        tap_ok(sim_errhandler_made(made), "... and lives as long as somebody has it");
        sim_errhandler_release(made);
    }
    const char *none = sim_errhandler_unfit(MPI_ERRHANDLER_NULL, SIM_ERRHANDLER_ANY),
               *stray = sim_errhandler_unfit((MPI_Errhandler)(void *)&unused, SIM_ERRHANDLER_ANY);
    tap_is_str(none, "not a valid error handler", "no handler is none");
    tap_is_str(stray, "not a valid error handler", "nor is another address");
    tap_ok(!sim_errhandler_valid(MPI_ERRHANDLER_NULL) && !sim_errhandler_made(MPI_ERRHANDLER_NULL),
           "... and neither was made");
    sim_errhandler_retain(MPI_ERRORS_RETURN);
    sim_errhandler_release(MPI_ERRORS_RETURN);
    tap_ok(sim_errhandler_valid(MPI_ERRORS_RETURN), "the standard's own last");
}

int main(void)
{
    test_classes();
    test_standard_classes();
    test_raising();
    test_depth();
    test_outside();
    test_handlers();
    return tap_done();
}
