"""The power that a source radiates through the aperture, beside the closed form of a small source in a baffle.

Prints both. The array is near the source and 14 cm wide: it sees most of the power and not all of it.
"""

import numpy as np

import nearfield

PITCH_M, STANDOFF_M, AMPLITUDE_PA_M = 0.02, 0.02, 1.0
DENSITY, SPEED = 1.2041, 343.0
frequencies_hz = [1000.0, 2000.0, 3000.0]

x, y = np.meshgrid(*2 * [(np.arange(8) - 3.5) * PITCH_M])
r = np.sqrt(x**2 + y**2 + (STANDOFF_M + 0.02) ** 2)
spectra = np.stack([AMPLITUDE_PA_M * np.exp(-2j * np.pi * f * r / SPEED) / r for f in frequencies_hz])

intensity = nearfield.pnah(spectra, pitch_m=PITCH_M, standoff_m=STANDOFF_M, frequencies_hz=frequencies_hz, quantity="active_intensity")
powers = intensity.nearfield.power().isel(planes_m=0)
half_w = np.pi * AMPLITUDE_PA_M**2 / (DENSITY * SPEED)  # of a monopole, through a half space
for frequency_hz, power_w in zip(frequencies_hz, powers.values, strict=True):
    print(f"{frequency_hz:.0f} Hz: {1e3 * power_w:.2f} mW of the {1e3 * half_w:.2f} mW that go into the half space")
