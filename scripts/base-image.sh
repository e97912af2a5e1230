#!/bin/sh
# Makes the image that tests and the demo use, from Debian packages: no image registry is needed.
# Skipped when the image is there; `scripts/base-image.sh --force` makes it again.
set -eu
image=${1:-}
force=no
[ "$image" != "--force" ] || { force=yes; image=; }
image=${image:-holdfast-base:bookworm}

if [ "$force" = no ] && docker image inspect "$image" >/dev/null 2>&1; then
  echo "base image: $image is there"
  exit 0
fi
command -v mmdebstrap >/dev/null || {
  echo "base image: mmdebstrap is missing; install it with: apt-get install mmdebstrap" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mmdebstrap --quiet --variant=minbase \
  --include=bash,coreutils,findutils,ripgrep,ca-certificates,procps,util-linux,git,python3-minimal \
  bookworm "$work/base.tar"
docker import "$work/base.tar" "$image" >/dev/null
echo "base image: made $image"
