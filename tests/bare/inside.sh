#!/bin/sh
# inside.sh FOLDER: what bare.sh runs inside the bare system, as root. Every step leaves /root/STEP.log.
folder=$1
failed=0

step() { # NAME COMMAND...
    name=$1
    shift
    begun=$(date +%s)
    if "$@" >"/root/$name.log" 2>&1; then word=ok; else word="FAILED (exit $?)" failed=1; fi
    echo "$name: $word, $(($(date +%s) - begun)) s. $(grep '^Files=' "/root/$name.log" || tail -1 "/root/$name.log")"
    [ "$word" = ok ] || sed -n '/^Test Summary Report/,$p' "/root/$name.log"
}

# Owned by root, cannot be written by its user.
useradd --home-dir /home/stranger --create-home --shell /bin/sh stranger
chown root:root /home/stranger
chmod 555 /home/stranger
as_stranger() { setpriv --reuid stranger --regid stranger --init-groups env HOME=/home/stranger USER=stranger sh -c "cd '$folder' && $1"; }
not() { ! "$@"; }

chown -R stranger: "$folder"
step 1-setup-says-what-is-missing not as_stranger './setup'
chown -R root: "$folder"
cd "$folder" || exit 1
step 2-demo-as-root make demo
chown -R stranger: "$folder"
step 3-setup-needs-no-root as_stranger './setup'
step 4-demo-as-another-user as_stranger 'make demo'
step 5-test-as-another-user as_stranger 'make test'
chown -R root: "$folder"
step 6-test-as-root make test
exit $failed
