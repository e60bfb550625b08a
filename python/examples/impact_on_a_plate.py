"""A hammer strikes a large plate: its velocity over time from the microphones' signals, beside the plate's own.

    impact_on_a_plate.py [--window-samples N] [--hop-samples H] [--centres] [--own-windows] [--snr-db DB] [--bits] [--imager NAME]

The plate is infinite, thin and without losses, and radiates into air that does not load it, so that its velocity and the pressure before it
are known. Prints how far the images are from it, and how fast the front goes; makes impact.png.
"""

import argparse
import time

import matplotlib.pyplot as plt
import numpy as np

import nearfield

SPEED_M_S, DENSITY_KG_M3 = 343.0, 1.2041
THICKNESS_M = 0.003  # of aluminium
BENDING_STIFFNESS_N_M = 70e9 * THICKNESS_M**3 / (12 * (1 - 0.33**2))
MASS_KG_M2 = 2700.0 * THICKNESS_M
DISPERSION_M2_S = np.sqrt(BENDING_STIFFNESS_N_M / MASS_KG_M2)  # angular frequency = this times wavenumber squared
FORCE_N, PULSE_S = 20.0, 0.25e-3  # raised cosine
TIP_M = 0.01  # standard deviation of the Gaussian over which the hammer's tip spreads it
STRUCK_X_M, STRUCK_Y_M = 0.05, -0.03
MICROPHONES, PITCH_M, STANDOFF_M = 32, 0.02, 0.03
RATE_HZ = 46875.0
IMPACT_S, DURATION_S = 0.024, 0.048
BELOW_HZ = 8000.0  # half a wavelength in air is 21 mm there, and the pulse has nothing
LINE_M = (np.arange(MICROPHONES) - (MICROPHONES - 1) / 2) * PITCH_M


def force_n(times_s):
    """The hammer's force over the time since the impact."""
    return np.where((times_s > 0) & (times_s < PULSE_S), FORCE_N / 2 * (1 - np.cos(2 * np.pi * times_s / PULSE_S)), 0.0)


def bessel_j0(x):
    """J0 of any array, from its integral over 256 angles, exact to rounding below 400; linear between steps of 0.002: within 5e-7."""
    steps = np.arange(0.0, x.max() + 0.004, 0.002)
    angles = (np.arange(256) + 0.5) * np.pi / 256
    return np.interp(x, steps, sum(np.cos(steps * np.sin(angle)) for angle in angles) / 256)


def plate_and_air(distances_m):
    """Velocity of the plate in m/s and pressure STANDOFF_M before it in Pa, [sample, distance], at twice RATE_HZ.

    Of each wavenumber k the plate's velocity has the Laplace transform F(s) exp(-(k TIP_M)^2 / 2) s / (m (s^2 + (b k^2)^2)), and the pressure
    before it that times rho s exp(-g z) / g, g^2 = k^2 + s^2 / c^2; over places both are integrals with J0(k r) k dk / (2 pi). A contour of s
    right of the axis keeps the period of the Fourier sums out: what returns after the end has lost 120 dB.
    """
    rate_hz = 2 * RATE_HZ
    count = int(DURATION_S * rate_hz)
    times_s = np.arange(count) / rate_hz
    damping_per_s = 14.0 / DURATION_S
    s = damping_per_s + 2j * np.pi * np.fft.rfftfreq(count, 1 / rate_hz)[:, None]
    s = s[abs(s.imag[:, 0]) < 2 * np.pi * 24000.0]  # the pulse's spectrum falls by the cube of the frequency
    spectrum = np.fft.rfft(force_n(times_s - IMPACT_S) * np.exp(-damping_per_s * times_s))[: len(s), None]
    step = 0.5
    k = (np.arange(800) + 0.5) * step
    velocity = spectrum * np.exp(-((k * TIP_M) ** 2) / 2) * s / (MASS_KG_M2 * (s**2 + (DISPERSION_M2_S * k**2) ** 2))
    decay = np.sqrt(k**2 + (s / SPEED_M_S) ** 2)
    pressure = velocity * DENSITY_KG_M3 * s * np.exp(-decay * STANDOFF_M) / decay
    places = bessel_j0(k[:, None] * distances_m) * k[:, None] * step / (2 * np.pi)
    grow = np.exp(damping_per_s * times_s)[:, None]
    return [np.fft.irfft(field @ places, count, axis=0) * grow for field in (velocity, pressure)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--window-samples", type=int, default=256)
    parser.add_argument("--hop-samples", type=int, default=64)
    parser.add_argument("--centres", action="store_true", help="each window gives its centre alone, in the place of overlapped and added windows")
    parser.add_argument("--own-windows", action="store_true", help="each window's own field, in the place of changes from rest")
    parser.add_argument("--snr-db", type=float, default=40.0, help="of the microphones while the front passes")
    parser.add_argument("--bits", action="store_true", help="the microphones' bits, in the place of samples")
    parser.add_argument("--imager", default="sonah")
    return parser.parse_args()


def images_of(signals_pa, options):
    """The images of all windows that have to do with 1.5 ms from the impact on, and the time of the first one's first sample."""
    length = options.window_samples
    first = int((IMPACT_S - 0.3e-3) * RATE_HZ) - (length // 2 if options.centres else length)
    count = int(1.8e-3 * RATE_HZ) + (0 if options.centres else length)
    first -= first % options.hop_samples
    nearfield.write_time_data("impact.h5", signals_pa, RATE_HZ)
    array = {"rows": MICROPHONES, "columns": MICROPHONES, "pitch_x_m": PITCH_M, "pitch_y_m": PITCH_M}
    frequencies_hz = (np.arange(length // 2) + 0.5) * RATE_HZ / length
    config = {
        "array": array,
        "front_end": {
            "kind": "popcount" if options.bits else "dot_product",  # which take any frequency, not multiples of a bin alone
            "frequencies_hz": list(frequencies_hz[frequencies_hz < BELOW_HZ]),
            "window_samples": length, "hop_samples": options.hop_samples, "remove_dc": False,
        },
        "holography": {"imager": options.imager, "quantity": "normal_velocity", "standoff_m": STANDOFF_M, "search_every_frames": 0},
    }
    if options.bits:
        settings = [word for key, value in {**{f"array.{k}": v for k, v in array.items()}, "holography.standoff_m": STANDOFF_M}.items()
                    for word in ("--set", f"{key}={value}")]
        nearfield.run("encode", "impact.h5", "-o", "bits.h5", "--order", "4", "--level-dbfs", "-40", *settings)
    frames = slice(first // options.hop_samples, -(-(first + count) // options.hop_samples) + 1)
    return nearfield.replay("bits.h5" if options.bits else "impact.h5", config=config, frames=frames)


def windows_of(signals, like, options):
    """The same windows of signals [sample, place] that are known, as phasors in the form of the images `like`."""
    length = options.window_samples
    taper = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    turns = 2 / taper.sum() * taper * np.exp(-2j * np.pi * np.outer(like.frequencies_hz.values, np.arange(length)) / RATE_HZ)
    starts = np.round(like.time.values * RATE_HZ).astype(int)
    return like.copy(data=np.stack([turns @ signals[start : start + length] for start in starts]).reshape(like.shape))


def front_speed_m_s(images, distances_m, centre_hz, options):
    """Distance over the time at which the envelope of a band passes, by least squares of the times."""
    away = (images.frequencies_hz - centre_hz) / 1000.0
    band = images * (abs(away) < 1.0) * (1 + np.cos(np.pi * away))  # a smooth band has an envelope without ripples
    envelope = nearfield.time_domain(band, sample_rate_hz=RATE_HZ, window_samples=options.window_samples, envelope=True,
                                     overlap_add=not options.centres)
    times_s = envelope.time.values[envelope.values.argmax(axis=0)].ravel()
    use = (distances_m > 0.08) & (distances_m < 0.26)
    return 1 / np.polyfit(distances_m[use], times_s[use], 1)[0]


def main():
    options = arguments()
    x_m, y_m = np.meshgrid(LINE_M, LINE_M)
    distances_m = np.hypot(x_m - STRUCK_X_M, y_m - STRUCK_Y_M).ravel()
    velocity_m_s, pressure_pa = plate_and_air(distances_m)
    signals = pressure_pa[::2]
    passes = signals[int(IMPACT_S * RATE_HZ) : int((IMPACT_S + 1.2e-3) * RATE_HZ)]
    noise_pa = np.sqrt((passes**2).mean()) * 10 ** (-options.snr_db / 20)
    signals = signals + noise_pa * np.random.default_rng(1).standard_normal(signals.shape)

    begin = time.monotonic()
    images = images_of(signals, options)
    field = nearfield.time_domain(images, sample_rate_hz=RATE_HZ, window_samples=options.window_samples, overlap_add=not options.centres,
                                  from_rest=not options.own_windows).isel(planes_m=0)
    took_s = time.monotonic() - begin
    since_ms = 1e3 * (field.time.values - IMPACT_S)
    true = velocity_m_s[np.round(2 * RATE_HZ * field.time.values).astype(int)].reshape(field.shape)
    use = (since_ms > 0) & (since_ms <= 1.2)
    error = np.linalg.norm(field.values[use] - true[use]) / np.linalg.norm(true[use])
    alike = (field.values[use] * true[use]).sum() / np.linalg.norm(field.values[use]) / np.linalg.norm(true[use])
    before = np.sqrt((field.values[since_ms < 0] ** 2).mean() / (true[use] ** 2).mean())
    print(f"{images.sizes['time']} windows of {images.sizes['frequencies_hz']} frequencies in {took_s:.1f} s")
    print(f"velocity from 0 to 1.2 ms: relative L2 error {100 * error:.1f} %, NCC {alike:.4f}; before the impact {100 * before:.1f} %")
    surface = images.images.isel(planes_m=0)
    own = windows_of(velocity_m_s[::2], surface, options)
    for centre_hz in (2000.0, 3000.0, 4000.0):
        found, known = (front_speed_m_s(windows, distances_m, centre_hz, options) for windows in (surface, own))
        told = 2 * np.sqrt(2 * np.pi * centre_hz * DISPERSION_M2_S)
        print(f"front at {centre_hz:.0f} Hz: {found:.0f} m/s, of the plate's own velocity {known:.0f} m/s; group velocity {told:.0f} m/s")
    draw(field, true, since_ms)


def draw(field, true, since_ms):
    instants_ms = (0.12, 0.25, 0.4, 0.6)
    figure, axes = plt.subplots(2, len(instants_ms), figsize=(11, 5.6), layout="constrained", sharex=True, sharey=True)
    for column, instant_ms in enumerate(instants_ms):
        i = int(abs(since_ms - instant_ms).argmin())
        most = 1e3 * abs(true[i]).max()
        for ax, values in zip(axes[:, column], (true[i], field.values[i]), strict=True):
            mesh = ax.pcolormesh(LINE_M, LINE_M, 1e3 * values, cmap="RdBu_r", vmin=-most, vmax=most, shading="nearest")
            ax.set_aspect("equal")
        figure.colorbar(mesh, ax=axes[:, column], orientation="horizontal", shrink=0.9, label="mm/s")
        axes[0, column].set_title(f"{since_ms[i]:.2f} ms")
    axes[0, 0].invert_yaxis()
    for ax, name in zip(axes[:, 0], ("the plate", "imaged"), strict=True):
        ax.set_ylabel(f"{name}\ny, m")
    for ax in axes[1]:
        ax.set_xlabel("x, m")
    figure.savefig("impact.png", dpi=80)


if __name__ == "__main__":
    main()
