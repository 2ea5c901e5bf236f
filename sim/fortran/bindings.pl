#!/usr/bin/perl
# bindings.pl functions|mpif|module: MPI's Fortran 77 and 90 interface, made of the prototypes in sim/mpi.h.
#
#   functions   C: mpi_send_ and so on, which Fortran calls. Handles are integers there, everything is passed by its address, strings have
#               hidden lengths behind all other arguments, positions count from 1.
#   mpif        mpif.h, for fixed and free form
#   module      the source of the module mpi, which simfort compiles for the compiler at hand
#
# What cannot be made from a prototype is written by hand in by_hand.c.
use strict;
use warnings;

my $what = shift or die "usage: bindings.pl functions|mpif|module\n";
(my $here = $0) =~ s{[^/]*$}{};
$here = "./$here" if $here !~ m{^/};
require "${here}../shims/prototypes.pl";
our ($handle, $header);
my @functions = prototypes("${here}../mpi.h");
my %by_hand = map { lc $_ => 1 } slurp("${here}by_hand.c") =~ /^(?:BY_HAND|ATTRIBUTE\w*)\((\w+)/mg;

# Not part of Fortran's interface here: tools, files, large counts (which Fortran knows by overloading), processes, functions without a fixed
# list, and what only C has.
my $left_out = qr/^(?:T_|File_|Register_datarep|Comm_spawn|Comm_join|Info_create_env|Pcontrol|Abi_)|_c$/;
my %logical = map { $_ => 1 } qw(flag commute reorder periods remain_dims high weighted);
my %buffer  = map { $_ => 1 } qw(buf sendbuf recvbuf buffer inbuf outbuf inoutbuf origin_addr result_addr compare_addr location base baseptr);

sub is_served { my ($f) = @_; return $f->[1] !~ $left_out && $f->[2] !~ /_function|\.\.\.|char \*\w*\[/ }

# --- C ---

# Declaration, statements before, what is passed, statements after, and whether a hidden length belongs to it.
sub convert {
    my ($function, $p, $names) = @_;
    my ($type, $name, $array) = @$p{qw(type name array)};
    my $const  = $type =~ /^const /;
    my $length = $array ? $function =~ /eighbor_alltoallw/ ? 'neighbours_of(*comm)' : $function =~ /lltoallw/ ? 'peers_of(*comm)'
        : $name eq 'array_of_datatypes' ? '*max_datatypes' : '*' . (count_of($names) // 'NONE') : 0;
    if ($type =~ /^(?:const )?MPI_($handle)( \*|)$/) {
        my ($kind, $pointer) = ($1 eq 'Datatype' ? 'Type' : $1, $2);
        my $c = "MPI_$1";
        return ("const int *$name", '', "${kind}_in(*$name)", '') if !$array && !$pointer;
        if (!$array) {
            my $read = $function =~ /_free$|_disconnect$|_finalize$|^(?:Type_commit|Wait|Test|Start|Cancel)$/ || ($function =~ /recv/ && $name eq 'message');
            return ("int *$name", "    $c own_$name = " . ($read ? "${kind}_in(*$name)" : 'NULL') . ";\n", "&own_$name",
                "    if (own_$name)\n        *$name = ${kind}_out(own_$name);\n");
        }
        my $room = $function =~ /^I.*lltoallw|lltoallw_init/ ? 'KEEP' : 'ROOM';
        my $each = "    for (int i = 0; i < $length; i++)\n";
        my $read = $name ne 'array_of_datatypes';
        return (($const ? 'const ' : '') . "int ${name}[]", "    $room($c, own_$name, $length)\n$each        own_${name}[i] = "
                . ($read ? "${kind}_in(${name}[i])" : 'NULL') . ";\n",
            "own_$name", ($const ? '' : "$each        if (own_${name}[i])\n            ${name}[i] = ${kind}_out(own_${name}[i]);\n")
                . ($room eq 'ROOM' ? "    ROOM_FREE(own_$name)\n" : ''));
    }
    return (($const ? 'const ' : '') . "int *$name", '', "STATUS($name)", '') if $type =~ /MPI_Status/;
    return ("const char *$name", "    char *own_$name = string_in($name, ${name}_length);\n", "own_$name", "    free(own_$name);\n", 1)
        if $type eq 'const char *' || $type eq 'const char';
    return ("char *$name", "    char own_${name}[STRING_MAX] = \"\";\n", "own_$name", "    string_out($name, ${name}_length, own_$name);\n", 1)
        if $type eq 'char *';
    return ("int *$name", "    int own_$name = 0;\n", "&own_$name", "    *$name = own_$name != 0;\n") if $type eq 'int *' && $logical{$name};
    return ("int *$name", "    int own_$name = MPI_UNDEFINED;\n", "&own_$name", "    *$name = position_out(own_$name);\n")
        if $type eq 'int *' && $name eq 'index';
    return ("int ${name}[]", '', $name, "    positions_out($name, *outcount);\n") if $name eq 'array_of_indices';
    return ("const $type *$name", '', "*$name", '') if $type =~ /^(?:int|MPI_Aint|MPI_Count)$/ && !$array && $p->{text} !~ /\[/;
    return (($const ? 'const ' : '') . "int *$name", '', "WEIGHTS($name)", '') if $name =~ /weights$/;
    return ("void *$name", '', "ADDRESS($name)", '') if $buffer{$name} && $type =~ /void/;
    return ($p->{text}, '', $name, '');
}

sub print_functions {
    print "/* Made by sim/fortran/bindings.pl from sim/mpi.h. */\n#include \"sim/fortran/fortran.h\"\n";
    for my $f (grep { is_served($_) && !$by_hand{ lc $_->[1] } } @functions) {
        my ($returns, $function, $list, $parameters) = @$f;
        my %names = map { $_->{name} => 1 } @$parameters;
        my ($before, $after, @declared, @passed, @lengths) = ('', '');
        for my $p (@$parameters) {
            my ($d, $b, $c, $a, $string) = convert($function, $p, \%names);
            push @declared, $d;
            push @passed,   $c;
            push @lengths,  "size_t $p->{name}_length" if $string;
            $before .= $b;
            $after  .= $a;
        }
        if ($returns ne 'int') {
            print "FUNCTION($returns, ", lc $function, ', (', join(', ', @declared) || 'void', "))\n{\n    return MPI_$function(",
                join(', ', @passed), ");\n}\n";
            next;
        }
        print 'SUBROUTINE(', lc $function, ', (', join(', ', @declared, 'int *ierror', @lengths), "))\n{\n    ENTER();\n$before",
            "    *ierror = MPI_$function(", join(', ', @passed), ");\n$after    LEAVE();\n}\n";
    }
}

# --- Fortran ---

# Name and value of every constant that is an integer in Fortran; arrays that only their address means something of.
my @addresses = (['MPI_BOTTOM', ''], ['MPI_IN_PLACE', ''], ['MPI_STATUS_IGNORE', '(8)'], ['MPI_STATUSES_IGNORE', '(8,1)'],
    ['MPI_ERRCODES_IGNORE', '(1)'], ['MPI_UNWEIGHTED', '(1)'], ['MPI_WEIGHTS_EMPTY', '(1)'], ['MPI_BUFFER_AUTOMATIC', '']);
my @external = qw(MPI_DUP_FN MPI_NULL_COPY_FN MPI_NULL_DELETE_FN MPI_COMM_DUP_FN MPI_COMM_NULL_COPY_FN MPI_COMM_NULL_DELETE_FN);

sub constants {
    my @found = (['MPI_STATUS_SIZE', 8], ['MPI_SOURCE', 1], ['MPI_TAG', 2], ['MPI_ERROR', 3], ['MPI_ADDRESS_KIND', 8], ['MPI_OFFSET_KIND', 8],
        ['MPI_COUNT_KIND', 8], ['MPI_INTEGER_KIND', 4]);
    while ($header =~ /^#define (MPI_[A-Z0-9_]+)\s+(\S.*)$/mg) {
        my ($name, $value) = ($1, $2);
        next if $name =~ /^MPI_(?:T_|ABI_|F_|DISPLACEMENT_CURRENT)/;
        $value = hex $1 if $value =~ /^\(\(MPI_\w+\)(0x\w+)\)$/;
        $value = hex value($1) if $value =~ /^MPI_(\w+)$/;
        $value = hex $value if $value =~ /^0x/i;
        $value =~ s/^\((-\d+)\)$/$1/;
        next if $value !~ /^-?\d+$/;
        $value-- if $name =~ /^MPI_MAX_/;    # there is no final null in Fortran
        push @found, [$name, $value];
    }
    return @found;
}

sub print_constants {
    printf "      INTEGER %s\n      PARAMETER (%s=%d)\n", $_->[0], $_->[0], $_->[1] for constants();
    for my $row (@addresses) {
        (my $common = $row->[0]) =~ s/^MPI_/SIMRUN_/;
        print "      INTEGER $row->[0]$row->[1]\n      COMMON /$common/ $row->[0]\n      SAVE /$common/\n";
    }
    print "      EXTERNAL $_\n" for @external;
}

sub declared {
    my ($p) = @_;
    my ($type, $name) = @$p{qw(type name)};
    my $shape = $p->{text} =~ /\[\]\[3\]/ ? '(3,*)' : $p->{text} =~ /\[/ ? '(*)' : '';
    return "      type(*), dimension(*) :: $name\n!GCC\$ ATTRIBUTES NO_ARG_CHECK :: $name\n" if $buffer{$name} && $type =~ /void/;
    return "      integer :: $name" . ($shape ? '(8,*)' : '(8)') . "\n" if $type =~ /MPI_Status/;
    return "      character(len=*) :: $name\n" if $type =~ /char/;
    return "      logical :: $name$shape\n" if $logical{$name} && $type =~ /int/;
    return "      integer(kind=8) :: $name$shape\n" if $type =~ /MPI_Aint|MPI_Count|void/;
    $shape = '(*)' if $name =~ /weights$/;
    return "      integer :: $name$shape\n";
}

sub print_module {
    print "! Made by sim/fortran/bindings.pl from sim/mpi.h.\nmodule mpi\n      implicit none\n";
    print_constants();
    print "      interface\n";
    for my $f (grep { is_served($_) && $_->[2] !~ /extra_state/ } @functions) {
        my ($returns, $function, $list, $parameters) = @$f;
        my @names = grep { $function !~ /^Init/ || !/^arg[cv]$/ } map { $_->{name} } @$parameters;
        my @lines = map { declared($_) } grep { $function !~ /^Init/ || $_->{name} !~ /^arg[cv]$/ } @$parameters;
        if ($returns ne 'int') {
            my $kind = $returns eq 'double' ? 'double precision' : 'integer(kind=8)';
            print "      function MPI_$function(", join(', &' . "\n        ", @names), ")\n", @lines, "      $kind :: MPI_$function\n      end function\n";
            next;
        }
        print "      subroutine MPI_$function(", join(', &' . "\n        ", @names, 'ierror'), ")\n", @lines, "      integer :: ierror\n      end subroutine\n";
    }
    print "      end interface\nend module\n";
}

if ($what eq 'functions') { print_functions() }
elsif ($what eq 'module') { print_module() }
else {
    print "! Made by sim/fortran/bindings.pl from sim/mpi.h.\n";
    print_constants();
    print "      DOUBLE PRECISION MPI_WTIME, MPI_WTICK\n      EXTERNAL MPI_WTIME, MPI_WTICK\n";
}
