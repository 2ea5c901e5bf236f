#!/bin/sh
# fetch.sh FOLDER: MPICH's own test-suite from Debian's source package, into FOLDER/mpich. The machine's package lists stay as they are.
set -e
folder=$1
[ -f "$folder/mpich/test/mpi/testlist.in" ] && exit 0
mkdir -p "$folder/lists/partial" "$folder/source"
folder=$(cd "$folder" && pwd)
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
echo "deb-src http://deb.debian.org/debian $release main" >"$folder/sources.list"
apt="apt-get -q -o Dir::Etc::SourceList=$folder/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$folder/lists"
$apt update >&2
(cd "$folder/source" && $apt source --download-only mpich >&2)
mkdir -p "$folder/unpacked"
tar -xf "$folder"/source/mpich_*.orig.tar.* -C "$folder/unpacked"
mv "$folder"/unpacked/* "$folder/mpich"
rm -rf "$folder/unpacked" "$folder/source" "$folder/lists"
