# 8 x 8 microphones with unlike gains: a far source, a near one, and a calibrator over three microphones one after another.
for place in far near; do
  cat >$place.yaml <<SCENE
version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.06, pitch_y_m: 0.06}
standoff_m: 0.03
duration_s: 0.12
seed: 5
microphones: {noise_pa: 1.0e-4, gain_spread_db: 3, phase_spread_deg: 20}
sources:
SCENE
done
for tone in 503.5 1007.1 2014.2; do
  echo "  - {kind: monopole, frequency_hz: $tone, x_m: 0.1, y_m: 0.05, z_m: -2.5, volume_velocity_m3_s: 3.0e-3}" >>far.yaml
done
for tone in 1007.08 2014.16; do
  echo "  - {kind: monopole, frequency_hz: $tone, x_m: 0.01, y_m: -0.02, z_m: -0.03, volume_velocity_m3_s: 1.0e-4}" >>near.yaml
done
nearfield simulate far.yaml -o far.h5
nearfield simulate near.yaml -o capture.h5
cc tests/docs/readers_files/time_data.c $(pkg-config --cflags --libs hdf5) -lm -o time_data
cat >array.yaml <<'SETTINGS'
array: {rows: 8, columns: 8, pitch_x_m: 0.06, pitch_y_m: 0.06, layout: row-major}
holography: {standoff_m: 0.03}
SETTINGS
encode() { # encode FILE CHANNEL...
  ./time_data time_data.h5 64 1000 "${@:2}"
  nearfield encode time_data.h5 -o "$1" -c array.yaml
}
encode tour.h5 3 17 60
encode m3.h5 3
encode m17.h5 17
encode m60.h5 60
