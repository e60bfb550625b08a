#!/usr/bin/env bash
# Nearfield beside Acoular and pyroomacoustics, of the same recordings on the same cores. Makes a virtual environment from PyPI
# in build/peers and writes build/peers/{time_data,beamform,methods,srp_phat,csm}.json. PROGRAM, if given, is the nearfield to run, and LIBRARIES the
# folders of libnearfield and libnearfield_ring (a list as of PATH).
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
program=${1:-build/release/bin/nearfield}
export NEARFIELD_LIBRARIES=${2:-$PWD/build/release/src/api:$PWD/build/release/src/ring}
folder=build/peers
if [[ ! -x $folder/venv/bin/python ]]; then
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" -q install acoular==26.8 pyroomacoustics==0.10.1 h5py soundfile==0.14.0 pyuff==2.5.8 \
    xarray==2026.9.0 h5netcdf==1.8.2 cffi==2.1.1
fi
"$folder/venv/bin/pip" -q install --no-deps ./python
"$folder/venv/bin/python" -W ignore bench/peers/time_data_acoular.py --nearfield "$program" --json "$folder/time_data.json"
"$folder/venv/bin/python" -W ignore bench/peers/beamform_acoular.py --nearfield "$program" --json "$folder/beamform.json"
"$folder/venv/bin/python" -W ignore bench/peers/beamform_methods_acoular.py --nearfield "$program" --json "$folder/methods.json"
"$folder/venv/bin/python" -W ignore bench/peers/srp_phat_pyroomacoustics.py --nearfield "$program" --json "$folder/srp_phat.json"
"$folder/venv/bin/python" -W ignore bench/peers/csm_acoular.py --nearfield "$program" --json "$folder/csm.json"
