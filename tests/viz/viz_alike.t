#!/usr/bin/perl
# Pictures of many ranks: those that are alike are drawn in one lane, with their number. The program counts its own calls by name and names
# the peers of its messages: read back from the picture, each rank has one lane, and in it as many calls, to and from the same ranks. What
# the finding names has a lane of its own. --all draws each rank.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = $ENV{SIMRUN} // 'build/simrun';
(my $simcc = $simrun) =~ s/simrun$/simcc/;
my $folder = scratch_folder();

# Random phases, the same on all ranks: collectives, rings, stars, pairs, lines of some ranks; somewhere among them a race on rank `hub`.
sub program {
    my ($file) = @_;
    open my $out, '>', $file or die "$file: $!";
    print $out <<'C';
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int rank, size, value, collectives[3];
static int sent[80], received[80];
static unsigned state;
static int drawn(int n) { state = state * 1103515245 + 12345; return (int)(state >> 16) % n; }
static void put(int to, int tag)
{
    sent[to]++;
    MPI_Send(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}
static void get(int from, int tag, int source)
{
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &status);
    received[source < 0 ? status.MPI_SOURCE : source]++;
}
static void phase(int kind, int a, int far, int low, int tag)
{
    int sum;
    int to = (rank + far) % size, from = (rank + size - far % size) % size;
    if (kind == 0) { collectives[0]++; MPI_Barrier(MPI_COMM_WORLD); }
    if (kind == 1) { collectives[1]++; MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
    if (kind == 2) { collectives[2]++; MPI_Bcast(&value, 1, MPI_INT, a, MPI_COMM_WORLD); }
    if (kind == 3 && to != rank) { put(to, tag); get(from, tag, from); }             /* a ring */
    if (kind == 4 && rank >= low && rank != a) put(a, tag);                            /* to one */
    if (kind == 4 && rank == a) for (int i = low; i < size; i++) if (i != a) get(i, tag, i);
    if (kind == 5 && rank == a) for (int i = low; i < size; i++) if (i != a) put(i, tag); /* from one */
    if (kind == 5 && rank >= low && rank != a) get(a, tag, a);
    if (kind == 6 && (rank ^ 1) < size) { put(rank ^ 1, tag); get(rank ^ 1, tag, rank ^ 1); } /* pairs */
    if (kind == 7) { /* a line */
        if (rank > low) get(rank - 1, tag, rank - 1);
        if (rank >= low && rank < size - 1) put(rank + 1, tag);
    }
}
int main(int argc, char **argv)
{
    state = (unsigned)atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int phases = 1 + drawn(5), when = drawn(phases), hub = drawn(size), senders = drawn(7);
    if (senders > size - 1) senders = size - 1;
    for (int i = 0; i < phases; i++) {
        int kind = drawn(8), a = drawn(size), far = 1 + drawn(3), low = drawn(size), tag = 1 + drawn(4);
        int times = drawn(5) ? 1 : 5 + drawn(60);
        for (int k = 0; k < times; k++) phase(kind, a, far, low, tag);
        int away = (rank + size - hub) % size; /* of a race, where there is more than one sender */
        for (int k = 0; i == when && rank == hub && k < senders; k++) get(MPI_ANY_SOURCE, 9, -1);
        if (i == when && away > 0 && away <= senders) put(hub, 9);
    }
    char line[4000];
    int at = sprintf(line, "rank %d Barrier %d Allreduce %d Bcast %d Send", rank, collectives[0], collectives[1], collectives[2]);
    for (int i = 0; i < size; i++) if (sent[i]) at += sprintf(line + at, " %d:%d", i, sent[i]);
    at += sprintf(line + at, "; Recv");
    for (int i = 0; i < size; i++) if (received[i]) at += sprintf(line + at, " %d:%d", i, received[i]);
    printf("%s;\n", line);
    MPI_Finalize();
    return 0;
}
C
    close $out or die;
}

# "2, 4-6" as ranks; "4, 6, ... 12" as well.
sub ranks {
    my ($text) = @_;
    my @ranks;
    $text =~ s{(\d+), (\d+), \.\.\. (\d+)}{my @run; for (my $r = $1; $r <= $3; $r += $2 - $1) { push @run, $r } join ', ', @run}ge;
    push @ranks, /(\d+)-(\d+)/ ? $1 .. $2 : $_ for split /, /, $text;
    return @ranks;
}

# What a picture says of each rank, in the words of the program; how many lanes each has; how many messages its arrows are.
sub read_picture {
    my ($dot, $size) = @_;
    my (%said, %lanes, $messages);
    for my $lane ($dot =~ /subgraph cluster_rank\d+ \{(.*?)\n  \}/gs) {
        my ($name) = $lane =~ /^    r\d+ \[label=<<B>ranks? ([^<]*)</m;
        ($name) = $lane =~ /tooltip="ranks ([^"]*)"/ if $lane =~ / alike<\/FONT>>, shape=box/;
        my @ranks = ranks($name);
        my ($count) = $lane =~ />(\d+) alike</;
        is scalar @ranks, $count, "as many ranks as it says: $name" if defined $count && $count != @ranks;
        for my $rank (@ranks) {
            $lanes{$rank}++;
            for my $mark ($lane =~ /^    m\d+ \[label=<(.*?)>, shape=/mg) {
                my ($call) = $mark =~ /^(?:<B>)?(\w+)/;
                my $times = $mark =~ /\xC3\x97 (\d+)/ ? $1 : 1;
                if ($call !~ /^(Send|Recv)$/) { $said{$rank}{$call} += $times; next }
                if ($mark =~ /(?:to|from) (?:any: )?ranks ([\d, .-]*\d)/) { # with each of them as often
                    my @peers = ranks($1);
                    $said{$rank}{$call}{$_} += $times / @peers for @peers;
                    next;
                }
                my ($sign, $peer) = $mark =~ /(?:to|from) (?:any: )?(?:rank ([+-]) )?(\d+)/;
                $peer = $sign eq '+' ? $rank + $peer : $rank - $peer if $sign;
                $peer = ($peer % $size + $size) % $size if $mark =~ / mod \d+/;
                $said{$rank}{$call}{$peer} += $times;
            }
        }
    }
    while ($dot =~ /^  m\d+ -> m\d+ \[color="#(?:0072B2|9CC4DC)", penwidth=2.*?tooltip="(?:(\d+) messages, )?/mg) { $messages += $1 // 1 }
    return (\%said, \%lanes, $messages // 0);
}

sub words { # of what a rank does
    my ($said) = @_;
    return join '; ', map { my $v = $said->{$_}; "$_ " . (ref $v ? join ' ', map { "$_:$v->{$_}" } sort { $a <=> $b } keys %$v : $v) }
        grep { ref $said->{$_} ? %{$said->{$_}} : $said->{$_} } sort keys %$said;
}

my $inside = 0;
# Labels that say how many messages stay in a lane, and lie on the words of one of its marks.
sub covered {
    my ($dot) = @_;
    my (%box, @inside, @labels);
    while ($dot =~ /^    (m\d+) \[.*?width=([\d.]+), height=([\d.]+), pos="([-\d.]+),([-\d.]+)!"/mg) { $box{$1} = [$4, $5, $2 * 72, $3 * 72] }
    while ($dot =~ /^  (m\d+) -> (m\d+) \[.*tooltip="(\d+ messages)/mg) { push @inside, [$1, $2, $3] if $box{$1} && $box{$2} && $box{$1}[1] == $box{$2}[1] }
    while ($dot =~ /width=([\d.]+),[^\n]*<B>(\d+ messages)<\/B>[^\n]*pos="([-\d.]+),([-\d.]+)!"/g) { push @labels, [$2, $3, $4, $1 * 72] }
    my $count = 0;
    for my $link (@inside) {
        my ($from, $to) = @box{@$link[0, 1]};
        my $middle = ($from->[0] + $to->[0]) / 2;
        for my $label (grep { $_->[0] eq $link->[2] && abs($_->[1] - $middle) < 3 && abs($_->[2] - $from->[1]) < 60 } @labels) {
            $inside++;
            $count++ if grep { abs($_->[0] - $label->[1]) < ($_->[2] + $label->[3]) / 2 - 2 && abs($_->[1] - $label->[2]) < $_->[3] / 2 } $from, $to;
        }
    }
    return $count;
}

program("$folder/alike.c");
is system("'$simcc' -g -o '$folder/alike' '$folder/alike.c'"), 0, 'the program compiles';
my ($whole, $folded, $drawn_once, $races, $spread) = (0, 0, 0, 0, 0);
srand($ENV{SEED} // 7);
my @cases = map { my $ranks = 2 + int rand 79; [$_, $ranks] } 1 .. ($ENV{ALL} ? 300 : 24);
push @cases, [1001, 2], [1002, 8], [1003, 9], [1004, 80];
for my $case (@cases) {
    my ($seed, $ranks) = @$case;
    my $name = "seed $seed, $ranks ranks";
    unlink map { "$folder/alike.db$_" } '', '-wal', '-shm';
    my $told = qx{'$simrun' --ranks $ranks --db '$folder/alike.db' '$folder/alike' $seed 2>&1};
    my $dot = qx{'$simrun' graph --db '$folder/alike.db' 1 --view forward 2>&1};
    my (%made, $sent);
    while ($told =~ /\brank (\d+) Barrier (\d+) Allreduce (\d+) Bcast (\d+) Send([ \d:]*); Recv([ \d:]*);/g) {
        my ($rank, $to, $from) = ($1, $5, $6);
        $made{$rank} = {Barrier => $2, Allreduce => $3, Bcast => $4};
        /(\d+):(\d+)/, $made{$rank}{Send}{$1} = $2, $sent += $2 for split ' ', $to;
        /(\d+):(\d+)/, $made{$rank}{Recv}{$1} = $2 for split ' ', $from;
    }
    is keys %made, $ranks, "$name: it runs" or diag $told;
    my ($said, $lanes, $messages) = read_picture($dot, $ranks);
    is covered($dot), 0, "$name: no number of messages lies on a mark";
    my @folded = $dot =~ / alike<\/FONT>>, shape=box/g;
    ok !@folded, "$name: a small world is drawn whole" if $ranks <= 8;
    my %alone = map { $_ => 1 } $dot =~ /\[label=<<B>rank (\d+)<\/B>>/g;
    my @named = $told =~ /\brank (\d+): .*\((?:culprit|partner|core)\)$/mg;
    $races += @named > 3;
    is join(' ', grep { !$alone{$_} } @named), '', "$name: ranks that a finding names have lanes of their own" if @named;
    next if $dot =~ /operations shown/; # a neighbourhood
    $whole++;
    $folded += @folded > 0;
    $spread += $dot =~ /(?:to|from) (?:any: )?ranks \d/;
    my @lanes = grep { ($lanes->{$_} // 0) != 1 && words($made{$_}) ne '' } 0 .. $ranks - 1;
    is "@lanes", '', "$name: a lane for every rank, and one";
    my @wrong = grep { words($said->{$_} // {}) ne words($made{$_}) } 0 .. $ranks - 1;
    is scalar @wrong, 0, "$name: every rank's calls, and with whom"
        or diag join "\n", map { "$_ made: " . words($made{$_}) . "\n$_ drawn: " . words($said->{$_} // {}) } @wrong[0 .. ($#wrong > 2 ? 2 : $#wrong)];
    is $messages, $sent // 0, "$name: every message";
    next if $drawn_once++ > 3;
    my $all = qx{'$simrun' graph --db '$folder/alike.db' 1 --view forward --all 2>&1};
    ok $all !~ / alike</, "$name: --all draws each rank";
    ($said) = read_picture($all, $ranks);
    is scalar(grep { words($said->{$_} // {}) ne words($made{$_}) } 0 .. $ranks - 1), 0, "$name: --all, too, has every rank's calls";
}
# A line in which one rank never sends: the others say what they wait for. Read back from the table beside the hang, every one waits for that.
open my $out, '>', "$folder/line.c" or die;
print $out <<'C';
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size, value = 0, far = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank % 2) printf("%d needs a send on %d;\n", rank, far);
    else if (rank >= far) printf("%d needs a send on %d;\n", rank, rank - far);
    fflush(stdout);
    if (rank % 2) MPI_Recv(&value, 1, MPI_INT, far, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rank >= far) MPI_Recv(&value, 1, MPI_INT, rank - far, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
C
close $out or die;
is system("'$simcc' -g -o '$folder/line' '$folder/line.c'"), 0, 'the program that hangs compiles';
for my $case ([2, 40], [4, 33], [2, 6]) {
    my ($far, $ranks) = @$case;
    my $told = qx{'$simrun' --ranks $ranks --db none --dot '$folder/line.dot' '$folder/line' $far 2>&1};
    my %needs = $told =~ /\b(\d+) needs (a send on \d+);/g;
    my $dot = do { open my $in, '<', "$folder/line.dot" or die; local $/; <$in> };
    my %table;
    while ($dot =~ m{<TR><TD ALIGN="LEFT">([\d., -]+)</TD><TD ALIGN="LEFT">[^<]*</TD><TD ALIGN="LEFT">([^<]*)</TD></TR>}g) {
        my ($who, $needs) = ($1, $2);
        for my $rank (ranks($who)) {
            (my $own = $needs) =~ s/rank ([+-]) (\d+)/$1 eq '+' ? $rank + $2 : $rank - $2/e;
            $table{$rank} = exists $table{$rank} ? 'twice' : $own;
        }
    }
    is_deeply \%table, \%needs, "$ranks ranks, $far apart: the table has what every rank waits for" or diag $dot =~ /(Unmatched.*)/;
}
cmp_ok $whole, '>', @cases / 2, "$whole of " . @cases . ' pictures are whole';
cmp_ok $inside, '>', 3, "$inside labels of messages within a lane";
cmp_ok $spread, '>', $whole / 8, "in $spread one mark is of messages to or from several ranks";
cmp_ok $races, '>', @cases / 4, "in $races a finding names more than three ranks";
cmp_ok $folded, '>', $whole / 3, "in $folded some ranks are drawn in one lane";
done_testing;
