/* ELF files as data: segments, symbols, relocations, notes. Maps nothing.
 *
 * Room: sees traces. Seen by sim/compile, sim/programs; cli. */
#ifndef SIM_ELF_ELF_H
#define SIM_ELF_ELF_H

#endif
