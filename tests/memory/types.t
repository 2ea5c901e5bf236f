#!/usr/bin/perl
# What a call says of its buffer against the variable that is there: M011 where other numbers lie, B006 where the variable ends
# before. Every wrong call stands beside right ones of its kind; one program has them all, and its word chooses.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin qw($Bin);
use lib "$Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc'; # clang leaves out elements of arrays on the stack

my $simrun = abs_path($ENV{SIMRUN} || 'build/simrun');
my $folder = scratch_folder();
chdir $folder or die;

# buffer, count, datatype, code ('' none); what the program declares is below.
my @calls = map { [split /\s*\|\s*/, $_, 4] } grep { /\S/ } split /\n/, <<'TABLE';
ints | 100 | MPI_INT |
ints | 100 | MPI_UNSIGNED |
ints | 100 | MPI_INT32_T |
ints | 400 | MPI_BYTE |
ints | 400 | MPI_CHAR |
ints | 37 | MPI_PACKED |
ints | 100 | MPI_PACKED |
ints | 37 | MPI_BYTE |
ints | 37 | MPI_CHAR | M011
ints + 10 | 90 | MPI_INT |
&ints[99] | 1 | MPI_INT |
ints | 50 | MPI_2INT |
ints | 100 | MPI_FLOAT | M011
ints | 50 | MPI_DOUBLE | M011
ints | 50 | MPI_LONG | M011
ints | 100 | MPI_SHORT | M011
ints | 100 | MPI_CHAR | M011
ints | 25 | MPI_DOUBLE_INT | M011
ints | 101 | MPI_INT | B006
ints + 10 | 91 | MPI_INT | B006
ints | 401 | MPI_BYTE | B006
ints | 10 | ten | 
ints | 11 | ten | B006
ints + 59 | 1 | column |
ints + 60 | 1 | column | B006
statics | 100 | MPI_DOUBLE |
statics | 100 | MPI_INT64_T | M011
statics | 50 | MPI_FLOAT | M011
statics | 101 | MPI_DOUBLE | B006
hidden() | 20 | MPI_FLOAT |
hidden() | 20 | MPI_INT | M011
hidden() | 21 | MPI_FLOAT | B006
values | 100 | MPI_DOUBLE |
values + 50 | 50 | MPI_DOUBLE |
values | 100 | MPI_INT | M011
values + 50 | 50 | MPI_FLOAT | M011
values | 101 | MPI_DOUBLE | B006
values | 800 | MPI_BYTE |
shared | 10 | MPI_LONG |
shared | 10 | MPI_DOUBLE | M011
raw | 200 | MPI_INT |
raw | 100 | MPI_DOUBLE |
raw | 801 | MPI_BYTE | B006
samples | 8 | sample |
samples | 9 | sample | B006
samples | 2 | packed | M011
samples | 2 | turned | M011
samples | 8 | unsized | B002 M011
&samples[1].value[0] | 3 | MPI_DOUBLE |
&samples[1].value[0] | 3 | MPI_INT | M011
many | 8 | sample |
many | 8 | packed | M011
grid | 12 | MPI_FLOAT |
grid | 13 | MPI_FLOAT | B006
grid[1] | 8 | MPI_FLOAT |
grid | 12 | MPI_INT | M011
waves | 4 | MPI_C_DOUBLE_COMPLEX |
waves | 8 | MPI_DOUBLE |
waves | 8 | MPI_INT64_T | M011
mixed | 4 | MPI_INT |
mixed | 2 | MPI_DOUBLE |
letters | 64 | MPI_CHAR |
letters | 16 | MPI_INT |
letters | 65 | MPI_CHAR | B006
level | 3 | MPI_INT |
level | 3 | MPI_FLOAT | M011
&one | 1 | MPI_DOUBLE |
&one | 2 | MPI_DOUBLE | B006
&one | 2 | MPI_INT | M011
&pointer | 1 | MPI_AINT |
size | 2 | MPI_UNSIGNED_LONG |
size | 2 | MPI_AINT |
truth | 4 | MPI_C_BOOL |
wide | 4 | MPI_WCHAR |
MPI_BOTTOM | 1 | both |
TABLE

my $number = 0;
my $cases = join '', map { sprintf "    case %d: exchange(%s, %s, %s); break;\n", $number++, @{$_}[0 .. 2] } @calls;
open my $file, '>', 'calls.c' or die;
print $file <<"C";
#include <complex.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
struct sample { int step; double value[3]; };
static double statics[100];
long *shared;
static float *hidden(void) { static float inner[20]; return inner; }
#ifdef INLINE
static inline __attribute__((always_inline))
#else
static __attribute__((noinline))
#endif
void exchange(void *buffer, int count, MPI_Datatype type) { MPI_Bcast(buffer, count, type, 0, MPI_COMM_WORLD); }
static MPI_Datatype pair(MPI_Datatype a, MPI_Datatype b, int n, MPI_Aint place, MPI_Aint extent)
{
    MPI_Datatype type, sized;
    MPI_Type_create_struct(2, (int[]){1, n}, (MPI_Aint[]){0, place}, (MPI_Datatype[]){a, b}, &type);
    MPI_Type_create_resized(type, 0, extent, &sized);
    MPI_Type_commit(&sized);
    MPI_Type_free(&type);
    return sized;
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Datatype ten, column, both;
    MPI_Datatype sample = pair(MPI_INT, MPI_DOUBLE, 3, offsetof(struct sample, value), sizeof(struct sample));
    MPI_Datatype packed = pair(MPI_INT, MPI_DOUBLE, 3, 4, 28), unsized = pair(MPI_INT, MPI_DOUBLE, 3, 8, 24);
    MPI_Datatype turned = pair(MPI_DOUBLE, MPI_INT, 1, 24, 32);
    int ints[100];
    double *values = malloc(100 * sizeof *values), one = 1;
    void *raw = malloc(800), *pointer = raw;
    struct sample samples[8], *many = malloc(8 * sizeof *many);
    float grid[3][4];
    double complex waves[4];
    union { int i[4]; double d[2]; } mixed[1];
    char letters[64];
    enum level { LOW, HIGH } level[3] = {LOW, HIGH, LOW};
    size_t size[2] = {1, 2};
    bool truth[4] = {0};
    wchar_t wide[4] = {0};
    shared = malloc(80);
    memset(ints, 0, sizeof ints), memset(values, 0, 800), memset(raw, 0, 800), memset(samples, 0, sizeof samples);
    memset(many, 0, sizeof samples), memset(grid, 0, sizeof grid), memset(waves, 0, sizeof waves), memset(mixed, 0, sizeof mixed);
    memset(letters, 0, sizeof letters), memset(shared, 0, 80);
    MPI_Type_contiguous(10, MPI_INT, &ten);
    MPI_Type_vector(5, 1, 10, MPI_INT, &column);
    MPI_Aint places[2];
    MPI_Get_address(ints, &places[0]), MPI_Get_address(&one, &places[1]);
    MPI_Type_create_struct(2, (int[]){100, 1}, places, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &both);
    MPI_Type_commit(&ten), MPI_Type_commit(&column), MPI_Type_commit(&both);
    switch (atoi(argv[1])) {
$cases    }
    MPI_Type_free(&ten), MPI_Type_free(&column), MPI_Type_free(&both), MPI_Type_free(&sample), MPI_Type_free(&packed);
    MPI_Type_free(&unsized), MPI_Type_free(&turned);
    free(values), free(raw), free(many), free(shared);
    MPI_Finalize();
    return 0;
}
C
close $file;

sub codes {
    my ($source, $options, $case) = @_;
    my $said = `timeout 60 '$simrun' --db none -n 2 $options $source $case 2>&1`;
    my %codes = map { $_ => 1 } $said =~ /^([A-Z]\d{3}) /mg;
    return join(' ', sort keys %codes) || ($said =~ /^PASS/ ? '' : $said);
}
my @styles = (['noinline', '', sub { 1 }], ['inline', '-DINLINE', sub { $_[0] % 2 }], ['instrumented', '', sub { $_[0] % 3 == 0 }]);
for my $style (@styles) {
    my ($name, $flags, $chosen) = @$style;
    my $text = do { local (@ARGV, $/) = ('calls.c'); <> };
    open my $out, '>', "$name.c" or die;
    print $out "/* simrun: cflags: $flags */\n$text";
    close $out;
    my $options = $name eq 'instrumented' ? '--memory' : '';
    for my $case (grep { $chosen->($_) } 0 .. $#calls) {
        my ($buffer, $count, $type, $code) = @{ $calls[$case] };
        is(codes("$name.c", $options, $case), $code, "$name: $count $type at $buffer: " . ($code || 'right'));
    }
}
my $said = `'$simrun' --db none -n 2 noinline.c 13 2>&1` =~ s/\s+/ /gr;
like($said, qr/M011 buffer-type: Bcast reads MPI_DOUBLE at byte 0 of its buffer, where ints, of int, has an integer of 4 bytes/, 'what is where');
like($said, qr/rank 0: Bcast of 50 double root 0 noinline\.c:18 \(culprit\)/, 'at the line of the call');

# Built without debug information: what is not looked at is told.
(my $simcc = $simrun) =~ s/simrun$/simcc/;
system("'$simcc' -g0 -o bare noinline.c") == 0 or die;
$said = `'$simrun' --db none -n 2 ./bare 0 2>&1` =~ s/\s+/ /gr;
like($said, qr/not covered: .*buffers of a program without debug information/, 'a program without debug information is told of');
# Each buffer, wherever it lies; and no call is taken for one of those that something is told of.
open $file, '>', 'layer.c' or die;
print $file <<'C';
#include <mpi.h>
void layer(void *buffer, int count)
{
    MPI_Bcast(buffer, count, MPI_INT, 0, MPI_COMM_WORLD);
}
C
close $file;
open $file, '>', 'above.c' or die;
print $file <<'C';
#include <mpi.h>
#include <stdlib.h>
void layer(void *buffer, int count);
static double statics[10];
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 50; i++) {
        int *buffer = malloc((size_t)(i + 1) * 40);
        layer(buffer, 10);
        free(buffer);
    }
    layer(argc > 1 ? (void *)statics : (int[10]){0}, 10);
    MPI_Finalize();
    return 0;
}
C
close $file;
for my $debug ('-g0', '-g') {
    system("'$simcc' -g0 -O2 -fomit-frame-pointer -fPIC -shared -o liblayer.so layer.c && " .
           "'$simcc' $debug -O1 -o above above.c -L. -llayer -Wl,-rpath,\$PWD") == 0 or die;
    $said = `'$simrun' --db none -n 2 ./above 1 2>&1` =~ s/\s+/ /gr;
    like($said, $debug eq '-g0' ? qr/not covered: buffers of a program without debug information.*?\(102 times\)/ : qr/ M011 /,
        "a library without debug information below a program with $debug");
}
# The address of a pointer where the pointer is meant: there is room for the pointer alone.
open $file, '>', 'pointers.c' or die;
print $file <<'C';
/* simrun: cflags: -O0 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static int *still;
static __attribute__((noinline)) void call(const char *how, void *buffer, int bytes)
{
    MPI_Win window;
    if (!strcmp(how, "bcast"))
        MPI_Bcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_SELF);
    if (!strcmp(how, "ints"))
        MPI_Bcast(buffer, bytes / 4, MPI_INT, 0, MPI_COMM_SELF);
    if (!strcmp(how, "send"))
        MPI_Send(buffer, bytes, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF);
    if (!strcmp(how, "window")) {
        MPI_Win_create(buffer, bytes, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
        MPI_Win_free(&window);
    }
}
static __attribute__((noinline)) void given(float *given, const char *how, int bytes) { call(how, &given, bytes); }
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double *local = malloc(800);
    void *any = local;
    char *letters[2] = {argv[0], argv[0]};
    int bytes = atoi(argv[3]);
    still = malloc(800);
    memset(local, 0, 800), memset(still, 0, 800);
    if (!strcmp(argv[1], "local")) call(argv[2], &local, bytes);
    if (!strcmp(argv[1], "any")) call(argv[2], &any, bytes);
    if (!strcmp(argv[1], "static")) call(argv[2], &still, bytes);
    if (!strcmp(argv[1], "given")) given((float *)local, argv[2], bytes);
    if (!strcmp(argv[1], "array")) call(argv[2], letters, bytes);
    if (!strcmp(argv[1], "meant")) call(argv[2], still, 2 * bytes);
    free(local), free(still);
    MPI_Finalize();
    return 0;
}
C
close $file;
for my $pointer (qw(local any static given)) {
    for my $how (qw(bcast ints send window)) {
        is(codes('pointers.c', '', "$pointer $how 8"), '', "$how of pointer $pointer itself");
        is(codes('pointers.c', '', "$pointer $how 12"), $how eq 'send' ? '' : 'B006', "$how of more than pointer $pointer");
    }
}
is(codes('pointers.c', '', "array bcast 16"), '', 'an array of pointers has room for all');
is(codes('pointers.c', '', "array bcast 17"), 'B006', 'and no more');
is(codes('pointers.c', '', "meant $_ 100"), '', "$_ of what pointers point to") for qw(bcast ints send window);
like(`'$simrun' --db none -n 1 pointers.c local bcast 12 2>&1`, qr/4 bytes beyond\s+the end of pointer local: its\s+buffer is where the\s+pointer itself\s+lies, not what it points to\s+\(local, not\s+&local\)/,
    'the remedy is told');
# Arrays whose length the run tells.
open $file, '>', 'lengths.c' or die;
print $file <<'C';
#include <mpi.h>
int main(int argc, char **argv)
{
    int length = 2;
    MPI_Init(&argc, &argv);
    int all[length], room[8] = {0};
    all[0] = all[1] = argc;
    MPI_Bcast(all, argc + 1, MPI_INT, 0, MPI_COMM_SELF);
    int sum = all[0] + room[argc];
    MPI_Finalize();
    return sum == 12345;
}
C
close $file;
is(codes('lengths.c', '', ''), '', 'as many as the run has');
is(codes('lengths.c', '', 'more'), 'B006', 'one more');
done_testing;
