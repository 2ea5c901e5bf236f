# Requests: never completed, completed twice, never started, started twice, freed while active; the end of MPI with work to do.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my $other = 'int peer = rank ^ 1;';
my %start = (
    Isend => ["MPI_Isend(a, 4, MPI_INT, peer, 0, $w, &req);", "MPI_Recv(b, 4, MPI_INT, peer, 0, $w, &st);"],
    Issend => ["MPI_Issend(a, 4, MPI_INT, peer, 0, $w, &req);", "MPI_Recv(b, 4, MPI_INT, peer, 0, $w, &st);"],
    Irecv => ["MPI_Irecv(b, 4, MPI_INT, peer, 0, $w, &req);", "MPI_Send(a, 4, MPI_INT, peer, 0, $w);"],
    map({ ("I$_->[0]" => ["MPI_I$_->[0]($_->[1], &req);", '']) } ['barrier', $w], ['bcast', "a, 4, MPI_INT, 0, $w"], ['allreduce', "a, b, 4, MPI_INT, MPI_SUM, $w"],
        ['reduce', "a, b, 4, MPI_INT, MPI_SUM, 0, $w"], ['gather', "a, 1, MPI_INT, b, 1, MPI_INT, 0, $w"], ['scatter', "a, 1, MPI_INT, b, 1, MPI_INT, 0, $w"],
        ['allgather', "a, 1, MPI_INT, b, 1, MPI_INT, $w"], ['alltoall', "a, 1, MPI_INT, b, 1, MPI_INT, $w"], ['scan', "a, b, 4, MPI_INT, MPI_MAX, $w"],
        ['exscan', "a, b, 4, MPI_INT, MPI_MAX, $w"], ['reduce_scatter_block', "a, b, 1, MPI_INT, MPI_SUM, $w"]));
my @waits = ('MPI_Wait(&req, &st);', 'MPI_Waitall(1, &req, MPI_STATUSES_IGNORE);', 'MPI_Waitany(1, &req, &i, MPI_STATUS_IGNORE);',
    'while (!flag) MPI_Test(&req, &flag, MPI_STATUS_IGNORE);', 'do MPI_Testall(1, &req, &flag, MPI_STATUSES_IGNORE); while (!flag);');
my $turn = 0;
for my $name (sort keys %start) {
    my ($begin, $partner) = @{$start{$name}};
    my $wait = $waits[$turn++ % @waits];
    add("request-unwaited-$name", 2 + 2 * ($turn % 2), 'L001|X006|L008', "$other\n$begin \@!\n$partner\n\@R{$wait}");
    add("request-lost-$name", 2, 'L001|X006|L008', "$other\n$begin \@!\n$partner\n\@W{req = MPI_REQUEST_NULL;}\n$wait", 'main');
    add("request-overwritten-$name", 2, 'L001|X006|L008|L002|D001|D003|B001|B002', "$other\nfor (int k = 0; k < 2; k++) {\n    $begin \@!\n    $partner\n    \@R{$wait flag = 0;}\n}\n\@W{$wait}", 'main')
        unless $name =~ /^I(recv|s?send|ssend)$/;
    # B001 where the frame of the buffer ends before anybody can know that it is free.
    add("request-freed-$name", 2, 'M009|L001|B001', "$other\n$begin \@!\n$partner\n\@W{MPI_Request_free(&req);}\@R{$wait} \@!") unless $name =~ /^Is?send$/;
    # A second wait returns at once: legal, and worth a note.
    add("request-twice-$name", 2, 'L009', "$other\n$begin\n$partner\n$wait\n\@W{MPI_Wait(&req, &st);} \@!");
}
my %persistent = (
    Send_init => ["MPI_Send_init(a, 4, MPI_INT, peer, 0, $w, &req);", "MPI_Recv(b, 4, MPI_INT, peer, 0, $w, &st);"],
    Ssend_init => ["MPI_Ssend_init(a, 4, MPI_INT, peer, 0, $w, &req);", "MPI_Recv(b, 4, MPI_INT, peer, 0, $w, &st);"],
    Recv_init => ["MPI_Recv_init(b, 4, MPI_INT, peer, 0, $w, &req);", "MPI_Send(a, 4, MPI_INT, peer, 0, $w);"],
    Allreduce_init => ["MPI_Allreduce_init(a, b, 4, MPI_INT, MPI_SUM, $w, MPI_INFO_NULL, &req);", ''],
    Bcast_init => ["MPI_Bcast_init(a, 4, MPI_INT, 1, $w, MPI_INFO_NULL, &req);", ''],
    Barrier_init => ["MPI_Barrier_init($w, MPI_INFO_NULL, &req);", ''],
    Alltoall_init => ["MPI_Alltoall_init(a, 1, MPI_INT, b, 1, MPI_INT, $w, MPI_INFO_NULL, &req);", '']);
for my $name (sort keys %persistent) {
    my ($make, $partner) = @{$persistent{$name}};
    my $wait = $waits[$turn++ % @waits];
    my $end = 'MPI_Request_free(&req);';
    add("persistent-unfreed-$name", 2, 'L001', "$other\n$make \@!\nMPI_Start(&req);\n$partner\n$wait\n\@R{$end}");
    add("persistent-unwaited-$name", 2, 'X006|L001|L008', "$other\n$make\nMPI_Start(&req); \@!\n$partner\n\@R{$wait\n$end}");
    add("persistent-freed-active-$name", 2, 'M009|L001|X006|B001', "$other\n$make\nMPI_Start(&req); \@!\n$partner\n\@R{$wait}\n$end \@!");
    add("persistent-restarted-$name", 2, 'L010', "$other\n$make\nMPI_Start(&req);\n$partner\n\@W{MPI_Start(&req);} \@!\n$wait\n$end");
    add("persistent-unstarted-$name", 2, 'L009|D001|D003|L002|D002', "$other\n$make\n\@R{MPI_Start(&req);}\n$partner \@!\nMPI_Wait(&req, &st); \@!\n$end");
    add("persistent-not-persistent-$name", 2, 'M009|L010', "$other\n\@W{MPI_Irecv(x, 0, MPI_INT, MPI_PROC_NULL, 0, $w, &req);}\@R{$make}\nMPI_Start(&req); \@!\n\@R{$partner}\n$wait\n\@R{$end}");
    add("persistent-after-free-$name", 2, 'M009', "$other\n$make\nMPI_Start(&req);\n$partner\n$wait\n\@W{$end}\n\@W{MPI_Start(&req);} \@!\n\@R{$end}");
}
# Several requests.
add('request-waitall-short', 2, 'X006|L001|L008|D001', "$other\nMPI_Irecv(b, 1, MPI_INT, peer, 0, $w, &reqs[0]);\nMPI_Irecv(b + 4, 1, MPI_INT, peer, 1, $w, &reqs[1]);\nMPI_Isend(a, 1, MPI_INT, peer, 0, $w, &reqs[2]);\nMPI_Isend(a + 4, 1, MPI_INT, peer, 1, $w, &reqs[3]); \@!\nMPI_Waitall(\@W{3}\@R{4}, reqs, MPI_STATUSES_IGNORE);");
add('request-waitany-once', 2, 'X006|L001|L008', "$other\nMPI_Irecv(b, 1, MPI_INT, peer, 0, $w, &reqs[0]); \@!\nMPI_Isend(a, 1, MPI_INT, peer, 0, $w, &reqs[1]); \@!\nMPI_Waitany(2, reqs, &i, &st);\n\@R{MPI_Waitany(2, reqs, &i, &st);}");
add('request-testsome-once', 2, 'X006|L001|L008|D001|R003', "$other\nint done[2];\nMPI_Irecv(b, 1, MPI_INT, peer, 0, $w, &reqs[0]); \@!\nMPI_Isend(a, 1, MPI_INT, peer, 0, $w, &reqs[1]); \@!\nMPI_\@W{Test}\@R{Wait}some(2, reqs, &i, done, MPI_STATUSES_IGNORE);\n\@R{MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);}", 'main');
add('request-same-slot', 2, 'X006|L001|L008', "$other\nMPI_Irecv(b, 1, MPI_INT, peer, 0, $w, &req); \@!\nMPI_Isend(a, 1, MPI_INT, peer, 0, $w, \@W{&req}\@R{reqs}); \@!\nMPI_Wait(&req, &st);\n\@R{MPI_Wait(reqs, &st);}");
add('request-garbage', 2, 'M009|X001', "static MPI_Request kept;\nmemset(&kept, \@W{0x5a}\@R{0}, sizeof kept);\n\@R{kept = MPI_REQUEST_NULL;}\nMPI_Wait(&kept, &st); \@!");
add('request-copy', 2, 'M009', "$other\nMPI_Request copy;\nMPI_Isend(a, 1, MPI_INT, peer, 0, $w, &req);\ncopy = req;\nMPI_Recv(b, 1, MPI_INT, peer, 0, $w, &st);\nMPI_Wait(&req, &st);\n\@W{MPI_Wait(&copy, &st);} \@!\n(void)copy;");
add('request-cancelled-unwaited', 2, 'L001|X006|L008', "MPI_Irecv(b, 1, MPI_INT, MPI_ANY_SOURCE, 77, $w, &req); \@!\nMPI_Cancel(&req);\n\@R{MPI_Wait(&req, &st);}");
add('request-cancel-collective', 2, 'M009', "MPI_Ibarrier($w, &req);\n\@W{MPI_Cancel(&req);} \@!\nMPI_Wait(&req, &st);");
add('request-status-of-send', 2, 'M009', "MPI_Get_count(&st, \@W{MPI_DATATYPE_NULL}\@R{MPI_INT}, &i); \@!" =~ s/\A/memset(&st, 0, sizeof st);\nMPI_Recv(b, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &st);\n/r);

# Beginning and end.
my $begin = "int main(int argc, char **argv)\n{\n";
my @lives = (
    ['life-no-init', 'M009|X008|X002', "$begin    int rank = 0;\n    \@R{MPI_Init(&argc, &argv);}\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank); \@!\n    MPI_Barrier(MPI_COMM_WORLD);\n    MPI_Finalize();\n    return 0;\n}\n"],
    ['life-no-finalize', 'X008', "$begin    MPI_Init(&argc, &argv);\n    MPI_Barrier(MPI_COMM_WORLD);\n    \@R{MPI_Finalize();}\n    return 0;\n}\n"],
    ['life-no-finalize-one', 'X008|D001|M010', "$begin    int rank;\n    MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    if (rank != \@W{1}\@R{9})\n        MPI_Finalize();\n    return 0;\n}\n"],
    ['life-init-twice', 'M009', "$begin    MPI_Init(&argc, &argv);\n    \@W{MPI_Init(&argc, &argv);} \@!\n    MPI_Finalize();\n    return 0;\n}\n"],
    ['life-finalize-twice', 'M009', "$begin    MPI_Init(&argc, &argv);\n    MPI_Finalize();\n    \@W{MPI_Finalize();} \@!\n    return 0;\n}\n"],
    ['life-after-finalize', 'M009', "$begin    int rank, a = 0;\n    MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    \@R{MPI_Bcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD);}\n    MPI_Finalize();\n    \@W{MPI_Bcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD);} \@!\n    return 0;\n}\n"],
    ['life-before-init', 'M009', "$begin    int size;\n    \@W{MPI_Comm_size(MPI_COMM_WORLD, &size);} \@!\n    MPI_Init(&argc, &argv);\n    MPI_Comm_size(MPI_COMM_WORLD, &size);\n    MPI_Finalize();\n    return 0;\n}\n"],
    ['life-thread-level', 'M009', "static void *body(void *p)\n{\n    MPI_Barrier(MPI_COMM_SELF); \@!\n    return p;\n}\n$begin    int provided;\n    pthread_t t;\n    MPI_Init_thread(&argc, &argv, \@W{MPI_THREAD_FUNNELED}\@R{MPI_THREAD_MULTIPLE}, &provided);\n    pthread_create(&t, NULL, body, NULL);\n    pthread_join(t, NULL);\n    MPI_Finalize();\n    return 0;\n}\n"],
    ['life-exit-early', 'X008|X002|D001|M010', "$begin    int rank;\n    MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    if (rank == 1) \@W{exit(0)}\@R{rank = 0}; \@!\n    MPI_Barrier(MPI_COMM_WORLD);\n    MPI_Finalize();\n    return 0;\n}\n"],
    ['life-abort', 'X002', "$begin    int rank;\n    MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    if (rank == \@W{1}\@R{9}) MPI_Abort(MPI_COMM_WORLD, 4); \@!\n    MPI_Finalize();\n    return 0;\n}\n"],
);
add($_->[0], 2, $_->[1], $_->[2], 'whole') for @lives;
1;
