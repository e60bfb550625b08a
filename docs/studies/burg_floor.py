"""Mean error of monopole images over the floor of Burg's method (docs/how/pnah.md), in float64 with numpy alone.

Written apart from the C++ reference, from docs/how/pnah.md. Run: python3 docs/studies/burg_floor.py
"""
import numpy as np

SPEED, PITCH, SIDE, PAD, STANDOFF, ORDER, SLOPE = 343.0, 0.02, 32, 32, 0.03, 8, 0.1


def burg(lines, floor):
    f, g, a, first = lines[:, 1:], lines[:, :-1], np.ones(1, complex), None
    for _ in range(ORDER):
        total = np.sum(abs(f) ** 2 + abs(g) ** 2)
        first = total if first is None else first
        k = -2 * np.sum(f * g.conj()) / (total + floor * first)
        a = np.append(a, 0) + k * np.append(0, a[::-1].conj())
        f, g = (f + k * g)[:, 1:], (g + np.conj(k) * f)[:, :-1]
    return a


def extend(lines, a):
    out = np.pad(lines, ((0, 0), (PAD, PAD)))
    for n in range(PAD + lines.shape[1], out.shape[1]):
        out[:, n] = -out[:, n - ORDER : n][:, ::-1] @ a[1:]
    for n in range(PAD - 1, -1, -1):
        out[:, n] = -out[:, n + 1 : n + ORDER + 1] @ a[1:].conj()
    return out


def extrapolate(p, method, floor):
    if method == "plpbp":
        return extend(extend(p, burg(p, floor)).T, burg(p.T, floor)).T
    wide = np.vstack([extend(row[None], burg(row[None], floor)) for row in p])
    return np.vstack([extend(row[None], burg(row[None], floor)) for row in wide.T]).T


def image(p, frequency, cutoff, method, floor):
    size = SIDE + 2 * PAD
    n = np.arange(size)
    distance = np.maximum(np.maximum(PAD - n, n - (PAD + SIDE - 1)), 0)
    window = 0.5 * (1 + np.cos(np.pi * distance / PAD))
    k = 2 * np.pi * frequency / SPEED
    axis = 2 * np.pi * np.fft.fftfreq(size, PITCH)
    kr = np.hypot(axis[None], axis[:, None])
    kz = np.sqrt((k**2 - kr**2).astype(complex))
    kz = np.where(kr > k, -1j * abs(kz.imag), kz)
    x = (1 - kr / cutoff) / SLOPE
    gain = np.where(x >= 0, 1 - 0.5 * np.exp(-np.maximum(x, 0)), 0.5 * np.exp(np.minimum(x, 0)))
    spectrum = np.fft.fft2(extrapolate(p, method, floor) * window * window[:, None])
    return np.fft.ifft2(spectrum * gain * np.exp(1j * kz * STANDOFF))[PAD : PAD + SIDE, PAD : PAD + SIDE]


def mean_error(method, snr_db, floor, draws=10):
    rng = np.random.default_rng(1)
    place = (np.arange(SIDE) - (SIDE - 1) / 2) * PITCH
    errors = []
    for frequency, cutoff in ((500.0, 80.0), (2000.0, 85.0)):
        k = 2 * np.pi * frequency / SPEED
        for _ in range(draws):
            x, y = rng.uniform(-0.25, 0.25, 2)
            r = lambda z: np.sqrt((place[None] - x) ** 2 + (place[:, None] - y) ** 2 + (z + 0.03) ** 2)
            field = lambda z: np.exp(-1j * k * r(z)) / r(z)
            p, truth = field(STANDOFF), field(0.0)
            sigma = np.sqrt(np.mean(abs(p) ** 2) * 10 ** (-snr_db / 10) / 2)
            p = p + sigma * (rng.normal(size=p.shape) + 1j * rng.normal(size=p.shape))
            errors.append(np.linalg.norm(image(p, frequency, cutoff, method, floor) - truth) / np.linalg.norm(truth))
    return 100 * np.mean(errors)


for floor in (1e-9, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3):
    figures = [f"{method} {snr} dB {mean_error(method, snr, floor):5.2f} %" for method in ("plpbp", "lpbp") for snr in (40, 60, 80)]
    print(f"floor {floor:g}: " + ", ".join(figures), flush=True)
