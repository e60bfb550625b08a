"""A noise source 1.2 m before the array is simulated, recorded as bits, and found by the processor `srp_phat`.

Writes source.png.
"""

import pathlib

import nearfield

pathlib.Path("noise.yaml").write_text("""version: 1
array: {rows: 8, columns: 8, pitch_x_m: 0.04, pitch_y_m: 0.04}
standoff_m: 0.03
duration_s: 0.12
sources: [{kind: noise, rms_at_1m_pa: 0.5, band_hz: [500, 4000], x_m: 0.4, y_m: -0.2, z_m: -1.17}]
""")
nearfield.run("simulate", "noise.yaml", "-o", "noise.h5")
nearfield.replay("noise.h5", "found.h5", settings={
    "front_end.hop_samples": 512,
    "holography.imager": "none",
    "processors.where": {"kind": "srp_phat", "band_hz": [500, 4000],
                         "grid": {"kind": "plane", "distance_m": 1.2, "x_m": [-0.8, 0.8], "y_m": [-0.8, 0.8], "step_m": 0.1}},
}).close()

with nearfield.open_images("found.h5", "where", "sources") as sources:
    last = sources.isel(time=-1).load()
print(f"{int(last.rows)} source; the first at x {float(last.x[0]):+.2f} m, y {float(last.y[0]):+.2f} m")
with nearfield.open_images("found.h5", "where") as maps:
    ax = maps["map"].isel(time=-1).nearfield.plot()
ax.plot(last.x[0], last.y[0], "o", markerfacecolor="none", markeredgecolor="white", markersize=14)
ax.figure.savefig("source.png")
