#!/usr/bin/env bash
# Installs halfway from the checkout of the action, with the versions that it was tested with, apart from the job's own Python.
set -euo pipefail

home="$RUNNER_TEMP/halfway-inspect"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "halfway needs Python 3.11 or newer: put actions/setup-python before this step" >&2
  exit 2
}
python3 -m venv "$home"
# Hashes would have to be there for halfway itself, too; the versions are enough.
sed -nE 's/^([A-Za-z0-9._-]+==[^ ]+( ; [^\\]*[^\\ ])?) *\\?$/\1/p' "$GITHUB_ACTION_PATH/constraints.txt" > "$home/versions.txt"
"$home/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$home/versions.txt" "$GITHUB_ACTION_PATH[inspect]"
