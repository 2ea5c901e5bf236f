#!/usr/bin/perl
# Two bugs in one program that have nothing to do with each other stay two findings: neither is folded under the other.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc';    # clang leaves out elements of arrays on the stack (tests/memory/memory.t)
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder or die;
sub spew { my ($name, $text) = @_; open my $f, '>', $name or die; print $f $text; close $f }
sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }

# Each on one line, so that the place tells which was found.
my %bugs = (
    L003 => 'MPI_Comm c; MPI_Comm_dup(MPI_COMM_WORLD, &c);',
    L005 => 'MPI_Datatype t; MPI_Type_contiguous(2, MPI_INT, &t); MPI_Type_commit(&t);',
    L004 => 'MPI_Group g; MPI_Comm_group(MPI_COMM_WORLD, &g);',
    L001 => 'MPI_Request r; MPI_Send_init(a, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);',
    B001 => 'MPI_Request r; MPI_Isend(a, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &r); a[0] = 5; MPI_Recv(b, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Wait(&r, MPI_STATUS_IGNORE);',
    D003 => 'MPI_Send(a + 8, 1, MPI_INT, peer, 2, MPI_COMM_WORLD); MPI_Recv(b + 8, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);',
    M008 => 'MPI_Sendrecv(a + 16, 1, MPI_INT, peer, 3, f, 1, MPI_FLOAT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);',
    L006 => 'MPI_Op o; MPI_Op_create(mine, 1, &o);',
    L011 => 'MPI_Info i; MPI_Info_create(&i);',
    M009 => 'MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); MPI_Send(a, -1, MPI_INT, peer, 9, MPI_COMM_WORLD);',
    M007 => 'MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); MPI_Sendrecv(a + 16, 3, MPI_INT, peer, 3, b + 16, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);',
    B006 => 'static int h[1]; MPI_Sendrecv(a + 16, 2, MPI_INT, peer, 4, h, 2, MPI_INT, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);',
    M003 => 'MPI_Allreduce(a + 24, b + 24, 1, MPI_INT, rank ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD);',
);
my @pairs = (['L003', 'L005'], ['L003', 'B001'], ['L004', 'D003'], ['B001', 'D003'], ['B001', 'M008'], ['M008', 'D003'],
    ['L004', 'B001'], ['D003', 'L001'], ['B001', 'M003'], ['M008', 'M003'], ['L005', 'D003'],
    # Where the run goes on after the first, what it leaves open is no consequence.
    ['L003', 'M008'], ['M008', 'L005'], ['M008', 'L001'], ['M009', 'L006'], ['M009', 'L011'], ['M007', 'L004'], ['M007', 'L001'], ['B006', 'L003']);
for my $pair (@pairs) {
    my ($first, $second) = @$pair;
    spew('both.c', "#include <mpi.h>\n#include <stdlib.h>\nstatic void mine(void *in, void *out, int *n, MPI_Datatype *t) { (void)in, (void)out, (void)n, (void)t; }\nint main(int argc, char **argv)\n{\n    int rank, peer, a[32] = {0}, b[32] = {0};\n    float f[4];\n    MPI_Init(&argc, &argv);\n"
        . "    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    peer = 1 - rank;\n    (void)peer, (void)a, (void)b, (void)f;\n    { $bugs{$first} }\n    { $bugs{$second} }\n"
        . "    MPI_Finalize();\n    return 0;\n}\n");
    for my $command ('run', 'prove') {
        next if $command eq 'run' && "@$pair" !~ /L00. L00./;
        system("COLUMNS=1000 timeout 100 '$simrun' $command --db none -n 2 ./both.c >out 2>err </dev/null");
        my %found;
        my $out = slurp("out");
        for (split /^(?=[A-Z]\d{3} )/m, $out) {
            next unless my ($code) = /^([A-Z]\d{3}) /;
            push @{$found{$code}}, /both\.c:(1[23])\b/;
        }
        is(join(' ', sort keys %found), join(' ', sort @$pair), "$command: $first and $second are both told, and nothing else") or diag slurp('out');
        is("@{$found{$first} // []} @{$found{$second} // []}", '12 13', 'at their lines');
    }
}
# A message whose receive was refused is left because of that, a request whose wait was.
my %left = (
    'M009' => 'if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 5, MPI_COMM_WORLD); else MPI_Recv(b, -1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);');
for my $code (sort keys %left) {
    spew('left.c', "#include <mpi.h>\nint main(int argc, char **argv)\n{\n    int rank, a[4] = {0}, b[4];\n    MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        . "    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);\n    $left{$code}\n    MPI_Finalize();\n    return 0;\n}\n");
    my $out = `'$simrun' --db none -n 2 ./left.c 2>/dev/null`;
    is(join(' ', $out =~ /^([A-Z]\d{3}) /mg), $code, "what a refused call leaves open is folded under $code") or diag $out;
}
done_testing;
