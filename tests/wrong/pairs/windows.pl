# Two accesses to one place of a window, or to the buffer of a one-sided call, by what is done, what orders them, where they overlap and
# by which type. In the right twin they are ordered, or they lie apart. Rank 0 has the first access, rank 1 the window, rank 2 or 1 the second.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my $fence = 'MPI_Win_fence(0, win);';
# name => [count and type at the target, elements at the origin, where a second access overlaps at its last place, where it lies apart]
my %shapes = (one => ['1, MPI_INT', 1, 0, 1], run => ['4, MPI_INT', 4, 3, 4], gaps => ['1, gaps', 2, 2, 1]);
my %writes = map { $_ => 1 } qw(put sum fetch store recv);
my %atomic = map { $_ => 1 } qw(sum fetch);
my @remote = qw(put get sum fetch);
my @local = qw(load store send recv);

# The call; with what its partner, rank 2, does where it is a message.
sub access {
    my ($what, $shape, $at) = @_;
    my ($type, $n) = @{$shapes{$shape}};
    return {
        put => "MPI_Put(a, $n, MPI_INT, 1, $at, $type, win);", get => "MPI_Get(b, $n, MPI_INT, 1, $at, $type, win);",
        sum => "MPI_Accumulate(a, $n, MPI_INT, 1, $at, $type, MPI_SUM, win);",
        fetch => "MPI_Get_accumulate(a, $n, MPI_INT, b, $n, MPI_INT, 1, $at, $type, MPI_SUM, win);",
        load => "printf(\"%d\\n\", base[$at]);", store => "base[$at] = 7;",
        send => "MPI_Send(base + $at, 1, MPI_INT, 2, 9, $w);", recv => "MPI_Recv(base + $at, 1, MPI_INT, 2, 9, $w, &st);",
    }->{$what};
}

sub partner {
    my ($what) = @_;
    return $what eq 'send' ? "if (rank == 2) MPI_Recv(b + 200, 1, MPI_INT, 1, 9, $w, &st);\n"
        : $what eq 'recv' ? "if (rank == 2) MPI_Send(b + 200, 1, MPI_INT, 1, 9, $w);\n" : '';
}

sub window {
    my ($name, $codes, $text) = @_;
    my ($type, $free) = $name =~ /gaps/
        ? ("MPI_Datatype gaps;\nMPI_Type_vector(2, 1, 2, MPI_INT, &gaps);\nMPI_Type_commit(&gaps);\n", "MPI_Type_free(&gaps);\n") : ('', '');
    add($name, 3, $codes, "MPI_Win win;\nint *base;\nMPI_Win_allocate(16 * sizeof(int), sizeof(int), MPI_INFO_NULL, $w, &base, &win);\n"
        . "for (int k = 0; k < 16; k++) base[k] = k;\nMPI_Barrier($w);\n$type$text${free}MPI_Win_free(&win);");
}

sub lock_at { my ($kind) = @_; return "MPI_Win_lock(MPI_LOCK_$kind, 1, 0, win);" }
my $unlock = 'MPI_Win_unlock(1, win);';

for my $first (@remote) {
    for my $second (@remote, @local) {
        next if !($writes{$first} || $writes{$second}) || ($atomic{$first} && $atomic{$second});
        my $far = grep { $_ eq $second } @remote;
        my $who = $far ? 2 : 1;
        for my $shape (sort keys %shapes) {
            my (undef, undef, $last, $apart) = @{$shapes{$shape}};
            my $x = access($first, $shape, 0) . " \@!\n";
            my $y = access($second, $far ? 'one' : $shape, $last) . " \@!\n";
            my $beside = access($second, $far ? 'one' : $shape, $apart) . "\n";
            my $other = partner($second);
            my $pair = "$first-$second-$shape";
            window("fence-order-$pair", 'B003', "$fence\nif (rank == 0) {\n$x}\n\@R{$fence}\nif (rank == $who) {\n$y}\n$other$fence\n");
            window("fence-apart-$pair", 'B003', "$fence\nif (rank == 0) {\n$x}\nif (rank == $who) {\n\@W{$y}\@R{$beside}}\n$other$fence\n") if $far;
            my ($both, $one) = map { "MPI_Group_incl(all, $_, &to);\nMPI_Win_post(to, 0, win);\nMPI_Group_free(&to);\n" }
                '2, (int[]){0, 2}', '1, (int[]){0}';
            my $begin = "MPI_Group all, to;\nMPI_Comm_group($w, &all);\n";
            my $start = "MPI_Group_incl(all, 1, (int[]){1}, &to);\nMPI_Win_start(to, 0, win);\nMPI_Group_free(&to);\n";
            my $given = $far
                ? "\@W{$both}\@R{${one}MPI_Win_wait(win);\nMPI_Group_incl(all, 1, (int[]){2}, &to);\nMPI_Win_post(to, 0, win);\nMPI_Group_free(&to);\n}MPI_Win_wait(win);\n"
                : "$one\@W{$y}MPI_Win_wait(win);\n\@R{$y}";
            my $taken = $far ? "if (rank == 2) {\n$start${y}MPI_Win_complete(win);\n}\n" : $other;
            window("pscw-order-$pair", 'B003', "${begin}if (rank == 0) {\n$start${x}MPI_Win_complete(win);\n}\n"
                . "if (rank == 1) {\n$given}\n${taken}MPI_Group_free(&all);\n");
            my ($shared, $exclusive) = map { lock_at($_) } qw(SHARED EXCLUSIVE);
            # Who has the lock first decides what is read: it is not printed.
            (my $unprinted = $y) =~ s/printf\("%d\\n", (.*?)\);/flag += $1;/;
            window("lock-kind-$pair", 'B003', "if (rank == 0 || rank == $who) {\n\@W{$shared}\@R{$exclusive}\nif (rank == 0) {\n$x} else {\n$unprinted}\n$unlock\n}\n$other")
                if !$other;
            window("lock-barrier-$pair", 'B003', "if (rank == 0) {\n$shared\n$x$unlock\n}\n\@R{MPI_Barrier($w);}\nif (rank == 1) {\n$y}\n$other") if !$far;
            my $token = "MPI_Send(&i, 1, MPI_INT, $who, 5, $w);\n";
            my ($in, $out) = $far ? ("$shared\n", "$unlock\n") : ('', '');
            window("lock-message-$pair", 'B003', "if (rank == 0) {\n$shared\n$x\@W{$token}$unlock\n\@R{$token}}\n"
                . "if (rank == $who) {\nMPI_Recv(&i, 1, MPI_INT, 0, 5, $w, &st);\n$in$y$out}\n$other");
            my $weak = $first eq 'get' ? '' : 'MPI_Win_flush_local(1, win);';
            window("flush-barrier-$pair", 'B003', "MPI_Win_lock_all(0, win);\nif (rank == 0) {\n$x\@W{$weak}\@R{MPI_Win_flush(1, win);}\n}\n"
                . "MPI_Barrier($w);\nMPI_Win_sync(win);\nif (rank == $who) {\n$y}\n${other}MPI_Win_unlock_all(win);\n");
        }
    }
    # The call's own buffer, before the call is complete there.
    my %buffers = (put => 'a', sum => 'a', get => 'b', fetch => 'b');
    my %ends = (fence => ["$fence\n", $fence], lock => ["if (rank == 0) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);\n", "if (rank == 0) $unlock"],
        flush => ["MPI_Win_lock_all(0, win);\n", 'if (rank == 0) MPI_Win_flush(1, win);', "MPI_Win_unlock_all(win);\n"],
        local => ["MPI_Win_lock_all(0, win);\n", 'if (rank == 0) MPI_Win_flush_local(1, win);', "MPI_Win_unlock_all(win);\n"]);
    for my $touch (@local) {
        next if $buffers{$first} eq 'a' && !$writes{$touch};
        for my $end (sort keys %ends) {
            my ($begin, $complete, $last) = @{$ends{$end}};
            my $act = access($touch, 'one', 0) =~ s/base/$buffers{$first}/gr;
            my $other = partner($touch) =~ s/1, 9/0, 9/r;
            my $x = access($first, 'one', 0);
            window("origin-$end-$first-$touch", 'B001|B002', "${begin}if (rank == 0) {\n$x \@!\n}\n\@R{$complete\n}if (rank == 0) {\n$act \@!\n}\n$other\@W{$complete\n}"
                . ($last // ''));
        }
    }
    # Two threads of rank 0.
    for my $second (@remote) {
        next if !($writes{$first} || $writes{$second}) || ($atomic{$first} && $atomic{$second});
        my ($x, $y, $beside) = (access($first, 'one', 0), map { access($second, 'one', $_) =~ s/\ba\b/c/r =~ s/\bb\b/d/r } 0, 1);
        for my $how (qw(apart flush)) {
            my $after = $how eq 'flush' ? "\n    \@R{MPI_Win_flush(1, win);}" : '';
            my $act = $how eq 'apart' ? "\@W{$y \@!\n}\@R{$beside\n}" : "$y \@!\n";
            my ($early, $late) = $how eq 'flush' ? ("\@R{pthread_join(t, NULL);}", "\@W{pthread_join(t, NULL);}") : ('', 'pthread_join(t, NULL);');
            add("thread-$how-$first-$second", 2, 'B003', <<"C", 'whole');
static MPI_Win win;
static int a[4], b[4], c[4], d[4];

static void *first(void *unused)
{
    $x \@!$after
    return unused;
}

int main(int argc, char **argv)
{
    int rank, given, *base;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int k = 0; k < 4; k++) base[k] = a[k] + b[k] + c[k] + d[k];
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        pthread_t t;
        pthread_create(&t, NULL, first, NULL);
        $early
        $act
        $late
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
C
        }
    }
}
1;
