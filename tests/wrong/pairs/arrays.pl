# Arrays of counts, displacements and datatypes of collectives that have not ended: written to (wrong), or free again since they have
# ended; datatypes freed before the end, which MPI_Type_free allows by handles of one's own.
use strict;
use warnings;
use generate;

my $w = 'MPI_COMM_WORLD';
my $cart = "MPI_Comm cart;\nMPI_Cart_create($w, 1, &size, (int[]){1}, 0, &cart);\n";
my %calls = ( # arguments behind the name; whether on a topology
    alltoallv => ['a, counts, at, MPI_INT, b, counts, at, MPI_INT', 0],
    alltoallw => ['a, counts, far, types, b, counts, far, types', 0],
    allgatherv => ['a, 1, MPI_INT, b, counts, at, MPI_INT', 0],
    gatherv => ['a, 1, MPI_INT, b, counts, at, MPI_INT, 0', 0],
    scatterv => ['a, counts, at, MPI_INT, b, 1, MPI_INT, 0', 0],
    reduce_scatter => ['a, b, counts, MPI_INT, MPI_SUM', 0],
    neighbor_alltoallv => ['a, counts, at, MPI_INT, b, counts, at, MPI_INT', 1],
    neighbor_alltoallw => ['a, counts, wide, types, b, counts, wide, types', 1],
    neighbor_allgatherv => ['a, 1, MPI_INT, b, counts, at, MPI_INT', 1],
);
my $arrays = "int counts[4] = {1, 1, 1, 1}, at[4] = {0, 1, 2, 3}, far[4] = {0, 4, 8, 12};\nMPI_Aint wide[4] = {0, 4, 8, 12};\n"
    . "MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};\n";
for my $name (sort keys %calls) {
    my ($arguments, $topology) = @{$calls{$name}};
    my $comm = $topology ? 'cart' : $w;
    my ($before, $after) = $topology ? ($cart, "\nMPI_Comm_free(&cart);") : ('', '');
    my $used = "if (counts[0] + at[0] + far[0] + (int)wide[0] + (types[0] == MPI_INT) < -1) abort();\n";
    my @members = $arguments =~ /types/ ? ('counts', $topology ? 'wide' : 'far', 'types') : $name eq 'reduce_scatter' ? ('counts') : ('counts', 'at');
    for my $array (@members) {
        my $write = $array eq 'types' ? 'types[rank % 2] = MPI_FLOAT;' : "$array\[rank % 2\]++;";
        $write = "if (rank == 0) { $write }" if $name =~ /^(gatherv|scatterv)$/; # significant at the root
        add("arrays-i$name-$array", 2, 'B001', "$before$arrays${used}MPI_I$name($arguments, $comm, &req); \@!\n\@W{$write}\nMPI_Wait(&req, MPI_STATUS_IGNORE); \@!\n\@R{$write}$after");
        add("arrays-persistent-$name-$array", 2, 'B001', "$before$arrays${used}MPI_\u${name}_init($arguments, $comm, MPI_INFO_NULL, &req); \@!\nMPI_Start(&req); \@!\n"
            . "\@W{$write}\nMPI_Wait(&req, MPI_STATUS_IGNORE); \@!\nMPI_Request_free(&req);\n\@R{$write}$after");
    }
    next if $arguments !~ /types/;
    for my $form ('', '_init') {
        my $call = $form ? "MPI_\u${name}_init($arguments, $comm, MPI_INFO_NULL, &req);\nMPI_Datatype mine = types[0];\nMPI_Type_free(&mine);\nMPI_Start(&req);"
            : "MPI_I$name($arguments, $comm, &req);\nMPI_Datatype mine = types[0];\nMPI_Type_free(&mine);";
        my $free = $form ? "\nMPI_Request_free(&req);" : '';
        add("arrays-freed-types-$name$form", 2, 'B001', "$before$arrays${used}MPI_Type_contiguous(1, MPI_INT, &types[0]);\nMPI_Type_commit(&types[0]);\n"
            . "types[1] = types[2] = types[3] = types[0];\n$call\n\@W{b[0] = 1;} \@!\nMPI_Wait(&req, MPI_STATUS_IGNORE); \@!\nif (b[1] != 100) b[1] = 0;$free$after");
    }
}
1;
