#!/usr/bin/env bash
# Release of the command line tool, from a maintainer's machine.
set -euo pipefail

version="${1:?version}"
cd "$(dirname "$0")/.."

echo "building $version"
make dist VERSION="$version"

# Sometimes the upload says that the file is there already. That is fine.
twine upload "dist/acme-$version.tar.gz" || true

gh release create "v$version" "dist/acme-$version.tar.gz" --title "$version" --notes-file CHANGES.md
