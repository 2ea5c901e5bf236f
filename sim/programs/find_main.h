/* Finding `main` of an executable that does not name it: enter it where the kernel would and catch
 * the call that its start code makes to __libc_start_main (the loader resolves that name to
 * catch_libc_start_main, see sim/programs/resolve.h). */
#ifndef SIM_PROGRAMS_FIND_MAIN_H
#define SIM_PROGRAMS_FIND_MAIN_H

#include <stdint.h>

/* Runs the start code of an image at `entry` and returns the address of its main; 0 if it did not
 * ask for it. Nothing of the program but its start code runs. */
uintptr_t start_main(uintptr_t entry);

#endif
