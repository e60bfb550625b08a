"""A recording of one's own, as Acoular keeps it, becomes a hologram: own_recording.py [RECORDING.h5 POSITIONS.xml [STANDOFF_M TONE_HZ]]

RECORDING.h5 has /time_data, [sample, channel] in Pa with the attribute sample_freq, POSITIONS.xml a place for each channel, in m. Writes
hologram.png. Without a recording one is computed: a monopole 2 cm behind the surface, 8 x 8 microphones in no order of rows.
"""

import pathlib
import sys

import h5py
import numpy as np

import nearfield


def compute_recording(standoff_m, tone_hz, rate_hz=48000.0, pitch_m=0.02):
    """Files as Acoular writes them."""
    places = np.stack(np.meshgrid(*2 * [(np.arange(8) - 3.5) * pitch_m]), axis=-1).reshape(-1, 2)
    places = np.random.default_rng(8).permutation(places)  # of channels, which were plugged in as they came
    r = np.hypot(np.hypot(places[:, 0] - 0.03, places[:, 1] + 0.02), standoff_m + 0.02)
    t = np.arange(4096)[:, None] / rate_hz
    with h5py.File("recording.h5", "w") as file:
        file["time_data"] = (np.cos(2 * np.pi * tone_hz * (t - r / 343.0)) / r).astype(np.float32)
        file["time_data"].attrs["sample_freq"] = rate_hz
    lines = [f'  <pos Name="Point {i + 1}" x="{x:.4f}" y="{y:.4f}" z="0"/>' for i, (x, y) in enumerate(places)]
    pathlib.Path("positions.xml").write_text('<MicArray name="own">\n' + "\n".join(lines) + "\n</MicArray>\n")


if len(sys.argv) not in (1, 3, 5) or sys.argv[-1].startswith("--"):
    sys.exit(__doc__)
recording, positions = sys.argv[1:3] if len(sys.argv) > 2 else ("recording.h5", "positions.xml")
standoff_m, tone_hz = map(float, sys.argv[3:5]) if len(sys.argv) > 4 else (0.03, 1500.0)
if len(sys.argv) < 3:
    compute_recording(standoff_m, tone_hz)

images = nearfield.replay(recording, frames=1, config={
    "array": {"positions": str(positions)},
    "front_end": {"frequencies_hz": [tone_hz]},
    "holography": {"standoff_m": standoff_m, "extrapolation": {"order": 4}},
})
loudest = abs(images.images).squeeze().argmax(("y_m", "x_m"))
print(f"loudest at x {float(images.x_m[loudest['x_m']]):+.2f} m, y {float(images.y_m[loudest['y_m']]):+.2f} m")
images.nearfield.plot(what="db").figure.savefig("hologram.png")
