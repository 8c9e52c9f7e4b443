#!/bin/bash
# Apptainer of another root, which has the C library that it needs; it sees this machine's /tmp and users.
user=(--user --map-current-user --keep-caps)
((EUID)) || user=() # root may: to unpack an image, it needs the ids of all users
exec unshare "${user[@]}" --mount bash -c '
set -e
root=@ROOT@
mount --rbind "$root" "$root"
for place in /proc /dev /sys /tmp /etc/passwd /etc/group; do mount --rbind "$place" "$root$place"; done
mount --bind @FUSE@ "$root/dev/fuse"
cd "$root"
/usr/sbin/pivot_root . .
umount --lazy .
cd "$0" 2>/dev/null || cd /tmp
exec /usr/bin/apptainer "$@"' "$PWD" "$@"
