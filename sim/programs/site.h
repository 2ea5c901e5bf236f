/* What lies at an address, among the images of all programs: see sim/libc/images.h, for which these
 * are. Safe in signal handlers. */
#ifndef SIM_PROGRAMS_SITE_H
#define SIM_PROGRAMS_SITE_H

#include "sim/libc/images.h"

#include <stdint.h>

struct libc_handler;

const char *site_file(const void *address, uintptr_t *bias, enum libc_between *between);
const void *site_in(int image, const void *site);
struct libc_handler **site_handlers(const void *address);

#endif
