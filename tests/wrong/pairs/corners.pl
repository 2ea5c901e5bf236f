# Corners of MPI that few programs reach: requests listed twice, topologies that do not fit, intercommunicators with roots that are none,
# types that lie over themselves, error handlers that return and are not asked, counts and tags at their bounds.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my $s = 'MPI_STATUS_IGNORE';

# One active request at two places of a list.
my %list = (
    Waitall => 'MPI_Waitall(2, r, MPI_STATUSES_IGNORE);',
    Waitany => 'for (int k = 0; k < 2; k++) MPI_Waitany(2, r, &i, MPI_STATUS_IGNORE);',
    Waitsome => 'for (int left = 2; left > 0; left -= i) { int at[2]; MPI_Waitsome(2, r, &i, at, MPI_STATUSES_IGNORE); if (i == MPI_UNDEFINED) break; }',
    Testall => 'while (!flag) MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);',
    Testany => 'for (int k = 0; k < 2; k += flag) { MPI_Testany(2, r, &i, &flag, MPI_STATUS_IGNORE); }',
    Testsome => 'for (int left = 2; left > 0; left -= i) { int at[2]; MPI_Testsome(2, r, &i, at, MPI_STATUSES_IGNORE); if (i == MPI_UNDEFINED) break; }',
);
for my $call (sort keys %list) {
    add("twice-in-$call", 2, 'M009', "MPI_Request r[2];\nif (rank == 0) {\n    MPI_Irecv(b, 1, MPI_INT, 1, 1, $w, &r[0]);\n    MPI_Irecv(b + 1, 1, MPI_INT, 1, 2, $w, &r[1]);\n"
        . "    \@W{MPI_Request kept = r[1];\n    r[1] = r[0];}\n    $list{$call} \@!\n    \@W{MPI_Wait(&kept, $s);}\n} else if (rank == 1) {\n    MPI_Send(a, 1, MPI_INT, 0, 1, $w);\n    MPI_Send(a, 1, MPI_INT, 0, 2, $w);\n}");
}
add('twice-persistent-Waitall', 2, 'M009', "MPI_Request r[2], p;\nMPI_Recv_init(b, 1, MPI_INT, rank ^ 1, 1, $w, &p);\nMPI_Start(&p);\nMPI_Send(a, 1, MPI_INT, rank ^ 1, 1, $w);\nr[0] = p; r[1] = \@W{p}\@R{MPI_REQUEST_NULL};\nMPI_Waitall(2, r, MPI_STATUSES_IGNORE); \@!\nMPI_Request_free(&p);");
add('twice-collective-Waitall', 2, 'M009', "MPI_Request r[2];\nMPI_Ibarrier($w, &r[0]);\nr[1] = \@W{r[0]}\@R{MPI_REQUEST_NULL};\nMPI_Waitall(2, r, MPI_STATUSES_IGNORE); \@!");
add('twice-Startall', 2, 'L010|M009', "MPI_Request r[2], p, q;\nMPI_Recv_init(b, 1, MPI_INT, rank ^ 1, 1, $w, &p);\nMPI_Recv_init(b + 1, 1, MPI_INT, rank ^ 1, 2, $w, &q);\nr[0] = p; r[1] = \@W{p}\@R{q};\n"
    . "MPI_Startall(2, r); \@!\nMPI_Send(a, 1, MPI_INT, rank ^ 1, 1, $w);\n\@R{MPI_Send(a, 1, MPI_INT, rank ^ 1, 2, $w);}\nMPI_Wait(&p, $s);\n\@R{MPI_Wait(&q, $s);}\nMPI_Request_free(&p);\nMPI_Request_free(&q);");
add('stale-request-copy', 2, 'M009', "MPI_Request q;\nMPI_Irecv(b, 1, MPI_INT, rank ^ 1, 1, $w, &req);\nq = req;\nMPI_Send(a, 1, MPI_INT, rank ^ 1, 1, $w);\nMPI_Wait(&req, $s);\n\@W{MPI_Wait(&q, $s);} \@!\n(void)q;");
add('request-uninitialised', 2, 'M009', "MPI_Request *q = malloc(sizeof *q);\nmemset(q, \@W{0x5a}\@R{0}, sizeof *q);\n\@R{*q = MPI_REQUEST_NULL;}\nMPI_Wait(q, $s); \@!\nfree(q);");
add('start-not-persistent', 2, 'M009', "MPI_Irecv(b, 1, MPI_INT, rank ^ 1, 1, $w, &req);\n\@W{MPI_Start(&req);} \@!\nMPI_Send(a, 1, MPI_INT, rank ^ 1, 1, $w);\nMPI_Wait(&req, $s);");
add('free-null-request', 2, 'M009', "MPI_Send_init(a, 1, MPI_INT, rank ^ 1, 1, $w, &req);\nMPI_Request_free(&req);\n\@W{MPI_Request_free(&req);} \@!");
add('persistent-freed-active', 2, 'B001|L001|L008|X006', "if (rank == 0) {\n    MPI_Recv_init(b, 1, MPI_INT, 1, 1, $w, &req); \@!\n    MPI_Start(&req); \@!\n    \@R{MPI_Wait(&req, $s);}\n    MPI_Request_free(&req); \@!\n} else if (rank == 1) {\n    MPI_Send(a, 1, MPI_INT, 0, 1, $w);\n}");
add('cancel-collective', 2, 'M009', "MPI_Ibarrier($w, &req);\n\@W{MPI_Cancel(&req);} \@!\nMPI_Wait(&req, $s);");
add('free-collective-request', 2, 'M009', "MPI_Iallreduce(a, b, 1, MPI_INT, MPI_SUM, $w, &req);\n\@W{MPI_Request_free(&req);} \@!\n\@R{MPI_Wait(&req, $s);}");
add('testsome-leftover', 2, 'L008|X006|B001', "if (rank == 0) {\n    MPI_Request r[2];\n    int at[2];\n    MPI_Irecv(b, 1, MPI_INT, 1, 1, $w, &r[0]); \@!\n    MPI_Irecv(b + 1, 1, MPI_INT, 1, 2, $w, &r[1]); \@!\n"
    . "    int done = 0;\n    while (done < \@W{1}\@R{2}) { MPI_Testsome(2, r, &i, at, MPI_STATUSES_IGNORE); done += i; }\n} else if (rank == 1) {\n    MPI_Send(a, 1, MPI_INT, 0, 1, $w);\n    MPI_Send(a, 1, MPI_INT, 0, 2, $w);\n}", 'main');

# Statuses
add('recv-by-probed-half', 2, 'M007', "if (rank == 0) {\n    MPI_Send(a, 3, MPI_INT, 1, 1, $w);\n} else if (rank == 1) {\n    MPI_Probe(0, 1, $w, &st);\n    MPI_Get_count(&st, MPI_INT, &i);\n    MPI_Recv(b, i\@W{ - 1}, MPI_INT, 0, 1, $w, &st); \@!\n}");
add('count-undefined-used', 2, 'M009', "if (rank == 0) {\n    MPI_Send(a, \@W{6}\@R{8}, MPI_BYTE, 1, 1, $w);\n} else if (rank == 1) {\n    MPI_Probe(0, 1, $w, &st);\n    MPI_Get_count(&st, MPI_INT, &i);\n    MPI_Recv(b, i * 4, MPI_BYTE, 0, 1, $w, &st); \@!\n}");

# Tags, ranks and counts at their bounds
add('tag-beyond-bound', 2, 'M009', "int *bound;\nMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);\nlong tag = (long)*bound;\n\@W{tag = tag == 2147483647L ? -1 : tag + 1;}\nif (rank == 0) MPI_Send(a, 1, MPI_INT, 1, (int)tag, $w); \@!\nif (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, (int)tag, $w, $s);", 'main');
add('send-any-tag', 2, 'M009', "if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, \@W{MPI_ANY_TAG}\@R{3}, $w); \@!\nif (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, MPI_ANY_TAG, $w, $s);");
add('send-any-source', 2, 'M009', "if (rank == 0) MPI_Send(a, 1, MPI_INT, \@W{MPI_ANY_SOURCE}\@R{1}, 3, $w); \@!\nif (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 3, $w, $s);");
add('send-root', 2, 'M009', "if (rank == 0) MPI_Send(a, 1, MPI_INT, \@W{MPI_ROOT}\@R{1}, 3, $w); \@!\nif (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 3, $w, $s);");
add('rank-of-world-in-part', 4, 'M009', "MPI_Comm part;\nMPI_Comm_split($w, rank % 2, rank, &part);\nint to = \@W{3}\@R{1};\nif (rank == 1) MPI_Send(a, 1, MPI_INT, to, 3, part); \@!\nif (rank == 3) MPI_Recv(b, 1, MPI_INT, 0, 3, part, $s);\nMPI_Comm_free(&part);", 'function');
add('bcast-root-of-world-in-part', 4, 'M009', "MPI_Comm part;\nMPI_Comm_split($w, rank / 2, rank, &part);\nMPI_Bcast(a, 1, MPI_INT, \@W{2}\@R{1}, part); \@!\nMPI_Comm_free(&part);");
add('proc-null-root', 2, 'M009', "MPI_Bcast(a, 1, MPI_INT, \@W{MPI_PROC_NULL}\@R{0}, $w); \@!");
add('bytes-overflow', 2, 'B006|M011|M009|X001', "if (rank == 0) MPI_Send(a, \@W{64 * (int)sizeof(int)}\@R{64}, MPI_INT, 1, 1, $w); \@!\nif (rank == 1) MPI_Recv(b, 256, MPI_INT, 0, 1, $w, $s);");
add('scatterv-negative', 2, 'M009', "int counts[2] = {1, \@W{-1}\@R{1}}, at[2] = {0, 1};\nMPI_Scatterv(a, counts, at, MPI_INT, b, 1, MPI_INT, 0, $w); \@!");
add('gatherv-overlap', 2, 'B002|M009', "int counts[2] = {2, 2}, at[2] = {0, \@W{1}\@R{2}};\nMPI_Gatherv(a, 2, MPI_INT, b, counts, at, MPI_INT, 0, $w); \@!");
add('allgatherv-overlap', 2, 'B002|M009', "int counts[2] = {2, 2}, at[2] = {0, \@W{1}\@R{2}};\nMPI_Allgatherv(a, 2, MPI_INT, b, counts, at, MPI_INT, $w); \@!");
add('alltoallv-overlap', 2, 'B002|M009', "int counts[2] = {2, 2}, from[2] = {0, 2}, at[2] = {0, \@W{1}\@R{2}};\nMPI_Alltoallv(a, counts, from, MPI_INT, b, counts, at, MPI_INT, $w); \@!");
add('in-place-at-all-of-gather', 2, 'M009', "MPI_Gather(\@W{MPI_IN_PLACE}\@R{rank ? (void *)a : MPI_IN_PLACE}, 1, MPI_INT, b, 1, MPI_INT, 0, $w); \@!");
add('in-place-at-all-of-reduce', 2, 'M009', "MPI_Reduce(\@W{MPI_IN_PLACE}\@R{rank ? (void *)a : MPI_IN_PLACE}, b, 1, MPI_INT, MPI_SUM, 0, $w); \@!");
add('in-place-of-bcast', 2, 'M009|X001', "MPI_Bcast(\@W{MPI_IN_PLACE}\@R{a}, 1, MPI_INT, 0, $w); \@!");
add('in-place-received', 2, 'M009', "MPI_Allgather(a, 1, MPI_INT, \@W{MPI_IN_PLACE}\@R{b}, 1, MPI_INT, $w); \@!");
add('alias-allreduce', 2, 'B002|M009', "MPI_Allreduce(a, \@W{a}\@R{b}, 4, MPI_INT, MPI_SUM, $w); \@!");
add('alias-reduce-part', 2, 'B002|M009', "MPI_Reduce(a, \@W{a + 3}\@R{a + 4}, 4, MPI_INT, MPI_SUM, 0, $w); \@!");
add('op-of-wrong-type', 2, 'M009', "MPI_Allreduce(x, y, 1, MPI_DOUBLE, \@W{MPI_BAND}\@R{MPI_MAX}, $w); \@!");
add('op-minloc-int', 2, 'M009', "MPI_Allreduce(a, b, 1, \@W{MPI_INT}\@R{MPI_2INT}, MPI_MINLOC, $w); \@!");
add('op-derived', 2, 'M009', "MPI_Datatype pair;\nMPI_Type_contiguous(2, MPI_INT, &pair);\nMPI_Type_commit(&pair);\nMPI_Allreduce(a, b, \@W{1, pair}\@R{2, MPI_INT}, MPI_SUM, $w); \@!\nMPI_Type_free(&pair);");
add('op-freed', 2, 'M009', "^static void mine(void *in, void *out, int *n, MPI_Datatype *t) { (void)t; for (int k = 0; k < *n; k++) ((int *)out)[k] += ((int *)in)[k]; }\nMPI_Op o;\nMPI_Op_create(mine, 1, &o);\nMPI_Op old = o;\n\@W{MPI_Op_free(&o);}\nMPI_Allreduce(a, b, 1, MPI_INT, old, $w); \@!\n\@R{MPI_Op_free(&o);}");
add('op-null', 2, 'M009', "MPI_Allreduce(a, b, 1, MPI_INT, \@W{MPI_OP_NULL}\@R{MPI_MIN}, $w); \@!");
add('op-predefined-freed', 2, 'M009', "MPI_Op o = MPI_SUM;\n\@W{MPI_Op_free(&o);} \@!\n(void)o;");
add('op-replace-reduce', 2, 'M009', "MPI_Allreduce(a, b, 1, MPI_INT, \@W{MPI_REPLACE}\@R{MPI_SUM}, $w); \@!");
add('type-predefined-freed', 2, 'M009', "MPI_Datatype t = MPI_INT;\n\@R{MPI_Type_dup(MPI_INT, &t);}\nMPI_Type_free(&t); \@!");
add('world-freed', 2, 'M009', "MPI_Comm c = MPI_COMM_WORLD;\n\@R{MPI_Comm_dup(c, &c);}\nMPI_Comm_free(&c); \@!", 'main');
add('group-empty-freed-twice', 2, 'M009', "MPI_Group g;\nMPI_Comm_group($w, &g);\nMPI_Group_free(&g);\n\@W{MPI_Group_free(&g);} \@!");

# Datatypes
add('type-overlap-receive', 2, 'M009|B002', "MPI_Datatype t;\nMPI_Type_create_hindexed(2, (int[]){2, 2}, (MPI_Aint[]){0, \@W{4}\@R{8}}, MPI_INT, &t);\nMPI_Type_commit(&t);\nif (rank == 0) MPI_Send(a, 4, MPI_INT, 1, 1, $w);\nif (rank == 1) MPI_Recv(b, 1, t, 0, 1, $w, $s); \@!\nMPI_Type_free(&t);");
add('type-overlap-gather', 2, 'M009|B002', "MPI_Datatype t;\nMPI_Type_vector(2, 1, 2, MPI_INT, &t);\nMPI_Type_commit(&t);\nMPI_Datatype u;\nMPI_Type_create_resized(t, 0, \@W{8}\@R{4}, &u);\nMPI_Type_commit(&u);\nMPI_Gather(a, 2, MPI_INT, b, 1, u, 0, $w); \@!\nMPI_Type_free(&u);\nMPI_Type_free(&t);");
add('type-overlap-bcast', 2, 'M009|B002', "MPI_Datatype t;\nMPI_Type_indexed(2, (int[]){2, 1}, (int[]){0, \@W{1}\@R{2}}, MPI_INT, &t);\nMPI_Type_commit(&t);\nMPI_Bcast(a, 1, t, 0, $w); \@!\nMPI_Type_free(&t);");
add('type-struct-order', 2, 'M008', "MPI_Datatype t;\nMPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){\@W{MPI_DOUBLE, MPI_INT}\@R{MPI_INT, MPI_DOUBLE}}, &t);\nMPI_Datatype u;\nMPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &u);\nMPI_Type_commit(&t);\nMPI_Type_commit(&u);\nstruct { double one; double other; } v = {0, 0};\n(void)v;\nchar *raw = calloc(1, 64);\nif (rank == 0) MPI_Send(raw, 1, t, 1, 1, $w); \@!\nif (rank == 1) MPI_Recv(raw, 1, u, 0, 1, $w, $s); \@!\nMPI_Type_free(&t);\nMPI_Type_free(&u);\nfree(raw);");
add('type-byte-and-int', 2, 'M008', "if (rank == 0) MPI_Send(a, \@W{4, MPI_BYTE}\@R{1, MPI_INT}, 1, 1, $w); \@!\nif (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 1, $w, $s); \@!");
add('type-int-and-packed', 2, 'M008', "char pack[64];\nint at = 0;\nMPI_Pack(a, 1, MPI_INT, pack, 64, &at, $w);\nif (rank == 0) MPI_Send(pack, at, \@W{MPI_BYTE}\@R{MPI_PACKED}, 1, 1, $w); \@!\nif (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 1, $w, $s); \@!");
add('pack-too-small', 2, 'M009|M007', "char pack[64];\nint at = 0;\nMPI_Pack(a, 4, MPI_INT, pack, \@W{12}\@R{16}, &at, $w); \@!");
add('pack-position-beyond', 2, 'M009|M007', "char pack[64];\nint at = \@W{60}\@R{0};\nMPI_Pack(a, 4, MPI_INT, pack, 64, &at, $w); \@!");
add('unpack-too-much', 2, 'M009|M007', "char pack[64] = {0};\nint at = 0;\nMPI_Unpack(pack, 8, &at, b, \@W{3}\@R{2}, MPI_INT, $w); \@!");
add('type-vector-negative', 2, 'M009', "MPI_Datatype t;\nMPI_Type_vector(2, \@W{-1}\@R{1}, 2, MPI_INT, &t); \@!\nMPI_Type_free(&t);");
add('type-subarray-outside', 2, 'M009', "MPI_Datatype t;\nMPI_Type_create_subarray(1, (int[]){8}, (int[]){4}, (int[]){\@W{5}\@R{4}}, MPI_ORDER_C, MPI_INT, &t); \@!\nMPI_Type_free(&t);");
add('type-subarray-order', 2, 'M009', "MPI_Datatype t;\nMPI_Type_create_subarray(1, (int[]){8}, (int[]){4}, (int[]){4}, \@W{7}\@R{MPI_ORDER_FORTRAN}, MPI_INT, &t); \@!\nMPI_Type_free(&t);");
add('type-darray-procs', 2, 'M009', "MPI_Datatype t;\nMPI_Type_create_darray(size, rank, 1, (int[]){8}, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){MPI_DISTRIBUTE_DFLT_DARG}, (int[]){\@W{3}\@R{2}}, MPI_ORDER_C, MPI_INT, &t); \@!\nMPI_Type_free(&t);");
add('type-commit-null', 2, 'M009', "MPI_Datatype t = MPI_DATATYPE_NULL;\n\@R{MPI_Type_contiguous(1, MPI_INT, &t);}\nMPI_Type_commit(&t); \@!\n\@R{MPI_Type_free(&t);}");
add('type-of-null', 2, 'M009', "MPI_Datatype t;\nMPI_Type_contiguous(1, \@W{MPI_DATATYPE_NULL}\@R{MPI_INT}, &t); \@!\nMPI_Type_free(&t);");
add('type-contents-named', 2, 'M009', "MPI_Datatype t;\nMPI_Type_contiguous(1, MPI_INT, &t);\nint ints[1]; MPI_Aint ad[1]; MPI_Datatype ty[1];\nMPI_Type_get_contents(\@W{MPI_INT}\@R{t}, 1, 0, 1, ints, ad, ty); \@!\nMPI_Type_free(&t);");
add('type-extent-gather', 2, 'B006|M011', "MPI_Datatype t;\nint *in = calloc(4, sizeof *in), *all = calloc(8, sizeof *all);\nMPI_Type_vector(4, 1, 2, MPI_INT, &t);\nMPI_Type_commit(&t);\nMPI_Gather(in, 4, MPI_INT, all, \@W{1, t}\@R{4, MPI_INT}, 0, $w); \@!\nMPI_Type_free(&t);\nfree(in);\nfree(all);");
add('type-column-too-long', 2, 'B006|M011', "MPI_Datatype column;\ndouble (*grid)[8] = calloc(4, sizeof *grid);\nMPI_Type_vector(\@W{5}\@R{4}, 1, 8, MPI_DOUBLE, &column);\nMPI_Type_commit(&column);\nif (rank == 0) MPI_Send(grid, 1, column, 1, 1, $w); \@!\nif (rank == 1) MPI_Recv(y, 8, MPI_DOUBLE, 0, 1, $w, $s);\nMPI_Type_free(&column);\nfree(grid);");
add('type-absolute-without-bottom', 2, 'B006|X001|M011|M009', "MPI_Datatype t;\nMPI_Aint at;\nMPI_Get_address(a, &at);\nMPI_Type_create_hindexed(1, (int[]){2}, &at, MPI_INT, &t);\nMPI_Type_commit(&t);\nif (rank == 0) MPI_Send(\@W{a}\@R{MPI_BOTTOM}, 1, t, 1, 1, $w); \@!\nif (rank == 1) MPI_Recv(b, 2, MPI_INT, 0, 1, $w, $s);\nMPI_Type_free(&t);");
add('type-gatherv-signature', 2, 'M004|M005|M008|M007', "MPI_Datatype t;\nMPI_Type_contiguous(3, MPI_INT, &t);\nMPI_Type_commit(&t);\nint counts[2] = {1, 1}, at[2] = {0, 1};\nMPI_Gatherv(a, \@W{4}\@R{3}, MPI_INT, b, counts, at, t, 0, $w); \@!\nMPI_Type_free(&t);");

# Communicators and groups
add('comm-freed-used', 2, 'M009|X005', "MPI_Comm c;\nMPI_Comm_dup($w, &c);\nMPI_Comm old = c;\n\@W{MPI_Comm_free(&c);}\nMPI_Barrier(old); \@!\n\@R{MPI_Comm_free(&c);}");
add('comm-undefined-used', 2, 'M009', "MPI_Comm c;\nMPI_Comm_split($w, rank == 0 ? 0 : MPI_UNDEFINED, 0, &c);\n\@R{if (c != MPI_COMM_NULL)} MPI_Barrier(c); \@!\nif (c != MPI_COMM_NULL) MPI_Comm_free(&c);");
add('comm-split-negative', 2, 'M009', "MPI_Comm c;\nMPI_Comm_split($w, \@W{rank - 1}\@R{rank}, 0, &c); \@!\nMPI_Comm_free(&c);");
add('comm-order-crossed', 2, 'M001|M006|M010|D001', "MPI_Comm c, d;\n\@W{if (rank == 0) {\n    MPI_Comm_split($w, 0, rank, &c); \@!\n    MPI_Comm_dup($w, &d);\n} else {\n    MPI_Comm_dup($w, &d); \@!\n    MPI_Comm_split($w, 0, rank, &c);\n}}\@R{MPI_Comm_split($w, 0, rank, &c);\nMPI_Comm_dup($w, &d);}\nMPI_Comm_free(&c);\nMPI_Comm_free(&d);");
add('comm-create-groups-differ', 2, 'M009|D001|M010|M006', "MPI_Group all, mine;\nMPI_Comm c;\nMPI_Comm_group($w, &all);\nMPI_Group_incl(all, 2, \@W{rank ? (int[]){1, 0} : (int[]){0, 1}}\@R{(int[]){0, 1}}, &mine);\nMPI_Comm_create($w, mine, &c); \@!\nif (c != MPI_COMM_NULL) MPI_Comm_free(&c);\nMPI_Group_free(&mine);\nMPI_Group_free(&all);");
add('comm-create-not-subset', 4, 'M009', "MPI_Comm half, c;\nMPI_Group all;\nMPI_Comm_split($w, rank % 2, 0, &half);\nMPI_Comm_group(\@W{$w}\@R{half}, &all);\nMPI_Comm_create(half, all, &c); \@!\nif (c != MPI_COMM_NULL) MPI_Comm_free(&c);\nMPI_Group_free(&all);\nMPI_Comm_free(&half);");
add('create-group-missing', 3, 'D001|M010', "MPI_Group all, two;\nMPI_Comm c = MPI_COMM_NULL;\nMPI_Comm_group($w, &all);\nMPI_Group_incl(all, 2, (int[]){0, 1}, &two);\nif (rank == 0\@R{ || rank == 1}) MPI_Comm_create_group($w, two, 5, &c); \@!\nif (c != MPI_COMM_NULL) MPI_Comm_free(&c);\nMPI_Group_free(&two);\nMPI_Group_free(&all);");
add('create-group-tags', 2, 'D001|M010|M006', "MPI_Group all;\nMPI_Comm c = MPI_COMM_NULL;\nMPI_Comm_group($w, &all);\nMPI_Comm_create_group($w, all, \@W{5 + rank}\@R{5}, &c); \@!\nif (c != MPI_COMM_NULL) MPI_Comm_free(&c);\nMPI_Group_free(&all);");
add('group-incl-twice', 2, 'M009', "MPI_Group all, two;\nMPI_Comm_group($w, &all);\nMPI_Group_incl(all, 2, (int[]){0, \@W{0}\@R{1}}, &two); \@!\nMPI_Group_free(&two);\nMPI_Group_free(&all);");
add('group-incl-outside', 2, 'M009', "MPI_Group all, two;\nMPI_Comm_group($w, &all);\nMPI_Group_incl(all, 1, (int[]){\@W{2}\@R{1}}, &two); \@!\nMPI_Group_free(&two);\nMPI_Group_free(&all);");
add('group-translate-outside', 2, 'M009', "MPI_Group all;\nMPI_Comm_group($w, &all);\nMPI_Group_translate_ranks(all, 1, (int[]){\@W{7}\@R{1}}, all, &i); \@!\nMPI_Group_free(&all);");
add('group-translate-unchecked', 4, 'M009', "MPI_Group all, half;\nMPI_Comm part;\nMPI_Comm_split($w, rank % 2, rank, &part);\nMPI_Comm_group($w, &all);\nMPI_Comm_group(part, &half);\nint from = \@W{1}\@R{2}, to;\nMPI_Group_translate_ranks(all, 1, &from, half, &to);\nif (rank == 0) MPI_Send(a, 1, MPI_INT, to, 1, part); \@!\n\@R{if (rank == 2) MPI_Recv(b, 1, MPI_INT, 0, 1, part, $s);}\nMPI_Group_free(&all);\nMPI_Group_free(&half);\nMPI_Comm_free(&part);");
add('colours-then-collective', 4, 'D001|M010', "MPI_Comm part;\nMPI_Comm_split($w, rank / 2, rank, &part);\nif (\@W{rank == 0}\@R{rank < 2}) MPI_Barrier(part); \@!\nMPI_Comm_free(&part);");
add('idup-used-early', 2, 'M009|X005', "MPI_Comm c;\nMPI_Comm_idup($w, &c, &req);\n\@R{MPI_Wait(&req, $s);}\nMPI_Barrier(c); \@!\n\@W{MPI_Wait(&req, $s);}\nMPI_Comm_free(&c);");

# Topologies
add('cart-rank-outside', 4, 'M009', "MPI_Comm c;\nMPI_Cart_create($w, 2, (int[]){2, 2}, (int[]){\@W{0}\@R{1}, 1}, 0, &c);\nMPI_Cart_rank(c, (int[]){2, 0}, &i); \@!\nMPI_Comm_free(&c);");
add('cart-coords-rank', 4, 'M009', "MPI_Comm c;\nMPI_Cart_create($w, 2, (int[]){2, 2}, (int[]){0, 1}, 0, &c);\nint at[2];\nMPI_Cart_coords(c, \@W{4}\@R{3}, 2, at); \@!\nMPI_Comm_free(&c);");
add('cart-coords-dims', 4, 'M009', "MPI_Comm c;\nMPI_Cart_create($w, 2, (int[]){2, 2}, (int[]){0, 1}, 0, &c);\nint at[2];\nMPI_Cart_coords(c, 3, \@W{1}\@R{2}, at); \@!\nMPI_Comm_free(&c);");
add('cart-shift-direction', 4, 'M009', "MPI_Comm c;\nMPI_Cart_create($w, 2, (int[]){2, 2}, (int[]){0, 1}, 0, &c);\nint from, to;\nMPI_Cart_shift(c, \@W{2}\@R{1}, 1, &from, &to); \@!\nMPI_Comm_free(&c);");
add('cart-shift-on-world', 4, 'M009', "MPI_Comm c;\nMPI_Cart_create($w, 2, (int[]){2, 2}, (int[]){0, 1}, 0, &c);\nint from, to;\nMPI_Cart_shift(\@W{$w}\@R{c}, 1, 1, &from, &to); \@!\nMPI_Comm_free(&c);", 'main');
add('cart-zero-dim', 4, 'M009', "MPI_Comm c;\nMPI_Cart_create($w, 2, (int[]){4, \@W{-1}\@R{1}}, (int[]){0, 1}, 0, &c); \@!\nMPI_Comm_free(&c);");
add('cart-dims-differ', 4, 'M009|M005|M006|M001', "MPI_Comm c;\nint dims[2] = {2, 2};\n\@W{if (rank == 1) { dims[0] = 4; dims[1] = 1; }}\nMPI_Cart_create($w, 2, dims, (int[]){0, 1}, 0, &c); \@!\nMPI_Comm_free(&c);");
add('cart-null-comm', 4, 'M009', "MPI_Comm c;\nMPI_Cart_create($w, 1, (int[]){3}, (int[]){0}, 0, &c);\n\@R{if (c != MPI_COMM_NULL)} MPI_Barrier(c); \@!\nif (c != MPI_COMM_NULL) MPI_Comm_free(&c);");
add('cart-shift-ring-hangs', 4, 'D001|D003', "MPI_Comm c;\nint from, to;\nMPI_Cart_create($w, 1, (int[]){4}, (int[]){\@W{1}\@R{0}}, 0, &c);\nMPI_Cart_shift(c, 0, 1, &from, &to);\nMPI_Recv(b, 1, MPI_INT, from, 1, c, $s); \@!\nMPI_Send(a, 1, MPI_INT, to, 1, c);\nMPI_Comm_free(&c);");
add('cart-neighbour-count', 4, 'B006|M011', "MPI_Comm c;\nint *got = calloc(\@W{2}\@R{4}, sizeof *got);\nMPI_Cart_create($w, 2, (int[]){2, 2}, (int[]){1, 1}, 0, &c);\nMPI_Neighbor_allgather(a, 1, MPI_INT, got, 1, MPI_INT, c); \@!\nMPI_Comm_free(&c);\nfree(got);");
add('cart-sub-collective', 4, 'M005|M010|D001|M001', "MPI_Comm c, row;\nMPI_Cart_create($w, 2, (int[]){2, 2}, (int[]){1, 1}, 0, &c);\nMPI_Cart_sub(c, (int[]){0, 1}, &row);\nMPI_Bcast(a, \@W{1 + rank % 2}\@R{1 + rank / 2}, MPI_INT, 0, row); \@!\nMPI_Comm_free(&row);\nMPI_Comm_free(&c);");
add('cart-sub-differs', 4, 'M009|M005|M001|M006', "MPI_Comm c, row;\nMPI_Cart_create($w, 2, (int[]){2, 2}, (int[]){1, 1}, 0, &c);\nint keep[2] = {0, 1};\n\@W{if (rank == 3) { keep[0] = 1; keep[1] = 0; }}\nMPI_Cart_sub(c, keep, &row); \@!\nMPI_Comm_free(&row);\nMPI_Comm_free(&c);");
add('dims-create-impossible', 4, 'M009', "int dims[2] = {\@W{3}\@R{2}, 0};\nMPI_Dims_create(4, 2, dims); \@!");
add('graph-asymmetric', 2, 'D001|M009|M010', "MPI_Comm c;\nint n = rank == 0 ? 1 : \@W{0}\@R{1};\nint other[1] = {rank ^ 1};\nMPI_Dist_graph_create_adjacent($w, n, other, MPI_UNWEIGHTED, 1, other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c); \@!\nMPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, c); \@!\nMPI_Comm_free(&c);");
add('graph-counts-differ', 2, 'M005|M008|M007|M004', "MPI_Comm c;\nint other[1] = {rank ^ 1};\nMPI_Dist_graph_create_adjacent($w, 1, other, MPI_UNWEIGHTED, 1, other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);\nint n = \@W{1 + rank}\@R{2};\nMPI_Neighbor_allgather(a, n, MPI_INT, b, 1\@R{ + 1}, MPI_INT, c); \@!\nMPI_Comm_free(&c);");
add('graph-alltoallv-counts', 2, 'M005|M008|M007|M004', "MPI_Comm c;\nint other[1] = {rank ^ 1}, n[1] = {\@W{1 + rank}\@R{2}}, m[1] = {2}, at[1] = {0};\nMPI_Dist_graph_create_adjacent($w, 1, other, MPI_UNWEIGHTED, 1, other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);\nMPI_Neighbor_alltoallv(a, n, at, MPI_INT, b, m, at, MPI_INT, c); \@!\nMPI_Comm_free(&c);");
add('graph-alltoallw-types', 2, 'M004|M008|M005', "MPI_Comm c;\nint other[1] = {rank ^ 1}, n[1] = {1};\nMPI_Aint at[1] = {0};\nMPI_Datatype out[1] = {\@W{rank ? MPI_FLOAT : MPI_INT}\@R{MPI_INT}}, in[1] = {MPI_INT};\nMPI_Dist_graph_create_adjacent($w, 1, other, MPI_UNWEIGHTED, 1, other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);\nMPI_Neighbor_alltoallw(a, n, at, out, b, n, at, in, c); \@!\nMPI_Comm_free(&c);");
add('graph-neighbour-outside', 2, 'M009', "MPI_Comm c;\nint other[1] = {rank\@W{ + 1}\@R{ ^ 1}};\nMPI_Dist_graph_create_adjacent($w, 1, other, MPI_UNWEIGHTED, 1, other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c); \@!\nMPI_Comm_free(&c);");
add('graph-index-wrong', 2, 'M009', "MPI_Comm c;\nMPI_Graph_create($w, 2, (int[]){\@W{2, 1}\@R{1, 2}}, (int[]){1, 0}, 0, &c); \@!\nMPI_Comm_free(&c);");
add('graph-not-symmetric-neighbour', 2, 'M009|D001|M010', "MPI_Comm c;\nMPI_Graph_create($w, 2, (int[]){1, \@W{1}\@R{2}}, (int[]){1, 0}, 0, &c);\nMPI_Neighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, c); \@!\nMPI_Comm_free(&c);");
add('graph-ineighbour-touched', 2, 'B001', "MPI_Comm c;\nint other[1] = {rank ^ 1};\nMPI_Dist_graph_create_adjacent($w, 1, other, MPI_UNWEIGHTED, 1, other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);\nMPI_Ineighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, c, &req);\n\@W{b[0] = 3;} \@!\nMPI_Wait(&req, $s);\nb[0] = 3;\nMPI_Comm_free(&c);");
add('graph-neighbours-max', 2, 'M009', "MPI_Comm c;\nint other[1] = {rank ^ 1}, from[1], to[1], wf[1], wt[1];\nMPI_Dist_graph_create_adjacent($w, 1, other, MPI_UNWEIGHTED, 1, other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);\nMPI_Dist_graph_neighbors(c, \@W{-1}\@R{1}, from, wf, 1, to, wt); \@!\nMPI_Comm_free(&c);");

# Intercommunicators: ranks 0 and 1 on one side, 2 and 3 on the other
sub bridge {
    my ($name, $codes, $text) = @_;
    add("bridge-$name", 4, $codes, "MPI_Comm half, inter;\nint side = rank / 2, me = rank % 2;\n(void)me;\nMPI_Comm_split($w, side, rank, &half);\nMPI_Intercomm_create(half, 0, $w, side ? 0 : 2, 9, &inter);\n$text\nMPI_Comm_free(&inter);\nMPI_Comm_free(&half);");
}
my $root = 'side ? 0 : (me == 0 ? MPI_ROOT : MPI_PROC_NULL)';
bridge('two-roots', 'M002|M009|M010|D001', "int root = \@W{side ? 0 : MPI_ROOT}\@R{$root};\nMPI_Bcast(a, 1, MPI_INT, root, inter); \@!");
bridge('no-root', 'M002|M009|M010|D001', "int root = \@W{side ? 0 : MPI_PROC_NULL}\@R{$root};\nMPI_Bcast(a, 1, MPI_INT, root, inter); \@!");
bridge('root-as-rank', 'M002|M009|M010|D001|M001', "int root = \@W{0}\@R{$root};\nMPI_Bcast(a, 1, MPI_INT, root, inter); \@!");
bridge('other-root', 'M002|M009|M010|D001', "int root = side ? \@W{1}\@R{0} : (me == 0 ? MPI_ROOT : MPI_PROC_NULL);\nMPI_Bcast(a, 1, MPI_INT, root, inter); \@!");
bridge('roots-differ', 'M002|M009|M010|D001', "int root = side ? \@W{me}\@R{0} : (me == 0 ? MPI_ROOT : MPI_PROC_NULL);\nMPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, root, inter); \@!");
bridge('gather-count', 'M005|M007', "int root = $root;\nMPI_Gather(a, \@W{2}\@R{1}, MPI_INT, b, 1, MPI_INT, root, inter); \@!");
bridge('scatter-type', 'M004', "int root = $root;\nMPI_Scatter(a, 1, MPI_INT, b, 1, \@W{MPI_FLOAT}\@R{MPI_INT}, root, inter); \@!");
bridge('allgather-count', 'M005|M007', "MPI_Allgather(a, 1 + side, MPI_INT, b, \@W{1 + side}\@R{2 - side}, MPI_INT, inter); \@!");
bridge('allreduce-count', 'M005', "MPI_Allreduce(a, b, \@W{1 + side}\@R{2}, MPI_INT, MPI_SUM, inter); \@!");
bridge('allreduce-op', 'M003', "MPI_Allreduce(a, b, 2, MPI_INT, \@W{me ? MPI_MAX : MPI_SUM}\@R{MPI_SUM}, inter); \@!");
bridge('in-place', 'M009', "MPI_Allreduce(\@W{MPI_IN_PLACE}\@R{a}, b, 2, MPI_INT, MPI_SUM, inter); \@!");
bridge('scan', 'M009', "MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, \@W{inter}\@R{half}); \@!");
bridge('exscan', 'M009', "MPI_Exscan(a, b, 1, MPI_INT, MPI_SUM, \@W{inter}\@R{half}); \@!");
bridge('barrier-missing', 'M010|D001', "\@W{if (rank != 3)} MPI_Barrier(inter); \@!");
bridge('local-rank', 'D001|D003|M009', "if (rank == 0) MPI_Send(a, 1, MPI_INT, \@W{1}\@R{0}, 3, inter); \@!\nif (rank == 2) MPI_Recv(b, 1, MPI_INT, 0, 3, inter, $s); \@!");
bridge('rank-beyond', 'M009', "if (rank == 0) MPI_Send(a, 1, MPI_INT, \@W{2}\@R{0}, 3, inter); \@!\nif (rank == 2) MPI_Recv(b, 1, MPI_INT, 0, 3, inter, $s);");
bridge('merge-high', 'M009', "MPI_Comm all;\nMPI_Intercomm_merge(inter, \@W{me}\@R{side}, &all); \@!\nMPI_Comm_free(&all);");
bridge('cart-of-inter', 'M009', "MPI_Comm c;\nMPI_Cart_create(\@W{inter}\@R{half}, 1, (int[]){2}, (int[]){0}, 0, &c); \@!\n\@R{MPI_Comm_free(&c);}");
bridge('window-of-inter', 'M009', "MPI_Win win;\nMPI_Win_create(a, 4, 4, MPI_INFO_NULL, \@W{inter}\@R{half}, &win); \@!\n\@R{MPI_Win_free(&win);}");
bridge('merge-of-intra', 'M009', "MPI_Comm all;\nMPI_Intercomm_merge(\@W{half}\@R{inter}, side, &all); \@!\n\@R{MPI_Comm_free(&all);}");
bridge('remote-size-of-intra', 'M009', "MPI_Comm_remote_size(\@W{half}\@R{inter}, &i); \@!");
bridge('ibcast-touched', 'B001', "int root = $root;\nMPI_Ibcast(a, 1, MPI_INT, root, inter, &req);\n\@W{if (side) a[0] = 1;} \@!\nMPI_Wait(&req, $s);");
add('bridge-overlapping-groups', 4, 'M009|D001', "MPI_Comm half, inter;\nint side = rank / 2;\nMPI_Comm_split($w, side, rank, &half);\nMPI_Intercomm_create(\@W{MPI_COMM_WORLD}\@R{half}, 0, MPI_COMM_WORLD, side ? 0 : 2, 9, &inter); \@!\n\@R{MPI_Comm_free(&inter);}\nMPI_Comm_free(&half);", 'main');

# Errors that come back and are not asked for; callbacks that fail
my $return = "MPI_Comm_set_errhandler($w, MPI_ERRORS_RETURN);";
add('ignored-rank', 2, 'M009', "$return\nif (rank == 0) MPI_Send(a, 1, MPI_INT, \@W{2}\@R{1}, 3, $w); \@!\n\@R{if (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 3, $w, $s);}");
add('ignored-truncation', 2, 'M007', "$return\nif (rank == 0) MPI_Send(a, 2, MPI_INT, 1, 3, $w); \@!\nif (rank == 1) MPI_Recv(b, \@W{1}\@R{2}, MPI_INT, 0, 3, $w, $s); \@!");
add('ignored-in-status', 2, 'M007', "$return\nif (rank == 0) MPI_Send(a, 2, MPI_INT, 1, 3, $w); \@!\nif (rank == 1) {\n    MPI_Irecv(b, \@W{1}\@R{2}, MPI_INT, 0, 3, $w, &req); \@!\n    MPI_Waitall(1, &req, MPI_STATUSES_IGNORE);\n}");
add('ignored-root', 2, 'M009', "$return\nMPI_Bcast(a, 1, MPI_INT, \@W{2}\@R{1}, $w); \@!");
add('ignored-count', 2, 'M009', "$return\nMPI_Allreduce(a, b, \@W{-2}\@R{2}, MPI_INT, MPI_SUM, $w); \@!");
add('callback-copy-fails', 2, 'M009|X002', "^static int copy(MPI_Comm c, int k, void *e, void *in, void *out, int *flag) { (void)c, (void)k, (void)e; *(void **)out = in; *flag = 1; return in ? MPI_SUCCESS : MPI_ERR_OTHER; }\nint key;\nMPI_Comm c;\nMPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);\nMPI_Comm_set_attr($w, key, \@W{NULL}\@R{a});\nMPI_Comm_dup($w, &c); \@!\n\@R{MPI_Comm_free(&c);}\nMPI_Comm_delete_attr($w, key);\nMPI_Comm_free_keyval(&key);");
add('callback-delete-fails', 2, 'M009|X002', "^static int gone(MPI_Comm c, int k, void *value, void *e) { (void)c, (void)k, (void)e; return value ? MPI_SUCCESS : MPI_ERR_OTHER; }\nint key;\nMPI_Comm c;\nMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, gone, &key, NULL);\nMPI_Comm_dup($w, &c);\nMPI_Comm_set_attr(c, key, \@W{NULL}\@R{a});\nMPI_Comm_free_keyval(&key);\nMPI_Comm_free(&c); \@!");
add('attribute-of-type', 2, 'M009', "int key;\nMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);\n\@W{MPI_Comm_set_attr($w, key, a);} \@!\nMPI_Type_free_keyval(&key);");
add('attribute-predefined-set', 2, 'M009', "int key;\nMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);\nMPI_Comm_set_attr($w, \@W{MPI_TAG_UB}\@R{key}, a); \@!\n\@R{MPI_Comm_delete_attr($w, key);}\nMPI_Comm_free_keyval(&key);");
add('keyval-freed-used', 2, 'M009', "int key;\nMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);\nint old = key;\n\@W{MPI_Comm_free_keyval(&key);}\nMPI_Comm_set_attr($w, old, a); \@!\n\@R{MPI_Comm_delete_attr($w, old);\nMPI_Comm_free_keyval(&key);}");
add('info-freed-used', 2, 'M009', "MPI_Info info;\nMPI_Info_create(&info);\nMPI_Info old = info;\n\@W{MPI_Info_free(&info);}\nMPI_Info_set(old, \"key\", \"value\"); \@!\n\@R{MPI_Info_free(&info);}");
add('info-key-missing', 2, 'M009', "MPI_Info info;\nMPI_Info_create(&info);\n\@R{MPI_Info_set(info, \"key\", \"value\");}\nMPI_Info_delete(info, \"key\"); \@!\nMPI_Info_free(&info);");
add('info-nth', 2, 'M009', "MPI_Info info;\nchar key[MPI_MAX_INFO_KEY + 1];\nMPI_Info_create(&info);\nMPI_Info_set(info, \"key\", \"value\");\nMPI_Info_get_nthkey(info, \@W{1}\@R{0}, key); \@!\nMPI_Info_free(&info);");
add('info-null-used', 2, 'M009', "MPI_Info info = MPI_INFO_NULL;\n\@R{MPI_Info_create(&info);}\nMPI_Info_set(info, \"key\", \"value\"); \@!\n\@R{MPI_Info_free(&info);}");
add('errhandler-null', 2, 'M009', "MPI_Comm_set_errhandler($w, \@W{MPI_ERRHANDLER_NULL}\@R{MPI_ERRORS_ARE_FATAL}); \@!");

# Before the beginning, after the end
add('before-init', 2, 'M009', "#include <mpi.h>\nint main(int argc, char **argv)\n{\n    int rank = 0;\n\@W{    MPI_Comm_rank(MPI_COMM_WORLD, &rank); \@!\n}    MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    MPI_Finalize();\n    return 0;\n}\n", 'whole');
add('after-finalize', 2, 'M009', "#include <mpi.h>\nint main(int argc, char **argv)\n{\n    int rank = 0;\n    MPI_Init(&argc, &argv);\n    MPI_Finalize();\n\@W{    MPI_Comm_rank(MPI_COMM_WORLD, &rank); \@!\n}    return rank > 5;\n}\n", 'whole');
add('free-after-finalize', 2, 'M009', "#include <mpi.h>\nint main(int argc, char **argv)\n{\n    MPI_Datatype t;\n    MPI_Init(&argc, &argv);\n    MPI_Type_contiguous(2, MPI_INT, &t);\n\@R{    MPI_Type_free(&t);\n}    MPI_Finalize();\n\@W{    MPI_Type_free(&t); \@!\n}    return 0;\n}\n", 'whole');
add('init-twice', 2, 'M009', "#include <mpi.h>\nint main(int argc, char **argv)\n{\n    MPI_Init(&argc, &argv);\n\@W{    MPI_Init(&argc, &argv); \@!\n}    MPI_Barrier(MPI_COMM_WORLD);\n    MPI_Finalize();\n    return 0;\n}\n", 'whole');
add('finalize-twice', 2, 'M009', "#include <mpi.h>\nint main(int argc, char **argv)\n{\n    MPI_Init(&argc, &argv);\n    MPI_Barrier(MPI_COMM_WORLD);\n    MPI_Finalize();\n\@W{    MPI_Finalize(); \@!\n}    return 0;\n}\n", 'whole');
add('finalize-missing-one', 2, 'X008', "#include <mpi.h>\nint main(int argc, char **argv)\n{\n    int rank;\n    MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    MPI_Barrier(MPI_COMM_WORLD);\n\@W{    if (rank == 1)\n        return 0;\n}    MPI_Finalize();\n    return 0;\n}\n", 'whole');
add('init-never', 2, 'M009', "#include <mpi.h>\nint main(int argc, char **argv)\n{\n\@R{    MPI_Init(&argc, &argv);\n}    (void)argc, (void)argv;\n    MPI_Barrier(MPI_COMM_WORLD); \@!\n\@R{    MPI_Finalize();\n}    return 0;\n}\n", 'whole');

# Persistent collectives and partitioned communication
add('persistent-bcast-started-twice', 2, 'L010', "MPI_Bcast_init(a, 1, MPI_INT, 0, $w, MPI_INFO_NULL, &req);\nMPI_Start(&req);\n\@W{MPI_Start(&req);} \@!\nMPI_Wait(&req, $s);\nMPI_Request_free(&req);");
add('persistent-bcast-one-starts', 2, 'M010|D001', "MPI_Bcast_init(a, 1, MPI_INT, 0, $w, MPI_INFO_NULL, &req);\n\@W{if (rank == 1)} MPI_Start(&req); \@!\nMPI_Wait(&req, $s);\nMPI_Request_free(&req);") ;
add('part-ready-twice', 2, 'M009', "if (rank == 0) {\n    MPI_Psend_init(a, 2, 2, MPI_INT, 1, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Pready(0, req);\n    MPI_Pready(\@W{0}\@R{1}, req); \@!\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);\n} else if (rank == 1) {\n    MPI_Precv_init(b, 2, 2, MPI_INT, 0, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);\n}");
add('part-ready-outside', 2, 'M009', "if (rank == 0) {\n    MPI_Psend_init(a, 2, 2, MPI_INT, 1, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Pready(0, req);\n    MPI_Pready(\@W{2}\@R{1}, req); \@!\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);\n} else if (rank == 1) {\n    MPI_Precv_init(b, 2, 2, MPI_INT, 0, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);\n}");
add('part-ready-missing', 2, 'D001', "if (rank == 0) {\n    MPI_Psend_init(a, 2, 2, MPI_INT, 1, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Pready(0, req);\n    \@R{MPI_Pready(1, req);}\n    MPI_Wait(&req, $s); \@!\n    MPI_Request_free(&req);\n} else if (rank == 1) {\n    MPI_Precv_init(b, 2, 2, MPI_INT, 0, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Wait(&req, $s); \@!\n    MPI_Request_free(&req);\n}");
add('part-ready-before-start', 2, 'M009', "if (rank == 0) {\n    MPI_Psend_init(a, 1, 2, MPI_INT, 1, 1, $w, MPI_INFO_NULL, &req);\n    \@W{MPI_Pready(0, req);} \@!\n    MPI_Start(&req);\n    \@R{MPI_Pready(0, req);}\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);\n} else if (rank == 1) {\n    MPI_Precv_init(b, 1, 2, MPI_INT, 0, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);\n}");
add('part-written-after-ready', 2, 'B001', "if (rank == 0) {\n    MPI_Psend_init(a, 2, 2, MPI_INT, 1, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Pready(0, req);\n    a[\@W{1}\@R{2}] = 3; \@!\n    MPI_Pready(1, req);\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);\n} else if (rank == 1) {\n    MPI_Precv_init(b, 2, 2, MPI_INT, 0, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);\n}");
add('part-read-before-arrived', 2, 'B001', "if (rank == 0) {\n    MPI_Psend_init(a, 2, 2, MPI_INT, 1, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Pready_range(0, 1, req);\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);\n} else if (rank == 1) {\n    MPI_Precv_init(b, 2, 2, MPI_INT, 0, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    \@R{while (!flag) MPI_Parrived(req, 1, &flag);}\n    i = b[2]; \@!\n    MPI_Wait(&req, $s);\n    printf(\"%d\\n\", i);\n    MPI_Request_free(&req);\n}");
add('part-sizes-differ', 2, 'M007|M008|M005', "if (rank == 0) {\n    MPI_Psend_init(a, 2, \@W{4}\@R{2}, MPI_INT, 1, 1, $w, MPI_INFO_NULL, &req); \@!\n    MPI_Start(&req); \@!\n    MPI_Pready_range(0, 1, req);\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);\n} else if (rank == 1) {\n    MPI_Precv_init(b, 2, 2, MPI_INT, 0, 1, $w, MPI_INFO_NULL, &req); \@!\n    MPI_Start(&req); \@!\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);\n}");
add('part-with-plain', 2, 'D001', "if (rank == 0) {\n    \@W{MPI_Send(a, 4, MPI_INT, 1, 1, $w);}\@R{MPI_Psend_init(a, 1, 4, MPI_INT, 1, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req);\n    MPI_Pready(0, req);\n    MPI_Wait(&req, $s);\n    MPI_Request_free(&req);}\n} else if (rank == 1) {\n    MPI_Precv_init(b, 2, 2, MPI_INT, 0, 1, $w, MPI_INFO_NULL, &req);\n    MPI_Start(&req); \@!\n    MPI_Wait(&req, $s); \@!\n    MPI_Request_free(&req);\n}");
add('count-overflow', 2, 'M009', "unsigned n = 65536;\nif (rank == 0) MPI_Send(a, \@W{(int)(n * 32768)}\@R{(int)(n / 65536)}, MPI_INT, 1, 1, $w); \@!\nif (rank == 1) MPI_Recv(b, 4, MPI_INT, 0, 1, $w, $s);");
add('type-overlap-resized', 2, 'M009|B002', "MPI_Datatype t;\nchar *raw = calloc(1, 64);\nMPI_Type_create_resized(MPI_INT, 0, \@W{2}\@R{8}, &t);\nMPI_Type_commit(&t);\nif (rank == 0) MPI_Send(a, 2, MPI_INT, 1, 1, $w);\nif (rank == 1) MPI_Recv(raw, 2, t, 0, 1, $w, $s); \@!\nMPI_Type_free(&t);\nfree(raw);");
add('type-alltoallw-types', 2, 'M004|M005|M008', "int counts[2] = {1, 1}, at[2] = {0, 8};\nchar *raw = calloc(1, 64);\nMPI_Datatype out[2] = {MPI_INT, \@W{rank ? MPI_INT : MPI_DOUBLE}\@R{MPI_INT}}, in[2] = {MPI_INT, MPI_INT};\nMPI_Alltoallw(raw, counts, at, out, raw + 32, counts, at, in, $w); \@!\nfree(raw);");

# Calls that need no communicator are nobody's business before Init and after Finalize, either.
my %local = (
    Type_contiguous => 'MPI_Type_contiguous(2, MPI_INT, &t);', Type_vector => 'MPI_Type_vector(2, 1, 2, MPI_INT, &t);', Type_create_struct => 'MPI_Type_create_struct(1, (int[]){1}, (MPI_Aint[]){0}, (MPI_Datatype[]){MPI_INT}, &t);',
    Type_dup => 'MPI_Type_dup(MPI_INT, &t);', Type_size => 'MPI_Type_size(MPI_INT, &n);', Type_get_name => 'MPI_Type_get_name(MPI_INT, text, &n);', Group_size => 'MPI_Group_size(MPI_GROUP_EMPTY, &n);',
    Group_rank => 'MPI_Group_rank(MPI_GROUP_EMPTY, &n);', Group_union => 'MPI_Group_union(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &g);', Group_incl => 'MPI_Group_incl(MPI_GROUP_EMPTY, 0, NULL, &g);',
    Op_create => 'MPI_Op_create(mine, 1, &o);', Op_commutative => 'MPI_Op_commutative(MPI_SUM, &n);', Reduce_local => 'MPI_Reduce_local(text, text + 64, 1, MPI_CHAR, MPI_SUM);', Comm_create_keyval => 'MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &n, NULL);',
    Comm_get_attr => 'MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &at, &n);', Alloc_mem => 'MPI_Alloc_mem(8, MPI_INFO_NULL, &at);', Dims_create => 'MPI_Dims_create(4, 2, d);', Get_processor_name => 'MPI_Get_processor_name(text, &n);',
);
for my $call (sort keys %local) {
    for my $when ('before', 'after') {
        my ($before, $after) = map { $when eq $_ ? "\@W{    $local{$call} \@!\n}" : '' } 'before', 'after';
        add("local-$when-$call", 2, 'M009', "#include <mpi.h>\nstatic void mine(void *in, void *out, int *n, MPI_Datatype *t) { (void)in, (void)out, (void)n, (void)t; }\n"
            . "int main(int argc, char **argv)\n{\n    int n = 0, d[2] = {0, 0};\n    static char text[MPI_MAX_PROCESSOR_NAME + MPI_MAX_OBJECT_NAME];\n    void *at = NULL;\n    MPI_Datatype t;\n    MPI_Group g;\n    MPI_Op o;\n"
            . "    (void)n, (void)d, (void)text, (void)at, (void)t, (void)g, (void)o, (void)mine;\n$before    MPI_Init(&argc, &argv);\n    MPI_Barrier(MPI_COMM_WORLD);\n    MPI_Finalize();\n$after    return 0;\n}\n", 'whole');
    }
}

# Messages, collectives and bounds as people get them wrong last
add('late-cancel-then-read', 2, 'B001', "if (rank == 0) {\n    MPI_Irecv(b, 1, MPI_INT, 1, 1, $w, &req); \@!\n    MPI_Cancel(&req);\n    \@W{i = b[0];} \@!\n    MPI_Wait(&req, $s);\n    if (i == 99) printf(\"%d\\n\", i);\n}");
add('late-bsend-detach-missing-room', 2, 'M009', "static char room[2 * (MPI_BSEND_OVERHEAD + 16)];\nif (rank == 0) {\n    MPI_Buffer_attach(room, sizeof room);\n    for (int k = 0; k < \@W{3}\@R{2}; k++)\n        MPI_Bsend(a, 4, MPI_INT, 1, k, $w); \@!\n    void *old; int n;\n    MPI_Buffer_detach(&old, &n);\n} else if (rank == 1)\n    for (int k = 0; k < \@W{3}\@R{2}; k++) { if (k == 0) MPI_Barrier(MPI_COMM_SELF); MPI_Recv(b, 4, MPI_INT, 0, k, $w, $s); }", 'main');
add('late-ssend-cycle', 4, 'D001', "MPI_Ssend(a, 1, MPI_INT, (rank + 1) % size, 1, $w); \@!\nMPI_Recv(b, 1, MPI_INT, (rank + size - 1) % size, 1, $w, $s);" =~ s/^/\@R{if (rank == 0) MPI_Recv(b, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n}/r =~ s/\nMPI_Recv/\n\@R{if (rank != 0)} MPI_Recv/r);
add('late-rsend', 2, 'M009', "if (rank == 0) {\n    \@R{MPI_Recv(b, 0, MPI_INT, 1, 9, $w, $s);}\n    MPI_Rsend(a, 1, MPI_INT, 1, 1, $w); \@!\n} else if (rank == 1) {\n    MPI_Irecv(b, 1, MPI_INT, 0, \@W{2}\@R{1}, $w, &req);\n    \@R{MPI_Send(a, 0, MPI_INT, 0, 9, $w);}\n    \@W{MPI_Recv(a, 1, MPI_INT, 0, 1, $w, $s);\n    MPI_Cancel(&req);}\n    MPI_Wait(&req, $s);\n}");
add('late-any-source-branch', 3, 'R003|D002|D001', "if (rank == 0) {\n    MPI_Recv(b, 1, MPI_INT, MPI_ANY_SOURCE, 1, $w, &st); \@!\n    if (\@W{st.MPI_SOURCE == 1}\@R{st.MPI_SOURCE > 0})\n        MPI_Recv(b, 1, MPI_INT, MPI_ANY_SOURCE, 1, $w, $s); \@!\n    else\n        MPI_Recv(b, 1, MPI_INT, 1, 2, $w, $s); \@!\n} else {\n    a[0] = 1;\n    MPI_Send(a, 1, MPI_INT, 0, 1, $w);\n}");
add('late-any-source-count', 3, 'M007|M008', "if (rank == 0) {\n    for (int k = 1; k < 3; k++) {\n        MPI_Recv(b, \@W{k}\@R{2}, MPI_INT, MPI_ANY_SOURCE, 1, $w, $s); \@!\n    }\n} else MPI_Send(a, rank, MPI_INT, 0, 1, $w); \@!");
add('late-input-dependent', 2, 'D001|D003', "int n = argc > 1 ? atoi(argv[1]) : 3;\nif (rank == 0) for (int k = 0; k < n; k++) MPI_Send(a, 1, MPI_INT, 1, 1, $w); \@!\nif (rank == 1) for (int k = 0; k < n\@W{ - 1}; k++) MPI_Recv(b, 1, MPI_INT, 0, 1, $w, $s); \@!", 'main');
add('late-collective-in-loop', 3, 'M010|D001|M001', "int n = \@W{rank + 1}\@R{2};\nfor (int k = 0; k < n; k++) MPI_Allreduce(a, b, 1, MPI_INT, MPI_SUM, $w); \@!");
add('late-collective-count-from-bcast', 3, 'M005', "int n = rank + 1;\n\@R{MPI_Bcast(&n, 1, MPI_INT, 0, $w);}\nMPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, $w); \@!");
add('late-root-from-uninit', 3, 'M002', "int root = rank == 2 ? \@W{1}\@R{0} : 0;\nMPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, root, $w); \@!");
add('late-finalize-isend', 2, 'X006|L008|B001', "if (rank == 0) { MPI_Isend(a, 1, MPI_INT, 1, 1, $w, &req); \@!\n\@R{MPI_Wait(&req, $s);} }\nif (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 1, $w, $s);", 'main');
add('late-finalize-collective', 2, 'X006|L008|B001', "MPI_Ibcast(a, 1, MPI_INT, 0, $w, &req); \@!\n\@R{MPI_Wait(&req, $s);}", 'main');
add('late-finalize-unreceived', 2, 'D003|L002', "if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 1, $w); \@!\n\@R{if (rank == 1) MPI_Recv(b, 1, MPI_INT, 0, 1, $w, $s);}", 'main');
add('late-mprobe-lost', 2, 'L002|D003|X006|L001|L008|D001', "if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 1, $w); \@!\nif (rank == 1) {\n    MPI_Message m;\n    MPI_Mprobe(0, 1, $w, &m, &st); \@!\n    \@R{MPI_Mrecv(b, 1, MPI_INT, &m, $s);}\n}", 'main');
add('late-reduce-scatter-counts', 2, 'M005', "int counts[2] = {1, \@W{1 + rank}\@R{2}};\nMPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, $w); \@!");
add('late-scan-one-less', 3, 'M010|D001', "\@W{if (rank > 0)} MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, $w); \@!");
add('late-ibarrier-order', 2, 'M001|D001|D002|M006', "MPI_Request r[2];\nif (rank == \@W{0}\@R{5}) {\n    MPI_Iallreduce(a, b, 1, MPI_INT, MPI_SUM, $w, &r[0]); \@!\n    MPI_Ibarrier($w, &r[1]);\n} else {\n    MPI_Ibarrier($w, &r[0]); \@!\n    MPI_Iallreduce(a, b, 1, MPI_INT, MPI_SUM, $w, &r[1]);\n}\nMPI_Waitall(2, r, MPI_STATUSES_IGNORE);");
add('late-dup-idup-order', 2, 'M001|M006|D001|D002', "MPI_Comm c, d;\nif (rank == \@W{0}\@R{5}) {\n    MPI_Comm_idup($w, &c, &req); \@!\n    MPI_Comm_dup($w, &d);\n} else {\n    MPI_Comm_dup($w, &d); \@!\n    MPI_Comm_idup($w, &c, &req);\n}\nMPI_Wait(&req, $s);\nMPI_Comm_free(&c);\nMPI_Comm_free(&d);");
add('late-sendrecv-replace-self', 2, 'D001|D003', "MPI_Sendrecv_replace(a, 1, MPI_INT, rank ^ 1, 1, rank ^ 1, \@W{2}\@R{1}, $w, $s); \@!");
add('late-null-statuses', 2, 'M009|X001', "MPI_Irecv(b, 1, MPI_INT, rank ^ 1, 1, $w, &req);\nMPI_Send(a, 1, MPI_INT, rank ^ 1, 1, $w);\nMPI_Waitall(1, \@W{NULL}\@R{&req}, MPI_STATUSES_IGNORE); \@!\n\@W{MPI_Wait(&req, $s);}");
add('late-null-counts', 2, 'M009', "int at[2] = {0, 1}, one[2] = {1, 1};\nMPI_Gatherv(a, 1, MPI_INT, b, rank == 0 ? \@W{NULL}\@R{one} : NULL, at, MPI_INT, 0, $w); \@!");
add('late-null-result', 2, 'M009', "MPI_Comm_rank($w, \@W{NULL}\@R{&i}); \@!");
add('late-split-then-wrong-comm', 4, 'M010|D001|M001|M006', "MPI_Comm part;\nMPI_Comm_split($w, rank % 2, rank, &part);\nMPI_Barrier(\@W{rank == 3 ? MPI_COMM_WORLD : part}\@R{part}); \@!\nMPI_Comm_free(&part);", 'main');
add('late-start-inactive-wait', 2, 'D001|L009', "MPI_Recv_init(b, 1, MPI_INT, rank ^ 1, 1, $w, &req);\n\@R{MPI_Start(&req);}\nMPI_Ssend(a, 1, MPI_INT, rank ^ 1, 1, $w); \@!\nMPI_Wait(&req, $s);\nMPI_Request_free(&req);");
add('late-gatherv-displs', 2, 'B006|M011', "int *all = calloc(4, sizeof *all), counts[2] = {2, 2}, at[2] = {0, \@W{3}\@R{2}};\nMPI_Gatherv(a, 2, MPI_INT, all, counts, at, MPI_INT, 0, $w); \@!\nfree(all);");
add('late-recv-heap', 2, 'B006|M011', "int *mine = malloc(\@W{4}\@R{4 * sizeof(int)});\nif (rank == 0) MPI_Send(a, 4, MPI_INT, 1, 1, $w);\nif (rank == 1) MPI_Recv(mine, 4, MPI_INT, 0, 1, $w, $s); \@!\nfree(mine);");
1;
