#!/usr/bin/perl
# What the command says about gradients: verdicts per input, the first wrong one of a hand-written adjoint, mutants, plots.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = tempdir(CLEANUP => 1);
chdir $folder or die;

my $out;
sub run {
    $out = '';
    open my $pipe, '-|', 'timeout', '60', $simrun, @_ or die;
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
like($out, qr/central: central differences; tolerance: change between the best two steps, plus rounding/, 'and how the tolerance came about');
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
like($out, qr/the gradient of sums is the first wrong one.*since the gradient of moved, marked before it, is right where rank 0: \S+ .*?marks\.c:(4[89]|5[0-3])/, # compilers make one call of the two
    'the first wrong operation is named');
is(run(qw(--db none -n 4 marks sum)), 1, 'an adjoint that was forgotten fails');
like($out, qr/the gradient of squares is the first wrong one/, 'and is placed between two marks');
is(run(qw(--db none -n 3 op-custom wrong)), 1, 'a wrong operation of the program\'s own fails');
like($out, qr/the first wrong adjoint is that of custom where rank \d: custom \S*op-custom\.c:\d+/, 'and is named');

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

is(run('mutants'), 0, 'all mutants are killed');
my ($killed, $all) = $out =~ /killed (\d+) of (\d+); the right adjoints pass every program/;
ok($killed && $killed == $all && $all >= 19, "killed $killed of $all");
my @rows = $out =~ /\b[a-z-]+ +(\d+) [a-z ,]+ (?:[A-Z]\w+|replicate|-) +(?:central|deadlock)/g;
is(scalar @rows, $all, 'each with its number of ranks and what killed it');
done_testing();
