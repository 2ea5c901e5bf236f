# Hybrid programs: what threads of an OpenMP team do wrong, or rightly, in MPI. Where every thread of a rank waits, in MPI, at a barrier or
# for a critical section, the rank is blocked; sections of different ranks have nothing to do with each other.
use strict;
use warnings;
use generate;

sub team {
    my ($name, $codes, $region, $level) = @_;
    $level //= 'MULTIPLE';
    add("team-$name", 2, $codes, "#include <mpi.h>\n#include <omp.h>\n#include <stdio.h>\n\nint main(int argc, char **argv)\n{\n"
        . "    int rank, provided;\n    MPI_Init_thread(&argc, &argv, MPI_THREAD_$level, &provided);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        . "#pragma omp parallel num_threads(3)\n    {\n        int me = omp_get_thread_num(), x = me, y = -1;\n        (void)x, (void)y;\n"
        . "$region    }\n    MPI_Finalize();\n    return 0;\n}\n", 'whole');
}
my $world = 'MPI_COMM_WORLD';
my $status = 'MPI_STATUS_IGNORE';
my $send = "MPI_Ssend(&x, 1, MPI_INT, 1, me, $world);";

team('tag', 'D001', "        if (rank == 0)\n            $send\n        else\n"
    . "            MPI_Recv(&y, 1, MPI_INT, 0, \@W{me + 1}\@R{me}, $world, $status); \@!\n");
team('no-send', 'D001', "        if (rank == 1 && me == 2)\n            MPI_Recv(&y, 1, MPI_INT, 0, 2, $world, $status); \@!\n"
    . "\@R{        if (rank == 0 && me == 2)\n            $send\n}");
team('no-send-in-single', 'D001', "#pragma omp single\n        if (rank == 1)\n            MPI_Recv(&y, 1, MPI_INT, 0, 9, $world, $status); \@!\n"
    . "\@R{#pragma omp single\n        if (rank == 0)\n            MPI_Ssend(&x, 1, MPI_INT, 1, 9, $world);\n}", 'SERIALIZED');
team('barrier-before-send', 'D001', "        if (rank == 0 && me == 0)\n            MPI_Recv(&y, 1, MPI_INT, 0, 3, $world, $status); \@!\n"
    . "\@W{#pragma omp barrier\n}        if (rank == 0 && me == 1)\n            MPI_Send(&x, 1, MPI_INT, 0, 3, $world);\n"
    . "\@R{#pragma omp barrier\n}");
team('critical-around-both', 'D001', "        if (rank == 0 && me < 2) {\n\@W{#pragma omp critical\n}            {\n                if (me == 0)\n"
    . "                    MPI_Recv(&y, 1, MPI_INT, 0, 3, $world, $status); \@!\n                else\n"
    . "                    MPI_Ssend(&x, 1, MPI_INT, 0, 3, $world); \@!\n            }\n        }\n");
team('critical-of-two-ranks', 'D001', "#pragma omp critical\n        {\n            if (rank == 0)\n                MPI_Ssend(&x, 1, MPI_INT, 1, 4, $world);\n"
    . "            else\n                MPI_Recv(&y, 1, MPI_INT, 0, \@W{5}\@R{4}, $world, $status); \@!\n        }\n", 'SERIALIZED');
team('named-critical', 'D001', "#pragma omp critical(mpi)\n        {\n            if (rank == 0)\n                MPI_Ssend(&x, 1, MPI_INT, 1, 4, $world);\n"
    . "            else\n                MPI_Recv(&y, 1, MPI_INT, 0, \@W{5}\@R{4}, $world, $status); \@!\n        }\n", 'SERIALIZED');
team('collective-of-the-master', 'D001|M010', "#pragma omp master\n        if (\@W{rank == 0}\@R{1})\n            MPI_Barrier($world); \@!\n", 'FUNNELED');
team('collective-in-sections', 'D001|D002|M010', "#pragma omp sections\n        {\n#pragma omp section\n            if (\@W{rank == 0}\@R{1})\n"
    . "                MPI_Barrier($world); \@!\n#pragma omp section\n            if (rank == 0)\n                MPI_Ssend(&x, 1, MPI_INT, 1, 4, $world);\n"
    . "            else\n                MPI_Recv(&y, 1, MPI_INT, 0, 4, $world, $status);\n        }\n");
team('rounds', 'D001', "        for (int i = 0; i < 10; i++) {\n            if (rank == 0)\n                $send\n            else if (i < 9 || me \@W{!= 1}\@R{< 9})\n"
    . "                MPI_Recv(&y, 1, MPI_INT, 0, me, $world, $status);\n            else\n"
    . "                MPI_Recv(&y, 1, MPI_INT, 0, 77, $world, $status); \@!\n#pragma omp barrier\n        }\n");
team('abort', 'X002', "        if (rank == 1 && me == \@W{2}\@R{4})\n            MPI_Abort($world, 3);\n#pragma omp barrier\n        if (rank == 0)\n            $send\n"
    . "        else\n            MPI_Recv(&y, 1, MPI_INT, 0, me, $world, $status);\n");
1;
