# Arguments out of their range, in every call that takes them.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my %call = (
    Send => "if (rank == 0) MPI_Send(a, %N, MPI_INT, %P, %G, $w); else if (rank == 1) MPI_Recv(b, 4, MPI_INT, 0, 5, $w, &st);",
    Ssend => "if (rank == 0) MPI_Ssend(a, %N, MPI_INT, %P, %G, $w); else if (rank == 1) MPI_Recv(b, 4, MPI_INT, 0, 5, $w, &st);",
    Isend => "if (rank == 0) { MPI_Isend(a, %N, MPI_INT, %P, %G, $w, &req); MPI_Wait(&req, &st); } else if (rank == 1) MPI_Recv(b, 4, MPI_INT, 0, 5, $w, &st);",
    Recv => "if (rank == 1) MPI_Send(a, 2, MPI_INT, 0, 5, $w); else if (rank == 0) MPI_Recv(b, %N, MPI_INT, %P, %G, $w, &st);",
    Irecv => "if (rank == 1) MPI_Send(a, 2, MPI_INT, 0, 5, $w); else if (rank == 0) { MPI_Irecv(b, %N, MPI_INT, %P, %G, $w, &req); MPI_Wait(&req, &st); }",
    Send_init => "if (rank == 0) { MPI_Send_init(a, %N, MPI_INT, %P, %G, $w, &req); MPI_Request_free(&req); }",
    Recv_init => "if (rank == 0) { MPI_Recv_init(b, %N, MPI_INT, %P, %G, $w, &req); MPI_Request_free(&req); }",
    Rsend_init => "if (rank == 0) { MPI_Rsend_init(a, %N, MPI_INT, %P, %G, $w, &req); MPI_Request_free(&req); }",
    Probe => "if (rank == 1) MPI_Send(a, 2, MPI_INT, 0, 5, $w); else if (rank == 0) { MPI_Probe(%P, %G, $w, &st); MPI_Recv(b, 2, MPI_INT, 1, 5, $w, &st); }",
    Iprobe => "MPI_Iprobe(%P, %G, $w, &flag, &st);", Mprobe => "MPI_Message m; if (rank == 1) MPI_Send(a, 2, MPI_INT, 0, 5, $w); else if (rank == 0) { MPI_Mprobe(%P, %G, $w, &m, &st); MPI_Mrecv(b, 2, MPI_INT, &m, &st); }",
    Sendrecv => "if (rank < 2) MPI_Sendrecv(a, %N, MPI_INT, %Q, %G, b, 4, MPI_INT, 1 - rank, 5, $w, &st);",
    Sendrecv_replace => "if (rank < 2) MPI_Sendrecv_replace(a, %N, MPI_INT, %Q, %G, 1 - rank, 5, $w, &st);",
    Bcast => "MPI_Bcast(a, %N, MPI_INT, %R, $w);", Ibcast => "MPI_Ibcast(a, %N, MPI_INT, %R, $w, &req); MPI_Wait(&req, &st);",
    Bcast_init => "MPI_Bcast_init(a, %N, MPI_INT, %R, $w, MPI_INFO_NULL, &req); MPI_Request_free(&req);",
    Reduce => "MPI_Reduce(a, b, %N, MPI_INT, MPI_SUM, %R, $w);", Ireduce => "MPI_Ireduce(a, b, %N, MPI_INT, MPI_SUM, %R, $w, &req); MPI_Wait(&req, &st);",
    Gather => "MPI_Gather(a, %N, MPI_INT, b, 2, MPI_INT, %R, $w);", Igather => "MPI_Igather(a, %N, MPI_INT, b, 2, MPI_INT, %R, $w, &req); MPI_Wait(&req, &st);",
    Scatter => "MPI_Scatter(b, 2, MPI_INT, a, %N, MPI_INT, %R, $w);", Allgather => "MPI_Allgather(a, %N, MPI_INT, b, 2, MPI_INT, $w);",
    Alltoall => "MPI_Alltoall(a, %N, MPI_INT, b, 2, MPI_INT, $w);", Allreduce => "MPI_Allreduce(a, b, %N, MPI_INT, MPI_SUM, $w);",
    Iallreduce => "MPI_Iallreduce(a, b, %N, MPI_INT, MPI_SUM, $w, &req); MPI_Wait(&req, &st);", Scan => "MPI_Scan(a, b, %N, MPI_INT, MPI_SUM, $w);",
    Exscan => "MPI_Exscan(a, b, %N, MPI_INT, MPI_SUM, $w);", Reduce_scatter_block => "MPI_Reduce_scatter_block(a, b, %N, MPI_INT, MPI_SUM, $w);",
    Type_contiguous => "MPI_Datatype t; MPI_Type_contiguous(%N, MPI_INT, &t); MPI_Type_free(&t);", Type_vector => "MPI_Datatype t; MPI_Type_vector(%N, 1, 2, MPI_INT, &t); MPI_Type_free(&t);",
    Intercomm => "MPI_Comm half, inter; MPI_Comm_split($w, rank % 2, 0, &half); MPI_Intercomm_create(half, %L, $w, 1 - rank % 2, %H, &inter); MPI_Comm_free(&inter); MPI_Comm_free(&half);",
    Cart_rank => "MPI_Comm ring; MPI_Cart_create($w, 1, &size, (int[]){0}, 0, &ring); MPI_Cart_rank(ring, (int[]){%X}, &i); MPI_Comm_free(&ring);",
    Cart_shift => "MPI_Comm ring; int up; MPI_Cart_create($w, 1, &size, (int[]){0}, 0, &ring); MPI_Cart_shift(ring, %D, 1, &i, &up); MPI_Comm_free(&ring);",
    Group_incl => "MPI_Group g, h; MPI_Comm_group($w, &g); MPI_Group_incl(g, 1, (int[]){%X}, &h); MPI_Group_free(&h); MPI_Group_free(&g);",
    Comm_split => "MPI_Comm half; MPI_Comm_split($w, %K, 0, &half); if (half != MPI_COMM_NULL) MPI_Comm_free(&half);",
);
my %right = (N => 2, P => 1, Q => '1 - rank', G => 5, R => 1, L => 0, H => 3, X => 0, D => 0, K => 1);
my %bad = (N => ['-1', '-2147483647'], P => ['size', '-7'], Q => ['size + 3', '-9'], G => ['-5', '-1000'], R => ['size', '-4', 'MPI_PROC_NULL'], L => ['-1', '7'], H => ['-1'],
    X => ['size', '-1'], D => ['1', '-2'], K => ['-6']);
my %what = (N => 'count', P => 'rank', Q => 'rank', G => 'tag', R => 'root', L => 'leader', H => 'tag', X => 'rank', D => 'direction', K => 'color');
for my $name (sort keys %call) {
    for my $field (sort keys %right) {
        next unless $call{$name} =~ /%$field/;
        my $case = 0;
        for my $value (@{$bad{$field}}) {
            my $text = $call{$name};
            $text =~ s/%$field/\@W{$value}\@R{$right{$field}}/;
            $text =~ s/%([A-Z])(?!\w)/$right{$1}/g;
            # Half of them through a variable, one on one rank only.
            if ($case % 2) {
                $text =~ s/\@W\{\Q$value\E\}\@R\{\Q$right{$field}\E\}/value/;
                $text = "int value = \@W{$value}\@R{$right{$field}};\n$text";
            }
            add("parameter-$what{$field}-$name-" . ++$case, 2, 'M009', $text =~ s/\z/ \@!/r);
        }
    }
}
# Buffers that are none.
for my $name (qw(Send Recv Isend Irecv Bcast Reduce Allreduce Gather Scan)) {
    my $text = $call{$name} =~ s/%([A-Z])(?!\w)/$right{$1}/gr;
    $text =~ s/\((a|b), (2|4)/(\@W{NULL}\@R{$1}, 2/ if $name =~ /Send|Isend|Bcast|Gather|Reduce|Allreduce|Scan/;
    $text =~ s/(MPI_I?[Rr]ecv)\(b, 2/$1(\@W{NULL}\@R{b}, 2/ if $name =~ /Recv|Irecv/;
    $text =~ s/\(a, b, 2/(a, \@W{NULL}\@R{b}, 2/ if $name =~ /^(Reduce|Allreduce|Scan)$/;
    next unless $text =~ /\@W/;
    add("parameter-buffer-$name", 2, 'M009|X001', "$text \@!");
}
# IN_PLACE where it must not be, and one buffer on both sides.
for my $pair (['Reduce', 'MPI_Reduce(%, b, 1, MPI_INT, MPI_SUM, 0, '], ['Allgather', 'MPI_Allgather(a, 1, MPI_INT, %, 1, MPI_INT, '], ['Bcast', 'MPI_Bcast(%, 1, MPI_INT, 0, '], ['Gather', 'MPI_Gather(%, 1, MPI_INT, b, 1, MPI_INT, 0, ']) {
    my ($name, $text) = @$pair;
    my $right = $name eq 'Allgather' ? 'b' : 'a';
    add("parameter-in-place-$name", 2, 'M009', ($text =~ s/%/\@W{MPI_IN_PLACE}\@R{$right}/r) . "$w); \@!");
}
for my $name ('Reduce(%, %, 2, MPI_INT, MPI_SUM, 0, ', 'Allreduce(%, %, 2, MPI_INT, MPI_SUM, ', 'Scan(%, %, 2, MPI_INT, MPI_SUM, ', 'Exscan(%, %, 2, MPI_INT, MPI_SUM, ',
    'Gather(%, 2, MPI_INT, %, 2, MPI_INT, 0, ', 'Scatter(%, 2, MPI_INT, %, 2, MPI_INT, 0, ', 'Allgather(%, 2, MPI_INT, %, 2, MPI_INT, ', 'Alltoall(%, 2, MPI_INT, %, 2, MPI_INT, ') {
    my ($word) = $name =~ /^(\w+)/;
    my $text = $name;
    $text =~ s/%/b + 8/;
    $text =~ s/%/b + \@W{9}\@R{64}/;
    add("alias-blocking-$word", 2, 'B002|M009', "MPI_$text$w); \@!");
    add("alias-nonblocking-$word", 2, 'B002|M009', 'MPI_I' . lcfirst($text) . "$w, &req); MPI_Wait(&req, &st); \@!");
}
1;
