#!/usr/bin/perl
# Small programs as a stranger would write them, each with one error in its messages, requests or buffers, and each with a right twin:
# the error is found with its code and its line, and the twin is not accused.
#
#   tests/wrong/messages.pl [WORD]     all (ALL=1), or a sample; only those whose name holds WORD
#
# In a body, a line marked @ is the wrong call; {bad|good} is what differs between the program and its twin.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = tempdir(CLEANUP => 1);
my ($word) = @ARGV;
$ENV{CC} = 'gcc';
local $| = 1;

# Every kind of send and receive: what it is called with is BUF, COUNT, TYPE, PEER, TAG, COMM.
my $blocking = 'MPI_%s(B, N, T, P, G, C);';
my $started  = 'MPI_%s(B, N, T, P, G, C, &q); MPI_Wait(&q, MPI_STATUS_IGNORE);';
my $persists = 'MPI_%s_init(B, N, T, P, G, C, &q); MPI_Start(&q); MPI_Wait(&q, MPI_STATUS_IGNORE); MPI_Request_free(&q);';
my $attach   = 'static char room[4096]; MPI_Buffer_attach(room, sizeof room); ';
my $detach   = ' { void *old; int size; MPI_Buffer_detach(&old, &size); }';
my %sends = (
    (map { $_ => sprintf $blocking, $_ } qw(Send Ssend)),
    (map { $_ => sprintf $started,  $_ } qw(Isend Issend)),
    (map { $_ . '_init' => sprintf $persists, $_ } qw(Send Ssend)),
    Bsend      => $attach . sprintf($blocking, 'Bsend') . $detach,
    Ibsend     => $attach . sprintf($started,  'Ibsend') . $detach,
    Bsend_init => $attach . sprintf($persists, 'Bsend') . $detach,
    Sendrecv   => 'MPI_Sendrecv(B, N, T, P, G, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, C, MPI_STATUS_IGNORE);',
);
my %receives = (
    Recv      => 'MPI_Recv(B, N, T, P, G, C, MPI_STATUS_IGNORE);',
    Irecv     => sprintf($started, 'Irecv'),
    Recv_init => sprintf($persists, 'Recv'),
    Mprobe    => 'MPI_Message m; MPI_Mprobe(P, G, C, &m, MPI_STATUS_IGNORE); MPI_Mrecv(B, N, T, &m, MPI_STATUS_IGNORE);',
    Improbe   => 'MPI_Message m; int f = 0; while (!f) MPI_Improbe(P, G, C, &f, &m, MPI_STATUS_IGNORE); '
        . 'MPI_Request mq; MPI_Imrecv(B, N, T, &m, &mq); MPI_Wait(&mq, MPI_STATUS_IGNORE);',
    Probe     => 'MPI_Probe(P, G, C, MPI_STATUS_IGNORE); MPI_Recv(B, N, T, P, G, C, MPI_STATUS_IGNORE);',
);

sub fill {
    my ($text, %with) = @_;
    my %all = (B => 'b', N => '2', T => 'MPI_INT', P => '0', G => '7', C => 'MPI_COMM_WORLD', %with);
    $text =~ s/(?<=[(, ])([BNTPGC])(?=[,)])/$all{$1}/g;
    return $text;
}

# name, codes, what the wrong side is called with, and the other side where it differs
my @pair_errors = (
    [ 'wrong tag',          'D001',      'send', G => '8' ],
    [ 'wrong peer',         'D001',      'send', P => '2' ],
    [ 'wrong communicator', 'D001',      'send', C => 'MPI_COMM_SELF', P => '0' ],
    [ 'wrong tag',          'D001',      'recv', G => '8' ],
    [ 'wrong peer',         'D001',      'recv', P => '2' ],
    [ 'wrong type',         'M008',      'send', T => 'MPI_FLOAT' ],
    [ 'wrong type',         'M008',      'recv', T => 'MPI_FLOAT' ],
    [ 'too short',          'M007',      'recv', N => '1' ],
    [ 'too long',           'M007',      'send', N => '3' ],
    (map { my $side = $_;
        [ 'negative count',  'M009', $side, N => '-1' ],
        [ 'null type',       'M009', $side, T => 'MPI_DATATYPE_NULL' ],
        [ 'null buffer',     'M009', $side, B => 'NULL' ],
        [ 'invalid tag',     'M009', $side, G => '-5' ],
        [ 'invalid rank',    'M009', $side, P => '17' ],
        [ 'null comm',       'M009', $side, C => 'MPI_COMM_NULL' ],
        [ 'uncommitted type', 'M009', $side, T => 'raw', N => '1' ] } qw(send recv)),
);

my @programs;

sub add { my ($name, $codes, $body, %more) = @_; push @programs, { name => $name, codes => $codes, body => $body, %more } }

for my $error (@pair_errors) {
    my ($name, undef, $side, %with) = @$error;
    my $kinds = $side eq 'send' ? \%sends : \%receives;
    for my $kind (sort keys %$kinds) {
        my $other = $side eq 'send' ? $receives{Recv} : $sends{Send};
        my $right = fill($kinds->{$kind}, P => $side eq 'send' ? 1 : 0);
        my $wrong = fill($kinds->{$kind}, P => $side eq 'send' ? 1 : 0, %with);
        my $peer  = fill($other, P => $side eq 'send' ? 0 : 1);
        my $codes = $kind eq 'Improbe' && $error->[1] eq 'D001' ? 'D005' : $error->[1];
        my ($a, $b) = $side eq 'send' ? (0, 1) : (1, 0);
        my $raw = $name =~ /uncommitted/ ? "MPI_Datatype raw; MPI_Type_contiguous(2, MPI_INT, &raw);\n" : '';
        my $free = $raw ? 'MPI_Type_free(&raw);' : '';
        add("$kind: $name", $codes, "${raw}if (rank == $a) {\n{{$wrong}}{{$right}} //@\n}\nif (rank == $b) {\n$peer\n}\n$free\n");
    }
}

my $s = 'MPI_STATUS_IGNORE';
my $w = 'MPI_COMM_WORLD';
my $recv0 = "MPI_Recv(b, 2, MPI_INT, 0, 7, $w, $s);";
my $send1 = "MPI_Send(b, 2, MPI_INT, 1, 7, $w);";
my $next  = '(rank + 1) % size';
my $last  = '(rank + size - 1) % size';
for my $kind (sort keys %sends) {
    my $call = fill($sends{$kind}, P => 1);
    add("$kind: without receive", $kind =~ /Ssend|Issend/ ? 'D001' : $kind =~ /bsend/i ? 'D001' : 'D003', "if (rank == 0) {\n$call //@\n}\nif (rank == 1) {\n{{}}{{$recv0}}\n}\n");
    my $ring = fill($kind =~ /^I/ ? $sends{$kind} : $sends{$kind}, P => $next);
    next if $kind =~ /bsend/i;
    add("$kind: ring sends first", $kind =~ /Ssend|Issend/ ? 'D001' : 'D003', "{{}}{{if (rank == 0) MPI_Recv(c, 2, MPI_INT, $last, 7, $w, $s);}}\n$ring //@\n"
        . "{{}}{{if (rank != 0)}} MPI_Recv(c, 2, MPI_INT, $last, 7, $w, $s);\n");
}
for my $kind (sort keys %receives) {
    my $call = fill($receives{$kind});
    add("$kind: without send", $kind eq 'Improbe' ? 'D005' : 'D001', "if (rank == 1) {\n$call //@\n}\nif (rank == 0) {\n{{}}{{$send1}}\n}\n", places => 1);
    add("$kind: ring receives first", $kind eq 'Improbe' ? 'D005' : 'D001', "{{}}{{if (rank == 0) MPI_Send(c, 2, MPI_INT, $next, 7, $w);}}\n"
        . fill($receives{$kind}, P => $last) . " //@\n{{}}{{if (rank != 0)}} MPI_Send(c, 2, MPI_INT, $next, 7, $w);\n");
}

# name, codes, body
my $isend = "MPI_Isend(b, 2, MPI_INT, 1, 7, $w, &q);";
my $irecv = "MPI_Irecv(b, 2, MPI_INT, 0, 7, $w, &q);";
my $wait  = "MPI_Wait(&q, $s);";
add('buffer written before the wait', 'B001', "if (rank == 0) {\n$isend //@\n{{b[0] = 5;}}{{}}\n$wait\n}\nif (rank == 1) {\n$recv0\n}\n");
add('receive read before the wait', 'B001', "if (rank == 0) {\n$send1\n}\nif (rank == 1) {\n$irecv //@\n{{c[0] = b[0];}}{{}}\n$wait\nprintf(\"%d\\n\", c[0]);\n}\n");
add('two receives into one buffer', 'B002', "if (rank == 0) {\n$send1\n$send1\n}\nif (rank == 1) {\nMPI_Request r;\n$irecv\nMPI_Irecv({{b}}{{c}}, 2, MPI_INT, 0, 7, $w, &r); //@\n$wait\nMPI_Wait(&r, $s);\n}\n");
add('send and receive overlap', 'B002', "if (rank < 2) {\nMPI_Request r;\nMPI_Irecv(b, 2, MPI_INT, 1 - rank, 7, $w, &q);\nMPI_Isend({{b + 1}}{{c}}, 2, MPI_INT, 1 - rank, 7, $w, &r); //@\n$wait\nMPI_Wait(&r, $s);\n}\n");
add('Isend not waited for', 'X006 B001?', "if (rank == 0) {\n$isend //@\n{{}}{{$wait}}\n}\nif (rank == 1) {\n$recv0\n}\n");
add('Irecv not waited for', 'X006 B001?', "if (rank == 1) {\n$irecv //@\n{{}}{{$wait}}\n}\nif (rank == 0) {\n$send1\n}\n");
add('request overwritten', 'X006 B001?', "if (rank == 0) {\nfor (int i = 0; i < 2; i++) {\n$isend //@\n{{}}{{$wait}}\n}\n{{$wait}}{{}}\n}\nif (rank == 1) {\n$recv0\n$recv0\n}\n");
add('Start of an active request', 'L010', "if (rank == 0) {\nMPI_Send_init(b, 2, MPI_INT, 1, 7, $w, &q);\nMPI_Start(&q);\n{{}}{{$wait}}\nMPI_Start(&q); //@\n$wait\nMPI_Request_free(&q);\n}\nif (rank == 1) {\n$recv0\n$recv0\n}\n");
add('Startall with an active request', 'L010', "if (rank < 2) {\nMPI_Request r[2];\nMPI_Send_init(b, 2, MPI_INT, 1 - rank, 7, $w, &r[0]);\nMPI_Recv_init(c, 2, MPI_INT, 1 - rank, 7, $w, &r[1]);\nfor (int i = 0; i < 2; i++) {\nMPI_Startall(2, r); //@\n{{MPI_Wait(&r[0], $s);}}{{MPI_Waitall(2, r, MPI_STATUSES_IGNORE);}}\n}\nMPI_Request_free(&r[0]);\nMPI_Request_free(&r[1]);\n}\n");
add('exit status', 'X002', "if (rank == 1 && {{1}}{{argc > 5}})\nexit(3); //@\nMPI_Barrier($w);\n");
add('crash within libc', 'X001', "if (rank == 1)\nb[0] = atoi({{argv[1]}}{{\"5\"}}); //@\nMPI_Barrier($w);\n");
add('persistent never freed', 'L001', "if (rank == 0) {\nMPI_Send_init(b, 2, MPI_INT, 1, 7, $w, &q); //@\nMPI_Start(&q);\n$wait\n{{}}{{MPI_Request_free(&q);}}\n}\nif (rank == 1) {\n$recv0\n}\n");
add('persistent never started', 'D001', "if (rank == 0) {\nMPI_Send_init(b, 2, MPI_INT, 1, 7, $w, &q);\n{{}}{{MPI_Start(&q);}}\n$wait\nMPI_Request_free(&q);\n}\nif (rank == 1) {\n$recv0 //@\n}\n");
add('Waitall of too few', 'X006 B001?', "if (rank == 0) {\nMPI_Request r[2];\nfor (int i = 0; i < 2; i++)\nMPI_Isend(b, 2, MPI_INT, 1, 7, $w, &r[i]); //@\nMPI_Waitall({{1}}{{2}}, r, MPI_STATUSES_IGNORE);\n}\nif (rank == 1) {\n$recv0\n$recv0\n}\n");
add('Waitany too few times', 'X006 B001?', "if (rank == 1) {\nMPI_Request r[2];\nint d[2], which;\nfor (int i = 0; i < 2; i++)\nMPI_Irecv(&d[i], 1, MPI_INT, 0, i, $w, &r[i]); //@\nfor (int i = 0; i < {{1}}{{2}}; i++)\nMPI_Waitany(2, r, &which, $s);\n}\nif (rank == 0)\nfor (int i = 0; i < 2; i++)\nMPI_Send(b, 1, MPI_INT, 1, i, $w);\n");
add('Test never repeated', 'X006 B001?', "if (rank == 1) {\nint f = 0;\n$irecv //@\n{{}}{{while (!f)}} MPI_Test(&q, &f, $s);\n}\nif (rank == 0) {\n$send1\n}\n", any => 1);
add('Cancel without wait', 'X006 B001?', "if (rank == 1) {\n$irecv //@\nMPI_Cancel(&q);\n{{}}{{$wait}}\n}\n");
add('active receive freed', 'B001', "if (rank == 1) {\n$irecv //@\n{{MPI_Request_free(&q);}}{{$wait}}\n}\nif (rank == 0) {\n$send1\n}\n", any => 1);
add('Rsend before the receive', 'M009', "if (rank == 1) {\n{{}}{{$irecv}}\nMPI_Barrier($w);\n{{$recv0}}{{$wait}}\n} else if (rank == 0) {\n{{}}{{MPI_Barrier($w);}}\nMPI_Rsend(b, 2, MPI_INT, 1, 7, $w); //@\n{{MPI_Barrier($w);}}{{}}\n} else\nMPI_Barrier($w);\n");
add('Bsend without buffer', 'M009', "if (rank == 0) {\n{{}}{{static char room[4096]; MPI_Buffer_attach(room, 4096);}}\nMPI_Bsend(b, 2, MPI_INT, 1, 7, $w); //@\n{{}}{{void *o; int n; MPI_Buffer_detach(&o, &n);}}\n}\nif (rank == 1) {\n$recv0\n}\n");
add('Bsend with too small a buffer', 'M009', "if (rank == 0) {\nstatic char room[4096]; MPI_Buffer_attach(room, {{4}}{{4096}});\nMPI_Bsend(b, 2, MPI_INT, 1, 7, $w); //@\nvoid *o; int n; MPI_Buffer_detach(&o, &n);\n}\nif (rank == 1) {\n$recv0\n}\n");
add('Bsend into a buffer for one', 'M009', "if (rank == 0) {\nstatic char room[4096]; MPI_Buffer_attach(room, {{1}}{{2}} * (MPI_BSEND_OVERHEAD + 8));\nfor (int i = 0; i < 2; i++)\nMPI_Bsend(b, 2, MPI_INT, 1, i, $w); //@\nvoid *o; int n; MPI_Buffer_detach(&o, &n);\n}\nif (rank == 1) {\nMPI_Recv(b, 2, MPI_INT, 0, 1, $w, $s);\nMPI_Recv(b, 2, MPI_INT, 0, 0, $w, $s);\n}\n");
add('waits for collectives of two kinds cross', 'D002', "MPI_Request r;\nMPI_Allreduce_init(b, c, 2, MPI_INT, MPI_SUM, $w, MPI_INFO_NULL, &r);\nif (rank == {{1}}{{7}}) {\nMPI_Start(&r);\nMPI_Wait(&r, $s);\nMPI_Ibcast(b, 2, MPI_INT, 0, $w, &q);\n$wait\n} else {\nMPI_Ibcast(b, 2, MPI_INT, 0, $w, &q); //@\n$wait\nMPI_Start(&r);\nMPI_Wait(&r, $s);\n}\nMPI_Request_free(&r);\n");
add('send to itself', 'D003', "MPI_Request r;\n{{}}{{MPI_Irecv(c, 2, MPI_INT, rank, 7, $w, &r);}}\nMPI_Send(b, 2, MPI_INT, rank, 7, $w); //@\n{{MPI_Recv(c, 2, MPI_INT, rank, 7, $w, $s);}}{{MPI_Wait(&r, $s);}}\n");
add('race for a wildcard', 'R003', "if (rank == 0) {\nint sum = 0;\nfor (int i = 1; i < size; i++) {\nMPI_Recv(b, 1, MPI_INT, MPI_ANY_SOURCE, 7, $w, $s); //@\nsum = {{3 * sum + b[0]}}{{sum + b[0]}};\n}\nprintf(\"%d\\n\", sum);\n} else {\nb[0] = rank;\nMPI_Send(b, 1, MPI_INT, 0, 7, $w);\n}\n");
add('another order hangs', 'D002 R003?', "if (rank == 0) {\nMPI_Recv(b, 1, MPI_INT, {{MPI_ANY_SOURCE}}{{1}}, 7, $w, $s); //@\nMPI_Recv(b, 1, MPI_INT, 2, 7, $w, $s);\n{{}}{{}}\n} else if (rank < 3)\nMPI_Send(b, 1, MPI_INT, 0, 7, $w);\n", any => 1);
add('only for three', 'D001', "if (rank == 0 && {{1}}{{size < 3}})\n;\nif (rank == 2) {\n{{MPI_Recv(b, 1, MPI_INT, 0, 7, $w, $s);}}{{;}} //@\n}\n");
add('tags out of order', 'D003', "if (rank == 0) {\nMPI_Send(b, 2, MPI_INT, 1, 1, $w); //@\nMPI_Send(b, 2, MPI_INT, 1, 2, $w);\n}\nif (rank == 1) {\nMPI_Recv(b, 2, MPI_INT, 0, {{2}}{{1}}, $w, $s);\nMPI_Recv(b, 2, MPI_INT, 0, {{1}}{{2}}, $w, $s);\n}\n");
add('a mismatch and a leak', 'M008 X006 B001?', "if (rank == 0) {\nMPI_Send(b, 2, {{MPI_FLOAT}}{{MPI_INT}}, 1, 7, $w); //@\nMPI_Request r;\nMPI_Isend(c, 2, MPI_INT, 2, 9, $w, &r);\n{{}}{{MPI_Wait(&r, $s);}}\n}\nif (rank == 1) {\n$recv0\n}\nif (rank == 2)\nMPI_Recv(c, 2, MPI_INT, 0, 9, $w, $s);\n");

# What simrun does not find yet, and why.
my %known = ();
for my $line (<DATA>) { chomp $line; my ($name, $why) = split /\t+/, $line, 2; $known{$name} = $why if $why }

sub write_program {
    my ($path, $body, $bad) = @_;
    $body =~ s/\{\{(.*?)\}\}\{\{(.*?)\}\}(?!\})/$bad ? $1 : $2/gse;
    my $text = "#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n\nint main(int argc, char **argv)\n{\nint rank, size;\n"
        . "int *b = calloc(4, sizeof *b), *c = calloc(4, sizeof *c);\nMPI_Request q = MPI_REQUEST_NULL;\n(void)q;\nMPI_Init(&argc, &argv);\n"
        . "MPI_Comm_rank(MPI_COMM_WORLD, &rank);\nMPI_Comm_size(MPI_COMM_WORLD, &size);\n${body}MPI_Finalize();\nfree(b);\nfree(c);\nreturn 0;\n}\n";
    my ($number, $line) = (0, 0);
    for (split /\n/, $text) { $number++; $line = $number if m{//\@} }
    open my $out, '>', $path or die "$path: $!";
    print $out $text;
    close $out;
    return $line;
}

sub judge {
    my ($path) = @_;
    my $json = `cd '$folder' && '$simrun' prove -n 3 --db none --json '$path' 2>&1`;
    my (@codes, %seen, @lines);
    my ($findings) = $json =~ /"findings":(\[.*)/s;
    if (defined $findings) {
        my $level = $findings;
        $level =~ s/"consequences":\[.*?\],"repair"/"repair"/gs;
        $level =~ s/\{"code":"R003","name":"[^"]*","severity":"note".*?"draw":[^}]*\}//gs; # no order changes the result
        @codes = sort grep { !$seen{$_}++ } $level =~ /"code":"([A-Z]\d{3})"/g;
        @lines = $level =~ /"line":(\d+)/g;
    }
    return (\@codes, \@lines, $json);
}

my @chosen = grep { !$word || index($_->{name}, $word) >= 0 } @programs;
if (!$ENV{ALL} && !$word) { my $step = int(@chosen / 12) || 1; @chosen = @chosen[ grep { $_ % $step == 0 } 0 .. $#chosen ] }
printf "1..%d\n", 2 * @chosen;
my ($test, $failed) = (0, 0);
sub ok {
    my ($good, $name, $why, @more) = @_;
    printf "%s %d - %s%s\n", $good ? 'ok' : 'not ok', ++$test, $name, $why ? " # TODO $why" : '';
    return if $good;
    $failed++ if !$why;
    print map { "# $_\n" } @more;
}
for my $program (@chosen) {
    my $line = write_program("$folder/wrong.c", $program->{body}, 1);
    my ($codes, $lines, $json) = judge('wrong.c');
    my @wanted = split / /, $program->{codes}; # CODE? may be there: what a buffer is done afterwards is the same mistake
    my $match = !grep { my $want = $_; $want !~ /\?$/ && !grep { /^(?:$want)$/ } @$codes } @wanted;
    $match &&= !grep { my $code = $_; !grep { my $want = s/\?$//r; $code =~ /^(?:$want)$/ } @wanted } @$codes;
    my $there = grep { $_ == $line } @$lines;
    ok($match && $there, "$program->{name}: found", $known{$program->{name}}, "wanted $program->{codes} at line $line, found @$codes at @$lines",
        @$codes ? () : substr $json, 0, 600);
    write_program("$folder/right.c", $program->{body}, 0);
    ($codes, $lines, $json) = judge('right.c');
    my $fine = $json =~ /"verdict":"(?:PROVEN|PASS)"/ && !grep { !/^N/ } @$codes;
    ok($fine, "$program->{name}: its right twin", $known{"$program->{name}, twin"}, "found @$codes at @$lines", $fine ? () : substr $json, 0, 400);
}
exit($failed ? 1 : 0);
__DATA__
