#!/usr/bin/perl
# Buffers of operations under way: who touches them (B001), what shares their bytes (B002), and what
# reaches beyond its object (B006). Each wrong program has a right twin that differs in one word.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

# clang leaves out elements of arrays on the stack, and is told so at the end.
$ENV{CC} = 'gcc';
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();

my $start = <<'C';
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define W MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
static int sink;
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int r, n, a[4096], b[4096], m = 1000, counts[8], places[8];
    MPI_Request q = MPI_REQUEST_NULL, p = MPI_REQUEST_NULL;
    MPI_Datatype column, other;
    MPI_Comm_rank(W, &r);
    MPI_Comm_size(W, &n);
    for (int i = 0; i < 4096; i++) a[i] = b[i] = i;
    for (int i = 0; i < 8; i++) counts[i] = 2, places[i] = 2 * i;
    MPI_Type_vector(8, 1, 8, MPI_INT, &column);
    MPI_Type_vector(8, 2, 8, MPI_INT, &other);
    MPI_Type_commit(&column);
    MPI_Type_commit(&other);
    (void)q, (void)p, (void)m, (void)counts, (void)places;
C
my $end = <<'C';
    MPI_Type_free(&column);
    MPI_Type_free(&other);
    MPI_Finalize();
    return sink == 12345;
}
C

sub verdict {
    my ($name, $options, $body) = @_;
    open my $file, '>', "$folder/$name.c" or die;
    print $file $start, "#line 1 \"$name\"\n$body\n", $end;
    close $file;
    my $out = `timeout 120 '$simrun' --db none -n 2 $options $folder/$name.c 2>&1`;
    my %codes = map { $_ => 1 } $out =~ /^([A-Z]\d{3}) /mg;
    return (join(' ', sort keys %codes) || ($out =~ /^PASS/ ? 'OK' : $out), $out);
}

# name, options, program with {wrong|right} words, code, line of the access or ''
my $count = 0;
sub twin {
    my ($name, $options, $body, $code, $place, $note) = @_; # what is noted of the right twin, and folded into the wrong one's finding
    (my $wrong = $body) =~ s/\{\{(.*?)\|\|(.*?)\}\}/$1/gs;
    (my $right = $body) =~ s/\{\{(.*?)\|\|(.*?)\}\}/$2/gs;
    $count++;
    my ($found, $out) = verdict("w$count", $options, $wrong);
    is($found, $code, "$name: $code");
    like($out, qr/w$count:$place\b/, "$name: at its line") if $place;
    ($found) = verdict("r$count", $options, $right);
    is($found, $note // 'OK', "$name: its right twin passes");
}

my $pair = "if (r == 0) MPI_Isend(a, m, MPI_INT, 1, 0, W, &q); else MPI_Irecv(a, m, MPI_INT, 0, 0, W, &q);\n";
my $wait = "if (q != MPI_REQUEST_NULL) MPI_Wait(&q, IGNORE);\n";
my $wait_p = "if (p != MPI_REQUEST_NULL) MPI_Wait(&p, IGNORE);\n";
twin('a short reduction reads a pending receive', '', $pair . "MPI_Allreduce({{a||b}} + 2, counts, 2, MPI_INT, MPI_SUM, W);\n$wait", 'B002');
twin('blocks of a gather overlap', '', "MPI_Datatype o; MPI_Type_create_resized(other, 0, {{4||232}}, &o); MPI_Type_commit(&o);\nMPI_Gather(a, 16, MPI_INT, b, 1, o, 0, W);\nMPI_Type_free(&o);", 'B002', 2);
twin('a pending send is written', '--memory', $pair . "if (r == 0) {{a||b}}[999] = 1;\n$wait", 'B001', 2);
twin('a pending receive is written', '--memory', $pair . "if (r == 1) {{a||b}}[999] = 1;\n$wait", 'B001', 2);
twin('a pending receive is read', '--memory', $pair . "sink = {{r == 1||r == 0}} ? a[500] : 0;\n$wait", 'B001', 2);
twin('a pending receive is read by memcpy', '--memory', $pair . "if ({{r == 1||r == 0}}) memcpy(b, a, 8 * (size_t)n);\nsink = b[1];\n$wait", 'B001', 2);
twin('a pending receive is written by memset', '--memory', $pair . "memset(r == 1 ? {{a||b}} : b, 0, 16 * (size_t)n);\n$wait", 'B001', 2);
twin('a struct is copied from a pending receive', '--memory',
    "struct s { int x[64]; } *s = (void *)a, *t = (void *)b;\n$pair if ({{r||!r}}) *t = *s;\nsink = t->x[3];\n$wait", 'B001', 3);
twin('beside the bytes of a strided send', '--memory',
    "if (r == 0) MPI_Isend(a, 1, column, 1, 0, W, &q); else MPI_Irecv(a, 1, column, 0, 0, W, &q);\nif (r == 0) a[{{16||17}}] = 1;\n$wait", 'B001', 2);
twin('a strided send is changed, uninstrumented', '',
    "if (r == 0) MPI_Isend(a, 1, column, 1, 0, W, &q); else MPI_Irecv(a, 1, column, 0, 0, W, &q);\nif (r == 0) a[{{16||17}}] = 1;\n$wait", 'B001', 0);
twin('a long send is changed, uninstrumented', '', $pair . "if (r == 0) {{a||b}}[999] = 1;\n$wait", 'B001', 0);
twin('a freed send is written', '--memory',
    "if (r == 0) { MPI_Isend(a, m, MPI_INT, 1, 0, W, &q); MPI_Request_free(&q); }\n{{if (r == 0) a[5] = 1;||}}\nif (r == 1) MPI_Recv(a, m, MPI_INT, 0, 0, W, IGNORE);\nMPI_Barrier(W);\nif (r == 0) a[5] = 1;\n", 'B001', 2, 'L001');
twin('a matched receive is written', '--memory',
    "MPI_Message g; if (r == 0) MPI_Send(a, 4, MPI_INT, 1, 0, W); else { MPI_Mprobe(0, 0, W, &g, IGNORE); MPI_Imrecv(a, 4, MPI_INT, &g, &q); }\nif (r == 1) {{a||b}}[2] = 1;\n$wait", 'B001', 2);
twin('a started persistent receive is read', '--memory',
    "if (r == 0) MPI_Send_init(a, 4, MPI_INT, 1, 0, W, &q); else MPI_Recv_init(a, 4, MPI_INT, 0, 0, W, &q);\nsink = a[1];\nMPI_Start(&q);\nsink = r == 1 ? {{a||b}}[1] : 0;\nMPI_Wait(&q, IGNORE);\nsink = a[1];\nMPI_Request_free(&q);\n", 'B001', 4);
twin('both buffers of Sendrecv', '', "MPI_Sendrecv(a, 8, MPI_INT, 1 - r, 0, a + {{7||8}}, 8, MPI_INT, 1 - r, 0, W, IGNORE);", 'B002', 1);
twin('two receives share a byte', '',
    "if (r == 0) { MPI_Send(b, 8, MPI_INT, 1, 0, W); MPI_Send(b, 8, MPI_INT, 1, 0, W); }\nelse { MPI_Irecv(a, 8, MPI_INT, 0, 0, W, &q); MPI_Irecv(a + {{7||8}}, 8, MPI_INT, 0, 0, W, &p); }\n$wait$wait_p", 'B002', 2);
twin('a column within columns', '',
    "if (r == 0) { MPI_Send(b, 1, column, 1, 0, W); MPI_Send(b, 1, other, 1, 0, W); }\nelse { MPI_Irecv(a + {{1||2}}, 1, column, 0, 0, W, &q); MPI_Irecv(a, 1, other, 0, 0, W, &p); }\n$wait$wait_p", 'B002', 2);
twin('a block beside a pending column', '',
    "if (r == 0) { MPI_Send(b, 1, column, 1, 0, W); MPI_Send(b, 7, MPI_INT, 1, 0, W); }\nelse { MPI_Irecv(a, 1, column, 0, 0, W, &q); MPI_Recv(a + {{2||1}}, 7, MPI_INT, 0, 0, W, IGNORE); }\n$wait", 'B002', 2);
# Every nonblocking collective, both buffers, by a rank for which the buffer counts.
my @collectives = (
    ['Ibcast', 'a, 4, MPI_INT, 0', 1, '', 'a'],
    ['Iallreduce', 'b, a, 4, MPI_INT, MPI_SUM', 1, 'b', 'a'],
    ['Ireduce', 'b, a, 4, MPI_INT, MPI_SUM, 0', 0, 'b', 'a'],
    ['Iscan', 'b, a, 4, MPI_INT, MPI_SUM', 1, 'b', 'a'],
    ['Iexscan', 'b, a, 4, MPI_INT, MPI_SUM', 1, 'b', 'a'],
    ['Igather', 'b, 4, MPI_INT, a, 4, MPI_INT, 0', 0, 'b', 'a'],
    ['Iscatter', 'b, 4, MPI_INT, a, 4, MPI_INT, 0', 0, 'b', 'a'],
    ['Iallgather', 'b, 4, MPI_INT, a, 4, MPI_INT', 1, 'b', 'a'],
    ['Iallgatherv', 'b, 2, MPI_INT, a, counts, places, MPI_INT', 1, 'b', 'a'],
    ['Ialltoall', 'b, 2, MPI_INT, a, 2, MPI_INT', 1, 'b', 'a'],
    ['Ialltoallv', 'b, counts, places, MPI_INT, a, counts, places, MPI_INT', 1, 'b', 'a'],
    ['Ireduce_scatter_block', 'b, a, 2, MPI_INT, MPI_SUM', 1, 'b', 'a'],
    ['Ireduce_scatter', 'b, a, counts, MPI_INT, MPI_SUM', 1, 'b', 'a'],
);
for my $collective (@collectives) {
    my ($name, $arguments, $rank, $send, $receive) = @$collective;
    my $call = "MPI_$name($arguments, W, &q);\n";
    twin("$name, a receive buffer is written", '--memory', $call . "if (r == $rank) $receive\[{{1||100}}] = 3;\n$wait", 'B001', 2);
    twin("$name, a send buffer is written", '--memory', $call . "if (r == $rank) $send\[{{1||100}}] = 3;\n$wait", 'B001', 2) if $send;
}
twin('more than an allocated object', '',
    "int *x = malloc(100 * sizeof *x); memset(x, 0, 400);\nif (r == 0) MPI_Send(x, {{101||100}}, MPI_INT, 1, 0, W); else MPI_Recv(a, 101, MPI_INT, 0, 0, W, IGNORE);\nfree(x);", 'B006', 2);
twin('more than the memory of a window', '',
    "int *x; MPI_Win w; MPI_Win_allocate(400, 4, MPI_INFO_NULL, W, &x, &w);\nif (r == 0) MPI_Send(x + 60, {{41||40}}, MPI_INT, 1, 0, W); else MPI_Recv(a, 41, MPI_INT, 0, 0, W, IGNORE);\nMPI_Win_free(&w);", 'B006', 2);
twin('more than the rest of an object', '',
    "int *x = calloc(100, sizeof *x);\nMPI_Bcast(x + 60, {{41||40}}, MPI_INT, 0, W);\nfree(x);", 'B006', 2);
twin('what begins behind an allocated object', '',
    "int *x = malloc(100 * sizeof *x), from = {{100||99}}; MPI_Datatype t; memset(x, 0, 400);\nMPI_Type_create_indexed_block(1, 1, &from, MPI_INT, &t); MPI_Type_commit(&t);\nif (r == 0) MPI_Send(x, 1, t, 1, 0, W); else MPI_Recv(a, 1, MPI_INT, 0, 0, W, IGNORE);\nMPI_Type_free(&t); free(x);", 'B006', 3);
twin('what begins behind a variable', '',
    "static int x[100]; int from = {{100||99}}; MPI_Datatype t; memset(x, 0, 400);\nMPI_Type_create_indexed_block(1, 1, &from, MPI_INT, &t); MPI_Type_commit(&t);\nif (r == 0) MPI_Send(x, 1, t, 1, 0, W); else MPI_Recv(a, 1, MPI_INT, 0, 0, W, IGNORE);\nMPI_Type_free(&t);", 'B006', 3);
twin('a plane too many of a subarray', '',
    "enum { N = 6 }; float *u = calloc((N + {{0||1}}) * N * N, sizeof *u); int full[] = {N + 1, N, N}, sub[] = {1, 4, 4}, from[] = {N, 1, 1}; MPI_Datatype t;\nMPI_Type_create_subarray(3, full, sub, from, MPI_ORDER_C, MPI_FLOAT, &t); MPI_Type_commit(&t);\nif (r == 0) MPI_Send(u, 1, t, 1, 0, W); else MPI_Recv(u, 1, t, 0, 0, W, IGNORE);\nMPI_Type_free(&t); free(u);", 'B006', 3);
twin('displacements from one allocated object into another', '',
    "int *x = calloc(100, sizeof *x), *y = calloc(100, sizeof *y), one = 1; MPI_Aint from = (char *)(y + {{100||99}}) - (char *)x; MPI_Datatype t;\nMPI_Type_create_hindexed(1, &one, &from, MPI_INT, &t); MPI_Type_commit(&t);\nif (r == 0) MPI_Send(x, 1, t, 1, 0, W); else MPI_Recv(a, 1, MPI_INT, 0, 0, W, IGNORE);\nMPI_Type_free(&t); free(x); free(y);", 'B006', 3);
twin('displacements from a variable to its neighbours', '',
    "float x = 1; int y = 2; float z = 3; MPI_Aint at[3], from[3]; int ones[] = {1, 1, 1}; MPI_Datatype t, kinds[] = { {{MPI_INT||MPI_FLOAT}}, MPI_INT, MPI_FLOAT};\nMPI_Get_address(&x, at); MPI_Get_address(&y, at + 1); MPI_Get_address(&z, at + 2); for (int i = 0; i < 3; i++) from[i] = at[i] - at[0]; MPI_Type_create_struct(3, ones, from, kinds, &t); MPI_Type_commit(&t);\nMPI_Bcast(&x, 1, t, 0, W); MPI_Type_free(&t);\nfor (int i = 0; i < 3; i++) from[i] = at[i] - at[2]; MPI_Type_create_struct(3, ones, from, kinds, &t); MPI_Type_commit(&t); MPI_Bcast(&z, 1, t, 0, W); MPI_Type_free(&t);", 'M011', 3);
twin('displacements from an allocated object to others', '',
    "float *x = calloc(1, sizeof *x); int y = 2, *z = calloc(9, sizeof *z); MPI_Aint at[3], from[3]; int ones[] = {1, 1, 1}; MPI_Datatype t, kinds[] = { {{MPI_INT||MPI_FLOAT}}, MPI_INT, MPI_INT};\nMPI_Get_address(x, at); MPI_Get_address(&y, at + 1); MPI_Get_address(z, at + 2); for (int i = 0; i < 3; i++) from[i] = at[i] - at[0]; MPI_Type_create_struct(3, ones, from, kinds, &t); MPI_Type_commit(&t);\nMPI_Bcast(x, 1, t, 0, W); MPI_Type_free(&t);\nfor (int i = 0; i < 3; i++) from[i] = at[i] - at[2]; MPI_Type_create_struct(3, ones, from, kinds, &t); MPI_Type_commit(&t); MPI_Bcast(z, 1, t, 0, W); MPI_Type_free(&t); free(x); free(z);", 'M011', 3);
twin('a gather for everybody', '',
    "int *x = malloc({{1||2}} * 3 * sizeof *x);\nMPI_Gather(a, 3, MPI_INT, r ? NULL : x, 3, MPI_INT, 0, W);\nfree(x);", 'B006', 2);
SKIP: {
    skip 'needs clang', 1 if system('command -v clang >/dev/null');
    $ENV{CC} = 'clang';
    my (undef, $out) = verdict('by_clang', '--memory', $pair . "if (r == 0) b[999] = 1;\n$wait");
    like($out =~ s/\s+/ /gr, qr/not covered: .*elements of arrays on the stack/, 'what clang does not instrument is not covered');
}
# A program that was built before is not instrumented: no proof where a buffer outlives its call.
(my $simcc = $simrun) =~ s/simrun$/simcc/;
for my $case (['owned', $pair . $wait, 'PASS'], ['blocking', 'MPI_Barrier(W);', 'PROVEN']) {
    my ($name, $body, $word) = @$case;
    open my $file, '>', "$folder/built_$name.c" or die;
    print $file $start, $body, $end;
    close $file;
    system("'$simcc' -o $folder/built_$name $folder/built_$name.c");
    my $said = `timeout 120 '$simrun' prove -n 2..2 $folder/built_$name 2>&1`;
    like($said, qr/^$word /, "a built program, $name: $word");
    is(scalar($said =~ /built\s+before/), $word eq 'PASS' ? 1 : '', "a built program, $name: what is not covered");
}
done_testing;
