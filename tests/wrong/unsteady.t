#!/usr/bin/perl
# Programs that compute something else each time they run on the same inputs: no difference can be measured, and nothing is said against their
# adjoints. What is chosen once and for all is judged as ever: right twin beside wrong one.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = $ENV{SIMRUN} // 'build/simrun';
my $folder = scratch_folder();
open my $out, '>', "$folder/unsteady.c" or die "$folder/unsteady.c: $!";
print $out <<'C';
#include <diff.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
/* Several values, for a factor. */
static unsigned drawn(const char *how, const char *file)
{
    unsigned number = 1;
    struct timespec now;
    if (!strcmp(how, "left")) { /* the first run leaves what the others find */
        number = access(file, F_OK) != 0;
        close(open(file, O_CREAT | O_WRONLY, 0600));
    } else if (!strcmp(how, "getrandom")) {
        if (getrandom(&number, sizeof number, 0) < 0)
            abort();
    } else if (!strcmp(how, "urandom")) {
        int from = open("/dev/urandom", O_RDONLY);
        if (read(from, &number, sizeof number) < 0)
            abort();
        close(from);
    } else if (!strcmp(how, "clock")) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        number = (unsigned)now.tv_nsec / 64;
    } else if (!strcmp(how, "rand")) {
        number = (unsigned)rand();
    } else if (!strcmp(how, "seeded")) {
        srand(7);
        number = (unsigned)rand();
    }
    return number;
}
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {0.5 + rank, 1.5 - 0.3 * rank};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *y = diff_scale(diff_mul(x, x), 1.0 + (rank ? 0 : drawn(argv[1], argv[2])) % 16);
    diff_backward(diff_sum(diff_allreduce(y, MPI_SUM, MPI_COMM_WORLD)));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
C
close $out or die;

sub run {
    my ($form, $mutant) = @_;
    unlink "$folder/left";
    my $said = qx{'$simrun' --db none -n 3 $mutant '$folder/unsteady.c' $form '$folder/left' 2>&1};
    $said =~ s/\s+/ /g;
    return $said;
}
for my $form (qw(left getrandom urandom clock)) {
    my ($against, $told) = (0, 0);
    for (1 .. 6) {
        my $said = run($form, '');
        $against++ if $said !~ /^PASS/;
        $told++ if $said =~ /undecided.*computes something else each time it runs on the same inputs/;
    }
    is $against, 0, "$form: nothing is said against a right adjoint";
    cmp_ok $told, '>', $form eq 'left' ? 5 : 0, "$form: that nothing could be measured, and why";
}
for my $form (qw(none rand seeded)) {
    like run($form, ''), qr/^PASS (?!.*not covered)/, "$form: the same every time, and right";
    like run($form, '--mutant identity'), qr/^FAIL .*G001/, "$form: the same every time, and wrong";
}
done_testing;
