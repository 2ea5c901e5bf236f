#!/usr/bin/perl
# Loops of instrumented programs run at their own speed where nothing can be an error, and tell their accesses where something can:
# loops of many shapes beside a buffer that an operation owns, and what each touches, element by element; how fast they are; and a
# compiler that breaks over the plugin.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Copy qw(copy);
use File::Glob qw(bsd_glob);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc';
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $simcc = dirname($simrun) . '/simcc';
my $own = dirname(abs_path($0));
my $folder = scratch_folder();
copy("$own/loops.c", "$folder/loops.c") or die;
chdir $folder or die;

my @plugins = bsd_glob(dirname($simrun) . '/lib/loops-*.so');

use constant { LENGTH => 400, WIDTH => 20 };

# What a shape reads and writes, as lists of bytes: [element, first byte, end].
sub all { map { [$_, 0, 8] } @_ }
sub own { my ($writes, @touched) = @_; $writes ? ([], \@touched) : (\@touched, []) }
my %touches = (
    (map { my $name = $_; $name => sub { my ($low, $high, $writes) = @_; own($writes, all($low .. $high - 1)) } }
        qw(up set down walk root bytes whole always calls far inwards)),
    thirds => sub { my ($low, $high, $writes) = @_; own($writes, all(grep { ($_ - $low) % 3 == 0 } $low .. $high - 1)) },
    until => sub {
        my ($low, $high, $writes) = @_; # and looks at each, and at the one behind
        my @look = all($low .. $high);
        (\@look, $writes ? [all($low .. $high - 1)] : []);
    },
    leaves => sub { my ($low, $high, $writes) = @_; own($writes, all($low .. int(($low + $high) / 2) - 1)) },
    even => sub { my ($low, $high, $writes) = @_; own($writes, all(grep { $_ % 2 == 0 } $low .. $high - 1)) },
    indirect => sub { my ($low, $high, $writes) = @_; own($writes, all(map { $_ * 3 % LENGTH } $low .. $high - 1)) },
    square => sub {
        my ($low, $high, $writes) = @_;
        own($writes, all(map { my $i = $_; map { $i * WIDTH + $_ } 5 .. 14 } int($low / WIDTH) .. int($high / WIDTH) - 1));
    },
    triangle => sub {
        my ($low, $high, $writes) = @_;
        own($writes, all(map { my $i = $_; map { $i * WIDTH + $_ } 0 .. $i - 1 } int($low / WIDTH) .. int($high / WIDTH) - 1));
    },
    columns => sub {
        my ($low, $high, $writes) = @_;
        own($writes, all(map { my $i = $_; map { $i * WIDTH + 2 * $_ } 0 .. 9 } int($low / WIDTH) .. int($high / WIDTH) - 1));
    },
    copy => sub {
        my ($low, $high, $writes) = @_;
        my @here = all($low .. $high - 1);
        my @there = all(map { $_ + LENGTH / 2 } $low .. $high - 1);
        $writes ? (\@there, \@here) : (\@here, \@there);
    },
    neighbours => sub {
        my ($low, $high, $writes) = @_;
        my $half = LENGTH / 2;
        my ($from, $to) = $writes ? ($half, 0) : (0, $half);
        ([all(map { ($_ + $from - 1, $_ + $from + 1) } $low + 1 .. $high - 2)], [all(map { $_ + $to } $low + 1 .. $high - 2)]);
    },
    step => sub { my ($low, $high, $writes) = @_; own($writes, all($low < $high ? $low .. $low + 3 : ())) },
    steps => sub { my ($low, $high, $writes) = @_; own($writes, all($low .. $low + 4 * int(($high - $low) / 4) - 1)) },
    switched => sub {
        my ($low, $high, $writes) = @_;
        own($writes, all(map { $_ % 3 == 0 ? $_ : $_ % 3 == 2 && $_ < $high - 1 ? $_ - 1 : () } $low .. $high - 1));
    },
    seconds => sub { my ($low, $high, $writes) = @_; own($writes, map { [$_, 4, 8] } $low .. $high - 1) },
    twice => sub {
        my ($low, $high, $writes) = @_;
        my $third = int(($high - $low) / 3);
        own($writes, all($low .. $low + $third - 1, $high - $third .. $high - 1));
    },
);
$touches{unsigned} = sub {
    my ($low, $high, $writes) = @_;
    my @touched;
    for (my $i = $low; $i < $high; $i += 3) { push @touched, $i }
    own($writes, all(@touched));
};

# An operation that reads its buffer minds writes; one that writes it minds both.
sub expected {
    my ($shape, $low, $high, $writes, $kind, $begin, $end) = @_;
    return '' if $kind eq 'none';
    my ($read, $written) = $touches{$shape}->($low, $high, $writes);
    my $columns = $kind =~ /^column/;
    my %owned = map { $_ => 1 } grep { !$columns || ($_ - $begin) % 4 == 0 } $begin .. $end - 1;
    my @minded = $kind =~ /send/ ? @$written : (@$written, @$read);
    return (grep { $owned{ $_->[0] } } @minded) ? 'B001' : '';
}

# Where the buffer lies: before, at the first element, within, at the last, behind, around; then ranges of loops.
my @cases;
my $turn = 0;
for my $shape (sort keys %touches) {
    for my $range ([40, 160], [60, 66], [80, 80]) {
        my ($low, $high) = @$range;
        for my $where ([$low - 2, $low], [$low - 1, $low + 1], [int(($low + $high) / 2), int(($low + $high) / 2) + 1], [$high - 1, $high + 1],
            [$high + 1, $high + 2], [$low - 10, $high + 10], [$low + 1, $high + 3], [$low + 201, $low + 203]) {
            for my $kind (qw(send recv columnsend columnrecv none)) {
                next if $kind eq 'none' && $where->[0] != $low - 2;
                for my $writes (0, 1) {
                    push @cases, [$shape, $low, $high, $writes, $kind, @$where, $turn++ % 2];
                }
            }
        }
    }
}
my $every = $ENV{ALL} ? 1 : $simrun =~ /address/ ? 31 : 17;
my ($run, $wrong, $found) = (0, 0, 0);
for my $i (grep { $_ % $every == 0 || $cases[$_][4] eq 'none' && $cases[$_][1] == 40 } 0 .. $#cases) {
    my @case = @{ $cases[$i] };
    my $said = `timeout 60 '$simrun' run --memory -n 2 loops.c @case 2>&1`;
    my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
    my $got = join ' ', sort grep { /^B/ } keys %codes; # what nobody sends with is told, too
    my $expected = expected(@case[0 .. 6]);
    $run++;
    $found += $expected ne '';
    next if $got eq $expected && $said =~ /^rank 0: /m;
    diag("loops.c @case: '$got', expected '$expected'") if $wrong++ < 10;
}
is($wrong, 0, "$run loops beside a buffer: what they touch of it is found, and nothing else");
cmp_ok($found, '>', $run / 10, "and in $found of them there was something");

# An operation that begins within a loop, however it comes to be called: what is touched after that counts.
open my $begins, '>', 'begins.c' or die;
print $begins <<'END';
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
enum { LENGTH = 200 };
static double a[LENGTH], sum;
static MPI_Request request;
static void begin(void) { MPI_Irecv(a + 150, 10, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request); }
static void (*volatile pointed)(void) = begin;
static __attribute__((noinline)) void inside(int deep) { if (deep) inside(deep - 1); else begin(); }
static int compare(const void *x, const void *y) { if (request == MPI_REQUEST_NULL) begin(); return *(const char *)x - *(const char *)y; }
static void sorted(void) { char two[2] = {2, 1}; qsort(two, 2, 1, compare); }
static void by_team(void) {
#pragma omp parallel num_threads(2)
#pragma omp master
    begin();
}
#define RUN(name, starts) \
    static __attribute__((noinline)) void name(int from, int to) \
    { \
        for (int i = 0; i < LENGTH; i++) { \
            if (i == 100) \
                starts; \
            if (i >= from && i < to) \
                sum += a[i]; /* no checksum tells of a read */ \
        } \
    }
RUN(directly, MPI_Irecv(a + 150, 10, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request))
RUN(pointed_at, pointed())
RUN(deep, inside(3))
RUN(sorting, sorted())
RUN(team, by_team())
static void (*const runs[])(int, int) = {['d'] = directly, ['p'] = pointed_at, ['i'] = deep, ['s'] = sorting, ['t'] = team};
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    request = MPI_REQUEST_NULL;
    runs[(int)argv[1][0]](atoi(argv[2]), atoi(argv[3]));
    double sent[10] = {0};
    MPI_Send(sent, 10, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
END
close $begins;
for my $how (qw(directly pointed inside sorted team)) {
    my $looked = $how eq 'sorted' ? 's' : substr $how, 0, 1;
    for my $case ([10, 90, ''], [150, 151, 'B001'], [158, 170, 'B001'], [160, 200, '']) {
        my ($from, $to, $expected) = @$case;
        my $said = `'$simrun' run --memory -n 1 begins.c $looked $from $to 2>&1`;
        my %codes = map { $_ => 1 } $said =~ /^(B\d{3}) /mg;
        is(join(' ', sort keys %codes), $expected, "begun $how, then [$from, $to)" . ($expected ? ": $expected" : ''));
    }
}

# Threads of a team: silent where the rank's own thread runs the same code, which calls nothing unknown; else one that computes tells,
# as the rank may begin an operation meanwhile: here it does.
open my $teams, '>', 'teams.c' or die;
print $teams <<'END';
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
enum { LENGTH = 200 };
static double a[LENGTH], sum, large[1 << 16];
static MPI_Request request;
static volatile int reached, go;
static int from, to;
static void receive(void) { MPI_Irecv(a + 150, 10, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request); }
static void stop(int i) { if (i == 100) { reached = 1; while (!go); } }
static void let_go(void) { while (!reached); receive(); go = 1; }
static void team(void)
{
    receive();
#pragma omp parallel for num_threads(2) schedule(static, 5)
    for (int i = from; i < to; i++) a[i] = 1;
}
static void dynamic(void)
{
    receive();
#pragma omp parallel for num_threads(2) schedule(dynamic, 3)
    for (int i = from; i < to; i++) a[i] = 1;
}
static void meanwhile(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_num_threads() == 1)
        puts("alone");
    else if (omp_get_thread_num())
        for (int i = 0; i < LENGTH; i++) { stop(i); if (i >= from && i < to) sum += a[i]; }
    else
        let_go();
}
static void nested(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_num_threads() == 1)
        puts("alone");
    else if (omp_get_thread_num()) {
#pragma omp parallel num_threads(1)
        for (int i = 0; i < LENGTH; i++) { stop(i); if (i >= from && i < to) sum += a[i]; }
    } else
        let_go();
}
static void *apart(void *none)
{
#pragma omp parallel num_threads(1)
    for (int i = 0; i < LENGTH; i++) { stop(i); if (i >= from && i < to) sum += a[i]; }
    return none;
}
static void beside(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, apart, NULL);
    let_go();
    pthread_join(thread, NULL);
}
static void timed(void)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
#pragma omp parallel num_threads(2)
    for (int k = 0; k < 1000; k++)
#pragma omp for nowait
        for (int i = 0; i < 1 << 16; i++) large[i] = large[i] * .5 + 1;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    printf("took %ld\n", (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000);
}
static void (*const runs[])(void) = {['t'] = team, ['d'] = dynamic, ['m'] = meanwhile, ['n'] = nested, ['b'] = beside, ['x'] = timed};
int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    request = MPI_REQUEST_NULL;
    from = atoi(argv[2]);
    to = atoi(argv[3]);
    runs[(int)argv[1][0]]();
    if (request == MPI_REQUEST_NULL)
        receive();
    double sent[10] = {0};
    MPI_Send(sent, 10, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
END
close $teams;
for my $executor ('', '--os-threads') {
    for my $how (qw(team dynamic meanwhile nested beside)) {
        my $wrong = '';
        for my $case ([110, 140, ''], [150, 151, 'B001'], [157, 190, 'B001'], [160, 200, '']) {
            my ($from, $to, $expected) = @$case;
            my $letter = substr $how, 0, 1;
            my $said = `timeout 60 '$simrun' run $executor --memory -n 1 teams.c $letter $from $to 2>&1`;
            my %codes = map { $_ => 1 } $said =~ /^(B\d{3}) /mg;
            next if $said =~ /^alone/m; # simrun built with clang: a team has one thread where ranks are OS threads
            $wrong .= "[$from, $to): $said" if join(' ', sort keys %codes) ne $expected;
        }
        is($wrong, '', "threads $executor: $how: what they touch is found, and nothing else");
    }
}

# Moves by gcc's own names, which it expands where the size is constant: fortified headers and gfortran's strings are such.
open my $moves, '>', 'moves.c' or die;
print $moves <<'END';
#include <mpi.h>
#include <stdlib.h>
static char a[64], b[64], c[64];
static volatile int same;
int main(int argc, char **argv)
{
    int rank, receives = atoi(argv[3]);
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (receives)
        MPI_Irecv(a, 64, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, &request);
    else
        MPI_Isend(a, 64, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, &request);
    char *on = *argv[2] == 'a' ? a + 8 : c + 8;
    switch (atoi(argv[1])) {
    case 0: __builtin_memcpy(on, b, 3); break;
    case 1: __builtin_memmove(on, b, 7); break;
    case 2: __builtin_memset(on, 0, 16); break;
    case 3: __builtin_memcpy(on, "xy", 2); break;
    case 4: __builtin_mempcpy(on, b, 13); break;
    case 5: __builtin_memcpy(b, on, 13); break;
    case 6: same = __builtin_memcmp(b, on, 16) == 0; break;
    case 7: same = __builtin_memcmp(on, b, 3); break;
    }
    if (receives)
        MPI_Send(b, 64, MPI_BYTE, !rank, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(b, 64, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
END
close $moves;
my @missed;
for my $move (0 .. 7) {
    for my $on ('a', 'c') {
        for my $receives (0, 1) {
            my $said = `'$simrun' run --memory -n 2 moves.c $move $on $receives 2>&1`;
            my $expected = $on eq 'a' && ($receives || $move < 5) ? 1 : 0;
            push @missed, "$move $on $receives" if ($said =~ /^B001 /m ? 1 : 0) != $expected || $said =~ /does not compile/;
        }
    }
}
is("@missed", '', "moves by gcc's own names are seen") if @plugins; # nothing else tells them

# The same values, silent or telling.
my $differ = 0;
for my $shape (sort keys %touches) {
    for my $writes (0, 1) {
        my @case = ($shape, 40, 160, $writes, 'none', 0, 1, 0);
        my ($with, $without) = map { join '', sort grep { /^rank/ } `'$simrun' run $_ -n 2 loops.c @case 2>&1` } '--memory', '';
        $differ++ if $with ne $without || !$with;
    }
}
is($differ, 0, 'a loop computes the same instrumented');

# How fast: a sweep over a field, between messages and beside some that are under way.
open my $out, '>', 'sweep.c' or die;
print $out <<'END';
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
enum { N = 512, ROWS = N + 2 };
static void sweep(const double *a, double *b, int low, int high)
{
    for (int i = low; i < high; i++)
        for (int j = 1; j <= N; j++)
            b[i * ROWS + j] = .25 * (a[(i - 1) * ROWS + j] + a[(i + 1) * ROWS + j] + a[i * ROWS + j - 1] + a[i * ROWS + j + 1]);
}
int main(int argc, char **argv)
{
    double *a = calloc(ROWS * ROWS, 8), *b = calloc(ROWS * ROWS, 8);
    struct timespec begin, end;
    MPI_Init(&argc, &argv);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (int step = 0; step < 60; step++) {
        MPI_Request requests[2];
        int self = 0, count = argc > 1 ? 2 : 0;
        if (argc > 1) {
            MPI_Irecv(a, ROWS, MPI_DOUBLE, self, 0, MPI_COMM_WORLD, requests);
            MPI_Isend(a + N * ROWS, ROWS, MPI_DOUBLE, self, 0, MPI_COMM_WORLD, requests + 1);
        }
        sweep(a, b, 2, N + 1);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        sweep(a, b, 1, 2);
        double *swap = a;
        a = b;
        b = swap;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    printf("took %ld\n", (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000);
    MPI_Finalize();
}
END
close $out;
my ($headers) = map { chomp; -e "$_/include/gcc-plugin.h" } `gcc -print-file-name=plugin`;
my $wanted = $headers && !system('command -v g++ >/dev/null');
is(scalar @plugins, $wanted ? 1 : 0, 'there is a plugin for gcc where its headers and g++ are installed' . ($wanted ? '' : ': here they are not'));
# The best of three runs against the best of three plain ones; sanitized callbacks are slow, and so are all without the plugin.
sub is_fast {
    my ($name, @program) = @_;
    my %best;
    for (1 .. 3) {
        for my $options ('', '--memory') {
            my ($took) = `'$simrun' run -n 1 $options @program 2>&1` =~ /^took (\d+)/m;
            $best{$options} = $took if defined $took && ($best{$options} // $took) >= $took;
        }
    }
    my $ratio = $best{'--memory'} / $best{''};
    cmp_ok($ratio, '<', @plugins && $simrun !~ /address|thread/ ? 5 : 1000, sprintf '%s is %.1f times slower instrumented', $name, $ratio);
}
is_fast('a sweep between messages', 'sweep.c');
is_fast('a sweep beside messages', 'sweep.c', 'messages');
is_fast('a team', 'teams.c', 'x', 0, 0);

# Both threads find something at a time: once, each held what the other waited for.
my $ended = grep { `timeout 20 '$simrun' run --os-threads --memory -n 1 teams.c t 157 190 2>&1` =~ /^B001 /m } 1 .. 25;
is($ended, 25, '25 runs in which two threads of a rank find something at once end, and tell');

# A compiler that breaks over the plugin is asked once more without it; one of another version is not asked at all.
mkdir 'bin';
sub compiler {
    my ($name, $text) = @_;
    open my $script, '>', "bin/$name" or die;
    print $script "#!/bin/sh\n$text\nexec gcc \"\$@\"\n";
    close $script;
    chmod 0755, "bin/$name";
}
compiler('breaks', 'case "$*" in *-fplugin=*) echo broken >>breaks.txt; exit 4 ;; esac');
compiler('other', 'case "$*" in *-dumpfullversion*) echo 3.4.0; exit ;; *-fplugin=*) echo plugin >>other.txt ;; esac');
for my $name (qw(breaks other)) {
    local $ENV{CC} = "$folder/bin/$name";
    my $said = `'$simrun' run --memory -n 2 loops.c up 40 160 1 send 50 60 0 2>&1`;
    like($said, qr/^B001 /m, "$name: the program is compiled and looked at");
}
ok(!@plugins || -s 'breaks.txt', 'the first was given the plugin');
ok(!-e 'other.txt', 'the second was not');

# Without it, gcc says nothing of the moves that it expands by its own names: no word calls them looked at.
open my $moving, '>', 'moving.c' or die;
print $moving <<'END';
#include <mpi.h>
int main(int argc, char **argv)
{
    static double buffer[64];
    volatile double sum;
    double piece[4];
    MPI_Request request;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Irecv(buffer, 64, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
        __builtin_memcpy(piece, argc > 1 ? buffer : buffer + 1, sizeof piece);
        sum = piece[0] + piece[1];
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Send(buffer, 64, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return sum * 0;
}
END
close $moving;
my $gap = qr/not covered: .*moves by gcc's own names/s;
for my $name (qw(breaks other)) {
    local $ENV{CC} = "$folder/bin/$name";
    my $said = `'$simrun' prove -n 2 moving.c 2>&1`;
    unlike($said, qr/^PROVEN/m, "$name: a move that is not seen is not said to be right");
    like($said, $gap, '... what was not looked at is told');
    next if $name eq 'breaks'; # simcc asks once
    is(system("SIMCC_MEMORY=1 '$simcc' -o moving moving.c >simcc.txt 2>&1"), 0, '... simcc compiles it');
    like(`'$simrun' run --memory -n 2 ./moving 2>&1`, $gap, '... and its program tells the same');
}
SKIP: {
    skip 'no plugin', 2 if !@plugins;
    local $ENV{CC} = 'gcc';
    my $said = `'$simrun' prove -n 2 moving.c 2>&1`;
    like($said, qr/^B001 /m, 'with it the move is seen');
    unlike($said, $gap, '... and nothing said to be missing');
}
done_testing;
