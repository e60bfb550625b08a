#!/usr/bin/env bash
# Runs on the machine with the GPU, from the repository's root, after bench/gpu/pack.sh on the other: registers NVIDIA's
# OpenCL, runs every device test there, and compares the demo's images with PoCL's. Logs go to $OUT. Plots are made on the
# other machine: `nearfield-bench-report frontends.json --png plots`.
set -uo pipefail
folder=$PWD/.carry
out=${OUT:-$PWD/out}
mkdir -p "$out" /etc/OpenCL/vendors
ls /etc/OpenCL/vendors/nvidia.icd >/dev/null 2>&1 || echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd
export LD_LIBRARY_PATH=$folder/lib:${LD_LIBRARY_PATH:-}
built=$1 # where the tests' binaries were built: they hold that path
mkdir -p "$built/build/release/bin" "$built/.." && cp "$folder"/bin/* "$built/build/release/bin/"
mkdir -p "$built/../shared" && cp -r "$folder/data" "$built/../shared/"
"$folder/bin/nearfield" devices
failed=0
# They compile hundreds of kernels, each by one thread: shards of a folder's tests run beside each other.
shards=$(($(nproc) < 8 ? $(nproc) : 8))
for tests in cl frontend imaging processors accuracy data cli; do
  shard_pids=()
  for ((shard = 0; shard < shards; shard++)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard timeout 240 \
      "$built/build/release/bin/${tests}_tests" >"$out/$tests.$shard.log" 2>&1 &
    shard_pids+=($!)
  done
  for pid in "${shard_pids[@]}"; do
    wait "$pid" || failed=1
  done
  echo "== $tests: $(grep -hE '^\[  (PASSED|FAILED)' "$out/$tests".*.log | tr '\n' ' ')"
  grep -hE 'engines differ|NCC|mean error' "$out/$tests".*.log
done
"$folder/bin/nearfield" replay "$folder/capture.h5" -o "$out/gpu.h5" || failed=1
"$folder/bin/nearfield" compare "$folder/pocl.h5" "$out/gpu.h5" | tee "$out/pocl_against_gpu.txt"
# The worst image may differ by 1e-3 (relative L2).
"$folder/bin/nearfield" compare "$folder/pocl.h5" "$out/gpu.h5" --json |
  python3 -c 'import json, sys
worst = json.load(sys.stdin)["overall"]["metrics"]["relative_l2"]["worst"]
print("PoCL against GPU: worst relative L2", worst)
sys.exit(not worst <= 1e-3)' || failed=1
"$folder/bin/nearfield" bench frontends --n 1,2,3,5,10,20,30,50 --most-seconds 1 --json "$out/frontends.json" \
  >"$out/frontends.txt" 2>&1 || failed=1
bench/ages/ages.py --bin "$folder/bin" --json "$out/ages.json" >"$out/ages.txt" 2>&1 || failed=1
cat "$out/frontends.txt" "$out/ages.txt"
exit $failed
