#!/usr/bin/perl
# Records that are damaged while parts of them are let go, and a database that a program takes away; ways.t has the table of all the rest.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $sources = dirname(abs_path($0));
my $folder = scratch_folder();
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";

sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub simrun {
    my $status = system('sh', '-c', 'exec timeout 60 "$0" "$@" >out 2>err </dev/null', $simrun, @_);
    return ($status >> 8 || ($status & 127 ? 128 + ($status & 127) : 0), slurp('out'));
}

my ($damaged, $said) = simrun(qw(--db none --timeout 30 --record-limit 16M -n 4), "$sources/heads.c");
ok($damaged == 1 && $said =~ /^X009 /m, 'parts of a record that are written over while others are let go: X009') or diag($damaged, $said);

# A database that is taken away meanwhile comes back, with all that was in it.
mkdir 'deep' or die;
my %rest = ('gone.db' => 'a file made anew there', 'deep/gone.db' => 'a file made anew there', 'other.db' => 'other\\.db\\.rescued-\\d+');
my %way = ('gone.db' => 'unlink_database', 'deep/gone.db' => 'remove_folder', 'other.db' => 'replace_database');
for my $database (sort keys %way) {
    is((simrun('--db', $database, qw(-q -n 2), "$sources/strange.c"))[0], 0, "a database, $database");
    my ($status) = simrun('--db', $database, qw(-n 2), "$sources/odd.c", $way{$database}, 1);
    is($status, 0, "$way{$database}: the program passes");
    like(slurp('err'), qr/$database was removed or moved .* in $rest{$database};/s, 'where its runs are is told');
    my ($now) = $way{$database} eq 'replace_database' ? glob 'other.db.rescued-*' : $database;
    is_deeply([map { (simrun('show', '--db', $now, $_))[0] } 1, 2], [0, 0], 'both runs can be shown');
    is((simrun('--db', $now, qw(-q -n 2), "$sources/strange.c"))[0], 0, 'and another is kept');
}
is(slurp('other.db'), "somebody else's\n", 'what stands in its place now is left alone');

# One that is written over cannot be had back; that is said.
is((simrun(qw(--db spoilt.db -q -n 2), "$sources/strange.c"))[0], 0, 'a database');
my ($status) = simrun(qw(--db spoilt.db -n 2), "$sources/odd.c", 'spoil_database', 1);
like(slurp('err'), qr/the run was not kept: spoilt\.db: /, 'that a program writes over is missed by name');
isnt($status, 0, 'and the run says that it is not kept');
done_testing();
