# Windows as they are misused rather than raced for: epochs that are missing, of another kind or never ended, assertions that are not true,
# memory attached and detached at the wrong time, buffers of requests, and shared memory that nothing orders.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my $s = 'MPI_STATUS_IGNORE';

sub epoch {
    my ($name, $codes, $text, %more) = @_;
    my $ranks = $more{ranks} || 2;
    my $make = $more{make} || "MPI_Win_allocate(16 * sizeof(int), sizeof(int), MPI_INFO_NULL, $w, &base, &win);\nfor (int k = 0; k < 16; k++) base[k] = k;\nMPI_Barrier($w);\n";
    add("epoch-$name", $ranks, $codes, "MPI_Win win;\nint *base;\n$make$text\n" . ($more{free} // 'MPI_Win_free(&win);'));
}
my $put = 'MPI_Put(a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);';
my $get = 'MPI_Get(b, 1, MPI_INT, 1, 0, 1, MPI_INT, win);';
my $sum = 'MPI_Accumulate(a, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);';
my $lock = 'MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);';
my $shared = 'MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);';
my $unlock = 'MPI_Win_unlock(1, win);';
my $fence = 'MPI_Win_fence(0, win);';
my $all = 'MPI_Win_lock_all(0, win);';
my $none = 'MPI_Win_unlock_all(win);';

# A window is not to be locked while it is exposed, nor exposed while it is locked.
my $two_groups = "MPI_Group everybody, peer;\nint other = rank == 0;\nMPI_Comm_group($w, &everybody);\nMPI_Group_incl(everybody, 1, &other, &peer);\n";
my $two_groups_free = "MPI_Group_free(&peer);\nMPI_Group_free(&everybody);\nMPI_Win_free(&win);";
for my $call (['exclusive', $lock, $unlock], ['shared', $shared, $unlock], ['all', $all, $none]) {
    my ($name, $begin, $end) = @$call;
    epoch("lock-exposed-$name", 'B005', "${two_groups}if (rank == 0) {\n    MPI_Win_start(peer, 0, win);\n    MPI_Barrier($w);\n    $put\n    MPI_Barrier($w);\n    MPI_Win_complete(win);\n"
        . "    \@R{MPI_Barrier($w);}\n} else if (rank == 1) {\n    MPI_Win_post(peer, 0, win);\n    MPI_Barrier($w);\n    MPI_Barrier($w);\n    MPI_Win_wait(win);\n    \@R{MPI_Barrier($w);}\n"
        . "} else {\n    MPI_Barrier($w);\n    \@R{MPI_Barrier($w);\n    MPI_Barrier($w);}\n    $begin \@!\n    $end\n    \@W{MPI_Barrier($w);}\n}", ranks => 3, free => $two_groups_free);
    epoch("post-locked-$name", 'B005', "${two_groups}if (rank == 0) {\n    MPI_Barrier($w);\n    MPI_Barrier($w);\n    MPI_Win_start(peer, 0, win);\n    $put\n    MPI_Win_complete(win);\n"
        . "} else if (rank == 1) {\n    MPI_Barrier($w);\n    \@R{MPI_Barrier($w);}\n    MPI_Win_post(peer, 0, win); \@!\n    \@W{MPI_Barrier($w);}\n    MPI_Win_wait(win);\n"
        . "} else {\n    $begin\n    MPI_Barrier($w);\n    \@R{$end}\n    MPI_Barrier($w);\n    \@W{$end}\n}", ranks => 3, free => $two_groups_free);
}

for my $call (['Put', $put], ['Get', $get], ['Accumulate', $sum], ['Fetch_and_op', 'MPI_Fetch_and_op(a, b, MPI_INT, 1, 0, MPI_SUM, win);'],
    ['Compare_and_swap', 'MPI_Compare_and_swap(a, a + 1, b, MPI_INT, 1, 0, win);'], ['Get_accumulate', 'MPI_Get_accumulate(a, 1, MPI_INT, b, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);'],
    ['Rput', 'MPI_Rput(a, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &req);', 'MPI_Wait(&req, MPI_STATUS_IGNORE);'], ['Rget', 'MPI_Rget(b, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &req);', 'MPI_Wait(&req, MPI_STATUS_IGNORE);'],
    ['Raccumulate', 'MPI_Raccumulate(a, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win, &req);', 'MPI_Wait(&req, MPI_STATUS_IGNORE);']) {
    my ($name, $text, $wait) = @$call;
    $wait //= '';
    epoch("none-$name", 'B004|M009', "if (rank == 0) {\n    \@R{$lock}\n    $text \@!\n    \@R{$wait\n    $unlock}\n}");
    epoch("after-unlock-$name", 'B004|M009', "if (rank == 0) {\n    $lock\n    \@W{$unlock}\n    $text \@!\n    \@R{$wait\n    $unlock}\n}");
    epoch("other-target-$name", 'B004|M009', "if (rank == 0) {\n    MPI_Win_lock(MPI_LOCK_SHARED, \@W{0}\@R{1}, 0, win);\n    $text \@!\n    \@R{$wait}\n    MPI_Win_unlock(\@W{0}\@R{1}, win);\n}");
    epoch("beyond-$name", 'B006', "if (rank == 0) {\n    $lock\n    " . ($text =~ s/1, 0, /1, \@W{16}\@R{15}, /r) . " \@!\n    $wait\n    $unlock\n}");
    epoch("target-rank-$name", 'M009', "if (rank == 0) {\n    $all\n    " . ($text =~ s/\b1, 0, /\@W{2}\@R{1}, 0, /r) . " \@!\n    $wait\n    $none\n}");
    epoch("negative-place-$name", 'M009', "if (rank == 0) {\n    $lock\n    " . ($text =~ s/1, 0, /1, \@W{-1}\@R{1}, /r) . " \@!\n    $wait\n    $unlock\n}");
    epoch("freed-$name", 'M009', "MPI_Win old = win;\n\@W{MPI_Win_free(&win);}\nif (rank == 0) {\n    \@R{$lock}\n    " . ($text =~ s/\bwin\b/old/r) . " \@!\n    \@R{$wait\n    $unlock}\n}", free => '@R{MPI_Win_free(&win);}');
    epoch("request-in-fence-$name", 'B004|M009', "\@W{$fence}\nif (rank == 0) {\n    \@R{$lock}\n    $text \@!\n    $wait\n    \@R{$unlock}\n}\n\@W{$fence}") if $name =~ /^R/;
    epoch("unlock-before-wait-$name", 'L008|L001|X006|B001', "if (rank == 0) {\n    $lock\n    $text \@!\n    \@R{$wait}\n    $unlock\n}") if $name =~ /^R/;
}
# Epochs begun and not ended, ended and not begun, of two kinds at once
epoch('lock-never-unlocked', 'B005|M009|B004|D001', "if (rank == 0) {\n    $lock \@!\n    $put\n    \@R{$unlock}\n}");
epoch('unlock-alone', 'B005|M009|B004', "if (rank == 0) {\n    \@R{$lock\n    $put}\n    $unlock \@!\n}");
epoch('unlock-other', 'B005|M009|B004', "if (rank == 0) {\n    $lock\n    $put\n    MPI_Win_unlock(\@W{0}\@R{1}, win); \@!\n}");
epoch('lock-twice', 'B005|M009|B004', "if (rank == 0) {\n    $lock\n    \@W{$lock} \@!\n    $put\n    $unlock\n}");
epoch('lock-all-and-lock', 'B005|M009|B004', "if (rank == 0) {\n    $all\n    \@W{$lock} \@!\n    $put\n    \@W{$unlock}\n    $none\n}");
epoch('lock-all-by-unlock', 'B005|M009|B004', "if (rank == 0) {\n    $all\n    $put\n    \@W{$unlock}\@R{$none} \@!\n}");
epoch('lock-by-unlock-all', 'B005|M009|B004', "if (rank == 0) {\n    $lock\n    $put\n    \@W{$none}\@R{$unlock} \@!\n}");
epoch('flush-alone', 'B005|M009|B004', "if (rank == 0) {\n    \@R{$lock\n    $put}\n    MPI_Win_flush(1, win); \@!\n    \@R{$unlock}\n}");
epoch('flush-in-fence', 'B005|M009|B004', "$fence\nif (rank == 0) $put\n\@W{MPI_Win_flush_all(win);} \@!\n$fence");
epoch('flush-local-other', 'B005|M009|B004', "if (rank == 0) {\n    $lock\n    $put\n    MPI_Win_flush_local(\@W{0}\@R{1}, win); \@!\n    $unlock\n}");
epoch('fence-in-lock', 'B005|M009|B004|D001', "if (rank == 0) {\n    $lock\n    $put\n    \@R{$unlock}\n}\n$fence \@!\n\@W{if (rank == 0) $unlock}");
epoch('lock-in-fence', 'B005|M009|B004', "$fence\nif (rank == 0) $put\n\@W{if (rank == 0) { $lock $unlock }} \@!\n$fence");
epoch('fence-missing-at-end', 'B004|B005|M009|B003', "$fence\nif (rank == 0) $put\n\@R{$fence}", free => 'MPI_Win_free(&win); @!');
epoch('fence-missing-one', 'M001|M010|D001|B005', "$fence\nif (rank == 0) $put\n\@W{if (rank == 0)} $fence \@!");
epoch('fence-nosucceed-then-put', 'B004|M009|B005', "$fence\nif (rank == 0) $put\nMPI_Win_fence(\@W{MPI_MODE_NOSUCCEED}\@R{0}, win); \@!\nif (rank == 0) $sum \@!\nMPI_Win_fence(MPI_MODE_NOSUCCEED, win);");
epoch('fence-noprecede-after-put', 'B004|M009|B005', "$fence\nif (rank == 0) $put\nMPI_Win_fence(\@W{MPI_MODE_NOPRECEDE}\@R{0}, win); \@!\n$fence");
epoch('fence-noput', 'B004|M009|B005|B003', "MPI_Win_fence(\@W{MPI_MODE_NOPUT}\@R{0}, win); \@!\nif (rank == 0) $put \@!\n$fence");
epoch('fence-nostore', 'B004|M009|B005|B003', "$fence\nbase[3] = 4; \@!\nMPI_Win_fence(\@W{MPI_MODE_NOSTORE}\@R{0}, win); \@!\n$fence");
epoch('fence-noprecede-differs', 'B004|M009|B005', "MPI_Win_fence(\@W{rank ? MPI_MODE_NOPRECEDE : 0}\@R{MPI_MODE_NOPRECEDE}, win); \@!\nif (rank == 0) $put\n$fence");
epoch('lock-nocheck', 'B004|M009|B005|B003', "if (rank == 0) {\n    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, \@W{MPI_MODE_NOCHECK}\@R{0}, win); \@!\n    $sum \@!\n    $unlock\n} else {\n    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win); \@!\n    base[0]++; \@!\n    $unlock\n}");
epoch('lock-kind', 'M009', "if (rank == 0) {\n    MPI_Win_lock(\@W{77}\@R{MPI_LOCK_SHARED}, 1, 0, win); \@!\n    $put\n    $unlock\n}");
epoch('lock-assert', 'M009', "if (rank == 0) {\n    MPI_Win_lock(MPI_LOCK_SHARED, 1, \@W{12345}\@R{0}, win); \@!\n    $put\n    $unlock\n}");
epoch('lock-rank', 'M009', "if (rank == 0) {\n    MPI_Win_lock(MPI_LOCK_SHARED, \@W{2}\@R{1}, 0, win); \@!\n    $put\n    $unlock\n}");
epoch('free-in-lock', 'B004|M009|B005', "if (rank == 0) {\n    $lock \@!\n    $put\n}\n\@R{if (rank == 0) $unlock}\nMPI_Win_free(&win); \@!", free => '');
epoch('free-in-exposure', 'B004|M009|B005|D001', "MPI_Group every, one;\nMPI_Comm_group($w, &every);\nMPI_Group_incl(every, 1, (int[]){rank ^ 1}, &one);\nif (rank == 1) {\n    MPI_Win_post(one, 0, win); \@!\n    \@R{MPI_Win_wait(win);}\n} else {\n    MPI_Win_start(one, 0, win);\n    $put\n    MPI_Win_complete(win);\n}\nMPI_Group_free(&one);\nMPI_Group_free(&every);\nMPI_Win_free(&win); \@!", free => '');
epoch('free-missing-one', 'D001|M010|L007|X008', "$fence", free => 'if (rank == 0@R{ || 1}) MPI_Win_free(&win); @!');

# Post, start, complete, wait
my $groups = "MPI_Group every, one;\nMPI_Comm_group($w, &every);\nMPI_Group_incl(every, 1, (int[]){rank ^ 1}, &one);\n";
my $groups_free = "MPI_Group_free(&one);\nMPI_Group_free(&every);";
sub pscw { my ($name, $codes, $zero, $one, %more) = @_; epoch("pscw-$name", $codes, "${groups}if (rank == 0) {\n    $zero\n} else if (rank == 1) {\n    $one\n}\n$groups_free", %more) }
my ($post, $wait, $start, $complete) = ('MPI_Win_post(one, 0, win);', 'MPI_Win_wait(win);', 'MPI_Win_start(one, 0, win);', 'MPI_Win_complete(win);');
pscw('start-missing', 'B004|B005|M009|D001', "\@R{$start}\n    $put \@!\n    \@R{$complete}", "\@R{$post\n    $wait}");
pscw('complete-missing', 'B004|B005|M009|D001', "$start \@!\n    $put\n    \@R{$complete}", "$post\n    $wait \@!");
pscw('wait-missing', 'B004|B005|M009|D001', "$start\n    $put\n    $complete", "$post \@!\n    \@R{$wait}");
pscw('post-missing', 'B004|B005|M009|D001', "$start \@!\n    $put\n    $complete \@!", "\@R{$post\n    $wait}");
pscw('wait-alone', 'B004|B005|M009', "\@R{$start\n    $complete}", "\@R{$post}\n    $wait \@!");
pscw('complete-alone', 'B004|B005|M009', "\@R{$start\n    $put}\n    $complete \@!", "\@R{$post\n    $wait}");
pscw('post-twice', 'B004|B005|M009', "$start\n    $put\n    $complete", "$post\n    \@W{$post} \@!\n    $wait");
pscw('start-twice', 'B004|B005|M009', "$start\n    \@W{$start} \@!\n    $put\n    $complete", "$post\n    $wait");
pscw('target-not-in-group', 'B004|B005|M009', "$start\n    MPI_Put(a, 1, MPI_INT, \@W{0}\@R{1}, 0, 1, MPI_INT, win); \@!\n    $complete", "$post\n    $wait");
pscw('wrong-group', 'B004|B005|M009|D001', "$start \@!\n    $put\n    $complete \@!", "MPI_Win_post(\@W{every}\@R{one}, 0, win); \@!\n    $wait \@!");
pscw('put-after-complete', 'B004|B005|M009', "$start\n    $put\n    $complete\n    \@W{$put} \@!", "$post\n    $wait");
pscw('target-writes', 'B003', "$start\n    $put \@!\n    $complete", "$post\n    base[\@W{0}\@R{4}] = 9; \@!\n    $wait");
pscw('target-reads', 'B003', "$start\n    $put \@!\n    $complete", "$post\n    \@W{i = base[0];} \@!\n    $wait\n    \@R{i = base[0];}\n    printf(\"%d\\n\", i);");
pscw('origin-writes', 'B001|B003', "$start\n    $put \@!\n    \@W{a[0] = 5;} \@!\n    $complete\n    \@R{a[0] = 5;}", "$post\n    $wait");
pscw('origin-reads', 'B001|B003', "$start\n    $get \@!\n    \@W{i = b[0];} \@!\n    $complete\n    \@R{i = b[0];}\n    printf(\"%d\\n\", i);", "$post\n    $wait");
pscw('crossed', 'D001', "$post\n    \@W{$wait} \@!\n    $start\n    $complete\n    \@R{$wait}", "$post\n    \@W{$wait} \@!\n    $start\n    $complete\n    \@R{$wait}");

# Buffers of the origin
for my $call (['put', $put, 'a[0] = 5;'], ['get', $get, 'i = b[0];'], ['get-store', $get, 'b[0] = 5;'], ['accumulate', $sum, 'a[0] = 5;'], ['fetch', 'MPI_Fetch_and_op(a, b, MPI_INT, 1, 0, MPI_SUM, win);', 'i = b[0];'],
    ['fetch-origin', 'MPI_Fetch_and_op(a, b, MPI_INT, 1, 0, MPI_SUM, win);', 'a[0] = 8;'], ['swap', 'MPI_Compare_and_swap(a, a + 1, b, MPI_INT, 1, 0, win);', 'a[1] = 8;'], ['swap-result', 'MPI_Compare_and_swap(a, a + 1, b, MPI_INT, 1, 0, win);', 'i = b[0];']) {
    my ($name, $text, $touch) = @$call;
    epoch("origin-lock-$name", 'B001|B003', "if (rank == 0) {\n    $lock\n    $text \@!\n    \@W{$touch} \@!\n    $unlock\n    \@R{$touch}\n}\nif (i == 77) printf(\"%d\\n\", i);");
    epoch("origin-flush-$name", 'B001|B003', "if (rank == 0) {\n    $all\n    $text \@!\n    \@R{MPI_Win_flush(1, win);}\n    $touch \@!\n    $none\n}\nif (i == 77) printf(\"%d\\n\", i);");
    epoch("origin-flush-other-$name", 'B001|B003', "if (rank == 0) {\n    $all\n    $text \@!\n    MPI_Win_flush(\@W{0}\@R{1}, win);\n    $touch \@!\n    $none\n}\nif (i == 77) printf(\"%d\\n\", i);");
    epoch("origin-fence-$name", 'B001|B003', "$fence\nif (rank == 0) {\n    $text \@!\n    \@W{$touch} \@!\n}\n$fence\n\@R{if (rank == 0) { $touch }}\nif (i == 77) printf(\"%d\\n\", i);");
    epoch("origin-local-$name", 'B001|B003', "if (rank == 0) {\n    $all\n    $text \@!\n    \@R{MPI_Win_flush_local(1, win);}\n    $touch \@!\n    $none\n}\nif (i == 77) printf(\"%d\\n\", i);");
}
epoch('origin-sent', 'B001|B002|B003', "if (rank == 0) {\n    $lock\n    $get \@!\n    \@W{MPI_Send(b, 1, MPI_INT, 1, 1, $w);} \@!\n    $unlock\n    \@R{MPI_Send(b, 1, MPI_INT, 1, 1, $w);}\n} else MPI_Recv(a, 1, MPI_INT, 0, 1, $w, $s);");
epoch('origin-reduced', 'B001|B002|B003', "$fence\nif (rank == 0) $get \@!\n\@R{$fence}\nMPI_Allreduce(b, a, 1, MPI_INT, MPI_SUM, $w); \@!\n$fence");
epoch('origin-two-gets', 'B002|B001|B003', "if (rank == 0) {\n    $lock\n    $get \@!\n    MPI_Get(b\@R{ + 1}, 1, MPI_INT, 1, 2, 1, MPI_INT, win); \@!\n    $unlock\n}");
epoch('origin-get-and-put', 'B002|B001|B003', "if (rank == 0) {\n    $lock\n    $get \@!\n    MPI_Put(b\@R{ + 1}, 1, MPI_INT, 1, 2, 1, MPI_INT, win); \@!\n    $unlock\n}");
epoch('origin-overlap-part', 'B002|B001|B003', "if (rank == 0) {\n    $lock\n    MPI_Get(b, 4, MPI_INT, 1, 0, 4, MPI_INT, win); \@!\n    MPI_Get(b + \@W{3}\@R{4}, 4, MPI_INT, 1, 4, 4, MPI_INT, win); \@!\n    $unlock\n}");
epoch('origin-is-window', 'B003|B001|B002', "if (rank == 0) {\n    $all\n    MPI_Put(base, 1, MPI_INT, \@W{0, 0}\@R{0, 1}, 1, MPI_INT, win); \@!\n    $none\n}");
epoch('origin-irecv-put', 'B001|B002|B003', "if (rank == 0) {\n    MPI_Irecv(a, 1, MPI_INT, 1, 1, $w, &req); \@!\n    \@R{MPI_Wait(&req, $s);}\n    $lock\n    $put \@!\n    $unlock\n    MPI_Wait(&req, $s);\n} else MPI_Send(b, 1, MPI_INT, 0, 1, $w);");
epoch('origin-on-stack', 'B001|B003', "if (rank == 0) {\n    $lock\n    { int *gone = malloc(sizeof *gone); *gone = 3; MPI_Put(gone, 1, MPI_INT, 1, 0, 1, MPI_INT, win); \@!\n    \@R{MPI_Win_flush(1, win);}\n    free(gone); } \@!\n    $unlock\n}");
epoch('rget-before-wait', 'B001|B003', "if (rank == 0) {\n    $lock\n    MPI_Rget(b, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &req); \@!\n    \@R{MPI_Wait(&req, $s);}\n    i = b[0]; \@!\n    \@W{MPI_Wait(&req, $s);}\n    $unlock\n    printf(\"%d\\n\", i);\n}");
epoch('rput-wait-is-local', 'B003', "if (rank == 0) {\n    $all\n    MPI_Rput(a, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &req); \@!\n    MPI_Wait(&req, $s);\n    \@R{MPI_Win_flush(1, win);}\n    $get \@!\n    $none\n}");
epoch('rput-then-signal', 'B003', "$all\nif (rank == 0) {\n    MPI_Rput(a, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &req); \@!\n    MPI_Wait(&req, $s);\n    \@R{MPI_Win_flush(1, win);}\n    MPI_Send(a, 0, MPI_INT, 1, 1, $w);\n} else {\n    MPI_Recv(b, 0, MPI_INT, 0, 1, $w, $s);\n    MPI_Win_sync(win);\n    printf(\"%d\\n\", base[0]); \@!\n}\n$none");
epoch('flush-local-then-signal', 'B003', "$all\nif (rank == 0) {\n    $put \@!\n    MPI_Win_flush\@W{_local}(1, win);\n    MPI_Send(a, 0, MPI_INT, 1, 1, $w);\n} else {\n    MPI_Recv(b, 0, MPI_INT, 0, 1, $w, $s);\n    MPI_Win_sync(win);\n    printf(\"%d\\n\", base[0]); \@!\n}\n$none");
epoch('lock-all-local-load', 'B003', "$all\nif (rank == 0) $put \@!\nelse \@W{printf(\"%d\\n\", base[0]);}\@R{printf(\"%d\\n\", base[4]);} \@!\n$none");
epoch('lock-all-local-store', 'B003', "$all\nif (rank == 0) $get \@!\nelse base[\@W{0}\@R{4}] = 2; \@!\n$none");
epoch('barrier-not-flush', 'B003', "$all\nif (rank == 0) $put \@!\n\@R{MPI_Win_flush_all(win);}\nMPI_Barrier($w);\nif (rank == 1) { MPI_Win_sync(win); printf(\"%d\\n\", base[0]); } \@!\n$none");
epoch('get-of-put', 'B003', "if (rank == 0) {\n    $lock\n    $put \@!\n    \@R{MPI_Win_flush(1, win);}\n    $get \@!\n    $unlock\n}");
epoch('fence-get-of-put', 'B003', "$fence\nif (rank == 0) {\n    $put \@!\n}\n\@R{$fence}\nif (rank == 0) $get \@!\n$fence");
epoch('two-puts-same-origin', 'B003', "$fence\nif (rank == 0) {\n    $put \@!\n    MPI_Put(a + 1, 1, MPI_INT, 1, \@W{0}\@R{1}, 1, MPI_INT, win); \@!\n}\n$fence");
epoch('two-ops', 'B003', "$fence\nif (rank != 1) MPI_Accumulate(a, 1, MPI_INT, 1, 0, 1, MPI_INT, \@W{rank ? MPI_PROD : MPI_SUM}\@R{MPI_SUM}, win); \@!\n$fence", ranks => 3);
epoch('two-types', 'B003', "$fence\nif (rank == 0) MPI_Accumulate(a, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win); \@!\nif (rank == 2) MPI_Accumulate(a, 1, \@W{MPI_UNSIGNED}\@R{MPI_INT}, 1, 0, 1, \@W{MPI_UNSIGNED}\@R{MPI_INT}, MPI_SUM, win); \@!\n$fence", ranks => 3);
epoch('acc-and-put', 'B003', "$fence\nif (rank == 0) $sum \@!\nif (rank == 2) \@W{$put}\@R{$sum} \@!\n$fence", ranks => 3);
epoch('two-shared-locks', 'B003', "if (rank != 1) {\n    \@W{$shared}\@R{$lock}\n    $put \@!\n    $unlock\n}", ranks => 3);
epoch('fetch-not-atomic', 'B003', "if (rank != 1) {\n    $shared\n    \@W{$get} \@!\n    \@W{MPI_Win_flush(1, win);\n    a[0] = b[0] + 1;\n    $put}\@R{MPI_Fetch_and_op(a, b, MPI_INT, 1, 0, MPI_SUM, win);} \@!\n    $unlock\n}", ranks => 3);
epoch('put-types', 'M009|M008|M004', "$fence\nif (rank == 0) MPI_Put(a, 1, MPI_INT, 1, 0, 1, \@W{MPI_FLOAT}\@R{MPI_INT}, win); \@!\n$fence");
epoch('put-counts', 'M009|M008|M005|M007', "$fence\nif (rank == 0) MPI_Put(a, \@W{2}\@R{1}, MPI_INT, 1, 0, 1, MPI_INT, win); \@!\n$fence");
epoch('put-uncommitted', 'M009', "MPI_Datatype t;\nMPI_Type_contiguous(2, MPI_INT, &t);\n\@R{MPI_Type_commit(&t);}\n$fence\nif (rank == 0) MPI_Put(a, 1, t, 1, 0, 2, MPI_INT, win); \@!\n$fence\nMPI_Type_free(&t);");
epoch('unit-in-bytes', 'B006', "$fence\nif (rank == 0) MPI_Put(a, 1, MPI_INT, 1, \@W{15 * sizeof(int)}\@R{15}, 1, MPI_INT, win); \@!\n$fence");

# Windows over memory of the program, dynamic and shared windows
my $created = "static int own[8];\nbase = own;\nMPI_Win_create(own, sizeof own, sizeof *own, MPI_INFO_NULL, $w, &win);\n";
epoch('create-size', 'B006|M011', "$fence\nif (rank == 0) $put\n$fence\nif (base[0] == 77) printf(\"%d\\n\", i);", make => "int *own = calloc(8, sizeof *own);\nbase = own;\nMPI_Win_create(own, \@W{16}\@R{8} * sizeof *own, sizeof *own, MPI_INFO_NULL, $w, &win); \@!\n", free => "MPI_Win_free(&win);\nfree(own);");
epoch('create-negative', 'M009', "$fence", make => "static int own[8];\nbase = own;\nMPI_Win_create(base, \@W{-8}\@R{8}, 4, MPI_INFO_NULL, $w, &win); \@!\n");
epoch('create-unit', 'M009', "$fence", make => "static int own[8];\nbase = own;\nMPI_Win_create(base, 8, \@W{0}\@R{4}, MPI_INFO_NULL, $w, &win); \@!\n");
epoch('create-memory-freed', 'B003|B001|B006|X001|M009', "\@W{free(own);} \@!\nMPI_Barrier($w);\nif (rank == 0) {\n    $lock\n    $put \@!\n    $unlock\n}", make => "int *own = calloc(8, sizeof *own);\nbase = own;\nMPI_Win_create(own, 8 * sizeof *own, sizeof *own, MPI_INFO_NULL, $w, &win);\n", free => "MPI_Win_free(&win);\n\@R{free(own);}");
my $dynamic = "MPI_Win_create_dynamic(MPI_INFO_NULL, $w, &win);\nstatic int own[8];\nbase = own;\nMPI_Aint at, there;\nMPI_Get_address(own, &at);\nMPI_Sendrecv(&at, 1, MPI_AINT, rank ^ 1, 0, &there, 1, MPI_AINT, rank ^ 1, 0, $w, $s);\n";
my $dput = 'MPI_Put(a, 1, MPI_INT, 1, there, 1, MPI_INT, win);';
epoch('dynamic-not-attached', 'B006|M009|B004', "\@R{MPI_Win_attach(win, own, sizeof own);\nMPI_Barrier($w);}\nif (rank == 0) {\n    $lock\n    $dput \@!\n    $unlock\n}\n\@R{MPI_Barrier($w);\nMPI_Win_detach(win, own);}", make => $dynamic);
epoch('dynamic-detached-early', 'B006|M009|B004|B003', "MPI_Win_attach(win, own, sizeof own);\nMPI_Barrier($w);\n\@W{MPI_Win_detach(win, own);\nMPI_Barrier($w);} \@!\nif (rank == 0) {\n    $lock\n    $dput \@!\n    $unlock\n}\n\@R{MPI_Barrier($w);\nMPI_Win_detach(win, own);}", make => $dynamic);
epoch('dynamic-attached-twice', 'M009', "MPI_Win_attach(win, own, 16);\nMPI_Win_attach(win, own\@R{ + 4}, 16); \@!\nMPI_Win_detach(win, own);\n\@R{MPI_Win_detach(win, own + 4);}", make => $dynamic);
epoch('dynamic-detached-twice', 'M009', "MPI_Win_attach(win, own, sizeof own);\nMPI_Win_detach(win, own);\n\@W{MPI_Win_detach(win, own);} \@!", make => $dynamic);
epoch('dynamic-detached-middle', 'M009', "MPI_Win_attach(win, own, sizeof own);\nMPI_Win_detach(win, own\@W{ + 1}); \@!", make => $dynamic);
epoch('dynamic-displacement', 'B006|M009|B004', "MPI_Win_attach(win, own, sizeof own);\nMPI_Barrier($w);\nif (rank == 0) {\n    $lock\n    MPI_Put(a, 1, MPI_INT, 1, \@W{0}\@R{there}, 1, MPI_INT, win); \@!\n    $unlock\n}\nMPI_Barrier($w);\nMPI_Win_detach(win, own);", make => $dynamic);
epoch('dynamic-too-long', 'B006|M009|B004', "MPI_Win_attach(win, own, \@W{4}\@R{8});\nMPI_Barrier($w);\nif (rank == 0) {\n    $lock\n    MPI_Put(a, 2, MPI_INT, 1, there, 2, MPI_INT, win); \@!\n    $unlock\n}\nMPI_Barrier($w);\nMPI_Win_detach(win, own);", make => $dynamic);
epoch('attach-other-kind', 'M009', "\@W{MPI_Win_attach(win, a, sizeof a);} \@!");
my $sharedwin = "MPI_Win_allocate_shared(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, $w, &base, &win);\nMPI_Aint bytes;\nint unit, *other;\nMPI_Win_shared_query(win, rank ^ 1, &bytes, &unit, &other);\nbase[0] = 0;\nMPI_Barrier($w);\n";
epoch('shared-no-order', 'B003', "\@R{$all}\nif (rank == 0) other[0] = 5; \@!\n\@R{MPI_Win_sync(win);\nMPI_Barrier($w);\nMPI_Win_sync(win);}\nif (rank == 1) printf(\"%d\\n\", base[0]); \@!\n\@R{$none}", make => $sharedwin);
epoch('shared-two-writers', 'B003', "$fence\nif (rank == 0) other[\@W{0}\@R{1}] = 5; \@!\nif (rank == 1) base[0] = 6; \@!\n$fence", make => $sharedwin);
epoch('shared-flag', 'B003', "$all\nif (rank == 0) {\n    other[1] = 5; \@!\n    MPI_Win_sync(win);\n    \@R{MPI_Send(a, 0, MPI_INT, 1, 1, $w);}\n} else {\n    \@R{MPI_Recv(b, 0, MPI_INT, 0, 1, $w, $s);\n    MPI_Win_sync(win);}\n    printf(\"%d\\n\", base[1]); \@!\n}\n$none", make => $sharedwin);
epoch('shared-query-rank', 'M009', "MPI_Win_shared_query(win, \@W{5}\@R{0}, &bytes, &unit, &other); \@!", make => $sharedwin);
epoch('shared-query-other-kind', 'M009', "MPI_Aint bytes;\nint unit, *other;\n\@W{MPI_Win_shared_query(win, 0, &bytes, &unit, &other);} \@!", make => $dynamic);
epoch('shared-query-not-shared', 'X005', "MPI_Aint bytes;\nint unit, *other;\nMPI_Win_shared_query(win, rank ^ 1, &bytes, &unit, &other);\n\@R{if (bytes)} *other = 3; \@!");
epoch('shared-put-and-store', 'B003', "$fence\nif (rank == 0) $put \@!\nif (rank == 1) base[\@W{0}\@R{2}] = 6; \@!\n$fence", make => $sharedwin);
1;
