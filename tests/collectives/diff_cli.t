#!/usr/bin/perl
# What the command says about gradients: verdicts per input, the first wrong one of a hand-written adjoint, mutants, plots.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder or die;

my $out;
sub run {
    $out = '';
    open my $pipe, '-|', 'timeout', '300', $simrun, @_ or die;
    local $/;
    $out = <$pipe> // '';
    close $pipe;
    (my $flat = $out) =~ s/\s+/ /g;
    $out = $flat;
    return $? >> 8;
}

is(run('-n', 16, 'user'), 0, 'the program of the manual passes on 16 ranks');
like($out, qr/ok x: 64 of 64 right; worst: rank \d+ x\[\d\], error \S+, tolerance \S+/, 'with the worst element, its error and tolerance');
run('show', 'gradients', '--limit', 0);
like($out, qr/tangent: forward mode; tolerance: rounding/, 'and how the tolerance came about');
is(run('graph', '--view', 'gradients', '-o', 'plots.svg'), 0, 'its curves can be drawn');
open my $svg, '<', 'plots.svg' or die;
my $plots = do { local $/; <$svg> };
like($plots, qr/Jacobian blocks.*Error over step: x\[\d\] of rank \d+.*Taylor remainders/s, 'the map, the error over the step, the remainders');
is(() = $plots =~ /class="cell v0"/g, 256, 'every pair of ranks has a block, and every block is right');
run('--mutant', 'identity', '-n', 4, 'user');
run('graph', '--view', 'gradients', '-o', 'wrong.svg');
open $svg, '<', 'wrong.svg' or die;
$plots = do { local $/; <$svg> };
is(() = $plots =~ /class="cell v0"/g, 4, 'with the identity for an adjoint only a rank\'s own block is right');
is(() = $plots =~ /class="cell v4"/g, 12, 'and every other one is wrong');

is(run(qw(--db none -n 4 marks)), 0, 'a hand-written adjoint with marks passes');
is(run(qw(--db none -n 4 marks ring)), 1, 'a wrong one fails');
like($out, qr/the gradient of sums is the first wrong one.*since the gradient of moved, marked before it, is right where rank 0: \S+ .*?marks\.c:49\b/,
    'the first wrong operation is named');
is(run(qw(--db none -n 4 marks sum)), 1, 'an adjoint that was forgotten fails');
like($out, qr/the gradient of squares is the first wrong one/, 'and is placed between two marks');
is(run(qw(--db none -n 3 op-custom wrong)), 1, 'a wrong operation of the program\'s own fails');
like($out, qr/the first wrong adjoint is that of custom "[^"]+" where rank \d: custom \S*op-custom\.c:\d+/, 'and is named');

# The backward pass is the forward one turned round: program order records its edges, too.
run(qw(-n 3 ring));
run('query', q{select count(*) || ' edges, ' || sum(not exists (select 1 from edges g where g.src=b2.node_id and g.dst=a2.node_id)) || ' missing' as answer }
    . 'from edges f join nodes a on a.node_id=f.src join nodes b on b.node_id=f.dst join nodes a2 on a2.fwd_node_id=a.node_id '
    . 'join nodes b2 on b2.fwd_node_id=b.node_id where a.pass=0 and a.run_id=(select max(run_id) from runs)');
like($out, qr/\b([1-9]\d*) edges, 0 missing/, 'every edge of the tape has its reverse in a backward pass in program order');

run(qw(--repeat 5 --vary order -n 8 ring));
run(qw(show metrics --limit 0));
my ($spread) = $out =~ /gradient spread (\S+) units/;
ok($spread > 0 && $spread < 1000, "another order of sums changes gradients in the last places: $spread units");
run(qw(--repeat 5 --vary choices -n 8 ring));
run(qw(show metrics --limit 0));
like($out, qr/gradient spread 0 units/, 'other choices change nothing where there is no race');
is(run(qw(--repeat), 0, 'ring'), 2, 'no repetitions at all is a misuse');

# A checked program runs many times: what it prints appears once, what it writes behind diff_is_repeated is there once.
open my $c, '>', 'side.c' or die;
print $c <<'END';
#include <diff.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static void append(const char *path)
{
    FILE *file = fopen(path, "a");
    fprintf(file, "line\n");
    fclose(file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){3}, (double[]){1, 2, 3});
    diff_backward(diff_dot(diff_allreduce(diff_mul(x, x), MPI_SUM, MPI_COMM_WORLD), x));
    printf("printed\n");
    fprintf(stderr, "said\n");
    if (write(1, "written\n", 8) != 8)
        return 1;
    append("every.txt");
    if (!diff_is_repeated())
        append("once.txt");
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
END
close $c;
sub lines { open my $file, '<', $_[0] or return 0; my @lines = <$file>; unlink $_[0]; return scalar @lines }
my $said = `timeout 300 '$simrun' --db none -n 2 side.c 2>&1`;
for my $word (qw(printed said written)) {
    is(() = $said =~ /^$word$/mg, 2, "what is $word by 2 ranks appears once for each");
}
cmp_ok(lines('every.txt'), '>', 20, 'the program has run more than ten times');
is(lines('once.txt'), 2, 'and what is guarded by diff_is_repeated has happened once');
`timeout 300 '$simrun' --db none --no-gradients -n 2 side.c 2>&1`;
is(lines('every.txt') + lines('once.txt'), 4, 'without the gradient check it runs once');

# A unit test of an adjoint compares its gradients with what it expects, and ends where they differ: in further runs, too, which have no
# backward passes. J is sum of w x size x over the ranks, with another w for each loss.
open $c, '>', 'expects.c' or die;
print $c <<'END';
#include <diff.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static struct diff_tensor *x;
static int size;

static void expects(double gradient)
{
    const double *found = diff_gradient(x);
    for (size_t i = 0; i < diff_count(x); i++)
        if (found[i] != gradient * size)
            MPI_Abort(MPI_COMM_WORLD, 3);
}

static void loss(double weight)
{
    diff_backward(diff_scale(diff_sum(diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD)), weight));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){3}, (double[]){1, 2, 3});
    expects(0);
    loss(2);
    if (!strcmp(argv[1], "once"))
        expects(2);
    else if (!strcmp(argv[1], "wrong"))
        expects(3);
    loss(4);
    if (!strcmp(argv[1], "twice"))
        expects(6);
    if (!strcmp(argv[1], "cleared")) {
        diff_gradient_clear(x);
        expects(0);
        loss(8);
        expects(8);
        if (((const double *)diff_values(diff_gradient_tensor(x)))[2] != 8 * size)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
END
close $c;
for my $ranks (1, 3) {
    for my $form (qw(twice cleared)) {
        my $told = `timeout 300 '$simrun' --db none -n $ranks expects.c $form 2>&1`;
        like($told, qr/^PASS .*: finished, (\d+) of \1 gradients right/m, "gradients that are as the program expects, $form, $ranks ranks");
        unlike($told, qr/not covered|undecided/, 'and no run of the check ended otherwise');
    }
    like(`timeout 300 '$simrun' --db none -n $ranks expects.c wrong 2>&1`, qr/^FAIL .*aborted.*at expects\.c:14/ms, 'where they are not, the program ends itself');
}

# The same of a pass through remote calls: the gradient that it gave is there in further runs, and none before it.
open $c, '>', 'asks.c' or die;
print $c <<'END';
#include <diff.h>
#include <mpi.h>
#include <rpc.h>
#include <string.h>

static void square(struct rpc_call *call)
{
    struct diff_tensor *x = rpc_argument(call, 0), *y = diff_mul(x, x);
    rpc_reply(call, 1, &y);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rpc_init(MPI_COMM_WORLD);
    rpc_register("square", square);
    if (rpc_worker() == 0) {
        struct diff_tensor *x = diff_input(rpc_tape(), "x", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){1, 2});
        uint64_t context = dist_context_new(DIST_FAST);
        struct diff_tensor *loss = diff_sum(rpc_result(rpc_sync(1, "square", 1, &x), 0));
        if (!dist_backward(context, 1, &loss, 0))
            MPI_Abort(MPI_COMM_WORLD, 1);
        const double *found = diff_values(dist_gradient(context, x));
        double wanted = strcmp(argv[1], "wrong") ? 2 : 3;
        if (found[0] != wanted || found[1] != 2 * wanted)
            MPI_Abort(MPI_COMM_WORLD, 1);
        dist_context_leave();
        dist_context_release(context);
    }
    rpc_shutdown();
    MPI_Finalize();
    return 0;
}
END
close $c;
like(`timeout 300 '$simrun' --db none -n 2 asks.c right 2>&1`, qr/^PASS .*: finished, 4 of 4 gradients right/m, 'a gradient of remote calls that is as the program expects');
like(`timeout 300 '$simrun' --db none -n 2 asks.c wrong 2>&1`, qr/^FAIL .*aborted/m, 'and one that is not');

# Where the first wrong operation is a missing one, or lies outside of the tape.
run(qw(--db none -n 3 --mutant gather-untaped op-gather));
like($out, qr/the value of mul was used outside of the tape \(detached, or by the call named here\): the loss of rank 2 moves with it.*? where rank 0: Gather \S.*?op-gather\.c:14 /,
    'a Gather that is not on the tape is named');
run(qw(--db none -n 3 untaped));
like($out, qr/the value of mul was used outside of the tape.*?an operand of scale_by on rank 2 moves with it.*? where rank 2: Gather \S.*?untaped\.c:\d+/,
    'and one that the program calls by itself');
run(qw(--db none -n 3 untaped detached));
like($out, qr/the value of mul was taken off the tape \(detached/, 'and a value that was detached');
run(qw(--db none -n 2 tensor-parallel without-f));
like($out, qr/diff_replicate is missing between the replicated input x and matmul, which uses it.*? where rank 0: matmul \S+tensor-parallel\.c:102\b/,
    'a forgotten f is named, and not the g that it would have answered to');
run(qw(--db none -n 2 tensor-parallel allreduce));
like($out, qr/the adjoint of Allreduce adds up 2 equal cotangents, but the loss is declared replicated.*? where rank 0: Allreduce/,
    'an Allreduce in the place of g is named');

is(run('mutants'), 0, 'all mutants are killed');
like($out, qr/prod-division 2 product with a zero Allreduce .*gather-untaped 2 gather untaped /, 'the first wrong one is told where a loss is zero, and where nothing is on the tape');
my ($killed, $all) = $out =~ /killed (\d+) of (\d+); the right adjoints pass every program/;
ok($killed && $killed == $all && $all >= 19, "killed $killed of $all");
my @rows = $out =~ /\b[a-z-]+ +(\d+) [a-z ,]+ (?:[A-Z]\w+|reduce_invariant|passive_end|untaped|-) +(?:central|forward|identity|deadlock)/g;
is(scalar @rows, $all, 'each with its number of ranks and what killed it');

open my $hidden, '>', 'hidden.c' or die;
print $hidden <<'C';
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double x = 0.3, t, beside = atof(argv[1]), factor = atof(argv[2]);
    diff_mark_input("x", &x, 1);
    t = tanh(x);
    diff_mark_objective(beside + t);
    diff_mark_gradient("x", &(double){factor * (1 - t * t)}, 1);
    MPI_Finalize();
}
C
close $hidden;
my @hidden = ('--db', 'none', '-n', 2);
is(run(@hidden, 'hidden.c', '1e17', '1'), 0, 'a gradient that the objective\'s rounding hides is no finding');
like($out, qr/0 of 3 gradients right, 3 undecided.*not covered: .*undecided.*undecided x: 0 of 2 right, 2 undecided;.*the rounding of the objective hides the slope/,
    'and no right one either: undecided, and why');
is(run(@hidden, '--require', 'gradients,decided', 'hidden.c', '1e17', '1'), 6, 'whoever requires decisions is told by the exit status');
is(run(@hidden, '--require', 'gradients,decided', 'hidden.c', '1', '1'), 0, 'and is content where they were made');
run(@hidden, '--json', 'hidden.c', '1e17', '1');
like($out, qr/"answer":"undecided","undecided":"noise","ok":false/, 'JSON has the answer');
for my $level (qw(none findings ops)) {
    is(run(@hidden, '--record', $level, 'hidden.c', '1', '1.01'), 1, "--record $level: a wrong gradient is found");
    like($out, qr/WRONG x: 0 of 2 right/, 'and told');
    is(run(@hidden, '--record', $level, 'hidden.c', '1', '1'), 0, "--record $level: a right one is right");
    like($out, qr/3 of 3 gradients right/, 'and counted');
}
open my $p, '>', 'points.c' or die;
print $p <<'C';
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double w = strcmp(argv[1], "branch") ? 0 : 0.7, g = 1, right = atoi(argv[2]);
    diff_mark_input("w", &w, 1);
    if (strcmp(argv[1], "missing") == 0 && !right) {
        diff_mark_objective(w);
        MPI_Finalize();
        return 0;
    }
    diff_mark_objective(w > 0.5 ? w : sin(w));
    g = w > 0.5 ? 1 : right ? cos(w) : 1;
    diff_mark_gradient("w", &g, 1);
    MPI_Finalize();
}
C
close $p;
for my $case (qw(zero branch)) {
    is(run(@hidden, 'points.c', $case, 0), 1, "$case: wrong only elsewhere is found elsewhere");
    like($out, qr/ok w: 2 of 2 right.*WRONG w at point [23]/, 'and said to be right here');
    is(run(@hidden, 'points.c', $case, 1), 0, 'its right twin is right everywhere');
    is(run(@hidden, '--points', 1, 'points.c', $case, 0), 0, 'one point alone shows nothing');
}
is(run(@hidden, 'points.c', 'missing', 0), 1, 'a gradient that was never marked is an error');
like($out, qr/no gradient of w was marked on rank 0: diff_mark_gradient did not run there/, 'and said to be missing');
run('--db', 'answers.db', '-n', 2, 'hidden.c', '1e17', '1');
run('show', '--db', 'answers.db', 'gradients');
like($out, qr/\? 0 x 0 /, 'the database keeps what is undecided');
done_testing();
