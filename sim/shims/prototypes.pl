# prototypes.pl: the functions of sim/mpi.h, for the scripts that make others of them.
use strict;
use warnings;

our @handles = qw(Comm Datatype Errhandler File Group Info Message Op Request Session Win);
our $handle  = join '|', @handles;
our $header;

sub slurp { my ($path) = @_; open my $file, '<', $path or die "$path: $!\n"; local $/; return scalar <$file> }

# [type of the result, name without MPI_, text of the parameters, [{type, name, array}]] for each; what converts between handles and
# integers is left out.
sub prototypes {
    my ($path) = @_;
    my @parsed;
    $header = slurp($path);
    (my $text = $header) =~ s{/\*.*?\*/}{}gs;
    while ($text =~ /^(int|double|MPI_\w+) MPI_(\w+)\(([^;]*)\);/mg) {
        my ($returns, $name, $list) = ($1, $2, $3);
        $list =~ s/\s+/ /g;
        next if $name =~ /_(?:from|to)int$/;
        my @parameters;
        for my $one ($list eq 'void' ? () : split /, /, $list) {
            next if $one eq '...';
            my ($type, $parameter, $array) = $one =~ /^(.*?) ?(\w+)((?:\[\d*\])*)$/;
            push @parameters, { type => $type, name => $parameter, array => $array =~ /^\[\]$/ ? 1 : 0, text => $one };
        }
        push @parsed, [$returns, $name, $list, \@parameters];
    }
    return @parsed;
}

# How many elements an array of a function has: the parameter that says so.
sub count_of {
    my ($names) = @_;
    for my $name (qw(incount count n ndims)) { return $name if $names->{$name} }
    return undef;
}

# The integer that sim/mpi.h gives a handle.
sub value {
    my ($name) = @_;
    $header =~ /#define MPI_$name\s+\(\(MPI_\w+\)(0x\w+)\)/ and return $1;
    $header =~ /#define MPI_$name\s+MPI_(\w+)/ and return value($1);
    die "no value of MPI_$name\n";
}
1;
