#!/usr/bin/env bash
# Publishes every package of the repository. Run after the versions were raised.
set -euo pipefail

: "${NPM_TOKEN:?}"
root=$(git rev-parse --show-toplevel)

npm ci --prefix "$root"
npm run build --prefix "$root"

for package in "$root"/packages/*; do
  name=$(jq -r '.name + "@" + .version' "$package/package.json")
  if ! npm view "$name" version > /dev/null 2>&1; then
    npm publish "$package" --access public
  fi
done
