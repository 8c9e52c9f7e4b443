#!/usr/bin/env bash
# Prints the options of `docker build` for this machine. Where the registry does not answer, these name base images in
# place of those that the Dockerfiles pin, made from Debian's archive with this machine's certificates and apt options;
# where the archive of snapshots does not answer, Debian's archive of today.
#   make_base.sh DOCKERFILE…
set -euo pipefail

made=
trap '[[ -z $made ]] || rm -rf "$made"' EXIT

make_base() { # suite, name of the image
    # not where the package ca-certificates would write its own
    local bundle=/etc/ssl/host.crt
    made=$(mktemp -d)
    debootstrap --variant=minbase "$1" "$made" http://deb.debian.org/debian >"$made.log" 2>&1 ||
        { tail -n 5 "$made.log" >&2 && exit 1; }
    # as Debian's own slim images
    rm -rf "$made.log" "$made"/var/cache/apt/archives/*.deb "$made"/var/lib/apt/lists/* "$made"/usr/share/{doc,locale,man}/*
    install -D /etc/ssl/certs/ca-certificates.crt "$made$bundle"
    # an archive that is a frozen copy is older than it says
    echo 'Acquire::Check-Valid-Until "false";' >"$made/etc/apt/apt.conf.d/99frozen"
    tar -C "$made" -c . | docker import --change 'CMD ["bash"]' --change "ENV SSL_CERT_FILE=$bundle PIP_CERT=$bundle" \
        --message 'made from the archive of Debian by tests/containers/make_base.sh' - "$2" >/dev/null
    rm -rf "$made"
}

echo '--network=host' # not every machine lets a bridge reach the name servers
while read -r name pinned; do
    docker image inspect "$pinned" >/dev/null 2>&1 && continue
    timeout 120 docker pull --quiet "$pinned" >/dev/null 2>&1 && continue
    suite=$(sed 's/debian:\([a-z]*\).*/\1/' <<<"$pinned")
    docker image inspect "made-from-debian:$suite" >/dev/null 2>&1 || make_base "$suite" "made-from-debian:$suite"
    echo "--build-arg $name=made-from-debian:$suite"
done < <(sed -n 's/^ARG \(\w*BASE\)=\(debian:.*\)/\1 \2/p' "$@")
for snapshot in $(sed -n 's/^ARG SNAPSHOT=//p' "$@"); do
    curl --silent --fail --max-time 20 --output /dev/null "$snapshot/" || echo '--build-arg SNAPSHOT=http://deb.debian.org/debian'
done
