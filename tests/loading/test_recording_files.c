/* Rank files: what a recording wrote, read back from files, whole and damaged. */
#include "tests/dice.h"
#include "tests/tap.h"

#include "recorder/recorder.h"
#include "recorder/recording.h"
#include "recorder/recording_internal.h"
#include "sim/worlds/world.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int body(void *context, int rank)
{
    double x = rank, sum;
    int size = MPIX_World_size(), ones[4] = {1, 1, 1, 1}, places[4] = {0, 1, 2, 3};
    double all[4];
    recording_rank_begin(context);
    MPI_Init(NULL, NULL);
    MPI_Request requests[2];
    uint32_t node = record_node("ring", OP_ISEND, 0, 0, NULL);
    record_node_enter(node);
    MPI_Irecv(&sum, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&x, 1, MPI_DOUBLE, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    record_node_leave(node);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, half);
    MPI_Allgatherv(&x, 1, MPI_DOUBLE, all, ones, places, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Comm_free(&half);
    record_note("G005", "a note");
    record_metric("m", 1, "u");
    MPI_Finalize();
    return 0;
}

static bool write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "w");
    bool done = file && fwrite(data, 1, size, file) == size;
    return file && fclose(file) == 0 && done;
}

/* Records a world of four and keeps the bytes of its buffers; the trace it gives for comparison. */
static struct trace *record(unsigned char **bytes, size_t *size)
{
    struct failure failure = {0};
    struct recording *recording = recording_new(4, RECORD_LEVEL_OPS, &failure);
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = 4;
    struct sim_world *world = sim_world_new(&options, &failure);
    sim_world_run(world, body, recording);
    sim_world_free(world);
    *size = atomic_load(&recording->buffers.header->next_unit) * BUFFERS_UNIT;
    *bytes = malloc(*size);
    memcpy(*bytes, recording->buffers.header, *size);
    struct recording_result result = {.outcome = OUTCOME_IMPORTED};
    struct trace *trace = recording_load(recording, &result, &failure);
    recording_free(recording);
    return trace;
}

/* As the copy of this program that long_paths runs: says where the first send is. */
static int say_site(void)
{
    unsigned char *bytes;
    size_t size;
    char text[PATH_MAX] = "";
    struct trace *trace = record(&bytes, &size);
    for (uint32_t i = 0; trace && i < trace->op_count && !text[0]; i++)
        if (trace->ops[i].kind == OP_ISEND)
            trace_site_text(trace, trace->ops[i].form->site, text, sizeof text);
    puts(text);
    trace_free(trace);
    free(bytes);
    return 0;
}

static void long_paths(void)
{
    char folder[] = "/tmp/simrun-long-XXXXXX", path[512], command[2048], line[PATH_MAX] = "";
    enum { NAME = 200 };
    if (!mkdtemp(folder))
        return;
    int used = snprintf(path, sizeof path, "%s/%0*d", folder, NAME, 0);
    if (mkdir(path, 0700) == 0)
        used += snprintf(path + used, sizeof path - (size_t)used, "/%0*d", NAME, 1);
    snprintf(command, sizeof command, "cp /proc/%ld/exe %s && %s site", (long)getpid(), path, path);
    FILE *copy = popen(command, "r");
    bool said = copy && fgets(line, sizeof line, copy);
    bool good = copy && pclose(copy) == 0 && said && strstr(line, "test_recording_files.c:");
    tap_ok(good, "call sites of a program with a path of %d bytes are known: %s", used, line);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0)
        tap_note("%s is left over", folder);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return say_site();
    unsigned char *bytes;
    size_t size;
    char path[64];
    struct failure failure = {0};
    snprintf(path, sizeof path, "/tmp/simrun-rank-%ld.simrec", (long)getpid());
    struct trace *trace = record(&bytes, &size);
    tap_ok(trace && write_file(path, bytes, size), "a recording is kept in a file");
    struct trace *again = recording_read(path, NULL, &failure);
    tap_ok(again && trace_hash(again) == trace_hash(trace),
           "it is recognised and gives the same trace: %s", failure.text);
    trace_free(again);
    tap_ok(write_file(path, bytes, size - 5000) && !recording_read(path, NULL, &failure) &&
               failure.code == FAILURE_INPUT && strstr(failure.text, "nothing of rank 2"),
           "a file that lacks ranks is refused, since all would seem to wait for them: %s",
           failure.text);
    tap_ok(write_file(path, bytes, 100) && !recording_read(path, NULL, &failure) &&
               failure.code == FAILURE_INPUT,
           "a file cut in its head is refused: %s", failure.text);
    unsigned state = 4711;
    int loaded = 0, refused = 0, odd = 0, asked = 0;
    unsigned char *damaged = malloc(size);
    for (int round = 0; round < 400; round++) {
        memcpy(damaged, bytes, size);
        for (int i = 0; i < 1 + round % 8; i++) {
            state = state * 1103515245 + 12345;
            size_t unit = (state >> 9) % 5,
                   at = sizeof(struct buffers_header) / BUFFERS_UNIT * BUFFERS_UNIT +
                        BUFFERS_UNIT * unit + (state >> 16) % 2048;
            damaged[at < size ? at : size - 1] = (unsigned char)(state >> 13);
        }
        if (!dice_takes((unsigned long long)round))
            continue;
        asked++;
        failure = (struct failure){0};
        again = write_file(path, damaged, size) ? recording_read(path, NULL, &failure) : NULL;
        loaded += again != NULL;
        refused += !again && failure.code == FAILURE_INPUT;
        odd += again && !trace_check(again, &failure);
        trace_free(again);
    }
    tap_is_int(loaded + refused, asked, "damaged files are read or refused as input");
    tap_is_int(odd, 0, "what is read keeps the rules of a trace");
    tap_ok((refused > 0 && loaded > 0) || dice_part().of > 1, "both happened (%d read, %d refused)",
           loaded, refused);
    free(damaged);
    free(bytes);
    long_paths();
    trace_free(trace);
    unlink(path);
    return tap_done();
}
