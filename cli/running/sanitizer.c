/* The address sanitizer's runtime: see sanitizer.h. */
#include "cli/running/sanitizer.h"

#include "sim/elf/library_path.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool runtime_find(const struct image *image, char path[PATH_MAX])
{
    struct library_cache cache = {0};
    const Elf64_Dyn *entry = image->dynamic.start;
    for (size_t i = 0; i < image->dynamic.count && entry[i].d_tag != DT_NULL; i++) {
        const char *needed = image_string(image, entry[i].d_un.d_val);
        if (entry[i].d_tag != DT_NEEDED || strncmp(needed, "libasan.so", 10))
            continue;
        bool found = library_path_find(image, image, needed, &cache, path);
        library_cache_release(&cache);
        return found;
    }
    return false;
}

/* The words of this process, as they were given. */
static char **own_words(void)
{
    enum { BYTES_MAX = 1 << 20, WORDS_MAX = 4096 };
    static char bytes[BYTES_MAX + 1];
    static char *words[WORDS_MAX + 1];
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, bytes, BYTES_MAX);
    if (file >= 0)
        close(file);
    int count = 0;
    for (char *at = bytes; size > 0 && at < bytes + size && count < WORDS_MAX; at += strlen(at) + 1)
        words[count++] = at;
    words[count] = NULL;
    return count ? words : NULL;
}

/* The ranks' variables of one name are no violation, and what ranks leave behind is the kernel's. */
static void options_set(void)
{
    char options[1024];
    const char *given = getenv("ASAN_OPTIONS");
    snprintf(options, sizeof options, "detect_odr_violation=0:detect_leaks=0%s%s", given ? ":" : "",
             given ? given : "");
    setenv("ASAN_OPTIONS", options, 1);
}

bool sanitizer_prepare(const char *object, struct failure *failure)
{
    struct image image;
    struct failure ignored = {0};
    char runtime[PATH_MAX], preload[2 * PATH_MAX];
    const char *before = getenv("LD_PRELOAD");
    if (dlsym(RTLD_DEFAULT, "__asan_init")) {
        unsetenv("LD_PRELOAD"); /* it is for this process alone */
        return true;
    }
    if (image_open(&image, object, &ignored))
        return true; /* the loader will say why */
    bool wanted = runtime_find(&image, runtime);
    image_release(&image);
    char **words = wanted ? own_words() : NULL;
    if (!wanted)
        return true;
    snprintf(preload, sizeof preload, "%s%s%s", runtime, before ? ":" : "", before ? before : "");
    options_set();
    setenv("LD_PRELOAD", preload, 1);
    if (words)
        execv("/proc/self/exe", words);
    failure_set(failure, FAILURE_INTERNAL, "%s: cannot start again with %s: %s", object, runtime,
                strerror(errno));
    return false;
}

static void (*to_tell)(const char *what, uint64_t place);

/* The runtime calls this when it has written its report and the process is about to end. */
static void on_death(void)
{
    union {
        void *object;
        int (*present)(void);
        void *(*pc)(void);
        const char *(*description)(void);
    } present = {dlsym(RTLD_DEFAULT, "__asan_report_present")},
      pc = {dlsym(RTLD_DEFAULT, "__asan_get_report_pc")},
      description = {dlsym(RTLD_DEFAULT, "__asan_get_report_description")};
    char what[200];
    if (!present.object || !pc.object || !description.object || !present.present())
        return;
    snprintf(what, sizeof what, "AddressSanitizer: %s", description.description());
    to_tell(what,
            (uint64_t)(uintptr_t)pc.pc() - 1); /* it is where the call of the runtime returns */
}

void sanitizer_watch(void (*reported)(const char *what, uint64_t place))
{
    union {
        void *object;
        void (*set)(void (*)(void));
    } death = {dlsym(RTLD_DEFAULT, "__sanitizer_set_death_callback")};
    to_tell = reported;
    if (death.object)
        death.set(on_death);
}
