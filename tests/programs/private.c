/* Says by its exit status which kinds of variables are not private to an image: 0 means that all
 * are. Called with a number that differs from image to image; calling it twice in one image without
 * putting the image back is noticed, too. Built by tests/sim/test_loader.c in many ways (shared
 * object, executable, packed relocations, ...). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GLOBALS = 1,
    ZEROED = 2,
    STATICS = 4,
    POINTERS = 8,
    FUNCTIONS = 16,
    CONSTRUCTORS = 32,
    LIBRARY = 64,
    THREADS = 128
};

int initialised = 7;
int zeroed;
double table[512] = {1, 2, 3};
static char sparse[1 << 20];
int *pointer = &initialised;
int **pointer_to_pointer = &pointer;
char *text = (char *)"text";
static int constructed;

struct __attribute__((packed)) odd {
    char before;
    int *pointer;
};
static struct odd odd = {'x', &initialised};

#ifdef WITH_THREAD_LOCALS
_Thread_local int thread_initialised = 5;
_Thread_local long thread_zeroed;
static _Thread_local int *thread_pointer = &initialised;
#endif

__attribute__((constructor)) static void construct(void)
{
    constructed += initialised;
}

static int twice(int value)
{
    return 2 * value;
}

static int thrice(int value)
{
    return 3 * value;
}

int (*functions[])(int) = {twice, thrice};

/* Chosen when the image is made, as libc does for memcpy. */
__attribute__((used)) static int (*chosen_select(void))(int)
{
    return thrice;
}
int chosen(int value) __attribute__((ifunc("chosen_select")));

static int count(void)
{
    static int calls = 100;
    return ++calls;
}

int main(int argc, char **argv)
{
    int number = argc > 1 ? atoi(argv[1]) : 1, wrong = 0;
    if (initialised != 7 || table[0] != 1)
        wrong |= GLOBALS;
    initialised += number;
    table[0] += number;
    if (zeroed || sparse[number % (int)sizeof sparse])
        wrong |= ZEROED;
    zeroed = number;
    sparse[number % (int)sizeof sparse] = 1;
    if (count() != 101 || count() != 102)
        wrong |= STATICS;
    if (*pointer != 7 + number || pointer != &initialised || **pointer_to_pointer != 7 + number ||
        odd.pointer != &initialised || odd.before != 'x' || strcmp(text, "text"))
        wrong |= POINTERS;
    functions[0] = functions[0] == twice ? thrice : NULL;
    if (!functions[0] || functions[0](2) != 6 || functions[1](2) != 6 || chosen(3) != 9)
        wrong |= FUNCTIONS;
    if (constructed != 7)
        wrong |= CONSTRUCTORS;
    char line[32];
    snprintf(line, sizeof line, "%d", number);
    if (atoi(line) != number || !stdout || fflush(stdout))
        wrong |= LIBRARY;
#ifdef WITH_THREAD_LOCALS
    if (thread_initialised != 5 || thread_zeroed || thread_pointer != &initialised)
        wrong |= THREADS;
    thread_initialised += number;
    thread_zeroed = number;
    if (thread_initialised != 5 + number)
        wrong |= THREADS;
#endif
    return wrong;
}
