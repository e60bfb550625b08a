"""Expected over true errors of operators (docs/how/operators.md) on random scenes, in float64, written apart from the C++: with the scale of all modes
for what is not resolved, with that of the weakest modes, and with the first one held between one and five times the second one.

Needs numpy, and scipy for the spheres. Run: python3 docs/studies/operator_errors.py; three minutes on two busy cores.
"""
import numpy as np
from scipy.special import sph_harm_y, spherical_jn, spherical_yn

SPEED, DENSITY, PITCH, SIDE, STANDOFF = 343.0, 1.2041, 0.02, 32, 0.03
STEPS = 1e-7 * 1.5 ** np.arange(48)
FREQUENCIES_HZ = (500, 2000, 4000)


def pressures(places, sources, k):
    """Of monopoles of strength 1. (place, source)"""
    r = np.linalg.norm(places[:, None] - sources[None], axis=2)
    return np.exp(-1j * k * r) / (4 * np.pi * r)


def velocities(places, normals, sources, k):
    """Along the normals, -(1 / (j w rho)) N grad p. (place, source)"""
    away = places[:, None] - sources[None]
    r = np.linalg.norm(away, axis=2)
    slope = -(1 / r + 1j * k) * pressures(places, sources, k) * np.einsum("psi,pi->ps", away, normals) / r
    return -slope / (1j * k * SPEED * DENSITY)


def cholesky(covariance, tolerance=1e-6):
    """The factor with pivots that leaves this share of the trace. (microphone, column)"""
    left = covariance.diagonal().real.copy()
    enough = tolerance * left.sum()
    factor = np.zeros_like(covariance)
    rank = 0
    while rank < len(left) and left.sum() > enough:
        pivot = int(np.argmax(left >= left.max() * (1 - 1e-6)))
        column = covariance[:, pivot] - factor[:, :rank] @ factor[pivot, :rank].conj()
        factor[:, rank] = column / np.sqrt(left[pivot])
        left = np.maximum(left - np.abs(factor[:, rank]) ** 2, 0)
        left[pivot] = 0
        rank += 1
    return factor[:, :rank]


class Model:
    def __init__(self, to_microphones, to_image):
        self.microphones = len(to_microphones)
        scale = self.microphones / np.sum(np.abs(to_microphones) ** 2)
        factor = cholesky(scale * to_microphones @ to_microphones.conj().T)
        powers, vectors = np.linalg.eigh(factor.conj().T @ factor)
        kept = powers >= 3e-9
        self.powers = powers[kept]
        self.modes = factor @ vectors[:, kept] / np.sqrt(self.powers)
        self.images = to_image @ (scale * (to_microphones.conj().T @ self.modes))
        self.image_powers = np.sum(np.abs(self.images) ** 2, axis=0)
        self.prior = scale * np.sum(np.abs(to_image) ** 2)

    def ratios(self, field, truth):
        """Expected over true error with the three scales, and what is not resolved over what the weakest modes say."""
        y = self.modes.conj().T @ field
        squares = np.abs(y) ** 2
        rest = max(np.sum(np.abs(field) ** 2) - squares.sum(), 0)
        outside = self.microphones - len(self.powers)
        scales = np.array([np.sum(squares / (self.powers + n)) + rest / n for n in STEPS]) / self.microphones
        determinants = np.array([np.sum(np.log(self.powers + n)) + outside * np.log(n) for n in STEPS])
        best = np.argmin(determinants + self.microphones * np.log(scales))
        n, t, w = STEPS[best], scales[best], self.powers
        image = self.images @ (y / (w + n))
        of_noise = t * np.sum(self.image_powers * n / (w + n) ** 2)
        unresolved = self.prior - np.sum(self.image_powers / (w + n)) - of_noise / t
        g = n**2 * w / (w + n) ** 4
        g /= np.sum(g * w)
        mean = max(0, np.sum(g * (squares - t * n)))
        u = mean + np.sqrt(np.sum((g * (mean * w + t * n)) ** 2))
        energy = np.sum(self.image_powers * squares / (w + n) ** 2)
        true = np.sum(np.abs(image - truth) ** 2)
        found = [of_noise + scale * unresolved for scale in (t, u, np.clip(t, u, 5 * u))]
        relative = np.sqrt(true / np.sum(np.abs(truth) ** 2))
        return [np.sqrt(e / (energy + e)) / relative for e in found] + [(true - of_noise) / (u * unresolved)]


def with_noise(field, snr_db, random):
    rms = np.sqrt(np.mean(np.abs(field) ** 2)) * 10 ** (-snr_db / 20)
    return field + rms * (random.normal(size=field.size) + 1j * random.normal(size=field.size)) / np.sqrt(2)


def directions(count):
    i = np.arange(count)
    z, angle = 1 - (2 * i + 1) / count, np.pi * (3 - np.sqrt(5)) * i
    return np.stack([np.sqrt(1 - z * z) * np.cos(angle), np.sqrt(1 - z * z) * np.sin(angle), z], axis=1)


def sphere(k, random, places, normals, highest, decay, radius=0.10):
    """Pressure at places outside and velocity on the sphere, of amplitudes e^{-decay n}."""
    r = np.linalg.norm(places, axis=1)
    polar = lambda d: (np.arccos(np.clip(d[:, 2], -1, 1)), np.arctan2(d[:, 1], d[:, 0]))
    hankel = lambda n, x, slope=False: spherical_jn(n, x, slope) - 1j * spherical_yn(n, x, slope)
    pressure, velocity = 0, 0
    for n in range(highest + 1):
        radial = -1j * DENSITY * SPEED * hankel(n, k * r) / hankel(n, k * radius, True)
        for m in range(-n, n + 1):
            amplitude = np.exp(-decay * n) * (random.normal() + 1j * random.normal())
            pressure = pressure + amplitude * radial * sph_harm_y(n, m, *polar(places / r[:, None]))
            velocity = velocity + amplitude * sph_harm_y(n, m, *polar(normals))
    return pressure, velocity


def spheres(found):
    for frequency_hz in FREQUENCIES_HZ:
        k = 2 * np.pi * frequency_hz / SPEED
        for name, most, image in (("sphere", np.pi, np.pi), ("cap", np.pi / 3, np.pi / 4)):
            within = lambda count, limit: (lambda d: d[np.arccos(d[:, 2]) <= limit])(directions(count))
            places, normals = 0.13 * within(400, most), within(600, image)
            sources = 0.06 * directions(450)
            model = Model(pressures(places, sources, k), velocities(0.10 * normals, normals, sources, k))
            for snr_db in (60, 40, 30):
                for draw in range(4):
                    for highest, decay, degrees in ((5, 0.35, "of degree 5"), (8, 0.2, "of degree 8")):
                        random = np.random.default_rng(draw)
                        field, truth = sphere(k, random, places, normals, highest, decay)
                        ratios = model.ratios(with_noise(field, snr_db, random), truth)
                        found.setdefault(f"{name} {degrees}", []).append(ratios)


def planes(found):
    axis = (np.arange(SIDE) - (SIDE - 1) / 2) * PITCH
    x, y = (values.ravel() for values in np.meshgrid(axis, axis))
    places, pixels = np.stack([x, y, np.full(x.size, STANDOFF)], axis=1), np.stack([x, y, 0 * x], axis=1)
    normals = np.tile([0.0, 0.0, 1.0], (x.size, 1))
    depth, edge = 0.9 * STANDOFF, axis[-1] + 6 * STANDOFF
    line = np.linspace(-edge, edge, 1 + int(np.ceil(2 * edge / (0.7 * depth) - 1e-9)))
    sheet = np.stack([*(values.ravel() for values in np.meshgrid(line, line)), np.full(line.size**2, -depth)], axis=1)
    for frequency_hz in FREQUENCIES_HZ:
        k = 2 * np.pi * frequency_hz / SPEED
        to_microphones = pressures(places, sheet, k)
        models = {"pressure": Model(to_microphones, pressures(pixels, sheet, k)),
                  "velocity": Model(to_microphones, velocities(pixels, normals, sheet, k))}
        for snr_db in (60, 40, 30, 25):
            random = np.random.default_rng(5)
            if frequency_hz < 3000:
                kx, ky = 2 * np.pi / 0.27, 2 * np.pi / 0.35
                kz = np.conj(np.sqrt(complex(k * k - kx * kx - ky * ky)))
                pattern = np.sin(kx * (x + 0.031)) * np.sin(ky * (y - 0.047))
                for _ in range(4):
                    field = with_noise(np.exp(-1j * kz * STANDOFF) * pattern, snr_db, random)
                    found.setdefault("pattern", []).append(models["pressure"].ratios(field, pattern))
            for draw in range(12):
                count = (1, 3, 7)[draw % 3]
                beside = random.uniform(-0.28, 0.28, (2, count))
                sources = np.stack([*beside, np.full(count, -random.choice([0.01, 0.03, 0.06]))], axis=1)
                amplitudes = random.normal(size=count) + 1j * random.normal(size=count)
                if draw >= 6:
                    sources = np.concatenate([sources, sources + random.normal(size=sources.shape) * 0.004])
                    amplitudes = np.concatenate([amplitudes, -amplitudes])
                field = with_noise(pressures(places, sources, k) @ amplitudes, snr_db, random)
                truths = {"pressure": pressures(pixels, sources, k) @ amplitudes,
                          "velocity": velocities(pixels, normals, sources, k) @ amplitudes}
                for quantity, model in models.items():
                    kind = f"{'monopoles' if draw < 6 else 'dipoles'}, {quantity}"
                    found.setdefault(kind, []).append(model.ratios(field, truths[quantity]))


def show(name, ratios):
    cells = []
    for column in np.transpose(ratios)[:3]:
        low, middle, high = np.quantile(column, [0.025, 0.5, 0.975])
        cells.append(f"{low:.2f} to {high:.2f}, {middle:.2f} in the median, deviation {np.std(np.log(column)):.2f}")
    over = np.quantile(np.transpose(ratios)[3], [0.5, 0.95])
    print(f"{name}, {len(ratios)} images: all modes {cells[0]} | weakest {cells[1]} | both {cells[2]} | "
          f"unresolved over u {over[0]:.2f}, 95 % below {over[1]:.2f}")


FOUND = {}
spheres(FOUND)
planes(FOUND)
for kind, of_kind in FOUND.items():
    show(kind, of_kind)
show("all but patterns", [ratios for kind, of_kind in FOUND.items() if kind != "pattern" for ratios in of_kind])
