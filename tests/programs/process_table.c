/* What of a process a rank has for itself and what it shares, beside what own_process.c asks for: each row does something as only this rank
 * would, lets all others do the same, and looks at it again. Prints "NAME private" where every rank finds what it left, else "NAME shared";
 * "NAME refused" of what would end or stop all ranks. docs/libc.md has the same table. */
#define _GNU_SOURCE
#define _XOPEN_SOURCE 700
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <mpi.h>
#include <pthread.h>
#include <pwd.h>
#include <search.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static int rank, size;
static char mine[32]; /* a word that is this rank's */

static void turn(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void row(const char *name, int found)
{
    int all;
    MPI_Allreduce(&found, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %s\n", name, all ? "private" : "shared");
}

static void row_refused(const char *name, int refused)
{
    int all;
    MPI_Allreduce(&refused, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %s\n", name, all ? "refused" : "allowed");
}

/* A function whose result is a buffer of its own: it still holds this rank's. */
static void row_buffer(const char *name, const char *buffer)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s", buffer ? buffer : "");
    turn();
    row(name, buffer && !strcmp(buffer, copy));
}

static void buffers(void)
{
    row_buffer("strerror", strerror(1000 + rank));
    row_buffer("strsignal", strsignal(100 + rank));
    row_buffer("inet_ntoa", inet_ntoa((struct in_addr){(in_addr_t)rank + 1}));
    row_buffer("l64a", l64a(rank + 1));
    int place, sign;
    row_buffer("ecvt", ecvt(rank + 0.5, 5, &place, &sign));
    row_buffer("fcvt", fcvt(rank + 0.5, 5, &place, &sign));
    struct passwd *user = getpwnam(rank % 2 ? "daemon" : "root");
    row_buffer("getpwnam", user ? user->pw_name : NULL);
    row_buffer("nl_langinfo", nl_langinfo(CODESET));
}

static int entries;
static int count_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)walk;
    entries += kind == FTW_F && strstr(path, mine);
    return 0;
}

/* Everything that takes a path takes it from the rank's working directory. */
static void paths(void)
{
    struct stat status;
    struct statvfs space;
    char text[PATH_MAX] = "", name[64] = "made-XXXXXX";
    FILE *file = fopen(mine, "w");
    fputs(mine, file);
    fclose(file);
    turn();
    DIR *folder = opendir(".");
    int found = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        found += !strcmp(entry->d_name, mine);
    closedir(folder);
    row("opendir", found == 1);
    struct dirent **list;
    int count = scandir(".", &list, NULL, alphasort);
    row("scandir", count == 3);
    glob_t all;
    row("glob", !glob("w*", 0, NULL, &all) && all.gl_pathc == 1 && !strcmp(all.gl_pathv[0], mine));
    entries = 0;
    row("nftw", !nftw(".", count_entry, 8, 0) && entries == 1);
    row("symlink", !symlink(mine, "link") && readlink("link", text, sizeof text - 1) > 0 &&
                       !strcmp(text, mine));
    row("link", !link(mine, "other") && !stat("other", &status) && status.st_nlink == 2);
    row("lstat", !lstat("link", &status) && S_ISLNK(status.st_mode));
    row("remove", !remove("other") && !remove("link"));
    row("chmod", !chmod(mine, 0600 + (mode_t)(rank & 7)) && !stat(mine, &status) &&
                     (status.st_mode & 7) == (mode_t)(rank & 7));
    row("truncate", !truncate(mine, 1) && !stat(mine, &status) && status.st_size == 1);
    row("utimes", !utimes(mine, (struct timeval[]){{rank, 0}, {rank, 0}}) && !stat(mine, &status) &&
                      status.st_mtime == rank);
    row("statvfs", !statvfs(mine, &space));
    row("mkfifo", !mkfifo("pipe", 0600) && !unlink("pipe"));
    row("mkdtemp", mkdtemp(name) && !rmdir(name));
    strcpy(name, "made-XXXXXX");
    int made = mkstemp(name);
    row("mkstemp", made >= 0 && !close(made) && !unlink(name));
    char *here = get_current_dir_name();
    row("get_current_dir_name", here && strstr(here, mine));
    free(here);
    mode_t before = umask((mode_t)rank & 7);
    turn();
    file = fopen("masked", "w");
    mkdir("masked-folder", 0777);
    row("umask of fopen",
        !fstat(fileno(file), &status) && (status.st_mode & 7) == (6 & ~((mode_t)rank & 7)));
    row("umask of mkdir",
        !stat("masked-folder", &status) && (status.st_mode & 7) == (7 & ~((mode_t)rank & 7)));
    fclose(file);
    umask(before);
    file = tmpfile();
    fputs(mine, file);
    turn();
    rewind(file);
    row("tmpfile", fgets(text, sizeof text, file) && !strcmp(text, mine));
    fclose(file);
}

static int says(FILE *stream, const char *wanted)
{
    char line[PATH_MAX] = "";
    int good = stream && fgets(line, sizeof line, stream) && strstr(line, wanted);
    return stream && !pclose(stream) && good;
}

/* What a rank starts has what the rank has. */
static void children(void)
{
    char command[128];
    setenv("OWN", mine, 1);
    turn();
    row("popen", says(popen("pwd", "r"), mine));
    row("environment of popen", says(popen("echo $OWN", "r"), mine));
    snprintf(command, sizeof command, "test -e %s && test \"$OWN\" = %s", mine, mine);
    row("system", system(command) == 0);
    int found = 0;
    for (char **word = environ; word && *word; word++)
        found += !strncmp(*word, "OWN=", 4) && !strcmp(*word + 4, mine);
    row("environ", found == 1);
    pid_t child;
    char *words[] = {"sh", "-c", command, NULL};
    int status = -1;
    row("posix_spawnp", !posix_spawnp(&child, "sh", NULL, NULL, words, environ) &&
                            waitpid(child, &status, 0) == child && !status);
    status = -1;
    child = fork();
    if (child == 0) {
        execvp("sh", words);
        _exit(3);
    }
    row("fork and execvp", child > 0 && waitpid(child, &status, 0) == child && !status);
}

static volatile sig_atomic_t got;
static void handler(int number)
{
    got = number;
}

static void process(void)
{
    int pids[2] = {getpid(), -getpid()};
    MPI_Allreduce(MPI_IN_PLACE, pids, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    row("getpid", pids[0] != -pids[1]);
    signal(SIGUSR1, handler);
    got = 0;
    turn();
    if (rank == 1)
        kill(getpid(), SIGUSR1);
    turn();
    row("kill of oneself", (got == SIGUSR1) == (rank == 1));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(rank % 2 ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
    turn();
    sigprocmask(SIG_BLOCK, NULL, &set);
    row("sigprocmask", sigismember(&set, SIGUSR2) == rank % 2);
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigprocmask(SIG_BLOCK, NULL, &set);
    row_refused("blocking a crash", !sigismember(&set, SIGSEGV));
    row_refused("kill of others", kill(-1, 0) < 0 && kill(getppid(), 0) < 0 && errno == EPERM);
    pthread_key_t key;
    pthread_key_create(&key, NULL);
    pthread_setspecific(key, mine);
    turn();
    row("pthread_setspecific", pthread_getspecific(key) == mine);
    struct rlimit limit;
    getrlimit(RLIMIT_CORE, &limit);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 0;
    if (rank % 2)
        setrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    if (rank % 2 == 0)
        setrlimit(RLIMIT_CORE, &limit);
    turn();
    getrlimit(RLIMIT_CORE, &limit);
    row("setrlimit", limit.rlim_max == 0 ? 0 : (limit.rlim_cur == 0) == rank % 2);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_CORE, &limit);
    setlogmask(1 << (rank + 1));
    turn();
    row("setlogmask", setlogmask(0) == 1 << (rank + 1));
}

/* The time zone is read from the environment, into variables of libc's. */
static void zones(void)
{
    setenv("TZ", rank % 2 ? "EST5" : "UTC0", 1);
    tzset();
    turn();
    time_t noon = 12 * 3600;
    struct tm broken;
    row("tzset", localtime(&noon)->tm_hour == (rank % 2 ? 7 : 12));
    row("localtime_r", localtime_r(&noon, &broken) && broken.tm_hour == (rank % 2 ? 7 : 12));
    row("mktime", mktime(gmtime_r(&noon, &broken)) == noon + (rank % 2 ? 5 * 3600 : 0));
    row("timezone", timezone == (rank % 2 ? 5 * 3600 : 0));
    char text[32];
    strftime(text, sizeof text, "%Z", localtime(&noon));
    row("strftime", !strcmp(text, rank % 2 ? "EST" : "UTC"));
}

static void tables(void)
{
    int made = hcreate(16);
    ENTRY entry = {(char *)"key", mine}, *old;
    if (made)
        hsearch(entry, ENTER);
    turn();
    old = made ? hsearch(entry, FIND) : NULL;
    row("hsearch", old && old->data == mine);
}

static void descriptors(void)
{
    char text[64] = "";
    int lock = open("../lock", O_CREAT | O_RDWR, 0600);
    struct flock whole = {.l_type = F_WRLCK};
    int got_lock = 0, holders;
    for (int i = 0; i < size; i++, turn())
        if (i == rank)
            got_lock = !fcntl(lock, F_SETLK, &whole);
    MPI_Allreduce(&got_lock, &holders, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    row("locks of fcntl", holders == 1);
    got_lock = !flock(lock, LOCK_EX | LOCK_NB);
    MPI_Allreduce(&got_lock, &holders, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    row("flock", holders == 1);
    close(lock);
    FILE *file = fopen("input", "w");
    fputs(mine, file);
    fclose(file);
    int input = open("input", O_RDONLY), saved = dup(STDIN_FILENO);
    dup2(input, STDIN_FILENO);
    turn();
    row("dup2 on stdin", read(STDIN_FILENO, text, sizeof text - 1) > 0 && !strcmp(text, mine));
    dup2(saved, STDIN_FILENO);
    close(input);
    turn();
    FILE *again = freopen("input", "r", stdin);
    turn();
    memset(text, 0, sizeof text);
    row("freopen of stdin", again && fgets(text, sizeof text, stdin) && !strcmp(text, mine));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(mine, sizeof mine, "w%d", rank);
    if (chdir(argv[1]) || mkdir(mine, 0755) || chdir(mine))
        return 1;
    buffers();
    paths();
    children();
    process();
    zones();
    tables();
    descriptors();
    MPI_Finalize();
    return 0;
}
