/* Fuzzes the reader of time-independent traces. */
#include "tests/fuzz/fuzz.h"

static struct trace *read(struct format_input *input)
{
    return format_ti_read(input, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_read(data, size, read);
}
