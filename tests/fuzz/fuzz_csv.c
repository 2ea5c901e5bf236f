/* Fuzzes the reader of pipeline schedules. */
#include "tests/fuzz/fuzz.h"

static struct trace *read(struct format_input *input)
{
    return format_csv_read(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_read(data, size, read);
}
