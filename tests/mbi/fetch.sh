#!/bin/sh
# fetch.sh FOLDER: the programs of the MPI Bugs Initiative into FOLDER/programs, written by the generators that Debian's source package of SimGrid
# brings along. The machine's package lists stay as they are.
set -e
folder=$1
[ -f "$folder/complete" ] && exit 0
mkdir -p "$folder/lists/partial" "$folder/source"
folder=$(cd "$folder" && pwd)
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
echo "deb-src http://deb.debian.org/debian $release main" >"$folder/sources.list"
apt="apt-get -q -o Dir::Etc::SourceList=$folder/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$folder/lists"
$apt update >&2
(cd "$folder/source" && $apt source --download-only simgrid >&2)
rm -rf "$folder/generators" "$folder/programs"
mkdir -p "$folder/generators" "$folder/programs"
tar -xf "$folder"/source/simgrid_*.orig.tar.* -C "$folder/generators" --strip-components=4 --wildcards '*/teshsuite/smpi/MBI/*.py'
cd "$folder/programs"
for generator in "$folder"/generators/*Generator.py; do
    python3 "$generator" >&2
done
rm -rf "$folder/source" "$folder/lists"
touch "$folder/complete"
