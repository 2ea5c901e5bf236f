#!/usr/bin/perl
# wrappers.pl openmpi|mpich: prints the functions of another MPI's C library, made of the prototypes in sim/mpi.h.
# wrappers.pl openmpi-constants: prints its constants that are integers, in place of those of sim/mpi.h.
#
# A function takes that library's handles, statuses and constants, calls the function of simrun (its name with "simrun." in front: see
# sim/programs/resolve.c) with ours, and gives back what came of it in theirs. What cannot be made from a prototype (functions of the
# program's that MPI calls, buffers with room for bookkeeping, limits of strings) is written by hand in by_hand.c: a function that is defined
# there is left out here.
use strict;
use warnings;

my $mpi = shift or die "usage: wrappers.pl openmpi|mpich|openmpi-constants\n";
my $only_constants = $mpi =~ s/-constants$//;
(my $here = $0) =~ s{[^/]*$}{};
require($here =~ m{^/} ? "${here}prototypes.pl" : "./${here}prototypes.pl");
our (@handles, $handle, $header);

sub rows { return map { [split /\t/] } grep { !/^#/ && /\t/ } split /\n/, slurp($here . shift) }

my @functions = prototypes($here . '../mpi.h');

# Families of integers, and the handles: name here, name there.
my (%family, %predefined, %number);
for my $row (rows('values.tsv')) {
    my ($family, $name, $theirs) = ($row->[0], $row->[1], $row->[$mpi eq 'openmpi' ? 2 : 3]);
    next if $theirs eq '-';
    my $list = $family =~ /^(?:$handle)$/ ? \%predefined : \%family;
    push @{ $list->{$family} }, [$name, $theirs];
    $number{$family}{$name} = $row->[4] if defined $row->[4] && $row->[4] ne '-';
}
my %meaning = map { $_->[0] => $_->[1] } rows('parameters.tsv');
my %by_hand = map { $_ => 1 } slurp($here . 'by_hand.c') =~ /^(?:BY_HAND|STRING)\((\w+)/mg;

# --- Values ---

if ($only_constants) {
    print "/* Made by sim/shims/wrappers.pl from values.tsv. */\n";
    printf "#undef MPI_%s\n#define MPI_%s (%s)\n", $_->[0], $_->[0], $_->[1] for map { @{ $family{$_} } } sort keys %family;
    exit 0;
}
print "/* Made by sim/shims/wrappers.pl from sim/mpi.h and values.tsv. */\n#include \"sim/shims/shim.h\"\n";

# A value that is special here but not there must not become special on its way.
sub print_family {
    my ($name) = @_;
    my (%in, %out);
    my ($cases_in, $cases_out) = ('', '');
    for my $row (@{ $family{$name} }) {
        my ($ours, $theirs) = @$row;
        $cases_in  .= "    case $theirs: return MPI_$ours;\n" if !$in{$theirs}++;
        $cases_out .= "    case MPI_$ours: return $theirs;\n" if !$out{$ours}++;
    }
    if ($name =~ /^(?:rank|tag)$/) {
        for my $ours (map { $_->[0] } @{ $family{$name} }) {
            my ($value) = $header =~ /#define MPI_$ours\s+\((-\d+)\)/;
            $cases_in .= "    case MPI_$ours: return value - 1000;\n" if !$in{$value};
        }
    }
    print "int in_$name(int value)\n{\n    switch (value) {\n${cases_in}    default: return value;\n    }\n}\n";
    print "int out_$name(int value)\n{\n    switch (value) {\n${cases_out}    default: return value;\n    }\n}\n";
}

sub print_bits {
    my ($name) = @_;
    for my $way ('in', 'out') {
        my $terms = join ' | ', map { my ($o, $t) = ("MPI_$_->[0]", $_->[1]); $way eq 'in' ? "(value & $t ? $o : 0)" : "(value & $o ? $t : 0)" }
            @{ $family{$name} };
        print "int ${way}_$name(int value)\n{\n    return $terms;\n}\n";
    }
}
for my $name (sort keys %family) {
    $name eq 'assertion' ? print_bits($name) : print_family($name);
}

# Open MPI: the object's bytes say which of ours it is; a program may have a copy of it, and then every one means that copy.
sub print_objects {
    my (%seen, %at);
    for my $kind (@handles) {
        for my $row (@{ $predefined{$kind} || [] }) {
            my ($name, $symbol) = @$row;
            print "struct predefined $symbol = {PREDEFINED_MARK, (void *)MPI_$name};\n" if !$seen{$symbol}++;
            $at{"(uintptr_t)MPI_$name"} //= $symbol;
        }
    }
    my %value_of;
    print "void *const predefined_theirs[PREDEFINED_MAX] = {\n";
    my %index;
    for my $text (sort keys %at) {
        (my $name = $text) =~ s/.*MPI_//;
        next if $index{ value($name) }++;
        printf "    [%s] = &%s,\n", value($name), $at{$text};
    }
    print "};\n";
}

# The integers of its Fortran, which are no others in C; what is not predefined has ours.
sub print_numbers {
    for my $kind (@handles) {
        my ($cases_in, $cases_out, %in, %out) = ('', '');
        for my $name (sort keys %{ $number{$kind} || {} }) {
            my ($ours, $theirs) = (value($name), $number{$kind}{$name});
            $cases_in  .= "    case $theirs: return $ours;\n" if !$in{$theirs}++;
            $cases_out .= "    case $ours: return $theirs;\n" if !$out{$ours}++;
        }
        next if !$cases_in;
        print "int number_in_$kind(int number)\n{\n    switch (number) {\n${cases_in}    default: return number;\n    }\n}\n";
        print "int number_out_$kind(int number)\n{\n    switch (number) {\n${cases_out}    default: return number;\n    }\n}\n";
    }
}

# MPICH: integers.
sub print_integers {
    for my $kind (@handles) {
        my (%in, %out);
        my ($cases_in, $cases_out) = ('', '');
        for my $row (@{ $predefined{$kind} || [] }) {
            my ($name, $theirs) = @$row;
            $cases_in  .= "    case (int)$theirs: return MPI_$name;\n" if !$in{$theirs}++;
            $cases_out .= '    case ' . value($name) . ": return (int)$theirs;\n" if !$out{ value($name) }++;
        }
        print "MPI_$kind in_$kind(int value)\n{\n    switch (value) {\n${cases_in}    default: return numbers_find(value);\n    }\n}\n";
        print "int out_$kind(MPI_$kind handle)\n{\n    switch ((uintptr_t)handle) {\n${cases_out}"
            . "    default: return numbers_of(handle);\n    }\n}\n";
    }
}
$mpi eq 'openmpi' ? (print_objects(), print_numbers()) : print_integers();

# --- Functions ---

# How long the arrays of a function are.
sub length_of {
    my ($function, $parameter, $names) = @_;
    return 'sources_of(comm)'  if $function =~ /eighbor_alltoallw/ && $parameter->{name} eq 'recvtypes';
    return 'targets_of(comm)'  if $function =~ /eighbor_alltoallw/;
    return 'peers_of(comm)'    if $function =~ /lltoallw/;
    return 'max_datatypes'     if $parameter->{name} eq 'array_of_datatypes';
    return count_of($names) // 0;
}

# Statements before and after the call, and what is passed, for one parameter.
sub convert {
    my ($function, $parameter, $names) = @_;
    my ($type, $name, $array) = @$parameter{qw(type name array)};
    my $const = $type =~ /^const /;
    my $family = $meaning{"$function.$name"} // $meaning{$name} // '-';
    my $length = $array ? length_of($function, $parameter, $names) : 0;
    return ('', $name, '') if $function =~ /^T_/;
    if ($type =~ /^MPI_($handle)$/ && !$array) { return ('', "in_$1($name)", '') }
    if ($type =~ /^(?:const )?MPI_($handle)( \*|)$/ && ($array || $2)) {
        my $kind = $1;
        return ('', "LATER_IN($kind, $name)", '') if $function =~ /^Comm_idup/ && $kind eq 'Comm';    # written when the request completes
        my $is_read = $function =~ /_free$|_disconnect$|_finalize$|^(?:Type_commit|Wait|Test|Start|Cancel)$/
            || ($function =~ /recv/ && $name eq 'message');
        return ("    MPI_$kind own_$name = " . ($is_read ? "$name ? in_$kind(*$name) : NULL;\n" : "NULL;\n"), "$name ? &own_$name : NULL",
            $is_read ? "    if ($name)\n        *$name = again_$kind(*$name, own_$name);\n"
            : "    if (own_$name)\n        *$name = out_$kind(own_$name);\n") if !$array;
        my $keep = $function =~ /^I.*lltoallw|lltoallw_init/ ? 'KEEP' : 'ROOM';
        my $before = "    $keep(MPI_$kind, own_$name, $name, $length)\n";
        my $each = "    for (int i = 0; own_$name && i < $length; i++)\n";
        my $read = $name ne 'array_of_datatypes';
        $before .= $each . "        own_${name}[i] = " . ($read ? "in_$kind(${name}[i]);\n" : "NULL;\n");
        my $after = $const ? '' : !$read ? $each . "        if (own_${name}[i])\n            ${name}[i] = out_$kind(own_${name}[i]);\n"
            : $each . "        ${name}[i] = again_$kind(${name}[i], own_${name}[i]);\n";
        return ($before, "own_$name", $after . ($keep eq 'ROOM' ? "    ROOM_FREE(own_$name)\n" : ''));
    }
    if ($type =~ /^(?:const )?MPI_Status/) {
        return ("    MPI_Status own_$name;\n", "status_in($name, &own_$name)",
            $const ? '' : "    status_out($name, &own_$name);\n") if !$array;
        return ("    ROOM(MPI_Status, own_$name, STATUSES_THERE($name), $length)\n"
                . "    for (int i = 0; own_$name && i < $length; i++)\n        status_in(&${name}[i], &own_${name}[i]);\n",
            "own_$name",
            "    for (int i = 0; own_$name && i < $length; i++)\n        status_out(&${name}[i], &own_${name}[i]);\n"
                . "    ROOM_FREE(own_$name)\n");
    }
    return ('', "WEIGHTS_IN($name)", '') if $name =~ /weights$/;
    return ('', "BUFFER_IN($name)", '')  if $name =~ /^(?:send|recv)buf$/;
    return ('', $name, '') if $family eq '-';
    return ('', "in_$family($name)", '') if $type eq 'int' && !$array;
    return ("    int own_$name = $name ? in_$family(*$name) : 0;\n", "$name ? &own_$name : NULL",
        "    if ($name)\n        *$name = out_$family(own_$name);\n") if $type eq 'int *';
    if ($array && $type =~ /int$/) {
        return ("    ROOM(int, own_$name, $name, $length)\n    for (int i = 0; own_$name && i < $length; i++)\n"
                . "        own_${name}[i] = in_$family(${name}[i]);\n", "own_$name",
            ($const ? '' : "    for (int i = 0; own_$name && i < $length; i++)\n        ${name}[i] = out_$family(own_${name}[i]);\n")
                . "    ROOM_FREE(own_$name)\n");
    }
    return ('', $name, '');
}

# In the types of the other library.
sub theirs {
    my ($declaration) = @_;
    $declaration =~ s/\bMPI_($handle|Status)\b(?!_)/F_$1/g;
    return $declaration;
}

# What MPI 3 removed and older programs call.
my @older = (
    [qw(Address Get_address)], [qw(Type_struct Type_create_struct)], [qw(Type_hvector Type_create_hvector)],
    [qw(Type_hindexed Type_create_hindexed)],
    [qw(Errhandler_get Comm_get_errhandler)], [qw(Errhandler_set Comm_set_errhandler)]);

for my $row (@functions) {
    my ($returns, $function, $list, $parameters) = @$row;
    my @parameters = @$parameters;
    print "OURS($returns, $function, ($list))\n" if $list !~ /\.\.\./;
    if (!$by_hand{$function} && $list !~ /\.\.\.|_function/) {
        my %names = map { $_->{name} => 1 } @parameters;
        my ($before, $after, @passed) = ('', '');
        for my $parameter (@parameters) {
            my ($b, $p, $a) = convert($function, $parameter, \%names);
            $before .= $b;
            $after  .= $a;
            push @passed, $p;
        }
        print 'THEIRS(', theirs($returns), ", $function, (", $function =~ /^T_/ ? $list : theirs($list), "))\n{\n    ENTER();\n$before";
        print "    $returns outcome = ours_$function(", join(', ', @passed), ");\n$after    LEAVE();\n";
        print '    return ', $returns eq 'int' ? 'out_error(outcome)' : 'outcome', ";\n}\n";
        print "OLDER($_, $function)\n" for map { $_->[0] } grep { $_->[1] eq $function } @older;
    }
}
