#!/bin/sh
# What a process has for itself each rank has for itself (tests/programs/own_process.c), on fibers and on OS threads.
cd "$(dirname "$0")" || exit 1
while [ ! -e Makefile ]; do cd .. || exit 1; done
program=$PWD/tests/programs/own_process.c
waits=$PWD/tests/programs/waits.c
table=$PWD/tests/programs/process_table.c
last=$PWD/tests/programs/last_call.c
page=$PWD/docs/libc.md
bin=$(realpath "${BUILD:-build}")
# shellcheck source=tests/shell.sh
. "$(find tests -name shell.sh | head -1)"
unset CC
# run OPTIONS...: each in a folder of its own, which fills with what the ranks write
run() {
    rm -rf "$folder/files"
    mkdir "$folder/files"
    timeout 120 "$simrun" --db none "$@" "$program" "$(realpath "$folder/files")" >out 2>&1
}
echo "TAP version 13"
run -n 1
names=$(sed -n 's/ right$//p; s/ wrong$//p' out)
check "$([ "$(grep -c ' right$' out)" -ge 44 ] && ! grep -q ' wrong$' out && echo 0 || echo 1)" "one rank alone sees what a process sees"
for ways in "-n 4" "-n 4 --send rendezvous" "-n 4 --os-threads" "-n 4 --loader dlopen"; do
    # shellcheck disable=SC2086
    run $ways
    cp out said
    echo "$names" >names
    while IFS= read -r name; do
        grep -qx "$name right" said
        check $? "$ways: $name" said
    done <names
    [ "$(pwd)" = "$(realpath "$folder")" ]
    check $? "$ways: and the launcher is where it was" said
done
# The page's table says what is seen, line by line: 3 is the column of fibers, 4 that of OS threads.
for ways in "3 " "4 --os-threads"; do
    column=${ways%% *} option=${ways#* }
    awk -F ' *[|] *' -v column="$column" '/^\| [^-]/ && $2 != "what" { print $2 " " $column }' "$page" | sort >promised
    rm -rf "$folder/files"
    mkdir "$folder/files"
    # shellcheck disable=SC2086
    { timeout 120 "$simrun" --db none -n 4 $option "$table" "$(realpath "$folder/files")" && mkdir "$folder/files/2" &&
        timeout 120 "$simrun" --db none -n 4 $option "$program" "$(realpath "$folder/files/2")"; } >out 2>&1
    sed -n 's/ right$/ private/; s/ wrong$/ shared/; s/^\([^ ].*\) \(private\|shared\|refused\|allowed\)$/&/p' out | sort >seen
    [ "$(wc -l <seen)" -ge 90 ] && diff promised seen >differs
    if readelf -d "$simrun" | grep -q libasan; then
        count=$((count + 1))
        echo "ok $count - docs/libc.md on ${option:-fibers} # SKIP the address sanitizer has some functions of its own"
        continue
    fi
    check $? "docs/libc.md is true on ${option:-fibers}" differs
done
# What cannot be a rank's own is said to who uses it, and to nobody else: not to who only asks for it, nor for what the runtime of OpenMP does
# for itself as a large reduction begins.
cat >shared.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <syslog.h>
#include <unistd.h>
int main(int c, char **v)
{
    static double large[1 << 20], sum[1 << 20];
    int rank, size;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = c > 1 && rank == size - 1 ? v[1] : "";
    int file = open("own", O_RDWR | O_CREAT, 0600);
    struct flock lock = {.l_type = F_WRLCK};
    struct rlimit limit;
    struct itimerval timer = {{0, 0}, {0, 0}};
    sigset_t none, old;
    getrlimit(RLIMIT_CORE, &limit);
    setlogmask(0);
    sigemptyset(&none);
    sigprocmask(SIG_BLOCK, NULL, &old);
    fcntl(file, F_GETLK, &lock);
    lock.l_type = F_WRLCK;
#define IF(name, ...) if (!strcmp(what, name)) { __VA_ARGS__; }
    IF("getpid", getpid())
    IF("setrlimit", setrlimit(RLIMIT_CORE, &limit))
    IF("prlimit", prlimit(0, RLIMIT_CORE, &limit, NULL))
    IF("setlogmask", setlogmask(1))
    IF("hcreate", hcreate(10))
    IF("setenv", setenv("TZ", "UTC", 1))
    IF("putenv", putenv("TZ=UTC"))
    IF("fcntl", fcntl(file, F_SETLK, &lock))
    IF("lockf", lockf(file, F_TLOCK, 0))
    IF("sigprocmask", sigprocmask(SIG_BLOCK, &none, NULL))
    IF("pthread_sigmask", pthread_sigmask(SIG_BLOCK, &none, NULL))
    IF("dup2", dup2(file, 0))
    IF("freopen", if (!freopen("own", "r", stdin)) return 1)
    IF("alarm", alarm(0))
    IF("setitimer", setitimer(ITIMER_VIRTUAL, &timer, NULL))
    IF("chroot", if (chroot("/nowhere") == 0) return 1)
    close(file);
    MPI_Reduce(large, sum, 1 << 20, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
while read -r word says; do
    timeout 60 "$simrun" --db none -n 3 shared.c -- "$word" 2>&1 | tr -s '\n ' ' ' >out
    grep -q "^PASS.*not covered: $says" out
    check $? "$word cannot be a rank's own, which is said" out
done <<'END'
getpid getpid is the same on all ranks
setrlimit setrlimit changes all ranks
prlimit setrlimit changes all ranks
setlogmask setlogmask changes all ranks
hcreate the table of hcreate is that of all ranks
setenv TZ is the process's time zone
putenv TZ is the process's time zone
fcntl locks of fcntl and lockf do not keep ranks out
lockf locks of fcntl and lockf do not keep ranks out
sigprocmask sigprocmask changes all ranks
pthread_sigmask sigprocmask changes all ranks
dup2 another file as stdin is that of all ranks
freopen another file as stdin is that of all ranks
alarm alarm changes all ranks
setitimer setitimer changes all ranks
chroot chroot changes all ranks
END
for ways in "shared.c" "--os-threads shared.c -- sigprocmask"; do
    # shellcheck disable=SC2086
    timeout 60 "$simrun" --db none -n 3 $ways >out 2>&1 && grep -q '^PASS' out && ! grep -q 'not covered' out
    check $? "and to nobody else: $ways" out
done
# Waits are as long as in a process of its own, whatever the launcher asks meanwhile (tests/programs/waits.c).
program=$waits
for ways in "-n 1" "-n 3" "-n 2 --os-threads" "-n 2 --record none" "-n 2 --loader dlopen"; do
    # shellcheck disable=SC2086
    run $ways
    check "$([ "$(grep -c ' right$' out)" -eq 29 ] && ! grep -q ' wrong$' out && grep -q '^PASS' out && echo 0 || echo 1)" "$ways: every wait" out
done
# A function that the launcher calls may end with a jump into libc (tests/programs/last_call.c).
program=$last
for ways in "-n 2" "-n 2 --os-threads" "-n 2 --loader dlopen"; do
    case $BUILD in
    *clang*)
        check 0 "$ways: last calls # SKIP the runtime of clang is not the program's"
        continue
        ;;
    esac
    # shellcheck disable=SC2086
    run $ways
    check "$([ "$(grep -c ' right$' out)" -eq 6 ] && [ -e files/0/mark ] && [ -e files/1/mark ] && echo 0 || echo 1)" "$ways: last calls" out
done
echo "1..$count"
