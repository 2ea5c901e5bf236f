# Hybrid programs beside teams.pl: thread levels that do not allow what is done, buffers of one call in another thread's hands, shared
# requests, threads that race for one tag, and collectives of threads on one communicator.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my $s = 'MPI_STATUS_IGNORE';
my $head = "#include <mpi.h>\n#include <omp.h>\n#include <pthread.h>\n#include <stdio.h>\n\n";

sub hybrid {
    my ($name, $codes, $level, $body, $globals) = @_;
    add("hybrid-$name", 2, $codes, $head . ($globals // '') . "int main(int argc, char **argv)\n{\n    int rank, provided, a[64] = {0}, b[64] = {0}, sum = 0;\n    MPI_Request req = MPI_REQUEST_NULL;\n"
        . "    (void)a, (void)b, (void)req, (void)sum;\n    MPI_Init_thread(&argc, &argv, MPI_THREAD_$level, &provided);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n$body    MPI_Finalize();\n    return 0;\n}\n", 'whole');
}
my $par = '#pragma omp parallel num_threads(2)';
my $for = '#pragma omp parallel for num_threads(2)';

# The level
hybrid('funneled-single', 'M009', '@W{FUNNELED}@R{SERIALIZED}', "$par\n    {\n        if (omp_get_thread_num() == 1)\n            MPI_Barrier($w); \@!\n    }\n");
hybrid('serialized-both', 'M009', '@W{SERIALIZED}@R{MULTIPLE}', "$for\n    for (int i = 0; i < 2; i++)\n        MPI_Sendrecv(&a[i], 1, MPI_INT, 1 - rank, i, &b[i], 1, MPI_INT, 1 - rank, i, $w, $s); \@!\n");
hybrid('funneled-pthread', 'M009', '@W{FUNNELED}@R{SERIALIZED}', "    pthread_t t;\n    pthread_create(&t, NULL, work, NULL);\n    pthread_join(t, NULL);\n", "static void *work(void *n)\n{\n    (void)n;\n    MPI_Barrier($w); \@!\n    return NULL;\n}\n\n");
add('hybrid-plain-init', 2, 'M009', $head . "int main(int argc, char **argv)\n{\n    int provided = 0;\n    (void)provided;\n    \@W{MPI_Init(&argc, &argv);}\@R{MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);}\n"
    . "$par\n    {\n        if (omp_get_thread_num() == 1)\n            MPI_Barrier($w); \@!\n    }\n    MPI_Finalize();\n    return 0;\n}\n", 'whole');

# Buffers
hybrid('buffer-written-beside-send', 'B001', 'MULTIPLE', "$par\n    {\n        if (omp_get_thread_num() == 0) {\n            MPI_Request q;\n            MPI_Isend(a, 4, MPI_INT, 1 - rank, 1, $w, &q); \@!\n\@R{#pragma omp barrier\n}            MPI_Recv(b, 4, MPI_INT, 1 - rank, 1, $w, $s);\n            MPI_Wait(&q, $s);\n        } else {\n\@R{#pragma omp barrier\n}            a[\@W{1}\@R{9}] = 5; \@!\n        }\n    }\n");
hybrid('read-before-received', 'B001', 'MULTIPLE', "    MPI_Irecv(b, 4, MPI_INT, 1 - rank, 1, $w, &req); \@!\n    MPI_Send(a, 4, MPI_INT, 1 - rank, 1, $w);\n\@R{    MPI_Wait(&req, $s);\n}$par reduction(+ : sum)\n    sum += b[omp_get_thread_num()]; \@!\n\@W{    MPI_Wait(&req, $s);\n}    printf(\"%d\\n\", sum);\n");
hybrid('written-in-loop', 'B001', 'FUNNELED', "    MPI_Isend(a, 64, MPI_INT, 1 - rank, 1, $w, &req); \@!\n\@R{    MPI_Recv(b, 64, MPI_INT, 1 - rank, 1, $w, $s);\n    MPI_Wait(&req, $s);\n}$for\n    for (int i = 0; i < 64; i++)\n        a[i] = i; \@!\n\@W{    MPI_Recv(b, 64, MPI_INT, 1 - rank, 1, $w, $s);\n    MPI_Wait(&req, $s);\n}");
hybrid('reduced-in-loop', 'B001', 'FUNNELED', "    MPI_Iallreduce(a, b, 64, MPI_INT, MPI_SUM, $w, &req); \@!\n\@R{    MPI_Wait(&req, $s);\n}$for reduction(+ : sum)\n    for (int i = 0; i < 64; i++)\n        sum += b[i]; \@!\n\@W{    MPI_Wait(&req, $s);\n}    printf(\"%d\\n\", sum);\n");

# Matching
hybrid('sizes-race', 'M007|R003|R002', 'MULTIPLE', "    if (rank == 0) {\n        MPI_Send(a, 1, MPI_INT, 1, 5, $w);\n        MPI_Send(a, 4, MPI_INT, 1, \@W{5}\@R{6}, $w); \@!\n    } else {\n$for\n        for (int i = 0; i < 2; i++)\n            MPI_Recv(&b[8 * i], i ? 4 : 1, MPI_INT, 0, i ? \@W{5}\@R{6} : 5, $w, $s); \@!\n    }\n");
hybrid('collectives-of-threads', 'M006|M001|D001|D002|R003|M009', 'MULTIPLE', "    MPI_Comm two[2];\n    MPI_Comm_dup($w, &two[0]);\n    MPI_Comm_dup($w, &two[1]);\n$for\n    for (int i = 0; i < 2; i++) {\n        if (i == 0)\n            MPI_Bcast(a, 1, MPI_INT, 0, two[\@W{0}\@R{0}]); \@!\n        else\n            MPI_Allreduce(a + 8, b, 1, MPI_INT, MPI_SUM, two[\@W{0}\@R{1}]); \@!\n    }\n    MPI_Comm_free(&two[0]);\n    MPI_Comm_free(&two[1]);\n");
hybrid('ordered-collective', 'M001|D001|D002', 'MULTIPLE', "$for ordered schedule(static, 1)\n    for (int i = 0; i < 4; i++) {\n#pragma omp ordered\n        {\n            if (i % 2 \@W{== rank}\@R{== 0})\n                MPI_Barrier($w); \@!\n            else\n                MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, $w); \@!\n        }\n    }\n");
hybrid('tasks', 'D001', 'MULTIPLE', "$par\n#pragma omp single\n    for (int i = 0; i < 2; i++) {\n#pragma omp task firstprivate(i)\n        {\n            if (rank == 0)\n                MPI_Ssend(&a[i], 1, MPI_INT, 1, i, $w); \@!\n            else\n                MPI_Recv(&b[i], 1, MPI_INT, 0, \@W{i + 1}\@R{i}, $w, $s); \@!\n        }\n    }\n");
hybrid('lock-held', 'D001|D002', 'MULTIPLE', "    omp_lock_t lock;\n    omp_init_lock(&lock);\n$par\n    {\n        int me = omp_get_thread_num();\n\@W{        omp_set_lock(&lock);\n}        if (me == 0)\n            MPI_Recv(b, 1, MPI_INT, rank, 3, $w, $s); \@!\n        else\n            MPI_Ssend(a, 1, MPI_INT, rank, 3, $w); \@!\n\@W{        omp_unset_lock(&lock);\n}    }\n    omp_destroy_lock(&lock);\n");

# MPI_THREAD_SERIALIZED: one thread at a time, which the program sees to by a lock, a section, or a barrier between two
my $loop = "$for\n    for (int i = 0; i < 4; i++)";
my $self = "MPI_Sendrecv(&a[i], 1, MPI_INT, 0, i, &b[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, $s);";
hybrid('serialized-critical', 'M009', 'SERIALIZED', "$loop {\n\@R{#pragma omp critical\n}        $self \@!\n    }\n");
hybrid('serialized-mutex', 'M009', 'SERIALIZED', "$par\n    {\n        int i = omp_get_thread_num();\n\@R{        pthread_mutex_lock(&lock);\n}        $self \@!\n\@R{        pthread_mutex_unlock(&lock);\n}        (void)lock;\n    }\n", "static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\n");
hybrid('serialized-named-critical', 'M009', 'SERIALIZED', "$loop {\n\@R{#pragma omp critical(mpi)\n}        $self \@!\n    }\n");
hybrid('serialized-lock', 'M009', 'SERIALIZED', "    omp_lock_t lock;\n    omp_init_lock(&lock);\n$loop {\n\@R{        omp_set_lock(&lock);\n}        $self \@!\n\@R{        omp_unset_lock(&lock);\n}    }\n    omp_destroy_lock(&lock);\n");
hybrid('serialized-test-lock', 'M009', 'SERIALIZED', "    omp_lock_t lock;\n    omp_init_lock(&lock);\n$loop {\n\@R{        while (!omp_test_lock(&lock))\n            ;\n}        $self \@!\n\@R{        omp_unset_lock(&lock);\n}    }\n    omp_destroy_lock(&lock);\n");
hybrid('serialized-ordered', 'M009', 'SERIALIZED', ($loop =~ s/num_threads\(2\)/num_threads(2) ordered schedule(static, 1)/r) . " {\n\@R{#pragma omp ordered\n}        $self \@!\n    }\n");
hybrid('serialized-master-then-other', 'M009', 'SERIALIZED', "$par\n    {\n        int i = omp_get_thread_num();\n        if (i == 0)\n            $self \@!\n\@R{#pragma omp barrier\n}        if (i == 1)\n            $self \@!\n    }\n");
hybrid('serialized-regions', 'M009', '@W{FUNNELED}@R{SERIALIZED}', "    int i = 0;\n$par\n    if (omp_get_thread_num() == 0)\n        $self\n$par\n    if (omp_get_thread_num() == 1)\n        $self \@!\n");

# Ordered sections: a thread that waits for its turn waits for whoever has it. (Two such loops
# without a barrier between them hang by chance in libgomp itself.)
for my $schedule ('static', 'static, 1', 'dynamic', 'guided', 'runtime') {
    for my $threads (2, 4) {
        my $name = ($schedule =~ s/, /-/r) . "-$threads";
        my $turns = "#pragma omp parallel for num_threads($threads) ordered schedule($schedule)\n    for (int i = \@F) {\n";
        my $exchange = "            if (rank == 0)\n                MPI_Ssend(&a[i], 1, MPI_INT, 1, i, $w); \@!\n            else\n                MPI_Recv(&b[i], 1, MPI_INT, 0, \@W{9 - i}\@R{i}, $w, $s); \@!\n";
        hybrid("ordered-up-$name", 'D001', 'MULTIPLE', ($turns =~ s/\@F/0; i < 9; i++/r) . "#pragma omp ordered\n        {\n$exchange        }\n    }\n");
        hybrid("ordered-down-$name", 'D001', 'SERIALIZED', ($turns =~ s/\@F/8; i >= 0; i -= 2/r) . "#pragma omp ordered\n        {\n$exchange        }\n    }\n");
        hybrid("ordered-before-$name", 'D001', 'MULTIPLE', ($turns =~ s/\@F/0; i < 9; i++/r) . "        if (i == 1) {\n$exchange        }\n#pragma omp ordered\n        sum += i;\n    }\n    printf(\"%d\\n\", sum);\n");
        hybrid("ordered-twice-$name", 'D001', 'MULTIPLE', "#pragma omp parallel num_threads($threads)\n    {\n#pragma omp for ordered schedule($schedule)\n        for (int i = 0; i < 5; i++) {\n#pragma omp ordered\n            a[i] = sum++;\n        }\n"
            . "#pragma omp for ordered schedule($schedule)\n        for (int i = 0; i < 7; i++) {\n#pragma omp ordered\n            {\n$exchange            }\n        }\n    }\n");
    }
}
hybrid('ordered-reversed', 'D001|D002', 'MULTIPLE', "$for ordered\n    for (int i = 0; i < 2; i++) {\n#pragma omp ordered\n        {\n            int to = \@W{rank ? 1 - i : i}\@R{i};\n            if (rank == 0)\n                MPI_Ssend(&a[i], 1, MPI_INT, 1, to, $w); \@!\n            else\n                MPI_Recv(&b[i], 1, MPI_INT, 0, to, $w, $s); \@!\n        }\n    }\n");
1;
