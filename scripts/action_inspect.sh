#!/usr/bin/env bash
# Inspects what INPUT_PATHS names: SARIF into a file, the card into the summary of the job, the verdict into an output.
set -euo pipefail

PATH="$RUNNER_TEMP/halfway-inspect/bin:$PATH"
largest=1000000 # bytes of a summary; the server refuses more than a mebibyte

options=()
while IFS= read -r line; do
  if [[ -n "$line" ]]; then options+=("--run=$line"); fi
done <<< "$INPUT_RUNS"
if [[ -n "$INPUT_SUPPRESSIONS" ]]; then options+=("--suppressions=$INPUT_SUPPRESSIONS"); fi
options+=(--)
while IFS= read -r line; do
  if [[ -n "$line" ]]; then options+=("$line"); fi
done <<< "$INPUT_PATHS"

card="$(mktemp)"
trap 'rm -f -- "$card"' EXIT
code=0
halfway inspect --format=md "--lang=$INPUT_LANGUAGE" "--fail-on=$INPUT_FAIL_ON" "${options[@]}" > "$card" || code=$?
head -c "$largest" -- "$card" >> "$GITHUB_STEP_SUMMARY"

found=0
halfway inspect --format=sarif "${options[@]}" > "$INPUT_SARIF" 2> /dev/null || found=$?
case "$found" in
  0) verdict=proceed ;;
  10) verdict="limited trial" ;;
  20) verdict=stop ;;
  *) verdict="" && rm -f -- "$INPUT_SARIF" && INPUT_SARIF="" ;;
esac

# A name of a file may hold a line break, and with it another output.
{
  echo "verdict=$verdict"
  echo "sarif=${INPUT_SARIF//[$'\r\n']/}"
} >> "$GITHUB_OUTPUT"
echo "halfway inspect: ${verdict:-nothing could be read}"
exit "$code"
