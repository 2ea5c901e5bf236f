# Messages: who, tag, communicator, order, type, length, buffering, wildcards, probes.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my %send = (
    Send => 'MPI_Send(%B, %N, %T, %P, %G, %C);', Ssend => 'MPI_Ssend(%B, %N, %T, %P, %G, %C);',
    Isend => 'MPI_Isend(%B, %N, %T, %P, %G, %C, &req); MPI_Wait(&req, MPI_STATUS_IGNORE);',
    Issend => 'MPI_Issend(%B, %N, %T, %P, %G, %C, &req); MPI_Waitall(1, &req, MPI_STATUSES_IGNORE);',
    Send_init => 'MPI_Send_init(%B, %N, %T, %P, %G, %C, &req); MPI_Start(&req); MPI_Wait(&req, &st); MPI_Request_free(&req);',
    Ssend_init => 'MPI_Ssend_init(%B, %N, %T, %P, %G, %C, &req); MPI_Startall(1, &req); MPI_Wait(&req, &st); MPI_Request_free(&req);',
    Sendrecv => 'MPI_Sendrecv(%B, %N, %T, %P, %G, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, %C, MPI_STATUS_IGNORE);',
    Bsend => 'char *room = malloc(4096); MPI_Buffer_attach(room, 4096); MPI_Bsend(%B, %N, %T, %P, %G, %C); MPI_Buffer_detach(&room, &i); free(room);');
my %receive = (
    Recv => 'MPI_Recv(%B, %N, %T, %P, %G, %C, &st);', Irecv => 'MPI_Irecv(%B, %N, %T, %P, %G, %C, &req); MPI_Wait(&req, &st);',
    IrecvTest => 'MPI_Irecv(%B, %N, %T, %P, %G, %C, &req); while (!flag) MPI_Test(&req, &flag, MPI_STATUS_IGNORE);',
    Recv_init => 'MPI_Recv_init(%B, %N, %T, %P, %G, %C, &req); MPI_Start(&req); MPI_Wait(&req, &st); MPI_Request_free(&req);',
    Sendrecv => 'MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, %B, %N, %T, %P, %G, %C, &st);',
    Probe => 'MPI_Probe(%P, %G, %C, &st); MPI_Recv(%B, %N, %T, %P, %G, %C, &st);',
    Mprobe => 'MPI_Message m; MPI_Mprobe(%P, %G, %C, &m, &st); MPI_Mrecv(%B, %N, %T, &m, &st);',
    Imrecv => 'MPI_Message m; MPI_Mprobe(%P, %G, %C, &m, &st); MPI_Imrecv(%B, %N, %T, &m, &req); MPI_Wait(&req, &st);');
sub fill {
    my ($text, %with) = @_;
    my %value = (B => 'a', N => 4, T => 'MPI_INT', P => 0, G => 7, C => $w, %with);
    $text =~ s/%(\w)/$value{$1}/g;
    return $text;
}

my $turn = 0;
for my $s (sort keys %send) {
    for my $r (sort keys %receive) {
        next if ($turn++ % 3) && $s ne 'Send' && $r ne 'Recv' && $s ne 'Isend';
        my $pair = "$s-$r";
        my $make = sub {
            my ($what, $codes, $sends, $receives, $ranks) = @_;
            my ($right_s, $right_r) = (fill($send{$s}, P => 1), fill($receive{$r}, B => 'b'));
            my $first = $sends ? "\@W{" . fill($send{$s}, P => 1, %$sends) . "}\@R{$right_s}" : $right_s;
            my $second = $receives ? "\@W{" . fill($receive{$r}, B => 'b', %$receives) . "}\@R{$right_r}" : $right_r;
            my $text = $turn % 2 ? "if (rank == 0) {\n    $first \@!\n}\nif (rank == 1) {\n    $second \@!\n}"
                                 : "switch (rank) {\ncase 0: {\n    $first \@!\n    break;\n}\ncase 1: {\n    $second \@!\n    break;\n}\n}";
            add("message-$what-$pair", $ranks || 2, $codes, $text);
        };
        $make->('type', 'M008', undef, {T => 'MPI_FLOAT'});
        $make->('long', 'M007', {N => 6}, undef, 3);
        $make->('tag', 'D001|D003|D005', undef, {G => 8});
        $make->('source', 'D001|D003|D005', undef, {P => 2}, 3);
        $make->('other', 'D001|D003|D005', {P => 2}, undef, 3);
        $make->('self', 'D001|D003|D005', undef, {P => 1});
        add("message-comm-$pair", 2, 'D001|D003|D005', "MPI_Comm twin;\nMPI_Comm_dup($w, &twin);\nif (rank == 0) { " . fill($send{$s}, P => 1) . " } \@!\nelse { "
            . "\@W{" . fill($receive{$r}, B => 'b', C => 'twin') . "}\@R{" . fill($receive{$r}, B => 'b') . "} } \@!\nMPI_Comm_free(&twin);", 'main');
        add("message-unsent-$pair", 2, 'D001|D005', "if (\@W{rank == 2}\@R{rank == 0}) {\n    " . fill($send{$s}, P => 1) . "\n}\nif (rank == 1) {\n    " . fill($receive{$r}, B => 'b') . " \@!\n}");
        add("message-unreceived-$pair", 2, 'D001|D003|L002', "if (rank == 0) {\n    " . fill($send{$s}, P => 1) . " \@!\n}\nif (\@W{rank == 2}\@R{rank == 1}) {\n    " . fill($receive{$r}, B => 'b') . "\n}");
    }
}

# Everybody sends first: in every form, and of every size.
for my $s (qw(Send Ssend Isend Send_init Issend)) {
    for my $n (2, 3, 4) {
        my ($out, $in) = (fill($send{$s}, P => '(rank + 1) % size', N => 3), fill($receive{Recv}, B => 'b', P => '(rank + size - 1) % size', N => 3));
        add("buffering-ring-$s-$n", $n, 'D001|D003', "\@W{$out}\@R{if (rank % size == 0) { $out }} \@!\n$in\n\@R{if (rank % size) { $out }}");
    }
}
add('buffering-exchange', 2, 'D003', "int other = 1 - rank;\nMPI_Send(a, 1, MPI_INT, other, 0, $w); \@!\nMPI_Recv(b, 1, MPI_INT, other, 0, $w, &st);\n" =~ s/MPI_Send.*\n.*\n/\@W{MPI_Send(a, 1, MPI_INT, other, 0, MPI_COMM_WORLD); MPI_Recv(b, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &st);}\@R{MPI_Sendrecv(a, 1, MPI_INT, other, 0, b, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &st);} \@!\n/r);
add('buffering-barrier', 2, 'D003', "if (rank == 0) {\n    \@W{MPI_Send(a, 9, MPI_INT, 1, 0, $w);} \@!\n    MPI_Barrier($w);\n    \@R{MPI_Send(a, 9, MPI_INT, 1, 0, $w);}\n} else {\n    MPI_Barrier($w);\n    MPI_Recv(b, 9, MPI_INT, 0, 0, $w, &st);\n}");
add('buffering-tags', 2, 'D003', "if (!rank) {\n    MPI_Send(a, 1, MPI_INT, 1, 1, $w); \@!\n    MPI_Send(a, 1, MPI_INT, 1, 2, $w); \@!\n} else {\n    MPI_Recv(b, 1, MPI_INT, 0, \@W{2}\@R{1}, $w, &st);\n    MPI_Recv(b, 1, MPI_INT, 0, \@W{1}\@R{2}, $w, &st);\n}");
add('deadlock-both-receive', 2, 'D001', "int other = !rank;\nMPI_Request late;\n\@W{MPI_Recv(b, 1, MPI_INT, other, 0, $w, &st);}\@R{MPI_Irecv(b, 1, MPI_INT, other, 0, $w, &late);} \@!\nMPI_Send(a, 1, MPI_INT, other, 0, $w);\n\@R{MPI_Wait(&late, &st);}\n(void)late;");
add('deadlock-three', 3, 'D001', "int from = (rank + 1) % 3, to = (rank + 2) % 3;\nif (\@W{rank < 3}\@R{rank > 0}) MPI_Recv(b, 1, MPI_INT, from, 0, $w, &st); \@!\nMPI_Send(a, 1, MPI_INT, to, 0, $w);\n\@R{if (rank == 0) MPI_Recv(b, 1, MPI_INT, from, 0, $w, &st);}");
add('deadlock-self-send', 2, 'D001|D003', "\@W{MPI_Ssend(a, 1, MPI_INT, rank, 3, $w);}\@R{MPI_Isend(a, 1, MPI_INT, rank, 3, $w, &req);} \@!\nMPI_Recv(b, 1, MPI_INT, rank, 3, $w, &st);\n\@R{MPI_Wait(&req, &st);}");
add('deadlock-self-receive', 2, 'D001', "MPI_Recv(b, 1, MPI_INT, \@W{rank}\@R{MPI_PROC_NULL}, 3, $w, &st); \@!");
add('deadlock-last-rank', 4, 'D001', "if (rank == 0) {\n    for (i = 1; i \@W{<=}\@R{<} size - 0; i++)\n        MPI_Recv(b, 1, MPI_INT, MPI_ANY_SOURCE, 0, $w, &st); \@!\n} else {\n    MPI_Send(&rank, 1, MPI_INT, 0, 0, $w);\n}");
add('deadlock-wildcard-steals', 3, 'D001|D002', "if (rank == 0) {\n    MPI_Recv(b, 1, MPI_INT, \@W{MPI_ANY_SOURCE}\@R{2}, 0, $w, &st); \@!\n    MPI_Recv(b, 1, MPI_INT, 1, 0, $w, &st); \@!\n} else {\n    MPI_Send(a, 1, MPI_INT, 0, 0, $w);\n}");
add('deadlock-wildcard-tag', 2, 'D001|D002|D003', "if (rank == 0) {\n    MPI_Ssend(a, 1, MPI_INT, 1, 5, $w);\n    MPI_Ssend(a, 1, MPI_INT, 1, 6, $w);\n} else {\n    MPI_Recv(b, 1, MPI_INT, 0, \@W{MPI_ANY_TAG}\@R{5}, $w, &st);\n    MPI_Recv(b, 1, MPI_INT, 0, \@W{5}\@R{6}, $w, &st); \@!\n}");
# The result hangs on who comes first.
for my $n (3, 4) {
    my %take = (Recv => "MPI_Recv(&i, 1, MPI_INT, \@W{MPI_ANY_SOURCE}\@R{k}, 1, $w, &st);",
        Irecv => "MPI_Irecv(&i, 1, MPI_INT, \@W{MPI_ANY_SOURCE}\@R{k}, 1, $w, &req); MPI_Wait(&req, &st);",
        Probe => "MPI_Probe(\@W{MPI_ANY_SOURCE}\@R{k}, 1, $w, &st); MPI_Recv(&i, 1, MPI_INT, st.MPI_SOURCE, 1, $w, &st);",
        Mprobe => "MPI_Message m; MPI_Mprobe(\@W{MPI_ANY_SOURCE}\@R{k}, 1, $w, &m, &st); MPI_Mrecv(&i, 1, MPI_INT, &m, &st);");
    for my $t (sort keys %take) {
        add("race-sum-$t-$n", $n, 'R003', "int total = 0;\nif (rank == 0) {\n    for (int k = 1; k < size; k++) {\n        $take{$t} \@!\n        total = 3 * total + i;\n    }\n    printf(\"%d\\n\", total);\n} else\n    MPI_Send(&rank, 1, MPI_INT, 0, 1, $w);");
        add("race-branch-$t-$n", $n, 'R003|D001|D002|X002|M010', "if (rank == 0) {\n    for (int k = 1; k < size; k++) {\n        $take{$t} \@!\n        if (k == 1 && i != 1) MPI_Abort($w, 3); \@!\n    }\n} else {\n    MPI_Send(&rank, 1, MPI_INT, 0, 1, $w);\n}");
    }
}
add('race-truncation', 3, 'M007|D002|R003', "if (rank == 0) {\n    MPI_Recv(b, \@W{1}\@R{4}, MPI_INT, MPI_ANY_SOURCE, 0, $w, &st); \@!\n    MPI_Recv(b, 4, MPI_INT, MPI_ANY_SOURCE, 0, $w, &st); \@!\n} else {\n    MPI_Send(a, rank == 2 ? 4 : 1, MPI_INT, 0, 0, $w);\n}");
add('race-type', 3, 'M007|M008|D002|R003', "if (rank == 0) {\n    MPI_Recv(b, 1, MPI_INT, \@W{MPI_ANY_SOURCE}\@R{1}, 0, $w, &st); \@!\n    MPI_Recv(y, 1, MPI_DOUBLE, \@W{MPI_ANY_SOURCE}\@R{2}, 0, $w, &st); \@!\n} else if (rank == 1) {\n    MPI_Send(a, 1, MPI_INT, 0, 0, $w);\n} else {\n    MPI_Send(x, 1, MPI_DOUBLE, 0, 0, $w);\n}");
add('input-argc', 2, 'D001|D003', "MPI_Comm_rank($w, &rank);\nif (rank == 0) MPI_Recv(b, 1, MPI_INT, 1, \@W{4}\@R{3}, $w, &st); \@!\nelse MPI_Send(a, 1, MPI_INT, 0, 3, $w); \@!");
add('input-argv', 2, 'D001|D003|M010', <<'C', 'whole');
int main(int argc, char **argv)
{
    int rank, n = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > @W{0}@R{1} && rank == 0)
        MPI_Recv(&n, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); @!
    MPI_Finalize();
    return n;
}
C
add('input-received', 3, 'D001|D002', "MPI_Bcast(&i, 1, MPI_INT, 0, $w);\nif (rank == 1 && i == 0) MPI_Recv(b, 1, MPI_INT, 2, 0, $w, &st); \@!\n\@R{if (rank == 2 && i == 0) MPI_Send(a, 1, MPI_INT, 1, 0, $w);}");
add('input-size', 4, 'D001|M010', "if (size \@W{> 3}\@R{> 30} && rank == 3)\n    i++;\nelse\n    MPI_Barrier($w); \@!");
add('input-iprobe', 2, 'D001|D002|D003|L002|R003', "if (rank == 0) {\n    MPI_Send(a, 1, MPI_INT, 1, 0, $w); \@!\n} else {\n    \@W{MPI_Iprobe(0, 0, $w, &flag, &st);}\@R{MPI_Probe(0, 0, $w, &st); flag = 1;} \@!\n    if (flag) MPI_Recv(b, 1, MPI_INT, 0, 0, $w, &st);\n}");
add('input-test', 2, 'D001|D002|X006|R003|M010', "if (rank == 0) {\n    MPI_Irecv(b, 1, MPI_INT, 1, 0, $w, &req);\n    \@W{MPI_Test(&req, &flag, &st);}\@R{MPI_Wait(&req, &st); flag = 1;} \@!\n    if (flag) MPI_Barrier($w); \@!\n    if (!flag) MPI_Wait(&req, &st);\n} else {\n    MPI_Send(a, 1, MPI_INT, 0, 0, $w);\n    MPI_Barrier($w); \@!\n}");
add('order-nonovertaking', 2, 'M007|D001', "if (rank == 0) {\n    MPI_Send(a, \@W{8}\@R{2}, MPI_INT, 1, 0, $w);\n    MPI_Send(a, \@W{2}\@R{8}, MPI_INT, 1, 0, $w);\n} else {\n    MPI_Recv(b, 2, MPI_INT, 0, 0, $w, &st); \@!\n    MPI_Recv(b, 8, MPI_INT, 0, 0, $w, &st);\n}");
add('rsend-early', 2, 'M009|D001|D003|D002', "if (rank == 0) {\n    \@R{MPI_Recv(b, 0, MPI_INT, 1, 9, $w, &st);}\n    MPI_Rsend(a, 1, MPI_INT, 1, 0, $w); \@!\n} else {\n    MPI_Irecv(b, 1, MPI_INT, 0, 0, $w, &req);\n    \@R{MPI_Send(a, 0, MPI_INT, 0, 9, $w);}\n    MPI_Wait(&req, &st);\n}");
add('rsend-late', 2, 'M009|D001|D003|D002', "if (rank == 0) {\n    MPI_\@W{Rs}\@R{S}end(a, 1, MPI_INT, 1, 0, $w); \@!\n    MPI_Barrier($w);\n} else {\n    \@W{MPI_Barrier($w);}\n    MPI_Recv(b, 1, MPI_INT, 0, 0, $w, &st);\n    \@R{MPI_Barrier($w);}\n}");
add('bsend-no-room', 2, 'M009', "char room[4096];\nint left;\nvoid *old;\nif (rank == 0) {\n    MPI_Buffer_attach(room, \@W{16}\@R{4096});\n    MPI_Bsend(a, 32, MPI_INT, 1, 0, $w); \@!\n    MPI_Buffer_detach(&old, &left);\n} else if (rank == 1)\n    MPI_Recv(b, 32, MPI_INT, 0, 0, $w, &st);");
add('bsend-no-buffer', 2, 'M009', "static char room[4096];\nint left;\nvoid *old;\nif (rank == 0) {\n    \@R{MPI_Buffer_attach(room, 4096);}\n    MPI_Bsend(a, 32, MPI_INT, 1, 0, $w); \@!\n    \@R{MPI_Buffer_detach(&old, &left);}\n    (void)old, (void)left, (void)room;\n} else if (rank == 1)\n    MPI_Recv(b, 32, MPI_INT, 0, 0, $w, &st);");
add('mprobe-dropped', 2, 'L002|D003|D001|L001', "MPI_Message m;\nif (rank == 0) {\n    MPI_Send(a, 1, MPI_INT, 1, 0, $w); \@!\n} else {\n    MPI_Mprobe(0, 0, $w, &m, &st); \@!\n    \@R{MPI_Mrecv(b, 1, MPI_INT, &m, &st);}\n}");
1;
