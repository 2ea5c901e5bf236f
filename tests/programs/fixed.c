/* Thread-locals at a fixed distance from the thread pointer: private to a rank that is an OS
 * thread, and to every thread it starts. Says by its exit status what is not. */
#include <pthread.h>
#include <stdlib.h>

void launcher_waits(void);

static int plain = 3;
_Thread_local int initialised = 5;
_Thread_local long zeroed[20];
static _Thread_local int *pointer = &plain;
static _Thread_local char last = 'x';

static void *body(void *argument)
{
    int wrong = initialised != 5 || zeroed[19] || pointer != &plain || last != 'x';
    initialised = 99, zeroed[19] = 99, last = 'y';
    *(int *)argument |= wrong;
    return &initialised;
}

int main(int argc, char **argv)
{
    int number = argc > 1 ? atoi(argv[1]) : 0, wrong = 0;
    pthread_t thread;
    body(&wrong);
    initialised = number, zeroed[19] = number, last = (char)number;
    *pointer += number;
    launcher_waits();
    if (initialised != number || zeroed[19] != number || last != (char)number ||
        plain != 3 + number)
        wrong |= 2;
    int child = 0;
    if (pthread_create(&thread, NULL, body, &child) || pthread_join(thread, NULL))
        wrong |= 4;
    if (child || initialised != number || zeroed[19] != number)
        wrong |= 8;
    return wrong;
}
