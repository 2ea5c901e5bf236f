#!/usr/bin/perl
# make mutate finds its way through every source, and its list of equivalents names mutants that exist. With none of them alive an
# expression is worth what it was.
use strict;
use warnings;
use File::Temp qw(tempdir);

print "TAP version 13\n1..4\n";
if (system("command -v python3 >/dev/null && git rev-parse HEAD >/dev/null 2>&1")) {
    print "ok $_ # SKIP needs python3 and a git checkout\n" for 1 .. 4;
    exit 0;
}
my $said = `python3 tests/mutate/run.py --count 2>&1`;
my $status = $? >> 8;
print map { "# $_\n" } split /\n/, $said;
my ($mutants, $files) = $said =~ /^(\d+) mutants in (\d+) files/m;
print $status == 0 ? '' : 'not ', "ok 1 - every source is cut, no equivalent is stale\n";
print +($mutants // 0) >= 20_000 ? '' : 'not ', "ok 2 - there are mutants\n";
my $sources = () = `git ls-files sim checker traces recorder verdict collectives/gradcheck 2>/dev/null` =~ /\.c$/mg;
print +($files // 0) > 0.7 * $sources ? '' : 'not ', "ok 3 - of most sources\n";

# Signs that are of one operand or of two: behind a cast, a size, what a pointer points to, a product.
my $folder = tempdir(CLEANUP => 1);
open my $file, '>', "$folder/was.c" or die;
print $file <<'C';
#include <stdint.h>
#include <stdio.h>
struct head { uint32_t size, n; uint64_t more[]; };
static int a = 7, b = 3, c = 2, *p = &b;
static int sizes(const struct head *head) { return sizeof *head + (size_t)head->n * sizeof(uint32_t) > head->size; }
static long pointed(void) { return 100 - a * (*p) - c + (*p) * a - (*p) % c; }
static long products(void) { return 50 - c * (a * b) - (a) - (a * b) + c * (a * b) & 255; }
static long casts(void) { return 9 - a * (int64_t) - b + (long) + c - (unsigned char) ~a + (size_t)1 - (uint32_t) - 1 % 5; }
static int sides(void) { return (a - b - c < 3) + (a << 1 > c == 1) + (a - (b - c) * 2 > 1 ? a - b : b - a) + !(a & 4 | 1) + (a -= b, a += b); }
int main(void)
{
    struct head head = {16, 2};
    printf("%d %ld %ld %ld %d\n", sizes(&head), pointed(), products(), casts(), sides());
    return 0;
}
C
close $file;
my $cut = 'import itertools, sys; sys.path.insert(0, "tests/mutate"); import sources; '
    . 'numbers = itertools.count(1); print(sources.Mutants(sys.stdin.read(), lambda: next(numbers)).rewrite())';
system("python3 -c '$cut' <'$folder/was.c' >'$folder/is.c'");
my @worth = map { system("cc -w '-Dmutant_lives(n)=0' -o '$folder/$_' '$folder/$_.c'") ? "$_ does not compile" : `'$folder/$_'` } qw(was is);
print map { chomp(my $line = $_); "# $line\n" } @worth;
print $worth[0] eq $worth[1] && $worth[0] =~ /\d/ ? '' : 'not ', "ok 4 - expressions are worth what they were\n";
