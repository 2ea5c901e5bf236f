/* A rank that writes into whatever of its judge it can reach: reach WAY RANK [PATH], between two collectives. What it meant to hurt must be
 * as it was. */
#include "ways.h"

#include <dirent.h>

static const char *path;

/* Over all that the descriptors of a process lead to, terminals and the like left out. */
static int over_descriptors(pid_t process)
{
    char name[300], target[300];
    int hurt = 0;
    snprintf(name, sizeof name, "/proc/%d/fd", (int)process);
    DIR *folder = opendir(name);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat status;
        snprintf(target, sizeof target, "/proc/%d/fd/%.200s", (int)process, entry->d_name);
        int file = open(target, O_RDWR | O_NONBLOCK);
        if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode))
            hurt += ftruncate(file, 0) == 0;
        close(file);
    }
    if (folder)
        closedir(folder);
    return hurt;
}
static void own_files(void)
{
    over_descriptors(getpid());
}
static void judge_files(void)
{
    if (over_descriptors(getppid()))
        abort();
}
static void judge_memory(void)
{
    char name[64], line[512];
    unsigned long from;
    long byte;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)getppid());
    FILE *maps = fopen(name, "r");
    snprintf(name, sizeof name, "/proc/%d/mem", (int)getppid());
    int memory = open(name, O_RDWR);
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx", &from) == 1) {
            struct iovec mine = {&byte, sizeof byte}, theirs = {(void *)from, sizeof byte};
            if (process_vm_readv(getppid(), &mine, 1, &theirs, 1, 0) > 0 ||
                (memory >= 0 && pread(memory, &byte, sizeof byte, (off_t)from) > 0))
                abort();
        }
}
/* The object it was loaded from, cut short and spoilt. */
static void own_object(void)
{
    char line[1024], name[1024] = "";
    unsigned long from, to, here = (unsigned long)(uintptr_t)&own_object;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %1000s", &from, &to, name) == 3 && here >= from &&
            here < to)
            break;
    if (maps)
        fclose(maps);
    const char *object = name[0] == '/' ? name : path;
    int file = object ? open(object, O_RDWR) : -1;
    off_t end = file >= 0 ? lseek(file, 0, SEEK_END) : 0;
    for (off_t at = 0; at < end; at += 4096)
        if (pwrite(file, "spoilt", 6, at) < 0)
            break;
}
int main(int argc, char **argv)
{
    static const struct way ways[] = {WAY(own_files), WAY(judge_files), WAY(judge_memory),
                                      WAY(own_object)};
    path = argc > 3 ? argv[3] : NULL;
    return run(argc, argv, ways, sizeof ways / sizeof *ways);
}
