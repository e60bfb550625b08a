"""A plate's vibration turns through one period: phases.gif."""

import numpy as np

import nearfield

PITCH_M, STANDOFF_M, FREQUENCY_HZ = 0.02, 0.03, 2000.0

# The field of a standing wave on the surface that decays towards the microphones, as a 2,1 mode does.
x, y = np.meshgrid(*2 * [(np.arange(8) - 3.5) * PITCH_M])
kx, ky, k = 2 * np.pi / 0.16, np.pi / 0.16, 2 * np.pi * FREQUENCY_HZ / 343.0
kz = np.sqrt(complex(k**2 - kx**2 - ky**2))
spectra = (np.sin(kx * x) * np.cos(ky * y) * np.exp(-1j * np.conj(kz) * STANDOFF_M))[None]

image = nearfield.pnah(spectra, pitch_m=PITCH_M, standoff_m=STANDOFF_M, frequencies_hz=[FREQUENCY_HZ])
image.nearfield.animate("phases.gif", frames=16, fps=8)
print(f"phases.gif: one period of {1e3 / FREQUENCY_HZ:.1f} ms")
