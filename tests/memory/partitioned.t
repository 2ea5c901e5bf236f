#!/usr/bin/env perl
# Partitioned messages, a right twin beside each wrong one: what is missing, what is touched too early, what never meets.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
$ENV{CC} = 'gcc'; # clang leaves out elements of arrays on the stack, and nothing is proven
chdir scratch_folder() or die;

# Of two ranks: 4 partitions of 2 ints from the first to the second, unless the case says otherwise.
my $parts = '4, 2, MPI_INT';
sub send_of { my $how = shift || $parts; return "MPI_Psend_init(a, $how, 1, 7, W, MPI_INFO_NULL, &q);" }
sub receive_of { my $how = shift || $parts; return "MPI_Precv_init(b, $how, 0, 7, W, MPI_INFO_NULL, &q);" }
my $start = 'MPI_Start(&q);';
my $ready = 'for (int i = 0; i < 4; i++) { a[2 * i] = i; MPI_Pready(i, q); }';
my $wait = 'MPI_Wait(&q, DONE);';
my $free = 'MPI_Request_free(&q);';
my $sends = send_of() . "$start $ready $wait $free";
my $receives = receive_of() . "$start $wait sum(b, 8); $free";
my $no_finding = qr/no findings/;

# Name; what rank 0 does; what rank 1 does; the word; what must be said.
my @cases = (
    ['as it should be', $sends, $receives, 'PROVEN', $no_finding],
    ['the parts are marked backwards', send_of() . "$start for (int i = 3; i >= 0; i--) MPI_Pready(i, q); $wait $free", $receives, 'PROVEN', $no_finding],
    ['by a range and a list', send_of() . "$start MPI_Pready_range(1, 2, q); MPI_Pready_list(2, (int[]){3, 0}, q); $wait $free", $receives, 'PROVEN', $no_finding],
    ['cut differently', $sends, receive_of('2, 4, MPI_INT') . "$start $wait sum(b, 8); $free", 'PROVEN', $no_finding],
    ['three rounds', send_of() . "for (int k = 0; k < 3; k++) { $start $ready $wait } $free",
        receive_of() . "for (int k = 0; k < 3; k++) { $start $wait sum(b, 8); } $free", 'PROVEN', $no_finding],
    ['waited for together', send_of() . "$start $ready MPI_Waitall(1, &q, MPI_STATUSES_IGNORE); $free", $receives, 'PROVEN', $no_finding],
    ['no parts', send_of('0, 2, MPI_INT') . "$start $wait $free", receive_of('0, 2, MPI_INT') . "$start $wait $free", 'FAIL', qr/M009.*partitions is 0: it must be positive/],
    ['to nobody', 'MPI_Psend_init(a, 4, 2, MPI_INT, MPI_PROC_NULL, 7, W, MPI_INFO_NULL, &q);' . "$start $wait $free", '', 'PROVEN', $no_finding],
    ['freed while active', send_of() . "$start $ready $free", $receives, 'FAIL', qr/M009.*a partitioned send that was started must be completed, not freed/],
    ['a receive freed while active', $sends, receive_of() . "$start $free", 'FAIL', qr/M009.*a partitioned receive that was started must be completed, not freed/],
    ['two of one tag, started in another order',
        send_of() . "two[0] = q;" . send_of() . "two[1] = q; MPI_Start(&two[1]); MPI_Start(&two[0]); for (int k = 0; k < 2; k++) for (int i = 0; i < 4; i++) MPI_Pready(i, two[k]); MPI_Waitall(2, two, MPI_STATUSES_IGNORE); MPI_Request_free(two); MPI_Request_free(two + 1);",
        receive_of() . "two[0] = q; MPI_Precv_init(a, $parts, 0, 7, W, MPI_INFO_NULL, two + 1); MPI_Startall(2, two); MPI_Waitall(2, two, MPI_STATUSES_IGNORE); MPI_Request_free(two); MPI_Request_free(two + 1);", 'PROVEN', $no_finding],
    ['marked by threads', send_of() . "$start\n_Pragma(\"omp parallel for num_threads(2)\")\nfor (int i = 0; i < 4; i++) MPI_Pready(i, q);\n $wait $free", $receives, 'PASS|PROVEN', $no_finding],

    # What is missing.
    (map { my $missing = $_; ["part $_ is never ready", send_of() . "$start for (int i = 0; i < 4; i++) if (i != $missing) MPI_Pready(i, q); $wait $free", $receives,
        'FAIL', qr/D001.*MPI_Pready is missing: partition $missing of the send to rank 1 \(tag 7\).*Only waits: rank 1/] } 0 .. 3),
    ['never ready, waited for together', send_of() . "$start MPI_Waitall(1, &q, MPI_STATUSES_IGNORE); $free", $receives, 'FAIL', qr/D001.*MPI_Pready is missing: partition 0/],
    (map { my $missing = $_; ["part $_ is never ready, and both poll", send_of() . "$start for (int i = 0; i < 4; i++) if (i != $missing) MPI_Pready(i, q); while (!on) MPI_Test(&q, &on, DONE); $free",
        receive_of() . "$start while (!on) MPI_Test(&q, &on, DONE); $free", 'FAIL', qr/D005.*MPI_Pready is missing: partition $missing of the send to rank 1 \(tag 7\)/] } 0, 3),
    ['never ready, polled together', send_of() . "$start while (!on) MPI_Testall(1, &q, &on, MPI_STATUSES_IGNORE); $free", receive_of() . "$start while (!on) MPI_Test(&q, &on, DONE); $free",
        'FAIL', qr/D005.*MPI_Pready is missing: partition 0/],
    ['nobody receives', $sends, '', 'FAIL', qr/D001/],
    ['nobody sends', '', $receives, 'FAIL', qr/D001/],
    ['an ordinary receive does not take it', $sends, 'MPI_Recv(b, 8, MPI_INT, 0, 7, W, DONE);', 'FAIL', qr/D001/],
    ['an ordinary message does not fill it', 'MPI_Ssend(a, 8, MPI_INT, 1, 7, W);', $receives, 'FAIL', qr/D001/],
    ['the sender is waited for first', send_of() . "$start MPI_Recv(b, 1, MPI_INT, 1, 0, W, DONE); $ready $wait $free",
        receive_of() . "$start MPI_Send(a, 1, MPI_INT, 0, 0, W); $wait $free", 'PROVEN', $no_finding],
    ['and the receiver, too', send_of() . "$start MPI_Recv(b, 1, MPI_INT, 1, 0, W, DONE); $ready $wait $free",
        receive_of() . "$start $wait MPI_Send(a, 1, MPI_INT, 0, 0, W); $free", 'FAIL', qr/D001.*cycle of 2/],
    ['it is not buffered', send_of() . "$start $ready $wait MPI_Send(a, 1, MPI_INT, 1, 0, W); $free",
        receive_of() . "MPI_Recv(b, 1, MPI_INT, 0, 0, W, DONE); $start $wait $free", 'FAIL', qr/D001.*cycle of 2/],
    ['never waited for', send_of() . "$start $ready MPI_Barrier(W);", receive_of() . "$start $wait $free MPI_Barrier(W);", 'FAIL', qr/X006.*Issend/],

    # What is touched too early.
    (map { my $part = $_; (
        ["part $_ is written before it is ready", send_of() . "$start for (int i = 0; i < 4; i++) { if (i == $part) a[2 * i + 1] = 5; MPI_Pready(i, q); } $wait $free", $receives, 'PROVEN', $no_finding],
        ["part $_ is written when it is", send_of() . "$start for (int i = 0; i < 4; i++) { MPI_Pready(i, q); if (i == $part) a[2 * i + 1] = 5; } $wait $free", $receives,
            'FAIL', qr/B001.*ready partition of a pending partitioned send was written/],
        ["part $_ is read when it is", send_of() . "$start for (int i = 0; i < 4; i++) { MPI_Pready(i, q); if (i == $part) sum(a + 2 * i, 2); } $wait $free", $receives, 'PROVEN', $no_finding],
        ["part $_ of the receive is read", $sends, receive_of() . "$start sum(b + 2 * $part, 1); $wait $free", 'FAIL', qr/B001.*partition of a pending partitioned receive was read/],
        ["part $_ of the receive is written", $sends, receive_of() . "$start b[2 * $part] = 1; $wait $free", 'FAIL', qr/B001.*partition of a pending partitioned receive was written/],
        ["part $_ is read when it has arrived", $sends, receive_of() . "$start do MPI_Parrived(q, $part, &on); while (!on); sum(b + 2 * $part, 2); $wait $free", 'PASS', $no_finding],
        ["another is read when part $_ has arrived", $sends, receive_of() . "$start do MPI_Parrived(q, $part, &on); while (!on); sum(b + 2 * ((1 + $part) % 4), 2); $wait $free", 'FAIL', qr/B001.*read/],
    ) } 0 .. 3),
    ['between the elements of a part', send_of('2, 2, gaps') . "$start MPI_Pready(0, q); a[1] = a[3] = 4; a[12] = 3; MPI_Pready(1, q); $wait $free", receive_of('2, 2, gaps') . "$start b[1] = 7; $wait $free", 'PROVEN', $no_finding],
    ['on an element of it', send_of('2, 2, gaps') . "$start MPI_Pready(0, q); a[2] = 4; MPI_Pready(1, q); $wait $free", receive_of('2, 2, gaps') . "$start $wait $free", 'FAIL', qr/B001/],
    ['a part is also received into', send_of() . "$start $ready MPI_Irecv(a + 3, 1, MPI_INT, 1, 0, W, two); $wait MPI_Wait(two, DONE); $free",
        "MPI_Send(a, 1, MPI_INT, 0, 0, W); $receives", 'FAIL', qr/B002/],
    ['a receive is also sent', $sends . 'MPI_Recv(b, 1, MPI_INT, 1, 0, W, DONE);', receive_of() . "$start MPI_Isend(b + 6, 1, MPI_INT, 0, 0, W, two); $wait MPI_Wait(two, DONE); $free", 'FAIL', qr/B002/],

    # What is called at the wrong time, or does not fit.
    ['a part is marked twice', send_of() . "$start $ready MPI_Pready(2, q); $wait $free", $receives, 'FAIL', qr/marked ready before/],
    ['a part is marked before the start', send_of() . "MPI_Pready(2, q); $start $ready $wait $free", $receives, 'FAIL', qr/call MPI_Start first/],
    ['there is no such part', send_of() . "$start $ready MPI_Pready(4, q); $wait $free", $receives, 'FAIL', qr/partition 4 is not one of 4/],
    ['the receive is not started', $sends, receive_of() . "$wait $free", 'FAIL', qr/D001.*MPI_Start is missing/],
    ['it is started twice', send_of() . "$start $start $ready $wait $free", $receives, 'FAIL', qr/L010/],
    ['other types', $sends, 'MPI_Precv_init(f, 4, 2, MPI_FLOAT, 0, 7, W, MPI_INFO_NULL, &q);' . "$start $wait $free", 'FAIL', qr/M0\d\d/],
    ['more bytes', $sends, receive_of('4, 3, MPI_INT') . "$start $wait $free", 'FAIL', qr/equally many|TRUNCATE/],
    ['beyond its variable', $sends, receive_of('4, 10, MPI_INT') . "$start $wait $free", 'FAIL', qr/\b[BM]0\d\d/],
);

my $count = 0;
for my $case (@cases) {
    my ($name, $zero, $one, $word, $says) = @$case;
    my $file = 'case' . ++$count . '.c';
    my $begin = $name =~ /threads/ ? 'int level; MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);' : 'MPI_Init(&argc, &argv);';
    open my $out, '>', $file or die;
    print $out <<"END";
#include <mpi.h>
#include <stdio.h>
#define W MPI_COMM_WORLD
#define DONE MPI_STATUS_IGNORE
static volatile int seen;
static void sum(const int *from, int n) { for (int i = 0; i < n; i++) seen += from[i]; }
int main(int argc, char **argv)
{
    int rank, on = 0;
    int a[32] = {0}, b[32] = {0};
    float f[32] = {0};
    MPI_Request q = MPI_REQUEST_NULL, two[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Datatype gaps;
    $begin
    MPI_Comm_rank(W, &rank);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    (void)on, (void)a, (void)b, (void)f, (void)two, (void)sum;
    if (rank == 0) {
        $zero
    } else if (rank == 1) {
        $one
    }
    MPI_Type_free(&gaps);
    MPI_Finalize();
    return 0;
}
END
    close $out;
    my $said = qx{SIMRUN_COLOR=never "$simrun" prove -n 2 --db none $file 2>&1};
    my ($first) = $said =~ /^([A-Z]{4,}) /m;
    my $line = join ' ', split ' ', $said;
    ok $first =~ /^(?:$word)$/ && $line =~ $says, $name or diag $said;
    my $findings = () = $said =~ /^[A-Z]\d{3} /mg;
    cmp_ok $findings, '<=', 1, "$name: one finding at most" or diag $said;
}

# What was wrong before is told before: a request that was freed before it met the other side leaves that one alone, in one order.
open my $file, '>', 'freed.c' or die;
print $file <<'END';
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, a[4] = {0};
    MPI_Request q;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; rank == 0 && i < 2; i++) {
        MPI_Psend_init(a, 2, 2, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
        if (i == 0)
            MPI_Request_free(&q);
    }
    if (rank == 1)
        MPI_Precv_init(a, 2, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
    MPI_Start(&q);
    if (rank == 0)
        MPI_Pready_range(0, 1, q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Request_free(&q);
    MPI_Finalize();
    return 0;
}
END
close $file;
like qx{"$simrun" prove -n 2 --db none freed.c 2>&1}, qr/^D00[12]/m, 'a send that was freed before it was met has the receive for itself';

done_testing();
