#!/usr/bin/perl
# Calls that make communicators and windows, on one rank one, on the others another: each pair is a mismatch (M001) that names both calls,
# and each with itself is none. A call stands under its own name, as well where it is a form of another one.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/..";
use JSON::PP;
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = $ENV{SIMRUN} // 'build/simrun';
my $folder = scratch_folder();
my @calls = (
    ['Comm_dup',           'MPI_Comm_dup(w, &c)'],
    ['Comm_dup_with_info', 'MPI_Comm_dup_with_info(w, MPI_INFO_NULL, &c)'],
    ['nonblocking Comm_dup', 'MPI_Comm_idup(w, &c, &q); MPI_Wait(&q, MPI_STATUS_IGNORE)'],
    ['nonblocking Comm_dup_with_info', 'MPI_Comm_idup_with_info(w, MPI_INFO_NULL, &c, &q); MPI_Wait(&q, MPI_STATUS_IGNORE)'],
    ['Comm_split',         'MPI_Comm_split(w, 0, rank, &c)'],
    ['Comm_split_type',    'MPI_Comm_split_type(w, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &c)'],
    ['Comm_create',        'MPI_Comm_create(w, group, &c)'],
    ['Cart_create',        'MPI_Cart_create(w, 1, &size, &none, 0, &c)'],
    ['Graph_create',       'MPI_Graph_create(w, size, index, edges, 0, &c)'],
    ['Dist_graph_create',  'MPI_Dist_graph_create(w, 1, &rank, &one, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c)'],
    ['Dist_graph_create_adjacent', 'MPI_Dist_graph_create_adjacent(w, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c)'],
    ['Win_create',         'MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, w, &window)'],
    ['Win_allocate',       'MPI_Win_allocate(16, 4, MPI_INFO_NULL, w, &base, &window)'],
    ['Win_allocate_shared', 'MPI_Win_allocate_shared(16, 4, MPI_INFO_NULL, w, &base, &window)'],
    ['Win_create_dynamic', 'MPI_Win_create_dynamic(MPI_INFO_NULL, w, &window)'],
    ['Barrier',            'MPI_Barrier(w)'],
);
open my $out, '>', "$folder/kinds.c" or die "$folder/kinds.c: $!";
print $out <<'C', map({ "    case $_: $calls[$_][1]; break;\n" } 0 .. $#calls), <<'C';
#include <mpi.h>
#include <stdlib.h>
int main(int count, char **words)
{
    int rank, size, one = 1, none = 0, index[8], edges[8], memory[4];
    MPI_Comm w = MPI_COMM_WORLD, c = MPI_COMM_NULL;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Request q;
    MPI_Group group;
    void *base;
    MPI_Init(&count, &words);
    MPI_Comm_rank(w, &rank);
    MPI_Comm_size(w, &size);
    MPI_Comm_group(w, &group);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int i = 0; i < size; i++) { index[i] = i + 1; edges[i] = (i + 1) % size; }
    switch (atoi(words[rank == 1 ? 2 : 1])) {
C
    }
    if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
    if (window != MPI_WIN_NULL) MPI_Win_free(&window);
    MPI_Group_free(&group);
    MPI_Finalize();
    return 0;
}
C
close $out or die;

sub judged {
    my ($program, @words) = @_;
    my $result = eval { decode_json(qx{'$simrun' --db none --json -n 3 '$folder/$program' @words 2>/dev/null}) } or return 'nothing';
    my ($first) = grep { $_->{severity} eq 'error' } @{ $result->{findings} };
    return $first ? "$first->{code} $first->{title}" : $result->{verdict};
}

for my $mine (0 .. $#calls) {
    my @wrong;
    for my $theirs (0 .. $#calls) {
        my $said = judged('kinds.c', $mine, $theirs);
        my $names = $said =~ /\Q: $calls[$mine][0]\E at \S+ \Q$calls[$theirs][0]\E at / ? 'named' : 'not named';
        my $is = $said =~ /^M001/ ? "M001 $names" : $said;
        my $due = $mine == $theirs ? 'PASS' : 'M001 named';
        push @wrong, "with $calls[$theirs][0]: $is" . ($is eq $said ? '' : " in '$said'") if $is ne $due;
    }
    is "@wrong", '', "$calls[$mine][0] matches itself and nothing else";
}

# The same on an intercommunicator, and on one with a grid.
open $out, '>', "$folder/others.c" or die "$folder/others.c: $!";
print $out <<'C';
#include <mpi.h>
#include <stdlib.h>
int main(int count, char **words)
{
    int rank, size, periods[2] = {0, 0}, kept[2] = {1, 1};
    MPI_Comm half, on, c = MPI_COMM_NULL;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sizes[2] = {size, 1};
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    if (atoi(words[1]) < 5) MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &on);
    else MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &on);
    switch (atoi(words[rank == 1 ? 2 : 1])) {
    case 0: MPI_Comm_dup(on, &c); break;
    case 1: MPI_Comm_dup_with_info(on, MPI_INFO_NULL, &c); break;
    case 2: MPI_Comm_split(on, 0, rank, &c); break;
    case 3: MPI_Comm_split_type(on, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &c); break;
    case 4: MPI_Intercomm_merge(on, rank % 2, &c); break;
    case 5: MPI_Cart_sub(on, kept, &c); break;
    case 6: MPI_Comm_split(on, 0, rank, &c); break;
    case 7: MPI_Cart_create(on, 2, sizes, periods, 0, &c); break;
    }
    if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
    MPI_Comm_free(&on);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
C
close $out or die;
my @others = qw(Comm_dup Comm_dup_with_info Comm_split Comm_split_type Intercomm_merge Cart_sub Comm_split Cart_create);
for my $group ([0 .. 4], [5 .. 7]) {
    for my $mine (@$group) {
        my @wrong;
        for my $theirs (@$group) {
            my $said = judged('others.c', $mine, $theirs);
            my $good = $mine == $theirs ? $said eq 'PASS' : $said =~ /^M001 .*: $others[$mine] at \S+ $others[$theirs] at /;
            push @wrong, "with $others[$theirs]: $said" if !$good;
        }
        is "@wrong", '', "$others[$mine] on " . ($mine < 5 ? 'an intercommunicator' : 'a grid') . ' matches itself and nothing else';
    }
}

open $out, '>', "$folder/names.c" or die "$folder/names.c: $!";
print $out <<'C';
#include <mpi.h>
#include <string.h>
int main(int count, char **words)
{
    int rank, a[2] = {0}, b[2];
    MPI_Request q;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !strcmp(words[1], "Sendrecv")) MPI_Sendrecv(a, 1, MPI_INT, 0, 0, b, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0 && !strcmp(words[1], "Sendrecv_replace")) MPI_Sendrecv_replace(a, 1, MPI_INT, 0, 0, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0 && !strcmp(words[1], "Isendrecv")) { MPI_Isendrecv(a, 1, MPI_INT, 0, 0, b, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); }
    if (rank == 0 && !strcmp(words[1], "Isendrecv_replace")) { MPI_Isendrecv_replace(a, 1, MPI_INT, 0, 0, 1, 0, MPI_COMM_WORLD, &q); MPI_Wait(&q, MPI_STATUS_IGNORE); }
    MPI_Finalize();
    return 0;
}
C
close $out or die;
for my $call (qw(Sendrecv Sendrecv_replace Isendrecv Isendrecv_replace)) {
    my $said = qx{'$simrun' --db none -n 2 '$folder/names.c' $call 2>&1};
    my %names = map { $_ => 1 } $said =~ /\b(I?[Ss]endrecv(?:_replace)?)\b(?=[^']*\bnames\.c:)/g;
    is join(' ', sort keys %names), $call, "$call stands under its name";
}
done_testing;
