# Collectives: order, kind, root, operation, type, count, communicator, absence.
use strict;
use warnings;
use generate;

my %call = (
    Barrier => '%C', Bcast => 'a, %N, %T, %R, %C', Reduce => 'a, b, %N, %T, %O, %R, %C', Allreduce => 'a, b, %N, %T, %O, %C',
    Scan => 'a, b, %N, %T, %O, %C', Exscan => 'a, b, %N, %T, %O, %C', Gather => 'a, %N, %T, b, %N, %T, %R, %C',
    Scatter => 'b, %N, %T, a, %N, %T, %R, %C', Allgather => 'a, %N, %T, b, %N, %T, %C', Alltoall => 'a, %N, %T, b, %N, %T, %C',
    Reduce_scatter_block => 'b, a, %N, %T, %O, %C', Gatherv => 'a, %N, %T, b, counts%N, displs, %T, %R, %C',
    Scatterv => 'b, counts%N, displs, %T, a, %N, %T, %R, %C', Allgatherv => 'a, %N, %T, b, counts%N, displs, %T, %C',
    Alltoallv => 'a, counts%N, displs, %T, b, counts%N, displs, %T, %C', Reduce_scatter => 'b, a, counts%N, %T, %O, %C',
    Alltoallw => 'a, counts%N, wdispls, types%T, b, counts%N, wdispls, types%T, %C');
my $vectors = 'int counts2[4] = {2, 2, 2, 2}, counts3[4] = {3, 3, 3, 3}, displs[4] = {0, 4, 8, 12}, wdispls[4] = {0, 16, 32, 48};' . "\n"
    . 'MPI_Datatype typesMPI_INT[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT}, typesMPI_FLOAT[4] = {MPI_FLOAT, MPI_FLOAT, MPI_FLOAT, MPI_FLOAT};' . "\n"
    . "(void)counts2, (void)counts3, (void)displs, (void)wdispls, (void)typesMPI_INT, (void)typesMPI_FLOAT;\n";

# A call in one of three forms, with the wait that belongs to it.
sub call {
    my ($name, $form, %with) = @_;
    my %value = (N => 2, T => 'MPI_INT', O => 'MPI_SUM', R => 0, C => 'MPI_COMM_WORLD', %with);
    my $arguments = $call{$name};
    $arguments =~ s/%(\w)/$value{$1}/g;
    return "MPI_$name($arguments);" if $form eq '';
    return "MPI_I" . lcfirst($name) . "($arguments, &req); MPI_Wait(&req, MPI_STATUS_IGNORE);" if $form eq 'I';
    return "MPI_${name}_init($arguments, MPI_INFO_NULL, &req); MPI_Start(&req); MPI_Wait(&req, &st); MPI_Request_free(&req);";
}

my @names = sort keys %call;
my @forms = ('', 'I', 'P');
my $turn = 0;
for my $name (@names) {
    for my $form (@forms) {
        my $label = "$form$name";
        my $uses = sub { $call{$name} =~ /%$_[0]/ };
        my $right = call($name, $form);
        # Others pass on the other side of a branch, in several shapes.
        my $differ = sub {
            my ($what, $codes, $wrong) = @_;
            my $ranks = 2 + $turn % 3;
            my @shapes = (
                "${vectors}if (rank == 0) { $right } \@!\nelse { \@W{$wrong}\@R{$right} } \@!",
                "${vectors}if (rank == size - 1) {\n    \@W{$wrong}\@R{$right} \@!\n} else {\n    $right \@!\n}",
                "${vectors}switch (rank) {\ncase 1:\n    \@W{$wrong}\@R{$right} \@!\n    break;\ndefault:\n    $right \@!\n}");
            add("collective-$what-$label", $ranks, $codes, $shapes[$turn++ % @shapes]);
        };
        $differ->('root', 'M002', call($name, $form, R => 1)) if $uses->('R');
        $differ->('op', 'M003', call($name, $form, O => 'MPI_MAX')) if $uses->('O');
        $differ->('type', 'M004', call($name, $form, T => 'MPI_FLOAT')) if $uses->('T');
        $differ->('count', 'M005', call($name, $form, N => 3)) if $uses->('N');
        my $other = $names[($turn * 7 + 3) % @names];
        $other = $names[($turn * 7 + 4) % @names] if $other eq $name;
        $differ->('kind', 'M001', call($other, $form));
        # A blocking collective does not match a nonblocking one.
        $differ->('form', 'M001|D001|D002', call($name, $form eq 'I' ? '' : 'I'));
        my ($first, $second) = ($right, call($other, ''));
        add("collective-order-$label-$other", 2 + $turn % 2, 'M001|D001|D002', "${vectors}if (rank == 0) {\n    $first \@!\n    $second \@!\n} else {\n"
            . "    \@W{$second}\@R{$first} \@!\n    \@W{$first}\@R{$second} \@!\n}");
        add("collective-missing-$label", 2 + $turn % 3, 'M010|D001|D002', "${vectors}\@W{if (rank != 1)}\n    { $right } \@!");
        add("collective-comm-$label", 2, 'M006|D001|M001|M010', "${vectors}MPI_Comm other;\nMPI_Comm_dup(MPI_COMM_WORLD, &other);\nif (rank == 0) {\n    $right \@!\n} else {\n    "
            . "\@W{" . call($name, $form, C => 'other') . "}\@R{$right} \@!\n}\nMPI_Comm_free(&other);", 'main');
        $turn++;
    }
}

# The order of communicators differs: A then B against B then A.
for my $name (@names) {
    my ($one, $two) = (call($name, '', C => 'left'), call($name, '', C => 'right'));
    add("collective-comms-$name", 2, 'M006|D001|D002', "${vectors}MPI_Comm left, right;\nMPI_Comm_dup(MPI_COMM_WORLD, &left);\nMPI_Comm_dup(MPI_COMM_WORLD, &right);\n"
        . "if (rank == 0) {\n    $one \@!\n    $two \@!\n} else {\n    \@W{$two}\@R{$one} \@!\n    \@W{$one}\@R{$two} \@!\n}\nMPI_Comm_free(&left), MPI_Comm_free(&right);");
    (my $world = $one) =~ s/left/MPI_COMM_WORLD/;
    add("collective-and-message-$name", 2, 'D001|D002|D003', "${vectors}if (rank == 0) {\n    $world \@!\n    MPI_Ssend(x, 4, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);\n} else if (rank == 1) {\n"
        . "    \@W{MPI_Recv(y, 4, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD, &st);}\@R{$world} \@!\n    \@W{$world}\@R{MPI_Recv(y, 4, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD, &st);}\n}")
        unless $name =~ /^(Bcast|Scatterv?|Exscan|Scan)$/; # the root of a broadcast need not wait
}

# Who disconnects frees at once here, and waits for all the others in Open MPI.
my %lives = (within => "MPI_Comm_dup(MPI_COMM_WORLD, &left);", across => "MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);\n"
        . "MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &left);\nMPI_Comm_free(&half);");
for my $place (sort keys %lives) {
    my ($end, $take) = ('MPI_Comm_disconnect(&left);', 'MPI_Recv(y, 4, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD, &st);');
    my $begin = "MPI_Comm left, half;\n(void)half;\n$lives{$place}\n";
    add("disconnect-$place-and-message", 4, 'D002', "${begin}if (rank == 0) {\n    $end \@!\n    MPI_Send(x, 4, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);\n} else if (rank == 1) {\n"
        . "    \@W{$take}\@R{$end} \@!\n    \@W{$end}\@R{$take}\n} else\n    $end", 'main');
    add("disconnect-$place-freed", 4, 'D002', "${begin}\@W{if (rank == 1)\n    MPI_Comm_free(&left);\nelse}\n    { $end } \@!", 'main');
    add("disconnect-$place-order", 4, 'M001|D001|D002', "${begin}if (rank == \@W{1}\@R{7}) {\n    $end \@!\n    MPI_Barrier(MPI_COMM_WORLD);\n} else {\n"
        . "    MPI_Barrier(MPI_COMM_WORLD); \@!\n    $end\n}", 'main');
}

# Makers of communicators.
my %maker = (
    Comm_dup => 'MPI_Comm_dup(MPI_COMM_WORLD, &made);', Comm_split => 'MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made);',
    Comm_split_type => 'MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);',
    Cart_create => 'MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){size}, (int[]){0}, 0, &made);',
    Comm_create => 'MPI_Group g; MPI_Comm_group(MPI_COMM_WORLD, &g); MPI_Comm_create(MPI_COMM_WORLD, g, &made); MPI_Group_free(&g);',
    Dist_graph_create_adjacent => 'MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);',
    Comm_dup_with_info => 'MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made);',
    Comm_idup => 'MPI_Comm_idup(MPI_COMM_WORLD, &made, &req); MPI_Wait(&req, MPI_STATUS_IGNORE);');
for my $name (sort keys %maker) {
    my $free = 'if (made != MPI_COMM_NULL) MPI_Comm_free(&made);';
    add("maker-missing-$name", 3, 'M010|D001', "MPI_Comm made = MPI_COMM_NULL;\n\@W{if (rank)} { $maker{$name} } \@!\n$free", 'main');
    my ($other) = grep { $_ ne $name } (sort keys %maker)[$turn++ % keys %maker, $turn % keys %maker];
    add("maker-kind-$name", 2, 'M001', "MPI_Comm made = MPI_COMM_NULL;\nif (rank) { $maker{$name} } \@!\nelse { \@W{$maker{$other}}\@R{$maker{$name}} } \@!\n$free", 'main');
    add("maker-barrier-$name", 3, 'M001', "MPI_Comm made = MPI_COMM_NULL;\nif (rank == 2) {\n    \@W{MPI_Barrier(MPI_COMM_WORLD);} \@!\n    $maker{$name} \@!\n    \@R{MPI_Barrier(MPI_COMM_WORLD);}\n} else {\n    $maker{$name} \@!\n    MPI_Barrier(MPI_COMM_WORLD);\n}\n$free", 'function');
    add("maker-leak-$name", 2, 'L003', "MPI_Comm made = MPI_COMM_NULL;\n$maker{$name} \@!\n\@R{$free}", 'main');
}
add("cart-ndims", 4, 'M009', "MPI_Comm made;\nint dims[2] = {\@W{rank ? 2 : 4}\@R{2}, \@W{rank ? 2 : 1}\@R{2}}, periods[2] = {0};\nMPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &made); \@!\nif (made != MPI_COMM_NULL) MPI_Comm_free(&made);", 'main');
add("cart-too-large", 2, 'M009', "MPI_Comm made;\nMPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){\@W{2}\@R{1}, 2}, (int[]){0, 0}, 0, &made); \@!\nif (made != MPI_COMM_NULL) MPI_Comm_free(&made);", 'main');
add("intercomm-leader", 4, 'M009|D001', "MPI_Comm half, inter;\nMPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);\nMPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : \@W{3}\@R{1}, 5, &inter); \@!\nMPI_Comm_free(&inter);\nMPI_Comm_free(&half);", 'main');
add("intercomm-tag", 4, 'D001|D003|M009', "MPI_Comm half, inter;\nMPI_Comm_split(MPI_COMM_WORLD, rank < 2, rank, &half);\nMPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, \@W{rank < 2}\@R{7}, &inter); \@!\nMPI_Comm_free(&inter), MPI_Comm_free(&half);", 'main');
add("intercomm-bcast-root", 4, 'M002|D001|M009', "MPI_Comm half, inter;\nMPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);\nMPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);\n"
    . "int root = rank % 2 ? \@W{1}\@R{0} : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;\nMPI_Bcast(a, 4, MPI_INT, root, inter); \@!\nMPI_Comm_free(&inter); MPI_Comm_free(&half);", 'main');
add("intercomm-merge-missing", 4, 'M010|D001', "MPI_Comm half, inter, all = MPI_COMM_NULL;\nMPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);\nMPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);\n"
    . "\@W{if (rank != 3)} MPI_Intercomm_merge(inter, rank % 2, &all); \@!\nif (all != MPI_COMM_NULL) MPI_Comm_free(&all);\nMPI_Comm_free(&inter); MPI_Comm_free(&half);", 'main');
for my $n ('allgather(a, 1, MPI_INT, b, 1, MPI_INT, ', 'alltoall(a, 1, MPI_INT, b, 1, MPI_INT, ') {
    my ($word) = $n =~ /^(\w+)/;
    add("neighbor-$word-missing", 3, 'M010|D001', "MPI_Comm ring;\nMPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);\n\@W{if (rank != 1)} MPI_Neighbor_${n}ring); \@!\nMPI_Comm_free(&ring);", 'main');
    add("neighbor-$word-type", 3, 'M004', "MPI_Comm ring;\nMPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);\n" . ("if (rank == 1) \@W{MPI_Neighbor_${n}ring);}\@R{MPI_Neighbor_${n}ring);} \@!\n" =~ s/MPI_INT/MPI_FLOAT/r =~ s/MPI_INT/MPI_FLOAT/r) . "else MPI_Neighbor_${n}ring); \@!\nMPI_Comm_free(&ring);", 'main');
    add("neighbor-$word-world", 3, 'M009', "MPI_Comm ring;\nMPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);\nMPI_Neighbor_$n\@W{MPI_COMM_WORLD}\@R{ring}); \@!\nMPI_Comm_free(&ring);", 'main');
}
1;
