"""Statistically optimised holography (docs/how/sonah.md) on eight fields, in float64 with numpy alone, written apart from the C++.

Run: python3 docs/studies/sonah.py [DRAWS] [DEPTH over standoff]; two minutes with 6 draws.
"""
import sys

import numpy as np

SPEED, PITCH, SIDE, STANDOFF = 343.0, 0.02, 32, 0.03
DRAWS = int(sys.argv[1]) if len(sys.argv) > 1 else 6
DEPTH = STANDOFF * (float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
STEPS = 1e-7 * 1.5 ** np.arange(48)
AXIS = (np.arange(SIDE) - (SIDE - 1) / 2) * PITCH


def bessel_0(x):
    """J0 as the mean of cos(x cos(angle)) over half a turn."""
    angles = (np.arange(160) + 0.5) * np.pi / 160
    return sum(np.cos(x * np.cos(a)) for a in angles) / len(angles)


def waves(k):
    """kz, kr and power times area of the prior's plane waves: Gauss-Legendre over angle inside, decay outside."""
    x, w = np.polynomial.legendre.leggauss(200)
    angle, decay = (x + 1) * np.pi / 4, (x + 1) / 2 * 20 / (DEPTH + STANDOFF)
    kz = np.r_[k * np.cos(angle), -1j * decay]
    kr = np.r_[k * np.sin(angle), np.hypot(k, decay)]
    area = np.r_[w * np.pi / 4 * k * k * np.sin(angle) * np.cos(angle), w / 2 * 20 / (DEPTH + STANDOFF) * decay]
    rounding = 0.3 * k + 2 * np.pi / (SIDE * PITCH)
    return kz, kr, area * np.exp(2 * kz.imag * DEPTH) / (abs(kz) ** 2 + rounding**2)


def model(frequency_hz):
    kz, kr, power = waves(2 * np.pi * frequency_hz / SPEED)
    there = np.exp(-1j * kz * STANDOFF)
    steps = np.arange(SIDE) * PITCH
    lags = np.hypot(steps[:, None], steps[None, :]).ravel()
    shape = bessel_0(lags[:, None] * kr[None, :])
    unit = np.sum(power * abs(there) ** 2)
    table = lambda weights: (shape @ (weights / unit)).reshape(SIDE, SIDE)
    index = abs(np.arange(SIDE)[:, None] - np.arange(SIDE)[None, :])
    full = lambda t: t[index[:, None, :, None], index[None, :, None, :]].reshape(SIDE**2, SIDE**2)
    powers, modes = np.linalg.eigh(full(table(power * abs(there) ** 2)))
    return np.maximum(powers, 0), modes, full(table(power * there.conj())) @ modes


def image(measured, powers, modes, to_image):
    """measured (microphone, draw) -> images, noise over the field."""
    y = modes.T @ measured
    prior = np.array([np.mean(abs(y) ** 2 / (powers[:, None] + s), 0) for s in STEPS])
    cost = np.array([np.sum(np.log(powers + s)) for s in STEPS])[:, None] + len(powers) * np.log(prior)
    step = cost.argmin(0)
    return to_image @ (y / (powers[:, None] + STEPS[step])), np.sqrt(STEPS[step] * prior[step, np.arange(y.shape[1])])


def monopole(k, x, y, z):
    r = np.sqrt((AXIS[None, :] - x) ** 2 + (AXIS[:, None] - y) ** 2 + (z + 0.03) ** 2)
    return np.exp(-1j * k * r) / r


def pattern(k, z):
    kx, ky = 2 * np.pi / 0.27, 2 * np.pi / 0.35
    kz = np.conj(np.sqrt(complex(k * k - kx * kx - ky * ky)))
    return np.exp(-1j * kz * z) * np.sin(kx * (AXIS[None, :] + 0.031)) * np.sin(ky * (AXIS[:, None] - 0.047))


def main():
    cases = [(f"monopole at ({x}, {y}) m", f, lambda k, z, x=x, y=y: monopole(k, x, y, z))
             for x, y in ((0.013, -0.021), (0.26, 0.19)) for f in (500, 2000, 4000)]
    cases += [("sin sin", f, pattern) for f in (500, 2000)]
    models = {f: model(f) for f in (500, 2000, 4000)}
    rng = np.random.default_rng(1)
    for snr_db in (40, 30):
        errors = []
        for name, f, field in cases:
            k = 2 * np.pi * f / SPEED
            clean, truth = field(k, STANDOFF).reshape(-1, 1), field(k, 0.0).reshape(-1, 1)
            sigma = np.sqrt(np.mean(abs(clean) ** 2)) * 10 ** (-snr_db / 20)
            noise = rng.standard_normal((2, len(clean), DRAWS)) * sigma / np.sqrt(2)
            found, level = image(clean + noise[0] + 1j * noise[1], *models[f])
            errors.append(np.mean(np.linalg.norm(found - truth, axis=0) / np.linalg.norm(truth)))
            print(f"{snr_db} dB {name} {f} Hz: {100 * errors[-1]:.2f} %, noise found / true {np.mean(level) / sigma:.2f}")
        print(f"{snr_db} dB mean {100 * np.mean(errors):.2f} %")


if __name__ == "__main__":
    main()
