# Objects of MPI that are never freed, and handles that are used when they are not valid.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my %object = (
    comm_dup => ['L003', 'MPI_Comm o', "MPI_Comm_dup($w, &o);", 'MPI_Comm_free(&o);'],
    comm_split => ['L003', 'MPI_Comm o', "MPI_Comm_split($w, rank % 2, -rank, &o);", 'MPI_Comm_free(&o);'],
    comm_group => ['L003', "MPI_Comm o; MPI_Group every; MPI_Comm_group($w, &every)", "MPI_Comm_create_group($w, every, 4, &o); MPI_Group_free(&every);", 'MPI_Comm_free(&o);'],
    cart => ['L003', 'MPI_Comm o; int dims[2] = {0, 0}, round[2] = {1, 0}; MPI_Dims_create(size, 2, dims)', "MPI_Cart_create($w, 2, dims, round, 0, &o);", 'MPI_Comm_free(&o);'],
    graph => ['L003', 'MPI_Comm o; int index[2] = {1, 2}, edges[2] = {1, 0}', "MPI_Graph_create($w, 2, index, edges, 0, &o);", 'if (o != MPI_COMM_NULL) MPI_Comm_free(&o);'],
    intercomm => ['L003', "MPI_Comm o, half; MPI_Comm_split($w, rank % 2, 0, &half)", "MPI_Intercomm_create(half, 0, $w, 1 - rank % 2, 3, &o); MPI_Comm_free(&half);", 'MPI_Comm_free(&o);'],
    group => ['L004', 'MPI_Group o', "MPI_Comm_group($w, &o);", 'MPI_Group_free(&o);'],
    group_incl => ['L004', "MPI_Group o, every; MPI_Comm_group($w, &every)", 'MPI_Group_incl(every, 1, (int[]){0}, &o); MPI_Group_free(&every);', 'MPI_Group_free(&o);'],
    group_union => ['L004', "MPI_Group o, every; MPI_Comm_group($w, &every)", 'MPI_Group_union(every, MPI_GROUP_EMPTY, &o); MPI_Group_free(&every);', 'MPI_Group_free(&o);'],
    contiguous => ['L005', 'MPI_Datatype o', 'MPI_Type_contiguous(3, MPI_INT, &o);', 'MPI_Type_free(&o);'],
    vector => ['L005', 'MPI_Datatype o', 'MPI_Type_vector(2, 1, 4, MPI_DOUBLE, &o); MPI_Type_commit(&o);', 'MPI_Type_free(&o);'],
    hvector => ['L005', 'MPI_Datatype o', 'MPI_Type_create_hvector(2, 1, 32, MPI_DOUBLE, &o); MPI_Type_commit(&o);', 'MPI_Type_free(&o);'],
    indexed => ['L005', 'MPI_Datatype o', 'MPI_Type_indexed(2, (int[]){1, 1}, (int[]){0, 4}, MPI_INT, &o);', 'MPI_Type_free(&o);'],
    block => ['L005', 'MPI_Datatype o', 'MPI_Type_create_indexed_block(2, 1, (int[]){0, 4}, MPI_INT, &o);', 'MPI_Type_free(&o);'],
    struct => ['L005', 'MPI_Datatype o', 'MPI_Type_create_struct(1, (int[]){2}, (MPI_Aint[]){0}, (MPI_Datatype[]){MPI_INT}, &o);', 'MPI_Type_free(&o);'],
    subarray => ['L005', 'MPI_Datatype o', 'MPI_Type_create_subarray(1, (int[]){8}, (int[]){2}, (int[]){1}, MPI_ORDER_C, MPI_INT, &o);', 'MPI_Type_free(&o);'],
    resized => ['L005', 'MPI_Datatype o', 'MPI_Type_create_resized(MPI_INT, 0, 16, &o);', 'MPI_Type_free(&o);'],
    type_dup => ['L005', 'MPI_Datatype o', 'MPI_Type_dup(MPI_FLOAT, &o);', 'MPI_Type_free(&o);'],
    op => ['L006', 'MPI_Op o', 'MPI_Op_create(mine, 1, &o);', 'MPI_Op_free(&o);', "^static void mine(void *in, void *out, int *n, MPI_Datatype *t) { (void)in, (void)out, (void)n, (void)t; }\n"],
    window => ['L007', 'MPI_Win o', "MPI_Win_create(a, sizeof a, sizeof *a, MPI_INFO_NULL, $w, &o);", 'MPI_Win_free(&o);'],
    win_allocate => ['L007', 'MPI_Win o; int *base', "MPI_Win_allocate(64, 4, MPI_INFO_NULL, $w, &base, &o);", 'MPI_Win_free(&o);'],
    info => ['L011', 'MPI_Info o', 'MPI_Info_create(&o);', 'MPI_Info_free(&o);'],
    info_dup => ['L011', 'MPI_Info o, first; MPI_Info_create(&first)', 'MPI_Info_dup(first, &o); MPI_Info_free(&first);', 'MPI_Info_free(&o);'],
    errhandler => ['L011', 'MPI_Errhandler o', 'MPI_Comm_create_errhandler(handle, &o);', 'MPI_Errhandler_free(&o);', "^static void handle(MPI_Comm *c, int *e, ...) { (void)c, (void)e; }\n"],
    keyval => ['L011', 'int o', 'MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &o, NULL);', 'MPI_Comm_free_keyval(&o);'],
    type_keyval => ['L011', 'int o', 'MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &o, NULL);', 'MPI_Type_free_keyval(&o);'],
);
my $turn = 0;
for my $name (sort keys %object) {
    my ($code, $declare, $make, $free, $globals) = @{$object{$name}};
    $globals //= '';
    my $ranks = 2;
    add("leak-$name", $ranks, $code, "$globals$declare;\n$make \@!\n\@R{$free}");
    add("leak-one-rank-$name", $ranks, $code, "$globals$declare;\n$make \@!\nif (rank == 0) { $free }\n\@R{else { $free }}") unless $name =~ /win/;
    add("leak-loop-$name", $ranks, $code, "$globals$declare;\nfor (int k = 0; k < 3; k++) {\n    $make \@!\n    \@R{$free}\n}\n\@W{$free}", 'main')
        unless $declare =~ /MPI_Comm_(group|split)|Info_create|half/;
    add("freed-twice-$name", $ranks, 'M009|X005', "$globals$declare;\n$make\n$free\n\@W{$free} \@!") unless $free =~ /if/;
    my $copy = $declare =~ /^(\w+)/ ? $1 : 'int';
    add("freed-copy-$name", $ranks, 'M009|X005', "$globals$declare;\n$make\n$copy copy = o;\n$free\n\@W{" . ($free =~ s/&o/&copy/r =~ s/\(o /(copy /r) . "} \@!\n(void)copy;") unless $free =~ /if/;
}

# A call on a handle that is null, freed, not committed, or of something else.
my %use = (
    'type-freed' => ['M009', "MPI_Datatype t;\nMPI_Type_contiguous(2, MPI_INT, &t);\nMPI_Type_commit(&t);\nMPI_Datatype old = t;\n\@W{MPI_Type_free(&t);}\n%U(old) \@!\n\@R{MPI_Type_free(&t);}"],
    'type-uncommitted' => ['M009', "MPI_Datatype t;\nMPI_Type_contiguous(2, MPI_INT, &t);\n\@R{MPI_Type_commit(&t);}\n%U(t) \@!\nMPI_Type_free(&t);"],
    'type-null' => ['M009', "%U(\@W{MPI_DATATYPE_NULL}\@R{MPI_2INT}) \@!"],
    'type-null-variable' => ['M009', "MPI_Datatype t = MPI_DATATYPE_NULL;\n\@R{t = MPI_2INT;}\n%U(t) \@!"],
    'type-freed-null' => ['M009', "MPI_Datatype t;\nMPI_Type_dup(MPI_2INT, &t);\n\@W{MPI_Type_free(&t);}\n%U(t) \@!\n\@R{MPI_Type_free(&t);}"],
);
my %with_type = (
    Send => "if (rank == 0) MPI_Send(a, 1, %, 1, 0, $w); else if (rank == 1) MPI_Recv(b, 1, %, 0, 0, $w, &st);",
    Irecv => "MPI_Irecv(b, 1, %, rank ^ 1, 0, $w, &req); MPI_Send(a, 1, %, rank ^ 1, 0, $w); MPI_Wait(&req, &st);",
    Bcast => "MPI_Bcast(a, 1, %, 0, $w);", Gather => "MPI_Gather(a, 1, %, b, 1, %, 0, $w);", Ialltoall => "MPI_Ialltoall(a, 1, %, b, 1, %, $w, &req); MPI_Wait(&req, &st);",
    Allgather => "MPI_Allgather(a, 1, %, b, 1, %, $w);", Scatter => "MPI_Scatter(b, 1, %, a, 1, %, 0, $w);", Iscan => "MPI_Ibcast(a, 1, %, 0, $w, &req); MPI_Wait(&req, &st);",
    Sendrecv => "MPI_Sendrecv(a, 1, %, rank ^ 1, 0, b, 1, %, rank ^ 1, 0, $w, &st);", Send_init => "MPI_Send_init(a, 1, %, MPI_PROC_NULL, 0, $w, &req); MPI_Request_free(&req);",
    Pack => "MPI_Pack(a, 1, %, b, 256, &i, $w);", Bcast_init => "MPI_Bcast_init(a, 1, %, 0, $w, MPI_INFO_NULL, &req); MPI_Request_free(&req);");
for my $u (sort keys %use) {
    for my $c (sort keys %with_type) {
        my ($codes, $text) = @{$use{$u}};
        my ($type) = $text =~ /%U\(((?:[^()]|\([^()]*\))*)\)/;
        my $call = $with_type{$c} =~ s/%/$type/gr;
        $text =~ s/%U\(((?:[^()]|\([^()]*\))*)\)/$call/;
        add("handle-$u-$c", 2, $codes, $text);
    }
}
my %with_comm = (
    Send => 'MPI_Send(a, 1, MPI_INT, MPI_PROC_NULL, 0, %);', Recv => 'MPI_Recv(b, 1, MPI_INT, MPI_PROC_NULL, 0, %, &st);', Bcast => 'MPI_Bcast(a, 1, MPI_INT, 0, %);',
    Barrier => 'MPI_Barrier(%);', Comm_rank => 'MPI_Comm_rank(%, &i);', Comm_dup => 'MPI_Comm again; MPI_Comm_dup(%, &again); MPI_Comm_free(&again);',
    Comm_split => 'MPI_Comm again; MPI_Comm_split(%, 0, 0, &again); MPI_Comm_free(&again);', Ireduce => 'MPI_Ireduce(a, b, 1, MPI_INT, MPI_SUM, 0, %, &req); MPI_Wait(&req, &st);',
    Iprobe => 'MPI_Iprobe(MPI_ANY_SOURCE, 3, %, &flag, &st);', Alltoallv => 'MPI_Alltoallv(a, (int[]){1, 1}, (int[]){0, 1}, MPI_INT, b, (int[]){1, 1}, (int[]){0, 1}, MPI_INT, %);',
    Group => 'MPI_Group g; MPI_Comm_group(%, &g); MPI_Group_free(&g);', Win_create => 'MPI_Win v; MPI_Win_create(a, 64, 4, MPI_INFO_NULL, %, &v); MPI_Win_free(&v);');
for my $c (sort keys %with_comm) {
    my $call = sub { $with_comm{$c} =~ s/%/$_[0]/gr };
    add("handle-comm-null-$c", 2, 'M009', $call->("\@W{MPI_COMM_NULL}\@R{$w}") . ' @!');
    add("handle-comm-freed-$c", 2, 'M009|X005', "MPI_Comm gone, kept;\nMPI_Comm_dup($w, &gone);\nkept = gone;\n\@W{MPI_Comm_free(&gone);}\n" . $call->('kept') . " \@!\n\@R{MPI_Comm_free(&gone);}", 'main');
    add("handle-comm-undefined-$c", 3, 'M009', "MPI_Comm part;\nMPI_Comm_split($w, rank == 2 ? MPI_UNDEFINED : 0, 0, &part);\n\@R{if (part != MPI_COMM_NULL)} {\n    " . $call->('part') . " \@!\n    if (part != MPI_COMM_NULL) MPI_Comm_free(&part);\n}", 'main');
}
for my $c ('Reduce(a, b, 1, MPI_INT, %, 0, ', 'Allreduce(a, b, 1, MPI_INT, %, ', 'Scan(a, b, 1, MPI_INT, %, ', 'Exscan(a, b, 1, MPI_INT, %, ', 'Reduce_scatter_block(a, b, 1, MPI_INT, %, ') {
    my ($name) = $c =~ /^(\w+)/;
    add("handle-op-null-$name", 2, 'M009', "MPI_" . ($c =~ s/%/\@W{MPI_OP_NULL}\@R{MPI_SUM}/r) . "$w); \@!");
    add("handle-op-type-$name", 2, 'M009', "MPI_" . ($c =~ s/%/\@W{MPI_MAXLOC}\@R{MPI_MAX}/r) . "$w); \@!");
    add("handle-op-bits-$name", 2, 'M009', "MPI_" . ($c =~ s/%/\@W{MPI_BAND}\@R{MPI_SUM}/r =~ s/\(a, b/(x, y/r =~ s/MPI_INT/MPI_DOUBLE/r) . "$w); \@!");
    add("handle-op-replace-$name", 2, 'M009', "MPI_" . ($c =~ s/%/\@W{MPI_REPLACE}\@R{MPI_MIN}/r) . "$w); \@!");
    add("handle-op-freed-$name", 2, 'M009', "^static void mine(void *in, void *out, int *n, MPI_Datatype *t) { (void)in, (void)out, (void)n, (void)t; }\nMPI_Op o, gone;\nMPI_Op_create(mine, 1, &o);\ngone = o;\n\@W{MPI_Op_free(&o);}\nMPI_" . ($c =~ s/%/gone/r) . "$w); \@!\n\@R{MPI_Op_free(&o);}");
}
1;
