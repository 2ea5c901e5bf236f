/* A program whose text is its arguments: `RANK:WORD` in the order of each rank, for pairs.pl. Words
 * are a letter and fields separated by commas: accesses TARGET,PLACE,SHAPE in ints, local ones
 * PLACE,SHAPE, shapes 1 (one int), 2 (two neighbours) and v (two with a gap). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 16, SLOTS = 64, ROOM = 4 };

static int origins[SLOTS][ROOM], results[SLOTS][ROOM], token = 7;
static float floats[SLOTS][ROOM];
static int *memory, last, sink;
static char last_kind;
static MPI_Win win;
static MPI_Request requests[SLOTS], pending_barrier = MPI_REQUEST_NULL;
static MPI_Datatype gap;

static MPI_Group group_of(const char *ranks)
{
    MPI_Group all, some;
    int list[SLOTS], count = 0;
    for (; *ranks; ranks++)
        list[count++] = *ranks - '0';
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, count, list, &some);
    MPI_Group_free(&all);
    return some;
}

static int remote(char kind, int target, int place, char shape, int slot)
{
    int *from = origins[slot], *to = results[slot], count = shape == '1' ? 1 : 2;
    MPI_Datatype there = shape == 'v' ? gap : MPI_INT;
    int there_count = shape == 'v' ? 1 : count;
    MPI_Request *request = &requests[slot];
    switch (kind) {
    case 'p':
        return MPI_Put(from, count, MPI_INT, target, place, there_count, there, win);
    case 'P':
        return MPI_Rput(from, count, MPI_INT, target, place, there_count, there, win, request);
    case 'g':
        return MPI_Get(to, count, MPI_INT, target, place, there_count, there, win);
    case 'G':
        return MPI_Rget(to, count, MPI_INT, target, place, there_count, there, win, request);
    case 'a':
        return MPI_Accumulate(from, count, MPI_INT, target, place, there_count, there, MPI_SUM,
                              win);
    case 'Q':
        return MPI_Raccumulate(from, count, MPI_INT, target, place, there_count, there, MPI_SUM,
                               win, request);
    case 'b':
        return MPI_Accumulate(from, count, MPI_INT, target, place, there_count, there, MPI_PROD,
                              win);
    case 'c':
        return MPI_Accumulate(from, count, MPI_INT, target, place, there_count, there, MPI_REPLACE,
                              win);
    case 'd':
        return MPI_Accumulate(floats[slot], 1, MPI_FLOAT, target, place, 1, MPI_FLOAT, MPI_SUM,
                              win);
    case 'n':
        return MPI_Get_accumulate(NULL, 0, MPI_INT, to, count, MPI_INT, target, place, there_count,
                                  there, MPI_NO_OP, win);
    case 'h':
        return MPI_Get_accumulate(from, count, MPI_INT, to, count, MPI_INT, target, place,
                                  there_count, there, MPI_SUM, win);
    case 'f':
        return MPI_Fetch_and_op(from, to, MPI_INT, target, place, MPI_SUM, win);
    default:
        return MPI_Compare_and_swap(from, from + 1, to, MPI_INT, target, place, win);
    }
}

static void touch(char kind, int place, char shape)
{
    int step = shape == 'v' ? 2 : 1;
    for (int i = 0; i < (shape == '1' ? 1 : 2); i++)
        if (kind == 'S')
            memory[place + i * step] = 5;
        else
            sink += memory[place + i * step];
}

static void message(char kind, int peer, int place, char shape)
{
    MPI_Datatype type = shape == 'v' ? gap : MPI_INT;
    int count = shape == '2' ? 2 : 1;
    if (kind == 'V')
        MPI_Send(memory + place, count, type, peer, 0, MPI_COMM_WORLD);
    else if (kind == 'R')
        MPI_Recv(memory + place, count, type, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (kind == 'I')
        MPI_Irecv(memory + place, count, type, peer, 1, MPI_COMM_WORLD, &requests[SLOTS - 1]);
    else
        MPI_Send(origins[SLOTS - 1], shape == '1' ? 1 : 2, MPI_INT, peer, 1, MPI_COMM_WORLD);
}

static void synchronise(char kind, const char *text)
{
    int number = atoi(text);
    MPI_Group group = strchr("TB", kind) ? group_of(text) : MPI_GROUP_NULL;
    switch (kind) {
    case 'F':
        MPI_Win_fence(0, win);
        break;
    case 'T':
        MPI_Win_post(group, 0, win);
        break;
    case 'B':
        MPI_Win_start(group, 0, win);
        break;
    case 'C':
        MPI_Win_complete(win);
        break;
    case 'W':
        MPI_Win_wait(win);
        break;
    case 'X':
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, number, 0, win);
        break;
    case 'H':
        MPI_Win_lock(MPI_LOCK_SHARED, number, 0, win);
        break;
    case 'U':
        MPI_Win_unlock(number, win);
        break;
    case 'A':
        MPI_Win_lock_all(0, win);
        break;
    case 'Z':
        MPI_Win_unlock_all(win);
        break;
    case 'u':
        MPI_Win_flush(number, win);
        break;
    case 'l':
        MPI_Win_flush_local(number, win);
        break;
    case 'Y':
        MPI_Win_flush_all(win);
        break;
    case 'O':
        MPI_Win_flush_local_all(win);
        break;
    case 'e':
        MPI_Win_sync(win);
        break;
    case 'm':
        MPI_Send(&token, 1, MPI_INT, number, 0, MPI_COMM_WORLD);
        break;
    case 'w':
        MPI_Recv(&token, 1, MPI_INT, number, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case 'N':
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case 'i':
        MPI_Ibarrier(MPI_COMM_WORLD, &pending_barrier);
        break;
    case 'j':
        MPI_Wait(&pending_barrier, MPI_STATUS_IGNORE);
        break;
    case 'k':
        MPI_Waitall(SLOTS, requests, MPI_STATUSES_IGNORE);
        break;
    case 'x':
        if (last_kind == 'd')
            floats[last][0] = 3;
        else
            (strchr("gGn", last_kind) ? results : origins)[last][0] = 3;
        break;
    case 'y':
        sink += (strchr("gGnhfs", last_kind) ? results : origins)[last][0];
        break;
    default:
        fprintf(stderr, "unknown word %c\n", kind);
        exit(3);
    }
    if (group != MPI_GROUP_NULL)
        MPI_Group_free(&group);
}

int main(int count, char **words)
{
    int rank, number, place;
    char shape;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < SLOTS; i++)
        requests[i] = MPI_REQUEST_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &gap);
    MPI_Type_commit(&gap);
    MPI_Win_allocate(PLACES * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i < count; i++) {
        const char *text = words[i] + 3;
        char kind = words[i][2];
        if (words[i][0] - '0' != rank)
            continue;
        if (strchr("pPgGaQbcdnhfs", kind)) {
            sscanf(text, "%d,%d,%c", &number, &place, &shape);
            remote(kind, number, place, shape, i);
            last = i;
            last_kind = kind;
        } else if (strchr("LS", kind)) {
            sscanf(text, "%d,%c", &place, &shape);
            touch(kind, place, shape);
        } else if (strchr("VRIv", kind)) {
            sscanf(text, "%d,%d,%c", &number, &place, &shape);
            message(kind, number, place, shape);
        } else {
            synchronise(kind, text);
        }
    }
    MPI_Waitall(SLOTS, requests, MPI_STATUSES_IGNORE);
    MPI_Win_free(&win);
    MPI_Type_free(&gap);
    MPI_Finalize();
    return sink == 12345;
}
