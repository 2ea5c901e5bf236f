/* Calls what nobody provides. */
int provided_by_nobody(int value);
extern int variable_of_nobody;
__attribute__((weak)) int optional_and_absent(void);

int main(void)
{
    if (optional_and_absent)
        return 1;
    return provided_by_nobody(variable_of_nobody);
}
