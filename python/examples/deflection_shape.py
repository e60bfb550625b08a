"""The shape in which a plate vibrates on a machine whose speed drifts, from images locked to the phase of a reference; makes shape.png.

    deflection_shape.py [FRAMES]

Two modes of a simply supported plate answer one force, 1.2 rad apart. The tone's phase drifts, a second source without any relation to it is
heard at the same frequency, and the microphones are noisy. Prints how far the average of so many frames is from the plate's own velocity.
"""

import pathlib
import sys

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import nearfield

if len(sys.argv) > 2 or not all(argument.isdecimal() for argument in sys.argv[1:]):
    sys.exit(__doc__)
FRAMES = int(sys.argv[1]) if len(sys.argv) > 1 else 256
SIDE, PITCH_M, STANDOFF_M = 16, 0.03, 0.03
RATE_HZ, WINDOW = 46875.0, 512
TONE_HZ = 11 * RATE_HZ / WINDOW  # 1007 Hz
ARRAY = {"rows": SIDE, "columns": SIDE, "pitch_x_m": PITCH_M, "pitch_y_m": PITCH_M}
REFERENCE = (5, 4)  # row and column of a microphone
POINT = {"x_m": -0.105, "y_m": -0.075}  # on the surface below it
NOISE_PA, OTHER_PA, DRIFT_HZ = 0.4, 0.12, 1.5

pathlib.Path("modes.yaml").write_text(f"""version: 1
array: {{rows: {SIDE}, columns: {SIDE}, pitch_x_m: {PITCH_M}, pitch_y_m: {PITCH_M}}}
standoff_m: {STANDOFF_M}
duration_s: 0.03
sources:
  - kind: plate
    frequency_hz: {TONE_HZ}
    width_m: 0.40
    height_m: 0.30
    modes: [{{m: 3, n: 2, velocity_m_s: 0.006}}, {{m: 2, n: 1, velocity_m_s: 0.003, phase_rad: 1.2}}]
""")
nearfield.run("simulate", "modes.yaml", "-o", "modes.h5", "--as", "samples")
with nearfield.open_capture("modes.h5", "truth") as truth:
    pressure_pa = truth.aperture_pressure.values[0]  # at the microphones
    true = truth.normal_velocity.isel(frequencies_hz=0).load()  # of the plate


def slow_noise(random, samples, cutoff_hz):
    """Noise of mean square 1 below a frequency, a part of 4 s or more."""
    whole = max(samples, int(4 * RATE_HZ))
    spectrum = np.fft.rfft(random.standard_normal(whole)) * (np.fft.rfftfreq(whole, 1 / RATE_HZ) < cutoff_hz)
    noise = np.fft.irfft(spectrum, whole)
    return (noise / noise.std())[:samples]


def recorded():
    """The microphones' signals, [sample, channel], Pa."""
    random = np.random.default_rng(5)
    samples = FRAMES * WINDOW
    times_s = np.arange(samples) / RATE_HZ
    phase = 2 * np.pi * np.cumsum(DRIFT_HZ * slow_noise(random, samples, 2.0)) / RATE_HZ
    line_m = (np.arange(SIDE) - (SIDE - 1) / 2) * PITCH_M
    x_m, y_m = np.meshgrid(line_m, line_m)
    distance_m = np.sqrt((x_m - 0.1) ** 2 + (y_m - 0.1) ** 2 + 0.08**2)
    other = OTHER_PA * 0.08 * np.exp(-2j * np.pi * TONE_HZ * distance_m / 343.0) / distance_m
    turn = np.exp(2j * np.pi * TONE_HZ * times_s)
    wander = slow_noise(random, samples, 60.0) + 1j * slow_noise(random, samples, 60.0)  # of a line 120 Hz wide
    signals = np.empty((samples, SIDE * SIDE), np.float32)
    for channel, (p, q) in enumerate(zip(pressure_pa.ravel(), other.ravel(), strict=True)):
        signals[:, channel] = ((p * np.exp(1j * phase) + q * wander) * turn).real + NOISE_PA * random.standard_normal(samples)
    return signals


def spectra_of(signals):
    """Phasors of a Hann window's bin, in the images' own frames: complex [time, frequencies_hz, channel]."""
    times_s = np.arange(FRAMES) * WINDOW / RATE_HZ
    taper = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    turns = 2 / taper.sum() * taper * np.exp(-2j * np.pi * TONE_HZ * np.arange(WINDOW) / RATE_HZ)
    values = np.einsum("s,fsc->fc", turns, signals.reshape(FRAMES, WINDOW, -1))
    return xr.DataArray(values[:, None], {"time": times_s, "frequencies_hz": [TONE_HZ]}, ("time", "frequencies_hz", "channel"))


def error(image, reference_phasor):
    """Relative L2 error, in per cent, beside the truth with its phase to the reference."""
    locked = true.values * np.conj(reference_phasor) / abs(reference_phasor)
    return 100 * np.linalg.norm(image.squeeze().values - locked) / np.linalg.norm(locked)


signals = recorded()
nearfield.write_time_data("machine.h5", signals, RATE_HZ)
images = nearfield.replay("machine.h5", config={
    "array": ARRAY,
    "front_end": {"frequencies_hz": [TONE_HZ], "window_samples": WINDOW, "hop_samples": WINDOW},
    "holography": {"imager": "sonah", "quantity": "normal_velocity", "standoff_m": STANDOFF_M, "points": [POINT]},
})
spectra = spectra_of(signals)
spectra = spectra.assign_coords(time=images.time)  # the same windows; the file's times are whole nanoseconds
microphone = spectra.isel(channel=REFERENCE[0] * SIDE + REFERENCE[1])

of_microphone, of_point = pressure_pa[REFERENCE], true.values[REFERENCE]
mean = nearfield.phase_locked_average(images, microphone)
by_point = nearfield.phase_locked_average(images, images.points.isel(planes_m=0, point=0))
averaged_pa = nearfield.phase_locked_average(spectra, microphone).images.values.reshape(1, SIDE, SIDE)
first_averaged = nearfield.sonah(averaged_pa, pitch_m=PITCH_M, standoff_m=STANDOFF_M, frequencies_hz=[TONE_HZ], quantity="normal_velocity")
one = nearfield.phase_locked_average(images.isel(time=[0]), microphone.isel(time=[0]))

print(f"one frame: error {error(one.images, of_microphone):.1f} %")
left = np.linalg.norm(images.images.mean("time")) / np.linalg.norm(true)
print(f"{FRAMES} frames without a reference: {100 * left:.0f} % of the amplitude is left")
print(f"{FRAMES} frames, locked to a microphone: {error(mean.images, of_microphone):.1f} %; to a point of the image: "
      f"{error(by_point.images, of_point):.1f} %")
print(f"image of the microphones' locked average: {error(first_averaged, of_microphone):.1f} %")
quiet = nearfield.sonah(pressure_pa[None], pitch_m=PITCH_M, standoff_m=STANDOFF_M, frequencies_hz=[TONE_HZ], quantity="normal_velocity")
print(f"image of the plate's sound alone, without noise: {error(quiet * np.conj(of_microphone) / abs(of_microphone), of_microphone):.1f} %")
scale = np.linalg.norm(true.values)
alone = np.sqrt(FRAMES) * np.linalg.norm(mean.standard_error) / scale
print(f"scatter of one frame {100 * alone:.1f} %; of averages of N frames, and what 1/sqrt(N) says:")
for count in (4, 16, 64):
    if 2 * count > FRAMES:
        break
    groups = [nearfield.phase_locked_average(images.isel(time=slice(i, i + count)), microphone.isel(time=slice(i, i + count))).images
              for i in range(0, FRAMES - count + 1, count)]
    scatter = np.sqrt(sum(np.linalg.norm(group - mean.images) ** 2 for group in groups) / (len(groups) - 1)) / scale
    print(f"  N = {count}: {100 * scatter:.1f} %, {100 * alone / np.sqrt(count):.1f} %")

figure, axes = plt.subplots(2, 3, figsize=(11, 6.4), layout="constrained", sharex=True, sharey=True)
shapes = [(true * np.conj(of_microphone) / abs(of_microphone), "the plate"), (one.images, "one frame"), (mean.images, f"{FRAMES} frames, locked")]
most = 1e3 * float(abs(true).max())
for column, (shape, title) in enumerate(shapes):
    for ax, part in zip(axes[:, column], (shape.values.squeeze().real, shape.values.squeeze().imag), strict=True):
        mesh = ax.pcolormesh(true.x_m, true.y_m, 1e3 * part, cmap="RdBu_r", vmin=-most, vmax=most, shading="nearest")
        ax.set_aspect("equal")
    axes[0, column].set_title(title)
axes[0, 0].invert_yaxis()
for ax, name in zip(axes[:, 0], ("in phase with the reference", "a quarter period ahead"), strict=True):
    ax.set_ylabel(f"{name}\ny, m")
figure.colorbar(mesh, ax=axes, label="mm/s", shrink=0.7)
figure.savefig("shape.png", dpi=80)
