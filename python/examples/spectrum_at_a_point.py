"""The spectrum of the pressure at a point of the surface, from time data in memory.

Writes spectrum.png.
"""

import matplotlib.pyplot as plt
import numpy as np

import nearfield

RATE_HZ, PITCH_M, STANDOFF_M = 48000.0, 0.02, 0.03
TONES_HZ = {750.0: 1.0, 1500.0: 0.3, 2250.0: 0.1}

x, y = np.meshgrid(*2 * [(np.arange(8) - 3.5) * PITCH_M])
r = np.sqrt(x**2 + y**2 + (STANDOFF_M + 0.02) ** 2).ravel()
t = np.arange(1024)[:, None] / RATE_HZ
samples = sum(a * np.cos(2 * np.pi * f * (t - r / 343.0)) / r for f, a in TONES_HZ.items())
samples = samples + np.random.default_rng(1).normal(0.0, 0.01, samples.shape)

frequencies_hz = np.arange(8, 64) * RATE_HZ / 1024
images = nearfield.pnah(samples, pitch_m=PITCH_M, standoff_m=STANDOFF_M, sample_rate_hz=RATE_HZ, frequencies_hz=frequencies_hz)
levels = images.isel(window=0, planes_m=0).sel(x_m=0.01, y_m=0.01, method="nearest").nearfield.db()
print(f"loudest at {float(levels.idxmax()):.0f} Hz: {float(levels.max()):.0f} dB")

figure, ax = plt.subplots(layout="constrained")
ax.plot(levels.frequencies_hz, levels)
ax.set(xlabel="frequency, Hz", ylabel="pressure, dB re 20 uPa", title="x 1 cm, y 1 cm")
figure.savefig("spectrum.png")
