/* Which folder keeps compiled programs: the one asked for, that of the home, or one nobody else can
 * write. */
#include "sim/compile/cache_folder.h"

#include "tests/tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static struct failure failure;

static const char *in_folder(const char *name)
{
    static char paths[4][128];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static const char *temporary_folder(void)
{
    char name[64];
    snprintf(name, sizeof name, "tmp/simrun-cache-%ld", (long)geteuid());
    return in_folder(name);
}

static struct cache_folder found(void)
{
    struct cache_folder cache = {.path = "none"};
    failure = (struct failure){0};
    if (cache_folder_find(&cache, &failure) == 0 && cache_folder_writable(&cache) &&
        cache_folder_make(&cache, &failure) == 0)
        return cache;
    cache.path[0] = 0;
    return cache;
}

static void test_places(void)
{
    setenv("SIMRUN_CACHE", in_folder("own/one"), 1);
    setenv("XDG_CACHE_HOME", in_folder("shared"), 1);
    setenv("HOME", in_folder("home"), 1);
    tap_is_str(found().path, in_folder("own/one"), "SIMRUN_CACHE comes first");
    unsetenv("SIMRUN_CACHE");
    tap_is_str(found().path, in_folder("shared/simrun"), "then XDG_CACHE_HOME");
    unsetenv("XDG_CACHE_HOME");
    tap_is_str(found().path, in_folder("home/.cache/simrun"), "then HOME");
    tap_ok(access(in_folder("home/.cache/simrun"), W_OK | X_OK) == 0, "and it is made");
}

/* The folder of a home is taken only where nobody else can put programs in it. */
static void test_unsafe_home(void)
{
    char kept[128];
    snprintf(kept, sizeof kept, "%s", in_folder("home/.cache/simrun"));
    chmod(kept, 0775);
    tap_is_str(found().path, kept, "a group of one's own may write it");
    chmod(kept, 0777);
    tap_is_str(found().path, temporary_folder(), "where everybody can, TMPDIR takes its place");
    chmod(kept, 0755);
    if (geteuid() == 0 && chown(kept, 65534, (gid_t)-1) == 0) {
        tap_is_str(found().path, temporary_folder(),
                   "and where it is another user's, as with sudo");
        tap_ok(chown(kept, 0, (gid_t)-1) == 0, "which root alone can try");
    }
    tap_is_str(found().path, kept, "mended, it is used again");
    setenv("SIMRUN_CACHE", kept, 1);
    chmod(kept, 0777);
    tap_is_str(found().path, kept, "one that is asked for is the user's choice");
    unsetenv("SIMRUN_CACHE");
    chmod(kept, 0755);
}

static void test_no_home(void)
{
    struct stat status = {0};
    setenv("HOME", "/proc/self/nowhere", 1);
    tap_is_str(found().path, temporary_folder(),
               "a home that cannot be written is replaced by TMPDIR");
    tap_ok(stat(temporary_folder(), &status) == 0 && (status.st_mode & 0777) == 0700,
           "in which the folder is the user's alone");
    unsetenv("HOME");
    tap_is_str(found().path, temporary_folder(), "so is one that is not set");
    tap_is_str(found().path, temporary_folder(), "a second time, too");
}

static void test_others(void)
{
    chmod(temporary_folder(), 0777);
    tap_ok(!found().path[0] && strstr(failure.text, "others can write") &&
               strstr(failure.text, "SIMRUN_CACHE"),
           "where others can put programs it is refused, with the remedy");
    rename(temporary_folder(), in_folder("elsewhere"));
    chmod(in_folder("elsewhere"), 0700);
    tap_ok(symlink(in_folder("elsewhere"), temporary_folder()) == 0 && !found().path[0],
           "so is a link, which may be anybody's");
    unlink(temporary_folder());
    struct cache_folder cache;
    tap_ok(cache_folder_find(&cache, &failure) == 0 && mkdir(cache.path, 0777) == 0 &&
               chmod(cache.path, 0777) == 0 && cache_folder_make(&cache, &failure) != 0,
           "also when it came after the look");
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/test_cache_folder.XXXXXX");
    if (!mkdtemp(folder) || mkdir(in_folder("tmp"), 0777) != 0)
        return 1;
    setenv("TMPDIR", in_folder("tmp"), 1);
    test_places();
    test_unsafe_home();
    test_no_home();
    test_others();
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return tap_done() | (system(command) != 0);
}
