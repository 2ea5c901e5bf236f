/* What reader and writer of time-independent traces share: numbers of types. Private to
 * traces/format_ti*.c. */
#ifndef TRACES_FORMATS_TI_H
#define TRACES_FORMATS_TI_H

#include <stdint.h>

/* SMPI's number of a basic type of the MPI ABI, -1 for none; and back, 0 for none. */
int ti_number_of_type(uint32_t type);
uint32_t ti_type_of_number(long number);

#endif
