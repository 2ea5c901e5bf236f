# Buffers that are touched, overlap, or die while an operation is under way.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my $peer = 'int peer = rank ^ 1;';
# name => [start, what the partner does, the buffers it reads, the buffers it writes]
my %pending = (
    Isend => ["MPI_Isend(a, 8, MPI_INT, peer, 0, $w, &req);", "MPI_Recv(b, 8, MPI_INT, peer, 0, $w, &st);", 'a', ''],
    Issend => ["MPI_Issend(a, 8, MPI_INT, peer, 0, $w, &req);", "MPI_Recv(b, 8, MPI_INT, peer, 0, $w, &st);", 'a', ''],
    Send_init => ["MPI_Send_init(a, 8, MPI_INT, peer, 0, $w, &req); MPI_Start(&req);", "MPI_Recv(b, 8, MPI_INT, peer, 0, $w, &st);", 'a', '', 1],
    Irecv => ["MPI_Irecv(b, 8, MPI_INT, peer, 0, $w, &req);", "MPI_Send(a, 8, MPI_INT, peer, 0, $w);", '', 'b'],
    Recv_init => ["MPI_Recv_init(b, 8, MPI_INT, peer, 0, $w, &req); MPI_Start(&req);", "MPI_Send(a, 8, MPI_INT, peer, 0, $w);", '', 'b', 1],
    Iallreduce => ["MPI_Iallreduce(a, b, 8, MPI_INT, MPI_SUM, $w, &req);", '', 'a', 'b'],
    Ibcast => ["MPI_Ibcast(b, 8, MPI_INT, 0, $w, &req);", '', '', 'b'],
    Iallgather => ["MPI_Iallgather(a, 8, MPI_INT, b, 8, MPI_INT, $w, &req);", '', 'a', 'b'],
    Ialltoall => ["MPI_Ialltoall(a, 4, MPI_INT, b, 4, MPI_INT, $w, &req);", '', 'a', 'b'],
    Iscan => ["MPI_Iscan(a, b, 8, MPI_INT, MPI_SUM, $w, &req);", '', 'a', 'b'],
    Ireduce_scatter_block => ["MPI_Ireduce_scatter_block(a, b, 8, MPI_INT, MPI_SUM, $w, &req);", '', 'a', 'b'],
    Allreduce_init => ["MPI_Allreduce_init(a, b, 8, MPI_INT, MPI_SUM, $w, MPI_INFO_NULL, &req); MPI_Start(&req);", '', 'a', 'b', 1],
);
my %touch = (
    store => '%[2] = 17;', add => '%[1] += rank + 1;', loop => 'for (int k = 0; k < 8; k++) %[k] = k + 1;', memset => 'memset(%, 9, 8 * sizeof *%);',
    function => 'spoil(%);', pointer => 'int *p = &%[3]; *p = 5;', print => 'printf("%%d\n", %[1]);', use => 'i = %[0] + 1;', branch => 'if (%[4] > 3) i++;',
    copy => 'memcpy(&i, % + 1, sizeof i);', sum => 'for (int k = 0; k < 8; k++) i += %[k];');
my %reads = map { $_ => 1 } qw(print use branch copy sum);
my $globals = "^static void spoil(int *p) { p[5] = 11; }\n";
for my $name (sort keys %pending) {
    my ($start, $partner, $read, $written, $persistent) = @{$pending{$name}};
    my $wait = 'MPI_Wait(&req, MPI_STATUS_IGNORE);';
    my $end = $persistent ? "\nMPI_Request_free(&req);" : '';
    for my $how (sort keys %touch) {
        for my $buffer (grep { $_ } $read, $written) {
            next if $reads{$how} && $buffer eq $read;
            my $act = $touch{$how} =~ s/%%/\0/gr =~ s/%/$buffer/gr =~ s/\0/%/gr;
            add("touch-$how-$buffer-$name", 2, 'B001', ($act =~ /spoil/ ? $globals : '') . "$peer\n$start \@!\n\@W{{ $act }} \@!\n$partner\n$wait$end\n\@R{{ $act }}\nMPI_Barrier($w);", $how =~ /use|copy|loop/ ? 'main' : undef);
        }
    }
    # The same on memory of malloc, and on a local array of a function that returns.
    my $buffer = $written || $read;
    my $heap = "int *h = calloc(64, sizeof *h);\n";
    (my $heaped = "$start") =~ s/\b$buffer\b/h/;
    add("heap-store-$name", 2, 'B001', "$peer\n$heap$heaped \@!\n\@W{h[1] = 3;} \@!\n$partner\n$wait$end\n\@R{h[1] = 3;}\nfree(h);");
    add("heap-freed-$name", 2, 'B001', "$peer\n$heap$heaped \@!\n\@W{free(h);} \@!\n$partner\n$wait$end\n\@R{free(h);}");
    next if $persistent;
    (my $in_function = $start) =~ s/\b$buffer\b/local/;
    $in_function =~ s/&req/r/;
    (my $scratch = $in_function) =~ s/\b(a)\b/other/;
    add("stack-gone-$name", 2, 'B001|B006', "^static int other[64];\n^static void begin(int peer, MPI_Request *r)\n^{\n^    \@R{static} int local[64];\n^    memset(local, 0, sizeof local);\n^    (void)peer, (void)other;\n^    " . ($scratch =~ s/\bb\b/other/r) . " \@!\n^}\n$peer\nbegin(peer, &req);\n$partner\n$wait", 'main');
}
# Two operations on one place.
my %clash = (
    'irecv-irecv' => ["MPI_Irecv(b, 8, MPI_INT, peer, 0, $w, &reqs[0]); MPI_Irecv(b + %, 8, MPI_INT, peer, 1, $w, &reqs[1]);", "MPI_Send(a, 8, MPI_INT, peer, 0, $w); MPI_Send(a, 8, MPI_INT, peer, 1, $w);"],
    'isend-irecv' => ["MPI_Isend(b, 8, MPI_INT, peer, 0, $w, &reqs[0]); MPI_Irecv(b + %, 8, MPI_INT, peer, 0, $w, &reqs[1]);", ''],
    'irecv-iallreduce' => ["MPI_Irecv(b, 8, MPI_INT, peer, 0, $w, &reqs[0]); MPI_Iallreduce(a, b + %, 8, MPI_INT, MPI_SUM, $w, &reqs[1]);", "MPI_Send(a, 8, MPI_INT, peer, 0, $w);"],
    'ibcast-ibcast' => ["MPI_Ibcast(b, 8, MPI_INT, 0, $w, &reqs[0]); MPI_Ibcast(b + %, 8, MPI_INT, 1, $w, &reqs[1]);", ''],
    'iallgather-irecv' => ["MPI_Iallgather(a, 4, MPI_INT, b, 4, MPI_INT, $w, &reqs[0]); MPI_Irecv(b + %, 8, MPI_INT, peer, 0, $w, &reqs[1]);", "MPI_Send(a, 8, MPI_INT, peer, 0, $w);"],
    'iscan-isend' => ["MPI_Iscan(a, b, 8, MPI_INT, MPI_SUM, $w, &reqs[0]); MPI_Isend(b + %, 4, MPI_INT, peer, 0, $w, &reqs[1]);", "MPI_Recv(a + 32, 4, MPI_INT, peer, 0, $w, &st);"],
    'irecv-recv' => ["MPI_Irecv(b, 8, MPI_INT, peer, 1, $w, &reqs[0]); MPI_Isend(a, 8, MPI_INT, peer, 0, $w, &reqs[1]); MPI_Recv(b + %, 8, MPI_INT, peer, 0, $w, &st);", "MPI_Send(a, 8, MPI_INT, peer, 1, $w);"],
    'irecv-allreduce' => ["MPI_Irecv(b, 8, MPI_INT, peer, 1, $w, &reqs[0]); MPI_Isend(a, 8, MPI_INT, peer, 1, $w, &reqs[1]); MPI_Allreduce(a + 16, b + %, 8, MPI_INT, MPI_SUM, $w);", ''],
);
for my $name (sort keys %clash) {
    my ($start, $partner) = @{$clash{$name}};
    for my $offset (0, 3, 7) {
        next if $name eq 'iscan-isend' && $offset == 3;
        my $lines = ($start =~ s/%/\@W{$offset}\@R{100}/r) =~ s/; MPI/; \@!\nMPI/gr;
        add("overlap-$name-$offset", 2, 'B002|B001', "$peer\n$lines \@!\n$partner\nMPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);");
    }
}
# Buffers that a member of the call has, but MPI does not look at: there the right twin's operation is, the wrong one's on a member's of whom it does.
my $groups = "MPI_Comm local, across;\nMPI_Comm_split($w, rank < 2, rank, &local);\nMPI_Intercomm_create(local, 0, $w, rank < 2 ? 2 : 0, 5, &across);\n"
    . 'int root = rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : 0;';
my %apart = ( # the call, and the members of whose b it is: by MPI, and not
    Ibcast => ["MPI_Ibcast(b, 8, MPI_INT, root, across, &req);", 2, 1],
    Ireduce => ["MPI_Ireduce(rank == 0 ? a : b, rank == 0 ? b : a, 8, MPI_INT, MPI_SUM, root, across, &req);", 2, 1],
    Igather => ["MPI_Igather(b, 8, MPI_INT, a, 8, MPI_INT, root, across, &req);", 2, 1],
    Iscatter => ["MPI_Iscatter(a, 8, MPI_INT, b, 8, MPI_INT, root, across, &req);", 2, 1],
    Iscatterv => ["int counts[] = {8, 8}, places[] = {0, 8};\nMPI_Iscatterv(a, counts, places, MPI_INT, b, 8, MPI_INT, root, across, &req);", 2, 0],
);
for my $name (sort keys %apart) {
    my ($call, $its, $nobodys) = @{$apart{$name}};
    add("overlap-across-$name", 4, 'B002|B001', "$groups\n$call \@!\nif (rank == \@W{$its}\@R{$nobodys}) MPI_Recv(b, 8, MPI_INT, 3, 1, $w, &st); \@!\n"
        . "if (rank == 3) MPI_Send(a + 32, 8, MPI_INT, \@W{$its}\@R{$nobodys}, 1, $w);\nMPI_Wait(&req, MPI_STATUS_IGNORE);\nMPI_Comm_free(&across);\nMPI_Comm_free(&local);");
}
add('overlap-exscan', 2, 'B002|B001', "MPI_Iexscan(a, b, 8, MPI_INT, MPI_SUM, $w, &req); \@!\nif (rank == \@W{1}\@R{0}) MPI_Send(b, 8, MPI_INT, 1 - rank, 0, $w); \@!\n"
    . "if (rank == \@W{0}\@R{1}) MPI_Recv(a + 32, 8, MPI_INT, 1 - rank, 0, $w, &st);\nMPI_Wait(&req, MPI_STATUS_IGNORE);");
# A part of a partitioned receive is the program's once it has arrived.
add('overlap-partition', 2, 'B002|B001', "if (rank == 0) {\n    MPI_Psend_init(a, 2, 8, MPI_INT, 1, 0, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Pready(0, req);\n"
    . "    MPI_Recv(b, 8, MPI_INT, 1, 1, $w, &st);\n    MPI_Pready(1, req);\n} else {\n    MPI_Precv_init(b, 2, 8, MPI_INT, 0, 0, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req); \@!\n"
    . "    while (!flag) MPI_Parrived(req, 0, &flag);\n    MPI_Send(b + \@W{8}\@R{0}, 8, MPI_INT, 0, 1, $w); \@!\n}\nMPI_Wait(&req, MPI_STATUS_IGNORE);\nMPI_Request_free(&req);");
# A thread of the rank touches what is under way.
add('thread-touch', 2, 'B001', <<'C', 'whole');
static int buffer[16];
static void *spoil(void *p)
{
    buffer[3] = 4; @!
    return p;
}
int main(int argc, char **argv)
{
    int provided, rank, got[16];
    pthread_t t;
    MPI_Request r;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Isend(buffer, 16, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &r); @!
    @R{MPI_Recv(got, 16, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Wait(&r, MPI_STATUS_IGNORE);}
    pthread_create(&t, NULL, spoil, NULL);
    pthread_join(t, NULL);
    @W{MPI_Recv(got, 16, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Wait(&r, MPI_STATUS_IGNORE);}
    MPI_Finalize();
    return 0;
}
C
1;
