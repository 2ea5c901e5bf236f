/* A program without variables, unless VARIABLE says otherwise: constants, also such as hold
 * addresses, are not variables. Tells 40 + its first argument. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static int plus(int number)
{
    return number + 40;
}

static int (*const table[])(int) = {plus};
static const char *const names[] = {"one", "two"};

#ifdef VARIABLE
VARIABLE;
#endif

int main(int argc, char **argv)
{
#ifdef LOCAL
    static LOCAL;
    completed = !completed;
    if (!completed)
        return 1;
#endif
#ifdef OPTIONS
    if (getopt(argc, argv, "a") != -1)
        return 1;
#endif
    return argc == 2 && strlen(names[argc % 2]) == 3 ? table[argc - 2](atoi(argv[1])) : 1;
}

#ifdef CONSTRUCTOR
__attribute__((constructor)) static void greet(void)
{
    (void)getenv("HOME");
}
#endif
