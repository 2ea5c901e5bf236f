#!/usr/bin/perl
# A buffer whose variable's block ended before the operation was complete (B001): lexical blocks, and functions whose calls the
# compiler put into their callers. Each wrong program has a right twin, in which the wait (or the variable) is one brace away. Both are
# judged as gcc makes them with -O0 and -O2, or as the arguments say.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

$ENV{CC} = 'gcc'; # clang gives calls of two blocks one place
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder or die;

my $start = <<'C';
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#define W MPI_COMM_WORLD
#define DONE MPI_STATUS_IGNORE
C
my $main = <<'C';
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int r, n, on;
    MPI_Request q = MPI_REQUEST_NULL, two[2];
    MPI_Comm_rank(W, &r);
    MPI_Comm_size(W, &n);
    int right = (r + 1) % n, left = (r + n - 1) % n, other[8] = {r}, here[8] = {r};
    (void)q, (void)two, (void)right, (void)left, (void)other, (void)on, (void)here;
C
my $end = "    MPI_Finalize();\n    return 0;\n}\n";

# Name, functions, body: W{…} is in the wrong program, R{…} in the right one.
my @cases = (
    ['block of a send', '', '{ int x[8] = {r}; MPI_Isend(x, 8, MPI_INT, right, 0, W, &q); R{MPI_Recv(other, 8, MPI_INT, left, 0, W, DONE); MPI_Wait(&q, DONE);} }
      W{MPI_Recv(other, 8, MPI_INT, left, 0, W, DONE); MPI_Wait(&q, DONE);}'],
    ['block of a receive', '', '{ int x[8]; MPI_Irecv(x, 8, MPI_INT, left, 0, W, &q); R{MPI_Send(other, 8, MPI_INT, right, 0, W); MPI_Wait(&q, DONE);} }
      W{MPI_Send(other, 8, MPI_INT, right, 0, W); MPI_Wait(&q, DONE);}'],
    ['one number', '', '{ int x; MPI_Irecv(&x, 1, MPI_INT, left, 0, W, &q); R{MPI_Send(other, 1, MPI_INT, right, 0, W); MPI_Wait(&q, DONE);} }
      W{MPI_Send(other, 1, MPI_INT, right, 0, W); MPI_Wait(&q, DONE);}'],
    ['branches that end alike', '', 'if (r % 2) { int x[8] = {1}; MPI_Isend(x, 8, MPI_INT, W, &q); R{MPI_Wait(&q, DONE);} } else { int y[8]; MPI_Irecv(y, 8, MPI_INT, W, &q); R{MPI_Wait(&q, DONE);} }
      W{MPI_Wait(&q, DONE);}'],
    ['an iteration', '', 'for (int k = 0; k < 3; k++) { { int x[8] = {k}; MPI_Isend(x, 8, MPI_INT, right, 0, W, &q); MPI_Recv(other, 8, MPI_INT, left, 0, W, DONE); R{MPI_Wait(&q, DONE);} }
      W{MPI_Wait(&q, DONE);} }'],
    ['block of a nonblocking collective', '', '{ int x[8] = {r}; MPI_Iallreduce(x, other, 8, MPI_INT, MPI_SUM, W, &q); R{MPI_Wait(&q, DONE);} } W{MPI_Wait(&q, DONE);}'],
    ['waits of two requests', '', '{ int x[8] = {r}; MPI_Isend(x, 8, MPI_INT, right, 0, W, two); MPI_Irecv(other, 8, MPI_INT, left, 0, W, two + 1); R{MPI_Waitall(2, two, MPI_STATUSES_IGNORE);} }
      W{MPI_Waitall(2, two, MPI_STATUSES_IGNORE);}'],
    ['a test until done', '', '{ int x[8]; MPI_Irecv(x, 8, MPI_INT, left, 0, W, &q); MPI_Send(other, 8, MPI_INT, right, 0, W); R{do MPI_Test(&q, &on, DONE); while (!on);} }
      W{do MPI_Test(&q, &on, DONE); while (!on);}'],
    ['a structure', 'struct two { int a, b[7]; };', '{ struct two x = {r, {0}}; MPI_Isend(x.b, 7, MPI_INT, right, 0, W, &q); MPI_Recv(other, 7, MPI_INT, left, 0, W, DONE); R{MPI_Wait(&q, DONE);} } W{MPI_Wait(&q, DONE);}'],
    ['a block within a block', '', '{ int x[8] = {r}; { int k = right; MPI_Isend(x, 8, MPI_INT, k, 0, W, &q); MPI_Recv(other, 8, MPI_INT, left, 0, W, DONE); } R{if (r >= 0) { MPI_Wait(&q, DONE); }} } W{MPI_Wait(&q, DONE);}'],
    ['a function of one caller', 'static void begin(int to, MPI_Request *q) { W{int x[8]; memset(x, 0, sizeof x);} R{static int x[8];} MPI_Isend(x, 8, MPI_INT, to, 0, W, q); }',
     'begin(right, &q); MPI_Recv(other, 8, MPI_INT, left, 0, W, DONE); MPI_Wait(&q, DONE);'],
    ['a function of two callers', 'static inline void begin(int from, MPI_Request *q, int *to) { W{int x[8]; (void)to;} R{int *x = to;} MPI_Irecv(x, 8, MPI_INT, from, 0, W, q); }',
     'begin(left, two, here); MPI_Send(other, 8, MPI_INT, right, 0, W); MPI_Wait(two, DONE); begin(left, &q, here); MPI_Send(other, 8, MPI_INT, right, 0, W); MPI_Wait(&q, DONE);'],
    ['a wait in a function of its own', 'static void end(MPI_Request *q) { MPI_Wait(q, DONE); }',
     '{ int x[8] = {r}; MPI_Isend(x, 8, MPI_INT, right, 0, W, &q); MPI_Recv(other, 8, MPI_INT, left, 0, W, DONE); R{end(&q);} } W{end(&q);}'],
    ['a persistent request', '', '{ int x[8] = {r}; MPI_Send_init(x, 8, MPI_INT, right, 0, W, &q); MPI_Start(&q); MPI_Recv(other, 8, MPI_INT, left, 0, W, DONE); R{MPI_Wait(&q, DONE);} } W{MPI_Wait(&q, DONE);} MPI_Request_free(&q);'],
    ['a case of a switch', '', 'switch (n) { case 1: break; default: { int x[8] = {r}; MPI_Isend(x, 8, MPI_INT, right, 0, W, &q); MPI_Recv(other, 8, MPI_INT, left, 0, W, DONE); R{MPI_Wait(&q, DONE);} } } W{MPI_Wait(&q, DONE);}'],
);
my @levels = @ARGV ? @ARGV : ('-O0', '-O2');
my $marked;

# What W{…} and R{…} hold, whose braces nest.
sub choose {
    my ($text, $keep) = @_;
    my $inner = qr/(\{(?:[^{}]++|(?-1))*\})/;
    $text =~ s/\b([WR])$inner/$1 eq $keep ? substr($2, 1, -1) : ''/ge;
    return $text;
}

for my $case (@cases) {
    my ($name, $functions, $body) = @$case;
    $body =~ s/MPI_INT, W, &q/MPI_INT, r ^ 1, 0, W, &q/g;
    for my $twin ('W', 'R') {
        my @files = map {
            my $file = join('_', split(/ /, $name), $twin, $_) . '.c';
            open my $f, '>', $file or die;
            print $f "/* simrun: cflags: $_ */\n$start", choose($functions, $twin), "\n$main", choose($body, $twin), "\n$end";
            close $f;
            "./$file";
        } @levels;
        my @verdicts = map { decode_json($_) } grep { /^\{"scenario"/ } map { `timeout 100 '$simrun' prove --db none --json -n 2 $_ 2>&1` } @files;
        is(scalar @verdicts, scalar @levels, "$name, $twin: judged");
        for my $verdict (@verdicts) {
            my @told = map { "$_->{code}: $_->{title}" } grep { $_->{severity} ne 'note' } @{$verdict->{findings}};
            my $about = "$verdict->{scenario}";
            if ($twin eq 'R') {
                like("$verdict->{verdict} @told", $name =~ /test/ ? qr/^(PROVEN|PASS) $/ : qr/^PROVEN $/, "$about: nothing is found");
            } else {
                ok(grep({ /^B001/ } @told) && !grep({ !/^(B001|X001|M009)/ } @told), "$about: B001, and what came of it") or diag "$verdict->{verdict} @told";
            }
        }
    }
}
done_testing;
