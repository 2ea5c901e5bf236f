# Programs with one error each, and their right twins, made of fragments of C. A fragment says @W{what is wrong} and @R{what is right};
# @! marks a line of the wrong one that the finding must name. Fragments stand in frames: main itself, a function, a function that is
# given a duplicate of the world, or a loop, turn by turn, so that programs do not look alike.
package generate;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(add cases);

my @cases;
my $braces = qr/(\{(?:[^{}]++|(?-1))*\})/;

# add(name, ranks, codes, fragment, [frame]): codes as alternatives with |. The frame is one of main, function, dup, loop; "whole"
# where the fragment is the program.
sub add {
    my ($name, $ranks, $codes, $text, $frame) = @_;
    push @cases, {name => $name, ranks => $ranks, codes => $codes, text => $text, frame => $frame};
}

sub version {
    my ($text, $keep, $drop) = @_;
    $text =~ s/\@$drop$braces//g;
    $text =~ s/\@$keep$braces/substr($1, 1, -1)/ge;
    return $text;
}

my $head = "#include <mpi.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n";
my $locals = "    int a[64] = {0}, b[256] = {0}, i = 0, flag = 0;\n    double x[64] = {0}, y[256] = {0};\n    MPI_Request req = MPI_REQUEST_NULL, reqs[8];\n"
    . "    MPI_Status st;\n    (void)a, (void)b, (void)i, (void)flag, (void)x, (void)y, (void)req, (void)reqs, (void)st;\n";
my $names = "    int rank, size;\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    MPI_Comm_size(MPI_COMM_WORLD, &size);\n";

sub framed {
    my ($text, $frame) = @_;
    return $head . $text if $frame eq 'whole';
    (my $globals = '') = '';
    $globals = $1 if $text =~ s/\A((?:^\^.*\n)+)//m;
    $globals =~ s/^\^//mg;
    $text =~ s/^/    /mg;
    return "$head${globals}int main(int argc, char **argv)\n{\n    MPI_Init(&argc, &argv);\n$names$locals$text\n    MPI_Finalize();\n    return 0;\n}\n"
        if $frame eq 'main';
    return "$head${globals}int main(int argc, char *argv[]) {\n    MPI_Init(&argc, &argv);\n$names$locals"
        . "    for (int step = 0; step < 2; step++) {\n$text\n    }\n    MPI_Finalize();\n    return 0;\n}\n"
        if $frame eq 'loop';
    $text =~ s/MPI_COMM_WORLD/comm/g;
    my $work = "static void work(int rank, int size, MPI_Comm comm)\n{\n    (void)rank, (void)size, (void)comm;\n$locals$text\n}\n\n";
    my ($make, $free) = $frame eq 'dup' ? ("    MPI_Comm mine;\n    MPI_Comm_dup(MPI_COMM_WORLD, &mine);\n", "    MPI_Comm_free(&mine);\n") : ('', '');
    my $given = $frame eq 'dup' ? 'mine' : 'MPI_COMM_WORLD';
    return "$head$globals${work}int main(int argc, char **argv)\n{\n    MPI_Init(&argc, &argv);\n$names$make    work(rank, size, $given);\n$free    MPI_Finalize();\n    return 0;\n}\n";
}

# All cases: name, ranks, codes, the two programs, and the numbers of the lines that may be named.
sub cases {
    my @turns = qw(main function dup);
    my @made;
    for my $number (0 .. $#cases) {
        my %case = %{$cases[$number]};
        my $frame = $case{frame} || $turns[$number % @turns];
        my $wrong = framed(version($case{text}, 'W', 'R'), $frame);
        my @lines = split /^/, $wrong;
        $case{lines} = [grep { $lines[$_ - 1] =~ /\@!/ } 1 .. @lines];
        $wrong =~ s/[ \t]*\@!//g;
        ($case{right} = framed(version($case{text}, 'R', 'W'), $frame)) =~ s/[ \t]*\@!//g;
        $case{wrong} = $wrong;
        push @made, \%case;
    }
    return @made;
}
1;
