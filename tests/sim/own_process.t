#!/bin/sh
# What a process has for itself each rank has for itself (tests/programs/own_process.c), on fibers and on OS threads.
cd "$(dirname "$0")" || exit 1
while [ ! -e Makefile ]; do cd .. || exit 1; done
program=$PWD/tests/programs/own_process.c
waits=$PWD/tests/programs/waits.c
table=$PWD/tests/programs/process_table.c
last=$PWD/tests/programs/last_call.c
page=$PWD/docs/libc.md
bin=$(realpath "${BUILD:-build}")
# shellcheck source=tests/shell.sh
. "$(find tests -name shell.sh | head -1)"
unset CC
# run OPTIONS...: each in a folder of its own, which fills with what the ranks write
run() {
    rm -rf "$folder/files"
    mkdir "$folder/files"
    timeout 120 "$simrun" --db none "$@" "$program" "$(realpath "$folder/files")" >out 2>&1
}
echo "TAP version 13"
run -n 1
names=$(sed -n 's/ right$//p; s/ wrong$//p' out)
check "$([ "$(grep -c ' right$' out)" -ge 44 ] && ! grep -q ' wrong$' out && echo 0 || echo 1)" "one rank alone sees what a process sees"
for ways in "-n 4" "-n 4 --send rendezvous" "-n 4 --os-threads" "-n 4 --loader dlopen"; do
    # shellcheck disable=SC2086
    run $ways
    cp out said
    echo "$names" >names
    while IFS= read -r name; do
        grep -qx "$name right" said
        check $? "$ways: $name" said
    done <names
    [ "$(pwd)" = "$(realpath "$folder")" ]
    check $? "$ways: and the launcher is where it was" said
done
# The page's table says what is seen, line by line: 3 is the column of fibers, 4 that of OS threads.
for ways in "3 " "4 --os-threads"; do
    column=${ways%% *} option=${ways#* }
    awk -F ' *[|] *' -v column="$column" '/^\| [^-]/ && $2 != "what" { print $2 " " $column }' "$page" | sort >promised
    rm -rf "$folder/files"
    mkdir "$folder/files"
    # shellcheck disable=SC2086
    { timeout 120 "$simrun" --db none -n 4 $option "$table" "$(realpath "$folder/files")" && mkdir "$folder/files/2" &&
        timeout 120 "$simrun" --db none -n 4 $option "$program" "$(realpath "$folder/files/2")"; } >out 2>&1
    sed -n 's/ right$/ private/; s/ wrong$/ shared/; s/^\([^ ].*\) \(private\|shared\|refused\|allowed\)$/&/p' out | sort >seen
    [ "$(wc -l <seen)" -ge 90 ] && diff promised seen >differs
    if readelf -d "$simrun" | grep -q libasan; then
        count=$((count + 1))
        echo "ok $count - docs/libc.md on ${option:-fibers} # SKIP the address sanitizer has some functions of its own"
        continue
    fi
    check $? "docs/libc.md is true on ${option:-fibers}" differs
done
printf '%s\n' '#include <mpi.h>' '#include <unistd.h>' 'int main(int c, char **v) { MPI_Init(&c, &v); alarm(100); alarm(0); MPI_Finalize(); return 0; }' >timer.c
timeout 60 "$simrun" --db none -n 2 timer.c >out 2>&1 && grep -q 'not covered: alarm changes all ranks' out
check $? "what cannot be a rank's own is said"
# Waits are as long as in a process of its own, whatever the launcher asks meanwhile (tests/programs/waits.c).
program=$waits
for ways in "-n 1" "-n 3" "-n 2 --os-threads" "-n 2 --record none" "-n 2 --loader dlopen"; do
    # shellcheck disable=SC2086
    run $ways
    check "$([ "$(grep -c ' right$' out)" -eq 29 ] && ! grep -q ' wrong$' out && grep -q '^PASS' out && echo 0 || echo 1)" "$ways: every wait" out
done
# A function that the launcher calls may end with a jump into libc (tests/programs/last_call.c).
program=$last
for ways in "-n 2" "-n 2 --os-threads" "-n 2 --loader dlopen"; do
    case $BUILD in
    *clang*)
        check 0 "$ways: last calls # SKIP the runtime of clang is not the program's"
        continue
        ;;
    esac
    # shellcheck disable=SC2086
    run $ways
    check "$([ "$(grep -c ' right$' out)" -eq 6 ] && [ -e files/0/mark ] && [ -e files/1/mark ] && echo 0 || echo 1)" "$ways: last calls" out
done
echo "1..$count"
