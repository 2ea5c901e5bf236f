# Programs as those write them who test verifiers for MPI: sessions, generalized requests, buffers attached, probes that see one message
# and receive another, error handlers, groups, objects of callbacks, calls with large counts, roles that are mixed up.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my $s = 'MPI_STATUS_IGNORE';
my $info = 'MPI_INFO_NULL';

# Sessions: no MPI_Init at all.
sub session {
    my ($name, $codes, $body, $ranks) = @_;
    my $marked = $body =~ s/^#(init|group|comm)\n// ? $1 : '';
    my %mark = map { $_ => $_ eq $marked ? ' @!' : '' } qw(init group comm);
    add("session-$name", $ranks // 2, $codes, "#include <mpi.h>\n#include <stdio.h>\n\nint main(void)\n{\n    MPI_Session session;\n    MPI_Group group;\n    MPI_Comm comm;\n    int rank, size, n = 0;\n"
        . "    (void)n;\n    MPI_Session_init($info, MPI_ERRORS_ARE_FATAL, &session);$mark{init}\n    MPI_Group_from_session_pset(session, \"mpi://WORLD\", &group);$mark{group}\n"
        . "    MPI_Comm_create_from_group(group, \"org.example\", $info, MPI_ERRORS_ARE_FATAL, &comm);$mark{comm}\n    MPI_Comm_rank(comm, &rank);\n    MPI_Comm_size(comm, &size);\n$body    return 0;\n}\n", 'whole');
}
my ($gfree, $cfree, $done) = ("    MPI_Group_free(&group);\n", "    MPI_Comm_free(&comm);\n", "    MPI_Session_finalize(&session);\n");
my $bar = "    MPI_Barrier(comm);\n";
session('unfinished', 'X008|L003|L001|L011', "#init\n$bar$gfree$cfree\@R{$done}");
session('group-left', 'L004', "#group\n$bar\@R{$gfree}$cfree$done");
session('comm-left', 'L003|M009', "#comm\n$bar$gfree\@R{$cfree}$done");
session('twice', 'M009', "$bar$gfree$cfree$done\@W{    MPI_Session_finalize(&session); \@!\n}");
session('world', 'M009', "$bar    MPI_Barrier(\@W{$w}\@R{comm}); \@!\n$gfree$cfree$done");
session('used-after', 'M009', "$bar$gfree$cfree$done\@W{    MPI_Session_get_num_psets(session, $info, &n); \@!\n}");
session('nth-set', 'M009', "$bar    int length = 0;\n    MPI_Session_get_nth_pset(session, $info, \@W{99}\@R{0}, &length, NULL); \@!\n$gfree$cfree$done");
session('no-such-set', 'M009', "$bar    MPI_Group other;\n    MPI_Group_from_session_pset(session, \@W{\"mpi://NOBODY\"}\@R{\"mpi://SELF\"}, &other); \@!\n    MPI_Group_free(&other);\n$gfree$cfree$done");
session('tags', 'D001|M010|M006', "    MPI_Comm second;\n    MPI_Comm_create_from_group(group, rank \@W{== 0}\@R{< 0} ? \"one\" : \"two\", $info, MPI_ERRORS_ARE_FATAL, &second); \@!\n    MPI_Comm_free(&second);\n$gfree$cfree$done");
session('missing', 'D001|M010', "    if (\@W{rank == 0}\@R{rank >= 0})\n        MPI_Barrier(comm); \@!\n$gfree$cfree$done", 3);
session('comm-freed', 'M009|X005', "$bar    MPI_Comm old = comm;\n$gfree\@W{$cfree}    MPI_Barrier(old); \@!\n\@R{$cfree}$done");

# Objects of two sessions, or of one and of MPI_Init, in one call (MPI-4.0 11.3), whatever they are made of; `comm` and `group` come from
# the first, the others from the second where it is wrong.
my %of_both = (
    Group_compare => 'MPI_Group_compare(group, group2, &n);', Group_translate_ranks => 'MPI_Group_translate_ranks(group, 1, &n, group2, &rank);',
    map({ ("Group_$_" => "MPI_Group_$_(group, group2, &made); \@!\n    if (made != MPI_GROUP_EMPTY) MPI_Group_free(&made);") } qw(union intersection difference)),
    Comm_compare => 'MPI_Comm_compare(comm, comm2, &n);', Comm_compare_dup => "MPI_Comm_dup(comm2, &other);\n    MPI_Comm_compare(comm, other, &n); \@!\n    MPI_Comm_free(&other);",
    Comm_create => "MPI_Comm_create(comm, group2, &other); \@!\n    MPI_Comm_free(&other);",
    Comm_create_group => "MPI_Comm_create_group(comm, group2, 1, &other); \@!\n    MPI_Comm_free(&other);",
    Comm_create_of_split => "MPI_Comm_split(comm2, 0, 0, &other);\n    MPI_Comm_group(other, &made);\n    MPI_Comm_free(&other);\n    MPI_Comm_create(comm, made, &other); \@!\n    MPI_Group_free(&made);\n    MPI_Comm_free(&other);",
    Group_of_incl => "MPI_Group_incl(group2, 1, &n, &made);\n    MPI_Group_compare(made, group, &n); \@!\n    MPI_Group_free(&made);",
    Group_of_excl => "MPI_Group_excl(group2, 1, &n, &made);\n    MPI_Group_compare(group, made, &n); \@!\n    MPI_Group_free(&made);",
    Win_fence_by_group => "MPI_Win_create(a, 8, 4, MPI_INFO_NULL, comm2, &win);\n    MPI_Win_get_group(win, &made);\n    MPI_Group_compare(group, made, &n); \@!\n    MPI_Group_free(&made);\n    MPI_Win_free(&win);",
    Win_start => "MPI_Win_create(a, 8, 4, MPI_INFO_NULL, comm, &win);\n    MPI_Win_post(group2, 0, win); \@!\n    MPI_Win_start(group2, 0, win); \@!\n    MPI_Win_complete(win);\n    MPI_Win_wait(win);\n    MPI_Win_free(&win);",
    Intercomm_create => "MPI_Comm_split(comm, rank, 0, &other);\n    MPI_Intercomm_create(other, 0, comm2, 1 - rank, 1, &across); \@!\n    MPI_Comm_free(&other);\n    MPI_Comm_free(&across);",
    Intercomm_group => "MPI_Comm_split(comm2, rank, 0, &other);\n    MPI_Intercomm_create(other, 0, comm2, 1 - rank, 1, &across);\n    MPI_Comm_remote_group(across, &made);\n    MPI_Group_compare(made, group, &n); \@!\n    MPI_Group_free(&made);\n    MPI_Comm_free(&other);\n    MPI_Comm_free(&across);",
    Intercomm_merge => "MPI_Comm_split(comm2, rank, 0, &other);\n    MPI_Intercomm_create(other, 0, comm2, 1 - rank, 1, &across);\n    MPI_Comm_free(&other);\n    MPI_Intercomm_merge(across, 0, &other);\n    MPI_Comm_compare(other, comm, &n); \@!\n    MPI_Comm_free(&other);\n    MPI_Comm_free(&across);",
    Intercomm_create_from_groups => "MPI_Group_incl(group, 1, &rank, &made);\n    n = 1 - rank;\n    MPI_Group_incl(group2, 1, &n, &far);\n    MPI_Intercomm_create_from_groups(made, 0, far, 0, \"across\", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &across); \@!\n    MPI_Comm_free(&across);\n    MPI_Group_free(&made);\n    MPI_Group_free(&far);");
for my $call (sort keys %of_both) {
    for my $from ('session', 'init') {
        my $line = $of_both{$call} =~ /\@!/ ? $of_both{$call} : "$of_both{$call} \@!";
        my $second = $from eq 'session'
            ? "    MPI_Group_from_session_pset(\@W{s2}\@R{s1}, \"mpi://WORLD\", &group2);\n    MPI_Comm_create_from_group(group2, \"second\", $info, MPI_ERRORS_ARE_FATAL, &comm2);\n"
            : "    \@W{MPI_Comm_dup($w, &comm2);\n    MPI_Comm_group($w, &group2);}\@R{MPI_Comm_dup(comm, &comm2);\n    MPI_Comm_group(comm, &group2);}\n";
        my ($begin, $end) = $from eq 'session' ? ("MPI_Session_init($info, MPI_ERRORS_ARE_FATAL, &s2);", 'MPI_Session_finalize(&s2);') : ('MPI_Init(NULL, NULL);', 'MPI_Finalize();');
        add("sessions-$from-$call", 2, 'M009', "#include <mpi.h>\n\nstatic int a[2];\n\nint main(void)\n{\n    MPI_Session s1, s2;\n    MPI_Group group, group2, made, far;\n    MPI_Comm comm, comm2, other, across;\n    MPI_Win win;\n    int rank, n = 0;\n"
            . "    (void)s2, (void)made, (void)far, (void)other, (void)across, (void)win, (void)a;\n    MPI_Session_init($info, MPI_ERRORS_ARE_FATAL, &s1);\n    $begin\n    MPI_Group_from_session_pset(s1, \"mpi://WORLD\", &group);\n"
            . "    MPI_Comm_create_from_group(group, \"first\", $info, MPI_ERRORS_ARE_FATAL, &comm);\n    MPI_Comm_rank(comm, &rank);\n$second    $line\n"
            . "    MPI_Group_free(&group);\n    MPI_Group_free(&group2);\n    MPI_Comm_free(&comm);\n    MPI_Comm_free(&comm2);\n    $end\n    MPI_Session_finalize(&s1);\n    return 0;\n}\n", 'whole');
    }
}

# What a function of the program's own refuses comes back as an error, and is meant.
add('callbacks-refuse', 2, 'M009', "^static int remove_it(MPI_Comm c, int k, void *v, void *e) { (void)c, (void)k, (void)e; return *(int *)v ? MPI_ERR_OTHER : MPI_SUCCESS; }\n^static int copy_it(MPI_Comm c, int k, void *e, void *v, void *o, int *f) { (void)c, (void)k, (void)e, (void)v, (void)o, (void)f; return MPI_ERR_OTHER; }\n^static int ask(void *e, MPI_Status *s) { (void)e; MPI_Status_set_elements(s, MPI_INT, 0); MPI_Status_set_cancelled(s, 0); return MPI_ERR_OTHER; }\n^static int leave(void *e) { (void)e; return MPI_SUCCESS; }\n^static int halt(void *e, int d) { (void)e, (void)d; return MPI_SUCCESS; }\n"
    . "int key, refuse = 1;\nMPI_Comm other, c;\nMPI_Comm_set_errhandler($w, MPI_ERRORS_RETURN);\nMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);\nMPI_Comm_dup($w, &c);\nMPI_Comm_create_keyval(copy_it, remove_it, &key, NULL);\nMPI_Comm_set_attr(c, key, &refuse);\n"
    . "if (MPI_Comm_dup(c, &other) == MPI_SUCCESS)\n    MPI_Comm_free(&other);\nMPI_Comm_delete_attr(c, \@W{MPI_KEYVAL_INVALID}\@R{key}); \@!\nMPI_Grequest_start(ask, leave, halt, NULL, &req);\nMPI_Grequest_complete(req);\nMPI_Wait(&req, $s);\n"
    . "refuse = 0;\nMPI_Comm_free(&c);\nMPI_Comm_free_keyval(&key);");

# Error handlers
my $handlers = "^static void on_comm(MPI_Comm *c, int *e, ...) { (void)c, (void)e; }\n^static void on_win(MPI_Win *c, int *e, ...) { (void)c, (void)e; }\n";
add('handler-of-window', 2, 'M009', "${handlers}MPI_Errhandler h;\n\@W{MPI_Win_create_errhandler(on_win, &h);}\@R{MPI_Comm_create_errhandler(on_comm, &h);}\n(void)on_win, (void)on_comm;\nMPI_Comm_set_errhandler($w, h); \@!\nMPI_Errhandler_free(&h);");
add('handler-of-comm', 2, 'M009', "${handlers}MPI_Errhandler h;\nMPI_Win win;\nMPI_Win_create(a, 8, 4, $info, $w, &win);\n\@R{MPI_Win_create_errhandler(on_win, &h);}\@W{MPI_Comm_create_errhandler(on_comm, &h);}\n(void)on_win, (void)on_comm;\nMPI_Win_set_errhandler(win, h); \@!\nMPI_Errhandler_free(&h);\nMPI_Win_free(&win);");
add('handler-of-session', 2, 'M009', "${handlers}MPI_Errhandler h;\nMPI_Session own;\nMPI_Comm_create_errhandler(on_comm, &h);\n(void)on_win;\nMPI_Session_init($info, \@W{h}\@R{MPI_ERRORS_RETURN}, &own); \@!\nMPI_Session_finalize(&own);\nMPI_Errhandler_free(&h);");
add('handler-freed', 2, 'M009', "${handlers}MPI_Errhandler h;\nMPI_Comm_create_errhandler(on_comm, &h);\n(void)on_win;\nMPI_Errhandler old = h;\n\@W{MPI_Errhandler_free(&h);}\nMPI_Comm_set_errhandler($w, old); \@!\n\@R{MPI_Errhandler_free(&h);}");
add('handler-got-not-freed', 2, 'L011', "${handlers}MPI_Errhandler h, g;\nMPI_Comm_create_errhandler(on_comm, &h); \@!\n(void)on_win;\nMPI_Comm_set_errhandler(MPI_COMM_SELF, h);\nMPI_Errhandler_free(&h);\nMPI_Comm_get_errhandler(MPI_COMM_SELF, &g); \@!\n\@R{MPI_Errhandler_free(&g);}\nMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);", 'main');
add('handler-null-function', 2, 'M009', "${handlers}MPI_Errhandler h;\n(void)on_win, (void)on_comm;\nMPI_Comm_create_errhandler(\@W{NULL}\@R{on_comm}, &h); \@!\nMPI_Errhandler_free(&h);");
add('handler-self-returns', 2, 'M009', "MPI_Datatype t = MPI_DATATYPE_NULL;\n\@R{MPI_Type_contiguous(2, MPI_INT, &t);}\nMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);\nMPI_Type_commit(&t); \@!\n\@R{MPI_Type_free(&t);}");
add('handler-call-code', 2, 'M009|X002', "\@W{MPI_Comm_call_errhandler($w, MPI_ERR_OTHER);} \@!");
add('error-class-unknown', 2, 'M009', "char text[MPI_MAX_ERROR_STRING];\nMPI_Error_string(\@W{-77}\@R{MPI_ERR_RANK}, text, &i); \@!");
add('error-class-unused', 2, 'M009', "int code;\nMPI_Add_error_code(\@W{MPI_ERR_LASTCODE + 100}\@R{MPI_ERR_OTHER}, &code); \@!");

# Generalized requests
my $greq = "^static int query(void *x, MPI_Status *st) { (void)x; MPI_Status_set_elements(st, MPI_INT, 0); MPI_Status_set_cancelled(st, 0); st->MPI_SOURCE = 0; st->MPI_TAG = 0; return MPI_SUCCESS; }\n"
    . "^static int drop(void *x) { (void)x; return MPI_SUCCESS; }\n^static int stop(void *x, int done) { (void)x, (void)done; return MPI_SUCCESS; }\n";
my $gstart = 'MPI_Grequest_start(query, drop, stop, NULL, &req);';
add('general-never-complete', 2, 'D001', "$greq$gstart\n\@R{MPI_Grequest_complete(req);}\nMPI_Wait(&req, $s); \@!");
add('general-unwaited', 2, 'L001|X006|L008', "$greq$gstart \@!\nMPI_Grequest_complete(req);\n\@R{MPI_Wait(&req, $s);}");
add('general-twice', 2, 'M009', "$greq$gstart\nMPI_Grequest_complete(req);\n\@W{MPI_Grequest_complete(req);} \@!\nMPI_Wait(&req, $s);");
add('general-of-receive', 2, 'M009', "$greq(void)query, (void)drop, (void)stop;\n\@R{$gstart}\@W{MPI_Irecv(b, 1, MPI_INT, MPI_PROC_NULL, 0, $w, &req);}\nMPI_Grequest_complete(req); \@!\nMPI_Wait(&req, $s);");
add('general-null', 2, 'M009', "$greq(void)query, (void)drop, (void)stop;\n\@R{$gstart}\nMPI_Grequest_complete(req); \@!\nMPI_Wait(&req, $s);");

# Buffers attached
my $room = 'static char room[4096];';
add('attach-twice', 2, 'M009', "$room\nMPI_Buffer_attach(room, 2048);\n\@W{MPI_Buffer_attach(room + 2048, 2048);} \@!\nvoid *at;\nMPI_Buffer_detach(&at, &i);");
add('attach-negative', 2, 'M009', "$room\nvoid *at;\nMPI_Buffer_attach(room, \@W{-1}\@R{4096}); \@!\nMPI_Buffer_detach(&at, &i);");
add('attach-sum', 2, 'M009', "static char room[2 * (MPI_BSEND_OVERHEAD + 16)];\nvoid *at;\nif (rank == 0) {\n    MPI_Buffer_attach(room, sizeof room);\n    for (int k = 0; k < \@W{3}\@R{2}; k++)\n        MPI_Bsend(a, 4, MPI_INT, 1, k, $w); \@!\n    MPI_Barrier($w);\n    MPI_Buffer_detach(&at, &i);\n} else {\n    MPI_Barrier($w);\n    for (int k = 0; k < \@W{3}\@R{2}; k++) MPI_Recv(b, 4, MPI_INT, 0, k, $w, $s);\n}", 'main');
add('attach-freed', 2, 'B001|M009|B006|X001', "char *room = malloc(4096);\nvoid *at;\nif (rank == 0) {\n    MPI_Buffer_attach(room, 4096);\n    MPI_Bsend(a, 4, MPI_INT, 1, 1, $w); \@!\n    \@W{free(room);} \@!\n    MPI_Buffer_detach(&at, &i);\n    \@R{free(room);}\n} else MPI_Recv(b, 4, MPI_INT, 0, 1, $w, $s);\nif (rank) free(room);", 'main');
add('attach-written', 2, 'B001|M009', "$room\nvoid *at;\nif (rank == 0) {\n    MPI_Buffer_attach(room, sizeof room);\n    MPI_Bsend(a, 4, MPI_INT, 1, 1, $w);\n    \@W{memset(room, 7, sizeof room);} \@!\n    MPI_Buffer_detach(&at, &i);\n    \@R{memset(room, 7, sizeof room);}\n} else MPI_Recv(b, 4, MPI_INT, 0, 1, $w, $s);", 'main');

add('attach-read', 2, 'B001', "$room\nvoid *at;\nif (rank == 0) {\n    MPI_Buffer_attach(room, sizeof room);\n    MPI_Bsend(a, 4, MPI_INT, 1, 1, $w);\n    \@R{MPI_Buffer_detach(&at, &i);}\n    if (room[8] == 5) i = 7; \@!\n    \@W{MPI_Buffer_detach(&at, &i);}\n} else MPI_Recv(b, 4, MPI_INT, 0, 1, $w, $s);\nprintf(\"%d\\n\", i);", 'main');
add('attach-sent-from', 2, 'B001|B002', "$room\nvoid *at;\nint *place = (int *)(void *)room;\nMPI_Buffer_attach(room\@R{ + 64}, sizeof room - 64);\nMPI_Bsend(a, 4, MPI_INT, rank ^ 1, 1, $w); \@!\nMPI_Recv(place, 4, MPI_INT, rank ^ 1, 1, $w, $s); \@!\nMPI_Buffer_detach(&at, &i);");
add('attach-too-long', 2, 'B006|M011', "char *room = malloc(1024);\nvoid *at;\nMPI_Buffer_attach(room, \@W{2048}\@R{1024});\nMPI_Bsend(a, 4, MPI_INT, rank ^ 1, 1, $w); \@!\nMPI_Recv(b, 4, MPI_INT, rank ^ 1, 1, $w, $s);\nMPI_Buffer_detach(&at, &i);\nfree(room);");
add('attach-loop', 2, 'B001', "char *room = malloc(1024);\nvoid *at;\nfor (int k = 0; k < 2; k++) {\n    MPI_Buffer_attach(room, 1024);\n    MPI_Bsend(a, 4, MPI_INT, rank ^ 1, 1, $w); \@!\n    MPI_Recv(b, 4, MPI_INT, rank ^ 1, 1, $w, $s);\n    \@W{room[0] = (char)k;} \@!\n    MPI_Buffer_detach(&at, &i);\n    \@R{room[0] = (char)k;}\n}\nfree(room);");
add('attach-finalized', 2, 'B001', "^static char *room;\nroom = malloc(1024);\nMPI_Buffer_attach(room, 1024);\nMPI_Bsend(a, 4, MPI_INT, rank ^ 1, 1, $w); \@!\nMPI_Recv(b, 4, MPI_INT, rank ^ 1, 1, $w, $s);\n\@W{free(room);} \@!\n\@R{MPI_Finalize();\nfree(room);\nreturn 0;}", 'main');

# Probes
my $probe2 = "if (rank) {\n    MPI_Send(a, rank == 1 ? 2 : 5, MPI_INT, 0, 4, $w);\n} else {\n    for (int k = 1; k < size; k++) {\n        int n;\n";
add('probe-then-any', 3, 'M007|R003', "$probe2        MPI_Probe(MPI_ANY_SOURCE, 4, $w, &st);\n        MPI_Get_count(&st, MPI_INT, &n);\n        MPI_Recv(b, n, MPI_INT, \@W{MPI_ANY_SOURCE}\@R{st.MPI_SOURCE}, 4, $w, $s); \@!\n    }\n}");
add('iprobe-then-any', 3, 'M007|R003', "$probe2        for (flag = 0; !flag;) MPI_Iprobe(MPI_ANY_SOURCE, 4, $w, &flag, &st);\n        MPI_Get_count(&st, MPI_INT, &n);\n        MPI_Recv(b, n, MPI_INT, \@W{MPI_ANY_SOURCE}\@R{st.MPI_SOURCE}, 4, $w, $s); \@!\n    }\n}");
add('iprobe-flag-ignored', 2, 'R003|M007|M009|D003', "if (rank == 0) {\n    MPI_Send(a, 5, MPI_INT, 1, 4, $w);\n} else {\n    st.MPI_SOURCE = 0;\n    \@R{while (!flag)} MPI_Iprobe(0, 4, $w, &flag, &st);\n    i = \@W{flag ? 5 : 1}\@R{5};\n    MPI_Recv(b, i, MPI_INT, 0, 4, $w, $s); \@!\n}");
add('probe-never-sent', 2, 'D001', "if (rank == 1) {\n    MPI_Probe(0, \@W{8}\@R{7}, $w, &st); \@!\n    MPI_Recv(b, 1, MPI_INT, 0, 7, $w, $s);\n} else MPI_Send(a, 1, MPI_INT, 1, 7, $w);");
add('probe-other-comm', 2, 'D001', "MPI_Comm c;\nMPI_Comm_dup(MPI_COMM_WORLD, &c);\nif (rank == 1) {\n    MPI_Probe(0, 7, \@W{MPI_COMM_WORLD}\@R{c}, &st); \@!\n    MPI_Recv(b, 1, MPI_INT, 0, 7, c, $s);\n} else MPI_Send(a, 1, MPI_INT, 1, 7, c);\nMPI_Comm_free(&c);", 'main');

# Statuses and cancelled requests
add('cancel-null', 2, 'M009', "\@R{MPI_Irecv(b, 1, MPI_INT, rank ^ 1, 3, $w, &req);}\nMPI_Cancel(&req); \@!\n\@R{MPI_Wait(&req, $s);}");
add('cancel-partitioned', 2, 'M009', "if (rank == 0) {\n    MPI_Psend_init(a, 1, 4, MPI_INT, 1, 1, $w, $info, &req);\n    MPI_Start(&req);\n    MPI_Pready(0, req);\n    \@W{MPI_Cancel(&req);} \@!\n} else {\n    MPI_Precv_init(b, 1, 4, MPI_INT, 0, 1, $w, $info, &req);\n    MPI_Start(&req);\n}\nMPI_Wait(&req, $s);\nMPI_Request_free(&req);");
add('test-after-free', 2, 'M009', "MPI_Request copy;\nMPI_Send_init(a, 1, MPI_INT, MPI_PROC_NULL, 0, $w, &req);\ncopy = req;\nMPI_Start(&req);\nMPI_Wait(&req, $s);\n\@W{MPI_Request_free(&req);}\nMPI_Test(&copy, &flag, $s); \@!\n\@R{MPI_Request_free(&req);}");
add('get-status-freed', 2, 'M009', "MPI_Request copy;\nMPI_Irecv(b, 1, MPI_INT, rank ^ 1, 0, $w, &req);\ncopy = req;\nMPI_Send(a, 1, MPI_INT, rank ^ 1, 0, $w);\n\@R{MPI_Request_get_status(copy, &flag, $s);}\nMPI_Wait(&req, $s);\n\@W{MPI_Request_get_status(copy, &flag, $s);} \@!\n(void)copy;");
add('waitall-negative', 2, 'M009', "MPI_Waitall(\@W{-1}\@R{0}, &req, MPI_STATUSES_IGNORE); \@!");
add('waitsome-undefined-index', 2, 'M009|B006|X001|X003', "int at[1] = {0};\nMPI_Waitsome(\@W{1}\@R{1}, &req, &i, at, MPI_STATUSES_IGNORE);\n\@W{MPI_Send(a, i, MPI_INT, MPI_PROC_NULL, 0, $w);} \@!");
add('statuses-one', 2, 'M009|M011|B006|X001', "MPI_Status *one = malloc(sizeof *one);\nMPI_Status *both = malloc(2 * sizeof *both);\nfor (int k = 0; k < 2; k++) MPI_Irecv(b + k, 1, MPI_INT, rank ^ 1, k, $w, &reqs[k]);\nfor (int k = 0; k < 2; k++) MPI_Send(a, 1, MPI_INT, rank ^ 1, k, $w);\nMPI_Waitall(2, reqs, \@W{one}\@R{both}); \@!\nfree(one);\nfree(both);");
add('count-of-other-type', 2, 'M009|M007', "if (rank == 0) MPI_Send(a, 3, MPI_INT, 1, 1, $w);\nif (rank == 1) {\n    MPI_Probe(0, 1, $w, &st);\n    MPI_Get_count(&st, \@W{MPI_DOUBLE}\@R{MPI_INT}, &i);\n    MPI_Recv(b, i, MPI_INT, 0, 1, $w, $s); \@!\n}");

# Datatypes
add('packed-derived', 2, 'M008|M007', "char pack[64];\nint at = 0;\nif (rank == 0) {\n    MPI_Pack(a, 2, MPI_INT, pack, 64, &at, $w);\n    MPI_Pack(x, 1, MPI_DOUBLE, pack, 64, &at, $w);\n    MPI_Send(pack, at, MPI_PACKED, 1, 1, $w); \@!\n} else {\n    MPI_Recv(pack, \@W{8}\@R{64}, MPI_PACKED, 0, 1, $w, &st); \@!\n    MPI_Unpack(pack, 64, &at, b, 2, MPI_INT, $w);\n}");
add('unpack-order', 2, 'M009|M007', "char pack[12];\nint at = 0;\nMPI_Pack(a, 1, MPI_INT, pack, 12, &at, $w);\nMPI_Pack(x, 1, MPI_DOUBLE, pack, 12, &at, $w);\nat = 0;\n\@W{MPI_Unpack(pack, 12, &at, y, 1, MPI_DOUBLE, $w);\nMPI_Unpack(pack, 12, &at, y, 1, MPI_DOUBLE, $w);}\@R{MPI_Unpack(pack, 12, &at, b, 1, MPI_INT, $w);\nMPI_Unpack(pack, 12, &at, y, 1, MPI_DOUBLE, $w);} \@!" =~ s/(MPI_Unpack\(pack, 12, &at, y, 1, MPI_DOUBLE, MPI_COMM_WORLD\);)\n/$1\n/r);
add('struct-padding', 2, 'M008', "struct particle { int id; double at[2]; } p = {0, {0, 0}};\nMPI_Datatype t;\nMPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){offsetof(struct particle, id), offsetof(struct particle, at)}, (MPI_Datatype[]){MPI_INT, \@W{rank ? MPI_DOUBLE : MPI_INT64_T}\@R{MPI_DOUBLE}}, &t);\nMPI_Type_commit(&t);\nif (rank == 0) MPI_Send(&p, 1, t, 1, 1, $w); \@!\nelse MPI_Recv(&p, 1, t, 0, 1, $w, $s); \@!\nMPI_Type_free(&t);" =~ s/^/^#include <stddef.h>\n/r);
add('struct-extent-array', 2, 'B006|M011', "struct pair { double at; char kind; };\nstruct pair *p = calloc(4, sizeof *p);\nMPI_Datatype t, u;\nMPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_DOUBLE, MPI_CHAR}, &u);\nMPI_Type_create_resized(u, 0, \@W{24}\@R{sizeof *p}, &t);\nMPI_Type_commit(&t);\nMPI_Bcast(p, 4, t, 0, $w); \@!\nMPI_Type_free(&t);\nMPI_Type_free(&u);\nfree(p);");
add('vector-of-vector', 2, 'M007|M005', "MPI_Datatype row, block;\nMPI_Type_vector(2, 2, 4, MPI_INT, &row);\nMPI_Type_create_hvector(2, 1, 64, row, &block);\nMPI_Type_commit(&block);\nif (rank == 0) MPI_Send(b, 1, block, 1, 1, $w); \@!\nelse MPI_Recv(a, \@W{4}\@R{8}, MPI_INT, 0, 1, $w, $s); \@!\nMPI_Type_free(&row);\nMPI_Type_free(&block);");
add('subarray-sizes-differ', 2, 'M007', "MPI_Datatype t;\nMPI_Type_create_subarray(2, (int[]){8, 8}, (int[]){2, rank ? \@W{2}\@R{3} : 3}, (int[]){1, 1}, MPI_ORDER_C, MPI_INT, &t);\nMPI_Type_commit(&t);\nif (rank == 0) MPI_Send(b, 1, t, 1, 1, $w); \@!\nelse MPI_Recv(a, 1, t, 0, 1, $w, $s); \@!\nMPI_Type_free(&t);");
add('type-committed-child', 2, 'M009', "MPI_Datatype t, u;\nMPI_Type_contiguous(2, MPI_INT, &t);\nMPI_Type_commit(&t);\nMPI_Type_contiguous(2, t, &u);\n\@R{MPI_Type_commit(&u);}\nMPI_Bcast(b, 1, u, 0, $w); \@!\nMPI_Type_free(&t);\nMPI_Type_free(&u);");
add('type-dup-left', 2, 'L005', "MPI_Datatype t, u;\nMPI_Type_vector(2, 1, 3, MPI_INT, &t);\nMPI_Type_commit(&t);\nMPI_Type_dup(t, &u); \@!\nMPI_Bcast(b, 1, u, 0, $w);\nMPI_Type_free(&t);\n\@R{MPI_Type_free(&u);}", 'main');
add('type-match-size', 2, 'M009', "MPI_Datatype t;\nMPI_Type_match_size(MPI_TYPECLASS_INTEGER, \@W{3}\@R{4}, &t); \@!");
add('type-hindexed-negative', 2, 'M009', "MPI_Datatype t;\nMPI_Type_create_hindexed(2, (int[]){1, \@W{-1}\@R{1}}, (MPI_Aint[]){0, 8}, MPI_INT, &t); \@!\nMPI_Type_free(&t);");
add('type-lower-bound', 2, 'B006|M011|X001', "int *v = calloc(8, sizeof *v);\nMPI_Datatype t;\nMPI_Type_vector(4, 1, -1, MPI_INT, &t);\nMPI_Type_commit(&t);\nMPI_Bcast(\@W{v}\@R{v + 3}, 1, t, 0, $w); \@!\nMPI_Type_free(&t);\nfree(v);");
add('type-between-objects', 2, 'M008', "int *p = calloc(4, sizeof *p), *q = calloc(4, sizeof *q), c[2] = {0};\nMPI_Aint at[3];\nMPI_Datatype t;\nMPI_Get_address(q, &at[0]);\nMPI_Get_address(p, &at[1]);\nMPI_Get_address(c, &at[2]);\nfor (int k = 2; k >= 0; k--) at[k] -= at[0];\nMPI_Type_create_hindexed(3, (int[]){4, 4, 2}, at, MPI_INT, &t);\nMPI_Type_commit(&t);\nif (rank == 0) MPI_Send(q, 1, t, 1, 1, $w); \@!\nelse MPI_Recv(\@W{y, 10, MPI_FLOAT}\@R{b, 10, MPI_INT}, 0, 1, $w, $s); \@!\nMPI_Type_free(&t);\nfree(p);\nfree(q);");
add('reduce-struct-type', 2, 'M009', "MPI_Datatype t;\nMPI_Type_create_struct(1, (int[]){2}, (MPI_Aint[]){0}, (MPI_Datatype[]){MPI_INT}, &t);\nMPI_Type_commit(&t);\nMPI_Reduce(a, b, \@W{1, t}\@R{2, MPI_INT}, MPI_MAX, 0, $w); \@!\nMPI_Type_free(&t);");
add('reduce-maxloc-double', 2, 'M009', "struct { double v; int at; } in = {0, 0}, out = {0, 0};\nMPI_Allreduce(&in, &out, 1, \@W{MPI_DOUBLE}\@R{MPI_DOUBLE_INT}, MPI_MAXLOC, $w); \@!");
add('large-count-negative', 2, 'M009', "if (rank == 0) MPI_Send_c(a, \@W{-5}\@R{4}, MPI_INT, 1, 1, $w); \@!\nif (rank == 1) MPI_Recv(b, 4, MPI_INT, 0, 1, $w, $s);");
add('large-count-short', 2, 'M007', "if (rank == 0) MPI_Send_c(a, 4, MPI_INT, 1, 1, $w); \@!\nif (rank == 1) MPI_Recv_c(b, \@W{3}\@R{4}, MPI_INT, 0, 1, $w, $s); \@!");
add('large-count-mixed', 2, 'M005', "if (rank == 0) MPI_Bcast_c(a, 4, MPI_INT, 0, $w); \@!\nelse MPI_Bcast(a, \@W{3}\@R{4}, MPI_INT, 0, $w); \@!");

# MPI_IN_PLACE
add('in-place-root-scatter', 2, 'M009', "MPI_Scatter(\@W{MPI_IN_PLACE}\@R{b}, 1, MPI_INT, \@W{a}\@R{rank ? (void *)a : MPI_IN_PLACE}, 1, MPI_INT, 0, $w); \@!");
add('in-place-scatter-others', 2, 'M009', "MPI_Scatter(b, 1, MPI_INT, \@W{MPI_IN_PLACE}\@R{a}, 1, MPI_INT, 0, $w); \@!");
add('in-place-reduce-not-root', 3, 'M009', "if (rank == 1)\n    MPI_Reduce(\@W{MPI_IN_PLACE}\@R{a}, b, 1, MPI_INT, MPI_SUM, 0, $w); \@!\nelse\n    MPI_Reduce(rank ? (void *)a : MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, 0, $w);");
add('in-place-gather-not-root', 3, 'M009', "MPI_Gather(rank == \@W{1}\@R{0} ? MPI_IN_PLACE : a, 1, MPI_INT, b, 1, MPI_INT, 0, $w); \@!");
add('in-place-allgather-recv', 2, 'M009', "MPI_Allgather(a, 1, MPI_INT, \@W{MPI_IN_PLACE}\@R{b}, 1, MPI_INT, $w); \@!");
add('in-place-alltoall-recv', 2, 'M009', "MPI_Alltoall(a, 1, MPI_INT, \@W{MPI_IN_PLACE}\@R{b}, 1, MPI_INT, $w); \@!");
add('in-place-exchange', 2, 'M009|X001', "MPI_Sendrecv(\@W{MPI_IN_PLACE}\@R{a}, 1, MPI_INT, rank ^ 1, 0, b, 1, MPI_INT, rank ^ 1, 0, $w, $s); \@!");
add('in-place-send', 2, 'M009|X001', "if (rank == 0) MPI_Send(\@W{MPI_IN_PLACE}\@R{a}, 1, MPI_INT, 1, 0, $w); \@!\nif (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 0, $w, $s);");
add('in-place-neighbor', 2, 'M009|X001', "MPI_Comm ring;\nMPI_Cart_create($w, 1, &size, (int[]){1}, 0, &ring);\nMPI_Neighbor_allgather(\@W{MPI_IN_PLACE}\@R{a}, 1, MPI_INT, b, 1, MPI_INT, ring); \@!\nMPI_Comm_free(&ring);");

# Groups
my $all = "MPI_Group all, part;\nMPI_Comm_group($w, &all);\n";
my $both = "MPI_Group_free(&part);\nMPI_Group_free(&all);";
add('group-excl-twice', 3, 'M009', "${all}MPI_Group_excl(all, 2, (int[]){0, \@W{0}\@R{1}}, &part); \@!\n$both");
add('group-range-stride', 3, 'M009', "${all}int range[1][3] = {{0, 2, \@W{0}\@R{1}}};\nMPI_Group_range_incl(all, 1, range, &part); \@!\n$both");
add('group-range-beyond', 3, 'M009', "${all}int range[1][3] = {{0, \@W{3}\@R{2}, 1}};\nMPI_Group_range_excl(all, 1, range, &part); \@!\n$both");
add('group-range-backwards', 3, 'M009', "${all}int range[1][3] = {{2, 0, \@W{1}\@R{-1}}};\nMPI_Group_range_incl(all, 1, range, &part); \@!\n$both");
add('group-freed-used', 2, 'M009', "${all}part = all;\n\@W{MPI_Group_free(&all);}\nMPI_Group_size(part, &i); \@!\n\@R{MPI_Group_free(&all);}");
add('group-null', 2, 'M009', "${all}part = \@W{MPI_GROUP_NULL}\@R{all};\nMPI_Group_compare(all, part, &i); \@!\nMPI_Group_free(&all);");
add('group-union-left', 2, 'L004', "${all}MPI_Group_union(all, MPI_GROUP_EMPTY, &part); \@!\n\@R{MPI_Group_free(&part);}\nMPI_Group_free(&all);", 'main');
add('group-of-other-comm', 4, 'M009|D001', "MPI_Comm half, made = MPI_COMM_NULL;\nMPI_Group all;\nMPI_Comm_split($w, rank / 2, rank, &half);\nMPI_Comm_group(\@W{$w}\@R{half}, &all);\nMPI_Comm_create(half, all, &made); \@!\nif (made != MPI_COMM_NULL) MPI_Comm_free(&made);\nMPI_Group_free(&all);\nMPI_Comm_free(&half);");
add('split-type-unknown', 2, 'M009', "MPI_Comm c;\nMPI_Comm_split_type($w, \@W{-33}\@R{MPI_COMM_TYPE_SHARED}, 0, $info, &c); \@!\nMPI_Comm_free(&c);");
add('name-null', 2, 'M009|X001', "MPI_Comm_set_name($w, \@W{NULL}\@R{\"all\"}); \@!");
add('compare-null', 2, 'M009', "MPI_Comm_compare($w, \@W{MPI_COMM_NULL}\@R{MPI_COMM_SELF}, &i); \@!");

# Attributes and callbacks
add('attribute-key-invalid', 2, 'M009', "int key = MPI_KEYVAL_INVALID;\n\@R{MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);}\nMPI_Comm_set_attr($w, key, a); \@!\n\@R{MPI_Comm_delete_attr($w, key);\nMPI_Comm_free_keyval(&key);}");
add('attribute-keyval-left', 2, 'L011', "int key;\nMPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL); \@!\nMPI_Comm_set_attr($w, key, a);\nMPI_Comm_delete_attr($w, key);\n\@R{MPI_Comm_free_keyval(&key);}", 'main');
add('attribute-of-window-on-type', 2, 'M009', "int key;\nMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);\n\@W{MPI_Type_set_attr(MPI_INT, key, a);} \@!\nMPI_Win_free_keyval(&key);");
add('op-calls-mpi', 2, 'M009|D001|M001', "^static void mine(void *in, void *out, int *n, MPI_Datatype *t)\n^{\n^    (void)t;\n^    \@W{MPI_Barrier(MPI_COMM_WORLD);} \@!\n^    for (int k = 0; k < *n; k++)\n^        ((int *)out)[k] += ((int *)in)[k];\n^}\nMPI_Op o;\nMPI_Op_create(mine, 1, &o);\nMPI_Reduce(a, b, 1, MPI_INT, o, 0, MPI_COMM_WORLD); \@!\nMPI_Op_free(&o);", 'main');
add('op-differs', 2, 'M003', "^static void mine(void *in, void *out, int *n, MPI_Datatype *t) { (void)t; for (int k = 0; k < *n; k++) ((int *)out)[k] += ((int *)in)[k]; }\nMPI_Op o;\nMPI_Op_create(mine, 1, &o);\nMPI_Allreduce(a, b, 1, MPI_INT, \@W{rank ? MPI_SUM : o}\@R{o}, $w); \@!\nMPI_Op_free(&o);");
add('op-left', 2, 'L006|L011', "^static void mine(void *in, void *out, int *n, MPI_Datatype *t) { (void)t; for (int k = 0; k < *n; k++) ((int *)out)[k] += ((int *)in)[k]; }\nMPI_Op o;\nMPI_Op_create(mine, 0, &o); \@!\nMPI_Scan(a, b, 1, MPI_INT, o, $w);\n\@R{MPI_Op_free(&o);}", 'main');

# Errors that come back where no operation shows them
my $back = "MPI_Comm_set_errhandler($w, MPI_ERRORS_RETURN);";
add('returned-type', 2, 'M009', "$back\nMPI_Datatype t = MPI_DATATYPE_NULL;\n\@R{MPI_Type_contiguous(2, MPI_INT, &t);}\nMPI_Type_commit(&t); \@!\n\@R{MPI_Type_free(&t);}");
add('returned-group', 2, 'M009', "$back\nMPI_Group g = \@W{MPI_GROUP_NULL}\@R{MPI_GROUP_EMPTY};\nMPI_Group_size(g, &i); \@!");
add('returned-rank', 2, 'M009', "$back\nMPI_Comm c = \@W{MPI_COMM_NULL}\@R{$w};\nif (MPI_Comm_rank(c, &i) != MPI_SUCCESS) \@!\n    i = -1;");
add('returned-in-handler', 2, 'M009', "^static void on_error(MPI_Comm *c, int *e, ...) { (void)c, (void)e; }\nMPI_Errhandler h;\nMPI_Comm_create_errhandler(on_error, &h);\nMPI_Comm_set_errhandler($w, h);\nMPI_Errhandler_free(&h);\nMPI_Cart_coords(\@W{$w}\@R{MPI_COMM_SELF}, 0, 1, &i); \@!" =~ s/\@R\{MPI_COMM_SELF\}/\@R{ring}/r =~ s/MPI_Cart_coords/MPI_Comm ring;\nMPI_Cart_create($w, 1, &size, (int[]){0}, 0, &ring);\nMPI_Cart_coords/r . "\nMPI_Comm_free(&ring);");
add('returned-no-key', 2, 'M009', "$back\nMPI_Info info;\nMPI_Info_create(&info);\nif (MPI_Info_delete(info, \"absent\") == MPI_SUCCESS) i = 1;\n\@W{MPI_Info_set(info, \"\", \"x\");} \@!\nMPI_Info_free(&info);", 'main');

# A pair of a value and a place has no more bytes than its two, whatever its extent.
my %pair = (DOUBLE_INT => ['double', 8], LONG_INT => ['long', 8], SHORT_INT => ['short', 4], LONG_DOUBLE_INT => ['long double', 16], FLOAT_INT => ['float', 4]);
for my $name (sort keys %pair) {
    my ($type, $place) = @{$pair{$name}};
    my $value = 'MPI_' . uc($type =~ s/ /_/r);
    add("pair-\L$name", 2, 'M008|M007', "struct { $type v; int at; } p[2];\nmemset(p, 0, sizeof p);\nMPI_Datatype t;\nMPI_Type_create_struct(2, (int[]){1, \@W{0}\@R{1}}, (MPI_Aint[]){0, $place}, (MPI_Datatype[]){$value, MPI_INT}, &t);\n"
        . "MPI_Type_commit(&t);\nif (rank == 0) MPI_Send(p, 1, MPI_$name, 1, 0, $w); \@!\nif (rank == 1) MPI_Recv(p, 1, t, 0, 0, $w, $s); \@!\nMPI_Type_free(&t);");
}

# Partitioned and persistent
my $psend = "MPI_Psend_init(a, 2, 2, MPI_INT, 1, 1, $w, $info, &req);";
my $precv = "MPI_Precv_init(b, 2, 2, MPI_INT, 0, 1, $w, $info, &req);";
my $pend = "MPI_Wait(&req, $s);\nMPI_Request_free(&req);";
add('part-ready-of-receive', 2, 'M009', "if (rank == 0) {\n    $psend\n    MPI_Start(&req);\n    MPI_Pready_range(0, 1, req);\n} else {\n    $precv\n    MPI_Start(&req);\n    \@W{MPI_Pready(0, req);} \@!\n}\n$pend");
add('part-arrived-of-send', 2, 'M009', "if (rank == 0) {\n    $psend\n    MPI_Start(&req);\n    \@W{MPI_Parrived(req, 0, &flag);} \@!\n    MPI_Pready_range(0, 1, req);\n} else {\n    $precv\n    MPI_Start(&req);\n    \@R{MPI_Parrived(req, 0, &flag);}\n}\n$pend");
add('part-arrived-outside', 2, 'M009', "if (rank == 0) {\n    $psend\n    MPI_Start(&req);\n    MPI_Pready_range(0, 1, req);\n} else {\n    $precv\n    MPI_Start(&req);\n    MPI_Parrived(req, \@W{2}\@R{1}, &flag); \@!\n}\n$pend");
add('part-list-twice', 2, 'M009', "if (rank == 0) {\n    $psend\n    MPI_Start(&req);\n    MPI_Pready_list(2, (int[]){0, \@W{0}\@R{1}}, req); \@!\n} else {\n    $precv\n    MPI_Start(&req);\n}\n$pend");
add('part-ready-of-plain', 2, 'M009', "\@W{MPI_Isend(a, 1, MPI_INT, MPI_PROC_NULL, 1, $w, &req);}\@R{MPI_Psend_init(a, 1, 1, MPI_INT, MPI_PROC_NULL, 1, $w, $info, &req);\nMPI_Start(&req);}\nMPI_Pready(0, req); \@!\nMPI_Wait(&req, $s);\n\@R{MPI_Request_free(&req);}");
add('part-any-source', 2, 'M009', "if (rank == 0) {\n    $psend\n    MPI_Start(&req);\n    MPI_Pready_range(0, 1, req);\n} else {\n    MPI_Precv_init(b, 2, 2, MPI_INT, \@W{MPI_ANY_SOURCE}\@R{0}, 1, $w, $info, &req); \@!\n    MPI_Start(&req);\n}\n$pend");
add('part-any-tag', 2, 'M009', "if (rank == 0) {\n    $psend\n    MPI_Start(&req);\n    MPI_Pready_range(0, 1, req);\n} else {\n    MPI_Precv_init(b, 2, 2, MPI_INT, 0, \@W{MPI_ANY_TAG}\@R{1}, $w, $info, &req); \@!\n    MPI_Start(&req);\n}\n$pend");
add('part-left', 2, 'L001|L011', "if (rank == 0) {\n    $psend \@!\n    MPI_Start(&req);\n    MPI_Pready_range(0, 1, req);\n} else {\n    $precv \@!\n    MPI_Start(&req);\n}\nMPI_Wait(&req, $s);\n\@R{MPI_Request_free(&req);}", 'main');
for my $way (['zero', '\@W{0}\@R{2}', '2'], ['zero-receive', '2', '\@W{0}\@R{2}']) {
    my ($name, $sent, $got) = map { s/\\\@/\@/gr } @$way;
    my ($there, $here) = map { /W/ ? ' @!' : '' } $sent, $got;
    add("part-$name", 2, 'M009', "if (rank == 0) {\n    MPI_Psend_init(a, $sent, 2, MPI_INT, 1, 1, $w, $info, &req);$there\n    MPI_Start(&req);\n    MPI_Pready_range(0, 1, req);\n} else {\n"
        . "    MPI_Precv_init(b, $got, 2, MPI_INT, 0, 1, $w, $info, &req);$here\n    MPI_Start(&req);\n}\n$pend");
}
for my $way (['before-ready', '', ''], ['after-ready', 'MPI_Pready_range(0, 1, req);', ''], ['done', 'MPI_Pready_range(0, 1, req);', 'MPI_Barrier($w);']) {
    my ($name, $ready, $meet) = map { s/\$w/$w/r } @$way;
    my $rest = $ready ? '' : 'MPI_Pready_range(0, 1, req);';
    add("part-free-$name", 2, 'M009', "if (rank == 0) {\n    $psend\n    MPI_Start(&req);\n    $ready\n    $meet\n    \@W{MPI_Request_free(&req);} \@!\n    \@R{$rest\n    $pend}\n} else {\n    $precv\n    MPI_Start(&req);\n"
        . "    $meet\n    $pend\n}");
}
add('part-free-receive', 2, 'M009', "if (rank == 0) {\n    $psend\n    MPI_Start(&req);\n    MPI_Pready_range(0, 1, req);\n    $pend\n} else {\n    $precv\n    MPI_Start(&req);\n    while (!flag)\n        MPI_Parrived(req, 1, &flag);\n"
    . "    \@R{MPI_Wait(&req, $s);}\n    MPI_Request_free(&req); \@!\n}");
add('part-poll-unready', 2, 'D005', "if (rank == 0) {\n    $psend\n    MPI_Start(&req);\n    MPI_Pready(0, req);\n    \@R{MPI_Pready(1, req);}\n} else {\n    $precv\n    MPI_Start(&req);\n}\nwhile (!flag)\n    MPI_Test(&req, &flag, $s); \@!\nMPI_Request_free(&req);");
add('part-arrived-none', 2, 'M009', "\@R{req = MPI_REQUEST_NULL;}\@W{MPI_Irecv(b, 1, MPI_INT, MPI_PROC_NULL, 1, $w, &req);}\nMPI_Parrived(req, 0, &flag); \@!\nif (!flag)\n    MPI_Abort($w, 1);\nMPI_Wait(&req, $s);");
add('part-negative', 2, 'M009', "if (rank == 0) {\n    MPI_Psend_init(a, \@W{-2}\@R{2}, 2, MPI_INT, 1, 1, $w, $info, &req); \@!\n    MPI_Start(&req);\n    MPI_Pready_range(0, 1, req);\n} else {\n    $precv\n    MPI_Start(&req);\n}\n$pend");
add('persistent-startall-one-active', 2, 'L010', "MPI_Request r[2];\nMPI_Recv_init(b, 1, MPI_INT, rank ^ 1, 1, $w, &r[0]);\nMPI_Send_init(a, 1, MPI_INT, rank ^ 1, 1, $w, &r[1]);\nMPI_Startall(2, r);\n\@R{MPI_Waitall(2, r, MPI_STATUSES_IGNORE);}\@W{MPI_Wait(&r[1], $s);}\nMPI_Startall(2, r); \@!\nMPI_Waitall(2, r, MPI_STATUSES_IGNORE);\nMPI_Request_free(&r[0]);\nMPI_Request_free(&r[1]);");
add('persistent-loop-once', 2, 'L009|D001|D003|L002', "MPI_Recv_init(b, 1, MPI_INT, rank ^ 1, 1, $w, &req);\n\@W{MPI_Start(&req);}\nfor (int k = 0; k < 3; k++) {\n    \@R{MPI_Start(&req);}\n    MPI_Send(a, 1, MPI_INT, rank ^ 1, 1, $w); \@!\n    MPI_Wait(&req, $s); \@!\n}\nMPI_Request_free(&req);");
add('persistent-touch', 2, 'B001', "MPI_Send_init(a, 4, MPI_INT, rank ^ 1, 1, $w, &req);\nfor (int k = 0; k < 2; k++) {\n    \@R{a[0] = k;}\n    MPI_Start(&req); \@!\n    \@W{a[0] = k;} \@!\n    MPI_Recv(b, 4, MPI_INT, rank ^ 1, 1, $w, $s);\n    MPI_Wait(&req, $s);\n}\nMPI_Request_free(&req);");

# Topologies
add('dist-graph-degree', 2, 'M009', "MPI_Comm g;\nMPI_Dist_graph_create_adjacent($w, \@W{-1}\@R{1}, (int[]){rank ^ 1}, MPI_UNWEIGHTED, 1, (int[]){rank ^ 1}, MPI_UNWEIGHTED, $info, 0, &g); \@!\nMPI_Comm_free(&g);");
add('dist-graph-weights', 2, 'M009|M001|M005|X001', "MPI_Comm g;\nint one = 1;\nMPI_Dist_graph_create_adjacent($w, 1, (int[]){rank ^ 1}, rank ? MPI_UNWEIGHTED : \@W{&one}\@R{MPI_UNWEIGHTED}, 1, (int[]){rank ^ 1}, rank ? MPI_UNWEIGHTED : \@W{&one}\@R{MPI_UNWEIGHTED}, $info, 0, &g); \@!\n(void)one;\nMPI_Comm_free(&g);");
add('graph-on-cart', 2, 'M009', "MPI_Comm c;\nMPI_Cart_create($w, 1, &size, (int[]){1}, 0, &c);\n\@W{MPI_Graph_neighbors_count(c, rank, &i);}\@R{MPI_Cartdim_get(c, &i);} \@!\nMPI_Comm_free(&c);");
add('cart-get-on-graph', 2, 'M009', "MPI_Comm g;\nMPI_Graph_create($w, 2, (int[]){1, 2}, (int[]){1, 0}, 0, &g);\n\@W{MPI_Cartdim_get(g, &i);}\@R{MPI_Graph_neighbors_count(g, rank, &i);} \@!\nMPI_Comm_free(&g);");
add('cart-neighbor-room', 2, 'B006|M011', "MPI_Comm c;\nint *v = calloc(4, sizeof *v);\nMPI_Cart_create($w, 2, (int[]){2, 1}, (int[]){1, 1}, 0, &c);\nMPI_Neighbor_allgather(a, \@W{2}\@R{1}, MPI_INT, v, \@W{2}\@R{1}, MPI_INT, c); \@!\nMPI_Comm_free(&c);\nfree(v);");
add('cart-shift-displaced', 4, 'D001|D003', "MPI_Comm c;\nint from, to;\nMPI_Cart_create($w, 1, (int[]){4}, (int[]){1}, 0, &c);\nMPI_Cart_shift(c, 0, rank == 2 ? \@W{2}\@R{1} : 1, &from, &to);\nMPI_Sendrecv(a, 1, MPI_INT, to, 0, b, 1, MPI_INT, from, 0, c, $s); \@!\nMPI_Comm_free(&c);");
add('dims-zero-nodes', 2, 'M009', "int d[2] = {0, 0};\nMPI_Dims_create(\@W{0}\@R{4}, 2, d); \@!");
add('dims-negative', 2, 'M009', "int d[2] = {0, \@W{-2}\@R{2}};\nMPI_Dims_create(4, 2, d); \@!");
1;
