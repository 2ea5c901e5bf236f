/* Running the compiler: see compiler.h. */
#include "sim/compile/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Does one of the words name simcc, or another MPI's wrapper? */
static bool names_wrapper(const char *words)
{
    static const char *const wrappers[] = {
        "simcc", "simc++",  "simcxx", "simfort", "mpicc",         "mpic++",     "mpicxx",
        "mpiCC", "mpifort", "mpif77", "mpif90",  "mpicc.openmpi", "mpicc.mpich"};
    while (*words) {
        size_t length = strcspn(words, " \t");
        const char *slash = memrchr(words, '/', length);
        const char *name = slash ? slash + 1 : words;
        size_t size = length - (size_t)(name - words);
        for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
            if (size == strlen(wrappers[i]) && !memcmp(name, wrappers[i], size))
                return true;
        words += length + (words[length] != 0);
    }
    return false;
}

const char *compiler_words(const char *name, const char *usual)
{
    char own[64];
    snprintf(own, sizeof own, "SIMRUN_%s", name);
    const char *chosen = getenv(own);
    if (!chosen || !*chosen || names_wrapper(chosen))
        chosen = getenv(name);
    return chosen && *chosen && !names_wrapper(chosen) ? chosen : usual;
}

static bool names_clang(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strstr(slash ? slash + 1 : path, "clang") != NULL;
}

bool compiler_is_clang(const char *word)
{
    const char *folders = getenv("PATH");
    char path[PATH_MAX], *real = NULL;
    if (names_clang(word) || *word == '-')
        return names_clang(word) && *word != '-';
    if (strchr(word, '/'))
        real = realpath(word, NULL);
    for (int length; !real && folders && *folders; folders += length + (folders[length] == ':')) {
        length = (int)strcspn(folders, ":");
        snprintf(path, sizeof path, "%.*s/%s", length, folders, word);
        real = strchr(word, '/') || access(path, X_OK) ? NULL : realpath(path, NULL);
    }
    bool clang = real && names_clang(real);
    free(real);
    return clang;
}

const char *compiler_simfort(void)
{
    static _Thread_local char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "simfort");
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    if (slash)
        snprintf(slash + 1, sizeof path - (size_t)(slash + 1 - path), "simfort");
    return slash && !access(path, X_OK) ? path : "";
}

void arguments_add(struct arguments *arguments, const char *word)
{
    if (arguments->count < ARGUMENTS_MAX - 1)
        arguments->words[arguments->count] = word;
    arguments->count++;
    if (arguments->count < ARGUMENTS_MAX)
        arguments->words[arguments->count] = NULL;
}

void arguments_add_all(struct arguments *arguments, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        arguments_add(arguments, words[i]);
}

int compiler_run(const char *program, const struct arguments *arguments, const char *source,
                 struct failure *failure)
{
    pid_t child;
    int status;
    if (arguments->count >= ARGUMENTS_MAX)
        return failure_set(failure, FAILURE_INPUT, "%s: too many compiler options", source);
    fflush(NULL);
    char *const *words = (char *const *)(uintptr_t)arguments->words;
    int error = posix_spawn(&child, program, NULL, NULL, words, environ);
    if (error)
        return failure_set(failure, FAILURE_INPUT, "%s: cannot run %s: %s", source, program,
                           strerror(error));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return failure_set(failure, FAILURE_INTERNAL, "%s: lost the compiler: %s", source,
                               strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    enum { BROKE = 4 };
    return failure_set(
        failure,
        WIFEXITED(status) && WEXITSTATUS(status) == BROKE ? FAILURE_INTERNAL : FAILURE_INPUT,
        "%s: does not compile (%s ended with %s %d); options that it needs are given "
        "in a comment in it, 'simrun: cflags: -I...', or to simcc",
        source, arguments->words[0], WIFEXITED(status) ? "status" : "signal",
        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* Plugins lie in lib of a build folder, and in lib/simrun of an installed tree. */
static bool loops_pattern(char pattern[PATH_MAX], const char *version)
{
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = 0;
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    for (int installed = 0; slash && installed < 2; installed++) {
        glob_t found;
        if (snprintf(pattern, PATH_MAX, "%s/%s/loops-%s.so", folder,
                     installed ? "../lib/simrun" : "lib", version) >= PATH_MAX)
            continue;
        bool there = !glob(pattern, 0, NULL, &found);
        globfree(&found);
        if (there)
            return true;
    }
    return false;
}

/* What the compiler says its version is; empty: nothing. */
static void version_of(const struct arguments *words, char *version, size_t size)
{
    struct arguments question = *words;
    posix_spawn_file_actions_t actions;
    int ends[2], status;
    pid_t child;
    *version = 0;
    arguments_add(&question, "-dumpfullversion");
    if (question.count >= ARGUMENTS_MAX || pipe2(ends, O_CLOEXEC))
        return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    char *const *given = (char *const *)(uintptr_t)question.words;
    bool runs = !posix_spawnp(&child, question.words[0], &actions, NULL, given, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *answer = fdopen(ends[0], "r");
    if (answer && fgets(version, (int)size, answer))
        version[strspn(version, "0123456789.")] = 0;
    if (answer)
        fclose(answer);
    else
        close(ends[0]);
    while (runs && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

const char *compiler_loops(const struct arguments *words)
{
    static _Thread_local char option[PATH_MAX + 16];
    char path[PATH_MAX], version[64];
    if (!loops_pattern(path, "*"))
        return NULL;
    version_of(words, version, sizeof version);
    if (!*version || !loops_pattern(path, version))
        return NULL;
    snprintf(option, sizeof option, "-fplugin=%s", path);
    return option;
}

void compiler_loops_hash(struct hash *hash)
{
    char pattern[PATH_MAX];
    glob_t found;
    if (!loops_pattern(pattern, "*") || glob(pattern, 0, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat status;
        char real[PATH_MAX]; /* variants of one build folder have one plugin */
        hash_add_text(hash, realpath(found.gl_pathv[i], real) ? real : found.gl_pathv[i]);
        if (!stat(found.gl_pathv[i], &status))
            hash_add(hash, &status.st_mtim, sizeof status.st_mtim);
    }
    globfree(&found);
}

/* In a rule a backslash keeps a space or a #, and a dollar is written twice. The source, the first,
 * is left out: its text is hashed in any case, and clang writes a backslash in its name as a slash.
 */
bool compiler_headers(const char *rule, const char *list)
{
    FILE *in = fopen(rule, "re"), *out = in ? fopen(list, "we") : NULL;
    int c = in ? getc(in) : EOF;
    while (c != EOF && c != ':')
        c = getc(in);
    bool word = false, source = true;
    while (out && (c = getc(in)) != EOF) {
        bool kept = false;
        if (c == '\\') {
            int next = getc(in);
            kept = next == ' ' || next == '\t' || next == '#';
            if (kept)
                c = next;
            else if (next == '\n')
                c = ' ';
            else
                ungetc(next, in);
        } else if (c == '$') {
            getc(in);
        }
        bool separator = !kept && (c == ' ' || c == '\t' || c == '\n');
        if (!separator && !source)
            putc(c, out);
        else if (separator && word && !source)
            putc('\n', out);
        source = source && !(separator && word);
        word = !separator;
        if (c == '\n' && !kept)
            break;
    }
    bool good = out && !ferror(out);
    if (in)
        fclose(in);
    return out ? !fclose(out) && good : false;
}
