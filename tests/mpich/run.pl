#!/usr/bin/perl
# run.pl SIMRUN FOLDER [FOLDERS OF THE SUITE]: builds MPICH's own test-suite (fetch.sh) with simcc, runs every line of its testlists, and
# prints a table: passed, named (reasons.tsv says why it cannot pass), failed. Exit status 1 where a line fails that is not named.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);

my ($simrun, $root, @folders) = @ARGV;
@folders = (qw(attr coll comm datatype errhan group info init mpi_t pt2pt topo ft errors/faults),
    map { "threads/$_" } qw(init pt2pt coll comm perf mpi_t)) unless @folders;
my $here = abs_path(dirname($0));
$simrun = abs_path($simrun);
system('sh', "$here/fetch.sh", $root) == 0 or die "the suite was not fetched\n";
$root = abs_path($root);
my ($tests, $simcc) = ("$root/tests", dirname($simrun) . '/simcc');

sub prepare {
    my $log = "$root/configure.log";
    system("cp -a '$root/mpich/test/mpi' '$tests' && cd '$tests' && ./configure --with-mpi=/nonexistent MPICC='$simcc' CC='$simcc' --disable-fortran"
        . " --disable-cxx --disable-romio --disable-spawn --enable-strictmpi --enable-threads=multiple --with-pm=no >'$log' 2>&1") == 0
        or die "configure failed: $log\n";
    system("cat '$here/removed.h' >>'$tests/$_'") for 'include/mpitestconf.h', 'dtpools/dtpoolsconf.h';
}
prepare() unless -f "$tests/include/mpitestconf.h";
for my $folder ('util', 'dtpools', @folders) {
    my $goals = $folder =~ /^(util|dtpools)$/ ? 'all' : 'noinst_PROGRAMS all';
    system("nice make -s -k -j2 -C '$tests/$folder' AUTOMAKE=: ACLOCAL=: AUTOCONF=: AUTOHEADER=: $goals >>'$root/build.log' 2>&1");
}

my @reasons;
open my $file, '<', "$here/reasons.tsv" or die;
while (<$file>) { chomp; push @reasons, [split /\t/] unless /^#/ }
sub reason { my ($name, $codes) = @_; for my $row (@reasons) { return $row->[2] if $name =~ /^$row->[0]$/ && (($row->[1] eq '-' && !defined $codes) || (defined $codes && $codes =~ /\b($row->[1])\b/)) } return }

my (%count, %seen);
for my $folder (@folders) {
    open my $list, '<', "$tests/$folder/testlist" or next;
    while (<$list>) {
        s/#.*//;
        my ($program, $ranks, @options) = split;
        next unless defined $ranks && $ranks =~ /^\d+$/;
        my @words = map { /^arg=(.*)/ ? $1 : () } @options;
        next if $seen{"$folder/$program $ranks @words"}++;
        my ($word, $what, $codes) = ('failed', 'was not built');
        if (-x "$tests/$folder/$program") {
            # Whose threads call MPI: ranks have to be threads, too.
            my $threads = "$folder/$program" =~ m{^(threads/|init/session)} ? '--os-threads' : '';
            my $text = `cd '$tests/$folder' && COLUMNS=200 timeout 100 nice '$simrun' $threads --db none --timeout 60 -n $ranks ./$program @words 2>&1 </dev/null`;
            my $status = $? >> 8;
            $codes = join ' ', sort keys %{{map { $_ => 1 } $text =~ /^([A-Z]\d{3}) /mg}};
            # Ranks end with 1 on purpose: that is told, and nothing else may be.
            my $dies = grep { /^(resultTest=TestStatusNoErrors|env=MPIEXEC_ALLOW_FAULT=YES)$/ } @options;
            $word = 'passed' if ($status == 0 || ($dies && $codes eq 'X002')) && $text =~ /No errors/i;
            $what = "exit status $status $codes";
        }
        my $why = $word eq 'failed' ? reason("$folder/$program", $codes) : undef;
        $word = 'named' if defined $why;
        $count{$word}++;
        print join("\t", $word, "$folder/$program -n $ranks @words", $what, $why // ''), "\n";
    }
}
printf "%d passed, %d named, %d failed\n", map { $count{$_} // 0 } qw(passed named failed);
exit(($count{failed} // 0) != 0);
