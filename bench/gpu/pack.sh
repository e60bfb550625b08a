#!/usr/bin/env bash
# Packs what bench/gpu/run.sh needs on a machine that has a GPU but none of our libraries: binaries, shared libraries,
# a demo capture with PoCL's images of it, and the measured fields if they are there. Usage: bench/gpu/pack.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
folder=${1:-.carry}
binaries=build/release/bin
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/lib" "$folder/data"
cp "$binaries"/nearfield "$binaries"/nearfieldd "$binaries"/nearfield-bench "$folder/bin"
for tests in cl frontend imaging processors accuracy data cli; do # those that use the device
  cp "$binaries/${tests}_tests" "$folder/bin"
done
strip "$folder"/bin/*
# Everything but glibc, the compiler's runtime and the OpenCL loader, which that machine has.
ldd "$folder"/bin/* | awk '/=> \//{print $3}' | sort -u |
  grep -vE '/(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|libOpenCL)\.so' | xargs -I{} cp -L {} "$folder/lib"
if [[ -d ../shared/data ]]; then
  cp ../shared/data/*.h5 "$folder/data"
fi
"$binaries/nearfield" simulate config/scenes/plate.yaml -o "$folder/capture.h5"
"$binaries/nearfield" replay "$folder/capture.h5" -o "$folder/pocl.h5" --device portable
du -sh "$folder"
