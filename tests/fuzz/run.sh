#!/bin/sh
# Runs every fuzz target: run.sh CC OUT SECONDS, from the top of the tree. Builds with the fuzzer of clang into OUT, starts from the
# seeds in tests/fuzz/corpus and keeps what it learns in OUT. Ends with 1 at the first input that breaks a reader, and keeps it.
set -eu
cc=$1 out=$2 seconds=$3
mkdir -p "$out"
if ! printf 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n);\nint LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }\n' |
    "$cc" -x c -fsanitize=fuzzer -o "$out/probe" - 2>/dev/null; then
    echo "fuzz: skipped, $cc has no libFuzzer (Debian: clang and libclang-rt-dev)"
    exit 0
fi
sources="$(ls traces/formats/*.c traces/input/*.c traces/base/identity.c traces/base/failure.c traces/trace/*.c \
    recorder/loading/*.c recorder/buffers.c recorder/buffers_damage.c recorder/balances.c recorder/packing.c recorder/drops.c)"
libraries=$(pkg-config --libs libdw libelf)
fuzz() {
    name=$1
    # shellcheck disable=SC2086
    "$cc" -std=c17 -D_GNU_SOURCE -O1 -g -I. -Isim -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
        -o "$out/$name" "tests/fuzz/$name.c" $sources $libraries -lm
    mkdir -p "$out/$name.corpus"
    if ! "$out/$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=8192 -print_final_stats=0 \
        -artifact_prefix="$out/$name-" "$out/$name.corpus" "tests/fuzz/corpus/${name#fuzz_}" >"$out/$name.log" 2>&1; then
        tail -40 "$out/$name.log"
        echo "fuzz: $name failed, the input is $out/$name-*"
        return 1
    fi
    echo "fuzz: $name for $seconds s: $(tail -1 "$out/$name.log")"
}

# Two at a time, each for the whole of its seconds.
failed=0
set -- $(basename -s .c tests/fuzz/fuzz_*.c)
while [ $# -gt 0 ]; do
    (fuzz "$1") &
    first=$!
    if [ $# -gt 1 ]; then
        (fuzz "$2") || failed=1
        shift
    fi
    wait "$first" || failed=1
    shift
done
exit $failed
