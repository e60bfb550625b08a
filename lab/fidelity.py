"""How close images come to the true field, for every imager, extrapolation and filter: docs/results/fidelity.md, with all figures as CSV.

cases: eight closed forms at 3 cm. standoffs: the same at 2 and 5 cm. scenes: pistons and plates of config/scenes. bits: the eight cases through
simulated modulators. kinds: random scenes that no setting was chosen on, with the expected errors. data: files with a truth.
"""

import functools
import json
import pathlib
import tempfile

import fidelity_page
import h5py
import numpy as np
from common import BIT_RATE_HZ, ROOT, commit, device, nearfield, ncc, nmse_db, parser_of, relative_l2, run, say, write_csv
from fields import FITTED, KINDS, closed_forms, fields_of_kind, measured, scene_of_kind, scenes

EXTRAPOLATIONS = ("plpbp", "lpbp", "edge", "zero")  # the default first
FILTERS = {"cos, dynamic_range": {"cutoff_rad_per_m": "dynamic_range"}, "cos, auto": {"cutoff_rad_per_m": "auto"},
           "cos, search": {"cutoff_rad_per_m": "search"}, "tikhonov": {"kind": "tikhonov"}}
BEST, BEST_SLOPE, BEST_LAMBDA, BEST_FOR_ALL = "cos, best fixed cut-off", "cos, best cut-off and slope", "tikhonov, best lambda", "cos, best one for all"
AUTO = "imager: auto"
SLOPES = (0.1, 0.05, 0.2)  # the usual one first
LAMBDAS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
CUTOFFS, TOGETHER = 40, 6  # fixed cut-offs that are tried, of so many frequencies at once
DATA = ("plate_free_548hz.h5", "violin_shell_1.h5", "violin_shell_2.h5", "violin_measured.h5")


# --- imaging ----------------------------------------------------------------------------------------------------------

def pnah(extrapolation, **of_filter):
    return {"imager": "pnah", "extrapolation": {"method": extrapolation}, "filter": of_filter}


SONAH = {"imager": "sonah"}


def config_of(field, holography, frequencies_hz):
    return {"array": field.array, "front_end": {"frequencies_hz": list(frequencies_hz)},
            "holography": {"standoff_m": field.standoff_m, "quantity": field.quantity, "search_every_frames": 1, **holography}}


def _products(frames):
    """Images [frame][frequency][pixel] and what the imager says of each, [frame][frequency]."""
    images = np.array([frame["images"][0] for frame in frames])
    return images.reshape(*images.shape[:2], -1), {name: np.array([frame[name] for frame in frames])
                                                   for name in ("cutoff_rad_per_m", "slope", "error_estimate")}


@functools.lru_cache(maxsize=48)
def _engine(config, form):
    """An engine that is restarted for further draws and ratios: PoCL preprocesses all kernels of a new one, and sonah computes its priors anew."""
    frequencies_hz, array = json.loads(config)["front_end"]["frequencies_hz"], json.loads(config)["array"]
    of_spectra = {"channels": array["rows"] * array["columns"], "frequencies_hz": frequencies_hz} if form == "spectra" else {}
    return nearfield.Engine(config, form, **of_spectra)


def imager_of_auto(field):
    """The imager that the program uses for `holography.imager: auto`."""
    engine = _engine(json.dumps(config_of(field, {"imager": "auto"}, field.frequencies_hz)), "spectra")
    return nearfield._library.text(engine._library.nf_engine_get_layout(engine._engine, 0).kind)


def _each(engine, frames):
    """The first frame of each input by itself."""
    found = []
    for frame in frames:
        engine.restart()
        found += engine.push(frame)[:1]
    return found


def image(field, holography, frames, frequencies_hz=None):
    """Images of frames [frame][frequency][pixel]; each is a draw of its own, searched for itself."""
    frequencies_hz = field.frequencies_hz if frequencies_hz is None else frequencies_hz
    engine, frames = _engine(json.dumps(config_of(field, holography, frequencies_hz)), "spectra"), frames.reshape(*frames.shape[:2], *field.shape)
    if holography["imager"] == "pnah" and holography["filter"].get("cutoff_rad_per_m") != "search":
        engine.restart()
        return _products(engine.push(frames))
    return _products(_each(engine, frames))


class Scan:
    """Mean distances from the truth [frequency][cut-off] of fixed cut-offs, evenly spaced as logarithms up to pi over the larger pitch.
    `best`: the best cut-off of each frequency, and `products` its images and reports."""

    def __init__(self, field, extrapolation, slope, frames, distance):
        most = np.pi / max(field.array["pitch_x_m"], field.array["pitch_y_m"])
        self.slope, self.cutoffs = slope, most * 10.0 ** (np.arange(CUTOFFS) / (CUTOFFS - 1) - 1.0)
        self.distances, products = [], []
        for first in range(0, len(field.frequencies_hz), TOGETHER):
            some = slice(first, first + TOGETHER)
            count = len(field.frequencies_hz[some])
            # To the imager each cut-off is a frequency of its own, which differs from its neighbour by 1e-9.
            apart = np.outer(field.frequencies_hz[some], 1.0 + 1e-9 * np.arange(CUTOFFS)).ravel()
            settings = pnah(extrapolation, kind="cos", slope=slope, cutoff_rad_per_m=np.tile(self.cutoffs, count).tolist())
            images, reports = image(field, settings, np.repeat(frames[:, some], CUTOFFS, axis=1), apart)
            for f in range(count):
                of_draws = [distance(draw, first + f, images[draw, f * CUTOFFS:(f + 1) * CUTOFFS]) for draw in range(len(frames))]
                self.distances.append(np.mean(of_draws, axis=0))
                best = f * CUTOFFS + self.distances[-1].argmin()
                products.append((images[:, best], {name: values[:, best] for name, values in reports.items()}))
        self.distances = np.array(self.distances)
        self.best = self.cutoffs[self.distances.argmin(axis=1)]
        self.products = np.stack([images for images, _ in products], axis=1), {
            name: np.stack([reports[name] for _, reports in products], axis=1) for name in products[0][1]}


def with_cutoffs(extrapolation, slope, cutoffs):
    return pnah(extrapolation, kind="cos", slope=slope, cutoff_rad_per_m=[float(cutoff) for cutoff in cutoffs])


# --- figures ----------------------------------------------------------------------------------------------------------

def _peaks(values, shape, least):
    """Places in pixels (row, column) of the maxima of at least `least`, by parabolas through their neighbours."""
    heights = np.abs(values.reshape(shape).astype(complex))
    padded = np.pad(heights, 1, constant_values=-np.inf)
    around = [padded[1 + r:1 + r + shape[0], 1 + c:1 + c + shape[1]] for r in (-1, 0, 1) for c in (-1, 0, 1)]
    places = []
    for row, column in np.argwhere((heights >= np.max(around, axis=0)) & (heights >= least * heights.max())):
        place = [float(row), float(column)]
        for axis, (at, line) in enumerate(((row, heights[:, column]), (column, heights[row]))):
            if 0 < at < shape[axis] - 1:
                bend = line[at - 1] - 2.0 * line[at] + line[at + 1]
                place[axis] += 0.5 * (line[at - 1] - line[at + 1]) / bend if bend < 0.0 else 0.0
        places.append(place)
    return np.array(places)


def peak_off_m(field, truth, found):
    """From the image's highest point to the nearest of the truth's maxima that reach 95 % of its highest."""
    pitches = [field.array["pitch_y_m"], field.array["pitch_x_m"]]
    off = _peaks(found, field.shape, 1.0)[:, None] - _peaks(truth, field.shape, 0.95)[None]
    return np.min(np.linalg.norm(off * pitches, axis=2))


def figures(field, images, reports):
    """Means over draws, a dictionary for each frequency."""
    rows = []
    for f, truth in enumerate(field.known_truth()):
        found = field.where_true(images[:, f])
        errors = relative_l2(truth, found)
        row = {"relative_l2": np.mean(errors), "worst_l2": np.max(errors), "ncc": np.mean(ncc(truth, found)),
               "nmse_db": 10.0 * np.log10(np.mean(10.0 ** (nmse_db(truth, found) / 10.0)))}
        if field.has_pixels and min(field.shape) > 12:
            inner = np.pad(np.ones([side - 8 for side in field.shape], bool), 4).ravel()
            row |= {"inner_l2": np.mean(relative_l2(truth[inner], found[:, inner])),
                    "peak_off_m": np.mean([peak_off_m(field, truth, one) for one in found])}
        rows.append(row | {name: np.mean(values[:, f]) for name, values in reports.items()})
    return rows


class Rows:
    """The rows of one field at one ratio: figures of each imager, extrapolation and filter."""

    def __init__(self, part, field, snr_db, draws):
        self.part, self.field, self.snr_db, self.rows = part, field, snr_db, []
        self.frames = field.aperture[None] if draws == 0 else np.array([field.noisy(snr_db, draw) for draw in range(draws)])

    def add(self, extrapolation, name, of_frequencies, knows_truth=False):
        for frequency_hz, row in zip(self.field.frequencies_hz, of_frequencies):
            self.rows.append({"part": self.part, "field": self.field.name, "quantity": self.field.quantity, "standoff_m": self.field.standoff_m,
                              "snr_db": self.snr_db, "frequency_hz": frequency_hz, "extrapolation": extrapolation, "filter": name,
                              "knows_truth": knows_truth, **row})

    def measure(self, extrapolation, name, holography, knows_truth=False):
        found = figures(self.field, *image(self.field, holography, self.frames))
        self.add(extrapolation, name, found, knows_truth)
        return found

    def of(self, name, extrapolation):
        return [row for row in self.rows if (row["filter"], row["extrapolation"]) == (name, extrapolation)]

    def add_auto(self):
        """The imager that `holography.imager: auto` is."""
        own = self.of("sonah", "none") if imager_of_auto(self.field) == "sonah" else self.of("cos, auto", "plpbp")
        self.rows += [{**row, "extrapolation": "none", "filter": AUTO} for row in own]


def measure_field(part, field, snr_db, draws, every_extrapolation=True, by_ncc=False):
    """All rows of a field; what is best is the largest NCC, else the least relative L2."""
    say(f"{part}: {field.name}, {field.quantity}, {1e3 * field.standoff_m:.0f} mm" + (f", {snr_db:g} dB" if draws else ""))
    rows = Rows(part, field, snr_db, draws)
    known = field.known_truth()

    def distance(_, frequency, images):
        found = field.where_true(images)
        return 1.0 - ncc(known[frequency], found) if by_ncc else relative_l2(known[frequency], found)

    def best_of(options):
        """Of rows of figures by frequency, the one with the least error at each frequency."""
        return [min(at, key=lambda row: row["relative_l2"]) for at in zip(*options)]

    for extrapolation in EXTRAPOLATIONS if every_extrapolation else EXTRAPOLATIONS[:1]:
        is_first = extrapolation == EXTRAPOLATIONS[0]
        for name, of_filter in FILTERS.items():
            if is_first or name != "cos, search":
                rows.measure(extrapolation, name, pnah(extrapolation, **of_filter))
        scans = [Scan(field, extrapolation, slope, rows.frames, distance) for slope in (SLOPES if is_first else SLOPES[:1])]
        best = [figures(field, *scan.products) for scan in scans]
        rows.add(extrapolation, BEST, best[0], True)
        if is_first:
            chosen = np.argmin([scan.distances.min(axis=1) for scan in scans], axis=0)
            rows.add(extrapolation, BEST_SLOPE, [best[scan][f] for f, scan in enumerate(chosen)], True)
        if is_first and part == "cases":
            of_lambdas = [[{**row, "lambda": value} for row in figures(field, *image(
                field, pnah(extrapolation, kind="tikhonov", tikhonov_lambda=value), rows.frames))] for value in LAMBDAS]
            rows.add(extrapolation, BEST_LAMBDA, best_of(of_lambdas), True)
        if by_ncc:
            scan = min(scans, key=lambda one: np.median(one.distances, axis=0).min())
            cutoff = scan.cutoffs[np.median(scan.distances, axis=0).argmin()]
            rows.measure(extrapolation, BEST_FOR_ALL, with_cutoffs(extrapolation, scan.slope, [cutoff]), True)
    rows.measure("none", "sonah", SONAH)
    rows.add_auto()
    return rows.rows


# --- bits -------------------------------------------------------------------------------------------------------------

LEVEL = 0.025           # rms over the microphones of each tone's peak amplitude, re full scale
BITS_RATE_HZ, BITS_SAMPLES, FIRST_WORD, WINDOW = 46875.0, 1536, 256, 1024


def capture_of(field, snr_db, draw, folder):
    """Bits of fourth-order modulators: all frequencies at once, with noise that gives the ratio in a spectrum of 1024 words through Hann's window."""
    scale = LEVEL / np.sqrt(np.mean(np.abs(field.aperture.astype(complex)) ** 2, axis=1))
    seconds = np.arange(BITS_SAMPLES) / BITS_RATE_HZ
    turns = np.exp(2j * np.pi * np.outer(seconds, field.frequencies_hz))
    rng = np.random.default_rng((100, draw))
    # The mean square of a spectrum of white noise is 4 times its variance times the window's bandwidth of 1.5 bins over the window.
    noise = LEVEL * 10.0 ** (-snr_db / 20.0) / np.sqrt(4.0 * 1.5 / WINDOW)
    samples = (turns @ (scale[:, None] * field.aperture)).real + noise * rng.standard_normal((BITS_SAMPLES, field.aperture.shape[1]))
    with h5py.File(folder / "samples.h5", "w") as file:
        data = file.create_dataset("time_data", data=samples.astype(np.float32))
        data.attrs["sample_freq"] = BITS_RATE_HZ
    level_dbfs = 20.0 * np.log10(np.sqrt(2.0 * np.mean(samples**2)))
    array = [word for key in ("rows", "columns", "pitch_x_m", "pitch_y_m") for word in ("--set", f"array.{key}={field.array[key]}")]
    run("encode", folder / "samples.h5", "-o", folder / "bits.h5", "--order", 4, "--seed", 100 + draw, "--level-dbfs", level_dbfs,
        "--set", f"holography.standoff_m={field.standoff_m}", *array)
    with h5py.File(folder / "bits.h5") as file:
        return file["bitstream"][:], float(file["geometry"].attrs["sensitivity_dbfs"]), scale


def bits_rows(of_cases, field, snr_db, draws):
    """The rows with the default extrapolation from bits, by `popcount` of order 1, with the best cut-offs of the rows from spectra."""
    say(f"bits: {field.name}, {snr_db:g} dB")
    rows = Rows("bits", field, snr_db, 0)
    best = [row["cutoff_rad_per_m"] for row in of_cases if (row["filter"], row["extrapolation"]) == (BEST, EXTRAPOLATIONS[0])]
    settings = {name: pnah(EXTRAPOLATIONS[0], **of_filter) for name, of_filter in FILTERS.items()}
    settings |= {BEST: with_cutoffs(EXTRAPOLATIONS[0], SLOPES[0], best), "sonah": SONAH}
    with tempfile.TemporaryDirectory() as name:
        captures = [capture_of(field, snr_db, draw, pathlib.Path(name)) for draw in range(draws)]
    # Back to bit-time 0 and to the field's own unit; engines have the sensitivity of the first draw.
    turns, dbfs = np.exp(-2j * np.pi * field.frequencies_hz * FIRST_WORD * 32 / BIT_RATE_HZ), captures[0][1]
    to_field = np.array([10.0 ** ((dbfs - own_dbfs) / 20.0) * turns / scale for _, own_dbfs, scale in captures])[..., None]
    for name, holography in settings.items():
        config = config_of(field, holography, field.frequencies_hz)
        config["array"] = {**field.array, "sensitivity_dbfs": dbfs}
        config["front_end"] |= {"kind": "popcount", "hop_samples": WINDOW, "window_samples": WINDOW}
        images, reports = _products(_each(_engine(json.dumps(config), "bits"), [words[FIRST_WORD * 32:] for words, _, _ in captures]))
        images = images * to_field
        rows.add("none" if name == "sonah" else EXTRAPOLATIONS[0], name, figures(field, images, reports), name == BEST)
    rows.add_auto()
    return rows.rows


# --- kinds ------------------------------------------------------------------------------------------------------------

def kind_rows(kind, snr_db, count, quantities=("pressure", "normal_velocity", "active_intensity")):
    """Every scene of a kind with one draw of noise: the true and the expected errors of imagers that set themselves, and the best fixed cut-off."""
    say(f"kinds: {kind}, {snr_db:g} dB")
    drawn = [scene_of_kind(kind, scene) for scene in range(count)]
    rows = []
    for quantity in quantities:
        fields = fields_of_kind(kind, drawn, quantity)
        frames = np.array([field.noisy(snr_db, scene) for scene, field in enumerate(fields)])

        def distance(scene, frequency, images, fields=fields):
            return relative_l2(fields[scene].truth[frequency], images)

        chosen = {"pnah": "cos, auto", "sonah": "sonah"}[imager_of_auto(fields[0])]
        settings = {name: pnah(EXTRAPOLATIONS[0], **FILTERS[name]) for name in ("cos, auto", "cos, search")}
        if quantity != "active_intensity":
            settings["sonah"] = SONAH
        found = {name: image(fields[0], holography, frames) for name, holography in settings.items()}
        if quantity != "active_intensity":
            found[BEST] = Scan(fields[0], EXTRAPOLATIONS[0], SLOPES[0], frames, distance).products
        for name, (images, reports) in found.items():
            for scene in range(count):
                for f, frequency_hz in enumerate(fields[0].frequencies_hz):
                    row = {"part": "kinds", "field": kind, "quantity": quantity, "standoff_m": fields[0].standoff_m, "snr_db": snr_db,
                           "frequency_hz": frequency_hz, "filter": name, "knows_truth": name == BEST, "scene": scene, "is_fitted": kind in FITTED,
                           "relative_l2": relative_l2(fields[scene].truth[f], images[scene, f]), "error_estimate": reports["error_estimate"][scene, f]}
                    rows.append(row)
                    if name == chosen and quantity != "active_intensity":
                        rows.append({**row, "filter": AUTO})
    return rows


# --- the study --------------------------------------------------------------------------------------------------------

def measure(options):
    rows = []

    def wants(part, name):
        return part in options.parts and (not options.fields or any(word in name for word in options.fields))

    # All ratios of a field in turn: its engines are still there.
    for field in closed_forms():
        for snr_db in options.snr if wants("cases", field.name) else []:
            found = measure_field("cases", field, snr_db, options.draws)
            rows += found
            rows += bits_rows(found, field, snr_db, options.bit_draws) if "bits" in options.parts else []
    others = [("standoffs", field) for distance_m in (0.02, 0.05) for field in closed_forms(distance_m)]
    others += [("scenes", field) for field in (scenes() if "scenes" in options.parts else [])]
    for part, field in others:
        for snr_db in options.snr if wants(part, field.name) else []:
            rows += measure_field(part, field, snr_db, options.draws, False)
    rows.sort(key=lambda row: options.snr.index(row["snr_db"]))
    for kind in KINDS:
        for snr_db in (40.0, 25.0):
            rows += kind_rows(kind, snr_db, options.scenes) if wants("kinds", kind) else []
    for file in DATA:
        path = options.data / file
        if wants("data", file) and path.exists():
            rows += measure_field("data", measured(path), np.inf, 0, by_ncc=True)
        elif wants("data", file):
            say(f"left out: {path} is not there")
    return rows


def main(words=None):
    parser = parser_of(__doc__, parts=(["cases", "standoffs", "scenes", "bits", "kinds", "data"], "what is measured; bits needs cases"),
                       fields=([], "those whose name holds one of these"), snr=([40.0, 30.0], "signal-to-noise ratios, dB"),
                       draws=(20, "of noise"), bit_draws=(4, "of noise and modulators"), scenes=(2, "random ones of each kind"))
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data", help="folder of files with a truth")
    parser.add_argument("--docs", type=pathlib.Path, help="folder for fidelity.md and fidelity.csv, beside ../pictures; else the page is printed")
    options = parser.parse_args(words)
    rows = measure(options)
    page = fidelity_page.page_of(rows, options)
    if options.docs:
        options.docs.mkdir(parents=True, exist_ok=True)
        (options.docs / "fidelity.md").write_text(page, encoding="utf-8")
        fidelity_page.draw(rows, options.docs.parent / "pictures/fidelity")
    else:
        print(page)
    if options.docs or options.csv:
        write_csv(options.csv or options.docs / "fidelity.csv", rows, commit=commit(), device=device())
    return rows


if __name__ == "__main__":
    main()
