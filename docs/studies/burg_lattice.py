"""How far Burg's pooled predictor in single precision (kernels/imaging/lattice_fit.cl) is from double.

Monopoles over 32 x 32 microphones, clean and noisy, orders 8 and 16, floor 3e-4. Printed are the largest relative differences
(L2) of the coefficients and of 32 extrapolated samples of every row. Run: python3 docs/studies/burg_lattice.py
"""
import numpy as np

FLOOR = 3e-4
STEPS = 32


def monopole(frequency_hz, x_m, y_m):
    at = (np.arange(32) - 15.5) * 0.02
    x, y = np.meshgrid(at, at)
    distance = np.sqrt((x - x_m) ** 2 + (y - y_m) ** 2 + 0.06**2)
    return np.exp(-2j * np.pi * frequency_hz / 343.0 * distance) / distance


def predictor(lines, order, real):
    kind = np.complex64 if real == np.float32 else np.complex128
    f, g = lines.astype(kind), lines.astype(kind)
    a = np.zeros(order + 1, kind)
    a[0] = 1
    energy = None
    for m in range(1, order + 1):
        x, y = f[:, m:].copy(), g[:, : lines.shape[1] - m].copy()
        numerator = (x * y.conj()).sum(dtype=kind)
        denominator = (abs(x) ** 2 + abs(y) ** 2).sum(dtype=real)
        energy = denominator if energy is None else energy
        k = kind(-2 * numerator / (denominator + real(FLOOR) * energy))
        f[:, m:], g[:, : lines.shape[1] - m] = x + k * y, y + np.conj(k) * x
        a[1 : m + 1] = (a + k * np.append(np.conj(a[m::-1]), np.zeros(order - m)))[1 : m + 1]
    return a


def extended(lines, a):
    out = list(lines.astype(a.dtype).T)
    for _ in range(STEPS):
        out.append(-sum(a[i] * out[-i] for i in range(1, len(a))))
    return np.array(out[-STEPS:])


def distance(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


generator = np.random.default_rng(1)
coefficients, extensions = [], []
for where in [(60, 0.1, 0.1), (200, 0, 0), (500, 0.013, -0.021), (2000, 0.013, -0.021), (4000, 0.013, -0.021), (2000, 0.26, 0.19)]:
    for snr_db in (30, 60, 200):
        field = monopole(*where)
        noise = generator.standard_normal((2, 32, 32)) * np.sqrt(np.mean(abs(field) ** 2) / 2) * 10 ** (-snr_db / 20)
        field = (field + noise[0] + 1j * noise[1]).astype(np.complex64)
        for order in (8, 16):
            single, double = predictor(field, order, np.float32), predictor(field, order, np.float64)
            coefficients.append(distance(single, double))
            extensions.append(distance(extended(field, single), extended(field, double)))
print(f"coefficients {max(coefficients):.1e}, extension {max(extensions):.1e}")
