#!/usr/bin/env bash
# Runs on the machine with the GPU, from the repository's root, with what bench/gpu/pack.sh packed on the other: registers
# NVIDIA's OpenCL, runs every device test there, and compares the demo's images with PoCL's. Usage: bench/gpu/run.sh BUILT,
# the folder where the programs were built, whose path the tests hold. Reports and logs go to $OUT. Plots are made on the
# other machine: `nearfield-bench-report frontends.json --png plots`.
set -uo pipefail
out=${OUT:-$PWD/out}
mkdir -p "$out" /etc/OpenCL/vendors "$1"
ls /etc/OpenCL/vendors/nvidia.icd >/dev/null 2>&1 || echo libnvidia-opencl.so.1 >/etc/OpenCL/vendors/nvidia.icd
[[ $1 -ef . ]] || cp -a . "$1"
cd "$1" && tar -xJf build/carry/pack.tar.xz || exit 1
mkdir -p ../shared && cp -r build/gpu/data ../shared/
export LD_LIBRARY_PATH=$PWD/build/gpu/lib:${LD_LIBRARY_PATH:-}
failed=0
# One test compiles hundreds of kernels by one thread: a suite's tests run beside each other.
python3 -B tests/opencl/implementations.py build/gpu nvidia --commit "$(<build/gpu/commit)" --command bench/gpu/run.sh --limit 300 \
  --suites cl,frontend,imaging,processors,accuracy,data,cli || failed=1
cp build/gpu/nvidia.json "$out"
grep -hE 'engines differ|NCC|mean error' build/gpu/cache/nvidia/*.log
# The worst image may differ by 1e-3 (relative L2) from PoCL's.
python3 -c 'import json, sys; sys.exit(not json.load(open(sys.argv[1]))["relative_l2"] <= 1e-3)' build/gpu/nvidia.json || failed=1
build/release/bin/nearfield bench frontends --n 1,2,3,5,10,20,30,50 --most-seconds 1 --json "$out/frontends.json" \
  >"$out/frontends.txt" 2>&1 || failed=1
bench/ages/ages.py --json "$out/ages.json" >"$out/ages.txt" 2>&1 || failed=1
cat "$out/frontends.txt" "$out/ages.txt"
exit $failed
