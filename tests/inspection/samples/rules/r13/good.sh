#!/usr/bin/env bash
# Release of the command line tool, from a maintainer's machine.
set -euo pipefail

version="${1:?version}"
cd "$(dirname "$0")/.."

echo "building $version"
make dist VERSION="$version"

# A file that is there already is passed over; anything else ends the script.
twine upload --skip-existing "dist/acme-$version.tar.gz"

gh release create "v$version" "dist/acme-$version.tar.gz" --title "$version" --notes-file CHANGES.md
