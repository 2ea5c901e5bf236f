#!/usr/bin/perl
# Gradients of programs whose result depends on which message comes first. Each run has a gradient of its own; it is right where it is the
# derivative of what that run computed. So the verdict on the adjoint may depend neither on how messages come (loops and communicators
# before, seeds, threads) nor on what simrun's own worlds would have received: right ones have R003 alone, wrong twins (an adjoint that
# forgets to communicate) have G001, too.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = $ENV{SIMRUN} // 'build/simrun';
my $folder = scratch_folder();
open my $out, '>', "$folder/arrival.c" or die "$folder/arrival.c: $!";
print $out <<'C';
#include <diff.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static const char *how;
/* The k-th that comes, by this way of receiving. */
static struct diff_tensor *next(struct diff_tensor *like)
{
    MPI_Status status;
    MPI_Message message;
    if (!strcmp(how, "probe")) {
        MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        return diff_recv(like, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "started"))
        return diff_wait(diff_irecv(like, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD));
    if (!strcmp(how, "told")) { /* somebody says beforehand that he will send */
        int who = 0;
        MPI_Recv(&who, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        return diff_recv(like, who, 1, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "matched")) {
        int who = 0;
        MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(&who, 1, MPI_INT, &message, &status);
        return diff_recv(like, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    return diff_recv(like, MPI_ANY_SOURCE, strcmp(how, "any-tag") ? 1 : MPI_ANY_TAG, MPI_COMM_WORLD);
}
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    how = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < atoi(argv[2]); i++) {
        int one = 1, sum;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    double values[2] = {0.5 + rank, 1.5 - 0.3 * rank};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *y = diff_allreduce(diff_mul(x, x), MPI_SUM, MPI_COMM_WORLD);
    if (rank > 0 && (!strcmp(how, "told") || !strcmp(how, "matched")))
        MPI_Send(&rank, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    if (rank > 0)
        diff_send(diff_mul(x, x), 0, 1, MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < size; i++)
        y = diff_add(diff_scale(y, 2), next(x));
    diff_backward(diff_sum(y));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
C
close $out or die;

my @forms = qw(plain any-tag probe started told matched);
my @worlds = ([0, ''], [60, ''], [2, '--seed 3'], [60, '--cores 2'], [0, '--os-threads']);
for my $form (@forms) {
    my (@right, @wrong);
    for my $world (@worlds) {
        next if $world->[1] eq '--os-threads' && $form !~ /plain|probe/;
        my ($times, $options) = @$world;
        for my $mutant ('', '--mutant identity') {
            my $said = qx{'$simrun' --db none -n 4 $options $mutant '$folder/arrival.c' $form $times 2>&1};
            my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
            my $list = join ' ', sort keys %codes;
            my $race = $form eq 'probe' ? '(?: R003)?' : ' R003'; # what a probe sees is for prove to say
            push @right, "$times iterations before, $options: $list" if !$mutant && " $list" !~ /^ ?$race$/;
            push @wrong, "$times iterations before, $options: $list" if $mutant && $list !~ /^G001$race$/;
        }
    }
    is "@right", '', "$form: a right adjoint is right in every order";
    is "@wrong", '', "$form: a wrong one is wrong in every order";
}
done_testing;
