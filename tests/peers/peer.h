/* peer.h: a plain MPI program that says what it saw, one line per check.
 *
 * say() collects lines on every rank; told() prints them all on rank 0, in rank order, and ends the
 * program. The same program must print the same under simrun and under any other MPI: constants of
 * the library are therefore said by name, never as numbers. */
#ifndef TESTS_PEERS_PEER_H
#define TESTS_PEERS_PEER_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static struct {
    char *text;
    size_t length, room;
} transcript;

static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
    char line[512];
    va_list arguments;
    int used = snprintf(line, sizeof line, "= rank %d of %d: ", rank, size);
    va_start(arguments, format);
    used += vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    strcpy(line + used, "\n");
    size_t length = strlen(line);
    if (transcript.length + length + 1 > transcript.room) {
        transcript.room = 2 * transcript.room + length + 4096;
        transcript.text = realloc(transcript.text, transcript.room);
        if (!transcript.text)
            abort();
    }
    memcpy(transcript.text + transcript.length, line, length + 1);
    transcript.length += length;
}

static void begin(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static int told(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank)
        MPI_Send(transcript.text, (int)transcript.length, MPI_CHAR, 0, 999, MPI_COMM_WORLD);
    else
        fwrite(transcript.text, 1, transcript.length, stdout);
    for (int from = 1; rank == 0 && from < size; from++) {
        MPI_Status status;
        int length;
        MPI_Probe(from, 999, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &length);
        char *text = malloc((size_t)length + 1);
        if (!text)
            abort();
        MPI_Recv(text, length, MPI_CHAR, from, 999, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fwrite(text, 1, (size_t)length, stdout);
        free(text);
    }
    fflush(stdout);
    free(transcript.text);
    MPI_Finalize();
    return 0;
}

/* A list of numbers as text, for say(); good until the call after the next three. */
static const char *numbers(const int *values, int count)
{
    static char texts[4][400];
    static int turn;
    char *text = texts[turn++ % 4];
    int used = 0;
    text[0] = '\0';
    for (int i = 0; i < count && used < 380; i++)
        used += snprintf(text + used, 400 - (size_t)used, "%s%d", i ? " " : "", values[i]);
    return text;
}

static const char *peer_name(int number)
{
    static char texts[4][16];
    static int turn;
    if (number == MPI_PROC_NULL)
        return "nobody";
    if (number == MPI_ANY_SOURCE)
        return "anybody";
    char *text = texts[turn++ % 4];
    snprintf(text, 16, "%d", number);
    return text;
}

static const char *count_name(int number)
{
    static char texts[4][16];
    static int turn;
    if (number == MPI_UNDEFINED)
        return "undefined";
    char *text = texts[turn++ % 4];
    snprintf(text, 16, "%d", number);
    return text;
}

static const char *class_name(int code)
{
    static const struct {
        const char *name;
        int class;
    } classes[] = {{"success", MPI_SUCCESS},
                   {"buffer", MPI_ERR_BUFFER},
                   {"count", MPI_ERR_COUNT},
                   {"type", MPI_ERR_TYPE},
                   {"tag", MPI_ERR_TAG},
                   {"comm", MPI_ERR_COMM},
                   {"rank", MPI_ERR_RANK},
                   {"request", MPI_ERR_REQUEST},
                   {"root", MPI_ERR_ROOT},
                   {"group", MPI_ERR_GROUP},
                   {"op", MPI_ERR_OP},
                   {"topology", MPI_ERR_TOPOLOGY},
                   {"dims", MPI_ERR_DIMS},
                   {"arg", MPI_ERR_ARG},
                   {"truncate", MPI_ERR_TRUNCATE},
                   {"other", MPI_ERR_OTHER},
                   {"in status", MPI_ERR_IN_STATUS},
                   {"pending", MPI_ERR_PENDING}};
    int class = -1;
    MPI_Error_class(code, &class);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].class == class)
            return classes[i].name;
    return "another";
}

#endif
