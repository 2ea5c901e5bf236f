#!/usr/bin/perl
# Each rule of layers.t is broken on purpose in a copy of some rooms, in every way that the rule is for, and layers.t must say so, and
# nothing else; beside each stands what looks alike and is right.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Path qw(make_path remove_tree);
use File::Temp qw(tempdir);

my $layers = abs_path(dirname($0) . '/layers.t');
my $folder = tempdir(CLEANUP => 1);
# A few rooms are enough, and quickly read.
my @rooms = (qw(traces/base sim/base sim/libc sim/windows collectives/systems/rpc verdict),
    glob("sim/*.h collectives/*.h checker/*.h cli/command.* recorder/drops.* sim/messages/mailbox.h"));
system('cp', '-R', '--parents', @rooms, $folder) == 0 or die "cannot copy the sources\n";
my $whole = tempdir(CLEANUP => 1); # what who sees is known of all rooms only
system('cp', '-R', qw(traces recorder sim collectives checker verdict viz cli), $whole) == 0 or die "cannot copy the sources\n";
chdir $folder or die;

my ($INCLUDE, $SYMBOL, $CIRCLE, $WIDE, $CHANCE, $HEADER) = 1 .. 6;
my @compiler = split ' ', $ENV{CC} || 'cc';

sub spew { my ($path, $text) = @_; make_path(dirname($path)); open my $out, '>', $path or die "$path: $!"; print $out $text; close $out }

# Writes the files, compiles those of `objects`, asks layers.t, and takes them away again. A file of the tree gets the text appended.
sub told {
    my ($files, @objects) = @_;
    my %before;
    for my $path (sort keys %$files) {
        if (-e $path) { open my $in, '<', $path or die; local $/; $before{$path} = <$in> }
        spew($path, ($before{$path} // '') . $files->{$path});
    }
    for my $source (@objects) {
        (my $object = "build/obj/$source") =~ s/c$/o/;
        make_path(dirname($object));
        system(@compiler, '-w', '-I.', '-c', '-o', $object, $source) == 0 or die "$source does not compile\n";
    }
    my $said = `BUILD=build perl '$layers' 2>&1`;
    for my $path (keys %$files) { if (defined $before{$path}) { spew($path, $before{$path}) } else { unlink $path; rmdir dirname($path) } }
    remove_tree('build');
    return $said;
}

my $number = 0;
sub judge { # name, what layers.t said, the point that fails (0: none), the rule's message (a pattern, or several)
    my ($name, $said, $point, $message) = @_;
    my @messages = ref $message eq 'ARRAY' ? @$message : ($message) x !!$point;
    my @failed = grep { $_ != $HEADER || abs_path('.') eq abs_path($whole) } $said =~ /^not ok (\d+)/mg;
    my $points = () = $said =~ /^(?:not )?ok \d/mg;
    my $good = $points == 6 && "@failed" eq ($point || '') && !grep { ref ? $said !~ $_ : index($said, "# $_\n") < 0 } @messages;
    print map { "# $_\n" } $point ? "point $point should fail and say:" : 'no point should fail.', @messages, 'It says:', split /\n/, $said if !$good;
    printf "%sok %d - %s\n", $good ? '' : 'not ', ++$number, $name;
}
sub wrong { my ($name, $point, $message, @broken) = @_; judge($name, told(@broken), $point, $message) }
sub right { my ($name, @alike) = @_; judge("right: $name", told(@alike), 0) }

# The way up, from hall to hall, from room to room, and by names under which the compiler finds a header, too.
print "TAP version 13\n";
right('the rooms as they are', {});
wrong('a hall includes one above it', $INCLUDE, 'include traces/base/up.c cli', { 'traces/base/up.c' => qq(#include "cli/command.h"\n) });
wrong('a header does', $INCLUDE, 'include checker/check.h verdict', { 'checker/check.h' => qq(#include "verdict/allow.h"\n) });
wrong('a room includes one above it in its hall', $INCLUDE, 'include sim/base/hash.c sim/messages', { 'sim/base/hash.c' => qq(#include "sim/messages/mailbox.h"\n) });
wrong('a room that has no place in the order of its hall', $INCLUDE, 'include sim/attic/hash.c sim/base',
    { 'sim/attic/hash.c' => qq(#include "sim/base/hash.h"\n) });
wrong('an include in angle brackets', $INCLUDE, 'include traces/base/up.c cli', { 'traces/base/up.c' => qq(#include <cli/command.h>\n) });
wrong('an include with blanks', $INCLUDE, 'include traces/base/up.c cli', { 'traces/base/up.c' => qq( #  include  "cli/command.h"\n) });
wrong('an include that climbs', $INCLUDE, 'include traces/base/up.c cli', { 'traces/base/up.c' => qq(#include "../../cli/command.h"\n) });
wrong('an include found in a searched folder', $INCLUDE, 'include traces/base/up.c sim/base', { 'traces/base/up.c' => qq(#include "base/hash.h"\n) });
wrong("a header beside a system's own", $INCLUDE, 'include recorder/drops.c collectives/systems/rpc',
    { 'recorder/drops.c' => qq(#include "inside.h"\n), 'collectives/systems/rpc/inside.h' => "\n" });
right('an include down', { 'cli/command.c' => qq(#include "traces/base/failure.h"\n) });
right('a public header', { 'recorder/drops.c' => qq(#include <mpi.h>\n) });

my ($above, $up) = ('cli/above.c', 'traces/base/up.c');
wrong('a symbol from above, without an include', $SYMBOL, 'symbol traces/base cli',
    { $above => "int above_count;\n", $up => "extern int above_count;\nint *up(void)\n{\n    return &above_count;\n}\n" }, $above, $up);
wrong('within a hall', $SYMBOL, 'symbol sim/base sim/windows',
    { 'sim/windows/above.c' => "int above_count;\n", 'sim/base/up.c' => "extern int above_count;\nint *up(void)\n{\n    return &above_count;\n}\n" },
    'sim/windows/above.c', 'sim/base/up.c');
right('a symbol from below', { $above => "extern int up_count;\nint *above(void)\n{\n    return &up_count;\n}\n", $up => "int up_count;\n" }, $above, $up);

my ($one, $other) = ('traces/base/one', 'traces/base/other');
my %defines = ("$other.c" => "int other(void)\n{\n    return 1;\n}\n");
for my $declared ('int other(void);', 'extern int other(void);', "int\nother(\n    void);") {
    (my $name = $declared) =~ s/\s+/ /g;
    my %files = (%defines, "$one.c" => "$declared\nint one(void)\n{\n    return other();\n}\n");
    wrong("a prototype in a .c file: $name", $CIRCLE, "prototype $one.c other", \%files, "$one.c", "$other.c");
}
right('a prototype in a header', { %defines, "$other.h" => "int other(void);\n", "$one.c" => qq(#include "$other.h"\nint one(void)\n{\n    return other();\n}\n) },
    "$one.c", "$other.c");
right('a prototype of what the source itself defines', { "$one.c" => "int one(int);\nint one(int n)\n{\n    return n ? one(n - 1) : 0;\n}\n" }, "$one.c");

# Two objects that include each other, three round about, and one way through a header that has no source.
my %two = ("$one.h" => qq(#include "$other.h"\n), "$one.c" => "\n", "$other.c" => qq(#include "$one.h"\n), "$other.h" => "\n");
wrong('two objects include each other', $CIRCLE, "circle $one", \%two);
my ($third, $only) = ('traces/base/third', 'traces/base/only');
wrong('three round about', $CIRCLE, "circle $third",
    { map({ ("$_.c" => "\n") } $one, $other, $third), "$one.h" => qq(#include "$other.h"\n), "$other.h" => qq(#include "$third.h"\n), "$third.h" => qq(#include "$one.h"\n) });
wrong('through a header without a source', $CIRCLE, "circle $other",
    { "$one.h" => qq(#include "$only.h"\n), "$one.c" => "\n", "$only.h" => qq(#include "$other.h"\n), "$other.h" => "\n", "$other.c" => qq(#include "$one.h"\n) });
right('one way', { "$one.h" => "\n", "$one.c" => qq(#include "$one.h"\n#include "$other.h"\n), "$other.h" => "\n", "$other.c" => qq(#include "$other.h"\n) });

my $count = () = glob 'traces/base/*';
my @more = map { "traces/base/more_$_.h" } 1 .. 31 - $count;
wrong('a folder of 31 files', $WIDE, 'traces/base holds 31', { map { $_ => "\n" } @more });
right('a folder of 30 files', { map { $_ => "\n" } @more[1 .. $#more] });

my @calls = qw(rand random time gettimeofday sleep usleep nanosleep getrandom);
wrong('the machine calls what a seed does not govern', $CHANCE, [map { "sim/base/hash.c calls $_" } @calls],
    { 'sim/base/hash.c' => join '', map { "static int chance_$_(void)\n{\n    return -$_(0); /* a remark */\n}\n" } @calls });
wrong('in a header', $CHANCE, 'sim/base/hash.h calls rand', { 'sim/base/hash.h' => "static inline int chance(void)\n{\n    return rand();\n}\n" });
right('names that end alike, remarks and texts',
    { 'sim/base/hash.c' => qq(/* not time() */ static int chance(struct clock *c)\n{\n    return c->time() + operand(1) + said("rand()"); // rand()\n}\n) });
right('another hall', { 'cli/command.c' => "static int chance(void)\n{\n    return rand();\n}\n" });
right('what stands for libc', { 'sim/libc/random.c' => "static int chance(void)\n{\n    return rand();\n}\n" });

chdir $whole or die;
right('all rooms as they are', {});
wrong('a room sees another than its header says', $HEADER, qr{^# viz/charts/charts\.h says "Room: sees .*"; the includes say "Room: sees .*checker}m,
    { 'viz/charts/extra.c' => qq(#include "checker/explore/explore.h"\n) });
wrong('and the other is seen', $HEADER, qr{^# checker/explore/explore\.h says ".* Seen by .*"; the includes say ".* Seen by .*viz}m,
    { 'viz/charts/extra.c' => qq(#include "checker/explore/explore.h"\n) });
wrong('a room without a header of its name', $HEADER, 'traces/attic/attic.h has no line "Room: sees nothing. Seen by programs."', { 'traces/attic/old.h' => "\n" });
print "1..$number\n";
chdir '/';
