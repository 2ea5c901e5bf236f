#!/usr/bin/perl
# run.pl [--again WORD]... SIMRUN FOLDER [PATTERN]...: builds MPICH's own test-suite (fetch.sh) with simcc, runs the lines of its testlists,
# and prints a table: passed, named (reasons.tsv says why it cannot pass), failed, each with the seconds of processor time it took. Exit
# status 1 where a line fails that is not named.
#
# A pattern is a folder of the suite ("coll"), a folder and a regular expression ("rma/win_.*"), or a group: "messages" (all but one-sided
# and partitioned communication, files, and processes made at run time), "windows" (the rest of what runs here). Without one: both.
#
# Results are kept in FOLDER/results, one file a line, with all that the line printed; a broken-off run continues behind its last line.
# --again failed|named|passed|all runs such lines anew. Results of another build of simrun are counted in the last line.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Path qw(make_path);

my %groups = (
    messages => [qw(attr coll comm datatype errhan group info init mpi_t pt2pt topo ft errors/faults),
        map { "threads/$_" } qw(init pt2pt coll comm perf mpi_t)],
    windows => [qw(rma part errors/rma threads/rma)],
);
my %again;
while (@ARGV && $ARGV[0] eq '--again') { $again{$ARGV[1] // ''} = 1; splice @ARGV, 0, 2 }
my ($simrun, $root, @patterns) = @ARGV;
@patterns = map { @{$groups{$_} // [$_]} } @patterns ? @patterns : qw(messages windows);
my $here = abs_path(dirname($0));
$simrun = abs_path($simrun);
system('sh', "$here/fetch.sh", $root) == 0 or die "the suite was not fetched\n";
$root = abs_path($root);
my ($tests, $results, $simcc) = ("$root/tests", "$root/results", dirname($simrun) . '/simcc');
my $build = (stat $simrun)[9];

sub prepare {
    my $log = "$root/configure.log";
    system("cp -a '$root/mpich/test/mpi' '$tests' && cd '$tests' && ./configure --with-mpi=/nonexistent MPICC='$simcc' CC='$simcc' --disable-fortran"
        . " --disable-cxx --disable-romio --disable-spawn --enable-strictmpi --enable-threads=multiple --with-pm=no >'$log' 2>&1") == 0
        or die "configure failed: $log\n";
    system("cat '$here/removed.h' >>'$tests/$_'") for 'include/mpitestconf.h', 'dtpools/dtpoolsconf.h';
}

# A folder is built once, when its first line is wanted.
my %built;
sub build_folder {
    my ($folder) = @_;
    return if $built{$folder}++;
    my $goals = $folder =~ /^(util|dtpools)$/ ? 'all' : 'noinst_PROGRAMS all';
    system("nice make -s -k -j2 -C '$tests/$folder' AUTOMAKE=: ACLOCAL=: AUTOCONF=: AUTOHEADER=: $goals >>'$root/build.log' 2>&1");
}

my @reasons;
open my $file, '<', "$here/reasons.tsv" or die;
while (<$file>) { chomp; push @reasons, [split /\t/] unless /^#/ }
close $file;

# The reason for a line that fails with these codes (undef: its program was not built).
sub reason {
    my ($program, $codes) = @_;
    for my $row (@reasons) {
        next unless $program =~ /^$row->[0]$/;
        return $row->[2] if $row->[1] eq '-' ? !defined $codes : defined $codes && $codes =~ /\b($row->[1])\b/;
    }
    return;
}

# The lines of a folder's testlist, each once: program, ranks, words, whether it dies on purpose, seconds it may take.
sub lines_of {
    my ($folder) = @_;
    my (@lines, %seen);
    open my $list, '<', "$tests/$folder/testlist" or return;
    while (<$list>) {
        s/#.*//;
        my ($program, $ranks, @options) = split;
        next unless defined $ranks && $ranks =~ /^\d+$/;
        my $words = join ' ', map { /^arg=(.*)/ ? $1 : () } @options;
        next if $seen{"$program $ranks $words"}++;
        my $dies = grep { /^(resultTest=TestStatusNoErrors|env=MPIEXEC_ALLOW_FAULT=YES)$/ } @options;
        my ($limit) = map { /^timeLimit=(\d+)$/ ? $1 : () } @options, 'timeLimit=180'; # the suite's own
        push @lines, {folder => $folder, program => $program, ranks => $ranks, words => $words, dies => $dies, limit => $limit};
    }
    return @lines;
}

# Runs a line: its exit status, the codes of its findings, the processor time of all it started, and what it printed.
sub run_line {
    my ($line) = @_;
    my ($folder, $program) = @$line{qw(folder program)};
    build_folder($_) for 'util', 'dtpools', $folder;
    my $file = "$tests/$folder/$program"; # some are listed, and not among what is built by default
    system("make -s -C '$tests/$folder' AUTOMAKE=: ACLOCAL=: AUTOCONF=: AUTOHEADER=: $program >>'$root/build.log' 2>&1") unless -x $file;
    return {status => '-', codes => '', seconds => 0, text => ''} unless -x $file;
    # Whose threads call MPI: ranks have to be threads, too.
    my $threads = "$folder/$program" =~ m{^(threads/|init/session)} ? '--os-threads' : '';
    my @before = times;
    my $options = "$threads --db none --timeout $line->{limit} -n $line->{ranks}";
    my $limit = $line->{limit} + 60; # judging has no limit of its own
    my $text = `cd '$tests/$folder' && COLUMNS=200 timeout -k 5 $limit nice '$simrun' $options ./$program $line->{words} 2>&1 </dev/null`;
    my $status = $? >> 8;
    my @after = times;
    my $codes = join ' ', sort keys %{{map { $_ => 1 } $text =~ /^([A-Z]\d{3}) /mg}};
    return {status => $status, codes => $codes, seconds => $after[2] + $after[3] - $before[2] - $before[3], text => $text};
}

# Passed, named with the reason, or failed. Ranks of lines that die on purpose end with 1: that is told, and nothing else may be.
sub judge {
    my ($line, $result) = @_;
    return ('passed', '') if ($result->{status} eq '0' || ($line->{dies} && $result->{codes} eq 'X002')) && $result->{text} =~ /No errors/i;
    my $why = reason("$line->{folder}/$line->{program}", $result->{status} eq '-' ? undef : $result->{codes});
    return defined $why ? ('named', $why) : ('failed', '');
}

sub keep {
    my ($path, $result) = @_;
    open my $out, '>', "$path.new" or die "$path.new: $!\n";
    printf {$out} "%s\t%s\t%.1f\t%d\n%s", @$result{qw(status codes seconds)}, $build, $result->{text};
    close $out or die "$path.new: $!\n";
    rename "$path.new", $path or die "$path: $!\n";
}

sub kept {
    my ($path) = @_;
    open my $in, '<', $path or return;
    chomp(my $head = <$in> // '');
    my %result;
    @result{qw(status codes seconds build)} = split /\t/, $head;
    return unless defined $result{build};
    local $/;
    $result{text} = <$in> // '';
    return \%result;
}

prepare() unless -f "$tests/include/mpitestconf.h";
make_path($results);
$| = 1;
my (%count, $other, %done);
for my $pattern (@patterns) {
    my ($folder, $programs) = -f "$tests/$pattern/testlist" ? ($pattern, '.*') : $pattern =~ m{^(.*?)/([^/]*)$};
    die "$pattern: no folder of the suite has this name\n" unless defined $folder && -f "$tests/$folder/testlist";
    for my $line (grep { $_->{program} =~ /^(?:$programs)$/ } lines_of($folder)) {
        my $name = "$folder/$line->{program} -n $line->{ranks} $line->{words}";
        next if $done{$name}++;
        (my $path = $name) =~ s/[^\w.=-]+/,/g;
        $path = "$results/$path";
        my $result = kept($path);
        my ($word, $why) = $result ? judge($line, $result) : ('', '');
        if (!$result || $again{all} || $again{$word}) {
            $result = run_line($line);
            $result->{build} = $build;
            keep($path, $result);
            ($word, $why) = judge($line, $result);
        }
        $count{$word}++;
        $other++ if $result->{build} != $build;
        my $what = $result->{status} eq '-' ? 'was not built' : sprintf 'exit status %s %s', @$result{qw(status codes)};
        print join("\t", $word, $name, $what, sprintf('%.1f s', $result->{seconds}), $why), "\n";
    }
}
printf "%d passed, %d named, %d failed%s\n", (map { $count{$_} // 0 } qw(passed named failed)),
    $other ? " ($other of another build of simrun)" : '';
exit(($count{failed} // 0) != 0);
