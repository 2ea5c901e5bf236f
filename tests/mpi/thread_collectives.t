#!/usr/bin/env perl
# Collectives of several threads of a rank: two at a time on one communicator are M006, one for each thread is right; and a rank that fails
# in the middle of a team takes nothing along with it.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
chdir scratch_folder() or die;

sub program {
    my ($name, $body) = @_;
    open my $out, '>', "$name.c" or die;
    print $out <<"END";
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, level, x = 0, alone = 0;
    volatile double busy = 0;
    MPI_Comm own[12];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 12; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        if (omp_get_num_threads() < 2)
            alone = 1;
        $body
        (void)me;
    }
    for (int i = 0; i < 12; i++)
        MPI_Comm_free(&own[i]);
    (void)x, (void)busy;
    if (alone)
        puts("alone");
    MPI_Finalize();
    return 0;
}
END
}

my %cases = (
    both => ['MPI_Barrier(MPI_COMM_WORLD);', 'M006'],
    apart => ['if (me) for (int i = 0; i < 60000000; i++) busy += i;
        MPI_Barrier(MPI_COMM_WORLD);', 'M006'], # one after the other, by chance
    many => ['if (me) for (int i = 0; i < 60000000; i++) busy += i;
        for (int i = me ? 11 : 0; i < 12; i++)
            MPI_Barrier(own[i]);', 'M006'],
    persistent => ['if (me) for (int i = 0; i < 60000000; i++) busy += i;
        MPI_Request request;
        MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);', 'M006'],
    persistents => ['MPI_Request request;
        MPI_Barrier_init(own[me], MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);', ''],
    mine => ['if (me) MPI_Barrier(MPI_COMM_SELF); else MPI_Barrier(MPI_COMM_WORLD);', ''],
    critical => ["\n#pragma omp critical\n        MPI_Barrier(MPI_COMM_WORLD);", ''],
    another => ['if (me) MPI_Barrier(MPI_COMM_WORLD); else MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);', 'M00[16]'],
    own => ['MPI_Barrier(own[me]);', ''],
    turns => ['if (me == 0) MPI_Barrier(MPI_COMM_WORLD);
#pragma omp barrier
        if (me == 1) MPI_Barrier(MPI_COMM_WORLD);', ''],
);
for my $name (sort keys %cases) {
    my ($body, $code) = @{$cases{$name}};
    program($name, $body);
    my $said = qx{SIMRUN_COLOR=never "$simrun" -n 3 --os-threads --db none $name.c 2>&1};
    if ($said =~ /^alone$/m) {
        pass "$name: a team of one"; # where simrun was built with clang
        next;
    }
    my %found = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
    like join(' ', keys %found), qr/^(?:$code)$/, "$name: " . ($code || 'right') or diag $said;
}
my $crashes = 0;
for (1 .. 25) {
    my $said = qx{"$simrun" -n 2 --os-threads --db none another.c 2>&1};
    $crashes++ if $said =~ /signal 11|X001|the process that ran the ranks/;
}
is $crashes, 0, 'threads that begin when their rank is gone end with it';
# Where errors come back, each thread is told what went wrong in its own call, many times over.
open my $mixed, '>', 'mixed.c' or die;
print $mixed <<'END';
#include <mpi.h>
#include <pthread.h>
static MPI_Comm comm;
static pthread_barrier_t both;
static void *barriers(void *unused)
{
    pthread_barrier_wait(&both);
    for (int i = 0; i < 300; i++)
        MPI_Barrier(comm);
    return unused;
}
static void *sums(void *unused)
{
    pthread_barrier_wait(&both);
    for (int i = 0; i < 300; i++) {
        int x = 1, sum;
        MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
    return unused;
}
int main(int argc, char **argv)
{
    int level;
    pthread_t threads[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&threads[0], NULL, barriers, NULL);
    pthread_create(&threads[1], NULL, sums, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
END
close $mixed;
SKIP: {
    skip "ThreadSanitizer starts a program's threads itself, and simrun does not see them", 2 if `nm -D '$simrun'` =~ /__interceptor_pthread_create$/m;
    my ($mixed_up, @codes);
    for (1 .. 20) { # the threads of one rank have to meet in time: nothing else tells that POSIX threads run side by side
        $mixed_up = qx{SIMRUN_COLOR=never "$simrun" -n 2 --os-threads --db none mixed.c 2>&1};
        @codes = $mixed_up =~ /^([A-Z]\d{3}) /mg;
        last if grep { $_ eq 'M006' } @codes;
    }
    like $mixed_up, qr/^FAIL mixed.c, 2 ranks: finished, /m, 'errors of two threads that come back' or diag $mixed_up;
    is "@codes", 'M006', 'and they are one finding';
}
# With MPI_THREAD_SERIALIZED, mutexes of the program's own may keep two threads apart: no finding, and no silence.
open my $out, '>', 'mutex.c' or die;
print $out <<'END';
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
int main(int argc, char **argv)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int rank, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num(), to = me, from;
        pthread_mutex_lock(&lock);
        MPI_Sendrecv(&to, 1, MPI_INT, 0, me, &from, 1, MPI_INT, 0, me, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&lock);
    }
    MPI_Finalize();
    return 0;
}
END
close $out;
open $out, '>', 'flag.c' or die;
print $out <<'END';
#include <mpi.h>
#include <omp.h>
int main(int argc, char **argv)
{
    int level, turn = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num(), seen = 0;
        while (seen != me) {
#pragma omp atomic read seq_cst
            seen = turn;
        }
        MPI_Barrier(MPI_COMM_WORLD);
#pragma omp atomic write seq_cst
        turn = me + 1;
    }
    MPI_Finalize();
    return 0;
}
END
close $out;
my $said = qx{"$simrun" prove -n 2 --db none mutex.c 2>/dev/null} =~ s/\s+/ /gr;
SKIP: {
    skip "teams of gcc's runtime alone are followed", 2 if `ldd '$simrun'` =~ /libomp/;
    like $said, qr/^PASS .*not covered:.*MPI_THREAD_SERIALIZED, which only mutexes of the program can keep apart \(M009\)/, 'what a mutex keeps apart is not covered';
    my $flagged = qx{"$simrun" prove -n 2 --db none flag.c 2>/dev/null} =~ s/\s+/ /gr;
    like $flagged, qr/^PASS .*not covered:.*collectives of two threads on one communicator, which only mutexes or atomic variables of the program can order/,
        'neither is what an atomic variable orders';
}
done_testing();
