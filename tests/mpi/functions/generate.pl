#!/usr/bin/perl
# generate.pl MPI.H: a program that makes every call of the standard, right and with one wrong argument at a time.
#
# What a parameter is given follows from its type and its name; what is special stands in %special. On stdout: the program. Its
# arguments: the number of a case, or "all": with errors returned, every case that is to be refused, a line each of what was returned.
# "list" prints the cases: number, function, what is wrong, the classes of error that the standard allows, line of the call.
use strict;
use warnings;

local $/;
my $header = <>;
$header =~ s{/\*.*?\*/}{}gs;
my @functions;
while ($header =~ /^int MPI_(\w+)\(([^;]*)\);/mg) {
    my ($name, $list) = ($1, $2);
    push @functions, [$name, [split /, /, $list =~ s/\s+/ /gr]];
}

# Not called: they end a run or begin one, need another process, or belong to chapters with tests of their own.
my $apart = qr/^(Abort|Finalize|Init|Init_thread|Pcontrol|File_.*|T_.*|Register_datarep.*|Comm_spawn.*|Comm_(accept|connect|join)|
    (Open|Close)_port|.*(Publish|Unpublish|Lookup|publish)_name|Parrived|Pready.*|Session_.*buffer.*|Abi_set.*|Abi_get_fortran.*|Free_mem|
    .*_(from|to)int|.*_x|Remove_error.*|Win_.*|R?(get|put|accumulate|get_accumulate)(_c)?|Fetch_and_op|Compare_and_swap|.*f2c.*|.*c2f.*)$/xi;

my @value = (
    qr/^(const )?MPI_Comm \w*comm\w*$/ => 'comm', qr/^const void \*(sendbuf|buf|inbuf)$/ => 'in', qr/^void \*(recvbuf|buf|buffer|outbuf|inoutbuf)$/ => 'out',
    qr/^MPI_Datatype \w+$/ => 'MPI_INT', qr/^MPI_Op op$/ => 'MPI_SUM', qr/^(int|MPI_Count) \w*count$/ => '1', qr/^int root$/ => '0', qr/^int partitions$/ => '1',
    qr/^int (dest|source)$/ => 'wrong ? 1 : MPI_PROC_NULL', qr/^int \w*tag$/ => '5', qr/^MPI_Info info$/ => 'info',
    qr/^const int (recv|send)?counts\[\]$/ => 'counts', qr/^const MPI_Count (recv|send)?counts\[\]$/ => 'counts_c',
    qr/^const int [rs]?displs\[\]$/ => 'places', qr/^const MPI_Aint [rs]?displs\[\]$/ => 'places_a', qr/^const MPI_Datatype \w+\[\]$/ => 'types',
    qr/^const int array_of_(blocklengths)\[\]$/ => 'counts', qr/^const MPI_Count array_of_blocklengths\[\]$/ => 'counts_c',
    qr/^const int array_of_(displacements|starts)\[\]$/ => 'places', qr/^const MPI_Count array_of_(displacements|starts)\[\]$/ => 'places_c',
    qr/^const MPI_Aint array_of_displacements\[\]$/ => 'places_a', qr/^(int|MPI_Count) (blocklength|stride)$/ => '1', qr/^MPI_Aint stride$/ => '4',
    qr/^MPI_Group \w+$/ => 'group', qr/^MPI_Session session$/ => 'session', qr/^MPI_Errhandler errhandler$/ => 'handler', qr/^MPI_Request request$/ => 'active',
    qr/^(const )?MPI_Request array_of_requests\[\]$/ => 'requests', qr/^MPI_Status \*status$/ => '&status', qr/^const MPI_Status \*status$/ => '&status',
    qr/^MPI_Status array_of_statuses\[\]$/ => 'statuses', qr/^MPI_Request \*request$/ => '&made_request', qr/^MPI_Message \*message$/ => '&message',
    qr/^MPI_Comm \*\w+$/ => '&made_comm', qr/^MPI_Datatype \*\w+$/ => '&made_type', qr/^MPI_Op \*\w+$/ => '&made_op', qr/^MPI_Group \*\w+$/ => '&made_group',
    qr/^MPI_Info \*\w+$/ => '&made_info', qr/^MPI_Errhandler \*\w+$/ => '&made_handler', qr/^MPI_Session \*\w+$/ => '&made_session',
    qr/^int type_keyval$/ => 'type_key', qr/^int \w*keyval$/ => 'comm_key', qr/^void \*extra_state$/ => 'NULL', qr/^void \*attribute_val$/ => '&pointer',
    qr/^int \*position$/ => '&position', qr/^MPI_Count \*position$/ => '&position_c', qr/^MPI_Aint \*position$/ => '&position_a',
    qr/^(int|MPI_Count|MPI_Aint) (in|out)?size$/ => '64', qr/^const char (\*datarep|datarep\[\])$/ => '"external32"', qr/^const char \*\w+$/ => '"key"', qr/^char \*\w+$/ => 'words',
    qr/^int error(class|code)$/ => 'MPI_ERR_OTHER', qr/^int (reorder|flag|commute|high|required|error|source|tag|key|color|local_leader)$/ => '0',
    qr/^int remote_leader$/ => '1 - rank', qr/^int (n|maxdims|ndims|index)$/ => '1', qr/^int nnodes$/ => '2', qr/^int order$/ => 'MPI_ORDER_C',
    qr/^(int|MPI_Count) max_(integers|datatypes|addresses|large_counts)$/ => '8', qr/^int max\w+$/ => '2', qr/^const int (dims|ranks1?|degrees)\[\]$/ => 'counts',
    qr/^const int (periods|coords|remain_dims|ranks|sources|destinations)\[\]$/ => 'places', qr/^(MPI_Aint|MPI_Count) (lb|extent)$/ => '8', qr/^int rank$/ => '0', qr/^MPI_Comm_errhandler_function.*/ => 'hear',
    qr/^MPI_Session_errhandler_function.*/ => 'hear_session', qr/^MPI_User_function \*.*/ => 'add', qr/^MPI_User_function_c \*.*/ => 'add_c',
    qr/^MPI_(Comm|Type)_copy_attr_function.*/ => '0', qr/^MPI_(Comm|Type)_delete_attr_function.*/ => '0', qr/^MPI_(Copy|Delete)_function.*/ => '0',
    qr/^MPI_Grequest_query_function.*/ => 'query', qr/^MPI_Grequest_free_function.*/ => 'free_state', qr/^MPI_Grequest_cancel_function.*/ => 'cancel_state',
    qr/^int indegree$/ => '1', qr/^int outdegree$/ => '1', qr/^const int \*\w*weights$/ => 'counts', qr/^int \*\w*weights$/ => 'numbers + 8 * AT', qr/^int \w+\[\]$/ => 'numbers + 8 * AT', qr/^MPI_Aint \w+\[\]$/ => 'numbers_a + 8 * AT',
    qr/^MPI_Count \w+\[\]$/ => 'numbers_c + 8 * AT', qr/^MPI_Datatype \w+\[\]$/ => 'made_types', qr/^const void \*location$/ => 'in', qr/^int \*\w+$/ => 'numbers + 8 * AT',
    qr/^MPI_Count \*\w+$/ => 'numbers_c + 8 * AT', qr/^MPI_Aint \*\w+$/ => 'numbers_a + 8 * AT', qr/^void \*(buffer_addr|baseptr)$/ => '&pointer',
);

# Function (a pattern) and parameter: what else it is given; "-" as parameter: what is done before, "+" after it was right.
my @special = (
    [qr/^I?neighbor/i, comm => 'cart'], [qr/^Cart(dim)?_(?!create|map)/, comm => 'cart'], [qr/^Graph(dims)?_(?!create|map)/, comm => 'graph'], [qr/^Dist_graph_neigh/, comm => 'neighbours'],
    [qr/^Comm_remote/, comm => 'inter'], [qr/^Intercomm_merge/, intercomm => 'inter'], [qr/^Intercomm_create$/, local_comm => 'MPI_COMM_SELF'],
    [qr/^Comm_free$|^Comm_disconnect$/, comm => '&comm'], [qr/^Type_(commit|free)$/, datatype => '&strided'], [qr/^Op_free/, op => '&sum'], [qr/^Group_free/, group => '&group'], [qr/^Info_free/, info => '&info'],
    [qr/^Errhandler_free/, errhandler => '&handler'], [qr/^Session_finalize/, session => '&session'], [qr/^Comm_free_keyval/, comm_keyval => '&comm_key'], [qr/^Keyval_free/, keyval => '&comm_key'], [qr/^Type_free_keyval/, type_keyval => '&type_key'],
    [qr/^Comm_delete_attr|^Attr_delete/, '-' => 'MPI_Comm_set_attr(comm, comm_key, in)'], [qr/^Type_delete_attr/, '-' => 'MPI_Type_set_attr(strided, type_key, in)'],
    [qr/^Type_.*_attr$/, datatype => 'strided'], [qr/^(Wait|Test|Cancel)$/, request => '&active'], [qr/^Request_free/, request => '&inactive'], [qr/^Start$/, request => '&inactive'], [qr/^Start$/, '+' => 'MPI_Wait(&inactive, &status)'],
    [qr/^Startall$/, array_of_requests => '&inactive'], [qr/^Startall$/, '+' => 'MPI_Wait(&inactive, &status)'], [qr/^Grequest_complete/, request => 'general'], [qr/^Grequest_complete/, '+' => 'MPI_Wait(&general, &status)'], [qr/^Grequest_start/, '+' => 'MPI_Grequest_complete(made_request)'],
    [qr/^(Comm_)?Buffer_(attach|detach|i?flush)|^Comm_(attach|detach|i?flush)_buffer/, buffer => 'room'], [qr/attach/, size => '4096'], [qr/^Buffer_(detach|i?flush)/, '-' => 'MPI_Buffer_attach(room, 4096)'], [qr/^Comm_(detach|i?flush)_buffer/, '-' => 'MPI_Comm_attach_buffer(comm, room, 4096)'],
    [qr/^(Comm_)?[Bb]uffer_iflush|iflush_buffer/, '+' => 'MPI_Wait(&made_request, &status), MPI_Buffer_detach(&pointer, numbers)'], [qr/^Buffer_(attach|flush)/, '+' => 'MPI_Buffer_detach(&pointer, numbers)'], [qr/^Comm_(attach|flush)_buffer/, '+' => 'MPI_Comm_detach_buffer(comm, &pointer, numbers)'],
    [qr/^Comm_create|^Comm_create_group/, group => 'group'], [qr/^Info_get$/, valuelen => '100'], [qr/^Info_get_string/, buflen => '&hundred'], [qr/^Session_get_nth_pset/, pset_len => '&hundred'], [qr/nth/, n => '0'],
    [qr/^(Session_get_pset_info|Group_from_session_pset)/, pset_name => '"mpi://WORLD"'], [qr/^(Comm|Intercomm)_create_from_group/, stringtag => '"tag"'], [qr/^Cart_create|^Cart_map/, dims => 'two'], [qr/^Dims_create/, dims => 'numbers'],
    [qr/^Graph_(create|map)/, index => 'graph_index'], [qr/^Graph_(create|map)/, edges => 'graph_edges'], [qr/^Type_create_(sub|d)array_c/, array_of_sizes => 'two_c', array_of_gsizes => 'two_c', array_of_subsizes => 'counts_c'], [qr/^Type_create_(sub|d)array/, array_of_sizes => 'two', array_of_gsizes => 'two', array_of_subsizes => 'counts'],
    [qr/^Type_create_darray/, size => '2', array_of_distribs => 'distributions', array_of_dargs => 'arguments', array_of_psizes => 'two'], [qr/^Type_get_(contents|envelope)/, datatype => 'strided'], [qr/^Type_create_f90/, p => '6', r => '30'],
    [qr/^Type_create_f90_integer/, r => '5'], [qr/^Type_match_size/, typeclass => 'MPI_TYPECLASS_INTEGER', size => '4'], [qr/^Type_get_value_index/, value_type => 'MPI_FLOAT', index_type => 'MPI_INT'], [qr/^Comm_split_type/, split_type => 'MPI_COMM_TYPE_SHARED'],
    [qr/^Op_commutative/, op => 'sum'], [qr/^Info_create_env/, argc => '0', argv => 'NULL'], [qr/^Add_error_string/, errorcode => 'numbers[200]'], [qr/^Add_error_(code|string)/, errorclass => 'numbers[200]', '-' => 'MPI_Add_error_class(numbers + 200)'], [qr/^Comm_call_errhandler|^Session_call/, '-' => 'MPI_Comm_set_errhandler(comm, handler)'],
    [qr/^Group_range/, ranges => 'ranges'], [qr/^Cart_shift/, direction => '0', disp => '1'], [qr/^Dist_graph_create$/, degrees => 'counts', destinations => 'places', sources => 'places'], [qr/^Dist_graph_create_adj/, sources => 'other', destinations => 'other'],
    [qr/^Group_(translate|incl|excl)/, ranks => 'places', ranks1 => 'places'], [qr/^Attr/, keyval => 'comm_key'], [qr/^Session_init/, errhandler => 'MPI_ERRORS_ARE_FATAL'], [qr/^Session_(set|call)_errh/, errhandler => 'MPI_ERRORS_RETURN', '-' => 'MPI_Session_set_errhandler(session, MPI_ERRORS_ARE_FATAL)'], [qr/from_group/, errhandler => 'MPI_ERRORS_RETURN'],
    [qr/^Intercomm_create_from_groups/, local_group => 'half', remote_group => 'other_half', remote_leader => '0', '-' => 'MPI_Group_incl(group, 1, &rank, &half), MPI_Group_incl(group, 1, other, &other_half)', '+' => 'MPI_Group_free(&half), MPI_Group_free(&other_half)'],
    [qr/^Comm_create_from_group|^Intercomm_create_from/, info => 'MPI_INFO_NULL'], [qr/^Status_set/, source => '0'], [qr/^Comm_get_parent/, parent => '&made_comm'],
);

sub special { my ($function, $name, $at) = @_;
    for my $row (@special) { my ($pattern, %given) = @$row; return $given{$name} if $function =~ $pattern && exists $given{$name} }
    return;
}
sub right { my ($function, $parameter, $at) = @_;
    my ($name) = $parameter =~ /(\w+)(\[\]|\(.*)?(\[3\])?$/;
    return $parameter =~ /MPI_Aint/ ? 'bytes_a' : 'bytes' if $function =~ /alltoallw/i && $name =~ /displs/;
    my $special = special($function, $name);
    return $special if defined $special;
    for (my $k = 0; $k < @value; $k += 2) { return $value[$k + 1] =~ s/AT/$at/r if $parameter =~ $value[$k] }
    die "no value for $parameter of MPI_$function\n";
}

# What is wrong with a parameter: rows of a name, an expression, and the classes that the standard allows.
my $optional_info = qr/^(Info_|Abi)/;
sub wrongs { my ($function, $parameter, $value) = @_;
    local $_ = $parameter;
    my $free = $function =~ /(^|_)free$|^Comm_disconnect$|_free_keyval$|^Session_finalize$|^Type_commit$/;
    my $moves = $function !~ /^(Type_|Get_|Status_|Pack_external_size|Pack_size|Reduce_local)/;
    return if $function eq 'Get_address' && /location/; # MPI_BOTTOM has an address
    return if $function =~ /xscan/ && /recvbuf/; # rank 0 gets nothing
    return if $function =~ /^Type_get_contents/ && /addresses|large_counts/; # the type has none
    return if $function =~ /^Dist_graph_neighbors$/ && /weights/; # it has none
    if (/^MPI_Comm \w+$/) { return ($function eq 'Comm_get_name' ? () : ['null', 'MPI_COMM_NULL', 'COMM'], ['freed', 'freed_comm', 'COMM'],
        $function =~ /^(Cart|Graph|Dist_graph|Ineighbor|Neighbor)/ && $value ne 'comm' ? ['other', 'comm', 'TOPOLOGY'] : $value eq 'inter' ? ['other', 'comm', 'COMM'] : ()) }
    if (/^MPI_Datatype \w+$/) { my @all = ($function eq 'Type_get_name' ? () : ['null', 'MPI_DATATYPE_NULL', 'TYPE'], ['freed', 'freed_type', 'TYPE']); push @all, ['uncommitted', 'uncommitted', 'TYPE'] if $moves; return @all }
    if (/^MPI_Op op$/) { return (['null', 'MPI_OP_NULL', 'OP'], ['freed', 'freed_op', 'OP'], $function =~ /^Op_/ ? () : ['unfit', 'MPI_MINLOC', 'OP']) }
    return (['null', 'MPI_GROUP_NULL', 'GROUP'], ['freed', 'freed_group', 'GROUP']) if /^MPI_Group \w+$/;
    return ((/^MPI_Info info$/ && $function =~ $optional_info ? ['null', 'MPI_INFO_NULL', 'INFO|ARG'] : ()), ['freed', 'freed_info', 'INFO']) if /^MPI_Info \w+$/;
    return (['null', 'MPI_ERRHANDLER_NULL', 'ERRHANDLER|ARG'], ['freed', 'freed_handler', 'ERRHANDLER|ARG']) if /^MPI_Errhandler \w+$/;
    return (['null', 'MPI_SESSION_NULL', 'SESSION']) if /^MPI_Session \w+$/;
    return (['negative', '-1', 'COUNT|ARG']) if /^(int|MPI_Count) \w*count$/;
    return (['negative', '-1', 'ARG|COUNT|SIZE|DIMS|TOPOLOGY|RANK|GROUP']) if /^(int|MPI_Count|MPI_Aint) (blocklength|(in|out)?size|ndims|n|nnodes|maxdims|indegree|outdegree|max\w+|valuelen)$/ && $function !~ /match_size/;
    return (['negative', '-7', 'TAG']) if /^int \w*tag$/ && $function !~ /^Status/;
    return (['large', '99', 'RANK|ARG'], ['negative', '-77', 'RANK|ARG']) if $function =~ /darray/ && /^int rank$/;
    return (['large', '99', 'RANK'], ['negative', '-77', 'RANK']) if /^int (dest|source|target_rank|rank)$/ && $function !~ /^Status/;
    return (['large', '99', 'RANK'], ['negative', '-77', 'RANK']) if /^int (local|remote)_leader$/ && $function !~ /from_groups/;
    return (['large', '99', 'ROOT'], ['negative', '-77', 'ROOT']) if /^int root$/;
    return (['invalid', 'MPI_KEYVAL_INVALID', 'KEYVAL'], ['freed', 'freed_key', 'KEYVAL']) if /^int \w*keyval$/;
    return (['null', 'NULL', 'ARG|COUNT'], ['negative', /MPI_Count/ ? 'negative_c' : 'negative', 'COUNT|ARG']) if /counts\[\]$|blocklengths\[\]$/ && $function !~ /large/;
    return (['null', 'NULL', 'ARG|TYPE'], ['element', 'no_types', 'TYPE']) if /^const MPI_Datatype \w+\[\]$/;
    return (['null', 'NULL', 'ARG|REQUEST']) if /^(const )?MPI_Request array/;
    return () if /^MPI_Status (\*status|array_of_statuses\[\])$/ && $function !~ /^Status_/;
    return (['null', 'NULL', 'BUFFER|ARG']) if /void \*(sendbuf|recvbuf|buf|buffer|inbuf|outbuf|inoutbuf)$/;
    return () if /extra_state|attribute_val/ && $function !~ /get/;
    return () if /copy_attr|delete_attr|Copy_function|Delete_function|Grequest/;
    return (['null', 'NULL', 'ARG|OP']) if /_function/;
    return () if /argv/;
    if (/^MPI_Request \*request$/ && $value ne '&made_request') { return (['null', 'NULL', 'ARG|REQUEST'], $function =~ /^(Wait|Test)$/ ? () : ['of-null', '&no_request', 'REQUEST|ARG'], ['freed', '&freed_request', 'REQUEST']) }
    if (/^MPI_Request request$/) { return ($function eq 'Request_get_status' ? () : ['null', 'MPI_REQUEST_NULL', 'REQUEST|ARG'], ['freed', 'freed_request', 'REQUEST|ARG']) }
    return (['null', 'NULL', 'ARG|REQUEST'], ['of-null', '&no_message', 'REQUEST|ARG']) if /^MPI_Message \*message$/ && $function =~ /recv/;
    if ($free) {
        my %null = ('MPI_Comm' => ['COMM', 'no_comm', 'freed_comm', 'predefined_comm'], MPI_Datatype => ['TYPE', 'no_types[0]', 'freed_type', 'predefined_type'], MPI_Op => ['OP', 'no_op', 'freed_op', 'predefined_op'],
            MPI_Group => ['GROUP', 'no_group', 'freed_group', undef], MPI_Info => ['INFO', 'no_info', 'freed_info', undef], MPI_Errhandler => ['ERRHANDLER|ARG', 'no_handler', 'freed_handler', undef], MPI_Session => ['SESSION|ARG', 'no_session', undef, undef], int => ['KEYVAL', 'no_key', 'freed_key', undef]);
        my ($type) = /^(\w+) \*/;
        my ($class, $none, $freed, $predefined) = @{$null{$type}};
        return (['null', 'NULL', "ARG|$class"], ['of-null', "&$none", "$class|ARG"], $freed ? ['freed', "&$freed", $class] : (), $predefined && $function !~ /commit/ ? ['predefined', "&$predefined", "$class|ARG"] : ());
    }
    return (['null', 'NULL', 'ARG|INFO_KEY|INFO_VALUE|BUFFER|NAME|KEYVAL|RANK|DIMS|TOPOLOGY|GROUP|UNSUPPORTED_DATAREP']) if /\*|\[\]/;
    return ();
}

my (@rows, @lines);
for my $row (@functions) {
    my ($function, $parameters) = @$row;
    next if $function =~ $apart || $function eq 'Wtime';
    my @parameters = "@$parameters" eq 'void' ? () : @$parameters;
    my @values = map { right($function, $parameters[$_], $_) } 0 .. $#parameters;
    my $before = special($function, '-');
    my $after = special($function, '+');
    my $call = sub { "MPI_$function(" . join(', ', @_) . ')' };
    push @rows, [$function, 'right', '-', ($before ? "$before, " : '') . $call->(@values) . ($after ? ", $after" : '')];
    for my $k (0 .. $#parameters) {
        (my $name = $parameters[$k]) =~ s/.*?(\w+)(\[\]|\[3\])*$/$1/;
        for my $wrong (wrongs($function, $parameters[$k], $values[$k])) {
            my @given = @values;
            $given[$k] = $wrong->[1];
            s{^wrong \? 1 : }{} for grep { $name !~ /tag|count|type|buf/ } @given; # a real peer where the message itself is wrong
            push @rows, [$function, "$name-$wrong->[0]", $wrong->[2], ($before ? "$before, " : '') . 'error = ' . $call->(@given)];
        }
    }
}
my $text = <<'END';
#include "setting.h"

static int two[] = {2}, ranges[1][3] = {{0, 0, 1}}, graph_index[] = {1, 2}, graph_edges[] = {1, 0}, distributions[] = {MPI_DISTRIBUTE_BLOCK}, arguments[] = {MPI_DISTRIBUTE_DFLT_DARG}, hundred = 100, no_key = MPI_KEYVAL_INVALID, other[1];
static MPI_Count two_c[] = {2};
static MPI_Datatype made_types[8], predefined_type = MPI_INT;
static MPI_Comm no_comm = MPI_COMM_NULL, predefined_comm = MPI_COMM_WORLD;
static MPI_Op no_op = MPI_OP_NULL, predefined_op = MPI_SUM;
static MPI_Group no_group = MPI_GROUP_NULL, half, other_half;
static MPI_Info no_info = MPI_INFO_NULL;
static MPI_Errhandler no_handler = MPI_ERRHANDLER_NULL;
static MPI_Session no_session = MPI_SESSION_NULL;
static MPI_Request no_request = MPI_REQUEST_NULL;

static int call(int number)
{
    int error = 0;
    switch (number) {
END
my $line = $text =~ tr/\n//;
for my $k (0 .. $#rows) {
    $text .= "    case $k: $rows[$k][3]; break;\n";
    $rows[$k][4] = ++$line;
}
$text .= <<'END';
    }
    return error;
}

static const struct row { const char *function, *wrong, *classes; int line; } rows[] = {
END
$text .= sprintf(qq(    {"%s", "%s", "%s", %d},\n), @$_[0, 1, 2, 4]) for @rows;
$text .= <<'END';
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Completes what the call began: persistent requests are freed. */
static void finish(const char *function)
{
    if (strstr(function, "_init") && made_request != MPI_REQUEST_NULL)
        MPI_Request_free(&made_request);
    else if (made_request != MPI_REQUEST_NULL)
        MPI_Wait(&made_request, &status);
    if (strstr(function, "f90") || strstr(function, "match_size") || strstr(function, "value_index"))
        made_type = MPI_DATATYPE_NULL;
    for (int i = 0; i < 8 && strstr(function, "contents"); i++)
        made_types[i] = MPI_DATATYPE_NULL;
    if (!strcmp(function, "Comm_get_parent"))
        made_comm = MPI_COMM_NULL;
    if (!strcmp(function, "Alloc_mem"))
        MPI_Free_mem(pointer);
    if (strstr(function, "create_keyval") || !strcmp(function, "Keyval_create"))
        strstr(function, "Type") ? MPI_Type_free_keyval(numbers + 16) : MPI_Comm_free_keyval(numbers + 16);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "list")) {
        for (int i = 0; i < ROWS; i++)
            printf("%d %s %s %s %d\n", i, rows[i].function, rows[i].wrong, rows[i].classes, rows[i].line);
        return 0;
    }
    int all = argc > 2, first = argc > 1 ? atoi(argv[1]) : 0, last = all ? atoi(argv[2]) : first + 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Errhandler chosen = all ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, chosen);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, chosen);
    other[0] = 1 - rank;
    for (int i = first; i < last && i < ROWS; i++) {
        wrong = rows[i].classes[0] != '-';
        if (all && (!wrong || strstr(rows[i].wrong, "-null")))
            continue;
        make_values(), make_objects(chosen), make_requests(chosen);
        int error = !wrong || !rank ? call(i) : 0, class = 0;
        if (all && !rank) {
            MPI_Error_class(error, &class);
            printf("%d %d\n", i, class);
            fflush(stdout);
        }
        if (!wrong)
            finish(rows[i].function);
        MPI_Barrier(MPI_COMM_WORLD);
        if (!wrong)
            release();
    }
    MPI_Finalize();
    return 0;
}
END
print $text;
