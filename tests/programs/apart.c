/* Every way in which a C program keeps and reaches a variable. Each rank writes its own number
 * everywhere, lets the others do the same, and looks whether it still is. Ends with the number of
 * the first thing that was not; the last line says how many ranks found all well. */
#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    int left, right;
};
struct node {
    struct node *next, *previous;
    const char *name;
    int (*call)(int);
};

int exported = 3;
int exported_zero;
static int number = 4, zeroed, row[7] = {1, 2, 3, 4, 5, 6, 7}, table[5][9];
static double real = 1.5, reals[1000];
static float narrow_real;
static long double wide_real = 2.5L;
static _Complex double complex_real;
static unsigned char byte, bytes[3];
static short word;
static int64_t large;
static __int128 larger;
static _Bool flag = 1;
static volatile int watched;
static _Atomic int counted;
static struct pair pair = {1, 2}, pairs[3];
static struct {
    unsigned low : 3, middle : 11, high : 18;
} bits = {1, 2, 3};
static _Alignas(64) char line[64];
static _Alignas(1024) char aligned[100] = "aligned";
static _Alignas(512) char wide[10];
static char text[32] = "text";
static const char *words[] = {"zero", "one", "two"};
static int *pointer = &number, *inside = &row[3], *behind = &row[7], *to_zero = &table[2][4];
static int **twice = &pointer;
static int *const steady = &zeroed;
static char *letter = text + 2;
static jmp_buf back;
static int first_call(int argument);
static int second_call(int argument);
static int (*calls[])(int) = {first_call, second_call};
static struct node first, last = {NULL, &first, "last", second_call};
static struct node first = {&last, NULL, "first", first_call};
static int rank, size;

static int first_call(int argument)
{
    static int times;
    static int kept = 10;
    times++;
    kept += argument;
    return times * 1000 + kept;
}

static int second_call(int argument)
{
    return number + argument;
}

static int by_key(const void *left, const void *right)
{
    zeroed++;
    return (*(const int *)left ^ (rank & 3)) - (*(const int *)right ^ (rank & 3));
}

static void fill(int count, ...)
{
    va_list arguments;
    va_start(arguments, count);
    for (int i = 0; i < count; i++)
        row[i] = va_arg(arguments, int);
    va_end(arguments);
}

/* Not what the compiler believes, but where it is. */
static uintptr_t rest(const void *address, uintptr_t by)
{
    const void *volatile at = address;
    return (uintptr_t)at % by;
}

static int choose(int which)
{
    switch (which) {
    case 0:
        return exported;
    case 1:
        return number;
    case 2:
        return row[2];
    case 3:
        return pair.left;
    case 4:
        return (int)large;
    case 5:
        return word;
    default:
        return -1;
    }
}

static void write_all(void)
{
    exported += rank;
    exported_zero = rank;
    number = 2 * rank;
    fill(7, rank, rank + 1, rank + 2, rank + 3, rank + 4, rank + 5, rank + 6);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 9; j++)
            table[i][j] = rank * i + j;
    real *= rank;
    for (int i = 0; i < 1000; i++)
        reals[i] = rank + i * .5;
    narrow_real = (float)rank;
    wide_real += rank;
    complex_real = rank;
    byte = (unsigned char)rank;
    memset(bytes, rank & 0x7f, sizeof bytes);
    word -= (short)rank;
    large = (int64_t)rank << 33;
    larger = (__int128)rank * rank;
    flag = rank & 1;
    watched = rank;
    atomic_fetch_add(&counted, rank);
    pair = (struct pair){rank, -rank};
    pairs[1].right = rank;
    bits.middle = (unsigned)rank & 2047;
    line[rank % 64] = 1;
    snprintf(aligned, sizeof aligned, "%d", rank);
    snprintf(wide, sizeof wide, "%d", rank);
    snprintf(text, sizeof text, "t%06d", rank);
    words[1] = text;
    *steady = rank;
    **twice += 1;
    *to_zero = -rank;
    inside[-1] = 7 * rank;
    behind[-1] = 8 * rank;
    last.next = &last;
    first.next->name = words[1];
}

/* 0: all is this rank's. */
static int look(void)
{
    int keys[8] = {3, 1, 2, 0, 7, 5, 6, 4}, place = 0;
#define SEE(condition)                                                                             \
    do {                                                                                           \
        place++;                                                                                   \
        if (!(condition))                                                                          \
            return place;                                                                          \
    } while (0)
    SEE(exported == 3 + rank && exported_zero == rank);
    SEE(number == 2 * rank + 1 && **twice == number && *pointer == number);
    SEE(row[0] == rank && row[2] == 7 * rank && row[6] == 8 * rank);
    for (int i = 0; i < 45; i++)
        SEE(i == 22 || table[i / 9][i % 9] == rank * (i / 9) + i % 9);
    SEE(table[2][4] == -rank);
    SEE(real == 1.5 * rank);
    for (int i = 0; i < 1000; i++)
        SEE(reals[i] == rank + i * .5);
    SEE(narrow_real == (float)rank && wide_real == 2.5L + rank && (double)complex_real == rank);
    SEE(byte == (unsigned char)rank && bytes[0] == bytes[2] && bytes[1] == (rank & 0x7f));
    SEE(word == (short)-rank && large >> 33 == rank && larger == (__int128)rank * rank);
    SEE(flag == (rank & 1) && watched == rank && counted == rank);
    SEE(pair.left == rank && pair.right == -rank && pairs[1].right == rank && !pairs[2].left);
    SEE(bits.low == 1 && bits.middle == ((unsigned)rank & 2047) && bits.high == 3);
    for (int i = 0; i < 64; i++)
        SEE(line[i] == (i == rank % 64));
    SEE(rest(line, 64) == 0 && rest(aligned, 1024) == 0 && atoi(aligned) == rank);
    SEE(rest(wide, 512) == 0 && atoi(wide) == rank);
    SEE(atoi(text + 1) == rank && letter == &text[2] && words[1] == text);
    SEE(!strcmp(words[2], "two") && zeroed == rank);
    SEE(last.next == &last && last.previous == &first && first.next->name == text);
    SEE(first.call == first_call && calls[1](5) == 2 * rank + 6);
    SEE(calls[0](rank) == 1010 + rank && first_call(0) == 2010 + rank);
    SEE(choose(rank % 6) >= 0 || rank % 6 == 5);
    SEE(choose(1) == number && choose(3) == rank);
    qsort(keys, 8, sizeof *keys, by_key);
    SEE(zeroed > rank);
    for (int i = 0; i < 8; i++)
        SEE((keys[i] ^ (rank & 3)) == i);
    number = 0;
    if (!setjmp(back)) {
        number = rank + 5;
        longjmp(back, 1);
    }
    SEE(number == rank + 5);
    return 0;
}

int main(int argc, char **argv)
{
    int sum = 0, good, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    write_all();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Sendrecv(&number, 1, MPI_INT, (rank + 1) % size, 0, &sum, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int seen = sum == 2 * ((rank + size - 1) % size) + 1 ? look() : 9999;
    good = !seen;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (seen)
        fprintf(stderr, "rank %d: %d\n", rank, seen);
    if (!rank)
        printf("%d of %d ranks\n", all, size);
    MPI_Finalize();
    return seen != 0;
}
