#!/usr/bin/perl
# Wrong programs as a stranger would write them, one error each, and their right twins: collectives, communicators, groups, datatypes,
# operations, topologies. Each must be told by exactly its code and with its line; a right twin must be told nothing.
#
#   tests/wrong/collectives.pl            a sample
#   ALL=1 tests/wrong/collectives.pl      all
#   ALL=1 tests/wrong/collectives.pl RE   those whose name matches; KEEP=FOLDER keeps the programs
use strict;
use warnings;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use JSON::PP;

my $simrun = $ENV{SIMRUN} || 'build/simrun';
my $only   = $ARGV[0] // '';
my $folder = $ENV{KEEP} || tempdir(CLEANUP => 1);
local $ENV{CC} = 'gcc';
make_path($folder);
my @programs;    # [name, codes (alternatives by |), body; '@' at the end of a line marks the wrong call]

# Arguments of each collective: S, R buffers; N, M counts; T, U types; O op; P root; C communicator.
my %calls = (
    Barrier              => 'C',
    Bcast                => 'R, N, T, P, C',
    Reduce               => 'S, R, N, T, O, P, C',
    Allreduce            => 'S, R, N, T, O, C',
    Scan                 => 'S, R, N, T, O, C',
    Exscan               => 'S, R, N, T, O, C',
    Reduce_scatter_block => 'S, R, N, T, O, C',
    Reduce_scatter       => 'S, R, V, T, O, C',
    Gather               => 'S, N, T, R, M, U, P, C',
    Gatherv              => 'S, N, T, R, V, D, U, P, C',
    Scatter              => 'S, N, T, R, M, U, P, C',
    Scatterv             => 'S, V, D, T, R, M, U, P, C',
    Allgather            => 'S, N, T, R, M, U, C',
    Allgatherv           => 'S, N, T, R, V, D, U, C',
    Alltoall             => 'S, N, T, R, M, U, C',
    Alltoallv            => 'S, W, D, T, R, V, D, U, C',
    Alltoallw            => 'S, W, E, X, R, V, E, Y, C',
    Neighbor_allgather   => 'S, N, T, R, M, U, C',
    Neighbor_allgatherv  => 'S, N, T, R, V, D, U, C',
    Neighbor_alltoall    => 'S, N, T, R, M, U, C',
    Neighbor_alltoallv   => 'S, W, D, T, R, V, D, U, C',
    Neighbor_alltoallw   => 'S, W, F, X, R, V, F, Y, C',
);
my %plain = (
    S => 'a', R => 'b', N => 4, M => 4, T => 'MPI_INT', U => 'MPI_INT', O => 'MPI_SUM', P => 0, C => 'comm', V => 'counts', W => 'counts',
    D => 'displs', E => 'bytes', F => 'far', X => 'types', Y => 'types'
);

sub call {
    my ($name, $form, $request, %other) = @_;
    my %values = (%plain, %other);
    my $arguments = join ', ', map { $values{$_} } split /, /, $calls{$name};
    return "MPI_$name($arguments);"                                if $form eq 'blocking';
    return "MPI_I" . lcfirst($name) . "($arguments, &$request);"   if $form eq 'nonblocking';
    return "MPI_${name}_init($arguments, MPI_INFO_NULL, &$request);";
}
# What follows a call; the Start of a persistent one is a place, too.
sub finish {
    my ($form, $request, $mark) = @_;
    $mark //= '';
    return ''                                               if $form eq 'blocking';
    return "MPI_Wait(&$request, MPI_STATUS_IGNORE);"        if $form eq 'nonblocking';
    return "MPI_Start(&$request);$mark\nMPI_Wait(&$request, MPI_STATUS_IGNORE);\nMPI_Request_free(&$request);";
}
sub one { my ($name, $form, %o) = @_; return call($name, $form, 'req', %o) . "\n" . finish($form, 'req') }
# Rank 1 differs.
sub differs {
    my ($name, $form, %o) = @_;
    my ($wrong, $right) = (call($name, $form, 'req', %o), call($name, $form, 'req'));
    return "if (rank == 1)\n$wrong@\nelse\n$right\n" . finish($form, 'req', '@');
}

for my $name (sort keys %calls) {
    my $arguments = $calls{$name};
    my $has = sub { $arguments =~ /\b$_[0]\b/ };
    my $v = $has->('V');
    my $near = $name =~ /^Neighbor/;
    my $setup = $near ? "int period = 1;\nMPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &comm);\n" : '';
    my $end   = $near ? "\nMPI_Comm_free(&comm);" : '';
    for my $form (qw(blocking nonblocking persistent)) {
        my $add = sub {
            my ($error, $codes, $body) = @_;
            push @programs, ["$name $form: $error", $codes, "$setup$body$end"];
        };
        my $right = one($name, $form);
        my $all = sub { my $c = call($name, $form, 'req', @_); "$c@\n" . finish($form, 'req', '@') };
        $add->('right', '', $right);
        $add->('right, twice', '', "$right\n$right");
        $add->('a rank skips it', 'M010|D00[12]', "if (rank != 1) {\n" . call($name, $form, 'req') . "@\n" . finish($form, 'req', '@') . "\n}");
        my $c = call($name, $form, 'req');
        my $f = finish($form, 'req');
        $add->('another order', $form eq 'persistent' ? 'M001|M003|D00[12]' : $name eq 'Allreduce' ? 'M001|M003' : 'M001',
            "if (rank == 1) {\n$c@\n" . finish($form, 'req', '@') . "\nMPI_Allreduce(&rank, &x, 1, MPI_INT, MPI_MAX, comm);@\n} else {\nMPI_Allreduce(&rank, &x, 1, MPI_INT, MPI_MAX, comm);\n$c\n$f\n}");
        $add->('another root', 'M002', differs($name, $form, P => 1)) if $has->('P');
        $add->('another op', 'M003', differs($name, $form, O => 'MPI_MAX')) if $has->('O');
        if ($has->('T') || $has->('X')) {
            my %t = (T => 'MPI_FLOAT', U => 'MPI_FLOAT', X => 'floats', Y => 'floats');
            $add->('another datatype', 'M004|M008', differs($name, $form, %t)) unless $name eq 'Barrier';
            my %d = (T => 'MPI_DOUBLE', U => 'MPI_DOUBLE', X => 'doubles', Y => 'doubles');
            $add->('a longer datatype', 'M00[458](?:,M011)?', differs($name, $form, %d));
            $add->('null datatype', 'M009', $all->(T => 'MPI_DATATYPE_NULL', X => 'nulls'));
            $add->('uncommitted datatype', 'M009', "MPI_Datatype t;\nMPI_Type_contiguous(2, MPI_INT, &t);\n" . $all->(T => 't') . "\nMPI_Type_free(&t);")
                if $has->('T') && !$has->('O');
            $add->('committed datatype', '', "MPI_Datatype t;\nMPI_Type_contiguous(1, MPI_INT, &t);\nMPI_Type_commit(&t);\n" . one($name, $form, T => 't') . "\nMPI_Type_free(&t);")
                if $has->('T') && !$has->('O');
            $add->('freed datatype', 'M009', "MPI_Datatype t, u;\nMPI_Type_contiguous(1, MPI_INT, &t);\nMPI_Type_commit(&t);\nu = t;\nMPI_Type_free(&t);\n" . $all->(T => 'u'))
                if $has->('T') && !$has->('O');
        }
        if ($has->('N') || $v) {
            $add->('greater count', 'M005|M007', differs($name, $form, N => 5, M => 5, V => 'more', W => 'more'));
            $add->('smaller count', 'M005|M007', differs($name, $form, N => 3, M => 3, V => 'less', W => 'less'));
            $add->('negative count', 'M009', $all->(N => -1, M => -1, V => 'negative', W => 'negative'));
            $add->('null buffer', 'M009', $all->($has->('S') ? (S => 'NULL') : (R => 'NULL')));
            $add->('null result', 'M009', $all->(R => 'NULL')) if $has->('S');
            $add->('aliased buffers', 'B002', $all->(S => 'b')) if $has->('S');
            $add->('aliased by 4 bytes', 'B002', $all->(S => 'b + 1')) if $has->('S');
        }
        $add->('in place', '', one($name, $form, S => 'MPI_IN_PLACE')) if $name =~ /^(Allreduce|Scan|Exscan|Allgatherv?|Alltoall[vw]?|Reduce_scatter(_block)?)$/;
        $add->('in place at the root', '', one($name, $form, S => 'rank == 0 ? MPI_IN_PLACE : a')) if $name =~ /^(Reduce|Gatherv?)$/;
        $add->('in place at another', 'M009|M005', $all->(S => 'rank == 1 ? MPI_IN_PLACE : a')) if $name =~ /^(Reduce|Gatherv?)$/;
        $add->('invalid root', 'M009', $all->(P => 'size')) if $has->('P');
        $add->('negative root', 'M009', $all->(P => -5)) if $has->('P');
        if ($has->('O')) {
            $add->('null op', 'M009', $all->(O => 'MPI_OP_NULL'));
            $add->('op not for the type', 'M009', $all->(O => 'MPI_BAND', T => 'MPI_FLOAT'));
            $add->('pair op on int', 'M009', $all->(O => 'MPI_MAXLOC'));
            $add->('replace', 'M009', $all->(O => 'MPI_REPLACE'));
            $add->('user op', '', "MPI_Op op;\nMPI_Op_create(add, 1, &op);\n" . one($name, $form, O => 'op') . "\nMPI_Op_free(&op);");
            $add->('user op freed before', 'M009', "MPI_Op op, old;\nMPI_Op_create(add, 1, &op);\nold = op;\nMPI_Op_free(&op);\n" . $all->(O => 'old'));
            $add->('user op leaked', 'L006', "MPI_Op op;\nMPI_Op_create(add, 1, &op);@\n" . one($name, $form, O => 'op'));
        }
        # On one rank only: it is a wrong argument, not that the ranks differ.
        my $one = sub { my ($error, %o) = @_; $add->("$error on one rank", 'M009', differs($name, $form, %o)) };
        $one->('null communicator', C => 'MPI_COMM_NULL');
        $one->('invalid root', P => 'size') if $has->('P');
        $one->('null datatype', T => 'MPI_DATATYPE_NULL', U => 'MPI_DATATYPE_NULL') if $has->('T');
        $one->('null op', O => 'MPI_OP_NULL') if $has->('O');
        $one->('pair op on int', O => 'MPI_MAXLOC') if $has->('O');
        $one->('negative count', N => -1, M => -1, V => 'negative', W => 'negative') if $has->('N') || $v;
        $add->('null communicator', 'M009', $all->(C => 'MPI_COMM_NULL'));
        $add->('freed communicator', 'M009|X005', "MPI_Comm dup, old;\nMPI_Comm_dup(comm, &dup);\nold = dup;\nMPI_Comm_free(&dup);\n" . $all->(C => 'old'));
        $add->('a duplicate', '', "MPI_Comm dup;\nMPI_Comm_dup(comm, &dup);\n" . one($name, $form, C => 'dup') . "\nMPI_Comm_free(&dup);");
        $add->('another communicator', 'M006|M010|D001', "MPI_Comm dup;\nMPI_Comm_dup(comm, &dup);\n" . differs($name, $form, C => 'dup') . "\nMPI_Comm_free(&dup);");
        if ($form eq 'nonblocking') {
            $add->('no Wait', 'X006', "$c@");
            $add->('no Wait on one rank', 'X006', "$c@\nif (rank != 1)\n$f");
            $add->('request overwritten', 'X006', "$c@\n" . call($name, $form, 'req', R => 'b + 32') . "\n$f");
            $add->('two requests', '', "$c\n" . call($name, $form, 'other', R => 'b + 32') . "\n" . finish($form, 'other') . "\n$f");
            $add->('blocking meets nonblocking', 'M001', "if (rank == 1)\n" . call($name, 'blocking') . "@\nelse {\n$c\n$f\n}");
            $add->('freed request', 'M009', "$c\nMPI_Request_free(&req);@");
            $add->('Cancel', 'M009', "$c\nMPI_Cancel(&req);@\n$f");
            if ($name ne 'Barrier') {
                $add->('result written', 'B001', "$c\nb[0] = 7;@\n$f");
                $add->('sent written', 'B001', "$c\na[0] = 7;@\n$f") if $has->('S') && $name !~ /^Scatter/;
                $add->('sent read', '', "$c\nx = a[0];\n$f") if $has->('S');
                $add->('written after', '', "$c\n$f\nb[0] = a[0] = 7;");
            }
        }
        if ($form eq 'persistent') {
            $add->('no Start, Wait, no free', 'L001,L009|L009', "$c@\nMPI_Wait(&req, MPI_STATUS_IGNORE);@");
            $add->('not freed', 'L001', "$c@\nMPI_Start(&req);\nMPI_Wait(&req, MPI_STATUS_IGNORE);");
            $add->('Start twice', 'L010', "$c\nMPI_Start(&req);\nMPI_Start(&req);@\nMPI_Wait(&req, MPI_STATUS_IGNORE);\nMPI_Request_free(&req);");
            $add->('no Wait', 'X006', "$c@\nMPI_Start(&req);@\nMPI_Request_free(&req);@");
            $add->('a rank does not start', 'M010|D00[12]', "$c@\nif (rank != 1) {\nMPI_Start(&req);@\nMPI_Wait(&req, MPI_STATUS_IGNORE);@\n}\nMPI_Request_free(&req);");
        }
    }
}

# The others by hand: name, code, wrong; right.
my $more = do { local $/; <DATA> };
for (split /^== /m, $more) {
    my ($name, $codes, $body) = /^(.*?) \| ?(\S*)\n(.*)$/s or next;
    push @programs, [$name, $codes =~ s/,(?!L003)/|/gr, $body];
}

@programs = grep { $_->[0] =~ /$only/ } @programs;
if (my ($part, $of) = ($ENV{PART} // '') =~ m{(\d+)/(\d+)}) { @programs = @programs[grep { $_ % $of == $part } 0 .. $#programs] }
@programs = @programs[grep { $_ % 47 == 5 } 0 .. $#programs] unless $ENV{ALL} || $only;

sub write_program {
    my ($path, $body) = @_;
    my ($text, @lines) = ('');
    if ($body =~ s/^RAW\n//) { $text = "#include <mpi.h>\n#include <stdlib.h>\n" . $body }
    else {
        $body =~ s/^(?=.)/    /mg;
        $text = <<"C";
#include <mpi.h>
#include <stdlib.h>
static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    for (int i = 0; i < *n; i++)
        ((int *) inout)[i] += ((int *) in)[i];
}
static void handle(MPI_Comm *comm, int *code, ...)
{
    (void) comm, (void) code;
}
int main(int argc, char **argv)
{
    int rank, size, x = 0, a[64], b[64];
    MPI_Init(&argc, &argv);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request req = MPI_REQUEST_NULL, other = MPI_REQUEST_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int counts[8], displs[8], bytes[8], more[8], less[8], negative[8];
    MPI_Aint far[8];
    MPI_Datatype types[8], floats[8], doubles[8], nulls[8];
    for (int i = 0; i < 64; i++)
        a[i] = b[i] = rank + i;
    for (int i = 0; i < 8; i++) {
        counts[i] = 4, displs[i] = 8 * i, bytes[i] = 32 * i, far[i] = 32 * i, more[i] = 5, less[i] = 3, negative[i] = -1;
        types[i] = MPI_INT, floats[i] = MPI_FLOAT, doubles[i] = MPI_DOUBLE, nulls[i] = MPI_DATATYPE_NULL;
    }
$body
    MPI_Finalize();
    return 0 * (x + a[0] + b[0] + counts[0] + displs[0] + bytes[0] + more[0] + less[0] + negative[0] + (int) far[0]) * !add * !handle * (other == req);
}
C
    }
    my $line = 0;
    for (split /\n/, $text) { $line++; push @lines, $line if /@\s*$/ }
    $text =~ s/@\s*$//mg;
    open my $out, '>', $path or die "$path: $!";
    print $out $text;
    close $out;
    return @lines;
}

my $file = 0;
print "TAP version 13\n1..", scalar @programs, "\n";
my ($found, $wrong, $alarms, $right) = (0, 0, 0, 0);
for (@programs) {
    my ($name, $codes, $body) = @$_;
    my $path = "$folder/p" . ++$file . ".c";
    my @lines = write_program($path, $body);
    my $out = `timeout 60 '$simrun' prove -n 3 --db none --json '$path' 2>'$path.err' </dev/null`;
    my $run = eval { decode_json($out) };
    my @findings = grep { $_->{severity} ne 'note' || $codes =~ /$_->{code}/ } @{ $run->{findings} // [] };
    my $told = join ',', map { $_->{code} } @findings;
    my $places = join ' ', map { my $f = $_; map { $_->{line} // 0 } $f, @{ $f->{places} // [] } } @findings;
    my $good;
    if ($codes eq '') { $right++; $good = $run && !@findings && $run->{verdict} =~ /PROVEN|PASS/; $alarms++ unless $good }
    else {
        $wrong++;
        $good = $told =~ /^(?:$codes)$/ && (grep { my $l = $_; grep { $_ eq $l } split / /, $places } @lines);
        $found++ if $good;
    }
    my $known = '';
    print $good ? 'ok' : 'not ok', " $file - $name", $known, "\n";
    print "# expected '$codes' at @lines; told '$told' at $places: ", ($run->{verdict} // 'no report'), " $path\n" unless $good;
}
print "# $wrong wrong, $found found; $right right, $alarms accused\n";
__DATA__
== split by a part of the ranks | M010,D001
MPI_Comm half;
if (rank != 1) {
MPI_Comm_split(comm, 0, rank, &half);@
MPI_Comm_free(&half);
}
== split by all | 
MPI_Comm half;
MPI_Comm_split(comm, rank == 1 ? MPI_UNDEFINED : 0, rank, &half);
if (half != MPI_COMM_NULL)
MPI_Comm_free(&half);
== dup by a part of the ranks | M010,D001
MPI_Comm d;
if (rank != 1) {
MPI_Comm_dup(comm, &d);@
MPI_Comm_free(&d);
}
== idup without Wait | X006,L003
MPI_Comm d;
MPI_Comm_idup(comm, &d, &req);@
== idup | 
MPI_Comm d;
MPI_Comm_idup(comm, &d, &req);
MPI_Wait(&req, MPI_STATUS_IGNORE);
MPI_Comm_free(&d);
== split meets dup | M001
MPI_Comm d;
if (rank == 1)
MPI_Comm_split(comm, 0, rank, &d);@
else
MPI_Comm_dup(comm, &d);
MPI_Comm_free(&d);
== create by a part of the ranks | M010,D001
MPI_Group g, w;
MPI_Comm d;
int one = 0;
MPI_Comm_group(comm, &w);
MPI_Group_incl(w, 1, &one, &g);
if (rank == 0) {
MPI_Comm_create(comm, g, &d);@
MPI_Comm_free(&d);
}
MPI_Group_free(&g);
MPI_Group_free(&w);
== create_group by the group | 
MPI_Group g, w;
MPI_Comm d;
int one = 0;
MPI_Comm_group(comm, &w);
MPI_Group_incl(w, 1, &one, &g);
if (rank == 0) {
MPI_Comm_create_group(comm, g, 5, &d);
MPI_Comm_free(&d);
}
MPI_Group_free(&g);
MPI_Group_free(&w);
== create with other groups | M006,M009
MPI_Group g, w;
MPI_Comm d;
int two[2] = {0, 1};
MPI_Comm_group(comm, &w);
MPI_Group_incl(w, rank == 1 ? 2 : 1, two, &g);
MPI_Comm_create(comm, g, &d);@
if (d != MPI_COMM_NULL)
MPI_Comm_free(&d);
MPI_Group_free(&g);
MPI_Group_free(&w);
== communicator leaked | L003
MPI_Comm d;
MPI_Comm_dup(comm, &d);@
== split leaked | L003
MPI_Comm d;
MPI_Comm_split(comm, rank & 1, 0, &d);@
== cart leaked | L003
MPI_Comm d;
int yes = 1;
MPI_Cart_create(comm, 1, &size, &yes, 0, &d);@
== group leaked | L004
MPI_Group g;
MPI_Comm_group(comm, &g);@
== group incl leaked | L004
MPI_Group g, w;
int one = 0;
MPI_Comm_group(comm, &w);
MPI_Group_incl(w, 1, &one, &g);@
MPI_Group_free(&w);
== datatype leaked | L005
MPI_Datatype t;
MPI_Type_vector(2, 1, 2, MPI_INT, &t);@
MPI_Type_commit(&t);
== uncommitted datatype leaked | L005
MPI_Datatype t;
MPI_Type_contiguous(2, MPI_INT, &t);@
== op leaked | L006
MPI_Op op;
MPI_Op_create(add, 1, &op);@
== keyval leaked | L011
int key;
MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);@
== keyval | 
int key;
MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
MPI_Comm_set_attr(comm, key, &x);
MPI_Comm_delete_attr(comm, key);
MPI_Comm_free_keyval(&key);
== info leaked | L011
MPI_Info i;
MPI_Info_create(&i);@
== info freed twice | M009
MPI_Info i, j;
MPI_Info_create(&i);
j = i;
MPI_Info_free(&i);
MPI_Info_free(&j);@
== communicator freed twice | M009,X005
MPI_Comm d, e;
MPI_Comm_dup(comm, &d);
e = d;
MPI_Comm_free(&d);
MPI_Comm_free(&e);@
== communicator freed twice by its variable | M009
MPI_Comm d;
MPI_Comm_dup(comm, &d);
MPI_Comm_free(&d);
MPI_Comm_free(&d);@
== communicator freed by a part of the ranks | L003
MPI_Comm d;
MPI_Comm_dup(comm, &d);@
if (rank != 1)
MPI_Comm_free(&d);
== world freed | M009
MPI_Comm_free(&comm);@
== group freed twice | M009
MPI_Group g, h;
MPI_Comm_group(comm, &g);
h = g;
MPI_Group_free(&g);
MPI_Group_free(&h);@
== group used after free | M009
MPI_Group g, h;
MPI_Comm_group(comm, &g);
h = g;
MPI_Group_free(&g);
MPI_Group_size(h, &x);@
== datatype freed twice | M009
MPI_Datatype t, u;
MPI_Type_contiguous(2, MPI_INT, &t);
u = t;
MPI_Type_free(&t);
MPI_Type_free(&u);@
== predefined datatype freed | M009
MPI_Datatype t = MPI_INT;
MPI_Type_free(&t);@
== predefined op freed | M009
MPI_Op op = MPI_SUM;
MPI_Op_free(&op);@
== op freed twice | M009
MPI_Op op, old;
MPI_Op_create(add, 1, &op);
old = op;
MPI_Op_free(&op);
MPI_Op_free(&old);@
== datatype freed after its parent was used | 
MPI_Datatype t, u;
MPI_Type_contiguous(2, MPI_INT, &t);
MPI_Type_contiguous(2, t, &u);
MPI_Type_free(&t);
MPI_Type_commit(&u);
MPI_Bcast(b, 1, u, 0, comm);
MPI_Type_free(&u);
== op freed during a nonblocking call | 
MPI_Op op;
MPI_Op_create(add, 1, &op);
MPI_Iallreduce(a, b, 4, MPI_INT, op, comm, &req);
MPI_Op_free(&op);
MPI_Wait(&req, MPI_STATUS_IGNORE);
== errhandler leaked | L011
MPI_Errhandler h;
MPI_Comm_create_errhandler(handle, &h);@
== negative type count | M009
MPI_Datatype t;
MPI_Type_contiguous(-1, MPI_INT, &t);@
MPI_Type_free(&t);
== group incl beyond | M009
MPI_Group g, w;
MPI_Comm_group(comm, &w);
MPI_Group_incl(w, 1, &size, &g);@
MPI_Group_free(&g);
MPI_Group_free(&w);
== group incl twice the same | M009
MPI_Group g, w;
int two[2] = {0, 0};
MPI_Comm_group(comm, &w);
MPI_Group_incl(w, 2, two, &g);@
MPI_Group_free(&g);
MPI_Group_free(&w);
== cart greater than world | M009
MPI_Comm d;
int dims = size + 1, yes = 1;
MPI_Cart_create(comm, 1, &dims, &yes, 0, &d);@
MPI_Comm_free(&d);
== cart with other dims | M009,M005,M006
MPI_Comm d;
int dims = rank == 1 ? 2 : 3, yes = 1;
MPI_Cart_create(comm, 1, &dims, &yes, 0, &d);@
if (d != MPI_COMM_NULL)
MPI_Comm_free(&d);
== cart coords beyond | M009
MPI_Comm d;
int yes = 1;
MPI_Cart_create(comm, 1, &size, &yes, 0, &d);
MPI_Cart_coords(d, size, 1, &x);@
MPI_Comm_free(&d);
== cart coords of no cart | M009
MPI_Cart_coords(comm, 0, 1, &x);@
== cart shift direction | M009
MPI_Comm d;
int yes = 1, y;
MPI_Cart_create(comm, 1, &size, &yes, 0, &d);
MPI_Cart_shift(d, 1, 1, &x, &y);@
MPI_Comm_free(&d);
== neighbours of no topology | M009
MPI_Neighbor_allgather(a, 4, MPI_INT, b, 4, MPI_INT, comm);@
== dims_create impossible | M009
int dims[2] = {2, 0};
MPI_Dims_create(5, 2, dims);@
== negative colour | M009
MPI_Comm d;
MPI_Comm_split(comm, -5, 0, &d);@
MPI_Comm_free(&d);
== dist_graph beyond | M009
MPI_Comm d;
int to = size;
MPI_Dist_graph_create_adjacent(comm, 0, NULL, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &d);@
MPI_Comm_free(&d);
== dist_graph asymmetric | M009,D001
MPI_Comm d;
int to = (rank + 1) % size;
MPI_Dist_graph_create_adjacent(comm, 0, NULL, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &d);@
MPI_Neighbor_allgather(a, 4, MPI_INT, b, 4, MPI_INT, d);@
MPI_Comm_free(&d);
== dist_graph | 
MPI_Comm d;
int to = (rank + 1) % size, from = (rank + size - 1) % size;
MPI_Dist_graph_create_adjacent(comm, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &d);
MPI_Neighbor_allgather(a, 4, MPI_INT, b, 4, MPI_INT, d);
MPI_Comm_free(&d);
== intercommunicator | 
MPI_Comm half, inter;
MPI_Comm_split(comm, rank > 0, rank, &half);
MPI_Intercomm_create(half, 0, comm, rank > 0 ? 0 : 1, 3, &inter);
MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, inter);
MPI_Bcast(a, 4, MPI_INT, rank == 0 ? MPI_ROOT : 0, inter);
MPI_Comm_free(&inter);
MPI_Comm_free(&half);
== intercommunicator: two roots | M002,M009
MPI_Comm half, inter;
MPI_Comm_split(comm, rank > 0, rank, &half);
MPI_Intercomm_create(half, 0, comm, rank > 0 ? 0 : 1, 3, &inter);
MPI_Bcast(a, 4, MPI_INT, rank < 2 ? MPI_ROOT : 0, inter);@
MPI_Comm_free(&inter);
MPI_Comm_free(&half);
== intercommunicator: another op | M003
MPI_Comm half, inter;
MPI_Comm_split(comm, rank > 0, rank, &half);
MPI_Intercomm_create(half, 0, comm, rank > 0 ? 0 : 1, 3, &inter);
MPI_Allreduce(a, b, 4, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, inter);@
MPI_Comm_free(&inter);
MPI_Comm_free(&half);
== intercommunicator: a rank skips | M010,D001
MPI_Comm half, inter;
MPI_Comm_split(comm, rank > 0, rank, &half);
MPI_Intercomm_create(half, 0, comm, rank > 0 ? 0 : 1, 3, &inter);
if (rank != 2)
MPI_Barrier(inter);@
MPI_Comm_free(&inter);
MPI_Comm_free(&half);
== intercommunicator: another tag | D001
MPI_Comm half, inter;
MPI_Comm_split(comm, rank > 0, rank, &half);
MPI_Intercomm_create(half, 0, comm, rank > 0 ? 0 : 1, 3 + rank, &inter);@
MPI_Comm_free(&inter);
MPI_Comm_free(&half);
== in place in an intercommunicator | M009
MPI_Comm half, inter;
MPI_Comm_split(comm, rank > 0, rank, &half);
MPI_Intercomm_create(half, 0, comm, rank > 0 ? 0 : 1, 3, &inter);
MPI_Allreduce(MPI_IN_PLACE, b, 4, MPI_INT, MPI_SUM, inter);@
MPI_Comm_free(&inter);
MPI_Comm_free(&half);
== two communicators in another order | D001,D002,M006
MPI_Comm d;
MPI_Comm_dup(comm, &d);
if (rank == 1) {
MPI_Barrier(d);@
MPI_Barrier(comm);@
} else {
MPI_Barrier(comm);@
MPI_Barrier(d);@
}
MPI_Comm_free(&d);
== collective and message in another order | D001
if (rank == 0) {
MPI_Barrier(comm);@
MPI_Ssend(a, 1, MPI_INT, 1, 0, comm);
} else if (rank == 1) {
MPI_Recv(b, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);@
MPI_Barrier(comm);
} else
MPI_Barrier(comm);
== bcast that synchronises | D002,D003
if (rank == 0) {
MPI_Bcast(a, 1, MPI_INT, 0, comm);@
MPI_Send(a, 1, MPI_INT, 1, 0, comm);
} else if (rank == 1) {
MPI_Recv(b, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);@
MPI_Bcast(a, 1, MPI_INT, 0, comm);
} else
MPI_Bcast(a, 1, MPI_INT, 0, comm);
== no Finalize | X008
RAW
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);@
    MPI_Barrier(MPI_COMM_WORLD);@
    return 0;@
}
== no Init | M009
RAW
int main(int argc, char **argv)
{
    MPI_Barrier(MPI_COMM_WORLD);@
    MPI_Finalize();
    return 0;
}
== call after Finalize | M009
RAW
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);@
    return 0;
}
== Init twice | M009
RAW
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Init(&argc, &argv);@
    MPI_Finalize();
    return 0;
}
== Finalize twice | M009
RAW
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    MPI_Finalize();@
    return 0;
}
== Finalized asked | 
RAW
int main(int argc, char **argv)
{
    int flag;
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    MPI_Finalized(&flag);
    return !flag;
}
