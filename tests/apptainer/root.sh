#!/bin/bash
# Apptainer of another root, which has the C library that it needs; it sees this machine's files and users.
exec unshare --user --map-current-user --keep-caps --mount bash -c '
set -e
root=@ROOT@
mount --rbind "$root" "$root"
for place in /proc /dev /sys /tmp /etc/passwd /etc/group; do mount --rbind "$place" "$root$place"; done
cd "$root"
/usr/sbin/pivot_root . .
umount --lazy .
cd "$0"
exec /usr/bin/apptainer "$@"' "$PWD" "$@"
