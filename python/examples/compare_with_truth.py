"""How close the image of a simulated plate comes to the field that was simulated.

Writes truth.png.
"""

import pathlib

import matplotlib.pyplot as plt
import numpy as np

import nearfield

pathlib.Path("plate.yaml").write_text("""version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.04, pitch_y_m: 0.04}
standoff_m: 0.03
duration_s: 0.03
sources: [{kind: monopole, frequency_hz: 1007.080078125, x_m: 0.05, y_m: -0.03, z_m: -0.06, volume_velocity_m3_s: 1.0e-4}]
""")
nearfield.run("simulate", "plate.yaml", "-o", "plate.h5")
images = nearfield.replay("plate.h5", frames=1, settings={"front_end.frequencies_hz": [1007.08]})
with nearfield.open_capture("plate.h5", "truth") as truth:
    true = truth.pressure.isel(frequencies_hz=0).load()
image = images.images.isel(time=0, planes_m=0, frequencies_hz=0)
error = np.linalg.norm(abs(image.values) - abs(true.values)) / np.linalg.norm(true.values)
print(f"relative L2 error of the magnitudes: {100 * error:.1f} %")

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, field, title in zip(axes, (true, image), ("true", "imaged"), strict=True):
    field.nearfield.plot(ax, vmin=0.0, vmax=float(abs(true).max()))
    ax.set_title(title)
figure.savefig("truth.png")
