#!/usr/bin/env bash
# Publishes every package whose version is not there yet. Run by a maintainer after the versions were raised.
set -euo pipefail

: "${NPM_TOKEN:?}"
root=$(git rev-parse --show-toplevel)
npm ci --prefix "$root"
npm run build --prefix "$root"

for package in "$root"/packages/*; do
  name=$(jq -r '.name + "@" + .version' "$package/package.json")
  if [ -f "$package/package.json" ]; then
    npm publish "$package" --access public
  fi
done
