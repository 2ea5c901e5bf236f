#!/usr/bin/perl
# A master that hands out work to whoever asks, as people write it: right ones have no error in any order, and each that has one mistake is
# found with it. With four workers the orders are too many, and what is left is told.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc';
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
chdir scratch_folder() or die;

my $queue = <<'END';
#include <mpi.h>
#include <stdio.h>
enum { WORK = 1, STOP, RESULT, READY, TASKS = 6 };
static void master(int size)
{
    int next = 0, active = size - 1, message[2], results[TASKS] = {0}, done = 0;
    MPI_Status s;
    while (active > 0) {
        MPI_Recv(message, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        if (s.MPI_TAG == RESULT) {
            results[message[0]] = message[1];
            done++;
        }
        if (next < TASKS) {
            MPI_Send(&next, 1, MPI_INT, s.MPI_SOURCE, WORK, MPI_COMM_WORLD);
            next++;
        } else {
            MPI_Send(NULL, 0, MPI_INT, s.MPI_SOURCE, STOP, MPI_COMM_WORLD);
            active--;
        }
    }
    for (int i = 0; i < TASKS; i++)
        printf("%d ", results[i]);
    printf("of %d\n", done);
}
static void worker(void)
{
    int message[2] = {0, 0}, task;
    MPI_Status s;
    MPI_Send(message, 2, MPI_INT, 0, READY, MPI_COMM_WORLD);
    for (;;) {
        MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        if (s.MPI_TAG == STOP)
            return;
        message[0] = task;
        message[1] = task * task;
        MPI_Send(message, 2, MPI_INT, 0, RESULT, MPI_COMM_WORLD);
    }
}
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        master(size);
    else
        worker();
    MPI_Finalize();
    return 0;
}
END

sub prove_text {
    my ($name, $ranks, $text, $options) = (@_, '');
    open my $out, '>', "$name.c" or die;
    print $out $text;
    close $out;
    return `timeout 100 '$simrun' prove -n $ranks --db none $options ./$name.c 2>&1`;
}
sub line_of { my ($text, $part) = @_; return 1 + (substr($text, 0, index $text, $part) =~ tr/\n//) }

# Name, what is put for what, the code, a part of the line that is told.
my @mistakes = (
    ['no_stop', 'MPI_Send(NULL, 0, MPI_INT, s.MPI_SOURCE, STOP, MPI_COMM_WORLD);', ';', 'D001', 'MPI_Recv(&task'],
    ['stop_to_another', 'MPI_INT, s.MPI_SOURCE, STOP', 'MPI_INT, 1, STOP', 'D001', 'MPI_Recv(&task'],
    ['one_too_many', 'while (active > 0)', 'while (active >= 0)', 'D001', 'MPI_Recv(message'],
    ['wrong_tag', '0, MPI_ANY_TAG, MPI_COMM_WORLD, &s);', '0, READY, MPI_COMM_WORLD, &s);', 'D001', 'MPI_Recv(&task'],
    ['too_short', 'MPI_Recv(message, 2,', 'MPI_Recv(message, 1,', 'M007', 'MPI_Recv(message'],
    ['by_order', 'results[message[0]] = message[1];', 'results[done] = message[1];', 'R003', 'MPI_Recv(message'],
    ['sometimes', 'next++;', 'next += 1 + (next == 1 && s.MPI_SOURCE == 1 && done == 1); if (next > 6) MPI_Abort(MPI_COMM_WORLD, 3);', 'X002|R003', ''],
);
my $said = prove_text('right', 3, $queue);
like($said, qr/^(PROVEN|PASS) /m, 'a right one passes');
unlike($said, qr/^(?!R003)[A-Z]\d{3} /m, 'with nothing found but the note of the race');
for my $mistake (@mistakes) {
    my ($name, $what, $instead, $code, $line) = @$mistake;
    my $text = $queue;
    substr($text, index($text, $what), length $what) = $instead;
    $said = prove_text($name, 3, $text);
    like($said, qr/^FAIL /m, "$name fails");
    my ($first) = $said =~ /^([A-Z]\d{3} .*?)^  \w/ms;
    $first = ($first // '') =~ s/\s+/ /gr;
    my $place = $line ? "$name\\.c:" . line_of($text, $line) : '';
    like($first, qr/^(?:$code) .*$place\b/, "by $code" . ($line ? ', at its line' : '')) or diag($said);
}
$said = prove_text('large', 5, $queue =~ s/TASKS = 6/TASKS = 12/r, '--runs 1500');
like($said, qr/^PASS .*not covered: .*beyond the budget/ms, 'with four workers and twelve tasks it is told that orders are left');
like($said =~ s/\s+/ /gr, qr/All \d+ runs that differ in a choice and were explored end with one result/, 'and that those explored are alike');
done_testing();
