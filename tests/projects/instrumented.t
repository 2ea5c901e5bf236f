#!/usr/bin/perl
# A program that simcc builds with SIMCC_MEMORY=1 has its loads and stores seen, whether one command compiles and links it, make does, or
# the object and the program are made apart; without it the coverage says that they are not.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc'; # clang leaves out elements of arrays on the stack
delete $ENV{SIMCC_MEMORY};
$ENV{CCACHE_DISABLE} = 1; # an object of another folder names its sources there

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
(my $simcc = $simrun) =~ s/simrun$/simcc/;
$ENV{PATH} = dirname($simrun) . ":$ENV{PATH}";
my $folder = scratch_folder();
chdir $folder or die;

sub file {
    my ($name, $text) = @_;
    open my $out, '>', $name or die;
    print $out $text;
    close $out;
}

# The right twin reads after the wait.
file('part.h', "int look(const int *a);\n");
file('part.c', "#include \"part.h\"\nint look(const int *a) { return a[SHIFT]; }\n");
file('main.c', <<'C');
#include "part.h"
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, sum = 0, *a = calloc(3000, sizeof *a);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0 && ranks > 1)
        MPI_Send(a, 3000, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Irecv(a, 3000, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    if (rank == 1 && argc > 1)
        sum += look(a);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum += look(a);
    free(a);
    MPI_Finalize();
    return sum;
}
C
file('Makefile', "CFLAGS = -g -O2 '-DSHIFT=2 + 3' -I.\nprogram: main.o part.o\n\t\$(CC) \$(CFLAGS) -o \$@ \$^ -lm\n");

sub word {
    my ($program, $words) = @_;
    my $said = `timeout 60 '$simrun' --db none -n 2 --memory ./$program $words 2>&1` =~ s/\s+/ /gr;
    my ($code, $place) = $said =~ / (B001) .*? at (\S+)/;
    return ($code ? "$code $place" : $said =~ /not covered: .*not seen/ ? 'not seen' : $said =~ /^(\w+)/ ? $1 : $said);
}

my %builds = (
    'one command' => "'$simcc' -g -I . -D 'SHIFT=2 + 3' main.c part.c -o program -lm",
    'objects' => "'$simcc' -g -c main.c && '$simcc' -g '-DSHIFT=5' -c part.c && '$simcc' -o program main.o part.o",
    'make' => 'make -s CC=simcc', # a path with blanks is no word of make's
);
for my $build (sort keys %builds) {
    unlink 'program', 'main.o', 'part.o';
    {
        local $ENV{SIMCC_MEMORY} = 1;
        is(system($builds{$build}), 0, "$build: builds");
    }
    is(word('program', 'early'), 'B001 part.c:2', "$build: a read of a pending receive is found at its line");
    is(word('program', ''), 'PASS', "$build: the right twin passes");
}
is(system('./program') >> 8, 0, 'started by itself it is one rank');
unlink 'program', 'main.o', 'part.o';
system($builds{make});
is(word('program', 'early'), 'not seen', 'without it they are not seen, and that is told');
done_testing;
