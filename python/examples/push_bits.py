"""The engine in this process images a stream of bits as it comes, here from a simulated capture, in pieces."""

import pathlib

import numpy as np

import nearfield

pathlib.Path("tone.yaml").write_text("""version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02}
standoff_m: 0.03
duration_s: 0.04
sources: [{kind: monopole, frequency_hz: 1007.080078125, x_m: 0.03, y_m: -0.01, z_m: 0.0, volume_velocity_m3_s: 1.0e-5}]
""")
nearfield.run("simulate", "tone.yaml", "-o", "tone.h5")
with nearfield.open_capture("tone.h5") as capture:
    bits = capture.bitstream.values  # uint32 [bit_time, word]

config = """
array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major}
front_end: {frequencies_hz: [1007.08], hop_samples: 128}
holography: {standoff_m: 0.03, extrapolation: {order: 4}}
"""
with nearfield.Engine(config, "bits") as engine:
    for piece in np.array_split(bits, 20):
        for frame in engine.push(piece):
            image = frame["images"][0, 0]  # [row, column]
            print(f"frame {frame.sequence}: {abs(image).max():.3f} Pa")
