#!/usr/bin/env bash
# What a start costs: `nearfield replay` of one frame from process start to its end, median of 5, with the driver's own
# cache of machine code (PoCL's, NVIDIA's) and Nearfield's cache of programs empty, filled or off.
#   bench/start_up.sh CAPTURE.h5 [--set key=value]...
set -euo pipefail
readonly kBinary="$(dirname "$0")/../build/release/bin/nearfield"
readonly kRuns=5
capture=${1:?expected a capture, such as demo/capture.h5}
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export POCL_CACHE_DIR=$work/driver CUDA_CACHE_PATH=$work/driver

seconds() {
  local start=$EPOCHREALTIME
  "$kBinary" replay "$capture" -o "$work/images.h5" --frames 1 "$@" >/dev/null 2>&1
  awk "BEGIN { printf \"%.2f\n\", $EPOCHREALTIME - $start }"
}

# row NAME FOLDERS_TO_EMPTY ARGUMENTS...: empties them before each run
row() {
  local name=$1 empty=$2 run
  shift 2
  for ((run = 0; run < kRuns; ++run)); do
    (cd "$work" && rm -rf $empty)
    seconds "$@"
  done | sort -n | sed -n "$(((kRuns + 1) / 2))p" | xargs printf '%-32s %s s\n' "$name"
}

uptime
NEARFIELD_CACHE_DIR='' row "driver's empty, ours off" driver "$@"
NEARFIELD_CACHE_DIR='' row "driver's filled, ours off" '' "$@"
NEARFIELD_CACHE_DIR=$work/own row "driver's empty, ours empty" 'driver own' "$@"
NEARFIELD_CACHE_DIR=$work/own row "driver's empty, ours filled" driver "$@"
NEARFIELD_CACHE_DIR=$work/own row "driver's filled, ours filled" '' "$@"
uptime
