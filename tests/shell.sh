# Sourced by scripts beside it that are users of the command line, each in an empty folder of its own with a compile cache of its own.
# Afterwards $simrun is the program; paths relative to the tree are to be made absolute before.
simrun=$(realpath "${SIMRUN:-build/simrun}")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export SIMRUN_CACHE="$folder/cache"
count=0
# check STATUS NAME [FILE]: one TAP test, which passes when the status is 0; otherwise FILE is shown, or the files out and err.
check() {
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        for shown in ${3:-out err}; do head -40 "$shown" 2>/dev/null | sed 's/^/# /'; done
    fi
}
