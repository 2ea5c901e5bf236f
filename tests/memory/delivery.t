#!/usr/bin/perl
# Late delivery: nonblocking operations fill their buffers when the program completes them, and not before. Right programs print the same
# as ever; one that reads a buffer too early prints something else, also where its loads are not seen (built by simcc, without --memory),
# and `prove` names the operation.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use JSON::PP;
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
(my $simcc = $simrun) =~ s/simrun$/simcc/;
chdir scratch_folder() or die;

my $start = <<'C';
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#define W MPI_COMM_WORLD
#define DONE MPI_STATUS_IGNORE
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int r, n, on, a[24], b[24], e = 0, counts[64], places[64];
    MPI_Request q = MPI_REQUEST_NULL, two[2];
    MPI_Message m;
    MPI_Datatype gaps;
    MPI_Comm_rank(W, &r);
    MPI_Comm_size(W, &n);
    int right = (r + 1) % n, left = (r + n - 1) % n;
    for (int i = 0; i < 24; i++) a[i] = 100 * r + i, b[i] = -1 - i;
    for (int i = 0; i < n; i++) counts[i] = 1 + i % 2, places[i] = 3 * i;
    MPI_Type_vector(3, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    (void)on, (void)q, (void)two, (void)m, (void)right, (void)left, (void)counts, (void)places;
C
my $end = <<'C';
    if (q != MPI_REQUEST_NULL) MPI_Wait(&q, DONE);
    if (q != MPI_REQUEST_NULL) MPI_Request_free(&q);
    MPI_Type_free(&gaps);
    printf("%d:", e);
    for (int i = 0; i < 24; i++) printf(" %d", b[i]);
    printf("\n");
    MPI_Finalize();
    return 0;
}
C
my $meet = 'MPI_Barrier(W);'; # by then every message has come
my $send = "MPI_Send(a, 4, MPI_INT, right, 0, W); $meet";
my $wait = 'MPI_Wait(&q, DONE);';
# How it begins; how it is completed; an element that it fills (undef: none, as the buffer is the program's again).
my @cases = (
    ['Irecv', "MPI_Irecv(b, 4, MPI_INT, left, 0, W, &q); $send", $wait, 0],
    ['Irecv of more than comes', "MPI_Irecv(b, 9, MPI_INT, left, 0, W, &q); $send", $wait, 8],
    ['Irecv, tested', "MPI_Irecv(b, 4, MPI_INT, left, MPI_ANY_TAG, W, &q); $send", 'do MPI_Test(&q, &on, DONE); while (!on);', 1],
    ['Irecv with gaps', "MPI_Irecv(b, 2, gaps, left, 0, W, &q); MPI_Send(a, 6, MPI_INT, right, 0, W); $meet", $wait, 4],
    ['between the gaps', "MPI_Irecv(b, 2, gaps, left, 0, W, &q); MPI_Send(a, 6, MPI_INT, right, 0, W); $meet", $wait, undef, 'e = b[1]; b[3] = 5;'],
    ['Recv_init', "MPI_Recv_init(b, 4, MPI_INT, left, 0, W, &q); MPI_Start(&q); $send $wait MPI_Start(&q); $send", $wait, 2],
    ['Imrecv', "MPI_Isend(a, 4, MPI_INT, right, 0, W, two); MPI_Mprobe(left, 0, W, &m, DONE); MPI_Imrecv(b, 4, MPI_INT, &m, &q);", "$wait MPI_Wait(two, DONE);", 3],
    ['Isendrecv', "MPI_Isendrecv(a, 4, MPI_INT, right, 0, b, 4, MPI_INT, left, 0, W, &q); $meet", $wait, 0],
    ['Isendrecv_replace', "MPI_Isendrecv_replace(b, 4, MPI_INT, right, 0, left, 0, W, &q); $meet", $wait, 0],
    ['Waitall', "MPI_Irecv(b, 2, MPI_INT, left, 0, W, two); MPI_Irecv(b + 2, 2, MPI_INT, left, 1, W, two + 1);
        MPI_Send(a, 2, MPI_INT, right, 1, W); MPI_Send(a + 5, 2, MPI_INT, right, 0, W); $meet", 'MPI_Waitall(2, two, MPI_STATUSES_IGNORE);', 3],
    ['Waitany of two', "MPI_Irecv(b, 2, MPI_INT, left, 0, W, two); MPI_Irecv(b + 2, 2, MPI_INT, left, 1, W, two + 1);
        MPI_Send(a, 2, MPI_INT, right, 1, W); MPI_Send(a + 5, 2, MPI_INT, right, 0, W); $meet", 'MPI_Waitany(2, two, &on, DONE); MPI_Waitany(2, two, &on, DONE);', 0],
    ['Request_get_status_all', "MPI_Irecv(b, 4, MPI_INT, left, 0, W, &q); $send", 'do MPI_Request_get_status_all(1, &q, &on, MPI_STATUSES_IGNORE); while (!on);', 1],
    ['Request_get_status_any', "MPI_Irecv(b, 4, MPI_INT, left, 0, W, &q); $send", 'int i; do MPI_Request_get_status_any(1, &q, &i, &on, DONE); while (!on);', 1],
    ['Request_get_status_some', "MPI_Irecv(b, 4, MPI_INT, left, 0, W, &q); $send", 'int i; do MPI_Request_get_status_some(1, &q, &on, &i, MPI_STATUSES_IGNORE); while (!on);', 1],
    ['cancelled', "MPI_Irecv(b, 4, MPI_INT, left, 7, W, &q); MPI_Cancel(&q); $meet", $wait, 0],
    ['no elements', "MPI_Irecv(b, 0, MPI_INT, left, 0, W, &q); MPI_Send(a, 0, MPI_INT, right, 0, W); $meet", $wait, undef, 'e = b[0];'],
    ['from nobody', 'MPI_Irecv(b, 4, MPI_INT, MPI_PROC_NULL, 0, W, &q);', $wait, undef, ''],
    ['Iallreduce', "MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, W, &q); $meet", $wait, 3],
    ['Iallreduce in place', "MPI_Iallreduce(MPI_IN_PLACE, b, 4, MPI_INT, MPI_SUM, W, &q); $meet", $wait, 1],
    ['Ireduce in place', "MPI_Ireduce(r ? b : MPI_IN_PLACE, b, 4, MPI_INT, MPI_SUM, 0, W, &q); $meet", $wait, 1, 'if (!r) e = b[1];'],
    ['Ibcast', "MPI_Ibcast(r ? b : a, 4, MPI_INT, 0, W, &q); $meet", $wait, 2],
    ['Iallgatherv', "MPI_Iallgatherv(a, counts[r], MPI_INT, b, counts, places, MPI_INT, W, &q); $meet", $wait, 3],
    ['Ialltoall', "MPI_Ialltoall(a, 1, MPI_INT, b, 1, MPI_INT, W, &q); $meet", $wait, 1],
    ['Iexscan', "MPI_Iexscan(a, b, 2, MPI_INT, MPI_SUM, W, &q); $meet", $wait, 0, 'if (r) e = b[0];'],
    ['Ireduce_scatter_block', "MPI_Ireduce_scatter_block(a, b, 2, MPI_INT, MPI_SUM, W, &q); $meet", $wait, 0],
    ['Iscatterv', "MPI_Iscatterv(a, counts, places, MPI_INT, b, counts[r], MPI_INT, 0, W, &q); $meet", $wait, 0],
);

sub printed { my ($file, $options) = @_; return join '', sort grep { /^-?\d+:/ } `timeout 60 '$simrun' -n 3 --db none $options $file 2>&1` }

for my $case (@cases) {
    my ($name, $begin, $wait_for, $element, $touch) = @$case;
    $touch //= defined $element ? "e = b[$element];" : '';
    (my $file = $name) =~ s/\W+/_/g;
    for my $twin ('right', 'wrong') {
        next if $twin eq 'wrong' && !defined $element;
        my ($before, $behind) = $twin eq 'wrong' ? ($touch, '') : defined $element ? ('', $touch) : ($touch, '');
        my $text = "$start    $begin\n    $before\n    $wait_for\n    $behind\n$end";
        open my $f, '>', "$file-$twin.c" or die;
        print $f $text;
        close $f;
        is(system("'$simcc' -g -O1 -o $file-$twin $file-$twin.c"), 0, "$name, $twin: built");
        my ($early, $late) = map { printed("./$file-$twin", "--delivery $_") } 'early', 'late';
        like($early, qr/^-?\d+:/m, "$name, $twin: it prints");
        my ($said) = grep { /^\{"scenario"/ } split /\n/, `timeout 100 '$simrun' prove -n 3 --db none --json ./$file-$twin 2>/dev/null`;
        ok($said, "$name, $twin: a verdict");
        my $verdict = decode_json($said // '{}');
        my @told = map { "$_->{code}: $_->{title}" } grep { $_->{severity} ne 'note' } @{$verdict->{findings} // []};
        if ($twin eq 'right') {
            is($late, $early, "$name, right: late delivery prints the same");
            is("@told", '', "$name, right: nothing is found");
        } else {
            isnt($late, $early, "$name, wrong: late delivery prints something else");
            ok(@told == 1 && $told[0] =~ /^B001: the buffer is read before the operation is complete/, "$name, wrong: found") or diag "@told";
        }
    }
}

# What differs from run to run by itself is no finding.
open my $f, '>', 'clock.c' or die;
print $f "$start    printf(\"%.9f\\n\", MPI_Wtime());\n    MPI_Irecv(b, 4, MPI_INT, left, 0, W, &q); $send $wait\n$end";
close $f;
my $clock = do {
    local $ENV{CC} = 'gcc'; # of clang more is said not to be covered, and the sentence comes last
    `timeout 100 '$simrun' prove -n 2 --db none ./clock.c 2>&1`;
};
like($clock, qr/^PASS .*no findings/m, 'a program that prints the time: no finding');
like($clock, qr/not\s+covered:\s+what\s+ranks\s+print/, 'and it is said what was not compared');

# A write into the buffer is seen as before.
open $f, '>', 'written.c' or die;
print $f "$start    MPI_Irecv(b, 4, MPI_INT, left, 0, W, &q);\n    b[1] = 3;\n    $send\n    $wait\n$end";
close $f;
like(`timeout 60 '$simrun' -n 2 --db none --delivery late ./written.c 2>&1`, qr/^B001 .*written/m, 'a write is found where delivery is late');

# A receive whose request is freed gets its message all the same, and is not taken for a send.
open $f, '>', 'freed.c' or die;
print $f "$start    MPI_Irecv(b, 4, MPI_INT, left, 0, W, &q);\n    MPI_Request_free(&q);\n    $meet\n    $send\n    MPI_Sendrecv(a, 1, MPI_INT, right, 1, &e, 1, MPI_INT, left, 1, W, DONE);\n$end";
close $f;
for my $delivery ('early', 'late') {
    my $said = `timeout 60 '$simrun' -n 2 --db none --delivery $delivery ./freed.c 2>&1`;
    like($said, qr/^PASS /m, "a freed receive, $delivery: no error");
    like($said, qr/^\d+: (?:0 1 2 3|100 101 102 103) -5/m, "and the message is there, $delivery");
}
like(`'$simrun' --delivery sometimes ring 2>&1`, qr/early, late or rank:R/, 'another word is refused');
done_testing;
