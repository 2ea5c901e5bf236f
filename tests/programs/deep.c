/* Calls back into the launcher from some frames down. */
int launcher_looks(void);

static int __attribute__((noinline)) deeper(int levels)
{
    int result = levels ? deeper(levels - 1) : launcher_looks();
    __asm__ volatile("" : "+r"(result)); /* keeps the frame */
    return result;
}

int main(int argc, char **argv)
{
    (void)argv;
    return deeper(argc + 2) + 0;
}
