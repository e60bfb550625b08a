# A tone from a place 1.5 m before 8 x 8 microphones.
cat >scene.yaml <<SCENE
version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.04, pitch_y_m: 0.04}
standoff_m: 0.03
duration_s: 0.1
sources:
  - {kind: monopole, frequency_hz: 1500, x_m: 0.4, y_m: -0.1, z_m: -1.47, volume_velocity_m3_s: 1.0e-4}
SCENE
nearfield simulate scene.yaml -o capture.h5
