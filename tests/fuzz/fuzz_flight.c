/* Fuzzes the reader of Flight Recorder dumps, JSON and pickled. */
#include "tests/fuzz/fuzz.h"

static struct trace *read(struct format_input *input)
{
    return format_flight_read(input, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_read(data, size, read);
}
