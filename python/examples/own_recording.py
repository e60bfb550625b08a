"""A recording of one's own, [sample, channel] in Pa, becomes a hologram.

Writes hologram.png. Here the recording is a computed one: a monopole 2 cm behind the surface, 8 x 8 microphones.
"""

import numpy as np

import nearfield

RATE_HZ, TONE_HZ, PITCH_M, STANDOFF_M = 48000.0, 1500.0, 0.02, 0.03

x, y = np.meshgrid(*2 * [(np.arange(8) - 3.5) * PITCH_M])
r = np.sqrt((x - 0.03) ** 2 + (y + 0.02) ** 2 + (STANDOFF_M + 0.02) ** 2).ravel()
t = np.arange(4096)[:, None] / RATE_HZ
samples = np.cos(2 * np.pi * TONE_HZ * (t - r / 343.0)) / r

nearfield.write_time_data("recording.h5", samples, RATE_HZ)
images = nearfield.replay("recording.h5", frames=1, config={
    "array": {"rows": 8, "columns": 8, "pitch_x_m": PITCH_M, "pitch_y_m": PITCH_M},
    "front_end": {"frequencies_hz": [TONE_HZ]},
    "holography": {"standoff_m": STANDOFF_M, "extrapolation": {"order": 4}},
})
loudest = abs(images.images).squeeze().argmax(("y_m", "x_m"))
print(f"loudest at x {float(images.x_m[loudest['x_m']]):+.2f} m, y {float(images.y_m[loudest['y_m']]):+.2f} m")
images.nearfield.plot(what="db").figure.savefig("hologram.png")
