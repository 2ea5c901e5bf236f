/* What a process has for itself, each rank must have: every row sets something to a value of its rank, lets all others do the same,
 * and looks at it again. Prints "NAME right" or "NAME wrong" for each. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <limits.h>
#include <locale.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static const char *folder;
static char own[PATH_MAX], text[PATH_MAX];

/* The others do theirs meanwhile, more than once. */
static void turn(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void row(const char *name, int right)
{
    int all;
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %s\n", name, all ? "right" : "wrong");
}

static const char *word(int number)
{
    static char words[8][32];
    static int next;
    char *here = words[next++ % 8];
    snprintf(here, 32, "w%d", number);
    return here;
}

static void environment(void)
{
    setenv("OWN", word(rank), 1);
    turn();
    row("setenv", getenv("OWN") && !strcmp(getenv("OWN"), word(rank)));
    row("secure_getenv", secure_getenv("OWN") && !strcmp(secure_getenv("OWN"), word(rank)));
    setenv("OWN", "other", 0);
    row("setenv kept", !strcmp(getenv("OWN"), word(rank)));
    snprintf(text, sizeof text, "PUT=%d", rank);
    putenv(text);
    turn();
    row("putenv", getenv("PUT") && atoi(getenv("PUT")) == rank);
    if (rank % 2)
        unsetenv("OWN");
    turn();
    row("unsetenv", !getenv("OWN") == rank % 2);
    row("what nobody set", !getenv("NO_SUCH_VARIABLE") && getenv("PATH"));
    row("setenv refuses", setenv("A=B", "c", 1) < 0 && errno == EINVAL);
    if (rank == 0)
        clearenv();
    turn();
    row("clearenv", !getenv("PATH") == (rank == 0));
}

static int has_text(const char *path, const char *wanted)
{
    char found[64] = "";
    FILE *file = fopen(path, "r");
    int good = file && fgets(found, sizeof found, file) && !strcmp(found, wanted);
    if (file)
        fclose(file);
    return good;
}

static void files(void)
{
    char now[PATH_MAX], real[PATH_MAX];
    struct stat status;
    snprintf(own, sizeof own, "%s/%d", folder, rank);
    int good = !mkdir(own, 0755) && !chdir(own);
    turn();
    row("chdir", good && getcwd(now, sizeof now) && !strcmp(now, own));
    FILE *file = fopen("here", "w");
    fputs(word(rank), file);
    fclose(file);
    turn();
    row("fopen", has_text("here", word(rank)));
    row("stat", !stat("here", &status) && status.st_size == (long)strlen(word(rank)));
    row("access", !access("here", R_OK));
    row("realpath", realpath("here", real) && !strncmp(real, own, strlen(own)));
    int made = open("made", O_CREAT | O_WRONLY, 0644);
    turn();
    row("open",
        made >= 0 && !access("made", F_OK) && !rename("made", "moved") && !access("moved", F_OK));
    row("mkdir", !mkdir("inner", 0700) && !rmdir("inner"));
    row("unlink", !unlink("moved") && access("moved", F_OK));
    close(made);
    int up = open("..", O_RDONLY | O_DIRECTORY);
    good = !fchdir(up);
    turn();
    row("fchdir", good && getcwd(now, sizeof now) && !strcmp(now, folder));
    snprintf(text, sizeof text, "%d/here", rank);
    row("openat", has_text(text, word(rank)));
    close(up);
    row("chdir refuses", chdir("no/such/folder") < 0 && errno == ENOENT);
    mode_t before = umask((mode_t)rank & 7);
    turn();
    made = open("masked", O_CREAT | O_WRONLY | O_EXCL, 0666);
    row("umask", umask((mode_t)rank & 7) == ((mode_t)rank & 7) && before != (mode_t)-1);
    snprintf(text, sizeof text, "mode-%d", rank);
    int moded = open(text, O_CREAT | O_WRONLY, 0777);
    row("umask at work",
        !fstat(moded, &status) && (status.st_mode & 7) == (7 & ~((unsigned)rank & 7)));
    umask(before);
    close(made);
    close(moded);
}

static void languages(void)
{
    const char *mine = rank % 2 ? "C.UTF-8" : "C";
    row("setlocale", setlocale(LC_CTYPE, mine) && !strcmp(setlocale(LC_CTYPE, NULL), mine));
    turn();
    row("setlocale later", !strcmp(setlocale(LC_CTYPE, NULL), mine));
    row("MB_CUR_MAX", (MB_CUR_MAX > 1) == rank % 2);
    row("setlocale refuses", !setlocale(LC_ALL, "no_SUCH.locale"));
    setlocale(LC_ALL, mine);
    turn();
    row("setlocale of all",
        !strcmp(setlocale(LC_ALL, NULL), mine) && localeconv()->decimal_point[0] == '.');
    setlocale(LC_ALL, "C");
    locale_t of_thread = newlocale(LC_ALL_MASK, mine, (locale_t)0), before = uselocale(of_thread);
    turn();
    row("uselocale", before == LC_GLOBAL_LOCALE && uselocale((locale_t)0) == of_thread);
    row("uselocale at work", (MB_CUR_MAX > 1) == rank % 2);
    setlocale(LC_ALL, rank % 2 ? "C" : "C.UTF-8");
    row("uselocale over setlocale", (MB_CUR_MAX > 1) == rank % 2);
    locale_t last = uselocale(LC_GLOBAL_LOCALE);
    turn();
    row("uselocale back", last == of_thread && uselocale((locale_t)0) == LC_GLOBAL_LOCALE &&
                              (MB_CUR_MAX > 1) == !(rank % 2));
    freelocale(of_thread);
    setlocale(LC_ALL, "C");
}

static void times(void)
{
    time_t day = 86400L * (rank + 1);
    struct tm *broken = gmtime(&day);
    turn();
    row("gmtime", broken->tm_mday == rank + 2);
    broken = localtime(&day);
    turn();
    row("localtime", broken->tm_yday == rank + 1);
    char *said = asctime(gmtime(&day)), copy[64];
    strcpy(copy, said);
    turn();
    row("asctime", !strcmp(said, copy));
    said = ctime(&day);
    strcpy(copy, said);
    turn();
    row("ctime", !strcmp(said, copy));
}

static void numbers(void)
{
    long first[3], again[3];
#define FAMILY(name, seed, draw)                                                                   \
    seed;                                                                                          \
    for (int i = 0; i < 3; i++, turn())                                                            \
        first[i] = (long)(draw);                                                                   \
    seed;                                                                                          \
    for (int i = 0; i < 3; i++)                                                                    \
        again[i] = (long)(draw);                                                                   \
    row(name, !memcmp(first, again, sizeof first))
    FAMILY("rand", srand((unsigned)rank), rand());
    FAMILY("random", srandom((unsigned)rank), random());
    FAMILY("drand48", srand48(rank), 1e9 * drand48());
    FAMILY("lrand48", srand48(rank), lrand48());
    FAMILY("mrand48", srand48(rank), mrand48());
}

static volatile sig_atomic_t got;
static void handler(int number)
{
    got = number;
}

static jmp_buf there;
static _Thread_local int local = 3;

static void flow(void)
{
    errno = rank + 1;
    turn();
    row("errno", errno == rank + 1);
    char words[32];
    snprintf(words, sizeof words, "%d,%d", rank, rank + 1);
    strtok(words, ",");
    turn();
    row("strtok", atoi(strtok(NULL, ",")) == rank + 1);
    local += rank;
    turn();
    row("thread-local", local == 3 + rank);
    fesetround(rank % 2 ? FE_UPWARD : FE_TONEAREST);
    turn();
    row("fesetround", fegetround() == (rank % 2 ? FE_UPWARD : FE_TONEAREST));
    fesetround(FE_TONEAREST);
    int back = setjmp(there);
    if (!back) {
        turn();
        longjmp(there, rank + 5);
    }
    row("longjmp", back == rank + 5);
    signal(SIGUSR1, rank ? SIG_IGN : handler);
    turn();
    raise(SIGUSR1);
    row("signal", (got == SIGUSR1) == (rank == 0));
    got = 0;
    struct sigaction action = {.sa_handler = rank % 2 ? handler : SIG_IGN};
    sigaction(SIGUSR2, &action, NULL);
    turn();
    raise(SIGUSR2);
    row("sigaction", (got == SIGUSR2) == rank % 2);
    optind = 1 + rank % 2;
    turn();
    row("optind", optind == 1 + rank % 2);
    optind = 1;
}

static void output(void)
{
    char found[64] = "", wanted[64], *path = NULL;
    int saved = dup(STDOUT_FILENO);
    if (asprintf(&path, "%s/out-%d", folder, rank) < 0)
        return;
    int file = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    turn();
    printf("rank %d\n", rank);
    fflush(stdout);
    turn();
    dup2(saved, STDOUT_FILENO);
    snprintf(wanted, sizeof wanted, "rank %d\n", rank);
    row("dup2 on stdout", pread(file, found, sizeof found - 1, 0) > 0 && !strcmp(found, wanted));
    close(file);
    close(saved);
    FILE *again = freopen(path, "w", stderr);
    fprintf(stderr, "error of %d\n", rank);
    fflush(stderr);
    turn();
    snprintf(wanted, sizeof wanted, "error of %d\n", rank);
    row("freopen of stderr", again && has_text(path, wanted));
    free(path);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    folder = argv[1];
    flow();
    numbers();
    times();
    languages();
    files();
    output();
    environment();
    MPI_Finalize();
    return 0;
}
