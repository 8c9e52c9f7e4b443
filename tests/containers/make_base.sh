#!/usr/bin/env bash
# Makes sure that docker has the base images that a Dockerfile names: pulled or, where no registry answers, made from
# Debian's archive. Such a base knows this machine's certificates and apt options: the Dockerfile need not.
#   make_base.sh DOCKERFILE…
set -euo pipefail

made=
trap '[[ -z $made ]] || rm -rf "$made"' EXIT

make_base() { # debian:<suite>[-slim]
    # not where the package ca-certificates would write its own
    local suite=${1#debian:} bundle=/etc/ssl/host.crt
    made=$(mktemp -d)
    debootstrap --variant=minbase "${suite%-slim}" "$made" http://deb.debian.org/debian >"$made.log" 2>&1 ||
        { tail -n 5 "$made.log" >&2 && exit 1; }
    # as Debian's own slim images
    rm -rf "$made.log" "$made"/var/cache/apt/archives/*.deb "$made"/var/lib/apt/lists/* "$made"/usr/share/{doc,locale,man}/*
    install -D /etc/ssl/certs/ca-certificates.crt "$made$bundle"
    # an archive that is a frozen copy is older than it says
    echo 'Acquire::Check-Valid-Until "false";' >"$made/etc/apt/apt.conf.d/99frozen"
    tar -C "$made" -c . | docker import --change 'CMD ["bash"]' --change "ENV SSL_CERT_FILE=$bundle PIP_CERT=$bundle" \
        --message 'made from the archive of Debian by tests/containers/make_base.sh' - "$1" >/dev/null
    rm -rf "$made"
}

for image in $(sed -n 's/^FROM \(debian:[^ ]*\).*/\1/p' "$@" | sort -u); do
    docker image inspect "$image" >/dev/null 2>&1 && continue
    echo "Pulling or making $image"
    timeout 120 docker pull --quiet "$image" 2>/dev/null || make_base "$image"
done
