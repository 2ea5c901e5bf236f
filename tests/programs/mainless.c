/* A library without a main. */
int answer(void);
int answer(void)
{
    return 42;
}
