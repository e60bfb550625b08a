"""Sound fields whose truth on the surface, z = 0, is known: closed forms, scenes, random scenes by kind, files."""

import dataclasses

import h5py
import numpy as np
from common import BIN_HZ, DENSITY_KG_M3, SOUND_SPEED_M_S, array_settings, scene_of, truth_of, uniforms

NOISE_SEED, SCENE_SEED = 20, 27


@dataclasses.dataclass
class Field:
    """What the microphones hear of one source, and what is true on the surface. Pixels are [row][column], in one axis."""

    name: str
    frequencies_hz: np.ndarray
    aperture: np.ndarray  # [frequency][pixel], Pa
    truth: np.ndarray     # [frequency][pixel or point], of the quantity
    quantity: str = "pressure"
    standoff_m: float = 0.03
    array: dict = dataclasses.field(default_factory=lambda: array_settings(32, 32))
    valid: np.ndarray = None       # [pixel], where there is a truth; None: everywhere
    points_xy_m: np.ndarray = None  # where the truth was measured; None: at the pixels

    @property
    def shape(self):
        return self.array["rows"], self.array["columns"]

    @property
    def has_pixels(self):
        return self.valid is None and self.points_xy_m is None

    def where_true(self, images):
        """The values [..., place] of images [..., pixel] where the truth has some; between pixels bilinear, beyond them linear."""
        if self.points_xy_m is None:
            return images if self.valid is None else images[..., self.valid]
        (rows, columns), (pitch_y_m, pitch_x_m) = self.shape, (self.array["pitch_y_m"], self.array["pitch_x_m"])
        column = self.points_xy_m[:, 0] / pitch_x_m + (columns - 1) / 2.0
        row = self.points_xy_m[:, 1] / pitch_y_m + (rows - 1) / 2.0
        c, r = np.clip(np.floor(column).astype(int), 0, columns - 2), np.clip(np.floor(row).astype(int), 0, rows - 2)
        u, v = column - c, row - r
        values = images.reshape(*images.shape[:-1], rows, columns)
        return ((1 - v) * ((1 - u) * values[..., r, c] + u * values[..., r, c + 1])
                + v * ((1 - u) * values[..., r + 1, c] + u * values[..., r + 1, c + 1]))

    def known_truth(self):
        """The truth [frequency][place] at the same places."""
        return self.truth if self.points_xy_m is not None else self.where_true(self.truth)

    def noisy(self, snr_db, draw):
        """The microphones with white noise, the ratio over their mean power at each frequency; the same draws at every ratio but for the size."""
        frame = []
        for f, pressure in enumerate(self.aperture.astype(complex)):
            scale = np.sqrt(np.mean(np.abs(pressure) ** 2) * 10.0 ** (-snr_db / 10.0) / 2.0)
            drawn = uniforms(NOISE_SEED, draw * 64 + f, 2 * len(pressure)).reshape(-1, 2)
            frame.append(pressure + scale * np.sqrt(-2.0 * np.log(0.5 * (1.0 - drawn[:, 0]))) * np.exp(1j * np.pi * drawn[:, 1]))
        return np.array(frame, np.complex64)


def sides_m(array):
    """Lengths of the array along x and y, a pitch for each microphone."""
    return array["columns"] * array["pitch_x_m"], array["rows"] * array["pitch_y_m"]


def places_m(array=None):
    """x and y of the pixels, in one axis each."""
    array = array or array_settings(32, 32)
    x, y = ((np.arange(array[side]) - (array[side] - 1) / 2.0) * array[pitch] for side, pitch in (("columns", "pitch_x_m"), ("rows", "pitch_y_m")))
    return np.tile(x, len(y)), np.repeat(y, len(x))


def monopole(frequency_hz, source_m, volume_velocity, z_m, array=None):
    """Pressure and velocity along z over the pixels: p = j w rho Q e^{-jkr} / (4 pi r), v = -dp/dz / (j w rho)."""
    x, y = places_m(array)
    k, height_m = 2.0 * np.pi * frequency_hz / SOUND_SPEED_M_S, z_m - source_m[2]
    r = np.sqrt((x - source_m[0]) ** 2 + (y - source_m[1]) ** 2 + height_m**2)
    common = volume_velocity * np.exp(-1j * k * r) / (4.0 * np.pi * r)
    return 2j * np.pi * frequency_hz * DENSITY_KG_M3 * common, common * (1.0 / r + 1j * k) * height_m / r


def pattern(frequency_hz, z_m):
    """Pressure sin(2 pi x / 0.27 m + 0.7) sin(2 pi y / 0.35 m + 0.4) e^{-j kz z}: neither odd nor even about the array's centre."""
    x, y = places_m()
    kx, ky = 2.0 * np.pi / 0.27, 2.0 * np.pi / 0.35
    kz = np.conj(np.sqrt(complex((2.0 * np.pi * frequency_hz / SOUND_SPEED_M_S) ** 2 - kx**2 - ky**2)))  # evanescent: -j |kz|
    return np.sin(kx * x + 0.7) * np.sin(ky * y + 0.4) * np.exp(-1j * kz * z_m)


def closed_forms(standoff_m=0.03):
    """Eight cases as three sources: monopoles 3 cm behind the surface, in the middle and near the edge, and a pattern."""
    def field(name, frequencies_hz, pressure):
        at = [np.array([pressure(f, z_m) for f in frequencies_hz], np.complex64) for z_m in (standoff_m, 0.0)]
        return Field(name, np.array(frequencies_hz), *at, standoff_m=standoff_m)

    def of_monopole(x_m, y_m):
        return lambda f, z_m: monopole(f, (x_m, y_m, -0.03), 1e-4, z_m)[0]

    return [field("centred monopole", (500.0, 2000.0, 4000.0), of_monopole(0.013, -0.021)),
            field("edge monopole", (500.0, 2000.0, 4000.0), of_monopole(0.26, 0.19)), field("pattern", (500.0, 2000.0), pattern)]


SCENES = {"two monopoles": ("monopoles.yaml", None), "two pistons": ("piston.yaml", None), "plate": ("plate.yaml", None),
          "D1 piston": ("bench_d1_piston.yaml", 22), "D2 piston": ("bench_d2_piston.yaml", 22), "D3 plate": ("bench_d3_plate.yaml", 5),
          "D4 drill": ("bench_d4_drill.yaml", 18)}


def scenes():
    """Scenes of config/scenes, as pressure and as normal velocity; of many tones the one at that bin."""
    fields = []
    for name, (file, number) in SCENES.items():
        scene = scene_of(file)
        if number is not None:
            scene["sources"] = [source for source in scene["sources"] if abs(source["frequency_hz"] - number * BIN_HZ) < 0.01]
        frequencies_hz, aperture, pressure, velocity = truth_of(scene)
        array = {**array_settings(*aperture.shape[1:]), **{key: scene["array"][key] for key in ("pitch_x_m", "pitch_y_m")}}
        for quantity, truth in (("pressure", pressure), ("normal_velocity", velocity)):
            flat = (values.reshape(len(frequencies_hz), -1) for values in (aperture, truth))
            fields.append(Field(name, frequencies_hz, *flat, quantity, scene["standoff_m"], array))
    return sorted(fields, key=lambda field: field.quantity, reverse=True)


def measured(path):
    """A file of spectra with a normal velocity that was computed or measured on the surface."""
    with h5py.File(path) as file:
        geometry, truth = file["geometry"].attrs, file["truth"]
        frequencies_hz = file["frequencies_hz"][:]
        has_points = "points_xy_m" in truth
        return Field(path.stem, frequencies_hz, file["spectra"][0].reshape(len(frequencies_hz), -1),
                     truth["normal_velocity_points" if has_points else "normal_velocity"][:].reshape(len(frequencies_hz), -1), "normal_velocity",
                     float(geometry["standoff_m"]),
                     array_settings(int(geometry["rows"]), int(geometry["columns"]), float(geometry["pitch_x_m"]), float(geometry["pitch_y_m"])),
                     truth["valid"][:].ravel() != 0 if "valid" in truth else None, truth["points_xy_m"][:] if has_points else None)


# --- random scenes by kind --------------------------------------------------------------------------------------------

def packet(frequency_hz, z_m, x_m, y_m, width_m, kx, ky, velocity, array=None):
    """Pressure and velocity of a bending wave under a Gaussian bell of normal velocity on a rigid plane, by Fourier's integral over directions
    and, inside and outside the radiation circle, over kz (kr dkr = kz dkz takes the pole of 1/kz away), to 1e-7."""
    array = array or array_settings(32, 32)
    reach, k, longest_m = 7.0, 2.0 * np.pi * frequency_hz / SOUND_SPEED_M_S, np.hypot(*sides_m(array))
    most = np.hypot(kx, ky) + reach / width_m
    node, weight = _gauss(k * longest_m)
    angle = node * np.pi / 2.0
    rings = [(k * np.cos(angle) + 0j, k * np.sin(angle), weight * np.pi / 2.0 * k * k * np.sin(angle) * np.cos(angle))]
    node, weight = _gauss(most * longest_m)
    rings.append((-1j * node * most, np.hypot(k, node * most), weight * most * node * most))
    waves = []
    for kz, kr, area in zip(*(np.concatenate(one) for one in zip(*rings))):
        directions = 64 + int(1.1 * kr * longest_m)
        turn = 2.0 * np.pi * np.arange(directions) / directions
        wave = np.array([kr * np.cos(turn), kr * np.sin(turn), np.full(directions, kz), np.full(directions, area / directions)])
        waves.append(wave[:, width_m * np.hypot(wave[0].real - kx, wave[1].real - ky) < reach])
    wx, wy, kz, area = np.concatenate(waves, axis=1)
    off = width_m * np.hypot(wx.real - kx, wy.real - ky)
    velocities = velocity * width_m**2 * np.exp(-0.5 * off**2) * area * np.exp(-1j * kz * z_m)
    x, y = (values.reshape(array["rows"], array["columns"]) for values in places_m(array))
    along_x, along_y = np.exp(-1j * np.outer(x[0] - x_m, wx.real)), np.exp(-1j * np.outer(y[:, 0] - y_m, wy.real))
    impedance = DENSITY_KG_M3 * SOUND_SPEED_M_S * k / kz
    return tuple(((along_y * values) @ along_x.T).ravel() for values in (velocities * impedance, velocities))


def _gauss(phase):
    """Nodes and weights on [0, 1] for an integrand that turns by this phase."""
    nodes, weights = np.polynomial.legendre.leggauss(int(24 + phase / 2.0))
    return (nodes + 1.0) / 2.0, weights / 2.0


class Draws:
    """Numbers of one random scene, in their order. Sources lie over the array: what they reach is given for sides of 0.64 m."""

    def __init__(self, stream, array):
        self.numbers, self.scales = iter(uniforms(SCENE_SEED, stream, 256)), [side_m / 0.64 for side_m in sides_m(array)]

    def between(self, low, high):
        return low + (high - low) * 0.5 * (1.0 + next(self.numbers))

    def place(self, reach_m):
        """x and y."""
        return [self.between(-reach_m * scale, reach_m * scale) for scale in self.scales]

    def amplitude(self):
        magnitude = self.between(0.5, 1.5)
        return magnitude * np.exp(1j * self.between(0.0, 2.0 * np.pi))

    def monopole(self, reach_m=0.3, least_m=0.015, most_m=0.06):
        return np.array([*self.place(reach_m), -self.between(least_m, most_m)]), 1e-4 * self.amplitude()

    def dipole(self):
        """Two opposite monopoles 0.1 mm apart."""
        place_m, volume_velocity = self.monopole(0.25, 0.03, 0.03)
        cosine, azimuth = self.between(-1.0, 1.0), self.between(0.0, 2.0 * np.pi)
        half_m = 5e-5 * np.array([np.sqrt(1 - cosine**2) * np.cos(azimuth), np.sqrt(1 - cosine**2) * np.sin(azimuth), cosine])
        return [(place_m + half_m, volume_velocity), (place_m - half_m, -volume_velocity)]

    def packet(self, width_m):
        (x_m, y_m), k, direction = self.place(0.22), self.between(30.0, 70.0), self.between(0.0, 2.0 * np.pi)
        return x_m, y_m, width_m, k * np.cos(direction), k * np.sin(direction), 1e-3 * self.amplitude()


# Standoff, and how many of what. Constants of the expected errors were chosen on the first four; no setting of an imager on any.
KINDS = {
    "one monopole, 3 cm": (0.03, "monopoles", 1), "three monopoles, 2 cm": (0.02, "monopoles", 3), "three monopoles, 5 cm": (0.05, "monopoles", 3),
    "two packets of 6 cm, 3 cm": (0.03, 0.06, 2), "packets of 3 cm, 3 cm": (0.03, 0.03, 3), "two dipoles, 3 cm": (0.03, "dipoles", 2),
    "seven monopoles, 3 cm": (0.03, "monopoles", 7), "seven monopoles, 1.5 cm": (0.015, "monopoles", 7),
    "seven monopoles, 6 cm": (0.06, "monopoles", 7), "seven and a wave from behind, 3 cm": (0.03, "wave", 7),
}
FITTED = tuple(KINDS)[:4]
KIND_HZ = (500.0, 2000.0, 4000.0)


def scene_of_kind(kind, scene, array=None, frequencies_hz=KIND_HZ):
    """One random scene: pressure at the microphones, pressure and velocity on the surface, [frequency][pixel]."""
    array = array or array_settings(32, 32)
    standoff_m, what, count = KINDS[kind]
    draws = Draws(1000 * list(KINDS).index(kind) + scene, array)
    if isinstance(what, float):
        packets = [draws.packet(what) for _ in range(count)]
        def fields(f, z_m):
            return sum(np.array(packet(f, z_m, *one, array)) for one in packets)
    else:
        sources = sum((draws.dipole() for _ in range(count)), []) if what == "dipoles" else [draws.monopole() for _ in range(count)]
        def fields(f, z_m):
            return sum(np.array(monopole(f, *one, z_m, array)) for one in sources)
    wave = (draws.between(0.0, 1.2), draws.between(0.0, 2.0 * np.pi)) if what == "wave" else None
    apertures, pressures, velocities = [], [], []
    for f in frequencies_hz:
        aperture, (pressure, velocity) = fields(f, standoff_m)[0], fields(f, 0.0)
        if wave:  # a plane wave from behind the array, 5 % of the field's rms
            x, y = places_m(array)
            along = 2.0 * np.pi * f / SOUND_SPEED_M_S * np.sin(wave[0]) * (np.cos(wave[1]) * x + np.sin(wave[1]) * y)
            aperture = aperture + 0.05 * np.sqrt(np.mean(np.abs(aperture) ** 2)) * np.exp(-1j * along)
        for to, values in ((apertures, aperture), (pressures, pressure), (velocities, velocity)):
            to.append(values)
    return tuple(np.array(values, np.complex64) for values in (apertures, pressures, velocities))


def fields_of_kind(kind, scenes_, quantity, array=None, frequencies_hz=KIND_HZ):
    """The same scenes as fields of a quantity."""
    fields = []
    for aperture, pressure, velocity in scenes_:
        truth = {"pressure": pressure, "normal_velocity": velocity,
                 "active_intensity": 0.5 * (pressure.astype(complex) * np.conj(velocity)).real}[quantity]
        fields.append(Field(kind, np.array(frequencies_hz), aperture, truth, quantity, KINDS[kind][0], array or array_settings(32, 32)))
    return fields
