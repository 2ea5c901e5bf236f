#!/bin/sh
# bare.sh: `make demo` and `make test` on a Debian 12, or another Debian or Ubuntu, that has nothing but make and git (make bare).
#
#   sudo tests/bare/bare.sh [FOLDER [SUITE]]
#
# FOLDER keeps the bootstrapped system and the logs; build/bare if none is named. SUITE: bookworm (the usual one), trixie, jammy, noble ...
#
# Needs root, debootstrap and the network. Tests the last commit, once as another user whose home cannot be written, once as root, in a path
# with blanks and letters beyond ASCII. Mounts and processes live in namespaces of their own and end with the script.
set -eu

folder=${1:-build/bare}
[ "$(id -u)" -eq 0 ] || { echo "bare: needs root: sudo tests/bare/bare.sh" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "bare: debootstrap is missing: apt-get install debootstrap" >&2; exit 2; }
suite=${2:-bookworm}
case $suite in
bookworm | trixie | sid) mirror=http://deb.debian.org/debian components=main script=sid ;;
*) mirror=http://archive.ubuntu.com/ubuntu components=main,universe script=gutsy ;; # the script of all Ubuntus, also of those it does not know
esac
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
system=$folder/system

# The untouched system is kept as an archive: every call begins with it.
if [ ! -f "$folder/$suite.tar" ]; then
    plain=$(mktemp -d /var/tmp/simrun-bare.XXXXXX) # debootstrap knows no folder with a blank in its name
    trap 'rm -rf "$plain"' EXIT
    chmod 755 "$plain"
    debootstrap --variant=minbase --components=$components --include=make,git,ca-certificates \
        "$suite" "$plain" $mirror $script >"$folder/debootstrap.log"
    tar -C "$plain" -cf "$folder/$suite.tar.part" .
    mv "$folder/$suite.tar.part" "$folder/$suite.tar"
    rm -rf "$plain"
    trap - EXIT
fi
rm -rf "$system"
mkdir "$system"
tar -C "$system" -xf "$folder/$suite.tar"

place="srv/a b ü/simrun"
mkdir -p "$system/srv/a b ü"
git clone -q . "$system/$place"
cp "$(dirname "$0")/inside.sh" "$system/root/inside.sh"
cp /etc/resolv.conf "$system/etc/resolv.conf"
status=0
unshare --mount --pid --fork sh -ec '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -t tmpfs -o size=2g tmpfs "$1/dev/shm"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root sh /root/inside.sh "/$2"
' sh "$system" "$place" || status=$?
mv "$system"/root/*.log "$folder"
echo "bare: exit $status; the logs are in $folder"
exit $status
