#!/usr/bin/perl
# bindings.pl functions|openmpi|mpif|module|module08: MPI's Fortran interfaces, made of the prototypes in sim/mpi.h.
#
#   functions   C: mpi_send_ and so on, which Fortran calls. Handles are integers there, everything is passed by its address, strings have
#               hidden lengths behind all other arguments, positions count from 1.
#   openmpi     the same for programs of Open MPI's, with a name for each function that cannot be served, so that they load
#   mpif        mpif.h, for fixed and free form
#   module      the source of the module mpi, which simfort compiles for the compiler at hand
#   module08    the same of mpi_f08: a handle is a type with one integer in it, a status one with eight, so that both modules call the same
#               functions; who leaves out ierror passes no address
#
# What cannot be made from a prototype is written by hand in by_hand.c.
use strict;
use warnings;

my $what = shift or die "usage: bindings.pl functions|openmpi|mpif|module|module08\n";
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
            return ("int *$name", "    $c *own_$name = fortran_later($name);\n", "own_$name", '')
                if $function =~ /^Comm_idup/ && $kind eq 'Comm';    # written when the request completes
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

# Functions that Open MPI's library has and this one has not: a call ends as one of what is not provided.
sub print_unserved {
    print "/* Never called with what they take: what is not provided looks at nothing. */\n#define UNSERVED(lower, name) \\\n",
        "    void unserved_##lower(void) __asm__(\"simrun.MPI_\" #name); \\\n    SUBROUTINE(lower, (void)) \\\n    { \\\n",
        "        unserved_##lower(); \\\n    }\n";
    for my $f (@functions) {
        my $name = $f->[1];
        next if (is_served($f) && $name !~ /^Session_/) || $by_hand{ lc $name } || $name =~ /^(?:T_|Abi_|Session_|Info_create_env)|_c$/;
        print "UNSERVED(", lc $name, ", $name)\n";
    }
}

# Names that Open MPI has beside a function's own: that of mpi_f08, of collectives that were extensions, and of what takes a C pointer.
sub print_also {
    my ($lower) = @_;
    print "ALSO($lower, \"mpi_${lower}_f08_\", modern)\n";
    print "ALSO($lower, \"ompix_${lower}_f\", extension)\nALSO($lower, \"mpix_${lower}_\", extension_itself)\n"
        if $lower =~ /_init$/ && $lower !~ /^(?:[bprs]*send|p?recv)_/;
    print "ALSO($lower, \"mpi_${lower}_cptr_\", pointer)\n" if $lower =~ /^(?:alloc_mem|win_allocate|win_allocate_shared|win_shared_query)$/;
}

sub print_functions {
    print "/* Made by sim/fortran/bindings.pl from sim/mpi.h. */\n#include \"sim/fortran/fortran.h\"\n";
    for my $f (grep { is_served($_) && !$by_hand{ lc $_->[1] } } @functions) {
        my ($returns, $function, $list, $parameters) = @$f;
        next if $what eq 'openmpi' && $list =~ /MPI_Session|^Session/;
        my %names = map { $_->{name} => 1 } @$parameters;
        my ($before, $after, @declared, @passed, @lengths) = ('', '');
        for my $p (@$parameters) {
            my ($d, $b, $c, $a, $string) = convert($function, $p, \%names);
            push @declared, $d;
            push @passed,   $c;
            push @lengths,  "text_length $p->{name}_length" if $string;
            $before .= $b;
            $after  .= $a;
        }
        if ($returns ne 'int') {
            print "FUNCTION($returns, ", lc $function, ', (', join(', ', @declared) || 'void', "))\n{\n    return MPI_$function(",
                join(', ', @passed), ");\n}\n";
            print_also(lc $function) if $what eq 'openmpi';
            next;
        }
        print 'SUBROUTINE(', lc $function, ', (', join(', ', @declared, 'int *ierror', @lengths), "))\n{\n    ENTER();\n$before",
            "    *ierror = MPI_$function(", join(', ', @passed), ");\n$after    LEAVE();\n}\n";
        print_also(lc $function) if $what eq 'openmpi';
    }
}

# --- Fortran ---

# Name and value of every constant that is an integer in Fortran; arrays that only their address means something of.
my @addresses = (['MPI_BOTTOM', ''], ['MPI_IN_PLACE', ''], ['MPI_STATUS_IGNORE', '(8)'], ['MPI_STATUSES_IGNORE', '(8,1)'],
    ['MPI_ERRCODES_IGNORE', '(1)'], ['MPI_UNWEIGHTED', '(1)'], ['MPI_WEIGHTS_EMPTY', '(1)'], ['MPI_BUFFER_AUTOMATIC', '']);
my @external = (qw(MPI_DUP_FN MPI_NULL_COPY_FN MPI_NULL_DELETE_FN), map { my $kind = $_; map { "MPI_${kind}_$_" } qw(DUP_FN NULL_COPY_FN NULL_DELETE_FN) } qw(COMM TYPE WIN));

# [name, value, kind of handle or undef]
sub constants {
    my @found = (['MPI_STATUS_SIZE', 8], ['MPI_SOURCE', 1], ['MPI_TAG', 2], ['MPI_ERROR', 3], ['MPI_ADDRESS_KIND', 8], ['MPI_OFFSET_KIND', 8],
        ['MPI_COUNT_KIND', 8], ['MPI_INTEGER_KIND', 4]);
    while ($header =~ /^#define (MPI_[A-Z0-9_]+)\s+(\S.*)$/mg) {
        my ($name, $value) = ($1, $2);
        next if $name =~ /^MPI_(?:T_|ABI_|F_|DISPLACEMENT_CURRENT)/;
        my $kind = kind($name);
        $value = hex $1 if $value =~ /^\(\(MPI_\w+\)(0x\w+)\)$/;
        $value = hex value($1) if $value =~ /^MPI_(\w+)$/;
        $value = hex $value if $value =~ /^0x/i;
        $value =~ s/^\((-\d+)\)$/$1/;
        next if $value !~ /^-?\d+$/;
        $value-- if $name =~ /^MPI_MAX_/;    # there is no final null in Fortran
        push @found, [$name, $value, $kind];
    }
    return @found;
}

sub kind {
    my ($name) = @_;
    $header =~ /^#define $name\s+\(\(MPI_(\w+)\)0x/m and return $1;
    $header =~ /^#define $name\s+(MPI_\w+)$/m and return kind($1);
    return undef;
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
    return "      type(*), dimension(*), asynchronous, target :: $name\n!GCC\$ ATTRIBUTES NO_ARG_CHECK :: $name\n" if $buffer{$name} && $type =~ /void/;
    return "      integer :: $name" . ($shape ? '(8,*)' : '(8)') . "\n" if $type =~ /MPI_Status/;
    return "      character(len=*) :: $name\n" if $type =~ /char/;
    return "      logical :: $name$shape\n" if $logical{$name} && $type =~ /int/;
    return "      integer(kind=8) :: $name$shape\n" if $type =~ /MPI_Aint|MPI_Count|void/;
    $shape = '(*)' if $name =~ /weights$/;
    return "      integer :: $name$shape\n";
}

# The parameters of a function in Fortran, and the type of its result where it is none of success.
sub parameters { my ($f) = @_; return grep { $f->[1] !~ /^Init/ || $_->{name} !~ /^arg[cv]$/ } @{ $f->[3] } }
sub result { my ($type) = @_; return $type eq 'double' ? 'double precision' : 'integer(kind=8)' }

sub declared08 {
    my ($p) = @_;
    my $shape = $p->{text} =~ /\[/ ? '(*)' : '';
    return "      type(MPI_$1) :: $p->{name}$shape\n" if $p->{type} =~ /^(?:const )?MPI_($handle|Status)\b/;
    return declared($p);
}

sub procedure {
    my ($name, $parameters, @lines) = @_;
    my $list = join ', &' . "\n        ", @$parameters, 'ierror';
    print "      subroutine $name($list)\n      import\n", @lines, "      integer, optional :: ierror\n      end subroutine\n";
}

# What the program gives to MPI to call, and the functions that take it: [name of the type, parameters, declarations].
my @callbacks = (
    ['MPI_User_function', 'invec, inoutvec, len, datatype',
        "      use, intrinsic :: iso_c_binding, only: c_ptr\n      import\n      type(c_ptr), value :: invec, inoutvec\n"
            . "      integer :: len\n      type(MPI_Datatype) :: datatype\n"],
    ['MPI_Comm_errhandler_function', 'comm, error_code', "      import\n      type(MPI_Comm) :: comm\n      integer :: error_code\n"],
    ['MPI_Comm_copy_attr_function', "oldcomm, comm_keyval, extra_state, &\n        attribute_val_in, attribute_val_out, flag, ierror",
        "      import\n      type(MPI_Comm) :: oldcomm\n      integer :: comm_keyval, ierror\n"
            . "      integer(kind=8) :: extra_state, attribute_val_in, attribute_val_out\n      logical :: flag\n"],
    ['MPI_Comm_delete_attr_function', "comm, comm_keyval, attribute_val, &\n        extra_state, ierror",
        "      import\n      type(MPI_Comm) :: comm\n      integer :: comm_keyval, ierror\n      integer(kind=8) :: attribute_val, extra_state\n"]);

sub print_module08 {
    print "! Made by sim/fortran/bindings.pl from sim/mpi.h.\nmodule mpi_f08\n      implicit none\n";
    print "      type, bind(C) :: MPI_$_\n        integer :: MPI_VAL\n      end type\n" for split /\|/, $handle;
    print "      type, bind(C) :: MPI_Status\n        integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR, simrun_rest(5)\n      end type\n";
    for my $row (grep { $_->[0] !~ /^MPI_(?:SOURCE|TAG|ERROR|STATUS_SIZE)$/ } constants()) {
        my ($name, $value, $kind) = @$row;
        print $kind ? "      type(MPI_$kind), parameter :: $name = MPI_$kind($value)\n" : "      integer, parameter :: $name = $value\n";
    }
    for my $row (@addresses) {
        my ($name, $shape) = @$row;
        (my $common = $name) =~ s/^MPI_/SIMRUN_/;
        my $type = $name =~ /STATUS/ ? 'type(MPI_Status)' : 'integer';
        $shape = $name =~ /STATUSES/ ? '(1)' : '' if $name =~ /STATUS/;
        print "      $type :: $name$shape\n      common /$common/ $name\n      save /$common/\n";
    }
    print "      external $_\n" for grep { !/^MPI_(?:DUP|NULL)/ } @external;
    print "      abstract interface\n";
    print "      subroutine $_->[0]($_->[1])\n$_->[2]      end subroutine\n" for @callbacks;
    print "      end interface\n";
    for my $operator (['==', 'same'], ['/=', 'other']) {
        print "      interface operator($operator->[0])\n";
        for my $kind (split /\|/, $handle) {
            my $name = "simrun_$operator->[1]_" . lc $kind;
            print "      logical function $name(a, b)\n      import\n      type(MPI_$kind), intent(in) :: a, b\n      end function\n";
        }
        print "      end interface\n";
    }
    print "      interface\n";
    for my $f (grep { is_served($_) && $_->[2] !~ /extra_state/ } @functions) {
        my ($returns, $function) = @$f;
        my @names = map { $_->{name} } parameters($f);
        my @lines = map { declared08($_) } parameters($f);
        if ($returns ne 'int') {
            print "      function MPI_$function(", join(', ', @names), ")\n      import\n", @lines, '      ', result($returns),
                " :: MPI_$function\n      end function\n";
            next;
        }
        procedure("MPI_$function", \@names, @lines);
    }
    procedure('MPI_Op_create', [qw(user_fn commute op)],
        "      procedure(MPI_User_function) :: user_fn\n      logical :: commute\n      type(MPI_Op) :: op\n");
    procedure('MPI_Comm_create_errhandler', [qw(comm_errhandler_fn errhandler)],
        "      procedure(MPI_Comm_errhandler_function) :: comm_errhandler_fn\n      type(MPI_Errhandler) :: errhandler\n");
    procedure('MPI_Comm_create_keyval', [qw(comm_copy_attr_fn comm_delete_attr_fn comm_keyval extra_state)],
        "      external :: comm_copy_attr_fn, comm_delete_attr_fn\n      integer :: comm_keyval\n      integer(kind=8) :: extra_state\n");
    procedure('MPI_Win_create_errhandler', [qw(win_errhandler_fn errhandler)],
        "      external :: win_errhandler_fn\n      type(MPI_Errhandler) :: errhandler\n");
    for my $kind (qw(type win)) {
        procedure('MPI_' . ucfirst($kind) . '_create_keyval', ["${kind}_copy_attr_fn", "${kind}_delete_attr_fn", "${kind}_keyval", 'extra_state'],
            "      external :: ${kind}_copy_attr_fn, ${kind}_delete_attr_fn\n      integer :: ${kind}_keyval\n      integer(kind=8) :: extra_state\n");
    }
    procedure('MPI_Grequest_start', [qw(query_fn free_fn cancel_fn extra_state request)],
        "      external :: query_fn, free_fn, cancel_fn\n      integer(kind=8) :: extra_state\n      type(MPI_Request) :: request\n");
    print "      end interface\nend module\n";
}

sub print_module {
    print "! Made by sim/fortran/bindings.pl from sim/mpi.h.\nmodule mpi\n      implicit none\n";
    print_constants();
    print "      interface\n";
    for my $f (grep { is_served($_) && $_->[2] !~ /extra_state/ } @functions) {
        my ($returns, $function, $list, $parameters) = @$f;
        my @names = map { $_->{name} } parameters($f);
        my @lines = map { declared($_) } parameters($f);
        if ($returns ne 'int') {
            my $kind = result($returns);
            print "      function MPI_$function(", join(', &' . "\n        ", @names), ")\n", @lines, "      $kind :: MPI_$function\n      end function\n";
            next;
        }
        print "      subroutine MPI_$function(", join(', &' . "\n        ", @names, 'ierror'), ")\n", @lines, "      integer :: ierror\n      end subroutine\n";
    }
    print "      end interface\nend module\n";
}

if ($what eq 'functions') { print_functions() }
elsif ($what eq 'openmpi') { print_functions(); print_unserved() }
elsif ($what eq 'module') { print_module() }
elsif ($what eq 'module08') { print_module08() }
else {
    print "! Made by sim/fortran/bindings.pl from sim/mpi.h.\n";
    print_constants();
    print "      DOUBLE PRECISION MPI_WTIME, MPI_WTICK\n      EXTERNAL MPI_WTIME, MPI_WTICK\n";
}
