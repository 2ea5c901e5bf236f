/* Thread-locals at a fixed distance from the thread pointer, as the code of executables expects
 * them (local-exec), and of libraries built with -ftls-model=initial-exec.
 *
 * That distance is written into the program's instructions, and the place it names belongs to the
 * launcher, which is the process's executable. So the launcher leaves room there: its own
 * thread-locals end with a reserve that nothing else uses. There is one reserve an OS thread; it
 * serves programs whose ranks are OS threads. Fibers cannot use it: exchanging its content at each
 * switch would move variables whose addresses other ranks may hold. */
#ifndef SIM_PROGRAMS_STATIC_TLS_H
#define SIM_PROGRAMS_STATIC_TLS_H

#include "sim/elf/image.h"

/* Can thread-locals of this size and alignment be served here? No on architectures other than
 * x86-64, and if the linker did not put the reserve last. */
bool static_tls_fits(const struct image *image);

/* Distance from the thread pointer to the program's block (negative), as the linker computed it. */
int64_t static_tls_distance(const struct image *image);

/* Gives the calling thread the initial values of the image at `base`, unless it has that image's
 * block (by base and generation) already. */
void static_tls_enter(const struct image *image, uintptr_t base, uint32_t generation);

#endif
