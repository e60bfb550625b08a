"""How the level of an image changes over a recording of the daemon: series.png.

    recording_series.py RECORDING.nfr
"""

import sys

import matplotlib.pyplot as plt

import nearfield

if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
    sys.exit(__doc__)
series = nearfield.open_recording(sys.argv[1])
levels = series.images.isel(planes_m=0).nearfield.db().max(("y_m", "x_m"))
print(f"{series.sizes['time']} frames, {float(levels.min()):.1f} to {float(levels.max()):.1f} dB")

figure, ax = plt.subplots(layout="constrained")
for frequency_hz in levels.frequencies_hz.values:
    ax.plot(series.time, levels.sel(frequencies_hz=frequency_hz), label=f"{frequency_hz:.0f} Hz")
ax.set(xlabel="time, s", ylabel="largest pressure, dB re 20 uPa")
ax.legend()
figure.savefig("series.png")
