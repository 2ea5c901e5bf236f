/* Libraries that a program opens while it runs (dlopen): each rank has its own copy of them, too.
 *
 * A program that can call dlopen has room for plugins behind its modules, in every rank's part of
 * the range. The first rank that opens one adds it, with what it needs, to the closure; each rank
 * that opens it then has its image made there, and its constructors run. Names of a plugin are
 * seen by itself and what it brought only, unless it was opened with RTLD_GLOBAL. It stays until
 * its rank ends. What cannot be copied is opened once, with a warning.
 *
 * Images call these instead of the C library's; callers are told by their addresses. */
#ifndef SIM_PROGRAMS_PLUGIN_H
#define SIM_PROGRAMS_PLUGIN_H

#include "sim/programs/closure.h"

#include <dlfcn.h>

void *plugin_dlopen(const char *name, int mode);
void *plugin_dlsym(void *handle, const char *name);
int plugin_dlclose(void *handle);
char *plugin_dlerror(void);
int plugin_dladdr(const void *address, Dl_info *info);

#endif
