# The rarer forms: ready and buffered sends, exchanges in one call, matched probes, threads, the pieces of a datatype, what arrives decides.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my $x = 'MPI_STATUS_IGNORE';

# A receive that stands when the ready send comes: rank 1 posts it and says so.
for my $form (['Rsend', 'MPI_Rsend(%A);'], ['Irsend', 'MPI_Irsend(%A, &req); MPI_Wait(&req, &st);'],
    ['Rsend_init', 'MPI_Rsend_init(%A, &req); MPI_Start(&req); MPI_Wait(&req, &st); MPI_Request_free(&req);']) {
    my ($name, $call) = @$form;
    my $make = sub {
        my ($what, $codes, $wrong, $receive) = @_;
        my $right = $call =~ s/%A/a, 4, MPI_INT, 1, 7, $w/r;
        my $bad = $call =~ s/%A/$wrong/r;
        my $posted = "MPI_Irecv(b, 4, MPI_INT, 0, 7, $w, &req);";
        $posted = "\@W{$receive}\@R{$posted}" if $receive;
        add("ready-$what-$name", 2, $codes, "if (rank == 0) {\n    MPI_Recv(&i, 0, MPI_INT, 1, 1, $w, &st);\n    \@W{$bad}\@R{$right} \@!\n} else {\n    $posted \@!\n    MPI_Send(&i, 0, MPI_INT, 0, 1, $w);\n    MPI_Wait(&req, &st); \@!\n}");
    };
    my $same = "a, 4, MPI_INT, 1, 7, $w";
    $make->('type', 'M008', "a, 4, MPI_FLOAT, 1, 7, $w");
    $make->('long', 'M007', "a, 6, MPI_INT, 1, 7, $w");
    $make->('tag', 'M009|D001|D003', "a, 4, MPI_INT, 1, 8, $w");
    $make->('short', 'M007', $same, "MPI_Irecv(b, 3, MPI_INT, 0, 7, $w, &req);");
    $make->('count', 'M009', "a, -4, MPI_INT, 1, 7, $w");
    $make->('any-tag', 'M009', "a, 4, MPI_INT, 1, MPI_ANY_TAG, $w");
    add("ready-early-$name", 2, 'M009|D001|D003', "if (rank == 0) {\n    \@R{MPI_Recv(&i, 0, MPI_INT, 1, 1, $w, &st);}\n    " . ($call =~ s/%A/$same/r)
        . " \@!\n    \@W{MPI_Recv(&i, 0, MPI_INT, 1, 1, $w, &st);}\n} else {\n    MPI_Request late;\n    \@W{MPI_Ssend(&i, 0, MPI_INT, 0, 1, $w);}\n    MPI_Irecv(b, 4, MPI_INT, 0, 7, $w, &late);\n    \@R{MPI_Send(&i, 0, MPI_INT, 0, 1, $w);}\n    MPI_Wait(&late, &st);\n}");
}

# Buffered sends: the room, and what is right only because of it.
my $attach = 'static char room[8192]; void *old; int left; MPI_Buffer_attach(room, sizeof room);';
my $detach = 'MPI_Buffer_detach(&old, &left);';
my %buffered = (Bsend => 'MPI_Bsend(%A);', Ibsend => 'MPI_Ibsend(%A, &req); MPI_Wait(&req, &st);',
    Bsend_init => 'MPI_Bsend_init(%A, &req); MPI_Start(&req); MPI_Wait(&req, &st); MPI_Request_free(&req);');
for my $name (sort keys %buffered) {
    my $call = sub { $buffered{$name} =~ s/%A/$_[0]/r };
    my $good = $call->("a, 4, MPI_INT, peer, 7, $w");
    add("buffered-instead-$name", 2, 'D003', "int peer = 1 - rank;\n\@R{$attach}\n\@W{MPI_Send(a, 4, MPI_INT, peer, 7, $w);}\@R{$good} \@!\nMPI_Recv(b, 4, MPI_INT, peer, 7, $w, &st);\n\@R{$detach}");
    add("buffered-room-$name", 2, 'M009', "int peer = 1 - rank, left; void *old;\nstatic char room[8192];\nMPI_Buffer_attach(room, \@W{8}\@R{sizeof room});\n$good \@!\nMPI_Recv(b, 4, MPI_INT, peer, 7, $w, &st);\n$detach");
    add("buffered-type-$name", 2, 'M008', "int peer = 1 - rank;\n$attach\n" . $call->("a, 4, \@W{MPI_UNSIGNED}\@R{MPI_INT}, peer, 7, $w") . " \@!\nMPI_Recv(b, 4, MPI_INT, peer, 7, $w, &st); \@!\n$detach");
    add("buffered-long-$name", 2, 'M007', "int peer = 1 - rank;\n$attach\n" . $call->("a, \@W{5}\@R{4}, MPI_INT, peer, 7, $w") . " \@!\nMPI_Recv(b, 4, MPI_INT, peer, 7, $w, &st); \@!\n$detach");
    add("buffered-both-receive-$name", 2, 'D001', "int peer = 1 - rank;\n$attach\n\@W{MPI_Recv(b, 4, MPI_INT, peer, 7, $w, &st);} \@!\n$good\n\@R{MPI_Recv(b, 4, MPI_INT, peer, 7, $w, &st);}\n$detach");
}
add('buffered-attached-twice', 2, 'M009', "$attach\n\@W{MPI_Buffer_attach(room, 4096);} \@!\n$detach");
add('buffered-detached-twice', 2, 'M009', "$attach\n$detach\n\@W{$detach} \@!");

# Two messages in one call.
my %exchange = (
    Sendrecv => 'MPI_Sendrecv(a, %N, %T, %P, %G, b, %M, %U, %Q, %H, ' . $w . ', &st);',
    Isendrecv => 'MPI_Isendrecv(a, %N, %T, %P, %G, b, %M, %U, %Q, %H, ' . $w . ', &req); MPI_Wait(&req, &st);');
my %same = (N => 4, M => 4, T => 'MPI_INT', U => 'MPI_INT', P => 'peer', Q => 'peer', G => 3, H => 3);
for my $name (sort keys %exchange) {
    my $make = sub {
        my ($what, $codes, %with) = @_;
        my $text = $exchange{$name};
        for my $key (keys %same) { my $to = exists $with{$key} ? "\@W{$with{$key}}\@R{$same{$key}}" : $same{$key}; $text =~ s/%$key/$to/ }
        add("exchange-$what-$name", 2, $codes, "int peer = 1 - rank;\n$text \@!");
    };
    $make->('tags', 'D001|D003', H => '3 + rank');
    $make->('send-tag', 'D001|D003', G => 4);
    $make->('types', 'M008', T => 'MPI_FLOAT');
    $make->('one-type', 'M008', U => 'rank ? MPI_INT : MPI_UNSIGNED');
    $make->('long', 'M007', N => 5);
    $make->('short', 'M007', M => 3);
    $make->('itself', 'D001|D003', P => 'rank');
    $make->('beyond', 'M009', P => 'size');
    $make->('from-beyond', 'M009', Q => 'size + 1');
    $make->('count', 'M009', N => -1);
    $make->('room', 'M009', M => -2);
    $make->('null-type', 'M009', T => 'MPI_DATATYPE_NULL');
    $make->('any-source-to', 'M009', P => 'MPI_ANY_SOURCE');
    my $right = $exchange{$name} =~ s/%(\w)/$same{$1}/gr;
    add("exchange-alone-$name", 2, 'D001|D003|M010|L002', "int peer = 1 - rank;\nif (\@W{rank == 0}\@R{rank < 2}) {\n    $right \@!\n}");
    add("exchange-overlap-$name", 2, 'B002|M009', "int peer = 1 - rank;\n" . ($right =~ s/\bb\b/\@W{a + 2}\@R{a + 16}/r) . ' @!');
}
my %replace = (Sendrecv_replace => 'MPI_Sendrecv_replace(a, %N, %T, %P, 3, %Q, %H, ' . $w . ', &st);',
    Isendrecv_replace => 'MPI_Isendrecv_replace(a, %N, %T, %P, 3, %Q, %H, ' . $w . ', &req); MPI_Wait(&req, &st);');
for my $name (sort keys %replace) {
    my %bad = (tag => ['D001|D003', H => 4], count => ['M009', N => -3], type => ['M009', T => 'MPI_DATATYPE_NULL'], to => ['M009', P => 'size'], from => ['M009', Q => -9],
        lengths => ['M007', N => '4 + rank'], types => ['M008', T => 'rank ? MPI_INT : MPI_FLOAT'], itself => ['D001|D003', P => 'rank']);
    for my $what (sort keys %bad) {
        my ($codes, $key, $value) = @{$bad{$what}};
        my $text = $replace{$name} =~ s/%$key/\@W{$value}\@R{$same{$key}}/r =~ s/%(\w)/$same{$1}/gr;
        add("exchange-$what-$name", 2, $codes, "int peer = 1 - rank;\n$text \@!");
    }
}
for my $name ('Isendrecv', 'Isendrecv_replace') {
    my $call = ($exchange{$name} // $replace{$name}) =~ s/%(\w)/$same{$1}/gr =~ s/ MPI_Wait.*//r;
    add("exchange-unwaited-$name", 2, 'X006|L001|L008', "int peer = 1 - rank;\n$call \@!\n\@R{MPI_Wait(&req, &st);}");
    add("exchange-touched-$name", 2, 'B001', "int peer = 1 - rank;\n$call \@!\n\@W{a[1] = 5;} \@!\nMPI_Wait(&req, &st);\n\@R{a[1] = 5;}", 'main');
}

# Matched probes.
my $sends = "if (rank == 0) {\n    MPI_Send(a, 4, MPI_INT, 1, 7, $w); \@!\n} else {\n    MPI_Message m;\n";
my %probe = (Mprobe => "MPI_Mprobe(0, 7, $w, &m, &st);", Improbe => "while (!flag) MPI_Improbe(0, 7, $w, &flag, &m, &st);");
my %take = (Mrecv => 'MPI_Mrecv(%A, &m, &st);', Imrecv => 'MPI_Imrecv(%A, &m, &req); MPI_Wait(&req, &st);');
for my $p (sort keys %probe) {
    for my $t (sort keys %take) {
        my $right = $take{$t} =~ s/%A/b, 4, MPI_INT/r;
        my $make = sub { my ($what, $codes, $arguments) = @_;
            add("matched-$what-$p-$t", 2, $codes, "$sends    $probe{$p}\n    \@W{" . ($take{$t} =~ s/%A/$arguments/r) . "}\@R{$right} \@!\n}") };
        $make->('type', 'M008', 'b, 4, MPI_FLOAT');
        $make->('short', 'M007', 'b, 3, MPI_INT');
        $make->('count', 'M009', 'b, -1, MPI_INT');
        $make->('null-type', 'M009', 'b, 4, MPI_DATATYPE_NULL');
        add("matched-dropped-$p-$t", 2, 'L002|D003|D001|L001', "$sends    $probe{$p} \@!\n    \@R{$right}\n}");
        add("matched-twice-$p-$t", 2, 'M009', "$sends    $probe{$p}\n    $right\n    \@W{$right} \@!\n}");
        add("matched-tag-$p-$t", 2, 'D001|D003|D005', "$sends    " . ($probe{$p} =~ s/\b7\b/\@W{8}\@R{7}/r) . " \@!\n    $right\n}");
        add("matched-stolen-$p-$t", 2, 'D001|D005', "$sends    \@W{MPI_Recv(b, 4, MPI_INT, 0, 7, $w, &st);}\n    $probe{$p} \@!\n    $right\n}");
    }
    add("matched-unwaited-$p", 2, 'X006|L001|L008', "$sends    $probe{$p}\n    MPI_Imrecv(b, 4, MPI_INT, &m, &req); \@!\n    \@R{MPI_Wait(&req, &st);}\n}");
    add("matched-touched-$p", 2, 'B001', "$sends    $probe{$p}\n    MPI_Imrecv(b, 4, MPI_INT, &m, &req); \@!\n    \@W{b[0] = 1;} \@!\n    MPI_Wait(&req, &st);\n    \@R{b[0] = 1;}\n}");
}
add('matched-null', 2, 'M009', "MPI_Message m = \@W{MPI_MESSAGE_NULL}\@R{MPI_MESSAGE_NO_PROC};\nMPI_Mrecv(b, 4, MPI_INT, &m, &st); \@!");

# Types: what is sent and what is received, piece by piece.
my %types = (
    'int-unsigned' => ['MPI_INT', 'MPI_UNSIGNED'], 'int-float' => ['MPI_INT', 'MPI_FLOAT'], 'long-double' => ['MPI_LONG', 'MPI_DOUBLE'], 'char-byte' => ['MPI_CHAR', 'MPI_BYTE'],
    'char-signed' => ['MPI_CHAR', 'MPI_SIGNED_CHAR'], 'short-unsigned' => ['MPI_SHORT', 'MPI_UNSIGNED_SHORT'], 'int32-float' => ['MPI_INT32_T', 'MPI_FLOAT'], 'bool-char' => ['MPI_C_BOOL', 'MPI_CHAR']);
for my $name (sort keys %types) {
    my ($sent, $received) = @{$types{$name}};
    my $text = "static char out[256], in[256];\nif (rank == 0) MPI_Send(out, 4, $sent, 1, 2, $w); \@!\nif (rank == 1) MPI_Recv(in, 4, \@W{$received}\@R{$sent}, 0, 2, $w, &st); \@!";
    add("types-$name", 2, 'M008', $text);
    add("types-isend-$name", 2, 'M008', $text =~ s/MPI_Send\((.*?)\);/{ MPI_Isend($1, &req); MPI_Wait(&req, &st); }/r =~ s/MPI_Recv\((.*?), &st\);/{ MPI_Irecv($1, &req); MPI_Wait(&req, &st); }/r);
    add("types-bcast-$name", 2, 'M004', "static char out[256];\nMPI_Bcast(out, 4, \@W{rank ? $received : $sent}\@R{$sent}, 0, $w); \@!");
    add("types-gather-$name", 2, 'M004', "static char out[256], in[256];\nMPI_Gather(out, 2, $sent, in, 2, \@W{$received}\@R{$sent}, 0, $w); \@!");
    add("types-allgather-$name", 2, 'M004', "static char out[256], in[256];\nMPI_Allgather(out, 2, $sent, in, 2, \@W{$received}\@R{$sent}, $w); \@!");
}
my %derived = (
    contiguous => 'MPI_Type_contiguous(2, %T, &t);', vector => 'MPI_Type_vector(2, 1, 2, %T, &t);', indexed => 'MPI_Type_indexed(2, (int[]){1, 1}, (int[]){0, 3}, %T, &t);',
    resized => 'MPI_Datatype two; MPI_Type_contiguous(2, %T, &two); MPI_Type_create_resized(two, 0, 16, &t); MPI_Type_free(&two);',
    struct => 'MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){%T, %T}, &t);');
for my $name (sort keys %derived) {
    my $make = $derived{$name} =~ s/%T/\@W{MPI_FLOAT}\@R{MPI_INT}/gr;
    add("derived-$name", 2, 'M008', "MPI_Datatype t;\n$make\nMPI_Type_commit(&t);\nstatic char in[64];\nif (rank == 0) MPI_Send(a, 2, MPI_INT, 1, 2, $w); \@!\nelse MPI_Recv(in, 1, t, 0, 2, $w, &st); \@!\nMPI_Type_free(&t);");
    my $right = $derived{$name} =~ s/%T/MPI_INT/gr;
    add("derived-uncommitted-$name", 2, 'M009', "MPI_Datatype t;\n$right\n\@R{MPI_Type_commit(&t);}\nif (rank == 0) MPI_Send(a, 2, MPI_INT, 1, 2, $w);\nelse MPI_Recv(b, 1, t, 0, 2, $w, &st); \@!\nMPI_Type_free(&t);");
    add("derived-freed-$name", 2, 'M009', "MPI_Datatype t, old;\n$right\nMPI_Type_commit(&t);\nold = t;\n\@W{MPI_Type_free(&t);}\nMPI_Bcast(a, 1, old, 0, $w); \@!\n\@R{MPI_Type_free(&t);}");
    add("derived-short-$name", 2, 'M007', "MPI_Datatype t;\n$right\nMPI_Type_commit(&t);\nif (rank == 0) MPI_Send(a, \@W{3}\@R{2}, MPI_INT, 1, 2, $w); \@!\nelse MPI_Recv(b, 1, t, 0, 2, $w, &st); \@!\nMPI_Type_free(&t);");
}

# What comes in, or how many there are, decides what is called.
my %input = (
    'tag-received' => ['D001|D003', "if (rank == 0) {\n    i = 5;\n    MPI_Send(&i, 1, MPI_INT, 1, 0, $w);\n    MPI_Recv(b, 1, MPI_INT, 1, \@W{6}\@R{5}, $w, &st); \@!\n} else {\n    MPI_Recv(&i, 1, MPI_INT, 0, 0, $w, &st);\n    MPI_Send(a, 1, MPI_INT, 0, i, $w); \@!\n}"],
    'count-received' => ['M007', "if (rank == 0) {\n    i = \@W{9}\@R{8};\n    MPI_Send(&i, 1, MPI_INT, 1, 0, $w);\n    MPI_Recv(b, 8, MPI_INT, 1, 1, $w, &st); \@!\n} else {\n    MPI_Recv(&i, 1, MPI_INT, 0, 0, $w, &st);\n    MPI_Send(a, i, MPI_INT, 0, 1, $w); \@!\n}"],
    'root-received' => ['M002', "int root = 0;\nif (rank == 0) {\n    root = 1;\n    MPI_Send(&root, 1, MPI_INT, 1, 0, $w);\n} else {\n    MPI_Recv(&i, 1, MPI_INT, 0, 0, $w, &st);\n    \@R{root = i;}\n}\nMPI_Bcast(a, 4, MPI_INT, root, $w); \@!"],
    'operation-received' => ['M001|D001', "MPI_Bcast(&i, 1, MPI_INT, 0, $w);\nif (i == 0 && \@W{rank}\@R{size})\n    MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, 0, $w); \@!\nelse\n    MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, $w); \@!"],
    'loop-received' => ['D001|D003', "int times = 3;\nMPI_Bcast(&times, 1, MPI_INT, 0, $w);\nfor (int k = 0; k < times \@W{+ rank}; k++) {\n    if (rank == 0) MPI_Recv(b, 1, MPI_INT, 1, 0, $w, &st);\n    else MPI_Ssend(a, 1, MPI_INT, 0, 0, $w); \@!\n}"],
    'reply-source' => ['D001|D003', "if (rank == 0) {\n    MPI_Recv(b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, $w, &st);\n    MPI_Send(a, 1, MPI_INT, \@W{st.MPI_TAG}\@R{st.MPI_SOURCE}, 3, $w);\n} else if (rank == 1) {\n    MPI_Send(a, 1, MPI_INT, 0, 2, $w);\n    MPI_Recv(b, 1, MPI_INT, 0, 3, $w, &st); \@!\n}", 3],
    'size-odd' => ['D001|D003', "int peer = rank ^ 1;\n\@R{if (peer < size)} {\n    peer = peer < size ? peer : 0;\n    MPI_Sendrecv(a, 1, MPI_INT, peer, 0, b, 1, MPI_INT, peer, 0, $w, &st); \@!\n}", 3],
    'size-even' => ['D001|M010|D002', "if (size % 2 == 0 && rank \@W{> 0}\@R{>= 0})\n    MPI_Barrier($w); \@!", 4],
    'rank-last' => ['M009', "MPI_Send(a, 0, MPI_INT, \@W{rank + 1}\@R{rank + 1 < size ? rank + 1 : MPI_PROC_NULL}, 0, $w); \@!\nif (rank > 0) MPI_Recv(b, 0, MPI_INT, rank - 1, 0, $w, &st);", 3],
    'rank-first' => ['M009', "if (rank + 1 < size) MPI_Send(a, 0, MPI_INT, rank + 1, 0, $w);\nMPI_Recv(b, 0, MPI_INT, \@W{rank - 2}\@R{rank ? rank - 1 : MPI_PROC_NULL}, 0, $w, &st); \@!", 3],
    'probed-count' => ['M007', "if (rank == 0)\n    MPI_Send(a, 6, MPI_INT, 1, 0, $w); \@!\nelse {\n    MPI_Probe(0, 0, $w, &st);\n    MPI_Get_count(&st, MPI_\@W{DOUBLE}\@R{INT}, &i);\n    MPI_Recv(b, i, MPI_INT, 0, 0, $w, &st); \@!\n}"],
    'value-branch' => ['M010|D001|D002', "MPI_Allreduce(&rank, &i, 1, MPI_INT, \@W{MPI_SUM}\@R{MPI_MAX}, $w);\nif (i \@W{+ rank} > 3)\n    MPI_Barrier($w); \@!", 3],
    'float-branch' => ['M010|D001|D002', "x[0] = rank;\nMPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_SUM, $w);\nif (\@W{x}\@R{y}[0] > 0.5)\n    MPI_Barrier($w); \@!"],
    'colour' => ['D001|D003|M009', "MPI_Comm half;\nMPI_Comm_split($w, rank \@W{% 2}\@R{/ 2}, rank, &half);\nif (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 0, half); \@!\nif (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 0, half, &st); \@!\nMPI_Comm_free(&half);", 2],
    'key' => ['D001|D003', "MPI_Comm turned;\nMPI_Comm_split($w, 0, \@W{-rank}\@R{rank}, &turned);\nif (rank == 0) MPI_Ssend(a, 1, MPI_INT, 1, 0, turned); \@!\nif (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 0, turned, &st); \@!\nMPI_Comm_free(&turned);"],
);
for my $name (sort keys %input) {
    my ($codes, $text, $ranks) = @{$input{$name}};
    add("decides-$name", $ranks || 2, $codes, $text, 'main');
}

# Threads, and the level they are allowed.
my $thread = sub {
    my ($name, $codes, $init, $body, $rest) = @_;
    add("threads-$name", 2, $codes, "static int got[4];\nstatic void *body(void *p)\n{\n    $body\n    return p;\n}\nint main(int argc, char **argv)\n{\n    int provided, rank, a[4] = {0};\n    pthread_t t;\n    $init\n"
        . "    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    (void)provided, (void)got, (void)a;\n    pthread_create(&t, NULL, body, &rank);\n    $rest\n    pthread_join(t, NULL);\n    MPI_Finalize();\n    return 0;\n}\n", 'whole');
};
my $level = sub { "MPI_Init_thread(&argc, &argv, \@W{$_[0]}\@R{MPI_THREAD_MULTIPLE}, &provided);" };
my $receive = "MPI_Recv(got, 1, MPI_INT, 1 - *(int *)p, 0, $w, $x); \@!";
my $send = "MPI_Send(a, 1, MPI_INT, 1 - rank, 0, $w); \@!";
$thread->('init', 'M009', "\@W{MPI_Init(&argc, &argv);}\@R{MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);}", $receive, $send);
$thread->('single', 'M009', $level->('MPI_THREAD_SINGLE'), $receive, $send);
$thread->('funneled', 'M009', $level->('MPI_THREAD_FUNNELED'), $receive, $send);
$thread->('tag', 'D001|D003', 'MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);', $receive, "MPI_Send(a, 1, MPI_INT, 1 - rank, \@W{4}\@R{0}, $w); \@!");
$thread->('type', 'M008', 'MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);', $receive, "MPI_Send(a, 1, \@W{MPI_FLOAT}\@R{MPI_INT}, 1 - rank, 0, $w); \@!");
1;
