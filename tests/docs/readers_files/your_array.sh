# The reader's array: 8 x 8 microphones, 6 cm apart, at 51.2 kHz, with unlike gains; a recording of a near source, one of a far
# source, and Acoular's XML with the places.
scene() { # scene FILE Z VOLUME_VELOCITY
  cat >"$1.yaml" <<SCENE
version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.06, pitch_y_m: 0.06}
standoff_m: 0.05
duration_s: 0.5
seed: 5
microphones: {noise_pa: 1.0e-3, gain_spread_db: 2, phase_spread_deg: 10}
sources:
  - {kind: monopole, frequency_hz: 1000, x_m: 0.1, y_m: -0.06, z_m: $2, volume_velocity_m3_s: $3}
SCENE
  nearfield simulate "$1.yaml" -o "$1.h5" --as samples --sample-rate 51200
}
scene recording64 -0.03 1.7e-3
scene far64 -2.95 3.0e-2
{
  echo '<?xml version="1.1" encoding="utf-8"?><MicArray name="array64">'
  for row in {0..7}; do
    for column in {0..7}; do
      awk -v r="$row" -v c="$column" \
        'BEGIN { printf "  <pos Name=\"Point %d\" x=\"%.2f\" y=\"%.2f\" z=\"0.0\"/>\n", 8 * r + c + 1, (c - 3.5) * 0.06, (r - 3.5) * 0.06 }'
    done
  done
  echo '</MicArray>'
} >array64.xml
