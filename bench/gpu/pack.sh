#!/usr/bin/env bash
# Packs what bench/gpu/run.sh needs on a machine that has a GPU but none of our libraries, as build/carry/pack.tar.xz: programs, shared libraries,
# the demo's capture with PoCL's images of it, and the measured fields if they are there.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
binaries=build/release/bin
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/$binaries" "$folder/build/gpu/lib" "$folder/build/gpu/data" build/carry
cp "$binaries"/nearfield "$binaries"/nearfieldd "$binaries"/nearfield-bench "$folder/$binaries"
for tests in cl frontend imaging processors accuracy data cli; do # those that use the device
  cp "$binaries/${tests}_tests" "$folder/$binaries"
done
strip "$folder/$binaries"/*
# Everything but glibc and the compiler's runtime, which that machine has; its OpenCL loader may not let one driver be chosen.
ldd "$folder/$binaries"/* | awk '/=> \//{print $3}' | sort -u |
  grep -vE '/(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so' | xargs -I{} cp -L {} "$folder/build/gpu/lib"
if [[ -d ../shared/data ]]; then
  cp ../shared/data/*.h5 "$folder/build/gpu/data"
fi
git describe --always --dirty >"$folder/build/gpu/commit"
"$binaries/nearfield" simulate config/scenes/plate.yaml -o "$folder/build/gpu/capture.h5"
"$binaries/nearfield" replay "$folder/build/gpu/capture.h5" -o "$folder/build/gpu/images.h5" --device portable
tar -C "$folder" -cf - build | xz -T0 >build/carry/pack.tar.xz
du -sh build/carry/pack.tar.xz
