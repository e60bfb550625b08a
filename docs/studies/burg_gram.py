"""How far Burg's pooled predictor from the Gram matrix (kernels/imaging/aperture.cl) is from the recursion over the errors.

Noise-free and noisy monopoles over 32 x 32 microphones, order 8, floor 3e-4. Both forms in double precision and the Gram form in
single are held against the recursion in extended precision; printed is the largest difference of a coefficient over the
largest coefficient. Run: python3 docs/studies/burg_gram.py
"""
import numpy as np

FLOOR = 3e-4


def recursion(lines, order, kind):
    f = lines.astype(kind)
    g = f.copy()
    a = np.array([1], kind)
    energy = 0
    for m in range(1, order + 1):
        x, y = f[:, m:], g[:, m - 1:-1]
        num = (x * y.conj()).sum()
        den = (abs(x) ** 2 + abs(y) ** 2).sum()
        energy = den if m == 1 else energy
        k = -2 * num / (den + FLOOR * energy)
        f, g = f.copy(), g.copy()
        f[:, m:], g[:, m:] = x + k * y, y + np.conj(k) * x
        a = np.append(a, 0) + k * np.append(0, a[::-1].conj())
    return a


def from_gram(lines, order, kind):
    n = lines.shape[1]
    x = lines.astype(kind)
    gram = np.array([[(x[:, i] * x[:, i - d].conj()).sum() if i >= d else 0 for d in range(order + 1)] for i in range(n)], kind)

    def product(i, j, m):
        if i > j:
            return np.conj(product(j, i, m))
        return gram[m - i:n - i, j - i].sum()

    a = np.array([1], kind)
    energy = 0
    for m in range(1, order + 1):
        c = np.array([[product(i, j, m) for j in range(m + 1)] for i in range(m + 1)], kind)
        r = a[::-1]  # a_j at m - j, shifted by one
        num = a @ c[:m, 1:] @ r
        den = (a @ c[:m, :m] @ a.conj()).real + (r.conj() @ c[1:, 1:] @ r).real
        energy = den if m == 1 else energy
        k = -2 * num / (den + kind(FLOOR).real * energy)
        a = np.append(a, 0) + k * np.append(0, a[::-1].conj())
    return a.astype(np.complex128)


def field(rng, frequency_hz, snr_db):
    at = (np.arange(32) - 15.5) * 0.02
    x, y = rng.uniform(-0.25, 0.25, 2)
    r = np.sqrt((at[None, :] - x) ** 2 + (at[:, None] - y) ** 2 + 0.06 ** 2)
    p = np.exp(-2j * np.pi * frequency_hz / 343 * r) / r
    if snr_db is not None:
        rms = np.sqrt((abs(p) ** 2).mean() / 2) * 10 ** (-snr_db / 20)
        p = p + rms * (rng.normal(size=p.shape) + 1j * rng.normal(size=p.shape))
    return p


def main():
    rng = np.random.default_rng(1)
    for snr_db in (None, 80, 40):
        worst = {"recursion, double": 0.0, "Gram, double": 0.0, "Gram, single": 0.0}
        for frequency_hz in (200, 500, 1000, 2000, 4000):
            for _ in range(4):
                p = field(rng, frequency_hz, snr_db)
                exact = recursion(p, 8, np.clongdouble)
                for name, a in (("recursion, double", recursion(p, 8, np.complex128)), ("Gram, double", from_gram(p, 8, np.complex128)),
                                ("Gram, single", from_gram(p, 8, np.complex64))):
                    worst[name] = max(worst[name], float(abs(a - exact).max() / abs(exact).max()))
        print("noise-free" if snr_db is None else f"{snr_db} dB", ", ".join(f"{k} {v:.1e}" for k, v in worst.items()))


if __name__ == "__main__":
    main()
