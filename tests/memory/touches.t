#!/usr/bin/perl
# Whatever touches memory of a window that another rank accesses (B003), and whatever touches the buffers of one-sided operations
# and messages under way (B001, B002): statements, functions, libc, threads, and calls of MPI that touch memory themselves. Right twins
# beside wrong ones, both lines named. A sample; ALL=1 runs every one, PATTERN=... those of that name.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc'; # clang leaves out elements of arrays on the stack
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
my ($pattern, $turn, $some) = ($ENV{PATTERN} // '', 0, 61);

# How memory at m is touched: r reads, w writes, u both; what it needs before main.
my %ways;
for (grep { /\S/ } split /\n/, <<'TABLE') {
load | r | token = m[0];
store | w | m[0] = 4;
increment | w | m[0]++;
alias | w | int *p = m + 4; int **pp = &p; (*pp)[-4] = 5;
pointers | w | int *ps[2] = {spare, m}; for (int i = 0; i < 2; i++) *ps[i] = 7;
function | r | token = rd(m); | static int __attribute__((noinline)) rd(const int *p) { return p[0]; }
nested functions | w | w2(m); | static void w1(int *p) { *p = 3; } static void w2(int *p) { w1(p); }
function pointer | w | void (*fn)(int *) = w1; fn(m); | static void w1(int *p) { *p = 3; }
recursion | w | down(m + 3, 3); | static void down(int *p, int n) { if (n == 0) *p = 9; else down(p - 1, n - 1); }
global pointer | w | kept = m; store(); | static int *kept; static void store(void) { kept[0] = 3; }
memcpy from | r | memcpy(spare, m, 8);
memcpy to | w | memcpy(m, spare, 8);
memset | w | memset(m, 0, 8);
memcmp | r | token = memcmp(m, spare, 8);
field | w | ((struct s *)m)->a = 3; | struct s { int a; double d; };
structure | r | struct s t = *(struct s *)m; token = t.a; | struct s { int a, b, c, d; };
bits | w | ((struct b *)m)->y = 3; | struct b { unsigned x : 5, y : 7; };
a byte | w | ((char *)m)[2] = 3;
loop | r | for (int i = 0; i < 8; i++) token += m[i];
nested loops | w | for (int i = 0; i < 2; i++) for (int j = 0; j < 4; j++) m[4 * i + j] += i + j + 1;
backwards | w | for (int *p = m + 7; p >= m; --p) *p = 0;
condition | r | if (m[0] > 100) token = 3;
switch | r | switch (m[0]) { case 0: token = 1; break; default: token = 2; }
printf | r | printf("%d\n", m[0]);
qsort | w | qsort(m, 8, sizeof(int), cmp); | static int cmp(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }
sprintf | w | sprintf((char *)m, "%d", 3);
thread | w | pthread_t t; pthread_create(&t, NULL, run, m); pthread_join(t, NULL); | #include <pthread.h>~static void *run(void *p) { *(int *)p = 3; return NULL; }
team | w | ~#pragma omp parallel for~for (int i = 0; i < 8; i++) m[i] = i; | #include <omp.h>
Pack | r | char bytes[16]; int at = 0; MPI_Pack(m, 1, MPI_INT, bytes, 16, &at, MPI_COMM_SELF);
Unpack | w | int at = 0; MPI_Unpack(spare, 8, &at, m, 1, MPI_INT, MPI_COMM_SELF);
Pack_external | r | char bytes[16]; MPI_Aint at = 0; MPI_Pack_external("external32", m, 1, MPI_INT, bytes, 16, &at);
Unpack_external | w | MPI_Aint at = 0; MPI_Unpack_external("external32", spare, 8, &at, m, 1, MPI_INT);
Reduce_local | w | MPI_Reduce_local(spare, m, 1, MPI_INT, MPI_SUM);
Reduce_local's first | r | MPI_Reduce_local(m, spare, 1, MPI_INT, MPI_SUM);
Send | r2 | MPI_Sendrecv(m, 1, MPI_INT, 0, 0, spare, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
Receive | w2 | MPI_Sendrecv(spare, 1, MPI_INT, 0, 0, m, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
Replace | w2 | MPI_Sendrecv_replace(m, 1, MPI_INT, 0, 0, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
Allreduce | w2 | MPI_Allreduce(spare, m, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
Allreduce in place | w2 | MPI_Allreduce(MPI_IN_PLACE, m, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
Allreduce of its own | r2 | MPI_Allreduce(m, spare, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
Allgather | w2 | MPI_Allgather(spare, 2, MPI_INT, m, 2, MPI_INT, MPI_COMM_SELF);
Bcast | r2 | MPI_Bcast(m, 1, MPI_INT, 0, MPI_COMM_SELF);
TABLE
    my ($name, $mode, $code, $before) = split /\s*\|\s*/, $_, 4;
    $ways{$name} = [$mode, "{ $code }" =~ s/~/\n/gr, ($before // '') =~ s/~/\n/gr];
}

# What is under way on o: its code, r or w, how it ends; `open` and `close` around all.
my %under;
for (grep { /\S/ } split /\n/, <<'TABLE') {
Put | MPI_Put(o, 2, MPI_INT, 1, 8, 2, MPI_INT, win); | r
Get | MPI_Get(o, 2, MPI_INT, 1, 8, 2, MPI_INT, win); | w
Accumulate | MPI_Accumulate(o, 2, MPI_INT, 1, 8, 2, MPI_INT, MPI_SUM, win); | r
Get_accumulate | MPI_Get_accumulate(o, 2, MPI_INT, z, 2, MPI_INT, 1, 8, 2, MPI_INT, MPI_SUM, win); | r
Get_accumulate's result | MPI_Get_accumulate(z, 2, MPI_INT, o, 2, MPI_INT, 1, 8, 2, MPI_INT, MPI_SUM, win); | w
Get_accumulate of nothing | MPI_Get_accumulate(NULL, 0, MPI_INT, o, 2, MPI_INT, 1, 8, 2, MPI_INT, MPI_NO_OP, win); | w
Fetch_and_op | MPI_Fetch_and_op(o, z, MPI_INT, 1, 8, MPI_SUM, win); | r
Fetch_and_op's result | MPI_Fetch_and_op(z, o, MPI_INT, 1, 8, MPI_SUM, win); | w
Compare_and_swap | MPI_Compare_and_swap(o, z, z + 1, MPI_INT, 1, 8, win); | r
Compare_and_swap's comparison | MPI_Compare_and_swap(z, o, z + 1, MPI_INT, 1, 8, win); | r
Compare_and_swap's result | MPI_Compare_and_swap(z, z + 1, o, MPI_INT, 1, 8, win); | w
Put of a vector | MPI_Put(o, 1, vec, 1, 8, 2, MPI_INT, win); | r
Get of a vector | MPI_Get(o, 1, vec, 1, 8, 2, MPI_INT, win); | w
Rput | MPI_Rput(o, 2, MPI_INT, 1, 8, 2, MPI_INT, win, &req); | r | wait
Rget | MPI_Rget(o, 2, MPI_INT, 1, 8, 2, MPI_INT, win, &req); | w | wait
Raccumulate | MPI_Raccumulate(o, 2, MPI_INT, 1, 8, 2, MPI_INT, MPI_SUM, win, &req); | r | wait
Rget_accumulate | MPI_Rget_accumulate(z, 2, MPI_INT, o, 2, MPI_INT, 1, 8, 2, MPI_INT, MPI_SUM, win, &req); | w | wait
Isend | MPI_Isend(o, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, &req); | r | message
Irecv | MPI_Irecv(o, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, &req); | w | message
TABLE
    my ($name, $code, $mode, $ends) = split /\s*\|\s*/, $_, 4;
    $under{$name} = [$code, $mode, $ends // ''];
}
my $all_locked = ['MPI_Win_lock_all(0, win); if (rank == 0) {', '} MPI_Win_unlock_all(win);'];
my %ends = (
    fence => ['MPI_Win_fence(0, win); if (rank == 0) {', '} MPI_Win_fence(0, win); if (rank == 0) {', '}'],
    unlock => ['if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);', 'MPI_Win_unlock(1, win);', '}'],
    unlock_all => ['MPI_Win_lock_all(0, win); if (rank == 0) {', '} MPI_Win_unlock_all(win); if (rank == 0) {', '}'],
    flush => [$all_locked->[0], 'MPI_Win_flush(1, win);', $all_locked->[1]],
    flush_all => [$all_locked->[0], 'MPI_Win_flush_all(win);', $all_locked->[1]],
    flush_local => [$all_locked->[0], 'MPI_Win_flush_local(1, win);', $all_locked->[1]],
    flush_local_all => [$all_locked->[0], 'MPI_Win_flush_local_all(win);', $all_locked->[1]],
    complete => ['if (rank == 1) { MPI_Win_post(from, 0, win); MPI_Win_wait(win); } if (rank == 0) { MPI_Win_start(to, 0, win);',
        'MPI_Win_complete(win);', '}'],
    wait => [$all_locked->[0], 'MPI_Wait(&req, MPI_STATUS_IGNORE);', $all_locked->[1]],
    message => ['if (rank == 1) { MPI_Sendrecv(z, 2, MPI_INT, 0, 0, z + 4, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); } if (rank == 0) {
OTHER', 'MPI_Wait(&req, MPI_STATUS_IGNORE);', 'MPI_Wait(&other, MPI_STATUS_IGNORE); }'],
);

sub judge {
    my ($name, $expected, $before, $body) = @_;
    my $file = "$folder/case.c";
    my $text = <<"C";
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
$before
int main(int argc, char **argv)
{
    int rank, *base, zero = 0, one = 1, token = 0, z[8] = {1, 2, 3}, spare[8] = {0}, *o = calloc(8, sizeof(int));
    MPI_Request req, other;
    MPI_Win win;
    MPI_Group all, from, to;
    MPI_Datatype vec;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &zero, &from);
    MPI_Group_incl(all, 1, &one, &to);
    MPI_Type_vector(2, 1, 2, MPI_INT, &vec);
    MPI_Type_commit(&vec);
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int i = 0; i < 16; i++)
        base[i] = i;
    (void)token, (void)z, (void)spare, (void)req, (void)other;
    MPI_Barrier(MPI_COMM_WORLD);
$body
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&vec);
    MPI_Group_free(&all);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    free(o);
    MPI_Win_free(&win);
    MPI_Finalize();
    return token == 12345;
}
C
    open my $out, '>', $file or die;
    print $out $text;
    close $out;
    my $said = `timeout 120 '$simrun' prove -n 2 $file 2>&1`;
    my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
    my @lines = split /\n/, $text;
    my @unnamed = $expected eq 'PROVEN' ? () : grep { $lines[$_ - 1] =~ m{// named$} && $said !~ /case\.c:$_\b/ } 1 .. @lines;
    is((join(' ', sort keys %codes) || ($said =~ /^(PASS|PROVEN)/m)[0] // $said) . (@unnamed ? ", lines @unnamed not named" : ''),
        $expected, "$name: $expected") or diag($body);
}

# Every `some`-th, and those that were missed once.
my $once = qr/(?:Pack|Unpack|Reduce_local|Allreduce|Replace).* of a window, wrong|comparison, (?:store|memset|Replace),.*wrong|(?:Irecv|Isend), (?:Pack|Unpack|Reduce_local|Replace)/;
my %missed;
sub chosen {
    my ($name) = @_;
    return $name =~ /$pattern/ if $pattern;
    return 1 if $ENV{ALL} || $turn++ % $some == 0;
    return $name =~ /$once/ && !$missed{($name =~ /^(\w+)/)[0]}++;
}

chdir $folder or die;
for my $way (sort keys %ways) {
    my ($mode, $code, $before) = @{ $ways{$way} };
    my $remote = $mode =~ /r/ ? 'MPI_Put(z, 1, MPI_INT, 1, 0, 1, MPI_INT, win);' : 'MPI_Get(z, 1, MPI_INT, 1, 0, 1, MPI_INT, win);';
    my $mark = $code =~ /\n/ || $before ? '' : ' // named';
    my $is = 'int *m = base; (void)m;';
    my %around = (fence => ['MPI_Win_fence(0, win);', 'MPI_Win_fence(0, win);', 'MPI_Win_fence(0, win);'],
        locks => ['MPI_Win_lock_all(0, win);', 'if (rank == 0) MPI_Win_flush(1, win); MPI_Barrier(MPI_COMM_WORLD);', 'MPI_Win_unlock_all(win);']);
    for my $by (sort keys %around) {
        my ($open, $between, $close) = @{ $around{$by} };
        judge("$way of a window, wrong in $by", 'B003', $before,
            "$open if (rank == 0) {\n$remote // named\n} if (rank == 1) { $is\n$code$mark\n} $close") if chosen("$way of a window, wrong in $by");
        judge("$way of a window, right in $by", 'PROVEN', $before,
            "$open if (rank == 0) {\n$remote\n} $between if (rank == 1) { $is\n$code\n} $close") if chosen("$way of a window, right in $by");
    }
}
my @plain = sort grep { !/wait|message/ } keys %ends;
my $next = 0;
for my $operation (sort keys %under) {
    my ($start, $side, $end) = @{ $under{$operation} };
    for my $way (sort keys %ways) {
        my ($mode, $code, $before) = @{ $ways{$way} };
        $end = $plain[$next++ % @plain] if $end !~ /wait|message/;
        my ($open, $over, $close) = @{ $ends{$end} };
        my $partner = $side eq 'r' ? 'MPI_Irecv' : 'MPI_Isend';
        $open =~ s/OTHER/$partner(z, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, &other);/;
        my $wrong = $side eq 'w' || $mode =~ /w/;
        my $expected = !$wrong ? 'PROVEN' : $mode =~ /2/ ? 'B002' : 'B001';
        my $mark = $code =~ /\n/ || $before ? '' : ' // named';
        my $is = 'int *m = o; (void)m;';
        my $word = $wrong ? 'wrong' : 'right';
        judge("$operation, $way, $end, $word", $expected, $before, "$open\n$start // named\n{ $is\n$code$mark\n}\n$over $close")
            if chosen("$operation, $way, $end, $word");
        judge("$operation, $way, $end, right behind", 'PROVEN', $before, "$open\n$start\n$over { $is\n$code\n}\n$close")
            if chosen("$operation, $way, $end, right behind");
    }
}
done_testing;
