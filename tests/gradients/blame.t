#!/usr/bin/perl
# Who is blamed for a wrong gradient: the call by which a value left the tape, the missing mark or join; never an innocent operation.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} // 'build/simrun');
chdir scratch_folder() or die;

sub blame {
    my $out = `timeout 300 '$simrun' --db none @_ 2>&1`;
    $out =~ s/\s+/ /g;
    return $out =~ /(\bG00[16] .*?) replay / ? $1 : $out;
}

open my $c, '>', 'off.c' or die;
print $c <<'END';
#include <diff.h>
#include <mpi.h>
#include <string.h>

enum { N = 2 };

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t shape = N, all = (size_t)size * N;
    double values[N] = {0.4 + rank, 0.7 - 0.3 * rank}, weights[N] = {1 + rank, 2}, gathered[64], sum, own;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    if (!strcmp(argv[1], "join"))
        diff_tape_order(tape, DIFF_ORDER_DATA);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, &shape, values), *y = x;
    if (!strcmp(argv[1], "cleared")) {
        diff_tape_clear(tape);
        y = diff_leaf(tape, DIFF_DOUBLE, 1, &shape, values);
    } else if (!strcmp(argv[1], "gather")) { /* the root goes on with a constant */
        MPI_Gather(diff_values(x), N, MPI_DOUBLE, gathered, N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        y = rank ? x : diff_tanh(diff_constant(tape, DIFF_DOUBLE, 1, &all, gathered));
        y = diff_scatter(y, N, 0, MPI_COMM_WORLD);
    } else if (!strcmp(argv[1], "join")) { /* nobody tells the tape that Recv answers Isend */
        struct diff_tensor *sent = diff_isend(x, (rank + 1) % size, 0, MPI_COMM_WORLD);
        y = diff_recv(diff_zeros(tape, DIFF_DOUBLE, 1, &shape), (rank + size - 1) % size, 0, MPI_COMM_WORLD);
        diff_wait(sent);
        y = diff_add(x, diff_mul(y, y));
    } else { /* a factor or a shift that depends on x, as a number */
        own = diff_scalar(diff_sum(diff_mul(x, x)));
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        y = strcmp(argv[1], "shift") ? diff_scale(x, 1 / sum) : diff_shift(x, -0.1 * sum);
    }
    y = diff_tanh(diff_mul(y, y));
    diff_backward(diff_dot(y, diff_constant(tape, DIFF_DOUBLE, 1, &shape, weights)));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
END
close $c;

my @cases = (
    ['gather', qr/the value of x was used outside of the tape.* an operand of Scatter on rank 0 moves .* where rank 0: Gather of 2 double root 0 off\.c:23 /],
    ['scale', qr/the value of sum was used outside of the tape.* the factor or shift of scale on rank 0 moves .* where rank 0: Allreduce sum of 1 double off\.c:33 /],
    ['shift', qr/the value of sum was used outside of the tape.* the factor or shift of scale on rank 0 moves .* where rank 0: Allreduce sum of 1 double off\.c:33 /],
    ['join', qr/no gradient flows through Recv, though an operand of add on rank 0 moves with its result.* where rank 0: Recv off\.c:28 /],
    ['cleared', qr/^G006 .*no backward pass reached x on rank 0: .*cleared the tape/],
);
like(blame('-n', 3, 'off.c', $_->[0]), $_->[1], "$_->[0]: what left the tape is named, and the call that took it") for @cases;

done_testing();
