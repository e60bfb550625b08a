"""How often and how well the processor srp_phat finds sources: seeded draws of closed forms (docs/how/srp_phat.md has the figures).

directions: a source in noise before some of 32 x 32 microphones. cylinder: the arrangement of T. Lee, S. Chang, D. Yook, "Parallel
SRP-PHAT for GPUs", Comput. Speech Lang. 35 (2016), on three grids, in both domains. noise: noise alone, window by window. stream: noise
that goes on in overlapping windows. crossing: two sources 3 dB apart that pass through each other's place. times: of a window before 8, 16
and 32 microphones of the cylinder; `nearfield bench srp_phat` has the bounds of such times.
"""

import time

import numpy as np
from common import SOUND_SPEED_M_S, array_settings, device, nearfield, parser_of, say, show

DISTANCE_M, RATE_HZ, WINDOW, BAND_HZ = 1.5, 46875.0, 1024, (500.0, 4000.0)
TOGETHER = 64  # windows that are pushed at once


class Trial:
    """An array and the processor before it; the frequencies are all bins of BAND_HZ. Places are in m from the array's centre."""

    def __init__(self, positions_m=None, array=None, rate_hz=RATE_HZ, window=WINDOW, hop=None, seed=(), **own):
        bins = np.arange(np.ceil(BAND_HZ[0] * window / rate_hz), np.ceil(BAND_HZ[1] * window / rate_hz))
        self.random = np.random.default_rng(seed)
        self.first_bin, self.frequencies_hz = int(bins[0]), bins * rate_hz / window
        if positions_m is None:
            y, x = np.meshgrid(*((np.arange(array[side]) - (array[side] - 1) / 2) * array["pitch_x_m"] for side in ("rows", "columns")),
                               indexing="ij")
            self.microphones_m = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1)
        else:
            self.microphones_m = positions_m
        config = {"front_end": {"window_samples": window, "hop_samples": hop or window // 2}, "holography": {"imager": "none", "standoff_m": 0.03},
                  "processors": {"trial": {"kind": "srp_phat", "band_hz": list(BAND_HZ), "keep_map": False, **own}}}
        if positions_m is None:
            config["array"] = array
        self.engine = nearfield.Engine(config, "spectra", channels=len(self.microphones_m), sample_rate_hz=rate_hz,
                                       frequencies_hz=self.frequencies_hz, positions_m=positions_m)

    def _normal(self, *shape):
        """Complex, of variance 1; neighbours along the last axis are correlated as bins of white noise through Hann's window are."""
        white = self.random.standard_normal((*shape, len(self.frequencies_hz) + 2, 2)) @ [1, 1j] / np.sqrt(2.0)
        return (white[..., 1:-1] - 0.5 * white[..., :-2] - 0.5 * white[..., 2:]) / np.sqrt(1.5)

    def noise(self, windows=1):
        """Spectra [window][bin][channel] of power 1."""
        return self._normal(windows, len(self.microphones_m)).swapaxes(1, 2)

    def source(self, place_m, power):
        """Spectra [bin][channel] of a monopole, whose power at the centre is this."""
        path_m = np.linalg.norm(self.microphones_m - place_m, axis=1)
        phase = np.exp(-2j * np.pi / SOUND_SPEED_M_S * np.outer(self.frequencies_hz, path_m))
        return self._normal()[:, None] * np.sqrt(power) * np.linalg.norm(place_m) / path_m * phase

    def find(self, spectra):
        """The table of sources of each window, with its places [row][3]."""
        tables = [frame["sources"] for frame in self.engine.push(spectra.astype(np.complex64)) if frame.processor == "trial"]
        return [(table, np.stack([table["x"], table["y"], table["z"] - 0.03], axis=1).astype(float)) for table in tables]


def ahead(array, **own):
    """1,681 directions up to 60 degrees aside, DISTANCE_M away."""
    grid = {"kind": "angles", "distance_m": [DISTANCE_M], "azimuth_deg": [-60, 60], "elevation_deg": [-60, 60], "step_deg": 3}
    return Trial(array=array, grid=grid, **own)


def at_angles(azimuth_deg, elevation_deg):
    x, y = np.sin(np.radians([azimuth_deg, elevation_deg]))
    return DISTANCE_M * np.array([x, y, -np.sqrt(1.0 - x * x - y * y)])


def angle_deg(one, other):
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(one, other)), np.dot(one, other)))


def directions(options):
    for name in options.arrays:
        for snr_db in options.snr:
            trial = ahead(array_settings(32, 32), seed=(options.seed, 0), tracks={"enabled": False}, steering={"subset": name})
            errors, confidences, squares = [], [], []
            for _ in range(options.draws):
                place = at_angles(*trial.random.uniform(-40.0, 40.0, 2))
                (table, found), = trial.find(trial.noise() + trial.source(place, 10.0 ** (snr_db / 10.0)))
                errors.append(angle_deg(found[0], place))
                confidences.append(table["confidence"][0])
                if errors[-1] <= 5.0:
                    squares.append(np.sum((found[0] - place) ** 2) / (float(table["sigma_major"][0]) ** 2 + float(table["sigma_minor"][0]) ** 2))
            yield {"array": name, "snr_db": snr_db, "draws": options.draws, "median_deg": np.median(errors),
                   "p95_deg": np.quantile(errors, 0.95, method="higher"), "above_5_deg": options.draws - len(squares),
                   "confidence": np.median(confidences), "squared_error": np.mean(squares) if squares else np.nan}


def cylinder_of(microphones, pixels, domain, seed=()):
    """Half of the microphones on each end, those of one between those of the other; 3,888, 97,200 and 388,800 pixels are 5, 1 and 0.5 degrees."""
    angle, step = 2.0 * np.pi * np.arange(microphones) / microphones, np.sqrt(97200.0 / pixels)
    places = np.stack([0.122 * np.cos(angle), 0.122 * np.sin(angle), np.where(np.arange(microphones) % 2, -0.12, 0.12)], axis=1)
    grid = {"kind": "sphere", "radius_m": [1.0, 2.0, 3.0], "step_deg": step, "azimuth_deg": [0.0, 360.0 - step], "elevation_deg": [0.0, 90.0 - step]}
    return Trial(places, rate_hz=16000.0, window=4096, seed=seed, grid=grid, domain=domain, tracks={"enabled": False})


def cylinder(options):
    for pixels in options.pixels:
        for domain in ("frequency", "time"):
            trial = cylinder_of(16, pixels, domain, (options.seed, 3))
            aside, above, errors = [], [], []
            for draw in range(options.draws):
                azimuth = np.radians((90.0, 120.0, 150.0, 180.0)[draw % 4])
                place = np.array([2.0 * np.cos(azimuth), 2.0 * np.sin(azimuth), -0.44])
                (_, found), = trial.find(trial.noise() + trial.source(place, 1.0))
                both = np.array([found[0], place])
                azimuths, elevations = np.degrees(np.arctan2(both[:, 1], both[:, 0])), np.degrees(np.arctan2(-both[:, 2], np.hypot(*both[:, :2].T)))
                aside.append(abs((azimuths[0] - azimuths[1] + 180.0) % 360.0 - 180.0))
                above.append(abs(elevations[0] - elevations[1]))
                errors.append(angle_deg(*both))
            yield {"pixels": pixels, "domain": domain, "draws": options.draws, "within_10_deg": np.sum(np.maximum(aside, above) <= 10.0),
                   "within_5_and_3_deg": np.sum((np.array(aside) <= 5.0) & (np.array(above) <= 3.0)),
                   "median_deg": np.median(errors), "largest_deg": max(errors)}


def false_alarms(what, trial, blocks, seconds):
    """Of blocks of windows with noise alone, of which a tenth, a hundredth and a thousandth may have a significance of 1, 2 and 3."""
    largest, ids = [], set()
    for block in blocks:
        for table, _ in trial.find(block):
            largest.append(max(table["significance"][table["id"] == 0], default=0.0))
            ids.update(table["id"][table["id"] > 0].tolist())
    counts = {f"significance_{least}": int(np.sum(np.array(largest) >= least)) for least in (1, 2, 3)}
    return {"noise": what, "windows": len(largest), "seconds": seconds, **counts, "largest": max(largest), "confirmed": len(ids)}


def sixty_four():
    return array_settings(8, 8, 0.62 / 7.0)


def noise(options):
    trial = ahead(sixty_four(), seed=(options.seed, 1))
    blocks = (trial.noise(min(TOGETHER, options.windows - first)) for first in range(0, options.windows, TOGETHER))
    yield false_alarms("windows", trial, blocks, options.windows * WINDOW / RATE_HZ)


def overlapping(random, channels, first_bin, bins, windows, step=WINDOW // 4):
    """Spectra [window][bin][channel] of white noise that goes on, through Hann's windows that begin `step` samples apart; mean power 1."""
    taper = np.hanning(WINDOW + 1)[:-1, None] / np.sqrt(0.375 * WINDOW)
    turns = np.exp(-2j * np.pi / WINDOW * np.outer(first_bin + np.arange(bins), np.arange(WINDOW))) * taper.T
    samples = random.uniform(-np.sqrt(3.0), np.sqrt(3.0), (WINDOW - step, channels))
    for _ in range(windows):
        samples = np.concatenate([samples[-(WINDOW - step):], random.uniform(-np.sqrt(3.0), np.sqrt(3.0), (step, channels))])
        yield (turns @ samples)[None]


def stream(options):
    windows = int(np.ceil(60.0 * options.minutes * RATE_HZ / (WINDOW // 4)))
    trial = ahead(sixty_four(), seed=(options.seed, 5), hop=WINDOW // 4)
    blocks = overlapping(trial.random, 64, trial.first_bin, len(trial.frequencies_hz), windows)
    yield false_alarms("stream", trial, blocks, windows * (WINDOW // 4) / RATE_HZ)


def cross_once(trial):
    """The ids that two sources have a quarter of a second before and after they are 10 degrees apart, and the squared errors of their tracks."""
    elevation_deg, frame_s, close_s, margin_s = trial.random.uniform(-20.0, 20.0), WINDOW // 2 / RATE_HZ, 0.25, 0.25
    before, after, squares = [0, 0], [0, 0], []
    for time_s in np.arange(0.0, 2.0, frame_s):
        places = [at_angles(side * (20.0 * time_s - 20.0), elevation_deg) for side in (1.0, -1.0)]
        spectra = trial.noise() + trial.source(places[0], 10.0) + trial.source(places[1], 10.0**0.7)
        (table, found), = trial.find(spectra)
        for source, place in enumerate(places):
            near = [(angle_deg(at, place), row["id"]) for row, at in zip(table, found) if row["state"] == CONFIRMED]
            apart_deg, number = min(near, default=(np.inf, 0))
            number = int(number) if apart_deg < 5.0 else 0
            if number and abs(time_s - 1.0) > close_s + margin_s and time_s > margin_s:
                squares.append(apart_deg**2)
            if time_s - 1.0 < -close_s - margin_s:
                before[source] = number
            elif time_s - 1.0 < close_s + margin_s:
                after[source] = number
    return before, after, squares


CONFIRMED = 2


def crossing(options):
    swapped = changed = unseen = 0
    errors = []
    trial = ahead(array_settings(16, 16, 0.62 / 15.0), seed=(options.seed, 2), sources=2, separation_deg=10.0)
    for _ in range(options.runs):
        trial.engine.restart()
        before, after, squares = cross_once(trial)
        errors += squares
        if any(0 in ids or ids[0] == ids[1] for ids in (before, after)):
            unseen += 1
        elif after == before[::-1]:
            swapped += 1
        else:
            changed += after != before
    yield {"runs": options.runs, "swapped": swapped, "changed": changed, "unseen": unseen, "rms_deg": np.sqrt(np.mean(errors))}


def times(options):
    for pixels in options.pixels:
        for microphones in options.microphones:
            for domain in ("frequency", "time"):
                trial = cylinder_of(microphones, pixels, domain, (options.seed, 4))
                spectra = trial.noise()
                trial.find(spectra)
                seconds = []
                for _ in range(options.repetitions):
                    begun = time.perf_counter()
                    trial.find(spectra)
                    seconds.append(time.perf_counter() - begun)
                yield {"microphones": microphones, "pixels": pixels, "domain": domain, "bins": len(trial.frequencies_hz), "least_ms": 1e3 * min(seconds)}


CASES = {"directions": directions, "cylinder": cylinder, "noise": noise, "stream": stream, "crossing": crossing, "times": times}


def main(words=None):
    parser = parser_of(
        __doc__, cases=(list(CASES), "what is tried"), draws=(200, "sources of each row of directions and cylinder"),
        windows=(10000, "of noise"), minutes=(10.0, "of stream"), runs=(20, "pairs of sources that cross"), repetitions=(3, "of times"),
        seed=(1, "of all random numbers"), arrays=(["spiral 16", "spiral 32", "grid 8x8", "spiral 64", "all"], "of directions"),
        snr=([10.0, -5.0, -10.0, -20.0], "of directions, dB at a microphone in the band"),
        pixels=([3888, 97200, 388800], "of cylinder and times"), microphones=([8, 16, 32], "of times"))
    options = parser.parse_args(words)
    print(f"{device()}, seed {options.seed}\n")
    rows = []
    for name in options.cases:
        say(name)
        rows += ({"case": name, **row} for row in CASES[name](options))
    show(rows, options.csv)
    return rows


if __name__ == "__main__":
    main()
