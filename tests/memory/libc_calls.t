#!/usr/bin/perl
# Functions of libc that read or write a pending buffer, by their own names and by gcc's, at every level of optimisation, in fortified
# programs and in functions that call setjmp: each is seen (B001); on memory of the program's own, none says anything. Every program is
# built by simcc; LIBC_CALLS=all asks for each function at each level, else at one for each form.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc';
my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $simcc = dirname($simrun) . '/simcc';
my $folder = scratch_folder();
chdir $folder or die;
my @plugins = glob(dirname($simrun) . '/lib/loops-*.so');

# AT is the buffer; a name between @ has gcc's prefix or none.
my @reads = (
    '@memcpy@(other, AT, 32)', '@memmove@(other, AT, 24)', 'sink = (long)@mempcpy@(other, AT, 20)', '@memcpy@(other, AT, argc * 8)',
    'sink = @memcmp@(other, AT, 16)', 'sink = !@memcmp@(other, AT, 16)', 'sink = @bcmp@(AT, other, 10)', 'sink = (long)@memchr@(AT, 3, 10)',
    'sink = @strlen@(AT)', 'sink = @strnlen@(AT, 9)', 'sink = @strcmp@(AT, other)', 'sink = @strcmp@(AT, "end")', 'sink = !@strcmp@("end", AT)',
    'sink = @strncmp@(AT, "en", 2)', 'sink = @strncmp@(AT, other, argc + 3)', 'sink = @strcasecmp@(AT, "END")', 'sink = @strncasecmp@(AT, "EN", 2)',
    'sink = (long)@strchr@(AT, 9)', 'sink = (long)@strrchr@(AT, 9)', 'sink = (long)@strstr@(AT, "yz")', '@strcpy@(other, AT)',
    '@strncpy@(other, AT, 8)', '@strcat@(other, AT)', '@strncat@(other, AT, 3)', 'sink = (long)@stpcpy@(other, AT)',
    'free(strdup(AT))', 'sink = strtol(AT, NULL, 10)', 'sink = (long)strtod(AT, NULL)', 'sink = atoi(AT)', 'sink = (long)atof(AT)',
    'puts(AT)', 'fputs(AT, stderr)', 'printf("%s\n", AT)', 'printf("%d %f %ld %s|\n", 1, 2.0, 3L, AT)', 'fprintf(stderr, "%5s %c\n", AT, 65)',
    'sprintf(other, "%s", AT)', 'snprintf(other, 20, "%d%s", 1, AT)', 'snprintf(other, 20, "%.3s", AT)', 'sink = write(1, AT, 3)', 'fwrite(AT, 1, 3, stdout)',
    'qsort(AT, 3, 1, compare)',
);
my @writes = (
    '@memcpy@(AT, other, 32)', '@memmove@(AT, other, 24)', 'sink = (long)@mempcpy@(AT, other, 20)', '@memcpy@(AT, other, argc * 8)',
    '@memset@(AT, 0, 48)', '@memset@(AT, 0, 8)', '@memset@(AT, argc, argc + 9)', '@strcpy@(AT, other)', '@strcpy@(AT, "hello")', '@strncpy@(AT, other, 8)',
    'sink = (long)@stpcpy@(AT, other)', '@strcat@(AT, "x")', '@strcat@(AT, other)', '@strncat@(AT, other, 2)',
    'sprintf(AT, "hi")', 'sprintf(AT, "%d", argc)', 'snprintf(AT, 9, "%s", other)', 'sink = fgets(AT, 9, input) != NULL', 'sink = fread(AT, 1, 3, input)',
    'sink = read(fileno(input), AT, 3)',
);
open my $input, '>', 'input.txt' or die;
print $input "some text\nand more\n";
close $input;

# One program of many calls, each in a function of its own and chosen by its number, on the buffer or on memory of its own.
sub program {
    my ($name, $jumps, $prefix, @statements) = @_;
    my $jump = $jumps ? 'if (setjmp(environment)) return;' : '';
    my ($functions, $table) = ('', '');
    for my $i (0 .. $#statements) {
        for my $at (qw(buffer mine)) {
            (my $text = $statements[$i]) =~ s/\bAT\b/$at/g;
            $text =~ s/\@(\w+)\@/$prefix$1/g;
            $functions .= "static __attribute__((noinline)) void ${at}_$i(int argc) { $jump $text; sink += argc; }\n";
        }
        $table .= "{buffer_$i, mine_$i, " . ((grep { $_ eq $statements[$i] } @writes) ? 1 : 0) . "}, ";
    }
    open my $file, '>', "$name.c" or die;
    print $file <<"END";
#define _GNU_SOURCE
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
volatile long sink;
jmp_buf environment;
static char buffer[64] = "abc", mine[64] = "abc", other[128] = "xyz";
static FILE *input;
int compare(const void *a, const void *b) { return a < b ? -1 : a > b; }
$functions
static const struct { void (*touches)(int), (*keeps_off)(int); int sends; } calls[] = { $table };
int main(int argc, char **argv)
{
    input = fopen("input.txt", "r");
    int which = atoi(argv[1]), sends = calls[which].sends, rank;
    void (*volatile call)(int) = argc > 2 ? calls[which].keeps_off : calls[which].touches;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        if (sends)
            MPI_Isend(buffer, 64, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(buffer, 64, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
        call(1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        if (sends)
            MPI_Recv(buffer, 64, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(buffer, 64, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    sink = other[3] + mine[2] + (input != NULL);
    MPI_Finalize();
    return 0;
}
END
    close $file;
}

my %forms = ( # how it is compiled, whether it calls setjmp, what stands before a name
    plain => ['', 0, ''], prefixed => ['', 0, '__builtin_'], jumps => ['', 1, '__builtin_'], fortified => ['-D_FORTIFY_SOURCE=2', 0, ''],
);
my @levels = qw(-O0 -O1 -O2 -O3 -Os);
my ($seen, $missed, $false, $number) = (0, 0, 0, 0);
my $all = ($ENV{LIBC_CALLS} // '') eq 'all';
for my $form (sort keys %forms) {
    my ($options, $jumps, $prefix) = @{$forms{$form}};
    next if $prefix && !@plugins;
    my %by_level;
    for my $statement (@reads, @writes) {
        $number++;
        push @{ $by_level{$_} }, [$statement, $number] for $all ? @levels : $levels[$number % @levels];
    }
    for my $level (sort keys %by_level) {
        next if $options && $level eq '-O0'; # headers are fortified from -O1 on
        my @calls = @{ $by_level{$level} };
        program('program', $jumps, $prefix, map { $_->[0] } @calls);
        if (system("SIMCC_MEMORY=1 '$simcc' -w -g $level $options -o program program.c 2>compiler.txt")) {
            $missed++;
            diag("$form $level: does not compile: " . `head -3 compiler.txt`);
            next;
        }
        for my $i (0 .. $#calls) {
            for my $own (0, 1) {
                next if $own && !$all && $calls[$i][1] % 4;
                my $what = "$form $level: $calls[$i][0]";
                my $said = `'$simrun' run --memory --db none -n 2 ./program $i @{[$own ? 'own' : '']} 2>/dev/null`;
                if ($own) {
                    $false++, diag("$what: on the program's own memory:\n$said") if $said !~ /^PASS /m || $said =~ /^[A-Z]\d{3} /m;
                } elsif ($said =~ /^B001 .*(?:\n .*)*program\.c/m) {
                    $seen++;
                } else {
                    $missed++;
                    diag("$what: not seen:\n$said");
                }
            }
        }
    }
}
is($missed, 0, "every access is seen ($seen)");
is($false, 0, "and none that is not one");
cmp_ok($seen, '>', @plugins ? 150 : 80, 'there were many');

# What nobody sees is told, where anything was under way; a library that was instrumented is seen.
sub spew { my ($name, $text) = @_; open my $file, '>', $name or die; print $file $text; close $file }
spew('touch.c', "void touch(double *x);\nvoid touch(double *x)\n{\n    x[3] += 1;\n}\n");
sub touching {
    my ($call, $pending) = @_;
    spew('unseen.c', <<"END");
#include <mpi.h>
#include <stdio.h>
void touch(double *x);
int main(int argc, char **argv)
{
    static double x[8];
    static char text[] = "12 x";
    int rank, v = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && $pending)
        MPI_Irecv(x, 8, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
    $call;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 1 && $pending)
        MPI_Send(x, 8, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return v + argc > 100;
}
END
}
sub verdict {
    my ($libraries) = @_;
    is(system("SIMCC_MEMORY=1 '$simcc' -g -o unseen unseen.c $libraries >compiler.txt 2>&1"), 0, 'it compiles') or diag(`cat compiler.txt`);
    return `'$simrun' run --memory --db none -n 2 ./unseen 2>&1`;
}
my $gap = qr/not covered: what these read and write of pending\s+buffers: /;
touching('sscanf(text, "%d", &v)', 1);
like(verdict(''), qr/${gap}__isoc99_sscanf/, 'a function of libc that nobody wraps is told');
touching('sscanf(text, "%d", &v)', 0);
unlike(verdict(''), $gap, '... but not where nothing was under way');
touching('touch(x)', 1);
is(system("gcc -shared -fPIC -o libtouch.so touch.c"), 0, 'a library');
like(verdict('-L. -ltouch -Wl,-rpath,$PWD'), qr/${gap}libtouch\.so/, '... that is not instrumented is told');
is(system("SIMCC_MEMORY=1 '$simcc' -g -shared -fPIC -o libtouch.so touch.c"), 0, 'the same, instrumented');
my $said = verdict('-L. -ltouch -Wl,-rpath,$PWD');
unlike($said, $gap, '... is not') or diag($said);
like($said, qr/^B001 /m, '... and what it does is seen');
done_testing;
