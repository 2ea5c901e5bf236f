#!/usr/bin/perl
# Ranks on all cores with one answer: scenarios, a farm of wildcards, and programs that end in the middle give
# the same trace, gradients and findings on one core, on two, three, sixteen and by default. FULL=1: every scenario.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
$ENV{SIMRUN_CACHE} ||= "$folder/cache";

# What a run says, without what depends on time: per number of ranks [trace hash, gradients], [verdict, codes].
sub answer {
    my ($options, $words) = @_;
    my (@exact, @verdict);
    for (`timeout 300 '$simrun' --json --db none $options $words 2>/dev/null`) {
        my ($hash) = /"trace_hash":"(\w+)"/ or next;
        my ($gradients) = /"gradients":(\[.*?\]),"findings"/;
        push @exact, "$hash " . ($gradients // '');
        my ($said) = /"verdict":"(\w+)"/;
        push @verdict, join ' ', $said, sort /"code":"([A-Z]\d{3})"/g;
    }
    return join("\n", @exact), join("\n", @verdict);
}

sub same_everywhere {
    my ($words, @numbers) = @_;
    my ($exact, $verdict) = answer('--cores 1', $words);
    isnt($exact, '', "$words: runs");
    # A program that touches a buffer under way, never waits, or writes beyond its memory says something else each time.
    my $races = $verdict =~ /B001|B006|L001/;
    $exact =~ s/ .*//mg if $races;
    for my $cores (map({ "--cores $_" } @numbers), '') {
        my ($other, $said) = answer($cores, $words);
        $other =~ s/ .*//mg if $races;
        ok($other eq $exact, "$words: the same trace and gradients with '$cores'");
        is($said, $verdict, "$words: and findings") unless $races;
    }
}

my $farm = "$folder/farm.c";
open my $file, '>', $farm or die;
print $file <<'C';
#include <mpi.h>
#include <stdio.h>
/* Wildcards, polls and uneven work: under OS threads as they come, every run is another. */
static double work(int n)
{
    double sum = 0;
    for (int i = 1; i < n * 500; i++)
        sum += 1.0 / i;
    return sum;
}
static unsigned farm(int ranks)
{
    unsigned order = 0;
    for (int open = ranks - 1, next = 0; open;) {
        MPI_Status from;
        double result;
        for (int there = 0; !there;)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &from);
        MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &from);
        order = order * 31 + (unsigned)from.MPI_SOURCE;
        int job = next < 40 ? next++ : -1;
        MPI_Send(&job, 1, MPI_INT, from.MPI_SOURCE, 0, MPI_COMM_WORLD);
        open -= job < 0;
    }
    return order;
}
int main(int argc, char **argv)
{
    int rank, ranks, job = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned order = rank ? 0 : farm(ranks);
    for (double result = 0; rank && job >= 0;) {
        MPI_Send(&result, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&job, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        result = job < 0 ? 0 : work((rank * 37 + job * 11) % 50);
    }
    MPI_Bcast(&order, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
C
close $file;
same_everywhere("-n $_ $farm", 2, 3, 16, 'all') for 2, 5, 17;

my ($name, @scenarios);
for (`'$simrun' list`) {
    if (/^(\S+)/) { push @scenarios, $name = $1 }
    elsif (/^  (:\S+)/) { push @scenarios, "$name$1" }
}
cmp_ok(scalar @scenarios, '>', 100, 'the scenarios are found');
my $step = $ENV{FULL} ? 1 : 48;
same_everywhere($scenarios[$_ * $step], 2, 3) for 0 .. $#scenarios / $step;
same_everywhere('mistakes:overflow', 2, 16);

# Ranks end in the middle, while others compute ahead of their turn: by return without Finalize, abort, exit, a crash. What they
# print comes in the order of one thread.
open $file, '>', "$folder/ends.c" or die;
print $file <<'C';
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile double sum;
static void work(int n)
{
    for (int i = 1; i < n * 20000; i++)
        sum += 1.0 / i;
}
int main(int argc, char **argv)
{
    int rank, ranks, got = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 0; round < 6; round++) {
        MPI_Request requests[2];
        MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % ranks, round, MPI_COMM_WORLD, &requests[0]);
        work((rank * 7 + round * 3) % 11);
        MPI_Isend(&rank, 1, MPI_INT, (rank + ranks - 1) % ranks, round, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        printf("rank %d round %d got %d\n", rank, round, got);
        work((rank * 5 + round) % 7);
        if (round == 3 && rank == ranks / 2) {
            if (!strcmp(argv[1], "abort"))
                MPI_Abort(MPI_COMM_WORLD, 3);
            if (!strcmp(argv[1], "exit"))
                exit(4);
            if (!strcmp(argv[1], "crash"))
                *(volatile int *)8 = 1;
            if (!strcmp(argv[1], "folder") && system("true") + setenv("A", "b", 1))
                return 1;
        }
        if (round == 3 && rank && !strcmp(argv[1], "crashes"))
            *(volatile int *)8 = 1;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!strcmp(argv[1], "return") && rank % 2)
        return 0;
    MPI_Finalize();
    return 0;
}
C
close $file;
for my $end (qw(well abort exit crash crashes folder return)) {
    same_everywhere("-n 6 $folder/ends.c $end", 2, 3, 16);
    my @printed = map { scalar `'$simrun' --db none --cores $_ -n 6 $folder/ends.c $end 2>&1 | grep '^rank . round'` } 1, 2, 16;
    ok($printed[0] && $printed[0] eq $printed[1] && $printed[1] eq $printed[2], "$end: prints the same lines in the same order");
}

# Locks that know their owner, and what belongs to a thread: such ranks stay on one.
open $file, '>', "$folder/owner.c" or die;
print $file <<'C';
#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    pthread_t me = pthread_self();
    pthread_key_t key;
    pthread_key_create(&key, NULL);
    pthread_setspecific(key, &wrong);
    for (int round = 0; round < 6; round++) {
        pthread_mutex_lock(&lock);
        double x = rank;
        for (int i = 0; i < 400000; i++)
            x = sin(x) + 1e-3 * i;
        MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        wrong += pthread_mutex_unlock(&lock) != 0 || !pthread_equal(me, pthread_self()) ||
                 pthread_getspecific(key) != &wrong;
    }
    printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return 0;
}
C
close $file;
for my $cores ('', '--cores 2') {
    my $owned = `timeout 100 '$simrun' --db none $cores -n 4 $folder/owner.c 2>&1`;
    is(scalar(() = $owned =~ /^rank \d: 0 wrong$/mg), 4, "a rank keeps its thread where its program asks for it ($cores)") or diag $owned;
}

# C++'s own library locks and has thread-locals, which go with the rank: an exception that is handled over calls of MPI is the same one
# behind them, and while one rank computes another one does.
SKIP: {
    skip 'needs c++', 6 if system('command -v c++ >/dev/null');
    open $file, '>', "$folder/thrown.cpp" or die;
    print $file <<'C';
#include <atomic>
#include <cstdint>
#include <iostream>
#include <mpi.h>
#include <new>
#include <stdexcept>
#include <string>
#ifdef THREAD
#include <thread>
#endif
static std::atomic<int> *inside;
static int met;
/* Until another one is in it, too, or for a while. */
static void compute()
{
    int rounds = 20000000;
    int meetings = inside[1];
    if (inside[0]++) {
        inside[1]++;
        met++;
    }
    while (inside[1] == meetings && --rounds)
        ;
    inside[0]--;
}
static int handle(int rank, int round)
{
    try {
        throw std::runtime_error(std::to_string(rank * 100 + round));
    } catch (const std::exception &outer) {
        compute();
        MPI_Barrier(MPI_COMM_WORLD);
        try {
            throw;
        } catch (const std::runtime_error &again) {
            compute();
            MPI_Barrier(MPI_COMM_WORLD);
            return again.what() != std::to_string(rank * 100 + round) || std::uncaught_exceptions() || &outer != &again;
        }
    }
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::intptr_t place = rank ? 0 : (std::intptr_t) new std::atomic<int>[2]();
    MPI_Bcast(&place, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    inside = (std::atomic<int> *)place;
#ifdef THREAD
    std::thread([] {}).join();
#endif
    for (int round = 0; round < 4; round++)
        wrong += handle(rank, round);
    MPI_Allreduce(MPI_IN_PLACE, &met, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    std::cout << "rank " << rank << ": " << wrong << " wrong, " << (met ? "met" : "alone") << std::endl;
    MPI_Finalize();
    if (!rank)
        delete[] inside;
}
C
    close $file;
    for my $way (['--cores 1', '', 'alone'], ['--cores 2', '', 'met'], ['--cores 2', '-DTHREAD', 'alone']) {
        my ($cores, $define, $how) = @$way;
        local $ENV{CXX} = "c++ $define";
        my $said = `timeout 100 '$simrun' --db none $cores -n 4 $folder/thrown.cpp 2>&1`;
        is(scalar(() = $said =~ /^rank \d: 0 wrong, $how$/mg), 4, "C++ on '$cores' $define: exceptions, and who computes") or diag $said;
    }
    same_everywhere("-n 4 $folder/thrown.cpp", 2);
}

# Memory from malloc lies elsewhere when others ask for some at the same time.
open $file, '>', "$folder/fresh.c" or die;
print $file <<'C';
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, count = 1000;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    volatile double sum = 0;
    for (int step = 0; step < 300; step++) {
        double *out = calloc((size_t)count, sizeof *out), *in = calloc((size_t)count, sizeof *in);
        MPI_Sendrecv(out, count, MPI_DOUBLE, (rank + 1) % ranks, 0, in, count, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int again = 0; again < 50; again++)
            for (int i = 0; i < count; i++)
                sum += in[i];
        free(out);
        free(in);
    }
    MPI_Finalize();
    return 0;
}
C
close $file;
same_everywhere("-n 4 $folder/fresh.c", 2, 3, 4) for 1 .. 3;

# What ranks compute behind calls that had nothing to wait for is computed side by side: two are in it at a time.
open $file, '>', "$folder/beside.c" or die;
print $file <<'C';
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static _Atomic int *inside;
static int met;
/* Until another one is in it, too, or for a while. */
static void compute(int step)
{
    int meetings = atomic_load(&inside[1]), rounds = 20000000;
    if (atomic_fetch_add(&inside[0], 1)) {
        atomic_fetch_add(&inside[1], 1);
        met += step > 2; /* by then it is known how starts come */
    }
    while (atomic_load(&inside[1]) == meetings && --rounds)
        ;
    atomic_fetch_sub(&inside[0], 1);
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, in[2] = {0}, out[2] = {1, 2};
    MPI_Request requests[4];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    intptr_t place = rank ? 0 : (intptr_t)calloc(2, sizeof *inside);
    MPI_Bcast(&place, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    inside = (void *)place;
    int up = rank ? rank - 1 : MPI_PROC_NULL, down = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    const char *way = argv[1];
    if (!strcmp(way, "persistent")) {
        MPI_Recv_init(&in[0], 1, MPI_INT, up, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Recv_init(&in[1], 1, MPI_INT, down, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Send_init(&out[0], 1, MPI_INT, up, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Send_init(&out[1], 1, MPI_INT, down, 0, MPI_COMM_WORLD, &requests[3]);
    }
    for (int step = 0; step < 6; step++) {
        if (!strcmp(way, "chain")) {
            MPI_Sendrecv(&out[0], 1, MPI_INT, up, 1, &in[1], 1, MPI_INT, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Sendrecv(&out[1], 1, MPI_INT, down, 0, &in[0], 1, MPI_INT, up, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compute(step);
            continue;
        }
        if (!strcmp(way, "persistent")) {
            MPI_Startall(4, requests);
            compute(step);
        } else {
            MPI_Irecv(&in[0], 1, MPI_INT, up, 0, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(&in[1], 1, MPI_INT, down, 1, MPI_COMM_WORLD, &requests[1]);
            if (!strcmp(way, "receives"))
                compute(step);
            MPI_Isend(&out[0], 1, MPI_INT, up, 1, MPI_COMM_WORLD, &requests[2]);
            MPI_Isend(&out[1], 1, MPI_INT, down, 0, MPI_COMM_WORLD, &requests[3]);
            if (!strcmp(way, "sends"))
                compute(step);
        }
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    int all;
    MPI_Allreduce(&met, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!rank)
        printf("%s\n", all ? "beside" : "one after the other");
    if (!strcmp(way, "persistent"))
        for (int i = 0; i < 4; i++)
            MPI_Request_free(&requests[i]);
    MPI_Finalize();
    return 0;
}
C
close $file;
SKIP: {
    skip 'sanitizers follow no rank from thread to thread', 10 if $simrun =~ /-(address|thread)/;
    for my $way ('chain 4', 'receives 2', 'receives 4', 'sends 2', 'persistent 3') {
        my ($name, $ranks) = split ' ', $way;
        for my $record ('', '--record none') {
            like(`timeout 100 '$simrun' --db none $record --cores 2 -n $ranks $folder/beside.c $name 2>&1`, qr/^beside$/m, "ranks compute side by side ($way ranks $record)");
        }
    }
}

# So is what they compute first of all, and behind a collective in which nobody had to wait, or all had to; whether the world began on all
# cores or was seen to compute. They share a file's page, since they have not told each other anything yet.
open $file, '>', "$folder/first.c" or die;
print $file <<'C';
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, all[8] = {0}, one = 0, met = 0, any = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *way = argv[1];
    _Atomic int *inside = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[2], O_RDWR), 0);
    if (!strcmp(way, "Bcast"))
        MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(way, "Scatter"))
        MPI_Scatter(all, 1, MPI_INT, &one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(way, "Gather"))
        MPI_Gather(&one, 1, MPI_INT, all, 1, MPI_INT, ranks - 1, MPI_COMM_WORLD);
    if (!strcmp(way, "Reduce"))
        MPI_Reduce(&rank, &one, 1, MPI_INT, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
    if (!strcmp(way, "Barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(way, "Allreduce"))
        MPI_Allreduce(&rank, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(way, "Alltoall"))
        MPI_Alltoall(all, 1, MPI_INT, all + 4, 1, MPI_INT, MPI_COMM_WORLD);
    met = atomic_fetch_add(&inside[0], 1) > 0;
    for (long rounds = 100000000; !met && rounds; rounds--)
        met = atomic_load_explicit(&inside[0], memory_order_relaxed) > 1;
    atomic_fetch_sub(&inside[0], 1);
    MPI_Allreduce(&met, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!rank)
        printf("%s\n", any ? "beside" : "one after the other");
    MPI_Finalize();
    return 0;
}
C
close $file;
SKIP: {
    my @ways = qw(Init Bcast Scatter Gather Reduce Barrier Allreduce Alltoall);
    skip 'sanitizers follow no rank from thread to thread', 4 * @ways if $simrun =~ /-(address|thread)/;
    for my $way (@ways) {
        for my $how ('', '--record none', '--cores 2', '--cores 2 --record none') {
            skip 'a machine of one core', 1 if $how !~ /cores/ && `nproc` < 2;
            open my $page, '>', "$folder/page" or die;
            print $page "\0" x 4096;
            close $page;
            like(`timeout 100 '$simrun' --db none $how -n 4 $folder/first.c $way $folder/page 2>&1`, qr/^beside$/m, "ranks compute side by side behind $way ($how)");
        }
        same_everywhere("-n 4 $folder/first.c $way $folder/page", 2, 3) if $way eq 'Init' || $way eq 'Bcast';
    }
}

my $refused = `'$simrun' --cores none ring 2>&1`;
like($refused, qr/--cores.*none.*a number from 1 on, or all/s, 'a wrong number of cores is refused');
done_testing;
