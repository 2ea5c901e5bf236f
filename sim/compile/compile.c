/* Compiling into a cache: see compile.h.
 *
 * Method, in two steps as no header is known before the compiler has run:
 *
 * - KEY.headers lists the headers of the last compilation of this source with this compiler and
 *   these flags; KEY is the hash of those three.
 * - NAME.so is the object; NAME is the hash of KEY and of the present content of those headers.
 *
 * A hit is a list whose NAME.so exists and is whole. After a compilation the object is renamed into place first
 * and the list second, so that a list never names what is not there; another job doing the same at
 * the same time writes the same. */
#include "sim/compile/compile.h"

#include "sim/base/hash.h"
#include "sim/compile/cache.h"
#include "sim/compile/cache_folder.h"
#include "sim/compile/compiler.h"
#include "sim/compile/libtool.h"
#include "sim/elf/image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const flags_compile[] = {"-fPIC",
                                            "-fno-plt", /* one page less to run through */
                                            "-O2",
                                            "-g",
                                            "-ffp-contract=off",
                                            "-fno-omit-frame-pointer",
                                            "-fno-optimize-sibling-calls", /* a last call has a
                                                                              place, too */
                                            "-fstack-clash-protection",    /* no frame steps over a
                                                                              guard */
                                            "-ftls-model=global-dynamic"};
/* A symbol of objects in which moves may be unseen. */
#define MOVES_UNSEEN "__simrun_moves_unseen"
/* What of libc is called from the program, so that the launcher sees it. */
#define ALWAYS(name) "-Wl,--wrap=" #name,
#define EXPANDED(name)
#define CALLED(name)
#define FORTRANS(name)
static const char *const flags_wrap[] = {
#include "sim/compile/wrapped.def"
};
#undef ALWAYS
#undef EXPANDED
#undef CALLED
#define ALWAYS(name)
#define EXPANDED(name) "-Wl,--wrap=" #name,
#define CALLED(name)   "-Wl,--wrap=" #name,
static const char *const flags_wrap_moves[] = {
#include "sim/compile/wrapped.def"
};
#undef EXPANDED
#undef CALLED
/* What of these the compiler expands by itself, it does not instrument. */
#define EXPANDED(name) "-fno-builtin-" #name,
#define CALLED(name)
static const char *const flags_seen[] = {
#include "sim/compile/wrapped.def"
};
#undef EXPANDED
#undef FORTRANS
#define EXPANDED(name)
#define FORTRANS(name) "-Wl,--wrap=" #name,
static const char *const flags_wrap_fortran[] = {
#include "sim/compile/wrapped.def"
};
/* A read whose value is never used is a read all the same, and a store that another follows is a
 * store: gcc drops them before it instruments. */
static const char *const flags_kept[] = {"-fno-tree-dce", "-fno-tree-dse"};
static const char *const flags_link[] = {"-shared", "-Wl,-z,noseparate-code,-z,norelro,-Bsymbolic"};

static _Thread_local bool compiler_was_run;

/* What compiles which sources. */
enum { C, CXX, FORTRAN };
static const struct language {
    const char *variable, *usual, *package; /* who compiles it */
    const char *suffixes;                   /* each between blanks */
} languages[] = {
    [C] = {"CC", "cc", "gcc", " .c "},
    [CXX] = {"CXX", "c++", "g++", " .cpp .cc .cxx .c++ .C .cp .CPP "},
    [FORTRAN] = {"FC", "gfortran", "gfortran",
                 " .f .for .ftn .f77 .f90 .f95 .f03 .f08 .F .FOR .F77 .F90 .F95 .F03 .F08 "}};

/* Everything about one compilation; `text` holds the words of $CC and of the source's own flags. */
struct job {
    const char *source;
    int language;
    bool part; /* of several: it is compiled, not linked */
    char real[PATH_MAX], compiler[PATH_MAX];
    struct cache_folder cache;
    char *text; /* the source */
    char *words;
    struct arguments compiler_words, own, arguments; /* what CC says, the source's own; all from
                                                        source to object */
    const char *include;                             /* NULL: none */
    bool memory;                                     /* instrumented */
    bool fortran_mpi;                                /* simfort compiles it */
    char key[HASH_TEXT], name[HASH_TEXT];
    struct failure *failure;
};

bool sim_compile_was_run(void)
{
    return compiler_was_run;
}

static bool holds(const char *folder, const char *relative)
{
    char path[PATH_MAX];
    int used = snprintf(path, sizeof path, "%s/%s", folder, relative);
    return used < (int)sizeof path && !access(path, R_OK);
}

/* Walks from the executable's folder towards the root. A build folder answers like an installed
 * tree: there is a folder with the public headers and nothing else, so that no name of ours can
 * hide one of the program's or the system's. */
const char *sim_compile_include(void)
{
    static _Thread_local char option[PATH_MAX + 32];
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    for (folder[length > 0 ? length : 0] = 0; strrchr(folder, '/');) {
        *strrchr(folder, '/') = 0;
        if (holds(folder, "include/simrun/mpi.h")) {
            snprintf(option, sizeof option, "-I%s/include/simrun", folder);
            return option;
        }
    }
    return NULL;
}

/* Splits text at white space, in place, and adds the words. */
static void words_add(struct arguments *arguments, char *text)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\r\n", &rest); word;
         word = strtok_r(NULL, " \t\r\n", &rest))
        arguments_add(arguments, word);
}

static int source_read(struct job *job)
{
    struct stat status;
    FILE *file = realpath(job->source, job->real) ? fopen(job->real, "re") : NULL;
    if (file && strchr(job->real, '\n')) { /* the compiler's list of headers has one a line */
        fclose(file);
        return failure_set(job->failure, FAILURE_INPUT,
                           "%s: a path with a line break cannot be compiled; rename it",
                           job->source);
    }
    if (!file || fstat(fileno(file), &status) || !S_ISREG(status.st_mode)) {
        failure_set(job->failure, FAILURE_INPUT, "%s: %s", job->source,
                    file ? "not a regular file" : strerror(errno));
        if (file)
            fclose(file);
        return FAILURE_INPUT;
    }
    size_t size = (size_t)status.st_size;
    job->text = malloc(size + 1);
    size = job->text ? fread(job->text, 1, size, file) : 0;
    fclose(file);
    if (!job->text)
        return failure_set(job->failure, FAILURE_INTERNAL, "%s: out of memory", job->source);
    job->text[size] = 0;
    return 0;
}

/* Is there a line of the form `#  pragma  omp`, or the operator, or the header? */
static bool says_openmp(const char *text)
{
    if (strstr(text, "_Pragma(\"omp ") || strstr(text, "include <omp.h>"))
        return true;
    for (const char *at = strstr(text, "pragma"); at; at = strstr(at + 1, "pragma")) {
        const char *before = at, *after = at + 6;
        while (before > text && (before[-1] == ' ' || before[-1] == '\t'))
            before--;
        while (*after == ' ' || *after == '\t')
            after++;
        if (before > text && before[-1] == '#' && !strncmp(after, "omp", 3))
            return true;
    }
    return false;
}

/* -1: it is none. */
static int language_of(const char *path)
{
    char wanted[16];
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    if (!dot || snprintf(wanted, sizeof wanted, " %s ", dot) >= (int)sizeof wanted)
        return -1;
    for (int i = C; i <= FORTRAN; i++)
        if (strstr(languages[i].suffixes, wanted))
            return i;
    return -1;
}

bool sim_compile_is_source(const char *path)
{
    return language_of(path) >= 0;
}

/* The modules and the functions for Fortran are simfort's affair. */
static bool calls_mpi_from_fortran(const struct job *job)
{
    return job->language == FORTRAN &&
           (strcasestr(job->text, "mpif.h") || strcasestr(job->text, "use mpi") ||
            strcasestr(job->text, "call mpi_"));
}

static int fortran_check(struct job *job)
{
    job->fortran_mpi = calls_mpi_from_fortran(job);
    if (!job->fortran_mpi || *compiler_simfort())
        return 0;
    return failure_set(
        job->failure, FAILURE_INPUT,
        "%s: calls MPI from Fortran; compile it with simfort (simfort -g -o program %s) and run "
        "the program",
        job->source, job->source);
}

/* The words of the compiler for the job; simfort's path may have blanks. */
static void compiler_add(struct job *job, char *words)
{
    if (job->fortran_mpi)
        arguments_add(&job->compiler_words, compiler_simfort());
    else
        words_add(&job->compiler_words, words);
    job->arguments = job->compiler_words;
}

static void link_flags_add(struct arguments *arguments, bool memory, bool simfort)
{
    arguments_add_all(arguments, flags_link, COUNT(flags_link));
    arguments_add_all(arguments, flags_wrap, COUNT(flags_wrap));
    if (memory)
        arguments_add_all(arguments, flags_wrap_moves, COUNT(flags_wrap_moves));
    if (memory && simfort)
        arguments_add_all(arguments, flags_wrap_fortran, COUNT(flags_wrap_fortran));
}

static bool words_clang(const struct arguments *arguments)
{
    bool clang = false;
    for (int i = 0; i < arguments->count; i++)
        clang |= compiler_is_clang(arguments->words[i]);
    return clang;
}

/* What gcc leaves as it was written; clang refuses the words. Two calls are two places: gcc makes one
 * of two that end alike, unless it is told not to. */
static void keep_written(struct arguments *arguments, bool seen)
{
    if (words_clang(arguments))
        return;
    arguments_add(arguments, "-fno-semantic-interposition"); /* as in an executable */
    arguments_add(arguments, "-fno-crossjumping");
    arguments_add(arguments, "-fno-tree-tail-merge");
    if (seen)
        arguments_add_all(arguments, flags_kept, COUNT(flags_kept));
}

/* gfortran does not take the words for it: what it expands is not seen, where it is of constant
 * size. */
static void seen_add(const struct job *job, struct arguments *arguments)
{
    if (job->language != FORTRAN)
        arguments_add_all(arguments, flags_seen, COUNT(flags_seen));
}

/* The compiler's words, then ours, then the source, then the source's own: libraries must follow
 * what needs them. */
static int arguments_set(struct job *job)
{
    const struct language *language = &languages[job->language];
    const char *compiler = compiler_words(language->variable, language->usual);
    const char *mark = "simrun: cflags:";
    const char *own = strstr(job->text, mark);
    int length = 0;
    if (own) {
        own += strlen(mark);
        length = (int)strcspn(own, "\n");
        const char *end = memmem(own, (size_t)length, "*/", 2);
        length = end ? (int)(end - own) : length;
    }
    size_t size = strlen(compiler) + 1 + (size_t)length + 1;
    job->words = malloc(size);
    if (!job->words)
        return failure_set(job->failure, FAILURE_INTERNAL, "%s: out of memory", job->source);
    char *own_words = job->words + strlen(compiler) + 1;
    snprintf(job->words, size, "%s", compiler);
    snprintf(own_words, (size_t)length + 1, "%.*s", length, own ? own : "");
    compiler_add(job, job->words);
    arguments_add_all(&job->arguments, flags_compile, COUNT(flags_compile));
    keep_written(&job->arguments, job->part && job->memory);
    if (job->part) {
        arguments_add(&job->arguments, "-c");
        if (job->memory) {
            seen_add(job, &job->arguments);
            arguments_add(&job->arguments, "-fsanitize=thread");
        }
    } else {
        link_flags_add(&job->arguments, job->memory, job->fortran_mpi);
    }
    if (says_openmp(job->text))
        arguments_add(&job->arguments, "-fopenmp");
    job->include = sim_compile_include();
    if (job->include)
        arguments_add(&job->arguments, job->include);
    arguments_add(&job->arguments, job->real);
    words_add(&job->own, own_words);
    arguments_add_all(&job->arguments, job->own.words, (size_t)job->own.count);
    if (!job->part)
        arguments_add(&job->arguments, "-lm");
    return job->compiler_words.count
               ? 0
               : failure_set(job->failure, FAILURE_USAGE, "%s is set to nothing but spaces",
                             language->variable);
}

/* Where execvp would find the compiler. */
static int compiler_find(struct job *job)
{
    const char *name = job->compiler_words.words[0], *paths = getenv("PATH");
    char candidate[PATH_MAX];
    if (strchr(name, '/'))
        paths = "";
    for (paths = paths ? paths : "/usr/bin:/bin"; paths;) {
        int length = (int)strcspn(paths, ":");
        int used = snprintf(candidate, sizeof candidate, "%.*s%s%s", length, paths,
                            length ? "/" : "", name);
        if (used < (int)sizeof candidate && !access(candidate, X_OK) &&
            realpath(candidate, job->compiler))
            return 0;
        paths = paths[length] ? paths + length + 1 : NULL;
    }
    return failure_set(job->failure, FAILURE_INPUT,
                       "%s: no compiler: %s is not found; install %s, or name one in %s",
                       job->source, name, languages[job->language].package,
                       languages[job->language].variable);
}

static int key_set(struct job *job)
{
    struct hash hash;
    struct stat status;
    if (stat(job->compiler, &status))
        return failure_set(job->failure, FAILURE_INPUT, "%s: %s", job->compiler, strerror(errno));
    hash_init(&hash);
    hash_add_text(&hash, job->compiler);
    hash_add(&hash, &status.st_size, sizeof status.st_size);
    hash_add(&hash, &status.st_mtim, sizeof status.st_mtim);
    for (int i = 0; i < job->arguments.count && i < ARGUMENTS_MAX; i++)
        hash_add_text(&hash, job->arguments.words[i]);
    hash_add_text(&hash, job->text);
    if (job->memory)
        hash_add_text(&hash, "instrumented, what it calls of libc as in wrapped.def, 3");
    for (size_t i = 0; job->memory && i < COUNT(flags_kept); i++)
        hash_add_text(&hash, flags_kept[i]);
    if (job->memory)
        compiler_loops_hash(&hash);
    if (job->fortran_mpi)
        hash_add_text(&hash, compiler_words("FC", "gfortran"));
    hash_text(&hash, job->key);
    return 0;
}

static void cache_path(const struct job *job, char out[PATH_MAX], const char *name,
                       const char *suffix)
{
    if (snprintf(out, PATH_MAX, "%s/%s%s", job->cache.path, name, suffix) >= PATH_MAX)
        out[0] = 0; /* cannot be: cache_folder_find left room */
}

/* Hashes the headers a list names, one path a line. False if the list or one of them cannot be
 * read. */
static bool name_set(struct job *job, const char *list)
{
    struct hash hash;
    FILE *file = fopen(list, "re");
    char line[PATH_MAX + 2];
    bool good = file;
    hash_init(&hash);
    hash_add_text(&hash, job->key);
    while (good && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        hash_add_text(&hash, line);
        good = !hash_add_file(&hash, line);
    }
    if (file)
        fclose(file);
    hash_text(&hash, job->name);
    return good;
}

/* Files of a compilation under way. */
enum { OBJECT, RULE, LIST, UNLINKED, TEMPORARIES };

static void rule_and_output(struct arguments *arguments, const char *rule, const char *output)
{
    const char *const words[] = {"-MMD", "-MF", rule, "-o", output};
    arguments_add_all(arguments, words, COUNT(words));
}

/* Fortran has headers only where it is preprocessed: then no rule tells of them. */
static bool rule_empty(const char *rule)
{
    FILE *file = fopen(rule, "we");
    bool good = file && fputs("fortran: source\n", file) >= 0;
    return file && !fclose(file) && good;
}

/* Where the compiler breaks, perhaps it is the plugin's fault. Without it, gcc says nothing of moves
 * by its own names, which it expands; clang makes calls of them. The object tells. */
static int compile_instrumented(struct job *job, const struct arguments *arguments)
{
    const char *const plugin[] = {compiler_loops(&job->compiler_words), "-pass-exit-codes"};
    struct arguments faster = *arguments, plain = *arguments;
    int status = FAILURE_INTERNAL;
    if (*plugin) {
        arguments_add_all(&faster, plugin, COUNT(plugin));
        status = compiler_run(job->compiler, &faster, job->source, job->failure);
    }
    if (!words_clang(arguments))
        arguments_add(&plain, "-Wa,--defsym," MOVES_UNSEEN "=1");
    return status == FAILURE_INTERNAL
               ? compiler_run(job->compiler, &plain, job->source, job->failure)
               : status;
}

/* Where the object goes, and the rule that tells of headers. */
static int output_add(const struct job *job, struct arguments *arguments, char files[][PATH_MAX],
                      int object)
{
    if (job->language != FORTRAN) {
        rule_and_output(arguments, files[RULE], files[object]);
        return 0;
    }
    const char *const words[] = {"-o", files[object]};
    arguments_add_all(arguments, words, COUNT(words));
    return rule_empty(files[RULE]) ? 0 : cache_folder_refuse(&job->cache, job->failure);
}

static int object_make(struct job *job, char files[][PATH_MAX])
{
    struct arguments arguments = job->arguments;
    int status = output_add(job, &arguments, files, OBJECT);
    if (status)
        return status;
    return job->memory ? compile_instrumented(job, &arguments)
                       : compiler_run(job->compiler, &arguments, job->source, job->failure);
}

/* In two steps, as the driver would link the sanitizer's own runtime. */
static int instrumented_make(struct job *job, char files[][PATH_MAX])
{
    struct arguments compile = job->compiler_words, link = job->arguments;
    arguments_add_all(&compile, flags_compile, COUNT(flags_compile));
    keep_written(&compile, true);
    seen_add(job, &compile);
    arguments_add_all(&compile, job->own.words, (size_t)job->own.count);
    if (says_openmp(job->text))
        arguments_add(&compile, "-fopenmp");
    if (job->include)
        arguments_add(&compile, job->include);
    const char *const rest[] = {"-fsanitize=thread", "-c", job->real};
    arguments_add_all(&compile, rest, COUNT(rest));
    int status = output_add(job, &compile, files, UNLINKED);
    status = status ? status : compile_instrumented(job, &compile);
    for (int i = 0; i < link.count; i++)
        if (link.words[i] == job->real)
            link.words[i] = files[UNLINKED];
    const char *const to_link[] = {"-o", files[OBJECT]};
    arguments_add_all(&link, to_link, COUNT(to_link));
    return status ? status : compiler_run(job->compiler, &link, job->source, job->failure);
}

/* Compiles under names of this process, then renames: object first, list second. */
static int cache_fill(struct job *job, const char *list, char object[PATH_MAX])
{
    char mine[TEMPORARIES][PATH_MAX], suffix[48];
    static const char *const kinds[TEMPORARIES] = {"so", "d", "headers", "o"};
    for (int i = 0; i < TEMPORARIES; i++) {
        snprintf(suffix, sizeof suffix, ".%ld-%lx.%s", (long)getpid(),
                 (unsigned long)(uintptr_t)job, kinds[i]);
        cache_path(job, mine[i], job->key, suffix);
    }
    int status = cache_folder_make(&job->cache, job->failure);
    if (!status)
        status = job->memory && !job->part ? instrumented_make(job, mine) : object_make(job, mine);
    if (!status && (!compiler_headers(mine[RULE], mine[LIST]) || !name_set(job, mine[LIST])))
        status = cache_folder_refuse(&job->cache, job->failure);
    cache_path(job, object, job->name, job->part ? ".o" : ".so");
    if (!status &&
        (!sim_cache_seal(mine[OBJECT]) || rename(mine[OBJECT], object) || rename(mine[LIST], list)))
        status = cache_folder_refuse(&job->cache, job->failure);
    for (int i = 0; i < TEMPORARIES; i++)
        unlink(mine[i]);
    if (!status)
        sim_cache_prune(job->cache.path, object);
    return status;
}

static int compile_source(struct job *job, char object[PATH_MAX])
{
    char list[PATH_MAX];
    int status = source_read(job);
    status = status ? status : fortran_check(job);
    status = status ? status : cache_folder_find(&job->cache, job->failure);
    status = status ? status : arguments_set(job);
    status = status ? status : compiler_find(job);
    status = status ? status : key_set(job);
    if (status)
        return status;
    cache_path(job, list, job->key, ".headers");
    if (name_set(job, list)) {
        cache_path(job, object, job->name, job->part ? ".o" : ".so");
        if (sim_cache_is_whole(object)) {
            sim_cache_touch(list);
            sim_cache_touch(object);
            return 0;
        }
    }
    compiler_was_run = true;
    return cache_fill(job, list, object);
}

static int compile_one(const char *path, bool part, bool memory, char object[PATH_MAX],
                       struct failure *failure)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return failure_set(failure, FAILURE_INTERNAL, "%s: out of memory", path);
    job->source = path;
    job->part = part;
    job->memory = memory;
    job->language = language_of(path);
    job->failure = failure;
    int status = compile_source(job, object);
    free(job->text);
    free(job->words);
    free(job);
    return status;
}

/* Several sources: each becomes an object in the cache, and so does what they are linked to. */
struct program {
    char objects[SIM_COMPILE_SOURCES][PATH_MAX];
    bool uses[FORTRAN + 1], openmp, memory, fortran_mpi;
    char options[1024]; /* the sources' own */
};

/* What the objects are linked with depends on the sources: their own words, and OpenMP. */
static void note_options(struct program *program, const char *path)
{
    struct failure ignored = {0};
    struct job job = {.source = path, .language = language_of(path), .failure = &ignored};
    if (!source_read(&job)) {
        const char *own = strstr(job.text, "simrun: cflags:");
        size_t used = strlen(program->options);
        size_t length = own ? strcspn(own, "\n*") : 0;
        program->openmp |= says_openmp(job.text);
        program->fortran_mpi |= calls_mpi_from_fortran(&job);
        if (length > 15)
            snprintf(program->options + used, sizeof program->options - used, " %.*s",
                     (int)length - 15, own + 15);
    }
    free(job.text);
}

/* The languages' own libraries come with the driver of the one that has most of them. */
static int link_all(struct program *program, const char *const *paths, int count,
                    char object[PATH_MAX], struct failure *failure)
{
    struct job job = {.source = paths[0], .fortran_mpi = program->fortran_mpi, .failure = failure};
    job.language = program->uses[FORTRAN] ? FORTRAN : program->uses[CXX] ? CXX : C;
    const struct language *language = &languages[job.language];
    char *words = strdup(compiler_words(language->variable, language->usual));
    int status = words ? cache_folder_find(&job.cache, failure)
                       : failure_set(failure, FAILURE_INTERNAL, "%s: out of memory", paths[0]);
    if (!status) {
        compiler_add(&job, words);
        link_flags_add(&job.arguments, program->memory, job.fortran_mpi);
        if (program->openmp)
            arguments_add(&job.arguments, "-fopenmp");
        for (int i = 0; i < count; i++)
            arguments_add(&job.arguments, program->objects[i]);
        words_add(&job.arguments, program->options);
        if (job.language == FORTRAN && program->uses[CXX])
            arguments_add(&job.arguments, "-lstdc++");
        arguments_add(&job.arguments, "-lm");
        job.text = strdup("");
        status = compiler_find(&job);
    }
    status = status ? status : key_set(&job);
    if (!status) {
        char mine[PATH_MAX], suffix[48];
        cache_path(&job, object, job.key, ".so");
        snprintf(suffix, sizeof suffix, ".%ld.so", (long)getpid());
        cache_path(&job, mine, job.key, suffix);
        if (!sim_cache_is_whole(object)) {
            const char *const output[] = {"-o", mine};
            arguments_add_all(&job.arguments, output, COUNT(output));
            status = compiler_run(job.compiler, &job.arguments, paths[0], failure);
            if (!status && (!sim_cache_seal(mine) || rename(mine, object)))
                status = cache_folder_refuse(&job.cache, failure);
            unlink(mine);
        }
        if (!status)
            sim_cache_touch(object);
    }
    free(job.text);
    free(words);
    return status;
}

static int compile_several(const char *const *paths, int count, bool memory, char object[PATH_MAX],
                           struct failure *failure)
{
    if (count > SIM_COMPILE_SOURCES)
        return failure_set(
            failure, FAILURE_USAGE,
            "%d sources are too many for one command line, which takes %d; build the "
            "program with simcc",
            count, SIM_COMPILE_SOURCES);
    struct program *program = calloc(1, sizeof *program);
    int status =
        program ? 0 : failure_set(failure, FAILURE_INTERNAL, "%s: out of memory", paths[0]);
    for (int i = 0; i < count && !status; i++) {
        bool ran = compiler_was_run;
        program->memory = memory;
        status = compile_one(paths[i], true, memory, program->objects[i], failure);
        compiler_was_run |= ran;
        if (!status) {
            program->uses[language_of(paths[i])] = true;
            note_options(program, paths[i]);
        }
    }
    status = status ? status : link_all(program, paths, count, object, failure);
    free(program);
    return status;
}

int sim_compile_all(const char *const *paths, int count, bool memory, char *out, size_t size,
                    struct failure *failure)
{
    char object[PATH_MAX];
    const char *path = paths[0];
    int status = 0;
    compiler_was_run = false;
    if (count > 1 || sim_compile_is_source(path)) {
        status = count > 1 ? compile_several(paths, count, memory, object, failure)
                           : compile_one(path, false, memory, object, failure);
        path = object;
    } else if (libtool_program(path, object)) {
        path = object;
    }
    if (!status && snprintf(out, size, "%s", path) >= (int)size)
        status = failure_set(failure, FAILURE_INTERNAL, "%s: path too long", path);
    return status;
}

int sim_compile(const char *path, char *out, size_t size, struct failure *failure)
{
    return sim_compile_all(&path, 1, false, out, size, failure);
}

static bool file_says(const char *object, const char *text)
{
    struct image image;
    struct failure ignored = {0};
    if (image_open(&image, object, &ignored))
        return false;
    bool found = memmem(image.file, image.file_size, text, strlen(text)) != NULL;
    image_release(&image);
    return found;
}

bool sim_compiled_by_clang(const char *object)
{
    return file_says(object, "clang version");
}

bool sim_compiled_moves_unseen(const char *object)
{
    return file_says(object, MOVES_UNSEEN);
}

bool sim_compiled_instrumented(const char *object)
{
    return file_says(object, "__tsan_func_entry") && !file_says(object, "libtsan.so");
}
