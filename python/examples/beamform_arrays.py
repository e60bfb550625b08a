"""Two sources a metre before the array, mapped from spectra in memory: map.png."""

import numpy as np

import nearfield

PITCH_M, FREQUENCY_HZ = 0.03, 5000.0
SOURCES_M = [(-0.3, 0.1), (0.25, -0.2)]

x, y = np.meshgrid(*2 * [(np.arange(8) - 3.5) * PITCH_M])
spectra = np.zeros((1, 8, 8), complex)
for source_x, source_y in SOURCES_M:
    r = np.sqrt((x - source_x) ** 2 + (y - source_y) ** 2 + 1.0)
    spectra += np.exp(-2j * np.pi * FREQUENCY_HZ * r / 343.0) / r

found = nearfield.beamform(spectra, pitch_m=PITCH_M, frequencies_hz=[FREQUENCY_HZ],
                           grid={"distance_m": 1.0, "x_m": [-0.5, 0.5], "y_m": [-0.5, 0.5], "step_m": 0.02})
loudest = abs(found).squeeze().argmax(("y_m", "x_m"))
print(f"loudest at x {float(found.x_m[loudest['x_m']]):+.2f} m, y {float(found.y_m[loudest['y_m']]):+.2f} m")
ax = found.nearfield.plot(what="db")
ax.plot(*zip(*SOURCES_M, strict=True), "w+")
ax.figure.savefig("map.png")
