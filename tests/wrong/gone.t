#!/usr/bin/perl
# Memory that is gone when an operation names it: given back to libc or to MPI, moved, or of a function that has returned; every way of losing
# it with every kind of call. Beside each the right twin: the same memory before it goes, and the memory that comes after it.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/..";
use Scratch qw(scratch_folder);
use Test::More;

$ENV{CC} = 'gcc';
my $simrun = $ENV{SIMRUN} // 'build/simrun';
my $folder = scratch_folder();
# What makes memory and loses it: `has` is there as long as `lose` was not called. The last is what the finding says.
my @ways = (
    ['malloc', 'has = malloc(BYTES)', 'free(has)', 'freed at gone.c:\d+'],
    ['calloc', 'has = calloc(N, 8)', 'free(has)', 'freed at gone.c:\d+'],
    ['aligned', 'has = aligned_alloc(64, 832)', 'free(has)', 'freed at gone.c:\d+'],
    ['posix', 'if (posix_memalign((void **)&has, 64, BYTES)) return 1', 'free(has)', 'freed at gone.c:\d+'],
    ['large', 'has = malloc(1 << 21)', 'free(has)', 'freed at gone.c:\d+'],
    ['moved', 'has = malloc(BYTES)', 'kept[0] = realloc(has, 40 * BYTES)', 'freed at gone.c:\d+'],
    ['mpi', 'MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &has)', 'MPI_Free_mem(has)', 'freed at gone.c:\d+'],
    ['window', 'MPI_Win_allocate(BYTES, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &has, &window)', 'MPI_Win_free(&window)', 'freed at gone.c:\d+'],
    ['others since', 'has = malloc(BYTES)', 'free(has), churn(7)', 'freed at gone.c:\d+'],
    ['local', 'has = NULL', 'has = local()', 'a variable of a function that has returned'],
    ['alloca', 'has = NULL', 'has = room(BYTES)', 'a variable of a function that has returned'],
);
my @calls = (
    ['Send', 'rank ? MPI_Recv(other, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) : MPI_Send(has, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD)'],
    ['Recv', 'rank ? MPI_Send(other, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD) : MPI_Recv(has, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)'],
    ['Isend', 'rank ? MPI_Irecv(other, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request) : MPI_Isend(has, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request), MPI_Wait(&request, MPI_STATUS_IGNORE)'],
    ['Bcast', 'MPI_Bcast(rank ? other : has, N, MPI_DOUBLE, 0, MPI_COMM_WORLD)'],
    ['Allreduce', 'MPI_Allreduce(rank ? other : has, more, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)'],
    ['Ialltoall', 'MPI_Ialltoall(more, N / 2, MPI_DOUBLE, rank ? other : has, N / 2, MPI_DOUBLE, MPI_COMM_WORLD, &request), MPI_Wait(&request, MPI_STATUS_IGNORE)'],
    ['inner', 'rank ? MPI_Recv(other, 5, column, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) : MPI_Send(has + 7, 5, column, 1, 0, MPI_COMM_WORLD)'],
    ['Put', 'MPI_Win_fence(0, all), rank ? 0 : MPI_Put(has, N, MPI_DOUBLE, 1, 0, N, MPI_DOUBLE, all), MPI_Win_fence(0, all)'],
    ['Win_create', 'MPI_Win_create(rank ? other : has, BYTES, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &another), MPI_Win_free(&another)'],
    ['Send_init', 'rank ? MPI_Recv_init(other, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request) : MPI_Send_init(has, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request), MPI_Start(&request), MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_Request_free(&request)'],
);
my ($makes, $losses, $uses) = map { my $column = $_; join '', map { "    case $_: $ways[$_][$column]; break;\n" } 0 .. $#ways } 1, 2;
$uses = join '', map { "    case $_: $calls[$_][1]; break;\n" } 0 .. $#calls;
open my $out, '>', "$folder/gone.c" or die "$folder/gone.c: $!";
print $out <<"C";
#include <alloca.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
enum { N = 100, BYTES = 8 * N };
static double *has, other[N], more[N], shown[N], *kept[64];
static MPI_Win window, all;
static __attribute__((noinline)) double *local(void) { double here[N]; double *volatile at = here; memset(here, 0, sizeof here); return at; }
static __attribute__((noinline)) double *room(size_t bytes) { double *volatile at = alloca(bytes); memset(at, 0, bytes); return at; }
static void churn(int times) { for (int i = 0; i < times; i++) { double *short_lived = malloc(BYTES + 16 * i); memset(short_lived, 1, BYTES); free(short_lived); } }
static int make(int way) { switch (way) {\n$makes} return 0; }
static int lose(int way) { switch (way) {\n$losses} return 0; }
static int use(int rank, int call)
{
    MPI_Request request;
    MPI_Win another;
    MPI_Datatype column;
    MPI_Type_vector(1, 3, 4, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    switch (call) {\n$uses}
    return MPI_Type_free(&column);
}
/* Below the memory of a function that is under way. */
static __attribute__((noinline)) void within(int rank, int call) { double here[N] = {0}; has = here; use(rank, call); }
int main(int argc, char **argv)
{
    int rank, way = atoi(argv[1]), call = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(shown, BYTES, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &all);
    if (way >= 0) {
        make(way), lose(way), use(rank, call);
    } else {
        for (call = 0; call < @{[scalar @calls]}; call++)
            for (way = 0; way < @{[scalar @ways]}; way++) {
                make(way);
                if (has)
                    use(rank, call), lose(way); /* what took its place: */
                make(way);
                if (has)
                    use(rank, call), lose(way);
                within(rank, call);
                has = alloca(BYTES);
                memset(has, 0, BYTES);
                use(rank, call);
                has = NULL;
                free(kept[0]), kept[0] = NULL;
            }
        /* by libc itself, where something of the program's was; and what is longer in its place */
        for (int i = 0; i < 40; i++) {
            free(malloc(BYTES)), has = (double *)strdup(memset(calloc(1, BYTES), 'x', BYTES - 1));
            use(rank, 4), free(has);
            kept[0] = realloc(NULL, 8), kept[0] = realloc(kept[0], BYTES), has = kept[0], use(rank, 4), free(has);
        }
    }
    MPI_Win_free(&all);
    MPI_Finalize();
    return 0;
}
C
close $out;

my $sanitized = `readelf -d '$simrun'` =~ /libasan/; # looks at reads of what has returned, too
sub run { my ($options, $way, $call) = @_; return scalar `cd '$folder' && '$simrun' -n 2 --db none $options gone.c -- $way $call 2>&1` }
chomp($simrun = `realpath '$simrun'`);
for my $options ('', '--os-threads') {
    for my $way (0 .. $#ways) {
        for my $call (0 .. $#calls) {
            next if $options && ($way + $call) % 4;
            next if $sanitized && $ways[$way][3] =~ /returned/;
            my $said = run($options, $way, $call) =~ s/\s+/ /gr;
            my ($what) = $said =~ /B006 buffer-overrun: (.*?) where/;
            like($what // $said, qr/^\w+ (?:reads|writes|exposes) (?:memory that was )?$ways[$way][3]: its /, "$ways[$way][0], $calls[$call][0] $options");
        }
    }
    like(run($options, -1, 0), qr/^PASS/, "what is there, and what comes after what went $options");
}

# A window over a variable of a function that has returned, whatever is called next; and over one of a function that is under way, from
# within others.
open $out, '>', "$folder/window.c" or die "$folder/window.c: $!";
print $out <<'C';
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static const char *how;
static __attribute__((noinline)) void deep(MPI_Win window, int depth)
{
    volatile char room[300] = {0};
    if (depth) {
        deep(window, depth - 1 + room[depth]);
    } else if (!strcmp(how, "fence")) {
        MPI_Win_fence(0, window), MPI_Win_fence(0, window);
    } else if (!strcmp(how, "lock")) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window), MPI_Win_unlock(0, window);
    } else if (!strcmp(how, "lock_all")) {
        MPI_Win_lock_all(0, window), MPI_Win_unlock_all(window);
    } else if (!strcmp(how, "post")) {
        MPI_Group all;
        MPI_Win_get_group(window, &all);
        MPI_Win_post(all, 0, window), MPI_Win_start(all, 0, window), MPI_Win_complete(window), MPI_Win_wait(window);
        MPI_Group_free(&all);
    }
}
static __attribute__((noinline)) MPI_Win make(int right)
{
    double here[40] = {0};
    MPI_Win window;
    MPI_Win_create(here, sizeof here, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    deep(window, 5);
    if (right)
        MPI_Win_free(&window);
    return window;
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    how = argv[1];
    MPI_Win window = make(atoi(argv[2]));
    if (window != MPI_WIN_NULL) {
        deep(window, 0);
        MPI_Win_free(&window);
    }
    MPI_Finalize();
    return 0;
}
C
close $out;
for my $options ('', '--memory', '--os-threads') {
    for my $how (qw(fence lock lock_all post free)) {
        for my $right (0, 1) {
            my $said = `cd '$folder' && '$simrun' -n 2 --db none $options window.c -- $how $right 2>&1` =~ s/\s+/ /gr;
            like($said, $right ? qr/^PASS/ : qr/^FAIL.*1 finding.*B001 buffer-in-use: memory of a window lay on the stack of a function that returned/,
                "a window of what has returned, $how $options: " . ($right ? 'not yet' : 'gone'));
        }
    }
}

# What is freed twice, by whatever call, ends as in any program.
open $out, '>', "$folder/twice.c" or die "$folder/twice.c: $!";
print $out <<'C';
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    char *has = malloc(100);
    free(has);
    argc > 1 ? (void)MPI_Free_mem(has) : free(has);
    for (int i = 0; i < 40; i++)
        free(malloc(100));
    MPI_Finalize();
    return 0;
}
C
close $out;
like(`cd '$folder' && '$simrun' -n 1 --db none twice.c $_ 2>&1`, qr/^FAIL.*^X001 crash: Aborted/ms, "freed twice $_") for $sanitized ? () : ('', '-- mpi');
done_testing();
