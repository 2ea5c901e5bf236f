#!/usr/bin/perl
# Records that are damaged while parts of them are let go, and a database that a program takes away; ways.t has the table of all the rest.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Test::More;

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $sources = dirname(abs_path($0));
my $folder = tempdir(CLEANUP => 1);
chdir $folder or die;
$ENV{SIMRUN_CACHE} = "$folder/cache";

sub slurp { open my $f, '<', shift or return ''; local $/; my $t = <$f>; return $t // '' }
sub simrun {
    my $status = system('sh', '-c', 'exec timeout 60 "$0" "$@" >out 2>err </dev/null', $simrun, @_);
    return ($status >> 8 || ($status & 127 ? 128 + ($status & 127) : 0), slurp('out'));
}

my ($damaged, $said) = simrun(qw(--db none --timeout 30 --record-limit 16M -n 4), "$sources/heads.c");
ok($damaged == 1 && $said =~ /^X009 /m, 'parts of a record that are written over while others are let go: X009') or diag($damaged, $said);

# A database that is taken away meanwhile.
is((simrun(qw(--db gone.db -q -n 2), "$sources/strange.c"))[0], 0, 'a database');
my ($status) = simrun(qw(--db gone.db -n 2), "$sources/odd.c", 'unlink_database', 1);
like(slurp('err'), qr/gone\.db was removed/, 'that a program removes is missed by name');
is($status, 5, 'and the run says that it is not kept');
done_testing();
