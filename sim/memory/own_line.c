/* Whose line an access is: see frames.h.
 *
 * A loop over a vector, or a sort, is the library's code in the program's image. Its callers are the same each time the return addresses
 * on the way there are: those that were looked up are kept. */
#include "sim/memory/frames.h"

#include "sim/debug/lines.h"
#include "sim/libc/hooks.h"

#include <stddef.h>
#include <string.h>

enum { SITES = 512, CHAINS = 256, FRAMES = 12 };

enum whose { ITS_OWN, HEADER, LIBRARY }; /* of the program's image, of another */

static _Thread_local struct {
    const void *site;
    enum whose whose;
} sites[SITES];

static _Thread_local struct {
    uint64_t key;
    const void *own;
} chains[CHAINS];

/* Of an address of a file, as its linker sees it. A file without debug information that is installed is a library's. */
static enum whose of_file(const char *file, uintptr_t address, char *line)
{
    struct debug_file *known = debug_file_get(file);
    bool installed = !strncmp(file, "/usr/", 5) || !strncmp(file, "/lib", 4);
    *line = '\0';
    if (!known)
        return installed ? LIBRARY : ITS_OWN;
    return debug_in_system_header(known, address, line) ? HEADER : ITS_OWN;
}

static enum whose of_site(const void *site, char *line)
{
    uintptr_t bias;
    const char *file = sim_libc_file_of((const char *)site - 1, &bias);
    *line = '\0';
    if (!file)
        return sim_libc_in_launcher(site) ? ITS_OWN : LIBRARY;
    debug_lock();
    enum whose whose = of_file(file, (uintptr_t)site - 1 - bias, line);
    debug_unlock();
    return whose;
}

static enum whose whose(const void *site)
{
    size_t slot = ((uintptr_t)site ^ (uintptr_t)site >> 9) % SITES;
    char line[DEBUG_LINE_MAX];
    if (sites[slot].site != site) {
        sites[slot].whose = of_site(site, line);
        sites[slot].site = site;
    }
    return sites[slot].whose;
}

/* The innermost frame outside of headers and libraries, from the one on that is at `site`; `site` where there is none. */
static const void *walk(const void *site, bool in_library)
{
    struct sim_frames frames;
    sim_frames_find(&frames);
    int first = 0;
    while (!in_library && first < frames.count && frames.frames[first].pc != (uintptr_t)site)
        first++;
    const void *own = site;
    char line[DEBUG_LINE_MAX];
    debug_lock();
    for (int i = first; i < frames.count && own == site; i++)
        if (of_file(frames.files[i], frames.frames[i].pc - 1 - frames.frames[i].bias, line) ==
            ITS_OWN)
            own = (const void *)frames.frames[i].pc;
    debug_unlock();
    return own;
}

const void *sim_frames_own(const void *site, char *within)
{
    static const uint64_t odd[FRAMES] = {
        0x9d2c5680f3a71b2b, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3,
        0x1d8e4e27c47d124f, 0xeb44accab455d165, 0xa0761d6478bd642f, 0xc4ceb9fe1a85ec53,
        0x94d049bb133111eb, 0xbf58476d1ce4e5b9, 0xd6e8feb86659fd93, 0xff51afd7ed558ccd};
    if (within)
        *within = '\0';
    if (site && within)
        of_site(site, within);
    enum whose is = site ? whose(site) : ITS_OWN;
    if (is == ITS_OWN)
        return site;
    if (is == LIBRARY) /* which may keep no frame pointers */
        return walk(site, true);
    uint64_t key = sim_frames_key(__builtin_frame_address(0), odd, FRAMES) + (uintptr_t)site;
    size_t slot = (key >> 40) % CHAINS;
    if (chains[slot].key != key) {
        chains[slot].own = walk(site, false);
        chains[slot].key = key;
    }
    return chains[slot].own;
}

void sim_frames_line(const void *site, char *line)
{
    uintptr_t bias;
    const char *file = sim_libc_file_of((const char *)site - 1, &bias);
    *line = '\0';
    if (!file)
        return;
    debug_lock();
    struct debug_file *known = debug_file_get(file);
    if (known)
        debug_line(known, (uintptr_t)site - 1 - bias, line);
    debug_unlock();
}
