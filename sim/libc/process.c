/* A rank as a process: see process.h. */
#include "sim/libc/process.h"

#include "sim/libc/common.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { CATEGORIES = LC_IDENTIFICATION + 1, NAME_MAX_LENGTH = 64 };

struct libc_process {
    int folder; /* -1: as the process has it */
    bool masked;
    mode_t mask, mask_before;
    char **environment; /* NULL: the process's */
    size_t variables, room;
    locale_t locale; /* 0: the process's */
    locale_t chosen; /* by uselocale, before that one; 0: none */
    char names[CATEGORIES][NAME_MAX_LENGTH], all[CATEGORIES * NAME_MAX_LENGTH];
    struct tm broken_down;
    char text[64];
};

/* mktime, strftime and the like read the process's. */
static void zone_is_shared(const char *name, const void *caller)
{
    static _Atomic bool told;
    if (!strcmp(name, "TZ"))
        libc_shared(&told, caller,
                    "TZ is the process's time zone for all ranks: set it before the run");
}

/* NULL: nobody's call, or no memory; then it is the process's affair. */
static struct libc_process *process_of(const void *caller)
{
    struct sim_libc_state *state = libc_rank(caller);
    if (!state || state->process)
        return state ? state->process : NULL;
    if (libc_hooks->apart)
        libc_hooks->apart();
    state->process = calloc(1, sizeof *state->process);
    if (state->process) {
        state->process->folder = -1;
        state->apart = true;
    }
    return state->process;
}

static struct libc_process *process_if_any(const void *caller)
{
    struct sim_libc_state *state = libc_rank(caller);
    return state ? state->process : NULL;
}

/* The process's own folder, as it was before any rank changed its own. */
static int folder_before = -1;

static void folder_note(void)
{
    folder_before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The calling thread has its own folder and umask from now on. */
static bool thread_apart(void)
{
    static pthread_once_t noted = PTHREAD_ONCE_INIT;
    static _Thread_local bool apart;
    pthread_once(&noted, folder_note);
    if (!apart && folder_before >= 0)
        apart = !unshare(CLONE_FS);
    return apart;
}

/* libc's own, whoever calls: a call of the function below might be a jump, and look like the rank's. */
static locale_t locale_of_thread(locale_t wanted)
{
    LIBC_REAL(uselocale);
    return real(wanted);
}

static void locale_use(const struct libc_process *own)
{
    locale_of_thread(own->chosen ? own->chosen : own->locale ? own->locale : LC_GLOBAL_LOCALE);
}

void sim_libc_process_aside(const struct sim_libc_state *state)
{
    const struct libc_process *own = state->process;
    if (own->folder >= 0 && fchdir(folder_before))
        abort(); /* it is open, and was a folder */
    if (own->masked)
        umask(own->mask_before);
    if (own->locale || own->chosen)
        locale_of_thread(LC_GLOBAL_LOCALE);
}

void sim_libc_process_back(const struct sim_libc_state *state)
{
    const struct libc_process *own = state->process;
    if (own->folder >= 0 && fchdir(own->folder))
        abort();
    if (own->masked)
        umask(own->mask);
    if (own->locale || own->chosen)
        locale_use(own);
}

void libc_process_release(struct libc_process *own)
{
    if (!own)
        return;
    if (own->folder >= 0)
        close(own->folder);
    for (size_t i = 0; i < own->variables; i++)
        free(own->environment[i]);
    free(own->environment);
    if (own->locale)
        freelocale(own->locale);
    free(own);
}

char **libc_process_environment(const struct sim_libc_state *rank)
{
    return rank && rank->process ? rank->process->environment : NULL;
}

static int folder_keep(struct libc_process *own, int status)
{
    if (status || !own)
        return status;
    int now = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (now < 0)
        return 0; /* until the next wait it is right */
    if (own->folder >= 0)
        close(own->folder);
    own->folder = now;
    return 0;
}

/* A rank's own state, if its thread can have its own folder. */
static struct libc_process *process_apart(const void *caller)
{
    struct libc_process *own = process_of(caller);
    return own && thread_apart() ? own : NULL;
}

int chdir(const char *path)
{
    LIBC_REAL(chdir);
    struct libc_process *own = process_apart(LIBC_CALLER);
    return folder_keep(own, real(path));
}

int fchdir(int descriptor)
{
    LIBC_REAL(fchdir);
    struct libc_process *own = process_apart(LIBC_CALLER);
    return folder_keep(own, real(descriptor));
}

mode_t umask(mode_t mask)
{
    LIBC_REAL(umask);
    struct libc_process *own = process_apart(LIBC_CALLER);
    mode_t before = real(mask);
    if (own && !own->masked)
        own->mask_before = before;
    if (own) {
        own->masked = true;
        own->mask = mask & 0777;
    }
    return before;
}

/* The environment: a list of the rank's own from its first change on. */

static char **variable_find(const struct libc_process *own, const char *name, size_t length)
{
    for (size_t i = 0; i < own->variables; i++)
        if (!strncmp(own->environment[i], name, length) && own->environment[i][length] == '=')
            return &own->environment[i];
    return NULL;
}

static bool variable_add(struct libc_process *own, char *text)
{
    if (own->variables + 1 >= own->room) {
        size_t room = own->room ? 2 * own->room : 64;
        char **longer = reallocarray(own->environment, room, sizeof *longer);
        if (!longer)
            return false;
        own->environment = longer;
        own->room = room;
    }
    own->environment[own->variables++] = text;
    own->environment[own->variables] = NULL;
    return true;
}

static bool environment_own(struct libc_process *own)
{
    if (!own || own->environment)
        return own;
    for (char **each = environ; each && *each; each++) {
        char *copy = strdup(*each);
        if (!copy || !variable_add(own, copy))
            return false;
    }
    return own->environment ||
           (own->environment = calloc(own->room = 64, sizeof *own->environment));
}

static bool is_name(const char *name)
{
    return name && *name && !strchr(name, '=');
}

static int variable_set(struct libc_process *own, const char *name, const char *value)
{
    char *text = NULL, **found = variable_find(own, name, strlen(name));
    if (asprintf(&text, "%s=%s", name, value) < 0)
        return errno = ENOMEM, -1;
    if (found) {
        free(*found);
        *found = text;
        return 0;
    }
    return variable_add(own, text) ? 0 : (free(text), errno = ENOMEM, -1);
}

int setenv(const char *name, const char *value, int overwrite)
{
    LIBC_REAL(setenv);
    struct libc_process *own = process_of(LIBC_CALLER);
    if (!is_name(name) || !environment_own(own))
        return real(name, value, overwrite);
    if (!overwrite && variable_find(own, name, strlen(name)))
        return 0;
    zone_is_shared(name, LIBC_CALLER);
    return variable_set(own, name, value);
}

int unsetenv(const char *name)
{
    LIBC_REAL(unsetenv);
    struct libc_process *own = process_of(LIBC_CALLER);
    if (!is_name(name) || !environment_own(own))
        return real(name);
    char **found = variable_find(own, name, strlen(name));
    if (found) {
        free(*found);
        *found = own->environment[--own->variables];
        own->environment[own->variables] = NULL;
    }
    return 0;
}

/* The text is copied: whoever changes it afterwards does not change the environment. */
int putenv(char *text)
{
    LIBC_REAL(putenv);
    struct libc_process *own = process_of(LIBC_CALLER);
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !environment_own(own))
        return real(text);
    char *name = strndup(text, (size_t)(equals - text));
    int status = name ? variable_set(own, name, equals + 1) : -1;
    if (name)
        zone_is_shared(name, LIBC_CALLER);
    free(name);
    return status;
}

int clearenv(void)
{
    LIBC_REAL(clearenv);
    struct libc_process *own = process_of(LIBC_CALLER);
    if (!environment_own(own))
        return real();
    while (own->variables)
        free(own->environment[--own->variables]);
    own->environment[0] = NULL;
    return 0;
}

static char *variable_value(const struct libc_process *own, const char *name)
{
    char **found = is_name(name) ? variable_find(own, name, strlen(name)) : NULL;
    return found ? *found + strlen(name) + 1 : NULL;
}

char *getenv(const char *name)
{
    LIBC_REAL(getenv);
    struct libc_process *own = process_if_any(LIBC_CALLER);
    return own && own->environment ? variable_value(own, name) : real(name);
}

char *secure_getenv(const char *name)
{
    LIBC_REAL(secure_getenv);
    struct libc_process *own = process_if_any(LIBC_CALLER);
    return own && own->environment ? variable_value(own, name) : real(name);
}

/* The locale. */

static const int categories[] = {LC_CTYPE,    LC_NUMERIC,   LC_TIME,        LC_COLLATE,
                                 LC_MONETARY, LC_MESSAGES,  LC_PAPER,       LC_NAME,
                                 LC_ADDRESS,  LC_TELEPHONE, LC_MEASUREMENT, LC_IDENTIFICATION};
static const char *const category_names[CATEGORIES] = {[LC_CTYPE] = "LC_CTYPE",
                                                       [LC_NUMERIC] = "LC_NUMERIC",
                                                       [LC_TIME] = "LC_TIME",
                                                       [LC_COLLATE] = "LC_COLLATE",
                                                       [LC_MONETARY] = "LC_MONETARY",
                                                       [LC_MESSAGES] = "LC_MESSAGES",
                                                       [LC_PAPER] = "LC_PAPER",
                                                       [LC_NAME] = "LC_NAME",
                                                       [LC_ADDRESS] = "LC_ADDRESS",
                                                       [LC_TELEPHONE] = "LC_TELEPHONE",
                                                       [LC_MEASUREMENT] = "LC_MEASUREMENT",
                                                       [LC_IDENTIFICATION] = "LC_IDENTIFICATION"};
enum { CATEGORY_COUNT = sizeof categories / sizeof *categories };

/* As setlocale says it: one name if all agree, else one for each. */
static char *locale_name(struct libc_process *own, int category)
{
    bool same = true;
    if (category != LC_ALL)
        return own->names[category];
    for (int i = 1; i < CATEGORY_COUNT; i++)
        same &= !strcmp(own->names[categories[i]], own->names[categories[0]]);
    if (same)
        return own->names[categories[0]];
    own->all[0] = 0;
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        size_t used = strlen(own->all);
        snprintf(own->all + used, sizeof own->all - used, "%s%s=%s", i ? ";" : "",
                 category_names[categories[i]], own->names[categories[i]]);
    }
    return own->all;
}

static void names_set(struct libc_process *own)
{
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        const char *name = nl_langinfo_l(NL_LOCALE_NAME(categories[i]), own->locale);
        snprintf(own->names[categories[i]], NAME_MAX_LENGTH, "%s", name && *name ? name : "C");
    }
}

/* A locale of the rank's own, as the process's is. */
static bool locale_own(struct libc_process *own)
{
    if (own->locale)
        return true;
    locale_t copy = duplocale(LC_GLOBAL_LOCALE);
    if (!copy)
        return false;
    own->locale = copy;
    names_set(own);
    return true;
}

char *setlocale(int category, const char *name)
{
    LIBC_REAL(setlocale);
    struct libc_process *own = name ? process_of(LIBC_CALLER) : process_if_any(LIBC_CALLER);
    if (!own || category < 0 || category >= CATEGORIES || (name && !locale_own(own)) ||
        !own->locale)
        return real(category, name);
    if (name) {
        int mask = category == LC_ALL ? LC_ALL_MASK : 1 << category;
        locale_t base = duplocale(own->locale), now = base ? newlocale(mask, name, base) : 0;
        if (!now) {
            if (base)
                freelocale(base);
            return NULL;
        }
        locale_t before = own->locale;
        own->locale = now;
        locale_use(own);
        freelocale(before);
        names_set(own);
    }
    return locale_name(own, category);
}

/* A thread's: that of a rank is its rank's own thread, wherever it runs. */
locale_t uselocale(locale_t wanted)
{
    struct libc_process *own = wanted ? process_of(LIBC_CALLER) : process_if_any(LIBC_CALLER);
    if (!own || sim_libc_place() == SIM_LIBC_THREAD)
        return locale_of_thread(wanted);
    locale_t before = own->chosen ? own->chosen : LC_GLOBAL_LOCALE;
    if (wanted) {
        own->chosen = wanted == LC_GLOBAL_LOCALE ? 0 : wanted;
        locale_use(own);
    }
    return before;
}

/* Results in a place of libc's own. */

struct tm *gmtime(const time_t *time)
{
    LIBC_REAL(gmtime);
    struct libc_process *own = process_of(LIBC_CALLER);
    return own ? gmtime_r(time, &own->broken_down) : real(time);
}

struct tm *localtime(const time_t *time)
{
    LIBC_REAL(localtime);
    struct libc_process *own = process_of(LIBC_CALLER);
    tzset();
    return own ? localtime_r(time, &own->broken_down) : real(time);
}

char *asctime(const struct tm *time)
{
    LIBC_REAL(asctime);
    struct libc_process *own = process_of(LIBC_CALLER);
    return own ? asctime_r(time, own->text) : real(time);
}

char *ctime(const time_t *time)
{
    LIBC_REAL(ctime);
    struct libc_process *own = process_of(LIBC_CALLER);
    return own ? ctime_r(time, own->text) : real(time);
}
