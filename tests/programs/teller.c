/* Gives out where its things are, so that a test can compare two images and the file. */
#include <stddef.h>

int data = 1;

void *caller(void);
__attribute__((noinline)) void *caller(void)
{
    return __builtin_return_address(0);
}

int main(int argc, char **argv)
{
    void **out = (void **)(void *)argv;
    (void)argc;
    out[0] = caller();
    out[1] = &data;
    out[2] = (void *)(size_t)&main;
    return data++;
}
