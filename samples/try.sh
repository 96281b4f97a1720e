#!/bin/sh
# What `make try` runs: take sessions in, then list and read them, each command shown before its output.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
SJDUCK_ARCHIVE=$PWD/.try/archive
export PATH SJDUCK_ARCHIVE

run() {
  printf '\n$ sjduck %s\n' "$*"
  sjduck "$@"
}

# transcripts FIELD: that field of the listing of this archive's transcripts, its newest first.
transcripts() {
  sjduck list --type transcript --limit 1 --json |
    python -c "import json, sys; answer = json.load(sys.stdin); print(answer$1)"
}

take_in_samples() {
  echo "No sessions on this machine: taking in the samples." >&2
  run etl --source claude=samples/claude --source scrubjay=samples/scrubjay/storage \
    --source scrubjay-logs=samples/scrubjay/data
}

taken=0
run etl || taken=$?
case $taken in
  0) [ "$(transcripts '["total"]')" -gt 0 ] || take_in_samples ;;
  3) take_in_samples ;; # 3: there is no source to read
  *) exit "$taken" ;;
esac

run status
run list
run recall backup restore -k 3
sid=$(transcripts '["items"][0]["sid"]')
run get "$sid" | sed -n '1,32p'
printf '\n(cut short; all of it: SJDUCK_ARCHIVE=.try/archive .venv/bin/sjduck get %s)\n' "$sid"
