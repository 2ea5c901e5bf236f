/* The ranks of worlds, as libc's functions see them (sim/libc/hooks.h). */
#ifndef SIM_WORLDS_LIBC_HOOKS_H
#define SIM_WORLDS_LIBC_HOOKS_H

/* From now on libc's functions ask the worlds who calls. May be said again. */
void sim_world_serves_libc(void);

#endif
